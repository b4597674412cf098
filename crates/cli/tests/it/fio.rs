//! `kurabe fio`: fio's job files and command lines, run as a user runs them.

mod beside;
mod ending;
mod examples;
mod exec;
mod failing;
mod files;
mod flows;
mod joined;
mod logs;
mod names;
mod on_names;
mod options;
mod queues;
mod reports;
mod retraced;
mod status;
mod verified;
mod words;

use crate::bed::{Bed, Done};
use serde_json::Value;
use std::collections::BTreeSet;
use tempfile::TempDir;

/// A small job that needs nothing but a little disk.
const SMALL: [&str; 3] = ["--name=t", "--size=1m", "--bs=4k"];

/// With all that there is to say.
fn fio(bed: &Bed, args: &[&str]) -> Done {
    bed.run(&[&["fio", "--verbose"], args].concat())
}

/// A directory in memory, where that can carry our marks: a nearly full disk has no room for files.
fn work_dir() -> TempDir {
    let carries_marks = |dir: &TempDir| {
        let made = std::fs::File::create(dir.path().join("mark")).unwrap();
        let marked = sys::owned::mark(&made, "test").is_ok();
        std::fs::remove_file(dir.path().join("mark")).unwrap();
        marked
    };
    let in_memory = tempfile::tempdir_in("/dev/shm").ok().filter(carries_marks);
    in_memory.unwrap_or_else(|| tempfile::tempdir().unwrap())
}

/// The document that a command line prints. Its files lie in memory: a nearly full disk has no room for them.
fn json(bed: &Bed, args: &[&str]) -> Value {
    let dir = work_dir();
    let directory = format!("--directory={}", dir.path().display());
    let more = [&directory, "--output-format=json"];
    let done = fio(bed, &[&more, args].concat()).code(0);
    serde_json::from_str(&done.out).unwrap_or_else(|error| panic!("{error}: {}", done.out))
}

fn total(job: &Value, direction: &str) -> u64 {
    job[direction]["total_ios"].as_u64().unwrap()
}

#[test]
fn every_engine_does_the_job_once_and_tells_it() {
    let uring = sys::probe::io_uring(&sys::tree::Tree::real()).is_ok();
    for engine in [
        "psync", "pvsync2", "sync", "mmap", "null", "libaio", "io_uring",
    ] {
        if engine == "io_uring" && !uring {
            eprintln!("skipped: io_uring does not work here");
            continue;
        }
        let bed = Bed::new();
        let option = format!("--ioengine={engine}");
        let report = json(
            &bed,
            &[&SMALL[..], &["--rw=randread", "--iodepth=4", &option]].concat(),
        );
        let job = &report["jobs"][0];
        assert_eq!(
            (&job["jobname"], &job["error"]),
            (&"t".into(), &0.into()),
            "{engine}"
        );
        let read = &job["read"];
        assert_eq!(total(job, "read"), 256, "{engine}");
        assert_eq!(read["io_bytes"], 1 << 20, "{engine}");
        assert_eq!(read["clat_ns"]["N"], 256, "{engine}");
        assert_eq!(read["clat_ns"]["percentile"].as_object().unwrap().len(), 17);
        assert!(read["iops"].as_f64().unwrap() > 0.0);
        assert_eq!(total(job, "write"), 0);
    }
}

#[test]
fn writes_syncs_and_mixes_are_told_by_direction() {
    let bed = Bed::new();
    let mixed = json(
        &bed,
        &[&SMALL[..], &["-rw=randrw", "--rwmixread=70", "--fsync=8"]].concat(),
    );
    let job = &mixed["jobs"][0];
    let (reads, writes) = (total(job, "read"), total(job, "write"));
    assert_eq!(reads + writes, 256);
    assert!(reads > writes && writes > 0);
    let syncs = job["sync"]["total_ios"].as_u64().unwrap();
    assert!(
        syncs >= writes / 8 - 1 && syncs <= writes / 8 + 1,
        "{syncs} {writes}"
    );
    let unified = ["-rw=randrw", "--unified_rw_reporting=mixed"];
    let unified = json(&bed, &[&SMALL[..], &unified].concat());
    assert_eq!(total(&unified["jobs"][0], "mixed"), 256);
    assert!(unified["jobs"][0].get("read").is_none());
}

