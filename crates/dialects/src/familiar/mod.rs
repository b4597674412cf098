//! Everybody's block: the figures that forums and blogs quote, made of the rounds of a run exactly as the programs make
//! them that are quoted, each beside the test of ours that asks the same question.
//!
//! These programs did not run. Our own engine did what they do, once and their way: the tests `familiar.*`. Of
//! `CrystalDiskMark` and `UnixBench`, which differ in what is made of the rounds alone, these are the tests that there
//! are. What is shown is compatible with their figures, and labelled as such.

#[cfg(test)]
mod tests;

use crate::unixbench;
use model::num::approx;
use model::params::ParamValue;
use model::plan::{CaseId, MetricId, PlannedCase};
use model::record::{Measured, Outcome, Run};
use model::units::{Bytes, Nanos};

/// A figure that is quoted, beside ours.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Whose figure it is, and what it is called there.
    pub name: String,
    /// The metric that it comes from; of an index that of its first test.
    pub metric: MetricId,
    /// The figure; `None` where the run has no round for it.
    pub theirs: Option<Theirs>,
    /// Our figure for the same question.
    pub ours: Ours,
    /// Why the two differ.
    pub why: Why,
}

/// A figure as it is quoted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Theirs {
    /// Bytes a second, with operations a second where those are quoted beside them.
    Rate {
        /// Bytes a second, shown in decimal MB/s.
        bytes_per_s: f64,
        /// Operations a second.
        iops: Option<f64>,
    },
    /// Events a second.
    Events(f64),
    /// A time in nanoseconds.
    Time(f64),
    /// A number without a unit.
    Index(f64),
}

/// Where our figure for the same question stands.
#[derive(Clone, Debug, PartialEq)]
pub enum Ours {
    /// A metric, times this in the unit of theirs.
    Metric(MetricId, f64),
    /// The index of so many copies.
    Index(u32),
}

/// Why a figure of theirs and ours differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Theirs is over with its bytes, after so long.
    OverIn(Nanos),
    /// Theirs was cut to this time, of [`YABS_TIME`].
    CutTo(Nanos),
    /// Theirs is one shot.
    OneShot,
    /// Theirs writes zeros to the page cache, and flushes once.
    Zeros,
    /// Theirs is the best of so many runs.
    Best(usize),
    /// Theirs makes a file longer with each write; ours writes into a file that is there.
    NewFile,
    /// Theirs is one pass over the tests.
    OnePass,
}

/// The time after which YABS ends a run of fio.
pub const YABS_TIME: Nanos = Nanos::from_secs(30);

/// The jobs of its runs of fio.
pub const YABS_JOBS: u32 = 2;

/// The block sizes of its runs of fio: what they are called, the test that does it their way, and ours.
pub(crate) const YABS: [(&str, &str, &str); 4] = [
    ("4k", "familiar.yabs-4k", "storage.mixed-4k"),
    ("64k", "familiar.yabs-64k", "storage.mixed-64k"),
    ("512k", "familiar.yabs-512k", "storage.mixed-512k"),
    ("1m", "familiar.yabs-1m", "storage.mixed-1m"),
];

/// The rows of `CrystalDiskMark`, and our tests, which do the same.
const CRYSTAL_DISK_MARK: [(&str, &str); 8] = [
    ("SEQ1M Q8T1 read", "storage.read-1m"),
    ("SEQ1M Q8T1 write", "storage.write-1m"),
    ("SEQ1M Q1T1 read", "storage.read-1m-qd1"),
    ("SEQ1M Q1T1 write", "storage.write-1m-qd1"),
    ("RND4K Q32T1 read", "storage.randread-4k-qd32"),
    ("RND4K Q32T1 write", "storage.randwrite-4k-qd32"),
    ("RND4K Q1T1 read", "storage.randread-4k"),
    ("RND4K Q1T1 write", "storage.randwrite-4k"),
];

/// Of as many runs `CrystalDiskMark` shows the best.
const BEST_OF: usize = 5;

/// The family of tests that are run in the way of others: without one of them nobody asked for the block.
const FAMILY: &str = "familiar.";

