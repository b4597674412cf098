//! The measured loop of jobs that ask for more than the plain one: the same batches and the same three readings of the
//! clock as in `body`, around operations of any size on any place of several files, which end by themselves, go at
//! rates of their own, are checked, and may fail.
//!
//! It is a loop of its own, so that the plain one stays what it is: a job that asks for nothing of this pays for
//! nothing of it. Everything optional is an `Option` that is looked at once per operation or batch.

mod budget;
mod checks;
mod cmdprio;
mod collect;
mod course;
mod covered;
mod ledger;
mod log;
mod passes;
mod phases;
mod popular;
mod rates;
mod samples;
mod search;
mod sizes;
mod steady;
mod times;
mod walk;
mod write;

pub(super) use budget::Budget;
pub(super) use samples::Samples;
pub(super) use setup::full;
pub(super) use times::Times;
pub(super) use write::repeat;

mod finish;
mod known;
mod missing;
mod setup;
#[cfg(test)]
mod tests;

use super::body::{Queue, index};
use super::broken::Broken;
use super::pace::Pace;
use super::records::Records;
use super::taking::Taking;
use super::watch::Watch;
use checks::{Checks, Expected};
use cmdprio::PriorityDraw;
use course::{Course, Target};
use engine::recorder::Recorder;
use engine::tick::SoFar;
use engine::workload::{Body, Finish, WorkError};
use log::Log;
use model::job::ContinueOn;
use model::num::approx;
use passes::Cached;
use phases::Phase;
use rates::{Due, Floor, Rates};
use search::Search;
use std::ops::Range;
use std::path::PathBuf;
use steady::Steady;
use sys::clock::Clock;
use sys::io::flow::Member;
use sys::io::{Engine, Kind, Op, Wait};
use write::Writer;

/// One job at work on an engine.
pub(super) struct Full<E> {
    engine: E,
    /// The files, by their numbers in the engine.
    paths: Vec<PathBuf>,
    kinds: &'static [Kind],
    course: Course,
    /// What the page cache is to forget, where the job asks for it.
    cached: Option<Cached>,
    queue: Queue<Slot>,
    limits: Limits,
    records: Records,
    writer: Writer,
    checks: Option<Checks>,
    pace: Option<Pace>,
    pauses: Pauses,
    /// Those beside which it goes, and how long it waits where it is ahead of them.
    flow: Option<(Member, u64)>,
    cmdprio: Option<PriorityDraw>,
    rates: Option<Rates>,
    floor: Option<Floor>,
    search: Option<Search>,
    steady: Option<Steady>,
    samples: Option<Samples>,
    log: Option<Box<Log>>,
    /// Something looks at each group of operations that is over: a log, a search, a steady state, a longest latency.
    is_watched: bool,
    times: Times,
    phase: Phase,
    /// Nothing new begins: the time is over, or the job has found what it was to find.
    ending: bool,
    /// Where blocks are searched for, the file and the place in it.
    search_at: (u32, u64),
    /// Operations that end are recorded.
    recording: bool,
    syncs: Syncs,
    max_latency_ns: u64,
    errors: Errors,
    /// Bytes of each direction.
    bytes: [u64; 3],
    clock: Clock,
    watch: Watch,
    /// The mean size of an operation where work is bytes, which are counted; elsewhere it is operations.
    size_mean: Option<f64>,
    notes: Vec<String>,
    /// What ended it before its time.
    broken: Option<Broken>,
    /// What operations do where they are no transfers, in the words of errors.
    word: Option<&'static str>,
}

/// What is synced at the end.
#[derive(Clone, Copy, Debug)]
struct Syncs {
    at_end: bool,
    on_close: bool,
    /// Files that have been asked for at the end.
    asked: u32,
}

/// Pauses, beyond what [`Pace`] knows of them.
#[derive(Clone, Copy, Debug)]
struct Pauses {
    spin_ns: u64,
    counts_begun: bool,
    /// Work between two pauses, in ticks; 0 for none.
    iotime: u64,
    worked_since: u64,
    /// What a pause shifts, where rates are not to make up for it.
    shift_ns: u64,
}

/// Errors that were let pass.
#[derive(Clone, Debug, Default)]
struct Errors {
    rule: ContinueOn,
    counts: [u64; 3],
    short: [u64; 3],
    first: i32,
}

/// How many may be under way, go in together, and come out together.
#[derive(Clone, Copy, Debug)]
struct Limits {
    submit: usize,
    low: usize,
    taking: Taking,
    no_overlap: bool,
}

/// How the data of a read is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Judge {
    Not,
    /// It is what this says.
    As(Expected),
}

/// One operation under way.
#[derive(Clone, Copy, Debug)]
struct Slot {
    target: Target,
    judge: Judge,
    busy: bool,
    turn: u32,
    /// The writing that a write is, where writes are checked.
    writing: u64,
    /// Which of the priorities of [`PriorityDraw`] it has.
    priority: u8,
    start: u64,
    submitted: u64,
}

/// What came of the attempt to begin an operation.
enum Next {
    Begun,
    /// Nothing may begin before this instant.
    Later(u64),
    Nothing,
}

