//! The places of one start of the experiments: a name that nobody else has, a scratch directory, and what earlier
//! starts left.
//!
//! Everything that lives outside of the process (control groups, loop devices, mounts, network namespaces, the scratch
//! directory) carries the name `kurabe-truth-PID-START`, where START is the process's start time as the kernel counts
//! it. What carries such a name and whose process is gone was left by a start that was killed, and is taken away.
//! Nothing else is ever touched.

use super::throttle::{self, Layout};
use anyhow::Context;
use std::fs;
use std::path::{Path, PathBuf};
use sys::tree::Tree;
use xtask::process::{command, succeed};

const PREFIX: &str = "kurabe-truth-";

/// The scratch directory of this start; removed when it goes out of scope, with everything in it.
#[derive(Debug)]
pub(crate) struct Place {
    /// The name of everything that this start makes.
    pub(crate) name: String,
    /// A directory on a real file system.
    pub(crate) dir: PathBuf,
}

impl Place {
    /// Makes the scratch directory in `parent`.
    pub(crate) fn make(parent: &Path) -> anyhow::Result<Self> {
        let name = own_name()?;
        let dir = parent.join(&name);
        fs::create_dir_all(&dir).with_context(|| format!("create `{}`", dir.display()))?;
        Ok(Self { name, dir })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.dir) {
            say!("warning: remove `{}`: {error}", self.dir.display());
        }
    }
}

/// The name of everything that this start makes.
pub(crate) fn own_name() -> anyhow::Result<String> {
    let pid = std::process::id();
    let start = start_of(&Tree::real(), pid).context("read our own start time")?;
    Ok(format!("{PREFIX}{pid}-{start}"))
}

/// The start time of a process, in clock ticks since boot: field 22 of /proc/PID/stat (`proc_pid_stat(5)`). `None`
/// where there is none, or one that has ended and whose parent has not noticed.
fn start_of(tree: &Tree, pid: u32) -> Option<u64> {
    let text = tree.read(&format!("/proc/{pid}/stat")).ok()?;
    // The second field is the program's name in brackets, which may hold anything.
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let ended = matches!(fields.next()?, "Z" | "X");
    let start = fields.nth(18)?.parse().ok()?;
    (!ended).then_some(start)
}

/// The part of `text` that is a name of ours whose process is gone.
fn stale_name<'a>(tree: &Tree, text: &'a str) -> Option<&'a str> {
    let begin = text.find(PREFIX)?;
    let name = text[begin..]
        .split(|c: char| c.is_whitespace() || "/.".contains(c))
        .next()?;
    let mut parts = name[PREFIX.len()..].splitn(3, '-');
    let pid: u32 = parts.next()?.parse().ok()?;
    let start: u64 = parts.next()?.parse().ok()?;
    (start_of(tree, pid) != Some(start)).then_some(name)
}

/// Takes away what killed starts left: processes in their groups, mounts, loop devices, groups, directories.
pub(crate) fn sweep(parent: &Path, layout: Option<&Layout>) -> anyhow::Result<()> {
    let tree = Tree::real();
    let groups: Vec<PathBuf> = layout
        .iter()
        .flat_map(|layout| layout.hierarchies())
        .flat_map(|dir| stale_in(&tree, dir))
        .collect();
    for group in &groups {
        kill_members(parent, group)?;
    }
    for mount in sys::mounts::read(&tree).context("read the mounts")? {
        if stale_name(&tree, &mount.point).is_some() {
            say!("unmounts `{}`, left by a killed start", mount.point);
            succeed(command(parent, "umount").arg(&mount.point))?;
        }
    }
    for device in tree.list("/sys/block").unwrap_or_default() {
        let backing = tree.read_trimmed(&format!("/sys/block/{device}/loop/backing_file"));
        if backing.is_ok_and(|path| stale_name(&tree, &path).is_some()) {
            say!("detaches `/dev/{device}`, left by a killed start");
            succeed(command(parent, "losetup").args(["--detach", &format!("/dev/{device}")]))?;
        }
    }
    for group in &groups {
        say!(
            "removes the group `{}`, left by a killed start",
            group.display()
        );
        throttle::remove(group)?;
    }
    for dir in stale_in(&tree, parent) {
        fs::remove_dir_all(&dir).with_context(|| format!("remove `{}`", dir.display()))?;
    }
    Ok(())
}

/// What is in `dir` and has a stale name.
pub(crate) fn stale_in(tree: &Tree, dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .filter(|entry| stale_name(tree, &entry.file_name().to_string_lossy()).is_some())
        .map(|entry| entry.path())
        .collect()
}

/// Ends the processes in a group of ours: they were started by the start that was killed.
fn kill_members(dir: &Path, group: &Path) -> anyhow::Result<()> {
    let path = group.join("cgroup.procs");
    let members =
        fs::read_to_string(&path).with_context(|| format!("read `{}`", path.display()))?;
    for pid in members.lines().filter(|pid| *pid != "0") {
        // One that ended meanwhile is what was wanted.
        xtask::process::succeeds(command(dir, "kill").args(["-KILL", pid]));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_ours_whose_process_is_gone_are_stale() {
        let root = tempfile::tempdir().unwrap();
        let fields: Vec<String> = (4..=30).map(|n| (n * 10).to_string()).collect();
        for (pid, state) in [(77, 'S'), (78, 'Z')] {
            let dir = root.path().join(format!("proc/{pid}"));
            fs::create_dir_all(&dir).unwrap();
            let stat = format!("{pid} (a) b) {state} {}", fields.join(" "));
            fs::write(dir.join("stat"), stat).unwrap();
        }
        let tree = Tree::at(root.path());
        assert_eq!(start_of(&tree, 77), Some(220));
        let check = |text: &str, expect: Option<&str>| {
            assert_eq!(stale_name(&tree, text), expect, "{text}");
        };
        check("kurabe-truth-77-220", None);
        check("kurabe-truth-77-220-d3", None);
        check("kurabe-truth-77-221", Some("kurabe-truth-77-221"));
        check("kurabe-truth-78-220", Some("kurabe-truth-78-220"));
        check(
            "/x/kurabe-truth-79-1-d0/disk.img",
            Some("kurabe-truth-79-1-d0"),
        );
        check("kurabe-truth-78", None);
        check("/home/kurabe", None);
    }

    #[test]
    fn a_place_is_gone_when_it_is_dropped_and_is_not_swept_before() {
        let parent = tempfile::tempdir().unwrap();
        let place = Place::make(parent.path()).unwrap();
        let dead = parent.path().join("kurabe-truth-1-999999999999");
        fs::create_dir(&dead).unwrap();
        let stale = stale_in(&Tree::real(), parent.path());
        assert_eq!(stale, [dead]);
        assert!(place.dir.is_dir());
        let dir = place.dir.clone();
        drop(place);
        assert!(!dir.exists());
    }
}
