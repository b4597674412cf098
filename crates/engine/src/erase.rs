//! Whether a raw device may be erased, and the handle to it if so.
//!
//! Everything is refused that is not plainly allowed: a device is written to only where nothing of its family is in
//! use, where it is no part of something larger, and where the user has typed its name; where it holds anything at all,
//! its serial number or the identity of what it holds instead, which nobody types by accident. The kernel's own claim
//! (`O_EXCL`) is the last guard, against whoever comes between the look and the opening. Reading a device needs none of
//! this.

use model::units::Nanos;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use sys::block::device::{self, Number};
use sys::block::signature::{self, Class, Signature};
use sys::block::uses::{self, Use};
use sys::io::file::Access;
use sys::tree::Tree;

/// A device that may be erased, as it was when that was decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permit {
    path: PathBuf,
    /// What the user typed, word for word.
    typed: Vec<String>,
    major: u32,
    minor: u32,
    size_bytes: u64,
}

/// The kernel's promise that nobody else claims a device: no mount, no swap area, no array. Held as long as it lives.
#[derive(Debug)]
pub struct Claim {
    /// Held, not read.
    _device: File,
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
    #[error("find out who uses `{device}`: {error}")]
    Uses {
        /// As the user named it.
        device: String,
        /// What could not be read.
        error: sys::tree::TreeError,
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
        "erase `{device}`: it holds {kinds}, and has neither serial number nor UUID to confirm with\nhint: `wipefs --all {device}` makes it blank, if everything on it may be lost"
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
    let mut uses = uses_by_others(tree, &name, ours).map_err(unknown)?;
    if uses.iter().all(|found| found.process.is_some()) && !uses.is_empty() {
        sys::clock::sleep(SECOND_LOOK.0);
        uses = uses_by_others(tree, &name, ours).map_err(unknown)?;
    }
    if !uses.is_empty() {
        let words: Vec<String> = uses.iter().map(ToString::to_string).collect();
        return Err(Refusal::InUse {
            device,
            uses: words.join("; "),
        });
    }
    let mut file = device::open_to_look(path).map_err(look)?;
    let size_bytes = device::size(&mut file).map_err(look)?;
    if size_bytes == 0 {
        return Err(Refusal::Empty(device));
    }
    let mut marks = signature::probe(&mut file, size_bytes).map_err(look)?;
    marks.extend(in_partitions(tree, &name).map_err(look)?);
    let serials = device::serials(tree, &name);
    confirmed(path, &marks, &serials, typed)?;
    Ok(Permit {
        path: path.to_owned(),
        typed: typed.to_vec(),
        major: number.major,
        minor: number.minor,
        size_bytes,
    })
}

fn uses_by_others(
    tree: &Tree,
    name: &str,
    ours: Option<u32>,
) -> Result<Vec<Use>, sys::tree::TreeError> {
    let mut found = uses::uses(tree, name)?;
    if let Some(supervisor) = ours {
        found.retain(|found| {
            let is_ours =
                |process| process == supervisor || parent(tree, process) == Some(supervisor);
            !found.process.is_some_and(is_ours)
        });
    }
    Ok(found)
}

/// The parent of a process; `None` for one that has ended.
fn parent(tree: &Tree, process: u32) -> Option<u32> {
    let status = tree.read(&format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    line.trim().parse().ok()
}

/// The marks inside the partitions of a disk: a member of an array may be a partition.
fn in_partitions(tree: &Tree, name: &str) -> io::Result<Vec<Signature>> {
    let mut found = Vec::new();
    for partition in uses::partitions(tree, name) {
        let path = PathBuf::from("/dev").join(&partition);
        let mut file = device::open_to_look(&path)?;
        let size = device::size(&mut file)?;
        found.extend(signature::probe(&mut file, size)?);
    }
    Ok(found)
}

/// Whether the user typed enough for what the device holds.
fn confirmed(
    path: &Path,
    marks: &[Signature],
    serials: &[String],
    typed: &[String],
) -> Result<(), Refusal> {
    let device = path.display().to_string();
    let kinds = |class: Option<Class>| {
        let mut kinds: Vec<&str> = marks
            .iter()
            .filter(|mark| class.is_none_or(|class| mark.class == class))
            .map(|mark| mark.kind)
            .collect();
        kinds.dedup();
        kinds.join(", ")
    };
    if marks.iter().any(|mark| mark.class == Class::Member) {
        return Err(Refusal::Member {
            device,
            kinds: kinds(Some(Class::Member)),
        });
    }
    let identities: Vec<&str> = serials
        .iter()
        .chain(marks.iter().filter_map(|mark| mark.uuid.as_ref()))
        .map(String::as_str)
        .collect();
    let meant: Vec<Option<&str>> = typed.iter().filter_map(|word| meant(word, path)).collect();
    // An identity that is not this device's was meant for another one, whatever this one holds.
    if let Some(other) = meant.iter().flatten().find(|id| !identities.contains(id)) {
        return Err(Refusal::OtherIdentity {
            device,
            typed: (*other).to_owned(),
        });
    }
    if marks.is_empty() && !meant.is_empty() || meant.iter().any(Option::is_some) {
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
            why: format!("it holds {}", kinds(None)),
            word: format!("{device}={identity}"),
            device,
        }),
        None => Err(Refusal::NoIdentity {
            device,
            kinds: kinds(None),
        }),
    }
}

