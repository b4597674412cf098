//! `os.mutex`: sysbench's test of mutexes that are held for a moment and seldom by two.
//!
//! An event takes a good part of a second and each thread of the original does one: so it is done in parts, and a round
//! is as long as whole events of every thread. Mutexes for which there is no room are refused.

use super::cpus_at_once;
use super::threads::{THREADS_SHAPE, check_held};
use crate::sysbench::{
    Events, LAT_MAX, LAT_MEAN, LAT_MIN, LAT_P95_OF_FEW, Threads, Timing, VERSION, Version,
    events_per_cpu_s, events_per_s,
};
use engine::recorder::Recorder;
use engine::workload::{Body, Finish, Place, WorkError, Workload};
use model::digest::Digest;
use model::num::{approx, round_to_u64};
use model::params::Params;
use model::plan::Shape;
use model::rng::Rng;
use model::spec::{MetricClass, Nature, ParamDef, ParamKind, Spec, TestDef};
use model::units::Nanos;
use std::sync::Arc;
use sys::loops::failure::Failure;
use sys::loops::locks::{Locks, Spacing, Spin, turns};

/// The workload.
pub(crate) static MUTEX: Mutex = Mutex;

/// Many mutexes, short holds.
#[derive(Debug)]
pub(crate) struct Mutex;

const fn count(name: &'static str, default: &'static str, doc: &'static str) -> ParamDef {
    ParamDef {
        name,
        kind: ParamKind::Count {
            min: 1,
            max: 100_000_000,
        },
        default,
        doc,
    }
}

static SPEC: Spec = Spec {
    name: "os.mutex",
    version: 3,
    nature: Nature::System,
    title: "sysbench's mutex test: many mutexes, short holds",
    doc: "One event of sysbench's mutex test is `locks` turns of one thread: an empty loop of `loops` turns, then one \
          of `mutexes` mutexes, chosen at random, is taken, a number that all threads share is raised, and the mutex \
          is given back. There each thread does one event and the total time is the figure; here threads of one \
          process do turns until the time is over, and an event is as many turns as there.\n\n\
          With the defaults nearly all instructions are those of the empty loop: the test measures the clock rate of a \
          core, and hardly any mutex. With `version=0.4` the empty loop is not there, because compilers took it away \
          from that version; then it measures mutexes. Each has 256 bytes of its own.",
    params: &[
        VERSION,
        count("mutexes", "4096", "Mutexes (`--mutex-num`)."),
        count("locks", "50000", "Turns of one event (`--mutex-locks`)."),
        count(
            "loops",
            "10000",
            "Turns of the empty loop between two of them (`--mutex-loops`).",
        ),
    ],
    metrics: &[
        events_per_s(
            MetricClass::Compute,
            "Events of all threads, in fractions as turns over `locks`, over the wall time of the measured part.",
        ),
        events_per_cpu_s(MetricClass::Compute),
        LAT_MEAN,
        LAT_MIN,
        LAT_P95_OF_FEW,
        LAT_MAX,
    ],
    tests: &[TestDef::new(
        "os.mutex",
        "sysbench mutex: 4096 mutexes, 50000 locks, 10000 loops",
        &[],
    )],
    simulated: false,
    on_disk: false,
};

/// Bytes of a mutex, as in the original.
const MUTEX_BYTES: u64 = 256;

/// Refuses mutexes that would make anybody swap; all copies share them.
fn check_room_for(mutexes: u64, place: &Place) -> Result<(), WorkError> {
    crate::memory::check_room_once(mutexes.saturating_mul(MUTEX_BYTES), place)
}

/// Turns that are done and counted at once: about 60 us of them.
const TURNS_AT_ONCE: u64 = 20;

impl Workload for Mutex {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn shape(&self, params: &Params) -> Shape {
        self.shape_of(params, 1)
    }

    fn shape_of(&self, params: &Params, copies: u32) -> Shape {
        let cpus = cpus_at_once();
        Shape {
            measure: measure(params, copies, cpus),
            measure_min: measure_min(params, copies, cpus),
            ..THREADS_SHAPE
        }
    }

