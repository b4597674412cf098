//! Programs that have a device or file open for writing without any claim: they are found by number, or it is said that
//! they cannot be.

use super::same_storage::Running;
use super::*;

const IN_USE: &str = "no option overrides this";

/// Starts a program that makes the file `ready` when it has what it has, and goes on.
fn running(before: &[&str], script: &str, dir: &Path) -> Running {
    let ready = dir.join("ready");
    let _ = std::fs::remove_file(&ready);
    Running::behind(before, script, &ready)
}

/// What maps a file or device for writing and closes it (and the copy of the descriptor that python keeps).
fn maps(path: &Path, dir: &Path) -> Running {
    let ready = dir.join("ready");
    let _ = std::fs::remove_file(&ready);
    let program = format!(
        "import mmap,os,time; f=os.open('{}',os.O_RDWR); m=mmap.mmap(f,4096); os.closerange(3,99); open('{}','w'); time.sleep(600)",
        path.display(),
        ready.display()
    );
    let child = Command::new("python3").args(["-c", &program]).spawn();
    let running = Running(child.unwrap());
    crate::bed::eventually(60, || ready.exists());
    running
}

fn erase(bed: &Bed, before: &[&str], device: &str) -> Done {
    let more = ["--device", device, "--yes-erase", device];
    let size = ["--set", "storage.*.size=8M"];
    let all = args("storage.randwrite-4k", &[&more[..], &size].concat());
    if before.is_empty() {
        bed.run(&all)
    } else {
        bed.behind(before, &all)
    }
}

fn overwrite(bed: &Bed, before: &[&str], file: &Path) -> Done {
    let name = file.to_str().unwrap();
    let more = ["--file", name, "--overwrite-file", name];
    let all = args("storage.randwrite-4k", &more);
    if before.is_empty() {
        bed.run(&all)
    } else {
        bed.behind(before, &all)
    }
}

/// A file that somebody else made, on a file system of a disk.
fn file_in(dir: &Path) -> PathBuf {
    let path = dir.join("precious");
    sh(&format!("head -c 8M /dev/urandom > {}", path.display()));
    path
}

/// In a PID namespace of its own, as in a container.
const ALONE: [&str; 4] = ["unshare", "--pid", "--fork", "--mount-proc"];

#[test]
fn who_has_a_file_mapped_for_writing_is_named_although_it_is_closed() {
    if !is_installed("python3") {
        eprintln!("skipped: there is no python3");
        return;
    }
    let bed = Bed::new();
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = file_in(dir.path());
    let before = std::fs::read(&file).unwrap();
    let mapper = maps(&file, dir.path());
    overwrite(&bed, &[], &file)
        .code(2)
        .err_has(&["it is ", "for writing", IN_USE]);
    assert!(before == std::fs::read(&file).unwrap());
    drop(mapper);
    overwrite(&bed, &[], &file).code(0);
}

mod root {
    use super::*;

    #[test]
    #[ignore = "root: makes a loop device and a node"]
    fn who_has_a_device_open_through_another_node_is_named() {
        let (bed, disk) = (Bed::new(), Loop::new("64M"));
        let dir = disk.dir.path();
        let name = disk.device.trim_start_matches("/dev/");
        let node = dir.join("node");
        sh(&format!(
            "mknod {} b $(tr : ' ' < /sys/class/block/{name}/dev)",
            node.display()
        ));
        let script = format!("exec 3<>{}; rm {}", node.display(), node.display());
        let writer = running(&["env"], &script, dir);
        erase(&bed, &[], &disk.device).code(2).err_has(&[
            "open for writing in process",
            "(`sleep`)",
            IN_USE,
        ]);
        drop(writer);
        erase(&bed, &[], &disk.device).code(0);
    }

    #[test]
    #[ignore = "root: makes a loop device"]
    fn who_hands_a_device_from_process_to_process_is_mostly_found() {
        if !is_installed("python3") {
            eprintln!("skipped: there is no python3");
            return;
        }
        let (bed, disk) = (Bed::new(), Loop::new("64M"));
        let (stop, ready) = (disk.dir.path().join("stop"), disk.dir.path().join("ready"));
        let program = format!(
            "import os,time\nos.open('{}',os.O_RDWR)\nopen('{}','w')\nwhile not os.path.exists('{}'):\n  time.sleep(.0005)\n  if os.fork(): os._exit(0)",
            disk.device,
            ready.display(),
            stop.display()
        );
        let first = Command::new("python3").args(["-c", &program]).status();
        assert!(first.unwrap().success());
        crate::bed::eventually(60, || ready.exists());
        let found = (0..5).filter(|_| {
            erase(&bed, &[], &disk.device)
                .err
                .contains("open for writing in process")
        });
        let found = found.count();
        std::fs::write(&stop, "").unwrap();
        assert!(found >= 3, "{found} of 5");
    }

    #[test]
    #[ignore = "root: makes a loop device"]
    fn who_has_a_device_mapped_for_writing_is_named_although_it_is_closed() {
        if !is_installed("python3") {
            eprintln!("skipped: there is no python3");
            return;
        }
        let (bed, disk) = (Bed::new(), Loop::new("64M"));
        let mapper = maps(Path::new(&disk.device), disk.dir.path());
        erase(&bed, &[], &disk.device).code(2).err_has(&[
            "mapped for writing in process",
            "(`python3`)",
            IN_USE,
        ]);
        drop(mapper);
        erase(&bed, &[], &disk.device).code(0);
    }

