//! Files that really lie elsewhere: those of a file system that shows files of another place under numbers of its own.
//!
//! An overlay, a program (FUSE), eCryptfs, another machine (NFS): the number of such a file says nothing of who uses
//! what is behind it. Of an overlay it can be found out: the file has the same path in one of its directories, which
//! /proc/self/mountinfo names, and there the same length, blocks and times, because an overlay tells those of the real
//! file (`ovl_getattr` of fs/overlayfs/inode.c). What is found so is looked at too. It never makes a file count as one
//! whose users are all seen.

use super::identity::{Thing, thing};
use crate::mounts::{self, Mount};
use crate::tree::{Tree, TreeError};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The most overlays on one another: far above the two that the kernel stacks (`FILESYSTEM_MAX_STACK_DEPTH`).
const DEEPEST: usize = 8;

/// How often is looked again where a file changes between two looks.
const LOOKS: usize = 3;

/// A file that really lies elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Elsewhere {
    /// The type of the file system that shows it.
    pub(super) kind: String,
    /// Another machine serves it.
    pub(super) is_remote: bool,
    /// The file that it really is, where that was found.
    pub(super) real: Option<(PathBuf, Thing)>,
}

impl Elsewhere {
    /// Whether a loop device on this file, which `ends` there, may lie on a file of this length under another number:
    /// where its own file really lies was not found, and it is on this machine. What shows another file shows all of
    /// it, and a device lies within its file, which may have grown since. What is not known rules nothing out.
    pub(super) fn may_be(&self, ends: Option<u64>, length: Option<u64>) -> bool {
        let is_beyond = ends.zip(length).is_some_and(|(end, length)| end > length);
        self.real.is_none() && !self.is_remote && !is_beyond
    }
}

/// The mounts of a process, and where its root is.
pub(super) struct View {
    mounts: Vec<Mount>,
    root: String,
}

impl View {
    /// Our own.
    pub(super) fn own(tree: &Tree) -> Result<Self, TreeError> {
        let (mounts, root) = (mounts::read(tree)?, String::new());
        Ok(Self { mounts, root })
    }

    /// Those of another process; paths begin at its root.
    pub(super) fn of(tree: &Tree, process: u32) -> Result<Self, TreeError> {
        let text = tree.read(&format!("/proc/{process}/mountinfo"))?;
        let (mounts, root) = (mounts::parse(&text), format!("/proc/{process}/root"));
        Ok(Self { mounts, root })
    }

    fn place(&self, tree: &Tree, path: &str) -> PathBuf {
        tree.place(&format!("{}{path}", self.root))
    }

    /// What is known of a file that lies elsewhere; `None` for one whose number says where it lies. `path` is believed
    /// only where it leads to the file.
    pub(super) fn elsewhere(
        &self,
        tree: &Tree,
        file: Thing,
        path: Option<&str>,
    ) -> Option<Elsewhere> {
        let mut looks = (0..LOOKS).map(|_| self.seek(tree, file, path, 0));
        let is_over = |found: &Option<Elsewhere>| found.as_ref().is_none_or(|it| it.real.is_some());
        let mut last = looks.next()?;
        while !is_over(&last) {
            match looks.next() {
                Some(next) => last = next,
                None => break,
            }
        }
        last
    }

    fn seek(
        &self,
        tree: &Tree,
        file: Thing,
        path: Option<&str>,
        depth: usize,
    ) -> Option<Elsewhere> {
        let Thing::File { device, .. } = file else {
            return None;
        };
        let by_number = mounts::of_device(&self.mounts, device);
        // One of a block device that is mounted elsewhere.
        let has_device = by_number.is_none() && libc::major(device) != 0;
        if has_device || by_number.is_some_and(Mount::keeps_files) {
            return None;
        }
        let leads = |path: &&str| thing(&self.place(tree, path)).is_ok_and(|found| found == file);
        let path = path.filter(leads);
        // Volumes of btrfs and files of overlays have numbers that no mount has.
        let by_path = path.and_then(|path| mounts::holding(&self.mounts, path));
        let Some(mount) = by_path.or(by_number) else {
            if self.is_volume(tree, device) {
                return None;
            }
            return Some(Elsewhere {
                kind: "of a kind that cannot be seen from here".to_owned(),
                is_remote: false,
                real: None,
            });
        };
        if mount.keeps_files() {
            return None;
        }
        let real = path.filter(|_| depth < DEEPEST);
        Some(Elsewhere {
            kind: mount.kind.clone(),
            is_remote: mount.is_remote(),
            real: real.and_then(|path| self.below(tree, mount, path, depth)),
        })
    }

