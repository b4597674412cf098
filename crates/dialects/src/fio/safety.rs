//! Which files and devices a job would change. Needs no machine, so that the caller can refuse in time.

use super::job::{EngineKind, Job};

/// What a job would do to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// The file is created and filled where it is missing or too short; what is there stays.
    LaysOut,
    /// Existing data is overwritten.
    Writes,
    /// Existing data is discarded.
    Trims,
    /// The file is removed at the end.
    Removes,
}

/// A path, with what would be done to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touched {
    /// As the job names it: relative to the current directory, or absolute.
    pub path: String,
    /// What would be done.
    pub change: Change,
}

/// Everything that the job would change. Empty for a job that reads what must be there, and for the null engine.
pub fn writes(job: &Job) -> Vec<Touched> {
    if job.engine.kind == EngineKind::Null {
        return Vec::new();
    }
    let mut changes = Vec::new();
    let only_reads = job.verify.only_checks || job.target.creates_only;
    if job.work.mix.writes() && !only_reads || job.target.overwrites && !job.verify.only_checks {
        changes.push(Change::Writes);
    }
    if job.work.mix.trims() && !only_reads {
        changes.push(Change::Trims);
    }
    if changes.is_empty() && job.target.may_create {
        changes.push(Change::LaysOut);
    }
    if job.target.unlinks || job.target.unlinks_each_loop {
        changes.push(Change::Removes);
    }
    let touched = |path: &String, change: &Change| Touched {
        path: path.clone(),
        change: *change,
    };
    job.target
        .files
        .iter()
        .flat_map(|path| changes.iter().map(move |change| touched(path, change)))
        .collect()
}

/// True for a name below `/dev`, where nothing may ever be laid out as a file.
pub fn names_device(path: &str) -> bool {
    let mut parts = path
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".");
    path.starts_with('/')
        && parts.next() == Some("dev")
        && parts.next().is_some_and(|part| part != "shm")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_of_a_job_is_named() {
        use Change::{LaysOut, Removes, Trims, Writes};
        let check = |line: &str, expect: &[Change]| {
            let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let plan = crate::fio::parse(&arguments, &crate::fio::testkit::Nowhere).unwrap();
            let job = plan.jobs().next().unwrap();
            let changes: Vec<Change> = writes(job).iter().map(|touched| touched.change).collect();
            assert_eq!(changes, expect, "{line}");
        };
        check("--name=a --rw=read", &[LaysOut]);
        check("--name=a --rw=read --allow_file_create=0", &[]);
        check("--name=a --rw=randwrite", &[Writes]);
        check("--name=a --rw=randrw --filename=x", &[Writes]);
        check("--name=a --rw=trim", &[Trims]);
        check("--name=a --rw=trimwrite", &[Writes, Trims]);
        check("--name=a --rw=write --verify=md5 --verify_only", &[LaysOut]);
        check("--name=a --rw=read --overwrite=1", &[Writes]);
        check("--name=a --rw=read --unlink=1", &[LaysOut, Removes]);
        check("--name=a --rw=write --ioengine=null", &[]);
        check("--name=a --rw=write --create_only=1", &[LaysOut]);
        check("--name=a --rw=write --filename=x:y", &[Writes, Writes]);
    }

    #[test]
    fn devices_are_recognised_by_name() {
        let check = |path: &str, expect: bool| assert_eq!(names_device(path), expect, "{path}");
        check("/dev/sda", true);
        check("//dev/./nvme0n1", true);
        check("/dev/disk/by-id/x", true);
        check("/dev/shm/file", false);
        check("dev/sda", false);
        check("/devices/x", false);
        check("/dev", false);
    }
}
