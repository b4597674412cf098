//! Memory point by point, in documents.

use super::word::finite;
use schemars::JsonSchema;
use serde::Serialize;
use stats::memory::{Curve, Matrix, MemorySummary};

/// What memory tests found point by point.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct MemoryPart {
    /// Latency by working set, one for each case that measured it.
    curves: Vec<CurvePart>,
    /// Round trips between CPUs, one for each case that measured them.
    matrices: Vec<MatrixPart>,
}

/// Latency by working set.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct CurvePart {
    case: String,
    /// Ascending by size.
    points: Vec<PointPart>,
    /// By how much the latency falls most from one size to the next, as a share; 0 for a curve that never falls.
    largest_fall: Option<f64>,
}

/// The latency of one working set.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PointPart {
    working_set_bytes: u64,
    /// Nanoseconds per load: the median over the rounds.
    ns_per_load: Option<f64>,
    /// The round with the least.
    least_ns: Option<f64>,
    /// The round with the most.
    most_ns: Option<f64>,
}

/// Round trips of a cache line between CPUs.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct MatrixPart {
    case: String,
    /// The CPUs, ascending.
    cpus: Vec<u32>,
    pairs: Vec<PairPart>,
}

/// The round trip between two CPUs.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PairPart {
    a: u32,
    b: u32,
    /// The median over the rounds.
    ns: Option<f64>,
}

pub(super) fn memory_part(memory: &MemorySummary) -> MemoryPart {
    MemoryPart {
        curves: memory.curves.iter().map(curve_part).collect(),
        matrices: memory.matrices.iter().map(matrix_part).collect(),
    }
}

fn curve_part(curve: &Curve) -> CurvePart {
    let point = |point: &stats::memory::Point| PointPart {
        working_set_bytes: point.bytes,
        ns_per_load: finite(point.ns),
        least_ns: finite(point.least),
        most_ns: finite(point.most),
    };
    CurvePart {
        case: curve.case.to_string(),
        points: curve.points.iter().map(point).collect(),
        largest_fall: finite(curve.largest_fall()),
    }
}

fn matrix_part(matrix: &Matrix) -> MatrixPart {
    let pairs = matrix.pairs.iter().map(|(&(a, b), &ns)| PairPart {
        a,
        b,
        ns: finite(ns),
    });
    MatrixPart {
        case: matrix.case.to_string(),
        cpus: matrix.cpus.clone(),
        pairs: pairs.collect(),
    }
}
