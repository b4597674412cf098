//! Reports from copies that are made up.

use super::*;
use crate::cmd::fio::surroundings::Machine;
use dialects::fio::result::Direction;
use model::digest::Digest;
use model::record::CopyDetail;
use model::units::Nanos;

/// A copy that read and wrote so many blocks in a second, in two windows.
fn copy(reads: u64, writes: u64) -> CopyRecord {
    let number = |name: &str, value: u64| (name.to_owned(), approx(value));
    let detail = CopyDetail {
        latencies: [
            ("read_clat".to_owned(), vec![(100, reads - 1), (900, 1)]),
            ("write_clat".to_owned(), vec![(50, writes)]),
        ]
        .into(),
        voluntary_switches: 3,
        involuntary_switches: 4,
        ..CopyDetail::default()
    };
    CopyRecord {
        ops: reads + writes,
        work: approx(reads + writes),
        wall: Nanos::from_secs(1),
        user: Nanos(250_000_000),
        system: Nanos(500_000_000),
        digest: Digest::EMPTY,
        allocations: 0,
        cpu: None,
        reported: [
            number("reads", reads),
            number("writes", writes),
            number("runtime_ns", 1_000_000_000),
            number("read_iops_window_samples", 2),
            number("read_iops_window_min", reads.saturating_sub(10)),
            number("read_iops_window_max", reads + 10),
            number("read_iops_window_mean", reads),
            number("read_iops_window_stddev", 3),
            number("read_bw_window_samples", 2),
            number("read_bw_window_mean", reads * 4096),
            number("depth_level_0", 30),
            number("depth_level_2", 10),
            number("disk/vda/reads", 7),
            number("disk/vda/busy_ms", 500),
        ]
        .into(),
        apart: Some(Box::new(detail)),
    }
}

fn plan(line: &str) -> Plan {
    let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
    dialects::fio::parse(&arguments, &Machine).unwrap()
}

fn piece<'a>(plan: &'a Plan, copies: &'a [CopyRecord]) -> Piece<'a> {
    Piece {
        group: 0,
        jobs: plan.jobs().collect(),
        copies: copies.iter().collect(),
    }
}

#[test]
fn a_job_is_told_by_what_its_copy_did() {
    let plan = plan("--name=a --size=1m --rw=randrw --bs=4k,8k");
    let copies = [copy(100, 50)];
    let result = result(&piece(&plan, &copies), 1.5);
    let read = result.read.unwrap();
    assert_eq!(
        (read.total_ios, read.io_bytes, read.runtime_ms),
        (Some(100), 409_600, 1000)
    );
    assert!((read.iops - 100.0).abs() < 1e-9);
    let clat = read.clat.unwrap();
    assert_eq!(
        (clat.min_ns, clat.max_ns, clat.count),
        (100, 900, Some(100))
    );
    assert_eq!(clat.percentile(99.0), Some(100));
    assert_eq!(clat.percentiles.len(), 17);
    assert!(read.lat.is_some_and(|lat| lat.percentiles.is_empty()));
    assert_eq!(read.slat, None);
    let samples = read.iops_samples.unwrap();
    assert_eq!(
        (
            samples.count,
            round_to_u64(samples.min),
            round_to_u64(samples.max)
        ),
        (Some(2), 90, 110)
    );
    assert_eq!(
        result.depths.unwrap().level.map(round_to_u64),
        [75, 0, 25, 0, 0, 0, 0]
    );
    assert!(result.steady_state.is_none() && result.let_pass.is_none());
    // No latency was to be kept: the depth is the one that was asked for.
    assert!(
        result
            .target
            .is_some_and(|target| (target.depth, target.target_ns) == (1, 0))
    );
    assert_eq!(result.write.unwrap().io_bytes, 409_600);
    assert!(result.trim.is_none() && result.mixed.is_none());
    let cpu = result.cpu.unwrap();
    assert_eq!(
        (cpu.context_switches, cpu.user_percent.map(round_to_u64)),
        (7, Some(25))
    );
    assert_eq!(result.elapsed_s, Some(3));
}

#[test]
fn a_job_that_did_nothing_has_no_share_of_the_cpu_in_any_form() {
    let plan = plan("--name=a --size=1m");
    let mut idle = copy(1, 1);
    // It took longer to get ready than its work lasted.
    idle.wall = Nanos(50_000_000);
    for name in ["reads", "writes"] {
        idle.reported.insert(name.to_owned(), 0.0);
    }
    let copies = [idle];
    let told = result(&piece(&plan, &copies), 0.0);
    let cpu = told.cpu.unwrap();
    assert_eq!((cpu.user_percent, cpu.system_percent), (None, None));
    let report = Report {
        jobs: vec![told],
        ..Report::default()
    };
    let text = dialects::fio::output::text(&report, false);
    assert!(text.contains("\n  cpu: ctx=7, majf="), "{text}");
    assert!(!text.contains("usr="), "{text}");
}

