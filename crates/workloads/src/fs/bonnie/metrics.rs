//! The figures of the phases: a rate, a share of a CPU and the longest operation of each.

use model::spec::{Better, Fold, How, MetricClass, MetricDef};
use model::units::Unit;

/// The length of a phase goes by the wall clock, from its first call to the return of its last.
const SHARE_DOC: &str = "User and system time of the worker, all its threads, over the wall time of the phase: what a \
                         CPU did for it, without what the kernel's own threads wrote back.";

const LONGEST_DOC: &str = "The longest single operation of the phase, from the end of the one before it to its own; \
                           the sync at the end of the phase is none.";

pub(super) const fn bytes_per_s(quantity: &'static str, doc: &'static str) -> MetricDef {
    let how = How::Reported(Fold::Sum);
    MetricDef::rate(
        quantity,
        Unit::BytesPerSecond,
        MetricClass::Throughput,
        how,
        doc,
    )
}

pub(super) const fn ops_per_s(quantity: &'static str, doc: &'static str) -> MetricDef {
    let how = How::Reported(Fold::Sum);
    MetricDef::rate(
        quantity,
        Unit::OpsPerSecond,
        MetricClass::Throughput,
        how,
        doc,
    )
}

pub(super) const fn cpu_share(quantity: &'static str) -> MetricDef {
    share(quantity, SHARE_DOC)
}

pub(super) const fn share(quantity: &'static str, doc: &'static str) -> MetricDef {
    let how = How::Reported(Fold::Mean);
    MetricDef {
        better: Better::Lower,
        ..MetricDef::rate(quantity, Unit::Share, MetricClass::System, how, doc)
    }
}

pub(super) const fn longest(quantity: &'static str) -> MetricDef {
    let how = How::Reported(Fold::Mean);
    MetricDef::time(quantity, MetricClass::LatencyExtreme, how, LONGEST_DOC)
}
