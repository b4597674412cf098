//! How much of the CPUs nobody used, over all phases: of the jobs of a phase, the one that looked longest counts.

use dialects::fio::IdleProf;
use dialects::fio::result::Idleness;
use model::job::{CpuIdle, CpuUse};
use model::num::approx;
use model::record::Measured;

/// The CPUs of the phases so far.
#[derive(Debug, Default)]
pub(super) struct Idle {
    cpus: Vec<CpuUse>,
    unit_ns: Option<(f64, f64)>,
}

impl Idle {
    pub(super) fn add(&mut self, done: &Measured) {
        let details = done.copies.iter().filter_map(|copy| copy.apart.as_ref());
        let told = details.filter_map(|detail| detail.job.as_ref()?.idle.as_ref());
        let ticks = |idle: &&CpuIdle| -> u64 { idle.cpus.iter().map(|cpu| cpu.all).sum() };
        let Some(longest) = told.max_by_key(ticks) else {
            return;
        };
        self.unit_ns.get_or_insert(longest.unit_ns);
        for seen in &longest.cpus {
            match self.cpus.iter_mut().find(|cpu| cpu.cpu == seen.cpu) {
                Some(cpu) => {
                    cpu.unused += seen.unused;
                    cpu.all += seen.all;
                }
                None => self.cpus.push(*seen),
            }
        }
    }

    /// In fio's terms; `None` where nobody looked, or nothing lasted a tick.
    pub(super) fn told(&self, what: IdleProf) -> Option<Idleness> {
        let share = |unused: u64, all: u64| 100.0 * approx(unused) / approx(all.max(1));
        let sum = |of: fn(&CpuUse) -> u64| self.cpus.iter().map(of).sum();
        let cpus = self.cpus.iter().filter(|_| what == IdleProf::EachCpu);
        let cpus = cpus.map(|cpu| (cpu.cpu, share(cpu.unused, cpu.all)));
        Some(Idleness {
            system_percent: share(sum(|cpu| cpu.unused), sum(|cpu| cpu.all)),
            cpus: cpus.collect(),
            unit_us: micros(self.unit_ns?),
        })
    }
}

/// Nanoseconds as microseconds.
pub(in super::super) fn micros((mean, stddev): (f64, f64)) -> (f64, f64) {
    (mean / 1e3, stddev / 1e3)
}
