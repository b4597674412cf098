//! bonnie++'s phases as a user runs them: figures, lines for its own programs, and lines that are read back.

use crate::bed::{Bed, Done, eventually, processes_in, program};
use crate::disks::is_installed;
use std::io::Write;
use std::process::Stdio;

/// A round of each workload on a small file and few files.
pub(crate) const SMALL: [&str; 14] = [
    "run",
    "fs.bonnie",
    "fs.bonnie-files",
    "--passes",
    "1",
    "--set",
    "fs.bonnie.size=2M",
    "--set",
    "fs.bonnie.char_size=2k",
    "--set",
    "fs.bonnie.seeks=300",
    "--set",
    "fs.bonnie-files.files=1",
    "--quiet",
];

pub(crate) fn small(bed: &Bed, more: &[&str]) -> Done {
    bed.run(&[&SMALL[..], more].concat())
}

/// Value of a metric of a run.
pub(crate) fn value(run: &serde_json::Value, id: &str) -> f64 {
    let metrics = run["metrics"].as_array().unwrap();
    let metric = metrics.iter().find(|metric| metric["id"] == id);
    metric.unwrap_or_else(|| panic!("{id} of {run}"))["estimate"]
        .as_f64()
        .unwrap()
}

pub(crate) fn shown(bed: &Bed, run: &str) -> serde_json::Value {
    serde_json::from_str(&bed.run(&["show", run, "--json"]).code(0).out).unwrap()
}

#[test]
fn a_run_has_all_figures_and_its_lines_are_read_back_to_the_same() {
    let bed = Bed::new();
    small(&bed, &["--label", "mine"]).code(0);
    let mine = shown(&bed, "mine");
    assert!((value(&mine, "fs.bonnie@1:size_bytes") - 2_097_152.0).abs() < 0.5);
    let line = bed
        .run(&["show", "mine", "--format", "bonnie-csv"])
        .code(0)
        .out;
    assert_eq!(line.lines().count(), 1);
    assert_eq!(line.trim_end().split(',').count(), 50, "{line}");
    std::fs::write(bed.path().join("line.csv"), &line).unwrap();
    bed.run(&["import", "line.csv", "--label", "read"]).code(0);
    let read = shown(&bed, "read");
    for id in [
        "fs.bonnie@1:block_write_bytes_per_s",
        "fs.bonnie@1:block_read_bytes_per_s",
        "fs.bonnie@1:rewrite_bytes_per_s",
        "fs.bonnie@1:random_seek_ops_per_s",
        "fs.bonnie@1:block_write_lat_ns_max",
        "fs.bonnie-files@1:create_seq_ops_per_s",
        "fs.bonnie-files@1:stat_random_ops_per_s",
        "fs.bonnie-files@1:delete_random_lat_ns_max",
    ] {
        let ratio = value(&read, id) / value(&mine, id);
        // Latencies are printed in whole microseconds.
        let slack = if id.ends_with("_max") {
            0.51e3 / value(&mine, id)
        } else {
            1e-3
        };
        assert!((ratio - 1.0).abs() <= slack, "{id}: {ratio}");
    }
    if !is_installed("bon_csv2html") {
        eprintln!("skipped: bon_csv2html is not installed");
        return;
    }
    let mut page = program("bon_csv2html");
    let page = page.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut page = page.spawn().unwrap();
    page.stdin
        .take()
        .unwrap()
        .write_all(line.as_bytes())
        .unwrap();
    let page = page.wait_with_output().unwrap();
    let page = String::from_utf8(page.stdout).unwrap();
    let fields: Vec<&str> = line.trim_end().split(',').collect();
    // The name, the size, a count of seeks, a latency of files.
    for at in [2, 5, 19, 49] {
        assert!(page.contains(fields[at]), "{} of {page}", fields[at]);
    }
}

#[test]
fn a_plan_says_time_and_bytes_and_names_what_is_shorter() {
    let bed = Bed::new();
    let plan = bed
        .run(&["run", "bonnie", "--passes", "1000", "--dry-run"])
        .code(0);
    let plan = plan.out_has(&[
        "fs.bonnie@1",
        "fs.bonnie-files@1",
        "writes to storage: up to",
    ]);
    plan.out_says(&["`kurabe run fs.bonnie-quick`"]);
    let quick = bed
        .run(&["run", "fs.bonnie-quick", "--passes", "1000", "--dry-run"])
        .code(0);
    assert!(!quick.out.contains("hint: `kurabe run"), "{}", quick.out);
    let six = bed.run(&[
        "run",
        "fs.bonnie-quick",
        "--passes",
        "6",
        "--dry-run",
        "--json",
    ]);
    let six: serde_json::Value = serde_json::from_str(&six.code(0).out).unwrap();
    assert!(six["expected_ns"].as_f64().unwrap() < 300e9);
}

#[test]
fn what_has_none_of_the_phases_has_no_line() {
    let bed = Bed::new();
    bed.replay("other", "1,2,3");
    let refused = bed.run(&["show", "other", "--format", "bonnie-csv"]);
    refused
        .code(2)
        .err_has(&["none of bonnie++'s phases", "kurabe run bonnie"]);
}

#[test]
fn whatever_phase_it_is_killed_in_clean_finds_all_of_it() {
    for (test, set, made) in [
        ("fs.bonnie", "fs.bonnie.char_size=1G", "data"),
        ("fs.bonnie", "fs.bonnie.seeks=3000000", "data"),
        ("fs.bonnie-files", "fs.bonnie-files.files=100", "files"),
    ] {
        let bed = Bed::new();
        let others = ["--set", "fs.*.size=8M", "--set", "fs.*.char_size=1k"];
        let others = if test == "fs.bonnie" {
            &others[..]
        } else {
            &[]
        };
        let args = [&["run", test][..], others, &["--set", set]].concat();
        let mut child = bed.start(&args);
        let is_made = || {
            let found = program("find")
                .arg(bed.path())
                .args(["-name", made])
                .output()
                .unwrap();
            !found.stdout.is_empty()
        };
        eventually(20, is_made);
        // Some phases of the second one are over by then.
        std::thread::sleep(std::time::Duration::from_millis(300));
        child.kill().unwrap();
        child.wait().unwrap();
        eventually(10, || processes_in(bed.path()).is_empty());
        bed.run(&["clean"]).code(0).err_has(&["removed"]);
        assert_eq!(bed.left_behind(), [""; 0], "{test} {set}");
    }
}
