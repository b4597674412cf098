//! Which loop devices lie on a regular file, and of which that cannot be said.

use super::device::{self, CLASS, Number};
use super::elsewhere::View;
use super::family::{Ask, SECTOR_BYTES, disk_of};
use super::identity::{self, Backing, Thing};
use crate::tree::{Tree, TreeError};

/// Why it cannot be said whether a loop device lies on a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unasked {
    /// Neither /sys nor /proc tells which there are.
    #[error("which loop devices there are cannot be found out ({0})")]
    Unlisted(TreeError),
    /// The kernel does not say what this one lies on, and its path, if it is known, leads nowhere from here.
    #[error("the loop device `{name}`{} cannot be asked what it lies on ({why})", on(.path.as_deref()))]
    Loop {
        /// The kernel's name.
        name: String,
        /// The file that it lies on, by a name that may be one of another mount namespace.
        path: Option<String>,
        /// Why it cannot be asked.
        why: TreeError,
    },
    /// It lies on a file that may be another one by its real name.
    #[error(
        "the loop device `{name}`{} lies on a file system whose files really lie elsewhere ({kind}), and where that is cannot be found out", on(.path.as_deref())
    )]
    Elsewhere {
        /// The kernel's name.
        name: String,
        /// The file that it lies on.
        path: Option<String>,
        /// The type of the file system.
        kind: String,
    },
}

fn on(path: Option<&str>) -> String {
    path.map_or_else(String::new, |path| {
        format!(", which is said to lie on `{path}`,")
    })
}

/// A regular file whose users are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfFile {
    /// The number of its file system.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
    /// Its length in bytes.
    pub length: u64,
}

impl OfFile {
    pub(super) const fn thing(&self) -> Thing {
        Thing::File {
            device: self.device,
            inode: self.inode,
        }
    }
}

/// The loop devices that lie on one of these regular files: the place of the file, and the loop's name; and one of
/// which that cannot be said. Where a loop device may not be asked, its path is believed if it leads to a file: who may
/// not open the device may still own the file.
pub(super) fn loops_on_files(
    tree: &Tree,
    files: &[OfFile],
    ask: Ask<'_>,
) -> (Vec<(usize, String)>, Option<Unasked>) {
    let (mut found, mut unasked) = (Vec::new(), None);
    let view = View::own(tree);
    let all = loops(tree).unwrap_or_else(|why| {
        unasked = Some(Unasked::Unlisted(why));
        Vec::new()
    });
    for Looped { name, number, path } in all {
        let backing = match ask(&name, number) {
            Ok(backing) => backing,
            Err(why) => {
                let known = path.as_ref().filter(|path| !path.ends_with(DELETED));
                let on = known.and_then(|path| identity::thing(&tree.place(path)).ok());
                let Some(on) = on else {
                    unasked.get_or_insert(Unasked::Loop { name, path, why });
                    continue;
                };
                Some(Backing {
                    on,
                    offset: 0,
                    is_limited: true,
                })
            }
        };
        let Some(backing) = backing else { continue };
        let known = match &view {
            Ok(view) => view.elsewhere(tree, backing.on, path.as_deref()),
            Err(_) => None,
        };
        let real = known.as_ref().and_then(|known| known.real.as_ref());
        let real = real.map(|(_, real)| *real);
        let is_on = |file: &OfFile| [Some(backing.on), real].contains(&Some(file.thing()));
        if let Some(place) = files.iter().position(is_on) {
            found.push((place, name));
        } else if let Some(known) = known {
            let ends = end_of(tree, &name, backing);
            let may_be = |file: &OfFile| known.may_be(ends, Some(file.length));
            if files.iter().any(may_be) {
                let kind = known.kind;
                unasked.get_or_insert(Unasked::Elsewhere { name, path, kind });
            }
        } else if let (Err(why), Thing::File { device, .. }) = (&view, backing.on)
            && libc::major(device) == 0
        {
            let why = why.clone();
            unasked.get_or_insert(Unasked::Loop { name, path, why });
        }
    }
    (found, unasked)
}

/// Where a loop device ends on what it lies on; `None` where that is not told.
fn end_of(tree: &Tree, name: &str, backing: Backing) -> Option<u64> {
    let sectors = tree.read_number(&format!("{CLASS}/{name}/size")).ok()?;
    let bytes = sectors.saturating_mul(SECTOR_BYTES);
    Some(backing.offset.saturating_add(bytes))
}

/// How the kernel ends the path of a file that has lost this name (`d_path` of `fs/d_path.c`).
const DELETED: &str = " (deleted)";

/// The major number of loop devices (`LOOP_MAJOR` of linux/major.h).
const LOOP_MAJOR: u32 = 7;

/// A loop device with something behind it.
struct Looped {
    name: String,
    number: Number,
    /// `None` where it could not be read.
    path: Option<String>,
}

