//! A machine that is made up, for tests.

use super::jobfile::Surroundings;
use super::{Error, Plan, parse};
use std::collections::BTreeMap;

/// No files and no variables.
#[derive(Debug)]
pub(crate) struct Nowhere;

impl Surroundings for Nowhere {
    fn read(&self, _: &str) -> Result<String, String> {
        Err("no such file".to_owned())
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

/// Files by their path, and the variable `HOME`.
#[derive(Debug, Default)]
pub(crate) struct Files(pub(crate) BTreeMap<String, String>);

impl Surroundings for Files {
    fn read(&self, path: &str) -> Result<String, String> {
        self.0
            .get(path)
            .cloned()
            .ok_or_else(|| "no such file".to_owned())
    }
    fn variable(&self, name: &str) -> Option<String> {
        (name == "HOME").then(|| "/home/me".to_owned())
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

/// The plan of a job file called `job.fio`.
pub(crate) fn file(text: &str) -> Result<Plan, Error> {
    files(&[("job.fio", text)])
}

/// The plan of the first of several files.
pub(crate) fn files(files: &[(&str, &str)]) -> Result<Plan, Error> {
    let map = files
        .iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
        .collect();
    parse(&[files[0].0.to_owned()], &Files(map))
}

/// The plan of a command line, split at blanks.
pub(crate) fn line(text: &str) -> Result<Plan, Error> {
    let arguments: Vec<String> = text.split(' ').map(str::to_owned).collect();
    parse(&arguments, &Nowhere)
}
