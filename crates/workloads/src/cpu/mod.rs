//! Family `cpu`: work that stays in the core and its caches.
//!
//! Dhrystone and Whetstone have their inner loops in `sys::loops`; [`kernels`] do the inner work of real programs. None
//! makes a system call while it measures (JSON parsing now and then, for memory), so differences between machines are
//! differences between cores, clock rates, what else runs on them, and (as far as each says) the C library.
//!
//! Every workload of the family tells its work per second of wall time and per second of CPU time. Where the two
//! differ, the copies did not have a CPU each all of the time: stolen, held back by a quota, or shared.

use model::spec::{Better, How, MetricClass, MetricDef};
use model::units::Unit;

mod dhrystone;
mod kernels;
mod prime;
mod whetstone;

pub(crate) use dhrystone::DHRYSTONE;
pub(crate) use kernels::{AES_GCM, BLAKE3, JSON, MATMUL, SHA256, SORT, ZSTD};
pub(crate) use prime::PRIME;
pub(crate) use whetstone::WHETSTONE;

/// The two metrics of a workload of this family: work over wall time and over CPU time.
const fn work_metrics(quantities: [&'static str; 2], docs: [&'static str; 2]) -> [MetricDef; 2] {
    [
        work(quantities[0], How::Rate, docs[0]),
        work(quantities[1], How::CpuRate, docs[1]),
    ]
}

const fn work(quantity: &'static str, how: How, doc: &'static str) -> MetricDef {
    MetricDef {
        quantity,
        unit: Unit::OpsPerSecond,
        better: Better::Higher,
        class: MetricClass::Compute,
        how,
        doc,
    }
}
