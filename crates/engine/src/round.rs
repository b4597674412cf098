//! One round: fresh workers, a gate, a deadline, a clean-up.

use crate::consent::Permits;
use crate::noise::{Snapshot, Watch, Workers, sentinel};
use crate::soak::{Moment, Stretching};
use crate::wire::{CopyReport, FailKind, Go, Order, Reply};
use crate::worker::WORKER_WORD;
use crate::workload::StandIn;
use model::plan::{PlannedCase, Settle};
use model::record::{Failure, Outcome, Round};
use model::rng::Rng;
use model::soak::Stretch;
use model::spec::How;
use model::units::Nanos;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
use sys::clock::monotonic;
use sys::process::{Ended, Usage, Worker};

/// What stays the same for all rounds of a run.
#[derive(Debug)]
pub(crate) struct Bench<'a> {
    pub(crate) watch: &'a Watch,
    pub(crate) work_dir: &'a Path,
    /// Inside the work directory: what all rounds of this side share.
    pub(crate) run_dir: &'a Path,
    pub(crate) cpus: &'a [u32],
    pub(crate) ns_per_tick: Option<f64>,
    /// The shell command that sets this side up before each round.
    pub(crate) prepare: Option<&'a str>,
    /// What stands in for this side's own test file.
    pub(crate) stand_in: Option<StandIn>,
    pub(crate) permits: &'a Permits,
}

/// Which round it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Which {
    pub(crate) pass: u32,
    /// Position in the run, from 1.
    pub(crate) seq: u32,
    /// Number within the case, from 1.
    pub(crate) number: u32,
    pub(crate) layout_seed: u64,
    /// What the round is for in a soak, and the soak's time.
    pub(crate) stretch: Option<Stretching>,
}

/// The user interrupted: there is no round.
#[derive(Debug)]
pub(crate) struct Interrupted;

/// Checking results and ending children may take this long.
const FINISH_DEADLINE: Nanos = Nanos::from_secs(60);

/// The measured part may take this much longer than planned, on top of twice the plan: one slow operation (a shell
/// script on a loaded machine takes seconds) is not a hang.
const MEASURE_GRACE: Nanos = Nanos::from_secs(30);

/// From the order to open the gate until it opens, for each copy: the time the order needs to reach it.
const GATE_PER_COPY: Nanos = Nanos(200_000);

/// A command that sets a side up may take this long: remounting, switching a scheduler, dropping caches.
const PREPARE_DEADLINE_MS: u64 = 60_000;

/// Executes one round from set-up to clean-up.
pub(crate) fn execute(
    bench: &Bench<'_>,
    case: &PlannedCase,
    hows: &[How],
    which: Which,
) -> Result<Round, Interrupted> {
    let begin = monotonic();
    let start = Moment::now();
    let prepared = prepare(bench.prepare);
    settle(case.shape.settle)?;
    let mut noise = model::noise::Noise::default();
    if !case.simulated {
        noise.before = Some(sentinel());
    }
    let dir = bench.work_dir.join(format!("round-{}", which.seq));
    let mut crew = Crew::default();
    let result = prepared.and_then(|()| measure(bench, case, which, &dir, &mut crew));
    crew.dismiss();
    let outcome = match result {
        Ok((reports, snapshots)) => {
            if let Some((before, after)) = snapshots {
                let workers = Workers {
                    groups: &crew.groups,
                    usage: total_usage(&reports),
                    wall_ns: demanded_ns(case, &reports),
                };
                let after_probe = sentinel();
                noise = model::noise::Noise {
                    before: noise.before,
                    after: Some(after_probe),
                    ..bench.watch.noise(&before, &after, workers)
                };
            }
            told(crate::combine::outcome(case, hows, reports), crew.is_ending)
        }
        Err(Stop::Interrupted) => {
            let _ = fs::remove_dir_all(&dir);
            return Err(Interrupted);
        }
        Err(Stop::Failed(failure)) => Outcome::Failed(failure),
    };
    // A directory that cannot be removed now goes with the work directory at the end.
    let _ = fs::remove_dir_all(&dir);
    let stretch = which.stretch.map(|stretching| {
        // A stretch that failed before its gate opened began when it started.
        let (began, elapsed) = stretching.clock.tell(crew.opens.unwrap_or(start));
        Stretch {
            kind: stretching.kind,
            began,
            elapsed,
            suspended_before: stretching.suspended_before,
        }
    });
    Ok(Round {
        case: case.id.clone(),
        pass: which.pass,
        seq: which.seq,
        started: start.wall(),
        took: Nanos(monotonic() - begin),
        layout_seed: which.layout_seed,
        outcome,
        stretch,
        noise,
    })
}

