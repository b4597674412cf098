//! `storage.jobs`: several jobs that differ, at the same time, as job files of other programs describe them.
//!
//! Copy i does job i. Each starts, ends and counts by itself: a pause before it, a ramp that is not counted, a time
//! limit, or the end of its work; and it may take others with it. What it did is therefore told from the first to the
//! last of its own operations, and kept apart from what the others did. Nothing here is a test of its own: the
//! parameter comes from `kurabe fio` and `kurabe vdbench`.

mod metrics;

use super::job::{kinds, touches};
use super::spec;
use super::task::{Doing, Words, ask_for, keep_to_cpus};
use super::{buffers, make_ready, open, pace};
use engine::consent::Touch;
use engine::workload::{Body, Place, StandIn, WorkError, Workload};
use metrics::{LOGGED, METRICS};
use model::host::HostFacts;
use model::job::{Directions, IoEngine, Job, Language, Target, Task};
use model::order::Order as _;
use model::params::{ParamValue, Params};
use model::plan::{Plan, PlannedCase, Settle, Shape};
use model::spec::{MetricDef, Nature, ParamDef, ParamKind, Role, Spec};
use model::units::{Nanos, Unit};
use std::path::{Path, PathBuf};
use sys::io::Kind;

/// The workload.
pub(crate) static JOBS: Jobs = Jobs;

/// Several jobs at the same time.
#[derive(Debug)]
pub(crate) struct Jobs;

/// The name of the workload.
pub const NAME: &str = "storage.jobs";

/// The name of its one parameter.
const PARAM: &str = "jobs";

static SPEC: Spec = Spec {
    name: NAME,
    version: 2,
    nature: Nature::Storage,
    title: "jobs of a job file, at the same time",
    doc: "Each copy does one job of the list, which `kurabe fio` and `kurabe vdbench` make from their job files. Every \
          job starts and ends by itself; its rate is what it did over the time from its first to its last operation, \
          and the rates of the jobs are summed. Latencies are those of all jobs together; those of each are kept in \
          the run.",
    params: &[ParamDef {
        name: PARAM,
        kind: ParamKind::Jobs,
        default: "",
        doc: "The jobs, one for each copy.",
    }],
    metrics: METRICS,
    tests: &[],
    simulated: false,
    on_disk: true,
};

/// Windows of the round; those of each job are its own.
const WINDOW: Nanos = Nanos::from_millis(500);

/// What nobody can tell the end of, such as a job on a whole device at a rate of its own, may take this long.
const LONGEST: Nanos = Nanos::from_secs(7 * 24 * 3600);

/// What is expected of storage before anything is known of it: bytes a second, and operations.
const USUAL_BYTES_PER_S: u64 = 200 << 20;
const USUAL_OPS_PER_S: u64 = 20_000;

/// The longest that operations and syncs of a job that ends with its work are waited for, on average: ten times what a
/// disk takes that turns, and as long as one takes that writes back its cache.
const SLOWEST_OP: Nanos = Nanos::from_millis(100);
const SLOWEST_SYNC: Nanos = Nanos::from_secs(1);
/// The same for all of it, however little it is.
const SLOWEST_AT_LEAST: Nanos = Nanos::from_secs(600);

/// Making a name that a job asks for or removes takes this long at most, on average.
const SLOWEST_NAME: Nanos = Nanos::from_millis(5);

/// Files are written before the first job begins: this long at least, and as long as their bytes take at
/// [`LAYOUT_BYTES_PER_S`] beyond that.
const SETUP_MAX: Nanos = Nanos::from_secs(600);
/// The slowest storage that is waited for.
const LAYOUT_BYTES_PER_S: u64 = 4 << 20;

/// The parameters that ask for these jobs.
pub fn params(tasks: Vec<Task>) -> Params {
    [(PARAM.to_owned(), ParamValue::Jobs(tasks))]
        .into_iter()
        .collect()
}

/// The jobs of a case; none of a case of another workload.
pub fn tasks(case: &PlannedCase) -> &[Task] {
    if case.workload == NAME {
        case.params.jobs(PARAM)
    } else {
        &[]
    }
}

/// The files of a plan's jobs that go when it has been carried out, where they are ours.
pub fn unlinked(plan: &Plan) -> Vec<PathBuf> {
    let tasks = plan.cases.iter().flat_map(tasks);
    let unlinked = tasks.filter(|task| task.unlinks);
    let files = |task: &Task| {
        let outputs = task.job.program.iter().flat_map(|program| &program.outputs);
        let outputs: Vec<PathBuf> = outputs.flatten().cloned().collect();
        task.files()
            .map(Path::to_owned)
            .chain(outputs)
            .collect::<Vec<_>>()
    };
    unlinked.flat_map(files).collect()
}