impl Slot {
    const FREE: Self = Self {
        target: Target {
            kind: Kind::Read,
            file: 0,
            offset: 0,
            len: 0,
        },
        judge: Judge::Not,
        busy: false,
        turn: 0,
        writing: 0,
        priority: 0,
        start: 0,
        submitted: 0,
    };

    /// Whether its operation is under way and touches the bytes of `target`.
    fn overlaps(&self, target: &Target) -> bool {
        let other = &self.target;
        self.busy
            && other.file == target.file
            && other.offset < target.offset + u64::from(target.len)
            && target.offset < other.offset + u64::from(other.len)
    }
}

impl Limits {
    /// How many may begin, where so many are under way of `depth` at most.
    #[inline]
    const fn room(&self, under_way: usize, depth: usize) -> usize {
        if under_way > self.low {
            return 0;
        }
        depth.saturating_sub(under_way)
    }
}

impl<E: Engine> Full<E> {
    /// Begins what may begin, and says how long the caller may wait for completions.
    #[inline]
    fn fill(&mut self) -> Result<Wait, WorkError> {
        if self.ending && self.phase == Phase::Work {
            return Ok(Wait::One);
        }
        let under_way = self.queue.in_flight();
        let depth = match &self.search {
            Some(search) => index(search.depth()),
            None => self.queue.slots.len(),
        };
        let mut room = self.limits.room(under_way, depth);
        let mut wait = Wait::One;
        while room > 0 {
            let mut now = self.clock.tick_unordered();
            let together = room.min(self.limits.submit);
            while self.queue.fresh.len() < together {
                match self.next(&mut now) {
                    Next::Begun => {}
                    Next::Later(at) => {
                        wait = Wait::Until(at);
                        break;
                    }
                    Next::Nothing => break,
                }
            }
            let begun = self.queue.fresh.len();
            self.submit_fresh()?;
            room -= begun;
            if begun < together {
                break;
            }
        }
        Ok(match wait {
            Wait::One if self.limits.taking.least == 0 => Wait::No,
            Wait::One => Wait::Several(self.limits.taking.least),
            wait => wait,
        })
    }

    /// Whether an operation under way touches the bytes of `target`.
    fn overlaps(&self, target: &Target) -> bool {
        self.queue.slots.iter().any(|slot| slot.overlaps(target))
    }

    /// Hands over what has been prepared.
    #[inline]
    fn submit_fresh(&mut self) -> Result<(), WorkError> {
        let begun = self.queue.fresh.len();
        if begun == 0 {
            return Ok(());
        }
        let before = E::SYNCHRONOUS.then(|| self.clock.tick());
        let path = &self.paths[0];
        self.engine
            .submit()
            .map_err(|error| WorkError::failed("submit operations on", path.display(), error))?;
        // Where the call that submits is the operation, it begins with the call.
        let submitted = before.unwrap_or_else(|| self.clock.tick_unordered());
        for &slot in &self.queue.fresh {
            self.queue.slots[index(slot)].submitted = submitted;
        }
        if let Some(samples) = &mut self.samples {
            samples.submitted(
                begun,
                self.queue.slots.len() - self.queue.free.len() - begun,
            );
        }
        self.queue.fresh.clear();
        Ok(())
    }

    /// Begins the next operation where one may begin now.
    #[inline]
    fn next(&mut self, now: &mut u64) -> Next {
        match self.phase {
            Phase::Work => self.next_of_work(now),
            _ => self.next_of_end(*now),
        }
    }

    #[inline]
    fn next_of_work(&mut self, now: &mut u64) -> Next {
        if let Some((target, judge, start)) = self.writer.held {
            if self.overlaps(&target) {
                return Next::Nothing;
            }
            self.writer.held = None;
            self.prepare(target, judge, start);
            return Next::Begun;
        }
        if self.course.is_done() || self.checks.as_ref().is_some_and(Checks::is_time) {
            return Next::Nothing;
        }
        if let Some(checks) = &mut self.checks
            && checks.how.only_checks
            && self.kinds != [Kind::Read]
        {
            retrace(&mut self.course, checks);
            return Next::Nothing;
        }
        if let Some(sync) = self.course.sync() {
            self.prepare(sync, Judge::Not, *now);
            return Next::Begun;
        }
        if let Some(pace) = &mut self.pace {
            *now = self.clock.tick_unordered();
            let at = pace.next(*now);
            if at > *now {
                return Next::Later(at);
            }
        }
        if let Some((member, pause)) = &self.flow
            && !member.may_go()
        {
            return Next::Later(now.saturating_add(*pause));
        }
        let kind = match &mut self.rates {
            None => self.course.kind(),
            Some(rates) => match rates.due(self.kinds, *now) {
                Due::All => self.course.kind(),
                Due::Only(kind) => kind,
                Due::Later(at) => return Next::Later(at),
            },
        };
        let target = self.course.next(kind);
        if let Some((member, _)) = &mut self.flow {
            member.goes();
        }
        if let Some(file) = self.course.begins_anew() {
            self.forget(file..file + 1);
            *now = self.clock.tick_unordered();
        }
        let start = self.begins(&target, *now);
        let judge = if self.checks.is_some() && self.kinds == [Kind::Read] {
            Judge::As(Expected::Any)
        } else {
            Judge::Not
        };
        if self.limits.no_overlap && self.overlaps(&target) {
            self.writer.held = Some((target, judge, start));
            return Next::Nothing;
        }
        self.prepare(target, judge, start);
        Next::Begun
    }

