//! The last step of a job: what its options say together, and what cannot go together.

use super::draft::Draft;
use super::job::{EngineKind, Extent, Job, Mix, Order, Pace, Zones};
use super::options::{finish_blocks, generated};
use super::value::seconds;

/// A `runtime` below this many nanoseconds is hardly ever meant.
const SHORT_RUNTIME_NS: u64 = 100_000_000;

/// The job as it is to be done; the error says what contradicts what.
pub(super) fn finish(draft: &mut Draft) -> Result<Job, String> {
    finish_blocks(draft);
    steady_state(draft);
    zones(draft)?;
    conflicts(&draft.job)?;
    engine_options(&draft.job)?;
    times(draft);
    queue(draft);
    offsets(draft);
    Ok(draft.job.clone())
}

fn steady_state(draft: &mut Draft) {
    let steady = draft.steady;
    if let Some(mut rule) = steady.rule {
        rule.duration_ns = steady.duration_ns;
        rule.ramp_ns = steady.ramp_ns;
        if rule.duration_ns == 0 {
            draft.warn("`steadystate` without `ss_dur` is never looked at, as in fio");
        } else {
            draft.job.life.steady_state = Some(rule);
        }
    }
}

fn zones(draft: &mut Draft) -> Result<(), String> {
    let zones = draft.zones;
    let is_sized = zones.size_bytes > 0;
    if zones.is_off && is_sized {
        return Err("`zonemode=none` and `zonesize` contradict each other".to_owned());
    }
    draft.job.work.zones = is_sized.then_some(Zones {
        size_bytes: zones.size_bytes,
        range_bytes: (zones.range_bytes > 0).then_some(zones.range_bytes),
        skip_bytes: zones.skip_bytes,
    });
    Ok(())
}

fn conflicts(job: &Job) -> Result<(), String> {
    let has = |rate: super::job::Directions<Option<u64>>| {
        [rate.read, rate.write, rate.trim]
            .into_iter()
            .flatten()
            .any(|rate| rate > 0)
    };
    if has(job.pace.bytes_per_s) && has(job.pace.iops) {
        return Err("`rate` and `rate_iops` exclude each other".to_owned());
    }
    kept_rates(&job.pace)?;
    if let Some(Extent::Bytes(size)) = job.amount.size
        && size > 0
    {
        let blocks = &job.work.blocks;
        let smallest = match job.work.mix {
            Mix::Read => blocks.read.min_bytes(),
            Mix::Write => blocks.write.min_bytes(),
            Mix::Trim => blocks.trim.min_bytes(),
            Mix::ReadWrite => blocks.read.min_bytes().max(blocks.write.min_bytes()),
            Mix::TrimWrite => blocks.trim.min_bytes().max(blocks.write.min_bytes()),
        };
        if size < smallest {
            return Err(format!(
                "size={size} is less than one operation of {smallest} bytes"
            ));
        }
    }
    if job.verify.only_checks && job.verify.method.is_none() {
        return Err("`verify_only` needs `verify`".to_owned());
    }
    if job.verify.method == Some(super::job::VerifyMethod::Pattern) && job.verify.pattern.is_none()
    {
        return Err("`verify=pattern` needs `verify_pattern`".to_owned());
    }
    let target = &job.target;
    if target.filename.is_none() && job.engine.kind != EngineKind::Null && leads_out(job) {
        return Err(
            "the names of its files, made from `filename_format` and its own name, lead out of the directory; fio \
             follows them, here only `filename` says where a file lies"
                .to_owned(),
        );
    }
    if job.target.creates_only && !job.target.may_create {
        return Err("`create_only` and `allow_file_create=0` contradict each other".to_owned());
    }
    Ok(())
}

/// A smallest rate above the rate that is asked for can never be kept. As in fio, that of a direction which the job
/// does not have counts too, and what is judged in another unit than it is asked for is found out by running.
fn kept_rates(pace: &Pace) -> Result<(), String> {
    let pairs = [
        ("rate", &pace.bytes_per_s, &pace.min_bytes_per_s),
        ("rate_iops", &pace.iops, &pace.min_iops),
    ];
    for (name, rates, least) in pairs {
        let each = rates.iter().zip(least.iter());
        for (direction, (rate, least)) in ["reads", "writes", "trims"].iter().zip(each) {
            if let (Some(rate), Some(least)) = (*rate, *least)
                && rate > 0
                && least > rate
            {
                return Err(format!(
                    "`{name}_min={least}` is above `{name}={rate}` of {direction}: it can never be kept"
                ));
            }
        }
    }
    Ok(())
}

/// Whether the names that are made from that of the section and `filename_format` would lead elsewhere than below where
/// files are made.
fn leads_out(job: &Job) -> bool {
    let name = generated(job, 0);
    let is_absolute = name.starts_with('/') && job.target.directory.is_none();
    is_absolute || name.split('/').any(|part| part == "..")
}

/// Options of single engines; fio does not know them under another one.
fn engine_options(job: &Job) -> Result<(), String> {
    const URING: &[&str] = &[
        "fixedbufs",
        "registerfiles",
        "sqthread_poll",
        "sqthread_poll_cpu",
        "nonvectored",
    ];
    let kind = job.engine.kind;
    let is_uring = kind == EngineKind::IoUring;
    for setting in &job.settings {
        let fits = match setting.name {
            "hipri" => is_uring || kind == EngineKind::Pvsync2,
            name if URING.contains(&name) => is_uring,
            _ => true,
        };
        if !fits {
            return Err(format!(
                "`{}` is no option of `ioengine={}`",
                setting.name,
                kind.word()
            ));
        }
    }
    Ok(())
}

fn times(draft: &mut Draft) {
    let life = &mut draft.job.life;
    if life.is_time_based && life.runtime_ns.is_none() {
        life.is_time_based = false;
        draft.warn("`time_based` without `runtime` has no effect, as in fio");
    } else if let Some(runtime) = life.runtime_ns
        && runtime < SHORT_RUNTIME_NS
    {
        draft.warn(format!("the job runs for {} s only", seconds(runtime)));
    } else if life.runtime_ns.is_some() && !life.is_time_based {
        draft.note(
            "without `time_based` the job ends when its region is done, even before `runtime`",
        );
    }
}

fn queue(draft: &mut Draft) {
    let engine = &draft.job.engine;
    if engine.kind.is_synchronous() && engine.depth > 1 {
        let text = format!(
            "iodepth={} has no effect: `ioengine={}` has one operation at a time; for a queue use io_uring or libaio",
            engine.depth,
            engine.kind.word()
        );
        draft.warn(text);
    } else if engine.kind == EngineKind::Libaio && !engine.is_direct {
        draft.warn(
            "`ioengine=libaio` without `direct=1` blocks on submission: the queue is not kept full",
        );
    }
    let target = &draft.job.target;
    if target.filename.is_some() && draft.job.has("nrfiles") {
        draft.note("`nrfiles` has no meaning beside `filename`");
    }
}

fn offsets(draft: &mut Draft) {
    let job = &draft.job;
    let is_sequential = matches!(job.work.order, Order::Sequential { .. });
    let shares_file = job.clones > 1 && job.target.filename.is_some();
    if is_sequential && shares_file && job.amount.offset_increment == Extent::Bytes(0) {
        draft.warn(
            "all clones go through the same blocks of the same file in sequence, and help each other through caches; \
             `offset_increment` keeps them apart",
        );
    }
}
