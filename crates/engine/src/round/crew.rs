//! The workers of one round: hired, listened to, let go or killed.
//!
//! Whatever a worker says or leaves unsaid becomes a stage or the reason why the round stopped early; nobody is waited
//! for without a deadline.

use crate::noise::Watch;
use crate::soak::Moment;
use crate::tick::Ticks;
use crate::wire::{CopyReport, Go, Order, Reply};
use crate::worker::WORKER_WORD;
use crate::workload::Told;
use model::record::Failure;
use model::units::{Bytes, Nanos};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
use sys::clock::monotonic;
use sys::process::{Ended, Worker};

/// Why a round stopped early.
pub(super) enum Stop {
    Interrupted,
    Failed(Failure),
}

impl Stop {
    pub(super) fn error(
        operation: &str,
        object: impl std::fmt::Display,
        error: impl std::fmt::Display,
    ) -> Self {
        Self::Failed(Failure::Error(format!("{operation} `{object}`: {error}")))
    }
}

/// How far a worker has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    Hired,
    Ready,
    Measured,
    Done,
}

/// One worker and what it said so far.
#[derive(Debug)]
struct Member {
    worker: Worker,
    stage: Stage,
    heard: Vec<u8>,
    complaints: Vec<u8>,
    report: Option<CopyReport>,
    /// What it moved to a peer and from there.
    moved: Option<Bytes>,
    told: Option<Told>,
    /// How much it has made since that was last asked.
    made: Option<Bytes>,
    /// How far it was at its last tick, and whether that is news.
    so_far: Option<CopyReport>,
    is_news: bool,
}

/// What the workers let hear while they are waited for.
pub(super) enum Heard {
    /// So much has been made.
    Made(Bytes),
    /// A tick: how far each of them is, in their order.
    Tick(Vec<CopyReport>),
}

/// The workers of one round.
#[derive(Debug, Default)]
pub(super) struct Crew {
    members: Vec<Member>,
    /// The process groups of the workers.
    pub(super) groups: Vec<u32>,
    /// How many processes had been killed for want of memory before the first was hired.
    pub(super) memory_kills: Option<u64>,
    /// When the measured part begins, once that is known.
    pub(super) opens: Option<Moment>,
    /// A user who interrupts gets what was done until then.
    pub(super) ends_early: bool,
    /// It goes on whoever interrupts: it takes away what was made.
    pub(super) is_deaf: bool,
    /// That has happened, and the workers have been asked to end.
    pub(super) is_ending: bool,
    /// When it is to be told how far they are, and when next.
    pub(super) ticks: Option<(Ticks, u64)>,
}

/// A tick waits this long for those who have not said how far they are: they are in the middle of something.
const TICK_GRACE_NS: u64 = 200_000_000;

/// How long workers that were asked to end may take.
const END_DEADLINE: Nanos = Nanos::from_secs(60);

/// Until when somebody is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Deadline {
    /// Monotonic, in nanoseconds.
    at: u64,
    /// How long after it was set that is.
    within: Nanos,
}

impl Deadline {
    fn new(now: u64, within: Nanos) -> Self {
        let at = now.saturating_add(within.0);
        Self { at, within }
    }

    fn or_earlier(self, other: Self) -> Self {
        if other.at < self.at { other } else { self }
    }
}

/// The last words of a worker that are kept, in bytes.
const LAST_WORDS_MAX: usize = 2_000;

impl Crew {
    pub(super) fn hire(
        &mut self,
        order: &Order,
        dir: &Path,
        handles: &[&File],
        stack_offset: u64,
    ) -> Result<(), Stop> {
        // Looked at before each: to start a thousand takes seconds.
        if sys::signal::interrupted().is_some() && !self.is_deaf {
            return Err(Stop::Interrupted);
        }
        // Environment strings lie above the stack: their length moves it.
        let pad = "x".repeat(usize::try_from(stack_offset).unwrap_or(0));
        let args = [OsStr::new(WORKER_WORD)];
        let mut worker = Worker::start(&args, dir, ("KURABE_PAD", &pad), handles)
            .map_err(|error| not_started(&order.workload, &error))?;
        self.groups.push(worker.pid());
        let sent = unless_dead(send(&mut worker, order));
        self.members.push(Member {
            worker,
            stage: Stage::Hired,
            heard: Vec::new(),
            complaints: Vec::new(),
            report: None,
            moved: None,
            told: None,
            made: None,
            so_far: None,
            is_news: false,
        });
        sent.map_err(|error| Stop::error("send order to worker for", &order.workload, error))
    }

