//! How much memory may be used without anybody swapping or being killed.
//!
//! The tighter of what the kernel calls available (`MemAvailable`) and what the limits of the cgroup leave, its page
//! cache counted as free, because the kernel gives that up first. Neither is a promise: what others take meanwhile is
//! gone.

use crate::counters::Cgroups;
use crate::tree::{Tree, TreeError};

const MEMINFO: &str = "/proc/meminfo";
/// It is there where the kernel has control groups.
const OWN_GROUPS: &str = "/proc/self/cgroup";

/// Bytes that this process may take now, and who limits it, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Room {
    /// The bytes.
    pub bytes: u64,
    /// All that the one who limits it has, in bytes.
    pub total: u64,
    /// `available memory` or `the cgroup's memory limit`.
    pub whose: &'static str,
}

/// Looks at the machine and the cgroup.
pub fn room(tree: &Tree) -> Result<Room, TreeError> {
    within(tree, Cgroups::find(tree))
}

/// The same for another process of this machine. An error where its control group cannot be read: others may depend on
/// that one.
pub fn room_of(tree: &Tree, process: u32) -> Result<Room, TreeError> {
    let groups = Cgroups::find_of(tree, &format!("/proc/{process}/cgroup"));
    if tree.exists(OWN_GROUPS) {
        groups.as_ref().map_err(Clone::clone)?.memory_room(tree)?;
    }
    within(tree, groups)
}

fn within(tree: &Tree, groups: Result<Cgroups, TreeError>) -> Result<Room, TreeError> {
    let info = tree.read(MEMINFO)?;
    let available = kibibytes(&info, "MemAvailable")
        .ok_or_else(|| TreeError::content(MEMINFO, "it has no MemAvailable"))?;
    let machine = Room {
        bytes: available,
        total: kibibytes(&info, "MemTotal").unwrap_or(available),
        whose: "available memory",
    };
    // Where there is no cgroup, or one that cannot be read, the machine alone limits.
    let Ok(groups) = groups else {
        return Ok(machine);
    };
    match groups.memory_room(tree) {
        Ok(Some((bytes, total))) if bytes < machine.bytes => Ok(Room {
            bytes,
            total,
            whose: "the cgroup's memory limit",
        }),
        _ => Ok(machine),
    }
}

