//! The worker process: one copy of one round, or an errand for what rounds stand on, from order to report.
//!
//! It is small on purpose: one thread, no store, no host facts, so that a fork in a measured loop copies little. Where
//! ticks are asked for a second thread tells them.

use crate::measure::{Counted, measure};
use crate::recorder::{Latencies, Recorder};
use crate::tick::{Board, Ticks, Told};
use crate::wire::{CopyReport, Go, Order, Reply, Sent};
use crate::workload::{self, Finish, WorkError, Workload};
use model::num::approx;
use model::order::Keyed as _;
use model::record::{CopyDetail, CopyRecord, Series};
use model::units::{Bytes, Nanos};
use std::io::{BufRead, Write};

/// The hidden command-line word that makes the binary a worker.
pub const WORKER_WORD: &str = "__worker";

/// The worker could not even talk to its supervisor.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The pipe to the supervisor is broken.
    #[error("talk to the supervisor: {0}")]
    Pipe(#[from] std::io::Error),
    /// What came through the pipe is no order.
    #[error("read the supervisor's order: {0}")]
    Order(#[from] serde_json::Error),
}

/// Does what the supervisor orders through `input` and reports through `output`. `find` looks a workload up.
pub fn run(
    mut input: impl BufRead,
    mut output: impl Write + Send,
    find: impl Fn(&str) -> Option<&'static dyn Workload>,
) -> Result<(), WorkerError> {
    let mut order: Order = read_line(&mut input)?;
    if let Some(workload) = find(&order.workload) {
        let own = workload::its_own(workload, &order.params, &order.stand_ins);
        order.place.stand_in = own.cloned();
    }
    let done = match order.errand {
        Some(errand) => run_errand(&order, errand, &mut output, find).map(Reply::Told),
        None => {
            work(&order, &mut input, &mut output, find).map(|report| Reply::Done(Box::new(report)))
        }
    };
    let reply = match done {
        Ok(reply) => reply,
        Err(Stop::Pipe(error)) => return Err(error),
        Err(Stop::Work(error, moved)) => Reply::Failed(error.failure(), moved),
    };
    write_line(&mut output, &reply)?;
    Ok(())
}

/// Why the work stopped.
enum Stop {
    Pipe(WorkerError),
    /// With what it had moved to a peer and from there.
    Work(WorkError, Option<Bytes>),
}

impl From<WorkError> for Stop {
    fn from(error: WorkError) -> Self {
        Self::Work(error, None)
    }
}

impl From<WorkerError> for Stop {
    fn from(error: WorkerError) -> Self {
        Self::Pipe(error)
    }
}

fn work(
    order: &Order,
    input: &mut impl BufRead,
    output: &mut (impl Write + Send),
    find: impl Fn(&str) -> Option<&'static dyn Workload>,
) -> Result<CopyReport, Stop> {
    if order.shape.ends_early {
        sys::signal::catch_stop_signals()
            .map_err(|error| WorkError::Failed(format!("catch signals: {error}")))?;
    }
    let workload = found(order, find)?;
    let _heap_offset = offset_heap(order.place.seed);
    let mut body = workload.prepare(&order.params, &order.place)?;
    let mut recorder = if body.records_latency() {
        Recorder::on(order.place.clock())
    } else {
        Recorder::off()
    };
    // A CPU that went offline since the order was written is no reason to fail: start anywhere.
    let cpu = order
        .cpu
        .filter(|&cpu| sys::affinity::start_on(cpu).is_ok());
    let mut board = order.ticks.then(|| Board::new(Ticks::NEVER, body.as_mut()));
    write_line(output, &Reply::Ready).map_err(Stop::Pipe)?;
    let go: Go = read_line(input).map_err(Stop::Pipe)?;
    if let (Some(board), Some(ticks)) = (&mut board, go.ticks) {
        board.keep_to(ticks);
    }
    sys::clock::sleep_until(go.at);
    let counted = match &board {
        None => measure(body.as_mut(), &order.shape, &mut recorder, None),
        Some(board) => {
            let of_one = body.work_per_op();
            // One that cannot be said is no reason to stop: whoever does not listen has ended, and this process will.
            let say = |told: Told| {
                let report = report(of_one, told.counted, told.finish, cpu);
                let _ = write_line(output, &Reply::Tick(Box::new(report)));
            };
            let measuring = || measure(body.as_mut(), &order.shape, &mut recorder, Some(board));
            let no_thread = |error| WorkError::failed("start", "a thread that tells ticks", error);
            let measured = board.beside(say, measuring).map_err(no_thread);
            measured.and_then(|measured| measured)
        }
    };
    let mut counted = counted.map_err(|error| Stop::Work(error, body.moved()))?;
    write_line(output, &Reply::Measured).map_err(Stop::Pipe)?;
    let finish = body.finish();
    let mut finish = finish.map_err(|error| Stop::Work(error, body.moved()))?;
    finish.latencies.extend(recorder.named());
    if let Some(board) = &board {
        board.complete(&mut counted, &mut finish);
    }
    Ok(CopyReport {
        moved: body.moved(),
        ..report(body.work_per_op(), counted, finish, cpu)
    })
}

/// Makes, checks or removes what rounds stand on, or looks whether something is there.
fn run_errand(
    order: &Order,
    errand: Sent,
    output: &mut impl Write,
    find: impl Fn(&str) -> Option<&'static dyn Workload>,
) -> Result<workload::Told, Stop> {
    let workload = found(order, find)?;
    let mut broken = None;
    let mut tell = |bytes| {
        let said = write_line(output, &Reply::Made(bytes));
        broken = broken.take().or(said.err());
    };
    let told = match errand {
        Sent::For(errand) => workload.errand(errand, &order.params, &order.place, &mut tell)?,
        Sent::Reach => {
            workload.reach(&order.place)?;
            workload::Told {
                holds: true,
                ..workload::Told::default()
            }
        }
    };
    broken.map_or(Ok(told), |error| Err(Stop::Pipe(error)))
}

fn found(
    order: &Order,
    find: impl Fn(&str) -> Option<&'static dyn Workload>,
) -> Result<&'static dyn Workload, WorkError> {
    find(&order.workload).ok_or_else(|| {
        WorkError::Failed(format!(
            "find workload `{}`: this binary has none",
            order.workload
        ))
    })
}

