//! Jobs on file systems of their own: a disk of a known speed, broken, read-only, full.

use super::*;
use std::path::Path;

/// Runs a shell command to its end.
#[expect(clippy::disallowed_methods, reason = "the test waits for its command")]
fn sh(command: &str) -> String {
    let output = std::process::Command::new("sh")
        .args(["-ec", command])
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command}: {errors}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// An ext4 file system on a loop device, gone when dropped.
struct Disk {
    root: TempDir,
    device: String,
}

impl Disk {
    fn new(size: &str) -> Self {
        let root = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let dir = root.path().display();
        sh(&format!(
            "truncate -s {size} {dir}/image; mkfs.ext4 -qF {dir}/image; mkdir {dir}/mount"
        ));
        // Without its own cache the loop device shows what happens to its file.
        let device = sh(&format!("losetup --direct-io=on -f --show {dir}/image"));
        let disk = Self { root, device };
        sh(&format!("mount {} {}", disk.device, disk.mount().display()));
        disk
    }

    fn mount(&self) -> PathBuf {
        self.root.path().join("mount")
    }

    fn image(&self) -> PathBuf {
        self.root.path().join("image")
    }

    /// The device's number, `7:0`.
    fn number(&self) -> String {
        let name = self.device.trim_start_matches("/dev/");
        sh(&format!("cat /sys/block/{name}/dev"))
    }

    fn place(&self) -> Place {
        let [dir, shared_dir, run_dir] = ["0", "shared", "run"].map(|name| self.mount().join(name));
        for dir in [&dir, &shared_dir, &run_dir] {
            std::fs::create_dir_all(dir).unwrap();
        }
        let (_root, place) = place();
        Place {
            dir,
            shared_dir,
            run_dir,
            ..place
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let mount = self.mount();
        sh(&format!(
            "umount -l {}; losetup -d {}",
            mount.display(),
            self.device
        ));
    }
}

/// A control group in which a device does so many reads per second, v1 or v2, whichever there is.
struct Throttle(PathBuf);

impl Throttle {
    fn new(number: &str, reads_per_second: u32) -> Self {
        let name = format!("kurabe-test-{}", std::process::id());
        let v1 = Path::new("/sys/fs/cgroup/blkio");
        if v1.exists() {
            let group = v1.join(name);
            std::fs::create_dir(&group).unwrap();
            let limit = format!("{number} {reads_per_second}");
            std::fs::write(group.join("blkio.throttle.read_iops_device"), limit).unwrap();
            return Self(group);
        }
        sh("echo +io > /sys/fs/cgroup/cgroup.subtree_control");
        let group = Path::new("/sys/fs/cgroup").join(name);
        std::fs::create_dir(&group).unwrap();
        let limit = format!("{number} riops={reads_per_second}");
        std::fs::write(group.join("io.max"), limit).unwrap();
        Self(group)
    }

