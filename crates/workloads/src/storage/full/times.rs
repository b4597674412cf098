//! The times of a job in ticks of its clock: since when it is measured, until when, and how long each direction worked.

use model::job::{Job, Language};
use model::num::{approx, round_to_u64};
use model::units::Nanos;
use sys::clock::Clock;

/// The times.
#[derive(Clone, Copy, Debug)]
pub(in crate::storage) struct Times {
    clock: Clock,
    /// The last reading of the clock.
    pub(in crate::storage) now: u64,
    delay_ns: u64,
    ramp: u64,
    /// What is done in the ramp is told while that goes on.
    pub(super) shows_ramp: bool,
    /// The measured time; `None` for no limit.
    length: Option<u64>,
    pub(in crate::storage) started: bool,
    /// The end of the ramp, where it is not over.
    pub(super) ramp_until: Option<u64>,
    end: u64,
    /// When this phase began, and when the last operation of each direction ended in it.
    phase_began: u64,
    pub(in crate::storage) last: [u64; 3],
    worked: [u64; 3],
}

/// `nanos` in ticks of `clock`.
pub(super) fn ticks(clock: Clock, nanos: Nanos) -> u64 {
    match clock.rate() {
        None => nanos.0,
        Some(ns_per_tick) => round_to_u64(approx(nanos.0) / ns_per_tick),
    }
}

/// Ticks of `clock` in seconds.
pub(super) fn seconds(clock: Clock, ticks: u64) -> f64 {
    approx(clock.nanos(0, ticks)) / 1e9
}

impl Times {
    pub(in crate::storage) fn new(job: &Job, clock: Clock) -> Self {
        Self {
            clock,
            now: 0,
            delay_ns: job.start_delay.0,
            ramp: ticks(clock, job.ramp),
            shows_ramp: job.language == Language::Vdbench,
            length: job.end.time.map(|time| ticks(clock, time)),
            started: false,
            ramp_until: None,
            end: u64::MAX,
            phase_began: 0,
            last: [0; 3],
            worked: [0; 3],
        }
    }

    /// The first operation is about to begin: waits until it may.
    pub(in crate::storage) fn start(&mut self) {
        self.started = true;
        if self.delay_ns > 0 {
            sys::clock::sleep_until_or_stop(sys::clock::monotonic() + self.delay_ns);
        }
        self.now = self.clock.tick();
        self.ramp_until = (self.ramp > 0).then(|| self.now + self.ramp);
    }

    /// What is measured begins: now.
    pub(in crate::storage) fn begin(&mut self) -> u64 {
        let now = self.clock.tick();
        self.now = now;
        self.phase_began = now;
        self.last = [0; 3];
        self.worked = [0; 3];
        let in_ramp = self.ramp_until.is_some();
        self.end = match self.length {
            Some(length) if !in_ramp => now.saturating_add(length),
            _ => u64::MAX,
        };
        now
    }

    /// Whether the ramp goes on.
    pub(in crate::storage) const fn is_in_ramp(&self) -> bool {
        self.ramp_until.is_some()
    }

    /// Whether the ramp ends now.
    #[inline]
    pub(in crate::storage) fn ramp_ends(&mut self) -> bool {
        match self.ramp_until {
            Some(until) if self.now >= until => {
                self.ramp_until = None;
                true
            }
            _ => false,
        }
    }

    #[inline]
    pub(in crate::storage) const fn is_over(&self) -> bool {
        self.now >= self.end
    }

    /// The end, or that of the ramp.
    pub(in crate::storage) fn next_end(&self) -> u64 {
        self.end.min(self.ramp_until.unwrap_or(u64::MAX))
    }

    /// There are so many more ticks.
    pub(super) fn set_end(&mut self, after: Nanos) {
        self.end = self.clock.tick().saturating_add(ticks(self.clock, after));
    }

    /// One phase ends and another begins: each direction worked until its last operation ended.
    pub(super) fn next_phase(&mut self) {
        for (last, worked) in self.last.iter_mut().zip(&mut self.worked) {
            *worked += last.saturating_sub(self.phase_began);
            *last = 0;
        }
        self.phase_began = self.clock.tick();
    }

    /// How long each direction worked, in nanoseconds.
    pub(in crate::storage) fn worked_ns(&self) -> [u64; 3] {
        let mut all = self.worked;
        for (last, worked) in self.last.iter().zip(&mut all) {
            *worked += last.saturating_sub(self.phase_began);
        }
        all.map(|ticks| self.clock.nanos(0, ticks))
    }
}
