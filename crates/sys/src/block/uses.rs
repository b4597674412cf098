//! Who uses a block device or a file: mounts, swap, arrays, mappings, loops, and processes that may write to it.
//!
//! Looked at is not only the device but its whole family ([`super::family`]). Sources: sysfs (`holders`, `dm`, `md`,
//! `bcache`), /proc/self/mountinfo, /proc/swaps, /sys/fs/btrfs, the processes ([`super::writers`]) and locks; all of
//! it of the files below its loop devices too. Where mounts, swap or holders of a device cannot be read that is an
//! error, never "not used". Mounts of other namespaces are in no list: the kernel's claim, tried on every device of the
//! family, is the second guard.

use super::below;
use super::device::{self, CLASS};
use super::family::{Family, Member, list};
use super::identity::{self, Thing};
use super::loops;
pub use super::loops::{OfFile, Unasked};
use super::writers::writers;
pub use super::writers::{Unseen, process_in_proc};
use crate::mounts;
use crate::tree::{Tree, TreeError};

/// How a use of the file below a device begins.
const ON_FILE: &str = "on a file that is ";

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

/// Who uses something, as far as can be seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uses<T> {
    /// Every use.
    pub found: Vec<T>,
    /// Programs that may use it and were not seen; `None` where every process was looked at.
    pub unseen: Option<Unseen>,
}

/// Every use of a device and its family, the device's own first.
pub fn uses(tree: &Tree, family: &Family) -> Result<Uses<Use>, TreeError> {
    let devices = family.members.iter();
    let devices = devices.filter_map(|member| Some((&member.name, Thing::Device(member.number?))));
    let files = family.files.iter().map(|(name, file)| (name, *file));
    let things: Vec<(&String, Thing)> = devices.chain(files).collect();
    let numbers: Vec<Thing> = things.iter().map(|(_, thing)| *thing).collect();
    let writers = writers(tree, &numbers);
    let mut found = Vec::new();
    for member in &family.members {
        let mut add = |how: String| {
            found.push(Use {
                device: member.name.clone(),
                how,
                process: None,
            });
        };
        stacked(tree, &member.name, &mut add);
        for holder in list(tree, &format!("{CLASS}/{}/holders", member.name))? {
            add(format!("held by `{holder}`"));
        }
        mounted(tree, member, &mut add)?;
        swapped(tree, member, &mut add)?;
        for (_, name) in family.loops.iter().filter(|(on, _)| *on == member.name) {
            add(format!("the backing of `{name}`"));
        }
        for (_, file) in family.files.iter().filter(|(on, _)| *on == member.name) {
            on_file(tree, member, *file, &mut add)?;
        }
        for writer in &writers.found {
            let (on, thing) = things[writer.thing];
            if *on != member.name {
                continue;
            }
            let what = match thing {
                Thing::Device(_) => "",
                Thing::File { .. } => ON_FILE,
            };
            found.push(Use {
                device: member.name.clone(),
                how: format!("{what}{}", writer.how),
                process: Some(writer.process),
            });
        }
    }
    let unseen = match writers.unseen {
        Some(unseen) if unseen.is_blind() => Some(unseen),
        other => elsewhere(family).or(other),
    };
    Ok(Uses { found, unseen })
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

fn mounted(tree: &Tree, member: &Member, add: &mut impl FnMut(String)) -> Result<(), TreeError> {
    let number = member.number.map(|number| number.to_string());
    let node = device::node(&member.name);
    for mount in mounts::read(tree)? {
        if Some(&mount.device) == number.as_ref() || mount.source == node {
            add(format!("mounted at `{}`", mount.point));
        }
    }
    // A btrfs of several devices names one of them in mountinfo and all of them here.
    for id in list(tree, "/sys/fs/btrfs")? {
        let members = list(tree, &format!("/sys/fs/btrfs/{id}/devices"))?;
        if members.contains(&member.name) {
            add(format!("part of the mounted btrfs {id}"));
        }
    }
    Ok(())
}

fn swapped(tree: &Tree, member: &Member, add: &mut impl FnMut(String)) -> Result<(), TreeError> {
    let node = device::node(&member.name);
    let own = member.number.map(Thing::Device);
    let swaps = below::swaps(tree)?;
    if swaps
        .iter()
        .any(|(path, found)| *path == node || own.is_some() && *found == own)
    {
        add("used as swap".to_owned());
    }
    Ok(())
}

/// What is to be said of a member that lies on this file.
fn on_file(
    tree: &Tree,
    member: &Member,
    file: Thing,
    add: &mut impl FnMut(String),
) -> Result<(), TreeError> {
    let swaps = below::swaps(tree)?;
    if swaps.iter().any(|(_, found)| *found == Some(file)) {
        add(format!("{ON_FILE}used as swap"));
    }
    if below::is_locked(tree, &member.name, file) {
        add(format!("{ON_FILE}locked by another program"));
    }
    Ok(())
}

/// What keeps the users of the files below the family from being seen: file systems that show files of another place.
fn elsewhere(family: &Family) -> Option<Unseen> {
    let shown = family.shown_by.clone().map(Unseen::Elsewhere);
    shown.or_else(|| {
        let (name, kind) = family.maybe.clone()?;
        Some(Unseen::Maybe { name, kind })
    })
}

/// Who uses regular files, as far as can be seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsesOfFiles {
    /// Every use: the place of the file, and how it is used.
    pub found: Vec<(usize, String)>,
    /// Programs that may use one and were not seen; `None` where every process was looked at.
    pub unseen: Option<Unseen>,
    /// A loop device that may lie on one; `None` where every one was asked.
    pub unasked: Option<Unasked>,
}

