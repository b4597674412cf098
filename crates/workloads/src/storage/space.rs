//! How much of a file system test files may take: at most half of what is free, and 1 GiB stays free in any case, or
//! 10 % of a file system below 10 GiB. A disk that runs full harms everybody on it.
//!
//! What the run makes for itself is looked at file by file when it is written. Jobs that name many files ask for all of
//! them together before the first is written: half of what is free, again and again, is all of it.

use super::advice::{Advice, hint};
use super::file::SIZE_LEAST;
use engine::workload::WorkError;
use model::host::HostFacts;
use model::job::{Language, Target, Task};
use model::look::Space;
use model::units::Bytes;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use sys::probe::FileSystem;

pub(super) const GIB: u64 = 1 << 30;

/// Free space that stays: what programs of a machine write while they are measured, whatever the disk's size.
const KEEP_BYTES: u64 = GIB;
/// The share that stays free of a file system for which that is much: one in so many.
const KEEP_SHARE: u64 = 10;

/// How much must stay free.
pub(super) fn kept(total: u64) -> u64 {
    KEEP_BYTES.min(total / KEEP_SHARE)
}

/// How much of a file system may be used.
pub(crate) fn room(free: u64, total: u64) -> u64 {
    (free / 2).min(free.saturating_sub(kept(total)))
}

/// What files of a run take in `dir`, which is what the least test file takes where it is not said, and the room for
/// them; `None` where nobody can say.
pub fn taken(dir: &Path, needed: Option<Bytes>) -> Option<Space> {
    let space = sys::probe::file_system(dir).ok()?;
    Some(Space {
        needed: needed.unwrap_or(Bytes(SIZE_LEAST)),
        room: Bytes(room(space.free_bytes, space.total_bytes)),
    })
}

/// The file system of `dir`, where its free space is what decides.
pub(crate) fn file_system(dir: &Path) -> Result<FileSystem, WorkError> {
    sys::probe::file_system(dir)
        .map_err(|error| WorkError::failed("read the free space of", dir.display(), error))
}

/// What a file takes of a disk beside its bytes: its inode and its name. 256 bytes and 24 on ext4, up to 1 KiB with
/// what copies of metadata take elsewhere (btrfs).
const BESIDE_BYTES: u64 = 1 << 10;

/// What a file of so many bytes takes of a disk.
pub(crate) const fn of_file(bytes: u64) -> u64 {
    match bytes.checked_next_multiple_of(4096) {
        Some(whole) => whole.saturating_add(BESIDE_BYTES),
        None => u64::MAX,
    }
}

/// Refuses what a round is to write in `dir` where there is no room for it.
pub(crate) fn check_round(dir: &Path, needed: u64) -> Result<(), WorkError> {
    let space = file_system(dir)?;
    let room = room(space.free_bytes, space.total_bytes);
    if needed <= room {
        return Ok(());
    }
    Err(WorkError::Unsupported(format!(
        "there is room for {room} bytes, and {needed} are needed: {}",
        rule(space)
    )))
}

/// The rule, with the figures of this file system.
pub(crate) fn rule(space: FileSystem) -> String {
    format!(
        "of {} MiB {} are free, of which at most half is used, and at least {} MiB (1 GiB, or 10 % where that is less) stay free",
        space.total_bytes >> 20,
        space.free_bytes >> 20,
        kept(space.total_bytes) >> 20
    )
}

/// Why nothing can be learned of a disk in `dir`: it lies in memory, or has no room for a test file or no way past the
/// page cache. `None` where something can, and where that is not known: the tests will say.
pub fn no_disk(dir: &Path, host: &HostFacts) -> Option<String> {
    let space = sys::probe::file_system(dir).ok()?;
    if let Some(kind) = space.in_memory() {
        return Some(format!("`{}` is in memory ({kind})", dir.display()));
    }
    if let Some(Some(why)) = host.io.o_direct.known() {
        return Some(format!("`{}` has no O_DIRECT: {why}", dir.display()));
    }
    super::file::no_room(space)
}

/// What is to be written on one file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Needs<'a> {
    dir: &'a Path,
    files: u64,
    bytes: u64,
    /// What files hold that are written anew.
    freed: u64,
}

/// Refuses jobs whose files would together take more than may be taken. Files that are there and long enough take
/// nothing more.
pub fn check<'a>(tasks: impl Iterator<Item = &'a Task>, language: Language) -> Result<(), String> {
    for needs in needs(tasks) {
        let dir = needs.dir.display();
        let space = sys::probe::file_system(needs.dir)
            .map_err(|error| format!("read the free space of `{dir}`: {error}"))?;
        let space = FileSystem {
            free_bytes: space.free_bytes.saturating_add(needs.freed),
            ..space
        };
        fits(needs, space).map_err(|why| format!("{why}\n{}", hint(language, Advice::Room)))?;
    }
    Ok(())
}

