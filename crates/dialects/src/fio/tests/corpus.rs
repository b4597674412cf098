//! Job files of other people that cannot be part of this repository: a directory with `expected.json`, named by
//! `KURABE_CORPUS`. What this program refuses on purpose is refused; everything else has the values expected.

use super::*;
use crate::fio::job::*;
use model::job::{Mix, Pattern};
use serde_json::Value;

struct Directory(String);

impl Surroundings for Directory {
    fn read(&self, path: &str) -> Result<String, String> {
        std::fs::read_to_string(format!("{}/{path}", self.0)).map_err(|error| error.to_string())
    }
    fn variable(&self, _: &str) -> Option<String> {
        None
    }
    fn page_bytes(&self) -> u64 {
        4096
    }
    fn cpus(&self) -> u64 {
        2
    }
    fn memory_mib(&self) -> u64 {
        4096
    }
}

/// What is refused, and by which word.
const REFUSED: &[(&str, &str)] = &[
    ("03-", "engine of fio is not here"),
    ("04-", "engine of fio is not here"),
    ("09-", "common-include.fio"),
    ("bw-include", "before the first section"),
];

#[test]
#[ignore = "corpus: KURABE_CORPUS names a directory with expected.json"]
fn every_job_file_of_the_corpus_is_read_or_refused_by_name() {
    let directory = std::env::var("KURABE_CORPUS").expect("KURABE_CORPUS names the directory");
    let text = std::fs::read_to_string(format!("{directory}/expected.json")).unwrap();
    let expected: Value = serde_json::from_str(&text).unwrap();
    let (mut read, mut refused) = (0, 0);
    for (path, entry) in expected.as_object().unwrap() {
        let Some(name) = path.strip_prefix("fiojobs/") else {
            continue;
        };
        let plan = parse_file(path, &Directory(directory.clone()));
        if let Some((_, word)) = REFUSED.iter().find(|(head, _)| name.starts_with(head)) {
            let error = plan.unwrap_err().to_string();
            assert!(error.contains(word), "{path}: {error}");
            refused += 1;
            continue;
        }
        check(
            path,
            &plan.unwrap_or_else(|error| panic!("{path}: {error}")),
            &entry["facts"]["sections"],
        );
        read += 1;
    }
    println!("{read} read, {refused} refused");
    assert!(read >= 10 && refused == REFUSED.len());
}

fn check(path: &str, plan: &Plan, sections: &Value) {
    let jobs: Vec<&Job> = plan.jobs().filter(|job| job.clone == 0).collect();
    let sections = sections.as_array().unwrap();
    assert_eq!(jobs.len(), sections.len(), "{path}");
    for (job, wanted) in jobs.iter().zip(sections) {
        assert_eq!(wanted["jobname"], job.name.as_str(), "{path}");
        let Pattern { mix, random } = job.does.pattern;
        let random = if random { "rand" } else { "" };
        let word = match mix {
            Mix::Read => "read",
            Mix::Write => "write",
            _ => "rw",
        };
        assert_eq!(wanted["rw"], format!("{random}{word}").as_str(), "{path}");
        let blocks = match mix {
            Mix::Write => job.does.blocks.write.as_ref().unwrap(),
            _ => job.does.blocks.read.as_ref().unwrap(),
        };
        match blocks {
            Blocks::Split(parts) => {
                let mut wanted: Vec<(u64, f64)> =
                    serde_json::from_value(wanted["bssplit_resolved"].clone()).unwrap();
                // One of them adds up to 98; as a run of fio shows, the last size takes the rest.
                let sum: f64 = wanted.iter().map(|(_, share)| share).sum();
                wanted.last_mut().unwrap().1 += 100.0 - sum;
                assert_eq!(*parts, wanted, "{path}");
            }
            blocks => assert_eq!(wanted["bs_bytes"], blocks.min_bytes(), "{path}"),
        }
        assert_eq!(wanted["iodepth"], job.does.depth, "{path}");
        assert_eq!(wanted["numjobs"], job.clones, "{path}");
        assert_eq!(wanted["ioengine"], job.engine_word(), "{path}");
        assert_eq!(wanted["direct"], job.does.direct, "{path}");
        assert_eq!(wanted["stonewall"], job.life.is_stonewalled, "{path}");
        assert_eq!(wanted["time_based"], job.does.end.time_based, "{path}");
        assert_eq!(wanted["group_reporting"], job.reporting.by_group, "{path}");
        let size = job.amount.size.map(|size| match size {
            Extent::Bytes(bytes) => bytes,
            Extent::Percent(_) => 0,
        });
        assert_eq!(wanted["size_bytes"].as_u64(), size, "{path}");
        assert_eq!(
            wanted["runtime_s"].as_u64(),
            job.does.end.time.map(|time| time.0 / 1_000_000_000),
            "{path}"
        );
    }
}
