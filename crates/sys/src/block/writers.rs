//! Processes that may write to a device or a file: they have it open for writing, or mapped after it was closed.
//!
//! Looked at are numbers and not paths, so that another node of a device, a hard link or another mount namespace hides
//! nothing. What a process has open in an overlay is looked for in its directories too ([`super::elsewhere`]).
//! Threads that have descriptors of their own count as processes (unshare(2), `CLONE_FILES`; a main thread that has
//! ended). What cannot be looked at is said, because that a thing has no writer is true only of what was seen: other
//! users' processes, and those outside of a PID namespace of our own. What is only registered in an `io_uring`, or is
//! on its way through a socket, is not seen at all.

#![expect(unsafe_code, reason = "kcmp has no interface in std")]

use super::elsewhere::View;
use super::identity::{Thing, thing};
use crate::tree::{Tree, TreeError};
use std::cell::OnceCell;
use std::collections::BTreeSet;

/// The first PID namespace, in which every process is seen (`PROC_PID_INIT_INO` of `linux/proc_ns.h`, 0xEFFFFFFC).
const FIRST_NAMESPACE: &str = "pid:[4026531836]";

/// The first user namespace, whose root may look at every process (`PROC_USER_INIT_INO`, 0xEFFFFFFD).
const FIRST_USERS: &str = "user:[4026531837]";

/// How often is looked for processes that came during the last look. On a machine where none comes it is once. Most
/// looks at a program that forks all the time find it.
const LOOKS: usize = 50;

/// A process that may write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Writer {
    /// To which of the things, by place.
    pub(super) thing: usize,
    pub(super) process: u32,
    /// In words.
    pub(super) how: String,
}

/// Processes that may write, as far as they can be seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Writers {
    pub(super) found: Vec<Writer>,
    /// Others that were not seen; `None` where every process was.
    pub(super) unseen: Option<Unseen>,
}

/// What cannot be seen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unseen {
    /// All those outside of our PID namespace.
    #[error(
        "this is a PID namespace of its own, as containers have it, and programs outside of it cannot be seen"
    )]
    Outside,
    /// Those of other users: /proc does not list them.
    #[error("`/proc` is mounted with `hidepid`, and programs of other users cannot be seen")]
    Hidden,
    /// Those of other user namespaces than ours.
    #[error(
        "this is a user namespace of its own, as containers without root have it, and programs outside of it may not be looked at"
    )]
    OtherUsers,
    /// Who uses what lies behind a file system that shows files of another place: its type.
    #[error(
        "it lies on a file system whose files really lie elsewhere ({0}), and what is behind that cannot be seen"
    )]
    Elsewhere(String),
    /// Who uses a loop device that may be the same storage.
    #[error(
        "the loop device `{name}`, which may be the same storage, lies on a file system whose files really lie elsewhere ({kind}), and where that is cannot be seen"
    )]
    Maybe {
        /// The kernel's name.
        name: String,
        /// The type of the file system.
        kind: String,
    },
    /// Some that may not be looked at: the first of them.
    #[error("not every process may be looked at: {0}")]
    Denied(TreeError),
}

impl Unseen {
    /// Whether so much is hidden that what holds data must not be written to.
    pub const fn is_blind(&self) -> bool {
        !matches!(self, Self::Denied(_) | Self::Hidden)
    }
}

