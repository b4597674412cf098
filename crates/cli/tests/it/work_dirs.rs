//! File systems on which work directories are another matter: locks that are none, files that stay while they are open.

use crate::bed::{Bed, Done, eventually, signal};
use std::fs;
use std::path::{Path, PathBuf};

/// A library that stands before the C library's flock and answers as `KURABE_TEST_LOCKS` says: `nfs`, which locks
/// exclusively only what is open for writing, or an error number, as file systems without locks do.
const LOCKS: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>
int flock(int fd, int operation) {
    const char *how = getenv("KURABE_TEST_LOCKS");
    if (how && strcmp(how, "nfs") != 0) {
        errno = atoi(how);
        return -1;
    }
    if (how && (operation & LOCK_EX) && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY) {
        errno = EBADF;
        return -1;
    }
    return (int)syscall(SYS_flock, fd, operation);
}
"#;

/// Builds it into the bed's directory. It has no effect on a program that is linked statically: a test that uses it
/// fails there.
#[expect(clippy::disallowed_methods, reason = "the compiler is a program")]
fn locks(bed: &Bed) -> PathBuf {
    let (source, library) = (bed.path().join("locks.c"), bed.path().join("locks.so"));
    fs::write(&source, LOCKS).unwrap();
    let done = std::process::Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .status();
    assert!(done.unwrap().success());
    library
}

fn with_locks(bed: &Bed, library: &Path, how: &str, args: &[&str]) -> std::process::Child {
    let mut command = bed.command(args);
    command
        .env("LD_PRELOAD", library)
        .env("KURABE_TEST_LOCKS", how)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    command.spawn().unwrap()
}

fn ended(child: std::process::Child) -> Done {
    child.wait_with_output().unwrap().into()
}

/// What a run that was killed leaves.
fn leave_behind(bed: &Bed) -> PathBuf {
    let stale = bed.path().join("kurabe-work-dead");
    fs::create_dir(&stale).unwrap();
    fs::write(stale.join(".kurabe-work"), r#"{"run":"dead"}"#).unwrap();
    stale
}

/// The locks that a process holds on the file of this inode. From its own descriptors, not from /proc/locks, whose
/// pages skip lines while other tests lock and unlock.
fn locks_of(pid: u32, inode: &str) -> Vec<String> {
    let descriptors = fs::read_dir(format!("/proc/{pid}/fdinfo")).unwrap();
    let all = descriptors.map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap());
    let all: String = all.collect();
    let locks = all.lines().filter(|line| line.starts_with("lock:"));
    let locks = locks.filter(|line| line.contains(inode));
    locks.map(str::to_owned).collect()
}

#[test]
fn what_another_does_with_the_store_while_a_clean_goes_on_loses_nothing() {
    use std::os::unix::fs::MetadataExt;
    let bed = Bed::new();
    bed.replay("earlier", "1");
    let stale = leave_behind(&bed);
    for index in 0..20_000 {
        fs::write(stale.join(index.to_string()), "").unwrap();
    }
    let clean = bed.start(&["clean"]);
    let count = || fs::read_dir(&stale).map_or(0, Iterator::count);
    eventually(30, || count() < 20_000);
    signal(&clean, "-STOP");
    assert!(count() > 0, "it is not over");
    let inode = format!(":{} ", fs::metadata(bed.store()).unwrap().ino());
    assert_ne!(locks_of(clean.id(), &inode), [""; 0]);
    let log = bed.path().join("kurabe.db-wal");
    assert!(log.exists());
    bed.replay("meanwhile", "1");
    bed.run(&["list"])
        .code(0)
        .out_has(&["earlier", "meanwhile"]);
    assert!(log.exists(), "the other took itself for the last one");
    signal(&clean, "-CONT");
    ended(clean).code(0).err_has(&["removed"]);
    assert!(!stale.exists() && !log.exists());
    bed.run(&["list"])
        .code(0)
        .out_has(&["earlier", "meanwhile"]);
}

