//! One thread of a task: operations, one after the other or as they arrive.
//!
//! What is asked for is one operation: a read of an open file, a file that is made. What it needs before and after it,
//! such as opening and closing, is done and recorded beside it. Its response time is that of its calls alone; where
//! operations arrive, its latency counts from then.

use super::choose::{Chooser, Chosen};
use super::map::{Now, Taken, Wants};
use super::set::{Set, words};
use super::tally::{Recorded, Tally};
use super::together::{Doing, Together};
use super::transfer::Opened;
use super::tree::Name;
use crate::fs::aligned::Aligned;
use engine::workload::WorkError;
use model::fileset::{FileOperation, FileSelect, FileTask};
use model::job::SyncOn;
use model::rng::Rng;
use std::ffi::CStr;
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use sys::clock::{Clock, monotonic};
use sys::folder::{How, sync};
use sys::loops::failure::Failure;
use sys::loops::team::Member;

/// What a thread hands over.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) recorded: Recorded,
    pub(super) failed: Option<WorkError>,
    /// When it last had nothing to do.
    pub(super) free_since: u64,
}

/// What came of an operation that was to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stepped {
    /// It was, and its calls took so long, in nanoseconds.
    Did(u64),
    /// Nothing is fit, or nothing is free.
    None { is_busy: bool },
    /// The task has chosen each once.
    Over,
}

/// What times the operations of a thread.
#[derive(Debug)]
pub(super) struct Meter {
    together: Arc<Together>,
    clock: Clock,
    tally: Arc<Tally>,
    recorded: Recorded,
}

impl Meter {
    /// Times an operation, and counts it where it succeeds before the time is over.
    #[inline]
    pub(super) fn time<T>(
        &mut self,
        operation: FileOperation,
        run: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<(T, u64), Failure> {
        let begin = self.clock.tick();
        let result = run();
        let end = self.clock.tick();
        let nanos = self.clock.nanos(begin, end);
        let result = result?;
        self.did(operation, nanos);
        Ok((result, nanos))
    }

    /// Counts an operation that took so long.
    #[inline]
    pub(super) fn did(&mut self, operation: FileOperation, nanos: u64) {
        if !self.together.stops() {
            self.recorded.did(operation, nanos);
            self.tally.did(operation, nanos);
        }
    }

    /// Counts bytes that were read, or else written.
    #[inline]
    pub(super) fn moved(&self, reads: bool, bytes: u64) {
        match (self.together.stops(), reads) {
            (true, _) => {}
            (false, true) => self.tally.read(bytes),
            (false, false) => self.tally.wrote(bytes),
        }
    }
}

/// A thread at work.
#[derive(Debug)]
pub(super) struct Thread {
    pub(super) together: Arc<Together>,
    /// The number of its task.
    pub(super) number: usize,
    pub(super) meter: Meter,
    pub(super) chooser: Chooser,
    /// For reads, and for writes.
    pub(super) buffers: [Aligned; 2],
    /// What the last block that was written is stamped with.
    pub(super) stamp: u64,
    pub(super) names: [Name; 2],
    pub(super) open: Option<Opened>,
    /// A file that this thread gave another name: most likely it is missing.
    pub(super) vacated: u64,
    /// How often it still looks whether a directory has become fit that is chosen once.
    patience: u32,
    /// The arrival of the operation that is next.
    due: Option<u64>,
    free_since: u64,
}

/// A thread that waits for an arrival or its share hears of the end after so long, in nanoseconds.
const LOOK_NS: u64 = 5_000_000;
const SHARE_NS: u64 = 100_000;
/// A thread looks again for a file that somebody else has after so long.
const BUSY_NS: u64 = 20_000;
/// So often it looks for a directory in which, or above which, somebody else may be at work.
const PATIENCE: u32 = 500;

impl Thread {
    pub(super) fn new(
        together: &Arc<Together>,
        (number, index): (usize, u32),
        clock: Clock,
        seed: u64,
    ) -> Self {
        let task = &together.tasks[number].task;
        let own = Rng::stream(seed, (number as u64) << 32 | u64::from(index)).next();
        let most = usize::try_from(task.transfer.max_bytes()).unwrap_or(usize::MAX / 2);
        let does = task.operations();
        let mut rng = Rng::stream(own, 71);
        let buffers = [FileOperation::Read, FileOperation::Write].map(|of| {
            let bytes = if does.contains(&of) { most } else { 0 };
            Aligned::random(bytes, &mut rng)
        });
        Self {
            meter: Meter {
                together: Arc::clone(together),
                clock,
                tally: Arc::clone(&together.tasks[number].tallies[index as usize]),
                recorded: Recorded::new(task),
            },
            chooser: Chooser::new(task.select, Rng::stream(own, 1)),
            together: Arc::clone(together),
            number,
            buffers,
            stamp: own,
            names: [Name::default(), Name::default()],
            patience: PATIENCE,
            open: None,
            vacated: 0,
            due: None,
            free_since: 0,
        }
    }