/// The outcome, with a word where the user ended it.
fn told(mut outcome: Outcome, is_cut_short: bool) -> Outcome {
    if let (Outcome::Done(done), true) = (&mut outcome, is_cut_short) {
        let note = "interrupted: this is what was done until then";
        done.notes.push(note.to_owned());
    }
    outcome
}

/// Why a round stopped early.
enum Stop {
    Interrupted,
    Failed(Failure),
}

impl Stop {
    fn error(
        operation: &str,
        object: impl std::fmt::Display,
        error: impl std::fmt::Display,
    ) -> Self {
        Self::Failed(Failure::Error(format!("{operation} `{object}`: {error}")))
    }
}

/// The reports, and the counters before and after where the case uses the machine.
type Measured = (Vec<CopyReport>, Option<(Snapshot, Snapshot)>);

fn measure(
    bench: &Bench<'_>,
    case: &PlannedCase,
    which: Which,
    dir: &Path,
    crew: &mut Crew,
) -> Result<Measured, Stop> {
    crew.memory_kills = bench.watch.memory_kills();
    let shared_dir = dir.join("shared");
    // Not with its parents: a work directory that somebody removed must not come back without its marker.
    fs::create_dir(dir).map_err(|error| Stop::error("create directory", dir.display(), error))?;
    fs::create_dir(&shared_dir)
        .map_err(|error| Stop::error("create directory", shared_dir.display(), error))?;
    let mut rng = Rng::new(which.layout_seed);
    let first_cpu = rng.below(bench.cpus.len() as u64);
    // Threads belong to the one worker of copy 0, which starts them by itself.
    let workers = if case.shape.threads {
        1
    } else {
        case.id.copies
    };
    for copy in 0..workers {
        let own_dir = dir.join(format!("copy-{copy}"));
        fs::create_dir(&own_dir)
            .map_err(|error| Stop::error("create directory", own_dir.display(), error))?;
        let spread = usize::try_from(first_cpu + u64::from(copy)).unwrap_or(0);
        let order = Order {
            workload: case.workload.clone(),
            params: case.params.clone(),
            shape: case.shape,
            dir: own_dir.clone(),
            shared_dir: shared_dir.clone(),
            run_dir: bench.run_dir.to_owned(),
            copy,
            copies: case.id.copies,
            round: which.number,
            seed: rng.next(),
            ns_per_tick: bench.ns_per_tick,
            cpu: (!bench.cpus.is_empty()).then(|| bench.cpus[spread % bench.cpus.len()]),
            stand_in: bench.stand_in.clone(),
            permits: bench.permits.clone(),
        };
        crew.hire(&order, &own_dir, rng.below(4096))?;
    }
    crew.wait_for(Stage::Ready, case.shape.setup_max)?;
    crew.ends_early = case.shape.ends_early;
    let before = (!case.simulated).then(|| bench.watch.snapshot());
    let gate = GATE_PER_COPY
        .0
        .saturating_mul(u64::from(case.id.copies) + 1);
    crew.open_gate(&Go {
        at: monotonic() + gate,
    })?;
    crew.opens = Some(Moment::now().later(Nanos(gate).plus(case.shape.warmup)));
    let planned = case.shape.warmup.plus(case.shape.measure);
    let deadline = Nanos(planned.0.saturating_mul(2)).plus(MEASURE_GRACE);
    crew.wait_for(Stage::Measured, deadline)?;
    let after = (!case.simulated).then(|| bench.watch.snapshot());
    crew.wait_for(Stage::Done, FINISH_DEADLINE)?;
    let reports = crew
        .members
        .iter_mut()
        .filter_map(|member| member.report.take())
        .collect();
    Ok((reports, before.zip(after)))
}

/// Time that all copies together asked of the CPUs, in nanoseconds: a worker with threads asks for each of them.
fn demanded_ns(case: &PlannedCase, reports: &[CopyReport]) -> u64 {
    let wall: u64 = reports.iter().map(|report| report.wall_ns).sum();
    let each = if case.shape.threads {
        u64::from(case.id.copies)
    } else {
        1
    };
    wall.saturating_mul(each)
}

fn prepare(command: Option<&str>) -> Result<(), Stop> {
    let Some(command) = command else {
        return Ok(());
    };
    sys::process::shell(command, PREPARE_DEADLINE_MS)
        .map_err(|error| Stop::error("set the side up with", command, error))
}

