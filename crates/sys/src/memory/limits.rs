//! How much memory may be used without anybody swapping or being killed.
//!
//! The tighter of what the kernel calls available (`MemAvailable`) and what the cgroup's limit leaves, its page cache
//! counted as free, because the kernel gives that up first. Neither is a promise: what others take meanwhile is gone.

use crate::counters::Cgroups;
use crate::tree::{Tree, TreeError};

const MEMINFO: &str = "/proc/meminfo";

/// Bytes that this process may take now, and who limits it, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Room {
    /// The bytes.
    pub bytes: u64,
    /// `available memory` or `the cgroup's memory limit`.
    pub whose: &'static str,
}

/// Looks at the machine and the cgroup.
pub fn room(tree: &Tree) -> Result<Room, TreeError> {
    let info = tree.read(MEMINFO)?;
    let available = kibibytes(&info, "MemAvailable")
        .ok_or_else(|| TreeError::content(MEMINFO, "it has no MemAvailable"))?;
    let machine = Room {
        bytes: available,
        whose: "available memory",
    };
    // Where there is no cgroup, or one that cannot be read, the machine alone limits.
    let Ok(groups) = Cgroups::find(tree) else {
        return Ok(machine);
    };
    match groups.memory_room(tree) {
        Ok(Some(bytes)) if bytes < machine.bytes => Ok(Room {
            bytes,
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
        check(&[("/proc/meminfo", "MemTotal: 2 kB\n")], Err(()));
    }
}
