//! Room that is less than what a file system says: quotas, memory, and what lies below a device.
//!
//! Every file system is the test's own. Quotas of user, group and project need a kernel with them (`CONFIG_QFMT_V2`,
//! `CONFIG_XFS_QUOTA`); what they answer is tested in `sys::room`.

mod root {
    use super::super::same_storage::Undo;
    use super::super::*;

    /// A run of one test whose file has this size, in `dir`.
    fn run(bed: &Bed, dir: &Path, size: &str, more: &[&str]) -> Done {
        let size = format!("storage.*.size={size}");
        let all = ["--dir", dir.to_str().unwrap(), "--set", &size];
        bed.run(&args("storage.write-1m", &[&all[..], more].concat()))
    }

    /// A btrfs with quotas and a volume `limited` in it; unmounted at the end.
    struct Volume {
        point: PathBuf,
        _disk: Loop,
    }

    impl Volume {
        /// `None` where it cannot be made, which is said.
        #[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
        fn new(limits: &str) -> Option<Self> {
            if !is_installed("mkfs.btrfs") {
                eprintln!("skipped: `mkfs.btrfs` is not installed");
                return None;
            }
            let disk = Loop::new("6G");
            let point = disk.dir.path().join("mount");
            let at = point.display();
            sh(&format!(
                "mkfs.btrfs -q {0}; mkdir {at}; mount {0} {at}; btrfs quota enable {at}; \
                 btrfs subvolume create {at}/limited >&2; cd {at}; {limits}; echo mine > limited/precious",
                disk.device
            ));
            Some(Self { point, _disk: disk })
        }

        fn dir(&self) -> PathBuf {
            self.point.join("limited")
        }

        fn is_as_before(&self) {
            assert_eq!(names(&self.dir(), ""), ["precious"]);
            let kept = std::fs::read_to_string(self.dir().join("precious"));
            assert_eq!(kept.unwrap(), "mine\n");
        }
    }

    impl Drop for Volume {
        fn drop(&mut self) {
            let _ = works(&format!("umount -l {}", self.point.display()));
        }
    }

    const OWN: &str = "btrfs qgroup limit 100M limited";

    #[test]
    #[ignore = "root: makes a file system with quotas on a loop device"]
    fn the_quota_of_a_volume_is_asked_before() {
        let Some(volume) = Volume::new(OWN) else {
            return;
        };
        let bed = Bed::new();
        let refused = run(&bed, &volume.dir(), "256M", &[]).code(4);
        let refused = refused.out_says(&["of 100 MiB that the quota group 0/256 allows"]);
        refused.out_has(&["there is room for a test file of", "hint: "]);
        volume.is_as_before();
        let named = format!("--filename={}/data", volume.dir().display());
        let job = ["fio", "--name=t", "--rw=write", "--size=256m", &named];
        bed.run(&job)
            .code(3)
            .err_has(&["that the quota group 0/256 allows"]);
        volume.is_as_before();
        run(&bed, &volume.dir(), "8M", &[]).code(0);
        // Beside the volume there is room.
        run(&bed, &volume.point, "256M", &[]).code(0);
        volume.is_as_before();
    }

    #[test]
    #[ignore = "root: makes a file system with quotas on a loop device"]
    fn a_quota_that_cannot_be_asked_is_said_and_one_that_is_used_up_leaves_nothing() {
        let above = "btrfs qgroup create 1/0 .; btrfs qgroup limit 100M 1/0 .; btrfs qgroup assign 0/256 1/0 . >&2";
        let Some(volume) = Volume::new(above) else {
            return;
        };
        let bed = Bed::new();
        let done = run(&bed, &volume.dir(), "256M", &[]);
        done.code(4).err_has(&[
            "not asked, and it may limit",
            "the limit of the quota group 1/0",
        ]);
        volume.is_as_before();
        // And of a file that a job names nothing stays either.
        let named = format!("--filename={}/data", volume.dir().display());
        let fio = bed.run(&["fio", "--name=t", "--rw=write", "--size=256m", &named]);
        fio.code(4).err_has(&["Disk quota exceeded"]);
        volume.is_as_before();
        let said = bed
            .run(&["show", "latest~1", "--format", "csv-rounds"])
            .code(0)
            .out;
        assert!(said.contains("Disk quota exceeded"), "{said}");
    }

    #[test]
    #[ignore = "root: mounts an overlay on a file system with quotas"]
    fn an_overlay_has_the_room_of_its_upper_directory_and_of_the_quota_there() {
        let Some(volume) = Volume::new(OWN) else {
            return;
        };
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let (at, upper) = (dir.path().display(), volume.dir());
        let upper = upper.display();
        sh(&format!(
            "mkdir {at}/lower {at}/shown {upper}/u {upper}/w; rm {upper}/precious; mount -t overlay none \
             -o lowerdir={at}/lower,upperdir={upper}/u,workdir={upper}/w {at}/shown"
        ));
        let _undo = Undo(format!("umount -l {at}/shown"));
        let bed = Bed::new();
        let shown = dir.path().join("shown");
        let refused = run(&bed, &shown, "256M", &[]).code(4);
        refused.out_says(&["that the quota group 0/256 allows"]);
        run(&bed, &shown, "8M", &[]).code(0);
        assert_eq!(names(&shown, ""), [""; 0]);
    }

    #[test]
    #[ignore = "root: mounts a file system in memory"]
    fn a_file_system_in_memory_has_no_more_room_than_memory() {
        let dir = tempfile::tempdir().unwrap();
        let point = dir.path().display();
        sh(&format!("mount -t tmpfs -o size=1000t none {point}"));
        let bed = Bed::new();
        // Not as far as a write: no machine has so much.
        let done = run(&bed, dir.path(), "100T", &["--set", "storage.*.direct=no"]);
        let left = names(dir.path(), "");
        unmount(dir.path());
        done.code(4).out_says(&["of memory, in which it lies"]);
        assert_eq!(left, [""; 0]);
    }

    #[test]
    #[ignore = "root: mounts loop devices on one another"]
    fn a_device_on_a_file_with_holes_has_no_more_room_than_the_file_system_of_the_file() {
        let outer = Disk::new("1G", "-m 0", "defaults");
        let made = |image: &Path, size: &str, point: &Path| {
            let (image, point) = (image.display(), point.display());
            sh(&format!(
                "truncate -s {size} {image}; mkfs.ext4 -qF -m 0 {image}; mkdir {point}; mount -o loop {image} {point}"
            ));
            Undo(format!("umount -l {point}"))
        };
        let dir = outer.disk.dir.path();
        let (one, two) = (dir.join("one"), dir.join("two"));
        let _one = made(&outer.mount.join("image"), "8G", &one);
        let _two = made(&one.join("image"), "6G", &two);
        let bed = Bed::new();
        for dir in [&one, &two] {
            let refused = run(&bed, dir, "700M", &[]).code(4);
            let words = format!("of the file system of `{}`, on which `loop", outer.dir());
            refused.out_says(&[&words]);
            run(&bed, dir, "16M", &[]).code(0);
            let left = names(dir, "lost+found").into_iter();
            assert_eq!(left.filter(|name| name != "image").count(), 0);
        }
    }
}