    #[test]
    #[ignore = "root: makes a loop device and a PID namespace"]
    fn alone_in_a_namespace_it_says_what_it_cannot_see_and_spares_what_holds_data() {
        let (bed, disk) = (Bed::new(), Loop::new("64M"));
        let blank = erase(&bed, &ALONE, &disk.device).code(0);
        blank.err_has(&[
            "warning: ",
            "may not have been seen: this is a PID namespace of its own",
        ]);
        let seen = erase(&bed, &[], &disk.device).code(0);
        assert!(!seen.err.contains("PID namespace"), "{}", seen.err);

        let uuid = "5b6c7d8e-0102-4304-8506-0708090a0c02";
        sh(&format!("mkfs.ext4 -qF -U {uuid} {}", disk.device));
        let before = disk.image_bytes();
        let typed = format!("{}={uuid}", disk.device);
        let more = ["--device", &disk.device, "--yes-erase", &typed];
        let all = args("storage.randwrite-4k", &more);
        let spared = bed.behind(&ALONE, &all).code(2);
        spared.err_has(&[
            "it holds ext2/3/4, and who uses it cannot be found out",
            "--pid=host",
        ]);
        assert!(before == disk.image_bytes());
        bed.run(&all).code(0);
    }

    #[test]
    #[ignore = "root: makes a loop device and a PID namespace"]
    fn in_a_namespace_with_the_processes_of_another_it_knows_itself() {
        let (bed, disk) = (Bed::new(), Loop::new("64M"));
        erase(&bed, &["unshare", "--pid", "--fork"], &disk.device).code(0);
    }

    #[test]
    #[ignore = "root: makes a PID namespace"]
    fn alone_in_a_namespace_the_kernel_tells_of_writers_of_a_file() {
        let bed = Bed::new();
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let file = file_in(dir.path());
        let before = std::fs::read(&file).unwrap();
        let writer = running(&["env"], &format!("exec 3<>{}", file.display()), dir.path());
        overwrite(&bed, &ALONE, &file)
            .code(2)
            .err_has(&["open for writing somewhere, as the kernel says", IN_USE]);
        assert!(before == std::fs::read(&file).unwrap());
        drop(writer);
        overwrite(&bed, &ALONE, &file).code(0);
    }

    #[test]
    #[ignore = "root: makes a loop device"]
    fn who_writes_to_the_image_below_a_device_is_named_and_the_image_is_spared() {
        let (bed, disk) = (Bed::new(), Loop::new("64M"));
        let (image, dir) = (disk.image(), disk.dir.path());
        let has = |script: &str| running(&["env"], &format!("exec 3{script}"), dir);
        let is_spared = |culprit: Running, says: &str| {
            let done = erase(&bed, &[], &disk.device).code(2);
            done.err_has(&["is on a file that is ", says, IN_USE]);
            assert!(disk.image_bytes().iter().all(|byte| *byte == 0));
            drop(culprit);
        };
        let name = image.display();
        is_spared(has(&format!("<>{name}")), "open for writing in process");
        let link = dir.join("link");
        std::fs::hard_link(&image, &link).unwrap();
        let by_link = format!("exec 3<>{}", link.display());
        let elsewhere = ["unshare", "--pid", "--fork", "--kill-child"];
        is_spared(
            running(&elsewhere, &by_link, dir),
            "open for writing in process",
        );
        if is_installed("python3") {
            is_spared(maps(&image, dir), "mapped for writing in process");
        }
        is_spared(has(&format!("<{name}; flock -n 3")), "locked");
        let _reads = has(&format!("<{name}; flock -s 3"));
        erase(&bed, &[], &disk.device).code(0);
    }

    #[test]
    #[ignore = "root: makes a loop device and a user namespace"]
    fn in_a_user_namespace_it_says_what_it_cannot_see_and_spares_what_holds_data() {
        let (bed, disk) = (Bed::new(), Loop::new("64M"));
        let alone = ["unshare", "--user", "--map-root-user"];
        erase(&bed, &alone, &disk.device)
            .code(0)
            .err_has(&["warning: ", "this is a user namespace of its own"]);

        let uuid = "5b6c7d8e-0102-4304-8506-0708090a0c03";
        sh(&format!("mkfs.ext4 -qF -U {uuid} {}", disk.device));
        let before = disk.image_bytes();
        let typed = format!("{}={uuid}", disk.device);
        let more = ["--device", &disk.device, "--yes-erase", &typed];
        let all = args("storage.randwrite-4k", &more);
        let script = format!("exec 3<>{}", disk.device);
        let writer = running(&["env"], &script, disk.dir.path());
        bed.behind(&alone, &all).code(2).err_has(&[
            "it holds ext2/3/4, and who uses it cannot be found out",
            "user namespace",
        ]);
        drop(writer);
        bed.behind(&alone, &all).code(2);
        assert!(before == disk.image_bytes());
        let seen = bed.run(&all).code(0);
        assert!(!seen.err.contains("looked at"), "{}", seen.err);
    }
}
