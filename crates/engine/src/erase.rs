//! Whether a raw device may be erased, and the handle to it if so.
//!
//! Everything is refused that is not plainly allowed: a device is written to only where nothing of its family is in
//! use, where it is no part of something larger, and where the user has typed its name; where it holds anything at all,
//! its serial number or the identity of what it holds instead, which nobody types by accident. The kernel's own claim
//! (`O_EXCL`) is the last guard, against whoever comes between the look and the opening. Reading a device needs none of
//! this.

use model::units::Nanos;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use sys::block::device::{self, Number};
use sys::block::signature::{self, Class, Signature};
use sys::block::uses;
use sys::tree::Tree;

/// A device that may be erased.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permit {
    path: PathBuf,
    number: Number,
    size_bytes: u64,
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
    #[error("erase `{0}`: it is no block device")]
    NotADevice(String),
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
    #[error(
        "erase `{device}`: {why}\nhint: if everything on it may be lost, type `--yes-erase {word}`"
    )]
    NotConfirmed {
        /// As the user named it.
        device: String,
        /// What is on it, or that the consent is missing.
        why: String,
        /// What to type.
        word: String,
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
    #[error("erase `{0}`: it is not the device any more that was looked at")]
    Changed(String),
}

/// A device that some process has open is looked at again after this time: probes of udev and losetup are over by then.
const SECOND_LOOK: Nanos = Nanos::from_millis(300);