#[test]
fn sections_behind_a_stonewall_run_one_after_the_other() {
    let bed = Bed::new();
    let file = "[global]\nbs=4k\nsize=1m\nioengine=null\n\n[first]\nrw=write\n\n[second]\nstonewall\nrw=randread\n\
                numjobs=2\nnumber_ios=10\n";
    std::fs::write(bed.path().join("job.fio"), file).unwrap();
    let report = json(&bed, &["job.fio"]);
    let jobs = report["jobs"].as_array().unwrap();
    let told: Vec<(&str, u64, u64)> = jobs
        .iter()
        .map(|job| {
            let name = job["jobname"].as_str().unwrap();
            let group = job["groupid"].as_u64().unwrap();
            (name, group, total(job, "read") + total(job, "write"))
        })
        .collect();
    assert_eq!(
        told,
        [("first", 0, 256), ("second", 1, 10), ("second", 1, 10)]
    );
    assert_eq!(report["global options"]["size"], "1m");
    assert_eq!(jobs[1]["job options"]["number_ios"], "10");
    // The run is kept, its cases in the order of the file.
    let kept = bed.run(&["export", "latest"]).code(0).out;
    let kept: Value = serde_json::from_str(&kept).unwrap();
    let cases: Vec<&str> = kept["run"]["rounds"]
        .as_array()
        .unwrap()
        .iter()
        .map(|round| round["case"].as_str().unwrap())
        .collect();
    assert_eq!(cases, ["fio.first@1", "fio.second@2"]);
    bed.run(&["show", "latest"])
        .code(0)
        .out_has(&["fio.first", "fio.second"]);
}

#[test]
fn clones_are_told_apart_or_as_a_group() {
    let bed = Bed::new();
    let clones = [&SMALL[..], &["--ioengine=null", "--numjobs=3"]].concat();
    let apart = json(&bed, &clones);
    assert_eq!(apart["jobs"].as_array().unwrap().len(), 3);
    let together = json(&bed, &[&clones[..], &["--group_reporting"]].concat());
    let jobs = together["jobs"].as_array().unwrap();
    assert_eq!((jobs.len(), total(&jobs[0], "read")), (1, 768));
}

#[test]
fn a_job_that_is_based_on_time_goes_on_until_it_is_over() {
    let bed = Bed::new();
    let timed = [
        "--ioengine=null",
        "--time_based",
        "--runtime=1",
        "--ramp_time=200ms",
    ];
    let report = json(&bed, &[&SMALL[..], &timed].concat());
    let job = &report["jobs"][0];
    assert!(job["job_runtime"].as_u64().unwrap() >= 900);
    assert!(total(job, "read") > 256);
    assert!(job["read"]["iops_samples"].as_u64().unwrap() >= 1);
    // Without it the runtime is a limit, and the region is done before.
    let once = json(
        &bed,
        &[&SMALL[..], &["--ioengine=null", "--runtime=60"]].concat(),
    );
    assert_eq!(total(&once["jobs"][0], "read"), 256);
}

#[test]
fn a_job_with_exitall_takes_the_others_along() {
    let bed = Bed::new();
    let line = [
        "--ioengine=null",
        "--size=1m",
        "--name=endless",
        "--time_based",
        "--runtime=60",
        "--name=short",
        "--exitall",
    ];
    let report = json(&bed, &line);
    let endless = &report["jobs"][0];
    assert_eq!(endless["jobname"], "endless");
    assert!(endless["job_runtime"].as_u64().unwrap() < 60_000);
    assert_eq!(total(&report["jobs"][1], "read"), 256);
}

