//! Reports from copies that are made up.

use super::*;
use crate::cmd::fio::surroundings::Machine;
use dialects::fio::result::Direction;
use model::digest::Digest;
use model::record::CopyDetail;
use model::units::Nanos;

/// A copy that read and wrote so many blocks in a second, in two windows.
fn copy(reads: u64, writes: u64) -> CopyRecord {
    let second = Nanos::from_secs(1);
    let mut told = job::Report {
        runtime: second,
        depths: Some(job::Depths {
            level: [30, 0, 10, 0, 0, 0, 0],
            ..job::Depths::default()
        }),
        disk: Some(job::DiskUse {
            name: "vda".to_owned(),
            ops: (7, 0),
            busy: Nanos::from_millis(500),
            ..job::DiskUse::default()
        }),
        ..job::Report::default()
    };
    let spread = |low: u64, mean: u64, high: u64| job::Spread {
        count: 2,
        min: approx(low),
        max: approx(high),
        mean: approx(mean),
        stddev: 3.0,
    };
    told.done.read = job::Done {
        ops: reads,
        bytes: reads * 4096,
        iops: Some(spread(reads.saturating_sub(10), reads, reads + 10)),
        bytes_per_s: Some(spread(0, reads * 4096, 0)),
        ..job::Done::default()
    };
    (told.done.write.ops, told.done.write.bytes) = (writes, writes * 8192);
    let detail = CopyDetail {
        job: Some(Box::new(told)),
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
        wall: second,
        user: Nanos(250_000_000),
        system: Nanos(500_000_000),
        digest: Digest::EMPTY,
        allocations: 0,
        cpu: None,
        reported: BTreeMap::new(),
        apart: Some(Box::new(detail)),
    }
}

/// What a copy told, to be changed.
fn told(copy: &mut CopyRecord) -> &mut job::Report {
    copy.apart.as_mut().unwrap().job.as_mut().unwrap()
}

fn plan(line: &str) -> Plan {
    let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
    dialects::fio::parse(&arguments, &Machine).unwrap()
}

fn piece<'a>(plan: &'a Plan, copies: &'a [CopyRecord]) -> Piece<'a> {
    Piece {
        group: 0,
        parts: plan
            .jobs()
            .zip(copies)
            .map(|(job, copy)| Part::new(job, copy))
            .collect(),
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
fn a_job_that_did_nothing_has_no_share_of_the_cpu() {
    let plan = plan("--name=a --size=1m");
    let mut idle = copy(1, 1);
    // It took longer to get ready than its work lasted.
    idle.wall = Nanos(50_000_000);
    told(&mut idle).done = Directions::default();
    let copies = [idle];
    let told = result(&piece(&plan, &copies), 0.0);
    let cpu = told.cpu.unwrap();
    assert_eq!((cpu.user_percent, cpu.system_percent), (None, None));
    let report = Report {
        jobs: vec![told],
        ..Report::default()
    };
    let text = dialects::fio::output::text(&report, false);
    // As in JSON: parsers want a number there.
    let line = "\n  cpu          : usr=0.00%, sys=0.00%, ctx=7, majf=";
    assert!(text.contains(line), "{text}");
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
        series: BTreeMap::new(),
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
    let found = told(&mut one);
    found.latency_depth = Some(6);
    found.steady = Some(job::Steadiness {
        attained: true,
        criterion: 1.5,
        iops: vec![100.0, 101.0],
        ..job::Steadiness::default()
    });
    (found.done.read.errors, found.first_errno) = (3, Some(5));
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
    for (errors, first_errno, mismatches, expect) in [
        (32, Some(5), 0, (32, 5)),
        (0, None, 2, (2, 84)),
        (0, None, 0, (0, 0)),
    ] {
        let mut one = copy(100, 0);
        let found = told(&mut one);
        (found.done.read.errors, found.first_errno) = (errors, first_errno);
        found.verify_errors = mismatches;
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
        assert!(text.contains(&format!("err={number:>2}")), "{text}");
        let line = format!("errors    : total={}, first_error={number}/<", expect.0);
        assert!(text.contains(&line), "{text}");
    }
}

#[test]
fn what_took_less_than_a_millisecond_took_one() {
    let plan = plan("--name=a --size=1m --rw=read");
    let ms = |runtime_ns: u64, reads| {
        let mut one = copy(reads, 0);
        told(&mut one).runtime = Nanos(runtime_ns);
        let read = result(&piece(&plan, &[one]), 0.0).read.unwrap();
        (read.runtime_ms, read.iops > 0.0)
    };
    assert_eq!(ms(200_000, 100), (1, true));
    assert_eq!(ms(1_000_001, 100), (2, true));
    assert_eq!(ms(3_000_000, 100), (3, true));
}

#[test]
fn what_was_read_wrong_has_the_error_of_fio() {
    let null = plan("--name=a --size=1m --ioengine=null");
    let phases = crate::cmd::fio::phases::of(&null).unwrap();
    let error = |failure: Failure| failed(&phases[0], &failure)[0].error;
    assert_eq!(error(Failure::WrongResult("verify".to_owned())), 84);
    assert_eq!(error(Failure::Error("read: (os error 5)".to_owned())), 5);
}
