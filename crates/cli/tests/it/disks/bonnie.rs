//! bonnie++'s phases where there is little room, few inodes, no writing, or no disk at all.

mod root {
    use super::super::*;
    use crate::bonnie::{SMALL, shown, small, value};

    #[test]
    #[ignore = "root: mounts a loop device"]
    fn a_small_disk_has_a_smaller_file_and_its_figures_a_mark() {
        let bed = Bed::new();
        let disk = Disk::new("200M", "-m 0 -N 512", "defaults");
        let args = |more: &[&'static str]| [&SMALL[..5], &SMALL[7..11], more].concat();
        let args = args(&["--full", "--dir"]);
        let done = bed.run(&[&args[..], &[disk.dir()]].concat());
        // There is no room for so many files, and that is another matter than the large one.
        let done = done.code(4);
        done.out_says(&[
            "the disk has no room for twice the memory",
            "no room or no inodes are left, see `df -i`",
        ]);
        let run = bed.listed()[0]["id"].as_str().unwrap().to_owned();
        let size = value(&shown(&bed, &run), "fs.bonnie@1:size_bytes");
        assert!(size > 50e6 && size < 100e6, "{size}");
        assert_eq!(disk.left(), [""; 0]);
        sh(&format!("fallocate -l 120M {0}/fill || true", disk.dir()));
        let full = bed.run(&[
            "run",
            "fs.bonnie",
            "--full",
            "--dir",
            disk.dir(),
            "--set",
            "fs.bonnie.size=100M",
        ]);
        full.code(4)
            .out_says(&["there is room for", "or a smaller `size`"]);
        sh(&format!("mount -o remount,ro {0}", disk.dir()));
        let refused = bed.run(&["run", "fs.bonnie", "--dir", disk.dir()]);
        assert_ne!(refused.code, Some(0));
        refused.err_has(&["EROFS"]);
    }

    #[test]
    #[ignore = "root: mounts a tmpfs"]
    fn in_memory_everything_comes_out_of_the_page_cache_and_that_is_said() {
        let bed = Bed::new();
        let point = bed.path().join("mount");
        sh(&format!(
            "mkdir {0}; mount -t tmpfs -o size=40M none {0}",
            point.display()
        ));
        let done = small(&bed, &["--full", "--dir", point.to_str().unwrap()]);
        sh(&format!("umount {}", point.display()));
        done.code(0)
            .out_says(&["came out of the page cache, and not from a device"]);
    }
}