fn report(work_per_op: f64, counted: Counted, finish: Finish, cpu: Option<u32>) -> CopyReport {
    // Children are counted when they have been waited for. What those of the warm-up used, and those that live through
    // the round until the measured part began, is taken off.
    let children = sys::process::usage_children().since(counted.children_before);
    let used = counted.usage.plus(children);
    let latencies = finish.latencies;
    CopyReport {
        too_long: latencies.values().map(Latencies::too_long).sum(),
        record: CopyRecord {
            ops: counted.ops,
            work: counted
                .work
                .unwrap_or_else(|| approx(counted.ops) * work_per_op),
            wall: Nanos(counted.wall_ns),
            user: Nanos(used.user),
            system: Nanos(used.system),
            digest: finish.digest,
            allocations: counted.allocations,
            cpu,
            // JSON has no word for what is not finite, and a missing value says why by itself.
            reported: finish
                .reported
                .into_iter()
                .filter(|(_, value)| value.is_finite())
                .into_map(),
            apart: None,
        },
        detail: CopyDetail {
            pid: Some(std::process::id()),
            latencies: latencies
                .into_iter()
                .map(|(name, latencies)| (name, latencies.pairs()))
                .into_map(),
            series: finish.series.into_iter().map(finite).into_map(),
            voluntary_switches: used.voluntary,
            involuntary_switches: used.involuntary,
            major_faults: used.major_faults,
            minor_faults: used.minor_faults,
            job: finish.job,
            failed: finish.failed.as_ref().map(WorkError::failure),
        },
        work_per_op,
        moved: None,
        windows: counted.windows,
        played_windows: finish.windows,
        notes: finish.notes,
        party: finish.party,
        missing: finish.missing,
    }
}

/// JSON has no word for what is not finite.
fn finite((name, mut series): (String, Series)) -> (String, Series) {
    for value in &mut series.values {
        *value = value.filter(|value| value.is_finite());
    }
    (name, series)
}

/// Moves later heap blocks by up to a page: one layout must not stand for all. Source: Mytkowicz et al., "Producing
/// wrong data without doing anything obviously wrong", ASPLOS 2009.
fn offset_heap(seed: u64) -> Vec<u8> {
    let offset = model::rng::Rng::stream(seed, 1).below(4096);
    Vec::with_capacity(usize::try_from(offset).unwrap_or(0))
}

fn read_line<T: serde::de::DeserializeOwned>(input: &mut impl BufRead) -> Result<T, WorkerError> {
    let mut line = String::new();
    input.read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}

fn write_line(output: &mut impl Write, reply: &Reply) -> Result<(), WorkerError> {
    let mut line = serde_json::to_vec(reply)?;
    line.push(b'\n');
    output.write_all(&line)?;
    Ok(output.flush()?)
}
