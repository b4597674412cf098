//! Logs over time (`write_bw_log` and the like): what is in them, beside fio's own, and where they may not go.

use super::beside::{FIO, missing};
use super::*;
use std::collections::BTreeMap;
use std::path::Path;

/// Reads and writes of two sizes at a rate, for two seconds.
const JOB: &str = "--name=t --ioengine=null --size=1g --rw=randrw --bssplit=4k/50:64k/50 --rate_iops=2000 --runtime=2 \
                   --time_based --write_bw_log=b --write_lat_log=x --write_iops_log=y --log_avg_msec=500";

/// The columns of every log in a directory, by its file's name.
fn logs(dir: &Path) -> BTreeMap<String, Vec<Vec<u64>>> {
    let mut logs = BTreeMap::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.extension().is_some_and(|end| end == "log") {
            let text = std::fs::read_to_string(&path).unwrap();
            let columns = |line: &str| line.split(", ").map(|x| x.parse().unwrap()).collect();
            logs.insert(name, text.lines().map(columns).collect());
        }
    }
    logs
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

#[test]
fn logs_hold_all_that_was_done_window_by_window() {
    let bed = Bed::new();
    let more = ["--output-format=json", "--quiet"];
    let done = fio(&bed, &[&words(JOB)[..], &more].concat()).code(0);
    let report: Value = serde_json::from_str(&done.out).unwrap();
    let job = &report["jobs"][0];
    let logs = logs(bed.path());
    let names: Vec<&str> = logs.keys().map(String::as_str).collect();
    let expect = [
        "b_bw.1.log",
        "x_clat.1.log",
        "x_lat.1.log",
        "x_slat.1.log",
        "y_iops.1.log",
    ];
    assert_eq!(names, expect);
    for (number, direction) in [(0, "read"), (1, "write")] {
        let sum = |name: &str| {
            let rows = logs[name].iter().filter(|row| row[2] == number);
            rows.map(|row| row[1]).sum::<u64>()
        };
        // Half a second each; what the last moment holds may belong to no whole window.
        let ops = job[direction]["total_ios"].as_u64().unwrap();
        let kib = job[direction]["io_kbytes"].as_u64().unwrap();
        for (logged, told) in [(sum("y_iops.1.log") / 2, ops), (sum("b_bw.1.log") / 2, kib)] {
            assert!(
                logged * 100 >= told * 70 && logged <= told + 2,
                "{logged} {told}"
            );
        }
        let means = logs["x_clat.1.log"].iter().filter(|row| row[2] == number);
        let means: Vec<u64> = means.map(|row| row[1]).collect();
        let longest = job[direction]["clat_ns"]["max"].as_u64().unwrap();
        assert!(
            means.len() >= 4 && means.iter().all(|&ns| ns <= longest),
            "{means:?}"
        );
    }
    for rows in logs.values() {
        assert!(
            rows.iter()
                .all(|row| row.len() == 5 && row[0] % 500 == 0 && row[3..] == [0, 0])
        );
    }
}

#[test]
fn the_run_keeps_what_the_logs_say_and_goes_without_where_nobody_asks() {
    let bed = Bed::new();
    fio(&bed, &words(JOB)).code(0);
    let series = |run: &str| {
        let shown = bed.run(&["show", run, "--format", "json"]).code(0);
        crate::documents::validate("kurabe.run.1.json", &shown.out)["series"].clone()
    };
    let kept = series("latest");
    let iops = kept.as_array().unwrap().iter();
    let mut iops = iops.filter(|one| one["quantity"] == "write_iops_at");
    let one = iops.next().unwrap();
    assert_eq!(
        (one["copy"].as_u64(), one["unit"].as_str()),
        (Some(0), Some("ops_per_s"))
    );
    let values: Vec<u64> = one["values"]
        .as_array()
        .unwrap()
        .iter()
        .map(|x| model::num::round_to_u64(x.as_f64().unwrap()))
        .collect();
    let rows = logs(bed.path());
    let logged = rows["y_iops.1.log"].iter().filter(|row| row[2] == 1);
    assert_eq!(values, logged.map(|row| row[1]).collect::<Vec<_>>());
    fio(&bed, &words("--name=t --ioengine=null --size=1m --rw=read")).code(0);
    assert_eq!(series("latest"), Value::Null);
}

