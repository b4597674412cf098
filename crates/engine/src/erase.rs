//! Whether a raw device may be erased, and the handle to it if so.
//!
//! Everything is refused that is not plainly allowed: a device is written to only where nothing of its family is in
//! use, where it is no part of something larger, and where the user has typed its name; where it holds anything at all,
//! its serial number or the identity of what it holds instead, which nobody types by accident. The kernel's own claim
//! (`O_EXCL`) is the last guard, against whoever comes between the look and the opening and against what no list shows:
//! it is taken on everything that is the same storage, because mounts of other namespaces are in no list and each loop
//! device is claimed on its own. Reading a device needs none of this.
//!
//! Programs that neither claim nor can be seen, outside of a container, are the one thing that nobody can find out.
//! What holds data is refused then; what is blank may be written to, and it is said.

use model::units::Nanos;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use sys::block::device::{self, Number};
use sys::block::family::{self, Family};
use sys::block::signature::{self, Class, Signature};
use sys::block::uses::{self, Unseen, Use, Uses};
use sys::io::file::Access;
use sys::tree::{Tree, TreeError};

/// A device that may be erased, as it was when that was decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permit {
    path: PathBuf,
    /// What the user typed, word for word.
    typed: Vec<String>,
    major: u32,
    minor: u32,
    size_bytes: u64,
    /// The kernel's names of all that is the same storage.
    family: Vec<String>,
    /// Why programs may use it that were not seen.
    unseen: Option<String>,
}

/// The kernel's promise that nobody else claims a device or what is the same storage: no mount, no swap area, no array.
/// Held as long as it lives.
#[derive(Debug)]
pub struct Claim {
    /// Held, not read.
    _devices: Vec<File>,
}

/// Why a device must not be erased.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// It cannot be looked at.
    #[error("look at `{device}`: {error}")]
    Look {
        /// As the user named it.
        device: String,
        /// What the kernel said.
        error: io::Error,
    },
    /// It is a file, a directory or a character device.
    #[error("use `{0}` as a device: it is no block device")]
    NotADevice(String),
    /// It has no room for anything.
    #[error("use `{0}` as a device: it has 0 bytes")]
    Empty(String),
    /// The kernel takes no writes for it.
    #[error("erase `{0}`: it is read-only\nhint: `blockdev --setrw {0}`, if you are sure")]
    ReadOnly(String),
    /// Who uses it cannot be found out.
    #[error(
        "find out who uses `{device}`: {error}\nhint: try it as root and outside of containers, where all of this can be read"
    )]
    Uses {
        /// As the user named it.
        device: String,
        /// What could not be read.
        error: TreeError,
    },
    /// It, or something of its family, is in use.
    #[error(
        "erase `{device}`: {uses}\nhint: no option overrides this; unmount or release it first, if you are sure"
    )]
    InUse {
        /// As the user named it.
        device: String,
        /// Every use, in words.
        uses: String,
    },
    /// It holds something, and not every program that may use it can be seen.
    #[error(
        "erase `{device}`: it holds {kinds}, and who uses it cannot be found out: {why}\nhint: measure as root and outside of containers (`--pid=host`), or make it blank first: `blkdiscard --force --zeroout {device}`, if everything on it may be lost"
    )]
    Unseen {
        /// As the user named it.
        device: String,
        /// What it holds.
        kinds: String,
        /// What cannot be seen.
        why: String,
    },
    /// It is part of something larger.
    #[error(
        "erase `{device}`: it is part of something larger: {kinds}\nhint: no option overrides this; take it out with the tool that made it (pvremove, mdadm, zpool...), if you are sure"
    )]
    Member {
        /// As the user named it.
        device: String,
        /// Of what.
        kinds: String,
    },
    /// The user did not type what it takes.
    #[error("erase `{device}`: {why}")]
    NotConfirmed {
        /// As the user named it.
        device: String,
        /// What is on it, or that the consent is missing.
        why: String,
        /// What to type behind `--yes-erase`.
        word: String,
    },
    /// The user typed the identity of another device.
    #[error(
        "erase `{device}`: `{typed}` is neither its serial number nor the UUID of what it holds\nhint: look at both with `lsblk -o NAME,SERIAL,UUID {device}`"
    )]
    OtherIdentity {
        /// As the user named it.
        device: String,
        /// What was typed.
        typed: String,
    },
    /// It holds something, and has no identity that could be typed.
    #[error(
        "erase `{device}`: it holds {kinds}, and has neither serial number nor UUID to confirm with\nhint: `blkdiscard --force --zeroout {device}` makes it blank, if everything on it may be lost"
    )]
    NoIdentity {
        /// As the user named it.
        device: String,
        /// What it holds.
        kinds: String,
    },
    /// It was replaced by another device since it was looked at.
    #[error("use `{0}`: it is not the device any more that was looked at")]
    Changed(String),
    /// Nobody holds the claim that the run began with.
    #[error("erase `{0}`: the claim on it is lost")]
    Unclaimed(String),
}