/// Who may write to one of `things`. Processes that end meanwhile are passed over.
pub(super) fn writers(tree: &Tree, things: &[Thing]) -> Writers {
    let mut all = Writers {
        unseen: horizon(tree),
        ..Writers::default()
    };
    let are_ours = process_in_proc(tree) == std::process::id();
    // A kernel without user namespaces has no such link.
    let is_first = match tree.link("/proc/self/ns/user") {
        Ok(link) => link == FIRST_USERS,
        Err(error) => error.absent,
    };
    // Some processes let not even root see their mappings, such as a first one that the kernel protects.
    let is_root = is_first && crate::probe::is_root();
    let mut seen = BTreeSet::new();
    let looks = (0..=LOOKS).map(|_| newcomers(tree, &mut seen));
    for process in looks.take_while(|new| !new.is_empty()).flatten() {
        let view = OnceCell::new();
        for task in tasks(tree, process, are_ours) {
            let mut look = Look {
                tree,
                process,
                task,
                things,
                view: &view,
                all: &mut all,
            };
            let mapped = |error: &TreeError| !(is_root && error.operation == "read");
            let denied = match look.descriptors() {
                Ok(()) => look.mappings().err().filter(mapped),
                Err(error) => Some(error),
            };
            if let Some(error) = denied.filter(|error| !error.absent) {
                all.unseen.get_or_insert(if is_first {
                    Unseen::Denied(error)
                } else {
                    Unseen::OtherUsers
                });
            }
        }
    }
    all
}

/// The processes that are not among those `seen`, which they join.
fn newcomers(tree: &Tree, seen: &mut BTreeSet<u32>) -> Vec<u32> {
    let names = tree.list("/proc").unwrap_or_default();
    let processes = names.iter().filter_map(|name| name.parse().ok());
    processes.filter(|process| seen.insert(*process)).collect()
}

/// What keeps processes from being seen at all.
fn horizon(tree: &Tree) -> Option<Unseen> {
    let is_first = |process: &str| {
        let link = tree.link(&format!("/proc/{process}/ns/pid")).ok()?;
        Some(link == FIRST_NAMESPACE)
    };
    // What counts is the namespace that /proc tells of. Where its first process cannot be asked, ours can.
    match is_first("1").or_else(|| is_first("self")) {
        // Every namespace has a first process.
        Some(true) if !tree.exists("/proc/1") => Some(Unseen::Hidden),
        Some(true) => None,
        _ => Some(Unseen::Outside),
    }
}

/// The number of this process in /proc, which may tell of another PID namespace than ours.
pub fn process_in_proc(tree: &Tree) -> u32 {
    let own = tree.link("/proc/self").ok();
    let own = own.and_then(|link| link.parse().ok());
    own.unwrap_or_else(std::process::id)
}

/// The threads of a process that may have descriptors of their own, the first one always. The kernel can be asked where
/// the numbers of /proc are ours.
fn tasks(tree: &Tree, process: u32, are_ours: bool) -> Vec<u32> {
    let threads = tree.list(&format!("/proc/{process}/task"));
    let threads = threads.unwrap_or_default();
    let threads = threads.iter().filter_map(|name| name.parse().ok());
    let own = threads
        .filter(|&thread| thread != process && !(are_ours && share_descriptors(process, thread)));
    std::iter::once(process).chain(own).collect()
}

/// Whether two threads surely have the same descriptors.
fn share_descriptors(one: u32, other: u32) -> bool {
    /// linux/kcmp.h.
    const KCMP_FILES: libc::c_long = 2;
    // SAFETY: kcmp takes numbers only, and compares.
    let compared = unsafe {
        libc::syscall(
            libc::SYS_kcmp,
            libc::c_long::from(one),
            libc::c_long::from(other),
            KCMP_FILES,
            0,
            0,
        )
    };
    compared == 0
}

/// A look at one task.
struct Look<'a> {
    tree: &'a Tree,
    process: u32,
    task: u32,
    things: &'a [Thing],
    /// The mounts of the process, once they are needed; `None` where they cannot be read.
    view: &'a OnceCell<Option<View>>,
    all: &'a mut Writers,
}