    pub(super) fn open_gate(&mut self, go: &Go) -> Result<(), Stop> {
        for member in &mut self.members {
            unless_dead(send(&mut member.worker, go))
                .map_err(|error| Stop::error("open the gate for worker", member.name(), error))?;
        }
        Ok(())
    }

    /// Waits until every worker has come to `stage`.
    pub(super) fn wait_for(&mut self, stage: Stage, within: Nanos) -> Result<(), Stop> {
        self.wait_and_hear(stage, within, &mut |_| ())
    }

    /// The same, with what the workers let hear meanwhile.
    pub(super) fn wait_and_hear(
        &mut self,
        stage: Stage,
        within: Nanos,
        hear: &mut dyn FnMut(Heard),
    ) -> Result<(), Stop> {
        let mut deadline = Deadline::new(monotonic(), within);
        loop {
            if sys::signal::interrupted().is_some() && !self.is_ending && !self.is_deaf {
                if !self.ends_early {
                    return Err(Stop::Interrupted);
                }
                self.ask_to_end();
                deadline = deadline.or_earlier(Deadline::new(monotonic(), END_DEADLINE));
            }
            self.listen()?;
            let made = self.members.iter_mut().filter_map(|m| m.made.take());
            made.for_each(|made| hear(Heard::Made(made)));
            let tick = self.ticks.filter(|_| stage == Stage::Measured);
            let tick = tick.map(|(ticks, due)| self.tick(ticks, due, hear));
            if self.members.iter().all(|member| member.stage >= stage) {
                return Ok(());
            }
            let left = deadline.at.saturating_sub(monotonic());
            if left == 0 {
                let stage = match stage {
                    Stage::Hired | Stage::Ready => "set-up",
                    Stage::Measured => "measuring",
                    Stage::Done => "finishing",
                };
                return Err(Stop::Failed(Failure::Hung {
                    stage: stage.to_owned(),
                    after: deadline.within,
                }));
            }
            let fds: Vec<_> = self
                .members
                .iter()
                .filter(|member| member.stage < stage)
                .map(|member| member.worker.output.as_raw_fd())
                .collect();
            // A second at most, so that a signal between check and wait is not missed for long.
            let left = tick.map_or(left, |tick| tick.saturating_sub(monotonic()).min(left));
            let wait_ms = (left / 1_000_000).clamp(1, 1_000);
            sys::process::wait_readable(&fds, wait_ms)
                .map_err(|error| Stop::error("wait for", "workers", error))?;
        }
    }

    /// Tells how far all of them are, where the tick is due and those who work have said so. Says when to look again.
    fn tick(&mut self, ticks: Ticks, due: u64, hear: &mut dyn FnMut(Heard)) -> u64 {
        let now = monotonic();
        let waits = |member: &Member| member.stage < Stage::Measured && !member.is_news;
        let until = if self.members.iter().any(waits) {
            due.saturating_add(TICK_GRACE_NS)
        } else {
            due
        };
        if now < until {
            return until;
        }
        let next = ticks.after(now);
        self.ticks = Some((ticks, next));
        let told = self.members.iter_mut().map(|member| {
            member.is_news = false;
            // Who has ended tells no more than it has reported.
            let told = member.report.as_ref().or(member.so_far.as_ref());
            told.cloned().unwrap_or_default()
        });
        hear(Heard::Tick(told.collect()));
        next
    }