/// All keys of a document with their paths; those below `job options` and the like are the user's own.
fn keys(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    let Value::Object(map) = value else {
        if let Value::Array(list) = value
            && let Some(first) = list.first()
        {
            keys(first, path, found);
        }
        return;
    };
    let own = |key: &&String| *key != "global options";
    for (key, value) in map.iter().filter(|(key, _)| own(key)) {
        let here = format!("{path}/{key}");
        found.insert(here.clone());
        if !key.ends_with("options") && key != "percentile" {
            keys(value, &here, found);
        }
    }
}

#[test]
fn the_document_has_the_keys_of_fio() {
    let bed = Bed::new();
    let ours = json(&bed, &[&SMALL[..], &["--rw=randrw"]].concat());
    let fios = include_str!("../../../dialects/testdata/fio/plain.json");
    let fios = serde_json::from_str(fios).unwrap();
    let (mut have, mut want) = (BTreeSet::new(), BTreeSet::new());
    keys(&ours, "", &mut have);
    keys(&fios, "", &mut want);
    let missing: Vec<_> = want.difference(&have).collect();
    // A file system without a block device of its own, such as one in memory, has no disk to tell of.
    let only_disks = missing.iter().all(|key| key.starts_with("/disk_util"));
    assert!(
        missing.is_empty() || (only_disks && ours.get("disk_util").is_none()),
        "{missing:?}"
    );
    let invented: Vec<_> = have.difference(&want).collect();
    assert!(
        invented
            .iter()
            .all(|key| key.starts_with("/disk_util") || key.starts_with("/kurabe")),
        "{invented:?}"
    );
}

#[test]
fn every_form_of_output_is_there() {
    let bed = Bed::new();
    let null = [&SMALL[..], &["--ioengine=null"]].concat();
    let text = fio(&bed, &null).code(0);
    text.out_has(&[
        "t: (groupid=0, jobs=1): err= 0: pid=",
        "read: IOPS=",
        "Run status group 0",
    ]);
    let terse = fio(&bed, &[&null[..], &["--minimal"]].concat()).code(0);
    let fields: Vec<&str> = terse.out.trim_end().split(';').collect();
    assert_eq!((fields[0], fields[2]), ("3", "t"));
    assert!(fields.len() >= 121, "{}", fields.len());
    let plus = ["--output-format=json+,normal", "--output=out.txt"];
    let done = fio(&bed, &[&null[..], &plus].concat()).code(0);
    assert_eq!(done.out, "");
    let written = std::fs::read_to_string(bed.path().join("out.txt")).unwrap();
    assert!(written.contains("\"bins\" : {") && written.contains("Run status group 0"));
}

#[test]
fn passes_give_intervals_and_a_label_is_kept() {
    let bed = Bed::new();
    let null = [
        &SMALL[..],
        &["--ioengine=null", "--passes=2", "--label", "two"],
    ]
    .concat();
    fio(&bed, &null)
        .code(0)
        .err_has(&["the report is of pass", "of 2"]);
    let kept = bed.run(&["export", "two"]).code(0).out;
    let kept: Value = serde_json::from_str(&kept).unwrap();
    assert_eq!(kept["run"]["rounds"].as_array().unwrap().len(), 2);
    fio(&bed, &null).code(0);
    let id = kept["run"]["meta"]["id"].as_str().unwrap();
    // Two rounds are too few for an interval.
    let compared = bed.run(&["compare", id, "latest"]).code(4);
    compared.out_has(&["5 unclear"]);
}