#[test]
fn a_clean_between_a_runs_note_and_its_directory_does_not_make_that_unknown() {
    if !crate::disks::is_installed("python3") {
        eprintln!("skipped: there is no python3");
        return;
    }
    let bed = Bed::new();
    bed.replay("earlier", "1");
    // What a clean does that finds no directory yet, at the one moment.
    let clean = "c.execute('create table cleaned (n)')
c.execute('create trigger clean after insert on work_dirs when not exists (select 1 from cleaned) \
           begin insert into cleaned values (1); delete from work_dirs; end')";
    crate::lost::in_sqlite(&bed.store(), clean);
    let elsewhere = bed.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let mut run = bed.start(&["run", "selftest.sleep", "--dir", "elsewhere"]);
    let left = || fs::read_dir(&elsewhere).unwrap().count();
    eventually(30, || left() == 1 && bed.listed().len() == 2);
    signal(&run, "-KILL");
    run.wait().unwrap();
    assert_eq!(left(), 1);
    bed.run(&["clean"])
        .code(0)
        .err_has(&["removed", "elsewhere/kurabe-work-"]);
    assert_eq!(left(), 0);
}

#[test]
fn on_nfs_what_a_killed_run_left_is_found() {
    let bed = Bed::new();
    let library = locks(&bed);
    let stale = leave_behind(&bed);
    let clean = with_locks(&bed, &library, "nfs", &["clean"]);
    ended(clean).code(0).err_has(&["removed"]);
    assert!(!stale.exists());
}

#[test]
fn without_locks_a_run_goes_on_and_nothing_is_removed_on_a_guess() {
    let bed = Bed::new();
    let library = locks(&bed);
    let run = ["run", "selftest.null", "fs.copy-256", "--passes", "1"];
    // ENOSYS, EOPNOTSUPP, ENOLCK: of these numbers on every machine that we know.
    for how in ["38", "95", "37"] {
        let done = ended(with_locks(&bed, &library, how, &run)).code(0);
        done.err_has(&["has no locks", "`kurabe clean` cannot tell"]);
        assert_eq!(bed.left_behind().len(), 2, "the library and its source");
    }
    let set = ["--set", "storage.*.size=1M", "--passes", "1"];
    for (copies, code) in [("1", 0), ("2", 4)] {
        let disk = ["run", "storage.randread-4k", "--copies", copies];
        let done = ended(with_locks(
            &bed,
            &library,
            "38",
            &[&disk[..], &set].concat(),
        ));
        let done = done.code(code);
        assert_eq!(done.out.contains("has no locks"), code != 0, "{}", done.out);
    }
    let stale = leave_behind(&bed);
    let clean = || with_locks(&bed, &library, "38", &["clean"]);
    ended(clean()).code(4).err_has(&["has no locks", "by hand"]);
    assert!(stale.exists());
    // Any other error is one.
    let done = ended(with_locks(&bed, &library, "5", &run)).code(3);
    done.err_has(&["mark the work directory", "os error 5"]);
    assert!(stale.exists());
}

#[test]
fn a_marker_that_somebody_removes_during_the_run_is_said() {
    let bed = Bed::new();
    let run = bed.start(&["run", "os.pipe", "--passes", "2"]);
    let dir = || {
        let left = bed.left_behind();
        left.first().map(|name| bed.path().join(name))
    };
    let marker = || dir().map(|dir| dir.join(".kurabe-work"));
    eventually(30, || {
        marker().is_some_and(|marker| fs::remove_file(marker).is_ok())
    });
    let done = ended(run).code(0);
    done.err_has(&["somebody removed its marker", "\nhint: ", "by hand"]);
    let dir = dir().unwrap();
    assert!(dir.exists());
    bed.run(&["clean"]).code(0).err_has(&["nothing to remove"]);
    fs::remove_dir_all(dir).unwrap();
}

