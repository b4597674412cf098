//! Raw devices and named files, from the command line to what is on them afterwards.

mod root {
    use super::super::*;
    use crate::bed;

    const MIB: usize = 1 << 20;

    #[test]
    #[ignore = "root: makes a loop device"]
    fn reading_a_device_needs_no_consent_and_changes_nothing() {
        let (bed, disk) = (Bed::new(), Loop::new("64M"));
        let device = ["--full", "--device", disk.device.as_str()];
        let done = bed.run(&args("storage.randread-4k-qd32", &device)).code(0);
        done.out_has(&["hold nothing but zeros"]);
        assert!(disk.image_bytes().iter().all(|&byte| byte == 0));
        let run = exported(&bed);
        let named = &run["plan"]["named"][0];
        assert_eq!(named["path"], disk.device.as_str());
        assert_eq!(named["writes"], false);
        assert_eq!(named["size_bytes"]["value"], 64 << 20);
        assert_eq!(named["devices"]["value"][0]["kind"], "loop");

        // What holds data is read without that note.
        sh(&format!("head -c 64M /dev/urandom > {}", disk.device));
        let before = disk.image_bytes();
        let done = bed.run(&args("storage.read-1m", &device)).code(0);
        assert!(!done.out.contains("zeros"), "{}", done.out);
        assert!(before == disk.image_bytes());
        assert_eq!(bed.left_behind(), [""; 0]);
    }

    #[test]
    #[ignore = "root: makes a loop device"]
    fn writing_needs_the_device_typed_twice_and_is_refused_before_anything_is_kept() {
        let (bed, disk) = (Bed::new(), Loop::new("64M"));
        let device = ["--device", disk.device.as_str()];
        let done = bed.run(&args("storage.randwrite-4k", &device)).code(2);
        done.err_has(&[
            "it is blank, and would be written over",
            &format!(
                "kurabe run --no-look storage.randwrite-4k --passes 1 --quiet --device {0} --yes-erase {0}",
                disk.device
            ),
        ]);
        let other = Loop::new("64M");
        let slip = [&device[..], &["--yes-erase", &other.device]].concat();
        let done = bed.run(&args("storage.randwrite-4k", &slip)).code(2);
        done.err_has(&["no test of this run works on it"]);
        assert!(!bed.store().exists());
        assert!(disk.image_bytes().iter().all(|&byte| byte == 0));
    }

    #[test]
    #[ignore = "root: makes a loop device"]
    fn a_device_is_filled_and_written_but_for_its_ends() {
        let (bed, disk) = (Bed::new(), Loop::new("64M"));
        let erase = disk.erase();
        let more = ["storage.randread-4k", "--device", &disk.device, &erase];
        let done = bed.run(&args("storage.randwrite-4k@2", &more)).code(0);
        assert!(!done.out.contains("zeros"), "{}", done.out);
        let bytes = disk.image_bytes();
        let (head, rest) = bytes.split_at(MIB);
        let (middle, tail) = rest.split_at(rest.len() - MIB);
        assert!(head.iter().chain(tail).all(|&byte| byte == 0));
        let blank = middle
            .chunks(4096)
            .filter(|block| block.iter().all(|&byte| byte == 0));
        assert_eq!(blank.count(), 0, "every block was written");
        assert_eq!(exported(&bed)["plan"]["named"][0]["writes"], true);
        // Both ends are blank still, so that the name is enough again.
        bed.run(&args(
            "storage.write-1m",
            &["--device", &disk.device, &erase],
        ))
        .code(0);
        assert_eq!(bed.left_behind(), [""; 0]);
    }

    #[test]
    #[ignore = "root: makes a loop device and a file system on it"]
    fn what_holds_something_needs_its_identity_and_what_is_mounted_nothing_helps() {
        let (bed, disk) = (Bed::new(), Loop::new("64M"));
        let uuid = "5b6c7d8e-0102-4304-8506-0708090a0b0e";
        sh(&format!("mkfs.ext4 -qF -U {uuid} {}", disk.device));
        let before = disk.image_bytes();
        let typed = format!("{}={uuid}", disk.device);
        let run = |word: &str| {
            let more = ["--device", &disk.device, "--yes-erase", word];
            bed.run(&args("storage.write-1m", &more))
        };
        run(&disk.device)
            .code(2)
            .err_has(&["it holds ext2/3/4", &format!("--yes-erase {typed}")]);
        run(&format!("{}=5b6c7d8e", disk.device))
            .code(2)
            .err_has(&["neither its serial number nor the UUID"]);
        let point = disk.dir.path().join("mount");
        sh(&format!(
            "mkdir {0}; mount -o ro {1} {0}",
            point.display(),
            disk.device
        ));
        let mounted = run(&typed);
        sh(&format!("umount {}", point.display()));
        mounted
            .code(2)
            .err_has(&["mounted at", "no option overrides this"]);
        assert!(before == disk.image_bytes());
        run(&typed).code(0);
        assert!(before != disk.image_bytes());
    }

