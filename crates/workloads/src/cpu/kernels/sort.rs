//! `cpu.sort`: sorting numbers, where every other branch is a surprise.

use crate::cpu::work_metrics;
use engine::recorder::Recorder;
use engine::workload::{Body, Finish, Place, WorkError, Workload};
use model::digest::Digest;
use model::headline::{Headline, Topic};
use model::params::Params;
use model::rng::Rng;
use model::spec::{MetricDef, Nature, Spec, TestDef};
use sys::loops::sort::quicksort;

/// The workload.
pub(crate) static SORT: Sort = Sort;

/// Quicksort of random numbers.
#[derive(Debug)]
pub(crate) struct Sort;

static SPEC: Spec = Spec {
    name: "cpu.sort",
    version: 2,
    nature: Nature::Compute,
    title: "sorting random numbers: unpredictable branches",
    doc: "One operation fills an array with 4,096 random 32-bit numbers, sorts it with a plain quicksort, and checks \
          order and sum. It stays in the first-level cache and depends on how often and how dearly the core predicts \
          a branch wrongly, as interpreters, databases and compilers do. Filling and checking are a small part of \
          it. The numbers are new every time, because cores learn a repeated sequence of branches by heart. Nothing \
          is allocated.",
    params: &[],
    metrics: &METRICS,
    tests: &[TestDef::new(
        "cpu.sort",
        "quicksort of 4,096 random numbers",
        &[],
    )],
    simulated: false,
    on_disk: false,
};

static METRICS: [MetricDef; 2] = work_metrics(
    ["ops_per_s", "ops_per_cpu_s"],
    [
        "Arrays sorted, over the wall time from the start of the first to the end of the last.",
        "Arrays sorted, over the CPU time that all copies together spent in between.",
    ],
);

/// Numbers in the array: 16 KiB, half of the smallest usual first-level cache.
const NUMBERS: usize = 4096;

impl Workload for Sort {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn headline(&self, _: &Params) -> Option<Headline> {
        Some(Headline::named(Topic::Cpu, "sort").and_all())
    }

    fn implementation(&self, _: &Params) -> Option<String> {
        Some("portable".to_owned())
    }

    fn prepare(&self, _: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        Ok(Box::new(Arrays {
            numbers: Box::new([0; NUMBERS]),
            rng: Rng::stream(place.seed, 0x736f_7274),
            clone: place.round,
            different: 0,
        }))
    }
}

struct Arrays {
    numbers: Box<[u32; NUMBERS]>,
    rng: Rng,
    clone: u32,
    different: u64,
}

impl Arrays {
    fn fill(&mut self) -> u64 {
        let mut sum = 0;
        for pair in self.numbers.as_chunks_mut::<2>().0 {
            *pair = [0, 1].map(|_| (self.rng.next() >> 32).try_into().unwrap_or(0));
            sum += u64::from(pair[0]) + u64::from(pair[1]);
        }
        sum
    }
}

impl Body for Arrays {
    fn batch(&mut self, ops: u64, recorder: &mut Recorder) -> Result<u64, WorkError> {
        for _ in 0..ops {
            recorder.time(|| {
                let sum = self.fill();
                quicksort(self.numbers.as_mut_slice(), self.clone);
                let same = self.numbers.iter().map(|&n| u64::from(n)).sum::<u64>() == sum;
                self.different += u64::from(!(same && self.numbers.is_sorted()));
            });
        }
        Ok(ops)
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        Ok(Finish {
            digest: all_sorted(self.different)?,
            ..Finish::default()
        })
    }
}

fn all_sorted(different: u64) -> Result<Digest, WorkError> {
    super::all_right(different, "order or sum", Digest::EMPTY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_new_every_time_and_a_wrong_order_is_found() {
        let mut arrays = Arrays {
            numbers: Box::new([0; NUMBERS]),
            rng: Rng::new(5),
            clone: 1,
            different: 0,
        };
        arrays.batch(1, &mut Recorder::off()).unwrap();
        let first = arrays.numbers.clone();
        arrays.batch(1, &mut Recorder::off()).unwrap();
        assert!(first.is_sorted() && first != arrays.numbers);
        arrays.finish().unwrap();
        arrays.different = 1;
        let error = arrays.finish().unwrap_err().to_string();
        assert!(error.contains("wrong order or sum"), "{error}");
    }
}
