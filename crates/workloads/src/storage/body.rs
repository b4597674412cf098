//! The measured loop: keep the queue full, take what is over, record its latency.
//!
//! A few completions are taken ([`Taking`] says how many), as many operations are prepared in their slots, and those
//! are handed to the kernel in one go, before any other completion is looked at. The clock is read three times per
//! batch: before its operations are prepared, after they are submitted, and after completions are taken. Submission
//! latency (slat) is from the first to the second, completion latency (clat) from the second to the third, and the
//! whole (lat) from the first to the third; with a rate the whole begins at the intended start. Operations of one
//! batch that complete together are recorded together.

use super::broken::{Broken, EIO};
use super::data::Fill;
use super::frame::Frame;
use super::offsets::Offsets;
use super::pace::Pace;
use super::records::{Group, Records, amounts, place};
use super::taking::Taking;
use super::watch::Watch;
use engine::recorder::Recorder;
use engine::tick::SoFar;
use engine::workload::{Body, Finish, WorkError};
use model::job::{Redundancy, Report};
use model::rng::Rng;
use std::path::PathBuf;
use sys::clock::Clock;
use sys::io::{Completion, Engine, Kind, Op, Wait};

/// One job at work on an engine.
pub(super) struct Plain<E> {
    pub(super) engine: E,
    pub(super) path: PathBuf,
    pub(super) work: Work,
    pub(super) queue: Queue<Slot>,
    pub(super) records: Records,
    pub(super) pace: Option<Pace>,
    pub(super) taking: Taking,
    /// What the job asks for around its operations, if anything.
    pub(super) frame: Option<Box<Frame>>,
    pub(super) clock: Clock,
    pub(super) watch: Watch,
    /// What one operation is worth in the unit of the first metric.
    pub(super) work_per_op: f64,
    pub(super) notes: Vec<String>,
    /// What ended it before its time.
    pub(super) broken: Option<Broken>,
    /// What operations do where they are no transfers, in the words of errors.
    pub(super) word: Option<&'static str>,
}

/// What is done next.
pub(super) struct Work {
    pub(super) block: u32,
    /// One walk for all kinds: a mixed job reads and writes the same blocks.
    pub(super) offsets: Offsets,
    pub(super) mix: Choice,
    pub(super) rng: Rng,
    /// An fsync after every so many writes.
    pub(super) sync_every: Option<(u64, Kind)>,
    pub(super) writes_since_sync: u64,
    pub(super) redundancy: Redundancy,
    /// Blocks of random data in each slot's buffer, which writes take in turn.
    pub(super) turns: u32,
    /// Numbers what is written.
    pub(super) written: u64,
}

/// Which kind of operation comes next.
#[derive(Clone, Copy, Debug)]
pub(super) enum Choice {
    Always(Kind),
    /// Reads in this many of 2^32 cases, writes in the others.
    ReadsIn(u64),
}

/// The slots, with what is known of the operation in each.
pub(super) struct Queue<S> {
    pub(super) free: Vec<u32>,
    /// Those of the batch that is being prepared.
    pub(super) fresh: Vec<u32>,
    pub(super) slots: Vec<S>,
    pub(super) over: Vec<Completion>,
    /// Since when there has been a free slot.
    pub(super) room_since: u64,
}

/// One operation under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    kind: Kind,
    turn: u32,
    start: u64,
    submitted: u64,
}

impl<S: Clone> Queue<S> {
    /// Free slots that begin as copies of `slot`.
    pub(super) fn new(depth: u32, slot: S) -> Self {
        let slots = vec![slot; index(depth)];
        Self {
            free: (0..depth).rev().collect(),
            fresh: Vec::with_capacity(slots.len()),
            over: vec![Completion::default(); slots.len()],
            slots,
            room_since: 0,
        }
    }

    pub(super) fn in_flight(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

impl Slot {
    pub(super) const FREE: Self = Self {
        kind: Kind::Read,
        turn: 0,
        start: 0,
        submitted: 0,
    };
}

impl Work {
    /// The next operation of a slot, and whether it has data to send.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "several loops call it, and a call for each operation costs a tenth of what the operation does"
    )]
    fn next(&mut self, turn: u32) -> Op {
        let kind = match self.sync_every {
            Some((every, kind)) if self.writes_since_sync >= every => {
                self.writes_since_sync = 0;
                return Op {
                    kind,
                    file: 0,
                    offset: 0,
                    len: 0,
                    at: 0,
                    priority: 0,
                };
            }
            _ => self.kind(),
        };
        if kind == Kind::Write {
            self.writes_since_sync += 1;
        }
        Op {
            kind,
            file: 0,
            offset: self.offsets.next() * u64::from(self.block),
            len: self.block,
            at: index(turn) * index(self.block),
            priority: 0,
        }
    }