/// The rows of a run, in the order in which people know them; none where it has no test of that family, of a soak, and
/// of what another program measured.
pub fn rows(run: &Run) -> Vec<Row> {
    let mut tests = run.plan.cases.iter().map(|case| case.id.test.as_str());
    let dropped = run.plan.dropped.iter().map(|one| one.what.as_str());
    let asks = tests.any(|test| test.starts_with(FAMILY))
        || dropped.into_iter().any(|what| what.starts_with(FAMILY));
    if !asks || run.plan.soak.is_some() || run.meta.origin.is_some() {
        return Vec::new();
    }
    let yabs = YABS.into_iter().flat_map(|row| yabs(run, row));
    let disk_mark = CRYSTAL_DISK_MARK.into_iter();
    let disk_mark = disk_mark.map(|(name, test)| disk_mark_row(run, name, test));
    let mut rows: Vec<Row> = yabs
        .chain([dd(run)])
        .chain(disk_mark)
        .chain([etcd(run), sysbench(run)])
        .collect();
    rows.retain(|row| is_part(run, &row.metric.case));
    rows.extend(indexes(run));
    rows
}

fn case(test: &str, copies: u32) -> CaseId {
    CaseId {
        test: test.to_owned(),
        copies,
    }
}

fn metric(case: &CaseId, quantity: &str) -> MetricId {
    MetricId {
        case: case.clone(),
        quantity: quantity.to_owned(),
    }
}

fn ours(test: &str, copies: u32, quantity: &str, factor: f64) -> Ours {
    Ours::Metric(metric(&case(test, copies), quantity), factor)
}

/// Whether a case was to be measured; those that were left out count.
fn is_part(run: &Run, case: &CaseId) -> bool {
    let names = [case.test.clone(), case.to_string()];
    let mut dropped = run.plan.dropped.iter();
    run.plan.case(case).is_some() || dropped.any(|one| names.contains(&one.what))
}

/// The rounds of a case that have values, in the order in which they ran.
fn shots<'a>(run: &'a Run, case: &'a CaseId) -> impl Iterator<Item = &'a Measured> {
    run.rounds_of(case)
        .filter_map(|round| match &round.outcome {
            Outcome::Done(measured) => Some(measured),
            Outcome::Failed(_) => None,
        })
}

/// Bytes of an operation of a case.
fn block(run: &Run, id: &CaseId) -> Option<Bytes> {
    match run.plan.case(id)?.params.get("bs") {
        Some(ParamValue::Size(bytes)) => Some(*bytes),
        _ => None,
    }
}

/// The time after which a shot is over, even if there are bytes left; zero where there is none.
pub(crate) fn runtime(case: &PlannedCase) -> Nanos {
    match case.params.get("runtime") {
        Some(ParamValue::Duration(time)) => *time,
        _ => Nanos::ZERO,
    }
}

/// One run of fio as YABS has it.
pub(crate) struct Yabs {
    /// Bytes of an operation.
    pub(crate) block: Bytes,
    /// Operations a second: reads, writes, and both.
    pub(crate) iops: [f64; 3],
    /// How long it took.
    took: Option<Nanos>,
}

impl Yabs {
    /// The one shot of this test; `None` where there is none with all values.
    pub(crate) fn of(run: &Run, test: &str) -> Option<Self> {
        let id = case(test, YABS_JOBS);
        let block = block(run, &id)?;
        let shot = shots(run, &id).next()?;
        let value = |quantity: &str| shot.values.get(quantity).copied();
        let took = shot.copies.iter().map(|copy| copy.wall).max();
        Some(Self {
            block,
            iops: [value("read_iops")?, value("write_iops")?, value("iops")?],
            took,
        })
    }

    fn why(&self, runtime: Nanos) -> Why {
        // The last operations under way end after the time.
        match self.took {
            Some(took) if took >= runtime && runtime > Nanos::ZERO && runtime < YABS_TIME => {
                Why::CutTo(runtime)
            }
            Some(took) => Why::OverIn(took),
            None => Why::OneShot,
        }
    }
}

