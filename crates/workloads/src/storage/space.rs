//! How much of a file system test files may take: at most half of what is free, and 1 GiB stays free in any case, or
//! 10 % of a file system below 10 GiB. A disk that runs full harms everybody on it. The same holds of a quota, of the
//! memory below a file system in memory, and of the file system below a device on a file with holes
//! ([`sys::room`]): the tightest counts.
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
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use sys::room::{Bound, Room};
use sys::tree::Tree;

pub(super) const GIB: u64 = 1 << 30;

/// Free space that stays: what programs of a machine write while they are measured, whatever the disk's size.
const KEEP_BYTES: u64 = GIB;
/// The share that stays free of a file system for which that is much: one in so many.
const KEEP_SHARE: u64 = 10;

/// How much must stay free.
fn kept(total: u64) -> u64 {
    KEEP_BYTES.min(total / KEEP_SHARE)
}

/// How much of a file system may be used.
fn room(free: u64, total: u64) -> u64 {
    (free / 2).min(free.saturating_sub(kept(total)))
}

/// How much one bound lets be used.
fn of_bound(bound: &Bound) -> u64 {
    let room = room(bound.free_bytes, bound.total_bytes);
    // Where all that can be needed fits, the rest is no matter of this one.
    match bound.needed_bytes {
        Some(needed) if needed <= room => u64::MAX,
        _ => room,
    }
}

/// All that limits what may be written in a directory.
#[derive(Debug)]
pub(crate) struct Limits(Room);

impl Limits {
    fn of(dir: &Path) -> std::io::Result<Self> {
        sys::room::of(&Tree::real(), dir).map(Self)
    }

    /// Those of an open file, whatever its path leads to by now.
    fn of_file(file: &File) -> std::io::Result<Self> {
        let handle = sys::io::file::handle_path(file);
        let mut limits = Self::of(asked_at(&std::fs::read_link(&handle)?))?;
        let own = sys::probe::file_system(&handle)?;
        let own = Bound {
            free_bytes: own.free_bytes,
            total_bytes: own.total_bytes,
            needed_bytes: None,
            whose: None,
        };
        limits.0.bounds.insert(0, own);
        Ok(limits)
    }

    /// Limits of a file system alone.
    #[cfg(test)]
    pub(super) fn plain(free_bytes: u64, total_bytes: u64) -> Self {
        let bound = Bound {
            free_bytes,
            total_bytes,
            needed_bytes: None,
            whose: None,
        };
        Self(Room {
            bounds: vec![bound],
            ..Room::default()
        })
    }

    /// The one that lets the least be used.
    fn tightest(&self) -> Option<&Bound> {
        self.0.bounds.iter().min_by_key(|bound| of_bound(bound))
    }

    /// How many bytes may be used.
    pub(crate) fn room(&self) -> u64 {
        self.tightest().map_or(0, of_bound)
    }

    /// How many files may still be made; `None` where the file system makes room for them as they come.
    pub(crate) const fn free_inodes(&self) -> Option<u64> {
        self.0.free_inodes
    }

    /// The rule, with the figures of what limits most.
    pub(crate) fn rule(&self) -> String {
        let Some(bound) = self.tightest() else {
            return "nothing is known of the free space".to_owned();
        };
        format!(
            "of {} MiB{} {} are free, of which at most half is used, and at least {} MiB (1 GiB, or 10 % where that is less) stay free",
            bound.total_bytes >> 20,
            bound.whose.as_deref().unwrap_or(""),
            bound.free_bytes >> 20,
            kept(bound.total_bytes) >> 20
        )
    }

    /// The same where so many bytes are given back first.
    fn with_freed(mut self, bytes: u64) -> Self {
        for bound in &mut self.0.bounds {
            bound.free_bytes = bound.free_bytes.saturating_add(bytes);
        }
        self
    }

    /// Why nothing more may be written, where less is free by now than has to stay free.
    fn too_little_left(&self) -> Option<String> {
        let is_short = |bound: &&Bound| {
            bound.free_bytes < kept(bound.total_bytes) && of_bound(bound) < u64::MAX
        };
        let bound = self.0.bounds.iter().find(is_short)?;
        Some(format!(
            "less is free than has to stay free: of {} MiB{} {} are free, and {} have to stay so",
            bound.total_bytes >> 20,
            bound.whose.as_deref().unwrap_or(""),
            bound.free_bytes >> 20,
            kept(bound.total_bytes) >> 20
        ))
    }
}

/// What limits how much may be written in `dir` and cannot be asked.
pub fn unasked(dir: &Path) -> Vec<String> {
    Limits::of(dir).map_or_else(|_| Vec::new(), |limits| limits.0.unasked)
}

/// Refuses to go on with a file where less is free than has to stay free.
pub(super) fn leave_enough(file: &File) -> std::io::Result<()> {
    Limits::of_file(file)?
        .too_little_left()
        .map_or(Ok(()), |why| Err(std::io::Error::other(why)))
}

/// Where the room for a file is asked for: its directory, or the file itself where a file of another file system is
/// mounted on it alone. Another number does not say that: an overlay has several.
fn asked_at(path: &Path) -> &Path {
    let dir = path.parent().unwrap_or(path);
    let on = |path: &Path| path.metadata().ok().map(|found| found.dev());
    let is_point = || {
        let points = sys::mounts::points(&Tree::real()).unwrap_or_default();
        path.canonicalize().is_ok_and(|path| points.contains(&path))
    };
    match (on(path), on(dir)) {
        (Some(own), Some(other)) if own != other && is_point() => path,
        _ => dir,
    }
}

