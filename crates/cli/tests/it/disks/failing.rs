//! Disks, kernels and limits that fail: a reason, what was measured before, and nothing left behind.

mod root {
    use super::super::*;
    use crate::bed;

    #[test]
    #[ignore = "root: makes a loop device"]
    fn a_disk_that_loses_its_end_while_it_is_read_fails_rounds_with_the_kernels_reason() {
        for (engine, depth) in [("psync", "1"), ("libaio", "8"), ("io_uring", "8")] {
            let (bed, disk) = (Bed::new(), Loop::new("256M"));
            sh(&format!("head -c 256M /dev/urandom > {}", disk.device));
            let sets = [
                format!("storage.*.ioengine={engine}"),
                format!("storage.*.iodepth={depth}"),
            ];
            let child = begun(
                &bed,
                "storage.randread-4k",
                "6",
                &[
                    "--device",
                    &disk.device,
                    "--set",
                    &sets[0],
                    "--set",
                    &sets[1],
                ],
            );
            sh(&format!("truncate -s 64K {}", disk.image().display()));
            let done: Done = child.wait_with_output().unwrap().into();
            // The first round has its values, and the others are lost for good.
            done.code(4);
            let reasons = reasons(&bed);
            let said = reasons.iter().any(|why| why.contains("Input/output error"));
            assert!(said, "{engine}: {reasons:?}");
            assert_eq!(bed.left_behind(), [""; 0]);
        }
    }

    #[test]
    #[ignore = "root: makes a loop device on a file system that is too small for it"]
    fn a_disk_that_cannot_write_fails_the_round_with_the_kernels_reason() {
        let bed = Bed::new();
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().display().to_string();
        sh(&format!("mount -t tmpfs -o size=8M kurabe-test {at}"));
        let disk = Loop::on(dir, "64M", "");
        let erase = disk.erase();
        let done = bed.run(&args(
            "storage.write-1m",
            &["--device", &disk.device, &erase],
        ));
        let found = done.code;
        let device = disk.device.clone();
        sh(&format!(
            "losetup --detach {device}; sleep 0.2; umount -l {at}"
        ));
        assert_eq!(found, Some(4));
        let reasons = reasons(&bed);
        let said = |words: &str| reasons.iter().any(|why| why.contains(words));
        assert!(
            said("Input/output error") || said("No space left"),
            "{reasons:?}"
        );
        assert_eq!(bed.left_behind(), [""; 0]);
    }

    #[test]
    #[ignore = "root: mounts a loop device and makes its file system fail"]
    fn a_file_system_that_turns_read_only_fails_rounds_and_clean_removes_the_rest() {
        let bed = Bed::new();
        let disk = Disk::new("3G", "-m 0", "errors=remount-ro");
        let child = begun(
            &bed,
            "storage.write-1m",
            "8",
            &["--dir", disk.dir(), "--set", "storage.*.size=64M"],
        );
        let name = disk.disk.device.trim_start_matches("/dev/");
        sh(&format!("echo 1 > /sys/fs/ext4/{name}/trigger_fs_error"));
        let done: Done = child.wait_with_output().unwrap().into();
        // What was measured before is kept, the rest is lost for good, and what cannot be removed is said.
        done.code(4)
            .err_has(&["Read-only file system", "`kurabe clean` tries again"]);
        assert!(
            reasons(&bed)
                .iter()
                .any(|why| why.contains("Read-only file system"))
        );
        unmount(&disk.mount);
        sh(&format!(
            "fsck.ext4 -fy {1} >&2 || test $? -lt 4; mount {1} {0}",
            disk.dir(),
            disk.disk.device
        ));
        assert_eq!(disk.left().len(), 1);
        bed.run(&["clean"]).code(0).err_has(&["removed"]);
        assert_eq!(disk.left(), [""; 0]);
    }

