//! Marks on files: a short text on the file itself, as an extended attribute.
//!
//! A name proves nothing, since a user may have put a file of that name there; a list of names elsewhere outlives the
//! files. A mark goes with the file wherever it is moved, and vanishes with it. Alone it proves nothing either: `cp -a`
//! and tools for backups copy it to other files, and it stays where somebody else writes into the file or puts another
//! content in. Whoever trusts one must let its text say on which file it was set and what that was like then, and
//! compare. File systems without extended attributes carry no marks. Source: xattr(7).

#![expect(unsafe_code, reason = "extended attributes are not in std")]

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The attribute's name. The `user.` namespace is open to whoever may write to the file.
const NAME: &std::ffi::CStr = c"user.kurabe";

/// The longest text of a mark, in bytes. Longer ones are not set, and not ours where they are found.
const MARK_MAX: usize = 512;

/// Sets the mark of an opened file, in the place of the one that it may have. A text of more than 512 bytes is an
/// error: nobody could read it back.
pub fn mark(file: &File, text: &str) -> io::Result<()> {
    if text.len() > MARK_MAX {
        let why = format!("a mark of {} bytes is longer than {MARK_MAX}", text.len());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    set(file, text)
}

fn set(file: &File, text: &str) -> io::Result<()> {
    // SAFETY: the name ends in NUL, the text is valid for its length, and the kernel copies both.
    let status = unsafe {
        libc::fsetxattr(
            file.as_raw_fd(),
            NAME.as_ptr(),
            text.as_ptr().cast(),
            text.len(),
            0,
        )
    };
    if status == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// The mark of an opened file; `None` where it has none, or lies where there are no marks.
pub fn mark_on(file: &File) -> io::Result<Option<String>> {
    let mut text = [0_u8; MARK_MAX];
    // SAFETY: the name ends in NUL, and the kernel writes at most as many bytes as the buffer has.
    let length = unsafe {
        libc::fgetxattr(
            file.as_raw_fd(),
            NAME.as_ptr(),
            text.as_mut_ptr().cast(),
            text.len(),
        )
    };
    match usize::try_from(length) {
        Ok(length) => Ok(Some(String::from_utf8_lossy(&text[..length]).into_owned())),
        Err(_) => match io::Error::last_os_error() {
            // A longer one is not ours either (ERANGE).
            error
                if matches!(error.raw_os_error(), Some(libc::ENODATA | libc::ERANGE))
                    || has_no_marks(&error) =>
            {
                Ok(None)
            }
            error => Err(error),
        },
    }
}

/// Whether the file of this name has a mark, found out without opening it: a program that opens and closes a file loses
/// its locks on it (fcntl(2)), such as those of a database. A link has none.
pub fn is_marked(path: &Path) -> bool {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else {
        return false;
    };
    // SAFETY: both names end in NUL, and a buffer of no bytes asks for the length alone.
    let length = unsafe { libc::lgetxattr(path.as_ptr(), NAME.as_ptr(), std::ptr::null_mut(), 0) };
    length > 0
}

/// Whether an error of [`mark`] means that the file system has no marks.
pub fn has_no_marks(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EOPNOTSUPP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_back_as_it_was_set_and_has_its_length() {
        // Not in /tmp, which may be a file system without attributes of users.
        let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = dir.path().join("file");
        let file = File::create(&path).unwrap();
        let mark_of = |path: &Path| mark_on(&File::open(path).unwrap()).unwrap();
        assert_eq!((mark_of(&path), is_marked(&path)), (None, false));
        mark(&file, "run 1").unwrap();
        assert!(is_marked(&path) && !is_marked(&dir.path().join("none")));
        assert_eq!(mark_of(&path).as_deref(), Some("run 1"));
        std::fs::write(&path, "content does not take the mark away").unwrap();
        assert_eq!(mark_of(&path).as_deref(), Some("run 1"));
        let longest = "x".repeat(MARK_MAX);
        mark(&file, &longest).unwrap();
        assert_eq!(mark_of(&path), Some(longest.clone()));
        // What nobody could read back is not set.
        let longer = format!("{longest}x");
        let error = mark(&file, &longer).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{error}");
        assert_eq!(mark_of(&path), Some(longest));
        // What is longer than any mark of ours is none, and no reason to fail.
        set(&file, &longer).unwrap();
        assert_eq!(mark_of(&path), None);
        // A copy of the content is no copy of the mark.
        std::fs::write(dir.path().join("copy"), "content").unwrap();
        assert_eq!(mark_of(&dir.path().join("copy")), None);
    }

    #[test]
    fn where_there_are_no_marks_nothing_is_ours() {
        let file = File::open("/proc/self/status").unwrap();
        assert_eq!(mark_on(&file).unwrap(), None);
        let made = File::options().write(true).open("/proc/self/comm").unwrap();
        let error = mark(&made, "x").unwrap_err();
        assert!(has_no_marks(&error), "{error}");
    }
}
