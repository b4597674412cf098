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

/// One entry for each connection.
static HELD: Mutex<Vec<Identity>> = Mutex::new(Vec::new());

/// The list, for as long as a file is looked at and connected to.
pub(crate) struct Held(MutexGuard<'static, Vec<Identity>>);

impl Held {
    pub(crate) fn lock() -> Self {
        Self(HELD.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether this process has a connection to the file.
    pub(crate) fn has(&self, file: Identity) -> bool {
        self.0.contains(&file)
    }

    /// Notes one connection more.
    pub(crate) fn hold(&mut self, file: Identity) -> Hold {
        self.0.push(file);
        Hold(file)
    }
}

/// A connection's entry; to be dropped after the connection.
#[derive(Debug)]
pub(crate) struct Hold(Identity);

impl Hold {
    pub(crate) const fn file(&self) -> Identity {
        self.0
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut held = Held::lock();
        if let Some(at) = held.0.iter().position(|file| *file == self.0) {
            held.0.swap_remove(at);
        }
    }
}

/// Whether this process has a store open in this file: to open and close it would drop the locks of that store.
pub fn is_open_store(file: &Metadata) -> bool {
    Held::lock().has(Identity::of(file))
}
