//! The stretches of a soak, read from its rounds; and the opening, which is one series as long as nothing breaks it.

use crate::burst::{self, Burst};
use crate::noise::clock_troubled;
use crate::quantile;
use crate::thresholds::OPS_PER_WINDOW_MIN;
use model::num::{approx, count, round_to_usize};
use model::record::{Outcome, Round};
use model::soak::StretchKind;
use model::units::{Nanos, UnixNanos};
use std::borrow::Cow;

/// The longest time between two stretches that are still one load: starting and ending processes.
pub const CHAIN_GAP: Nanos = Nanos::from_secs(2);

/// The most values in which a burst is looked for; longer series are thinned.
const BURST_SERIES_MAX: usize = 720;

/// A stretch that ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Past {
    /// What it was for.
    pub kind: StretchKind,
    /// When it started, its set-up included; counted from the beginning of the soak.
    pub started: Nanos,
    /// When its measured part began.
    pub began: Nanos,
    /// The same instant as the wall clock told it.
    pub at: UnixNanos,
    /// When it had ended, its clean-up included.
    pub ended: Nanos,
    /// The rates of its windows; empty where it failed or cannot be used.
    pub windows: Vec<f64>,
    /// CPU seconds a second in each of these windows; empty where CPU time is not what the test turns into work.
    pub granted: Vec<f64>,
    /// The time from one window to the next, in seconds.
    pub step: f64,
    /// Operations done.
    pub ops: f64,
    /// Windows that are not used because the clock was set or the machine suspended.
    pub left_out: usize,
    /// For how long the machine was suspended while it rested before, where that is known.
    pub suspended_before: Nanos,
}

impl Past {
    /// The round as a stretch; `None` where it is none.
    pub fn of(round: &Round) -> Option<Self> {
        let stretch = round.stretch?;
        let (mut windows, mut granted, wall, ops) = match &round.outcome {
            Outcome::Done(done) => (
                done.windows.clone(),
                done.cpu_windows.clone(),
                done.copies.iter().map(|copy| copy.wall).max(),
                done.copies.iter().map(|copy| approx(copy.ops)).sum(),
            ),
            Outcome::Failed(_) => (Vec::new(), Vec::new(), None, 0.0),
        };
        let wall = wall.unwrap_or_default();
        // The set-up lies between two readings of the wall clock; where that was set, it counts as nothing.
        let setup = Nanos(stretch.began.0.saturating_sub(round.started.0));
        let setup = if setup > round.took {
            Nanos::ZERO
        } else {
            setup
        };
        let suspended = round.noise.suspended.unwrap_or_default();
        let rest = round.took.since(setup).max(wall).plus(suspended);
        let step = if windows.is_empty() {
            0.0
        } else {
            wall.as_secs_f64() / count(windows.len())
        };
        let mut left_out = 0;
        if clock_troubled(&round.noise) == Some(true) {
            left_out = windows.len();
            windows.clear();
        }
        if granted.len() != windows.len() {
            granted.clear();
        }
        Some(Self {
            kind: stretch.kind,
            started: stretch.elapsed.since(setup),
            began: stretch.elapsed,
            at: stretch.began,
            ended: stretch.elapsed.plus(rest),
            windows,
            granted,
            step,
            ops,
            left_out,
            suspended_before: stretch.suspended_before.unwrap_or_default(),
        })
    }

    /// The windows as `burst` counts: rates, or what the CPU time would have been worth at the burst's usual clock
    /// rate.
    pub fn as_lent(&self, burst: &Burst) -> Cow<'_, [f64]> {
        match burst.per_cpu_second {
            Some(worth) if self.granted.len() == self.windows.len() => {
                self.granted.iter().map(|share| share * worth).collect()
            }
            _ => Cow::Borrowed(&self.windows),
        }
    }

    /// True for a usable piece of the opening.
    fn opens(&self) -> bool {
        self.kind == StretchKind::Opening && !self.windows.is_empty()
    }
}

/// The last unbroken chain of opening stretches, where the history ends with one; otherwise nothing.
pub fn chain(past: &[Past]) -> &[Past] {
    let mut start = past.len();
    while start > 0 && past[start - 1].opens() {
        let next = past.get(start);
        if next.is_some_and(|next| next.started.since(past[start - 1].ended) > CHAIN_GAP) {
            break;
        }
        start -= 1;
    }
    &past[start..]
}

/// Every unbroken chain of opening stretches, in order.
pub fn chains(past: &[Past]) -> Vec<&[Past]> {
    let mut list = Vec::new();
    let mut end = past.len();
    while end > 0 {
        let found = chain(&past[..end]);
        end -= found.len().max(1);
        if !found.is_empty() {
            list.push(found);
        }
    }
    list.reverse();
    list
}