/// What a typed word says of the device at `path`: `None` where it names another, else the identity behind `=`, if any.
fn meant<'a>(word: &'a str, path: &Path) -> Option<Option<&'a str>> {
    let names = |text: &str| std::path::absolute(text).is_ok_and(|named| named == path);
    if names(word) {
        return Some(None);
    }
    word.match_indices('=')
        .find(|(at, _)| names(&word[..*at]))
        .map(|(at, _)| Some(&word[at + 1..]))
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

    /// Claims the device for this process: the kernel keeps mounts, swap areas, arrays and other claims away from it
    /// until the claim is dropped.
    pub fn claim(&self) -> Result<Claim, Refusal> {
        let device = || self.path.display().to_string();
        let file = device::open_to_erase(&self.path).map_err(|error| {
            if error.raw_os_error() == Some(sys::block::device::BUSY) {
                return Refusal::InUse {
                    device: device(),
                    uses: "the kernel says that it is in use".to_owned(),
                };
            }
            Refusal::Look {
                device: device(),
                error,
            }
        })?;
        self.same(&file)?;
        Ok(Claim { _device: file })
    }

    /// Opens the device for reading and writing in a worker of `supervisor`, which holds the claim. Everything is
    /// looked at once more, the claim included.
    pub fn open(&self, tree: &Tree, access: Access, supervisor: u32) -> Result<File, Refusal> {
        let now = permit(tree, &self.path, &self.typed, Some(supervisor))?;
        let device = || self.path.display().to_string();
        if now != *self {
            return Err(Refusal::Changed(device()));
        }
        match device::open_to_erase(&self.path) {
            Err(error) if error.raw_os_error() == Some(sys::block::device::BUSY) => {}
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
mod tests {
    use super::*;

    fn mark(class: Class, uuid: Option<&str>) -> Signature {
        Signature {
            kind: "something",
            class,
            uuid: uuid.map(str::to_owned),
        }
    }

    /// What is said to `typed` about a device with these marks and serial numbers; nothing where it may be erased.
    fn check(marks: &[Signature], serials: &[&str], typed: &[&str], expect: &str) {
        let own = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
        let said = confirmed(Path::new("/dev/sdx"), marks, &own(serials), &own(typed));
        let said = match said {
            Ok(()) => String::new(),
            Err(Refusal::NotConfirmed { why, word, .. }) => format!("{why}: {word}"),
            Err(other) => other.to_string(),
        };
        assert!(
            said.contains(expect) && said.is_empty() == expect.is_empty(),
            "{said:?} instead of {expect:?}"
        );
    }

    #[test]
    fn a_blank_device_needs_its_name_typed() {
        check(&[], &["S1"], &["/dev/sdx"], "");
        check(&[], &["S1"], &["/dev/sdx=S1"], "");
        check(&[], &["S1"], &["/dev//sdx"], "");
        check(
            &[],
            &["S1"],
            &[],
            "blank, and would be written over: /dev/sdx",
        );
        check(
            &[],
            &["S1"],
            &["/dev/sdy", "S1", "sdx"],
            "would be written over",
        );
        check(
            &[],
            &[],
            &["/dev/sdx=S1"],
            "`S1` is neither its serial number",
        );
    }

    #[test]
    fn a_device_with_content_needs_its_identity_typed() {
        for class in [Class::Content, Class::Table, Class::Unknown] {
            let marks = [mark(class, Some("u-u-i-d"))];
            check(&marks, &["S1"], &["/dev/sdx=S1"], "");
            check(&marks, &["S1"], &["/dev/sdx", "/dev/sdx=u-u-i-d"], "");
            check(
                &marks,
                &["S1"],
                &["/dev/sdx"],
                "it holds something: /dev/sdx=S1",
            );
            check(
                &marks,
                &["S1"],
                &["/dev/sdy=S1", "S1"],
                "it holds something",
            );
            check(
                &marks,
                &["S1"],
                &["/dev/sdx=S1", "/dev/sdx=s1"],
                "`s1` is neither",
            );
            check(&marks, &["S1"], &["/dev/sdx="], "`` is neither");
            check(&marks, &[], &["/dev/sdx"], "/dev/sdx=u-u-i-d");
            let unnamed = [mark(class, None)];
            check(
                &unnamed,
                &[],
                &["/dev/sdx"],
                "neither serial number nor UUID",
            );
            check(&unnamed, &[], &["/dev/sdx="], "`` is neither");
        }
    }

    #[test]
    fn nothing_erases_a_part_of_something_larger() {
        let marks = [mark(Class::Content, None), mark(Class::Member, Some("u"))];
        let typed = ["/dev/sdx", "/dev/sdx=S1", "/dev/sdx=u"];
        check(&marks, &["S1"], &typed, "part of something larger");
    }

    #[test]
    fn a_name_may_hold_the_sign_that_separates_the_identity() {
        for (word, path, expect) in [
            ("/dev/a", "/dev/a", Some(None)),
            ("/dev/a=b", "/dev/a", Some(Some("b"))),
            ("/dev/a=b", "/dev/a=b", Some(None)),
            ("/dev/a=b=c", "/dev/a=b", Some(Some("c"))),
            ("/dev/a=b=c", "/dev/a", Some(Some("b=c"))),
            ("/dev/b", "/dev/a", None),
            ("", "/dev/a", None),
        ] {
            assert_eq!(meant(word, Path::new(path)), expect, "{word} {path}");
        }
    }

    #[test]
    fn only_block_devices_can_be_erased() {
        for path in ["/dev/null", "/tmp", "/proc/self/exe"] {
            let refused = permit(&Tree::real(), Path::new(path), &[path.to_owned()], None);
            assert!(matches!(refused, Err(Refusal::NotADevice(_))), "{path}");
        }
        let gone = permit(&Tree::real(), Path::new("/dev/no-such"), &[], None);
        assert!(matches!(gone, Err(Refusal::Look { .. })));
    }

    mod root {
        use super::*;
        use std::process::Command;

        const WRITE: Access = Access {
            write: true,
            direct: false,
            sync: sys::io::file::SyncMode::None,
        };

        /// A loop device on a file of 32 MiB; detached at the end.
        struct Loop {
            device: String,
            _file: tempfile::NamedTempFile,
        }

        #[expect(
            clippy::disallowed_methods,
            reason = "a test sets a device up with the system's own tools"
        )]
        fn tool(program: &str, arguments: &[&str]) -> String {
            let output = Command::new(program).args(arguments).output().unwrap();
            assert!(
                output.status.success(),
                "{program} {arguments:?}: {output:?}"
            );
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        }

        impl Loop {
            fn new() -> Self {
                let file = tempfile::NamedTempFile::new().unwrap();
                file.as_file().set_len(32 << 20).unwrap();
                let device = tool(
                    "losetup",
                    &["--find", "--show", file.path().to_str().unwrap()],
                );
                Self {
                    device,
                    _file: file,
                }
            }

            fn permit(&self, typed: &[&str]) -> Result<Permit, Refusal> {
                let typed: Vec<String> = typed.iter().map(|&text| text.to_owned()).collect();
                permit(&Tree::real(), Path::new(&self.device), &typed, None)
            }

            /// The device's name and an identity, as they are typed.
            fn with(&self, identity: &str) -> String {
                format!("{}={identity}", self.device)
            }

            fn refused(&self, typed: &[&str]) -> String {
                self.permit(typed).unwrap_err().to_string()
            }
        }

        impl Drop for Loop {
            fn drop(&mut self) {
                tool("losetup", &["--detach", &self.device]);
            }
        }

        #[test]
        #[ignore = "root: makes a loop device"]
        fn a_blank_device_is_claimed_once_and_opened_under_the_claim_only() {
            let disk = Loop::new();
            assert!(disk.refused(&[]).contains("it is blank"));
            let permit = disk.permit(&[&disk.device]).unwrap();
            assert_eq!(permit.size_bytes(), 32 << 20);
            let me = std::process::id();
            let open = || permit.open(&Tree::real(), WRITE, me);
            assert!(matches!(open(), Err(Refusal::Unclaimed(_))));

            let claim = permit.claim().unwrap();
            // Another claim, even of this process: the kernel keeps it out.
            assert!(permit.claim().unwrap_err().to_string().contains("in use"));
            open().unwrap();
            let seen = disk.refused(&[&disk.device]);
            assert!(seen.contains("open for writing"), "{seen}");
            drop(claim);
            permit.claim().unwrap();
        }

        #[test]
        #[ignore = "root: makes loop devices"]
        fn a_device_that_changes_between_permit_and_opening_is_refused() {
            let (disk, other) = (Loop::new(), Loop::new());
            let dir = tempfile::tempdir().unwrap();
            let link = dir.path().join("disk");
            let point_to = |device: &str| {
                let _ = std::fs::remove_file(&link);
                std::os::unix::fs::symlink(device, &link).unwrap();
            };
            point_to(&disk.device);
            let typed = [link.display().to_string()];
            let me = std::process::id();
            let found = permit(&Tree::real(), &link, &typed, None).unwrap();
            let claim = found.claim().unwrap();
            found.open(&Tree::real(), WRITE, me).unwrap();

            // The name leads elsewhere now.
            point_to(&other.device);
            let opened = found.open(&Tree::real(), WRITE, me);
            assert!(matches!(opened, Err(Refusal::Changed(_))), "{opened:?}");
            assert!(matches!(found.claim(), Err(Refusal::Changed(_))));
            // Somebody makes a file system on it meanwhile.
            point_to(&disk.device);
            // By its own file, because mke2fs respects the claim.
            let made = Loop::new();
            tool("mke2fs", &["-q", "-F", &made.device]);
            let head = std::fs::read(&made.device).unwrap();
            std::fs::write(&disk.device, &head[..64 << 10]).unwrap();
            let opened = found.open(&Tree::real(), WRITE, me);
            assert!(
                matches!(opened, Err(Refusal::NotConfirmed { .. })),
                "{opened:?}"
            );
            drop(claim);
        }

        #[test]
        #[ignore = "root: makes a loop device and mounts it"]
        fn what_holds_a_file_system_is_safe_and_what_is_mounted_safer() {
            let disk = Loop::new();
            let uuid = "5b6c7d8e-0102-4304-8506-0708090a0b0c";
            tool("mke2fs", &["-q", "-F", "-U", uuid, &disk.device]);
            assert!(disk.refused(&[&disk.device]).contains("it holds ext2/3/4"));
            disk.permit(&[&disk.with(uuid)]).unwrap();

            let point = tempfile::tempdir().unwrap();
            let point = point.path().to_str().unwrap();
            tool("mount", &[&disk.device, point]);
            let said = disk.refused(&[&disk.with(uuid)]);
            tool("umount", &[point]);
            assert!(said.contains(&format!("mounted at `{point}`")), "{said}");
        }

        #[test]
        #[ignore = "root: makes a swap area on a loop device"]
        fn a_swap_area_in_use_and_a_volume_of_others_are_safe() {
            let disk = Loop::new();
            let uuid = "5b6c7d8e-0102-4304-8506-0708090a0b0d";
            tool("mkswap", &["-U", uuid, &disk.device]);
            tool("swapon", &[&disk.device]);
            let said = disk.refused(&[&disk.with(uuid)]);
            tool("swapoff", &[&disk.device]);
            assert!(said.contains("used as swap"), "{said}");
            disk.permit(&[&disk.with(uuid)]).unwrap();

            let lvm = Loop::new();
            let mut label = vec![0_u8; 512];
            label.extend_from_slice(b"LABELONE");
            std::fs::write(&lvm.device, label).unwrap();
            let said = lvm.refused(&[&lvm.device]);
            assert!(said.contains("part of something larger: LVM"), "{said}");
        }

        #[test]
        #[ignore = "root: looks at the disk of this machine"]
        fn the_disk_this_machine_runs_from_is_refused() {
            let mounts = sys::mounts::read(&Tree::real()).unwrap();
            let root = sys::mounts::holding(&mounts, "/").unwrap();
            let Ok(target) = Tree::real().link(&format!("/sys/dev/block/{}", root.device)) else {
                panic!(
                    "the root file system `{}` lies on no block device",
                    root.kind
                )
            };
            let device = PathBuf::from("/dev").join(target.rsplit('/').next().unwrap());
            let typed = [device.display().to_string()];
            let said = permit(&Tree::real(), &device, &typed, None).unwrap_err();
            assert!(matches!(said, Refusal::InUse { .. }), "{said}");
        }
    }
}
