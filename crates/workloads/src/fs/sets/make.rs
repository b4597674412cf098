//! Making of a set what is missing of it: its directories level by level, then its files, by several threads.
//!
//! What cannot fit is refused before the first file; what fails tells the file and the kernel's error. In the end the
//! set is looked at again, and what was found counts.

use super::map::Now;
use super::set::{Set, words};
use super::tree::Name;
use crate::fs::aligned::Aligned;
use engine::workload::WorkError;
use model::fileset::{Before, FileOperation, FileWork, Format};
use model::rng::Rng;
use model::units::Bytes;
use std::ffi::CStr;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sys::folder::{How, write};

/// How much of a set is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    Nothing,
    Directories,
    All,
}

/// Where a set has this part.
pub(super) fn has(set: &Set, part: Part) -> bool {
    let map = &set.map;
    match part {
        Part::Nothing => true,
        Part::Directories => map.made() == map.directories(),
        Part::All => map.made() == map.directories() && map.counts().1 == map.files(),
    }
}

/// What the case asks for before its tasks begin, of the set of this number; `None` leaves it as it is.
pub(super) fn asked(format: &Format) -> Option<Part> {
    match format.before {
        Before::Left => None,
        Before::Nothing => Some(Part::Nothing),
        Before::Anew | Before::Missing if format.directories_only => Some(Part::Directories),
        Before::Anew | Before::Missing => Some(Part::All),
    }
}

/// What the tasks on the set of this number need and do not make themselves.
pub(super) fn needed(work: &FileWork, set: u32) -> Part {
    let on_it = || {
        work.tasks
            .iter()
            .filter(|task| task.set == set || task.target == Some(set))
    };
    let makes = |operation| on_it().any(|task| task.operation == operation);
    let directories = if makes(FileOperation::Mkdir) {
        Part::Nothing
    } else {
        Part::Directories
    };
    let files = if makes(FileOperation::Create) {
        directories
    } else {
        Part::All
    };
    let of = |operation| match operation {
        FileOperation::Mkdir => Part::Nothing,
        FileOperation::Rmdir | FileOperation::Create => directories,
        _ => files,
    };
    let parts = on_it().map(|task| of(task.operation));
    parts.max().unwrap_or(Part::Nothing)
}

/// How it is made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way<'a> {
    pub(super) format: &'a Format,
    /// Where room is asked for.
    pub(super) dir: &'a Path,
    /// How many bytes all sets of the case have so far, told as they grow.
    pub(super) before: u64,
}

/// Makes what is missing of a part of the set. Gives the bytes that were written.
pub(super) fn make(
    set: &Set,
    part: Part,
    way: Way<'_>,
    tell: &mut dyn FnMut(Bytes),
) -> Result<u64, WorkError> {
    if part >= Part::Directories {
        for level in set.tree.levels() {
            shared_out(level, way.format.threads, &mut || (), |range, _| {
                directories(set, range)
            })?;
        }
    }
    if part < Part::All {
        return Ok(0);
    }
    let missing = (0..set.map.files()).filter(|file| set.map.file_is(*file) != Now::Full);
    let bytes = missing.fold(0, |all: u64, file| {
        all.saturating_add(set.spec.size_of(file))
    });
    crate::storage::space::check_round(way.dir, bytes)?;
    let written = AtomicU64::new(0);
    let mut tell = || tell(Bytes(way.before + written.load(Ordering::Relaxed)));
    let all = 0..set.map.files();
    shared_out(all, way.format.threads, &mut tell, |range, stop| {
        files(set, range, way.format.transfer, &written, stop)
    })?;
    Ok(written.into_inner())
}

/// Numbers that a thread takes at a time.
const CHUNK: u64 = 64;

/// How often it is told how far making is, in nanoseconds.
const TELL_NS: u64 = 200_000_000;

