//! Leave to open one file, device or server, as it travels to the workers, and the opening itself.

use super::mark::{self, Mark};
use super::{Refusal, Touch, plain_file};
use crate::erase;
use crate::secret::Secret;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use sys::block::{device, uses};
use sys::io::file::{self, Access};
use sys::tree::Tree;

/// What a name led to when it was decided about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Seen {
    /// A device that is only read.
    Device {
        major: u32,
        minor: u32,
        size_bytes: u64,
    },
    /// A device that may be erased.
    Erasable(erase::Permit),
    /// A file. Where it may be written to the supervisor holds it, so that its number is given to no other file.
    File {
        device: u64,
        inode: u64,
        /// The run's name in the mark of a file of ours.
        run: Option<String>,
    },
    /// A server.
    Server {
        /// What opens it, where that takes anything.
        secret: Option<Secret>,
        /// Whether tables of others may be in the database.
        allow_existing: bool,
    },
    /// A peer: the leave to send to it and to receive from it.
    Peer {
        /// What opens it, where that takes anything.
        token: Option<Secret>,
    },
}

/// Leave to open one file or device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permit {
    /// As it was typed.
    path: PathBuf,
    /// By which it is opened.
    place: PathBuf,
    writes: bool,
    creates: bool,
    seen: Seen,
    /// The process that holds the claim on a device, as /proc calls it.
    supervisor: u32,
}

/// A device or file that is written to, and why not everybody who may use it could be seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unseen {
    /// The device or file.
    pub path: PathBuf,
    /// In words.
    pub why: String,
}

/// Everything that a run may open beside its own directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permits {
    all: Vec<Permit>,
    /// The number of the handle to the supervisor's standard error, where programs may be executed.
    errors: Option<i32>,
}

impl Permits {
    /// The permit for a path.
    pub fn of(&self, path: &Path) -> Result<&Permit, Refusal> {
        let mut all = self.all.iter();
        all.find(|permit| permit.path == path)
            .ok_or_else(|| Refusal::NoPermit(path.to_owned()))
    }

    pub(super) fn add(&mut self, permit: Permit) {
        self.all.push(permit);
    }

    /// From now on workers may execute programs; every process that is started behind this inherits a handle to our
    /// standard error.
    pub(super) fn allow_programs(&mut self) -> Result<(), Refusal> {
        let shared = sys::process::share_errors();
        let here = Path::new("standard error");
        self.errors = Some(shared.map_err(Refusal::system("duplicate", here))?);
        Ok(())
    }

    /// In a worker, before it executes this program of a job: the supervisor's standard error.
    pub fn errors(&self, job: &str, program: &str) -> Result<File, Refusal> {
        let number = self.errors.ok_or_else(|| Refusal::NotAllowed {
            job: job.to_owned(),
            program: program.to_owned(),
        })?;
        let here = Path::new("standard error");
        sys::process::inherited(number).map_err(Refusal::system("duplicate", here))
    }
}

