//! What is measured under load, and what is not.

use super::*;
use crate::os::testing;
use model::host::Fact;

/// In a thread of its own, because the body pins it.
fn apart(test: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        scope.spawn(test);
    });
}

#[test]
fn the_streams_run_beside_the_chain_and_not_without_a_cpu_each() {
    let cpus = sys::affinity::allowed_cpus().unwrap().len();
    for copies in [1, cpus, cpus + 1] {
        apart(move || check_load(copies, cpus));
    }
}

fn check_load(copies: usize, cpus: usize) {
    let (_root, mut place) = testing::place();
    place.copies = u32::try_from(copies).unwrap();
    let set = [("size", "2M"), ("pages", "small"), ("duty", "50")];
    if copies > cpus {
        let body = testing::prepare(&LOADED, &set, &place);
        assert!(matches!(body, Err(WorkError::Unsupported(_))));
        return;
    }
    let finish = measured(&set, &place, 50);
    let working_set = finish.reported[WORKING_SET];
    assert!((working_set - 2_097_152.0).abs() < 1.0, "{working_set}");
    let load = finish.reported.get(LOAD);
    assert_eq!(load.is_some_and(|&load| load > 0.0), copies > 1, "{load:?}");
    // What there is none of is no measurement of 0.
    assert_eq!(load.is_none(), copies == 1);
    assert_eq!(finish.missing.contains_key(LOAD), copies == 1);
}

fn measured(set: &[(&str, &str)], place: &Place, batches: u32) -> Finish {
    let mut body = testing::prepare(&LOADED, set, place).unwrap();
    body.batch(10_000, &mut Recorder::off()).unwrap();
    body.measured_part_begins();
    for _ in 0..batches {
        body.batch(20_000, &mut Recorder::off()).unwrap();
    }
    body.finish().unwrap()
}

#[test]
fn a_cpu_that_was_taken_away_is_an_error_of_the_call_and_no_wrong_result() {
    let (_root, mut place) = testing::place();
    place.copies = 2;
    let params = testing::params(&LOADED, &[("size", "2M"), ("pages", "small")]);
    let works = streams(&[0, 500_000], 2 << 20, &params, &place).into_iter();
    let works = works.map(|stream| move |member: &Member| stream.run(member));
    let mut team = Team::start(works.collect()).unwrap();
    let ended = team.end();
    let [Err(WorkError::Failed(why))] = &ended[..] else {
        panic!("{ended:?}");
    };
    assert!(why.contains("sched_setaffinity `CPU 500000`"), "{why}");
}

#[test]
fn a_stream_that_is_not_set_up_is_an_error_and_no_chain_without_streams() {
    let check = |work: fn(&Member) -> Result<(), WorkError>, expected: &str| {
        let error = started(vec![work; 2]).unwrap_err();
        assert!(matches!(error, WorkError::Failed(_)), "{error:?}");
        assert_eq!(error.to_string(), expected);
    };
    check(
        |_| Err(WorkError::Failed("no memory".to_owned())),
        "no memory",
    );
    check(
        |_| panic!("as it is meant to"),
        "set up the streams: a thread has panicked",
    );
    let waiting = |member: &Member| -> Result<(), WorkError> {
        member.wait();
        Ok(())
    };
    assert_eq!(started(vec![waiting; 2]).unwrap().len(), 2);
}

#[test]
fn every_stream_has_as_much_memory_as_the_chain_however_many_there_are() {
    let (_root, mut place) = testing::place();
    place.copies = 64;
    let cpus: Vec<u32> = (0..64).collect();
    let params = testing::params(&LOADED, &[]);
    let streams = streams(&cpus, 128 << 20, &params, &place);
    assert_eq!(streams.len(), 63);
    assert!(streams.iter().all(|stream| stream.bytes == 128 << 20));
    assert!(streams.iter().all(|stream| stream.cpu != 0));
}

#[test]
fn where_there_is_no_room_for_all_streams_the_reason_is_told() {
    let (_root, mut place) = testing::place();
    let params = testing::params(&LOADED, &[("size", "16M")]);
    for copies in [1, 2] {
        place.copies = copies;
        let extent = size_of_each(&params, &place).unwrap();
        assert_eq!((extent.bytes, extent.note), (16 << 20, None));
    }
    place.copies = 1 << 20;
    let error = size_of_each(&params, &place).unwrap_err();
    assert!(matches!(error, WorkError::Unsupported(_)), "{error}");
    assert!(error.to_string().contains("too little memory"), "{error}");
}

#[test]
fn what_is_taken_fits_the_room_with_the_order_of_the_chain_and_fills_it() {
    for slots in [1, 2, 4, 96] {
        let room = 24 << 30;
        let taken = needed(most_for(room, slots), slots);
        assert!(taken <= room && taken > room / 10 * 9, "{slots}: {taken}");
    }
}

#[test]
fn one_cpu_has_no_load_below_the_full_one() {
    let check = |duty: &str, cpus: u32, quota: Option<f64>| {
        let mut host = HostFacts::default();
        host.limits.cpus_allowed = Fact::Known(cpus);
        host.limits.cpu_quota = Fact::Known(quota);
        LOADED.supported(&testing::params(&LOADED, &[("duty", duty)]), &host)
    };
    // The test at 100 % with one copy is the latency without load; the others would be the same again.
    check("100", 1, None).unwrap();
    check("50", 2, None).unwrap();
    check("50", 8, Some(1.5)).unwrap();
    for (cpus, quota) in [(1, None), (8, Some(0.5))] {
        let why = check("50", cpus, quota).unwrap_err();
        assert!(why.contains("only one may be used"), "{why}");
    }
}

#[test]
fn sizes_that_hold_no_chain_are_refused_beforehand() {
    for (size, fits) in [
        ("0", true),
        ("1", false),
        ("4095", false),
        ("4k", true),
        ("1T", false),
    ] {
        let params = testing::params(&LOADED, &[("size", size)]);
        let found = LOADED.check_params(&params);
        assert_eq!(found.is_ok(), fits, "{size}: {found:?}");
    }
}

#[test]
fn more_streams_and_more_memory_are_set_up_longer() {
    let setup = |size: &str, copies| {
        let params = testing::params(&LOADED, &[("size", size)]);
        LOADED.shape_of(&params, copies).setup
    };
    assert!(setup("0", 1) < setup("0", 2) && setup("0", 2) < setup("0", 64));
    assert!(setup("64M", 2) < setup("0", 2));
    assert!(setup("4G", 2) > setup("0", 2));
}

mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: compares rates, which neighbours disturb"]
    fn streams_that_rest_load_less() {
        if sys::affinity::allowed_cpus().unwrap().len() < 2 {
            eprintln!("skipped: one CPU has no stream beside the chain");
            return;
        }
        // Somebody else on the stream's CPU can spoil one comparison, and not three.
        let mut seen = Vec::new();
        for _ in 0..3 {
            let (tenth, all) = (load_at("10"), load_at("100"));
            if tenth > 0.0 && tenth < all / 2.0 {
                return;
            }
            seen.push((tenth, all));
        }
        panic!("loads at 10 % and 100 %: {seen:?}");
    }

    fn load_at(duty: &str) -> f64 {
        let mut load = 0.0;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (_root, mut place) = testing::place();
                place.copies = 2;
                let set = [("size", "16M"), ("pages", "small"), ("duty", duty)];
                load = measured(&set, &place, 100).reported[LOAD];
            });
        });
        load
    }
}
