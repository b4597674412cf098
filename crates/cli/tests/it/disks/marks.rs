//! Files that a job of `kurabe fio` made: used again as long as nobody else changed them, and nobody's content lost.

use super::*;
use crate::bed;
use std::os::unix::fs::{FileExt, MetadataExt, symlink};

const SIZE: usize = 1 << 20;

/// A directory with a file that a job made, where files carry marks.
struct Made {
    bed: Bed,
    dir: TempDir,
}

impl Made {
    fn new() -> Self {
        Self::at(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap())
    }

    fn at(dir: TempDir) -> Self {
        let made = Self {
            bed: Bed::new(),
            dir,
        };
        made.job("ours", &[]).code(0);
        made
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn name(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    /// A job that writes to the file of this name.
    fn job(&self, name: &str, more: &[&str]) -> Done {
        let file = format!("--filename={}", self.name(name));
        let job = ["fio", "--name=t", "--rw=randwrite", "--size=1m", &file];
        self.bed.run(&[&job[..], more].concat())
    }

    /// When the file was last written to.
    fn written_at(&self, name: &str) -> (i64, i64) {
        let found = self.path(name).metadata().unwrap();
        (found.mtime(), found.mtime_nsec())
    }

    /// What somebody did to the file stays as it is, whatever job comes.
    #[track_caller]
    fn is_safe(&self, name: &str, why: &str) {
        let before = std::fs::read(self.path(name)).unwrap();
        let done = self.job(name, &[]).code(2);
        done.err_has(&[why, "everything in it would be lost", "--overwrite-file"]);
        self.job(name, &["--unlink=1"]).code(2);
        let reads = ["--rw=randread", "--unlink=1"];
        self.job(name, &reads).code(0);
        assert!(
            std::fs::read(self.path(name)).unwrap() == before,
            "not a byte of it is another"
        );
    }
}

const CHANGED: &str = "kurabe made it, and somebody has changed it since";
const OTHERS: &str = "kurabe did not make it";

#[test]
fn a_file_of_ours_is_used_again_and_again() {
    let made = Made::new();
    let number = || made.path("ours").metadata().unwrap().ino();
    let first = number();
    made.job("ours", &[]).code(0);
    made.job("ours", &["--rw=read"]).code(0);
    made.job("ours", &[]).code(0);
    assert_eq!(number(), first);
    // Another store knows nothing of it, and its mark is enough.
    std::fs::remove_file(made.bed.store()).unwrap();
    made.job("ours", &[]).code(0);
    assert_eq!(number(), first);
    // Nor does a run that is refused change anything.
    std::fs::write(made.path("theirs"), "precious").unwrap();
    let both = format!("--filename={}:{}", made.name("ours"), made.name("theirs"));
    let job = ["fio", "--name=t", "--rw=write", "--size=1m", &both];
    made.bed.run(&job).code(2);
    made.job("ours", &["--unlink=1"]).code(0);
    assert_eq!(made.bed.run(&job).code(2).out, "");
    assert_eq!(names(made.dir.path(), "theirs"), [""; 0]);
}

#[test]
fn what_was_written_over_our_file_is_theirs() {
    type Change = fn(&Made, &Path);
    let changes: [(&str, Change); 7] = [
        ("a file system", |_, path| {
            sh(&format!("mke2fs -q -F {}", path.display()));
        }),
        ("a copy of the same length", |made, path| {
            std::fs::write(made.path("theirs"), vec![7; SIZE]).unwrap();
            sh(&format!("cp {} {}", made.name("theirs"), path.display()));
        }),
        ("cut and written anew", |_, path| {
            std::fs::write(path, vec![7; SIZE]).unwrap();
        }),
        ("a byte in place", |_, path| {
            let file = std::fs::File::options().write(true).open(path).unwrap();
            file.write_all_at(b"x", 4097).unwrap();
        }),
        ("a byte in place, and the time put back", |_, path| {
            let path = path.display();
            sh(&format!(
                "cp -p {path} {path}.old; printf x | dd of={path} conv=notrunc bs=1 seek=9 status=none; \
                 touch -r {path}.old {path}; rm {path}.old"
            ));
        }),
        ("a hole", |_, path| {
            sh(&format!("fallocate -p -o 0 -l 4096 {}", path.display()));
        }),
        ("other permissions", |_, path| {
            sh(&format!("chmod 600 {}", path.display()));
        }),
    ];
    for (what, change) in changes {
        eprintln!("{what}");
        let made = Made::new();
        change(&made, &made.path("ours"));
        made.is_safe("ours", CHANGED);
        // Leave for it is leave for this once, and makes it no file of ours.
        let overwrite = format!("--overwrite-file={}", made.name("ours"));
        made.job("ours", &[&overwrite, "--unlink=1"]).code(0);
        made.is_safe("ours", CHANGED);
    }
}

#[test]
fn another_name_or_another_file_is_not_the_one_that_we_made() {
    let made = Made::new();
    let path = made.path("ours");
    // With attributes, times and all.
    sh(&format!("cp -a {} {}", path.display(), made.name("copy")));
    made.is_safe("copy", OTHERS);
    std::fs::hard_link(&path, made.path("twin")).unwrap();
    for name in ["ours", "twin"] {
        made.job(name, &[])
            .code(2)
            .err_has(&["it has 2 names (hard links)"]);
    }
    std::fs::remove_file(made.path("twin")).unwrap();
    made.is_safe("ours", CHANGED);

    let made = Made::new();
    let path = made.path("ours");
    std::fs::rename(&path, made.path("moved")).unwrap();
    made.is_safe("moved", CHANGED);
    symlink(made.path("moved"), &path).unwrap();
    made.job("ours", &[]).code(2).err_has(&["symbolic link"]);
    assert!(path.is_symlink());
    // A file that is made, removed and made by somebody else, with the number that the first one had.
    let made = Made::new();
    let path = made.path("ours");
    for _ in 0..20 {
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, vec![7; SIZE]).unwrap();
        made.is_safe("ours", OTHERS);
    }
}

#[test]
fn what_others_use_is_not_written_to() {
    let made = Made::new();
    let path = made.name("ours");
    let mut writer = Command::new("sh")
        .args(["-c", &format!("exec 3<>{path}; exec sleep 60")])
        .spawn()
        .unwrap();
    // It opens the file before it becomes the program that is named below.
    let comm = format!("/proc/{}/comm", writer.id());
    bed::eventually(60, || std::fs::read_to_string(&comm).unwrap() == "sleep\n");
    let overwrite = format!("--overwrite-file={path}");
    for more in [&[][..], &[overwrite.as_str()]] {
        made.job("ours", more)
            .code(2)
            .err_has(&["open for writing in process", "(`sleep`)"]);
    }
    writer.kill().unwrap();
    writer.wait().unwrap();
    made.job("ours", &[]).code(0);
}

#[test]
fn two_runs_do_not_write_to_one_file() {
    let made = Made::new();
    let file = format!("--filename={}", made.name("ours"));
    let long = [
        "--rw=randwrite",
        "--size=1m",
        "--time_based",
        "--runtime=300",
    ];
    let before = made.written_at("ours");
    let first = made
        .bed
        .start(&[&["fio", "--name=first", &file][..], &long].concat());
    // It holds the file before it writes to it; a second run that came earlier would keep the first one out.
    bed::eventually(60, || made.written_at("ours") != before);
    let second = made.job("ours", &[]);
    bed::signal(&first, "-INT");
    let first: Done = first.wait_with_output().unwrap().into();
    second.code(2).err_has(&["another program has locked it"]);
    first.code(130);
    // An interrupted run leaves the file in order.
    made.job("ours", &["--unlink=1"]).code(0);
    assert_eq!(names(made.dir.path(), ""), [""; 0]);
}

#[test]
fn kill_9_leaves_a_file_that_is_used_again_only_where_nothing_was_written() {
    let made = Made::new();
    let killed = |how: &str| {
        let file = format!("--filename={}", made.name("ours"));
        let job = ["fio", "--name=t", "--size=1m", how, &file];
        let more = ["--time_based", "--runtime=30", "--thinktime=1000"];
        let before = made.written_at("ours");
        let mut child = made.bed.start(&[&job[..], &more].concat());
        bed::eventually(60, || match how {
            "--rw=randwrite" => made.written_at("ours") != before,
            _ => !bed::processes_in(made.dir.path()).is_empty(),
        });
        child.kill().unwrap();
        child.wait().unwrap();
        bed::eventually(5, || bed::processes_in(made.dir.path()).is_empty());
        made.bed.run(&["clean"]).code(0);
        assert_eq!(names(made.dir.path(), ""), ["ours"]);
    };
    killed("--rw=randread");
    made.job("ours", &[]).code(0);
    killed("--rw=randwrite");
    made.is_safe("ours", "a run of kurabe that was killed was writing to it");
    // And so it stays, whatever is done to it.
    std::fs::write(made.path("ours"), vec![7; SIZE]).unwrap();
    made.is_safe("ours", "a run of kurabe that was killed was writing to it");
    std::fs::remove_file(made.path("ours")).unwrap();
    made.job("ours", &["--unlink=1"]).code(0);
    assert_eq!(names(made.dir.path(), ""), [""; 0]);
}

mod root {
    use super::super::*;
    use super::{CHANGED, Made, OTHERS, SIZE};