/// A device that some process has open is looked at again after this time: probes of udev and losetup are over by then.
const SECOND_LOOK: Nanos = Nanos::from_millis(300);

/// Looks at the device that `path` leads to and decides. `typed` is what the user confirmed with, word for word: the
/// device's name, or name, `=` and identity. Processes of the family of `ours`, a supervisor that has the device open
/// already, do not count as users.
pub fn permit(
    tree: &Tree,
    path: &Path,
    typed: &[String],
    ours: Option<u32>,
) -> Result<Permit, Refusal> {
    let device = path.display().to_string();
    let look = |error| Refusal::Look {
        device: device.clone(),
        error,
    };
    let unknown = |error| Refusal::Uses {
        device: device.clone(),
        error,
    };
    let number = device::number(path)
        .map_err(look)?
        .ok_or_else(|| Refusal::NotADevice(device.clone()))?;
    let name = device::name(tree, number).map_err(unknown)?;
    if device::is_read_only(tree, &name) {
        return Err(Refusal::ReadOnly(device));
    }
    let (unseen, family) = refuse_used(tree, path, &name, ours)?;
    let mut file = device::open_to_look(path).map_err(look)?;
    let size_bytes = device::size(&mut file).map_err(look)?;
    if size_bytes == 0 {
        return Err(Refusal::Empty(device));
    }
    let mut marks = signature::probe(&mut file, size_bytes).map_err(look)?;
    for mark in in_partitions(tree, &device, &name)? {
        if !marks.contains(&mark) {
            marks.push(mark);
        }
    }
    let serials = device::serials(tree, &name);
    confirmed(path, &marks, &serials, typed)?;
    // Of what is blank nothing is lost but to programs that are all hidden.
    let unseen = unseen.filter(|unseen| unseen.is_blind() || !marks.is_empty());
    if let Some(why) = unseen.as_ref().filter(|unseen| unseen.is_blind())
        && !marks.is_empty()
    {
        return Err(Refusal::Unseen {
            device,
            kinds: kinds(&marks, None),
            why: why.to_string(),
        });
    }
    Ok(Permit {
        path: path.to_owned(),
        typed: typed.to_vec(),
        major: number.major,
        minor: number.minor,
        size_bytes,
        family: family.names(),
        unseen: unseen.as_ref().map(ToString::to_string),
    })
}

/// Refuses a device of which something is in use; what cannot be seen of its users, and its family.
fn refuse_used(
    tree: &Tree,
    path: &Path,
    name: &str,
    ours: Option<u32>,
) -> Result<(Option<Unseen>, Family), Refusal> {
    let look = || {
        uses_by_others(tree, name, ours).map_err(|error| Refusal::Uses {
            device: path.display().to_string(),
            error,
        })
    };
    let (mut uses, mut family) = look()?;
    if uses.found.iter().all(|found| found.process.is_some()) && !uses.found.is_empty() {
        sys::clock::sleep(SECOND_LOOK.0);
        (uses, family) = look()?;
    }
    if uses.found.is_empty() {
        return Ok((uses.unseen, family));
    }
    let words: Vec<String> = uses.found.iter().map(ToString::to_string).collect();
    Err(Refusal::InUse {
        device: path.display().to_string(),
        uses: words.join("; "),
    })
}

