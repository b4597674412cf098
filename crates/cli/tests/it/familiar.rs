//! Everybody's block as a user runs it: what is quoted, made their way, beside ours, in every format.

use crate::bed::Bed;

/// Tests of one program after the other, on a small file in a directory on a disk.
fn run(bed: &Bed, dir: &str, more: &[&str]) -> crate::bed::Done {
    let common = [
        "run",
        "familiar.yabs-64k@2",
        "storage.mixed-64k@2",
        "familiar.dd",
        "storage.write-1m",
        "storage.read-1m-qd1",
        "familiar.etcd",
        "familiar.sysbench-cpu",
        "cpu.prime",
        "--passes",
        "1",
        "--dir",
        dir,
        "--set",
        "familiar.yabs-64k.size=64M",
        "--set",
        "storage.*.size=64M",
        "--set",
        "familiar.dd.size=8M",
        "--set",
        "familiar.etcd.size=3M",
        "--set",
        "familiar.sysbench-cpu.time=200ms",
    ];
    bed.run(&[&common[..], more].concat())
}

#[test]
fn what_is_quoted_stands_beside_ours_with_the_reason_why_they_differ() {
    let bed = Bed::new();
    // In memory there is nothing past the page cache.
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let done = run(&bed, dir.path().to_str().unwrap(), &[]);
    if done.out.contains("libaio does not work here") {
        eprintln!("skipped: {}", done.out);
        return;
    }
    done.code(0).out_has(&[
        "what everybody quotes (measured their way by kurabe",
        "YABS 64k read ",
        "YABS 64k total ",
        "over in ",
        "bursts included",
        "one shot, no interval",
        "bench.sh dd ",
        "zeros through the",
        "CDM SEQ1M Q8T1 write ",
        "CDM SEQ1M Q1T1 read ",
        "etcd fdatasync p99",
        "sysbench cpu ",
        " events/s",
    ]);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    let export = bed.run(&["export", bed.listed()[0]["id"].as_str().unwrap()]);
    let export: serde_json::Value = serde_json::from_str(&export.code(0).out).unwrap();
    for round in export["run"]["rounds"].as_array().unwrap() {
        for copy in round["outcome"]["done"]["copies"]
            .as_array()
            .into_iter()
            .flatten()
        {
            // Between two shots a file is made.
            let may = round["case"] == "familiar.dd@1";
            assert!(may || copy["allocations"] == 0, "{}", round["case"]);
        }
    }
    for (format, words) in [
        ("markdown", "| YABS 64k total |"),
        ("json", "familiar.yabs-64k@2"),
        ("csv", "familiar.dd@1"),
    ] {
        bed.run(&["show", "--format", format])
            .code(0)
            .out_has(&[words]);
    }
    bed.run(&["show", "--lang", "ja"])
        .code(0)
        .out_has(&["よく引用される値", "一発"]);
    let report = bed.path().join("report.html");
    let listed = bed.listed();
    let id = listed[0]["id"].as_str().unwrap();
    bed.run(&["report", id, "-o", report.to_str().unwrap()])
        .code(0);
    let page = std::fs::read_to_string(&report).unwrap();
    assert!(page.contains("YABS 64k total") && page.contains("よく引用される値"));
    // Its JSON is read back, and the figures are those of the test that made them.
    let json = bed.run(&["show", "--format", "yabs"]).code(0).out;
    let shown: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(shown["fio"][0]["size"], "64M");
    let file = bed.path().join("yabs.json");
    std::fs::write(&file, &json).unwrap();
    bed.run(&["import", file.to_str().unwrap()]).code(0);
    let all = bed.listed();
    let ids = all.iter().filter_map(|run| run["id"].as_str());
    let imported = ids.filter(|other| *other != id).collect::<Vec<_>>();
    bed.run(&["show", imported[0]])
        .code(0)
        .out_has(&["familiar.yabs-64k@2"]);
    bed.run(&["show", imported[0], "--format", "yabs"])
        .code(2)
        .err_has(&["it was imported"]);
}

#[test]
fn the_profile_fits_five_minutes() {
    let bed = Bed::new();
    bed.run(&["run", "familiar", "--dry-run"])
        .code(0)
        .out_has(&["familiar.yabs-4k@2", "familiar.dd@1", "about 5 min 0 s"]);
}

#[test]
fn the_json_of_yabs_is_refused_where_none_of_its_runs_is_asked_for() {
    let bed = Bed::new();
    bed.run(&["run", "selftest.replay", "--passes", "1"])
        .code(0);
    for args in [
        &["show", "--format", "yabs"][..],
        &[
            "run",
            "selftest.replay",
            "--passes",
            "1",
            "--format",
            "yabs",
        ],
    ] {
        let refused = bed.run(args).code(2);
        assert_eq!(refused.out, "");
        refused.err_has(&["none of YABS' runs of fio", "hint: "]);
    }
    assert_eq!(bed.listed().len(), 1);
}
