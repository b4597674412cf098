//! `memory.round-trip`: how long a cache line takes from one CPU to another and back, for every pair.
//!
//! Both threads wait by looking, without the CPU's instruction for waits, which would be part of the figure. One CPU,
//! or a quota of one, is refused: there the threads would wait for the scheduler and not for a line.

use super::reported;
use engine::recorder::Recorder;
use engine::workload::{Body, Finish, Place, WorkError, Workload};
use model::digest::Digest;
use model::host::HostFacts;
use model::num::approx;
use model::params::Params;
use model::plan::Shape;
use model::spec::{
    Better, MetricClass, MetricDef, Nature, ParamDef, ParamKind, Role, Spec, TestDef,
};
use model::units::{Nanos, Unit};
use std::collections::BTreeMap;
use sys::loops::round_trip::Pair;

/// The workload.
pub(crate) static ROUND_TRIP: RoundTrip = RoundTrip;

/// A matrix of round trips.
#[derive(Debug)]
pub(crate) struct RoundTrip;

const fn ns(quantity: &'static str, class: MetricClass, doc: &'static str) -> MetricDef {
    reported(quantity, Unit::Nanoseconds, Better::Lower, class, doc)
}

static SPEC: Spec = Spec {
    name: "memory.round-trip",
    version: 2,
    nature: Nature::Memory,
    title: "round trip of a cache line between CPUs",
    doc: "One operation is the matrix: for every pair of CPUs, two threads kept on them hand one word back and forth \
          `trips` times; a round trip is one way and back. Both wait by looking, without the CPU's instruction for \
          such waits, which takes 10 to 140 cycles and would be part of the figure. `@1` takes all CPUs, up to 64, \
          evenly chosen where there are more; `@N` takes N of them.\n\n\
          It shows what sharing data costs: hyperthreads of one core are nearest, then cores of one cache, of one \
          socket, of two. On a virtual machine it also shows which of its CPUs are neighbours, which the machine may \
          not say. Each pair is kept with the round as `ns_A_B`.",
    params: &[ParamDef {
        name: "trips",
        kind: ParamKind::Count {
            min: 10,
            max: 1_000_000,
        },
        default: "2000",
        doc: "Round trips per pair.",
    }],
    metrics: &[
        ns(
            "round_trip_ns_p50",
            MetricClass::LatencyTypical,
            "The median over the pairs of a pair's mean round trip.",
        ),
        ns(
            "round_trip_ns_min",
            MetricClass::LatencyTypical,
            "The mean round trip of the nearest pair.",
        ),
        ns(
            "round_trip_ns_max",
            MetricClass::LatencyTail,
            "The mean round trip of the farthest pair.",
        ),
        ns(
            "ns",
            MetricClass::LatencyTypical,
            "The matrix: the mean round trip of each pair.",
        )
        .acting(Role::Matrix),
    ],
    tests: &[TestDef::new(
        "memory.round-trip",
        "round trip of a cache line between CPUs",
        &[],
    )],
    simulated: false,
    on_disk: false,
};

/// CPUs of which all pairs are measured: 2016 pairs of about a millisecond.
const CPUS_MAX: usize = 64;

impl Workload for RoundTrip {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn shape(&self, _: &Params) -> Shape {
        Shape {
            warmup: Nanos::ZERO,
            shortenable: false,
            threads: true,
            ..Shape::DEFAULT
        }
    }

    fn supported(&self, _: &Params, host: &HostFacts) -> Result<(), String> {
        // The two threads wait by looking, all the time: under a quota of fewer than two CPUs they would wait for it.
        let quota = host.limits.cpu_quota.known().copied().flatten();
        let one = host.limits.cpus_allowed.known() == Some(&1);
        if one || quota.is_some_and(|cpus| cpus < 2.0) {
            return Err(ONE_CPU.to_owned());
        }
        Ok(())
    }

    fn prepare(&self, params: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        let allowed = sys::affinity::allowed_cpus()
            .map_err(|error| WorkError::failed("sched_getaffinity", "self", error))?;
        let most = match usize::try_from(place.copies) {
            Ok(copies) if copies > 1 => copies.min(CPUS_MAX),
            _ => CPUS_MAX,
        };
        let cpus = sample(&allowed, most);
        if cpus.len() < 2 {
            return Err(WorkError::Unsupported(ONE_CPU.to_owned()));
        }
        let pairs: Vec<Way> = (0..cpus.len())
            .flat_map(|a| (a + 1..cpus.len()).map(move |b| (a, b)))
            .map(|(a, b)| Way {
                a: cpus[a],
                b: cpus[b],
                spent_ns: 0,
                matrices: 0,
            })
            .collect();
        Ok(Box::new(Matrix {
            pair: Pair::start().map_err(|error| WorkError::failed("start", "a thread", error))?,
            pairs,
            trips: params.count("trips"),
        }))
    }
}

