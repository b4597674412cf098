//! The test file: where it lies, how large it is, and that it was really written before anybody measures it.
//!
//! One file serves all rounds of a run, and every test of the same size and content. It lies in the run's own marked
//! directory, so that no file of anybody else can be meant. A note beside it says that it is complete, and is written
//! last: a worker that dies while it writes the file leaves a file without a note, which is written again. Copies of
//! one round meet at a lock. Space is asked for before anything is written: at most half of what is free, and what
//! stays free is at least 1 GiB and 5 % of the file system.

use super::data::{CHUNK, Redundancy};
use super::job::{JobSpec, Mix, SyncOn};
use engine::workload::{Place, WorkError};
use model::units::Bytes;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use sys::io::file::{Access, SyncMode};

/// A test file that is ready.
#[derive(Debug)]
pub(super) struct TestFile {
    pub(super) path: PathBuf,
    /// Bytes of it that the job uses: whole blocks.
    pub(super) size: u64,
    /// Where its content comes from.
    pub(super) seed: u64,
}

/// What the note beside a complete file says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Note {
    size: u64,
    seed: u64,
    redundancy: Redundancy,
}

impl Note {
    #[cfg(test)]
    pub(super) fn for_test(size: u64) -> Self {
        Self {
            size,
            seed: 1,
            redundancy: Redundancy::default(),
        }
    }
}

const GIB: u64 = 1 << 30;

/// Free space that stays, whatever the file system's size.
const KEEP_BYTES: u64 = GIB;
/// The share of the file system that stays free: one in so many.
const KEEP_SHARE: u64 = 20;
/// A file below this lies in caches of the device, and measures them.
const SIZE_LEAST: u64 = 64 << 20;
/// Sizes chosen without being told: twice the memory, so that no cache of this machine holds it, within these bounds,
/// because writing the file is part of the run.
const SIZE_AUTO: std::ops::RangeInclusive<u64> = GIB..=2 * GIB;

/// The job's file, written now where no round before has done so.
pub(super) fn ensure(job: &JobSpec, place: &Place) -> Result<TestFile, WorkError> {
    let name = name(job);
    let path = place.run_dir.join(&name);
    let lock_path = place.run_dir.join(format!("{name}.lock"));
    let lock = File::create(&lock_path)
        .map_err(|error| WorkError::failed("create", lock_path.display(), error))?;
    lock.lock()
        .map_err(|error| WorkError::failed("lock", lock_path.display(), error))?;
    let note_path = place.run_dir.join(format!("{name}.complete"));
    let note = match complete(&path, &note_path, job) {
        Some(note) => note,
        None => write_anew(job, &path, &note_path, place.seed)?,
    };
    Ok(TestFile {
        path,
        size: note.size / job.block_bytes * job.block_bytes,
        seed: note.seed,
    })
}

/// Jobs share a file where they agree on its size and content. A job that gives ranges back has one of its own.
fn name(job: &JobSpec) -> String {
    let size = job.size.map_or("auto".to_owned(), |size| size.to_string());
    let Redundancy {
        compress_percent: compress,
        dedupe_percent: dedupe,
    } = job.redundancy;
    let trim = if job.pattern.mix == Mix::Trim {
        "-trim"
    } else {
        ""
    };
    format!("data-{size}-c{compress}-d{dedupe}{trim}")
}

/// The note of a complete file that fits the job.
fn complete(path: &Path, note: &Path, job: &JobSpec) -> Option<Note> {
    let note: Note = serde_json::from_slice(&fs::read(note).ok()?).ok()?;
    let found = path.symlink_metadata().ok()?;
    let fits = found.is_file()
        && found.len() == note.size
        && job.size.is_none_or(|size| size == note.size)
        && job.redundancy == note.redundancy;
    fits.then_some(note)
}

fn write_anew(job: &JobSpec, path: &Path, note_path: &Path, seed: u64) -> Result<Note, WorkError> {
    // In this order: without its note nobody takes a half-written file for a whole one.
    for old in [note_path, path] {
        match fs::remove_file(old) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(WorkError::failed("remove", old.display(), error));
            }
            _ => {}
        }
    }
    let dir = path.parent().unwrap_or(path);
    let space = sys::probe::file_system(dir)
        .map_err(|error| WorkError::failed("read the free space of", dir.display(), error))?;
    let room = room(space.free_bytes, space.total_bytes);
    let size = size(job.size, room, memory(), job.block_bytes)?;
    let note = Note {
        size,
        seed,
        redundancy: job.redundancy,
    };
    write_or_remove(path, &note)?;
    serde_json::to_vec(&note)
        .map_err(std::io::Error::other)
        .and_then(|text| fs::write(note_path, text))
        .map_err(|error| WorkError::failed("write", note_path.display(), error))?;
    Ok(note)
}

/// Writes the file, or leaves none: a full disk is no place for half of a large file.
pub(super) fn write_or_remove(path: &Path, note: &Note) -> Result<(), WorkError> {
    lay_out(path, note).map_err(|error| {
        let _ = fs::remove_file(path);
        WorkError::failed("write", path.display(), error)
    })
}

