//! What storage cases say, on runs whose course is known.

use super::*;
use crate::fixture;
use crate::state::gate::Gate;
use model::host::Fact;
use model::params::parse_size;
use model::plan::{PlannedMetric, StorageLoad, TestFile};
use model::record::Outcome;
use model::rng::Rng;
use model::spec::{Better, MetricClass};
use model::units::{Bytes, Nanos};

mod limits;

const IOPS: &str = "iops";

/// One operation at a time past the page cache, on a file of a size that is left to the program; but for what is said
/// otherwise.
fn load(otherwise: &[(&str, &str)]) -> StorageLoad {
    let mut load = StorageLoad {
        depth: 1,
        paced: false,
        direct: true,
        file: None,
    };
    let mut file = Some(TestFile {
        name: "data".to_owned(),
        size_max: Bytes(2 << 30),
        block: Bytes(4096),
    });
    for &(what, value) in otherwise {
        match (what, &mut file) {
            ("depth", _) => load.depth = value.parse().unwrap(),
            ("paced", _) => load.paced = true,
            ("direct", _) => load.direct = value == "yes",
            ("size", Some(file)) => file.size_max = parse_size(value).unwrap(),
            ("trims", _) => file = None,
            _ => panic!("{what}"),
        }
    }
    StorageLoad { file, ..load }
}

/// A run with one storage case, whose rounds have these rates; the operations are `kind`.
fn run(rates: &[f64], kind: &str, otherwise: &[(&str, &str)]) -> Run {
    let mut run = fixture::run(&[("storage.x@1", rates.to_vec())]);
    run.host.limits.cpus_allowed = Fact::Known(2);
    run.host.cpu.online = Fact::Known(2);
    let case = &mut run.plan.cases[0];
    case.nature = Nature::Storage;
    case.load = Some(load(otherwise));
    let metric = |quantity, unit, class, role| PlannedMetric {
        role,
        ..fixture::metric(quantity, unit, Better::Higher, class)
    };
    let (share, system) = (Unit::Share, MetricClass::System);
    case.metrics = vec![
        metric(
            IOPS,
            Unit::OpsPerSecond,
            MetricClass::Throughput,
            Role::Plain,
        ),
        metric("device_busy_share", share, system, Role::DeviceBusy),
        metric("cached_share", share, system, Role::Cached),
    ];
    for (seq, (round, &rate)) in (1..).zip(run.rounds.iter_mut().zip(rates)) {
        round.seq = seq;
        let measured = done_mut(&mut round.outcome);
        measured.values = [(IOPS, rate), ("device_busy_share", 1.0)]
            .map(|(name, value)| (name.to_owned(), value))
            .into();
        measured.windows = vec![rate; 20];
        measured.copies[0].ops = model::num::round_to_u64(2.0 * rate);
        measured.copies[0].wall = Nanos::from_secs(2);
        measured.copies[0].reported = [(kind.to_owned(), 2.0 * rate)].into();
    }
    run
}

fn done_mut(outcome: &mut Outcome) -> &mut Measured {
    let Outcome::Done(measured) = outcome else {
        panic!()
    };
    measured
}

fn each(run: &mut Run, mut change: impl FnMut(usize, &mut Measured)) {
    for (i, round) in run.rounds.iter_mut().enumerate() {
        change(i, done_mut(&mut round.outcome));
    }
}

fn only(run: &Run) -> StorageCase {
    let mut found = summarize(run).unwrap();
    assert_eq!(found.cases.len(), 1);
    found.cases.remove(0)
}

/// A thousand latencies: so many per cent at `fast`, the others at `slow`, 5 % to either side.
fn humps(percent: u64, fast: u64, slow: u64) -> Vec<(u64, u64)> {
    let spread = |at: u64, n: u64| [(at - at / 20, n / 4), (at, n / 2), (at + at / 20, n / 4)];
    [
        spread(fast, 10 * percent),
        spread(slow, 10 * (100 - percent)),
    ]
    .concat()
}

#[test]
fn only_storage_has_a_summary_and_soaks_have_another() {
    assert_eq!(
        summarize(&fixture::run(&[("os.pipe@1", vec![1.0; 6])])),
        None
    );
    let mut soaked = run(&[1e4; 6], "reads", &[]);
    assert!(summarize(&soaked).is_some());
    soaked.plan.soak = Some(model::soak::Soak {
        span: Nanos::from_secs(9),
        every: None,
        opening: Nanos::from_secs(9),
    });
    assert_eq!(summarize(&soaked), None);
    let mut failed = run(&[1e4; 1], "reads", &[]);
    failed.rounds[0].outcome = Outcome::Failed(model::record::Failure::OutOfMemory);
    assert_eq!(summarize(&failed), None, "no round ended");
}