/// What files of a run take in `dir`, which is what the least test file takes where it is not said, and the room for
/// them; `None` where nobody can say.
pub fn taken(dir: &Path, needed: Option<Bytes>) -> Option<Space> {
    let limits = Limits::of(dir).ok()?;
    Some(Space {
        needed: needed.unwrap_or(Bytes(SIZE_LEAST)),
        room: Bytes(limits.room()),
    })
}

/// What limits how much may be written in `dir`.
pub(crate) fn limits(dir: &Path) -> Result<Limits, WorkError> {
    Limits::of(dir)
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
    let limits = limits(dir)?;
    let room = limits.room();
    if needed <= room {
        return Ok(());
    }
    Err(WorkError::Unsupported(format!(
        "there is room for {room} bytes, and {needed} are needed: {}",
        limits.rule()
    )))
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
    super::file::no_room(&Limits::of(dir).ok()?)
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
        let limits = Limits::of(needs.dir)
            .map_err(|error| format!("read the free space of `{dir}`: {error}"))?;
        fits(needs, &limits.with_freed(needs.freed))
            .map_err(|why| format!("{why}\n{}", hint(language, Advice::Room)))?;
    }
    Ok(())
}

fn fits(needs: Needs<'_>, limits: &Limits) -> Result<(), String> {
    let room = limits.room();
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
        limits.rule()
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
        let dir = asked_at(path);
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

    #[test]
    fn the_tightest_limit_counts_and_is_the_one_that_is_told() {
        let mut limits = Limits::plain(100 * GIB, 100 * GIB);
        let mut add = |free_bytes, total_bytes, needed_bytes, whose: &str| {
            limits.0.bounds.push(Bound {
                free_bytes,
                total_bytes,
                needed_bytes,
                whose: Some(whose.to_owned()),
            });
            (limits.room(), limits.rule())
        };
        let (room, rule) = add(80 * M, 100 * M, None, " that the quota of user 7 allows");
        assert_eq!(room, 40 * M);
        let words = "of 100 MiB that the quota of user 7 allows 80 are free, ";
        assert!(rule.starts_with(words), "{rule}");
        // All that can be needed below fits there, or does not.
        let (room, _) = add(60 * M, 1000 * M, Some(0), " below");
        assert_eq!(room, 40 * M);
        let (room, rule) = add(60 * M, 100 * M, Some(31 * M), " below");
        assert_eq!(room, 30 * M);
        assert!(rule.starts_with("of 100 MiB below 60"), "{rule}");
        // What has to stay free is taken, of what is ours and not of what is no matter.
        assert_eq!(limits.too_little_left(), None);
        limits.0.bounds[1].free_bytes = 9 * M;
        let why = limits.too_little_left().unwrap();
        let words = "of 100 MiB that the quota of user 7 allows 9 are free, and 10 have to stay so";
        assert!(why.ends_with(words), "{why}");
        let freed = limits.with_freed(51 * M);
        assert_eq!(freed.too_little_left(), None);
        assert_eq!(freed.room(), 30 * M);
    }

    #[test]
    fn an_open_file_has_the_room_of_its_own_file_system_whatever_its_name_leads_to() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let file = File::create(&path).unwrap();
        let total = sys::probe::file_system(dir.path()).unwrap().total_bytes;
        let own = Limits::of_file(&file).unwrap();
        assert_eq!(own.0.bounds[0].total_bytes, total);
        assert_eq!(asked_at(&path), dir.path());
        assert_eq!(asked_at(&dir.path().join("new")), dir.path());
        // Its name leads to a file of another file system that is not mounted there.
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/proc/version", &path).unwrap();
        assert_eq!(asked_at(&path), dir.path());
        let own = Limits::of_file(&file).unwrap();
        assert_eq!(own.0.bounds[0].total_bytes, total);
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
        let space = &Limits::plain(10 * GIB, 10 * GIB);
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

#[cfg(test)]
mod root {
    use super::*;

    #[test]
    #[ignore = "root: mounts a file system in memory, and one file of it"]
    #[expect(clippy::disallowed_methods, reason = "the test mounts by mount(8)")]
    fn a_file_that_is_mounted_alone_has_the_room_of_its_own_file_system() {
        let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let [memory, at] = dirs.each_ref().map(tempfile::TempDir::path);
        let (from, to) = (memory.join("a"), at.join("a"));
        std::fs::write(&to, "").unwrap();
        let run = |words: &[&str], paths: &[&Path]| {
            let mut command = std::process::Command::new(words[0]);
            command.args(&words[1..]).args(paths);
            assert!(command.status().unwrap().success(), "{command:?}");
        };
        let size = 64 << 20;
        run(
            &["mount", "-t", "tmpfs", "-o", "size=64M", "none"],
            &[memory],
        );
        std::fs::write(&from, "").unwrap();
        run(&["mount", "--bind"], &[&from, &to]);
        let file = File::create(&to).unwrap();
        let own = Limits::of_file(&file);
        let found = (asked_at(&to), Limits::of(asked_at(&to)));
        // Nothing is left of the file system of the file, and much of that of its directory.
        let fill = std::fs::write(memory.join("fill"), vec![1; 60 << 20]);
        let left = leave_enough(&file);
        drop(file);
        run(&["umount"], &[&to]);
        run(&["umount"], &[memory]);
        fill.unwrap();
        assert_eq!(found.0, to);
        for limits in [own, found.1] {
            let bounds = limits.unwrap().0.bounds;
            assert_eq!(bounds[0].total_bytes, size);
            assert!(
                bounds
                    .iter()
                    .all(|bound| bound.whose.is_some() || bound.total_bytes == size)
            );
        }
        let why = left.unwrap_err().to_string();
        assert!(
            why.contains("less is free than has to stay free: of 64 MiB 4 are free"),
            "{why}"
        );
    }
}