/// What a run of fio by YABS is quoted by.
fn yabs(run: &Run, (bs, test, ours): (&str, &str, &str)) -> [Row; 3] {
    let id = case(test, YABS_JOBS);
    let shot = Yabs::of(run, test);
    let planned = run.plan.case(&id);
    let runtime = planned.map_or(Nanos::ZERO, runtime);
    // Ours may have been asked for with other blocks.
    let ours_block = block(run, &case(ours, YABS_JOBS)).unwrap_or_default();
    let ways = ["read", "write", "total"];
    let quantities = ["read_iops", "write_iops", "iops"];
    [0, 1, 2].map(|at| Row {
        name: format!("YABS {bs} {}", ways[at]),
        metric: metric(&id, quantities[at]),
        theirs: shot.as_ref().map(|shot| Theirs::Rate {
            bytes_per_s: shot.iops[at] * approx(shot.block.0),
            iops: Some(shot.iops[at]),
        }),
        ours: self::ours(ours, YABS_JOBS, quantities[at], approx(ours_block.0)),
        why: shot.as_ref().map_or(Why::OneShot, |shot| shot.why(runtime)),
    })
}

/// The mean of the runs of dd.
fn dd(run: &Run) -> Row {
    let id = case("familiar.dd", 1);
    let mut rates = shots(run, &id).filter_map(|shot| shot.values.get("bw_bytes_per_s"));
    Row {
        name: "bench.sh dd".to_owned(),
        metric: metric(&id, "bw_bytes_per_s"),
        theirs: rates.next().map(|&bytes_per_s| Theirs::Rate {
            bytes_per_s,
            iops: None,
        }),
        ours: ours("storage.write-1m", 1, "bw_bytes_per_s", 1.0),
        why: Why::Zeros,
    }
}

/// The best of the first runs.
fn disk_mark_row(run: &Run, name: &str, test: &str) -> Row {
    let id = case(test, 1);
    let runs: Vec<&Measured> = shots(run, &id).take(BEST_OF).collect();
    let rate = |shot: &&Measured| {
        let value = |quantity: &str| shot.values.get(quantity).copied();
        Some((value("bw_bytes_per_s")?, value("iops")))
    };
    let best = runs
        .iter()
        .filter_map(rate)
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let why = match runs.len() {
        0 | 1 => Why::OneShot,
        several => Why::Best(several),
    };
    Row {
        name: format!("CDM {name}"),
        theirs: best.map(|(bytes_per_s, iops)| Theirs::Rate { bytes_per_s, iops }),
        ours: ours(test, 1, "bw_bytes_per_s", 1.0),
        why,
        metric: metric(&id, "bw_bytes_per_s"),
    }
}

/// The 99th percentile of the syncs of one run.
fn etcd(run: &Run) -> Row {
    let id = case("familiar.etcd", 1);
    let mut p99 = shots(run, &id).filter_map(|shot| shot.values.get("sync_ns_p99"));
    Row {
        name: "etcd fdatasync p99".to_owned(),
        theirs: p99.next().copied().map(Theirs::Time),
        metric: metric(&id, "sync_ns_p99"),
        ours: ours("storage.fsync-4k", 1, "sync_ns_p99", 1.0),
        why: Why::NewFile,
    }
}

/// The events of one run of sysbench.
fn sysbench(run: &Run) -> Row {
    let id = case("familiar.sysbench-cpu", 1);
    let mut rates = shots(run, &id).filter_map(|shot| shot.values.get("ops_per_s"));
    Row {
        name: "sysbench cpu".to_owned(),
        theirs: rates.next().copied().map(Theirs::Events),
        metric: metric(&id, "ops_per_s"),
        ours: ours("cpu.prime", 1, "ops_per_s", 1.0),
        why: Why::OneShot,
    }
}

/// UnixBench's index of the first pass, at each concurrency that was asked for.
fn indexes(run: &Run) -> impl Iterator<Item = Row> {
    let first_test = &unixbench::TESTS[0];
    unixbench::asked(run).into_iter().map(move |index| {
        let copies = index.copies;
        let first = unixbench::by_pass(run, copies)
            .and_then(|(_, passes)| passes.into_iter().min_by_key(|(pass, _)| *pass));
        Row {
            name: "UnixBench".to_owned(),
            metric: metric(&case(first_test.test, copies), first_test.quantity),
            theirs: first
                .filter(|_| !index.partial)
                .map(|(_, index)| Theirs::Index(index)),
            ours: Ours::Index(copies),
            why: Why::OnePass,
        }
    })
}