    #[test]
    #[ignore = "root: detaches a loop device while it is measured"]
    fn a_device_that_goes_away_ends_in_a_reason() {
        // The kernel detaches a device that is open when the last one has closed it: between two rounds.
        let (bed, disk) = (Bed::new(), Loop::new("64M"));
        let child = begun(&bed, "storage.read-1m", "8", &["--device", &disk.device]);
        sh(&format!("losetup --detach {}", disk.device));
        let done: Done = child.wait_with_output().unwrap().into();
        done.code(4);
        let reasons = reasons(&bed);
        let known = |why: &String| why.contains("not the device any more");
        assert!(
            !reasons.is_empty() && reasons.iter().all(known),
            "{reasons:?}"
        );
        bed::eventually(5, || !disk.is_attached());

        // One that is written to is held until the run ends.
        let (bed, held) = (Bed::new(), Loop::new("64M"));
        let erase = held.erase();
        let child = begun(
            &bed,
            "storage.write-1m",
            "3",
            &["--device", &held.device, &erase],
        );
        sh(&format!("losetup --detach {}", held.device));
        assert!(held.is_attached());
        let done: Done = child.wait_with_output().unwrap().into();
        done.code(0);
        assert_eq!(exported(&bed)["rounds"].as_array().unwrap().len(), 3);
        bed::eventually(5, || !held.is_attached());
        assert_eq!(bed.left_behind(), [""; 0]);
    }

    #[test]
    #[ignore = "root: makes a loop device"]
    fn depths_beyond_the_devices_queue_work_and_those_beyond_the_kernels_are_refused() {
        let (bed, disk) = (Bed::new(), Loop::new("64M"));
        let run = |engine: &str, depth: &str, test: &str| {
            let sets = [
                format!("storage.*.ioengine={engine}"),
                format!("storage.*.iodepth={depth}"),
            ];
            let more = [
                "--device",
                &disk.device,
                "--set",
                &sets[0],
                "--set",
                &sets[1],
                "--set",
                "storage.*.bs=512",
            ];
            bed.run(&args(test, &more))
        };
        let queue = sh(&format!(
            "cat /sys/block/{}/queue/nr_requests",
            disk.device.trim_start_matches("/dev/")
        ));
        let beyond = (queue.parse::<u64>().unwrap() * 8).to_string();
        for engine in ["io_uring", "libaio"] {
            run(engine, &beyond, "storage.randread-4k").code(0);
        }
        run("io_uring", "32769", "storage.randread-4k")
            .code(2)
            .err_has(&["a whole number from 1 to 32768"]);
        // All contexts of the machine together.
        let limit: u64 = sh("cat /proc/sys/fs/aio-max-nr").parse().unwrap();
        let test = format!("storage.randread-4k@{}", limit / 32_768 + 1);
        fails_for(&bed, run("libaio", "32768", &test), "fs.aio-max-nr");
    }

    #[test]
    #[ignore = "root: mounts a loop device"]
    fn kill_9_of_supervisor_or_worker_while_a_file_is_laid_out_leaves_what_clean_removes() {
        for whom in ["supervisor", "worker"] {
            let bed = Bed::new();
            let disk = Disk::new("3G", "-m 0", "defaults");
            let mut child = bed.start(&args(
                "storage.write-1m",
                &["--dir", disk.dir(), "--set", "storage.*.size=900M"],
            ));
            bed::eventually(60, || {
                works(&format!(
                    "test $(stat -c %s {}/kurabe-work-*/run/data-943718400-c0-d0) -gt 1000000",
                    disk.dir()
                ))
            });
            if whom == "worker" {
                let workers = sh(&format!("ps -o pid= --ppid {}", child.id()));
                sh(&format!(
                    "kill -9 {}",
                    workers.split_whitespace().next().unwrap()
                ));
                let done: Done = child.wait_with_output().unwrap().into();
                done.code(4);
                assert!(
                    reasons(&bed).iter().any(|why| why.contains("signal")),
                    "{:?}",
                    reasons(&bed)
                );
                assert_eq!(disk.left(), [""; 0]);
                continue;
            }
            child.kill().unwrap();
            child.wait().unwrap();
            bed::eventually(5, || bed::processes_in(&disk.mount).is_empty());
            assert_eq!(disk.left().len(), 1);
            bed.run(&["clean"]).code(0).err_has(&["removed"]);
            assert_eq!(disk.left(), [""; 0]);
        }
    }
}