impl Look<'_> {
    /// Which of the things a link of /proc leads to, through an overlay too.
    fn place_of(&mut self, link: &str, found: Thing) -> Option<usize> {
        let at = |found: Thing| self.things.iter().position(|known| *known == found);
        at(found).or_else(|| at(self.behind(link, found)?))
    }

    /// What a file of an overlay really is. Files of a file system with a block device are what they seem.
    fn behind(&mut self, link: &str, found: Thing) -> Option<Thing> {
        let Thing::File { device, .. } = found else {
            return None;
        };
        let is_file = |thing: &Thing| matches!(thing, Thing::File { .. });
        if libc::major(device) != 0 || !self.things.iter().any(is_file) {
            return None;
        }
        // Pipes and sockets have no path.
        let path = self.tree.link(link).ok()?;
        if !path.starts_with('/') || path.starts_with("/dev/") {
            return None;
        }
        let (tree, process) = (self.tree, self.process);
        let view = self.view.get_or_init(|| View::of(tree, process).ok());
        let known = view.as_ref()?.elsewhere(tree, found, Some(&path))?;
        Some(known.real?.1)
    }

    fn add(&mut self, thing: usize, what: &str) {
        let comm = self
            .tree
            .read_trimmed(&format!("/proc/{}/comm", self.process));
        let name = comm.unwrap_or_else(|_| "?".to_owned());
        let writer = Writer {
            thing,
            process: self.process,
            how: format!("{what} in process {} (`{name}`)", self.process),
        };
        if !self.all.found.contains(&writer) {
            self.all.found.push(writer);
        }
    }

    fn descriptors(&mut self) -> Result<(), TreeError> {
        /// The access mode in the flags of `/proc/PID/fdinfo`, and its value for reading only.
        const ACCESS_MODE: u32 = 0o3;
        const READ_ONLY: u32 = 0;
        let task = self.task;
        for fd in self.tree.list(&format!("/proc/{task}/fd"))? {
            let link = format!("/proc/{task}/fd/{fd}");
            let Ok(found) = thing(&self.tree.place(&link)) else {
                continue;
            };
            let known = self.things.contains(&found);
            let is_alone = matches!(found, Thing::File { device, .. } if libc::major(device) == 0);
            if !known && !is_alone {
                continue;
            }
            let info = self.tree.read(&format!("/proc/{task}/fdinfo/{fd}"));
            let info = info.unwrap_or_default();
            let flags = info
                .lines()
                .find_map(|line| line.strip_prefix("flags:"))
                .and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
            if flags.is_none_or(|flags| flags & ACCESS_MODE != READ_ONLY)
                && let Some(at) = self.place_of(&link, found)
            {
                self.add(at, "open for writing");
            }
        }
        Ok(())
    }

    fn mappings(&mut self) -> Result<(), TreeError> {
        let task = self.task;
        let mut shared = Vec::new();
        let maps = format!("/proc/{task}/maps");
        self.tree
            .each_line(&maps, |line| shared.extend(shared_mapping(line)))?;
        for mapping in shared {
            let link = format!("/proc/{task}/map_files/{}", mapping.range);
            let place = self.tree.place(&link);
            // The link's own mode tells how the file was opened: what was opened for writing can be mapped so at any
            // time (mprotect(2)).
            let may_write = mapping.writes
                || std::fs::symlink_metadata(&place).is_ok_and(|link| {
                    use std::os::unix::fs::PermissionsExt;
                    link.permissions().mode() & 0o200 != 0
                });
            if !may_write {
                continue;
            }
            match thing(&place) {
                Ok(found) => {
                    if let Some(at) = self.place_of(&link, found) {
                        self.add(at, "mapped for writing");
                    }
                }
                Err(error) => {
                    let error = TreeError::io("look at", &link, &error);
                    if !error.absent {
                        return Err(error);
                    }
                }
            }
        }
        Ok(())
    }
}

/// A mapping that others see the writes of.
#[derive(Debug, PartialEq, Eq)]
struct Mapping {
    /// As `/proc/PID/map_files` names it.
    range: String,
    writes: bool,
}

