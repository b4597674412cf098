//! Family `cpu`: arithmetic, calls and copies that stay in the core and its first cache.
//!
//! The inner loops are in `sys::loops`; here are their declarations and the checks of their results. Neither workload
//! makes a system call while it measures, so differences between machines are differences between cores, clock
//! rates, what else runs on them, and (as far as each says) the C library.

use model::spec::{Better, How, MetricClass, MetricDef};
use model::units::Unit;

mod dhrystone;
mod prime;
mod whetstone;

pub(crate) use dhrystone::DHRYSTONE;
pub(crate) use prime::PRIME;
pub(crate) use whetstone::WHETSTONE;

/// The one metric of a workload of this family: work over time.
const fn work_per_s(quantity: &'static str, doc: &'static str) -> MetricDef {
    MetricDef {
        quantity,
        unit: Unit::OpsPerSecond,
        better: Better::Higher,
        class: MetricClass::Compute,
        how: How::Rate,
        doc,
    }
}
