//! The work directory: made, marked, and removed with everything in it, and nothing else.
//!
//! Only a directory that carries our marker file is ever removed. Its maker holds a lock on the marker (flock(2)),
//! which the kernel drops however the maker ends: that tells a directory in use from one left behind, also across
//! containers, where a process id says nothing. Where a file system has no locks, the marker says so, and the directory
//! of a run that was killed is left to whoever knows that it was.
//!
//! Whoever may rename things in the parent directory can put another directory, or a link to one, in the place of ours
//! at any time. Nothing is therefore made, measured, executed or emptied by its name. The directory is held open from
//! the moment at which it was made, and everything in it is reached through that handle. Workers are put into it by the
//! handle, and their paths begin where they are. A directory that another user made is not marked. File systems without
//! owners (vfat) give every file one owner, so that there a directory of another user cannot be told from ours.
//!
//! In the end the name may lead elsewhere. Then ours stays where it was moved, empty but for its marker, and that is
//! said.

mod again;

use crate::strangers::{self, Stranger};
use model::order::Order as _;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use sys::io::file::{self, Access, find_directory, handle_path};
use sys::tree::Tree;

/// The marker's file name.
const MARKER: &str = ".kurabe-work";

/// How the directory's name begins.
const PREFIX: &str = "kurabe-work-";

/// The directory inside it that all rounds share.
pub(crate) const RUN_DIR: &str = "run";

/// How often it is tried to lock a new marker, and how long is waited in between, in nanoseconds: `kurabe clean` may be
/// looking at it for a moment.
const LOCK_TRIES: (u32, u64) = (100, 10_000_000);

/// How long is waited between tries to remove a directory in which something is left, in nanoseconds. FUSE and NFS keep
/// a file that was open when it was removed under another name, and hear of its end a moment after we do.
const PAUSES: [u64; 7] = [
    5_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
    200_000_000,
    400_000_000,
    800_000_000,
];

/// Said where a directory is not the one that was made.
const ANOTHER: &str = "somebody put another directory in its place";

/// Said where nobody can tell whether the maker of a directory lives.
const NO_LOCKS: &str = "its file system has no locks, so that nobody can tell whether its run goes on; \
                        remove it by hand where none does";

/// Who made a work directory.
#[derive(Debug, Serialize, Deserialize)]
struct Marker {
    run: String,
    /// True where the file system has no locks, so that nobody can tell whether its maker lives.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    unlocked: bool,
}

/// Something about a work directory went wrong.
#[derive(Debug, thiserror::Error)]
#[error("{operation} `{}`: {error}", path.display())]
pub struct WorkDirError {
    /// `create`, `mark`, `remove`...
    pub operation: &'static str,
    /// The directory.
    pub path: PathBuf,
    /// What the kernel said.
    pub error: io::Error,
}

/// A work directory in use; removed when dropped.
#[derive(Debug)]
pub struct WorkDir {
    held: Held,
    /// Held, not read: its lock says that we are alive. `None` once the directory is removed, or cannot be.
    marker: Option<File>,
    is_locked: bool,
    is_taken_up: bool,
}

/// Where the work directory of `run` is made inside `parent`.
pub fn place(parent: &Path, run: &str) -> PathBuf {
    parent.join(format!("{PREFIX}{run}"))
}

impl WorkDir {
    /// Makes the work directory of `run` inside `parent`. Root refuses one that belongs to somebody else, as files do
    /// where a server gives those of root to nobody, unless `of_others` says that this is meant.
    pub fn create(parent: &Path, run: &str, of_others: bool) -> Result<Self, WorkDirError> {
        let path = place(parent, run);
        let fail = |operation| {
            let path = path.clone();
            move |error| WorkDirError {
                operation,
                path,
                error,
            }
        };
        let inside = find_directory(parent).map_err(fail("create the work directory"))?;
        // For nobody else, whatever the umask is.
        DirBuilder::new()
            .mode(0o700)
            .create(handle_path(&inside).join(name_of(&path)))
            .map_err(fail("create the work directory"))?;
        let held = Held::of(inside, &path, run).map_err(fail("open the work directory"))?;
        let made = held.mark_new(of_others).and_then(|marker| {
            fs::create_dir(held.here().join(RUN_DIR))?;
            Ok(marker)
        });
        match made {
            Ok((marker, is_locked)) => Ok(Self {
                held,
                marker: Some(marker),
                is_locked,
                is_taken_up: false,
            }),
            Err(error) => {
                // Where the marker is there it is ours, and nothing but it can be in it yet.
                let _ = fs::remove_dir(held.entry());
                Err(fail("mark the work directory")(error))
            }
        }
    }

