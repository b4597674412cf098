//! Which files this process has a connection to, so that nobody opens one of them a second time.
//!
//! SQLite's locks are POSIX record locks, which the kernel drops for the whole process when it closes any descriptor of
//! the file (fcntl(2), "Record locking"). A connection whose locks are gone believes that it has them: another process
//! then takes itself for the last one and removes the log under it. SQLite knows its own descriptors and closes none
//! too early; ours it cannot know. So every look at a store goes through here: a file that is held is judged by what
//! stat(2) says, which opens nothing. Rejected: locks of open file descriptions (SQLite has none).

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A file, whatever its names are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
        }
    }

    /// That of the file at `path`, links followed.
    pub(crate) fn at(path: &Path) -> std::io::Result<Self> {
        std::fs::metadata(path).map(|metadata| Self::of(&metadata))
    }
}

/// What a connection does with its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// It reads, without locks.
    Reads,
    /// It reads under SQLite's locks.
    Locks,
    /// It writes.
    Writes,
}

/// One entry for each connection.
static HELD: Mutex<Vec<(Identity, How)>> = Mutex::new(Vec::new());

/// The list, for as long as a file is looked at and connected to.
pub(crate) struct Held(MutexGuard<'static, Vec<(Identity, How)>>);

impl Held {
    pub(crate) fn lock() -> Self {
        Self(HELD.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn has(&self, file: Identity, which: impl Fn(How) -> bool) -> bool {
        self.0.iter().any(|&(held, how)| held == file && which(how))
    }

    /// Whether this process has a connection to the file that has locks on it.
    pub(crate) fn locks(&self, file: Identity) -> bool {
        self.has(file, |how| how != How::Reads)
    }

    /// Whether this process has a connection to the file that writes.
    pub(crate) fn writes(&self, file: Identity) -> bool {
        self.has(file, |how| how == How::Writes)
    }

    /// Notes one connection more.
    pub(crate) fn hold(&mut self, file: Identity, how: How) -> Hold {
        self.0.push((file, how));
        Hold(file, how)
    }
}

/// A connection's entry; to be dropped after the connection.
#[derive(Debug)]
pub(crate) struct Hold(Identity, How);

impl Hold {
    pub(crate) const fn how(&self) -> How {
        self.1
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut held = Held::lock();
        let own = (self.0, self.1);
        if let Some(at) = held.0.iter().position(|entry| *entry == own) {
            held.0.swap_remove(at);
        }
    }
}

/// Whether this process has a store open in this file: to open and close it would drop the locks of that store.
pub fn is_open_store(file: &Metadata) -> bool {
    Held::lock().has(Identity::of(file), |_| true)
}
