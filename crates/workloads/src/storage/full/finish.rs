//! What a job hands over: first what was measured, then what is still owed: operations under way, checks of what was
//! written and not read back, syncs. A job that broke owes nothing: it hands over what it did until then.

use super::Full;
use super::checks::Checks;
use super::phases::Phase;
use super::search::Search;
use super::steady::Steady;
use crate::storage::records::amounts;
use engine::workload::{Finish, WorkError};
use model::job::{Done, Report};
use model::units::Nanos;
use sys::io::{Engine, Wait};

/// How long reading back may take after the end: whoever waits for the end does so for a minute.
const CHECK_MAX: Nanos = Nanos::from_secs(20);

impl<E: Engine> Full<E> {
    pub(super) fn hand_over(&mut self) -> Finish {
        let mut report = self.measured();
        if let Some(search) = &self.search
            && report.latency_depth.is_none()
        {
            self.notes.push(format!(
                "latency_target: no depth was found that keeps the latency; the search stood at {}",
                search.depth()
            ));
        }
        let series = self.log.as_ref().map(|log| log.series());
        let mut reported = amounts(&report);
        self.watch.end(self.bytes[0], &mut reported);
        if let Some(pace) = &self.pace {
            pace.report(&mut reported);
        }
        self.recording = false;
        if self.broken.is_none()
            && let Err(error) = self.do_the_rest()
        {
            self.breaks(error, None);
        }
        report.errno = self.broken.as_ref().and_then(|broken| broken.errno);
        if let Some(checks) = &self.checks {
            let (right, wrong) = checks.counts();
            (report.verified, report.verify_errors) = (right, wrong);
            if wrong > 0 {
                self.notes.push(format!(
                    "verify: {wrong} of {} blocks are not what was written",
                    right + wrong
                ));
            }
            self.notes.extend(checks.unjudged());
        }
        let failed: u64 = self.errors.counts.iter().sum();
        if failed > 0 {
            let error = std::io::Error::from_raw_os_error(self.errors.first);
            let why = if self.errors.first > 0 {
                error.to_string()
            } else {
                "short".to_owned()
            };
            self.notes.push(format!(
                "{failed} operations failed and were let pass; the first: {why}"
            ));
        }
        Finish {
            failed: self.broken.as_ref().map(|broken| broken.error.clone()),
            reported,
            latencies: self.records.take(),
            series: series.unwrap_or_default(),
            notes: std::mem::take(&mut self.notes),
            job: Some(Box::new(report)),
            ..Finish::default()
        }
    }

    /// What is owed at the end, and the verdict on what was checked.
    fn do_the_rest(&mut self) -> Result<(), WorkError> {
        self.drain()?;
        self.check_the_rest()?;
        self.sync_the_rest()?;
        self.checks.as_mut().map_or(Ok(()), Checks::verdict)
    }

    /// The figures of the measured part, so far.
    pub(super) fn measured(&self) -> Report {
        let mut report = Report::default();
        let done = self.records.done();
        report.syncs = done[3];
        let worked = self.times.worked_ns();
        for (kind, told) in report.done.each_mut().into_iter().enumerate() {
            *told = Done {
                ops: done[kind],
                bytes: self.bytes[kind],
                runtime: (self.bytes[kind] > 0).then_some(Nanos(worked[kind])),
                errors: self.errors.counts[kind],
                short: self.errors.short[kind],
                ..Done::default()
            };
        }
        report.first_errno = Some(self.errors.first).filter(|number| *number > 0);
        report.latency_depth = self.search.as_ref().and_then(Search::result);
        report.steady = self.steady.as_ref().map(Steady::told);
        if let Some(samples) = &self.samples {
            samples.report(&mut report);
        }
        report
    }

    /// Waits for what is under way.
    fn drain(&mut self) -> Result<(), WorkError> {
        while self.queue.in_flight() > 0 {
            self.collect(Wait::One, u64::MAX)?;
        }
        self.writer.held = None;
        Ok(())
    }

    /// Reads back what was written and not checked when the time was over.
    fn check_the_rest(&mut self) -> Result<(), WorkError> {
        let Some(checks) = &mut self.checks else {
            return Ok(());
        };
        if self.phase != Phase::Check {
            checks.begin(true);
            self.phase = Phase::Check;
        }
        self.ending = false;
        // Who interrupts does not wait for checks.
        let is_stopped = sys::signal::interrupted().is_some();
        self.times
            .set_end(if is_stopped { Nanos::ZERO } else { CHECK_MAX });
        loop {
            let wait = self.fill()?;
            if self.queue.in_flight() == 0 {
                let Some(checks) = &mut self.checks else {
                    break;
                };
                if self.times.is_over() || checks.ledger.len() == 0 {
                    break;
                }
                checks.begin(true);
                continue;
            }
            self.collect(wait, u64::MAX)?;
            self.ending = self.times.is_over();
        }
        let left = self.checks.as_ref().map_or(0, |checks| checks.ledger.len());
        if left > 0 {
            self.notes.push(format!(
                "verify: the time was over before {left} writes were read back"
            ));
        }
        Ok(())
    }

    /// Syncs that the job asks for and has not done.
    fn sync_the_rest(&mut self) -> Result<(), WorkError> {
        if self.syncs.on_close {
            self.syncs.asked = 0;
        } else if !self.syncs.at_end {
            return Ok(());
        }
        self.phase = Phase::Sync;
        loop {
            self.fill()?;
            if self.queue.in_flight() == 0 {
                return Ok(());
            }
            self.collect(Wait::One, u64::MAX)?;
        }
    }
}
