//! Files below a root: how /proc, /sys and /etc are read, so that a test can put a directory in their place.
//!
//! Every path is absolute and means a place below the root. Files are read whole, up to [`MAX_FILE`], because the
//! kernel makes most of them up at the first read and a second read would tell of another moment. Bytes that are not
//! UTF-8 (firmware tables hold some) are replaced, not refused. It refuses larger files and never writes. Relative
//! links are followed by the kernel; an absolute link would leave a test's root, so programs are looked up with
//! [`Tree::resolve`], which follows links inside the root.

use std::fs::{File, Metadata};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

/// The largest file that is read. /proc/cpuinfo is about 1.6 KB per CPU, so that 1024 CPUs need 1.6 MiB;
/// mountinfo of a busy container host reaches 1 MiB.
pub const MAX_FILE: u64 = 8 << 20;

/// The most links that are followed in one path: the kernel's own limit (`path_resolution(7)`).
const MAX_LINKS: usize = 40;

/// A root directory, below which everything is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    root: PathBuf,
}

/// Something could not be read: which operation, on what, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{operation} `{object}`: {why}")]
pub struct TreeError {
    /// `read`, `list`, `read link`, `parse`.
    pub operation: &'static str,
    /// The path as it was asked for, without the root.
    pub object: String,
    /// The name of the error number, or what was wrong with the content.
    pub why: String,
    /// The error number; `None` where the kernel gave none.
    pub number: Option<i32>,
    /// True where the thing is not there, as opposed to refused, broken or not understood.
    pub absent: bool,
}

impl TreeError {
    /// The content of `object` is not what it should be.
    pub fn content(object: &str, why: impl Into<String>) -> Self {
        Self {
            operation: "parse",
            object: object.to_owned(),
            why: why.into(),
            number: None,
            absent: false,
        }
    }

    pub(crate) fn io(operation: &'static str, object: &str, error: &io::Error) -> Self {
        // A process that ends while it is read gives ESRCH instead of ENOENT.
        let gone = [libc::ENOENT, libc::ENOTDIR, libc::ESRCH, libc::ENODEV];
        Self {
            operation,
            object: object.to_owned(),
            why: error_name(error),
            number: error.raw_os_error(),
            absent: error
                .raw_os_error()
                .is_some_and(|number| gone.contains(&number)),
        }
    }
}

impl Tree {
    /// The real machine.
    pub fn real() -> Self {
        Self::at("/")
    }

    /// A directory that stands for `/`.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The whole content of a file.
    pub fn read(&self, path: &str) -> Result<String, TreeError> {
        let mut bytes = Vec::new();
        self.read_into(path, &mut bytes)?;
        Ok(lossy(bytes))
    }

    /// The content without white space and NUL bytes at its ends (device-tree strings end in NUL). An empty file is
    /// an error: the kernel shows some facts as empty files where it does not know them.
    pub fn read_trimmed(&self, path: &str) -> Result<String, TreeError> {
        let text = self.read(path)?;
        let trimmed = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        if trimmed.is_empty() {
            return Err(TreeError::content(path, "it is empty"));
        }
        Ok(trimmed.to_owned())
    }

    /// A file that holds one decimal number.
    pub fn read_number(&self, path: &str) -> Result<u64, TreeError> {
        let text = self.read_trimmed(path)?;
        text.parse()
            .map_err(|_| TreeError::content(path, format!("`{}` is not a number", shorten(&text))))
    }

    /// The bytes of a file, into `bytes`, which is cleared first and keeps its capacity.
    pub(crate) fn read_into(&self, path: &str, bytes: &mut Vec<u8>) -> Result<(), TreeError> {
        bytes.clear();
        let failed = |error: &io::Error| TreeError::io("read", path, error);
        let file = File::open(self.place(path)).map_err(|error| failed(&error))?;
        // One byte more than allowed shows that there is more.
        file.take(MAX_FILE + 1)
            .read_to_end(bytes)
            .map_err(|error| failed(&error))?;
        if u64::try_from(bytes.len()).is_ok_and(|read| read > MAX_FILE) {
            let why = format!("it is larger than {} MiB", MAX_FILE >> 20);
            return Err(TreeError::content(path, why));
        }
        Ok(())
    }

    /// Every line of a file in turn, however many there are: for what grows with the threads or the
    /// mappings of a process.
    pub(crate) fn each_line(&self, path: &str, mut see: impl FnMut(&str)) -> Result<(), TreeError> {
        let failed = |error: &io::Error| TreeError::io("read", path, error);
        let file = File::open(self.place(path)).map_err(|error| failed(&error))?;
        // The kernel fills no more than a page or so at a time.
        let mut lines = BufReader::with_capacity(1 << 16, file);
        let mut line = Vec::new();
        while lines
            .by_ref()
            .take(MAX_FILE)
            .read_until(b'\n', &mut line)
            .map_err(|error| failed(&error))?
            > 0
        {
            see(String::from_utf8_lossy(&line).trim_end_matches('\n'));
            line.clear();
        }
        Ok(())
    }