/// Has threads do all numbers of a range, a part at a time; the first error stops all.
fn shared_out(
    all: Range<u64>,
    threads: u32,
    tell: &mut dyn FnMut(),
    work: impl Fn(Range<u64>, &AtomicBool) -> Result<(), WorkError> + Sync,
) -> Result<(), WorkError> {
    let (next, stop) = (AtomicU64::new(all.start), AtomicBool::new(false));
    let error = Mutex::new(None);
    let busy = AtomicU64::new(0);
    let run = || {
        while !stop.load(Ordering::Acquire) {
            let begin = next.fetch_add(CHUNK, Ordering::AcqRel);
            if begin >= all.end {
                break;
            }
            if let Err(why) = work(begin..(begin + CHUNK).min(all.end), &stop) {
                stop.store(true, Ordering::Release);
                if let Ok(mut error) = error.lock() {
                    error.get_or_insert(why);
                }
            }
        }
        busy.fetch_sub(1, Ordering::AcqRel);
    };
    let wanted = u64::from(threads)
        .min((all.end - all.start).div_ceil(CHUNK))
        .max(1);
    std::thread::scope(|scope| {
        for _ in 0..wanted {
            busy.fetch_add(1, Ordering::AcqRel);
            let builder = std::thread::Builder::new();
            if let Err(why) = builder.spawn_scoped(scope, run) {
                busy.fetch_sub(1, Ordering::AcqRel);
                stop.store(true, Ordering::Release);
                return Err(WorkError::failed("start", "a thread", why));
            }
        }
        let mut told = sys::clock::monotonic();
        while busy.load(Ordering::Acquire) > 0 {
            sys::clock::sleep(500_000);
            if sys::clock::monotonic() - told > TELL_NS {
                told = sys::clock::monotonic();
                tell();
            }
        }
        Ok(())
    })?;
    let error = error.into_inner().unwrap_or_default();
    error.map_or(Ok(()), Err)
}

/// Makes those of the directories that are missing; the level above is made.
fn directories(set: &Set, range: Range<u64>) -> Result<(), WorkError> {
    let mut name = Name::default();
    for directory in range {
        if set.map.directory_is(directory) {
            continue;
        }
        let path = set.tree.directory(directory, &mut name);
        match set.folder.mkdir(path) {
            Ok(()) => {}
            // A directory, and no link to one.
            Err(failure) if failure.error.kind() == ErrorKind::AlreadyExists => {
                let found = set.folder.child(path);
                found.map_err(|failure| said(set, &failure, path))?;
            }
            Err(failure) => return Err(said(set, &failure, path)),
        }
        set.map
            .note_directory(directory, set.tree.parent(directory));
    }
    Ok(())
}

/// Makes and fills those of the files that are not full.
fn files(
    set: &Set,
    range: Range<u64>,
    transfer: u64,
    written: &AtomicU64,
    stop: &AtomicBool,
) -> Result<(), WorkError> {
    let mut name = Name::default();
    let most = usize::try_from(transfer.min(set.spec.size_max().max(1)));
    let mut rng = Rng::stream(range.start, 71);
    let mut buffer = Aligned::random(most.unwrap_or(usize::MAX / 2), &mut rng);
    let how = How {
        create: true,
        cut: true,
        ..How::WRITE
    };
    for file in range {
        if set.map.file_is(file) == Now::Full {
            continue;
        }
        let path = set.tree.file(file, &mut name);
        let opened = set.folder.file(path, how);
        let opened = opened.map_err(|failure| said(set, &failure, path))?;
        let (size, mut at) = (set.spec.size_of(file), 0);
        while at < size {
            let bytes = transfer.min(size - at);
            let part = buffer.part_mut(bytes);
            write(&opened, part, at).map_err(|failure| said(set, &failure, path))?;
            at += bytes;
            written.fetch_add(bytes, Ordering::Relaxed);
            if stop.load(Ordering::Relaxed) {
                return Ok(());
            }
        }
        set.map
            .note_file(file, set.tree.directory_of(file), Now::Full);
    }
    Ok(())
}

/// An error with what most often is behind it.
fn said(set: &Set, failure: &sys::loops::failure::Failure, path: &CStr) -> WorkError {
    let error = words(failure, set.told(path));
    if failure.error.kind() != ErrorKind::StorageFull {
        return error;
    }
    let (files, bytes) = set.spec.extent();
    WorkError::Unsupported(format!(
        "{error}: file set `{}` has {} directories and {files} files of {bytes} bytes in all, for which there are no \
         blocks or no inodes left; hint: make `files`, `width` or `size` smaller",
        set.spec.name,
        set.map.directories()
    ))
}
