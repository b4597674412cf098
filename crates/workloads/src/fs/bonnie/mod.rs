//! `fs.bonnie` and `fs.bonnie-files`: the twelve phases of bonnie++ 2.00, six on one large file and six on many small
//! ones, as two workloads whose round is all six phases in their order.
//!
//! A phase finds what the one before it left, so that they are no tests of their own. What each does was taken from
//! the manual of bonnie++ and from the system calls that it makes; docs/guide/bonnie.md says where the two differ.
//! Rejected: a test per phase, each with a file of its own, which would write ten times as much for the same figures.

mod files;
mod large;
mod metrics;
mod seekers;
mod size;

pub(crate) use files::FILES;
pub(crate) use large::LARGE;

use engine::workload::WorkError;
use model::num::approx;
use model::units::Nanos;
use std::collections::BTreeMap;
use std::path::Path;
use sys::loops::chunks::Done;
use sys::loops::failure::Failure;

/// Phases of a round.
const PHASES: usize = 6;

/// What a phase did.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    done: Done,
    wall_ns: u64,
    /// User and system time of this process, all threads.
    cpu_ns: u64,
}

/// Does a phase and takes its time.
fn timed(work: impl FnOnce() -> Result<Done, WorkError>) -> Result<Part, WorkError> {
    let before = sys::process::usage_self();
    let began = sys::clock::monotonic();
    let done = work()?;
    let wall_ns = sys::clock::monotonic() - began;
    let used = sys::process::usage_self().since(before);
    Ok(Part {
        done,
        wall_ns,
        cpu_ns: used.user + used.system,
    })
}

impl Part {
    /// Reports the phase called `name`, each operation worth `work` of the unit of `rate`.
    fn report(self, name: &str, rate: &str, work: f64, reported: &mut BTreeMap<String, f64>) {
        let span = Nanos(self.wall_ns.max(1)).as_secs_f64();
        let per_s = approx(self.done.ops) * work / span;
        let share = Nanos(self.cpu_ns).as_secs_f64() / span;
        let longest = approx(self.done.longest_ns);
        for (quantity, value) in [(rate, per_s), ("cpu_share", share), ("lat_ns_max", longest)] {
            reported.insert(format!("{name}_{quantity}"), value);
        }
    }
}

/// A loop's failure in words.
fn failed(failure: &Failure, path: &Path) -> WorkError {
    let hint = match failure.error.kind() {
        std::io::ErrorKind::InvalidData => {
            let (path, done) = (path.display(), failure.done);
            return WorkError::Wrong(format!(
                "`{path}` does not hold what was written, after {done} operations"
            ));
        }
        std::io::ErrorKind::StorageFull if failure.operation == "create" => {
            "; hint: no room or no inodes are left, see `df -i`"
        }
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
            "; hint: somebody else took the room, or a quota ends; a smaller `size` needs less"
        }
        _ => "",
    };
    let done = failure.done;
    let error = format!("{} after {done} operations{hint}", failure.error);
    WorkError::failed(failure.operation, path.display(), error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Error, ErrorKind};

    #[test]
    fn what_failed_is_named_with_how_far_it_came_and_what_helps() {
        let check = |operation, kind, expect: &[&str]| {
            let failure = Failure {
                operation,
                done: 7,
                error: Error::from(kind),
            };
            let words = failed(&failure, Path::new("data")).to_string();
            for part in expect {
                assert!(words.contains(part), "`{part}` is not in {words}");
            }
        };
        let full = ErrorKind::StorageFull;
        let taken = ["write `data`: ", " after 7 operations", "took the room"];
        check("write", full, &taken);
        check("create", full, &["create `data`: ", "`df -i`"]);
        check("fsync", ErrorKind::QuotaExceeded, &["a quota ends"]);
        check(
            "check",
            ErrorKind::InvalidData,
            &["does not hold what was written"],
        );
    }
}
