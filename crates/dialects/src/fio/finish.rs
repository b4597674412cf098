//! The last step of a job: what its options say together, and what cannot go together.

use super::draft::Draft;
use super::job::{Extent, Job};
use super::options::{engines, finish_blocks, finish_priorities, generated, split_names};
use super::safety::names_device;
use model::job::{Blocks, IoEngine, Pacing, Rate, VerifyMethod};
use model::units::Nanos;

/// A `runtime` below this is hardly ever meant.
const SHORT_RUNTIME: Nanos = Nanos::from_millis(100);

/// The job as it is to be done; the error says what contradicts what.
pub(super) fn finish(draft: &mut Draft) -> Result<Job, String> {
    finish_blocks(draft);
    finish_priorities(draft)?;
    steady_state(draft);
    zones(draft)?;
    conflicts(&draft.job)?;
    burns(&draft.job)?;
    executes(&draft.job)?;
    engine_options(draft)?;
    times(draft);
    queue(draft);
    offsets(draft);
    fills(draft);
    Ok(draft.job.clone())
}

fn steady_state(draft: &mut Draft) {
    let Some(rule) = &mut draft.job.does.steady_state else {
        return;
    };
    (rule.duration, rule.ramp) = (draft.steady_duration, draft.steady_ramp);
    rule.interval = draft.steady_interval.unwrap_or(rule.interval);
    if rule.duration == Nanos::ZERO {
        draft.job.does.steady_state = None;
        draft.warn("`steadystate` without `ss_dur` is never looked at, as in fio");
    }
}

fn zones(draft: &mut Draft) -> Result<(), String> {
    let mut zones = draft.zones;
    let is_sized = zones.work_bytes > 0;
    if draft.zones_off && is_sized {
        return Err("`zonemode=none` and `zonesize` contradict each other".to_owned());
    }
    if zones.range_bytes == 0 {
        zones.range_bytes = zones.work_bytes;
    }
    draft.job.does.zones = is_sized.then_some(zones);
    Ok(())
}

