//! The text of a report: what stands on which stream, and that what people cut their figures out with finds them.

use super::*;

/// What a line of the shell makes of a text.
fn cut(text: &str, shell: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("report");
    std::fs::write(&path, text).unwrap();
    let line = format!("cat {} | {shell}", path.display());
    let args = [std::ffi::OsStr::new("-c"), line.as_ref()];
    #[expect(
        clippy::disallowed_methods,
        reason = "a user's script is what is tried"
    )]
    let mut command = std::process::Command::new("sh");
    let done = command.args(args).output().unwrap();
    assert!(done.status.success(), "{shell}: {text}");
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

#[test]
fn a_good_run_says_nothing_on_standard_error_unless_asked() {
    let bed = Bed::new();
    let dir = work_dir();
    let directory = format!("--directory={}", dir.path().display());
    // Notes, a warning, and a file that stays.
    let job = [
        "fio",
        "--name=t",
        "--size=64k",
        "--rw=write",
        "--iodepth=8",
        "--openfiles=1",
        &directory,
    ];
    for more in [
        &[][..],
        &["--output-format=json"],
        &["--quiet"],
        &["--minimal"],
    ] {
        let done = bed.run(&[&job[..], more].concat()).code(0);
        assert_eq!(done.err, "", "{more:?}");
    }
    bed.run(&[&job[..], &["--verbose"]].concat())
        .code(0)
        .err_has(&[
            "warning: ",
            "iodepth=8 has no effect",
            "note: ",
            "`openfiles` changes nothing",
            "kept as run ",
            "left behind: ",
        ]);
    // It is told all the same, where programs find it.
    let report = json(
        &bed,
        &[
            "--name=t",
            "--size=64k",
            "--rw=write",
            "--iodepth=8",
            "--openfiles=1",
        ],
    );
    let ours = &report["kurabe"];
    let has = |key: &str, words: &str| {
        let all = ours[key].as_array().unwrap();
        assert!(
            all.iter()
                .any(|text| text.as_str().unwrap().contains(words)),
            "{ours}"
        );
    };
    has("warnings", "iodepth=8 has no effect");
    has("notes", "`openfiles` changes nothing");
    has("files", "t.0.0");
    let id = ours["run"].as_str().unwrap();
    let again = fio(&bed, &[&format!("--show={id}"), "--output-format=json"]).code(0);
    let again: Value = serde_json::from_str(&again.out).unwrap();
    // The words that choose a report are none of the kept run's: the places of the others move.
    let note = again["kurabe"]["notes"][0].as_str().unwrap();
    assert!(note.contains("`openfiles` changes nothing"), "{note}");
    // What goes wrong is said.
    let failing = bed.run(&[
        "fio",
        "--name=t",
        "--size=64k",
        "--max_latency=1",
        &directory,
    ]);
    assert!(failing.err.starts_with("error: "), "{}", failing.err);
}

/// The check of a disk for etcd: what stands before the report, its JSON, and its text.
fn etcd() -> (String, Value, String) {
    let bed = Bed::new();
    let dir = work_dir();
    let directory = format!("--directory={}", dir.path().display());
    let job = [
        "--name=t",
        "--rw=write",
        "--ioengine=sync",
        "--fdatasync=1",
        "--size=64k",
        "--bs=2300",
        &directory,
    ];
    let both = [&job[..], &["--output-format=json,normal"]].concat();
    let done = fio(&bed, &both).code(0).out;
    let (head, rest) = done.split_once("{\n").unwrap();
    let (document, text) = rest.split_once("\n}\n").unwrap();
    let report = serde_json::from_str(&format!("{{{document}}}")).unwrap();
    (head.to_owned(), report, text.to_owned())
}

#[test]
fn scripts_find_the_figures_that_the_json_has() {
    let (head, report, text) = etcd();
    let (job, text) = (&report["jobs"][0], text.as_str());
    assert!(
        head.starts_with("t: (g=0): rw=write, bs=(R) 2300B-2300B, (W) 2300B-2300B, "),
        "{head}"
    );
    assert!(head.contains("\nfio-3.33 (kurabe "), "{head}");
    let number = |shell: &str| -> f64 { cut(text, shell).parse().unwrap() };
    let is = |shell: &str, expect: &Value| {
        assert_eq!(
            cut(text, shell),
            expect.to_string().trim_matches('"'),
            "{shell}\n{text}"
        );
    };
    is("grep -oP 'jobs=\\K[0-9]+'", &1.into());
    is("grep -c 'err= 0: pid='", &1.into());
    is(
        "grep 'issued rwts:' | sed 's/.*total=//' | cut -d, -f2",
        &job["write"]["total_ios"],
    );
    is(
        "grep -oP 'issued rwts: total=[0-9]+,[0-9]+,[0-9]+,\\K[0-9]+'",
        &job["sync"]["total_ios"],
    );
    is(
        "grep -oP '^  write:.*/\\K[0-9]+(?=msec)'",
        &job["write"]["runtime"],
    );
    is("awk -F'[=,]' '/^  cpu  / {print $6}'", &job["ctx"]);
    assert_eq!(
        cut(text, "grep -c '^  fsync/fdatasync/sync_file_range:'"),
        "1"
    );
    // The 99th percentile of fdatasync: the last of its kind, in the unit of its head.
    let unit = match cut(text, "grep -oP 'sync percentiles \\(\\K[a-z]+'").as_str() {
        "nsec" => 1,
        "usec" => 1_000,
        _ => 1_000_000,
    };
    let p99 = number("grep -A4 'sync percentiles' | grep -oP '99.00th=\\[\\s*\\K[0-9]+'");
    let exact = job["sync"]["lat_ns"]["percentile"]["99.000000"]
        .as_u64()
        .unwrap();
    assert_eq!(model::num::round_to_u64(p99), exact.div_ceil(unit));
    let iops = job["write"]["iops"].as_f64().unwrap();
    let shown = cut(text, "grep -oP 'IOPS=\\K[0-9.]+k?'").replace('k', "e3");
    assert!(
        (shown.parse::<f64>().unwrap() - iops).abs() <= 1.0 + 0.006 * iops,
        "{shown} {iops}"
    );
    let of_time: f64 = cut(
        text,
        "grep -o 'lat ([mun]sec)   :.*' | grep -oP '=\\K[0-9.]+' | awk '{s += $1} END {print s}'",
    )
    .parse()
    .unwrap();
    assert!((95.0..=105.0).contains(&of_time), "{text}");
}

