//! The files that jobs name: which are made, made whole again, and refused.

use super::*;
use std::path::Path;

/// What of a file has no data on the device; `None` where the file system does not tell.
fn missing(path: &Path) -> Option<u64> {
    let file = std::fs::File::open(path).unwrap();
    let size = file.metadata().unwrap().len();
    let found = sys::io::file::extents(&file, size).ok()?;
    Some(found.holes + found.unwritten)
}

#[test]
fn what_was_given_back_is_written_again_before_it_is_read() {
    let bed = Bed::new();
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let directory = format!("--directory={}", dir.path().display());
    let job = |rw: &str| fio(&bed, &["--name=a", &directory, "--size=1m", "--bs=64k", rw]);
    job("--rw=read").code(0);
    let path = dir.path().join("a.0.0");
    let Some(gone) = missing(&path) else {
        eprintln!("skipped: this file system does not tell what was written");
        return;
    };
    assert_eq!(gone, 0);
    job("--rw=trim").code(0);
    assert_eq!(missing(&path), Some(1 << 20), "trims give it back");
    // A job that may not make its file says so instead.
    let may_not = [
        "--name=a",
        &directory,
        "--size=1m",
        "--rw=read",
        "--allow_file_create=0",
    ];
    fio(&bed, &may_not)
        .code(0)
        .err_has(&["1048576 of 1048576 bytes of the test file have no data on the device"]);
    let done = job("--rw=read").code(0);
    assert!(!done.err.contains("no data on the device"), "{}", done.err);
    assert_eq!(missing(&path), Some(0));
    // Trims of what is not there would do nothing.
    job("--rw=trim").code(0);
    job("--rw=trim")
        .code(0)
        .out_has(&["issued rwts: total=0,0,16,0 "]);
}

#[test]
fn nothing_is_checked_that_was_not_written() {
    let bed = Bed::new();
    let dir = work_dir();
    let directory = format!("--directory={}", dir.path().display());
    let write = [
        "--name=v",
        &directory,
        "--size=64k",
        "--rw=write",
        "--verify=crc32c",
    ];
    let check = [&write[..], &["--verify_only=1"]].concat();
    let read = [
        "--name=v",
        &directory,
        "--size=64k",
        "--rw=read",
        "--verify=crc32c",
    ];
    for line in [&check[..], &read] {
        fio(&bed, line)
            .code(2)
            .err_has(&["v.0.0` is not there, and nothing can be checked", "hint: "]);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
    // An earlier job of the same line may write it, one at the same time not.
    let both = |wait: &'static str| {
        let file = ["--filename=f", &directory, "--size=64k", "--verify=crc32c"];
        let jobs = [
            "--name=w",
            "--rw=write",
            "--name=c",
            "--rw=write",
            "--verify_only=1",
        ];
        fio(&bed, &[&file[..], &jobs, &[wait]].concat())
    };
    both("--new_group").code(2);
    both("--stonewall").code(0);
    // A shorter file is not made longer for a check.
    let longer = [&check[..], &["--size=128k"]].concat();
    fio(&bed, &write).code(0);
    fio(&bed, &longer)
        .code(3)
        .err_has(&["has 65536 bytes, and 131072 are asked for: what this run may not make anew"]);
    fio(&bed, &check).code(0);
}

#[test]
fn the_files_of_all_jobs_together_leave_half_of_what_is_free() {
    let bed = Bed::new();
    let free = sys::probe::file_system(bed.path()).unwrap().free_bytes;
    // Each alone would fit twice over.
    let size = format!("--size={}", free / 5);
    let directory = format!("--directory={}", bed.path().display());
    let line = ["--name=a", &directory, &size, "--numjobs=3"];
    let done = fio(&bed, &line).code(3);
    let done = done.err_has(&[
        "files together",
        "at most half is used",
        "--directory=DIR",
        "--size=SIZE",
    ]);
    assert!(
        !done.err.contains("--set") && !done.err.contains("--dir "),
        "{}",
        done.err
    );
    assert_eq!(bed.left_behind(), [""; 0]);
}

