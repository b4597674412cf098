//! `cpu.sort`: sorting numbers, where every other branch is a surprise.
//!
//! Our own quicksort rather than the library's: that one avoids branches, and changes with the compiler's version.

use crate::cpu::work_metrics;
use engine::recorder::Recorder;
use engine::workload::{Body, Finish, Place, WorkError, Workload};
use model::digest::Digest;
use model::params::Params;
use model::rng::Rng;
use model::spec::{MetricDef, Spec, TestDef};

/// The workload.
pub(crate) static SORT: Sort = Sort;

/// Quicksort of random numbers.
#[derive(Debug)]
pub(crate) struct Sort;

static SPEC: Spec = Spec {
    name: "cpu.sort",
    version: 1,
    title: "sorting random numbers: unpredictable branches",
    doc: "One operation fills an array with 4,096 random 32-bit numbers, sorts it with a plain quicksort, and checks \
          order and sum. It stays in the first-level cache and depends on how often and how dearly the core predicts \
          a branch wrongly, as interpreters, databases and compilers do. Filling and checking are a small part of \
          it. The numbers are new every time, because cores learn a repeated sequence of branches by heart. Nothing \
          is allocated.",
    params: &[],
    metrics: &METRICS,
    tests: &[TestDef {
        name: "cpu.sort",
        title: "quicksort of 4,096 random numbers",
        params: &[],
    }],
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

/// Below this length insertion is quicker than another partition (Sedgewick, Comm. ACM 21 (1978) 847: 5 to 20).
const INSERTION_MAX: usize = 12;

impl Workload for Sort {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn implementation(&self, _: &Params) -> Option<String> {
        Some("portable".to_owned())
    }

    fn prepare(&self, _: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        Ok(Box::new(Arrays {
            numbers: Box::new([0; NUMBERS]),
            rng: Rng::stream(place.seed, 0x736f_7274),
            different: 0,
        }))
    }
}

struct Arrays {
    numbers: Box<[u32; NUMBERS]>,
    rng: Rng,
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
                quicksort(self.numbers.as_mut_slice());
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

/// Hoare's partition around the median of three; the shorter part is sorted by recursion, which bounds its depth.
fn quicksort(mut numbers: &mut [u32]) {
    while numbers.len() > INSERTION_MAX {
        let pivot = median_of_three(numbers);
        let split = partition(numbers, pivot);
        let (low, high) = std::mem::take(&mut numbers).split_at_mut(split);
        if low.len() < high.len() {
            quicksort(low);
            numbers = high;
        } else {
            quicksort(high);
            numbers = low;
        }
    }
    for i in 1..numbers.len() {
        let number = numbers[i];
        let mut hole = i;
        while hole > 0 && numbers[hole - 1] > number {
            numbers[hole] = numbers[hole - 1];
            hole -= 1;
        }
        numbers[hole] = number;
    }
}

fn median_of_three(numbers: &[u32]) -> u32 {
    let (a, b, c) = (
        numbers[0],
        numbers[numbers.len() / 2],
        numbers[numbers.len() - 1],
    );
    a.max(b).min(a.min(b).max(c))
}

/// Puts numbers up to the pivot before those from it on, and returns where the second part begins: neither at the
/// start nor at the end, because the pivot is the median of three numbers that are there.
fn partition(numbers: &mut [u32], pivot: u32) -> usize {
    let (mut low, mut high) = (0, numbers.len());
    loop {
        while numbers[low] < pivot {
            low += 1;
        }
        high -= 1;
        while numbers[high] > pivot {
            high -= 1;
        }
        if low >= high {
            return low.max(1);
        }
        numbers.swap(low, high);
        low += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_sequence_is_sorted() {
        let mut rng = Rng::new(5);
        for length in [0, 1, 2, 3, 12, 13, 14, 100, 1000] {
            for kind in 0..6 {
                let mut numbers: Vec<u32> = (0..length)
                    .map(|i| match kind {
                        0 => i,
                        1 => length - i,
                        2 => 7,
                        3 => i % 2,
                        4 => u32::try_from(rng.below(10)).unwrap(),
                        _ => u32::try_from(rng.below(1 << 32)).unwrap(),
                    })
                    .collect();
                let mut right = numbers.clone();
                right.sort_unstable();
                quicksort(&mut numbers);
                assert_eq!(numbers, right, "kind {kind}, length {length}");
            }
        }
    }
}
