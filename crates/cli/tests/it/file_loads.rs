//! dbench's and sysbench's loads on files as a user runs them: own trace and load file, formats there and back, and
//! what is wrong with a load file.

use crate::bed::{Bed, Done, eventually, processes_in, signal};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A small load file in the form of dbench 4.
const LOAD: &str = r#"Deltree "\clients\client1" NT_STATUS_OK
NTCreateX "\clients" 0x1 0x2 9 NT_STATUS_OK
Close 9 NT_STATUS_OK
NTCreateX "\clients\client1" 0x1 0x2 9 NT_STATUS_OK
Close 9 NT_STATUS_OK
NTCreateX "\clients\client1\A.TXT" 0x40 0x2 1 NT_STATUS_OK
WriteX 1 0 65536 65536 NT_STATUS_OK
ReadX 1 4096 4096 4096 NT_STATUS_OK
ReadX 1 65000 4096 536 NT_STATUS_OK
Close 1 NT_STATUS_OK
QUERY_PATH_INFORMATION "\clients\client1\B.TXT" 1004 NT_STATUS_OBJECT_NAME_NOT_FOUND
FIND_FIRST "\clients\client1\*" 260 1366 3 NT_STATUS_OK
"#;

fn load_file(bed: &Bed, text: &str) -> String {
    let path = bed.path().join("client.txt");
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

const DBENCH: [&str; 5] = ["run", "fs.dbench", "--passes", "1", "--set"];

fn dbench(bed: &Bed, more: &[&str]) -> Done {
    bed.run(&[&DBENCH[..], &["fs.dbench.time=1s"], more].concat())
}

fn exported(bed: &Bed) -> Value {
    let text = bed.run(&["export", "latest"]).code(0).out;
    serde_json::from_str::<Value>(&text).unwrap()["run"].take()
}

/// The values of the rounds, each of one copy or several.
fn done(run: &Value) -> Vec<&Value> {
    let rounds = run["rounds"].as_array().unwrap();
    rounds
        .iter()
        .map(|round| &round["outcome"]["done"])
        .collect()
}

/// A value of a kept run's first round of a case, as CSV tells it.
fn value(bed: &Bed, run: &str, case: &str, quantity: &str) -> f64 {
    let csv = bed
        .run(&["show", run, "--format", "csv-rounds"])
        .code(0)
        .out;
    let mut rows = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = rows.next().unwrap();
    let place = |name: &str| head.iter().position(|word| *word == name).unwrap();
    let (of_case, of_quantity) = (place("case"), place("quantity"));
    let row = rows.find(|row| (row[of_case], row[of_quantity]) == (case, quantity));
    let row = row.unwrap_or_else(|| panic!("{case} {quantity}: {csv}"));
    row[place("value")].parse().unwrap()
}

#[test]
fn our_own_trace_runs_and_its_lines_are_read_back_to_the_same_figures() {
    let bed = Bed::new();
    dbench(&bed, &["--copies", "1,2", "--label", "own"]).code(0);
    let run = exported(&bed);
    for done in done(&run) {
        assert!(done["values"]["bytes_per_s"].as_f64().unwrap() > 0.0);
        assert!(done["values"]["flush_ns_mean"].as_f64().unwrap() > 0.0);
        for copy in done["copies"].as_array().unwrap() {
            assert_eq!(copy["allocations"], 0);
        }
    }
    let lines = bed.run(&["show", "own", "--format", "dbench"]).code(0).out;
    assert_eq!(lines.matches("\nThroughput ").count(), 2, "{lines}");
    for words in [
        " NTCreateX ",
        " Flush ",
        " MB/sec  2 clients  2 procs  max_latency=",
    ] {
        assert!(lines.contains(words), "{words}: {lines}");
    }
    let file = bed.path().join("lines");
    std::fs::write(&file, &lines).unwrap();
    bed.run(&["import", file.to_str().unwrap()]).code(0);
    let listed = bed.listed();
    let imported = listed.iter().find(|run| run["label"] != "own").unwrap();
    let imported = imported["id"].as_str().unwrap().to_owned();
    let close = |theirs: [&str; 2], ours: [&str; 2], rounding: f64| {
        let theirs = value(&bed, &imported, theirs[0], theirs[1]);
        let ours = value(&bed, "own", ours[0], ours[1]);
        assert!((theirs - ours).abs() <= rounding, "{theirs} {ours}");
    };
    for copies in [1, 2] {
        let ours = format!("fs.dbench@{copies}");
        let total = format!("dbench.throughput@{copies}");
        let flush = format!("dbench.flush@{copies}");
        let rate = value(&bed, "own", &ours, "bytes_per_s");
        close([&total, "bytes_per_s"], [&ours, "bytes_per_s"], rate * 1e-5);
        // Printed in thousandths of a millisecond, and kept in buckets of 0.8 %.
        close([&total, "lat_ns_max"], [&ours, "lat_ns_max"], 1e3);
        close([&flush, "lat_ns_mean"], [&ours, "flush_ns_mean"], 1e3);
    }
    bed.run(&["show", &imported, "--format", "dbench"])
        .code(2)
        .err_has(&["it was imported"]);
    std::fs::remove_file(file).unwrap();
    assert_eq!(bed.left_behind(), [""; 0]);
}

#[test]
fn a_load_file_is_done_and_runs_of_the_same_one_compare() {
    let bed = Bed::new();
    let file = load_file(&bed, LOAD);
    let run = |label: &str, file: &str| {
        dbench(&bed, &["--loadfile", file, "--label", label]).code(0);
    };
    run("one", &file);
    let kept = exported(&bed);
    let digest = kept["plan"]["cases"][0]["params"]["load"]["text"].clone();
    assert_eq!(digest.as_str().map(str::len), Some(16), "{digest}");
    assert_eq!(kept["plan"]["named"][0]["path"], file.as_str());
    assert_eq!(
        done(&kept)[0]["notes"],
        Value::Null,
        "every result is as expected"
    );
    bed.run(&["show", "one", "--format", "dbench"])
        .code(0)
        .out_has(&["with load '", " Deltree ", " WriteX "]);
    // The same file elsewhere is the same load; another one is another test.
    let other = bed.path().join("copy.txt");
    std::fs::write(&other, LOAD).unwrap();
    run("two", other.to_str().unwrap());
    std::fs::write(&other, format!("{LOAD}# more\n")).unwrap();
    run("three", other.to_str().unwrap());
    // One round is no interval, and a ratio all the same.
    let compared = |with: &str| bed.run(&["compare", "one", with]).code(4);
    let same = compared("two").out_has(&["too few rounds"]);
    assert!(!same.out.contains("parameters differ"), "{}", same.out);
    compared("three").out_has(&["parameters differ: load "]);
}

#[test]
fn what_is_wrong_with_a_load_file_is_said_before_anything_is_measured() {
    let bed = Bed::new();
    let check = |text: &str, more: &[&str], expected: &[&str]| {
        let file = load_file(&bed, text);
        let args = [&["run", "--loadfile", &file][..], more].concat();
        bed.run(&args).code(2).err_has(expected);
        assert!(bed.listed().is_empty());
    };
    check(
        "Deltree \"\\a\" NT_STATUS_OK\nFlush 7 NT_STATUS_OK\n",
        &["dbench"],
        &[
            "client.txt`: line 2: `7`: expected a handle that a line before has opened",
            "hint: name a load file of dbench 4",
        ],
    );
    check(
        "Unlink \"\\..\\x\" 0x6 NT_STATUS_OK\n",
        &["dbench"],
        &["line 1: `\\..\\x`: expected a path below the client's directory"],
    );
    check(
        LOAD,
        &["os.pipe"],
        &[
            "no test of this run does load files",
            "hint: `kurabe run dbench`",
        ],
    );
    check(
        LOAD,
        &["fs.dbench", "storage.randread-4k"],
        &["`storage.randread-4k` would take it for its test file"],
    );
    check(LOAD, &["dbench", "--file", "x"], &["--file"]);
    bed.run(&["run", "dbench", "--loadfile", "/none"])
        .code(2)
        .err_has(&["read load file `/none`: No such file"]);
    bed.run(&["run", "dbench", "--set", "fs.dbench.load=x"])
        .code(2)
        .err_has(&["what `--loadfile FILE` sets it to"]);
    bed.run(&["run", "dbench", "--file", "/etc/passwd"])
        .code(2)
        .err_has(&["no test of this run works on a file"]);
}

#[test]
fn a_load_that_asks_for_what_the_machine_does_otherwise_says_so() {
    let bed = Bed::new();
    let text = LOAD.replace("ReadX 1 65000 4096 536", "ReadX 1 65000 4096 500");
    let file = load_file(&bed, &text);
    dbench(&bed, &["--loadfile", &file]).code(0);
    let note = done(&exported(&bed))[0]["notes"][0]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(note.ends_with("the first of them in line 9"), "{note}");
    // A failure where success is expected ends the rounds.
    let text = LOAD.replace("Deltree", "Unlink \"\\none\" 0x6 NT_STATUS_OK\nDeltree");
    let file = load_file(&bed, &text);
    dbench(&bed, &["--loadfile", &file]).code(4);
    let csv = bed.run(&["show", "--format", "csv-rounds"]).out;
    assert!(
        csv.contains("unlink of line 1 on `none`: No such file or directory"),
        "{csv}"
    );
}

const FILEIO: [&str; 9] = [
    "run",
    "--passes",
    "1",
    "--set",
    "fs.fileio-*.time=1s",
    "--set",
    "fs.fileio-*.files=4",
    "--set",
    "fs.fileio-*.size=8M",
];

#[test]
fn sysbench_s_six_tests_run_on_files_that_are_made_once() {
    let bed = Bed::new();
    bed.run(&[&FILEIO[..], &["fs.fileio-*", "--copies", "2"]].concat())
        .code(0);
    let run = exported(&bed);
    let rounds = run["rounds"].as_array().unwrap();
    assert_eq!(rounds.len(), 6);
    let errands = rounds
        .iter()
        .filter_map(|round| round["errands"].as_array());
    assert_eq!(errands.flatten().count(), 1);
    for round in rounds {
        let (case, done) = (&round["case"], &round["outcome"]["done"]);
        let value = |quantity: &str| done["values"][quantity].as_f64();
        assert!(value("ops_per_s").unwrap() > 0.0 && value("lat_ns_p95").unwrap() > 0.0);
        assert_eq!(value("size_bytes"), Some(8_388_608.0), "{case}");
        let reads = ["seqrd", "rndrd", "rndrw"]
            .iter()
            .any(|mode| case.to_string().contains(mode));
        let writes = !case.to_string().contains("rd@");
        assert_eq!(value("read_iops").is_some(), reads, "{case}");
        assert_eq!(value("write_iops").is_some(), writes, "{case}");
        assert_eq!(value("fsyncs_per_s").is_some(), writes, "{case}");
        assert_eq!(done["copies"][0]["allocations"], 0, "{case}");
    }
    assert_eq!(bed.left_behind(), [""; 0]);
}

#[test]
fn a_fileio_output_compares_where_its_command_line_says_how_it_was_measured() {
    let bed = Bed::new();
    let text = include_str!("../../../../fuzz/corpus/sysbench_output/1.0-fileio");
    let text = text.split("sysbench 1.1.0").next().unwrap();
    let text = text
        .replace("128 files, 16MiB each", "4 files, 2MiB each")
        .replace("directio", "(none)");
    let command = "$ sysbench fileio --file-num=4 --file-total-size=8M --file-test-mode=rndrw --threads=4 \
                   --time=1 run\n";
    let file = bed.path().join("theirs.txt");
    std::fs::write(&file, format!("{command}{text}")).unwrap();
    bed.run(&["import", file.to_str().unwrap(), "--label", "theirs"])
        .code(0);
    bed.run(
        &[
            &FILEIO[..],
            &["fs.fileio-rndrw", "--copies", "4", "--label", "ours"],
        ]
        .concat(),
    )
    .code(0);
    bed.run(&["compare", "theirs", "ours", "--format", "json"])
        .out_has(&[
            "fs.fileio-rndrw@4:read_iops",
            "fs.fileio-rndrw@4:lat_ns_mean",
        ]);
    // Without its command line nobody knows what was synced in the end.
    std::fs::write(&file, text).unwrap();
    bed.run(&["import", file.to_str().unwrap(), "--label", "unknown"])
        .code(0);
    let csv = bed.run(&["show", "unknown", "--format", "csv"]).code(0).out;
    assert!(!csv.contains("fs.fileio"), "{csv}");
}

/// Directories of files in the work directories of a bed.
fn made(bed: &Bed) -> usize {
    let dirs = std::fs::read_dir(bed.path()).unwrap().flatten();
    let files = dirs.filter_map(|dir| std::fs::read_dir(dir.path().join("run")).ok());
    files.flatten().flatten().count()
}

#[test]
fn a_run_that_is_killed_leaves_what_clean_finds() {
    for (test, set, begun) in [
        // While the files are made, and while rounds go on.
        ("fs.fileio-rndrw", "fs.fileio-rndrw.size=400M", true),
        ("fs.fileio-rndrw", "fs.fileio-rndrw.size=8M", false),
        ("fs.dbench", "fs.dbench.time=2s", false),
    ] {
        let bed = Bed::new();
        let mut child = bed.start(&[
            "run", test, "--passes", "40", "--label", "long", "--set", set,
        ]);
        if begun {
            eventually(60, || made(&bed) > 0);
        } else {
            eventually(60, || crate::faults::rounds_kept(&bed) > 0);
        }
        signal(&child, "-KILL");
        child.wait().unwrap();
        eventually(5, || processes_in(bed.path()).is_empty());
        assert_eq!(bed.left_behind().len(), 1, "{test}");
        bed.run(&["clean"]).code(0);
        assert_eq!(bed.left_behind(), [""; 0], "{test}");
    }
}

mod root {
    use super::*;
    use crate::root::sh;

    /// A file system in a file, as small as it is said.
    struct Image {
        mount: PathBuf,
    }

    impl Image {
        fn new(bed: &Bed, mib: u32) -> Self {
            let (image, mount) = (bed.path().join("image"), bed.path().join("mount"));
            let (image, at) = (image.display(), mount.display());
            sh(&format!(
                "truncate -s {mib}M {image}; mkfs.ext4 -q -m 0 {image}; mkdir {at}; mount -o loop {image} {at}; \
                 rmdir {at}/lost+found"
            ));
            Self { mount }
        }

        fn path(&self) -> &Path {
            &self.mount
        }
    }

    impl Drop for Image {
        fn drop(&mut self) {
            sh(&format!("umount {}", self.mount.display()));
        }
    }

    fn rounds(bed: &Bed) -> String {
        bed.run(&["show", "f", "--format", "csv-rounds"]).out
    }

    /// What fills the rest of a file system, again and again while somebody makes room.
    fn fill(image: &Image) {
        let to = image.path().join("fill");
        sh(&format!(
            "dd if=/dev/zero of={} bs=64k oflag=append conv=notrunc 2>/dev/null || true",
            to.display()
        ));
    }

    #[test]
    #[ignore = "root: mounts a file system"]
    fn a_disk_that_fills_up_fails_rounds_with_the_file_that_was_written() {
        for test in ["fs.dbench", "fs.fileio-seqwr"] {
            let bed = Bed::new();
            let image = Image::new(&bed, 200);
            let dir = image.path().to_str().unwrap();
            let mut args = vec!["run", test, "--passes", "30", "--label", "f", "--dir", dir];
            args.extend(["--set", "fs.*.time=1s"]);
            if test != "fs.dbench" {
                args.extend(["--set", "fs.*.files=2", "--set", "fs.*.size=60M"]);
            }
            let mut child = bed.start(&args);
            eventually(60, || rounds(&bed).lines().count() > 1);
            // Until it ends: what a round that failed gives back would be room for the next one.
            eventually(90, || {
                fill(&image);
                child.try_wait().unwrap().is_some()
            });
            let rounds = rounds(&bed);
            assert!(
                rounds.contains("No space left on device") || rounds.contains("there is room for"),
                "{rounds}"
            );
            let done: Done = child.wait_with_output().unwrap().into();
            // What was measured before is kept.
            done.code(4);
            std::fs::remove_file(image.path().join("fill")).unwrap();
            assert_eq!(
                std::fs::read_dir(image.path()).unwrap().count(),
                0,
                "{test}"
            );
        }
    }

    #[test]
    #[ignore = "root: mounts a file system"]
    fn files_that_do_not_fit_are_smaller_and_told_and_none_fit_is_said() {
        let bed = Bed::new();
        let image = Image::new(&bed, 100);
        let dir = image.path().to_str().unwrap();
        let common = [
            "run",
            "fs.fileio-rndrd",
            "--passes",
            "1",
            "--dir",
            dir,
            "--set",
            "fs.*.time=1s",
        ];
        bed.run(&common).code(0);
        let run = exported(&bed);
        let done = &run["rounds"][0]["outcome"]["done"];
        let size = done["values"]["size_bytes"].as_f64().unwrap();
        assert!((10e6..50e6).contains(&size), "{size}");
        let note = done["notes"][0].as_str().unwrap();
        assert!(
            note.contains("in place of 2048 MiB: there is no room for more"),
            "{note}"
        );
        bed.run(&["show", "--full"])
            .code(0)
            .out_has(&["there is no room for more"]);
        bed.run(
            &[
                &common[..],
                &[
                    "--full",
                    "--set",
                    "fs.*.files=1000",
                    "--set",
                    "fs.*.block=1M",
                ],
            ]
            .concat(),
        )
        .code(4)
        .out_says(&["make 1000 files of a block of 1048576 bytes at least: there is room for"]);
        bed.run(&["run", "fs.dbench@16", "--passes", "1", "--dir", dir])
            .code(2)
            .err_has(&["MiB are free, the tests may need 512"]);
    }

    #[test]
    #[ignore = "root: mounts a file system"]
    fn a_directory_in_memory_works_and_one_that_nobody_may_write_to_is_refused() {
        let bed = Bed::new();
        let image = Image::new(&bed, 100);
        let dir = image.path().to_str().unwrap().to_owned();
        sh(&format!("mount -o remount,ro {dir}"));
        for test in ["fs.dbench", "fs.fileio-seqwr"] {
            bed.run(&["run", test, "--dir", &dir])
                .code(2)
                .err_has(&["EROFS"]);
        }
        let memory = bed.path().join("memory");
        let at = memory.to_str().unwrap();
        sh(&format!(
            "mkdir {at}; mount -t tmpfs -o size=200m none {at}"
        ));
        let fileio = [
            &FILEIO[..],
            &["fs.fileio-rndrw", "fs.fileio-seqwr", "--dir", at],
        ]
        .concat();
        let outcome = std::panic::catch_unwind(|| {
            bed.run(&fileio).code(0);
            dbench(&bed, &["--dir", at]).code(0);
        });
        sh(&format!("umount {at}"));
        outcome.unwrap();
    }
}