/// Who uses regular files behind the back of their readers: loop devices that lie on them, and processes beside `ours`
/// that may write to them, such as a virtual machine whose disk one is. The files are known by device and inode, and
/// told by their place in `files`. Where swap areas cannot be read the kernel still lets nobody write to one.
pub fn of_files(tree: &Tree, files: &[OfFile], ours: u32) -> UsesOfFiles {
    let things: Vec<Thing> = files.iter().map(OfFile::thing).collect();
    let (loops, unasked) = loops::loops_on_files(tree, files, &|name, number| {
        identity::backing_anyhow(tree, name, number)
    });
    let mut found: Vec<(usize, String)> = loops
        .into_iter()
        .map(|(file, name)| (file, format!("the backing of `{name}`")))
        .collect();
    for (_, swap) in below::swaps(tree).unwrap_or_default() {
        let place = things.iter().position(|file| Some(*file) == swap);
        found.extend(place.map(|place| (place, "used as swap".to_owned())));
    }
    let writers = writers(tree, &things);
    let others = writers.found.into_iter();
    let others = others.filter(|writer| writer.process != ours);
    found.extend(others.map(|writer| (writer.thing, writer.how)));
    UsesOfFiles {
        found,
        unseen: writers.unseen,
        unasked,
    }
}

#[cfg(test)]
mod tests {
    use super::super::identity::{Backing, thing};
    use super::*;
    use std::path::Path;