    pub(super) fn doing(&self) -> &Doing {
        &self.together.tasks[self.number]
    }

    pub(super) fn task(&self) -> &FileTask {
        &self.doing().task
    }

    /// Works until it is told to stop, or nothing is left.
    pub(super) fn run(mut self, member: &Member) -> Outcome {
        member.wait();
        let mut part = member.part();
        let mut failed = None;
        while !self.stops(member) {
            let stepped = self.next(member);
            if member.part() != part && !self.stops(member) {
                part = member.part();
                self.meter.recorded.clear();
                self.meter.tally.clear();
            }
            match stepped {
                Ok(Some(nanos)) => self.did(member, nanos),
                Ok(None) => break,
                Err(why) => {
                    failed = Some(self.named(why));
                    break;
                }
            }
        }
        if let Some(opened) = self.open.take() {
            let put_back = self.put_back(opened);
            failed = failed.or(put_back.err().map(|why| self.named(why)));
        }
        let stopped = self.stops(member);
        self.doing().is_over.fetch_or(!stopped, Ordering::AcqRel);
        self.together.ended();
        Outcome {
            recorded: self.meter.recorded,
            failed,
            free_since: self.free_since,
        }
    }

    fn stops(&self, member: &Member) -> bool {
        member.stopped() || self.together.stops()
    }

    /// What was asked for has been done; it counts where the time is not over.
    fn did(&mut self, member: &Member, nanos: u64) {
        let could = self.free_since;
        self.free_since = monotonic();
        if self.stops(member) {
            return;
        }
        if let Some(due) = self.due.take() {
            let begun = self.free_since.saturating_sub(nanos);
            let late = begun.saturating_sub(due.max(could));
            let since = self.free_since.saturating_sub(due);
            self.meter.recorded.arrived(since, late);
        }
        self.meter.recorded.asked(nanos);
        self.meter.tally.asked(nanos);
        member.add(1);
    }

    /// The next operation, when it is time for it; `None` where the task is over.
    fn next(&mut self, member: &Member) -> Result<Option<u64>, WorkError> {
        loop {
            if self.stops(member) {
                return Ok(None);
            }
            if !self.together.may_go_on(self.number) {
                sys::clock::sleep(SHARE_NS);
                continue;
            }
            if self.due.is_none() {
                self.due = self.doing().arrival(monotonic());
            }
            if let Some(due) = self.due {
                let now = monotonic();
                if due > now {
                    sys::clock::sleep_until(due.min(now + LOOK_NS));
                    continue;
                }
            }
            match self.step()? {
                Stepped::Did(nanos) => return Ok(Some(nanos)),
                Stepped::Over => return Ok(None),
                Stepped::None { is_busy: true } => {
                    sys::clock::sleep(BUSY_NS);
                }
                Stepped::None { is_busy: false } => {
                    // Once more: something may have changed since.
                    let before = self.together.changes();
                    match self.step()? {
                        Stepped::Did(nanos) => return Ok(Some(nanos)),
                        Stepped::Over => return Ok(None),
                        Stepped::None { is_busy: true } => {}
                        Stepped::None { is_busy: false } => {
                            let stopped = || self.stops(member);
                            if !self.together.wait_for_others(before, stopped) {
                                return Ok(None);
                            }
                        }
                    }
                }
            }
        }
    }