impl Workload for Jobs {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn shape(&self, params: &Params) -> Shape {
        let tasks = params.jobs(PARAM);
        let longest = |of: fn(&Task) -> Nanos| longest(tasks, of);
        let bytes: u64 = tasks
            .iter()
            .filter(|task| task.job.engine.has_data())
            .filter_map(|task| task.job.size)
            .fold(0, u64::saturating_add);
        let names: u64 = tasks.iter().map(|task| task.job.names.count).sum();
        let names = Nanos(names.saturating_mul(SLOWEST_NAME.0));
        Shape {
            setup_max: SETUP_MAX
                .plus(Nanos::from_secs(bytes / LAYOUT_BYTES_PER_S))
                .plus(names),
            warmup: Nanos::ZERO,
            measure: longest(expected),
            fixed_work: true,
            measure_max: Some(longest(hangs_after)),
            settle: if tasks.iter().any(|task| task.job.writes()) {
                Settle::Sync
            } else {
                Settle::None
            },
            window: WINDOW,
            interval: tasks.iter().find_map(told_every),
            apart: true,
            ends_early: true,
            ..Shape::DEFAULT
        }
    }

    fn supported(&self, params: &Params, host: &HostFacts) -> Result<(), String> {
        let tasks = params.jobs(PARAM);
        tasks.iter().try_for_each(|task| {
            let name = &task.name;
            task.job
                .check()
                .map_err(|why| format!("job `{name}`: {why}"))
        })?;
        buffers::have_room(tasks.iter().map(|task| &task.job), host)
    }

    fn metrics(&self, params: &Params) -> Vec<&'static MetricDef> {
        let tasks = params.jobs(PARAM);
        let any = |kind: Kind| tasks.iter().any(|task| kinds(&task.job).contains(&kind));
        let [reads, writes, trims] = [Kind::Read, Kind::Write, Kind::Trim].map(any);
        let syncs = tasks.iter().any(|task| {
            let job = &task.job;
            job.fsync_every > 0 || job.fdatasync_every > 0 || job.fsync_at_end
        });
        let several = [reads, writes, trims]
            .into_iter()
            .filter(|does| *does)
            .count()
            > 1;
        let applies = |metric: &&MetricDef| {
            let of = metric.quantity.split('_').next().unwrap_or_default();
            if metric.role == Role::Offered {
                return tasks.iter().any(|task| task.rate_share.is_some());
            }
            if metric.quantity.contains("_lat_") && !tells_lateness(tasks) {
                return false;
            }
            let is_rate = metric.unit == Unit::OpsPerSecond;
            match of {
                "read" => reads && (several || !is_rate),
                "write" => writes && (several || !is_rate),
                "trim" => trims && (several || !is_rate),
                "sync" => syncs,
                _ => true,
            }
        };
        let logs = tasks.iter().any(|task| task.job.log.is_some());
        let does = LOGGED.iter().zip([reads, writes, trims]);
        let logged = does.filter(|(_, does)| logs && *does);
        let series = logged.flat_map(|(series, _)| series);
        let mut metrics: Vec<_> = METRICS.iter().filter(applies).collect();
        // Windows are in the unit of the first.
        if lead_with_bandwidth(tasks) {
            let bandwidth = |metric: &&MetricDef| metric.unit == Unit::BytesPerSecond;
            metrics.order_by_key(|metric| !bandwidth(metric));
        }
        metrics.extend(series);
        metrics
    }

    fn storage_jobs(&self, params: &Params) -> Vec<Task> {
        params.jobs(PARAM).to_vec()
    }

    fn touches(&self, params: &Params, _: Option<&StandIn>) -> Vec<Touch> {
        // A job names its file by itself: nothing stands in for it.
        let tasks = params.jobs(PARAM);
        tasks.iter().flat_map(|task| touches(&task.job)).collect()
    }

    fn programs(&self, params: &Params) -> Vec<(String, String)> {
        let tasks = params.jobs(PARAM).iter();
        let of = |task: &Task| Some((task.name.clone(), task.job.program.as_ref()?.name.clone()));
        tasks.filter_map(of).collect()
    }

    fn allocates(&self, params: &Params) -> bool {
        // To execute a program does. At the end of a ramp counters are read again, while other jobs may be measuring;
        // and a log may become longer than what was thought of.
        let tasks = params.jobs(PARAM);
        let mut jobs = tasks.iter().map(|task| &task.job);
        jobs.any(|job| job.ramp > Nanos::ZERO || job.log.is_some() || job.program.is_some())
    }

    fn prepare(&self, params: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        let index = usize::try_from(place.copy).unwrap_or(usize::MAX);
        let mut task = params.jobs(PARAM).get(index).cloned().ok_or_else(|| {
            let words = "in the list of jobs: it is shorter";
            WorkError::Failed(format!("find job {} {words}", place.copy))
        })?;
        if let Some(share) = task.rate_share {
            task.job.rate_iops = Some(pace::part(share, place)?);
        }
        // Nothing is made for a job whose turn does not come.
        let words = Words::open(&task, place)?;
        if words.end() {
            return Ok(Box::new(Doing::none(task, words, place)));
        }
        let by_bytes = lead_with_bandwidth(params.jobs(PARAM));
        let doing = match ready(&task, place) {
            Ok(inner) => Doing::new(task, inner, words, place),
            Err(error) => Doing::failed(task, error, words, place),
        };
        Ok(Box::new(doing.by_bytes(by_bytes)))
    }
}