#[test]
fn names_follow_the_job_and_the_number() {
    let bed = Bed::new();
    let file = "[global]\nioengine=null\nsize=1g\nruntime=300ms\ntime_based\nwrite_iops_log\nlog_avg_msec=100\n\
                [one]\nnumjobs=2\n[two]\nstonewall\nlog_offset=1\nper_job_logs=0\n";
    std::fs::write(bed.path().join("j.fio"), file).unwrap();
    fio(&bed, &["j.fio", "--quiet"]).code(0);
    let logs = logs(bed.path());
    let widths: Vec<(&str, usize)> = logs
        .iter()
        .map(|(name, rows)| (name.as_str(), rows[0].len()))
        .collect();
    assert_eq!(
        widths,
        [
            ("one_iops.1.log", 5),
            ("one_iops.2.log", 5),
            ("two_iops.log", 6)
        ]
    );
}

#[test]
fn a_log_goes_over_no_file_but_a_log() {
    let bed = Bed::new();
    let log = bed.path().join("b_bw.1.log");
    let line = words(
        "--name=t --ioengine=null --size=1m --rw=read --write_bw_log=b --log_avg_msec=100 --quiet",
    );
    std::fs::write(&log, "a letter\n").unwrap();
    fio(&bed, &line)
        .code(2)
        .err_has(&["write the log `", "b_bw.1.log`", "no log of fio"]);
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "a letter\n");
    let store = bed.store();
    assert!(!store.exists(), "nothing was measured");
    std::fs::write(&log, "500, 808, 0, 0, 0\n").unwrap();
    let before = std::fs::read_to_string(&log).unwrap();
    fio(&bed, &line).code(0).err_has(&["stays as it is"]);
    assert_eq!(std::fs::read_to_string(&log).unwrap(), before);
    let new = words("--write_bw_log=new");
    fio(&bed, &[&line[..], &new].concat()).code(0);
    let none = std::fs::read_to_string(bed.path().join("new_bw.1.log"));
    assert_eq!(none.unwrap(), "", "fio makes it too");
    let to_report = [&line[..], &["--output=b_bw.1.log"]].concat();
    fio(&bed, &to_report).code(2);
    let used = words(
        "--name=t --size=1m --rw=read --filename=x_bw.1.log --write_bw_log=x --log_avg_msec=100",
    );
    fio(&bed, &used).code(2).err_has(&["a job works on it"]);
    std::fs::create_dir(bed.path().join("d")).unwrap();
    let used = words(
        "--name=t --size=1m --rw=read --filename=d/../x_bw.1.log --write_bw_log=x --log_avg_msec=100",
    );
    fio(&bed, &used).code(2).err_has(&["a job works on it"]);
    let line = words("--write_bw_log=o --output=d/../o_bw.1.log --name=t --size=1m --rw=read");
    let done = fio(&bed, &line).code(2);
    done.err_has(&["the report goes there"]);
}

#[test]
fn two_names_of_one_log_are_one_log() {
    let bed = Bed::new();
    let here = bed.path().display();
    let file = format!(
        "[global]\nioengine=null\nsize=1g\nruntime=500ms\ntime_based\nlog_avg_msec=100\nper_job_logs=0\n\
         [one]\nwrite_iops_log=same\n[two]\nwrite_iops_log=./same\n[three]\nwrite_iops_log={here}/same\n"
    );
    std::fs::write(bed.path().join("j.fio"), file).unwrap();
    fio(&bed, &["j.fio", "--quiet"]).code(0);
    let logs = logs(bed.path());
    assert_eq!(logs.len(), 1);
    let rows = logs["same_iops.log"].iter().filter(|row| row[0] == 100);
    assert_eq!(rows.count(), 3, "one of each job: {logs:?}");
}

#[test]
fn fios_own_logs_have_the_same_form() {
    if let Some(why) = missing() {
        eprintln!("skipped: {why}");
        return;
    }
    let (ours, theirs) = (Bed::new(), tempfile::tempdir().unwrap());
    fio(&ours, &words(JOB)).code(0);
    let out = theirs.path().join("out");
    let output = format!("--output={}", out.display());
    let dir = theirs.path().display();
    let line = JOB.replace("_log=", &format!("_log={dir}/"));
    let args = [&words(&line)[..], &[&output]].concat();
    sys::process::first_line(Path::new(FIO), &args, 20_000).ok();
    let (ours, theirs) = (logs(ours.path()), logs(theirs.path()));
    let of = |logs: &BTreeMap<String, Vec<Vec<u64>>>| -> Vec<(String, usize, u64)> {
        let form = |(name, rows): (&String, &Vec<Vec<u64>>)| {
            let width = rows.first().map_or(0, Vec::len);
            (
                name.clone(),
                width,
                rows.iter().map(|row| row[2]).max().unwrap_or(0),
            )
        };
        logs.iter().map(form).collect()
    };
    let without_slat = |mut forms: Vec<(String, usize, u64)>| {
        // fio's null engine has no submission of its own.
        forms.retain(|(name, ..)| !name.contains("slat"));
        forms
    };
    assert_eq!(without_slat(of(&ours)), without_slat(of(&theirs)));
}
