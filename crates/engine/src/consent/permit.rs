//! Leave to open one file or device, as it travels to the workers, and the opening itself.

use super::{Refusal, Touch, plain_file};
use crate::erase;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use sys::block::device;
use sys::io::file::{self, Access};
use sys::owned;
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
    /// A file.
    File { device: u64, inode: u64 },
    /// Nothing, and a file may be made.
    Absent,
}

/// Leave to open one file or device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permit {
    path: PathBuf,
    writes: bool,
    creates: bool,
    /// The user named it behind `--overwrite-file`.
    overwrite: bool,
    seen: Seen,
    /// The process that holds the claim on a device.
    supervisor: u32,
}

/// Everything that a run may open beside its own directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permits(Vec<Permit>);

impl Permits {
    /// The permit for a path.
    pub fn of(&self, path: &Path) -> Result<&Permit, Refusal> {
        let mut all = self.0.iter();
        all.find(|permit| permit.path == path)
            .ok_or_else(|| Refusal::NoPermit(path.to_owned()))
    }

    pub(super) fn add(&mut self, permit: Permit) {
        self.0.push(permit);
    }
}

/// Whose a file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    /// There is none.
    Nobody,
    /// Somebody else made it.
    Others,
    /// We made it, and were stopped before it was whole.
    Unfinished,
    /// We made it, and its mark says this.
    Us(String),
}

/// What the mark of a file says that is being written.
const UNFINISHED: &str = "unfinished";

impl Permit {
    pub(super) fn new(touch: Touch, overwrite: bool, seen: Seen) -> Self {
        Self {
            path: touch.path,
            writes: touch.writes,
            creates: touch.creates,
            overwrite,
            seen,
            supervisor: std::process::id(),
        }
    }

    /// Whether a file could be opened as it is to be.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        match self.seen {
            Seen::File { .. } => self.open_file(Access::default()).map(drop),
            _ => Ok(()),
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

    /// Whether a file may be made.
    pub const fn creates(&self) -> bool {
        self.creates
    }

    /// The size of a device in bytes; `None` for a file, whose size is its own affair.
    pub const fn device_bytes(&self) -> Option<u64> {
        match &self.seen {
            Seen::Device { size_bytes, .. } => Some(*size_bytes),
            Seen::Erasable(permit) => Some(permit.size_bytes()),
            Seen::File { .. } | Seen::Absent => None,
        }
    }

    /// Opens it, after a look at what is there now.
    pub fn open(&self, access: Access) -> Result<File, Refusal> {
        match &self.seen {
            Seen::Device { .. } => self.open_to_read(access),
            Seen::Erasable(permit) => Ok(permit.open(&Tree::real(), access, self.supervisor)?),
            Seen::File { .. } | Seen::Absent => self.open_file(access),
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

    fn open_file(&self, access: Access) -> Result<File, Refusal> {
        let path = &self.path;
        if access.write && !self.writes {
            return Err(Refusal::NoPermit(path.clone()));
        }
        let found = file::find(path, false).map_err(Refusal::system("open", path))?;
        let what = plain_file(&found, path, self.writes)?;
        let opened = file::reopen(&found, access).map_err(Refusal::system("open", path))?;
        if own_mark(&opened, path)?.is_some() {
            return Ok(opened);
        }
        let same = matches!(self.seen, Seen::File { device, inode }
            if (device, inode) == (what.dev(), what.ino()));
        if !same {
            return Err(Refusal::unfit(
                path,
                "it is not the file any more that was looked at",
            ));
        }
        if self.writes && !self.overwrite {
            return Err(Refusal::NotNamed(path.clone()));
        }
        Ok(opened)
    }

    /// Whose file is there.
    pub fn owner(&self) -> Result<Owner, Refusal> {
        let path = &self.path;
        let found = match file::find(path, false) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Owner::Nobody),
            other => other.map_err(Refusal::system("open", path))?,
        };
        plain_file(&found, path, self.writes)?;
        let opened =
            file::reopen(&found, Access::default()).map_err(Refusal::system("open", path))?;
        Ok(match own_mark(&opened, path)? {
            None => Owner::Others,
            Some(mark) if mark == UNFINISHED => Owner::Unfinished,
            Some(mark) => Owner::Us(mark),
        })
    }

    /// Makes the file, marked as ours and unfinished, in the place of one of ours if there is one.
    pub fn create(&self) -> Result<File, Refusal> {
        let path = &self.path;
        if !self.creates {
            return Err(Refusal::NoPermit(path.clone()));
        }
        self.remove_ours()?;
        let made = file::create(path).map_err(Refusal::system("create", path))?;
        let bound = bound(&made, None, UNFINISHED);
        bound.and_then(|mark| owned::mark(&made, &mark)).map_err(|error| {
            // It was made a moment ago, by us, and is empty.
            let _ = std::fs::remove_file(path);
            if owned::has_no_marks(&error) {
                return Refusal::unfit(
                    path,
                    "this file system carries no extended attributes, so that a file of kurabe's could not be told \
                     from others later\nhint: name no file, and kurabe makes and removes one of its own; or make it \
                     yourself and name it with `--overwrite-file`",
                );
            }
            Refusal::system("mark", path)(error)
        })?;
        Ok(made)
    }

    /// Says in the mark that the file is whole, and what is in it.
    pub fn finish(&self, made: &File, text: &str) -> Result<(), Refusal> {
        let size = made.metadata().map(|found| found.len());
        size.and_then(|size| bound(made, Some(size), text))
            .and_then(|mark| owned::mark(made, &mark))
            .map_err(Refusal::system("mark", &self.path))
    }

    /// Removes the file where we made it. Another one stays, and is an error.
    pub fn remove_ours(&self) -> Result<(), Refusal> {
        match self.owner()? {
            Owner::Nobody => Ok(()),
            Owner::Others => Err(Refusal::NotNamed(self.path.clone())),
            Owner::Unfinished | Owner::Us(_) => {
                std::fs::remove_file(&self.path).map_err(Refusal::system("remove", &self.path))
            }
        }
    }
}

/// A mark that counts on this file alone, and with this size where it is whole: copies take attributes along, and what
/// is copied into a file leaves them on it.
fn bound(file: &File, size: Option<u64>, text: &str) -> io::Result<String> {
    let found = file.metadata()?;
    let size = size.map_or_else(|| "-".to_owned(), |size| size.to_string());
    Ok(format!("{}:{}:{size} {text}", found.dev(), found.ino()))
}

/// The text of our mark on an opened file; `None` where there is none, or where it was made for another file.
fn own_mark(file: &File, path: &Path) -> Result<Option<String>, Refusal> {
    let mark = owned::mark_on(file).map_err(Refusal::system("read the mark of", path))?;
    let Some((binding, text)) = mark.as_deref().and_then(|mark| mark.split_once(' ')) else {
        return Ok(None);
    };
    let found = file.metadata().map_err(Refusal::system("look at", path))?;
    let ours = [found.len().to_string(), "-".to_owned()]
        .iter()
        .any(|size| binding == format!("{}:{}:{size}", found.dev(), found.ino()));
    Ok(ours.then(|| text.to_owned()))
}