fn uses_by_others(
    tree: &Tree,
    name: &str,
    ours: Option<u32>,
) -> Result<(Uses<Use>, Family), TreeError> {
    let family = Family::of(tree, name)?;
    let mut uses = uses::uses(tree, &family)?;
    if let Some(supervisor) = ours {
        uses.found.retain(|found| {
            let is_ours =
                |process| process == supervisor || parent(tree, process) == Some(supervisor);
            !found.process.is_some_and(is_ours)
        });
    }
    Ok((uses, family))
}

/// The parent of a process; `None` for one that has ended.
fn parent(tree: &Tree, process: u32) -> Option<u32> {
    let status = tree.read(&format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    line.trim().parse().ok()
}

/// The marks inside the partitions of a disk: a member of an array may be a partition.
fn in_partitions(tree: &Tree, device: &str, name: &str) -> Result<Vec<Signature>, Refusal> {
    let mut found = Vec::new();
    for partition in family::partitions(tree, name) {
        let opened = device::open_to_look_by_name(tree, &partition);
        let opened = opened.map_err(|error| Refusal::Uses {
            device: device.to_owned(),
            error,
        })?;
        let Some(mut file) = opened else { continue };
        let look = |error| Refusal::Look {
            device: format!("/dev/{partition}"),
            error,
        };
        let size = device::size(&mut file).map_err(look)?;
        found.extend(signature::probe(&mut file, size).map_err(look)?);
    }
    Ok(found)
}

/// What these marks are, each kind once.
fn kinds(marks: &[Signature], class: Option<Class>) -> String {
    let of_class = marks
        .iter()
        .filter(|mark| class.is_none_or(|class| mark.class == class));
    let mut kinds: Vec<&str> = Vec::new();
    for mark in of_class {
        if !kinds.contains(&mark.kind) {
            kinds.push(mark.kind);
        }
    }
    kinds.join(", ")
}

/// Whether the user typed enough for what the device holds.
fn confirmed(
    path: &Path,
    marks: &[Signature],
    serials: &[String],
    typed: &[String],
) -> Result<(), Refusal> {
    let device = path.display().to_string();
    if marks.iter().any(|mark| mark.class == Class::Member) {
        return Err(Refusal::Member {
            device,
            kinds: kinds(marks, Some(Class::Member)),
        });
    }
    let identities: Vec<&str> = serials
        .iter()
        .chain(marks.iter().filter_map(|mark| mark.uuid.as_ref()))
        .map(String::as_str)
        .collect();
    let meant: Vec<Meant<'_>> = typed.iter().filter_map(|word| meant(word, path)).collect();
    let mut confirmed = marks.is_empty() && !meant.is_empty();
    for word in meant {
        match word {
            Meant::Identity(own) if identities.contains(&own) => confirmed = true,
            // It was meant for another device, whatever this one holds.
            Meant::Identity(other) => {
                return Err(Refusal::OtherIdentity {
                    device,
                    typed: other.to_owned(),
                });
            }
            Meant::Name => {}
        }
    }
    if confirmed {
        return Ok(());
    }
    if marks.is_empty() {
        return Err(Refusal::NotConfirmed {
            why: "it is blank, and would be written over".to_owned(),
            word: device.clone(),
            device,
        });
    }
    match identities.first() {
        Some(identity) => Err(Refusal::NotConfirmed {
            why: format!("it holds {}", kinds(marks, None)),
            word: format!("{device}={identity}"),
            device,
        }),
        None => Err(Refusal::NoIdentity {
            device,
            kinds: kinds(marks, None),
        }),
    }
}

/// What a typed word says of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meant<'a> {
    /// Its name.
    Name,
    /// Its name and this identity.
    Identity(&'a str),
}

/// What a typed word says of the device at `path`; `None` where it names another.
fn meant<'a>(word: &'a str, path: &Path) -> Option<Meant<'a>> {
    let names = |text: &str| std::path::absolute(text).is_ok_and(|named| named == path);
    if names(word) {
        return Some(Meant::Name);
    }
    word.match_indices('=')
        .find(|(at, _)| names(&word[..*at]))
        .map(|(at, _)| Meant::Identity(&word[at + 1..]))
}

