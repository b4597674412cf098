//! Facts of devices and control groups that the tests make and remove.

use super::*;
use model::named::NamedKind;

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

/// A loop device on a file of its own, detached when dropped.
struct Loop {
    dir: tempfile::TempDir,
    device: String,
}

impl Loop {
    fn new(direct: &str) -> Self {
        let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let image = dir.path().join("image").display().to_string();
        let device = sh(&format!(
            "truncate -s 16M {image}; losetup --direct-io={direct} -f --show {image}"
        ));
        Self { dir, device }
    }

    fn facts(&self) -> model::host::BlockDevice {
        assert!(self.dir.path().exists());
        let path = Path::new(&self.device);
        let behind = storage::behind(&Tree::real(), path, NamedKind::Device);
        behind.devices.known().unwrap()[0].clone()
    }

    /// The device's number, `7:0`.
    fn number(&self) -> String {
        let name = self.device.trim_start_matches("/dev/");
        sh(&format!("cat /sys/block/{name}/dev"))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        sh(&format!("losetup -d {}", self.device));
    }
}

/// A control group with a limit, and this process in it until the value is dropped.
struct Group(PathBuf);

impl Group {
    /// Of version 1, or of version 2 where there is no other.
    fn of(device: &str) -> Self {
        let v1 = Path::new("/sys/fs/cgroup/blkio");
        let parent = if v1.exists() {
            v1
        } else {
            v1.parent().unwrap()
        };
        let group = Self(parent.join(format!("kurabe-test-facts-{}", std::process::id())));
        fs::create_dir(&group.0).unwrap();
        if v1.exists() {
            group.set("blkio.throttle.read_iops_device", &format!("{device} 300"));
            group.set(
                "blkio.throttle.write_bps_device",
                &format!("{device} 1048576"),
            );
        } else {
            sh("echo +io > /sys/fs/cgroup/cgroup.subtree_control");
            group.set("io.max", &format!("{device} riops=300 wbps=1048576"));
        }
        group.set("cgroup.procs", &std::process::id().to_string());
        group
    }

    fn set(&self, file: &str, text: &str) {
        fs::write(self.0.join(file), text).unwrap();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Back to the parent, so that the group is empty.
        let parent = self.0.parent().unwrap().join("cgroup.procs");
        let _ = fs::write(parent, std::process::id().to_string());
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
#[ignore = "root: makes loop devices"]
fn a_buffered_loop_device_is_told_from_a_direct_one() {
    assert_eq!(Loop::new("off").facts().buffered, Fact::Known(true));
    assert_eq!(Loop::new("on").facts().buffered, Fact::Known(false));
}

#[test]
#[ignore = "root: makes loop devices and a control group"]
fn a_real_throttle_is_seen_of_its_device_alone_and_from_inside_alone() {
    let (limited, other) = (Loop::new("off"), Loop::new("off"));
    assert_eq!(limited.facts().throttle, Fact::Known(None));
    let group = Group::of(&limited.number());
    let throttle = limited.facts().throttle.known().copied().flatten();
    let said = throttle.unwrap().to_string();
    assert_eq!(said, "read 300 IOPS, write 1 MiB/s");
    assert_eq!(other.facts().throttle, Fact::Known(None));
    drop(group);
    assert_eq!(limited.facts().throttle, Fact::Known(None));
}