/// How much of a file system may be used.
fn room(free: u64, total: u64) -> u64 {
    let keep = KEEP_BYTES.max(total / KEEP_SHARE);
    (free / 2).min(free.saturating_sub(keep))
}

/// The memory of the machine; where it is not told, what a small one has.
fn memory() -> u64 {
    sys::probe::memory_bytes().unwrap_or(GIB)
}

/// The size of the file: as asked for or chosen, and never more than there is room for.
fn size(asked: Option<u64>, room: u64, memory: u64, block: u64) -> Result<u64, WorkError> {
    let rule = "at most half of the free space is used, and at least 1 GiB and 5 % stay free";
    let Some(asked) = asked else {
        let wanted = memory
            .saturating_mul(2)
            .clamp(*SIZE_AUTO.start(), *SIZE_AUTO.end());
        let size = wanted.min(room) / block * block;
        if size < SIZE_LEAST {
            return Err(WorkError::Unsupported(format!(
                "there is room for a test file of {room} bytes, and at least {SIZE_LEAST} are needed: {rule}"
            )));
        }
        return Ok(size);
    };
    if asked > room {
        return Err(WorkError::Unsupported(format!(
            "there is room for a test file of {room} bytes, and {asked} are asked for: {rule}"
        )));
    }
    Ok(asked)
}

/// Writes the whole file and waits until it is on the device, so that neither later reads nor later writes meet a place
/// that was never written. The page cache is asked to forget it.
fn lay_out(path: &Path, note: &Note) -> std::io::Result<()> {
    /// Written at once; a multiple of [`CHUNK`].
    const PIECE: usize = 1 << 20;
    /// Dirty data at most: more would push programs that we do not measure out of a small memory.
    const SYNC_EVERY: u64 = 64 << 20;
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    let mut piece = vec![0; PIECE];
    let mut at = 0;
    while at < note.size {
        let bytes = usize::try_from(note.size - at).unwrap_or(PIECE).min(PIECE);
        note.redundancy
            .fill(note.seed, at / CHUNK as u64, &mut piece[..bytes]);
        file.write_all(&piece[..bytes])?;
        at += bytes as u64;
        if at.is_multiple_of(SYNC_EVERY) {
            file.sync_data()?;
        }
    }
    file.sync_all()?;
    sys::io::file::drop_cache(&file)
}

/// The file as the job wants it opened.
pub(super) fn open(job: &JobSpec, path: &Path) -> Result<File, WorkError> {
    let access = Access {
        write: job.writes(),
        direct: job.direct,
        sync: match job.sync {
            SyncOn::None => SyncMode::None,
            SyncOn::Dsync => SyncMode::Data,
            SyncOn::Sync => SyncMode::All,
        },
    };
    sys::io::file::open(path, access).map_err(|error| {
        if job.direct && sys::io::file::refuses_direct(&error) {
            WorkError::Unsupported(format!(
                "the file system of `{}` has no O_DIRECT; hint: --set 'storage.*.direct=no' measures through the page \
                 cache",
                path.display()
            ))
        } else {
            WorkError::failed("open", path.display(), error)
        }
    })
}

/// Refuses blocks that `O_DIRECT` cannot transfer.
pub(super) fn check_alignment(
    job: &JobSpec,
    file: &File,
    block_of_fs: Bytes,
) -> Result<(), WorkError> {
    if !job.direct || job.pattern.mix == Mix::Trim {
        return Ok(());
    }
    let told = sys::io::file::direct_alignment(file);
    // Where the kernel does not say, 512 is the smallest sector there is; a larger one shows in the first operation.
    let need = match told {
        Some(alignment) if alignment.offset == 0 => {
            return Err(WorkError::Unsupported(
                "this file system has no O_DIRECT for this file".to_owned(),
            ));
        }
        Some(alignment) => u64::from(alignment.offset),
        None => block_of_fs.0.clamp(1, 512),
    };
    if job.block_bytes.is_multiple_of(need) {
        Ok(())
    } else {
        Err(WorkError::Unsupported(format!(
            "O_DIRECT needs blocks of a multiple of {need} bytes here, and {} is none",
            job.block_bytes
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_what_is_free_is_used_and_enough_stays() {
        const G: u64 = GIB;
        for (free, total, expected) in [
            (100 * G, 100 * G, 50 * G),
            // 5 % of a large file system.
            (60 * G, 1000 * G, 10 * G),
            (40 * G, 1000 * G, 0),
            // 1 GiB of a small one.
            (G + 5, 4 * G, 5),
            (G, 4 * G, 0),
            (0, 0, 0),
        ] {
            assert_eq!(room(free, total), expected, "{free} of {total}");
        }
    }

    #[test]
    fn sizes_are_as_asked_or_follow_memory_and_room() {
        const G: u64 = GIB;
        const M: u64 = 1 << 20;
        let check = |asked, room, memory, expected: Option<u64>| {
            assert_eq!(size(asked, room, memory, 4096).ok(), expected);
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
