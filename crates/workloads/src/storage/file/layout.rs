//! Writing what is measured: how large a file may be, and that no place of it is left unwritten.

use super::super::advice::{Advice, hint};
use super::super::data::{CHUNK, Fill};
use super::super::space::{GIB, Limits, leave_enough, limits};
use super::refused;
use engine::consent::Permit;
use engine::workload::WorkError;
use model::job::{Job, Layout, Redundancy};
use model::units::Bytes;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use sys::io::file::Access;

/// What is known of a complete file, or of a device's filled part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in super::super) struct Note {
    pub(super) size: u64,
    pub(super) seed: u64,
    pub(super) redundancy: Redundancy,
    /// Which file it is: the device that it lies on, and its number there. 0 where a device is meant.
    pub(super) device: u64,
    pub(super) inode: u64,
    /// Bytes of it without data on the device when it was complete: some file systems keep nothing of what repeats
    /// itself.
    #[serde(default)]
    pub(super) missing: u64,
    /// The round that gives the ranges of a device back, after which it is to be filled again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) trimmed_in: Option<String>,
}

impl Note {
    fn new(job: &Job, size: u64, seed: u64) -> Self {
        Self {
            size,
            seed,
            redundancy: job.redundancy,
            device: 0,
            inode: 0,
            missing: 0,
            trimmed_in: None,
        }
    }

    #[cfg(test)]
    pub(in super::super) fn for_test(size: u64) -> Self {
        Self::new(&Job::default(), size, 1)
    }
}

/// Who is told how much has been written so far.
pub(in super::super) type Tell<'a> = &'a mut dyn FnMut(Bytes);

/// A file below this lies in caches of the device, and measures them.
pub(in super::super) const SIZE_LEAST: u64 = 64 << 20;
/// Sizes chosen without being told: twice the memory, so that no cache of this machine holds it, within these bounds,
/// because writing the file is part of the run.
const SIZE_AUTO: std::ops::RangeInclusive<u64> = GIB..=2 * GIB;