fn total_usage(reports: &[CopyReport]) -> Usage {
    reports.iter().fold(Usage::default(), |sum, report| {
        sum.plus(Usage {
            user: report.user_ns,
            system: report.system_ns,
            voluntary: report.voluntary,
            involuntary: report.involuntary,
            major_faults: report.major_faults,
            minor_faults: report.minor_faults,
        })
    })
}

fn settle(settle: Settle) -> Result<(), Interrupted> {
    let pause = |secs: u64| {
        sys::process::sync();
        sys::clock::sleep(Nanos::from_secs(secs).0);
        if sys::signal::interrupted().is_some() {
            Err(Interrupted)
        } else {
            Ok(())
        }
    };
    match settle {
        Settle::None => Ok(()),
        Settle::Sync => pause(0),
        Settle::SyncSleep => pause(1).and_then(|()| pause(2)),
    }
}

/// How far a worker has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
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
}

/// The workers of one round.
#[derive(Debug, Default)]
struct Crew {
    members: Vec<Member>,
    groups: Vec<u32>,
    memory_kills: Option<u64>,
    /// When the measured part begins, once that is known.
    opens: Option<Moment>,
    /// A user who interrupts gets what was done until then.
    ends_early: bool,
    /// That has happened, and the workers have been asked to end.
    is_ending: bool,
}

/// The last words of a worker that are kept, in bytes.
const LAST_WORDS_MAX: usize = 2_000;

impl Crew {
    fn hire(&mut self, order: &Order, dir: &Path, stack_offset: u64) -> Result<(), Stop> {
        // Environment strings lie above the stack: their length moves it.
        let pad = "x".repeat(usize::try_from(stack_offset).unwrap_or(0));
        let args = [OsStr::new(WORKER_WORD)];
        let mut worker = Worker::start(&args, dir, ("KURABE_PAD", &pad))
            .map_err(|error| Stop::error("start worker for", &order.workload, error))?;
        self.groups.push(worker.pid());
        let sent = unless_dead(send(&mut worker, order));
        self.members.push(Member {
            worker,
            stage: Stage::Hired,
            heard: Vec::new(),
            complaints: Vec::new(),
            report: None,
        });
        sent.map_err(|error| Stop::error("send order to worker for", &order.workload, error))
    }

    fn open_gate(&mut self, go: &Go) -> Result<(), Stop> {
        for member in &mut self.members {
            unless_dead(send(&mut member.worker, go))
                .map_err(|error| Stop::error("open the gate for worker", member.name(), error))?;
        }
        Ok(())
    }

    /// Waits until every worker has come to `stage`.
    fn wait_for(&mut self, stage: Stage, within: Nanos) -> Result<(), Stop> {
        let mut deadline = monotonic().saturating_add(within.0);
        loop {
            if sys::signal::interrupted().is_some() && !self.is_ending {
                if !self.ends_early {
                    return Err(Stop::Interrupted);
                }
                self.ask_to_end();
                deadline = deadline.min(monotonic().saturating_add(FINISH_DEADLINE.0));
            }
            self.listen()?;
            if self.members.iter().all(|member| member.stage >= stage) {
                return Ok(());
            }
            let left = deadline.saturating_sub(monotonic());
            if left == 0 {
                let stage = match stage {
                    Stage::Hired | Stage::Ready => "set-up",
                    Stage::Measured => "measuring",
                    Stage::Done => "finishing",
                };
                return Err(Stop::Failed(Failure::Hung {
                    stage: stage.to_owned(),
                    after: within,
                }));
            }
            let fds: Vec<_> = self
                .members
                .iter()
                .filter(|member| member.stage < stage)
                .map(|member| member.worker.output.as_raw_fd())
                .collect();
            // A second at most, so that a signal between check and wait is not missed for long.
            let wait_ms = (left / 1_000_000).clamp(1, 1_000);
            sys::process::wait_readable(&fds, wait_ms)
                .map_err(|error| Stop::error("wait for", "workers", error))?;
        }
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
    fn dismiss(&mut self) {
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
                Ok(Reply::Done(report)) => {
                    self.report = Some(*report);
                    self.stage = Stage::Done;
                }
                Ok(Reply::Failed(kind, words)) => {
                    return Err(Stop::Failed(match kind {
                        FailKind::Unsupported => Failure::Unsupported(words),
                        FailKind::Failed => Failure::Error(words),
                        FailKind::Wrong => Failure::WrongResult(words),
                    }));
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
    fn a_broken_pipe_leaves_the_explanation_to_the_dead() {
        let sent = |kind: io::ErrorKind| unless_dead(Err(kind.into())).is_ok();
        assert!(sent(io::ErrorKind::BrokenPipe));
        assert!(!sent(io::ErrorKind::PermissionDenied));
    }
}
