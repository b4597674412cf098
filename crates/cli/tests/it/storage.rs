//! Storage tests as a user runs them: one test file for the whole run, figures kept with their latencies, nothing left.

use crate::bed::{self, Bed};
use serde_json::Value;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use tempfile::TempDir;

/// A directory in memory: a nearly full disk has no room for a test file.
fn work_dir() -> TempDir {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap()
}

/// A run of storage tests on a small file in `dir`, through the page cache, which every file system has.
fn args<'a>(dir: &'a TempDir, more: &[&'a str]) -> Vec<&'a str> {
    let common = [
        "run",
        "--dir",
        dir.path().to_str().unwrap(),
        "--set",
        "storage.*.size=8M",
        "--set",
        "storage.*.direct=no",
    ];
    [&common[..], more].concat()
}

fn is_empty(dir: &TempDir) -> bool {
    std::fs::read_dir(dir.path()).unwrap().next().is_none()
}

fn exported(bed: &Bed, run: &str) -> Value {
    let text = bed.run(&["export", run]).code(0).out;
    serde_json::from_str::<Value>(&text).unwrap()["run"].take()
}

#[test]
fn a_dry_run_on_a_file_says_what_would_be_lost_and_what_would_refuse_it() {
    let bed = Bed::new();
    std::fs::write(bed.path().join("theirs"), vec![7; 4 << 20]).unwrap();
    let args = |more: &[&'static str]| {
        let line = ["run", "storage.write-1m", "--dry-run", "--file", "theirs"];
        [&line[..], more].concat()
    };
    let done = bed.run(&args(&[])).code(0);
    done.out_has(&[
        "storage.write-1m@1",
        "theirs`, written to: what is in it is lost",
    ])
    .err_has(&["would be refused", "kurabe did not make it", "hint: "]);
    let allowed = bed.run(&args(&["--overwrite-file", "theirs"])).code(0);
    assert_eq!(allowed.err, "");
    let read = bed.run(&["run", "storage.read-1m", "--dry-run", "--file", "theirs"]);
    assert_eq!(read.code(0).out_has(&["theirs`, only read"]).err, "");
    assert_eq!(bed.left_behind(), ["theirs"]);
}

#[test]
fn every_round_keeps_its_figures_and_latencies_and_nothing_is_left() {
    let bed = Bed::new();
    let what = [
        "storage.randread-4k@2",
        "storage.randrw-4k-qd32",
        "--passes",
        "2",
    ];
    let dir = work_dir();
    bed.run(&args(&dir, &what)).code(0);
    assert!(is_empty(&dir));
    let run = exported(&bed, "latest");
    let rounds = run["rounds"].as_array().unwrap();
    assert_eq!(rounds.len(), 4);
    for round in rounds {
        let done = &round["outcome"]["done"];
        let ops: u64 = done["copies"]
            .as_array()
            .unwrap()
            .iter()
            .map(|copy| copy["ops"].as_u64().unwrap())
            .sum();
        let kinds: &[&str] = if round["case"] == "storage.randread-4k@2" {
            &["clat"]
        } else {
            &["read_clat", "write_clat"]
        };
        let recorded: u64 = kinds
            .iter()
            .flat_map(|kind| done["latencies"][kind].as_array().unwrap())
            .map(|pair| pair[1].as_u64().unwrap())
            .sum();
        // Every operation has one latency, whichever process did it.
        assert_eq!(recorded, ops, "{}", round["case"]);
        assert!(done["values"]["iops"].as_f64().unwrap() > 0.0);
    }
    bed.run(&["show", "latest", "--full"])
        .code(0)
        .out_has(&["storage.randread-4k@2", "\n  read_clat_ns_p50"]);
}

#[test]
fn one_file_serves_the_whole_run() {
    let bed = Bed::new();
    let dir = work_dir();
    // The budget makes the rounds short.
    let what = ["storage.randread-4k", "storage.read-4k", "--budget", "20s"];
    let child = bed.start(&args(&dir, &what));
    let files = || -> Vec<(PathBuf, std::fs::Metadata)> {
        let works = std::fs::read_dir(dir.path()).unwrap().flatten();
        works
            .flat_map(|work| std::fs::read_dir(work.path().join("run")))
            .flat_map(std::iter::Iterator::flatten)
            .filter(|file| file.file_name().to_string_lossy().ends_with("-d0"))
            .filter_map(|file| Some((file.path(), file.metadata().ok()?)))
            .collect()
    };
    let rounds = || {
        let works = std::fs::read_dir(dir.path()).unwrap().flatten();
        works
            .flat_map(|work| std::fs::read_dir(work.path()))
            .flat_map(std::iter::Iterator::flatten)
            .filter_map(|entry| {
                entry
                    .file_name()
                    .to_str()?
                    .strip_prefix("round-")?
                    .parse()
                    .ok()
            })
            .max()
            .unwrap_or(0_u32)
    };
    bed::eventually(60, || rounds() >= 2);
    let first = files();
    assert_eq!(first.len(), 1, "{first:?}");
    bed::eventually(60, || rounds() >= 4);
    let later = files();
    assert_eq!(first[0].1.ino(), later[0].1.ino());
    assert_eq!(
        first[0].1.mtime(),
        later[0].1.mtime(),
        "reads do not write it again"
    );
    bed::signal(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(is_empty(&dir));
}

#[test]
fn what_cannot_be_done_is_refused_with_its_reason() {
    let bed = Bed::new();
    let check = |set: &str, words: &str| {
        let done = bed.run(&["run", "storage.randread-4k", "--passes", "1", "--set", set]);
        assert!(done.code != Some(0), "{done:?}");
        let said = format!("{}{}", done.out, done.err);
        assert!(said.contains(words), "{said}");
    };
    check(
        "storage.randread-4k.size=2k",
        "2048 bytes of file hold no block of 4096 bytes",
    );
    check(
        "storage.randread-4k.iodepth=0",
        "a whole number from 1 to 32768",
    );
    check("storage.randread-4k.rw=backwards", "one of read, write, rw");
    check("storage.randread-4k.size=4000T", "at most half is used");
    assert_eq!(bed.left_behind(), [""; 0]);
}