/// Removes the run's own file, where there is one. Its note goes first: without it nobody takes what is left for a
/// whole file.
pub(super) fn remove(path: &Path, note_path: &Path) -> Result<(), WorkError> {
    for own in [note_path, path] {
        match fs::remove_file(own) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(WorkError::failed("remove", own.display(), error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Writes the run's own file, and the note that it is complete.
pub(super) fn write_anew(
    job: &Job,
    path: &Path,
    note_path: &Path,
    seed: u64,
    tell: Tell<'_>,
) -> Result<Note, WorkError> {
    remove(path, note_path)?;
    let size = allowed(job, path.parent().unwrap_or(path))?;
    let mut note = Note::new(job, size, seed);
    write_or_remove(path, &mut note, tell)?;
    keep(&note, note_path)?;
    Ok(note)
}

/// Keeps a note: whoever reads it takes what it speaks of for complete.
pub(super) fn keep(note: &Note, path: &Path) -> Result<(), WorkError> {
    serde_json::to_vec(note)
        .map_err(io::Error::other)
        .and_then(|text| fs::write(path, text))
        .map_err(|error| WorkError::failed("write", path.display(), error))
}

/// Writes the file, or leaves none: a full disk is no place for half of a large file.
pub(in super::super) fn write_or_remove(
    path: &Path,
    note: &mut Note,
    tell: Tell<'_>,
) -> Result<(), WorkError> {
    let failed = |operation: &'static str| {
        move |error: io::Error| WorkError::failed(operation, path.display(), error)
    };
    let file = sys::io::file::create(path).map_err(failed("create"))?;
    // The directory says already that it is ours; the mark says so wherever the file may be moved. Not every file
    // system carries marks.
    let _ = sys::owned::mark(&file, "test file");
    let written = lay_out(&file, 0, note, true, tell).and_then(|()| file.metadata());
    match written {
        Ok(found) => {
            (note.device, note.inode) = (found.dev(), found.ino());
            note.missing = missing(&file, note.size);
            Ok(())
        }
        Err(error) => {
            let _ = fs::remove_file(path);
            Err(failed("write")(error))
        }
    }
}

/// Bytes of a file of this size that have no data on the device; 0 where the file system does not tell.
pub(in super::super) fn missing(file: &File, size: u64) -> u64 {
    let found = sys::io::file::extents(file, size);
    found.map_or(0, |found| found.unwritten + found.holes)
}

/// Makes a file of ours that a job names, as the job has it, or leaves it empty: the supervisor removes it then.
pub(super) fn make_named(job: &Job, permit: &Permit, seed: u64) -> Result<Note, WorkError> {
    let path = permit.path();
    let file = permit.empty().map_err(refused)?;
    let size = allowed(job, path.parent().unwrap_or(path))?;
    let note = Note::new(job, size, seed);
    let written = made(&file, &note, job.layout)
        .map_err(|error| WorkError::failed("write", path.display(), error))
        .and_then(|()| {
            serde_json::to_string(&note)
                .map_err(|error| WorkError::failed("mark", path.display(), error))
        })
        .and_then(|text| permit.keep_note(&file, &text).map_err(refused));
    if let Err(error) = written {
        // A full disk is no place for half of a large file.
        file.set_len(0)
            .map_err(|error| WorkError::failed("empty", path.display(), error))?;
        return Err(error);
    }
    Ok(note)
}

/// Writes a file, or makes room for it. Not every file system reserves room, and fio goes on without.
fn made(file: &File, note: &Note, layout: Layout) -> io::Result<()> {
    let room = match layout {
        Layout::Written => return lay_out(file, 0, note, true, &mut |_| ()),
        Layout::Reserved => sys::io::file::reserve(file, note.size),
        Layout::Kept => sys::io::file::reserve_behind(file, note.size),
        Layout::Sparse => file.set_len(note.size),
        Layout::Empty => Ok(()),
    };
    room.or_else(|error| match error.kind() {
        io::ErrorKind::Unsupported => Ok(()),
        _ => Err(error),
    })
}

/// Fills `size` bytes of a device from `start` on.
pub(super) fn fill_device(
    job: &Job,
    permit: &Permit,
    start: u64,
    size: u64,
    seed: u64,
    tell: Tell<'_>,
) -> Result<Note, WorkError> {
    let access = Access {
        write: true,
        ..Access::default()
    };
    let file = permit.open(access).map_err(refused)?;
    let note = Note::new(job, size, seed);
    lay_out(&file, start, &note, false, tell)
        .map_err(|error| WorkError::failed("fill", permit.path().display(), error))?;
    Ok(note)
}

/// The size of a file in `dir`: as asked for or chosen, and never more than there is room for.
fn allowed(job: &Job, dir: &Path) -> Result<u64, WorkError> {
    let limits = limits(dir)?;
    size(job.size, &limits, memory(), job.block_bytes).map_err(|why| {
        let hint = hint(job.language, Advice::Room);
        WorkError::Unsupported(format!("{why}; {hint}"))
    })
}

/// The memory of the machine; where it is not told, what a small one has.
fn memory() -> u64 {
    sys::probe::memory_bytes().unwrap_or(GIB)
}

/// The size that is chosen where none is asked for and room is no question.
pub(in super::super) fn size_auto() -> u64 {
    size_for(memory())
}

/// Why no test file fits into this file system, where nobody says how large it is to be.
pub(in super::super) fn no_room(limits: &Limits) -> Option<String> {
    size(None, limits, memory(), 1).err()
}

/// About how much of what is free may be taken: what the making asks the file system for more exactly.
pub(super) const fn room_for(free: u64) -> u64 {
    free / 2
}

fn size_for(memory: u64) -> u64 {
    memory
        .saturating_mul(2)
        .clamp(*SIZE_AUTO.start(), *SIZE_AUTO.end())
}

fn size(asked: Option<u64>, limits: &Limits, memory: u64, block: u64) -> Result<u64, String> {
    let room = limits.room();
    let mib = |bytes: u64| bytes >> 20;
    let rule = limits.rule();
    let there_is = format!("there is room for a test file of {} MiB", mib(room));
    let Some(asked) = asked else {
        let size = size_for(memory).min(room) / block * block;
        if size < SIZE_LEAST {
            return Err(format!(
                "{there_is}, and at least {} MiB are needed: {rule}",
                mib(SIZE_LEAST)
            ));
        }
        return Ok(size);
    };
    if asked > room {
        return Err(format!(
            "{there_is}, and {} MiB are asked for: {rule}",
            mib(asked)
        ));
    }
    Ok(asked)
}

/// Writes everything and waits until it is on the device, so that neither later reads nor later writes meet a place
/// that was never written. The page cache is asked to forget it. In a file system that others fill meanwhile it stops
/// before nothing is left for them.
fn lay_out(
    file: &File,
    start: u64,
    note: &Note,
    in_file_system: bool,
    tell: Tell<'_>,
) -> io::Result<()> {
    /// Written at once; a multiple of [`CHUNK`].
    const PIECE: usize = 1 << 20;
    /// Dirty data at most: more would push programs that we do not measure out of a small memory.
    const SYNC_EVERY: u64 = 64 << 20;
    let mut piece = vec![0; PIECE];
    let mut at = 0;
    while at < note.size {
        let bytes = usize::try_from(note.size - at).unwrap_or(PIECE).min(PIECE);
        note.redundancy
            .fill(note.seed, at / CHUNK as u64, &mut piece[..bytes]);
        file.write_all_at(&piece[..bytes], start + at)?;
        at += bytes as u64;
        if at.is_multiple_of(SYNC_EVERY) {
            file.sync_data()?;
            tell(Bytes(at));
            if in_file_system {
                leave_enough(file)?;
            }
        }
    }
    file.sync_all()?;
    sys::io::file::drop_cache(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_as_asked_or_follow_memory_and_room() {
        const G: u64 = GIB;
        const M: u64 = 1 << 20;
        let check = |asked, room: u64, memory, expected: Option<u64>| {
            // Twice the room is free, and 1 GiB is what must stay.
            let limits = Limits::plain((2 * room).max(room + G), 10 * G);
            assert_eq!(size(asked, &limits, memory, 4096).ok(), expected);
        };
        check(Some(5 * M), G, G, Some(5 * M));
        check(Some(5 * G), G, G, None);
        check(None, 100 * G, 256 * M, Some(G));
        check(None, 100 * G, G - 3, Some((2 * G - 6) / 4096 * 4096));
        check(None, 100 * G, 64 * G, Some(2 * G));
        check(None, 300 * M, 64 * G, Some(300 * M));
        check(None, 63 * M, 64 * G, None);
    }
}