    /// One operation of what is asked for.
    fn step(&mut self) -> Result<Stepped, WorkError> {
        match self.task().operation {
            FileOperation::Read | FileOperation::Write => self.transfer(),
            FileOperation::Mkdir => self.on_directory(Wants::Missing),
            FileOperation::Rmdir => self.on_directory(Wants::There),
            FileOperation::Create => self.create(),
            FileOperation::Copy | FileOperation::Move => self.copy_or_move(),
            _ => self.on_file(),
        }
    }

    /// Takes a file that is what is wanted.
    pub(super) fn take(&mut self, wants: Wants) -> Chosen {
        let doing = &self.together.tasks[self.number];
        let (set, shares) = (&doing.set, doing.task.shares_files);
        if !set.map.may_have(wants) {
            return Chosen::None;
        }
        let take = |file| set.map.take(file, wants, shares);
        self.chooser.choose(&doing.cursor, set.working, take)
    }

    /// Makes a directory that is missing, or removes one that is empty.
    fn on_directory(&mut self, wants: Wants) -> Result<Stepped, WorkError> {
        let doing = &self.together.tasks[self.number];
        let set = &doing.set;
        let makes = wants == Wants::Missing;
        let all = set.map.directories();
        let may = if makes {
            set.map.made() < all
        } else {
            set.map.made() > 0
        };
        if !may {
            return Ok(Stepped::None { is_busy: false });
        }
        // In order they are made from the top, and removed from the bottom.
        let of = |at: u64| if makes { at } else { all - 1 - at };
        let chosen_once = self.chooser.select == FileSelect::Once;
        let patience = &mut self.patience;
        let take = |at: u64| match take_directory(set, of(at), wants) {
            // What is in it may be about to go, or the one above about to come.
            Taken::Unfit
                if chosen_once && *patience > 0 && set.map.directory_is(of(at)) != makes =>
            {
                *patience -= 1;
                Taken::Busy
            }
            taken => {
                *patience = PATIENCE;
                taken
            }
        };
        let (at, was) = match self.chooser.choose(&doing.cursor, all, take) {
            Chosen::This(at, was) => (of(at), was),
            other => return Ok(nothing(other)),
        };
        let path = set.tree.directory(at, &mut self.names[0]);
        let result = if makes {
            let make = || set.folder.mkdir(path);
            self.meter.time(FileOperation::Mkdir, make)
        } else {
            let remove = || set.folder.rmdir(path);
            self.meter.time(FileOperation::Rmdir, remove)
        };
        let now = match (&result, makes) {
            (Ok(_), true) => Now::There,
            (Ok(_), false) => Now::Missing,
            (Err(_), _) => was,
        };
        set.map.give_back_directory(at, was, now);
        // One that was made stays counted above; whatever is not there is not.
        if now == Now::Missing {
            set.map.leave(set.tree.parent(at));
        }
        did(result, set, path)
    }

    /// Makes a file that is missing, without bytes, in a directory that is there.
    fn create(&mut self) -> Result<Stepped, WorkError> {
        let doing = &self.together.tasks[self.number];
        let set = &doing.set;
        if !set.map.may_have(Wants::Missing) {
            return Ok(Stepped::None { is_busy: false });
        }
        let take = |file| take_place(set, file);
        let (file, was) = match self.chooser.choose(&doing.cursor, set.working, take) {
            Chosen::This(file, was) => (file, was),
            other => return Ok(nothing(other)),
        };
        let path = set.tree.file(file, &mut self.names[0]);
        let how = as_asked(&doing.task, How::CREATE);
        let make = || set.folder.file(path, how);
        let made = self.meter.time(FileOperation::Create, make);
        // It is there, whatever becomes of its close.
        let now = if made.is_ok() {
            Now::There
        } else {
            Now::Missing
        };
        let made = made.and_then(|(opened, nanos)| {
            let closed = self.meter.close(&doing.task, opened);
            closed.map(|_| ((), nanos))
        });
        set.map.give_back(file, was, now, false);
        if now == Now::Missing {
            set.map.leave(Some(set.tree.directory_of(file)));
        }
        did(made, set, path)
    }

