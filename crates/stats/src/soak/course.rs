//! The rate over the hours: at most 720 points and their character.

use super::past::{self, Past};
use super::throttle::Throttle;
use super::{Finding, finding_of};
use crate::quantile;
use crate::state::drift::{self, Drift};
use crate::state::series::{self, Character};
use crate::state::{PRACTICAL_STEP, periodic, two_state};
use model::document::in_document;
use model::num::{count, round_to_u64, round_to_usize};
use model::soak::StretchKind;
use model::units::{Nanos, UnixNanos};
use schemars::JsonSchema;
use serde::Serialize;

/// The fewest points that have a course; with fewer slots the windows themselves are the points.
const POINTS_MIN: usize = 30;

/// A slow start is cut off the course only where it is shorter than this: what lasts longer is a state of its own.
const START_MAX_SECONDS: f64 = 60.0;

/// How far behind the end of a burst the plateau begins, in thinned windows: two of transition.
const BEHIND_BURST: usize = 2;

/// Stretches of no more windows keep their edges: too little would be left.
const EDGES_SPARED: usize = 8;

/// One window with its place in time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Placed {
    pub(super) elapsed: Nanos,
    pub(super) at: UnixNanos,
    pub(super) value: f64,
    /// The first or the last of its stretch, which holds what starting and ending processes costs.
    pub(super) edge: bool,
}

/// One point of a course.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Point {
    /// When its first window began, counted from the beginning of the soak.
    #[serde(rename = "elapsed_ns")]
    pub elapsed: Nanos,
    /// The same as the wall clock told it.
    #[serde(serialize_with = "in_document::<_, String, _>")]
    #[schemars(with = "String")]
    pub at: UnixNanos,
    /// The mean of its windows, or with `--every` their median.
    pub value: f64,
}

/// The rate over the hours.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Course {
    /// The points, in order.
    pub points: Vec<Point>,
    /// The time from one to the next, in seconds.
    pub point_seconds: f64,
    /// What they look like.
    #[serde(skip)]
    pub character: Character,
    /// A trend of practical size that noise may have made too: its interval does not exclude that there is none. Only
    /// where the character is [`Character::Steady`], which is then not said.
    #[serde(skip)]
    pub possible_ramp: Option<Drift>,
}

impl Course {
    /// A period of the course by itself, whatever its character is.
    pub(super) fn period(&self) -> Option<Finding> {
        let values: Vec<f64> = self.points.iter().map(|point| point.value).collect();
        let found = periodic::find(&values).filter(|found| found.depth >= PRACTICAL_STEP)?;
        Some(Finding::Periodic {
            seconds: found.windows * self.point_seconds,
            depth: found.depth,
        })
    }

    /// The character as something to say; `None` where there is too little to say anything.
    pub(super) fn finding(&self) -> Option<Finding> {
        finding_of(&self.character, self)
    }
}

/// The windows of the course: without the refill, and without the burst of a bucket, which is reported by itself. With
/// pauses every later sample begins with credit again, so that a bucket's plateau is no part of its course.
pub(super) fn kept(all: &[Past], throttle: &Throttle, pauses: bool) -> Vec<Placed> {
    if throttle.is_bucket() {
        return settled(all, throttle, pauses);
    }
    whole(all)
}

/// Every window but those of the refill, which begins after a rest that was made for it.
pub(super) fn whole(all: &[Past]) -> Vec<Placed> {
    all.iter()
        .filter(|past| !matches!(past.kind, StretchKind::Refill { .. }))
        .flat_map(placed)
        .collect()
}

/// The windows whose levels are shown: those of the course, and of these only what comes behind a burst, whatever its
/// cause. What lasts is what counts.
pub(super) fn settled(all: &[Past], throttle: &Throttle, pauses: bool) -> Vec<Placed> {
    let Throttle::Seen { burst, .. } = throttle else {
        return kept(all, throttle, pauses);
    };
    let samples: Vec<Placed> = all
        .iter()
        .filter(|past| past.kind == StretchKind::Sample)
        .flat_map(placed)
        .collect();
    if throttle.is_bucket() && pauses && !samples.is_empty() {
        return samples;
    }
    let chain = past::lending(all).map_or(&[][..], |(chain, _)| chain);
    let group = past::joined(chain).1 / burst.window_seconds.max(f64::MIN_POSITIVE);
    let burst_windows = burst.burst_seconds / burst.window_seconds.max(f64::MIN_POSITIVE);
    let skip = round_to_usize((burst_windows + group * count(BEHIND_BURST)).ceil());
    let plateau = chain.iter().flat_map(placed).skip(skip);
    plateau.chain(samples).collect()
}