    /// Whether this is the number of a volume of btrfs that is mounted: a file of it may have lost its path.
    fn is_volume(&self, tree: &Tree, device: u64) -> bool {
        let mut volumes = self.mounts.iter().filter(|mount| mount.kind == "btrfs");
        volumes.any(|mount| {
            let is_seen = mounts::holding(&self.mounts, &mount.point) == Some(mount);
            let root = thing(&self.place(tree, &mount.point));
            is_seen && matches!(root, Ok(Thing::File { device: own, .. }) if own == device)
        })
    }

    /// The file of a directory below an overlay that one of the overlay really is.
    fn below(
        &self,
        tree: &Tree,
        overlay: &Mount,
        path: &str,
        depth: usize,
    ) -> Option<(PathBuf, Thing)> {
        let within = overlay.within(path)?;
        let shown = self.place(tree, path).symlink_metadata().ok()?;
        let own = View::own(tree).ok()?;
        for layer in overlay.layers() {
            let path = format!("{}{within}", layer.trim_end_matches('/'));
            let place = tree.place(&path);
            let found = place.symlink_metadata().ok();
            if !layer.starts_with('/') || !found.is_some_and(|found| is_same(&shown, &found)) {
                continue;
            }
            let real = thing(&place).ok()?;
            return match own.seek(tree, real, Some(&path), depth + 1) {
                None => Some((path.into(), real)),
                Some(further) => further.real,
            };
        }
        None
    }
}

/// Whether what an overlay tells of a file is what is told of this one.
fn is_same(shown: &Metadata, real: &Metadata) -> bool {
    let of = |what: &Metadata| {
        let times = (
            what.mtime(),
            what.mtime_nsec(),
            what.ctime(),
            what.ctime_nsec(),
        );
        (what.len(), what.blocks(), times, what.uid(), what.mode())
    };
    real.is_file() && of(shown) == of(real)
}

/// A file that really lies elsewhere, as others are told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The type of the file system that shows it.
    pub kind: String,
    /// Where it really lies, with device and inode, where that was found.
    pub real: Option<(PathBuf, (u64, u64))>,
}

