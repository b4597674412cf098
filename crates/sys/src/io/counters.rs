//! What the kernel counts of storage: for this process, and for a block device. Formats: proc(5) and
//! Documentation/admin-guide/iostats.rst of the kernel.

use crate::tree::{Tree, TreeError};
use std::fs::File;
use std::os::unix::fs::{FileTypeExt, MetadataExt};

/// What this process made storage do since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessIo {
    /// Bytes that were fetched from storage: what the page cache held is not among them.
    pub read_bytes: u64,
    /// Bytes that were sent to storage, or will be.
    pub write_bytes: u64,
}

/// /proc/self/io. An error where the kernel does not count (`CONFIG_TASK_IO_ACCOUNTING`).
pub fn process(tree: &Tree) -> Result<ProcessIo, TreeError> {
    let text = tree.read("/proc/self/io")?;
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key))?;
        line.trim().parse().ok()
    };
    Ok(ProcessIo {
        read_bytes: value("read_bytes:").unwrap_or(0),
        write_bytes: value("write_bytes:").unwrap_or(0),
    })
}

/// What a block device did since the machine started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceIo {
    /// Read operations that ended.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Write operations that ended.
    pub writes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Time in which at least one operation was under way, in nanoseconds; the kernel counts in milliseconds.
    pub busy: u64,
    /// Reads that were merged with others.
    pub read_merges: u64,
    /// Writes that were merged with others.
    pub write_merges: u64,
    /// Time that reads took, summed over them, in nanoseconds.
    pub read_time: u64,
    /// Time that writes took, summed over them, in nanoseconds.
    pub write_time: u64,
    /// Time that all operations took, summed over them, in nanoseconds.
    pub queue_time: u64,
}

/// The block device that a file lies on, or that it is, as `major:minor`; `None` where the file system has none of its
/// own, as network file systems, and those that span several.
pub fn device_of(file: &File) -> Option<String> {
    let found = file.metadata().ok()?;
    let number = if found.file_type().is_block_device() {
        found.rdev()
    } else {
        found.dev()
    };
    let (major, minor) = (libc::major(number), libc::minor(number));
    (major != 0).then(|| format!("{major}:{minor}"))
}

/// The counters of a block device, named as by [`device_of`].
pub fn device(tree: &Tree, number: &str) -> Result<DeviceIo, TreeError> {
    /// What the kernel calls a sector, whatever the device's own size.
    const SECTOR: u64 = 512;
    let text = tree.read(&format!("/sys/dev/block/{number}/stat"))?;
    let fields: Vec<u64> = text
        .split_whitespace()
        .map(|field| field.parse().unwrap_or(0))
        .collect();
    let field = |index: usize| fields.get(index).copied().unwrap_or(0);
    let time = |index: usize| field(index).saturating_mul(1_000_000);
    Ok(DeviceIo {
        reads: field(0),
        read_bytes: field(2).saturating_mul(SECTOR),
        writes: field(4),
        write_bytes: field(6).saturating_mul(SECTOR),
        busy: time(9),
        read_merges: field(1),
        write_merges: field(5),
        read_time: time(3),
        write_time: time(7),
        queue_time: time(10),
    })
}

/// The kernel's name of a block device, such as `vda`, numbered as by [`device_of`].
pub fn device_name(tree: &Tree, number: &str) -> Result<String, TreeError> {
    let text = tree.read(&format!("/sys/dev/block/{number}/uevent"))?;
    let name = text.lines().find_map(|line| line.strip_prefix("DEVNAME="));
    Ok(name.unwrap_or(number).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_read_from_their_places() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write(
            "proc/self/io",
            "rchar: 9\nwchar: 8\nsyscr: 7\nsyscw: 6\nread_bytes: 4096\nwrite_bytes: 512\ncancelled_write_bytes: 0\n",
        );
        write(
            "sys/dev/block/7:1/stat",
            "  10 1 16 5 20 2 32 6 0 250 11 0 0 0 0 0 0\n",
        );
        let tree = Tree::at(root.path());
        assert_eq!(
            process(&tree).unwrap(),
            ProcessIo {
                read_bytes: 4096,
                write_bytes: 512
            }
        );
        assert_eq!(
            device(&tree, "7:1").unwrap(),
            DeviceIo {
                reads: 10,
                read_bytes: 8192,
                writes: 20,
                write_bytes: 16384,
                busy: 250_000_000,
                read_merges: 1,
                write_merges: 2,
                read_time: 5_000_000,
                write_time: 6_000_000,
                queue_time: 11_000_000,
            }
        );
        assert!(device(&tree, "7:2").is_err());
        write(
            "sys/dev/block/7:1/uevent",
            "MAJOR=7\nMINOR=1\nDEVNAME=loop1\n",
        );
        assert_eq!(device_name(&tree, "7:1").unwrap(), "loop1");
    }
}
