//! Runs of made-up figures, and what is quoted of them.

use super::*;
use model::params::Params;
use model::plan::Dropped;
use model::record::{CopyRecord, Failure};
use model::spec::Better;
use model::units::Unit;

/// A case with its parameters.
fn planned(id: &str, params: &[(&str, ParamValue)]) -> PlannedCase {
    let metric = testkit::metric("iops", Unit::OpsPerSecond, Better::Higher);
    let params = params.iter();
    PlannedCase {
        params: params
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect::<Params>(),
        ..testkit::case(id, vec![metric])
    }
}

/// Rounds: how many seconds each takes, and its values.
type Shots<'a> = Vec<(u64, &'a [(&'a str, f64)])>;

/// A run of these cases, each with rounds of these values that take so many seconds.
fn run(cases: Vec<(PlannedCase, Shots<'_>)>) -> Run {
    let (planned, rounds): (Vec<_>, Vec<_>) = cases.into_iter().unzip();
    let mut run = testkit::run(planned);
    let ids: Vec<CaseId> = run.plan.cases.iter().map(|case| case.id.clone()).collect();
    for (id, rounds) in ids.iter().zip(rounds) {
        for (pass, (seconds, values)) in (1..).zip(rounds) {
            let mut done = testkit::measured(values);
            done.copies = vec![CopyRecord {
                wall: Nanos::from_secs(seconds),
                ..CopyRecord::of_operations(1)
            }];
            run.rounds
                .push(testkit::round(id, pass, Outcome::Done(done)));
        }
    }
    run
}

fn size(bytes: u64) -> ParamValue {
    ParamValue::Size(Bytes(bytes))
}

const FIO: &[(&str, f64)] = &[
    ("read_iops", 1000.0),
    ("write_iops", 1010.0),
    ("iops", 2010.0),
];

/// A shot of YABS that took so long, and ours.
fn of_yabs(seconds: u64, runtime: u64) -> Run {
    let time = ParamValue::Duration(Nanos::from_secs(runtime));
    let shot = planned(
        "familiar.yabs-64k@2",
        &[("bs", size(65_536)), ("runtime", time)],
    );
    let ours = planned("storage.mixed-64k@2", &[("bs", size(65_536))]);
    run(vec![(shot, vec![(seconds, FIO)]), (ours, vec![(1, FIO)])])
}

fn rate(bytes_per_s: f64, iops: Option<f64>) -> Theirs {
    Theirs::Rate { bytes_per_s, iops }
}

fn names(rows: &[Row]) -> Vec<&str> {
    rows.iter().map(|row| row.name.as_str()).collect()
}

#[test]
fn a_shot_of_yabs_is_read_write_and_total_in_bytes_and_operations() {
    let rows = rows(&of_yabs(4, 5));
    let expect = ["YABS 64k read", "YABS 64k write", "YABS 64k total"];
    assert_eq!(names(&rows), expect);
    let theirs: Vec<_> = rows.iter().map(|row| row.theirs).collect();
    assert_eq!(
        theirs,
        [1000.0, 1010.0, 2010.0].map(|iops| Some(rate(iops * 65_536.0, Some(iops))))
    );
    let Ours::Metric(id, factor) = &rows[2].ours else {
        panic!("{:?}", rows[2].ours)
    };
    assert_eq!(id.to_string(), "storage.mixed-64k@2:iops");
    assert!((factor - 65_536.0).abs() < 1e-9);
}

#[test]
fn why_a_shot_of_yabs_differs_says_what_ended_it() {
    let check = |seconds, runtime, why| assert_eq!(rows(&of_yabs(seconds, runtime))[0].why, why);
    let of = Nanos::from_secs;
    check(4, 5, Why::OverIn(of(4)));
    check(5, 5, Why::CutTo(of(5)));
    check(30, 30, Why::OverIn(of(30)));
    check(12, 0, Why::OverIn(of(12)));
}

#[test]
fn dd_is_what_its_round_tells_of_three_shots() {
    let values = [("bw_bytes_per_s", 250e6)];
    let rows = rows(&run(vec![(
        planned("familiar.dd@1", &[]),
        vec![(1, &values[..])],
    )]));
    assert_eq!(names(&rows), ["bench.sh dd"]);
    assert_eq!(
        (rows[0].theirs, rows[0].why),
        (Some(rate(250e6, None)), Why::Zeros)
    );
}

#[test]
fn a_row_of_a_disk_mark_is_the_best_of_five_runs_with_the_operations_of_that_run() {
    let rates = [3e6, 1e6, 5e6, 2e6, 4e6, 9e6];
    let values = rates.map(|rate| [("bw_bytes_per_s", rate), ("iops", rate / 1e6)]);
    let shots = |n: usize| values[..n].iter().map(|values| (1, &values[..])).collect();
    let check = |n, best: f64, of| {
        let reads = planned("storage.randread-4k-qd32@1", &[]);
        let familiar = planned("familiar.dd@1", &[]);
        let rows = rows(&run(vec![(reads, shots(n)), (familiar, Vec::new())]));
        assert_eq!(names(&rows), ["bench.sh dd", "CDM RND4K Q32T1 read"]);
        assert_eq!(rows[1].theirs, Some(rate(best * 1e6, Some(best))), "{n}");
        assert_eq!(rows[1].why, Why::Best(of));
    };
    check(6, 5.0, 5);
    check(2, 3.0, 2);
}

#[test]
fn one_run_of_etcd_and_of_sysbench_is_its_first() {
    let syncs: &[_] = &[("sync_ns_p99", 9e6)];
    let events: &[_] = &[("ops_per_s", 1234.5)];
    let rows = rows(&run(vec![
        (planned("familiar.etcd@1", &[]), vec![(3, syncs)]),
        (planned("familiar.sysbench-cpu@1", &[]), vec![(10, events)]),
    ]));
    assert_eq!(names(&rows), ["etcd fdatasync p99", "sysbench cpu"]);
    assert_eq!(rows[0].theirs, Some(Theirs::Time(9e6)));
    assert_eq!(rows[1].theirs, Some(Theirs::Events(1234.5)));
    assert_eq!(rows[1].why, Why::OneShot);
}

#[test]
fn the_index_is_that_of_the_first_pass() {
    let mut cases = vec![(planned("familiar.etcd@1", &[]), Vec::new())];
    let values: Vec<[(&str, f64); 1]> = unixbench::TESTS
        .iter()
        .map(|one| [(one.quantity, one.baseline / one.scale)])
        .collect();
    let twice: Vec<[(&str, f64); 1]> = values
        .iter()
        .map(|[(q, value)]| [(*q, 2.0 * value)])
        .collect();
    for ((entry, once), twice) in unixbench::TESTS.iter().zip(&values).zip(&twice) {
        let case = planned(&format!("{}@4", entry.test), &[]);
        cases.push((case, vec![(1, &twice[..]), (1, &once[..])]));
    }
    let rows = rows(&run(cases));
    assert_eq!(names(&rows), ["etcd fdatasync p99", "UnixBench"]);
    let Some(Theirs::Index(index)) = rows[1].theirs else {
        panic!("{:?}", rows[1].theirs)
    };
    assert!((index - 20.0).abs() < 1e-9, "{index}");
    assert_eq!(rows[1].ours, Ours::Index(4));
}

#[test]
fn what_was_left_out_or_failed_has_a_row_without_a_figure_and_what_nobody_asked_for_has_none() {
    let mut run = of_yabs(4, 5);
    run.rounds.clear();
    let failure = Failure::Unsupported("no libaio".to_owned());
    let id = run.plan.cases[0].id.clone();
    run.rounds
        .push(testkit::round(&id, 1, Outcome::Failed(failure)));
    run.plan.dropped.push(Dropped {
        what: "familiar.dd".to_owned(),
        why: "no room".to_owned(),
        needs: None,
    });
    let rows = rows(&run);
    assert_eq!(rows.len(), 4);
    assert!(rows.iter().all(|row| row.theirs.is_none()), "{rows:?}");
    assert_eq!(rows[3].name, "bench.sh dd");
}

#[test]
fn the_block_is_for_those_who_asked_for_it() {
    let reads = planned("storage.randread-4k@1", &[]);
    assert_eq!(rows(&run(vec![(reads, Vec::new())])), []);
    // YABS has two jobs.
    let one_job = planned("familiar.yabs-4k@1", &[]);
    assert_eq!(rows(&run(vec![(one_job, Vec::new())])), []);
}