#[test]
fn the_load_of_all_cases_adds_up() {
    let load = summarize(&run(&[1e4; 6], "reads", &[])).unwrap().load;
    assert!((load.seconds - 12.0).abs() < 1e-9 && (load.operations - 1.2e5).abs() < 0.5);
}

#[test]
fn humps_of_reads_are_explained_by_a_cache_where_one_answered() {
    let mut run = run(&[1e4; 6], "reads", &[]);
    each(&mut run, |_, measured| {
        measured
            .latencies
            .insert("clat".to_owned(), humps(70, 90_000, 1_200_000));
        measured
            .latencies
            .insert("slat".to_owned(), humps(100, 2_000, 9_000));
    });
    let plain = only(&run);
    let [clat, slat] = &plain.latencies[..] else {
        panic!("{plain:?}")
    };
    assert_eq!(
        (clat.name.as_str(), clat.of, clat.leading),
        ("clat", Of::Reads, true)
    );
    assert_eq!((clat.modes.len(), clat.operations), (2, 6000));
    assert!(
        (clat.modes[0].share - 0.7).abs() < 1e-9
            && (clat.modes[1].peak_ns / 1.2e6 - 1.0).abs() < 0.02
    );
    assert_eq!((clat.together, clat.cause), (Together::SameRounds, None));
    assert_eq!(
        (slat.leading, slat.modes.len(), slat.together),
        (false, 1, Together::Single)
    );

    for (cached_share, explains) in [(0.68, true), (0.36, true), (0.3, false), (0.005, false)] {
        each(&mut run, |_, measured| {
            measured
                .values
                .insert("cached_share".to_owned(), cached_share);
        });
        let cause = only(&run).latencies[0].cause;
        assert_eq!(cause, explains.then_some(Cause::Cache { cached_share }));
    }
}

#[test]
fn humps_of_different_rounds_are_told_from_those_of_all() {
    let mut run = run(&[1e4; 6], "writes", &[]);
    each(&mut run, |i, measured| {
        let fast = if i % 2 == 0 { 100 } else { 0 };
        measured
            .latencies
            .insert("clat".to_owned(), humps(fast, 90_000, 1_200_000));
    });
    let shape = &only(&run).latencies[0];
    assert_eq!(
        (shape.of, shape.modes.len(), shape.together),
        (Of::Writes, 2, Together::OtherRounds)
    );
}

#[test]
fn each_direction_has_its_shape_and_a_rate_counts_from_the_intended_start() {
    let mut run = run(&[1e4; 6], "reads", &[]);
    each(&mut run, |_, measured| {
        for name in [
            "read_clat",
            "write_clat",
            "read_lat",
            "write_lat",
            "write_slat",
            "sync",
            "late",
            "odd_one",
        ] {
            measured
                .latencies
                .insert(name.to_owned(), humps(100, 90_000, 100_000));
        }
    });
    let names = |run: &Run| -> Vec<String> {
        let shapes = only(run).latencies;
        shapes
            .into_iter()
            .filter(|shape| shape.leading)
            .map(|shape| shape.name)
            .collect()
    };
    assert_eq!(names(&run), ["read_lat", "write_lat", "sync"]);
    each(&mut run, |_, measured| {
        measured.latencies.remove("late");
    });
    assert_eq!(names(&run), ["read_clat", "write_clat", "sync"]);
}

#[test]
fn a_picture_holds_all_but_the_ends_in_columns_on_a_logarithm() {
    let mut run = run(&[1e4; 6], "reads", &[]);
    each(&mut run, |_, measured| {
        let wide = (0..5_000_u64).map(|i| (10_000 + i * 200, 1)).collect();
        measured.latencies.insert("clat".to_owned(), wide);
    });
    let case = only(&run);
    let picture = case.latencies[0].picture.as_ref().unwrap();
    let held: f64 = picture.columns.iter().sum();
    assert_eq!(picture.columns.len(), PICTURE_COLUMNS);
    assert!((0.997..=1.0).contains(&held), "{held}");
    assert!(
        picture.lo_ns >= 9_900.0 && picture.hi_ns <= 1_020_000.0,
        "{picture:?}"
    );
    // One value fills one column in the middle.
    each(&mut run, |_, measured| {
        measured
            .latencies
            .insert("clat".to_owned(), vec![(90_000, 1_000)]);
    });
    let case = only(&run);
    let picture = case.latencies[0].picture.as_ref().unwrap();
    assert!((picture.hi_ns / picture.lo_ns - 1.5).abs() < 1e-9);
    assert_eq!(
        picture.columns.iter().filter(|share| **share > 0.0).count(),
        1
    );
}