/// Whether a typed word names the device at `path`.
pub(crate) fn names(word: &str, path: &Path) -> bool {
    meant(word, path).is_some()
}

impl Permit {
    /// The size of the device in bytes.
    pub const fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn number(&self) -> Number {
        Number {
            major: self.major,
            minor: self.minor,
        }
    }

    /// Why programs may use the device that were not seen; `None` where every process was looked at.
    pub fn unseen(&self) -> Option<&str> {
        self.unseen.as_deref()
    }

    /// Claims the device and all that is the same storage for this process: the kernel keeps mounts, swap areas, arrays
    /// and other claims away from it until the claim is dropped. Then everything is looked at once more, for who came
    /// before the claim.
    pub fn claim(&self, tree: &Tree) -> Result<Claim, Refusal> {
        let device = || self.path.display().to_string();
        let in_use = |uses: String| Refusal::InUse {
            device: device(),
            uses,
        };
        let unknown = |error| Refusal::Uses {
            device: device(),
            error,
        };
        let own = device::open_to_erase(&self.path).map_err(|error| {
            if error.raw_os_error() == Some(device::BUSY) {
                return in_use("the kernel says that it is in use".to_owned());
            }
            Refusal::Look {
                device: device(),
                error,
            }
        })?;
        self.same(&own)?;
        let mut devices = vec![own];
        let name = device::name(tree, self.number()).map_err(unknown)?;
        for member in Family::of(tree, &name).map_err(unknown)?.to_claim() {
            let claimed = device::claim(tree, member).map_err(|error| {
                if error.number != Some(device::BUSY) {
                    return unknown(error);
                }
                let name = &member.name;
                in_use(format!(
                    "the kernel says that `{name}`, which is the same storage, is in use"
                ))
            })?;
            devices.extend(claimed);
        }
        let ours = Some(uses::process_in_proc(tree));
        let (_, family) = refuse_used(tree, &self.path, &name, ours)?;
        self.refuse_newcomers(&family.names())?;
        Ok(Claim { _devices: devices })
    }

    /// Refuses devices that came to the storage since it was looked at: nobody has claimed them.
    fn refuse_newcomers(&self, now: &[String]) -> Result<(), Refusal> {
        let new: Vec<&str> = now
            .iter()
            .filter(|name| !self.family.contains(name))
            .map(String::as_str)
            .collect();
        if new.is_empty() {
            return Ok(());
        }
        Err(Refusal::InUse {
            device: self.path.display().to_string(),
            uses: format!(
                "`{}` was made of the same storage since the run began",
                new.join("`, `")
            ),
        })
    }

    /// Opens the device for reading and writing in a worker of `supervisor`, which holds the claim. Everything is
    /// looked at once more, the claim included.
    pub fn open(&self, tree: &Tree, access: Access, supervisor: u32) -> Result<File, Refusal> {
        let now = permit(tree, &self.path, &self.typed, Some(supervisor))?;
        let device = || self.path.display().to_string();
        if (now.number(), now.size_bytes) != (self.number(), self.size_bytes) {
            return Err(Refusal::Changed(device()));
        }
        self.refuse_newcomers(&now.family)?;
        match device::open_to_erase(&self.path) {
            Err(error) if error.raw_os_error() == Some(device::BUSY) => {}
            Err(error) => {
                return Err(Refusal::Look {
                    device: device(),
                    error,
                });
            }
            // Whoever held it is gone, and somebody else may come at any time.
            Ok(_) => return Err(Refusal::Unclaimed(device())),
        }
        let look = |error| Refusal::Look {
            device: device(),
            error,
        };
        let found = sys::io::file::find(&self.path, true).map_err(look)?;
        self.same(&found)?;
        sys::io::file::reopen(&found, access).map_err(look)
    }

    /// Whether an opened device is the one that was looked at.
    fn same(&self, file: &File) -> Result<(), Refusal> {
        let device = || self.path.display().to_string();
        let look = |error| Refusal::Look {
            device: device(),
            error,
        };
        if device::number_of(file).map_err(look)? == Some(self.number()) {
            Ok(())
        } else {
            Err(Refusal::Changed(device()))
        }
    }
}

#[cfg(test)]
mod tests;