    #[test]
    #[ignore = "root: makes a loop device and tries to mount it"]
    fn nobody_can_take_the_device_while_the_run_goes_on() {
        let (bed, disk) = (Bed::new(), Loop::new("256M"));
        let uuid = "5b6c7d8e-0102-4304-8506-0708090a0b0f";
        sh(&format!("mkswap -U {uuid} {}", disk.device));
        let erase = format!("--yes-erase={}={uuid}", disk.device);
        let child = begun(
            &bed,
            "storage.randwrite-4k",
            "8",
            &["--device", &disk.device, &erase],
        );
        let take = format!("swapon {0} && swapoff {0}", disk.device);
        assert!(!works(&take), "the claim keeps it out");
        let second = ["--device", &disk.device, &erase];
        // Of a machine of its own: on one machine it would be told to wait.
        let second = Bed::new().run(&args("storage.randwrite-4k", &second));
        let second = second.code(2);
        second.err_has(&["open for writing in process"]);
        bed::signal(&child, "-INT");
        assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));

        // A run that goes on asks again.
        let resume = ["run", "--resume", "latest"];
        bed.run(&resume)
            .code(2)
            .err_has(&["run --no-look --resume latest --yes-erase"]);
        bed.run(&[&resume[..], &[&erase]].concat()).code(0);
        // Its signature is where it was, and nobody holds it any more.
        sh(&take);
        assert_eq!(bed.left_behind(), [""; 0]);
    }

    #[test]
    #[ignore = "root: makes a loop device and a file system on it"]
    fn a_worker_looks_for_itself_before_it_opens_the_device() {
        let (bed, disk) = (Bed::new(), Loop::new("256M"));
        let erase = disk.erase();
        let child = begun(
            &bed,
            "storage.randwrite-4k",
            "8",
            &["--device", &disk.device, &erase],
        );
        // Somebody puts a file system on it meanwhile, past the claim, which mkfs respects.
        sh(&format!(
            "truncate -s 256M {0}/made; mkfs.ext4 -qF {0}/made; dd if={0}/made of={1} bs=64K count=1 conv=notrunc status=none",
            disk.dir.path().display(),
            disk.device
        ));
        let done: Done = child.wait_with_output().unwrap().into();
        // The rounds before have their values, and the others are lost for good.
        done.code(4);
        let reasons = reasons(&bed);
        let is_known = |why: &String| why.contains("it holds ext2/3/4");
        assert!(reasons.iter().any(is_known), "{reasons:?}");
        let after = exported(&bed)["rounds"].as_array().unwrap().len();
        assert!(after < 8, "no further round is tried: {after}");
    }

    #[test]
    #[ignore = "root: makes loop devices"]
    fn a_device_that_is_none_or_has_no_room_is_refused() {
        let bed = Bed::new();
        let free = sh("losetup --find");
        let run = |device: &str| bed.run(&args("storage.randread-4k", &["--device", device]));
        run(&free).code(2).err_has(&["it has 0 bytes"]);
        run("/dev/null").code(2).err_has(&["it is no block device"]);
        run("/dev/no-such").code(2).err_has(&["No such file"]);
        let small = Loop::new("2M");
        fails_for(
            &bed,
            run(&small.device),
            "the first and the last MiB are left alone",
        );
        let sectors = Loop::with("64M", "--sector-size 4096");
        let blocks = ["--device", &sectors.device, "--set", "storage.*.bs=512"];
        fails_for(
            &bed,
            bed.run(&args("storage.randread-4k", &blocks)),
            "O_DIRECT needs blocks of a multiple of 4096 bytes here",
        );
        let read_only = Loop::with("64M", "--read-only");
        let erase = read_only.erase();
        bed.run(&args(
            "storage.write-1m",
            &["--device", &read_only.device, &erase],
        ))
        .code(2)
        .err_has(&["it is read-only", "blockdev --setrw"]);
        bed.run(&args("os.pipe", &["--device", &small.device]))
            .code(2)
            .err_has(&["no test of this run works on a file or device"]);
    }

    #[test]
    #[ignore = "root: makes loop devices"]
    fn two_devices_compare_as_two_set_ups_of_the_same_test() {
        let (bed, one, other) = (Bed::new(), Loop::new("64M"), Loop::new("96M"));
        for disk in [&one, &other] {
            bed.run(&args("storage.read-1m", &["--device", &disk.device]))
                .code(0);
        }
        let done = bed.run(&["compare", "latest~1", "latest", "--format", "json"]);
        // A round each is no comparison, and the document says what differs all the same.
        let document: Value = serde_json::from_str(&done.code(4).out).unwrap();
        let text = document.to_string();
        for device in [&one.device, &other.device] {
            assert!(text.contains(&format!("{device}, only read")), "{text}");
        }
        assert!(!text.contains("parameters"), "{text}");
        bed.run(&["show", "--full"])
            .code(0)
            .out_has(&[&other.device, "96.0 MiB"]);
        bed.run(&[
            "duel",
            "storage.read-1m",
            "--passes",
            "2",
            "--a",
            &format!("device={}", one.device),
            "--b",
            &format!("device={}", other.device),
        ])
        .code(0)
        .out_has(&[&one.device, &other.device]);
    }

    #[test]
    #[ignore = "root: makes a loop device"]
    fn kill_9_while_a_device_is_filled_leaves_what_clean_removes() {
        let (bed, disk) = (Bed::new(), Loop::new("2G"));
        let erase = disk.erase();
        let mut child = bed.start(&["run", "storage.write-1m", "--device", &disk.device, &erase]);
        bed::eventually(60, || {
            let blocks = sh(&format!("stat -c %b {}", disk.image().display()));
            blocks.parse::<u64>().unwrap() > 1000
        });
        child.kill().unwrap();
        child.wait().unwrap();
        bed::eventually(5, || bed::processes_in(bed.path()).is_empty());
        assert_eq!(bed.left_behind().len(), 1);
        bed.run(&["clean"]).code(0).err_has(&["removed"]);
        assert_eq!(bed.left_behind(), [""; 0]);
    }
}

