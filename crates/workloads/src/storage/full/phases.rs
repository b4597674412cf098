//! What a job does one after the other: its work, checks of what it wrote, syncs, and nothing more; and what is looked
//! at on the way.

use super::checks::{Checks, Expected};
use super::passes::Cached;
use super::times::seconds;
use super::{Errors, Full, Judge, Next, Slot};
use crate::storage::body::{index, why_short};
use crate::storage::broken::EIO;
use crate::storage::records::place;
use engine::workload::WorkError;
use sys::io::{Completion, Engine, Kind};

use super::course::Target;

/// Where a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// What it was asked to do.
    Work,
    /// What was written is read back.
    Check,
    /// What another program wrote is searched for.
    Search,
    /// All files are synced.
    Sync,
    /// Nothing is left.
    Over,
}

impl<E: Engine> Full<E> {
    /// The first batch starts the clock. The counters of the watch were read when the job was made ready: they are
    /// files, and reading them allocates.
    #[inline]
    pub(super) fn start(&mut self) {
        if !self.times.started {
            self.times.start();
            if let Some((member, _)) = &mut self.flow {
                member.join();
            }
            self.watch.start();
            self.count_anew();
        }
    }

    /// What is measured begins now: everything before is forgotten.
    pub(super) fn begin(&mut self) {
        self.watch.begin();
        self.count_anew();
    }

    fn count_anew(&mut self) {
        let now = self.times.begin();
        self.records.clear();
        self.bytes = [0; 3];
        self.errors = Errors {
            rule: std::mem::take(&mut self.errors.rule),
            ..Errors::default()
        };
        self.pauses.worked_since = now;
        if let Some(log) = &mut self.log {
            log.begin(now);
        }
        if let Some(samples) = &mut self.samples {
            samples.begin(now);
        }
        if let Some(floor) = &mut self.floor {
            floor.begin(now);
        }
        if let Some(search) = &mut self.search {
            search.begin(now);
        }
        if let Some(steady) = &mut self.steady {
            steady.begin(now);
        }
    }

    /// Begins the next operation of checks and syncs.
    pub(super) fn next_of_end(&mut self, now: u64) -> Next {
        let (target, judge) = match self.phase {
            Phase::Check if !self.ending => {
                let Some(entry) = self.checks.as_mut().and_then(|checks| checks.ledger.next())
                else {
                    return Next::Nothing;
                };
                let target = Target {
                    kind: Kind::Read,
                    file: u32::from(entry.file),
                    offset: entry.offset,
                    len: entry.len,
                };
                (target, Judge::As(self.expects(entry.writing)))
            }
            Phase::Search if !self.ending && self.queue.in_flight() == 0 => {
                let Some(target) = self.next_of_search() else {
                    return Next::Nothing;
                };
                (target, Judge::As(Expected::Any))
            }
            Phase::Sync if index(self.syncs.asked) < self.paths.len() => {
                self.syncs.asked += 1;
                let target = Target {
                    kind: Kind::Sync,
                    file: self.syncs.asked - 1,
                    offset: 0,
                    len: 0,
                };
                (target, Judge::Not)
            }
            _ => return Next::Nothing,
        };
        self.prepare(target, judge, now);
        Next::Begun
    }

    /// What is known of a block that is looked for.
    fn expects(&self, writing: u64) -> Expected {
        match &self.checks {
            Some(checks) if checks.how.only_checks => Expected::Retraced(writing),
            Some(checks) if checks.how.is_shared => Expected::Written,
            _ => Expected::Writing(writing),
        }
    }

    /// The next place of a search: one at a time, because where it goes on is found by reading.
    fn next_of_search(&mut self) -> Option<Target> {
        let (file, at) = &mut self.search_at;
        loop {
            let (first, bytes) = self.course.region(*file);
            if index(*file) >= self.paths.len() {
                return None;
            }
            if *at < first + bytes {
                let len = (first + bytes - *at).min(self.writer.block as u64);
                return Some(Target {
                    kind: Kind::Read,
                    file: *file,
                    offset: *at,
                    len: u32::try_from(len).unwrap_or(u32::MAX),
                });
            }
            *file += 1;
            *at = self.course.region(*file).0;
        }
    }

    /// A place was searched: it goes on behind what was dealt with.
    #[inline]
    pub(super) fn searched(&mut self, slot: &Slot, dealt_with: usize) {
        if self.phase == Phase::Search {
            let stride = self.checks.as_ref().map_or(1, Checks::stride) as u64;
            // A block that is longer than what is read is gone past.
            let step = match dealt_with as u64 {
                0 => self.course.grain(),
                step => step.next_multiple_of(stride),
            };
            self.search_at.1 = slot.target.offset + step;
        }
    }

