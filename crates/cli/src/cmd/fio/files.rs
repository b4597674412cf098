//! The files that fio's jobs name: where they lie, how long they are, and what becomes of them.
//!
//! Whether one may be written is decided where it is opened; here is only what the language says: files that may not be
//! made, and files that go away at the end. Only files with our mark are removed.

use crate::directory::parent;
use crate::exit::{Exit, failure};
use dialects::fio::Job;
use dialects::fio::{Found, Plan, names_device};
use report::number::counted;
use std::collections::BTreeSet;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The first and the last MiB of a device are never used: what says whose it is lies there.
const DEVICE_ENDS: u64 = 2 << 20;

/// What there is at a path.
pub(super) fn find(path: &str) -> Result<Found, String> {
    let there = std::fs::metadata(path).ok();
    let is_device = there
        .as_ref()
        .is_some_and(|there| there.file_type().is_block_device());
    let is_other = there
        .as_ref()
        .is_some_and(|there| !is_device && !there.is_file());
    let length_bytes = if is_device {
        let device = std::fs::File::open(path).ok();
        let size = device.and_then(|mut device| sys::block::device::size(&mut device).ok());
        size.map(|size| size.saturating_sub(DEVICE_ENDS))
    } else {
        let file = there.filter(std::fs::Metadata::is_file);
        file.map(|file| file.len())
    };
    let space = parent(path.as_ref()).and_then(|dir| workloads::storage::space::taken(&dir, None));
    // Others need some of it until the file is made.
    let room = |bytes: u64| (bytes - bytes / 64) >> 20 << 20;
    Ok(Found {
        path: std::path::absolute(path).map_err(|error| error.to_string())?,
        is_device,
        is_other,
        length_bytes,
        room_bytes: space.filter(|_| !is_device).map(|space| room(space.room.0)),
    })
}

/// Whether both paths lead to one file or device, by whatever links. Of what is not there yet its directory decides.
pub(super) fn is_same(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| {
        let there = std::fs::metadata(path).ok()?;
        let is_device = there.file_type().is_block_device();
        Some(if is_device {
            (true, there.rdev(), 0)
        } else {
            (false, there.dev(), there.ino())
        })
    };
    let to_come = |path: &Path| {
        let dir = parent(path)?.canonicalize().ok()?;
        Some(dir.join(path.file_name()?))
    };
    if one == other {
        return true;
    }
    match (identity(one), identity(other)) {
        (Some(one), Some(other)) => one == other,
        (None, None) => to_come(one).is_some_and(|path| to_come(other) == Some(path)),
        _ => false,
    }
}

/// The jobs that use files, with each of their files.
pub(super) fn used(plan: &Plan) -> impl Iterator<Item = (&Job, &str)> {
    plan.jobs().flat_map(used_by)
}

fn used_by(job: &Job) -> impl Iterator<Item = (&Job, &str)> {
    let is_real = job.does.engine.has_data();
    let files = job.target.files.iter().filter(move |_| is_real);
    files.map(move |path| (job, path.as_str()))
}

/// The directory of the first file that is none of a device, or of the first job on names, whose files lie in the run's
/// own directory there.
pub(super) fn directory_of_first(plan: &Plan) -> Option<PathBuf> {
    let on_names = plan.jobs().find_map(directory_of_names);
    let used = || used(plan).find(|(_, path)| !names_device(path));
    on_names.or_else(|| parent(used()?.1.as_ref()))
}

/// Where the names of a job are to be; `None` for jobs about data.
fn directory_of_names(job: &Job) -> Option<PathBuf> {
    let first = job.target.files.first();
    parent(first.filter(|_| job.does.engine.is_on_names())?.as_ref())
}

/// Refuses jobs on names in several directories: the run has one of its own for all of them.
fn check_names(plan: &Plan) -> anyhow::Result<()> {
    let mut jobs = plan
        .jobs()
        .filter_map(|job| Some((job, directory_of_names(job)?)));
    let Some((_, first)) = jobs.next() else {
        return Ok(());
    };
    let same = |dir: &Path| match (dir.canonicalize(), first.canonicalize()) {
        (Ok(dir), Ok(first)) => dir == first,
        _ => dir == first,
    };
    match jobs.find(|(_, dir)| !same(dir)) {
        None => Ok(()),
        Some((job, dir)) => {
            let (first, dir) = (first.display(), dir.display());
            let text = format!(
                "{}: job `{}`: its names are to be in `{dir}`, and those of the first job in `{first}`",
                job.place, job.name
            );
            let hint = "names of all jobs lie in one directory of the run's own: one run for each `directory`";
            Err(failure(Exit::Usage, text, Some(hint)))
        }
    }
}

/// Refuses files that could not be made as the job says, or that nobody will have written before they are checked.
pub(super) fn check(plan: &Plan) -> anyhow::Result<()> {
    check_names(plan)?;
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
    if job.only_checks() {
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
        let (files, them) = match left.len() {
            1 => (format!("`{first}`"), "it"),
            several => {
                let more = counted(several - 1, "more file", "more files");
                (format!("`{first}` and {more}"), "them")
            }
        };
        format!("left behind: {files}, to be used again; `unlink=1` removes {them}")
    })
}