    #[test]
    #[ignore = "root: makes a loop device on our file"]
    fn a_disk_image_in_use_is_not_written_to() {
        let made = Made::new();
        let device = sh(&format!("losetup --find --show {}", made.name("ours")));
        let overwrite = format!("--overwrite-file={}", made.name("ours"));
        let used = made.job("ours", &[&overwrite]);
        sh(&format!("losetup --detach {device}"));
        let backing = format!(
            "it is the backing of `{}`",
            device.trim_start_matches("/dev/")
        );
        used.code(2)
            .err_has(&[&backing, "no option overrides this"]);
        // What was written by way of the device counts as every other change.
        let device = sh(&format!("losetup --find --show {}", made.name("ours")));
        sh(&format!("mke2fs -q -F {device}; losetup --detach {device}"));
        made.is_safe("ours", CHANGED);
    }

    #[test]
    #[ignore = "root: makes a file that nobody may change"]
    fn what_keeps_a_file_from_being_written_to_is_hinted_at() {
        let made = Made::new();
        let name = made.name("theirs");
        std::fs::write(made.path("theirs"), vec![7; SIZE]).unwrap();
        if !works(&format!("chattr +i {name} && chattr -i {name}")) {
            eprintln!("skipped: this file system has no such files");
            return;
        }
        for attribute in ["i", "a"] {
            sh(&format!("chattr +{attribute} {name}"));
            let done = made.job("theirs", &["--overwrite-file", &name]);
            sh(&format!("chattr -{attribute} {name}"));
            done.code(2)
                .err_has(&["Operation not permitted", "hint: ", "lsattr", "chattr"]);
        }
        made.job("theirs", &["--overwrite-file", &name]).code(0);
    }

