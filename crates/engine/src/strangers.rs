//! Who beside us may put another directory in the place of the one that we work in.
//!
//! Whoever may write to a directory may rename what is in it; in a sticky one only the owner of the entry and the owner
//! of the directory may (`rename(2)`, `inode(7)`). The way to a directory is as safe as the least safe directory on it,
//! so every one from the root down is looked at, as ssh does with the way to its keys. Links on the way are followed
//! step by step: whoever may rename where a link stands chooses where it leads, however safe that is by itself. An
//! access control list is seen too: where there is one, the group's bits of the mode are the most that it grants to
//! anybody (`acl(5)`).
//!
//! A file system that somebody's program serves (FUSE) says of every directory what that user likes: all of it is his.
//!
//! Only root is asked to think about it. What runs in the name of an ordinary user can do what that account can, and
//! groups that share a directory are how such users work together. Root, and whoever called sudo, is no stranger.

use std::ffi::OsString;
use std::fmt;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use sys::mounts::{self, Mount};
use sys::tree::Tree;

/// The sticky bit of a mode.
const STICKY: u32 = 0o1000;

/// Writing by the group and by others, in a mode.
const OTHERS_WRITE: u32 = 0o022;

/// The most links on a way, as for the kernel (`path_resolution(7)`).
const LINKS_MAX: u32 = 40;

/// Where a path leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Led {
    /// Absolute and without links. Without a stranger it leads there as long as root does not change that: what is
    /// opened is opened by this path, and not by the one that was followed.
    pub path: PathBuf,
    /// The first on the way who has a say in it; `None` where there is none, and for whoever is not root.
    pub stranger: Option<Stranger>,
}

/// Somebody else has a say in what a path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stranger {
    /// The directory or file that gives it to them; it is on the path.
    pub dir: PathBuf,
    /// By which right.
    pub by: Right,
}

/// What lets somebody rename in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// The directory is this user's.
    Owner(u32),
    /// Its mode lets its group or others write, and it is not sticky.
    Mode(u32),
    /// It lies on a file system that a program of this user serves.
    Serves(u32),
    /// It is a link of this user's, who may lead it elsewhere.
    Link(u32),
    /// It is a file of this user's.
    File(u32),
}

impl fmt::Display for Stranger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dir = self.dir.display();
        match self.by {
            Right::Owner(user) => write!(f, "`{dir}` belongs to user {user}, who may rename"),
            Right::Mode(mode) => write!(f, "in `{dir}` others may rename (mode {mode:o})"),
            Right::Serves(user) => {
                write!(f, "`{dir}` lies on a file system that user {user} serves")
            }
            Right::Link(user) => write!(f, "`{dir}` is a link of user {user}"),
            Right::File(user) => write!(f, "`{dir}` belongs to user {user}, who may write to it"),
        }
    }
}

/// Where `path` leads, which must be a directory. An error means that nobody can say.
pub fn way_to_directory(path: &Path) -> io::Result<Led> {
    way(path, true)
}

/// Where `path` leads, which may be anything, also nothing yet in a directory that is there.
pub fn way_to_file(path: &Path) -> io::Result<Led> {
    way(path, false)
}

fn way(path: &Path, is_directory: bool) -> io::Result<Led> {
    let path = std::path::absolute(path)?;
    match ours() {
        Some(ours) => {
            let mounts = mounts::read(&Tree::real()).map_err(io::Error::other)?;
            let judge = |found: &Metadata, shared: bool| judged(found, shared, &ours, &mounts);
            follow(&path, is_directory, judge)
        }
        None => follow(&path, is_directory, |_, _| None),
    }
}

/// By which right somebody else may rename in a directory like this one; `None` for whoever is not root.
pub(crate) fn in_it(found: &Metadata) -> Option<Right> {
    ours().and_then(|ours| right(found.uid(), found.mode(), &ours))
}

/// Whose the file at `path` is, where it is there and a stranger's; `None` for all who are not root.
pub fn whose_file(path: &Path) -> Option<Stranger> {
    let owner = path.metadata().ok()?.uid();
    (!ours()?.contains(&owner)).then(|| Stranger {
        dir: path.to_owned(),
        by: Right::File(owner),
    })
}

/// Who is no stranger to root; `None` where we are not root.
fn ours() -> Option<Vec<u32>> {
    let caller = || std::env::var("SUDO_UID").ok()?.parse().ok();
    sys::probe::is_root().then(|| std::iter::once(0).chain(caller()).collect())
}

/// The way is looked at from the root down. When a step is looked at, no stranger can change it any more: the steps
/// before it are safe. `judge` is told what stands there, and whether others may put something there.
fn follow(
    path: &Path,
    is_directory: bool,
    judge: impl Fn(&Metadata, bool) -> Option<Right>,
) -> io::Result<Led> {
    let root = Path::new("/");
    let found = root.symlink_metadata()?;
    let mut links = 0;
    let mut led = Led {
        path: root.to_owned(),
        stranger: None,
    };
    led.meet(root, judge(&found, false));
    let mut rest = names(path);
    while let Some(name) = rest.pop() {
        if name == ".." {
            // Without links the directory before is the one above. It was met on the way.
            led.path.pop();
            continue;
        }
        let step = led.path.join(name);
        let may_be_file = rest.is_empty() && !is_directory;
        let found = match step.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound && may_be_file => {
                led.path = step;
                break;
            }
            found => found?,
        };
        if found.is_symlink() {
            links += 1;
            if links > LINKS_MAX {
                let why = format!("there are more than {LINKS_MAX} links on the way");
                return Err(io::Error::other(why));
            }
            let shared = led.path.symlink_metadata()?.mode() & OTHERS_WRITE != 0;
            led.meet(&step, judge(&found, shared));
            let to = step.read_link()?;
            if to.is_absolute() {
                root.clone_into(&mut led.path);
            }
            rest.append(&mut names(&to));
        } else if found.is_dir() {
            led.meet(&step, judge(&found, false));
            led.path = step;
        } else if may_be_file {
            led.path = step;
        } else {
            let why = format!("`{}` is no directory", step.display());
            return Err(io::Error::new(io::ErrorKind::NotADirectory, why));
        }
    }
    Ok(led)
}

