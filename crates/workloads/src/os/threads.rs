//! `os.threads`: sysbench's test of the scheduler: threads that take a mutex, yield the CPU, and give it back.
//!
//! Which mutex, and where they lie, is as in the original, because both decide how often threads wait for one another.
//! Events that would take longer than a round can last are refused before they begin.

use super::cpus_at_once;
use crate::arrivals::{self, LATE_MEAN, Queue};
use crate::sysbench::{
    Events, LAT_MAX, LAT_MEAN, LAT_MIN, LAT_P95, Threads, Timing, VERSION, events_per_cpu_s,
    events_per_s,
};
use engine::recorder::Recorder;
use engine::workload::{Body, Finish, Place, WorkError, Workload};
use model::digest::Digest;
use model::host::HostFacts;
use model::num::{approx, round_to_u64};
use model::params::Params;
use model::plan::Shape;
use model::spec::{MetricClass, MetricDef, Nature, ParamDef, ParamKind, Spec, TestDef};
use model::units::Nanos;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use sys::loops::failure::Failure;
use sys::loops::locks::{Locks, Spacing, yields};

/// The workload.
pub(crate) static THREADS: ThreadsTest = ThreadsTest;

/// Locks and yields among threads of one process.
#[derive(Debug)]
pub(crate) struct ThreadsTest;

static SPEC: Spec = Spec {
    name: "os.threads",
    version: 3,
    nature: Nature::System,
    title: "sysbench's threads test: mutexes and yields among threads",
    doc: "One operation is one event of sysbench's threads test: a thread takes one of `locks` mutexes, yields the CPU \
          (sched_yield) and gives the mutex back, `yields` times. Which mutex is decided by a count that all threads \
          share. Mutexes lie one behind the other, as there, so that two threads at work pull the same cache lines. \
          Copies are threads of one process. Both versions of sysbench do the same here.\n\n\
          With one thread nobody waits, and it measures two atomic instructions and the system call. With more threads \
          than CPUs a yield switches to another thread, which may wait for the mutex that the yielding one holds: then \
          it measures scheduler and futex together, and its figure depends on the kernel's scheduler (EEVDF's yield \
          since Linux 6.6 does something else than CFS's before) more than on the machine. A yield gives the CPU to \
          anybody: other work on the machine, however little, shows tenfold.",
    params: &[
        VERSION,
        ParamDef {
            name: "yields",
            kind: ParamKind::Count {
                min: 1,
                max: 1_000_000,
            },
            default: "1000",
            doc: "Turns of one event (`--thread-yields`).",
        },
        ParamDef {
            name: "locks",
            kind: ParamKind::Count {
                min: 1,
                max: 100_000,
            },
            default: "8",
            doc: "Mutexes (`--thread-locks`).",
        },
        arrivals::RATE,
        arrivals::ARRIVALS,
    ],
    metrics: &[
        events_per_s(
            MetricClass::System,
            "Events of all threads, over the wall time of the measured part.",
        ),
        events_per_cpu_s(MetricClass::System),
        LAT_MEAN,
        LAT_MIN,
        LAT_P95,
        LAT_MAX,
        LATE_MEAN,
    ],
    tests: &[TestDef::new(
        "os.threads",
        "sysbench threads: 1000 yields, 8 locks",
        &[],
    )],
    simulated: false,
    on_disk: false,
};

/// Longer than usual: with many threads an event takes tens of milliseconds.
pub(super) const THREADS_SHAPE: Shape = Shape {
    warmup: Nanos::from_millis(200),
    measure: Nanos::from_secs(1),
    threads: true,
    ..Shape::DEFAULT
};

impl Workload for ThreadsTest {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn shape(&self, params: &Params) -> Shape {
        self.shape_of(params, 1)
    }