#[test]
fn what_is_wrong_is_refused_with_its_place() {
    let bed = Bed::new();
    let check = |args: &[&str], code: i32, words: &[&str]| {
        fio(&bed, args).code(code).err_has(words);
    };
    std::fs::write(bed.path().join("bad.fio"), "[a]\nsize=1m\nrate_cycl=3\n").unwrap();
    check(
        &["bad.fio"],
        2,
        &["`bad.fio` line 3: no option `rate_cycl`", "hint: "],
    );
    std::fs::write(
        bed.path().join("part.fio"),
        "[a]\nsize=1m\nflow_watermark=3\n",
    )
    .unwrap();
    check(
        &["part.fio"],
        2,
        &["`part.fio` line 3: option `flow_watermark` is refused"],
    );
    check(
        &["--name=a"],
        2,
        &[
            "job `a`: `a.0.0` is not there, and no size is given",
            "hint: ",
        ],
    );
    check(&[], 2, &["no job: neither --name nor a job file"]);
    check(&["none.fio"], 2, &["read job file `none.fio`"]);
    check(
        &["--name=a", "--size=1m", "--rw=write", "--readonly"],
        2,
        &["`--readonly` forbids it"],
    );
    check(
        &["--name=a", "--size=1m", "--passes=0"],
        2,
        &["option `--passes` does not take `0`"],
    );
    check(
        &["--name=a", "--size=1m", "--allow_file_create=0"],
        2,
        &["`allow_file_create=0` forbids making it"],
    );
    check(
        &["--name=a", "--size=1m", "--directory=/no/such"],
        2,
        &["`/no/such` is no directory"],
    );
    let mut left = bed.left_behind();
    left.sort();
    assert_eq!(left, ["bad.fio", "part.fio"]);
}

#[test]
fn questions_are_answered_without_measuring() {
    let bed = Bed::new();
    let check = |args: &[&str], words: &[&str]| {
        fio(&bed, args).code(0).out_has(words);
    };
    check(
        &["--help"],
        &["Usage: kurabe fio", "--passes=N", "--output-format"],
    );
    check(&["--version"], &["fio-3.33 (kurabe "]);
    check(&["--cmdhelp=iodepth"], &["iodepth: ", "default  1"]);
    check(&["--cmdhelp"], &["bssplit", "refused"]);
    check(&["--enghelp"], &["io_uring", "libaio"]);
    // As fio lays them out; scripts ask so what an engine can.
    let of_engine = [
        "cmdprio_percentage      : ",
        "\ncmdprio_class           : ",
        "\ncmdprio_bssplit         : ",
    ];
    check(&["--enghelp=libaio"], &of_engine);
    check(&["--enghelp=exec"], &["program                 : "]);
    check(&["--enghelp=aio,cmdprio"], &["cmdprio: ", " meaning  "]);
    check(&["--enghelp=null"], &["IO engine null has no options"]);
    fio(&bed, &["--enghelp=libaio,hipri"])
        .code(2)
        .err_has(&["explain engine `libaio`: it has no option `hipri`"]);
    check(
        &["--showcmd", "--name=a", "--size=1m"],
        &["fio --name=a --size=1m"],
    );
    fio(
        &bed,
        &["--parse-only", "--name=a", "--size=1m", "--fallocate=none"],
    )
    .code(0)
    .err_has(&["note: command line, argument 4: `fallocate` changes nothing here"]);
    assert_eq!(bed.left_behind(), [""; 0]);
    fio(&bed, &["--cmdhelp=iodept"])
        .code(2)
        .err_has(&["hint: nearest: iodepth"]);
}