/// The chain whose burst spent most, and that burst: after a broken opening a bucket may have come back in part only.
pub(super) fn lending(all: &[Past]) -> Option<(&[Past], Burst)> {
    chains(all)
        .into_iter()
        .filter_map(|chain| Some((chain, burst_of(chain)?)))
        .max_by(|a, b| a.1.credit.total_cmp(&b.1.credit))
}

/// How long a chain lasted.
pub fn extent(chain: &[Past]) -> Nanos {
    match (chain.first(), chain.last()) {
        (Some(first), Some(last)) => last.ended.since(first.started),
        _ => Nanos::ZERO,
    }
}

/// The windows of a chain as one series of at most 720 values, and the seconds between them.
pub(super) fn joined(chain: &[Past]) -> (Vec<f64>, f64) {
    thinned(chain, |past| &past.windows)
}

fn thinned(chain: &[Past], of: fn(&Past) -> &Vec<f64>) -> (Vec<f64>, f64) {
    let windows: Vec<f64> = chain.iter().flat_map(of).copied().collect();
    let group = group(chain);
    (grouped(&windows, group), usual_step(chain) * count(group))
}

/// How many windows of a chain are one value of its series.
fn group(chain: &[Past]) -> usize {
    let windows: usize = chain.iter().map(|past| past.windows.len()).sum();
    windows.div_ceil(BURST_SERIES_MAX).max(coarse_group(chain))
}

/// The values of that series at which stretches begin, but for the first.
fn seams(chain: &[Past]) -> Vec<usize> {
    let group = group(chain);
    let mut windows = 0;
    let ends = chain.iter().map(|past| {
        windows += past.windows.len();
        windows / group
    });
    let mut ends: Vec<usize> = ends.collect();
    ends.pop();
    ends
}

/// What looks like a burst in a chain. Its window is that of the stretches, whatever was thinned to find it. While
/// processes end and start between two stretches nothing is spent, and what comes back meanwhile was not lent before.
///
/// A CPU lends time, not work: it is looked for in the time that was got first, because the work done in it changes
/// with the clock rate, and with what the neighbours of a core do. Hosts that take time away without telling the guest
/// show their bucket in the work alone.
pub fn burst_of(chain: &[Past]) -> Option<Burst> {
    let (series, seconds) = joined(chain);
    let found =
        burst_of_time(chain).or_else(|| burst::find_across(&series, seconds, &seams(chain)))?;
    let came_back = found.sustained_rate * idle_seconds(chain, found.burst_seconds);
    let credit = (found.credit - came_back).max(0.0);
    Some(Burst {
        credit,
        burst_seconds: credit / (found.burst_rate - found.sustained_rate),
        window_seconds: usual_step(chain),
        ..found
    })
}

/// A burst in the CPU time that was got, priced by what a second of it was worth in this chain.
fn burst_of_time(chain: &[Past]) -> Option<Burst> {
    let (granted, seconds) = thinned(chain, |past| &past.granted);
    let (rates, _) = joined(chain);
    let time: f64 = granted.iter().sum();
    if granted.len() != rates.len() || time <= 0.0 {
        return None;
    }
    let worth = rates.iter().sum::<f64>() / time;
    Some(burst::find_across(&granted, seconds, &seams(chain))?.priced(worth))
}

/// The time between the stretches that began within the first `loaded_seconds` of load.
fn idle_seconds(chain: &[Past], loaded_seconds: f64) -> f64 {
    let load = |past: &Past| past.step * count(past.windows.len());
    let mut loaded = 0.0;
    let mut idle = 0.0;
    for pair in chain.windows(2) {
        loaded += load(&pair[0]);
        // Within a window of its end nobody knows on which side of the pause it lies.
        if loaded + pair[0].step >= loaded_seconds {
            break;
        }
        idle += pair[1].began.since(pair[0].began).as_secs_f64() - load(&pair[0]);
    }
    idle.max(0.0)
}

/// The median time between windows.
pub(super) fn usual_step(past: &[Past]) -> f64 {
    let steps: Vec<f64> = past
        .iter()
        .filter(|past| !past.windows.is_empty())
        .map(|past| past.step)
        .collect();
    quantile::median(&steps).unwrap_or_default()
}

/// How many windows it takes to hold enough operations; 1 for anything quick.
pub(super) fn coarse_group(past: &[Past]) -> usize {
    let usable = || past.iter().filter(|past| !past.windows.is_empty());
    let windows: usize = usable().map(|past| past.windows.len()).sum();
    let ops: f64 = usable().map(|past| past.ops).sum();
    if ops > 0.0 {
        round_to_usize((OPS_PER_WINDOW_MIN * count(windows) / ops).ceil()).max(1)
    } else {
        1
    }
}

/// Means of `group` neighbours each; what does not fill a group at the end is left out.
pub(super) fn grouped(values: &[f64], group: usize) -> Vec<f64> {
    values
        .chunks_exact(group.max(1))
        .filter_map(quantile::mean)
        .collect()
}
