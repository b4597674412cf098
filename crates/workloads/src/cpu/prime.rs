//! `cpu.prime`: the CPU test of sysbench: a core's 64-bit divider.
//!
//! The division is the machine's own, which no compiler may narrow, because that is what the original's figure is one
//! of. An event that finds another number of primes than other means did before fails the round.

use crate::sysbench::{
    LAT_MAX, LAT_MEAN, LAT_MIN, LAT_P95, VERSION, Version, events_per_cpu_s, events_per_s,
};
use engine::recorder::Recorder;
use engine::workload::{Body, Finish, Place, WorkError, Workload};
use model::digest::Digest;
use model::num::{approx, round_to_u64};
use model::params::Params;
use model::plan::Shape;
use model::spec::{Fold, How, MetricClass, MetricDef, Nature, ParamDef, ParamKind, Spec, TestDef};
use model::units::{Nanos, Unit};
use sys::clock::Clock;
use sys::loops::prime::{Bound, Counts, event, plain};

/// The workload.
pub(crate) static PRIME: Prime = Prime;

/// Trial division up to a limit.
#[derive(Debug)]
pub(crate) struct Prime;

/// The metrics' keys.
const DIVISIONS: &str = "divisions_per_s";
const NS_PER_DIVISION: &str = "ns_per_division";

/// What an event is made of.
pub(super) const PARAMS: [ParamDef; 2] = [
    VERSION,
    ParamDef {
        name: "max_prime",
        kind: ParamKind::Count {
            min: 4,
            max: 5_000_000,
        },
        default: "10000",
        doc: "Numbers below this are tried. Many tutorials use 20000, whose events have 2.6 times the divisions. \
          One event of the largest takes some seconds.",
    },
];

pub(super) static SPEC: Spec = Spec {
    name: "cpu.prime",
    version: 2,
    nature: Nature::Compute,
    title: "sysbench's CPU test: 64-bit division",
    doc: "One operation is one event of sysbench's CPU test: every number from 3 to below `max_prime` is divided by \
          2, 3, 4... up to its square root, until one divides it. For 2 its last bit tells, as compilers make it; \
          with 10000 the others are 107,530 divisions, and hardly anything else. The division is the machine's 64-bit \
          instruction; nothing lets small numbers take a 32-bit one.\n\n\
          It says how fast a core's divider is, which differs by more between generations than anything else of a \
          core (Intel's became about three times as fast with Ice Lake) and matters to few programs. Use it to \
          compare with figures of sysbench, and `cpu.dhrystone` or the real work in this family for a core's speed. \
          Copies are processes where sysbench has threads; they share nothing, so it makes no difference.",
    params: &PARAMS,
    metrics: &[
        events_per_s(
            MetricClass::Compute,
            "Events over the wall time from the start of the first to the end of the last.",
        ),
        events_per_cpu_s(MetricClass::Compute),
        LAT_MEAN,
        LAT_MIN,
        LAT_P95,
        LAT_MAX,
        MetricDef::rate(
            DIVISIONS,
            Unit::OpsPerSecond,
            MetricClass::Compute,
            How::Reported(Fold::Sum),
            "Divisions over the wall time from the start of the first event to the end of the last, summed over \
                  the copies.",
        ),
        MetricDef::time(
            NS_PER_DIVISION,
            MetricClass::Compute,
            How::Reported(Fold::Mean),
            "The same wall time over the divisions in it, as the mean over the copies.",
        ),
    ],
    tests: &[TestDef::new(
        "cpu.prime",
        "sysbench cpu: primes below 10000",
        &[],
    )],
    simulated: false,
    on_disk: false,
};

impl Workload for Prime {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn shape(&self, params: &Params) -> Shape {
        let event = event_time(params.count("max_prime"));
        let least = Shape::DEFAULT;
        Shape {
            // What is to be found is found once by other means before, which takes about as long.
            setup: event,
            warmup: least.warmup.max(event),
            measure: least.measure.max(Nanos(event.0.saturating_mul(2))),
            ..least
        }
    }

    fn prepare(&self, params: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        Ok(Box::new(Divisions::new(params, place)))
    }
}

/// What a division of 64 bits takes on a CPU of 2021, in nanoseconds. On one of 2015 it may be eight times as much, for
/// which the watch over rounds has room.
const DIVISION_NS: f64 = 4.0;

/// What one event up to `limit` is expected to take. The divisions of all primes up to x are about 2/3 x^1.5 / ln x,
/// and the composite numbers add half as many: together x^1.5 / ln x, within 7 % where they were counted.
fn event_time(limit: u64) -> Nanos {
    let limit = approx(limit);
    Nanos(round_to_u64(limit.powf(1.5) / limit.ln() * DIVISION_NS))
}

struct Divisions {
    limit: u64,
    bound: Bound,
    clone: u32,
    expected: Counts,
    wrong: u64,
    done: u64,
    /// From the start of the first event to the end of the last.
    spent_ns: u64,
    clock: Clock,
    /// The tick at which the last event ended. The next one begins there: with more copies than CPUs the kernel likes
    /// to take the CPU away where the engine asks it for times, between two batches, and the wait for the next turn is
    /// as much one of the event as any other.
    ended: Option<u64>,
}

impl Divisions {
    fn new(params: &Params, place: &Place) -> Self {
        let limit = params.count("max_prime");
        Self {
            limit,
            bound: match Version::of(params) {
                Version::V10 => Bound::Float,
                Version::V04 => Bound::Whole,
            },
            clone: place.round,
            expected: plain(limit),
            wrong: 0,
            done: 0,
            spent_ns: 0,
            clock: place.clock(),
            ended: None,
        }
    }
}

