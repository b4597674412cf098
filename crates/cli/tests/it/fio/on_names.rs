//! fio's engines that make, ask for and remove files and directories.

use super::{fio, json, total};
use crate::bed::Bed;

#[test]
fn each_name_has_one_operation_of_each_engine_and_none_is_left() {
    let bed = Bed::new();
    for engine in [
        "filecreate",
        "filestat",
        "filedelete",
        "dircreate",
        "dirstat",
        "dirdelete",
    ] {
        let option = format!("--ioengine={engine}");
        let args = [
            "--name=t",
            &option,
            "--nrfiles=200",
            "--filesize=4k",
            "--numjobs=2",
        ];
        let report = json(&bed, &args);
        for job in report["jobs"].as_array().unwrap() {
            let found = (
                total(job, "read"),
                job["read"]["io_bytes"].as_u64().unwrap(),
            );
            assert_eq!(found, (200, 200 * 4096), "{engine}");
            assert_eq!(job["read"]["clat_ns"]["N"], 200, "{engine}");
            assert_eq!(job["error"], 0, "{engine}");
        }
    }
    assert_eq!(bed.left_behind(), [""; 0]);
}

#[test]
fn names_come_again_where_time_ends_the_job_and_what_is_gone_is_an_error_as_in_fio() {
    let bed = Bed::new();
    let again = [
        "--name=t",
        "--ioengine=filestat",
        "--nrfiles=10",
        "--loops=3",
        "--rw=randread",
    ];
    assert_eq!(total(&json(&bed, &again)["jobs"][0], "read"), 30);
    let timed = [
        "--name=t",
        "--ioengine=filecreate",
        "--nrfiles=10",
        "--time_based",
        "--runtime=300ms",
    ];
    assert!(total(&json(&bed, &timed)["jobs"][0], "read") > 10);
    let twice = [
        "--name=t",
        "--ioengine=filedelete",
        "--nrfiles=10",
        "--loops=2",
    ];
    let done = fio(&bed, &[&twice[..], &["--output-format=json"]].concat()).code(4);
    let report: serde_json::Value = serde_json::from_str(&done.out).unwrap();
    let job = &report["jobs"][0];
    assert_eq!((total(job, "read"), job["error"].as_i64()), (10, Some(2)));
    assert!(done.err.contains("unlink files in `"), "{}", done.err);
}

#[test]
fn names_of_all_jobs_lie_in_one_directory() {
    let bed = Bed::new();
    for dir in ["a", "b"] {
        std::fs::create_dir(bed.path().join(dir)).unwrap();
    }
    let job = |dir: &str| {
        [
            format!("--name={dir}"),
            format!("--directory={dir}"),
            "--ioengine=filecreate".to_owned(),
            "--nrfiles=5".to_owned(),
        ]
    };
    let both = [job("a"), job("b")].concat();
    let both: Vec<&str> = both.iter().map(String::as_str).collect();
    fio(&bed, &both).code(2).err_has(&[
        "job `b`: its names are to be in `b`",
        "one run for each `directory`",
    ]);
    let one = job("a");
    let one: Vec<&str> = one.iter().map(String::as_str).collect();
    let done = fio(&bed, &one).code(0);
    assert!(
        done.out.contains("issued rwts: total=5,0,0,0"),
        "{}",
        done.out
    );
    assert_eq!(std::fs::read_dir(bed.path().join("a")).unwrap().count(), 0);
}