/// The windows of a stretch with their places.
fn placed(past: &Past) -> impl Iterator<Item = Placed> + '_ {
    let last = past.windows.len().saturating_sub(1);
    past.windows.iter().enumerate().map(move |(i, &value)| {
        let later = round_to_u64(count(i) * past.step * 1e9);
        Placed {
            elapsed: past.began.plus(Nanos(later)),
            at: UnixNanos(past.at.0.saturating_add(later)),
            value,
            edge: last > EDGES_SPARED && (i == 0 || i == last),
        }
    })
}

/// The course of `windows`; each point has at least `group` windows, so that it holds enough operations. Edges of
/// stretches are left out: they come back with every stretch, and are the soak's own doing.
pub(super) fn of(
    windows: &[Placed],
    every: Option<Nanos>,
    group: usize,
    points_max: usize,
) -> Course {
    let windows: Vec<Placed> = windows.iter().filter(|w| !w.edge).copied().collect();
    let windows = windows.as_slice();
    let slots = every.map(|every| (slots(windows, every), every.as_secs_f64()));
    let (points, point_seconds) = match slots {
        Some((points, seconds)) if points.len() >= POINTS_MIN => thin(&points, seconds, points_max),
        _ => {
            let group = group.max(windows.len().div_ceil(points_max)).max(1);
            let step = usual_step(windows);
            (blocks(windows, group), step * count(group))
        }
    };
    let values: Vec<f64> = points.iter().map(|point| point.value).collect();
    let start_max = round_to_usize((START_MAX_SECONDS / point_seconds.max(1e-9)).floor());
    let character = series::without_burst(&values, start_max);
    Course {
        possible_ramp: possible_ramp(&character, &values),
        character,
        points,
        point_seconds,
    }
}

/// The trend of a series in which nothing was found that is sure, where it is of practical size all the same: that no
/// ramp could be proven does not make a series steady.
fn possible_ramp(character: &Character, values: &[f64]) -> Option<Drift> {
    let Character::Steady { warm_up, .. } = character else {
        return None;
    };
    drift::of(values.get(*warm_up..)?).filter(Drift::is_practical)
}

/// Two levels that change too quickly for the course: looked for in the windows themselves.
pub(super) fn two_states(windows: &[f64], group: usize, window: Nanos) -> Option<Finding> {
    let values = past::grouped(windows, group);
    let found = (values.len() >= super::WINDOWS_MIN)
        .then(|| two_state::find(&values))
        .flatten()
        .filter(|found| found.changes >= two_state::CHANGES_MIN)?;
    Some(Finding::TwoState {
        low: found.low,
        high: found.high,
        low_share: found.low_share,
        dwell_seconds: found.dwell * window.as_secs_f64() * count(group),
    })
}

/// One point for each slot of `every` that has windows: their median.
fn slots(windows: &[Placed], every: Nanos) -> Vec<Point> {
    let slot = |window: &Placed| window.elapsed.0 / every.0.max(1);
    windows
        .chunk_by(|a, b| slot(a) == slot(b))
        .filter_map(|group| point(group, quantile::median))
        .collect()
}

/// One point for each `group` neighbours: their mean.
fn blocks(windows: &[Placed], group: usize) -> Vec<Point> {
    windows
        .chunks_exact(group)
        .filter_map(|group| point(group, quantile::mean))
        .collect()
}

fn point(group: &[Placed], level: fn(&[f64]) -> Option<f64>) -> Option<Point> {
    let values: Vec<f64> = group.iter().map(|window| window.value).collect();
    let first = group.first()?;
    Some(Point {
        elapsed: first.elapsed,
        at: first.at,
        value: level(&values)?,
    })
}

fn thin(points: &[Point], seconds: f64, points_max: usize) -> (Vec<Point>, f64) {
    let group = points.len().div_ceil(points_max).max(1);
    let placed: Vec<Placed> = points
        .iter()
        .map(|&Point { elapsed, at, value }| Placed {
            elapsed,
            at,
            value,
            edge: false,
        })
        .collect();
    (blocks(&placed, group), seconds * count(group))
}

/// The median time between neighbouring windows, in seconds.
fn usual_step(windows: &[Placed]) -> f64 {
    let steps: Vec<f64> = windows
        .windows(2)
        .map(|pair| pair[1].elapsed.since(pair[0].elapsed).as_secs_f64())
        .collect();
    quantile::median(&steps).unwrap_or_default()
}
