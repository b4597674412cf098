//! Who uses a block device: mounts, swap, arrays, mappings, loops, and processes that have it open for writing.
//!
//! Looked at is not only the device but its whole family: the disk that a partition lies on, the partitions of a disk,
//! everything that holds one of these, everything that it is made of, and other devices that are the same storage; of
//! regular files, loop devices and processes. Sources: sysfs (`holders`, `slaves`, `dm`, `md`, `bcache`, `loop`,
//! `wwid`), /proc/self/mountinfo, /proc/swaps, /sys/fs/btrfs and the processes' fd and fdinfo. Where mounts, swap or
//! holders of a device cannot be read that is an error, never "not used". What not every device has, processes that end
//! or are others', and regular files are passed over: the kernel's claim on a device is the second guard.

use super::device::CLASS;
use crate::mounts;
use crate::tree::{Tree, TreeError};
use std::collections::BTreeSet;

/// One use of a device or of a relative of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// The kernel's name of the device that is used, such as `sdb1`.
    pub device: String,
    /// What uses it, in words: ``mounted at `/srv` ``.
    pub how: String,
    /// The process that has it open, where that is all: udev and losetup open every device for a moment.
    pub process: Option<u32>,
}

impl std::fmt::Display for Use {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}` is {}", self.device, self.how)
    }
}

/// The disk that a partition lies on; `None` for anything but a partition.
pub fn disk_of(tree: &Tree, name: &str) -> Option<String> {
    if !tree.exists(&format!("{CLASS}/{name}/partition")) {
        return None;
    }
    let target = tree.link(&format!("{CLASS}/{name}")).ok()?;
    let mut parts = target.rsplit('/').skip(1);
    parts.next().map(str::to_owned)
}

/// The partitions of a disk; empty for anything else.
pub fn partitions(tree: &Tree, name: &str) -> Vec<String> {
    let mut found = tree.list(&format!("{CLASS}/{name}")).unwrap_or_default();
    found.retain(|part| tree.exists(&format!("{CLASS}/{name}/{part}/partition")));
    found
}

/// Every use of `name` and its family, the device's own first; empty for a device that nobody uses.
pub fn uses(tree: &Tree, name: &str) -> Result<Vec<Use>, TreeError> {
    let family = family(tree, name)?;
    let mut found = Vec::new();
    for device in &family {
        let mut add = |how: String| {
            found.push(Use {
                device: device.clone(),
                how,
                process: None,
            });
        };
        stacked(tree, device, &mut add);
        for holder in list(tree, &format!("{CLASS}/{device}/holders"))? {
            add(format!("held by `{holder}`"));
        }
        mounted(tree, device, &mut add)?;
        swapped(tree, device, &mut add)?;
        looped(tree, device, name, &mut add)?;
        written(tree, device, &mut |process, how| {
            found.push(Use {
                device: device.clone(),
                how,
                process: Some(process),
            });
        });
    }
    Ok(found)
}

/// The device, its partitions, its disk, all that hold one of them and all that it is made of; and where other devices
/// are the same storage under another name, those with theirs.
fn family(tree: &Tree, name: &str) -> Result<Vec<String>, TreeError> {
    let mut found = vec![name.to_owned()];
    // A device that is not there has no family, and nothing may be said of it.
    tree.list(&format!("{CLASS}/{name}"))?;
    found.extend(partitions(tree, name));
    found.extend(disk_of(tree, name));
    let mut seen: BTreeSet<String> = found.iter().cloned().collect();
    let mut next = 0;
    while let Some(device) = found.get(next).cloned() {
        next += 1;
        let mut relatives = list(tree, &format!("{CLASS}/{device}/holders"))?;
        for same in the_same_storage(tree, &device)? {
            relatives.extend(partitions(tree, &same));
            relatives.extend(disk_of(tree, &same));
            relatives.push(same);
        }
        if device == name {
            relatives.extend(list(tree, &format!("{CLASS}/{device}/slaves"))?);
        }
        found.extend(
            relatives
                .into_iter()
                .filter(|relative| seen.insert(relative.clone())),
        );
    }
    Ok(found)
}

/// Other devices that are the same storage: what a loop device lies on, other loop devices on the same file, and other
/// paths to the disk of this world-wide name. The kernel claims each of them on its own.
fn the_same_storage(tree: &Tree, device: &str) -> Result<Vec<String>, TreeError> {
    let wide_name = |name: &str| {
        let files = ["wwid", "device/wwid"];
        let mut names = files
            .iter()
            .filter_map(|file| tree.read_trimmed(&format!("{CLASS}/{name}/{file}")).ok());
        names.find(|name| !name.is_empty())
    };
    let (own_file, own_name) = (backing_file(tree, device), wide_name(device));
    let mut found: Vec<String> = Vec::new();
    for other in tree.list(CLASS)? {
        let is_same = other != device
            && (own_file.is_some() && backing_file(tree, &other) == own_file
                || own_name.is_some() && wide_name(&other) == own_name);
        let is_beneath = own_file.as_deref() == Some(&format!("/dev/{other}"));
        if is_same || is_beneath {
            found.push(other);
        }
    }
    Ok(found)
}

/// The file or device that a loop device lies on; `None` for any other device.
fn backing_file(tree: &Tree, name: &str) -> Option<String> {
    let file = tree.read_trimmed(&format!("{CLASS}/{name}/loop/backing_file"));
    file.ok().map(|file| tree.resolve(&file).unwrap_or(file))
}

/// What is in a directory; nothing where it is not there, as for a partition's `slaves`.
fn list(tree: &Tree, path: &str) -> Result<Vec<String>, TreeError> {
    match tree.list(path) {
        Err(error) if error.absent => Ok(Vec::new()),
        other => other,
    }
}

/// Devices that are made of others: what is written to them lands where somebody else keeps the books.
fn stacked(tree: &Tree, device: &str, add: &mut impl FnMut(String)) {
    let has = |what: &str| tree.exists(&format!("{CLASS}/{device}/{what}"));
    if has("md") {
        add("a software RAID array (md)".to_owned());
    }
    if has("dm") {
        let uuid = tree.read_trimmed(&format!("{CLASS}/{device}/dm/uuid"));
        add(match uuid {
            Ok(uuid) if uuid.starts_with("LVM-") => "an LVM volume".to_owned(),
            _ => "a device-mapper device".to_owned(),
        });
    }
    if has("bcache") {
        add("part of a bcache".to_owned());
    }
    for (beginning, what) in [("zd", "a ZFS volume"), ("drbd", "a DRBD device")] {
        let numbered = device.strip_prefix(beginning).is_some_and(|rest| {
            !rest.is_empty() && rest.chars().all(|c| c.is_ascii_digit() || c == 'p')
        });
        if numbered {
            add(what.to_owned());
        }
    }
}

fn mounted(tree: &Tree, device: &str, add: &mut impl FnMut(String)) -> Result<(), TreeError> {
    let number = tree.read_trimmed(&format!("{CLASS}/{device}/dev"))?;
    let node = format!("/dev/{device}");
    for mount in mounts::read(tree)? {
        if mount.device == number || mount.source == node {
            add(format!("mounted at `{}`", mount.point));
        }
    }
    // A btrfs of several devices names one of them in mountinfo and all of them here.
    for id in list(tree, "/sys/fs/btrfs")? {
        let members = list(tree, &format!("/sys/fs/btrfs/{id}/devices"))?;
        if members.iter().any(|member| member == device) {
            add(format!("part of the mounted btrfs {id}"));
        }
    }
    Ok(())
}

fn swapped(tree: &Tree, device: &str, add: &mut impl FnMut(String)) -> Result<(), TreeError> {
    let swaps = match tree.read("/proc/swaps") {
        // A kernel without swap.
        Err(error) if error.absent => return Ok(()),
        other => other?,
    };
    let used = swaps.lines().skip(1).any(|line| {
        let path = line.split_whitespace().next().unwrap_or_default();
        let target = tree.resolve(path).unwrap_or_else(|_| path.to_owned());
        target.rsplit('/').next() == Some(device)
    });
    if used {
        add("used as swap".to_owned());
    }
    Ok(())
}

/// Loop devices on it, but for `asked`, the one that the question is about.
fn looped(
    tree: &Tree,
    device: &str,
    asked: &str,
    add: &mut impl FnMut(String),
) -> Result<(), TreeError> {
    let node = format!("/dev/{device}");
    for name in tree
        .list(CLASS)?
        .iter()
        .filter(|name| name.starts_with("loop") && *name != asked)
    {
        if backing_file(tree, name).as_deref() == Some(&node) {
            add(format!("the backing of `{name}`"));
        }
    }
    Ok(())
}

/// Processes that may write to it, such as a virtual machine or a database: they do not claim what they use. Processes
/// that end meanwhile, or are not ours to look at, are passed over: the claim at opening is the second guard.
fn written(tree: &Tree, device: &str, add: &mut impl FnMut(u32, String)) {
    let node = format!("/dev/{device}");
    let which = |fd: &str| (tree.link(fd).ok().as_deref() == Some(&node)).then_some(());
    open_for_writing(tree, which, &mut |(), process, how| add(process, how));
}

/// The processes that have something open for writing; `which` says what it is by its path below `/proc/PID/fd`.
fn open_for_writing<T>(
    tree: &Tree,
    which: impl Fn(&str) -> Option<T>,
    add: &mut impl FnMut(T, u32, String),
) {
    /// The access mode in the flags of `/proc/PID/fdinfo`, and its value for reading only.
    const ACCESS_MODE: u32 = 0o3;
    const READ_ONLY: u32 = 0;
    let processes = tree.list("/proc").unwrap_or_default();
    for process in processes.iter().filter_map(|name| name.parse::<u32>().ok()) {
        for fd in tree
            .list(&format!("/proc/{process}/fd"))
            .unwrap_or_default()
        {
            let Some(what) = which(&format!("/proc/{process}/fd/{fd}")) else {
                continue;
            };
            let info = tree
                .read(&format!("/proc/{process}/fdinfo/{fd}"))
                .unwrap_or_default();
            let flags = info
                .lines()
                .find_map(|line| line.strip_prefix("flags:"))
                .and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
            if flags.is_none_or(|flags| flags & ACCESS_MODE != READ_ONLY) {
                let name = tree
                    .read_trimmed(&format!("/proc/{process}/comm"))
                    .unwrap_or_else(|_| "?".to_owned());
                add(
                    what,
                    process,
                    format!("open for writing in process {process} (`{name}`)"),
                );
            }
        }
    }
}

/// Who uses regular files behind the back of their readers: loop devices that lie on them, and processes beside `ours`
/// that have them open for writing, such as a virtual machine whose disk one is. The files are known by device and
/// inode, and told by their place in `files`. (A swap area needs no look: the kernel lets nobody write to one.)
pub fn of_files(tree: &Tree, files: &[(u64, u64)], ours: u32) -> Vec<(usize, String)> {
    let which = |path: &str| {
        let number = tree.number_of_file(path)?;
        files.iter().position(|file| *file == number)
    };
    let mut found = Vec::new();
    for name in tree.list(CLASS).unwrap_or_default() {
        if let Some(file) = backing_file(tree, &name).and_then(|file| which(&file)) {
            found.push((file, format!("the backing of `{name}`")));
        }
    }
    // Sockets, pipes and the like have no place in the tree, and need no look.
    let which_open = |fd: &str| {
        let has_place = tree.link(fd).is_ok_and(|to| to.starts_with('/'));
        has_place.then(|| which(fd)).flatten()
    };
    open_for_writing(tree, which_open, &mut |file, process, how| {
        if process != ours {
            found.push((file, how));
        }
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// A machine with the disks sda (partitions sda1, sda2), sdb, and the mapping dm-0 on sdb's partition sdb1.
    fn machine() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        for (name, number) in [
            ("sda", "8:0"),
            ("sda/sda1", "8:1"),
            ("sda/sda2", "8:2"),
            ("sdb", "8:16"),
            ("sdb/sdb1", "8:17"),
            ("dm-0", "253:0"),
            ("sdc", "8:32"),
        ] {
            let place = format!("sys/devices/{name}");
            write(root, &format!("{place}/dev"), number);
            std::fs::create_dir_all(root.join(format!("{place}/holders"))).unwrap();
            let last = name.rsplit('/').next().unwrap();
            if last != name {
                write(root, &format!("{place}/partition"), "1");
            }
            std::fs::create_dir_all(root.join("sys/class/block")).unwrap();
            let link = root.join(format!("sys/class/block/{last}"));
            std::os::unix::fs::symlink(format!("../../devices/{name}"), link).unwrap();
        }
        write(root, "sys/devices/dm-0/dm/uuid", "LVM-abc");
        write(root, "sys/devices/sdb/sdb1/holders/dm-0/x", "");
        write(root, "sys/devices/dm-0/slaves/sdb1/x", "");
        write(
            root,
            "proc/self/mountinfo",
            "22 1 8:1 / / rw - ext4 /dev/root rw\n",
        );
        write(root, "proc/swaps", "Filename Type Size Used Priority\n");
        dir
    }

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn check(root: &Path, name: &str, expect: &[&str]) {
        let found = uses(&Tree::at(root), name).unwrap();
        let words: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(words, expect, "{name}");
    }

    #[test]
    fn the_whole_family_counts() {
        let dir = machine();
        check(dir.path(), "sdc", &[]);
        check(dir.path(), "sda", &["`sda1` is mounted at `/`"]);
        check(dir.path(), "sda1", &["`sda1` is mounted at `/`"]);
        check(dir.path(), "sda2", &[]);
        let held = "`sdb1` is held by `dm-0`";
        check(dir.path(), "sdb", &[held, "`dm-0` is an LVM volume"]);
        check(dir.path(), "sdb1", &[held, "`dm-0` is an LVM volume"]);
        check(dir.path(), "dm-0", &["`dm-0` is an LVM volume", held]);
    }

    #[test]
    fn the_same_storage_under_another_name_counts() {
        let dir = machine();
        let root = dir.path();
        let disk = |name: &str, file: &str, text: &str| {
            write(root, &format!("sys/class/block/{name}/dev"), "7:9");
            write(root, &format!("sys/class/block/{name}/{file}"), text);
            std::fs::create_dir_all(root.join(format!("sys/class/block/{name}/holders"))).unwrap();
        };
        // A loop device on a partition that is mounted, or on the disk that the partition lies on.
        let backing = "loop/backing_file";
        disk("loop1", backing, "/dev/sda1\n");
        check(root, "loop1", &["`sda1` is mounted at `/`"]);
        disk("loop1", backing, "/dev/sda\n");
        check(root, "loop1", &["`sda1` is mounted at `/`"]);
        disk("loop1", backing, "/dev/sdc\n");
        check(root, "loop1", &[]);
        check(root, "sdc", &["`sdc` is the backing of `loop1`"]);
        // Two loop devices on one image, of which the other is mounted.
        disk("loop1", backing, "/images/x\n");
        disk("loop2", backing, "/images/x\n");
        check(root, "loop1", &[]);
        let mounts = "22 1 7:8 / /mnt rw - ext4 /dev/loop2 rw\n";
        write(root, "proc/self/mountinfo", mounts);
        write(root, "sys/class/block/loop2/dev", "7:8");
        check(root, "loop1", &["`loop2` is mounted at `/mnt`"]);
        // Two paths to one disk.
        disk("sdx", "device/wwid", "naa.5\n");
        disk("sdy", "device/wwid", "naa.5\n");
        disk("sdz", "device/wwid", "naa.6\n");
        let mounts = "22 1 7:10 / /mnt rw - ext4 /dev/sdy rw\n";
        write(root, "proc/self/mountinfo", mounts);
        check(root, "sdx", &["`sdy` is mounted at `/mnt`"]);
        check(root, "sdz", &[]);
    }

    #[test]
    fn every_kind_of_use_is_seen() {
        let dir = machine();
        let root = dir.path();
        let with = |path: &str, text: &str, expect: &str| {
            write(root, path, text);
            check(root, "sdc", &[expect]);
            let _ = std::fs::remove_file(root.join(path));
        };
        let swap = "Filename Type Size Used Priority\n/dev/sdc partition 1 0 -2\n";
        with("proc/swaps", swap, "`sdc` is used as swap");
        write(root, "proc/swaps", "");
        with(
            "proc/self/mountinfo",
            "22 1 0:40 / /mnt rw - btrfs /dev/sdc rw\n",
            "`sdc` is mounted at `/mnt`",
        );
        write(root, "proc/self/mountinfo", "");
        with(
            "sys/fs/btrfs/1234/devices/sdc",
            "",
            "`sdc` is part of the mounted btrfs 1234",
        );
        with(
            "sys/class/block/loop3/loop/backing_file",
            "/dev/sdc\n",
            "`sdc` is the backing of `loop3`",
        );
        std::fs::remove_dir_all(root.join("sys/class/block/loop3")).unwrap();
        for (file, expect) in [
            ("md/level", "`sdc` is a software RAID array (md)"),
            ("bcache/x", "`sdc` is part of a bcache"),
            ("dm/name", "`sdc` is a device-mapper device"),
        ] {
            let dir = root.join("sys/devices/sdc").join(file);
            with(&format!("sys/devices/sdc/{file}"), "x", expect);
            std::fs::remove_dir_all(dir.parent().unwrap()).unwrap();
        }
    }

    #[test]
    fn a_process_that_may_write_is_named_and_one_that_reads_is_not() {
        let dir = machine();
        let root = dir.path();
        write(root, "proc/77/comm", "qemu\n");
        write(root, "proc/77/fdinfo/5", "pos:\t0\nflags:\t0100002\n");
        std::fs::create_dir_all(root.join("proc/77/fd")).unwrap();
        std::os::unix::fs::symlink("/dev/sdc", root.join("proc/77/fd/5")).unwrap();
        check(
            root,
            "sdc",
            &["`sdc` is open for writing in process 77 (`qemu`)"],
        );
        write(root, "proc/77/fdinfo/5", "pos:\t0\nflags:\t0100000\n");
        check(root, "sdc", &[]);
    }

    #[test]
    fn who_uses_a_file_is_found_by_its_number() {
        let dir = machine();
        let root = dir.path();
        let tree = Tree::at(root);
        write(root, "vm/disk", "x");
        let (device, inode) = tree.number_of_file("/vm/disk").unwrap();
        let how = || {
            let found = of_files(&tree, &[(0, 0), (device, inode)], 42);
            assert!(found.iter().all(|(file, _)| *file == 1));
            let how: Vec<String> = found.into_iter().map(|(_, how)| how).collect();
            how
        };
        write(root, "proc/77/comm", "qemu\n");
        write(root, "proc/77/fdinfo/5", "flags:\t0100002\n");
        std::fs::create_dir_all(root.join("proc/77/fd")).unwrap();
        assert_eq!(how(), [""; 0]);
        // In the test's own tree the link leads to the file from the real root.
        let file = root.join("vm/disk");
        std::os::unix::fs::symlink(&file, root.join("proc/77/fd/5")).unwrap();
        assert_eq!(how(), ["open for writing in process 77 (`qemu`)"]);
        std::fs::rename(root.join("proc/77"), root.join("proc/42")).unwrap();
        assert_eq!(how(), [""; 0], "our own hold");
        write(
            root,
            "sys/class/block/loop3/loop/backing_file",
            "/vm/disk\n",
        );
        assert_eq!(how(), ["the backing of `loop3`"]);
    }

    #[test]
    fn what_cannot_be_read_is_an_error() {
        let dir = machine();
        std::fs::remove_file(dir.path().join("proc/self/mountinfo")).unwrap();
        assert!(uses(&Tree::at(dir.path()), "sdc").is_err());
        assert!(uses(&Tree::at(dir.path()), "sdz").is_err());
    }
}