#[test]
fn jobs_of_a_group_are_one() {
    let plan = plan("--name=a --size=1m --numjobs=2 --group_reporting");
    let copies = [copy(100, 1), copy(300, 1)];
    let result = result(&piece(&plan, &copies), 0.0);
    let read = result.read.unwrap();
    assert_eq!((result.members, read.total_ios), (Some(2), Some(400)));
    assert!((read.iops - 400.0).abs() < 1e-9);
    let samples = read.iops_samples.unwrap();
    assert_eq!(
        (round_to_u64(samples.mean), round_to_u64(samples.min)),
        (400, 380)
    );
    assert_eq!(
        (round_to_u64(samples.stddev.powi(2)), samples.count),
        (18, Some(4))
    );
    assert_eq!(result.runtime_ms, Some(2000));
}

#[test]
fn each_job_of_a_group_has_the_latency_that_its_engine_tells() {
    let plan =
        plan("--name=a --size=1m --ioengine=libaio --group_reporting --name=b --ioengine=psync");
    let mut queued = copy(100, 0);
    let detail = queued.apart.as_mut().unwrap();
    let added = [
        ("read_lat".to_owned(), vec![(5_000, 100)]),
        ("read_slat".to_owned(), vec![(70, 100)]),
    ];
    detail.latencies.extend(added);
    let read = result(&piece(&plan, &[queued, copy(300, 0)]), 0.0)
        .read
        .unwrap();
    let [slat, clat, lat] = [read.slat, read.clat, read.lat].map(Option::unwrap);
    assert_eq!(
        [slat.count, clat.count, lat.count],
        [Some(100), Some(400), Some(400)]
    );
    assert_eq!((lat.min_ns, lat.max_ns), (100, 5_000));
}

#[test]
fn directions_are_told_apart_or_together_as_asked() {
    let copies = [copy(100, 50)];
    let shown = |option: &str| {
        let plan = plan(&format!("--name=a --size=1m --rw=rw {option}"));
        let result = result(&piece(&plan, &copies), 0.0);
        let total = |d: Option<Direction>| d.and_then(|d| d.total_ios);
        (
            total(result.read),
            total(result.write),
            total(result.mixed),
            result.is_mixed_only,
        )
    };
    assert_eq!(shown("--rwmixread=50"), (Some(100), Some(50), None, false));
    assert_eq!(
        shown("--unified_rw_reporting=both"),
        (Some(100), Some(50), Some(150), false)
    );
    assert_eq!(
        shown("--unified_rw_reporting=mixed"),
        (None, None, Some(150), true)
    );
}

#[test]
fn what_is_not_wanted_is_not_told() {
    let copies = [copy(100, 50)];
    let read = |option: &str| {
        let plan = plan(&format!("--name=a --size=1m {option}"));
        result(&piece(&plan, &copies), 0.0).read.unwrap()
    };
    let reduced = read("--gtod_reduce=1");
    assert!(reduced.clat.is_none() && reduced.bw_samples.is_none());
    // As fio 3.33 does it: those of one do not take the place of those of the other.
    for (option, clat, lat) in [
        ("--lat_percentiles=1", true, true),
        ("--clat_percentiles=0", false, false),
        ("--clat_percentiles=0 --lat_percentiles=1", false, true),
    ] {
        let told = read(&format!("{option} --percentile_list=50"));
        let shown = [told.clat, told.lat].map(|latency| latency.unwrap().percentiles);
        let expect = |wanted: bool| {
            if wanted {
                vec![(50.0, 100)]
            } else {
                Vec::new()
            }
        };
        assert_eq!(shown, [expect(clat), expect(lat)], "{option}");
    }
    assert!(read("--disable_lat=1").lat.is_none());
}

#[test]
fn disks_are_counted_once() {
    let measured = |copies: Vec<CopyRecord>| Measured {
        values: BTreeMap::new(),
        missing: BTreeMap::new(),
        cpu_windows: Vec::new(),
        windows: Vec::new(),
        copies,
        latencies: BTreeMap::new(),
        notes: Vec::new(),
    };
    let mut disks = Disks::default();
    disks.add(&measured(vec![copy(1, 1), copy(1, 1)]));
    disks.add(&measured(vec![copy(1, 1)]));
    let uses = disks.uses();
    assert_eq!(
        (uses.len(), uses[0].name.as_str(), uses[0].ios),
        (1, "vda", (14, 0))
    );
    assert_eq!(round_to_u64(uses[0].util_percent), 50);
}