/// How often a job is told of while it goes on, where its language has intervals.
fn told_every(task: &Task) -> Option<Nanos> {
    let has_intervals = task.job.language == Language::Vdbench;
    task.job.log.filter(|_| has_intervals).map(|log| log.window)
}

/// When the last of these jobs has ended, where each takes as long as `of` says, behind those that it waits for.
fn longest(tasks: &[Task], of: fn(&Task) -> Nanos) -> Nanos {
    let mut ends: Vec<(Option<&String>, Nanos)> = Vec::new();
    for task in tasks {
        // A job waits for earlier ones alone.
        let before = ends
            .iter()
            .filter(|(done, _)| done.is_some_and(|done| task.waits_for.contains(done)));
        let begins = before.map(|(_, end)| *end).max().unwrap_or_default();
        ends.push((task.done.as_ref(), begins.plus(of(task))));
    }
    ends.into_iter()
        .map(|(_, end)| end)
        .max()
        .unwrap_or_default()
}

/// How many operations a job does until its work is done, and how many bytes they move; `None` where that is not
/// known before.
fn work(job: &Job) -> Option<(u64, u64)> {
    let again = job.end.loops.max(1);
    let least = job.size_range().0.max(1);
    let bytes = job.end.bytes.or(job.size);
    let (ops, bytes) = match (job.end.ops, bytes) {
        (Some(ops), bytes) => {
            let all = ops.saturating_mul(job.block_bytes);
            (ops, bytes.map_or(all, |bytes| bytes.min(all)))
        }
        (None, Some(bytes)) => (bytes.div_ceil(least), bytes),
        (None, None) => return None,
    };
    // What was written is read once more.
    let reads_back = job.verify.as_ref().is_some_and(|how| how.reads_back);
    let again = again.saturating_mul(1 + u64::from(reads_back));
    Some((ops.saturating_mul(again), bytes.saturating_mul(again)))
}

/// Whether a job goes no faster than it was told to.
fn is_paced(job: &Job) -> bool {
    let is_limited = job.pacing.rates != Directions::default();
    job.is_paced() || is_limited || job.latency_target.is_some()
}

/// What a job takes, as far as its description tells: its time, or less where its work is over before.
fn expected(task: &Task) -> Nanos {
    let job = &task.job;
    let work = work(job).filter(|_| !is_paced(job) && job.engine != IoEngine::Null);
    let by_work = work.map(|(ops, bytes)| {
        let seconds = (bytes / USUAL_BYTES_PER_S).max(ops / USUAL_OPS_PER_S);
        Nanos(seconds.saturating_mul(1_000_000_000)).plus(task.before())
    });
    match (task.longest(), by_work) {
        (Some(time), Some(work)) if !job.end.time_based => time.min(work),
        (Some(only), _) | (None, Some(only)) => only,
        (None, None) => Nanos::ZERO,
    }
}