    /// Where it was made. Somebody else may be found there by now.
    pub fn path(&self) -> &Path {
        &self.held.path
    }

    /// Leads to it, in this process, whatever has become of its name.
    pub(crate) fn here(&self) -> PathBuf {
        self.held.here()
    }

    /// Its handle, for those who are to reach it as well.
    pub(crate) const fn handle(&self) -> &File {
        &self.held.dir
    }

    /// False where the file system has no locks: after a `kill -9` nobody can tell that its maker is gone.
    pub fn is_locked(&self) -> bool {
        self.is_locked
    }

    /// Removes what is in it, as far as that goes at once, but for the marker.
    pub(crate) fn empty(&self) {
        let here = self.here();
        if refuse_mounts(&here).is_ok() {
            // What stays is said, or goes, when the directory is removed.
            let _ = empty_but_for(&here, &[MARKER]);
        }
    }

    /// Removes it now, and says what went wrong if it stays.
    pub fn remove(mut self) -> Result<(), WorkDirError> {
        let marker = self.marker.take();
        self.held.remove(marker)
    }
}

impl Drop for WorkDir {
    fn drop(&mut self) {
        // After `remove` there is nothing left to do; elsewhere an error here has nobody to tell, and `kurabe
        // clean` finds what stays.
        if let Some(marker) = self.marker.take() {
            let _ = self.held.remove(Some(marker));
        }
    }
}

fn name_of(path: &Path) -> OsString {
    path.file_name().unwrap_or_default().to_owned()
}

/// A work directory by its handles, and by its name for words.
#[derive(Debug)]
struct Held {
    path: PathBuf,
    name: OsString,
    run: String,
    /// The directory that it is in.
    parent: File,
    /// The directory itself, whatever has become of its name.
    dir: File,
}

impl Held {
    fn of(parent: File, path: &Path, run: &str) -> io::Result<Self> {
        let name = name_of(path);
        Ok(Self {
            path: path.to_owned(),
            run: run.to_owned(),
            dir: find_directory(&handle_path(&parent).join(&name))?,
            name,
            parent,
        })
    }

    fn here(&self) -> PathBuf {
        handle_path(&self.dir)
    }

    /// What its name leads to by now.
    fn entry(&self) -> PathBuf {
        handle_path(&self.parent).join(&self.name)
    }

    fn marker(&self) -> PathBuf {
        self.here().join(MARKER)
    }

    /// Marks it, where it can be the one that was made a moment ago: there is nothing in it, and owner and rights are
    /// those that files of ours have here. It leaves nothing where it refuses.
    fn mark_new(&self, of_others: bool) -> io::Result<(File, bool)> {
        if fs::read_dir(self.here())?.next().is_some() {
            return Err(io::Error::other(ANOTHER));
        }
        let (marker, is_locked) = self.mark()?;
        if let Err(error) = self.refuse_others(&marker, of_others) {
            let _ = fs::remove_file(self.marker());
            return Err(error);
        }
        Ok((marker, is_locked))
    }

    /// Refuses a directory that is not of the one whose marker it has, or in which others may write.
    fn refuse_others(&self, marker: &File, of_others: bool) -> io::Result<()> {
        let (dir, file) = (self.dir.metadata()?, marker.metadata()?);
        // Compared with a file that is ours for certain: some file systems give all files one owner and mode.
        if dir.uid() != file.uid() || dir.mode() & 0o022 & !file.mode() != 0 {
            return Err(io::Error::other(ANOTHER));
        }
        match strangers::in_it(&dir).filter(|_| !of_others) {
            None => Ok(()),
            Some(by) => {
                let dir = self.path.clone();
                let stranger = Stranger { dir, by };
                Err(io::Error::other(stranger.to_string()))
            }
        }
    }

    /// Writes the marker, locked before it says anything: a marker without words belongs to nobody yet. It leaves
    /// nothing where it fails. False where it could not be locked, because the file system has no locks.
    fn mark(&self) -> io::Result<(File, bool)> {
        let path = self.marker();
        let mut file = File::options()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?;
        let mut write = || {
            let is_locked = lock(&file)?;
            let marker = Marker {
                run: self.run.clone(),
                unlocked: !is_locked,
            };
            file.write_all(&serde_json::to_vec(&marker)?)?;
            Ok(is_locked)
        };
        match write() {
            Ok(is_locked) => Ok((file, is_locked)),
            Err(error) => {
                let _ = fs::remove_file(path);
                Err(error)
            }
        }
    }

