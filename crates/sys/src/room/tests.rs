//! Limits of made-up machines.

use super::*;
use std::path::PathBuf;

/// A machine whose files are those of a directory.
struct Machine(tempfile::TempDir);

impl Machine {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn tree(&self) -> Tree {
        Tree::at(self.0.path())
    }

    fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }
}

fn mount(text: &str) -> Mount {
    mounts::parse(text).remove(0)
}

#[test]
fn the_file_system_itself_comes_first() {
    let machine = Machine::new();
    let room = of(&machine.tree(), machine.0.path()).unwrap();
    let space = probe::file_system(machine.0.path()).unwrap();
    assert_eq!(room.bounds[0].total_bytes, space.total_bytes);
    assert_eq!(room.bounds[0].whose, None);
    assert!(of(&machine.tree(), Path::new("/no such place")).is_err());
}

#[test]
fn in_memory_what_is_free_of_memory_counts_too() {
    let machine = Machine::new();
    machine.write("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 100 kB\n");
    let mut room = Room::default();
    room.add_memory(&machine.tree());
    assert_eq!(room.bounds[0].free_bytes, 100 << 10);
    assert_eq!(room.bounds[0].total_bytes, 1000 << 10);
    let words = " of memory, in which it lies (available memory),";
    assert_eq!(room.bounds[0].whose.as_deref(), Some(words));
    let nothing = Machine::new();
    room.add_memory(&nothing.tree());
    assert_eq!((room.bounds.len(), room.unasked.len()), (1, 1));
}

#[test]
fn in_memory_of_a_group_its_own_limit_is_all_that_there_is() {
    let machine = Machine::new();
    for (path, text) in [
        (
            "proc/meminfo",
            "MemTotal: 1024000 kB\nMemAvailable: 512000 kB\n",
        ),
        ("proc/self/cgroup", "0::/a\n"),
        ("proc/self/mountinfo", "30 1 0:26 / /cg rw - cgroup2 c rw\n"),
        ("cg/a/memory.max", "104857600\n"),
        ("cg/a/memory.current", "83886080\n"),
        ("cg/a/memory.stat", "anon 1\nfile 0\n"),
    ] {
        machine.write(path, text);
    }
    let mut room = Room::default();
    room.add_memory(&machine.tree());
    let bound = &room.bounds[0];
    assert_eq!((bound.free_bytes, bound.total_bytes), (20 << 20, 100 << 20));
}

#[test]
fn what_cannot_be_looked_at_is_said() {
    let machine = Machine::new();
    let room = of(&machine.tree(), machine.0.path()).unwrap();
    let said = |room: &Room, words: &str| room.unasked.iter().any(|why| why.contains(words));
    assert!(
        said(&room, "(read `/proc/self/mountinfo`: ENOENT)"),
        "{room:?}"
    );
    machine.write("proc/self/mountinfo", "");
    let room = of(&machine.tree(), machine.0.path()).unwrap();
    assert!(!said(&room, "mountinfo"), "{room:?}");
    // An image without a path, and a disk.
    machine.write("sys/class/block/loop1/loop/backing_file", "\n");
    machine.write("sys/class/block/sda/dev", "8:0\n");
    let mut room = Room::default();
    room.add_device(&machine.tree(), "loop1", 0);
    room.add_device(&machine.tree(), "sda", 0);
    assert_eq!(room.unasked.len(), 1);
    assert!(said(&room, "what `loop1` lies on"), "{room:?}");
}

#[test]
fn devices_are_followed_to_what_they_are_made_of() {
    let machine = Machine::new();
    for (path, text) in [
        ("sys/devices/sda/sda1/partition", "1"),
        ("sys/class/block/dm-0/slaves/dm-1/x", ""),
        ("sys/class/block/dm-1/slaves/loop3/x", ""),
        ("sys/class/block/dm-1/slaves/loop4/x", ""),
        ("sys/class/block/dm-1/dm/name", "plain"),
        ("sys/class/block/dm-5/slaves/dm-6/x", ""),
        ("sys/class/block/dm-6/slaves/sda/x", ""),
        ("sys/class/block/dm-6/dm/name", "vg-pool-tpool"),
    ] {
        machine.write(path, text);
    }
    let link = machine.0.path().join("sys/class/block/sda1");
    std::os::unix::fs::symlink("../../devices/sda/sda1", link).unwrap();
    let check = |name: &str, expect: &[&str]| {
        let mut found = bottoms(&machine.tree(), name);
        found.sort();
        assert_eq!(found, expect, "{name}");
    };
    check("sda1", &["sda"]);
    check("sdb", &["sdb"]);
    check("dm-0", &["loop3", "loop4"]);
    check("dm-5", &["dm-6"]);
    let mut room = Room::default();
    room.add_device(&machine.tree(), "dm-6", 0);
    let pool = "the pool of thin volumes `vg-pool-tpool` below it";
    assert_eq!(room.unasked, [pool]);
}

#[test]
fn a_loop_device_on_a_file_with_holes_is_limited_by_what_is_below() {
    let machine = Machine::new();
    let image = machine.write("images/sparse", "");
    let sparse = std::fs::File::options().write(true).open(&image).unwrap();
    sparse.set_len(1 << 30).unwrap();
    machine.write("images/full", &"x".repeat(64 << 10));
    let on = |name: &str, path: &str| {
        machine.write(&format!("sys/class/block/{name}/loop/backing_file"), path);
        let mut room = Room::default();
        room.add_device(&machine.tree(), name, 0);
        room
    };
    let below = on("loop1", "/images/sparse\n");
    assert_eq!(below.bounds[0].needed_bytes, Some(1 << 30));
    let words = below.bounds[0].whose.clone().unwrap();
    assert!(
        words.ends_with("/images`, on which `loop1` lies,"),
        "{words}"
    );
    assert_eq!(below.free_inodes, None, "nothing is made there");
    assert_eq!(
        on("loop2", "/images/full\n"),
        Room::default(),
        "it has no holes"
    );
    let lost = on("loop3", "/elsewhere/image\n");
    let words = "the file system of `/elsewhere/image`, on which `loop3` lies (ENOENT)";
    assert_eq!(
        (lost.bounds.len(), &lost.unasked[..]),
        (0, &[words.to_owned()][..])
    );
}

#[test]
fn an_overlay_is_limited_by_its_upper_directory() {
    let machine = Machine::new();
    machine.write("upper/x", "");
    machine.write("proc/self/mountinfo", "");
    let space = probe::file_system(machine.0.path()).unwrap();
    let overlay = "30 1 0:99 / /m rw - overlay overlay rw,lowerdir=/l,upperdir=/upper,workdir=/w\n";
    let mut room = Room::default();
    room.add_below(&machine.tree(), &mount(overlay), &space, None, 0);
    let words = room.bounds[0].whose.clone().unwrap();
    assert!(
        words.ends_with("/upper`, on which the overlay lies,"),
        "{words}"
    );
    assert_eq!(room.unasked, [""; 0]);
    // A directory of that name which is another one.
    let other = probe::FileSystem {
        total_bytes: space.total_bytes + 1,
        ..space
    };
    let mut room = Room::default();
    room.add_below(&machine.tree(), &mount(overlay), &other, None, 0);
    assert_eq!(room.bounds, []);
    assert_eq!(
        room.unasked,
        ["quotas of `/upper`, on which the overlay lies"]
    );
}
