//! How much of a file system a test file may take, and what is said where there is too little.

mod root {
    use super::super::*;

    /// A run of one test whose file has this size.
    fn run(bed: &Bed, disk: &Disk, size: &str) -> Done {
        let set = format!("storage.*.size={size}");
        bed.run(&args(
            "storage.write-1m",
            &["--dir", disk.dir(), "--set", &set],
        ))
    }

    #[test]
    #[ignore = "root: mounts a loop device"]
    fn half_of_what_is_free_and_a_tenth_stay_and_the_refusal_says_how_to_go_on() {
        let bed = Bed::new();
        let disk = Disk::new("3G", "-m 0", "defaults");
        let done = run(&bed, &disk, "2G").code(4);
        let done = done.out_says(&["(1 GiB, or 10 % where that is less) stay free"]);
        done.out_has(&[
            "there is room for a test file of",
            "2048 MiB are asked for",
            "hint: free some space",
            "--dir DIR",
            "size=SIZE",
        ]);
        assert_eq!(disk.left(), [""; 0]);
        run(&bed, &disk, "64M").code(0);
        assert_eq!(disk.left(), [""; 0]);
        // Less than 10 % and 64 MiB free: no size will do that would not lie in a cache.
        sh(&format!(
            "fallocate -l $(($(df -BM --output=avail {0} | tail -1 | tr -d M) - 340))M {0}/fill",
            disk.dir()
        ));
        let done = run(&bed, &disk, "0").code(4);
        done.out_has(&["and at least 64 MiB are needed"]);
        assert_eq!(disk.left(), ["fill"]);
    }

    #[test]
    #[ignore = "root: mounts a loop device"]
    fn a_small_file_system_has_room_for_small_files() {
        let bed = Bed::new();
        let disk = Disk::new("1000M", "-m 0", "defaults");
        run(&bed, &disk, "2M").code(0);
        let job = ["fio", "--name=a", "--rw=write", "--size=2m", "--quiet"];
        let directory = format!("--directory={}", disk.dir());
        bed.run(&[&job[..], &[&directory]].concat()).code(0);
        assert_eq!(disk.left(), ["a.0.0"]);
        let memory = tempfile::tempdir().unwrap();
        let point = memory.path().display();
        sh(&format!("mount -t tmpfs -o size=64000000 none {point}"));
        let more = ["--dir", memory.path().to_str().unwrap()];
        let set = [
            "--set",
            "storage.*.size=16M",
            "--set",
            "storage.*.direct=no",
        ];
        let done = bed.run(&args("storage.write-1m", &[&more[..], &set].concat()));
        unmount(memory.path());
        done.code(0);
    }

    #[test]
    #[ignore = "root: mounts a loop device"]
    fn what_is_reserved_for_root_is_not_free() {
        let bed = Bed::new();
        // Root could write all of it, and the machine's own programs would go without.
        let disk = Disk::new("3G", "-m 50", "defaults");
        let done = run(&bed, &disk, "700M");
        done.code(4).out_has(&["700 MiB are asked for"]);
        assert_eq!(disk.left(), [""; 0]);
    }

    #[test]
    #[ignore = "root: mounts a loop device"]
    fn a_file_system_that_others_fill_meanwhile_fails_the_round_and_keeps_nothing() {
        let bed = Bed::new();
        let disk = Disk::new("3G", "-m 0", "defaults");
        let child = bed.start(&args(
            "storage.write-1m",
            &["--dir", disk.dir(), "--set", "storage.*.size=1200M"],
        ));
        crate::bed::eventually(60, || {
            works(&format!(
                "ls {}/kurabe-work-*/run/data-1258291200-c0-d0",
                disk.dir()
            ))
        });
        // Another program takes all but a few MiB, at once.
        sh(&format!(
            "fallocate -l $(df -B1 --output=avail {0} | tail -1 | awk '{{print $1 - 8000000}}') {0}/fill || \
             dd if=/dev/zero of={0}/fill bs=1M 2>/dev/null || true",
            disk.dir()
        ));
        let done: Done = child.wait_with_output().unwrap().into();
        done.code(4);
        let reasons = reasons(&bed);
        let said = |words: &str| reasons.iter().any(|why| why.contains(words));
        assert!(
            said("No space left on device") || said("less is free than has to stay free"),
            "{reasons:?}"
        );
        assert_eq!(disk.left(), ["fill"]);
    }
}