    fn metrics(&self, params: &Params) -> Vec<&'static MetricDef> {
        let open = arrivals::asked(params);
        let metrics = SPEC.metrics.iter();
        metrics
            .filter(|metric| open || metric.quantity != LATE_MEAN.quantity)
            .collect()
    }

    fn shape_of(&self, params: &Params, copies: u32) -> Shape {
        let event_s = event_s(params, copies, cpus_at_once());
        let seconds = |s: f64| Nanos(round_to_u64(s * 1e9));
        Shape {
            warmup: THREADS_SHAPE.warmup.max(seconds(event_s)),
            measure: THREADS_SHAPE.measure.max(seconds(2.0 * event_s)),
            ..THREADS_SHAPE
        }
    }

    fn supported_with(&self, params: &Params, host: &HostFacts, copies: u32) -> Result<(), String> {
        let seconds = event_s(params, copies, host.limits.copies_all());
        if seconds <= EVENT_MAX_S {
            return Ok(());
        }
        Err(format!(
            "one event takes about {seconds:.0} s with so many threads, and a round has to end within a minute: fewer \
             `yields` or more `locks` make it shorter"
        ))
    }

    fn prepare(&self, params: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        let locks = Arc::new(Locks::new(
            usize::try_from(params.count("locks")).unwrap_or(usize::MAX),
            Spacing::Together,
        ));
        let next = Arc::new(Ticket::default());
        let turns = params.count("yields");
        let make = |_| Yields {
            locks: Arc::clone(&locks),
            next: Arc::clone(&next),
            turns,
            done: 0,
        };
        Ok(Box::new(Yielding {
            threads: Threads::start_at(place, make, Timing::Own, |part| {
                let own = arrivals::share(params, (part, place.copies), place.seed);
                own.map(|schedule| Queue::new(Some(schedule)))
            })?,
            locks: Arc::clone(&locks),
            turns,
        }))
    }
}

/// What a turn takes one thread alone, and one of several, which may have to wait for the one that holds the mutex to
/// be woken; in nanoseconds. Generous: the kernel's scheduler decides.
const TURN_ALONE_NS: f64 = 1_000.0;
const TURN_NS: f64 = 10_000.0;

/// The longest event of which a round can have a few.
const EVENT_MAX_S: f64 = 20.0;

/// What an event is expected to take at most: as many threads are at work at the same time as have a CPU and a mutex.
fn event_s(params: &Params, copies: u32, cpus: u32) -> f64 {
    let turns = approx(params.count("yields"));
    if copies <= 1 {
        return turns * TURN_ALONE_NS / 1e9;
    }
    let locks = u32::try_from(params.count("locks")).unwrap_or(u32::MAX);
    let at_once = copies.min(cpus.max(1)).min(locks);
    turns * TURN_NS / 1e9 * f64::from(copies) / f64::from(at_once.max(1))
}

/// The count by which events choose their mutex, on a line of its own.
#[derive(Default)]
#[repr(align(128))]
struct Ticket(AtomicU64);

struct Yields {
    locks: Arc<Locks>,
    next: Arc<Ticket>,
    turns: u64,
    done: u64,
}

impl Events for Yields {
    fn event(&mut self) -> Result<(), Failure> {
        let index = self.next.0.fetch_add(1, Ordering::Relaxed);
        yields(&self.locks, index, self.turns)?;
        self.done += 1;
        Ok(())
    }
}

struct Yielding {
    threads: Threads<Yields>,
    locks: Arc<Locks>,
    turns: u64,
}

impl Body for Yielding {
    fn batch(&mut self, ops: u64, _: &mut Recorder) -> Result<u64, WorkError> {
        self.threads.batch(ops)
    }

    fn batch_target(&self) -> Nanos {
        super::HELPER_BATCH
    }

    fn measured_part_begins(&mut self) {
        self.threads.measured_part_begins();
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        self.threads.end()?;
        let done: u64 = self.threads.all().map(|events| events.done).sum();
        check_held(&self.locks, done * self.turns)?;
        Ok(Finish {
            digest: Digest::EMPTY.word(self.turns),
            latencies: self.threads.latencies(),
            notes: self.threads.notes(),
            ..Finish::default()
        })
    }
}

