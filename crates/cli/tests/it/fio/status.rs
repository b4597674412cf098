//! `--status-interval`: reports while jobs are at work, which grow, agree with the last one, and leave nothing behind.

use super::*;
use crate::bed::{eventually, processes_in, signal};
use std::io::{BufRead, BufReader};

/// A job that reads and one that writes behind it, another that waits a while, and clones that are threads.
const JOBS: &str = "\
[global]
ioengine=null
size=1g
time_based
rate_iops=500
runtime=1500ms

[reads]
rw=randread

[late]
rw=randread
startdelay=1

[writes]
stonewall
rw=randrw
thread
numjobs=2
filename=one
group_reporting
";

/// Every document of the text.
fn documents(text: &str) -> Vec<Value> {
    let all = serde_json::Deserializer::from_str(text).into_iter();
    all.collect::<Result<_, _>>().unwrap()
}

/// What each job of a document did: operations, and how many of them have a latency.
fn done(document: &Value) -> Vec<(u64, u64)> {
    let jobs = document["jobs"].as_array().unwrap().iter();
    let of = |job: &Value| {
        let sum = |key: fn(&Value) -> u64| key(&job["read"]) + key(&job["write"]);
        let ops = sum(|direction| direction["total_ios"].as_u64().unwrap());
        (
            ops,
            sum(|direction| direction["clat_ns"]["N"].as_u64().unwrap()),
        )
    };
    jobs.map(of).collect()
}

#[test]
fn reports_grow_until_the_last_one_which_is_the_one_that_is_kept() {
    let bed = Bed::new();
    std::fs::write(bed.path().join("jobs.fio"), JOBS).unwrap();
    let args = [
        "--status-interval=400ms",
        "--output-format=json",
        "jobs.fio",
    ];
    let told = fio(&bed, &args).code(0);
    assert!(
        !told.err.contains("changes nothing") && !told.err.contains("status-interval"),
        "{}",
        told.err
    );
    let all = documents(&told.out);
    assert!(all.len() >= 4, "{}", all.len());
    let at = |document: &Value| document["timestamp_ms"].as_u64().unwrap();
    assert!(all.is_sorted_by(|a, b| at(a) < at(b)));
    let mut before = vec![(0, 0); 3];
    for document in &all {
        // Every job has its place, those behind the stonewall too.
        let now = done(document);
        assert_eq!(now.len(), 3, "{document}");
        for (now, before) in now.iter().zip(&before) {
            assert!(now.0 >= before.0, "{now:?} {before:?}");
            assert_eq!(now.0, now.1, "each operation has a latency, once");
        }
        before = now;
    }
    let grew = |job: usize| {
        let mut counts: Vec<u64> = all.iter().map(|document| done(document)[job].0).collect();
        counts.dedup();
        counts.iter().filter(|count| **count > 0).count()
    };
    // The last report and two before it at the least, also of threads.
    assert!(grew(0) >= 3 && grew(2) >= 3, "{all:?}");
    assert_eq!(done(&all[0])[2], (0, 0), "it stands behind a stonewall");
    let (last, so_far) = all.split_last().unwrap();
    // The rate is kept whoever looks on.
    assert!((500..=750).contains(&done(last)[0].0), "{:?}", done(last));
    assert!(so_far.iter().all(|one| one["jobs"][0]["error"] == 0));
    let again = fio(&bed, &["--show=latest", "--output-format=json"]).code(0);
    let again: Value = serde_json::from_str(&again.out).unwrap();
    for (again, last) in [0, 1, 2].map(|job| (&again["jobs"][job], &last["jobs"][job])) {
        for figure in [
            "read",
            "write",
            "job_runtime",
            "usr_cpu",
            "ctx",
            "iodepth_level",
        ] {
            assert_eq!(again[figure], last[figure], "{figure}");
        }
    }
}