    fn prepare(&self, params: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        check_room_for(params.count("mutexes"), place)?;
        let mutexes = usize::try_from(params.count("mutexes")).unwrap_or(usize::MAX);
        let locks = Arc::new(Locks::new(mutexes, Spacing::Apart));
        let per_event = params.count("locks");
        // Parts are alike, so they divide the event.
        let at_once = (1..=TURNS_AT_ONCE.min(per_event))
            .rev()
            .find(|part| per_event.is_multiple_of(*part))
            .unwrap_or(1);
        let spin = match Version::of(params) {
            Version::V10 => Spin::Kept,
            Version::V04 => Spin::Removed,
        };
        let make = |index| Turns {
            locks: Arc::clone(&locks),
            parts: per_event / at_once,
            at_once,
            loops: params.count("loops"),
            spin,
            random: Rng::stream(place.seed, u64::from(index)).next() | 1,
            clone: place.round,
            done: 0,
        };
        Ok(Box::new(Locking {
            threads: Threads::start(place, make, Timing::Own)?,
            locks: Arc::clone(&locks),
            parts: per_event / at_once,
            at_once,
        }))
    }
}

/// Nanoseconds of one turn of the empty loop, and of what else a turn of an event does: on a core of 2023 at 3 GHz.
const LOOP_NS: f64 = 0.35;
const LOCK_NS: f64 = 20.0;

/// Events that should end in a round, so that its 95th percentile is not its longest event, with some to spare for a
/// slower core; and whole events of each thread, because all of them begin together and so end together.
const EVENTS_WANTED: f64 = 26.0;
const EVENTS_OF_EACH: f64 = 1.5;

/// The longest measured part that this asks for; beyond, events are too long for latencies.
const MEASURE_MAX_S: f64 = 60.0;

/// How long an event of a thread that has a CPU for itself takes, and one among `copies` threads on `cpus` CPUs.
fn event_s(params: &Params, copies: u32, cpus: u32) -> (f64, f64) {
    let loops = match Version::of(params) {
        Version::V10 => approx(params.count("loops")),
        Version::V04 => 0.0,
    };
    let alone_s = approx(params.count("locks")) * (loops * LOOP_NS + LOCK_NS) / 1e9;
    (
        alone_s,
        alone_s * f64::from(copies.max(1)) / at_once(copies, cpus),
    )
}

fn at_once(copies: u32, cpus: u32) -> f64 {
    f64::from(copies.min(cpus).max(1))
}

fn seconds(s: f64) -> Nanos {
    Nanos(round_to_u64(s.min(MEASURE_MAX_S) * 1e9))
}

/// How long a round of `copies` threads on `cpus` CPUs must be for the latencies of whole events.
fn measure(params: &Params, copies: u32, cpus: u32) -> Nanos {
    let alone_s = event_s(params, copies, cpus).0;
    let wanted = seconds(EVENTS_WANTED * alone_s / at_once(copies, cpus));
    wanted
        .max(measure_min(params, copies, cpus))
        .max(THREADS_SHAPE.measure)
}

/// Below which no budget shortens it: no event would begin and end within the round, and there would be no times of
/// events.
fn measure_min(params: &Params, copies: u32, cpus: u32) -> Nanos {
    let event_s = event_s(params, copies, cpus).1;
    seconds(EVENTS_OF_EACH * event_s).max(Shape::MEASURE_MIN)
}

struct Turns {
    locks: Arc<Locks>,
    parts: u64,
    at_once: u64,
    loops: u64,
    spin: Spin,
    random: u64,
    clone: u32,
    done: u64,
}

impl Events for Turns {
    fn event(&mut self) -> Result<(), Failure> {
        turns(
            &self.locks,
            self.at_once,
            self.loops,
            self.spin,
            &mut self.random,
            self.clone,
        )?;
        self.done += 1;
        Ok(())
    }

    fn parts(&self) -> u64 {
        self.parts
    }

    fn whole(&self) -> bool {
        self.done.is_multiple_of(self.parts)
    }
}

struct Locking {
    threads: Threads<Turns>,
    locks: Arc<Locks>,
    parts: u64,
    at_once: u64,
}