    /// Does to a file what takes one call, or opens and closes it.
    fn on_file(&mut self) -> Result<Stepped, WorkError> {
        let (file, was) = match self.take(Wants::There) {
            Chosen::This(file, was) => (file, was),
            other => return Ok(nothing(other)),
        };
        let doing = &self.together.tasks[self.number];
        let (set, operation) = (&doing.set, doing.task.operation);
        let path = set.tree.file(file, &mut self.names[0]);
        let (folder, meter) = (&set.folder, &mut self.meter);
        let result = match operation {
            FileOperation::Delete => meter.time(operation, || folder.unlink(path)),
            FileOperation::Access => meter.time(operation, || folder.access(path)),
            FileOperation::Getattr => meter.time(operation, || folder.stat(path).map(drop)),
            FileOperation::Setattr => {
                let seconds = i64::try_from(self.stamp >> 34).unwrap_or(0);
                self.stamp = self.stamp.wrapping_add(1 << 34);
                meter.time(operation, || folder.set_modified(path, seconds))
            }
            _ => {
                let how = as_asked(&doing.task, How::READ);
                let opened = meter.time(FileOperation::Open, || folder.file(path, how));
                opened.and_then(|(opened, open_ns)| {
                    let close_ns = meter.close(&doing.task, opened)?;
                    let asks_for_open = operation == FileOperation::Open;
                    Ok(((), if asks_for_open { open_ns } else { close_ns }))
                })
            }
        };
        let is_gone = operation == FileOperation::Delete && result.is_ok();
        set.map
            .give_back(file, was, if is_gone { Now::Missing } else { was }, false);
        if is_gone {
            set.map.leave(Some(set.tree.directory_of(file)));
        }
        did(result, set, path)
    }

    /// An error with the name of the task: of several at the same time one fails first.
    fn named(&self, error: WorkError) -> WorkError {
        let with_name = |why: String| format!("file workload `{}`: {why}", self.task().name);
        match error {
            WorkError::Unsupported(why) => WorkError::Unsupported(with_name(why)),
            WorkError::Failed(why) => WorkError::Failed(with_name(why)),
            WorkError::Wrong(why) => WorkError::Wrong(with_name(why)),
        }
    }
}

impl Meter {
    /// Closes a file, which is on the device then where the task asks for that; what it took.
    pub(super) fn close(&mut self, task: &FileTask, opened: File) -> Result<u64, Failure> {
        let closed = self.time(FileOperation::Close, || as_closed(task, opened));
        closed.map(|((), nanos)| nanos)
    }
}

/// Closes a file as a task asks.
pub(super) fn as_closed(task: &FileTask, opened: File) -> Result<(), Failure> {
    if task.syncs_on_close {
        sync(&opened)?;
    }
    drop(opened);
    Ok(())
}

/// Opened as a task asks: what only concerns writes does so where there may be some.
pub(super) fn as_asked(task: &FileTask, how: How) -> How {
    let writes = how.write || how.both;
    How {
        direct: task.direct,
        sync: writes && task.sync == SyncOn::Sync,
        data_sync: writes && task.sync == SyncOn::Dsync,
        ..how
    }
}

/// Nothing was chosen.
pub(super) const fn nothing(chosen: Chosen) -> Stepped {
    match chosen {
        Chosen::Over => Stepped::Over,
        Chosen::Busy => Stepped::None { is_busy: true },
        Chosen::None | Chosen::This(..) => Stepped::None { is_busy: false },
    }
}

/// What was asked for was done, or failed at this path.
fn did<T>(result: Result<(T, u64), Failure>, set: &Set, path: &CStr) -> Result<Stepped, WorkError> {
    match result {
        Ok((_, nanos)) => Ok(Stepped::Did(nanos)),
        Err(failure) => Err(words(&failure, set.told(path))),
    }
}

/// Takes a directory that is missing in one that is there, or one that is empty.
fn take_directory(set: &Set, directory: u64, wants: Wants) -> Taken {
    let taken = set.map.take_directory(directory, wants);
    if let (Taken::Mine(was), Wants::Missing) = (taken, wants)
        && !set.map.enter(set.tree.parent(directory))
    {
        set.map.give_back_directory(directory, was, was);
        return Taken::Unfit;
    }
    taken
}

/// Takes a file that is missing in a directory that is there.
pub(super) fn take_place(set: &Set, file: u64) -> Taken {
    let taken = set.map.take(file, Wants::Missing, false);
    if let Taken::Mine(was) = taken
        && !set.map.enter(Some(set.tree.directory_of(file)))
    {
        set.map.give_back(file, was, was, false);
        return Taken::Unfit;
    }
    taken
}