#[test]
fn a_file_that_a_killed_run_was_about_to_remove_is_found() {
    use std::os::unix::fs::MetadataExt;
    let bed = Bed::new();
    let file = bed.path().join("file");
    fs::write(&file, "x").unwrap();
    let number = file.metadata().unwrap().ino();
    let aside = |number: u64| bed.path().join(format!(".kurabe-removed-{number}-1-1"));
    fs::rename(&file, aside(number)).unwrap();
    fs::write(aside(7), "of somebody else").unwrap();
    let said = bed.run(&["clean", "--dry-run"]).code(0);
    said.err_has(&["would remove", "half-way"]);
    bed.run(&["clean"]).code(0).err_has(&["removed"]);
    assert!(!aside(number).exists() && aside(7).exists());
    bed.run(&["clean"]).code(0).err_has(&["nothing to remove"]);
}

mod root {
    use super::*;

    #[test]
    #[ignore = "root: mounts a file system"]
    fn what_is_mounted_below_a_name_that_is_no_utf8_is_not_emptied() {
        use std::os::unix::ffi::OsStrExt;
        let bed = Bed::new();
        let dir = bed.path().join(std::ffi::OsStr::from_bytes(b"dir\xff"));
        let mount = dir.join("kurabe-work-dead/mount");
        fs::create_dir_all(&mount).unwrap();
        fs::write(
            dir.join("kurabe-work-dead/.kurabe-work"),
            r#"{"run":"dead"}"#,
        )
        .unwrap();
        let tmpfs = ["-t", "tmpfs", "none"].map(Path::new);
        call("mount", &[&tmpfs[..], &[&mount]].concat());
        fs::write(mount.join("precious"), "x").unwrap();
        let mut clean = bed.command(&["clean", "--dir"]);
        let done: Done = clean.arg(&dir).output().unwrap().into();
        let is_there = mount.join("precious").exists();
        call("umount", &[&mount]);
        done.code(4).err_has(&["something is mounted at"]);
        assert!(is_there);
    }

    #[expect(clippy::disallowed_methods, reason = "bindfs and umount are programs")]
    fn call(program: &str, args: &[&Path]) {
        let done = std::process::Command::new(program).args(args).status();
        assert!(
            done.is_ok_and(|status| status.success()),
            "{program} {args:?}"
        );
    }

    /// A FUSE file system in the bed, unmounted at the end. bindfs keeps a file that is removed while it is open under
    /// another name, as every file system of libfuse does that does not ask for something else.
    struct Fuse(PathBuf);

    impl Fuse {
        fn new(bed: &Bed) -> Self {
            let [below, mount] = ["below", "mount"].map(|name| bed.path().join(name));
            fs::create_dir(&below).unwrap();
            fs::create_dir(&mount).unwrap();
            call("bindfs", &[&below, &mount]);
            Self(mount)
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(&self.0).unwrap();
            let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            names.collect()
        }
    }

    impl Drop for Fuse {
        fn drop(&mut self) {
            call("umount", &[&self.0]);
        }
    }

    #[test]
    #[ignore = "root: mounts a FUSE file system"]
    fn on_fuse_nothing_stays_after_a_normal_end() {
        let bed = Bed::new();
        let fuse = Fuse::new(&bed);
        // The file system is what it is said to be.
        let (open, hidden) = (fuse.0.join("open"), || fuse.names());
        let held = fs::File::create(&open).unwrap();
        fs::remove_file(&open).unwrap();
        assert!(hidden()[0].starts_with(".fuse_hidden"), "{:?}", hidden());
        drop(held);
        eventually(5, || hidden().is_empty());

        let dir = fuse.0.to_str().unwrap();
        for what in [&["selftest.null"][..], &["fs.copy-256", "os.execl"]] {
            let args = [&["run"], what, &["--passes", "2", "--dir", dir]].concat();
            let done = bed.run(&args).code(0);
            assert!(!done.err.contains("warning"), "{}", done.err);
            assert_eq!(fuse.names(), [""; 0]);
        }
        // Nor after an interrupt, when workers that are killed have files open.
        let run = [
            "run",
            "fs.copy-256",
            "os.pipe",
            "--passes",
            "60",
            "--dir",
            dir,
        ];
        let child = bed.start(&run);
        eventually(30, || !fuse.names().is_empty());
        std::thread::sleep(std::time::Duration::from_secs(2));
        crate::bed::signal(&child, "-INT");
        ended(child).code(130);
        assert_eq!(fuse.names(), [""; 0]);
    }
}