    /// When an operation that begins now was meant to.
    #[inline]
    fn begins(&mut self, target: &Target, now: u64) -> u64 {
        let mut start = now;
        if let Some(pace) = &mut self.pace {
            start = pace.take(now);
            if self.pauses.counts_begun && pace.ended(now) {
                self.pause_begins(now);
            }
        }
        if let Some(rates) = &mut self.rates {
            start = rates.take(target.kind, u64::from(target.len), now);
        }
        if self.pace.is_some() {
            let since = start.max(self.queue.room_since);
            self.records.start_late(now.saturating_sub(since));
        }
        start
    }

    /// Asks the page cache to forget files.
    #[cold]
    fn forget(&mut self, mut files: Range<u32>) {
        let Some(cached) = &self.cached else { return };
        let engine = &mut self.engine;
        let forgotten = files.try_for_each(|file| {
            engine.let_go(file)?;
            cached.forget(file)
        });
        if let Err(error) = forgotten {
            let path = self.paths[0].display();
            let error = WorkError::failed("drop the cached pages of", path, error);
            self.breaks(error, None);
        }
    }

    /// The job ends with this error, if it is the first.
    #[cold]
    fn breaks(&mut self, error: WorkError, errno: Option<i32>) {
        self.broken.get_or_insert(Broken::new(error, errno));
    }

    /// What ended the job, where something did.
    #[inline]
    fn intact(&self) -> Result<(), WorkError> {
        match &self.broken {
            None => Ok(()),
            Some(broken) => Err(broken.error.clone()),
        }
    }

    fn work(&mut self, ops: u64) -> Result<u64, WorkError> {
        let mut done = 0;
        while done < ops && self.phase != Phase::Over {
            let wait = self.fill()?;
            if self.queue.in_flight() > 0 {
                done += self.collect(wait, ops - done)?;
            } else if let Wait::Until(next) = wait {
                self.wait_until(next);
            } else {
                self.advance();
            }
            self.look();
            self.intact()?;
        }
        Ok(done)
    }

    #[inline]
    fn prepare(&mut self, target: Target, judge: Judge, start: u64) {
        let Some(slot) = self.queue.free.pop() else {
            return;
        };
        let place = &mut self.queue.slots[index(slot)];
        let is_used = self.checks.is_some() || place.target.kind == Kind::Read;
        (place.target, place.judge, place.start, place.busy) = (target, judge, start, true);
        let mut op = Op {
            kind: target.kind,
            file: target.file,
            offset: target.offset,
            len: target.len,
            at: self.writer.at(place.turn),
            priority: 0,
        };
        if let Some(cmdprio) = &mut self.cmdprio {
            (place.priority, op.priority) = cmdprio.draw(&target);
        }
        if op.kind == Kind::Write {
            place.turn = self.writer.turn_after(place.turn);
            let buffer = self.engine.buffer(slot);
            place.writing = self
                .writer
                .fill(buffer, &mut op, is_used, self.checks.as_mut());
        }
        self.engine.prepare(slot, op);
        self.queue.fresh.push(slot);
    }
}

/// Goes through what an earlier job of the same description wrote, as far as it is looked for at a time.
#[cold]
fn retrace(course: &mut Course, checks: &mut Checks) {
    while !course.is_done() && !checks.is_time() && sys::signal::interrupted().is_none() {
        let kind = course.kind();
        let target = course.next(kind);
        if target.kind == Kind::Write {
            checks.retrace(target.file, target.offset, target.len);
        }
    }
}

impl<E: Engine> Body for Full<E> {
    fn batch(&mut self, ops: u64, _: &mut Recorder) -> Result<u64, WorkError> {
        self.start();
        let done = self.work(ops);
        if let Err(error) = &done {
            self.breaks(error.clone(), None);
        }
        done
    }

    fn work_per_op(&self) -> f64 {
        self.size_mean.unwrap_or(1.0)
    }

    fn work(&self) -> Option<f64> {
        self.size_mean.map(|_| approx(self.bytes.iter().sum()))
    }

    fn measured_part_begins(&mut self) {
        if self.phase == Phase::Over && !self.ending {
            // The warm-up is no part of what the job was to do.
            self.phase = Phase::Work;
        }
        self.course.budget().renew();
        self.begin();
    }

    fn tick(&mut self, so_far: &mut SoFar) {
        // What a ramp does is forgotten, and shown only where each interval is to be seen.
        let in_ramp = self.times.is_in_ramp();
        if in_ramp && !self.times.shows_ramp {
            return;
        }
        so_far.ramp(in_ramp);
        self.records.give(so_far);
        so_far.job = Some(Box::new(self.measured()));
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        Ok(self.hand_over())
    }
}