const ONE_CPU: &str =
    "a round trip between CPUs: only one CPU is allowed, or a quota lets fewer than two run";

/// All CPUs, or `most` of them, evenly chosen.
fn sample(cpus: &[u32], most: usize) -> Vec<u32> {
    let take = cpus.len().min(most);
    (0..take).map(|n| cpus[n * cpus.len() / take]).collect()
}

/// One pair and what it took so far.
struct Way {
    a: u32,
    b: u32,
    spent_ns: u64,
    matrices: u64,
}

struct Matrix {
    pair: Pair,
    pairs: Vec<Way>,
    trips: u64,
}

impl Body for Matrix {
    fn batch(&mut self, ops: u64, _: &mut Recorder) -> Result<u64, WorkError> {
        for _ in 0..ops {
            for way in &mut self.pairs {
                let object = || format!("CPUs {} and {}", way.a, way.b);
                self.pair
                    .place(way.a, way.b)
                    .map_err(|error| WorkError::failed("sched_setaffinity", object(), error))?;
                // The first trips bring the line and the loop into their caches.
                let spent = self
                    .pair
                    .trips(self.trips / 10)
                    .and_then(|_| self.pair.trips(self.trips))
                    .map_err(|error| WorkError::failed("pass a line between", object(), error))?;
                way.spent_ns += spent;
                way.matrices += 1;
            }
        }
        Ok(ops)
    }

    fn batch_target(&self) -> Nanos {
        Nanos::from_millis(50)
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        let mut reported = BTreeMap::new();
        let mut all: Vec<f64> = Vec::with_capacity(self.pairs.len());
        for way in &self.pairs {
            let trips = approx(way.matrices * self.trips);
            if trips <= 0.0 {
                return Err(WorkError::Failed("no matrix was measured".to_owned()));
            }
            let ns = approx(way.spent_ns) / trips;
            all.push(ns);
            reported.insert(format!("ns_{}_{}", way.a, way.b), ns);
        }
        all.sort_by(f64::total_cmp);
        let middle = all.len() / 2;
        let p50 = if all.len() % 2 == 1 {
            all[middle]
        } else {
            f64::midpoint(all[middle - 1], all[middle])
        };
        reported.insert("round_trip_ns_p50".to_owned(), p50);
        reported.insert("round_trip_ns_min".to_owned(), all[0]);
        reported.insert("round_trip_ns_max".to_owned(), all[all.len() - 1]);
        Ok(Finish {
            digest: Digest::EMPTY.word(self.trips),
            reported,
            ..Finish::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::testing;

    #[test]
    fn at_most_64_cpus_are_chosen_evenly() {
        let cpus: Vec<u32> = (0..256).map(|n| n * 2).collect();
        let chosen = sample(&cpus, CPUS_MAX);
        assert_eq!((chosen.len(), chosen[0], chosen[63]), (64, 0, 504));
        assert!(chosen.windows(2).all(|pair| pair[1] - pair[0] == 8));
        assert_eq!(sample(&[3, 5], 64), [3, 5]);
        assert_eq!(sample(&[3, 5, 7, 9], 2), [3, 7]);
        assert_eq!(sample(&[], 64), [0; 0]);
    }

    #[test]
    fn every_pair_has_a_value() {
        std::thread::scope(|scope| {
            // Pins itself, so not on the test's own thread.
            scope.spawn(|| {
                let (_root, place) = testing::place();
                let cpus = sys::affinity::allowed_cpus().unwrap().len();
                let body = testing::prepare(&ROUND_TRIP, &[("trips", "50")], &place);
                if cpus < 2 {
                    assert!(matches!(body, Err(WorkError::Unsupported(_))));
                    return;
                }
                let mut body = body.unwrap();
                body.batch(2, &mut Recorder::off()).unwrap();
                let reported = body.finish().unwrap().reported;
                let chosen = cpus.min(CPUS_MAX);
                assert_eq!(reported.len(), chosen * (chosen - 1) / 2 + 3);
                assert!(reported["round_trip_ns_min"] <= reported["round_trip_ns_max"]);
            });
        });
    }

    #[test]
    fn one_cpu_or_a_quota_of_one_has_no_pair() {
        use model::host::Fact;
        let check = |cpus: Fact<u32>, quota: Option<f64>, fits: bool| {
            let mut host = HostFacts::default();
            host.limits.cpus_allowed = cpus;
            host.limits.cpu_quota = Fact::Known(quota);
            let found = ROUND_TRIP.supported(&testing::params(&ROUND_TRIP, &[]), &host);
            assert_eq!(found.is_ok(), fits, "{:?}: {found:?}", host.limits);
        };
        check(Fact::Known(1), None, false);
        check(Fact::Known(8), Some(1.0), false);
        check(Fact::Known(8), Some(1.9), false);
        check(Fact::Known(8), Some(2.0), true);
        check(Fact::Known(2), None, true);
        check(Fact::default(), None, true);
    }
}