#[test]
fn steadiness_needs_the_file_written_twice() {
    // 10,000 writes of 4 KiB a second, two seconds: 80 MB a round.
    let steady = |rates: &[f64], size: &str| {
        only(&run(rates, "writes", &[("size", size)]))
            .steady
            .unwrap()
    };
    let small = steady(&[1e4; 7], "100M");
    assert_eq!((small.gate, small.since), (Gate::Open, Some(5)));
    assert_eq!(small.needed, Bytes(200 << 20));
    assert_eq!(small.written, Bytes((100 << 20) + 7 * 20_000 * 4096));
    let large = steady(&[1e4; 7], "1G");
    assert_eq!((large.gate, large.since), (Gate::NotWritten, None));
    assert_eq!(steady(&[1e4; 4], "100M").gate, Gate::TooFewRounds);
    let falling = steady(&[2e4, 1.8e4, 1.6e4, 1.4e4, 1.2e4, 1e4], "100M");
    assert!(matches!(falling.gate, Gate::Ranging(_)), "{falling:?}");
    // Fast at first, then steady: from the round on from which it stays so.
    let settled = steady(&[3e4, 2e4, 1e4, 1e4, 1e4, 1e4, 1e4, 1e4], "100M");
    assert_eq!((settled.gate, settled.since), (Gate::Open, Some(7)));
    // A size that is left to the program counts as the largest it may choose.
    assert_eq!(
        only(&run(&[1e4; 6], "writes", &[])).steady.unwrap().needed,
        Bytes(4 << 30)
    );
    assert_eq!(only(&run(&[1e4; 6], "reads", &[])).steady, None);
    assert_eq!(
        only(&run(&[1e4; 6], "writes", &[("trims", "")])).steady,
        None
    );
}

#[test]
fn what_other_tests_wrote_to_the_file_counts() {
    let mut two = run(&[1e4; 6], "writes", &[("size", "300M")]);
    assert_eq!(only(&two).steady.unwrap().gate, Gate::Open);
    let mut other = two.plan.cases[0].clone();
    other.id.test = "storage.y".to_owned();
    two.plan.cases.push(other.clone());
    // Every round but the last is the other test's.
    for round in &mut two.rounds[..1] {
        round.case = other.id.clone();
    }
    let cases = summarize(&two).unwrap().cases;
    let first = cases[0].steady.unwrap();
    assert_eq!(
        (first.gate, first.written),
        (Gate::Open, Bytes((300 << 20) + 6 * 20_000 * 4096))
    );
}

#[test]
fn a_fall_between_rounds_is_suspected_only_where_the_rest_is_exact() {
    let fall = |rates: &[f64]| only(&run(rates, "reads", &[])).fall;
    let (fast, slow) = (3_000.0, 600.0);
    let rates = [fast, 3_010.0, 2_990.0, slow, 601.0, slow, 599.0, slow, slow];
    assert_eq!(
        fall(&rates),
        Some(Fall::Between {
            fast_rounds: 3,
            from: fast,
            to: slow
        })
    );
    assert_eq!(
        fall(&[fast, fast, fast, fast, slow, slow, slow]),
        None,
        "too few slow rounds"
    );
    assert_eq!(
        fall(&[fast, slow, 700.0, 650.0, slow, 620.0]),
        None,
        "not exact"
    );
    assert_eq!(fall(&[slow, slow, fast, fast, fast, fast]), None, "rising");
    assert_eq!(
        fall(&[1_100.0, 1_000.0, 1_000.0, 1_000.0, 1_000.0]),
        None,
        "a small step"
    );
    assert_eq!(fall(&[fast]), None);
}

