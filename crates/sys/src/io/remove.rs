//! Removing one certain file, and never another that somebody puts under its name meanwhile.
//!
//! unlink(2) takes a name, and whatever the name leads to at that instant is gone: a look before it leaves a moment in
//! which somebody can rename a file of his own to that name. Here the entry is first moved to a name that nobody can
//! tell beforehand (the nanosecond is in it), without replacing anything; what was moved is looked at there, and
//! removed if it is the file that was meant, or moved back if not. What remains:
//!
//! - For that moment a file of somebody else can be missing under its name, and where a third file takes the name
//!   before it is moved back it stays under the new name, which the error says.
//! - The look at the new name and the removal are two system calls. Who watches the directory, learns the name and
//!   renames a file of his own onto it in the microseconds between them loses that file: no call removes by a handle.
//! - Where a file system cannot rename without replacing, or is too full to, the look and the removal are two steps
//!   under the old name, and the moment between them is the one of any rm(1).
//!
//! Sources: rename(2), unlink(2).

#![expect(
    unsafe_code,
    reason = "renameat2, fstatat and unlinkat have no safe interface in std"
)]

use std::ffi::{CStr, CString};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// What became of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// The file is gone.
    Removed,
    /// Nothing was there.
    Absent,
    /// The name leads to another file, which was left alone.
    Another,
}

/// Removes the file of this device and number from under `path`, and no other one.
pub fn remove_exactly(path: &Path, device: u64, inode: u64) -> io::Result<Removal> {
    remove_after(path, (device, inode), || {})
}

/// The same, with something that happens between the first look and the first step.
fn remove_after(path: &Path, wanted: (u64, u64), meanwhile: impl FnOnce()) -> io::Result<Removal> {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let dir = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_PATH | libc::O_DIRECTORY)
        .open(parent.unwrap_or(Path::new(".")))?;
    let name = path
        .file_name()
        .ok_or_else(|| io::Error::other("it has no name"))?;
    let name = CString::new(name.as_bytes())?;
    let aside = CString::new(aside_name(wanted.1))?;
    match entry(&dir, &name)? {
        None => return Ok(Removal::Absent),
        Some(found) if found != wanted => return Ok(Removal::Another),
        Some(_) => {}
    }
    meanwhile();
    match rename(&dir, &name, &aside) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Removal::Absent),
        // There is no such rename here, or no room for it: on a full disk some file systems can remove, but not rename.
        Err(_) => {
            return match entry(&dir, &name)? {
                None => Ok(Removal::Absent),
                Some(found) if found != wanted => Ok(Removal::Another),
                Some(_) => unlink(&dir, &name).map(|()| Removal::Removed),
            };
        }
    }
    if entry(&dir, &aside)? == Some(wanted) {
        return unlink(&dir, &aside).map(|()| Removal::Removed);
    }
    match rename(&dir, &aside, &name) {
        Ok(()) => Ok(Removal::Another),
        Err(error) => Err(io::Error::other(format!(
            "another file was put there meanwhile, and is called `{}` now: {error}",
            aside.to_string_lossy()
        ))),
    }
}

/// A name for a file of this number that is to go, another one each time.
fn aside_name(inode: u64) -> String {
    let (process, now) = (std::process::id(), crate::clock::monotonic());
    format!(".kurabe-removed-{inode}-{process}-{now}")
}

/// The device and number of what a name in `dir` leads to, links not followed; `None` where there is nothing.
fn entry(dir: &File, name: &CStr) -> io::Result<Option<(u64, u64)>> {
    // SAFETY: stat is a struct of integers, for which all zeros are a value.
    let mut found: libc::stat = unsafe { std::mem::zeroed() };
    let (fd, at) = (dir.as_raw_fd(), &raw mut found);
    // SAFETY: the directory is open, the name ends in NUL, and `found` is valid to write to.
    if unsafe { libc::fstatat(fd, name.as_ptr(), at, libc::AT_SYMLINK_NOFOLLOW) } == 0 {
        return Ok(Some((found.st_dev, found.st_ino)));
    }
    match io::Error::last_os_error() {
        error if error.kind() == io::ErrorKind::NotFound => Ok(None),
        error => Err(error),
    }
}