    /// What the one worker told that had an errand.
    pub(super) fn told(&self) -> Option<Told> {
        self.members.first().and_then(|member| member.told)
    }

    /// What all of them moved to a peer and from there, as far as they said so.
    pub(super) fn moved(&self) -> Option<Bytes> {
        let each = self.members.iter().filter_map(|member| member.moved);
        each.reduce(|a, b| Bytes(a.0.saturating_add(b.0)))
    }

    /// What those workers reported that are done.
    pub(super) fn reports(&mut self) -> Vec<CopyReport> {
        let members = self.members.iter_mut();
        members.filter_map(|member| member.report.take()).collect()
    }

    /// Those who are done have nothing left to end.
    fn ask_to_end(&mut self) {
        self.is_ending = true;
        for member in &self.members {
            if member.stage < Stage::Done {
                member.worker.ask_to_end();
            }
        }
    }

    /// Takes in what the workers have said, and notices who is gone.
    fn listen(&mut self) -> Result<(), Stop> {
        for member in &mut self.members {
            if member.stage == Stage::Done {
                continue;
            }
            // Asked before reading: what a worker said before it ended is in the pipe by then.
            let ended = member
                .worker
                .ended()
                .map_err(|error| Stop::error("wait for worker", member.name(), error))?;
            drain(&mut member.worker.output, &mut member.heard);
            drain(&mut member.worker.errors, &mut member.complaints);
            keep_last_words(&mut member.complaints);
            member.understand()?;
            if let (Some(ended), false) = (ended, member.stage == Stage::Done) {
                return Err(Stop::Failed(death(
                    ended,
                    &member.complaints,
                    self.memory_kills,
                )));
            }
        }
        Ok(())
    }

    /// Ends everybody: those who are done have ended by themselves, the others are killed with all they started.
    pub(super) fn dismiss(&mut self) {
        // All before the first is waited for: who has to be killed would else take turns with those who still work.
        for member in &self.members {
            if member.stage < Stage::Done {
                sys::process::kill_group(member.worker.pid());
            }
        }
        for member in &mut self.members {
            let grace = monotonic() + 1_000_000_000;
            while member.stage == Stage::Done
                && matches!(member.worker.ended(), Ok(None))
                && monotonic() < grace
            {
                let fds = [member.worker.output.as_raw_fd()];
                let _ = sys::process::wait_readable(&fds, 10);
            }
            // Kills the group even where the worker itself has ended: it may have left children.
            let _ = member.worker.kill();
        }
        self.members.clear();
        // Not earlier: it would steal the status of those who are not waited for yet.
        sys::process::reap_orphans();
    }
}

impl Member {
    /// What errors call it.
    fn name(&self) -> String {
        format!("pid {}", self.worker.pid())
    }

    fn understand(&mut self) -> Result<(), Stop> {
        while let Some(end) = self.heard.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.heard.drain(..=end).collect();
            match serde_json::from_slice(&line) {
                Ok(Reply::Ready) => self.stage = Stage::Ready,
                Ok(Reply::Measured) => self.stage = Stage::Measured,
                Ok(Reply::Made(bytes)) => self.made = Some(bytes),
                Ok(Reply::Tick(so_far)) => {
                    (self.so_far, self.is_news) = (Some(*so_far), true);
                }
                Ok(Reply::Told(told)) => {
                    self.told = Some(told);
                    self.stage = Stage::Done;
                }
                Ok(Reply::Done(report)) => {
                    self.moved = report.moved;
                    self.report = Some(*report);
                    self.stage = Stage::Done;
                }
                Ok(Reply::Failed(failure, moved)) => {
                    self.moved = moved;
                    return Err(Stop::Failed(failure));
                }
                Err(error) => return Err(Stop::error("understand worker", self.name(), error)),
            }
        }
        Ok(())
    }
}

fn send(worker: &mut Worker, what: &impl serde::Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    worker.input.write_all(&line)
}