/// Whether the file with these numbers, to which `path` leads, really lies elsewhere.
pub fn shown(tree: &Tree, path: &Path, number: (u64, u64)) -> Result<Option<Shown>, TreeError> {
    let (device, inode) = number;
    let file = Thing::File { device, inode };
    let found = View::own(tree)?.elsewhere(tree, file, path.to_str());
    Ok(found.map(|found| Shown {
        kind: found.kind,
        real: found.real.and_then(|(path, real)| match real {
            Thing::File { device, inode } => Some((path, (device, inode))),
            Thing::Device(_) => None,
        }),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_behind_a_file_is_found_only_where_all_but_its_number_agrees() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        for name in ["m/d", "u", "l/d", "proc/self"] {
            std::fs::create_dir_all(root.join(name)).unwrap();
        }
        let file = |path: &str, text: &str| std::fs::write(root.join(path), text).unwrap();
        let link =
            |from: &str, to: &str| std::fs::hard_link(root.join(from), root.join(to)).unwrap();
        // What the kernel tells of a file of an overlay is all that is told of the real one.
        file("u/a", "x");
        link("u/a", "m/a");
        file("l/d/low", "x");
        link("l/d/low", "m/d/low");
        file("m/b", "x");
        file("u/b", "xy");
        let real = thing(&root.join("u/a")).unwrap();
        let Thing::File { device, .. } = real else {
            panic!("it is a file")
        };
        let number = format!("{}:{}", libc::major(device), libc::minor(device));
        let text = format!(
            "1 0 {number} / / rw - tmpfs x rw\n\
             30 1 0:99 / /m rw - overlay overlay rw,lowerdir=/l,upperdir=/u,workdir=/w\n\
             31 1 0:98 / /n rw - overlay overlay rw,lowerdir=l,upperdir=u\n"
        );
        file("proc/self/mountinfo", &text);
        let tree = Tree::at(root);
        let view = View::own(&tree).unwrap();
        let below = |overlay: usize, path: &str| view.below(&tree, &view.mounts[overlay], path, 0);
        assert_eq!(below(1, "/m/a"), Some((PathBuf::from("/u/a"), real)));
        let low = thing(&root.join("l/d/low")).unwrap();
        assert_eq!(below(1, "/m/d/low"), Some((PathBuf::from("/l/d/low"), low)));
        assert_eq!(below(1, "/m/b"), None, "another file has its name there");
        assert_eq!(below(1, "/m/c"), None, "it is not there");
        assert_eq!(below(2, "/n/a"), None, "the directories are none of ours");
    }

    #[test]
    fn a_file_whose_file_system_is_not_known_lies_elsewhere() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("proc/self")).unwrap();
        let text = "30 1 0:25 / / rw - btrfs /dev/sda rw\n31 1 0:26 / /n rw - nfs4 host:/ rw\n";
        std::fs::write(dir.path().join("proc/self/mountinfo"), text).unwrap();
        let tree = Tree::at(dir.path());
        let check = |device: u64, kind: Option<&str>, is_remote: bool| {
            let file = Thing::File { device, inode: 7 };
            let found = View::own(&tree).unwrap().elsewhere(&tree, file, Some("/x"));
            let found = found.as_ref();
            assert_eq!(found.map(|found| found.kind.as_str()), kind, "{device}");
            assert!(found.is_none_or(|found| found.is_remote == is_remote && found.real.is_none()));
        };
        check(libc::makedev(0, 25), None, false);
        check(libc::makedev(0, 26), Some("nfs4"), true);
        check(libc::makedev(8, 1), None, false);
        let unknown = "of a kind that cannot be seen from here";
        check(libc::makedev(0, 99), Some(unknown), false);
    }

    #[test]
    fn a_file_of_a_mounted_volume_that_has_lost_its_path_lies_there() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("proc/self")).unwrap();
        // What has a number that no line of mountinfo has, as the volumes of btrfs.
        std::os::unix::fs::symlink("/proc", dir.path().join("v")).unwrap();
        let device = std::fs::metadata("/proc").unwrap().dev();
        let file = Thing::File { device, inode: 7 };
        let tree = Tree::at(dir.path());
        let check = |text: &str, is_elsewhere: bool| {
            std::fs::write(dir.path().join("proc/self/mountinfo"), text).unwrap();
            let view = View::own(&tree).unwrap();
            for path in [None, Some("/gone (deleted)"), Some("/proc/version")] {
                let found = view.elsewhere(&tree, file, path);
                assert_eq!(found.is_some(), is_elsewhere, "{text} {path:?}");
            }
        };
        let volume = "30 1 9:25 /v /v rw - btrfs /dev/sda rw\n";
        let root = "29 1 9:24 / / rw - ext4 /dev/sdb rw\n";
        check(root, true);
        check(&format!("{root}{volume}"), false);
        check(
            &format!("{root}{}", volume.replace("btrfs", "overlay")),
            true,
        );
        // Another file system covers the volume, and has its own number there.
        let above = "31 30 9:26 / /v rw - nfs4 host:/ rw\n";
        check(&format!("{root}{volume}{above}"), true);
        check("30 1 9:25 /w /w rw - btrfs /dev/sda rw\n", true);
    }

    #[test]
    fn what_may_be_another_file_is_no_longer_and_what_is_not_known_may_be() {
        let check = |ends, length, expect| {
            let mut known = Elsewhere {
                kind: "overlay".to_owned(),
                is_remote: false,
                real: None,
            };
            assert_eq!(known.may_be(ends, length), expect, "{ends:?} {length:?}");
            known.is_remote = true;
            assert!(!known.may_be(ends, length));
            let real = Thing::File {
                device: 1,
                inode: 1,
            };
            known = Elsewhere {
                is_remote: false,
                real: Some(("/x".into(), real)),
                ..known
            };
            assert!(!known.may_be(ends, length));
        };
        check(Some(4096), Some(4096), true);
        check(Some(1024), Some(4096), true);
        check(Some(4608), Some(4096), false);
        check(None, Some(4096), true);
        check(Some(4096), None, true);
    }
}
