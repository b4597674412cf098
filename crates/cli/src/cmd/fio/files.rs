//! The files that fio's jobs name: where they lie, how long they are, and what becomes of them.
//!
//! Whether one may be written is decided where it is opened; here is only what the language says: files that may not be
//! made, and files that go away at the end. Only files with our mark are removed.

use crate::exit::{Exit, failure};
use dialects::fio::job::{EngineKind, Job};
use dialects::fio::{Plan, names_device};
use std::collections::BTreeSet;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// The first and the last MiB of a device are never used: what says whose it is lies there.
const DEVICE_ENDS: u64 = 2 << 20;

/// Whether a path leads to a block device.
pub(super) fn is_device(path: &str) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.file_type().is_block_device())
}

/// The length of a file that is there, or the part of a device that may be used.
pub(super) fn length(path: &str) -> Option<u64> {
    let found = std::fs::metadata(path).ok()?;
    if found.file_type().is_block_device() {
        let mut device = std::fs::File::open(path).ok()?;
        let size = sys::block::device::size(&mut device).ok()?;
        return Some(size.saturating_sub(DEVICE_ENDS));
    }
    found.is_file().then_some(found.len())
}

/// The jobs that use files, with each of their files.
fn used(plan: &Plan) -> impl Iterator<Item = (&Job, &str)> {
    plan.jobs().flat_map(used_by)
}

fn used_by(job: &Job) -> impl Iterator<Item = (&Job, &str)> {
    let is_real = job.engine.kind != EngineKind::Null;
    let files = job.target.files.iter().filter(move |_| is_real);
    files.map(move |path| (job, path.as_str()))
}

/// The directory of the first file that is none of a device.
pub(super) fn directory_of_first(plan: &Plan) -> Option<PathBuf> {
    let (_, path) = used(plan).find(|(_, path)| !names_device(path))?;
    let parent = Path::new(path).parent()?;
    let parent = if parent.as_os_str().is_empty() {
        Path::new(".")
    } else {
        parent
    };
    Some(parent.to_owned())
}

/// Whether a job writes nothing and judges what an earlier one wrote.
pub(super) fn only_checks(job: &Job) -> bool {
    let reads_only = !job.work.mix.writes() && !job.work.mix.trims();
    job.verify.method.is_some() && (job.verify.only_checks || reads_only)
}

/// Refuses files that could not be made as the job says, or that nobody will have written before they are checked.
pub(super) fn check(plan: &Plan) -> anyhow::Result<()> {
    // What jobs before the last stonewall make, and what those behind it do.
    let (mut made, mut fresh) = (BTreeSet::new(), BTreeSet::new());
    for group in &plan.groups {
        if group.waits {
            made.append(&mut fresh);
        }
        for (job, path) in group.jobs.iter().flat_map(used_by) {
            let absolute = std::path::absolute(path).unwrap_or_else(|_| path.into());
            if !Path::new(path).exists() && !made.contains(&absolute) {
                check_new(job, path)?;
                fresh.insert(absolute);
            }
        }
    }
    Ok(())
}

/// Refuses a job that could not make this file, which is not there.
fn check_new(job: &Job, path: &str) -> anyhow::Result<()> {
    let refused = |why: &str, hint: Option<&str>| {
        let text = format!("{}: job `{}`: `{path}` {why}", job.place, job.name);
        Err(failure(Exit::Usage, text, hint))
    };
    if names_device(path) {
        return refused("is not there, and no file is made below /dev", None);
    }
    if only_checks(job) {
        return refused(
            "is not there, and nothing can be checked that was not written",
            Some("let a job with `rw=write` and the same `verify` write it first"),
        );
    }
    if !job.target.may_create {
        return refused(
            "is not there, and `allow_file_create=0` forbids making it",
            None,
        );
    }
    let parent = Path::new(path).parent().unwrap_or(Path::new(""));
    if !parent.as_os_str().is_empty() && !parent.is_dir() {
        let why = format!("cannot be made: `{}` is no directory", parent.display());
        return refused(&why, Some("make the directory first"));
    }
    Ok(())
}

/// Says which files of ours stay; `None` where there is nothing to say.
pub(super) fn left_behind(left: &[PathBuf]) -> Option<String> {
    left.iter().min().map(|first| {
        let first = first.display();
        let files = match left.len() {
            1 => format!("`{first}`"),
            several => format!("`{first}` and {} more files", several - 1),
        };
        format!("left behind: {files}, to be used again; `unlink=1` removes them")
    })
}
