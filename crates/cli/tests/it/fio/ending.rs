//! How jobs end: by a signal, after a few milliseconds, with errors that were let pass; and what is told of it then.

use super::*;
use crate::bed::{eventually, processes_in, signal};

/// The CPU time in user mode of the busiest process below the bed, in clock ticks: of a worker that measures. The
/// supervisor, which is in the bed itself, may need as much before anybody measures.
fn ticks_of_workers(bed: &Bed) -> u64 {
    let ticks = |entry: std::fs::DirEntry| {
        let cwd = std::fs::read_link(entry.path().join("cwd")).ok()?;
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        // The name in brackets may hold anything; utime is the 12th field behind it.
        let (_, behind) = stat.rsplit_once(") ")?;
        let utime = behind.split(' ').nth(11)?.parse().ok()?;
        (cwd.starts_with(bed.path()) && cwd != bed.path()).then_some(utime)
    };
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(ticks).max().unwrap_or(0)
}

/// Interrupts a command line that goes on for ever, once its busiest job is at work, and returns what it printed.
fn interrupted(bed: &Bed, name: &str, args: &[&str]) -> Done {
    let busy = [
        "fio",
        "--ioengine=null",
        "--size=1m",
        "--runtime=300",
        "--name=busy",
        "--time_based",
        "--output-format=json",
    ];
    let child = bed.start(&[&busy[..], args].concat());
    eventually(60, || ticks_of_workers(bed) >= 10);
    signal(&child, name);
    child.wait_with_output().unwrap().into()
}

#[test]
fn an_interrupted_job_is_told_and_kept_as_far_as_it_came() {
    // Beside the one that is always at work: clones that are threads, one that pauses for minutes, one that waits.
    let threads = [
        "--name=t",
        "--new_group",
        "--time_based",
        "--thread",
        "--numjobs=2",
        "--group_reporting",
        "--filename=f",
    ];
    for (name, more) in [
        ("-INT", &[][..]),
        ("-TERM", &threads),
        ("-INT", &["--name=t", "--time_based", "--thinktime=200s"]),
        ("-INT", &["--name=t", "--time_based", "--startdelay=200"]),
        (
            "-INT",
            &[
                "--name=t",
                "--time_based",
                "--rate_iops=1",
                "--rate_process=poisson",
            ],
        ),
    ] {
        let bed = Bed::new();
        let began = sys::clock::monotonic();
        let done = interrupted(&bed, name, more).code(130);
        assert!(
            sys::clock::monotonic() - began < 100_000_000_000,
            "{more:?}"
        );
        let done = done.err_has(&["interrupted", "kept as run"]);
        // Nothing is left to do: there is nothing to go on with.
        assert!(!done.err.contains("--resume"), "{}", done.err);
        let report: Value = serde_json::from_str(&done.out).unwrap();
        let busy = &report["jobs"][0];
        assert_eq!(
            (&busy["jobname"], &busy["error"]),
            (&"busy".into(), &0.into())
        );
        assert!(total(busy, "read") > 256, "{more:?}");
        let runtime = busy["job_runtime"].as_u64().unwrap();
        assert!((1..100_000).contains(&runtime), "{runtime}");
        assert_eq!(
            report["jobs"].as_array().unwrap().len(),
            1 + usize::from(!more.is_empty())
        );
        // What is kept is what was told.
        let again = ["--show=latest", "--output-format=json"];
        let again = fio(&bed, &again).code(130).err_has(&["interrupted"]);
        let again: Value = serde_json::from_str(&again.out).unwrap();
        assert_eq!(again["jobs"], report["jobs"]);
        assert_eq!(bed.left_behind(), [""; 0]);
        assert_eq!(processes_in(bed.path()), [""; 0]);
    }
}

#[test]
fn jobs_behind_a_stonewall_are_still_to_be_done_after_an_interruption() {
    let bed = Bed::new();
    let done = interrupted(&bed, "-INT", &["--name=later", "--stonewall"]).code(130);
    let done = done.err_has(&["hint: `kurabe run --resume"]);
    let report: Value = serde_json::from_str(&done.out).unwrap();
    let jobs = report["jobs"].as_array().unwrap();
    assert_eq!((jobs.len(), &jobs[0]["jobname"]), (1, &"busy".into()));
}

#[test]
fn a_run_that_goes_on_unlinks_what_its_jobs_unlink() {
    for (unlink, stay) in [("--unlink=1", &[][..]), ("--unlink=0", &["later.0.0"])] {
        let bed = Bed::new();
        let dir = bed.path().join("files");
        std::fs::create_dir(&dir).unwrap();
        let directory = format!("--directory={}", dir.display());
        let later = [
            "--name=later",
            "--ioengine=psync",
            "--stonewall",
            "--rw=write",
            &directory,
            unlink,
        ];
        interrupted(&bed, "-INT", &later).code(130);
        let names = || -> Vec<String> {
            let all = std::fs::read_dir(&dir).unwrap();
            all.map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect()
        };
        assert_eq!(names(), [""; 0], "nothing was written yet");
        bed.run(&["run", "--resume", "latest"]).code(0);
        let report = fio(&bed, &["--show=latest", "--output-format=json"])
            .code(0)
            .out;
        let report: Value = serde_json::from_str(&report).unwrap();
        assert_eq!(total(&report["jobs"][1], "write"), 256);
        assert_eq!(names(), stay, "{unlink}");
    }
}
