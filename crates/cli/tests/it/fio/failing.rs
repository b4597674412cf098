//! Jobs that fail: told as far as they came, beside those that do not.

use super::*;
use crate::bed::eventually;

/// A job whose first operation takes longer than it may: 1 MiB in a microsecond.
const SLOW: [&str; 5] = [
    "--name=slow",
    "--rw=read",
    "--bs=1m",
    "--size=4m",
    "--max_latency=1",
];

/// A job that goes on for minutes if nobody ends it.
fn endless(name: &'static str) -> [&'static str; 5] {
    [
        name,
        "--ioengine=null",
        "--size=1m",
        "--time_based",
        "--runtime=300",
    ]
}

const SMALL_NULL: [&str; 2] = ["--ioengine=null", "--size=1m"];

/// The document of a run that does not end well, and what was said.
fn document(bed: &Bed, code: i32, args: &[&str]) -> (Value, String) {
    let dir = work_dir();
    let directory = format!("--directory={}", dir.path().display());
    let more = [&directory, "--output-format=json"];
    let done = fio(bed, &[&more, args].concat()).code(code);
    (serde_json::from_str(&done.out).unwrap(), done.err)
}

/// Name, error and operations of each job.
fn told(report: &Value) -> Vec<(String, u64, u64)> {
    let jobs = report["jobs"].as_array().unwrap().iter();
    jobs.map(|job| {
        let name = job["jobname"].as_str().unwrap().to_owned();
        let ops = total(job, "read") + total(job, "write");
        (name, job["error"].as_u64().unwrap(), ops)
    })
    .collect()
}

fn expected(jobs: &[(&str, u64, u64)]) -> Vec<(String, u64, u64)> {
    let owned = |(name, error, ops): &(&str, u64, u64)| ((*name).to_owned(), *error, *ops);
    jobs.iter().map(owned).collect()
}

#[test]
fn every_job_is_told_where_one_fails_in_every_form() {
    let bed = Bed::new();
    let line = [
        &["--name=early"][..],
        &SMALL_NULL,
        &SLOW,
        &["--stonewall", "--name=beside"],
        &SMALL_NULL,
        &["--name=later", "--stonewall"],
        &SMALL_NULL,
    ]
    .concat();
    let (report, said) = document(&bed, 4, &line);
    let expect = expected(&[
        ("early", 0, 256),
        ("slow", 110, 1),
        ("beside", 0, 256),
        ("later", 0, 256),
    ]);
    assert_eq!(told(&report), expect);
    let slow = &report["jobs"][1]["read"];
    assert_eq!(
        (&slow["io_bytes"], &slow["clat_ns"]["N"]),
        (&(1 << 20).into(), &1.into())
    );
    assert!(slow["clat_ns"]["max"].as_u64().unwrap() > 1000);
    assert!(report["jobs"][1].get("total_err").is_none());
    let errors = said.lines().filter(|line| line.starts_with("error: "));
    let errors: Vec<&str> = errors.collect();
    assert_eq!(errors.len(), 1, "{said}");
    assert!(errors[0].starts_with("error: job `slow`: "), "{said}");
    // What is kept is what was told.
    let show = |form: &str| fio(&bed, &["--show=latest", form]).code(4);
    let again: Value = serde_json::from_str(&show("--output-format=json").out).unwrap();
    assert_eq!(again["jobs"], report["jobs"]);
    let text = show("--output-format=normal");
    text.out_has(&[
        "slow: (groupid=1, jobs=1): err=110 (error=",
        "beside: (groupid=1, jobs=1): err= 0: pid=",
        "later: (groupid=2, jobs=1): err= 0: pid=",
    ]);
    let terse = show("--minimal").out;
    let of_line = |line: &str| -> Vec<String> {
        let fields: Vec<&str> = line.split(';').collect();
        [2, 4, 5].map(|at| fields[at].to_owned()).to_vec()
    };
    let lines: Vec<Vec<String>> = terse.lines().map(of_line).collect();
    assert_eq!(lines[1], ["slow", "110", "1024"]);
    assert_eq!(lines[2], ["beside", "0", "1024"]);
    // No figure of such a round is one of the run's: there is nothing to compare.
    let shown = bed.run(&["show", "latest", "--json"]).out;
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let text = shown.to_string();
    assert!(
        text.contains("longer than the 1000 ns of `max_latency`"),
        "{text}"
    );
}