/// Gives an entry of `dir` another name, unless that is taken.
fn rename(dir: &File, from: &CStr, to: &CStr) -> io::Result<()> {
    let fd = dir.as_raw_fd();
    // SAFETY: the directory is open, both names end in NUL, and the kernel keeps none of them.
    let result = unsafe {
        libc::syscall(
            libc::SYS_renameat2,
            fd,
            from.as_ptr(),
            fd,
            to.as_ptr(),
            libc::RENAME_NOREPLACE,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

fn unlink(dir: &File, name: &CStr) -> io::Result<()> {
    // SAFETY: the directory is open, and the name ends in NUL.
    if unsafe { libc::unlinkat(dir.as_raw_fd(), name.as_ptr(), 0) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, symlink};
    use std::path::PathBuf;

    /// A directory with a file that is to be removed, and one that is not.
    fn place() -> (tempfile::TempDir, PathBuf, PathBuf, (u64, u64)) {
        let dir = tempfile::tempdir().unwrap();
        let (path, precious) = (dir.path().join("ours"), dir.path().join("precious"));
        std::fs::write(&path, "ours").unwrap();
        std::fs::write(&precious, "precious").unwrap();
        let found = path.metadata().unwrap();
        (dir, path, precious, (found.dev(), found.ino()))
    }

    fn names(dir: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(dir).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn the_file_that_is_meant_is_removed_and_nothing_else() {
        let (dir, path, _, wanted) = place();
        assert_eq!(
            remove_exactly(&path, wanted.0, wanted.1 + 1).unwrap(),
            Removal::Another
        );
        assert!(path.exists());
        assert_eq!(
            remove_exactly(&path, wanted.0, wanted.1).unwrap(),
            Removal::Removed
        );
        assert_eq!(
            remove_exactly(&path, wanted.0, wanted.1).unwrap(),
            Removal::Absent
        );
        assert_eq!(names(dir.path()), ["precious"]);
        remove_exactly(Path::new("/no such directory/x"), 1, 1).unwrap_err();
    }

    #[test]
    fn nobody_can_take_the_name_aside_beforehand() {
        let names: std::collections::BTreeSet<String> = (0..100).map(|_| aside_name(7)).collect();
        assert_eq!(names.len(), 100);
    }

    #[test]
    fn what_is_put_under_the_name_meanwhile_stays() {
        type Swap = fn(&Path, &Path);
        let swaps: [(Swap, &[&str]); 4] = [
            (
                |path, precious| std::fs::rename(precious, path).unwrap(),
                &["ours"],
            ),
            (
                |path, precious| {
                    std::fs::remove_file(path).unwrap();
                    symlink(precious, path).unwrap();
                },
                &["ours", "precious"],
            ),
            (
                |path, precious| {
                    std::fs::remove_file(path).unwrap();
                    std::fs::hard_link(precious, path).unwrap();
                },
                &["ours", "precious"],
            ),
            (
                |path, _| {
                    std::fs::remove_file(path).unwrap();
                    std::fs::create_dir(path).unwrap();
                },
                &["ours", "precious"],
            ),
        ];
        for (swap, left) in swaps {
            let (dir, path, precious, wanted) = place();
            // The old file is kept by a handle, so that its number is not given to the new one.
            let _held = File::open(&path).unwrap();
            let done = remove_after(&path, wanted, || swap(&path, &precious)).unwrap();
            assert_eq!(done, Removal::Another);
            assert_eq!(names(dir.path()), left);
            if path.is_file() {
                assert_eq!(std::fs::read(&path).unwrap(), b"precious");
            }
        }
    }
}