    #[inline]
    fn kind(&mut self) -> Kind {
        match self.mix {
            Choice::Always(kind) => kind,
            Choice::ReadsIn(limit) if self.rng.next() >> 32 < limit => Kind::Read,
            Choice::ReadsIn(_) => Kind::Write,
        }
    }
}

impl<E: Engine> Plain<E> {
    /// Fills free slots with what may start, and submits it. Says how long the caller may wait for completions.
    #[inline]
    fn fill(&mut self) -> Result<Wait, WorkError> {
        let start = self.clock.tick_unordered();
        let keep = match &mut self.frame {
            None => 0,
            Some(frame) => frame.keeps(self.queue.free.len()),
        };
        self.begin(start, keep);
        if !self.queue.fresh.is_empty() {
            self.hand_over()?;
        }
        Ok(match &mut self.pace {
            Some(pace) if self.queue.free.len() > keep => {
                Wait::Until(pace.next(self.clock.tick_unordered()))
            }
            _ => Wait::Several(self.taking.least),
        })
    }

    /// Prepares what may start now, and leaves so many slots free.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "it is the loop over operations, which was part of its caller"
    )]
    fn begin(&mut self, mut start: u64, keep: usize) {
        while self.queue.free.len() > keep {
            if let Some(pace) = &mut self.pace {
                let now = self.clock.tick_unordered();
                if pace.next(now) > now {
                    break;
                }
                start = pace.take(now);
                self.records
                    .start_late(now.saturating_sub(start.max(self.queue.room_since)));
            }
            let Some(slot) = self.queue.free.pop() else {
                break;
            };
            self.prepare(slot, start);
        }
    }

    /// Submits what has been prepared.
    #[inline]
    fn hand_over(&mut self) -> Result<(), WorkError> {
        let submitted = if E::SYNCHRONOUS {
            // The call that submits is the operation: it begins now.
            let begins = self.clock.tick();
            self.submit()?;
            begins
        } else {
            self.submit()?;
            self.clock.tick_unordered()
        };
        self.stamp(submitted);
        if let Some(frame) = &mut self.frame {
            let begun = self.queue.fresh.len();
            frame.begun(begun, self.queue.in_flight() - begun);
        }
        self.queue.fresh.clear();
        Ok(())
    }

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "several loops call it, and a call for each operation costs a tenth of what the operation does"
    )]
    fn prepare(&mut self, slot: u32, start: u64) {
        let place = &mut self.queue.slots[index(slot)];
        let mut op = self.work.next(place.turn);
        place.kind = op.kind;
        place.start = start;
        if op.kind == Kind::Write {
            let work = &mut self.work;
            place.turn = (place.turn + 1) % work.turns;
            if work.redundancy.draws_same(&mut work.rng) {
                // Behind the blocks that writes take in turn lies the one that all equal ones come from.
                op.at = index(work.turns) * index(work.block);
            } else {
                work.written = work.written.wrapping_add(1);
                let data = &mut self.engine.buffer(slot)[op.at..op.at + index(op.len)];
                work.redundancy.refresh(work.written, data);
            }
        }
        self.engine.prepare(slot, op);
        self.queue.fresh.push(slot);
    }

    /// Writes down when the batch was submitted.
    #[inline]
    fn stamp(&mut self, submitted: u64) {
        for &slot in &self.queue.fresh {
            self.queue.slots[index(slot)].submitted = submitted;
        }
    }

    #[inline]
    fn submit(&mut self) -> Result<(), WorkError> {
        match self.engine.submit() {
            Ok(()) => Ok(()),
            Err(error) => Err(self.engine_fails("submit operations on", &error)),
        }
    }

    /// Takes in at most `most` operations that are over, or a whole batch where batches are waited for, and says how
    /// many transferred data.
    #[inline]
    fn collect(&mut self, wait: Wait, most: u64) -> Result<u64, WorkError> {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let most = most.max(index(self.taking.least));
        let into = most.min(self.taking.most).min(self.queue.over.len());
        let count = match self.engine.reap(wait, &mut self.queue.over[..into]) {
            Ok(count) => count,
            Err(error) => return Err(self.engine_fails("wait for operations on", &error)),
        };
        let now = if E::SYNCHRONOUS {
            self.clock.tick()
        } else {
            self.clock.tick_unordered()
        };
        if self.queue.free.is_empty() {
            self.queue.room_since = now;
        }
        let mut group: Option<Group> = None;
        let mut transfers = 0;
        for at in 0..count {
            let completion = self.queue.over[at];
            let slot = self.queue.slots[index(completion.slot)];
            if let Err(error) = self.check(completion, slot.kind) {
                self.stops(at, count, group, now);
                return Err(error);
            }
            self.queue.free.push(completion.slot);
            transfers += u64::from(place(slot.kind) < 3);
            group = match group {
                Some(mut same)
                    if same.submitted == slot.submitted
                        && same.start == slot.start
                        && same.kind == slot.kind =>
                {
                    same.count += 1;
                    Some(same)
                }
                other => {
                    if let Some(other) = other {
                        self.records.record(self.clock, other, now);
                    }
                    Some(Group {
                        kind: slot.kind,
                        priority: 0,
                        start: slot.start,
                        submitted: slot.submitted,
                        count: 1,
                    })
                }
            };
            if let Some(pace) = &mut self.pace {
                pace.ended(now);
            }
        }
        if let Some(last) = group {
            self.records.record(self.clock, last, now);
        }
        if let Some(frame) = &mut self.frame {
            frame.ended(now, count, self.records.done());
        }
        Ok(transfers)
    }

    /// What has been done so far.
    fn report(&self) -> Report {
        let done = self.records.done();
        let mut report = Report {
            syncs: done[3],
            ..Report::default()
        };
        for (told, ops) in report.done.each_mut().into_iter().zip(done) {
            (told.ops, told.bytes) = (ops, ops * u64::from(self.work.block));
        }
        if let Some(frame) = &self.frame {
            frame.report(&mut report);
        }
        report
    }

    /// Inside a frame: what begins and ends by time.
    fn look(&mut self) {
        let Some(frame) = &mut self.frame else {
            return;
        };
        if !frame.times.started {
            frame.times.start();
            frame.begin();
            self.watch.start();
        }
        if frame.times.ramp_ends() {
            self.forget();
        }
    }

    /// What is measured begins now.
    fn forget(&mut self) {
        self.records.clear();
        self.watch.begin();
        if let Some(frame) = &mut self.frame {
            frame.begin();
        }
    }

    #[inline]
    fn check(&self, completion: Completion, kind: Kind) -> Result<(), WorkError> {
        if completion.result == i32::try_from(self.work.block).unwrap_or(i32::MAX) {
            return Ok(());
        }
        self.explain(completion, kind)
    }

    /// A result that is not a whole block: right for what transfers nothing, and an error for the rest.
    #[cold]
    fn explain(&self, completion: Completion, kind: Kind) -> Result<(), WorkError> {
        let operation = match kind {
            Kind::Read => "read",
            Kind::Write => "write",
            Kind::Trim => "trim",
            Kind::Sync => "fsync",
            Kind::DataSync => "fdatasync",
        };
        let operation = self.word.unwrap_or(operation);
        match completion.bytes() {
            Err(error) => Err(WorkError::failed(operation, self.path.display(), error)),
            Ok(_) if matches!(kind, Kind::Trim | Kind::Sync | Kind::DataSync) => Ok(()),
            Ok(bytes) => Err(WorkError::Failed(format!(
                "{operation} `{}`: {bytes} of {} bytes were transferred{}",
                self.path.display(),
                self.work.block,
                why_short(bytes, kind)
            ))),
        }
    }

    /// The kernel refuses to go on: what is under way stays so.
    #[cold]
    fn engine_fails(&mut self, operation: &str, error: &std::io::Error) -> WorkError {
        let error = WorkError::failed(operation, self.path.display(), error);
        self.broken = Some(Broken::new(error.clone(), None));
        error
    }

    /// The job ends with the completion at `at`: what ended well beside it is recorded.
    #[cold]
    fn stops(&mut self, at: usize, count: usize, group: Option<Group>, now: u64) {
        if let Some(group) = group {
            self.records.record(self.clock, group, now);
        }
        for further in at..count {
            let completion = self.queue.over[further];
            let slot = self.queue.slots[index(completion.slot)];
            self.queue.free.push(completion.slot);
            match self.check(completion, slot.kind) {
                Ok(()) => {
                    let alone = Group {
                        kind: slot.kind,
                        priority: 0,
                        start: slot.start,
                        submitted: slot.submitted,
                        count: 1,
                    };
                    self.records.record(self.clock, alone, now);
                }
                Err(error) => self.breaks(completion, error),
            }
        }
        if let Some(frame) = &mut self.frame {
            frame.ended(now, count, self.records.done());
        }
    }

    /// The first error is the one that ends it.
    fn breaks(&mut self, completion: Completion, error: WorkError) {
        let is_short = completion.bytes().is_ok();
        let broken = || Broken::new(error, is_short.then_some(EIO));
        self.broken.get_or_insert_with(broken);
    }

    /// Waits for what is under way, without recording it.
    fn drain(&mut self) {
        while self.queue.in_flight() > 0 {
            let count = match self.engine.reap(Wait::One, &mut self.queue.over) {
                Ok(count) => count,
                Err(error) => {
                    self.engine_fails("wait for operations on", &error);
                    return;
                }
            };
            for at in 0..count {
                let completion = self.queue.over[at];
                let kind = self.queue.slots[index(completion.slot)].kind;
                self.queue.free.push(completion.slot);
                if let Err(error) = self.check(completion, kind) {
                    self.breaks(completion, error);
                }
            }
        }
    }
}