#[test]
fn clones_of_a_group_fail_for_themselves() {
    let bed = Bed::new();
    for more in [&[][..], &["--thread", "--filename=f"]] {
        let line = [&SLOW[..], &["--numjobs=3", "--group_reporting"], more].concat();
        let (report, said) = document(&bed, 4, &line);
        assert_eq!(told(&report), expected(&[("slow", 110, 3)]), "{more:?}");
        assert_eq!(
            said.matches("job `slow`").count(),
            said.matches("error: ").count()
        );
    }
}

#[test]
fn a_file_that_becomes_shorter_is_an_input_output_error() {
    for engine in ["psync", "libaio"] {
        let bed = Bed::new();
        let dir = work_dir();
        let path = dir.path().join("f");
        let file = format!("--filename={}", path.display());
        let engine = format!("--ioengine={engine}");
        let line = [
            "fio",
            &file,
            "--rw=read",
            "--bs=4k",
            "--size=1m",
            &engine,
            "--output-format=json",
            "--name=a",
            "--startdelay=4",
            "--name=b",
        ];
        let child = bed.start(&line);
        let is_whole = || std::fs::metadata(&path).is_ok_and(|found| found.len() == 1 << 20);
        eventually(60, is_whole);
        // Until it is marked as whole and opened by both, and before the first begins.
        std::thread::sleep(std::time::Duration::from_secs(2));
        let opened = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        opened.set_len(130_000).unwrap();
        let done: Done = child.wait_with_output().unwrap().into();
        let done = done
            .code(4)
            .err_has(&["job `a`: read `", "of 4096 bytes were transferred"]);
        let report: Value = serde_json::from_str(&done.out).unwrap();
        let expect = expected(&[("a", 5, 31), ("b", 0, 256)]);
        assert_eq!(told(&report), expect, "{engine}");
    }
}

#[test]
fn a_job_that_fails_ends_the_others_only_where_it_says_so() {
    let bed = Bed::new();
    // Its own group goes, the other one does not.
    let line = [
        &SLOW[..],
        &["--exitall_on_error"],
        &endless("--name=same"),
        &["--name=other", "--new_group"],
        &SMALL_NULL,
    ]
    .concat();
    let (report, _) = document(&bed, 4, &line);
    let jobs = told(&report);
    assert_eq!([jobs[0].1, jobs[1].1, jobs[2].1], [110, 0, 0]);
    assert!(report["jobs"][1]["job_runtime"].as_u64().unwrap() < 100_000);
    assert_eq!(jobs[2].2, 256);
    // A job that does not fail ends nobody with it.
    let line = [
        &["--name=well", "--exitall_on_error"][..],
        &SMALL_NULL,
        &["--name=on", "--ioengine=null", "--size=1m", "--loops=5"],
    ]
    .concat();
    let report = json(&bed, &line);
    assert_eq!(
        told(&report),
        expected(&[("well", 0, 256), ("on", 0, 1280)])
    );
}

#[test]
fn exitall_of_everything_leaves_zeros_of_jobs_that_have_not_begun() {
    let bed = Bed::new();
    let line = [
        &["--name=short", "--exitall", "--exit_what=all"][..],
        &SMALL_NULL,
        &endless("--name=beside"),
        &["--name=later", "--stonewall", "--size=1m", "--rw=write"],
    ]
    .concat();
    let dir = work_dir();
    let directory = format!("--directory={}", dir.path().display());
    // In each pass anew.
    let more = [&directory, "--output-format=json", "--passes=2"];
    let done = fio(&bed, &[&more, &line[..]].concat()).code(0);
    let report: Value = serde_json::from_str(&done.out).unwrap();
    let jobs = told(&report);
    assert_eq!((jobs[0].2, jobs[2].1, jobs[2].2), (256, 0, 0), "{jobs:?}");
    assert!(report["jobs"][1]["job_runtime"].as_u64().unwrap() < 100_000);
    assert_eq!(report["jobs"][2]["groupid"], 1);
    // With `stonewall` those behind it have their turn.
    let stonewall = [&line[..2], &["--exit_what=stonewall"], &line[3..]].concat();
    let report = json(&bed, &stonewall);
    assert_eq!(total(&report["jobs"][2], "write"), 256);
}
