//! Family `cpu`: work that stays in the core and its caches.
//!
//! Dhrystone and Whetstone have their inner loops in `sys::loops`; [`kernels`] do the inner work of real programs. None
//! makes a system call while it measures (JSON parsing now and then, for memory), so differences between machines are
//! differences between cores, clock rates, what else runs on them, and (as far as each says) the C library.
//!
//! Every workload of the family tells its work per second of wall time and per second of CPU time. Where the two
//! differ, the copies did not have a CPU each all of the time: stolen, held back by a quota, or shared.

use model::spec::{Amount, How, MetricClass, MetricDef, Time};
use model::units::Unit;

mod dhrystone;
mod kernels;
mod prime;
mod sysbench_cpu;
mod whetstone;

pub(crate) use dhrystone::DHRYSTONE;
pub(crate) use kernels::{AES_GCM, BLAKE3, JSON, MATMUL, SHA256, SORT, ZSTD};
pub(crate) use prime::PRIME;
pub(crate) use sysbench_cpu::SYSBENCH_CPU;
pub(crate) use whetstone::WHETSTONE;

/// The two metrics of a workload of this family: work over wall time and over CPU time.
const fn work_metrics(quantities: [&'static str; 2], docs: [&'static str; 2]) -> [MetricDef; 2] {
    [
        work(quantities[0], How::Per(Amount::Work, Time::Wall), docs[0]),
        work(quantities[1], How::Per(Amount::Work, Time::Cpu), docs[1]),
    ]
}

const fn work(quantity: &'static str, how: How, doc: &'static str) -> MetricDef {
    MetricDef::rate(quantity, Unit::OpsPerSecond, MetricClass::Compute, how, doc)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_test_of_the_family_tells_its_work_per_wall_second_and_per_cpu_second() {
        let specs = crate::ALL.iter().map(|workload| workload.spec());
        let family: Vec<_> = specs.filter(|spec| spec.name.starts_with("cpu.")).collect();
        assert!(family.len() >= 10, "{}", family.len());
        for spec in family {
            let of = |how: How| {
                let mut found = spec.metrics.iter().filter(move |def| def.how == how);
                let def = found
                    .next()
                    .unwrap_or_else(|| panic!("{} {how:?}", spec.name));
                assert!(found.next().is_none(), "{} {how:?}", spec.name);
                def
            };
            let (wall, cpu) = (
                of(How::Per(Amount::Work, Time::Wall)),
                of(How::Per(Amount::Work, Time::Cpu)),
            );
            assert_eq!(wall.unit, cpu.unit, "{}", spec.name);
            assert_eq!(wall.class, cpu.class, "{}", spec.name);
            let what = wall.quantity.trim_end_matches("_per_s");
            assert_eq!(cpu.quantity, format!("{what}_per_cpu_s"));
        }
    }
}
