//! A node of our own for a device that has none here: in a chroot or a container.
//!
//! It is made in a file system in memory that is mounted nowhere (fsmount(2), Linux 5.2), so that nobody else ever sees
//! it, nothing of it stays, and no mount option forbids it. Where the kernel does not let us have one, it is made in a
//! directory of our own, opened, and removed at once. Only root can make a node, and not in every container.

#![expect(
    unsafe_code,
    reason = "fsopen, fsmount and mknodat have no safe interface in std"
)]

use super::device::{self, Number};
use std::ffi::{CStr, CString};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The node's name, wherever it is made.
const NAME: &str = "node";

/// Opens the block device of this number for reading.
pub(super) fn open(number: Number) -> io::Result<File> {
    let opened = in_memory(number).or_else(|_| in_directory(number))?;
    if device::number_of(&opened)? == Some(number) {
        return Ok(opened);
    }
    Err(io::Error::other("it is another device"))
}

fn in_memory(number: Number) -> io::Result<File> {
    let mount = memory()?;
    node_in(
        Path::new(&format!("/proc/self/fd/{}", mount.as_raw_fd())),
        number,
    )
}

/// A file system in memory that is mounted nowhere, and gone with the descriptor.
fn memory() -> io::Result<OwnedFd> {
    /// linux/mount.h: `FSOPEN_CLOEXEC` and `FSMOUNT_CLOEXEC`.
    const CLOEXEC: libc::c_uint = 1;
    /// linux/mount.h: `FSCONFIG_CMD_CREATE`.
    const CREATE: libc::c_uint = 6;
    const TYPE: &CStr = c"tmpfs";
    let own = |fd: libc::c_long| -> io::Result<OwnedFd> {
        match libc::c_int::try_from(fd) {
            // SAFETY: the kernel has just given this descriptor to us.
            Ok(fd) if fd >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
            _ => Err(io::Error::last_os_error()),
        }
    };
    // SAFETY: the type is a C string.
    let context = own(unsafe { libc::syscall(libc::SYS_fsopen, TYPE.as_ptr(), CLOEXEC) })?;
    let none = std::ptr::null::<libc::c_char>();
    // SAFETY: this command takes neither key nor value.
    let made = unsafe {
        libc::syscall(
            libc::SYS_fsconfig,
            context.as_raw_fd(),
            CREATE,
            none,
            none,
            0,
        )
    };
    if made != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call takes numbers only.
    own(unsafe { libc::syscall(libc::SYS_fsmount, context.as_raw_fd(), CLOEXEC, 0) })
}

/// In a directory that only we may look into, where a file system takes nodes.
fn in_directory(number: Number) -> io::Result<File> {
    let mut last = io::Error::from_raw_os_error(libc::ENOENT);
    for place in [
        std::env::temp_dir(),
        PathBuf::from("/dev"),
        PathBuf::from("/run"),
    ] {
        // A name that nobody has: it is made, or nothing is.
        let name = format!(
            ".kurabe-node-{}-{:x}",
            std::process::id(),
            crate::clock::wall()
        );
        let dir = place.join(name);
        let opened = DirBuilder::new().mode(0o700).create(&dir).and_then(|()| {
            let opened = node_in(&dir, number);
            let _ = std::fs::remove_file(dir.join(NAME));
            let _ = std::fs::remove_dir(&dir);
            opened
        });
        match opened {
            Ok(opened) => return Ok(opened),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn node_in(dir: &Path, number: Number) -> io::Result<File> {
    let path = dir.join(NAME);
    let name = CString::new(path.as_os_str().as_bytes())?;
    let device = libc::makedev(number.major, number.minor);
    // SAFETY: the path is a C string.
    if unsafe { libc::mknod(name.as_ptr(), libc::S_IFBLK | 0o600, device) } != 0 {
        return Err(io::Error::last_os_error());
    }
    OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)
}