#[test]
fn a_fall_within_every_round_is_suspected() {
    let mut run = run(&[1_000.0; 6], "reads", &[]);
    let mut shape = |course: &dyn Fn(usize, usize) -> f64| {
        each(&mut run, |round, measured| {
            measured.windows = (0..20).map(|at| course(round, at)).collect();
        });
        only(&run).fall
    };
    let found = shape(&|_, at| if at < 5 { 3_000.0 } else { 600.0 });
    assert_eq!(
        found,
        Some(Fall::Within {
            seconds: 0.5,
            from: 3_000.0,
            to: 600.0
        })
    );
    // A window between the levels belongs to neither.
    let found = shape(&|_, at| {
        [3_000.0, 3_000.0, 1_700.0]
            .get(at)
            .copied()
            .unwrap_or(600.0)
    });
    assert!(
        matches!(found, Some(Fall::Within { to, .. }) if (to - 600.0).abs() < 1.0),
        "{found:?}"
    );
    assert_eq!(
        shape(&|round, at| if at < 5 && round < 4 { 3_000.0 } else { 600.0 }),
        None,
        "in some rounds"
    );
    assert_eq!(
        shape(&|_, at| 600.0 + 50.0 * model::num::count(20 - at)),
        None,
        "gradual"
    );
    assert_eq!(shape(&|_, _| 600.0), None);
    assert_eq!(
        shape(&|_, at| if at < 15 { 3_000.0 } else { 600.0 }),
        None,
        "not seen for long enough"
    );
}

#[test]
fn noise_is_hardly_ever_called_a_fall() {
    let mut rng = Rng::new(23);
    for deviation in [0.01, 0.03, 0.1, 0.3] {
        let wrong = (0..1_000)
            .filter(|_| {
                let rates = fixture::noisy(rng.next(), 9, 1e4, deviation);
                let mut run = run(&rates, "reads", &[]);
                each(&mut run, |_, measured| {
                    measured
                        .windows
                        .iter_mut()
                        .for_each(|rate| *rate *= (deviation * rng.normal()).exp());
                });
                only(&run).fall.is_some()
            })
            .count();
        println!("noise of {deviation}: {wrong} of 1000 called a fall");
        assert!(wrong <= 3, "{deviation}: {wrong}");
    }
}

#[test]
fn first_writes_are_paired_by_place() {
    let mut run = fixture::run(&[("storage.first-write@1", vec![1.0; 8])]);
    let metric = |quantity, role| PlannedMetric {
        role,
        ..fixture::metric(
            quantity,
            Unit::BytesPerSecond,
            Better::Higher,
            MetricClass::Throughput,
        )
    };
    run.plan.cases[0].nature = Nature::Storage;
    run.plan.cases[0].metrics = vec![
        metric("first_bytes_per_s", Role::FirstWrites),
        metric("again_bytes_per_s", Role::SecondWrites),
    ];
    let mut with = |places: usize, ratio: f64| {
        each(&mut run, |i, measured| {
            let level = 1e8 * (1.0 + approx(i as u64 % 3) / 50.0);
            measured.values.clear();
            if i < places {
                measured
                    .values
                    .insert("first_bytes_per_s".to_owned(), level);
                measured
                    .values
                    .insert("again_bytes_per_s".to_owned(), level * ratio);
            }
        });
        only(&run).first_write.unwrap()
    };
    let slow = with(8, 3.0);
    assert!(
        slow.penalty
            .is_some_and(|found| found.present && (found.ratio.ratio() - 3.0).abs() < 0.01)
    );
    assert!(with(8, 1.0).penalty.is_some_and(|found| !found.present));
    let few = with(5, 3.0);
    assert_eq!((few.penalty, few.places), (None, 5));
}

#[test]
fn many_processes_on_a_disk_are_no_question_about_cpus() {
    let mut run = run(&[1e4; 6], "reads", &[]);
    let mut many = run.plan.cases[0].clone();
    many.id.copies = 64;
    run.plan.cases.push(many.clone());
    let rounds: Vec<_> = run.rounds.clone();
    run.rounds
        .extend(rounds.into_iter().map(|round| model::record::Round {
            case: many.id.clone(),
            ..round
        }));
    assert_eq!(summarize(&run).unwrap().cases.len(), 2);
    assert!(crate::scaling::scaling(&run).is_empty());
    for case in &mut run.plan.cases {
        case.nature = Nature::Compute;
    }
    // Where there is one CPU: with more, 64 say nothing of the second one.
    run.host.limits.cpus_allowed = Fact::Known(1);
    assert_eq!(
        crate::scaling::scaling(&run).len(),
        1,
        "work that computes asks"
    );
}
