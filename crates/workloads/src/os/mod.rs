//! Family `os`: what the kernel's basic services cost: system calls, pipes, switching, processes, scripts.
//!
//! Each workload does what the UnixBench test of the same purpose does per operation, so that the figures compare;
//! docs/method/unixbench.md says where they differ. Nobody is pinned to a CPU: placement is the scheduler's work and
//! part of what is measured.

use engine::recorder::Recorder;
use engine::workload::WorkError;
use model::host::{Fact, LimitFacts};
use model::spec::{Amount, How, MetricClass, MetricDef, Time};
use model::units::{Nanos, Unit};
use sys::counters::Cgroups;
use sys::loops::failure::Failure;
use sys::loops::helper::StartError;
use sys::tree::Tree;

mod context;
mod execl;
mod mutex;
mod pipe;
mod shell;
mod spawn;
mod syscall;
mod text;
mod threads;

pub(crate) use context::CONTEXT;
pub(crate) use execl::{EXECL, EXECL_STATIC};
pub(crate) use mutex::MUTEX;
pub(crate) use pipe::PIPE;
pub(crate) use shell::SHELL;
pub(crate) use spawn::SPAWN;
pub(crate) use syscall::SYSCALL;
pub(crate) use threads::THREADS;

/// How long a batch of the workloads that run in the helper takes. Telling the helper costs up to about 20 us (two
/// wake-ups), which is a thousandth of this.
const HELPER_BATCH: Nanos = Nanos::from_millis(20);

/// The one metric of this family: operations over wall time.
const fn ops_per_s(doc: &'static str) -> MetricDef {
    MetricDef::rate(
        "ops_per_s",
        Unit::OpsPerSecond,
        MetricClass::System,
        How::Per(Amount::Work, Time::Wall),
        doc,
    )
}

/// Does `ops` operations: all in one call of `work`, or one by one where each is to be timed.
pub(crate) fn all_or_each(
    ops: u64,
    recorder: &mut Recorder,
    mut work: impl FnMut(u64) -> Result<u64, Failure>,
) -> Result<u64, Failure> {
    if !recorder.records() {
        return work(ops);
    }
    let mut done = 0;
    while done < ops {
        done += recorder.time(|| work(1))?;
    }
    Ok(done)
}

/// Puts a loop's failure into words, with the object that the loop did not know.
pub(crate) fn failed(failure: &Failure, object: impl std::fmt::Display) -> WorkError {
    WorkError::failed(failure.operation, object, &failure.error)
}

fn start_failed(error: StartError) -> WorkError {
    match error {
        StartError::Unsupported(why) => WorkError::Unsupported(why),
        StartError::Failed { .. } => WorkError::Failed(error.to_string()),
    }
}

/// How many threads can run at the same time: the CPUs allowed, or as many as a quota lets run.
fn cpus_at_once() -> u32 {
    let allowed = sys::affinity::allowed_cpus().map_or(1, |cpus| cpus.len());
    cpus_with_quota(&Tree::real(), u32::try_from(allowed).unwrap_or(u32::MAX))
}

/// Of so many `allowed` CPUs, as many as the quota of our control group lets run; all where there is none to be read.
fn cpus_with_quota(tree: &Tree, allowed: u32) -> u32 {
    let quota = Cgroups::find(tree).and_then(|groups| groups.cpu_quota(tree));
    let limits = LimitFacts {
        cpus_allowed: Fact::Known(allowed),
        cpu_quota: Fact::Known(quota.unwrap_or_default()),
        ..LimitFacts::default()
    };
    limits.copies_all()
}

#[cfg(test)]
pub(crate) mod testing {
    //! What the tests of this crate's bodies share.

    use engine::workload::{Body, Place, WorkError, Workload};
    use model::params::Params;
    use tempfile::TempDir;

    /// A place as the engine makes one, and the directory that has to live as long.
    pub(crate) fn place() -> (TempDir, Place) {
        let root = tempfile::tempdir().unwrap();
        let place = place_in(&root);
        (root, place)
    }

    pub(crate) fn place_in(root: &TempDir) -> Place {
        let [dir, shared_dir, run_dir] = ["0", "shared", "run"].map(|name| root.path().join(name));
        for dir in [&dir, &shared_dir, &run_dir] {
            std::fs::create_dir(dir).unwrap();
        }
        Place {
            dir,
            shared_dir,
            run_dir,
            copy: 0,
            copies: 1,
            round: 1,
            seed: 1,
            warmup: model::plan::Shape::DEFAULT.warmup,
            measure: model::plan::Shape::DEFAULT.measure,
            ns_per_tick: None,
            stand_in: None,
            anchors: std::collections::BTreeMap::new(),
            bytes_left: None,
            known: None,
            permits: engine::consent::Permits::default(),
        }
    }

    pub(crate) fn params(workload: &dyn Workload, overrides: &[(&str, &str)]) -> Params {
        Params::resolve(workload.spec(), overrides.iter().copied()).unwrap()
    }

