//! Files and directories as tests make them: what a run tells of each kind of operation, and what it leaves.

use crate::bed::{Bed, Done, eventually, processes_in, signal};
use serde_json::Value;

/// A small directory: seconds, and not minutes.
const SMALL: [&str; 4] = ["--passes", "1", "--set", "fs.files*.entries=300"];

fn document(bed: &Bed) -> Value {
    let shown = bed.run(&["show", "--format", "json"]).code(0);
    serde_json::from_str(&shown.out).unwrap()
}

/// The value of a metric of the last run in its one round; `None` where it is missing.
fn value(document: &Value, id: &str) -> Option<f64> {
    let mut metrics = document["metrics"].as_array().unwrap().iter();
    let metric = metrics.find(|metric| metric["id"] == id);
    let metric = metric.unwrap_or_else(|| panic!("no {id}"));
    metric["rounds"][0].as_f64()
}

/// Everything that a command says, wherever its lines end.
fn said(done: &Done) -> String {
    let words = done
        .err
        .split_whitespace()
        .chain(done.out.split_whitespace());
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn every_kind_has_its_rate_and_latencies_and_nothing_is_left() {
    let bed = Bed::new();
    let args = [&["run", "fs.files-1k"], &SMALL[..]].concat();
    let planned = bed.run(&[&args[..], &["--dry-run"]].concat()).code(0);
    planned.out_has(&["made first: the test files of "]);
    bed.run(&args).code(0);
    let document = document(&bed);
    for kind in [
        "create", "stat", "open", "read", "write", "rename", "unlink", "fsync",
    ] {
        let of = |what: &str| value(&document, &format!("fs.files-1k@1:{kind}_{what}")).unwrap();
        let (rate, mean) = (of("ops_per_s"), of("ns_mean"));
        // Over the time spent in them: one is the other's inverse, within the width of a bucket.
        assert!(
            (rate * mean / 1e9 - 1.0).abs() < 0.02,
            "{kind}: {rate} {mean}"
        );
        assert!(of("ns_p50") > 0.0);
    }
    assert!(value(&document, "fs.files-1k@1:readdir_names_per_s").unwrap() > 0.0);
    assert_eq!(value(&document, "fs.files-1k@1:entries"), Some(300.0));
    let shown = bed.run(&["show", "--full"]).code(0);
    shown.out_has(&["create in 300", "the test files, "]);
    assert_eq!(bed.left_behind(), [""; 0]);
}

#[test]
fn synced_writes_are_counted_by_writer_and_group() {
    let bed = Bed::new();
    let tests = [
        "fs.durable-mail@1",
        "fs.durable-log@2",
        "fs.durable-shared@3",
        "fs.durable-group@3",
    ];
    let args = [&["run"], &tests[..], &["--passes", "1"]].concat();
    bed.run(&args).code(0);
    let document = document(&bed);
    for test in tests {
        assert!(value(&document, &format!("{test}:ops_per_s")).unwrap() > 0.0);
        assert!(value(&document, &format!("{test}:lat_ns_mean")).unwrap() > 0.0);
    }
    let shared = value(&document, "fs.durable-group@3:records_per_sync").unwrap();
    assert!(shared >= 1.0, "{shared}");
    assert_eq!(bed.left_behind(), [""; 0]);
}

#[test]
fn the_profile_fits_its_budget_and_says_what_it_makes() {
    let bed = Bed::new();
    let planned = bed.run(&["run", "files", "--dry-run"]).code(0);
    planned.out_has(&[
        "fs.files-1k@1",
        "fs.files-large@1",
        "fs.durable-group@8",
        "made first: the test files",
    ]);
}

#[test]
fn a_kill_while_the_directory_is_made_leaves_what_clean_finds_and_nothing_that_counts() {
    let bed = Bed::new();
    let args = [
        "run",
        "fs.files-1m",
        "--passes",
        "1",
        "--label",
        "k",
        "--set",
        "fs.files*.entries=20000",
    ];
    let made = || {
        let dirs = std::fs::read_dir(bed.path()).unwrap().flatten();
        let sets = dirs.map(|dir| dir.path().join("run/files-20000-0"));
        sets.filter_map(|set| Some(std::fs::read_dir(set).ok()?.count()))
            .sum::<usize>()
    };
    let mut child = bed.start(&args);
    eventually(60, || made() > 100);
    signal(&child, "-KILL");
    child.wait().unwrap();
    eventually(60, || processes_in(bed.path()).is_empty());
    bed.run(&["clean"]).code(0).err_has(&["removed "]);
    assert_eq!((made(), bed.left_behind()), (0, Vec::<String>::new()));
}

#[test]
fn a_kill_in_a_round_takes_its_files_along_when_the_run_goes_on() {
    let bed = Bed::new();
    let more = ["--label", "k"];
    let mut args = [&["run", "fs.files-1k"], &SMALL[..], &more].concat();
    args[3] = "3";
    let mut child = bed.start(&args);
    let round = |name: &str| {
        let mut dirs = std::fs::read_dir(bed.path()).unwrap().flatten();
        dirs.any(|dir| dir.path().join(name).exists())
    };
    eventually(60, || round("round-2"));
    signal(&child, "-KILL");
    child.wait().unwrap();
    eventually(60, || processes_in(bed.path()).is_empty());
    bed.run(&["run", "--resume", "k"]).code(0);
    let document = document(&bed);
    let rounds = document["metrics"][0]["rounds"].as_array().unwrap();
    assert_eq!(rounds.len(), 3, "{rounds:?}");
    assert_eq!(bed.left_behind(), [""; 0]);
}

#[test]
fn files_in_memory_are_measured_and_what_cannot_be_is_said() {
    let Ok(dir) = tempfile::tempdir_in("/dev/shm") else {
        eprintln!("skipped: there is no /dev/shm");
        return;
    };
    let bed = Bed::new();
    let dir = dir.path().display().to_string();
    let args = [
        &["run", "fs.files-1k", "fs.durable-mail", "--dir", &dir],
        &SMALL[..],
    ]
    .concat();
    bed.run(&args).code(0);
    let shown = bed.run(&["show", "--full"]).code(0);
    shown.out_says(&["the files are in memory (tmpfs): nothing is on a disk after a sync"]);
    let args = [
        "run",
        "fs.files-cold",
        "--passes",
        "1",
        "--dir",
        &dir,
        "--set",
        "fs.files*.entries=300",
    ];
    let done = bed.run(&args);
    assert!(said(&done).contains("is in memory (tmpfs)"), "{done:?}");
}

mod root {
    use super::*;
    use crate::root::sh;

    /// A small file system of its own, unmounted when it goes.
    struct Small {
        at: String,
    }

    impl Small {
        fn new(bed: &Bed, mkfs: &str) -> Self {
            let (image, at) = (bed.path().join("image"), bed.path().join("at"));
            let (image, at) = (image.display(), at.display().to_string());
            sh(&format!(
                "truncate -s 64M {image}; {mkfs} {image}; mkdir {at}; mount -o loop {image} {at}"
            ));
            Self { at }
        }
    }

    impl Drop for Small {
        fn drop(&mut self) {
            sh(&format!("umount {}", self.at));
        }
    }

    #[test]
    #[ignore = "root: mounts a small file system"]
    fn few_inodes_make_a_smaller_directory_and_the_figures_say_so() {
        let bed = Bed::new();
        let small = Small::new(&bed, "mkfs.ext4 -qF -N 1000");
        let args = [
            "run",
            "fs.files-1m",
            "fs.durable-mail",
            "--passes",
            "1",
            "--dir",
            &small.at,
        ];
        bed.run(&args).code(0);
        let entries = value(&document(&bed), "fs.files-1m@1:entries").unwrap();
        assert!((400.0..=512.0).contains(&entries), "{entries}");
        let shown = bed.run(&["show", "--full"]).code(0);
        shown.out_says(&["and not 1000000: of ", "free inodes at most half are used"]);
        // All but a few are taken: there is nothing to measure in.
        sh(&format!(
            "cd {}; for n in $(seq 1 970); do : > f$n; done",
            small.at
        ));
        let none = bed.run(&["run", "fs.files-1k", "--passes", "1", "--dir", &small.at]);
        assert_ne!(none.code, Some(0), "{none:?}");
        assert!(
            said(&none).contains("free inodes at most half are used"),
            "{none:?}"
        );
    }

    #[test]
    #[ignore = "root: mounts a small file system"]
    fn a_full_disk_is_told_and_a_read_only_one_refused() {
        let bed = Bed::new();
        let small = Small::new(&bed, "mkfs.ext4 -qF");
        sh(&format!("fallocate -l 50M {}/fill", small.at));
        let args = ["run", "fs.files-large", "--passes", "1", "--dir", &small.at];
        let full = bed.run(&args);
        assert_ne!(full.code, Some(0), "{full:?}");
        assert!(said(&full).contains("MiB are free"), "{full:?}");
        sh(&format!("mount -o remount,ro {}", small.at));
        let read_only = bed.run(&args);
        assert!(
            read_only.code != Some(0) && read_only.err.contains("EROFS"),
            "{read_only:?}"
        );
    }

    #[test]
    #[ignore = "root: mounts an overlay"]
    fn an_overlay_is_measured_as_it_is() {
        let bed = Bed::new();
        let at = bed.path().display().to_string();
        sh(&format!(
            "cd {at}; mkdir base lower upper work at; mount -t tmpfs none base; mkdir base/upper base/work; \
             mount -t overlay overlay -o lowerdir=lower,upperdir=base/upper,workdir=base/work at"
        ));
        let dir = format!("{at}/at");
        let args = [&["run", "fs.files-1k", "--dir", &dir], &SMALL[..]].concat();
        let done = bed.run(&args);
        sh(&format!("umount {at}/at {at}/base"));
        done.code(0);
        assert!(value(&document(&bed), "fs.files-1k@1:unlink_ops_per_s").unwrap() > 0.0);
    }

    #[test]
    #[ignore = "root: makes the kernel forget files"]
    fn forgotten_files_come_from_the_disk_and_each_once() {
        let bed = Bed::new();
        let args = [
            &["run", "fs.files-cold", "--dir", env!("CARGO_TARGET_TMPDIR")],
            &SMALL[..],
        ]
        .concat();
        bed.run(&args).code(0);
        let document = document(&bed);
        for kind in [
            "stat_ops_per_s",
            "open_ops_per_s",
            "read_ops_per_s",
            "readdir_names_per_s",
        ] {
            assert!(
                value(&document, &format!("fs.files-cold@1:{kind}")).unwrap() > 0.0,
                "{kind}"
            );
        }
    }
}
