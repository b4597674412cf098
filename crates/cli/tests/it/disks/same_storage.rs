//! Storage that is in use under another name: nothing of it is written to, whatever is typed.
//!
//! Every image, mount and namespace is the test's own.

use super::*;

pub(super) const UUID: &str = "5b6c7d8e-0102-4304-8506-0708090a0c01";

/// A second loop device; detached at the end.
pub(super) struct Attached(pub(super) String);

impl Attached {
    pub(super) fn to(options: &str, what: &Path) -> Self {
        let what = what.display();
        Self(sh(&format!("losetup {options} --find --show {what}")))
    }

    /// The device's number, as mknod takes it.
    fn number(device: &str) -> String {
        let name = device.trim_start_matches("/dev/");
        sh(&format!("tr : ' ' < /sys/class/block/{name}/dev"))
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        let _ = works(&format!("losetup --detach {}", self.0));
    }
}

/// A program of the test's own; killed at the end.
pub(super) struct Running(pub(super) Child);

impl Running {
    /// Starts a script behind another program; it goes on as `sleep` after it has made the file `ready`.
    pub(super) fn behind(before: &[&str], script: &str, ready: &Path) -> Self {
        let script = format!("{script}; : > {}; exec sleep 600", ready.display());
        let child = Command::new(before[0])
            .args(&before[1..])
            .args(["sh", "-ec", &script])
            .spawn()
            .unwrap();
        let running = Self(child);
        crate::bed::eventually(60, || ready.exists());
        running
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Something that is undone at the end.
pub(super) struct Undo(pub(super) String);

impl Drop for Undo {
    fn drop(&mut self) {
        let _ = works(&self.0);
    }
}

/// Tries to erase `device` with all that one can type, and sees to it that not a byte of the image changes.
#[track_caller]
pub(super) fn is_refused(image: &Path, device: &str, says: &[&str]) {
    let before = std::fs::read(image).unwrap();
    let bed = Bed::new();
    let run = |typed: &str| {
        let more = ["--device", device, "--yes-erase", typed];
        let size = ["--set", "storage.*.size=16M"];
        bed.run(&args("storage.randwrite-4k", &[&more[..], &size].concat()))
    };
    run(device).code(2);
    run(&format!("{device}={UUID}")).code(2).err_has(says);
    assert!(before == std::fs::read(image).unwrap(), "it was written to");
    assert_eq!(bed.left_behind(), [""; 0]);
}

pub(super) const IN_USE: &str = "no option overrides this";

mod root {
    use super::*;

    /// An ext4 file system that is mounted for reading only, so that nobody but a culprit writes to its image.
    fn mounted() -> Disk {
        Disk::new("64M", &format!("-U {UUID}"), "ro")
    }

    #[test]
    #[ignore = "root: mounts a loop device"]
    fn a_mounted_file_system_is_known_through_a_hard_link_of_its_image() {
        let disk = mounted();
        let (image, link) = (disk.disk.image(), disk.disk.dir.path().join("link"));
        std::fs::hard_link(&image, &link).unwrap();
        let other = Attached::to("", &link);
        is_refused(&image, &other.0, &["is mounted at", IN_USE]);
    }

    #[test]
    #[ignore = "root: mounts a loop device"]
    fn a_mounted_file_system_is_known_through_a_bind_mount_of_its_image() {
        let disk = mounted();
        let elsewhere = tempfile::tempdir().unwrap();
        let (from, to) = (disk.disk.dir.path().display(), elsewhere.path().display());
        sh(&format!("mount --bind {from} {to}"));
        let _undo = Undo(format!("umount {to}"));
        let other = Attached::to("", &elsewhere.path().join("image"));
        is_refused(&disk.disk.image(), &other.0, &["is mounted at", IN_USE]);
    }

    #[test]
    #[ignore = "root: mounts a loop device"]
    fn a_file_system_that_is_mounted_in_another_namespace_is_known_by_its_claim() {
        let disk = Loop::new("64M");
        let dir = disk.dir.path();
        sh(&format!(
            "mkfs.ext4 -qF -U {UUID} {}; mkdir {}/m",
            disk.device,
            dir.display()
        ));
        let other = Attached::to("", &disk.image());
        let mount = format!("mount -o ro {} {}/m", disk.device, dir.display());
        let _mounted = Running::behind(&["unshare", "--mount"], &mount, &dir.join("ready"));
        let name = disk.device.trim_start_matches("/dev/");
        let says = format!("`{name}`, which is the same storage, is in use");
        is_refused(&disk.image(), &other.0, &[&says, IN_USE]);
    }

    #[test]
    #[ignore = "root: makes a swap area on a loop device"]
    fn a_swap_area_is_known_through_a_hard_link_of_its_image() {
        let disk = Loop::new("64M");
        let link = disk.dir.path().join("link");
        std::fs::hard_link(disk.image(), &link).unwrap();
        let other = Attached::to("", &link);
        sh(&format!("mkswap -q -U {UUID} {0}; swapon {0}", disk.device));
        let _undo = Undo(format!("swapoff {}", disk.device));
        is_refused(&disk.image(), &other.0, &["is used as swap", IN_USE]);
    }

    #[test]
    #[ignore = "root: mounts loop devices"]
    fn a_loop_device_on_another_node_of_a_device_is_known_in_both_directions() {
        let disk = Loop::new("64M");
        let dir = disk.dir.path();
        let node = dir.join("node");
        let number = Attached::number(&disk.device);
        sh(&format!("mknod {} b {number}", node.display()));
        sh(&format!(
            "mkfs.ext4 -qF -U {UUID} {}; mkdir {}/m",
            disk.device,
            dir.display()
        ));
        let above = Attached::to("", &node);
        let (below, point) = (&disk.device, dir.join("m"));
        for (mounted, erased) in [(below, &above.0), (&above.0, below)] {
            sh(&format!("mount -o ro {mounted} {}", point.display()));
            let _undo = Undo(format!("umount {}", point.display()));
            is_refused(&disk.image(), erased, &["is mounted at", IN_USE]);
        }
        // Nor is one that nobody has mounted.
        is_refused(&disk.image(), below, &["is the backing of", IN_USE]);
    }

    #[test]
    #[ignore = "root: mounts a loop device"]
    fn a_file_system_in_the_middle_of_an_image_that_looks_blank_is_known() {
        let disk = Loop::new("192M");
        let dir = disk.dir.path();
        let (image, link, point) = (disk.image(), dir.join("link"), dir.join("m"));
        std::fs::hard_link(&image, &link).unwrap();
        let middle = Attached::to(&format!("--offset {}", 128 << 20), &link);
        sh(&format!(
            "mkfs.ext4 -qF -U {UUID} {}; mkdir {}",
            middle.0,
            point.display()
        ));
        sh(&format!("mount -o ro {} {}", middle.0, point.display()));
        let _undo = Undo(format!("umount {}", point.display()));
        is_refused(&image, &disk.device, &["is mounted at", IN_USE]);
    }

    #[test]
    #[ignore = "root: makes loop devices"]
    fn a_part_of_an_image_that_nobody_uses_may_be_erased_beside_one_that_is_mounted() {
        let disk = Loop::new("192M");
        let dir = disk.dir.path();
        let part = |from: u32, mib: u32| {
            let options = format!("--offset {} --sizelimit {}", from << 20, mib << 20);
            Attached::to(&options, &disk.image())
        };
        let (one, other) = (part(0, 64), part(64, 64));
        sh(&format!(
            "mkfs.ext4 -qF -U {UUID} {}; mkdir {}/m",
            one.0,
            dir.display()
        ));
        sh(&format!("mount -o ro {} {}/m", one.0, dir.display()));
        let _undo = Undo(format!("umount {}/m", dir.display()));
        let read = || std::fs::read(disk.image()).unwrap();
        let before = read();
        let bed = Bed::new();
        let more = ["--device", &other.0, "--yes-erase", &other.0];
        bed.run(&args("storage.write-1m", &more)).code(0);
        let after = read();
        assert!(before[..64 << 20] == after[..64 << 20]);
        assert!(before[128 << 20..] == after[128 << 20..]);
        assert!(before != after);
    }

    #[test]
    #[ignore = "root: mounts loop devices"]
    fn what_is_stacked_on_what_is_mounted_is_known_however_deep() {
        // A file system in a partition of an image, which is a file of another file system on a loop device.
        let outer = Disk::new("256M", "", "defaults");
        let dir = outer.disk.dir.path();
        let (image, point) = (outer.mount.join("inner"), dir.join("inner-mount"));
        sh(&format!(
            "truncate -s 96M {}; mkdir {}",
            image.display(),
            point.display()
        ));
        let whole = Attached::to("--partscan", &image);
        let partition = format!("{}p1", whole.0);
        sh(&format!("addpart {} 1 2048 131072", whole.0));
        sh(&format!("mkfs.ext4 -qF -U {UUID} {partition}"));
        sh(&format!("mount -o ro {partition} {}", point.display()));
        let _undo = Undo(format!("umount {}", point.display()));
        // The partition's place by hand, and a loop device on the mounted partition itself.
        let link = outer.mount.join("link");
        std::fs::hard_link(&image, &link).unwrap();
        let same_place = Attached::to("--offset 1048576", &link);
        let on_partition = Attached::to("", Path::new(&partition));
        for device in [&same_place.0, &on_partition.0, &whole.0, &partition] {
            is_refused(&image, device, &["is mounted at", IN_USE]);
        }
        is_refused(&image, &outer.disk.device, &["is mounted at", IN_USE]);
    }

    #[test]
    #[ignore = "root: makes loop devices"]
    fn nobody_can_mount_another_loop_device_of_the_storage_while_the_run_goes_on() {
        let (bed, disk) = (Bed::new(), Loop::new("256M"));
        sh(&format!("mkfs.ext4 -qF -U {UUID} {}", disk.device));
        let other = Attached::to("", &disk.image());
        let erase = format!("--yes-erase={}={UUID}", disk.device);
        let more = ["--device", &disk.device, &erase];
        let child = begun(&bed, "storage.randwrite-4k", "8", &more);
        let point = disk.dir.path().join("m");
        let taken = works(&format!(
            "mkdir {0}; mount {1} {0}",
            point.display(),
            other.0
        ));
        // One that comes later is claimed by nobody, and ends the run.
        let _late = Attached::to("", &disk.image());
        let done: Done = child.wait_with_output().unwrap().into();
        assert!(!taken, "the claim keeps it out");
        done.code(4);
        let reasons = reasons(&bed);
        let is_known =
            |why: &String| why.contains("was made of the same storage since the run began");
        assert!(reasons.iter().any(is_known), "{reasons:?}");
    }

    #[test]
    #[ignore = "root: makes a loop device in another namespace"]
    fn an_image_that_a_loop_device_of_another_namespace_holds_is_not_overwritten() {
        let bed = Bed::new();
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let (image, at) = (dir.path().join("image"), dir.path().display());
        sh(&format!(
            "mkdir {at}/elsewhere; head -c 32M /dev/urandom > {at}/image"
        ));
        let before = std::fs::read(&image).unwrap();
        // There its path is one that leads nowhere here. It only reads, so that the file is open for writing nowhere.
        let device = sh(&format!(
            "unshare --mount sh -ec 'mkdir {at}/x; mount --bind {at} {at}/elsewhere; mount -t tmpfs none {at}/x; \
             mkdir {at}/x/y; mount --bind {at}/elsewhere {at}/x/y; losetup --read-only --find --show {at}/x/y/image'"
        ));
        let _attached = Attached(device);
        let name = image.to_str().unwrap();
        let more = ["--file", name, "--overwrite-file", name];
        let done = bed.run(&args("storage.randwrite-4k", &more)).code(2);
        done.err_has(&["it is the backing of `loop", IN_USE]);
        assert!(before == std::fs::read(&image).unwrap());
    }

    /// A root directory of its own, as a container has it, without a node of any loop device; `data` is this directory.
    fn contained(dir: &Path, more: &str) -> String {
        let binary = Path::new(env!("CARGO_BIN_EXE_kurabe"));
        let (dir, program) = (dir.display(), binary.parent().unwrap().display());
        format!(
            "mkdir {dir}/root; mount -t tmpfs none {dir}/root; cd {dir}/root; mkdir usr dev proc sys data tmp k; \
             for link in lib lib64 bin; do ln -s usr/$link $link; done; mount --rbind /usr usr; \
             mount --rbind /proc proc; mount --rbind /sys sys; mount --bind {dir} data; mount --bind {program} k; \
             mknod dev/null c 1 3; {more} shift; KURABE_STORE=/tmp/s.db exec chroot . /k/kurabe \"$@\""
        )
    }

    #[test]
    #[ignore = "root: mounts a loop device, and makes mount namespaces"]
    fn an_image_that_is_only_read_is_spared_where_its_loop_device_has_no_node_and_where_sys_is_missing()
     {
        // The kernel has such an image open for reading only, and says nothing of it.
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let image = dir.path().join("image");
        sh(&format!(
            "truncate -s 64M {0}; mkfs.ext4 -qF {0}; mkdir {1}/m",
            image.display(),
            dir.path().display()
        ));
        let disk = Loop::on(dir, "64M", "--read-only");
        let (dir, link) = (disk.dir.path(), disk.dir.path().join("link"));
        sh(&format!("mount -o ro {} {}/m", disk.device, dir.display()));
        let _undo = Undo(format!("umount {}/m", dir.display()));
        let before = std::fs::read(&image).unwrap();
        let bed = Bed::new();
        let write = |before: &[&str], name: &str| {
            let named = [
                format!("--filename={name}"),
                format!("--overwrite-file={name}"),
            ];
            let job = ["fio", "--name=t", "--rw=write", "--bs=64k", "--size=4m"];
            bed.behind(
                before,
                &[&job[..], &[named[0].as_str(), named[1].as_str()]].concat(),
            )
        };
        let inside = |more: &str, name: &str| {
            let script = contained(dir, more);
            let done = write(&["unshare", "--mount", "sh", "-ec", &script, "sh"], name);
            let _ = works(&format!("rmdir {}/root", dir.display()));
            done
        };
        let spared = |done: Done, says: &[&str]| {
            done.code(2).err_has(says);
            assert!(
                before == std::fs::read(&image).unwrap(),
                "it was written to"
            );
        };
        let is_backing = ["it is the backing of `loop", IN_USE];
        spared(inside("", "/data/image"), &is_backing);
        spared(inside("umount -R sys;", "/data/image"), &is_backing);
        let no_sys = [
            "unshare",
            "--mount",
            "sh",
            "-ec",
            "umount -R /sys; exec \"$@\"",
            "sh",
        ];
        spared(write(&no_sys, image.to_str().unwrap()), &is_backing);
        // Whoever may not make a node cannot ask.
        let plain = "exec setpriv --bounding-set -mknod,-sys_admin chroot . /k/kurabe \"$@\";";
        let plain = format!("shift; export KURABE_STORE=/tmp/s.db; {plain}");
        let unasked = [
            "below a loop device cannot be found out: the loop device `loop",
            "hint: ",
        ];
        spared(inside(&plain, "/data/image"), &unasked);
        let blind = format!("umount -R sys; mount --bind /dev/null proc/partitions; {plain}");
        let done = inside(&blind, "/data/image");
        spared(
            done,
            &["below a loop device cannot be found out: which loop devices there are"],
        );
        // The name by which it was attached is gone.
        std::fs::hard_link(&image, &link).unwrap();
        std::fs::remove_file(&image).unwrap();
        let done = inside("", "/data/link");
        std::fs::rename(&link, &image).unwrap();
        spared(done, &is_backing);
    }

    #[test]
    #[ignore = "root: mounts a loop device, and a file system that a program serves"]
    fn an_image_that_a_program_mirrors_is_spared_by_both_of_its_names() {
        if !is_installed("bindfs") {
            eprintln!("skipped: there is no bindfs");
            return;
        }
        let disk = mounted();
        let (image, mirror) = (disk.disk.image(), tempfile::tempdir().unwrap());
        let (from, to) = (disk.disk.dir.path().display(), mirror.path().display());
        sh(&format!("bindfs {from} {to}"));
        let _undo = Undo(format!("umount -l {to}"));
        let seen = mirror.path().join("image");
        let before = std::fs::read(&image).unwrap();
        let bed = Bed::new();
        let name = seen.to_str().unwrap();
        let typed = ["--file", name, "--overwrite-file", name];
        bed.run(&args("storage.randwrite-4k", &typed))
            .code(2)
            .err_has(&["(fuse", "let kurabe make a file of its own"]);
        assert!(before == std::fs::read(&image).unwrap());
        let other = Attached::to("", &seen);
        let says = [
            "it holds ext2/3/4, and who uses it cannot be found out",
            "(fuse",
        ];
        is_refused(&image, &other.0, &says);
        // What is blank may be written to, and files of our own too.
        let blank = mirror.path().join("blank");
        sh(&format!("truncate -s 64M {}", blank.display()));
        let other = Attached::to("", &blank);
        let more = ["--device", &other.0, "--yes-erase", &other.0];
        let size = ["--set", "storage.*.size=8M"];
        let all = args("storage.randwrite-4k", &[&more[..], &size].concat());
        bed.run(&all).code(0).err_has(&["warning: ", "(fuse"]);
        let inside = ["--dir", mirror.path().to_str().unwrap()];
        bed.run(&args(
            "storage.randwrite-4k",
            &[&inside[..], &size].concat(),
        ))
        .code(0);
    }

    #[test]
    #[ignore = "root: makes a swap file and a loop device"]
    fn a_swap_file_is_known_by_itself_and_below_a_device() {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let image = dir.path().join("with space");
        sh(&format!(
            "head -c 64M /dev/zero > '{0}'; chmod 600 '{0}'; mkswap -q -U {UUID} '{0}'; swapon '{0}'",
            image.display()
        ));
        let _undo = Undo(format!("swapoff '{}'", image.display()));
        let name = image.to_str().unwrap();
        let typed = ["--file", name, "--overwrite-file", name];
        Bed::new()
            .run(&args("storage.randwrite-4k", &typed))
            .code(2)
            .err_has(&["it is used as swap", IN_USE]);
        let other = Attached(sh(&format!("losetup --find --show '{name}'")));
        is_refused(&image, &other.0, &["a file that is used as swap", IN_USE]);
    }
}
