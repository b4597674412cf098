//! How much of the machine's CPUs nobody uses while a job is at work: what fio's `idle-prof` tells.
//!
//! fio lets threads of the lowest priority count what they get done, which takes from each CPU the time that it is to
//! measure. The kernel counts the time in which it had nothing to do by itself; this is the difference of two looks.
//! A tick is 10 ms: of a job that is shorter than that nothing is told. The small piece of work is timed before the
//! jobs begin.

use model::job::{CpuIdle, CpuUse};
use model::num::approx;
use model::rng::Rng;
use std::hint::black_box;
use sys::clock::monotonic;
use sys::counters::{self, CpuTicks};
use sys::tree::Tree;

/// The CPUs when looking began.
#[derive(Debug)]
pub(super) struct Cpus {
    before: Vec<(u32, CpuTicks)>,
    unit_ns: (f64, f64),
}

impl Cpus {
    pub(super) fn begin() -> Self {
        Self {
            unit_ns: unit_work(),
            before: look(),
        }
    }

    /// Looking begins anew.
    pub(super) fn again(&mut self) {
        self.before = look();
    }

    /// What became of each CPU since; `None` where no time has passed that the kernel counts.
    pub(super) fn end(&self) -> Option<CpuIdle> {
        let now = look();
        let used = |(cpu, then): &(u32, CpuTicks)| {
            let (_, now) = now.iter().find(|(other, _)| other == cpu)?;
            let since = now.since(*then);
            Some(CpuUse {
                cpu: *cpu,
                unused: since.unused(),
                all: since.all(),
            })
        };
        let cpus: Vec<CpuUse> = self.before.iter().filter_map(used).collect();
        let is_over = cpus.iter().any(|cpu| cpu.all > 0);
        is_over.then_some(CpuIdle {
            cpus,
            unit_ns: self.unit_ns,
        })
    }
}

fn look() -> Vec<(u32, CpuTicks)> {
    counters::each_cpu(&Tree::real()).unwrap_or_default()
}

/// Mean and standard deviation of a small piece of work, in nanoseconds.
pub fn unit_work() -> (f64, f64) {
    const TIMES: usize = 16;
    const ROUNDS: u64 = 1 << 13;
    let mut rng = Rng::new(1);
    let times = std::array::from_fn::<f64, TIMES, _>(|_| {
        let begin = monotonic();
        let sum = (0..ROUNDS).fold(0_u64, |sum, _| sum.wrapping_add(rng.next()));
        black_box(sum);
        approx(monotonic().saturating_sub(begin))
    });
    // The first one finds its code and the clock cold.
    let (_, times) = times.split_first().expect("there are several");
    let n = model::num::count(times.len());
    let mean = times.iter().sum::<f64>() / n;
    let squares: f64 = times.iter().map(|time| (time - mean).powi(2)).sum();
    (mean, (squares / (n - 1.0)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_that_is_kept_busy_is_not_unused() {
        let cpus = Cpus::begin();
        let until = monotonic() + 200_000_000;
        while monotonic() < until {}
        let idle = cpus.end().unwrap();
        let all: u64 = idle.cpus.iter().map(|cpu| cpu.all).sum();
        let unused: u64 = idle.cpus.iter().map(|cpu| cpu.unused).sum();
        // This thread alone took twenty ticks, of 10 ms each, but for what was stolen.
        assert!(all >= unused + 5, "{idle:?}");
        assert!(idle.unit_ns.0 > 1_000.0 && idle.unit_ns.1 >= 0.0);
        assert!(
            Cpus::begin()
                .end()
                .is_none_or(|idle| idle.cpus.iter().all(|cpu| cpu.all < 20))
        );
    }
}
