//! Files that a file system shows under numbers of its own (an overlay, bindfs): what is in use behind them is not
//! written to, and what is in use through them is not written to behind them.
//!
//! Every image, mount and namespace is the test's own.

use super::same_storage::{Attached, IN_USE, Running, UUID, Undo, is_refused};
use super::*;

/// An overlay with a lower and an upper directory; unmounted at the end.
struct Overlay {
    dir: TempDir,
    _mounted: Undo,
}

impl Overlay {
    /// With these files of 64 MiB, which hold an ext4 file system each: `upper/image`, `lower/image`.
    fn with(files: &[&str]) -> Self {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let at = dir.path().display();
        sh(&format!("cd {at}; mkdir lower upper work shown point"));
        for file in files {
            image(&dir.path().join(file));
        }
        let mounted = mount(dir.path(), "lower", "upper", "work", "shown");
        Self {
            dir,
            _mounted: mounted,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
}

/// A file with an ext4 file system.
fn image(path: &Path) {
    let path = path.display();
    sh(&format!(
        "truncate -s 64M {path}; mkfs.ext4 -qF -U {UUID} {path}"
    ));
}

fn mount(dir: &Path, lower: &str, upper: &str, work: &str, point: &str) -> Undo {
    let at = dir.display();
    sh(&format!(
        "mount -t overlay none -o lowerdir={at}/{lower},upperdir={at}/{upper},workdir={at}/{work} {at}/{point}"
    ));
    Undo(format!("umount -l {at}/{point}"))
}

/// Mounts a device for reading only, so that its image stays as it is.
fn mounted(device: &str, point: &Path) -> Undo {
    let point = point.display();
    sh(&format!("mount -o ro,noload {device} {point}"));
    Undo(format!("umount {point}"))
}

/// Tries to overwrite `file` with all that one can type, and sees to it that not a byte of `image` changes.
#[track_caller]
fn is_spared(image: &Path, file: &Path, says: &[&str]) {
    let before = std::fs::read(image).unwrap();
    let bed = Bed::new();
    let name = file.to_str().unwrap();
    let typed = ["--file", name, "--overwrite-file", name];
    let done = bed.run(&args("storage.randwrite-4k", &typed)).code(2);
    done.err_has(says);
    assert!(before == std::fs::read(image).unwrap(), "it was written to");
}

mod root {
    use super::*;

    const MOUNTED: [&str; 2] = ["is mounted at", IN_USE];

    #[test]
    #[ignore = "root: mounts an overlay and a loop device"]
    fn a_mounted_file_system_is_known_through_an_overlay_of_its_image_in_both_directions() {
        let overlay = Overlay::with(&["upper/image"]);
        let (real, shown) = (overlay.path("upper/image"), overlay.path("shown/image"));
        let one = Attached::to("", &real);
        let other = Attached::to("", &shown);
        for (used, erased) in [(&other.0, &one.0), (&one.0, &other.0)] {
            let _mounted = mounted(used, &overlay.path("point"));
            is_refused(&real, erased, &MOUNTED);
        }
        // With nothing mounted the real file may be erased; the other device is claimed.
        let size = ["--set", "storage.*.size=8M"];
        let typed = format!("{}={UUID}", one.0);
        let more = ["--device", &one.0, "--yes-erase", &typed];
        let all = args("storage.randwrite-4k", &[&more[..], &size].concat());
        Bed::new().run(&all).code(0);
    }

    #[test]
    #[ignore = "root: mounts an overlay of several file systems and a loop device"]
    fn the_same_where_the_directories_lie_on_several_file_systems() {
        let disk = Disk::new("256M", "", "defaults");
        let overlay = Overlay::with(&[]);
        sh(&format!("mkdir {0}/u {0}/w", disk.dir()));
        image(&disk.mount.join("u/image"));
        let lower = overlay.path("lower");
        sh(&format!(
            "mount -t overlay none -o lowerdir={},upperdir={1}/u,workdir={1}/w {2}",
            lower.display(),
            disk.dir(),
            overlay.path("shown").display()
        ));
        let _undo = Undo(format!("umount -l {}", overlay.path("shown").display()));
        // Its number is that of no mount.
        let other = Attached::to("", &overlay.path("shown/image"));
        let _mounted = mounted(&other.0, &overlay.path("point"));
        let real = disk.mount.join("u/image");
        let one = Attached::to("", &real);
        is_refused(&real, &one.0, &MOUNTED);
        is_spared(&real, &overlay.path("shown/image"), &["(overlay)"]);
    }

    #[test]
    #[ignore = "root: mounts an overlay and a loop device"]
    fn an_image_that_is_mounted_below_an_overlay_is_not_overwritten_through_it() {
        let overlay = Overlay::with(&["upper/image"]);
        let real = overlay.path("upper/image");
        let below = Attached::to("", &real);
        let _mounted = mounted(&below.0, &overlay.path("point"));
        let says = format!("name it where it really lies, `{}`", real.display());
        is_spared(&real, &overlay.path("shown/image"), &["(overlay)", &says]);
        is_spared(&real, &real, &["it is the backing of `loop", IN_USE]);
    }

    #[test]
    #[ignore = "root: mounts an overlay"]
    fn an_image_that_is_open_for_writing_on_one_side_is_spared_on_the_other() {
        let overlay = Overlay::with(&["upper/image"]);
        let (real, shown) = (overlay.path("upper/image"), overlay.path("shown/image"));
        let opens = |path: &Path| {
            let script = format!("exec 3<>{}", path.display());
            let ready = overlay.path("ready");
            let _ = std::fs::remove_file(&ready);
            Running::behind(&["env"], &script, &ready)
        };
        let below = opens(&real);
        is_spared(&real, &shown, &["(overlay)"]);
        drop(below);
        let _above = opens(&shown);
        is_spared(&real, &real, &["open for writing", IN_USE]);
        let device = Attached::to("", &real);
        let says = ["a file that is open for writing in process", "(`sleep`)"];
        is_refused(&real, &device.0, &says);
    }

    #[test]
    #[ignore = "root: makes a mount namespace with an overlay"]
    fn what_a_program_has_open_in_an_overlay_of_its_own_namespace_is_known_below() {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let at = dir.path().display();
        sh(&format!("cd {at}; mkdir lower upper work shown"));
        let real = dir.path().join("upper/image");
        image(&real);
        let script = format!(
            "mount -t overlay none -o lowerdir={at}/lower,upperdir={at}/upper,workdir={at}/work {at}/shown; \
             exec 3<>{at}/shown/image"
        );
        let _inside = Running::behind(&["unshare", "--mount"], &script, &dir.path().join("ready"));
        let device = Attached::to("", &real);
        is_refused(&real, &device.0, &["open for writing in process", IN_USE]);
    }

    #[test]
    #[ignore = "root: mounts an overlay and a loop device"]
    fn an_image_of_a_lower_directory_is_known_and_is_not_copied_by_a_refused_run() {
        let overlay = Overlay::with(&["lower/image"]);
        let (real, shown) = (overlay.path("lower/image"), overlay.path("shown/image"));
        is_spared(&real, &shown, &["(overlay)"]);
        assert!(!overlay.path("upper/image").exists(), "it was copied");
        let reads = Attached::to("--read-only", &shown);
        let _mounted = mounted(&reads.0, &overlay.path("point"));
        let below = Attached::to("", &real);
        is_refused(&real, &below.0, &MOUNTED);
        is_spared(&real, &real, &["it is the backing of `loop", IN_USE]);
    }

    #[test]
    #[ignore = "root: mounts an overlay and a loop device"]
    fn an_image_that_was_copied_up_is_another_one_than_the_lower_one() {
        let overlay = Overlay::with(&["lower/image"]);
        let shown = overlay.path("shown/image");
        // The kernel keeps the number of the lower file for it.
        let writes = Attached::to("", &shown);
        let copy = overlay.path("upper/image");
        assert!(copy.exists());
        let _mounted = mounted(&writes.0, &overlay.path("point"));
        let on_copy = Attached::to("", &copy);
        is_refused(&copy, &on_copy.0, &MOUNTED);
        let lower = overlay.path("lower/image");
        let on_lower = Attached::to("", &lower);
        let typed = format!("{}={UUID}", on_lower.0);
        let more = ["--device", &on_lower.0, "--yes-erase", &typed];
        let size = ["--set", "storage.*.size=8M"];
        let all = args("storage.randwrite-4k", &[&more[..], &size].concat());
        let before = std::fs::read(&copy).unwrap();
        Bed::new().run(&all).code(0);
        assert!(before == std::fs::read(&copy).unwrap());
    }

    #[test]
    #[ignore = "root: mounts overlays and loop devices"]
    fn overlays_on_one_another_bind_mounts_and_loops_on_loops_hide_nothing() {
        let overlay = Overlay::with(&["upper/image"]);
        let real = overlay.path("upper/image");
        let one = Attached::to("", &real);
        let is_known = |used: &str| {
            let _mounted = mounted(used, &overlay.path("point"));
            is_refused(&real, &one.0, &MOUNTED);
        };
        // An overlay on the overlay.
        sh(&format!(
            "cd {}; mkdir upper2 work2 shown2",
            overlay.dir.path().display()
        ));
        let _second = mount(overlay.dir.path(), "shown", "upper2", "work2", "shown2");
        let reads = Attached::to("--read-only", &overlay.path("shown2/image"));
        is_known(&reads.0);
        drop(reads);
        // A bind mount of the file alone.
        let bound = overlay.path("bound");
        sh(&format!(
            "touch {0}; mount --bind {1} {0}",
            bound.display(),
            overlay.path("shown/image").display()
        ));
        let _undo = Undo(format!("umount -l {}", bound.display()));
        let other = Attached::to("", &bound);
        is_known(&other.0);
        // A loop device on that one.
        let on_loop = Attached::to("", Path::new(&other.0));
        is_known(&on_loop.0);
    }

    #[test]
    #[ignore = "root: mounts a loop device, and a file system that a program serves"]
    fn a_loop_device_on_a_mirror_of_an_image_may_be_the_same_storage() {
        if !is_installed("bindfs") {
            eprintln!("skipped: there is no bindfs");
            return;
        }
        let overlay = Overlay::with(&["upper/image"]);
        let (real, mirror) = (overlay.path("upper/image"), overlay.path("mirror"));
        sh(&format!(
            "mkdir {0}; bindfs {1} {0}",
            mirror.display(),
            overlay.path("upper").display()
        ));
        let _undo = Undo(format!("umount -l {}", mirror.display()));
        // It only reads, so that the program has nothing open for writing.
        let reads = Attached::to("--read-only", &mirror.join("image"));
        let _mounted = mounted(&reads.0, &overlay.path("point"));
        let one = Attached::to("", &real);
        let says = [
            "it holds ext2/3/4",
            "which may be the same storage",
            "(fuse",
        ];
        is_refused(&real, &one.0, &says);
        drop(one);
        let says = ["below a loop device cannot be found out", "(fuse"];
        is_spared(&real, &real, &says);
        // Another length is another file.
        let other = overlay.path("lower/other");
        sh(&format!("truncate -s 48M {}", other.display()));
        let name = other.to_str().unwrap();
        let typed = ["--file", name, "--overwrite-file", name];
        let done = Bed::new().run(&args("storage.randwrite-4k", &typed));
        done.code(0);
    }

    #[test]
    #[ignore = "root: mounts an overlay and a loop device"]
    fn on_an_overlay_what_is_blank_is_written_with_a_warning_and_files_of_our_own_without() {
        let overlay = Overlay::with(&["upper/image"]);
        let shown = overlay.path("shown");
        let size = ["--set", "storage.*.size=8M"];
        let bed = Bed::new();
        let run = |more: &[&str]| bed.run(&args("storage.randwrite-4k", &[more, &size].concat()));
        let device = Attached::to("", &shown.join("image"));
        let says = [
            "it holds ext2/3/4, and who uses it cannot be found out",
            "(overlay)",
        ];
        is_refused(&overlay.path("upper/image"), &device.0, &says);
        let blank = shown.join("blank");
        sh(&format!("truncate -s 64M {}", blank.display()));
        let device = Attached::to("", &blank);
        let warned = run(&["--device", &device.0, "--yes-erase", &device.0]).code(0);
        warned.err_has(&["warning: ", "(overlay)"]);
        let inside = run(&["--dir", shown.to_str().unwrap()]).code(0);
        assert!(!inside.err.contains("elsewhere"), "{}", inside.err);
        let directory = format!("--directory={}", shown.display());
        for _ in 0..2 {
            let job = ["fio", "--name=own", "--rw=write", "--size=2m", &directory];
            bed.run(&job).code(0);
        }
        assert!(overlay.path("upper/own.0.0").exists());
    }
}