    /// Empties a directory with our marker, and removes it where its name leads to it. Whatever goes wrong, the marker
    /// is there as long as the directory is.
    fn remove(&self, marker: Option<File>) -> Result<(), WorkDirError> {
        match self.try_to_remove(marker) {
            // A run that ends and `kurabe clean` may both be at it.
            Err(_) if self.goes() => Ok(()),
            Err(error) => Err(WorkDirError {
                operation: "remove the work directory",
                path: self.path.clone(),
                error,
            }),
            Ok(()) => Ok(()),
        }
    }

    fn try_to_remove(&self, mut marker: Option<File>) -> io::Result<()> {
        if find_marker(&self.here())?.is_none() {
            return Err(io::Error::other(format!(
                "somebody removed its marker `{MARKER}`, without which nothing in it is touched"
            )));
        }
        let here = self.here();
        refuse_mounts(&here)?;
        let mut pauses = PAUSES.iter();
        loop {
            let removed = empty_but_for(&here, &[MARKER]).and_then(|()| {
                // Open, it would be kept under another name by FUSE and NFS.
                marker = None;
                self.remove_empty()
            });
            match (removed, pauses.next()) {
                (Err(error), Some(&pause)) if is_about_to_go(&error) => sys::clock::sleep(pause),
                (removed, _) => return removed,
            }
        }
    }

    /// Whether it is no more, or is no more in a moment: whoever removes it takes its marker first, and then what is
    /// empty.
    fn goes(&self) -> bool {
        for pause in PAUSES {
            match self.dir.metadata() {
                Ok(found) if found.nlink() > 0 => {}
                Ok(_) => return true,
                Err(error) => return is_none(&error),
            }
            let empty = fs::read_dir(self.here()).is_ok_and(|mut within| within.next().is_none());
            if !empty {
                return false;
            }
            sys::clock::sleep(pause);
        }
        false
    }

    /// Removes the marker and the directory, or nothing.
    fn remove_empty(&self) -> io::Result<()> {
        let entry = self.entry();
        let (found, ours) = (entry.symlink_metadata()?, self.dir.metadata()?);
        if (found.dev(), found.ino()) != (ours.dev(), ours.ino()) {
            return Err(io::Error::other(
                "somebody put another directory in its place; it was emptied where it is now",
            ));
        }
        fs::remove_file(self.marker())?;
        fs::remove_dir(entry).inspect_err(|_| {
            // Best effort: who cannot write this either is about to say why.
            let _ = self.mark();
        })
    }
}

/// Locks a new marker; false where the file system has no locks.
fn lock(file: &File) -> io::Result<bool> {
    let (tries, pause) = LOCK_TRIES;
    for _ in 0..tries {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) => sys::clock::sleep(pause),
            Err(TryLockError::Error(error)) if file::has_no_locks(&error) => return Ok(false),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Err(io::Error::other("somebody else locks its marker"))
}

/// Whether what is in the way may be a file that was removed while it was open.
fn is_about_to_go(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::ResourceBusy
    )
}

/// What somebody mounted below the directory is not ours to empty.
fn refuse_mounts(path: &Path) -> io::Result<()> {
    // Without /proc nothing is known of mounts, and nothing is removed.
    let points = sys::mounts::points(&Tree::real()).map_err(io::Error::other)?;
    let real = fs::read_link(path)?;
    match points.iter().find(|point| point.starts_with(&real)) {
        None => Ok(()),
        Some(point) => Err(io::Error::other(format!(
            "something is mounted at `{}`; unmount it first",
            point.display()
        ))),
    }
}

/// Empties a directory but for some of what is in it. The marker goes last: whoever is stopped half-way leaves a
/// directory that is still ours to remove.
fn empty_but_for(path: &Path, kept: &[&str]) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if kept.iter().any(|kept| entry.file_name() == *kept) {
            continue;
        }
        let removed = if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())
        } else {
            fs::remove_file(entry.path())
        };
        match removed {
            // FUSE and NFS take away what they kept.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            removed => removed?,
        }
    }
    Ok(())
}

/// A work directory that somebody left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stale {
    /// Where it is.
    pub path: PathBuf,
    /// The run it belonged to.
    pub run: String,
    /// False where its file system has no locks: its maker may be alive. It is not removed.
    pub is_sure: bool,
}

