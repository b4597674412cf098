//! The worker process: one copy of one round, from order to report.
//!
//! It is small on purpose: one thread, no store, no host facts, so that a fork in a measured loop copies little.

use crate::measure::{Counted, measure};
use crate::recorder::{Latencies, Recorder};
use crate::wire::{CopyReport, FailKind, Go, Order, Reply};
use crate::workload::{Body, Finish, Place, WorkError, Workload};
use std::io::{BufRead, Write};
use sys::clock::Clock;
use sys::process::Usage;

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
    mut output: impl Write,
    find: impl Fn(&str) -> Option<&'static dyn Workload>,
) -> Result<(), WorkerError> {
    let order: Order = read_line(&mut input)?;
    let reply = match work(&order, &mut input, &mut output, find) {
        Ok(report) => Reply::Done(Box::new(report)),
        Err(Stop::Pipe(error)) => return Err(error),
        Err(Stop::Work(error)) => {
            let (kind, words) = FailKind::of(&error);
            Reply::Failed(kind, words)
        }
    };
    write_line(&mut output, &reply)?;
    Ok(())
}

/// Why the work stopped.
enum Stop {
    Pipe(WorkerError),
    Work(WorkError),
}

impl From<WorkError> for Stop {
    fn from(error: WorkError) -> Self {
        Self::Work(error)
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
    output: &mut impl Write,
    find: impl Fn(&str) -> Option<&'static dyn Workload>,
) -> Result<CopyReport, Stop> {
    if order.shape.ends_early {
        sys::signal::catch_stop_signals()
            .map_err(|error| WorkError::Failed(format!("catch signals: {error}")))?;
    }
    let workload = find(&order.workload).ok_or_else(|| {
        WorkError::Failed(format!(
            "find workload `{}`: this binary has none",
            order.workload
        ))
    })?;
    let _heap_offset = offset_heap(order.seed);
    let place = Place {
        dir: order.dir.clone(),
        shared_dir: order.shared_dir.clone(),
        run_dir: order.run_dir.clone(),
        copy: order.copy,
        copies: order.copies,
        round: order.round,
        seed: order.seed,
        clock: Clock::with_rate(order.ns_per_tick),
        stand_in: order.stand_in.clone(),
        permits: order.permits.clone(),
    };
    let mut body = workload.prepare(&order.params, &place)?;
    let mut recorder = if body.records_latency() {
        Recorder::on(Clock::with_rate(order.ns_per_tick))
    } else {
        Recorder::off()
    };
    // A CPU that went offline since the order was written is no reason to fail: start anywhere.
    let cpu = order
        .cpu
        .filter(|&cpu| sys::affinity::start_on(cpu).is_ok());
    write_line(output, &Reply::Ready).map_err(Stop::Pipe)?;
    let go: Go = read_line(input).map_err(Stop::Pipe)?;
    sys::clock::sleep_until(go.at);
    let counted = measure(body.as_mut(), &order.shape, &mut recorder)?;
    write_line(output, &Reply::Measured).map_err(Stop::Pipe)?;
    let finish = body.finish()?;
    body.add_latencies(&mut recorder);
    Ok(CopyReport {
        cpu,
        ..report(body.as_ref(), &counted, &recorder, finish)
    })
}

fn report(body: &dyn Body, counted: &Counted, recorder: &Recorder, finish: Finish) -> CopyReport {
    // Children are counted when they have been waited for. What those of the warm-up used, and those that live through
    // the round until the measured part began, is taken off.
    let children = sys::process::usage_children().since(counted.children_before);
    let used: Usage = counted.usage.plus(children);
    CopyReport {
        ops: counted.ops,
        work_per_op: body.work_per_op(),
        wall_ns: counted.wall_ns,
        windows: counted.windows.clone(),
        user_ns: used.user,
        system_ns: used.system,
        voluntary: used.voluntary,
        involuntary: used.involuntary,
        major_faults: used.major_faults,
        minor_faults: used.minor_faults,
        allocations: counted.allocations,
        digest: finish.digest,
        cpu: None,
        latency: recorder.pairs(),
        latency_too_long: recorder.too_long()
            + finish
                .latencies
                .values()
                .map(Latencies::too_long)
                .sum::<u64>(),
        latencies: finish
            .latencies
            .iter()
            .map(|(name, latencies)| (name.clone(), latencies.pairs()))
            .collect(),
        notes: finish.notes,
        // JSON has no word for them, and a missing value says why by itself.
        reported: finish
            .reported
            .into_iter()
            .filter(|(_, value)| value.is_finite())
            .collect(),
        missing: finish.missing,
        played_windows: finish.windows,
        failed: finish.failed.as_ref().map(FailKind::of),
    }
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
