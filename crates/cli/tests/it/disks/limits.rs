//! What a kernel, an administrator or a shell allows: other engines, fewer files, less space, with the reason said.

mod root {
    use super::super::*;

    /// Without root's capabilities.
    const NOBODY: [&str; 6] = [
        "setpriv",
        "--reuid",
        "65534",
        "--regid",
        "65534",
        "--clear-groups",
    ];

    /// A program for perl that forbids system calls by a seccomp filter (EPERM) and becomes another program. Sources:
    /// seccomp(2), linux/filter.h; x86-64 numbers.
    const FORBID: &str = r#"
        my @calls = split /,/, shift;
        my $filter = pack("SCCL", 0x20, 0, 0, 0);
        $filter .= pack("SCCL", 0x15, 0, 1, $_) . pack("SCCL", 0x06, 0, 0, 0x00050001) for @calls;
        $filter .= pack("SCCL", 0x06, 0, 0, 0x7fff0000);
        my $program = pack("S x6 P", 2 * @calls + 2, $filter);
        syscall(157, 38, 1, 0, 0, 0) == 0 or die "prctl: $!";
        syscall(317, 1, 0, $program) == 0 or die "seccomp: $!";
        exec @ARGV or die "exec: $!";
    "#;

    #[test]
    #[ignore = "root: like its neighbours it takes the machine for itself"]
    fn where_io_uring_is_forbidden_the_next_engine_is_used_and_the_reason_said() {
        // The numbers of the system calls are those of x86-64.
        assert_eq!(std::env::consts::ARCH, "x86_64");
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let sets = [
            "--full",
            "--dir",
            dir.path().to_str().unwrap(),
            "--set",
            "storage.*.size=8M",
        ];
        let run = |bed: &Bed, calls: &str, more: &[&str]| {
            let all = [&sets[..], more].concat();
            bed.behind(
                &["perl", "-e", FORBID, calls],
                &args("storage.randread-4k-qd32", &all),
            )
        };
        let bed = Bed::new();
        let done = run(&bed, "425", &[]).code(0);
        done.out_has(&[
            "libaio was used, because io_uring does not work here",
            "seccomp filter",
        ]);
        let done = run(&bed, "425,206", &[]).code(0);
        done.out_has(&["psync was used", "nor does libaio"]);
        let named = ["--set", "storage.*.ioengine=io_uring"];
        fails_for(
            &bed,
            run(&bed, "425", &named),
            "io_uring does not work here",
        );
        assert_eq!(names(dir.path(), ""), [""; 0]);
    }

    #[test]
    #[ignore = "root: becomes another user with little lockable memory"]
    fn little_lockable_memory_is_said_and_measured_without_registered_buffers() {
        let bed = Bed::new();
        sh(&format!("chmod 777 {}", bed.path().display()));
        let wrapper = [&NOBODY[..], &["prlimit", "--memlock=65536"]].concat();
        let more = [
            "--full",
            "--set",
            "storage.*.size=8M",
            "--set",
            "storage.*.direct=no",
            "--set",
            "storage.*.bs=64k",
            "--set",
            "storage.*.ioengine=io_uring",
        ];
        let done = bed
            .behind(&wrapper, &args("storage.randread-4k-qd32", &more))
            .code(0);
        done.out_says(&[
            "buffers are not registered",
            "the limit of locked memory (ulimit -l) may be too small",
        ]);
        assert_eq!(bed.left_behind(), [""; 0]);
    }

