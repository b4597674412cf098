//! When an operation may start: at once, when it arrives, or after a pause.
//!
//! With a rate operations arrive when they arrive ([`Schedule`]), and wait where all slots are taken.

use super::spec::RATE;
use crate::arrivals::Schedule;
use engine::workload::{Place, WorkError};
use model::job::Job;
use model::num::{approx, round_to_u64};
use std::collections::BTreeMap;

/// The times of one job, in nanoseconds of the monotonic clock.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    schedule: Option<Schedule>,
    /// Operations per second that arrive.
    rate: Option<f64>,
    think: u64,
    think_blocks: u64,
    /// Operations until the next pause.
    until_pause: u64,
    /// The end of the pause.
    paused_until: u64,
}

/// Operations per second of each copy, where all of them together are to come to so many per cent of what is known.
pub(super) fn share(percent: u64, place: &Place) -> Result<u64, WorkError> {
    part(
        approx(percent) / 100.0 / f64::from(place.copies.max(1)),
        place,
    )
}

/// Operations per second that are such a share of what is known.
pub(super) fn part(share: f64, place: &Place) -> Result<u64, WorkError> {
    let known = place.known.ok_or_else(|| {
        WorkError::Failed("take a share of what another test came to: nobody knows it".to_owned())
    })?;
    Ok(round_to_u64(known * share).max(1))
}

impl Pace {
    pub(super) fn new(job: &Job, seed: u64) -> Self {
        let schedule = job
            .rate_iops
            .map(|rate| Schedule::new(approx(rate), job.arrivals, seed));
        let think_blocks = job.think_blocks.max(1);
        Self {
            schedule,
            rate: job.rate_iops.map(approx),
            think: job.think.0,
            think_blocks,
            until_pause: think_blocks,
            paused_until: 0,
        }
    }

    /// Reports how many operations arrived a second, where they did so by themselves.
    pub(super) fn report(&self, reported: &mut BTreeMap<String, f64>) {
        reported.extend(self.rate.map(|rate| (RATE.to_owned(), rate)));
    }

    /// What must be said at the end of a job that works until it is ended.
    pub(super) fn behind(&self) -> Option<String> {
        let now = sys::clock::monotonic();
        self.schedule.as_ref().and_then(|of| of.behind(now))
    }

    /// The instant before which no operation may start.
    pub(super) fn next(&mut self, now: u64) -> u64 {
        let arrives = self.schedule.as_mut().map(|schedule| schedule.due(now));
        arrives.unwrap_or(0).max(self.paused_until)
    }

    /// The operation that may start now has started: when it was meant to.
    pub(super) fn take(&mut self, now: u64) -> u64 {
        let Some(schedule) = &mut self.schedule else {
            return now;
        };
        let due = schedule.due(now);
        schedule.advance(1.0);
        due
    }

    /// An operation has ended. True where a pause begins with that.
    pub(super) fn ended(&mut self, now: u64) -> bool {
        if self.think == 0 {
            return false;
        }
        self.until_pause -= 1;
        let pauses = self.until_pause == 0;
        if pauses {
            self.pause(now);
        }
        pauses
    }

    /// A pause begins.
    pub(super) fn pause(&mut self, now: u64) {
        self.until_pause = self.think_blocks;
        self.paused_until = now + self.think;
    }

    /// The end of the last pause.
    pub(super) const fn resumes(&self) -> u64 {
        self.paused_until
    }

    /// What arrives comes that much later.
    pub(super) fn shift(&mut self, nanos: u64) {
        if let Some(schedule) = &mut self.schedule {
            schedule.shift(nanos);
        }
    }
}