fn fits(needs: Needs<'_>, space: FileSystem) -> Result<(), String> {
    let room = room(space.free_bytes, space.total_bytes);
    if needs.bytes <= room {
        return Ok(());
    }
    let files = if needs.files == 1 {
        "a file"
    } else {
        "files together"
    };
    Err(format!(
        "`{}`: the jobs ask for {files} of {} MiB, and there is room for {} MiB: {}",
        needs.dir.display(),
        needs.bytes.div_ceil(1 << 20),
        room >> 20,
        rule(space)
    ))
}

/// What is to be written, file system by file system.
fn needs<'a>(tasks: impl Iterator<Item = &'a Task>) -> Vec<Needs<'a>> {
    let mut files: BTreeMap<&Path, u64> = BTreeMap::new();
    for task in tasks.filter(|task| task.job.engine.has_data()) {
        let own = task.ends_in_files();
        let of_all = &task.file_bytes;
        let each = if of_all.is_empty() { &own } else { of_all };
        let targets = std::iter::once(&task.job.target).chain(&task.job.more_targets);
        for (target, &bytes) in targets.zip(each) {
            if let Target::File { path, create: true } = target {
                let longest = files.entry(path).or_default();
                *longest = bytes.max(*longest);
            }
        }
    }
    let mut systems: BTreeMap<u64, Needs<'_>> = BTreeMap::new();
    for (path, bytes) in files {
        let there = path.symlink_metadata().ok();
        let is_whole = there.as_ref().is_some_and(|there| there.len() >= bytes);
        let dir = path.parent().unwrap_or(path);
        // A directory that is not there is refused where the file is made.
        let Some(system) = dir.metadata().ok().filter(|_| !is_whole) else {
            continue;
        };
        let needs = systems.entry(system.dev()).or_insert(Needs {
            dir,
            files: 0,
            bytes: 0,
            freed: 0,
        });
        needs.files += 1;
        needs.bytes = needs.bytes.saturating_add(bytes);
        // Blocks of stat(2) are of 512 bytes, whatever those of the file system.
        needs.freed += there.map_or(0, |there| there.blocks() * 512);
    }
    systems.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::task::tests::task;
    use model::job::IoEngine;
    use model::job::Job;

    const M: u64 = 1 << 20;

    #[test]
    fn half_of_what_is_free_is_used_and_enough_stays() {
        const G: u64 = GIB;
        for (free, total, expected) in [
            (100 * G, 100 * G, 50 * G),
            // 1 GiB of a large file system.
            (G + 5, 1000 * G, 5),
            (G, 1000 * G, 0),
            // 10 % of a small one, such as 64 MB of /dev/shm.
            (977 * M, 1000 * M, 977 * M / 2),
            (64_000_000, 64_000_000, 32_000_000),
            (100 * M + 5, 1000 * M, 5),
            (100 * M, 1000 * M, 0),
            (0, 0, 0),
        ] {
            assert_eq!(room(free, total), expected, "{free} of {total}");
        }
    }

    fn on(path: &Path, bytes: u64) -> Task {
        let plain = task();
        Task {
            job: Job {
                engine: IoEngine::Psync,
                target: Target::File {
                    path: path.to_owned(),
                    create: true,
                },
                size: Some(bytes),
                ..plain.job
            },
            ..plain
        }
    }

    #[test]
    fn all_files_of_a_run_are_asked_for_together() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::write(path("whole"), vec![1; 8192]).unwrap();
        std::fs::write(path("short"), vec![1; 4096]).unwrap();
        let mut null = on(&path("never"), 64 * M);
        null.job.engine = IoEngine::Null;
        let tasks = [
            on(&path("new"), 3 * M),
            // The same file again takes nothing more, or what it is longer.
            on(&path("new"), 5 * M),
            on(&path("other"), 7 * M),
            on(&path("whole"), 8192),
            on(&path("short"), 8192),
            null,
        ];
        let found = needs(tasks.iter());
        let [all] = found[..] else {
            panic!("{found:?}")
        };
        assert_eq!((all.files, all.bytes), (3, 12 * M + 8192));
        // A file system may keep a small file beside its blocks.
        assert!(all.freed <= 64 << 10, "{}", all.freed);
        assert_eq!(check(std::iter::empty(), Language::Fio), Ok(()));
    }

    #[test]
    fn files_that_would_fit_one_by_one_are_refused_together() {
        let space = FileSystem {
            free_bytes: 10 * GIB,
            total_bytes: 10 * GIB,
            block_bytes: 4096,
            magic: 0,
            read_only: false,
            no_exec: false,
        };
        let needs = |files, bytes| Needs {
            dir: Path::new("/d"),
            files,
            bytes,
            freed: 0,
        };
        assert_eq!(fits(needs(1, 5 * GIB), space), Ok(()));
        let why = fits(needs(2, 5 * GIB + 1), space).unwrap_err();
        for words in ["files together of 5121 MiB", "room for 5120 MiB"] {
            assert!(why.contains(words), "{why}");
        }
    }
}