#[test]
fn an_error_has_the_number_that_the_kernel_gave() {
    assert_eq!(
        looks::errno("write `f`: No space left on device (os error 28)"),
        28
    );
    assert_eq!(looks::errno("worker killed by signal 9"), 1);
}

#[test]
fn what_was_searched_for_and_let_pass_is_told() {
    let mut one = copy(100, 50);
    for (name, value) in [
        ("latency_target_depth", 6.0),
        ("steady_attained", 1.0),
        ("steady_criterion", 1.5),
        ("steady_iops_00000", 100.0),
        ("steady_iops_00001", 101.0),
        ("read_errors", 3.0),
        ("first_errno", 5.0),
    ] {
        one.reported.insert(name.to_owned(), value);
    }
    let copies = [one];
    let plan = plan(
        "--name=a --size=1m --latency_target=2000 --latency_window=100000 --ss=iops:5% --ss_dur=2 \
         --continue_on_error=io",
    );
    let result = result(&piece(&plan, &copies), 0.0);
    let target = result.target.unwrap();
    assert_eq!((target.depth, target.target_ns), (6, 2_000_000));
    let steady = result.steady_state.unwrap();
    assert_eq!(
        (steady.rule.as_str(), steady.criterion.as_str()),
        ("iops:5.000000%", "1.500000%")
    );
    assert!(steady.is_attained);
    assert_eq!(steady.iops, [100, 101]);
    assert_eq!((result.let_pass, result.error), (Some((3, 5)), 5));
}

#[test]
fn what_was_let_pass_has_an_error_number_in_every_form() {
    let plan = plan("--name=a --size=1m --continue_on_error=all");
    for (reported, expect) in [
        (&[("read_errors", 32.0), ("first_errno", 5.0)][..], (32, 5)),
        (&[("verify_errors", 2.0)], (2, 84)),
        (&[], (0, 0)),
    ] {
        let mut one = copy(100, 0);
        for (name, value) in reported {
            one.reported.insert((*name).to_owned(), *value);
        }
        let copies = [one];
        let told = result(&piece(&plan, &copies), 0.0);
        assert_eq!((told.let_pass, told.error), (Some(expect), expect.1));
        let report = Report {
            jobs: vec![told],
            ..Report::default()
        };
        let json: serde_json::Value =
            serde_json::from_str(&dialects::fio::output::json(&report, false)).unwrap();
        let job = &json["jobs"][0];
        assert_eq!(
            [&job["error"], &job["total_err"], &job["first_error"]].map(|n| n.as_u64().unwrap()),
            [
                u64::from(expect.1.unsigned_abs()),
                expect.0,
                u64::from(expect.1.unsigned_abs())
            ]
        );
        let terse = dialects::fio::output::terse(&report, 3);
        let fields: Vec<&str> = terse.trim_end().split(';').collect();
        let number = expect.1.to_string();
        assert_eq!(
            (fields[4], fields[fields.len() - 1]),
            (&number[..], &number[..])
        );
        let text = dialects::fio::output::text(&report, false);
        assert!(text.contains(&format!("err={number}")), "{text}");
        let line = format!("errors: total={}, first={number}", expect.0);
        assert_eq!(text.contains(&line), expect.0 > 0, "{text}");
    }
}

#[test]
fn what_took_less_than_a_millisecond_took_one() {
    let plan = plan("--name=a --size=1m --rw=read");
    let ms = |runtime_ns: f64, reads| {
        let mut one = copy(reads, 0);
        one.reported.insert("runtime_ns".to_owned(), runtime_ns);
        let read = result(&piece(&plan, &[one]), 0.0).read.unwrap();
        (read.runtime_ms, read.iops > 0.0)
    };
    assert_eq!(ms(200_000.0, 100), (1, true));
    assert_eq!(ms(1_000_001.0, 100), (2, true));
    assert_eq!(ms(3_000_000.0, 100), (3, true));
}

#[test]
fn what_was_read_wrong_has_the_error_of_fio() {
    let null = plan("--name=a --size=1m --ioengine=null");
    let phases = crate::cmd::fio::phases::of(&null).unwrap();
    let error = |failure: Failure| failed(&phases[0], &failure)[0].error;
    assert_eq!(error(Failure::WrongResult("verify".to_owned())), 84);
    assert_eq!(error(Failure::Error("read: (os error 5)".to_owned())), 5);
}