/// The work directories directly inside `parent` whose maker is no longer alive.
pub fn find_stale(parent: &Path) -> Result<Vec<Stale>, WorkDirError> {
    let fail = |error| WorkDirError {
        operation: "list",
        path: parent.to_owned(),
        error,
    };
    let mut stale = Vec::new();
    for entry in fs::read_dir(parent).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        let named = path
            .file_name()
            .is_some_and(|n| n.to_string_lossy().starts_with(PREFIX));
        if named {
            stale.extend(stale_at(&path));
        }
    }
    stale.order_by(|a, b| a.path.cmp(&b.path));
    Ok(stale)
}

/// `path` as a stale work directory; `None` where it has no readable marker or its maker is alive.
pub fn stale_at(path: &Path) -> Option<Stale> {
    match look_at(path).ok()? {
        Found::Left(stale) => Some(stale),
        Found::Nothing | Found::InUse => None,
    }
}

/// Whether somebody may be working in the directory at `path`: false where it is surely none of ours, or left behind.
pub fn may_be_in_use(path: &Path) -> bool {
    match look_at(path) {
        Ok(Found::Nothing) => false,
        Ok(Found::Left(stale)) => !stale.is_sure,
        Ok(Found::InUse) | Err(_) => true,
    }
}

/// What becomes of a work directory that stayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It has its marker, and is removed as a stale one.
    Clean,
    /// It cannot be looked at, and may have it: a file system that was shut down, or whose server is gone.
    CleanLater,
    /// It has none, or nobody can tell whether its maker is alive.
    Nothing,
}

/// What becomes of the directory that stayed at `path`.
pub fn next_of(path: &Path) -> Next {
    match look_at(path) {
        Ok(Found::Left(stale)) if stale.is_sure => Next::Clean,
        Ok(_) => Next::Nothing,
        Err(_) => Next::CleanLater,
    }
}

/// What is at a path where a work directory may be.
enum Found {
    /// None of ours.
    Nothing,
    /// One whose maker is alive.
    InUse,
    /// One that was left behind.
    Left(Stale),
}

/// What is at `path`. Nothing in it is opened by a name that was looked at before: what stands there then may never
/// answer.
fn look_at(path: &Path) -> io::Result<Found> {
    let dir = match find_directory(path) {
        Err(error) if is_none(&error) => return Ok(Found::Nothing),
        found => found?,
    };
    let Some(marker) = find_marker(&handle_path(&dir))? else {
        return Ok(Found::Nothing);
    };
    // For writing too, if that is possible: NFS locks nothing exclusively that is only read (flock(2)).
    let open = |write| {
        let access = Access {
            write,
            ..Access::default()
        };
        file::reopen(&marker, access)
    };
    let mut file = open(true).or_else(|_| open(false))?;
    // Whoever made it and lives holds the lock.
    let has_locks = match file.try_lock() {
        Ok(()) => true,
        Err(TryLockError::Error(error)) if file::has_no_locks(&error) => false,
        Err(_) => return Ok(Found::InUse),
    };
    // A marker of ours has some fifty bytes.
    let mut bytes = Vec::new();
    (&mut file).take(4096).read_to_end(&mut bytes)?;
    let marker = serde_json::from_slice::<Marker>(&bytes).ok();
    Ok(marker.map_or(Found::Nothing, |marker| {
        Found::Left(Stale {
            path: path.to_owned(),
            run: marker.run,
            is_sure: has_locks && !marker.unlocked,
        })
    }))
}

/// A handle to the marker in the directory to which `dir` leads; `None` where there is none: a file, and no link to
/// one, which may lead anywhere.
fn find_marker(dir: &Path) -> io::Result<Option<File>> {
    match file::find(&dir.join(MARKER), false) {
        Err(error) if is_none(&error) => Ok(None),
        found => found.and_then(|found| Ok(found.metadata()?.is_file().then_some(found))),
    }
}

/// Whether an error says that there is nothing of ours at a path, and not that this cannot be told.
fn is_none(error: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    matches!(
        error.kind(),
        Kind::NotFound | Kind::NotADirectory | Kind::StaleNetworkFileHandle
    )
}

/// Removes a stale work directory.
pub fn remove_stale(stale: &Stale) -> Result<(), WorkDirError> {
    let fail = |error| WorkDirError {
        operation: "remove the work directory",
        path: stale.path.clone(),
        error,
    };
    if !stale.is_sure {
        return Err(fail(io::Error::other(NO_LOCKS)));
    }
    let parent = stale.path.parent().unwrap_or(Path::new("/"));
    match find_directory(parent).and_then(|parent| Held::of(parent, &stale.path, &stale.run)) {
        // Its run was just ending, or somebody else cleans.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        held => held.map_err(fail)?.remove(None),
    }
}

#[cfg(test)]
mod tests;