/// A worker could not be started, mostly because of a limit on processes, files or memory.
fn not_started(workload: &str, error: &io::Error) -> Stop {
    let hint = match error.kind() {
        // EAGAIN of fork(2).
        io::ErrorKind::WouldBlock => {
            "\nhint: fewer `--copies`, or more processes (`ulimit -u`, `pids.max` of the cgroup)"
        }
        io::ErrorKind::OutOfMemory => "\nhint: fewer `--copies`, or more memory (`ulimit -v`)",
        // EMFILE, for which std has no kind that is stable.
        _ if error.raw_os_error() == Some(24) => {
            "\nhint: fewer `--copies`, or more open files (`ulimit -n`): each copy takes three, and three more to start"
        }
        _ => "",
    };
    Stop::error("start worker for", workload, format!("{error}{hint}"))
}

/// A worker that died says why on standard error, and `listen` notices: that its pipe is broken says less.
fn unless_dead(sent: io::Result<()>) -> io::Result<()> {
    match sent {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Forgets all but the last [`LAST_WORDS_MAX`] bytes.
fn keep_last_words(words: &mut Vec<u8>) {
    words.drain(..words.len().saturating_sub(LAST_WORDS_MAX));
}

/// Reads what is there without waiting.
fn drain(from: &mut fs::File, into: &mut Vec<u8>) {
    let mut chunk = [0; 4096];
    while let Ok(read) = from.read(&mut chunk) {
        if read == 0 {
            return;
        }
        into.extend_from_slice(&chunk[..read]);
    }
}

fn death(ended: Ended, complaints: &[u8], kills_before: Option<u64>) -> Failure {
    /// The signal of the kernel's out-of-memory killer.
    const SIGKILL: i32 = 9;
    let said = String::from_utf8_lossy(complaints);
    let said = said.trim().replace('\n', "; ");
    match ended {
        Ended::Signal(SIGKILL)
            if kills_before.is_some() && kills_before < Watch::real().memory_kills() =>
        {
            Failure::OutOfMemory
        }
        Ended::Signal(signal) => Failure::Signal { signal, said },
        Ended::Code(code) => Failure::Exited { code, said },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_are_the_last_ones() {
        let mut words = vec![b'a'; LAST_WORDS_MAX];
        words.extend_from_slice(b"\nout of\nluck\n");
        keep_last_words(&mut words);
        assert_eq!(words.len(), LAST_WORDS_MAX);
        let Failure::Exited { code: 7, said } = death(Ended::Code(7), &words, None) else {
            panic!()
        };
        assert!(said.ends_with("a; out of; luck"), "{said}");
    }

    #[test]
    fn who_hangs_is_told_the_deadline_that_was_in_force() {
        let check = |within: u64, interrupted_after: u64, expect: u64| {
            let deadline = Deadline::new(0, Nanos::from_secs(within));
            let now = Nanos::from_secs(interrupted_after).0;
            let asked = Deadline::new(now, END_DEADLINE);
            let found = deadline.or_earlier(asked);
            assert_eq!(found.within, Nanos::from_secs(expect));
            assert_eq!(found.at, deadline.at.min(asked.at));
        };
        check(600, 10, 60);
        check(600, 595, 600);
        check(30, 0, 30);
    }

    #[test]
    fn a_limit_that_keeps_workers_from_starting_is_named() {
        for (errno, limit) in [(11, "ulimit -u"), (12, "ulimit -v"), (24, "ulimit -n")] {
            let error = io::Error::from_raw_os_error(errno);
            let Stop::Failed(Failure::Error(text)) = not_started("os.pipe", &error) else {
                panic!("{errno}")
            };
            assert!(text.starts_with("start worker for `os.pipe`: "), "{text}");
            assert!(text.contains("\nhint: ") && text.contains(limit), "{text}");
        }
    }

    #[test]
    fn a_broken_pipe_leaves_the_explanation_to_the_dead() {
        let sent = |kind: io::ErrorKind| unless_dead(Err(kind.into())).is_ok();
        assert!(sent(io::ErrorKind::BrokenPipe));
        assert!(!sent(io::ErrorKind::PermissionDenied));
    }
}
