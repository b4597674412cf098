//! Disks of their own for tests: what a user may do to a device or a file, and what happens when a disk fails.
//!
//! Every device is a loop device on a sparse file that the test made; nothing else is ever written to.

#![expect(
    clippy::disallowed_methods,
    reason = "tests set disks up with the system's own tools"
)]

mod bonnie;
mod counters;
mod depth;
mod devices;
mod elsewhere;
mod failing;
mod layout;
mod limits;
mod marks;
mod room;
mod same_storage;
mod signatures;
mod space;
mod writers;

use crate::bed::{Bed, Done};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use tempfile::TempDir;

/// Runs a shell script to its end and gives what it printed.
#[track_caller]
fn sh(script: &str) -> String {
    let output = Command::new("sh").args(["-ec", script]).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script}: {errors}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Whether a program is there; without it a test says that it is skipped.
pub(crate) fn is_installed(program: &str) -> bool {
    works(&format!("command -v {program}"))
}

/// Whether a shell script succeeds.
fn works(script: &str) -> bool {
    let output = Command::new("sh").args(["-ec", script]).output().unwrap();
    output.status.success()
}

/// A loop device on a sparse file; detached at the end.
struct Loop {
    dir: TempDir,
    device: String,
}

impl Loop {
    fn new(size: &str) -> Self {
        Self::with(size, "--direct-io=on")
    }

    fn with(size: &str, options: &str) -> Self {
        // Not in /tmp, which may be in memory.
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        Self::on(dir, size, options)
    }

    fn on(dir: TempDir, size: &str, options: &str) -> Self {
        let image = dir.path().join("image");
        let image = image.display();
        let device = sh(&format!(
            "truncate -s {size} {image}; losetup {options} --find --show {image}"
        ));
        Self { dir, device }
    }

    fn image(&self) -> PathBuf {
        self.dir.path().join("image")
    }

    fn image_bytes(&self) -> Vec<u8> {
        std::fs::read(self.image()).unwrap()
    }

    /// The option that lets tests write to it.
    fn erase(&self) -> String {
        format!("--yes-erase={}", self.device)
    }

    fn is_attached(&self) -> bool {
        let name = self.device.trim_start_matches("/dev/");
        Path::new(&format!("/sys/block/{name}/loop/backing_file")).exists()
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = works(&format!("losetup --detach {}", self.device));
        // A claim that somebody forgot would keep it.
        let gone = (0..500).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(20));
            !self.is_attached()
        });
        if !std::thread::panicking() {
            assert!(gone, "{} is still in use", self.device);
        }
    }
}

/// An ext4 file system on a loop device.
struct Disk {
    disk: Loop,
    mount: PathBuf,
}

impl Disk {
    fn new(size: &str, mkfs: &str, options: &str) -> Self {
        let disk = Loop::new(size);
        let mount = disk.dir.path().join("mount");
        sh(&format!(
            "mkfs.ext4 -qF {mkfs} {0}; mkdir {1}; mount -o {options} {0} {1}",
            disk.device,
            mount.display()
        ));
        Self { disk, mount }
    }

    fn dir(&self) -> &str {
        self.mount.to_str().unwrap()
    }

    /// What is on it beside what mkfs made.
    fn left(&self) -> Vec<String> {
        names(&self.mount, "lost+found")
    }
}

/// Unmounts a file system that was just measured on. The kernel lets go of what a process had open a moment after the
/// process has ended, as `io_uring` does from a queue of its own (`io_uring/io_uring.c`), and is busy until then.
#[track_caller]
fn unmount(point: &Path) {
    crate::bed::eventually(10, || works(&format!("umount {}", point.display())));
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = works(&format!("umount -l {}", self.mount.display()));
    }
}

fn names(dir: &Path, but: &str) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap().flatten();
    let names = entries.map(|entry| entry.file_name().into_string().unwrap());
    names.filter(|name| name != but).collect()
}

/// The arguments of a short run.
fn args<'a>(what: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let common = ["run", what, "--passes", "1", "--quiet"];
    [&common[..], more].concat()
}

fn exported(bed: &Bed) -> Value {
    let text = bed.run(&["export", "latest"]).code(0).out;
    serde_json::from_str::<Value>(&text).unwrap()["run"].take()
}

/// Starts a run in the background and waits until it has a round.
fn begun(bed: &Bed, what: &str, passes: &str, more: &[&str]) -> Child {
    let child = bed.start(&[&["run", what, "--passes", passes][..], more].concat());
    crate::bed::eventually(60, || {
        let listed = bed.run(&["show", "--format", "csv-rounds"]);
        listed.code == Some(0) && listed.out.lines().count() > 1
    });
    child
}

/// The reasons of the rounds that failed.
fn reasons(bed: &Bed) -> Vec<String> {
    let run = exported(bed);
    let rounds = run["rounds"].as_array().unwrap().iter();
    let failed = rounds.filter(|round| !round["outcome"]["failed"].is_null());
    failed
        .map(|round| round["outcome"]["failed"].to_string())
        .collect()
}

/// A run whose rounds fail for this reason, and that leaves nothing where it worked.
#[track_caller]
fn fails_for(bed: &Bed, done: Done, reason: &str) {
    done.code(4);
    let reasons = reasons(bed);
    let said = reasons.iter().any(|why| why.contains(reason));
    assert!(said, "`{reason}` is not in {reasons:#?}");
    assert_eq!(bed.left_behind(), [""; 0]);
}