impl Led {
    /// Who has a say in a step of the way; the first one counts.
    fn meet(&mut self, step: &Path, by: Option<Right>) {
        if let (None, Some(by)) = (&self.stranger, by) {
            let dir = step.to_owned();
            self.stranger = Some(Stranger { dir, by });
        }
    }
}

/// The names that a path has, the last one first.
fn names(path: &Path) -> Vec<OsString> {
    let names = path.components().rev().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    });
    names.collect()
}

/// By which right somebody who is none of `ours` has a say in what stands in a directory, in which others may put
/// something where it is `shared`: in a sticky one nobody else moves it, but it may be theirs.
fn judged(found: &Metadata, shared: bool, ours: &[u32], mounts: &[Mount]) -> Option<Right> {
    if found.is_symlink() {
        let user = found.uid();
        return (shared && !ours.contains(&user)).then_some(Right::Link(user));
    }
    let by = serves(mounts, found.dev(), ours);
    by.or_else(|| right(found.uid(), found.mode(), ours))
}

/// Whether the file system of this number is served by somebody who is none of `ours`.
fn serves(mounts: &[Mount], device: u64, ours: &[u32]) -> Option<Right> {
    let user = mounts::of_device(mounts, device)?.served_by()?;
    (!ours.contains(&user)).then_some(Right::Serves(user))
}

/// By which right somebody who is none of `ours` may rename in a directory of this owner and mode.
fn right(owner: u32, mode: u32, ours: &[u32]) -> Option<Right> {
    if !ours.contains(&owner) {
        return Some(Right::Owner(owner));
    }
    (mode & OTHERS_WRITE != 0 && mode & STICKY == 0).then_some(Right::Mode(mode & 0o7777))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn who_may_rename_in_a_directory_follows_from_its_owner_and_its_mode() {
        let check = |owner, mode, expect| assert_eq!(right(owner, mode, &[0, 1000]), expect);
        for owner in [0, 1000] {
            check(owner, 0o40755, None);
            check(owner, 0o40700, None);
            check(owner, 0o41777, None);
            check(owner, 0o40775, Some(Right::Mode(0o775)));
            check(owner, 0o42770, Some(Right::Mode(0o2770)));
            check(owner, 0o40757, Some(Right::Mode(0o757)));
        }
        // In a sticky directory its owner may still rename what is in it.
        for mode in [0o40755, 0o41777, 0o40700] {
            check(65534, mode, Some(Right::Owner(65534)));
        }
    }

    #[test]
    fn every_directory_on_the_way_counts_and_every_link() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let me = root.metadata().unwrap().uid();
        let (middle, inner) = (root.join("middle"), root.join("middle/inner"));
        fs::create_dir_all(&inner).unwrap();
        fs::create_dir(root.join("calm")).unwrap();
        symlink(&inner, root.join("link")).unwrap();
        symlink("../calm", middle.join("back")).unwrap();
        let set = |dir: &Path, mode| fs::set_permissions(dir, Permissions::from_mode(mode));
        let by = |path: &Path, ours: &[u32]| {
            let led = follow(path, true, |found, shared| judged(found, shared, ours, &[]));
            let led = led.unwrap();
            assert_eq!(led.path, path.canonicalize().unwrap());
            led.stranger
        };
        let found = |path: &Path| by(path, &[0, me]);
        for mode in [0o755, 0o1777] {
            set(&middle, mode).unwrap();
            for path in [&inner, &root.join("link"), &middle.join("back")] {
                assert_eq!(found(path), None, "{mode:o}");
            }
        }
        set(&middle, 0o777).unwrap();
        let expect = Some(Stranger {
            dir: middle.clone(),
            by: Right::Mode(0o777),
        });
        // Where a link leads from there is no affair of ours any more.
        for path in [&inner, &root.join("link"), &middle.join("back")] {
            assert_eq!(found(path), expect, "{}", path.display());
        }
        assert_eq!(found(&root), None);
        set(&middle, 0o755).unwrap();
        assert!(by(&inner, &[me.wrapping_add(1)]).is_some());
    }

    #[test]
    fn links_are_followed_as_the_kernel_does() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/file"), "x").unwrap();
        symlink("a/b", root.join("link")).unwrap();
        symlink("../file", root.join("a/b/up")).unwrap();
        symlink(root.join("link/../file"), root.join("far")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        let way = |path: &str, is_directory| follow(&root.join(path), is_directory, |_, _| None);
        for path in ["a/b", "link", "link/..", "a/./b/../b", "."] {
            let led = way(path, true).unwrap().path;
            assert_eq!(led, root.join(path).canonicalize().unwrap(), "{path}");
        }
        for path in ["a/file", "link/up", "far", "link"] {
            let led = way(path, false).unwrap().path;
            assert_eq!(led, root.join(path).canonicalize().unwrap(), "{path}");
        }
        assert_eq!(way("link/new", false).unwrap().path, root.join("a/b/new"));
        for path in ["missing", "missing/..", "a/file", "far", "loop"] {
            way(path, true).unwrap_err();
        }
        for path in ["missing/new", "a/file/new", "loop"] {
            way(path, false).unwrap_err();
        }
    }
}
