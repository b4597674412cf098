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
//! - Who is killed between the new name and the removal leaves the file under the new name. That name holds the file's
//!   number, so that [`left_aside`] tells such a file from any other; `kurabe clean` removes them.
//! - Where a file system cannot rename without replacing, or is too full to, the look and the removal are two steps
//!   under the old name, and the moment between them is the one of any rm(1).
//!
//! Sources: rename(2), unlink(2).

#![expect(
    unsafe_code,
    reason = "renameat2, fstatat and unlinkat have no safe interface in std"
)]

use std::ffi::{CStr, CString, OsStr};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirEntryExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

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
    remove_after(path, (device, inode), || {}, unlink)
}

/// The same, with something that happens between the first look and the first step, and the last step.
fn remove_after(
    path: &Path,
    wanted: (u64, u64),
    meanwhile: impl FnOnce(),
    unlink: impl FnOnce(&File, &CStr) -> io::Result<()>,
) -> io::Result<Removal> {
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
    let called_now = aside.to_string_lossy();
    if entry(&dir, &aside)? == Some(wanted) {
        return match unlink(&dir, &aside) {
            Ok(()) => Ok(Removal::Removed),
            // By `kurabe clean`, who took us for dead.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Removal::Removed),
            Err(error) => Err(match rename(&dir, &aside, &name) {
                Ok(()) => error,
                Err(_) => io::Error::other(format!("{error}; it is called `{called_now}` now")),
            }),
        };
    }
    match rename(&dir, &aside, &name) {
        Ok(()) => Ok(Removal::Another),
        Err(error) => Err(io::Error::other(format!(
            "another file was put there meanwhile, and is called `{called_now}` now: {error}"
        ))),
    }
}

/// How the name of a file that is about to go begins.
const ASIDE: &str = ".kurabe-removed-";

/// A name for a file of this number that is to go, another one each time.
fn aside_name(inode: u64) -> String {
    let (process, now) = (std::process::id(), crate::clock::monotonic());
    format!("{ASIDE}{inode}-{process}-{now}")
}

/// The number of the file that a name of [`aside_name`] was made for.
fn number_in(name: &OsStr) -> Option<u64> {
    let mut numbers = name.to_str()?.strip_prefix(ASIDE)?.split('-');
    let inode = numbers.next()?.parse().ok();
    let others = [numbers.next()?, numbers.next()?].map(|number| number.parse::<u64>().is_ok());
    inode.filter(|_| others == [true, true] && numbers.next().is_none())
}

/// A file in `dir` that was about to be removed when its remover was killed: where it is, its device and its number.
/// Only the file that had been meant counts, and no other that has the name.
pub fn left_aside(dir: &Path) -> io::Result<Vec<(PathBuf, u64, u64)>> {
    let mut left = Vec::new();
    for found in std::fs::read_dir(dir)? {
        let found = found?;
        let Some(inode) = number_in(&found.file_name()).filter(|&inode| inode == found.ino())
        else {
            continue;
        };
        if let Ok(file) = found.metadata()
            && file.is_file()
            && file.ino() == inode
        {
            left.push((found.path(), file.dev(), inode));
        }
    }
    left.sort();
    Ok(left)
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
    use std::os::unix::fs::symlink;

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
    fn a_file_that_cannot_be_removed_has_its_name_back_or_the_error_tells_the_new_one() {
        let (dir, path, _, wanted) = place();
        let fails = || io::Error::from_raw_os_error(libc::EIO);
        let error = remove_after(&path, wanted, || {}, |_, _| Err(fails())).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EIO));
        assert_eq!(names(dir.path()), ["ours", "precious"]);
        // Somebody takes the old name meanwhile.
        let taken = |_: &File, _: &CStr| {
            std::fs::write(&path, "theirs").unwrap();
            Err(fails())
        };
        let error = remove_after(&path, wanted, || {}, taken)
            .unwrap_err()
            .to_string();
        let left = names(dir.path());
        assert!(
            left[0].starts_with(ASIDE) && error.contains(&left[0]),
            "{error}"
        );
        assert_eq!(std::fs::read(&path).unwrap(), b"theirs");
    }

    #[test]
    fn what_a_killed_remover_left_is_found_and_no_file_that_only_looks_like_it() {
        let (dir, path, precious, wanted) = place();
        let killed = std::panic::catch_unwind(|| {
            remove_after(&path, wanted, || {}, |_, _| panic!("killed here"))
        });
        assert!(killed.is_err());
        let aside = dir.path().join(&names(dir.path())[0]);
        assert_eq!(
            left_aside(dir.path()).unwrap(),
            [(aside.clone(), wanted.0, wanted.1)]
        );
        for (name, file) in [
            (aside_name(7), &precious),
            (format!("{ASIDE}x-1-2"), &precious),
        ] {
            std::fs::hard_link(file, dir.path().join(name)).unwrap();
        }
        symlink(&precious, dir.path().join(aside_name(wanted.1))).unwrap();
        assert_eq!(left_aside(dir.path()).unwrap().len(), 1);
        let removed = remove_exactly(&aside, wanted.0, wanted.1).unwrap();
        assert_eq!(
            (removed, left_aside(dir.path()).unwrap().len()),
            (Removal::Removed, 0)
        );
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
            let done = remove_after(&path, wanted, || swap(&path, &precious), unlink).unwrap();
            assert_eq!(done, Removal::Another);
            assert_eq!(names(dir.path()), left);
            if path.is_file() {
                assert_eq!(std::fs::read(&path).unwrap(), b"precious");
            }
        }
    }
}
