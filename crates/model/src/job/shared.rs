//! Jobs that write to the same places at the same time: what is found there may be a block of any of them.

use super::{Job, Target, Task, Verify};
use std::path::Path;

impl Task {
    /// Marks those of jobs beside each other whose checks come upon blocks of others ([`Verify::is_shared`]). An error
    /// in words where one reads back what it wrote and could not tell a block of another one from damage. `is_same`
    /// says whether two paths lead to the same file or device; a partition and its disk are two.
    pub fn share_places(
        tasks: &mut [Self],
        is_same: impl Fn(&Path, &Path) -> bool,
    ) -> Result<(), String> {
        let mut shared = Vec::new();
        for (at, task) in tasks.iter().enumerate() {
            let Some(how) = &task.job.verify else {
                continue;
            };
            let others = tasks.iter().enumerate();
            let meets = |of: &Self| task.job.meets(&of.job, &is_same);
            let beside = others.filter(|(other, of)| *other != at && meets(of));
            let beside: Vec<&Self> = beside.map(|(_, other)| other).collect();
            if beside.is_empty() {
                continue;
            }
            let reads_back = how.reads_back && task.job.writes();
            let strange = beside.iter().find(|other| !task.job.is_like(&other.job));
            if let (true, Some(other)) = (reads_back, strange) {
                return Err(format!(
                    "verify: job `{}` reads back what it wrote, and job `{}` writes other blocks to the same places, \
                     or trims them, meanwhile: neither can be told from damage",
                    task.name, other.name
                ));
            }
            shared.push(at);
        }
        for at in shared {
            if let Some(how) = &mut tasks[at].job.verify {
                how.is_shared = true;
            }
        }
        Ok(())
    }
}

impl Job {
    /// Whether another job writes or trims, or did so, where this one works.
    fn meets(&self, other: &Self, is_same: &impl Fn(&Path, &Path) -> bool) -> bool {
        let mix = other.pattern.mix;
        let apart = |one: &Self, two: &Self| {
            let bytes = one.bytes_of_file(0).unwrap_or(u64::MAX);
            one.offset_bytes.saturating_add(bytes) <= two.offset_bytes
        };
        (mix.writes() || mix.trims())
            && other.engine.has_data()
            && !apart(self, other)
            && !apart(other, self)
            && self
                .paths()
                .any(|path| other.paths().any(|of| is_same(path, of)))
    }

    /// Whether the blocks of both are alike and coincide, so that one of the other is as right as one of its own.
    fn is_like(&self, other: &Self) -> bool {
        let (length, _) = self.size_range();
        let alike = |one: &Verify, two: &Verify| {
            one.method == two.method
                && one.interval_bytes == two.interval_bytes
                && one.offset_bytes == two.offset_bytes
        };
        let distance = self.offset_bytes.abs_diff(other.offset_bytes);
        let both = self.verify.as_ref().zip(other.verify.as_ref());
        self.writes_coincide()
            && other.writes_coincide()
            && self.size_range() == other.size_range()
            && distance.is_multiple_of(length.max(1))
            && both.is_some_and(|(one, two)| alike(one, two))
    }

    /// The files and devices that it names.
    fn paths(&self) -> impl Iterator<Item = &Path> {
        let all = std::iter::once(&self.target).chain(&self.more_targets);
        all.filter_map(|target| match target {
            Target::TestFile => None,
            Target::File { path, .. } | Target::Device { path, .. } => Some(path.as_path()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{Pattern, VerifyMethod};

    fn task(name: &str, rw: &str, path: &str) -> Task {
        Task {
            name: name.to_owned(),
            job: Job {
                pattern: Pattern::from_word(rw).unwrap(),
                size: Some(1 << 20),
                verify: Some(Verify::new(VerifyMethod::Crc32c)),
                target: Target::File {
                    path: path.into(),
                    create: true,
                },
                ..Job::default()
            },
            ..Task::default()
        }
    }

    /// `/link` leads to `/f`.
    fn is_same(one: &Path, other: &Path) -> bool {
        let of = |path: &Path| path == Path::new("/link") || path == Path::new("/f");
        one == other || (of(one) && of(other))
    }

    #[test]
    fn a_check_that_meets_blocks_of_others_knows_it_or_is_refused() {
        let check = |change: fn(&mut Task), expected: Result<bool, ()>| {
            let mut tasks = [task("a", "randwrite", "/f"), task("b", "randwrite", "/f")];
            change(&mut tasks[1]);
            let found = Task::share_places(&mut tasks, is_same);
            let shared = tasks[0].job.verify.as_ref().unwrap().is_shared;
            assert_eq!(
                found.map(|()| shared).map_err(|_| ()),
                expected,
                "{:?}",
                tasks[1]
            );
        };
        check(|_| (), Ok(true));
        check(|other| other.job.offset_bytes = 8192, Ok(true));
        check(|other| other.job.offset_bytes = 1 << 20, Ok(false));
        check(
            |other| {
                other.job.target = Target::File {
                    path: "/g".into(),
                    create: true,
                };
            },
            Ok(false),
        );
        check(
            |other| other.job.pattern = Pattern::from_word("randread").unwrap(),
            Ok(false),
        );
        check(|other| other.job.block_bytes = 8192, Err(()));
        check(|other| other.job.offset_bytes = 512, Err(()));
        check(|other| other.job.verify = None, Err(()));
        let trims = |other: &mut Task| {
            other.job.pattern = Pattern::from_word("randtrim").unwrap();
            other.job.verify = None;
        };
        check(trims, Err(()));
        let link = |other: &mut Task| {
            other.job.target = Target::File {
                path: "/link".into(),
                create: true,
            };
        };
        check(link, Ok(true));
        check(
            |other| other.job.verify.as_mut().unwrap().method = VerifyMethod::Md5,
            Err(()),
        );
        // One that only checks is told, and refused nothing.
        let mut tasks = [task("a", "randwrite", "/f"), task("b", "randwrite", "/f")];
        for task in &mut tasks {
            task.job.verify.as_mut().unwrap().only_checks = true;
        }
        tasks[1].job.block_bytes = 8192;
        assert_eq!(Task::share_places(&mut tasks, is_same), Ok(()));
        assert!(tasks[0].job.verify.as_ref().unwrap().is_shared);
    }
}
