//! What a plain job may have around it without leaving the plain loop: a start, a ramp, an end, and figures that are
//! taken once per batch. The loop looks at it once per batch, where there is one.

use super::full::{Budget, Samples, Times};
use super::records::place;
use model::job::{End, Job, Report};
use model::units::Nanos;
use sys::clock::Clock;
use sys::io::Kind;

/// Around one plain job.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) times: Times,
    samples: Option<Samples>,
    block: u64,
    /// Operations that are still to begin, and how many there are of them in all.
    left: u64,
    whole: u64,
    again: bool,
    /// Operations of each kind that had ended before this batch.
    before: [u64; 4],
}

const KINDS: [Kind; 3] = [Kind::Read, Kind::Write, Kind::Trim];
impl Frame {
    /// `None` for a job that asks for nothing of it. `region` is what it works on, in bytes.
    pub(super) fn new(job: &Job, region: u64, clock: Clock) -> Option<Self> {
        let plain = Job::default();
        let asked = (job.end, job.start_delay, job.ramp, job.samples);
        if asked == (plain.end, plain.start_delay, plain.ramp, plain.samples) {
            return None;
        }
        let whole = operations(&job.end, region, job.block_bytes);
        Some(Self {
            times: Times::new(job, clock),
            samples: job.samples.map(|window| Samples::of(clock, window)),
            block: job.block_bytes,
            left: whole,
            whole,
            again: job.end.time_based,
            before: [0; 4],
        })
    }

    /// What is measured begins.
    pub(super) fn begin(&mut self) {
        let now = self.times.begin();
        if let Some(samples) = &mut self.samples {
            samples.begin(now);
        }
        self.before = [0; 4];
    }

    /// The warm-up is no part of what the job was to do.
    pub(super) const fn renew(&mut self) {
        self.left = self.whole;
    }

    /// How many of so many free slots stay free.
    pub(super) fn keeps(&mut self, free: usize) -> usize {
        if self.left == 0 && self.again {
            self.left = self.whole;
        }
        if self.times.is_over() {
            return free;
        }
        free.saturating_sub(usize::try_from(self.left).unwrap_or(usize::MAX))
    }

    /// So many operations have begun, on top of those under way.
    pub(super) fn begun(&mut self, together: usize, under_way: usize) {
        self.left = self.left.saturating_sub(together as u64);
        if let Some(samples) = &mut self.samples {
            samples.submitted(together, under_way);
        }
    }

    /// A batch has ended: `done` operations of each kind so far.
    pub(super) fn ended(&mut self, now: u64, together: usize, done: [u64; 4]) {
        self.times.now = now;
        for kind in KINDS {
            let direction = place(kind);
            let ops = done[direction] - self.before[direction];
            if ops > 0 {
                self.times.last[direction] = now;
                if let Some(samples) = &mut self.samples {
                    samples.add(kind, ops, ops * self.block);
                }
            }
        }
        self.before = done;
        if let Some(samples) = &mut self.samples {
            samples.completed(together);
            samples.look(now);
        }
    }

    /// What was found.
    pub(super) fn report(&self, report: &mut Report) {
        let worked = self.times.worked_ns();
        for (done, ns) in report.done.each_mut().into_iter().zip(worked) {
            done.runtime = (done.ops > 0).then_some(Nanos(ns));
        }
        if let Some(samples) = &self.samples {
            samples.report(report);
        }
    }
}

/// How many operations of one size a job has before it ends or begins again.
fn operations(end: &End, region: u64, block: u64) -> u64 {
    let budget = Budget::new(end, region);
    budget.bytes().div_ceil(block).min(budget.ops())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_operations_of_one_size_are_those_of_the_budget() {
        let check = |change: &dyn Fn(&mut End), expect| {
            let mut end = End {
                time_based: false,
                ..End::default()
            };
            change(&mut end);
            assert_eq!(operations(&end, 40_960, 4096), expect, "{end:?}");
        };
        check(&|_| (), 10);
        check(&|end| end.bytes = Some(10_240), 3);
        check(&|end| end.loops = 2, 20);
        check(&|end| end.ops = Some(7), 7);
        check(&|end| end.ops = Some(70), 10);
        assert!(operations(&End::default(), 40_960, 4096) > 1 << 50);
    }

    #[test]
    fn a_job_without_any_of_it_has_no_frame() {
        assert!(Frame::new(&Job::default(), 4096, Clock::Kernel).is_none());
    }
}
