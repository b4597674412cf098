//! Is there a bucket of credit? What the opening and the refill test say.

use super::past::{self, Past, chains};
use crate::burst::{self, Burst, Cause, NotSeen};
use crate::quantile;
use model::document::in_document;
use model::num::{count, round_to_u64};
use model::soak::StretchKind;
use model::units::{Nanos, UnixNanos};
use schemars::JsonSchema;
use serde::Serialize;

/// What is known about credit.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Throttle {
    /// The opening was fast and then exactly slower.
    Seen {
        /// The figures.
        #[serde(flatten)]
        burst: Burst,
        /// What the refill test says; `None` where it was not made or could not be used.
        cause: Option<Cause>,
        /// How long the rest before it was, in seconds.
        rest_seconds: Option<f64>,
        /// When the burst ended.
        #[serde(serialize_with = "in_document::<_, String, _>")]
        #[schemars(with = "String")]
        at: UnixNanos,
    },
    /// The opening kept its level.
    NotSeen(NotSeen),
    /// The opening changed its level in another way, so that it tells nothing about credit.
    OtherChange,
    /// There is no opening long enough.
    TooShort,
}

impl Throttle {
    /// True where the refill test has shown a token bucket.
    pub const fn is_bucket(&self) -> bool {
        matches!(
            self,
            Self::Seen {
                cause: Some(Cause::TokenBucket),
                ..
            }
        )
    }
}

/// What the stretches say about credit.
pub(super) fn of(all: &[Past]) -> Throttle {
    let refill = all
        .iter()
        .position(|past| matches!(past.kind, StretchKind::Refill { .. }));
    let opening = &all[..refill.unwrap_or(all.len())];
    if let Some((chain, burst)) = past::lending(opening)
        && let Some(at) = burst_end(chain, &burst)
    {
        let (cause, rest_seconds) = refill.map_or((None, None), |i| judge(&burst, &all[i]));
        return Throttle::Seen {
            burst,
            cause,
            rest_seconds,
            at,
        };
    }
    let chains = chains(opening);
    let longest = chains
        .iter()
        .copied()
        .max_by_key(|chain| past::extent(chain));
    match longest {
        None => Throttle::TooShort,
        Some(longest) if chains.iter().any(|chain| fell(chain, longest)) => Throttle::OtherChange,
        Some(longest) => unthrottled(longest),
    }
}

/// Whether `chain` was faster than the `other` by as much as a burst is: then a bucket may have been emptied before the
/// opening was broken, and what came after it says nothing about one.
fn fell(chain: &[Past], other: &[Past]) -> bool {
    let level = |chain: &[Past]| {
        let windows: Vec<f64> = chain.iter().flat_map(|past| past.windows.clone()).collect();
        quantile::median(&windows)
    };
    match (level(chain), level(other)) {
        (Some(level), Some(other)) => level >= burst::RATIO_MIN * other,
        _ => false,
    }
}

/// What the second series says, and how long the rest before it was.
fn judge(burst: &Burst, second: &Past) -> (Option<Cause>, Option<f64>) {
    let StretchKind::Refill { rest } = second.kind else {
        return (None, None);
    };
    let rest = rest.as_secs_f64();
    // What a suspended machine's host did about the credit is not known.
    let usable = !second.windows.is_empty() && second.suspended_before == Nanos::ZERO;
    (
        usable.then(|| burst.confirm(&second.as_lent(burst), rest)),
        Some(rest),
    )
}

/// When the burst in `chain` ended, as the wall clock tells it.
fn burst_end(chain: &[Past], burst: &Burst) -> Option<UnixNanos> {
    let first = chain.first()?;
    let seconds = Nanos(round_to_u64(burst.burst_seconds * 1e9));
    Some(UnixNanos(first.at.0.saturating_add(seconds.0)))
}

fn unthrottled(chain: &[Past]) -> Throttle {
    let (series, seconds) = past::joined(chain);
    if series.len() < super::WINDOWS_MIN {
        return Throttle::TooShort;
    }
    if burst::not_seen(&series, seconds).is_none() {
        return Throttle::OtherChange;
    }
    // Of every window, also of those that thinning leaves over.
    let windows = || chain.iter().flat_map(|past| past.windows.iter());
    let step = past::usual_step(chain);
    Throttle::NotSeen(NotSeen {
        seconds: count(windows().count()) * step,
        work: windows().sum::<f64>() * step,
    })
}