impl Permit {
    pub(super) fn new(touch: Touch, place: PathBuf, seen: Seen) -> Self {
        Self {
            path: touch.path,
            place,
            writes: touch.writes,
            creates: touch.creates,
            seen,
            supervisor: uses::process_in_proc(&Tree::real()),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// True for a device, false for a file.
    pub const fn is_device(&self) -> bool {
        matches!(self.seen, Seen::Device { .. } | Seen::Erasable(_))
    }

    /// Whether it may be written to.
    pub const fn writes(&self) -> bool {
        self.writes
    }

    /// Whether it is a file of ours, and the job one that makes it: it may be written anew.
    pub const fn makes(&self) -> bool {
        self.creates && matches!(self.seen, Seen::File { run: Some(_), .. })
    }

    /// The size of a device in bytes; `None` for a file, whose size is its own affair.
    pub const fn device_bytes(&self) -> Option<u64> {
        match &self.seen {
            Seen::Device { size_bytes, .. } => Some(*size_bytes),
            Seen::Erasable(permit) => Some(permit.size_bytes()),
            Seen::File { .. } | Seen::Server { .. } | Seen::Peer { .. } => None,
        }
    }

    /// What opens the server or peer, where that takes anything.
    pub const fn secret(&self) -> Option<&Secret> {
        match &self.seen {
            Seen::Server { secret, .. } | Seen::Peer { token: secret } => secret.as_ref(),
            _ => None,
        }
    }

    /// Whether the user agreed that tables of others are in the database.
    pub const fn allows_existing(&self) -> bool {
        matches!(self.seen, Seen::Server { allow_existing, .. } if allow_existing)
    }

    /// Opens it, after a look at what is there now.
    pub fn open(&self, access: Access) -> Result<File, Refusal> {
        match &self.seen {
            Seen::Device { .. } => self.open_to_read(access),
            Seen::Erasable(permit) => Ok(permit.open(&Tree::real(), access, self.supervisor)?),
            Seen::File { .. } if access.write && !self.writes => {
                Err(Refusal::NoPermit(self.path.clone()))
            }
            Seen::File { .. } => self.open_file(access),
            Seen::Server { .. } => Err(Refusal::unfit(&self.path, "it is a server and no file")),
            Seen::Peer { .. } => Err(Refusal::unfit(&self.path, "it is a peer and no file")),
        }
    }

    fn open_to_read(&self, access: Access) -> Result<File, Refusal> {
        if access.write {
            return Err(Refusal::NoPermit(self.path.clone()));
        }
        let found = file::find(&self.path, true).map_err(Refusal::system("open", &self.path))?;
        let number = device::number_of(&found).map_err(Refusal::system("look at", &self.path))?;
        let changed = || erase::Refusal::Changed(self.path.display().to_string());
        let Seen::Device {
            major,
            minor,
            size_bytes,
        } = self.seen
        else {
            return Err(changed().into());
        };
        if number.map(|number| (number.major, number.minor)) != Some((major, minor)) {
            return Err(changed().into());
        }
        let mut opened =
            file::reopen(&found, access).map_err(Refusal::system("open", &self.path))?;
        // A number is given again when its device is gone.
        let size =
            device::size(&mut opened).map_err(Refusal::system("find the size of", &self.path))?;
        if size != size_bytes {
            return Err(changed().into());
        }
        Ok(opened)
    }

    /// Opens the file that was looked at, and none that was put in its place.
    fn open_file(&self, access: Access) -> Result<File, Refusal> {
        let path = &self.path;
        let found = file::find(&self.place, false).map_err(Refusal::system("open", path))?;
        let what = plain_file(&found, path, self.writes)?;
        let same = matches!(self.seen, Seen::File { device, inode, .. }
            if (device, inode) == (what.dev(), what.ino()));
        if !same {
            return Err(self.changed());
        }
        file::reopen(&found, access).map_err(Refusal::system("open", path))
    }

    fn changed(&self) -> Refusal {
        Refusal::unfit(&self.path, "it is not the file any more that was looked at")
    }

    /// What the mark of a file of ours says of its content; `None` for one that is not whole, and for others.
    pub fn note(&self) -> Result<Option<String>, Refusal> {
        if !matches!(self.seen, Seen::File { run: Some(_), .. }) {
            return Ok(None);
        }
        let note = self.mark(&self.open_file(Access::default())?)?.note;
        Ok(Some(note).filter(|note| !note.is_empty()))
    }

    /// Empties a file of ours, and opens it to be written anew. From here on it is not whole.
    pub fn empty(&self) -> Result<File, Refusal> {
        if !self.makes() {
            return Err(Refusal::NoPermit(self.path.clone()));
        }
        let file = self.open_file(Access {
            write: true,
            ..Access::default()
        })?;
        self.keep_note(&file, "")?;
        file.set_len(0)
            .map_err(Refusal::system("empty", &self.path))?;
        Ok(file)
    }

    /// Says in the mark of a file of ours that it is whole, and what is in it.
    pub fn keep_note(&self, file: &File, note: &str) -> Result<(), Refusal> {
        let mark = Mark {
            note: note.to_owned(),
            ..self.mark(file)?
        };
        let set = mark.set(file).map(drop);
        set.map_err(Refusal::system("mark", &self.path))
    }

    /// The mark of our own run.
    fn mark(&self, file: &File) -> Result<Mark, Refusal> {
        let Seen::File { run: Some(run), .. } = &self.seen else {
            return Err(Refusal::NoPermit(self.path.clone()));
        };
        let found = mark::of_run(file, run);
        let found = found.map_err(Refusal::system("read the mark of", &self.path))?;
        found.ok_or_else(|| self.changed())
    }
}