fn conflicts(job: &Job) -> Result<(), String> {
    let any = |of: fn(&Rate) -> Option<u64>| {
        let mut rates = job.does.pacing.rates.iter();
        rates.any(|rate| of(rate).is_some_and(|rate| rate > 0))
    };
    if any(|rate| rate.bytes_per_s) && any(|rate| rate.iops) {
        return Err("`rate` and `rate_iops` exclude each other".to_owned());
    }
    kept_rates(&job.does.pacing)?;
    if let Some(Extent::Bytes(size)) = job.amount.size
        && size > 0
    {
        let used = job.does.pattern.mix.used(&job.does.blocks).flatten();
        let smallest = used.map(Blocks::min_bytes).max().unwrap_or(0);
        if size < smallest {
            return Err(format!(
                "size={size} is less than one operation of {smallest} bytes"
            ));
        }
    }
    let verify = &job.verify;
    if verify.how.only_checks && !verify.is_on {
        return Err("`verify_only` needs `verify`".to_owned());
    }
    if matches!(verify.how.method, VerifyMethod::Pattern(_)) && verify.pattern.is_none() {
        return Err("`verify=pattern` needs `verify_pattern`".to_owned());
    }
    let target = &job.target;
    if target.filename.is_none() && job.does.engine.has_data() && leads_out(job) {
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

/// What a job that keeps a CPU busy must say. fio's goes on for ever where it has no time.
fn burns(job: &Job) -> Result<(), String> {
    if job.does.engine != IoEngine::Cpu {
        return Ok(());
    }
    if job.does.burn.is_none() {
        return Err("`ioengine=cpuio` needs `cpuload`, a share in per cent".to_owned());
    }
    if job.does.burn.chunk == Nanos::ZERO {
        return Err("`cpuchunks=0` keeps no CPU busy".to_owned());
    }
    if job.does.end.time.is_none() {
        return Err("`ioengine=cpuio` goes on for ever without `runtime`".to_owned());
    }
    Ok(())
}

/// What a job that executes a program must say. Where its output goes is made from its name alone.
fn executes(job: &Job) -> Result<(), String> {
    if job.does.engine != IoEngine::Exec {
        return Ok(());
    }
    if job.exec.program.is_empty() {
        return Err("`ioengine=exec` needs `program`".to_owned());
    }
    if job.exec.redirects && job.name.contains('/') {
        return Err(
            "the name of the job leads elsewhere, and its output with it: give it a name without `/`, or \
             `std_redirect=0`"
                .to_owned(),
        );
    }
    Ok(())
}

/// A smallest rate above the rate that is asked for can never be kept. As in fio, that of a direction which the job
/// does not have counts too, and what is judged in another unit than it is asked for is found out by running.
fn kept_rates(pacing: &Pacing) -> Result<(), String> {
    let each = || {
        ["reads", "writes", "trims"]
            .into_iter()
            .zip(pacing.rates.iter())
    };
    let bytes = each().map(|(of, rate)| ("rate", of, rate.bytes_per_s, rate.min_bytes_per_s));
    let ops = each().map(|(of, rate)| ("rate_iops", of, rate.iops, rate.min_iops));
    for (name, direction, rate, least) in bytes.chain(ops) {
        if let (Some(rate), Some(least)) = (rate, least)
            && rate > 0
            && least > rate
        {
            return Err(format!(
                "`{name}_min={least}` is above `{name}={rate}` of {direction}: it can never be kept"
            ));
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
fn engine_options(draft: &mut Draft) -> Result<(), String> {
    let job = &draft.job;
    let word = job.engine_word();
    let own_engine = job
        .setting("ioengine")
        .is_some_and(|engine| !engine.is_global);
    let mut left = Vec::new();
    for setting in &job.settings {
        if engines::has(word, setting.name) {
            continue;
        }
        // Defaults may be meant for sections with another engine.
        let is_of_rings =
            engines::has("io_uring", setting.name) && !engines::has("libaio", setting.name);
        if own_engine && setting.is_global && !is_of_rings {
            left.push(setting.name);
            continue;
        }
        return Err(format!(
            "`{}` is no option of `ioengine={word}`",
            setting.name
        ));
    }
    for name in left {
        draft.note(format!(
            "`{name}` changes nothing here: it is an option of another engine"
        ));
    }
    Ok(())
}

fn times(draft: &mut Draft) {
    let end = &mut draft.job.does.end;
    if end.time_based && end.time.is_none() {
        end.time_based = false;
        draft.warn("`time_based` without `runtime` has no effect, as in fio");
    } else if let Some(runtime) = end.time
        && runtime < SHORT_RUNTIME
    {
        let seconds = runtime.as_secs_f64();
        draft.warn(format!("the job runs for {seconds} s only"));
    } else if end.time.is_some() && !end.time_based && !draft.job.does.engine.has_no_operations() {
        draft.note(
            "without `time_based` the job ends when its region is done, even before `runtime`",
        );
    }
}

fn queue(draft: &mut Draft) {
    let does = &draft.job.does;
    if does.is_synchronous() && does.depth > 1 {
        let text = format!(
            "iodepth={} has no effect: `ioengine={}` has one operation at a time; for a queue use io_uring or libaio",
            does.depth,
            draft.job.engine_word()
        );
        draft.warn(text);
    } else if does.engine == IoEngine::Libaio && !does.direct {
        draft.warn(
            "`ioengine=libaio` without `direct=1` blocks on submission: the queue is not kept full",
        );
    }
    if draft.job.does.engine.is_on_names() {
        draft.note(
            "its files lie in the run's own directory, made in `directory`, and go with it; fio leaves them",
        );
    }
    let target = &draft.job.target;
    if target.filename.is_some() && draft.job.has("nrfiles") {
        draft.note("`nrfiles` has no meaning beside `filename`");
    }
}

fn fills(draft: &mut Draft) {
    let job = &draft.job;
    let names = job.target.filename.as_deref().map(split_names);
    let on_devices = names.is_some_and(|names| names.iter().all(|path| names_device(path)));
    if job.amount.fills_device && !on_devices {
        draft.warn(
            "`fill_device`: about half of what is free in the file system is written, and the job ends as on a full disk",
        );
    }
}

fn offsets(draft: &mut Draft) {
    let job = &draft.job;
    let shares_file = job.clones > 1 && job.target.filename.is_some();
    if !job.does.pattern.random && shares_file && job.amount.offset_increment == Extent::Bytes(0) {
        draft.warn(
            "all clones go through the same blocks of the same file in sequence, and help each other through caches; \
             `offset_increment` keeps them apart",
        );
    }
}