    pub(crate) fn prepare(
        workload: &dyn Workload,
        overrides: &[(&str, &str)],
        place: &Place,
    ) -> Result<Box<dyn Body>, WorkError> {
        workload.prepare(&params(workload, overrides), place)
    }

    /// This thread's children, as the kernel lists them, zombies included.
    pub(crate) fn children() -> Vec<String> {
        std::fs::read_to_string("/proc/thread-self/children")
            .unwrap()
            .split_whitespace()
            .map(str::to_owned)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::workload::Workload;

    const ALL: [&dyn Workload; 6] = [&PIPE, &CONTEXT, &SPAWN, &SYSCALL, &EXECL, &SHELL];

    #[test]
    fn every_body_does_what_is_asked_and_leaves_nothing_behind() {
        for workload in ALL {
            for compat in ["off", "5.1.3", "6"] {
                let (_root, place) = testing::place();
                let mut body = testing::prepare(workload, &[("compat", compat)], &place).unwrap();
                let mut done = 0;
                let ops = if workload.spec().name == "os.shell" {
                    3
                } else {
                    150
                };
                while done < 2 * ops {
                    done += body.batch(ops, &mut Recorder::off()).unwrap();
                }
                assert_eq!(done, 2 * ops, "{}", workload.spec().name);
                body.finish().unwrap();
                assert_eq!(testing::children(), [""; 0], "{}", workload.spec().name);
            }
        }
    }

    #[test]
    fn a_body_dropped_halfway_leaves_no_process_behind() {
        for workload in ALL {
            let (_root, place) = testing::place();
            let mut body = testing::prepare(workload, &[], &place).unwrap();
            body.batch(1, &mut Recorder::off()).unwrap();
            drop(body);
            assert_eq!(testing::children(), [""; 0], "{}", workload.spec().name);
        }
    }

    #[test]
    fn what_living_children_used_is_known_when_the_measured_part_begins() {
        let cpu = |used: sys::process::Usage| used.user + used.system;
        for workload in ALL {
            let name = workload.spec().name;
            let (_root, place) = testing::place();
            let mut body = testing::prepare(workload, &[], &place).unwrap();
            let mut used = |ops| {
                body.batch(ops, &mut Recorder::off()).unwrap();
                cpu(body.living_children().unwrap())
            };
            let first = used(2);
            let ops = if name == "os.shell" { 5 } else { 1000 };
            let second = used(ops);
            let has_children = ["os.context", "os.spawn", "os.execl", "os.shell"].contains(&name);
            assert_eq!(second > first, has_children, "{name}: {first} {second}");
            body.finish().unwrap();
        }
    }

    #[test]
    fn compat_has_the_originals_durations_and_passes() {
        let shapes = ALL.map(|workload| {
            let shape = workload.shape(&testing::params(workload, &[("compat", "6")]));
            (
                workload.spec().name,
                shape.measure.0 / 1_000_000_000,
                shape.rounds,
            )
        });
        assert_eq!(
            shapes,
            [
                ("os.pipe", 10, Some(10)),
                ("os.context", 10, Some(10)),
                ("os.spawn", 30, Some(3)),
                ("os.syscall", 10, Some(10)),
                ("os.execl", 30, Some(3)),
                ("os.shell", 60, Some(3)),
            ]
        );
    }

    #[test]
    fn as_many_threads_run_at_once_as_cpus_and_quota_allow() {
        let check = |max: Option<&str>, allowed, expected| {
            let root = tempfile::tempdir().unwrap();
            let write = |path: &str, text: &str| {
                let file = root.path().join(path);
                std::fs::create_dir_all(file.parent().unwrap()).unwrap();
                std::fs::write(file, text).unwrap();
            };
            if let Some(max) = max {
                write("proc/self/cgroup", "0::/a\n");
                let mount = "30 1 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n";
                write("proc/self/mountinfo", mount);
                write("sys/fs/cgroup/a/cpu.max", max);
            }
            let found = cpus_with_quota(&Tree::at(root.path()), allowed);
            assert_eq!(found, expected, "{max:?} {allowed}");
        };
        check(None, 64, 64);
        check(Some("max 100000\n"), 64, 64);
        check(Some("200000 100000\n"), 64, 2);
        check(Some("150000 100000\n"), 64, 2);
        check(Some("10000 100000\n"), 64, 1);
        check(Some("800000 100000\n"), 2, 2);
        check(Some("nonsense\n"), 3, 3);
        check(None, 0, 1);
    }

    #[test]
    fn single_operations_are_timed_where_latencies_are_wanted() {
        let (_root, place) = testing::place();
        let mut body = testing::prepare(&PIPE, &[], &place).unwrap();
        let mut recorder = Recorder::on(sys::clock::Clock::Kernel);
        assert_eq!(body.batch(70, &mut recorder).unwrap(), 70);
        let recorded: u64 = recorder.named()["lat"].count();
        assert_eq!(recorded, 70);
    }
}
