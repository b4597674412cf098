//! What a thing is, by its numbers: never by the text of a path, which a hard link, a bind mount, a node made by hand
//! or another mount namespace changes.
//!
//! A block device is its device number. A regular file is the number of its file system and its inode there. What a
//! loop device lies on is asked of the loop device itself (`LOOP_GET_STATUS64`, loop(4)), which tells the numbers of
//! the file that it holds open. One thing has no number of its own: a file that is seen through two file systems at
//! once (an overlay and its upper directory, a network export of this very machine): [`super::elsewhere`].

#![expect(
    unsafe_code,
    reason = "statx and the ioctls of loop devices have no safe interface in std"
)]

use super::device::{self, Number};
use super::nodes;
use crate::tree::{Tree, TreeError};
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A block device or a file, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Thing {
    /// A block device, whatever node or path leads to it.
    Device(Number),
    /// Anything else that has a place in a file system.
    File {
        /// The number of the file system, as stat(2) tells it.
        device: u64,
        /// The number in the file system.
        inode: u64,
    },
}

/// What a path leads to, without asking a server for it: a look at all that a machine has open must not hang on a
/// network file system that is gone (`AT_STATX_DONT_SYNC`, statx(2)).
pub(super) fn thing(path: &Path) -> io::Result<Thing> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: statx is a struct of integers, for which all zeros are a value.
    let mut found: libc::statx = unsafe { std::mem::zeroed() };
    // By number: see `io::file::direct_alignment`.
    // SAFETY: the path is a C string, and `found` is valid to write to.
    let result = unsafe {
        libc::syscall(
            libc::SYS_statx,
            libc::AT_FDCWD,
            path.as_ptr(),
            libc::AT_STATX_DONT_SYNC,
            libc::STATX_TYPE | libc::STATX_INO,
            &raw mut found,
        )
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    if libc::mode_t::from(found.stx_mode) & libc::S_IFMT == libc::S_IFBLK {
        return Ok(Thing::Device(Number {
            major: found.stx_rdev_major,
            minor: found.stx_rdev_minor,
        }));
    }
    Ok(Thing::File {
        device: libc::makedev(found.stx_dev_major, found.stx_dev_minor),
        inode: found.stx_ino,
    })
}

/// What a loop device lies on, and where on it the device begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Backing {
    pub(super) on: Thing,
    pub(super) offset: u64,
    /// It need not reach to the end of what it lies on.
    pub(super) is_limited: bool,
}

/// `struct loop_info64` of linux/loop.h.
#[repr(C)]
struct LoopInfo {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

/// linux/loop.h.
const LOOP_GET_STATUS64: libc::Ioctl = 0x4c05;

/// What the loop device `name` lies on; `None` where nothing is behind it. Who cannot ask does not know.
pub(super) fn backing(
    tree: &Tree,
    name: &str,
    number: Number,
) -> Result<Option<Backing>, TreeError> {
    let opened = device::open_node(tree, name, number, 0)?;
    asked(&opened, name)
}

/// Likewise, through a node of our own where there is none here that can be opened, as in a container.
pub(super) fn backing_anyhow(
    tree: &Tree,
    name: &str,
    number: Number,
) -> Result<Option<Backing>, TreeError> {
    backing(tree, name, number).or_else(|error| {
        if *tree != Tree::real() {
            return Err(error);
        }
        let own = nodes::open(number).map_err(|_| error)?;
        asked(&own, name)
    })
}

fn asked(opened: &File, name: &str) -> Result<Option<Backing>, TreeError> {
    match status(opened) {
        Ok(info) => Ok(Some(Backing {
            on: behind(&info),
            offset: info.offset,
            is_limited: info.size_limit != 0,
        })),
        // It was detached meanwhile.
        Err(error) if error.raw_os_error() == Some(libc::ENXIO) => Ok(None),
        Err(error) => {
            let node = device::node(name);
            Err(TreeError::io("ask what is behind", &node, &error))
        }
    }
}

fn status(device: &File) -> io::Result<LoopInfo> {
    // SAFETY: the struct holds integers only, for which all zeros are a value.
    let mut info: LoopInfo = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one `loop_info64`, which `info` is.
    let result = unsafe { libc::ioctl(device.as_raw_fd(), LOOP_GET_STATUS64, &raw mut info) };
    if result == 0 {
        Ok(info)
    } else {
        Err(io::Error::last_os_error())
    }
}

/// The kernel tells the device number of a block device; of a regular file 0, or, before 5.17, that of its file system.
/// (A node that lies on the very device that it names cannot be told from a file there: the device is mounted then.)
fn behind(info: &LoopInfo) -> Thing {
    if info.rdevice != 0 && info.rdevice != info.device {
        return Thing::Device(decoded(info.rdevice));
    }
    let Number { major, minor } = decoded(info.device);
    Thing::File {
        device: libc::makedev(major, minor),
        inode: info.inode,
    }
}

/// A device number as the kernel hands it out (`new_encode_dev` of `linux/kdev_t.h`).
fn decoded(number: u64) -> Number {
    let low = u32::try_from(number & u64::from(u32::MAX)).unwrap_or(u32::MAX);
    Number {
        major: (low >> 8) & 0xfff,
        minor: (low & 0xff) | ((low >> 12) & 0xf_ff00),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn a_file_has_the_numbers_that_stat_tells() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let found = file.path().metadata().unwrap();
        let expected = Thing::File {
            device: found.dev(),
            inode: found.ino(),
        };
        assert_eq!(thing(file.path()).unwrap(), expected);
        let link = file.path().with_extension("link");
        std::fs::hard_link(file.path(), &link).unwrap();
        assert_eq!(thing(&link).unwrap(), expected);
        std::fs::remove_file(&link).unwrap();
        assert!(thing(&link).is_err());
    }

    #[test]
    fn numbers_of_devices_are_decoded_as_the_kernel_encodes_them() {
        for (number, major, minor) in [(0x801, 8, 1), (0x700, 7, 0), (0x0010_fe05, 254, 0x105)] {
            assert_eq!(decoded(number), Number { major, minor }, "{number:#x}");
        }
        // SAFETY: the struct holds integers only, for which all zeros are a value.
        let mut info: LoopInfo = unsafe { std::mem::zeroed() };
        (info.device, info.inode) = (0x801, 77);
        let file = Thing::File {
            device: libc::makedev(8, 1),
            inode: 77,
        };
        assert_eq!(behind(&info), file);
        info.rdevice = 0x801;
        assert_eq!(behind(&info), file, "as older kernels tell it");
        info.rdevice = 0x810;
        let disk = Number {
            major: 8,
            minor: 16,
        };
        assert_eq!(behind(&info), Thing::Device(disk));
    }
}