use super::*;

#[test]
fn a_file_of_others_is_read_and_overwritten_only_where_it_is_named() {
    let bed = Bed::new();
    let path = bed.path().join("precious file");
    let name = path.to_str().unwrap();
    let content: Vec<u8> = (0..4_u32 << 20)
        .map(|n| u8::try_from(n % 251).unwrap())
        .collect();
    std::fs::write(&path, &content).unwrap();
    let buffered = ["--set", "storage.*.direct=no", "--file", name];
    bed.run(&args("storage.randread-4k", &buffered)).code(0);
    bed.run(&args("storage.randwrite-4k", &buffered))
        .code(2)
        .err_has(&[
            "kurabe did not make it, and everything in it would be lost",
            &format!("--file '{name}' --overwrite-file '{name}'"),
        ]);
    assert!(std::fs::read(&path).unwrap() == content);
    let link = bed.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let linked = link.to_str().unwrap();
    let by_link = ["--file", linked, "--overwrite-file", linked];
    bed.run(&args("storage.randwrite-4k", &by_link))
        .code(2)
        .err_has(&["symbolic link"]);
    std::fs::remove_file(&link).unwrap();
    let longer = [&buffered[..], &["--set", "storage.*.size=8M"]].concat();
    let done = bed.run(&args("storage.randread-4k", &longer)).code(4);
    done.out_has(&["is not made longer"]);
    assert!(std::fs::read(&path).unwrap() == content);

    let consent = [&buffered[..], &["--overwrite-file", name]].concat();
    bed.run(&args("storage.randwrite-4k", &consent)).code(0);
    let after = std::fs::read(&path).unwrap();
    assert!(after != content && after.len() == content.len());
    std::fs::write(&path, "").unwrap();
    bed.run(&args("storage.randread-4k", &buffered))
        .code(2)
        .err_has(&["it has 0 bytes"]);
    assert_eq!(bed.left_behind(), ["precious file"]);
}