#[test]
fn every_form_has_its_reports_and_a_file_has_all_of_them() {
    let bed = Bed::new();
    let job = [
        "--ioengine=null",
        "--size=1g",
        "--rate_iops=100",
        "--name=t",
    ];
    let time = ["--runtime=1", "--time_based", "--status-interval=300ms"];
    let told = |more: &[&str]| fio(&bed, &[&job[..], &time, more].concat()).code(0).out;
    let terse = told(&["--minimal"]);
    let operations = |line: &str| line.split(';').nth(5).unwrap().parse::<u64>().unwrap();
    let kib: Vec<u64> = terse.lines().map(operations).collect();
    assert!(
        kib.len() >= 3 && kib.is_sorted() && kib[0] < kib[kib.len() - 1],
        "{terse}"
    );
    let text = told(&[]);
    assert_eq!(text.matches("\nStarting 1 process\n").count(), 1, "{text}");
    let reports = text.matches("t: (groupid=0, jobs=1): err= 0").count();
    assert!(reports >= 3, "{text}");
    // One is told from the next.
    assert!(
        text.matches("\n\nt: (groupid=0, jobs=1)").count() + 1 >= reports,
        "{text}"
    );
    let out = told(&["--output=report", "--output-format=json+"]);
    assert_eq!(out, "");
    let kept = std::fs::read_to_string(bed.path().join("report")).unwrap();
    let counts: Vec<u64> = documents(&kept).iter().map(|one| done(one)[0].0).collect();
    assert!(counts.len() >= 3 && counts.is_sorted(), "{counts:?}");
}

#[test]
fn what_a_ramp_does_is_in_no_report() {
    let bed = Bed::new();
    let job = [
        "--ioengine=null",
        "--size=1g",
        "--rate_iops=200",
        "--name=t",
    ];
    let time = [
        "--ramp_time=1",
        "--runtime=1",
        "--time_based",
        "--output-format=json",
    ];
    let all = fio(
        &bed,
        &[&job[..], &time, &["--status-interval=250ms"]].concat(),
    )
    .code(0);
    let counts: Vec<(u64, u64)> = documents(&all.out).iter().map(|one| done(one)[0]).collect();
    assert_eq!(counts[0], (0, 0), "{counts:?}");
    assert!(
        counts.is_sorted() && counts.iter().all(|(ops, clat)| ops == clat),
        "{counts:?}"
    );
    assert!(
        (180..=250).contains(&counts[counts.len() - 1].0),
        "{counts:?}"
    );
}

#[test]
fn who_ends_it_between_two_reports_leaves_nothing_behind() {
    for name in ["-INT", "-KILL"] {
        let bed = Bed::new();
        let args = [
            "fio",
            "--ioengine=null",
            "--size=1g",
            "--runtime=300",
            "--time_based",
            "--name=t",
            "--status-interval=200ms",
            "--minimal",
        ];
        let mut child = bed.start(&args);
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        for _ in 0..2 {
            line.clear();
            out.read_line(&mut line).unwrap();
            assert!(line.starts_with("3;fio-3.33"), "{line}");
        }
        signal(&child, name);
        let ended = child.wait().unwrap();
        let rest: Vec<String> = out.lines().map(Result::unwrap).collect();
        eventually(10, || processes_in(bed.path()).is_empty());
        if name == "-INT" {
            assert_eq!(ended.code(), Some(130));
            // The last report is told all the same.
            let last = rest.last().unwrap();
            assert!(last.starts_with("3;fio-3.33") && last.len() > 100, "{last}");
        } else {
            bed.run(&["clean"]).code(0);
        }
        assert_eq!(bed.left_behind(), [""; 0], "{name}");
    }
}

#[test]
fn a_time_that_is_too_short_is_refused() {
    let bed = Bed::new();
    for short in ["--status-interval=0", "--status-interval=99ms"] {
        let done = fio(&bed, &["--name=t", "--ioengine=null", "--size=1m", short]).code(2);
        done.err_has(&["status-interval", "100ms at least"]);
    }
}
