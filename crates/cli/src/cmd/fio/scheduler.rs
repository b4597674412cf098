//! `ioscheduler`: the scheduler of the device below a job's files, set before the jobs and set back after them.
//!
//! fio leaves the machine as it set it. Here what was set before comes back however the run ends, but for a kill that
//! nobody can hear.

use crate::exit::{Exit, failure};
use crate::output;
use dialects::fio::Plan;
use dialects::fio::job::Job;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use sys::io::counters;

/// The devices whose scheduler is another one for the time of a run; set back when dropped.
#[derive(Debug, Default)]
pub(super) struct Schedulers {
    before: Vec<Setting>,
}

/// What a device had before.
#[derive(Debug)]
struct Setting {
    device: String,
    knob: PathBuf,
    was: String,
}

impl Schedulers {
    /// Sets what the jobs ask for.
    pub(super) fn set(plan: &Plan) -> anyhow::Result<Self> {
        let mut wanted: BTreeMap<PathBuf, (&Job, &str)> = BTreeMap::new();
        for job in plan.jobs() {
            let Some(scheduler) = job.life.scheduler.as_deref() else {
                continue;
            };
            for path in &job.target.files {
                let knob = knob_below(path).ok_or_else(|| {
                    refused(
                        job,
                        scheduler,
                        &format!("below `{path}` lies no block device that has one"),
                    )
                })?;
                let (_, other) = *wanted.entry(knob).or_insert((job, scheduler));
                if other != scheduler {
                    let why =
                        format!("the device below `{path}` cannot have `{other}` at the same time");
                    return Err(refused(job, scheduler, &why));
                }
            }
        }
        let mut all = Self::default();
        for (knob, (job, scheduler)) in wanted {
            let set = all.set_one(&knob, scheduler);
            set.map_err(|why| refused(job, scheduler, &why))?;
        }
        Ok(all)
    }

    fn set_one(&mut self, knob: &Path, scheduler: &str) -> Result<(), String> {
        let said = |error: std::io::Error| format!("`{}`: {error}", knob.display());
        let text = fs::read_to_string(knob).map_err(said)?;
        let (was, offered) = offered(&text);
        if !offered.contains(&scheduler) {
            return Err(format!("the device offers {}", offered.join(", ")));
        }
        if was == Some(scheduler) {
            return Ok(());
        }
        let was = was
            .ok_or("the device does not say which one it has")?
            .to_owned();
        fs::write(knob, scheduler).map_err(said)?;
        let device = knob.ancestors().nth(2).and_then(Path::file_name);
        let device = device.unwrap_or_default().to_string_lossy().into_owned();
        self.before.push(Setting {
            device,
            knob: knob.to_owned(),
            was,
        });
        let text = fs::read_to_string(knob).map_err(said)?;
        if self::offered(&text).0 != Some(scheduler) {
            return Err("the kernel did not take it".to_owned());
        }
        Ok(())
    }

    /// What was done to the machine, in words.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> {
        self.before.iter().map(|setting| {
            let (device, was) = (&setting.device, &setting.was);
            format!(
                "the scheduler of `{device}` was `{was}` before the jobs, and is again after them"
            )
        })
    }
}

impl Drop for Schedulers {
    fn drop(&mut self) {
        for setting in &self.before {
            if let Err(error) = fs::write(&setting.knob, &setting.was) {
                output::say(&format!(
                    "warning: set the scheduler of `{}` back to `{}`: {error}\nhint: echo {} > {}",
                    setting.device,
                    setting.was,
                    setting.was,
                    setting.knob.display()
                ));
            }
        }
    }
}

fn refused(job: &Job, scheduler: &str, why: &str) -> anyhow::Error {
    let text = format!(
        "{}: job `{}`: set the scheduler `{scheduler}`: {why}",
        job.place, job.name
    );
    let hint = "setting it needs root and a device that has a queue; leave `ioscheduler` out to keep the one there is";
    failure(Exit::Unsupported, text, Some(hint))
}

/// The scheduler that is set, and those that can be.
fn offered(text: &str) -> (Option<&str>, Vec<&str>) {
    let words = text.split_whitespace();
    let set = words
        .clone()
        .find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    let plain = words.map(|word| word.trim_matches(['[', ']']));
    (set, plain.collect())
}

/// Where the kernel takes the scheduler of the device that a file lies on, or will, or that it is; of a partition, the
/// one of the whole disk.
fn knob_below(path: &str) -> Option<PathBuf> {
    let absolute = std::path::absolute(path).ok()?;
    let there = absolute.ancestors().find(|path| path.exists())?;
    let number = counters::device_of(&File::open(there).ok()?)?;
    let device = fs::canonicalize(format!("/sys/dev/block/{number}")).ok()?;
    [device.as_path(), device.parent()?]
        .map(|device| device.join("queue/scheduler"))
        .into_iter()
        .find(|knob| knob.exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scheduler_that_is_set_stands_in_brackets() {
        let check =
            |text, set, all: &[&str]| assert_eq!(offered(text), (set, all.to_vec()), "{text}");
        check(
            "none [mq-deadline] bfq\n",
            Some("mq-deadline"),
            &["none", "mq-deadline", "bfq"],
        );
        check("[none]\n", Some("none"), &["none"]);
        check("none\n", None, &["none"]);
    }

    #[test]
    fn what_was_set_before_comes_back() {
        let dir = tempfile::tempdir().unwrap();
        let knob = dir.path().join("sdx/queue/scheduler");
        fs::create_dir_all(knob.parent().unwrap()).unwrap();
        // A file keeps what is written to it, as the kernel does not.
        fs::write(&knob, "none [bfq]\n").unwrap();
        let mut all = Schedulers::default();
        assert_eq!(all.set_one(&knob, "bfq"), Ok(()));
        assert!(all.before.is_empty(), "nothing to do");
        assert!(all.set_one(&knob, "x").unwrap_err().contains("none, bfq"));
        assert_eq!(
            all.set_one(&knob, "none").unwrap_err(),
            "the kernel did not take it"
        );
        assert_eq!(fs::read_to_string(&knob).unwrap(), "none");
        assert!(all.notes().next().unwrap().contains("`sdx` was `bfq`"));
        drop(all);
        assert_eq!(fs::read_to_string(&knob).unwrap(), "bfq");
    }
}