impl Body for Divisions {
    fn batch(&mut self, ops: u64, recorder: &mut Recorder) -> Result<u64, WorkError> {
        let mut began = self.ended.unwrap_or_else(|| self.clock.tick());
        for _ in 0..ops {
            let primes = event(self.limit, self.bound, self.clone);
            self.wrong += u64::from(primes != self.expected.primes);
            let now = self.clock.tick();
            let took = self.clock.nanos(began, now);
            recorder.add(took);
            self.spent_ns += took;
            began = now;
        }
        self.ended = Some(began);
        self.done += ops;
        Ok(ops)
    }

    fn records_latency(&self) -> bool {
        true
    }

    fn measured_part_begins(&mut self) {
        (self.done, self.spent_ns, self.ended) = (0, 0, None);
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        if self.wrong > 0 {
            return Err(WorkError::Wrong(format!(
                "{} of {} events did not find {} primes below {}",
                self.wrong, self.done, self.expected.primes, self.limit
            )));
        }
        let divisions = approx(self.done) * approx(self.expected.divisions);
        let spent_ns = approx(self.spent_ns.max(1));
        Ok(Finish {
            digest: Digest::EMPTY.word(self.expected.primes),
            reported: [
                (DIVISIONS.to_owned(), divisions * 1e9 / spent_ns),
                (NS_PER_DIVISION.to_owned(), spent_ns / divisions),
            ]
            .into(),
            ..Finish::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::testing;

    #[test]
    fn both_versions_find_the_primes_and_say_what_a_division_takes() {
        for (version, limit) in [("1.0", "10000"), ("0.4", "10000"), ("1.0", "4")] {
            let (_root, place) = testing::place();
            let set = [("version", version), ("max_prime", limit)];
            let mut body = testing::prepare(&PRIME, &set, &place).unwrap();
            let mut recorder = Recorder::on(sys::clock::Clock::Kernel);
            assert_eq!(body.batch(3, &mut recorder).unwrap(), 3);
            let finish = body.finish().unwrap();
            let recorded: u64 = recorder.named()["lat"].count();
            assert_eq!(recorded, 3);
            if limit == "10000" {
                let ns = finish.reported[NS_PER_DIVISION];
                let product = ns * finish.reported[DIVISIONS];
                assert!((product / 1e9 - 1.0).abs() < 1e-9, "{product}");
            }
        }
    }

    #[test]
    fn a_round_is_long_enough_for_its_events_and_the_estimate_is_that_of_their_divisions() {
        for limit in [1_000, 10_000, 50_000] {
            let found = approx(event_time(limit).0) / DIVISION_NS;
            let counted = approx(plain(limit).divisions);
            assert!(
                (found / counted - 1.0).abs() < 0.1,
                "{limit}: {found} {counted}"
            );
        }
        let shape = |limit: &str| PRIME.shape(&testing::params(&PRIME, &[("max_prime", limit)]));
        assert_eq!(shape("20000").measure, Shape::DEFAULT.measure);
        let long = shape("5000000");
        assert!(long.measure.0 == 2 * long.setup.0 && long.warmup == long.setup);
        assert!(long.setup.0 > 1_000_000_000 && long.setup.0 < 10_000_000_000);
    }

    #[test]
    fn a_wait_between_two_batches_is_part_of_an_event_and_one_before_the_measured_part_is_not() {
        const WAIT_NS: u64 = 20_000_000;
        let measured = |begins_after_wait: bool| {
            let (_root, place) = testing::place();
            let mut body = testing::prepare(&PRIME, &[("max_prime", "1000")], &place).unwrap();
            let mut recorder = Recorder::on(Clock::Kernel);
            body.batch(1, &mut recorder).unwrap();
            sys::clock::sleep(WAIT_NS);
            if begins_after_wait {
                recorder.clear();
                body.measured_part_begins();
            }
            let start = sys::clock::monotonic();
            body.batch(2, &mut recorder).unwrap();
            let second_ns = approx(sys::clock::monotonic() - start);
            let events: u64 = recorder.named()["lat"].count();
            let longest = recorder.named()["lat"].pairs().last().unwrap().0;
            let finish = body.finish().unwrap();
            let divisions = approx(plain(1000).divisions) * approx(events);
            let told_ns = finish.reported[NS_PER_DIVISION] * divisions;
            (longest, told_ns, second_ns)
        };
        let (longest, whole_ns, _) = measured(false);
        assert!(longest >= WAIT_NS - WAIT_NS / 100, "{longest}");
        assert!(whole_ns >= approx(WAIT_NS), "{whole_ns}");
        let (_, measured_ns, second_ns) = measured(true);
        assert!(measured_ns <= second_ns, "{measured_ns} {second_ns}");
    }

    #[test]
    fn rounds_take_the_clones_of_the_loop_in_turn() {
        let (_root, mut place) = testing::place();
        let params = testing::params(&PRIME, &[("max_prime", "10")]);
        let clones = [1, 2, 3, 4].map(|round| {
            place.round = round;
            Divisions::new(&params, &place).clone % sys::loops::CLONES
        });
        assert_eq!(clones, [1, 2, 0, 1]);
    }

    #[test]
    fn a_wrong_count_is_found() {
        let mut body = Divisions {
            limit: 100,
            bound: Bound::Float,
            clone: 0,
            expected: Counts {
                primes: 23,
                ..plain(100)
            },
            wrong: 0,
            done: 0,
            spent_ns: 0,
            clock: Clock::Kernel,
            ended: None,
        };
        body.batch(2, &mut Recorder::off()).unwrap();
        let error = body.finish().unwrap_err().to_string();
        assert!(
            error.contains("2 of 2 events did not find 23 primes"),
            "{error}"
        );
    }
}