/// From when on a job that is not over hangs.
fn hangs_after(task: &Task) -> Nanos {
    let job = &task.job;
    let most = |span: Nanos, n: u64| Nanos(span.0.saturating_mul(n));
    match (task.longest(), work(job)) {
        (Some(time), _) => most(time, 2).plus(Nanos::from_secs(30)),
        (None, Some((ops, _))) if !is_paced(job) => {
            let every = job.fsync_every.max(job.fdatasync_every);
            let syncs = ops.checked_div(every).unwrap_or_default();
            SLOWEST_AT_LEAST
                .plus(task.before())
                .plus(most(SLOWEST_OP, ops))
                .plus(most(SLOWEST_SYNC, syncs))
                .min(LONGEST)
        }
        _ => LONGEST,
    }
}

/// Whether all jobs have rates, and a language that tells what waiting for a free place adds to a latency.
fn tells_lateness(tasks: &[Task]) -> bool {
    let mut jobs = tasks.iter().map(|task| &task.job);
    jobs.all(|job| job.language == Language::Vdbench && job.is_rated())
}

/// Whether the windows of a case are bytes per second: where that is what all of its jobs are about.
fn lead_with_bandwidth(tasks: &[Task]) -> bool {
    let mut jobs = tasks.iter().map(|task| &task.job);
    jobs.all(spec::leads_with_bandwidth)
}