#[test]
fn more_memory_than_there_is_is_refused_before_anything_is_made() {
    let bed = Bed::new();
    let line = [
        "fio",
        "--name=a",
        "--rw=read",
        "--filename=f",
        "--size=64M",
        "--bs=16M",
    ];
    let line = [
        &line[..],
        &["--iodepth=128", "--ioengine=libaio", "--numjobs=1000"],
    ]
    .concat();
    let done = bed.run(&line).code(3);
    done.err_has(&[
        "too little memory: 2053000 MiB",
        "hint: fewer jobs at a time",
    ]);
    assert!(bed.left_behind().is_empty());
}

#[test]
fn what_somebody_put_into_our_file_is_theirs() {
    let bed = Bed::new();
    let dir = work_dir();
    let directory = format!("--directory={}", dir.path().display());
    let write = [&SMALL[..], &["--rw=write", &directory]].concat();
    fio(&bed, &write).code(0);
    fio(&bed, &write).code(0);
    let path = dir.path().join("t.0.0");
    // The mark stays on the file when its content is replaced, and goes along with a copy.
    std::fs::write(&path, "letters of years").unwrap();
    fio(&bed, &write).code(2);
    assert_eq!(std::fs::read(&path).unwrap(), b"letters of years");
}

/// How many of the 4 KiB blocks of files differ, and how many there are.
fn distinct(files: &[&Path]) -> (usize, usize) {
    let data: Vec<u8> = files
        .iter()
        .flat_map(|path| std::fs::read(path).unwrap())
        .collect();
    let blocks: std::collections::BTreeSet<&[u8]> = data.chunks(4096).collect();
    (blocks.len(), data.len() / 4096)
}

#[test]
fn equal_blocks_are_drawn_from_a_set_which_jobs_may_share() {
    let bed = Bed::new();
    let check = |global: &str, expect: std::ops::RangeInclusive<usize>| {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let directory = format!("--directory={}", dir.path().display());
        let all = [
            "--name=global",
            &directory,
            "--rw=write",
            "--bs=4k",
            "--size=4m",
            "--dedupe_percentage=50",
            "--dedupe_mode=working_set",
            "--dedupe_working_set_percentage=5",
            global,
            "--name=a",
            "--name=b",
        ];
        fio(&bed, &all).code(0);
        let files = ["a.0.0", "b.0.0"].map(|name| dir.path().join(name));
        let (found, of) = distinct(&[&files[0], &files[1]]);
        assert_eq!(of, 2048);
        assert!(expect.contains(&found), "{global}: {found}");
    };
    // 1,024 of 2,048 equal others, with a standard deviation of 23; a set has 51 blocks, almost all of which are drawn.
    check("--dedupe_global=1", 975..=1175);
    check("--dedupe_global=0", 1026..=1226);
    // One block, and a set of 51 alone.
    let alone = |mode: &str| {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let directory = format!("--directory={}", dir.path().display());
        let job = ["--name=a", &directory, "--rw=write", "--bs=4k", "--size=4m"];
        fio(
            &bed,
            &[&job[..], &["--dedupe_percentage=100", mode]].concat(),
        )
        .code(0);
        distinct(&[&dir.path().join("a.0.0")]).0
    };
    assert_eq!(alone("--dedupe_mode=repeat"), 1);
    let found = alone("--dedupe_mode=working_set");
    assert!((45..=51).contains(&found), "{found}");
}

#[test]
fn extents_of_a_file_are_moved_and_its_data_stays() {
    let bed = Bed::new();
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let directory = format!("--directory={}", dir.path().display());
    let job = [
        "--name=a",
        &directory,
        "--size=1m",
        "--bs=64k",
        "--rw=write",
    ];
    fio(&bed, &job).code(0);
    let path = dir.path().join("a.0.0");
    let before = std::fs::read(&path).unwrap();
    for place in ["--inplace=0", "--inplace=1"] {
        let moves = ["--ioengine=e4defrag", "--donorname=donor", place];
        let done = fio(&bed, &[&job[..], &moves].concat());
        if done.err.contains("Inappropriate ioctl") || done.err.contains("not supported") {
            eprintln!("skipped: this file system is not ext4");
            return;
        }
        done.code(0).out_has(&["issued rwts: total=0,16,0,0 "]);
        assert_eq!(std::fs::read(&path).unwrap(), before, "{place}");
    }
    let names: Vec<_> = std::fs::read_dir(dir.path()).unwrap().collect();
    assert_eq!(names.len(), 1, "the donor has no name");
}