    /// Nothing is under way and nothing may begin: what comes next?
    #[cold]
    pub(super) fn advance(&mut self) {
        self.times.next_phase();
        let is_done = self.course.is_done();
        let unchecked = self.checks.as_ref().map_or(0, |checks| checks.ledger.len());
        self.phase = match self.phase {
            Phase::Work | Phase::Check | Phase::Search if self.ending => self.wind_up(),
            Phase::Check if !is_done => Phase::Work,
            Phase::Work | Phase::Check if unchecked > 0 => {
                if let Some(checks) = &mut self.checks {
                    checks.begin(is_done);
                }
                if is_done {
                    self.forget(self.cached.as_ref().map_or(0..0, Cached::all));
                }
                Phase::Check
            }
            Phase::Check if self.checks.as_mut().is_some_and(Checks::searches) => {
                self.search_at = (0, self.course.region(0).0);
                Phase::Search
            }
            Phase::Work | Phase::Check | Phase::Search if self.course.budget().again() => {
                Phase::Work
            }
            Phase::Work | Phase::Check | Phase::Search => self.wind_up(),
            Phase::Sync | Phase::Over => Phase::Over,
        };
        if let (Phase::Sync | Phase::Over, Some((member, _))) = (self.phase, &mut self.flow) {
            // Who is over holds nobody back.
            member.leave();
        }
    }

    const fn wind_up(&self) -> Phase {
        if self.syncs.at_end {
            Phase::Sync
        } else {
            Phase::Over
        }
    }

    /// What is judged by time.
    #[inline]
    pub(super) fn look(&mut self) {
        if self.times.ramp_ends() {
            self.begin();
            return;
        }
        let now = self.times.now;
        if self.times.is_over() {
            self.ending = true;
        }
        if self.times.ramp_until.is_some() {
            return;
        }
        let clock = self.clock;
        if let Some(log) = &mut self.log {
            log.go_on(now);
        }
        if let Some(samples) = &mut self.samples {
            samples.look(now);
        }
        if self.phase != Phase::Work {
            return;
        }
        if let Some(steady) = &mut self.steady
            && steady.judge(now, |ticks| seconds(clock, ticks))
        {
            self.ending = true;
        }
        if let Some(search) = &mut self.search
            && search.judge(now)
        {
            self.ending = true;
        }
        if let Some(floor) = &mut self.floor
            && let Err(why) = floor.judge(self.kinds, now, |ticks| seconds(clock, ticks))
        {
            self.breaks(WorkError::Failed(why), Some(EIO));
        }
        if self.pauses.iotime > 0
            && now.saturating_sub(self.pauses.worked_since) >= self.pauses.iotime
        {
            if let Some(pace) = &mut self.pace {
                pace.pause(now);
            }
            self.pause_begins(now);
        }
    }

    /// A pause begins: its first part keeps the CPU busy.
    pub(super) fn pause_begins(&mut self, now: u64) {
        let spin_until = now.saturating_add(self.pauses.spin_ns);
        while self.pauses.spin_ns > 0
            && sys::clock::monotonic() < spin_until
            && sys::signal::interrupted().is_none()
        {
            std::hint::spin_loop();
        }
        let shift = self.pauses.shift_ns;
        if shift > 0 {
            if let Some(pace) = &mut self.pace {
                pace.shift(shift);
            }
            if let Some(rates) = &mut self.rates {
                rates.shift(shift);
            }
        }
        if let Some(pace) = &mut self.pace {
            self.pauses.worked_since = pace.resumes().max(now);
        }
    }

    /// Nothing is under way and nothing may begin before `next`.
    pub(super) fn wait_until(&mut self, next: u64) {
        // With a rate or a pause the clock is the kernel's, so that its ticks are instants to sleep until.
        sys::clock::sleep_until_or_stop(next.min(self.times.next_end()));
        self.times.now = self.clock.tick();
        self.ending |= sys::signal::interrupted().is_some();
    }

    /// A result that is not the whole length: right for what transfers nothing, let pass where the job says so, and
    /// else the end of the job. Says whether the operation did what it was to do.
    #[cold]
    pub(super) fn passes(&mut self, completion: Completion, slot: &Slot) -> bool {
        let kind = slot.target.kind;
        let (operation, direction) = match kind {
            Kind::Read => ("read", 0),
            Kind::Write => ("write", 1),
            Kind::Trim => ("trim", 2),
            Kind::Sync => ("fsync", 1),
            Kind::DataSync => ("fdatasync", 1),
        };
        let word = self.word.filter(|_| place(kind) < 3);
        let operation = word.unwrap_or(operation);
        let (path, at) = (&self.paths[index(slot.target.file)], slot.target.offset);
        let (error, errno) = match completion.bytes() {
            Ok(_) if place(kind) > 1 => return true,
            Ok(bytes) => {
                self.errors.short[direction] += 1;
                let words = format!(
                    "{operation} `{}` at offset {at}: {bytes} of {} bytes were transferred{}",
                    path.display(),
                    slot.target.len,
                    why_short(bytes, kind)
                );
                (WorkError::Failed(words), Some(EIO))
            }
            Err(error) => {
                let object = format_args!("{}` at offset `{at}", path.display());
                (WorkError::failed(operation, object, error), None)
            }
        };
        let number = errno.unwrap_or(-completion.result);
        let passes = match kind {
            Kind::Read => self.errors.rule.read_passes(number),
            _ => self.errors.rule.write_passes(number),
        };
        if !passes {
            self.breaks(error, errno);
            return false;
        }
        self.errors.counts[direction] += 1;
        if self.errors.first == 0 {
            self.errors.first = (-completion.result).max(0);
        }
        false
    }
}
