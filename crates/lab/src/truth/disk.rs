//! A disk for one experiment: a file behind a loop device that bypasses the page cache, with ext4 on it.
//!
//! It needs root, takes a quarter of a second to make, and is unmounted, detached and removed when it goes out of
//! scope, in whatever way that happens. The file's blocks are allocated first, so that a read of the device is a read
//! of the disk below and not of a hole.

use super::place::Place;
use anyhow::Context;
use std::fs;
use std::path::{Path, PathBuf};
use sys::tree::Tree;
use xtask::process::{command, output, succeed, succeeds};

/// All inodes are written now: left to the kernel, that goes on in the background while something is measured.
const MKFS: [&str; 5] = [
    "-q",
    "-F",
    "-E",
    "lazy_itable_init=0,lazy_journal_init=0",
    "-N",
];

/// Inodes where few files are made.
const FEW: u64 = 1024;

/// A mounted loop device.
#[derive(Debug)]
pub(crate) struct Disk {
    /// The directory where its file system is.
    pub(crate) dir: PathBuf,
    /// `major:minor`, by which control groups know it.
    pub(crate) number: String,
    device: Option<String>,
    image: PathBuf,
    mounted: bool,
}

impl Disk {
    /// A disk of so many MiB; `label` tells the disks of one start apart.
    pub(crate) fn make(place: &Place, label: &str, mebibytes: u64) -> anyhow::Result<Self> {
        let base = place.dir.join(format!("{}-{label}", place.name));
        Self::at(&base, mebibytes, FEW)
    }

    /// The same with room for so many files, its image and mount beside `base`.
    pub(crate) fn at(base: &Path, mebibytes: u64, inodes: u64) -> anyhow::Result<Self> {
        // From here on `drop` takes away as much as was made.
        let mut disk = Self {
            dir: base.with_extension("mount"),
            number: String::new(),
            device: None,
            image: base.with_extension("img"),
            mounted: false,
        };
        let here = base.parent().context("find the directory of the disk")?;
        let size = format!("{mebibytes}MiB");
        succeed(
            command(here, "fallocate")
                .args(["-l", &size])
                .arg(&disk.image),
        )?;
        succeed(
            command(here, "mkfs.ext4")
                .args(MKFS)
                .arg(inodes.to_string())
                .arg(&disk.image),
        )?;
        let what = ["--direct-io=on", "--find", "--show"];
        let device = output(command(here, "losetup").args(what).arg(&disk.image))?;
        let device = device.trim().to_owned();
        let name = device.trim_start_matches("/dev/").to_owned();
        disk.device = Some(device.clone());
        disk.number = Tree::real()
            .read_trimmed(&format!("/sys/block/{name}/dev"))
            .with_context(|| format!("read the number of `{device}`"))?;
        fs::create_dir(&disk.dir).with_context(|| format!("create `{}`", disk.dir.display()))?;
        succeed(
            command(here, "mount")
                .args(["-o", "noatime", &device])
                .arg(&disk.dir),
        )?;
        disk.mounted = true;
        Ok(disk)
    }

    /// The directory as text for a command line.
    pub(crate) fn path(&self) -> String {
        self.dir.display().to_string()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let here = Path::new("/");
        let mut failed = Vec::new();
        if self.mounted && !eventually(|| succeeds(command(here, "umount").arg(&self.dir))) {
            failed.push(format!("unmount `{}`", self.dir.display()));
        }
        if let Some(device) = &self.device
            && !eventually(|| succeeds(command(here, "losetup").args(["--detach", device])))
        {
            failed.push(format!("detach `{device}`"));
        }
        if failed.is_empty() {
            // What is not there needs no removing; the rest goes with the scratch directory.
            let _ = fs::remove_dir(&self.dir);
            let _ = fs::remove_file(&self.image);
        }
        for what in failed {
            say!("warning: cannot {what}; the next start tries again");
        }
    }
}

/// Tries for two seconds: a process that was just killed may hold the mount for a moment.
fn eventually(mut attempt: impl FnMut() -> bool) -> bool {
    (0..20).any(|_| {
        let done = attempt();
        if !done {
            sys::clock::sleep(100_000_000);
        }
        done
    })
}

#[cfg(test)]
mod tests {
    mod root {
        use super::super::*;
        use crate::truth::throttle::{Group, Layout};

        #[test]
        #[ignore = "root: attaches a loop device and mounts it"]
        fn a_disk_comes_and_goes_and_counts_reads_through_its_group() {
            let parent = tempfile::tempdir_in(crate::truth::testkit::built()).unwrap();
            let place = Place::make(parent.path()).unwrap();
            let disk = Disk::make(&place, "t", 16).unwrap();
            let layout = Layout::find(&Tree::real()).unwrap();
            let group = Group::make(&layout, &format!("{}-disk", place.name)).unwrap();
            group.read_iops(&disk.number, Some(200)).now().unwrap();
            let script = format!(
                "{}; dd if=/dev/zero of='{dir}/f' bs=4k count=100 conv=fsync 2>&1 \
                 && dd if='{dir}/f' of=/dev/null bs=4k iflag=direct 2>&1",
                group.enter(),
                dir = disk.path()
            );
            let begin = sys::clock::monotonic();
            sys::process::shell(&script, 30_000).unwrap();
            let took = sys::clock::monotonic() - begin;
            assert!(group.reads(&disk.number).unwrap() >= 100);
            assert!(
                took > 300_000_000,
                "100 reads at 200 a second took {took} ns"
            );
            let device = disk.device.clone().unwrap();
            let backing = format!(
                "/sys/block/{}/loop/backing_file",
                device.trim_start_matches("/dev/")
            );
            assert!(Path::new(&backing).exists());
            drop(disk);
            assert!(!Path::new(&backing).exists());
            drop(group);
            assert_eq!(fs::read_dir(&place.dir).unwrap().count(), 0);
        }
    }
}