impl Body for Locking {
    fn batch(&mut self, ops: u64, _: &mut Recorder) -> Result<u64, WorkError> {
        self.threads.batch(ops)
    }

    fn work_per_op(&self) -> f64 {
        1.0 / approx(self.parts)
    }

    fn measured_part_begins(&mut self) {
        self.threads.measured_part_begins();
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        self.threads.end()?;
        let done: u64 = self.threads.all().map(|events| events.done).sum();
        check_held(&self.locks, done * self.at_once)?;
        Ok(Finish {
            digest: Digest::EMPTY.word(self.parts * self.at_once),
            latencies: self.threads.latencies(),
            ..Finish::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::testing;

    #[test]
    fn turns_add_up_to_events_in_both_versions() {
        for (version, copies) in [("1.0", 1), ("1.0", 3), ("0.4", 3)] {
            let (_root, mut place) = testing::place();
            place.copies = copies;
            let set = [("version", version), ("locks", "60"), ("loops", "10")];
            let mut body = testing::prepare(&MUTEX, &set, &place).unwrap();
            // Three parts of twenty turns are one event.
            assert_eq!(body.work_per_op().to_bits(), (1.0_f64 / 3.0).to_bits());
            assert!(body.batch(300, &mut Recorder::off()).unwrap() >= 300);
            let recorded = body.finish().unwrap().latencies["lat"].count();
            assert!(recorded >= 90, "{recorded}");
        }
    }

    #[test]
    fn rounds_are_long_enough_for_whole_events_of_every_thread() {
        let check = |set: &[(&str, &str)], copies, cpus, expected_ms: std::ops::Range<u64>| {
            let found = measure(&testing::params(&MUTEX, set), copies, cpus).0 / 1_000_000;
            assert!(
                expected_ms.contains(&found),
                "{set:?} {copies} {cpus}: {found}"
            );
        };
        check(&[], 1, 2, 4_000..5_000);
        check(&[], 2, 2, 2_000..2_500);
        check(&[], 16, 2, 2_000..2_500);
        check(&[], 128, 2, 16_000..18_000);
        check(&[], 4, 64, 1_000..1_300);
        check(&[("version", "0.4")], 16, 2, 1_000..1_001);
        check(&[("locks", "100000000")], 1, 1, 60_000..60_001);
    }

    #[test]
    fn no_budget_makes_a_round_shorter_than_events_of_every_thread() {
        for (set, copies, cpus, events) in [
            (&[][..], 1, 2, 1.5),
            (&[], 8, 2, 1.5),
            (&[], 16, 2, 1.5),
            (&[("locks", "100000")], 16, 4, 1.5),
            // Events of a millisecond: then it is the shortest of all rounds.
            (&[("version", "0.4")], 1, 2, 200.0),
        ] {
            let params = testing::params(&MUTEX, set);
            let least = measure_min(&params, copies, cpus);
            let event_s = event_s(&params, copies, cpus).1;
            assert!(
                (least.as_secs_f64() / event_s - events).abs() < 0.01,
                "{set:?} {copies}"
            );
            assert!(least <= measure(&params, copies, cpus));
        }
    }

    #[test]
    fn mutexes_for_which_there_is_no_room_are_refused() {
        let (_root, mut place) = testing::place();
        let error = check_room_for(1 << 50, &place).unwrap_err().to_string();
        assert!(error.contains("too little memory"), "{error}");
        place.copies = 1 << 20;
        check_room_for(4096, &place).unwrap();
    }

    #[test]
    fn parts_divide_an_event_of_any_length() {
        for locks in ["1", "7", "23", "50000"] {
            let (_root, place) = testing::place();
            let set = [("locks", locks), ("loops", "1")];
            let mut body = testing::prepare(&MUTEX, &set, &place).unwrap();
            body.batch(10, &mut Recorder::off()).unwrap();
            let finish = body.finish().unwrap();
            let turns: u64 = locks.parse().unwrap();
            assert_eq!(finish.digest, Digest::EMPTY.word(turns));
        }
    }
}