/// A line of `/proc/PID/maps`: `start-end perms offset major:minor inode path`; `None` for what is private, or no file.
fn shared_mapping(line: &str) -> Option<Mapping> {
    let mut parts = line.split_ascii_whitespace();
    let (start, end) = parts.next()?.split_once('-')?;
    let permissions = parts.next()?;
    let inode = parts.nth(2)?;
    if !permissions.ends_with('s') || inode == "0" {
        return None;
    }
    // The addresses have leading zeros here, and none there.
    let address = |text: &str| u64::from_str_radix(text, 16).ok();
    Some(Mapping {
        range: format!("{:x}-{:x}", address(start)?, address(end)?),
        writes: permissions.contains('w'),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_mappings_of_files_are_told_from_others() {
        for (line, expected) in [
            (
                "00400000-0047c000 rw-s 00000000 00:06 371                              /dev/sdb",
                Some(("400000-47c000", true)),
            ),
            (
                "7f0a00000000-7f0a00001000 r--s 00000000 fe:00 26 /with space (deleted)",
                Some(("7f0a00000000-7f0a00001000", false)),
            ),
            ("00400000-0047c000 rw-p 00000000 fe:00 26 /x", None),
            ("00400000-0047c000 rw-s 00000000 00:00 0 ", None),
            ("00400000-0047c000 rw-s", None),
            ("", None),
        ] {
            let found = shared_mapping(line);
            let found = found
                .as_ref()
                .map(|found| (found.range.as_str(), found.writes));
            assert_eq!(found, expected, "{line}");
        }
    }

    #[test]
    fn what_may_not_be_looked_at_hides_nothing_from_root_but_outside_of_a_user_namespace() {
        let dir = tempfile::tempdir().unwrap();
        let tree = Tree::at(dir.path());
        // No file, and no absent one: it cannot be read.
        std::fs::create_dir_all(dir.path().join("proc/1/maps")).unwrap();
        std::fs::create_dir_all(dir.path().join("proc/1/fd")).unwrap();
        let space = dir.path().join("proc/self/ns");
        std::fs::create_dir_all(&space).unwrap();
        std::os::unix::fs::symlink(FIRST_NAMESPACE, space.join("pid")).unwrap();
        let users = |link: &str| {
            let _ = std::fs::remove_file(space.join("user"));
            std::os::unix::fs::symlink(link, space.join("user")).unwrap();
            writers(&tree, &[]).unseen
        };
        let first = users(FIRST_USERS);
        assert_eq!(first.is_none(), crate::probe::is_root(), "{first:?}");
        assert!(first.is_none_or(|unseen| !unseen.is_blind()));
        assert_eq!(users("user:[4026532288]"), Some(Unseen::OtherUsers));
        // What it has open may not be looked at either.
        std::fs::remove_dir(dir.path().join("proc/1/fd")).unwrap();
        std::os::unix::fs::symlink("fd", dir.path().join("proc/1/fd")).unwrap();
        assert!(matches!(users(FIRST_USERS), Some(Unseen::Denied(_))));
    }

    #[test]
    fn what_cannot_be_seen_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let tree = Tree::at(dir.path());
        let link = |process: &str, to: &str| {
            let path = dir.path().join(format!("proc/{process}/ns"));
            std::fs::create_dir_all(&path).unwrap();
            let _ = std::fs::remove_file(path.join("pid"));
            std::os::unix::fs::symlink(to, path.join("pid")).unwrap();
        };
        assert_eq!(horizon(&tree), Some(Unseen::Outside));
        link("self", "pid:[4026532288]");
        assert_eq!(horizon(&tree), Some(Unseen::Outside));
        link("self", FIRST_NAMESPACE);
        assert_eq!(horizon(&tree), Some(Unseen::Hidden), "1 is not listed");
        std::fs::create_dir(dir.path().join("proc/1")).unwrap();
        assert_eq!(horizon(&tree), None, "1 is listed, and may not be asked");
        link("1", "pid:[4026532288]");
        assert_eq!(horizon(&tree), Some(Unseen::Outside));
        link("1", FIRST_NAMESPACE);
        link("self", "pid:[4026532288]");
        assert_eq!(horizon(&tree), None, "/proc tells of all processes");
    }
}