impl<E: Engine> Body for Plain<E> {
    fn batch(&mut self, ops: u64, _: &mut Recorder) -> Result<u64, WorkError> {
        let mut done = 0;
        while done < ops {
            if self.frame.is_some() {
                self.look();
            }
            let wait = self.fill()?;
            match wait {
                Wait::Until(next) if self.queue.in_flight() == 0 => {
                    let end = self
                        .frame
                        .as_ref()
                        .map_or(u64::MAX, |frame| frame.times.next_end());
                    sys::clock::sleep_until_or_stop(next.min(end));
                    if let Some(frame) = &mut self.frame {
                        frame.times.now = self.clock.tick();
                    }
                    if sys::signal::interrupted().is_some() {
                        break;
                    }
                }
                // Only a frame keeps free slots from being filled.
                _ if self.queue.in_flight() == 0 => break,
                _ => done += self.collect(wait, ops - done)?,
            }
        }
        Ok(done)
    }

    fn work_per_op(&self) -> f64 {
        self.work_per_op
    }

    fn measured_part_begins(&mut self) {
        if let Some(frame) = &mut self.frame {
            frame.renew();
        }
        self.forget();
    }

    fn tick(&mut self, so_far: &mut SoFar) {
        // What a ramp does is forgotten.
        if !self
            .frame
            .as_ref()
            .is_some_and(|frame| frame.times.is_in_ramp())
        {
            self.records.give(so_far);
            so_far.job = Some(Box::new(self.report()));
        }
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        let mut report = self.report();
        let mut reported = amounts(&report);
        self.watch.end(report.done.read.bytes, &mut reported);
        if let Some(pace) = &self.pace {
            pace.report(&mut reported);
            self.notes.extend(pace.behind());
        }
        // Of what broke nobody knows what is still under way.
        if self.broken.is_none() {
            self.drain();
        }
        report.errno = self.broken.as_ref().and_then(|broken| broken.errno);
        Ok(Finish {
            failed: self.broken.as_ref().map(|broken| broken.error.clone()),
            reported,
            latencies: self.records.take(),
            notes: std::mem::take(&mut self.notes),
            job: Some(Box::new(report)),
            ..Finish::default()
        })
    }
}

/// Why fewer bytes than asked for were transferred, where that is known.
pub(super) fn why_short(bytes: u32, kind: Kind) -> &'static str {
    if bytes == 0 && kind == Kind::Read {
        ": the file ends before"
    } else {
        ""
    }
}

/// A slot or a length as an index: lossless wherever this runs.
#[inline]
pub(super) const fn index(n: u32) -> usize {
    n as usize
}