/// Looks at the device that `path` leads to and decides. `typed` is what the user confirmed with, word for word.
pub fn permit(tree: &Tree, path: &Path, typed: &[String]) -> Result<Permit, Refusal> {
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
    let mut uses = uses::uses(tree, &name).map_err(unknown)?;
    if uses.iter().all(|found| found.may_pass) && !uses.is_empty() {
        sys::clock::sleep(SECOND_LOOK.0);
        uses = uses::uses(tree, &name).map_err(unknown)?;
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
    let mut marks = signature::probe(&mut file, size_bytes).map_err(look)?;
    marks.extend(in_partitions(tree, &name).map_err(look)?);
    confirmed(&device, &marks, &device::serials(tree, &name), typed)?;
    Ok(Permit {
        path: path.to_owned(),
        number,
        size_bytes,
    })
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
    device: &str,
    marks: &[Signature],
    serials: &[String],
    typed: &[String],
) -> Result<(), Refusal> {
    let device = device.to_owned();
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
    if marks.is_empty() {
        if typed.contains(&device) {
            return Ok(());
        }
        return Err(Refusal::NotConfirmed {
            why: "it is blank, and would be written over".to_owned(),
            word: device.clone(),
            device,
        });
    }
    let identities: Vec<&String> = serials
        .iter()
        .chain(marks.iter().filter_map(|mark| mark.uuid.as_ref()))
        .collect();
    if identities.iter().any(|identity| typed.contains(identity)) {
        return Ok(());
    }
    match identities.first() {
        Some(word) => Err(Refusal::NotConfirmed {
            device,
            why: format!("it holds {}", kinds(None)),
            word: (*word).clone(),
        }),
        None => Err(Refusal::NoIdentity {
            device,
            kinds: kinds(None),
        }),
    }
}

impl Permit {
    /// The size of the device in bytes.
    pub const fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Opens the device for reading and writing and claims it for this handle. `flags` are added, such as `O_DIRECT`.
    pub fn open(&self, flags: i32) -> Result<File, Refusal> {
        let device = || self.path.display().to_string();
        let look = |error| Refusal::Look {
            device: device(),
            error,
        };
        let file = device::open_to_erase(&self.path, flags).map_err(|error| {
            if error.raw_os_error() == Some(sys::block::device::BUSY) {
                return Refusal::InUse {
                    device: device(),
                    uses: "the kernel says that it is in use".to_owned(),
                };
            }
            look(error)
        })?;
        if device::number_of(&file).map_err(look)? != Some(self.number) {
            return Err(Refusal::Changed(device()));
        }
        Ok(file)
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
        let said = confirmed("/dev/sdx", marks, &own(serials), &own(typed));
        let said = said
            .err()
            .map(|refusal| refusal.to_string())
            .unwrap_or_default();
        assert!(
            said.contains(expect) && said.is_empty() == expect.is_empty(),
            "{said:?} instead of {expect:?}"
        );
    }

    #[test]
    fn a_blank_device_needs_its_name_typed() {
        check(&[], &["S1"], &["/dev/sdx"], "");
        check(&[], &["S1"], &[], "type `--yes-erase /dev/sdx`");
        check(&[], &["S1"], &["/dev/sdy"], "type `--yes-erase /dev/sdx`");
    }

    #[test]
    fn a_device_with_content_needs_its_identity_typed() {
        for class in [Class::Content, Class::Table, Class::Unknown] {
            let marks = [mark(class, Some("u-u-i-d"))];
            check(&marks, &["S1"], &["S1"], "");
            check(&marks, &["S1"], &["u-u-i-d"], "");
            check(&marks, &["S1"], &["/dev/sdx"], "it holds something");
            check(&marks, &["S1"], &["/dev/sdx", "s1"], "`--yes-erase S1`");
            check(&marks, &[], &["/dev/sdx"], "`--yes-erase u-u-i-d`");
            check(
                &[mark(class, None)],
                &[],
                &["/dev/sdx", ""],
                "neither serial number nor UUID",
            );
        }
    }

    #[test]
    fn nothing_erases_a_part_of_something_larger() {
        let marks = [mark(Class::Content, None), mark(Class::Member, Some("u"))];
        check(
            &marks,
            &["S1"],
            &["/dev/sdx", "S1", "u"],
            "part of something larger",
        );
    }

    #[test]
    fn only_block_devices_can_be_erased() {
        for path in ["/dev/null", "/tmp", "/proc/self/exe"] {
            let refused = permit(&Tree::real(), Path::new(path), &[path.to_owned()]);
            assert!(matches!(refused, Err(Refusal::NotADevice(_))), "{path}");
        }
        let gone = permit(&Tree::real(), Path::new("/dev/no-such"), &[]);
        assert!(matches!(gone, Err(Refusal::Look { .. })));
    }

    mod root {
        use super::*;
        use std::process::Command;

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
                permit(&Tree::real(), Path::new(&self.device), &typed)
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
        fn a_blank_device_opens_once_and_for_one_only() {
            let disk = Loop::new();
            let said = disk.refused(&[]);
            assert!(said.contains("--yes-erase"), "{said}");
            let permit = disk.permit(&[&disk.device]).unwrap();
            assert_eq!(permit.size_bytes(), 32 << 20);
            let claim = permit.open(0).unwrap();
            // Another claim of this process: the kernel keeps the second one out.
            assert!(permit.open(0).unwrap_err().to_string().contains("in use"));
            let seen = disk.refused(&[&disk.device]);
            assert!(seen.contains("open for writing"), "{seen}");
            drop(claim);
            permit.open(0).unwrap();
        }

        #[test]
        #[ignore = "root: makes a loop device and mounts it"]
        fn what_holds_a_file_system_is_safe_and_what_is_mounted_safer() {
            let disk = Loop::new();
            let uuid = "5b6c7d8e-0102-4304-8506-0708090a0b0c";
            tool("mke2fs", &["-q", "-F", "-U", uuid, &disk.device]);
            assert!(disk.refused(&[&disk.device]).contains("it holds ext2/3/4"));
            disk.permit(&[uuid]).unwrap();

            let point = tempfile::tempdir().unwrap();
            let point = point.path().to_str().unwrap();
            tool("mount", &[&disk.device, point]);
            let said = disk.refused(&[&disk.device, uuid]);
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
            let said = disk.refused(&[&disk.device, uuid]);
            tool("swapoff", &[&disk.device]);
            assert!(said.contains("used as swap"), "{said}");
            disk.permit(&[uuid]).unwrap();

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
            let said = permit(&Tree::real(), &device, &typed).unwrap_err();
            assert!(matches!(said, Refusal::InUse { .. }), "{said}");
        }
    }
}