    #[test]
    #[ignore = "root: mounts file systems"]
    fn marks_hold_on_other_file_systems_and_on_clones_of_extents() {
        for (mkfs, clones) in [
            ("mkfs.xfs -q -m reflink=1", true),
            ("mkfs.btrfs -q", true),
            ("mkfs.ext4 -q -F", false),
            ("mkfs.ext4 -q -F -I 128", false),
        ] {
            let program = mkfs.split(' ').next().unwrap();
            if !is_installed(program) {
                eprintln!("skipped: `{program}` is not installed");
                continue;
            }
            let disk = Loop::new("3G");
            let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
            let point = dir.path().display().to_string();
            sh(&format!("{mkfs} {0}; mount {0} {point}", disk.device));
            let tested = std::panic::catch_unwind(|| {
                let dir = tempfile::tempdir_in(&point).unwrap();
                let made = Made::at(dir);
                made.job("ours", &[]).code(0);
                std::fs::write(made.path("theirs"), vec![7; SIZE]).unwrap();
                if clones {
                    let (ours, theirs) = (made.name("ours"), made.name("theirs"));
                    sh(&format!("cp -a --reflink=always {ours} {ours}-clone"));
                    made.is_safe("ours-clone", OTHERS);
                    // The clone shares its blocks with ours, and is not written by what we write.
                    let before = std::fs::read(made.path("ours-clone")).unwrap();
                    made.job("ours", &[]).code(0);
                    assert!(std::fs::read(made.path("ours-clone")).unwrap() == before);
                    sh(&format!("cp --reflink=always {theirs} {ours}"));
                } else {
                    let mut file = std::fs::File::options();
                    let file = file.write(true).open(made.path("ours")).unwrap();
                    std::os::unix::fs::FileExt::write_all_at(&file, b"x", 0).unwrap();
                }
                made.is_safe("ours", CHANGED);
            });
            sh(&format!("umount -l {point}"));
            assert!(tested.is_ok(), "{mkfs}");
        }
    }
}