    /// The names in a directory, sorted.
    pub fn list(&self, path: &str) -> Result<Vec<String>, TreeError> {
        let mut names = Vec::new();
        let failed = |error: &io::Error| TreeError::io("list", path, error);
        for entry in std::fs::read_dir(self.place(path)).map_err(|error| failed(&error))? {
            let name = entry.map_err(|error| failed(&error))?.file_name();
            names.push(name.to_string_lossy().into_owned());
        }
        names.sort();
        Ok(names)
    }

    /// Where a symbolic link points, as it is written.
    pub fn link(&self, path: &str) -> Result<String, TreeError> {
        std::fs::read_link(self.place(path))
            .map(|target| target.to_string_lossy().into_owned())
            .map_err(|error| TreeError::io("read link", path, &error))
    }

    /// Whether something is there.
    pub fn exists(&self, path: &str) -> bool {
        self.place(path).exists()
    }

    /// The path with every symbolic link in it followed inside the root, or an error where it leads nowhere.
    pub fn resolve(&self, path: &str) -> Result<String, TreeError> {
        let failed = |number| TreeError::io("resolve", path, &io::Error::from_raw_os_error(number));
        let mut done: Vec<String> = Vec::new();
        // The parts still to walk, the next one last.
        let mut ahead: Vec<String> = parts(path);
        let mut links = 0;
        while let Some(part) = ahead.pop() {
            if part == ".." {
                done.pop();
                continue;
            }
            done.push(part);
            let here = joined(&done);
            match self.link(&here) {
                Ok(target) => {
                    links += 1;
                    if links > MAX_LINKS {
                        return Err(failed(libc::ELOOP));
                    }
                    done.pop();
                    if target.starts_with('/') {
                        done.clear();
                    }
                    ahead.extend(parts(&target));
                }
                // EINVAL: it is there, and not a link.
                Err(error) if error.why == "EINVAL" => {}
                Err(error) if error.absent => return Err(failed(libc::ENOENT)),
                Err(error) => return Err(error),
            }
        }
        Ok(joined(&done))
    }

    /// Whether the (resolved) path is a regular file that somebody may execute.
    pub fn executable(&self, path: &str) -> bool {
        let may_run = |file: Metadata| file.is_file() && file.permissions().mode() & 0o111 != 0;
        self.place(path).metadata().is_ok_and(may_run)
    }

    /// Where a path lies in truth.
    pub(crate) fn place(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }
}

/// The parts of a path, the first one last, without `.` and without the leading `/`.
fn parts(path: &str) -> Vec<String> {
    Path::new(path)
        .components()
        .rev()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
            Component::ParentDir => Some("..".to_owned()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
        })
        .collect()
}

fn joined(parts: &[String]) -> String {
    format!("/{}", parts.join("/"))
}

fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// The start of a text that is quoted in an error: nobody wants a megabyte there.
pub(crate) fn shorten(text: &str) -> String {
    const SHOWN: usize = 40;
    let line = text.lines().next().unwrap_or_default();
    if line.chars().count() <= SHOWN && line.len() == text.len() {
        return text.to_owned();
    }
    let start: String = line.chars().take(SHOWN).collect();
    format!("{start}...")
}

/// The symbolic name of an error number, as errno(3) lists it; std's own words where it is a rare one.
pub fn error_name(error: &io::Error) -> String {
    let Some(number) = error.raw_os_error() else {
        return error.to_string();
    };
    ERRORS
        .iter()
        .find(|(known, _)| *known == number)
        .map_or_else(|| error.to_string(), |(_, name)| (*name).to_owned())
}