#[test]
fn files_are_those_of_fio_and_are_used_again() {
    let bed = Bed::new();
    let dir = work_dir();
    let directory = format!("--directory={}", dir.path().display());
    let names = || {
        let mut names: Vec<String> = std::fs::read_dir(dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    let two = [
        "--name=a",
        &directory,
        "--size=64k",
        "--rw=write",
        "--numjobs=2",
        "--offset_increment=64k",
    ];
    fio(&bed, &two).code(0).err_has(&[
        "left behind: `",
        "a.0.0` and 1 more file,",
        "`unlink=1` removes them",
    ]);
    assert_eq!(names(), ["a.0.0", "a.1.0"]);
    assert_eq!(
        std::fs::metadata(dir.path().join("a.1.0")).unwrap().len(),
        128 << 10
    );
    let again = fio(&bed, &[&two[..], &["--unlink=1"]].concat()).code(0);
    assert!(!again.err.contains("left behind"), "{}", again.err);
    assert_eq!(names(), [""; 0]);
    // Several files of one job share its region.
    let several = [
        "--name=n",
        &directory,
        "--nrfiles=4",
        "--size=64k",
        "--unlink=1",
    ];
    fio(&bed, &several)
        .code(0)
        .out_has(&["issued rwts: total=16,0,0,0 "]);
    assert_eq!(names(), [""; 0]);
    // Several jobs on one file make it as long as all of them need.
    let shared = [
        &directory,
        "--filename=f",
        "--size=64k",
        "--name=a",
        "--name=b",
        "--offset=192k",
    ];
    fio(&bed, &shared).code(0);
    assert_eq!(
        std::fs::metadata(dir.path().join("f")).unwrap().len(),
        256 << 10
    );
}

#[test]
fn a_file_of_others_is_read_and_not_written() {
    let bed = Bed::new();
    let dir = work_dir();
    let path = dir.path().join("precious");
    let content = vec![7_u8; 64 << 10];
    std::fs::write(&path, &content).unwrap();
    let file = format!("--filename={}", path.display());
    let job = ["--name=a", &file, "--bs=4k"];
    fio(&bed, &job)
        .code(0)
        .out_has(&["issued rwts: total=16,0,0,0 "]);
    let write = [&job[..], &["--rw=write"]].concat();
    fio(&bed, &write).code(2).err_has(&[
        "kurabe did not make it",
        "--overwrite-file",
        "hint: if everything on it may be lost",
    ]);
    assert_eq!(std::fs::read(&path).unwrap(), content);
    // Not longer than it is, either.
    fio(&bed, &[&job[..], &["--size=1m"]].concat())
        .code(3)
        .err_has(&["what this run may not make anew is not made longer"]);
    let overwrite = format!("--overwrite-file={}", path.display());
    fio(&bed, &[&write[..], &[&overwrite, "--unlink=1"]].concat()).code(0);
    let written = std::fs::read(&path).unwrap();
    assert!(written.len() == content.len() && written != content);
}

#[test]
fn what_was_written_is_read_back_and_judged() {
    let bed = Bed::new();
    let dir = work_dir();
    let directory = format!("--directory={}", dir.path().display());
    let job = [
        "--name=v",
        &directory,
        "--size=256k",
        "--rw=randwrite",
        "--verify=crc32c",
    ];
    fio(&bed, &job).code(0);
    // A flipped bit is found by a later check.
    let path = dir.path().join("v.0.0");
    let mut content = std::fs::read(&path).unwrap();
    content[100_000] ^= 1;
    std::fs::write(&path, &content).unwrap();
    let check = [&job[..], &["--verify_only=1", "--output-format=json"]].concat();
    let done = fio(&bed, &check).code(4);
    assert!(done.err.contains("checksum"), "{}", done.err);
    let report: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(report["jobs"][0]["error"], 84);
}

#[test]
fn a_report_goes_into_a_file_alone_and_over_none_of_a_jobs() {
    let bed = Bed::new();
    let dir = work_dir();
    let path = |name: &str| dir.path().join(name).display().to_string();
    std::fs::write(dir.path().join("data"), vec![7; 8192]).unwrap();
    std::fs::create_dir(dir.path().join("folder")).unwrap();
    for (output, why) in [
        (path("data"), "a job works on it"),
        (path("folder"), "it is no file"),
        (path("none/report"), "there is no such directory"),
        (String::new(), "there is no such directory"),
    ] {
        let file = format!("--filename={}", path("data"));
        let output = format!("--output={output}");
        fio(&bed, &["--name=t", "--rw=read", &file, &output])
            .code(2)
            .err_has(&[why]);
    }
    assert_eq!(std::fs::read(dir.path().join("data")).unwrap(), [7; 8192]);
}
