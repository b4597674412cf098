//! A server whose processes are on this machine: what they use is told, and they disturb nobody.

use super::spec::SERVER_CPU;
use engine::workload::Finish;
use model::num::approx;
use sys::counters::Process;
use sys::tree::Tree;

/// Adds what a server used to the end of a round of so many operations, or why nobody knows.
pub(super) fn tell(used_ns: Result<f64, String>, ops: u64, finish: &mut Finish) {
    let quantity = SERVER_CPU.to_owned();
    match used_ns {
        Ok(used) => {
            let each = used / approx(ops.max(1));
            finish.reported.insert(quantity, each);
        }
        Err(why) => {
            finish.missing.insert(quantity, why);
        }
    }
}

/// The CPU time of a server from the beginning of the measured part on.
#[derive(Debug)]
pub(super) struct Party {
    /// The server's main process, where it is on this machine and can be told.
    process: Option<u32>,
    /// Whether it is on this machine.
    is_here: bool,
    /// What its processes had used when the measured part began, in ticks.
    began: Option<u64>,
}

impl Party {
    pub(super) const fn new(process: Option<u32>, is_here: bool) -> Self {
        Self {
            process,
            is_here,
            began: None,
        }
    }

    /// The process whose children, and itself, work for the test.
    pub(super) const fn process(&self) -> Option<u32> {
        self.process
    }

    /// What must be said of where it is.
    pub(super) fn note(&self) -> Option<String> {
        self.is_here.then(|| {
            if self.process.is_some() {
                "the server is on this machine and shares its CPUs with the clients; its processes are no disturbance"
                    .to_owned()
            } else {
                "the server answers on this machine and its processes cannot be told from others: they count as other \
                 programs"
                    .to_owned()
            }
        })
    }

    /// CPU time is counted from here.
    pub(super) fn measured_part_begins(&mut self) {
        self.began = self.used();
    }

    /// CPU time of its processes so far, in ticks.
    fn used(&self) -> Option<u64> {
        let main = self.process?;
        let walk = sys::counters::processes(&Tree::real()).ok()?;
        let own = |one: &&Process| one.pid == main || one.parent == main;
        let of = |one: &Process| {
            let ended = if one.pid == main {
                one.children_ticks
            } else {
                0
            };
            one.ticks + ended
        };
        Some(walk.seen.iter().filter(own).map(of).sum())
    }

    /// CPU time since the measured part began, in nanoseconds, or why nobody knows.
    pub(super) fn cpu_ns(&self) -> Result<f64, String> {
        if !self.is_here {
            return Err("the server is on another machine".to_owned());
        }
        let used = self
            .used()
            .zip(self.began)
            .map(|(now, began)| now.saturating_sub(began));
        let per_second = sys::probe::ticks_per_second().map_err(|error| error.to_string())?;
        let used = used.ok_or(if self.process.is_some() {
            "the CPU time of the server's processes was not counted"
        } else {
            "the processes of the server cannot be told from others"
        })?;
        Ok(approx(used) / approx(per_second) * 1e9)
    }
}