/// The job on its CPUs, with its files as long as the jobs beside it need them.
fn ready(task: &Task, place: &Place) -> Result<Box<dyn Body>, WorkError> {
    keep_to_cpus(&task.cpus)?;
    ask_for(&task.process, task.job.priorities.as_ref())?;
    // A job has its file for itself: nothing of it is left to other copies.
    let own = Place {
        copy: u32::from(!task.looks_at_file),
        copies: 1,
        ..place.clone()
    };
    let ends = task.ends_in_files();
    let mut each = ends.iter().zip(&task.file_bytes);
    let makes = !matches!(task.job.target, Target::File { create: false, .. });
    if makes && each.any(|(end, bytes)| end < bytes) {
        let whole = Job {
            size: Some(task.file_bytes.iter().copied().fold(0, u64::saturating_add)),
            file_sizes: task.file_bytes.clone(),
            offset_bytes: 0,
            ..task.job.clone()
        };
        make_ready(&whole, &own)?;
    }
    open(&task.job, &own)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::task::tests::{place, task};
    use engine::recorder::Recorder;
    use model::job::Pattern;

    fn params(tasks: &[Task]) -> Params {
        super::params(tasks.to_vec())
    }

    #[test]
    fn a_round_is_expected_to_take_what_its_longest_job_does_and_waited_for_longer() {
        let check = |tasks: &[Task], expect: u64, hangs: u64| {
            let shape = Jobs.shape(&params(tasks));
            let secs = |span: Nanos| span.0 / 1_000_000_000;
            assert_eq!(
                (secs(shape.measure), secs(shape.hangs_after())),
                (expect, hangs)
            );
            assert_eq!(shape.over_after(), None, "jobs end by themselves");
        };
        let timed = |runtime: u64, delay: u64| {
            let mut timed = task();
            let of = Nanos::from_secs;
            timed.job.end.time = Some(of(runtime));
            (timed.job.start_delay, timed.job.ramp) = (of(delay), of(1));
            timed
        };
        check(&[timed(5, 10), timed(20, 0)], 21, 72);
        check(&[timed(5, 30), timed(20, 0)], 36, 102);
        // Of a gigabyte in blocks of 4 KiB nobody waits for a week, nor is a slow disk's taken for a hang.
        let sized = |bytes: u64, block: u64| {
            let mut sized = task();
            sized.job.engine = IoEngine::Psync;
            (sized.job.size, sized.job.block_bytes) = (Some(bytes), block);
            sized.job.end.time_based = false;
            sized
        };
        check(&[sized(1 << 30, 4096)], 13, 600 + 26_214);
        check(&[sized(1 << 30, 1 << 20)], 5, 600 + 102);
        let mut synced = sized(1 << 30, 1 << 20);
        synced.job.fsync_every = 4;
        check(&[synced], 5, 600 + 102 + 256);
        let mut either = sized(1 << 30, 1 << 20);
        either.job.end.time = Some(Nanos::from_secs(60));
        check(&[either.clone()], 5, 150);
        either.job.end.time_based = true;
        check(&[either], 60, 150);
        let week = LONGEST.0 / 1_000_000_000;
        let mut paced = sized(1 << 30, 4096);
        paced.job.rate_iops = Some(10);
        check(&[paced], 0, week);
        let mut whole_device = sized(0, 4096);
        whole_device.job.size = None;
        check(&[whole_device], 0, week);
    }

    #[test]
    fn jobs_that_wait_for_others_take_the_time_of_both() {
        let after = |done: &str, waits_for: &[&str], secs: u64| Task {
            done: Some(done.to_owned()),
            waits_for: waits_for.iter().map(|word| (*word).to_owned()).collect(),
            job: Job {
                start_delay: Nanos::from_secs(secs),
                ..task().job
            },
            ..task()
        };
        let tasks = [
            after("a", &[], 3),
            after("b", &[], 5),
            after("c", &["a", "b"], 4),
            after("d", &["a"], 2),
            after("e", &["d"], 1),
        ];
        assert_eq!(
            longest(&tasks, |task| task.job.start_delay),
            Nanos::from_secs(9)
        );
        assert_eq!(
            longest(&tasks[3..], |task| task.job.start_delay),
            Nanos::from_secs(3)
        );
    }

    #[test]
    fn a_size_that_no_storage_has_is_no_overflow() {
        let mut huge = task();
        huge.job.size = Some(1 << 62);
        huge.job.engine = IoEngine::Psync;
        let shape = Jobs.shape(&params(&[huge.clone(), huge]));
        assert_eq!(shape.setup_max, Nanos(u64::MAX));
    }

    #[test]
    fn metrics_follow_what_the_jobs_do() {
        let quantities = |tasks: &[Task]| -> Vec<&str> {
            let metrics = Jobs.metrics(&params(tasks));
            metrics.iter().map(|metric| metric.quantity).collect()
        };
        let reads = quantities(&[task()]);
        assert!(reads.contains(&"read_clat_ns_p99") && !reads.contains(&"write_clat_ns_p99"));
        assert!(!reads.contains(&"read_iops") && !reads.contains(&"sync_ns_mean"));
        let mut writer = task();
        writer.job.pattern = Pattern::from_word("randwrite").unwrap();
        writer.job.fsync_every = 1;
        let both = quantities(&[task(), writer]);
        for quantity in [
            "read_iops",
            "write_iops",
            "write_clat_ns_p50",
            "sync_ns_p99",
        ] {
            assert!(both.contains(&quantity), "{quantity}");
        }
    }

    #[test]
    fn windows_of_large_blocks_are_bytes_as_they_were_transferred() {
        use model::job::Blocks;
        let mut large = task();
        large.job.block_bytes = 1 << 20;
        large.job.blocks.read = Some(Blocks::Split(vec![(1 << 20, 50.0), (1 << 16, 50.0)]));
        large.job.engine = IoEngine::Null;
        large.job.size = Some(1 << 30);
        let of = |tasks: &[Task]| {
            let params = params(tasks);
            let dir = tempfile::tempdir().unwrap();
            let mut body = Jobs.prepare(&params, &place(dir.path(), 0)).unwrap();
            body.batch(100, &mut Recorder::off()).unwrap();
            let (work, per_op) = (body.work(), body.work_per_op());
            let finish = body.finish().unwrap();
            let first = Jobs.metrics(&params)[0].quantity;
            (first, work, per_op, finish.job.unwrap().done.read)
        };
        let (first, work, _, done) = of(std::slice::from_ref(&large));
        assert_eq!(
            (first, work),
            ("bw_bytes_per_s", Some(model::num::approx(done.bytes)))
        );
        assert!(
            done.bytes > done.ops << 16 && done.bytes < done.ops << 20,
            "{done:?}"
        );
        // Beside a job of small blocks they are operations.
        let (first, work, per_op, _) = of(&[large, task()]);
        assert_eq!((first, work), ("iops", None));
        assert!((per_op - 1.0).abs() < 1e-9);
    }

    #[test]
    fn each_copy_does_the_job_of_its_number() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = task();
        writer.name = "w".to_owned();
        writer.job.pattern = Pattern::from_word("write").unwrap();
        let params = params(&[task(), writer]);
        for (copy, kind) in [(0, "read_clat"), (1, "write_clat")] {
            let mut body = Jobs.prepare(&params, &place(dir.path(), copy)).unwrap();
            assert_eq!(body.batch(3, &mut Recorder::off()).unwrap(), 3);
            let finish = body.finish().unwrap();
            assert!(finish.latencies.contains_key(kind), "{copy}: {finish:?}");
        }
        let missing = Jobs.prepare(&params, &place(dir.path(), 2));
        assert!(missing.is_err());
    }
}