/// Every loop device, by `/sys/class/block` and by `/proc/partitions`: one of them is enough, and neither hides what
/// the other tells.
fn loops(tree: &Tree) -> Result<Vec<Looped>, TreeError> {
    let mut found: Vec<Looped> = Vec::new();
    let listed = tree.list(CLASS);
    for name in listed.iter().flatten() {
        let path = match tree.read_trimmed(&format!("{CLASS}/{name}/loop/backing_file")) {
            Err(error) if error.absent => continue,
            other => other.ok(),
        };
        // Without a number it has gone meanwhile.
        if let Some(number) = device::own_number(tree, name)? {
            let name = name.clone();
            found.push(Looped { name, number, path });
        }
    }
    // Without a heading it is hidden, or there is no device at all.
    let partitions = tree.read("/proc/partitions").unwrap_or_default();
    if let Err(error) = listed
        && !partitions.starts_with("major")
    {
        return Err(error);
    }
    // `major minor #blocks name`, below a heading; what has no size is not listed.
    for line in partitions.lines() {
        let mut words = line.split_whitespace();
        let mut number = || words.next()?.parse().ok();
        if let (Some(LOOP_MAJOR), Some(minor)) = (number(), number())
            && let Some(name) = words.nth(1)
        {
            let number = Number {
                major: LOOP_MAJOR,
                minor,
            };
            let is_known = found.iter().any(|known| known.number == number);
            // A partition of one is a stretch of the same file.
            let is_partition = disk_of(tree, name).is_some();
            if !is_known && !is_partition {
                let name = name.to_owned();
                found.push(Looped {
                    name,
                    number,
                    path: None,
                });
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_device_on_a_file_that_lies_elsewhere_may_lie_on_any_of_its_length() {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("sys/class/block/loop3/dev", "7:3\n");
        write("sys/class/block/loop3/size", "2\n");
        write("sys/class/block/loop3/loop/backing_file", "/gone/image\n");
        let tree = Tree::at(dir.path());
        let check = |kind: &str, length: u64, offset: u64, is_limited: bool, expect: bool| {
            let mount = format!("30 1 0:99 / /m rw - {kind} x rw,upperdir=/u\n");
            write("proc/self/mountinfo", &mount);
            let on = Thing::File {
                device: libc::makedev(0, 99),
                inode: 5,
            };
            let backing = Backing {
                on,
                offset,
                is_limited,
            };
            let file = OfFile {
                device: libc::makedev(8, 1),
                inode: 7,
                length,
            };
            let (found, unasked) = loops_on_files(&tree, &[file], &|_, _| Ok(Some(backing)));
            assert_eq!(found, []);
            let said = unasked.map(|unasked| unasked.to_string());
            assert_eq!(said.is_some(), expect, "{kind} {length}: {said:?}");
            assert!(said.is_none_or(|said| said.contains("`/gone/image`")));
        };
        for kind in ["overlay", "fuse.bindfs", "ecryptfs", "a-new-one"] {
            check(kind, 1024, 0, false, true);
            check(kind, 1100, 0, false, true);
            // The file has grown since.
            check(kind, 4096, 0, false, true);
            check(kind, 4096, 3072, false, true);
            check(kind, 4096, 0, true, true);
            check(kind, 1000, 0, false, false);
            check(kind, 4096, 3584, false, false);
        }
        check("nfs4", 1024, 0, false, false);
        check("btrfs", 1024, 0, false, false);
        // What cannot be read rules nothing out.
        write("sys/class/block/loop3/size", "");
        check("overlay", 1, 0, false, true);
        check("nfs4", 1, 0, false, false);
    }

    #[test]
    fn without_mountinfo_a_file_without_a_device_may_be_any() {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("dev", "7:3\n"),
            ("size", "2\n"),
            ("loop/backing_file", "/x\n"),
        ] {
            let path = dir.path().join("sys/class/block/loop3").join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let said = |(major, minor), inode| {
            let device = libc::makedev(major, minor);
            let backing = Backing {
                on: Thing::File { device, inode },
                offset: 0,
                is_limited: false,
            };
            let file = OfFile {
                device: libc::makedev(0, 30),
                inode: 7,
                length: 1,
            };
            let all = &|_: &str, _| Ok(Some(backing));
            let (found, unasked) = loops_on_files(&Tree::at(dir.path()), &[file], all);
            (found.len(), unasked.map(|unasked| unasked.to_string()))
        };
        let (found, why) = said((0, 40), 7);
        assert_eq!(found, 0);
        assert!(
            why.unwrap()
                .ends_with("(read `/proc/self/mountinfo`: ENOENT)")
        );
        assert_eq!(said((0, 30), 7), (1, None), "it is the file");
        assert_eq!(said((8, 1), 7), (0, None), "its number says where it lies");
    }
}