fn kibibytes(text: &str, key: &str) -> Option<u64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    let number = line.trim().strip_suffix("kB")?.trim();
    number.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine with 1000 MiB available, and the files given.
    fn check(files: &[(&str, &str)], expected: Result<(u64, &str), ()>) {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let file = root.path().join(path.trim_start_matches('/'));
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        let found = room(&Tree::at(root.path()));
        let found = found.as_ref().map(|room| (room.bytes >> 20, room.whose));
        assert_eq!(found.map_err(|_| ()), expected, "{files:?}");
    }

    const INFO: (&str, &str) = (
        "/proc/meminfo",
        "MemTotal: 2 kB\nMemAvailable: 1024000 kB\n",
    );
    const MEMBER: (&str, &str) = ("/proc/self/cgroup", "0::/a\n");
    const MOUNT: (&str, &str) = (
        "/proc/self/mountinfo",
        "30 1 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n",
    );

    #[test]
    fn the_tighter_of_machine_and_cgroup_counts() {
        check(&[INFO], Ok((1000, "available memory")));
        let used = ("/sys/fs/cgroup/a/memory.current", "104857600\n");
        let stat = ("/sys/fs/cgroup/a/memory.stat", "anon 1\nfile 52428800\n");
        let max = |text| ("/sys/fs/cgroup/a/memory.max", text);
        let with = |limit| [INFO, MEMBER, MOUNT, used, stat, max(limit)];
        check(&with("max\n"), Ok((1000, "available memory")));
        // 256 MiB less the 50 MiB in use that are no page cache.
        check(&with("268435456\n"), Ok((206, "the cgroup's memory limit")));
        check(&with("1048576\n"), Ok((0, "the cgroup's memory limit")));
        check(&with("99999999999\n"), Ok((1000, "available memory")));
        // 30 of the 50 MiB of page cache are files in memory, which no kernel gives up.
        let in_memory = "anon 1\nfile 52428800\nshmem 31457280\n";
        let stat = ("/sys/fs/cgroup/a/memory.stat", in_memory);
        let files = [INFO, MEMBER, MOUNT, used, stat, max("268435456\n")];
        check(&files, Ok((176, "the cgroup's memory limit")));
        // Throttled at 200 MiB, although killed at none.
        let high = ("/sys/fs/cgroup/a/memory.high", "209715200\n");
        let files = [INFO, MEMBER, MOUNT, used, stat, max("max\n"), high];
        check(&files, Ok((120, "the cgroup's memory limit")));
        let none = ("/sys/fs/cgroup/a/memory.high", "max\n");
        let files = [INFO, MEMBER, MOUNT, used, stat, max("max\n"), none];
        check(&files, Ok((1000, "available memory")));
        check(&[("/proc/meminfo", "MemTotal: 2 kB\n")], Err(()));
    }

    #[test]
    fn another_process_has_the_room_of_its_own_group() {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in [
            INFO,
            MEMBER,
            MOUNT,
            ("/proc/77/cgroup", "0::/b/c\n"),
            ("/proc/78/cgroup", "0::/\n"),
            ("/sys/fs/cgroup/a/memory.max", "1048576\n"),
            ("/sys/fs/cgroup/a/memory.current", "1048576\n"),
            ("/sys/fs/cgroup/b/memory.max", "268435456\n"),
            ("/sys/fs/cgroup/b/memory.current", "104857600\n"),
            ("/sys/fs/cgroup/b/memory.stat", "anon 1\nfile 0\n"),
            ("/sys/fs/cgroup/b/c/memory.max", "max\n"),
            ("/sys/fs/cgroup/b/c/memory.current", "104857600\n"),
            ("/sys/fs/cgroup/b/c/memory.stat", "anon 1\nfile 0\n"),
        ] {
            let file = root.path().join(path.trim_start_matches('/'));
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        let of = |process| {
            let room = room_of(&Tree::at(root.path()), process);
            room.ok().map(|room| room.bytes >> 20)
        };
        assert_eq!(of(77), Some(156));
        assert_eq!(of(78), Some(1000));
        // What cannot be read may limit by less.
        assert_eq!(of(79), None);
        let limit = root.path().join("sys/fs/cgroup/b/memory.max");
        std::fs::write(&limit, "some\n").unwrap();
        assert_eq!(of(77), None);
        std::fs::write(&limit, "268435456\n").unwrap();
        let used = root.path().join("sys/fs/cgroup/b/memory.current");
        std::fs::write(&used, "-\n").unwrap();
        assert_eq!(of(77), None);
        // A kernel without control groups has no such files.
        std::fs::remove_file(root.path().join("proc/self/cgroup")).unwrap();
        assert_eq!(of(79), Some(1000));
    }

    #[test]
    fn version_1_counts_as_well() {
        let member = ("/proc/self/cgroup", "4:memory:/a\n");
        let mount = (
            "/proc/self/mountinfo",
            "34 31 0:32 / /cg rw - cgroup cgroup rw,memory\n",
        );
        let used = ("/cg/a/memory.usage_in_bytes", "104857600\n");
        let stat = (
            "/cg/a/memory.stat",
            "total_cache 52428800\ntotal_shmem 31457280\n",
        );
        let limit = |text| ("/cg/a/memory.limit_in_bytes", text);
        let with = |text| [INFO, member, mount, used, stat, limit(text)];
        check(&with("268435456\n"), Ok((176, "the cgroup's memory limit")));
        check(
            &with("9223372036854771712\n"),
            Ok((1000, "available memory")),
        );
    }
}