/// The line with its numbers, units and amounts masked: what is left is the layout.
fn shape(line: &str) -> String {
    let mut shape = String::new();
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        if c.is_ascii_digit() {
            while chars
                .peek()
                .is_some_and(|c| c.is_ascii_digit() || *c == '.')
            {
                chars.next();
            }
            shape.push('9');
        } else if c != ' ' || !shape.ends_with(' ') {
            shape.push(c);
        }
    }
    let units = [
        "KiB", "MiB", "GiB", "kB", "MB", "GB", "9B", "9k", "(nsec)", "(usec)", "(msec)",
    ];
    let masks = [
        "B", "B", "B", "B", "B", "B", "9B", "9", "(unit)", "(unit)", "(unit)",
    ];
    units
        .iter()
        .zip(masks)
        .fold(shape, |line, (unit, mask)| line.replace(unit, mask))
        .replace("[ 9", "[9")
        .replace("= 9", "=9")
}

/// The lines of a report but for those that depend on how long something took.
fn shapes(text: &str) -> Vec<String> {
    let depends = |line: &&str| {
        ["  lat (", "     |", "   bw (", "   iops  "]
            .iter()
            .any(|begin| line.starts_with(begin))
            || line.contains("Laying out")
            || line.starts_with("note: ")
    };
    let lines = text.lines().filter(|line| !depends(line));
    lines
        .map(shape)
        .map(|line| line.replace("fio-9 (kurabe 9)", "fio-9"))
        .collect()
}

mod slow {
    use super::super::beside::{FIO, OURS, missing, run};
    use super::*;
    use crate::bed::at_once;

    const LINES: &[&str] = &[
        "--name=t --rw=read --size=1m",
        "--name=t --rw=write --size=1m --bs=64k",
        "--name=t --rw=randrw --size=1m --rwmixread=70",
        "--name=t --rw=randread --size=1m --ioengine=libaio --iodepth=16 --direct=1",
        "--name=t --rw=write --size=256k --fsync=1",
        "--name=t --rw=write --size=256k --fdatasync=4 --bs=2300",
        "--name=t --rw=read --size=1m --numjobs=3 --group_reporting",
        "--name=t --rw=read --size=1m --numjobs=2 --thread",
        "--name=t --rw=randtrim --size=1m --ioengine=null --iodepth=2",
        "--name=a --rw=read --size=1m --name=b --stonewall --rw=write --size=1m --description=words",
        "--name=t --rw=randrw --size=1m --unified_rw_reporting=mixed",
        "--name=t --rw=randread --size=1m --lat_percentiles=1 --slat_percentiles=1 --ioengine=libaio",
        "--name=t --rw=read --size=1m --gtod_reduce=1",
        "--name=t --rw=read --size=1m --percentile_list=50:99 --continue_on_error=all",
        "--name=t --rw=read --size=100m --rate=8m --ioengine=null --iodepth=2 --runtime=1 --time_based --idle-prof=percpu",
    ];

    #[test]
    #[ignore = "slow: runs every job with fio 3.33 too, which must be installed"]
    fn the_text_has_the_lines_of_fio_s() {
        if let Some(why) = missing() {
            eprintln!("skipped: {why}");
            return;
        }
        at_once(3, LINES, |line| {
            let [ours, theirs] = [&OURS[..], &[FIO]].map(|program| {
                let (_, text, said) = run(program, &[], line, &[]);
                assert_eq!(said, "", "{program:?} {line}");
                text
            });
            let [ours, theirs] = [shapes(&ours), shapes(&theirs)].map(|mut lines| {
                // In memory there is no disk below.
                lines.retain(|line| !line.contains("ios=") && !line.starts_with("Disk stats"));
                lines.join("\n")
            });
            assert_eq!(ours, theirs, "{line}");
        });
    }
}