/// The error numbers that opening, reading, probing and asking another machine really give.
const ERRORS: [(libc::c_int, &str); 31] = [
    (libc::EPERM, "EPERM"),
    (libc::ENOENT, "ENOENT"),
    (libc::ESRCH, "ESRCH"),
    (libc::EINTR, "EINTR"),
    (libc::EIO, "EIO"),
    (libc::ENXIO, "ENXIO"),
    (libc::EBADF, "EBADF"),
    (libc::EAGAIN, "EAGAIN"),
    (libc::ENOMEM, "ENOMEM"),
    (libc::EACCES, "EACCES"),
    (libc::EBUSY, "EBUSY"),
    (libc::EEXIST, "EEXIST"),
    (libc::ENODEV, "ENODEV"),
    (libc::ENOTDIR, "ENOTDIR"),
    (libc::EISDIR, "EISDIR"),
    (libc::EINVAL, "EINVAL"),
    (libc::EMFILE, "EMFILE"),
    (libc::ENOSPC, "ENOSPC"),
    (libc::EROFS, "EROFS"),
    (libc::ENOSYS, "ENOSYS"),
    (libc::ELOOP, "ELOOP"),
    (libc::EOPNOTSUPP, "EOPNOTSUPP"),
    (libc::ESTALE, "ESTALE"),
    (libc::EDQUOT, "EDQUOT"),
    (libc::EAFNOSUPPORT, "EAFNOSUPPORT"),
    (libc::EADDRNOTAVAIL, "EADDRNOTAVAIL"),
    (libc::ENETUNREACH, "ENETUNREACH"),
    (libc::EHOSTUNREACH, "EHOSTUNREACH"),
    (libc::ECONNREFUSED, "ECONNREFUSED"),
    (libc::ECONNRESET, "ECONNRESET"),
    (libc::ETIMEDOUT, "ETIMEDOUT"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A directory below the target's temporary directory that goes away with the value.
    struct Scratch(tempfile::TempDir);

    impl Scratch {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn tree(&self) -> Tree {
            Tree::at(self.0.path())
        }
    }

    #[test]
    fn errors_name_operation_and_object_and_tell_absent_from_broken() {
        let scratch = Scratch::new();
        std::fs::write(scratch.0.path().join("empty"), " \n\0").unwrap();
        std::fs::write(scratch.0.path().join("word"), "many\n").unwrap();
        let tree = scratch.tree();
        let absent = tree.read("/proc/stat").unwrap_err();
        assert_eq!(absent.to_string(), "read `/proc/stat`: ENOENT");
        assert!(absent.absent);
        let empty = tree.read_trimmed("/empty").unwrap_err();
        assert_eq!(empty.to_string(), "parse `/empty`: it is empty");
        assert!(!empty.absent);
        let word = tree.read_number("/word").unwrap_err();
        assert_eq!(word.to_string(), "parse `/word`: `many` is not a number");
        assert_eq!(
            tree.list("/word").unwrap_err().to_string(),
            "list `/word`: ENOTDIR"
        );
        assert_eq!(
            tree.link("/word").unwrap_err().to_string(),
            "read link `/word`: EINVAL"
        );
    }

    #[test]
    fn a_file_above_the_cap_is_refused() {
        let scratch = Scratch::new();
        let file = File::create(scratch.0.path().join("huge")).unwrap();
        file.set_len(MAX_FILE).unwrap();
        assert!(scratch.tree().read("/huge").is_ok());
        file.set_len(MAX_FILE + 1).unwrap();
        assert_eq!(
            scratch.tree().read("/huge").unwrap_err().to_string(),
            "parse `/huge`: it is larger than 8 MiB"
        );
    }

    #[test]
    fn links_are_resolved_inside_the_root() {
        let scratch = Scratch::new();
        let root = scratch.0.path();
        std::fs::create_dir_all(root.join("usr/bin")).unwrap();
        std::fs::create_dir_all(root.join("etc/alternatives")).unwrap();
        std::fs::write(root.join("usr/bin/dash"), "").unwrap();
        symlink("usr/bin", root.join("bin")).unwrap();
        symlink("/etc/alternatives/sh", root.join("usr/bin/sh")).unwrap();
        symlink("../../bin/dash", root.join("etc/alternatives/sh")).unwrap();
        symlink("/loop", root.join("loop")).unwrap();
        let tree = scratch.tree();
        assert_eq!(tree.resolve("/bin/sh").unwrap(), "/usr/bin/dash");
        assert_eq!(tree.resolve("/usr/bin/dash").unwrap(), "/usr/bin/dash");
        assert_eq!(
            tree.resolve("/loop").unwrap_err().to_string(),
            "resolve `/loop`: ELOOP"
        );
        assert_eq!(
            tree.resolve("/bin/zsh").unwrap_err().to_string(),
            "resolve `/bin/zsh`: ENOENT"
        );
        assert!(!tree.executable("/usr/bin/dash"));
    }

    #[test]
    fn bytes_that_are_not_utf8_are_replaced() {
        let scratch = Scratch::new();
        std::fs::write(scratch.0.path().join("vendor"), b"Acm\xe9\n").unwrap();
        assert_eq!(
            scratch.tree().read_trimmed("/vendor").unwrap(),
            "Acm\u{fffd}"
        );
    }
}