    /// A machine with the disks sda (partitions sda1, sda2), sdb, and the mapping dm-0 on sdb's partition sdb1.
    fn machine() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        for (name, number, start, size) in [
            ("sda", "8:0", 0, 1000),
            ("sda/sda1", "8:1", 100, 200),
            ("sda/sda2", "8:2", 300, 200),
            ("sdb", "8:16", 0, 1000),
            ("sdb/sdb1", "8:17", 100, 200),
            ("dm-0", "253:0", 0, 200),
            ("sdc", "8:32", 0, 1000),
        ] {
            let place = format!("sys/devices/{name}");
            write(root, &format!("{place}/dev"), number);
            write(root, &format!("{place}/start"), &start.to_string());
            write(root, &format!("{place}/size"), &size.to_string());
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

    /// What a loop device of the made-up machine lies on: `/dev/NAME` is that device, other words are a file of that
    /// many letters; a number behind it is the offset.
    fn behind(tree: &Tree, name: &str) -> Backing {
        let text = tree.read_trimmed(&format!("{CLASS}/{name}/loop/backing_file"));
        let text = text.unwrap();
        let (text, offset) = text.split_once(' ').unwrap_or((&text, "0"));
        let on = match text.strip_prefix("/dev/") {
            Some(name) => Thing::Device(device::own_number(tree, name).unwrap().unwrap()),
            // The file system of a disk, so that the number says where the file lies.
            None => Thing::File {
                device: libc::makedev(8, 1),
                inode: u64::try_from(text.len()).unwrap(),
            },
        };
        Backing {
            on,
            offset: offset.parse().unwrap(),
            is_limited: false,
        }
    }

    fn family(root: &Path, name: &str) -> Family {
        let tree = Tree::at(root);
        Family::asking(&tree, name, &|name, _| Ok(Some(behind(&tree, name)))).unwrap()
    }

    fn check(root: &Path, name: &str, expect: &[&str]) {
        let found = uses(&Tree::at(root), &family(root, name)).unwrap();
        let words: Vec<String> = found.found.iter().map(ToString::to_string).collect();
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

    /// A device without partitions, with these sectors.
    fn disk(root: &Path, name: &str, number: &str, sectors: u32) {
        let place = format!("sys/class/block/{name}");
        write(root, &format!("{place}/dev"), number);
        write(root, &format!("{place}/size"), &sectors.to_string());
        std::fs::create_dir_all(root.join(format!("{place}/holders"))).unwrap();
    }

    fn looped(root: &Path, name: &str, number: &str, sectors: u32, on: &str) {
        disk(root, name, number, sectors);
        write(
            root,
            &format!("sys/class/block/{name}/loop/backing_file"),
            on,
        );
    }

    fn mounts(root: &Path, number: &str, node: &str) {
        let line = format!("22 1 {number} / /mnt rw - ext4 {node} rw\n");
        write(root, "proc/self/mountinfo", &line);
    }

    #[test]
    fn the_same_storage_under_another_name_counts() {
        let dir = machine();
        let root = dir.path();
        // A loop device on a partition that is mounted, or on the disk that the partition lies on.
        looped(root, "loop1", "7:1", 200, "/dev/sda1\n");
        check(root, "loop1", &["`sda1` is mounted at `/`"]);
        check(root, "sda2", &[]);
        looped(root, "loop1", "7:1", 1000, "/dev/sda\n");
        check(root, "loop1", &["`sda1` is mounted at `/`"]);
        looped(root, "loop1", "7:1", 1000, "/dev/sdc\n");
        check(root, "loop1", &[]);
        check(root, "sdc", &["`sdc` is the backing of `loop1`"]);
        // A loop device on that one, and so on.
        looped(root, "loop2", "7:2", 1000, "/dev/loop1");
        check(
            root,
            "sdc",
            &[
                "`sdc` is the backing of `loop1`",
                "`loop1` is the backing of `loop2`",
            ],
        );
        let between = "`sdc` is the backing of `loop1`";
        mounts(root, "8:32", "/dev/sdc");
        check(root, "loop2", &["`sdc` is mounted at `/mnt`", between]);
        // Two loop devices on one image, of which the other is mounted.
        looped(root, "loop1", "7:1", 1000, "/image");
        looped(root, "loop2", "7:2", 1000, "/image");
        mounts(root, "0:1", "none");
        check(root, "loop1", &[]);
        mounts(root, "7:2", "/dev/loop2");
        check(root, "loop1", &["`loop2` is mounted at `/mnt`"]);
        // Two paths to one disk.
        for (name, number, wide) in [
            ("sdx", "65:1", "naa.5\n"),
            ("sdy", "65:2", "naa.5\n"),
            ("sdz", "65:3", "naa.6\n"),
        ] {
            disk(root, name, number, 1000);
            write(root, &format!("sys/class/block/{name}/device/wwid"), wide);
        }
        mounts(root, "65:2", "/dev/sdy");
        check(root, "sdx", &["`sdy` is mounted at `/mnt`"]);
        check(root, "sdz", &[]);
    }

    #[test]
    fn what_overlaps_is_the_same_storage_and_what_lies_beside_it_is_not() {
        let dir = machine();
        let root = dir.path();
        // Sectors 0 to 999 of an image, and two parts of it.
        looped(root, "loop1", "7:1", 1000, "/image");
        looped(root, "loop2", "7:2", 100, "/image 51200");
        looped(root, "loop3", "7:3", 100, "/image 102400");
        let names = |name: &str| {
            let names = family(root, name).members.into_iter();
            names.map(|member| member.name).collect::<Vec<_>>()
        };
        assert_eq!(names("loop1"), ["loop1", "loop2", "loop3"]);
        assert_eq!(names("loop2"), ["loop2", "loop1"]);
        assert_eq!(names("loop3"), ["loop3", "loop1"]);
        // Of sda2 to its middle, through a loop device on the whole disk.
        looped(root, "loop4", "7:4", 400, "/dev/sda");
        assert_eq!(names("loop4"), ["loop4", "sda", "sda1", "sda2"]);
        looped(root, "loop4", "7:4", 100, "/dev/sda 153600");
        assert_eq!(names("loop4"), ["loop4", "sda", "sda2"]);
        assert_eq!(names("sda1"), ["sda1", "sda"]);
    }

    #[test]
    fn each_part_of_the_storage_is_claimed_once_and_what_is_another_ones_is_not() {
        let dir = machine();
        let root = dir.path();
        let claims = |name: &str, expect: &[&str]| {
            let family = family(root, name);
            let names = family.to_claim().into_iter();
            let names: Vec<&str> = names.map(|member| member.name.as_str()).collect();
            assert_eq!(names, expect, "{name}");
        };
        // The claim on a disk is one on its partitions, and the other way round.
        claims("sda", &[]);
        claims("sda2", &[]);
        claims("sdc", &[]);
        looped(root, "loop1", "7:1", 1000, "/image");
        looped(root, "loop2", "7:2", 1000, "/image");
        claims("loop1", &["loop2"]);
        looped(root, "loop2", "7:2", 100, "/image");
        claims("loop1", &["loop2"]);
        claims("loop2", &["loop1"]);
        // The whole disk, its second partition, and a part of that.
        looped(root, "loop3", "7:3", 1000, "/dev/sda");
        claims("loop3", &["sda"]);
        looped(root, "loop3", "7:3", 200, "/dev/sda2");
        claims("loop3", &["sda2"]);
        looped(root, "loop3", "7:3", 100, "/dev/sda2 512");
        claims("loop3", &["sda2"]);
        // Nobody can open it, and nobody can claim it.
        disk(root, "hidden", "", 1000);
        std::fs::remove_file(root.join("sys/class/block/hidden/dev")).unwrap();
        write(root, "sys/class/block/hidden/wwid", "eui.1");
        disk(root, "nvme0n1", "259:0", 1000);
        write(root, "sys/class/block/nvme0n1/wwid", "eui.1");
        assert_eq!(family(root, "nvme0n1").members.len(), 2);
        claims("nvme0n1", &[]);
    }

    #[test]
    fn a_loop_device_that_cannot_be_asked_is_no_stranger() {
        let dir = machine();
        let root = dir.path();
        looped(root, "loop1", "7:1", 1000, "/image");
        let why = Family::of(&Tree::at(root), "sdc").unwrap_err();
        assert_eq!(why.to_string(), "open `/dev/loop1`: ENOENT");
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
    fn who_uses_a_file_is_found_by_its_number() {
        let dir = machine();
        let root = dir.path();
        let tree = Tree::at(root);
        write(root, "vm/disk", "x");
        let Thing::File { device, inode } = thing(&root.join("vm/disk")).unwrap() else {
            panic!("it is a file")
        };
        let how = || {
            let length = 1;
            let file = |device, inode| OfFile {
                device,
                inode,
                length,
            };
            let found = of_files(&tree, &[file(0, 0), file(device, inode)], 42).found;
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
        write(root, "proc/42/fdinfo/5", "flags:\t0100000\n");
        std::fs::rename(root.join("proc/42"), root.join("proc/77")).unwrap();
        assert_eq!(how(), [""; 0], "it only reads");
        // Who may not ask the loop device believes its path.
        looped(root, "loop3", "7:3", 1, "/vm/disk\n");
        assert_eq!(how(), ["the backing of `loop3`"]);
    }

    #[test]
    fn a_loop_device_that_may_lie_on_a_file_and_cannot_be_asked_is_said() {
        let dir = machine();
        let root = dir.path();
        let said = || {
            let file = OfFile {
                device: 0,
                inode: 0,
                length: 1,
            };
            let unasked = of_files(&Tree::at(root), &[file], 42).unasked;
            unasked.map_or_else(String::new, |unasked| unasked.to_string())
        };
        assert_eq!(said(), "");
        write(root, "snap", "x");
        looped(root, "loop3", "7:3", 1, "/snap\n");
        assert_eq!(said(), "", "its path is that of another file");
        looped(root, "loop3", "7:3", 1, "/elsewhere/image\n");
        let nowhere = "the loop device `loop3`, which is said to lie on `/elsewhere/image`, cannot be asked what it \
                       lies on (open `/dev/loop3`: ENOENT)";
        assert_eq!(said(), nowhere);
        looped(root, "loop3", "7:3", 1, "/snap (deleted)\n");
        write(root, "snap (deleted)", "another one");
        assert!(said().contains("`/snap (deleted)`"), "{}", said());
        // The kernel has no path for it.
        looped(root, "loop3", "7:3", 1, "\n");
        assert!(
            said().starts_with("the loop device `loop3` cannot"),
            "{}",
            said()
        );
        looped(root, "loop3", "7:3", 1, "/snap\n");
        let heading = "major minor  #blocks  name\n\n";
        let partitions = |lines: &str| {
            write(root, "proc/partitions", &format!("{heading}{lines}"));
            said()
        };
        assert_eq!(
            partitions("   7        3      1 loop3\n   8        0      1 sda\n"),
            ""
        );
        // One that /sys does not tell of, and all of them.
        let other = partitions("   7        4      1 loop4\n");
        assert_eq!(
            other,
            "the loop device `loop4` cannot be asked what it lies on (open `/dev/loop4`: ENOENT)"
        );
        std::fs::remove_dir_all(root.join("sys")).unwrap();
        assert_eq!(said(), other);
        assert_eq!(partitions("   8        0      1 sda\n"), "");
        std::fs::remove_file(root.join("proc/partitions")).unwrap();
        let list =
            "which loop devices there are cannot be found out (list `/sys/class/block`: ENOENT)";
        assert_eq!(said(), list);
    }

    #[test]
    fn what_cannot_be_read_is_an_error() {
        let dir = machine();
        let sdc = family(dir.path(), "sdc");
        std::fs::remove_file(dir.path().join("proc/self/mountinfo")).unwrap();
        assert!(uses(&Tree::at(dir.path()), &sdc).is_err());
        assert!(Family::of(&Tree::at(dir.path()), "sdz").is_err());
    }
}
