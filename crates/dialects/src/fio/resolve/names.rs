//! A job of fio's engines that make, ask for and remove files: one operation for each block of each file, as fio counts
//! them, on as many names as the job has files.

use super::{whole, with_name};
use crate::fio::job::{Extent, Job};
use model::job::{End, Files, Names, Target, Task};

/// The job, ready for the engine. Its files are no files of the user's: they lie in the run's own directory.
pub(super) fn task(job: &Job) -> Result<Task, String> {
    let amount = &job.amount;
    if matches!(amount.size, Some(Extent::Percent(_))) || amount.fills_device {
        return Err(
            "a share of files that are not there has no size: give one in bytes".to_owned(),
        );
    }
    let plain = whole(job);
    let block = plain.size_range().1.max(1);
    let count = job.target.files.len().max(1) as u64;
    let bytes = match (amount.file_size_bytes, amount.size) {
        (Some((low, high)), _) if low != high => {
            return Err(
                "files of a range of sizes are not made for names: give one `filesize`".to_owned(),
            );
        }
        (Some((bytes, _)), _) => bytes,
        (None, Some(Extent::Bytes(size))) if size > 0 => size / count,
        (None, _) => block,
    };
    let size = count.saturating_mul(bytes / block * block);
    if size == 0 {
        return Err(format!(
            "a file of {bytes} bytes holds no block of {block} bytes"
        ));
    }
    let all = match amount.io_size {
        Some(Extent::Bytes(bytes)) if bytes > 0 => bytes,
        _ => size,
    };
    let does = model::job::Job {
        target: Target::TestFile,
        more_targets: Vec::new(),
        files: Files::default(),
        file_sizes: Vec::new(),
        size: Some(size),
        offset_bytes: 0,
        // Nothing goes past a cache, and nothing in one is to be forgotten.
        direct: false,
        end: End {
            bytes: Some(all),
            ..plain.end
        },
        names: Names {
            count,
            prefix: job.number.to_string(),
            bytes,
            ..plain.names
        },
        ..plain
    };
    does.check()?;
    Ok(with_name(job, does))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fio::testkit::line;
    use model::job::IoEngine;

    fn names(text: &str) -> Result<Task, String> {
        let plan = line(text).unwrap();
        task(plan.jobs().next().unwrap())
    }

    #[test]
    fn there_is_an_operation_for_each_block_of_each_file_as_fio_counts_them() {
        // Counted by fio 3.33 with 50 files: `total_ios`.
        for (more, ops, bytes) in [
            ("--filesize=4k", 50, 4096),
            ("--filesize=16k --bs=4k", 200, 16 << 10),
            ("--size=200k", 50, 4096),
            ("", 50, 4096),
        ] {
            let text = format!("--name=a --ioengine=filecreate --nrfiles=50 {more}");
            let task = names(text.trim_end()).unwrap();
            let job = &task.job;
            assert_eq!(job.end.bytes, Some(ops * 4096), "{more}");
            assert_eq!((job.names.count, job.names.bytes), (50, bytes), "{more}");
            assert_eq!((job.target.clone(), job.files.count), (Target::TestFile, 1));
        }
    }

    #[test]
    fn engines_are_read_and_what_no_name_can_have_is_refused() {
        for (word, engine) in [
            ("filestat", IoEngine::FileStat),
            ("filedelete", IoEngine::FileDelete),
            ("dircreate", IoEngine::DirCreate),
            ("dirstat", IoEngine::DirStat),
            ("dirdelete", IoEngine::DirDelete),
        ] {
            let task = names(&format!("--name=a --ioengine={word} --nrfiles=2")).unwrap();
            assert_eq!(task.job.engine, engine);
        }
        let statx = names("--name=a --ioengine=filestat --stat_type=statx --nrfiles=2").unwrap();
        assert!(statx.job.names.statx);
        for (more, why) in [
            ("--filesize=4k --bs=64k", "holds no block of 65536"),
            ("--size=10%", "a share"),
            ("--filesize=4k-8k", "one `filesize`"),
            ("--bssplit=4k/50:8k/50", "have no sizes"),
            ("--verify=crc32c", "nothing is transferred"),
        ] {
            let text = format!("--name=a --ioengine=filecreate --nrfiles=4 {more}");
            let error = names(&text).unwrap_err();
            assert!(error.contains(why), "{more}: {error}");
        }
        let other = line("--name=a --ioengine=psync --size=1m --stat_type=stat").unwrap_err();
        assert!(
            other.to_string().contains("no option of `ioengine=psync`"),
            "{other}"
        );
    }
}
