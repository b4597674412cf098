//! What no work on file sets can be: said in words before anything is made.

use super::{
    Before, FileIo, FileOperation, FileSelect, FileSet, FileSizes, FileTask, FileWork, StopAfter,
};
use crate::units::Nanos;

/// The most levels of directories.
pub const DEPTH_MAX: u32 = 64;
/// The most directories of a set: their states are held in memory.
const DIRECTORIES_MAX: u64 = 10_000_000;
/// The most files of a set: their states are held in memory.
const FILES_MAX: u64 = 32_000_000;
/// The most threads of all tasks of a case.
const THREADS_MAX: u32 = 4000;
/// The largest read or write.
const TRANSFER_MAX: u64 = 64 << 20;
/// The largest mean of a Poisson distribution: a draw takes as many steps.
const MIDPOINT_MAX: u32 = 1000;
/// The longest time, ten years: further calculation stays below what 64 bits hold.
const LONGEST: Nanos = Nanos::from_secs(10 * 365 * 24 * 3600);

impl FileWork {
    /// What is wrong with it, where something is.
    pub fn check(&self) -> Result<(), String> {
        for set in &self.sets {
            set.check()
                .map_err(|why| format!("file set `{}`: {why}", set.name))?;
        }
        for (at, set) in self.sets.iter().enumerate() {
            let twice = |other: &&FileSet| other.anchor == set.anchor;
            if let Some(other) = self.sets[..at].iter().find(twice) {
                return Err(format!(
                    "file sets `{}` and `{}` stand at the same anchor `{}`",
                    other.name,
                    set.name,
                    set.anchor.display()
                ));
            }
        }
        for task in &self.tasks {
            self.check_task(task)
                .map_err(|why| format!("file workload `{}`: {why}", task.name))?;
        }
        self.check_together()
    }

    fn check_together(&self) -> Result<(), String> {
        if self.sets.is_empty() {
            return Err("there is no file set".to_owned());
        }
        let threads = self.tasks.iter().map(|task| task.threads);
        let threads = threads.fold(0, u32::saturating_add);
        if threads > THREADS_MAX {
            return Err(format!("{threads} threads are more than {THREADS_MAX}"));
        }
        let format = &self.format;
        if format.threads == 0 || format.threads > THREADS_MAX {
            return Err(format!(
                "{} threads that make a file set are not from 1 to {THREADS_MAX}",
                format.threads
            ));
        }
        check_transfer(format.transfer, format.transfer)?;
        if !self.tasks.is_empty() && (self.elapsed == Nanos::ZERO || self.elapsed > LONGEST) {
            return Err("the time is none, or longer than ten years".to_owned());
        }
        if self.warmup > LONGEST || self.interval > LONGEST {
            return Err("a time is longer than ten years".to_owned());
        }
        let skews: Vec<f64> = self.tasks.iter().filter_map(|task| task.skew).collect();
        let sum: f64 = skews.iter().sum();
        if skews.iter().any(|skew| !skew.is_finite() || *skew <= 0.0) || sum > 100.0 + 1e-6 {
            return Err(format!(
                "skews of {skews:?} per cent are no shares of a whole"
            ));
        }
        if skews.len() == self.tasks.len() && !skews.is_empty() && (sum - 100.0).abs() > 1e-6 {
            return Err(format!("the skews sum up to {sum} and not to 100 per cent"));
        }
        Ok(())
    }

    fn check_task(&self, task: &FileTask) -> Result<(), String> {
        let Some(set) = self.sets.get(task.set as usize) else {
            return Err(format!("there is no file set of number {}", task.set));
        };
        let on_directories = matches!(task.operation, FileOperation::Mkdir | FileOperation::Rmdir);
        if !on_directories && set.working_extent().0 == 0 {
            return Err(format!("file set `{}` has no files", set.name));
        }
        self.check_target(task, set)?;
        if task.operation.transfers() && set.size_min() == 0 {
            return Err(format!("file set `{}` has files without bytes", set.name));
        }
        task.check()?;
        let only_directories = self.format.directories_only && self.format.before != Before::Left;
        let makes = |of: &FileTask| of.set == task.set && of.operation == FileOperation::Create;
        let needs = !on_directories && task.operation != FileOperation::Create;
        if only_directories && needs && !self.tasks.iter().any(makes) {
            return Err("it needs files, and directories alone are made".to_owned());
        }
        Ok(())
    }
}