    fn enter(&self) {
        let me = std::process::id().to_string();
        std::fs::write(self.0.join("cgroup.procs"), me).unwrap();
    }
}

impl Drop for Throttle {
    fn drop(&mut self) {
        // Back to the parent, so that the group is empty.
        let parent = self.0.parent().unwrap().join("cgroup.procs");
        let _ = std::fs::write(parent, std::process::id().to_string());
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[test]
#[ignore = "root: mounts a loop device and makes a control group"]
fn a_disk_of_500_operations_a_second_reads_about_500() {
    let disk = Disk::new("3G");
    let place = disk.place();
    let mut body = open(
        &job(&[("iodepth", "32"), ("size", "16M"), ("direct", "yes")]),
        &place,
    )
    .unwrap();
    let throttle = Throttle::new(&disk.number(), 500);
    throttle.enter();
    let mut recorder = Recorder::off();
    body.batch(250, &mut recorder).unwrap();
    body.measured_part_begins();
    let begin = sys::clock::monotonic();
    let done = body.batch(1500, &mut recorder).unwrap();
    let seconds = approx(sys::clock::monotonic() - begin) / 1e9;
    let finish = body.finish().unwrap();
    let rate = approx(done) / seconds;
    // The throttle hands out its operations in slices of 100 ms; both ends of three seconds may be off by one.
    assert!((465.0..=535.0).contains(&rate), "{rate}");
    assert!(
        finish.reported["cached_share"] < 0.05,
        "{:?}",
        finish.reported
    );
    assert!(finish.notes.is_empty(), "{:?}", finish.notes);
    // Little's law: 32 under way at 500 a second take 64 ms each.
    let lat = model::latency::mean(&finish.latencies["lat"].pairs()).unwrap();
    assert!((lat * rate / 1e9 - 32.0).abs() < 3.0, "{lat} ns at {rate}");
}

#[test]
#[ignore = "root: mounts a loop device"]
fn a_disk_that_fails_ends_the_round_with_the_kernels_reason() {
    for (engine, depth) in [("psync", "1"), ("io_uring", "8"), ("libaio", "8")] {
        let disk = Disk::new("3G");
        let place = disk.place();
        let job = job(&[
            ("ioengine", engine),
            ("iodepth", depth),
            ("size", "16M"),
            ("direct", "yes"),
        ]);
        let mut body = open(&job, &place).unwrap();
        // The disk loses its end, and everything that lies there.
        sh(&format!("truncate -s 64K {}", disk.image().display()));
        let error = body
            .batch(20_000, &mut Recorder::off())
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("read `") && error.contains("Input/output error"),
            "{error}"
        );
    }
}

#[test]
#[ignore = "root: mounts a loop device"]
fn errors_that_are_let_pass_are_counted_and_told() {
    for (engine, depth) in [("psync", "1"), ("io_uring", "4"), ("libaio", "4")] {
        let disk = Disk::new("3G");
        let place = disk.place();
        let job = Job {
            continue_on: model::job::ContinueOn {
                read: true,
                ..model::job::ContinueOn::default()
            },
            end: model::job::End {
                time_based: false,
                ..model::job::End::default()
            },
            ..job(&[
                ("size", "64M"),
                ("direct", "yes"),
                ("rw", "read"),
                ("ioengine", engine),
                ("iodepth", depth),
            ])
        };
        let mut body = open(&job, &place).unwrap();
        sh(&format!("truncate -s 64K {}", disk.image().display()));
        let done = body.batch(20_000, &mut Recorder::off()).unwrap();
        let finish = body.finish().unwrap();
        let job = finish.job.unwrap();
        let read = &job.done.read;
        // EIO is 5.
        assert_eq!((done, job.first_errno), (16_384, Some(5)), "{engine}");
        assert_eq!(read.ops + read.errors, 16_384, "{engine}");
        assert!(read.errors > 0, "{engine}");
        let said = finish
            .notes
            .iter()
            .any(|note| note.contains("Input/output error"));
        assert!(said, "{engine}: {:?}", finish.notes);
    }
}

#[test]
#[ignore = "root: mounts a loop device"]
fn a_block_that_o_direct_cannot_transfer_is_refused_beforehand() {
    let disk = Disk::new("3G");
    let place = disk.place();
    let refused = open(&job(&[("bs", "1000"), ("direct", "yes")]), &place)
        .err()
        .unwrap()
        .to_string();
    assert!(
        refused.contains("O_DIRECT needs blocks of a multiple of 512 bytes here, and 1000 is none"),
        "{refused}"
    );
}

#[test]
#[ignore = "root: mounts a loop device"]
fn a_read_only_or_full_file_system_is_an_error_and_nothing_is_left() {
    let disk = Disk::new("3G");
    let place = disk.place();
    sh(&format!("mount -o remount,ro {}", disk.mount().display()));
    let error = open(&job(&[]), &place).err().unwrap().to_string();
    assert!(error.contains("Read-only file system"), "{error}");
    sh(&format!("mount -o remount,rw {}", disk.mount().display()));

    // Somebody else takes the space between the question for it and the writing: the group's quota, here the room of a
    // smaller file system mounted over the directory.
    let run = place.run_dir.display();
    sh(&format!("mount -t tmpfs -o size=3M kurabe-test {run}"));
    let mut note = file::Note::for_test(8 << 20);
    let path = place.run_dir.join("data");
    let error = file::write_or_remove(&path, &mut note, &mut |_| ())
        .unwrap_err()
        .to_string();
    let left = std::fs::read_dir(&place.run_dir).unwrap().count();
    sh(&format!("umount {run}"));
    assert!(error.contains("No space left on device"), "{error}");
    assert_eq!(left, 0);
}