    /// A sysctl with another value; the old one comes back at the end.
    struct Sysctl(&'static str, String);

    impl Sysctl {
        fn set(path: &'static str, value: &str) -> Self {
            let old = std::fs::read_to_string(path).unwrap();
            std::fs::write(path, value).unwrap();
            Self(path, old)
        }
    }

    impl Drop for Sysctl {
        fn drop(&mut self) {
            std::fs::write(self.0, &self.1).unwrap();
        }
    }

    #[test]
    #[ignore = "root: forbids io_uring to other users for a moment"]
    fn where_a_sysctl_forbids_io_uring_it_is_named() {
        let path = "/proc/sys/kernel/io_uring_disabled";
        if !Path::new(path).exists() {
            eprintln!("skipped: this kernel has no {path}");
            return;
        }
        let bed = Bed::new();
        sh(&format!("chmod 777 {}", bed.path().display()));
        // 1 forbids it to users without CAP_SYS_ADMIN alone, so that nobody else on this machine notices.
        let _forbidden = Sysctl::set(path, "1");
        let sets = "--full --set storage.*.size=8M --set storage.*.direct=no";
        let sets: Vec<&str> = sets.split(' ').collect();
        let run = |more: &[&str]| {
            let all = [&sets[..], more].concat();
            bed.behind(&NOBODY, &args("storage.randread-4k-qd32", &all))
        };
        run(&[]).code(0).out_says(&[
            "libaio was used, because io_uring does not work here",
            "sysctl kernel.io_uring_disabled is 1",
        ]);
        let named = ["--set", "storage.*.ioengine=io_uring"];
        fails_for(&bed, run(&named), "sysctl kernel.io_uring_disabled is 1");
    }
}

use super::*;
use crate::bed;

#[test]
fn too_few_open_files_are_an_error_and_nothing_stays() {
    let bed = Bed::new();
    let with_open_files =
        |limit, args: &[&str]| Done::from(bed.with_open_files(limit, args).output().unwrap());
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let directory = format!("--directory={}", dir.path().display());
    let job = ["fio", "--name=t", "--rw=read", "--size=1m", &directory];
    let many = [&job[..], &["--nrfiles=64"]].concat();
    // Before the run, which is refused.
    let done = with_open_files(40, &many).code(2);
    done.err_has(&["create `", "Too many open files"]);
    assert_eq!(names(dir.path(), ""), [""; 0]);
    // As many processes as files: the round fails.
    let jobs = [&job[..], &["--numjobs=40", "--unlink=1"]].concat();
    let done = with_open_files(60, &jobs).code(4);
    done.err_has(&["start worker for `", "Too many open files"]);
    assert_eq!(names(dir.path(), ""), [""; 0]);
    assert_eq!(bed::processes_in(dir.path()), [""; 0]);
    // And where there are enough it works.
    with_open_files(200, &[&many[..], &["--unlink=1"]].concat()).code(0);
    assert_eq!(names(dir.path(), ""), [""; 0]);
}

#[test]
fn a_directory_that_takes_no_files_is_said_before_measuring() {
    let bed = Bed::new();
    for (file, words) in [
        ("/proc/t", "no file can be made there"),
        ("/sys/t", "no file can be made there"),
        ("/dev/t", "no file is made below /dev"),
        ("/dev/full", "it is no regular file"),
        ("/dev/tty", "it is no regular file"),
    ] {
        let file = format!("--filename={file}");
        bed.run(&["fio", "--name=t", "--rw=write", "--size=1m", &file])
            .code(2)
            .err_has(&[words]);
    }
    assert!(!bed.store().exists());
}

#[test]
fn names_that_are_no_plain_words_are_used_as_they_are() {
    use std::os::unix::ffi::OsStrExt;
    let bed = Bed::new();
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for name in [
        "two\nlines",
        "a b",
        "計る",
        "'quoted' \"twice\" `thrice`",
        "-",
    ] {
        let file = format!("--filename={}", dir.path().join(name).display());
        let job = ["fio", "--name=t", "--rw=write", "--size=64k", &file];
        bed.run(&[&job[..], &["--unlink=1"]].concat()).code(0);
        assert_eq!(names(dir.path(), ""), [""; 0]);
        std::fs::write(dir.path().join(name), "precious").unwrap();
        bed.run(&job).code(2).err_has(&["kurabe did not make it"]);
        std::fs::remove_file(dir.path().join(name)).unwrap();
    }
    // What is no text cannot be kept with the run.
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9");
    let path = dir.path().join(name);
    std::fs::write(&path, vec![7; 1 << 20]).unwrap();
    let mut command = bed.command(&["run", "storage.read-1m", "--passes", "1", "--file"]);
    let done: Done = command.arg(&path).output().unwrap().into();
    done.code(2).err_has(&["not UTF-8"]);
    let mut command = bed.command(&["fio", "--name=t", "--rw=write", "--size=64k"]);
    let option = [b"--filename=", path.as_os_str().as_bytes()].concat();
    let option = std::ffi::OsStr::from_bytes(&option);
    let done: Done = command.arg(option).output().unwrap().into();
    done.code(2).err_has(&["UTF-8"]);
    assert_eq!(std::fs::read(&path).unwrap(), vec![7; 1 << 20]);
}

#[test]
fn a_store_that_cannot_be_used_leaves_no_files_of_jobs() {
    let bed = Bed::new();
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = format!("--filename={}", dir.path().join("data").display());
    let job = ["fio", "--name=t", "--rw=write", "--size=64k", &file];
    bed.run(&job).code(0);
    let before = std::fs::read(dir.path().join("data")).unwrap();
    // Somebody's letters under the store's name: neither they nor the file are touched.
    std::fs::write(bed.store(), "letters of years").unwrap();
    let refused = |done: Done| done.code(4).err_has(&["kurabe.db", "hint:"]);
    refused(bed.run(&job));
    assert_eq!(std::fs::read(bed.store()).unwrap(), b"letters of years");
    assert!(std::fs::read(dir.path().join("data")).unwrap() == before);
    let other = format!("--filename={}", dir.path().join("new").display());
    refused(bed.run(&["fio", "--name=t", "--rw=write", "--size=64k", &other]));
    assert_eq!(names(dir.path(), ""), ["data"]);
    // The file is ours as before once there is a store again.
    std::fs::remove_file(bed.store()).unwrap();
    bed.run(&[&job[..], &["--unlink=1"]].concat()).code(0);
    assert_eq!(names(dir.path(), ""), [""; 0]);
}

#[test]
fn a_run_that_is_stopped_while_it_writes_its_files_leaves_none_of_them_half() {
    let bed = Bed::new();
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = format!("--filename={}", dir.path().join("data").display());
    let job = ["fio", "--name=t", "--rw=read", "--size=2g", &file];
    for signal in ["-INT", "-TERM", "-HUP", "-QUIT"] {
        let child = bed.start(&job);
        bed::eventually(60, || {
            let found = std::fs::metadata(dir.path().join("data"));
            found.is_ok_and(|found| found.len() > 0)
        });
        bed::signal(&child, signal);
        let done: Done = child.wait_with_output().unwrap().into();
        assert_eq!(done.code, Some(130), "{signal}: {done:#?}");
        assert_eq!(names(dir.path(), ""), [""; 0], "{signal}");
    }
}
