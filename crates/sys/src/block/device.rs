//! Which device a path means, how large it is, and by which names its owner knows it.
//!
//! A path is followed to the device number and from there to the kernel's name, so that `/dev/disk/by-id/...`, a
//! link of the user's own and a node made by hand all mean the same device.

use super::family::Member;
use crate::io::file;
use crate::tree::{Tree, TreeError};
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// The directory of all block devices, partitions included.
pub(super) const CLASS: &str = "/sys/class/block";

/// A device number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number {
    /// Which driver.
    pub major: u32,
    /// Which of its devices.
    pub minor: u32,
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

/// The error number with which the kernel refuses a claim: somebody else has the device.
pub const BUSY: i32 = libc::EBUSY;

/// The number of the block device that `path` leads to; `None` for anything but a block device.
pub fn number(path: &Path) -> io::Result<Option<Number>> {
    Ok(of_metadata(&std::fs::metadata(path)?))
}

/// The number of an opened block device; `None` for anything but a block device.
pub fn number_of(file: &File) -> io::Result<Option<Number>> {
    Ok(of_metadata(&file.metadata()?))
}

fn of_metadata(found: &std::fs::Metadata) -> Option<Number> {
    found.file_type().is_block_device().then(|| Number {
        major: libc::major(found.rdev()),
        minor: libc::minor(found.rdev()),
    })
}

/// The kernel's name of a device number, such as `sdb` or `nvme0n1p2`.
pub fn name(tree: &Tree, number: Number) -> Result<String, TreeError> {
    let target = tree.link(&format!("/sys/dev/block/{number}"))?;
    Ok(target.rsplit('/').next().unwrap_or(&target).to_owned())
}

/// The serial numbers and world-wide names of a device, as the kernel, the driver and udev tell them; those of the
/// whole disk for a partition. May be empty: virtual disks often have none.
pub fn serials(tree: &Tree, name: &str) -> Vec<String> {
    let disk = super::family::disk_of(tree, name).unwrap_or_else(|| name.to_owned());
    let files = ["serial", "device/serial", "wwid", "device/wwid"];
    let mut found: Vec<String> = files
        .iter()
        .filter_map(|file| tree.read_trimmed(&format!("{CLASS}/{disk}/{file}")).ok())
        .collect();
    if let Ok(number) = tree.read_trimmed(&format!("{CLASS}/{disk}/dev"))
        && let Ok(udev) = tree.read(&format!("/run/udev/data/b{number}"))
    {
        let keys = ["E:ID_SERIAL_SHORT=", "E:ID_SERIAL=", "E:ID_WWN="];
        let values = udev
            .lines()
            .filter_map(|line| keys.iter().find_map(|key| line.strip_prefix(key)));
        found.extend(values.map(str::to_owned));
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Whether the kernel refuses to write to a device.
pub fn is_read_only(tree: &Tree, name: &str) -> bool {
    tree.read_trimmed(&format!("{CLASS}/{name}/ro"))
        .is_ok_and(|ro| ro != "0")
}

/// The smallest block that a device reads and writes, in bytes.
pub fn logical_block(tree: &Tree, number: Number) -> Result<u64, TreeError> {
    let name = name(tree, number)?;
    // A partition has the queue of its disk.
    let disk = super::family::disk_of(tree, &name).unwrap_or(name);
    tree.read_number(&format!("{CLASS}/{disk}/queue/logical_block_size"))
}

/// Where udev and the kernel put the node of a device; what they write as `!` under /sys is a `/` there.
pub(super) fn node(name: &str) -> String {
    format!("/dev/{}", name.replace('!', "/"))
}

/// The number of a device by name; `None` for one that has none, so that nobody can open it.
pub(super) fn own_number(tree: &Tree, name: &str) -> Result<Option<Number>, TreeError> {
    let path = format!("{CLASS}/{name}/dev");
    let text = match tree.read_trimmed(&path) {
        Err(error) if error.absent => return Ok(None),
        other => other?,
    };
    let number = text.split_once(':').and_then(|(major, minor)| {
        Some(Number {
            major: major.parse().ok()?,
            minor: minor.parse().ok()?,
        })
    });
    let number = number.ok_or_else(|| TreeError::content(&path, "it is no device number"))?;
    Ok(Some(number))
}

/// Opens the node of a device for reading, where it is the node of this very number. With `O_EXCL` in `flags` it is
/// claimed.
pub(super) fn open_node(
    tree: &Tree,
    name: &str,
    number: Number,
    flags: i32,
) -> Result<File, TreeError> {
    let node = node(name);
    let failed = |error: &io::Error| TreeError::io("open", &node, error);
    let found = file::find(&tree.place(&node), true).map_err(|error| failed(&error))?;
    if number_of(&found).map_err(|error| failed(&error))? != Some(number) {
        let why = format!("it is not the device {number}");
        return Err(TreeError::content(&node, why));
    }
    OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_CLOEXEC | libc::O_NONBLOCK | flags)
        .open(file::handle_path(&found))
        .map_err(|error| failed(&error))
}

/// Claims a device that is the same storage as one that will be erased; it is not opened for writing.
pub fn claim(tree: &Tree, member: &Member) -> Result<Option<File>, TreeError> {
    let Some(number) = member.number else {
        return Ok(None);
    };
    open_node(tree, &member.name, number, libc::O_EXCL).map(Some)
}

/// Opens a device by its name for reading only, without claiming it; `None` for one that nobody can open.
pub fn open_to_look_by_name(tree: &Tree, name: &str) -> Result<Option<File>, TreeError> {
    let number = own_number(tree, name)?;
    number
        .map(|number| open_node(tree, name, number, 0))
        .transpose()
}

/// Opens a device for reading only, without claiming it.
pub fn open_to_look(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_CLOEXEC)
        .open(path)
}

/// Opens a device for reading and writing and claims it: the kernel refuses with EBUSY where a mount, a swap area, an
/// array or another claim holds it (open(2), `O_EXCL` without `O_CREAT`).
pub fn open_to_erase(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_EXCL | libc::O_CLOEXEC)
        .open(path)
}

/// The size of an opened device in bytes.
pub fn size(file: &mut File) -> io::Result<u64> {
    let size = file.seek(SeekFrom::End(0))?;
    file.rewind()?;
    Ok(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_block_devices_have_a_number() {
        assert_eq!(number(Path::new("/dev/null")).unwrap(), None);
        assert_eq!(number(Path::new("/proc/self/exe")).unwrap(), None);
        assert!(number(Path::new("/dev/no such device")).is_err());
    }

    #[test]
    fn a_partition_is_known_by_the_serial_of_its_disk() {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("sys/class/block/sda/dev", "8:0\n");
        write("sys/class/block/sda/sda1/partition", "1\n");
        write("sys/class/block/sda/device/wwid", "naa.5000c500a1b2c3d4\n");
        write(
            "run/udev/data/b8:0",
            "S:disk/x\nE:ID_SERIAL_SHORT=ZA1\nE:ID_BUS=ata\n",
        );
        std::os::unix::fs::symlink("sda/sda1", dir.path().join("sys/class/block/sda1")).unwrap();
        let tree = Tree::at(dir.path());
        for name in ["sda", "sda1"] {
            assert_eq!(
                serials(&tree, name),
                ["ZA1", "naa.5000c500a1b2c3d4"],
                "{name}"
            );
        }
        assert!(serials(&tree, "sdb").is_empty());
    }
}
