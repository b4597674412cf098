//! The shape of each kind of latency of a case, all rounds together.

use super::{median_value, reported};
use crate::modes::{self, Mode};
use crate::rounds::CaseRounds;
use model::latency;
use model::num::{approx, count, round_to_usize};
use model::order::Order as _;
use model::record::Measured;
use model::spec::Role;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;

/// Columns of a [`Picture`].
pub const PICTURE_COLUMNS: usize = 40;
/// The ends of a picture: what lies beyond these quantiles would be an empty axis.
const PICTURE_ENDS: (f64, f64) = (0.001, 0.999);
/// A picture spans at least this factor, or the steps of the clock would fill it.
const PICTURE_FACTOR_MIN: f64 = 1.5;
/// A hump is in a round with at least this share of its operations: half of what makes a hump of the whole.
const IN_ROUND_MIN: f64 = 0.025;
/// What came out of a cache explains the fast hump where it is at least this part of it.
const CACHE_EXPLAINS: f64 = 0.5;
/// Below this share nothing is said to come out of a cache: reads that straddle the ends of the measured part.
const CACHED_MIN: f64 = 0.01;

/// What the operations are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Of {
    /// Reads.
    Reads,
    /// Writes.
    Writes,
    /// Ranges given back.
    Trims,
    /// fsync or fdatasync.
    Syncs,
}

/// Whether several humps are in the same rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Together {
    /// There is one hump.
    Single,
    /// At least half of the rounds have all of them.
    SameRounds,
    /// Most rounds have some and not all: something changed between rounds.
    OtherRounds,
}

/// What explains several humps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// This share of the bytes read, 0 to 1, was delivered by no device.
    Cache {
        /// The median of the rounds.
        cached_share: f64,
    },
}

/// The shape of one kind of latency.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LatencyShape {
    /// Its name among the kept latencies, such as `read_clat`.
    pub name: String,
    /// What the operations are.
    pub of: Of,
    /// True where it is the one to be said of its operations: how long the storage took, from the intended start where
    /// operations have one.
    pub leading: bool,
    /// How many there are, over all rounds.
    pub operations: u64,
    /// Where they lie, the fastest first; empty where there are too few to say.
    pub modes: Vec<Mode>,
    /// Whether the humps are in the same rounds.
    pub together: Together,
    /// What explains several humps, where something does.
    pub cause: Option<Cause>,
    /// The distribution in columns.
    #[serde(rename = "histogram")]
    pub picture: Option<Picture>,
}

/// A distribution in columns of equal width on the logarithm of the latency.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Picture {
    /// Where the first column begins, in nanoseconds.
    pub lo_ns: f64,
    /// Where the last column ends, in nanoseconds.
    pub hi_ns: f64,
    /// The share of operations in each of [`PICTURE_COLUMNS`] columns; what lies beyond the ends is in none.
    #[serde(rename = "shares")]
    pub columns: Vec<f64>,
}

/// The shapes of a case's latencies, the leading ones first.
pub(super) fn of_case(rounds: &CaseRounds<'_>) -> Vec<LatencyShape> {
    let done = &rounds.done;
    let names: BTreeSet<&str> = done
        .iter()
        .flat_map(|measured| measured.latencies.keys().map(String::as_str))
        .collect();
    let rated = names.contains("late");
    let alone = alone(done);
    let mut shapes: Vec<LatencyShape> = names
        .iter()
        .filter_map(|name| shape(name, rounds, alone, rated))
        .collect();
    // Reads before writes before syncs, as one reads them; the sort is stable.
    shapes.order_by_key(|shape| (!shape.leading, shape.of));
    shapes
}

/// The name of the latency that is the one to be said of a case; `None` where it keeps none.
pub(crate) fn leading_latency(rounds: &CaseRounds<'_>) -> Option<String> {
    let shapes = of_case(rounds).into_iter();
    let mut leading = shapes.filter(|shape| shape.leading);
    leading.next().map(|shape| shape.name)
}

/// What operations without a name of their own are.
fn alone(done: &[&Measured]) -> Of {
    let any = |name| done.iter().any(|measured| reported(measured, name) > 0.0);
    if any("reads") {
        Of::Reads
    } else if any("writes") {
        Of::Writes
    } else {
        Of::Trims
    }
}

fn shape(name: &str, rounds: &CaseRounds<'_>, alone: Of, rated: bool) -> Option<LatencyShape> {
    let (of, kind) = match name.split_once('_') {
        Some(("read", kind)) => (Of::Reads, kind),
        Some(("write", kind)) => (Of::Writes, kind),
        Some(("trim", kind)) => (Of::Trims, kind),
        Some(_) => return None,
        None if name == "sync" => (Of::Syncs, "sync"),
        None => (alone, name),
    };
    let leading = match kind {
        "sync" => true,
        "lat" => rated,
        "clat" => !rated,
        "slat" | "late" => false,
        _ => return None,
    };
    let lists = || {
        let done = rounds.done.iter();
        done.filter_map(|measured| measured.latencies.get(name))
    };
    let pairs = latency::merged(lists().map(Vec::as_slice));
    let found = modes::find(&pairs).unwrap_or_default();
    Some(LatencyShape {
        name: name.to_owned(),
        of,
        leading,
        operations: latency::operations(&pairs),
        together: together(&found, lists()),
        cause: (of == Of::Reads && kind != "slat")
            .then(|| cause(&found, rounds))
            .flatten(),
        picture: picture(&pairs),
        modes: found,
    })
}

fn together<'a>(found: &[Mode], rounds: impl Iterator<Item = &'a Vec<(u64, u64)>>) -> Together {
    if found.len() < 2 {
        return Together::Single;
    }
    let (mut all, mut with_all) = (0_usize, 0_usize);
    for shares in rounds.map(|pairs| modes::shares(found, pairs)) {
        all += usize::from(!shares.is_empty());
        let has_all = shares.iter().all(|&share| share >= IN_ROUND_MIN);
        with_all += usize::from(!shares.is_empty() && has_all);
    }
    if with_all * 2 >= all {
        Together::SameRounds
    } else {
        Together::OtherRounds
    }
}

fn cause(found: &[Mode], rounds: &CaseRounds<'_>) -> Option<Cause> {
    let [fast, _, ..] = found else { return None };
    let cached_share = median_value(rounds, Role::Cached)?;
    let explains = cached_share > CACHED_MIN && cached_share >= CACHE_EXPLAINS * fast.share;
    explains.then_some(Cause::Cache { cached_share })
}

fn picture(pairs: &[(u64, u64)]) -> Option<Picture> {
    let total = latency::operations(pairs);
    let end = |q| Some(approx(latency::quantile(pairs, q)?).max(1.0).ln());
    let (lo, hi) = (end(PICTURE_ENDS.0)?, end(PICTURE_ENDS.1)?);
    let middle = f64::midpoint(lo, hi);
    // A hair wider than the ends, so that they are within.
    let half = ((hi - lo) / 2.0 * 1.001).max(PICTURE_FACTOR_MIN.ln() / 2.0);
    let from = middle - half;
    let width = 2.0 * half / count(PICTURE_COLUMNS);
    let mut columns = vec![0.0; PICTURE_COLUMNS];
    for &(nanos, n) in pairs {
        let at = (approx(nanos).max(1.0).ln() - from) / width;
        if at >= 0.0
            && let Some(column) = columns.get_mut(round_to_usize(at.floor()))
        {
            *column += approx(n) / approx(total);
        }
    }
    Some(Picture {
        lo_ns: from.exp(),
        hi_ns: (middle + half).exp(),
        columns,
    })
}
