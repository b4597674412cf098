//! Making the loop ready for one job.

use super::checks::Checks;
use super::cmdprio::PriorityDraw;
use super::course::{Course, size_mean};
use super::known::Known;
use super::log::Log;
use super::passes::Cached;
use super::phases::Phase;
use super::rates::{Floor, Rates};
use super::samples::Samples;
use super::search::Search;
use super::steady::Steady;
use super::times::{Times, ticks};
use super::write::{WorkingSet, Writer};
use super::{Errors, Full, Limits, Pauses, Slot, Syncs};
use crate::storage::body::{Queue, index};
use crate::storage::job::kinds;
use crate::storage::pace::Pace;
use crate::storage::records::Records;
use crate::storage::spec;
use crate::storage::taking::Taking;
use crate::storage::{Parts, buffers};
use model::job::Mix;
use model::rng::Rng;
use sys::clock::Clock;
use sys::io::{Engine, Kind};

/// A job that is ahead of others looks again after this long at least: they need the CPU.
const FLOW_PAUSE_LEAST_NS: u64 = 10_000;

/// The loop for this job on this engine, whose buffers are filled.
pub(in crate::storage) fn full<E: Engine>(mut parts: Parts<'_>, engine: E) -> Full<E> {
    let (job, place) = (parts.job, parts.place);
    let paced = job.is_paced();
    // Intended starts are times of the kernel's clock.
    let clock = if paced { Clock::Kernel } else { place.clock() };
    let seed = parts.seed();
    let (first, sizes) = parts.regions();
    let bytes = sizes.iter().sum();
    let course = Course::new(job, first, &sizes, &parts.lengths, seed);
    let known = Known::of(job, first, &sizes, seed);
    let remembers = job
        .verify
        .as_ref()
        .is_some_and(|how| how.reads_back || how.only_checks);
    let kinds = kinds(job);
    let recorded: &[Kind] = match kinds {
        [Kind::Write] if job.verify.is_some() => &[Kind::Read, Kind::Write],
        kinds => kinds,
    };
    let cmdprio = PriorityDraw::new(job, seed);
    let tells_whole = job.priorities.as_ref().is_some_and(|own| own.tells_whole);
    let records = Records::new(
        recorded,
        E::SYNCHRONOUS,
        job.is_rated(),
        job.fsync_every > 0 || job.fdatasync_every > 0 || job.fsync_at_end,
    )
    .by_priority(cmdprio.as_ref().map_or(&[], PriorityDraw::all), tells_whole);
    let room = if remembers { job.ledger_room(bytes) } else { 0 };
    let handles = std::mem::take(&mut parts.cached);
    let cached = (!handles.is_empty()).then(|| Cached::new(handles, first, sizes));
    let batching = job.batching;
    let paths = parts.paths();
    let (block, turns) = (job.size_range().1, buffers::turns(job));
    Full {
        cached,
        kinds,
        course: if job.verify.is_some() {
            course.in_passes()
        } else {
            course
        },
        queue: Queue::new(engine.slots(), Slot::FREE),
        limits: Limits {
            submit: batching.submit.filter(|&n| n > 0).map_or(usize::MAX, index),
            low: batching.low.map_or(usize::MAX, index),
            taking: Taking::new(job),
            no_overlap: batching.serializes_overlap
                || job.pattern.mix == Mix::TrimWrite
                || (job.verify.is_some() && job.depth > 1),
        },
        records,
        writer: Writer {
            contents: job.contents.clone(),
            redundancy: job.redundancy,
            turns,
            block: usize::try_from(block).unwrap_or(usize::MAX),
            seed: place.seed,
            set: WorkingSet::of(job.redundancy, bytes, block, place.seed),
            written: Rng::stream(place.seed, 6).next(),
            rng: Rng::stream(place.seed, 31),
            held: None,
        },
        checks: job
            .verify
            .as_ref()
            .map(|how| Checks::new(how, room, job.continue_on.mismatch_passes(), known)),
        pace: paced.then(|| Pace::new(job, place.seed)),
        pauses: Pauses {
            spin_ns: job.pacing.think_spin.0.min(job.think.0),
            counts_begun: job.pacing.think_counts_begun,
            iotime: job.pacing.think_iotime.0,
            worked_since: 0,
            shift_ns: if job.pacing.ignores_think {
                job.think.0
            } else {
                0
            },
        },
        flow: parts
            .flow
            .take()
            .map(|member| (member, job.flow.pause.0.max(FLOW_PAUSE_LEAST_NS))),
        cmdprio,
        rates: Rates::new(&job.pacing, job.arrivals, place.seed),
        floor: Floor::new(&job.pacing, ticks(clock, job.pacing.cycle)),
        search: job
            .latency_target
            .as_ref()
            .map(|target| Search::new(target, engine.slots(), ticks(clock, target.window))),
        steady: job.steady_state.as_ref().map(|rule| {
            let in_ticks = |time| ticks(clock, time);
            Steady::new(rule, in_ticks(rule.interval), in_ticks(rule.ramp))
        }),
        log: Log::new(
            job,
            clock,
            !E::SYNCHRONOUS,
            !E::SYNCHRONOUS || job.is_rated(),
        )
        .map(Box::new),
        is_watched: job.log.is_some()
            || job.latency_target.is_some()
            || job.steady_state.is_some()
            || job.pacing.max_latency.is_some(),
        samples: job.samples.map(|window| Samples::of(clock, window)),
        times: Times::new(job, clock),
        phase: Phase::Work,
        ending: false,
        search_at: (0, 0),
        recording: true,
        syncs: Syncs {
            at_end: job.fsync_at_end && job.writes(),
            on_close: job.fsync_on_close && job.writes(),
            asked: 0,
        },
        max_latency_ns: job.pacing.max_latency.map_or(u64::MAX, |latency| latency.0),
        errors: Errors {
            rule: job.continue_on.clone(),
            ..Errors::default()
        },
        bytes: [0; 3],
        clock,
        size_mean: spec::leads_with_bandwidth(job).then(|| size_mean(job)),
        paths,
        watch: parts.watch,
        notes: parts.notes,
        broken: None,
        word: crate::storage::names::word(job),
        engine,
    }
}