/// Every turn must have held a mutex once, and nobody at the same time as another.
pub(super) fn check_held(locks: &Locks, expected: u64) -> Result<(), WorkError> {
    let held = locks
        .held()
        .map_err(|failure| super::failed(&failure, "the mutexes"))?;
    if held == expected {
        return Ok(());
    }
    Err(WorkError::Wrong(format!(
        "the mutexes were held {held} times in place of {expected}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::testing;

    #[test]
    fn all_threads_work_and_every_event_is_counted_and_timed() {
        for copies in [1, 2, 5] {
            let (_root, mut place) = testing::place();
            place.copies = copies;
            let mut body = testing::prepare(&THREADS, &[("yields", "10")], &place).unwrap();
            body.batch(20, &mut Recorder::off()).unwrap();
            body.measured_part_begins();
            let done = body.batch(50, &mut Recorder::off()).unwrap();
            assert!(done >= 50);
            let recorded = &body.finish().unwrap().latencies["lat"];
            assert!(recorded.count() > 0 && recorded.too_long() == 0);
        }
    }

    #[test]
    fn with_a_rate_events_arrive_and_their_wait_is_part_of_their_latency() {
        // On a busy machine a rate is not held now and then.
        let is_held = |rate, copies| (0..20).any(|_| !is_late(rate, copies, "10"));
        assert!(is_held(50, 1) && is_held(100, 2));
        // A thread alone does 10,000 turns in some milliseconds: 20,000 events a second queue.
        assert!(is_late(20_000, 1, "10000"));
    }

    /// Whether it is told of events at a rate that it was not held.
    fn is_late(rate: u64, copies: u32, yields: &str) -> bool {
        let (_root, mut place) = testing::place();
        place.copies = copies;
        let words = rate.to_string();
        let set = [("yields", yields), ("rate", &words), ("arrivals", "linear")];
        let mut body = testing::prepare(&THREADS, &set, &place).unwrap();
        let start = sys::clock::monotonic();
        let before = body.batch(u64::from(copies), &mut Recorder::off());
        body.measured_part_begins();
        let began = sys::clock::monotonic();
        let done = body.batch(20, &mut Recorder::off()).unwrap() + before.unwrap();
        let end = sys::clock::monotonic();
        let finish = body.finish().unwrap();
        let latencies = finish.latencies;
        // What still waits at the end was not late yet.
        assert!(latencies["lat"].count() >= latencies["late"].count());
        if rate >= 20_000 {
            let longest = latencies["lat"].pairs().pop().unwrap().0;
            assert!(
                longest * 10 > (end - began) * 9,
                "each waits for those before it"
            );
        } else {
            // No more than have arrived; one after the other would take microseconds.
            let arrived = (end - start) * rate / 1_000_000_000 + u64::from(copies);
            assert!(done <= arrived, "{done} of {arrived}");
        }
        assert!(finish.notes.len() <= 1, "{:?}", finish.notes);
        !finish.notes.is_empty()
    }

    #[test]
    fn rounds_are_as_long_as_their_events_and_what_takes_minutes_is_left_out() {
        let set =
            |yields, locks| testing::params(&THREADS, &[("yields", yields), ("locks", locks)]);
        for copies in [1, 2, 16] {
            assert_eq!(THREADS.shape_of(&set("1000", "8"), copies), THREADS_SHAPE);
        }
        let long = set("1000000", "1");
        assert!(THREADS.shape_of(&long, 2).measure > THREADS.shape_of(&long, 1).measure);
        assert!(THREADS.shape_of(&long, 1).measure > THREADS_SHAPE.measure);
        let mut host = HostFacts::default();
        host.limits.cpus_allowed = model::host::Fact::Known(2);
        for (copies, fits) in [(1, true), (2, true), (3, false), (64, false)] {
            let found = THREADS.supported_with(&long, &host, copies);
            assert_eq!(found.is_ok(), fits, "{copies}: {found:?}");
            if let Err(why) = found {
                assert!(why.contains("fewer `yields`"), "{why}");
            }
        }
        // Eight threads with eight mutexes take their events side by side, unless a quota lets one run at a time.
        let wide = set("1000000", "8");
        host.limits.cpus_allowed = model::host::Fact::Known(8);
        assert!(THREADS.supported_with(&wide, &host, 8).is_ok());
        host.limits.cpu_quota = model::host::Fact::Known(Some(1.0));
        assert!(THREADS.supported_with(&wide, &host, 8).is_err());
    }

    #[test]
    fn a_lost_turn_is_found() {
        let locks = Locks::new(2, Spacing::Together);
        yields(&locks, 1, 5).unwrap();
        check_held(&locks, 5).unwrap();
        let error = check_held(&locks, 6).unwrap_err().to_string();
        assert_eq!(error, "the mutexes were held 5 times in place of 6");
    }
}