impl FileWork {
    /// Where copies and moves of `set` go.
    fn check_target(&self, task: &FileTask, set: &FileSet) -> Result<(), String> {
        let word = task.operation.word();
        let has = matches!(task.operation, FileOperation::Copy | FileOperation::Move);
        let target = match task.target {
            None => set,
            Some(_) if !has => return Err(format!("{word} has no target")),
            Some(number) => match self.sets.get(number as usize) {
                Some(target) => target,
                None => return Err(format!("there is no file set of number {number}")),
            },
        };
        let least = if target.anchor == set.anchor { 2 } else { 1 };
        if has && target.working_extent().0 < least {
            return Err(format!("{word} needs two files"));
        }
        Ok(())
    }
}

impl FileTask {
    fn check(&self) -> Result<(), String> {
        if self.threads == 0 {
            return Err("it has no thread".to_owned());
        }
        self.transfer.check()?;
        check_transfer(self.transfer.min_bytes(), self.transfer.max_bytes())?;
        if self.read_percent.is_some_and(|percent| percent > 100) {
            return Err(format!("{:?} per cent of reads", self.read_percent));
        }
        let reads_or_writes = matches!(self.operation, FileOperation::Read | FileOperation::Write);
        if !reads_or_writes && (self.read_percent.is_some() || self.deletes || self.shares_files) {
            return Err(format!(
                "shares of reads, deleting and sharing are for read and write, and not for {}",
                self.operation.word()
            ));
        }
        if self.deletes && self.io == FileIo::Random {
            return Err("a file is deleted after it was gone through in order".to_owned());
        }
        if self.deletes && self.shares_files {
            return Err("a file that several threads use is not deleted by one".to_owned());
        }
        if let FileSelect::Poisson { midpoint } = self.select
            && (midpoint == 0 || midpoint > MIDPOINT_MAX)
        {
            return Err(format!(
                "a midpoint of {midpoint} is not from 1 to {MIDPOINT_MAX}"
            ));
        }
        match self.stop_after {
            Some(StopAfter::Operations(0)) => return Err("it stops after 0 operations".to_owned()),
            Some(StopAfter::Percent(percent)) if !percent.is_finite() || percent <= 0.0 => {
                return Err(format!("it stops after {percent} per cent of a file"));
            }
            _ => {}
        }
        if self
            .rate
            .is_some_and(|rate| !rate.is_finite() || rate <= 0.0)
        {
            return Err(format!("a rate of {:?} per second", self.rate));
        }
        if self.rate.is_some() && self.skew.is_some() {
            return Err("it has a rate, and a share of what others do".to_owned());
        }
        Ok(())
    }
}

fn check_transfer(least: u64, most: u64) -> Result<(), String> {
    if least == 0 || most > TRANSFER_MAX {
        let odd = if least == 0 { least } else { most };
        return Err(format!(
            "a transfer of {odd} bytes is not from 1 to {TRANSFER_MAX}"
        ));
    }
    Ok(())
}

impl FileSet {
    fn check(&self) -> Result<(), String> {
        if !self.anchor.is_absolute() {
            return Err(format!(
                "its anchor `{}` is no absolute path",
                self.anchor.display()
            ));
        }
        if self.depth == 0 || self.depth > DEPTH_MAX || self.width == 0 {
            return Err(format!(
                "a depth of {} with a width of {} is not from 1 to {DEPTH_MAX} with at least 1",
                self.depth, self.width
            ));
        }
        let directories = self.directories();
        if directories > DIRECTORIES_MAX {
            return Err(format!(
                "{directories} directories are more than {DIRECTORIES_MAX}: its depth is {}, its width {}",
                self.depth, self.width
            ));
        }
        self.check_sizes()?;
        // Before they are limited: finding the end of more takes too long.
        let with_files = directories - self.first_directory_with_files();
        let files = with_files.saturating_mul(self.files);
        if files > FILES_MAX && (self.total.is_none() || self.one_size().is_none()) {
            return Err(format!("{files} files are more than {FILES_MAX}"));
        }
        let (files, bytes) = self.extent();
        if files > FILES_MAX {
            return Err(format!("{files} files are more than {FILES_MAX}"));
        }
        if bytes == u64::MAX {
            return Err(format!("{files} files have more bytes than can be counted"));
        }
        Ok(())
    }

    fn check_sizes(&self) -> Result<(), String> {
        match &self.sizes {
            FileSizes::Around(0) => Err("a mean size of 0 bytes".to_owned()),
            FileSizes::Around(_) => Ok(()),
            FileSizes::Split(parts) => {
                let all: f64 = parts.iter().map(|(_, share)| share).sum();
                let odd = parts
                    .iter()
                    .any(|(_, share)| !share.is_finite() || *share < 0.0);
                if odd || (all - 100.0).abs() > 1e-6 {
                    return Err(format!(
                        "the shares of its sizes sum up to {all} and not to 100 per cent"
                    ));
                }
                Ok(())
            }
        }
    }
}
