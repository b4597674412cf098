//! Who beside us may put another directory in the place of the one that we work in.
//!
//! Whoever may write to a directory may rename what is in it; in a sticky one only the owner of the entry and the owner
//! of the directory may (`rename(2)`, `inode(7)`). The way to a directory is as safe as the least safe directory on it,
//! so every one from the root down is looked at, as ssh does with the way to its keys. An access control list is seen
//! too: where there is one, the group's bits of the mode are the most that it grants to anybody (`acl(5)`).
//!
//! A file system that somebody's program serves (FUSE) says of every directory what that user likes: all of it is his.
//!
//! Only root is asked to think about it. What runs in the name of an ordinary user can do what that account can, and
//! groups that share a directory are how such users work together. Root, and whoever called sudo, is no stranger.

use std::fmt;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use sys::mounts::{self, Mount};
use sys::tree::Tree;

/// The sticky bit of a mode.
const STICKY: u32 = 0o1000;

/// Writing by the group and by others, in a mode.
const OTHERS_WRITE: u32 = 0o022;

/// Somebody else has a say in what a path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stranger {
    /// The directory that gives it to them; it is on the path.
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
        }
    }
}

/// The first directory on the way to `dir`, itself included, in which somebody else may rename; `None` where there is
/// none, and for whoever is not root. `dir` is absolute and without links, as `canonicalize` gives it: what is worked
/// in is then the very path that was looked at. An error means that nobody can say.
pub fn on_the_way_to(dir: &Path) -> io::Result<Option<Stranger>> {
    match ours() {
        Some(ours) => {
            let mounts = mounts::read(&Tree::real()).map_err(io::Error::other)?;
            look(dir, &ours, &mounts)
        }
        None => Ok(None),
    }
}

/// By which right somebody else may rename in a directory like this one; `None` for whoever is not root.
pub(crate) fn in_it(found: &Metadata) -> Option<Right> {
    ours().and_then(|ours| right(found.uid(), found.mode(), &ours))
}

/// Who is no stranger to root; `None` where we are not root.
fn ours() -> Option<Vec<u32>> {
    let caller = || std::env::var("SUDO_UID").ok()?.parse().ok();
    sys::probe::is_root().then(|| std::iter::once(0).chain(caller()).collect())
}

/// The way is looked at from the root down. When a step is looked at, no stranger can change it any more: the steps
/// before it are safe. A step that is a link was put there meanwhile, and is an error.
fn look(dir: &Path, ours: &[u32], mounts: &[Mount]) -> io::Result<Option<Stranger>> {
    let mut way: Vec<&Path> = dir.ancestors().collect();
    way.reverse();
    for step in way {
        let found = step.symlink_metadata()?;
        if !found.is_dir() {
            let why = format!("`{}` is no directory any more", step.display());
            return Err(io::Error::other(why));
        }
        let by = serves(mounts, found.dev(), ours);
        if let Some(by) = by.or_else(|| right(found.uid(), found.mode(), ours)) {
            return Ok(Some(Stranger {
                dir: step.to_owned(),
                by,
            }));
        }
    }
    Ok(None)
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
    fn every_directory_on_the_way_counts_and_none_may_be_a_link() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let me = root.metadata().unwrap().uid();
        let (middle, inner) = (root.join("middle"), root.join("middle/inner"));
        fs::create_dir_all(&inner).unwrap();
        symlink(&middle, root.join("link")).unwrap();
        let set = |dir: &Path, mode| fs::set_permissions(dir, Permissions::from_mode(mode));
        let found = |dir: &Path| look(dir, &[0, me], &[]).unwrap();
        for mode in [0o755, 0o1777] {
            set(&middle, mode).unwrap();
            assert_eq!(found(&inner), None, "{mode:o}");
        }
        set(&middle, 0o777).unwrap();
        let expect = Some(Stranger {
            dir: middle.clone(),
            by: Right::Mode(0o777),
        });
        assert_eq!(found(&inner), expect);
        assert_eq!(found(&root), None);
        set(&middle, 0o755).unwrap();
        assert!(look(&inner, &[me.wrapping_add(1)], &[]).unwrap().is_some());
        for gone in ["missing", "link", "link/inner"] {
            look(&root.join(gone), &[0, me], &[]).unwrap_err();
        }
    }
}
