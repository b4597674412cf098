//! What a soak says: one case measured for hours, as one long series of windows.
//!
//! Everything is read off the stored stretches, so that a soak that was killed says what it can. Two questions are
//! kept apart. Is there a bucket of credit? The opening (load without a pause) and the refill test answer that. What
//! does the rate do over the hours? The course answers that: means of neighbouring windows, or the median of each
//! slot of `--every`. Windows of a stretch during which the clock was set or the machine suspended are in neither,
//! and are counted. Nothing here is compared with other runs: windows depend on one another.

mod course;
mod disturbed;
mod fine;
mod latencies;
mod marks;
mod past;
mod spent;
mod throttle;

pub use course::{Course, Point};
pub use disturbed::Disturbed;
pub use fine::FinePeriod;
pub use latencies::{LatencyAt, latencies};
pub use marks::{Mark, What};
pub use past::{CHAIN_GAP, Past, burst_of, chain, chains, extent};
pub use spent::has_refill;
pub use throttle::Throttle;

use crate::burst::{Burst, Cause, NotSeen};
use crate::state::series::Character;
use crate::thresholds::CONFIDENCE;
use crate::{quantile, within};
use model::document::in_document;
use model::estimate::Interval;
use model::num::count;
use model::plan::{PlannedCase, PlannedMetric};
use model::record::{End, Outcome, Round, Run};
use model::soak::Soak;
use model::units::{Nanos, Unit, UnixNanos};
use schemars::JsonSchema;
use serde::Serialize;

/// The fewest windows of a stretch.
pub const STRETCH_WINDOWS_MIN: u64 = 10;

/// The shortest stretch of windows of this length.
pub const fn shortest_stretch(window: Nanos) -> Nanos {
    Nanos(window.0.saturating_mul(STRETCH_WINDOWS_MIN))
}

/// Below this share of the typical window a window counts as slow.
pub const SLOW_BELOW: f64 = 0.9;
/// The quantiles that are shown beside the median.
const FLOOR: f64 = 0.10;
const BEST: f64 = 0.95;
/// The fewest windows of which everything can be said that this module looks for.
pub const WINDOWS_MIN: usize = 60;
/// The fewest windows that are called steady: five in each of the ten blocks over which a drift is looked for. What is
/// found in fewer is said, but that nothing was found in them says nothing.
pub const STEADY_MIN: usize = 50;
/// The most points of a course: the searches for change take time with the square of their number.
const POINTS_MAX: usize = 720;
/// How near two mean cycles of a two-state series are to a period that is called the same.
const SAME_CYCLE: f64 = 0.15;

/// Everything concluded from a soak.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SoakSummary {
    /// What was asked for.
    #[serde(skip)]
    pub soak: Soak,
    /// The quantity of the windows.
    pub quantity: String,
    /// Their unit.
    pub unit: Unit,
    /// The length of a window.
    #[serde(skip)]
    pub window: Nanos,
    /// From the beginning of the first stretch to the end of the last; zero where no stretch ended.
    #[serde(rename = "lasted_ns")]
    pub lasted: Nanos,
    /// Windows that count, those of the burst and of the refill included.
    pub windows: usize,
    /// Windows left out because the clock was set or the machine suspended meanwhile.
    #[serde(rename = "windows_left_out")]
    pub left_out: usize,
    /// What is known about credit.
    pub throttle: Throttle,
    /// The rate over the hours.
    pub course: Course,
    /// The points of the whole series, a bucket's burst included: for a picture.
    #[serde(skip)]
    pub picture: Course,
    /// Windows that count and are not in the picture: the first and the last of each stretch, which hold what starting
    /// and ending processes costs.
    #[serde(skip)]
    pub edges: usize,
    /// Something that comes back within minutes.
    #[serde(rename = "fine_period")]
    pub fine: Option<FinePeriod>,
    /// The levels of the windows; `None` where there are too few.
    pub levels: Option<Levels>,
    /// Who else took CPU time; `None` where nobody did, or nothing is known about it.
    pub disturbed: Option<Disturbed>,
    /// What happened to the series, in the order of time.
    #[serde(skip)]
    pub marks: Vec<Mark>,
    /// What is to be said, the most telling first; never empty.
    pub findings: Vec<Finding>,
}

/// Levels of the windows of the course, and where there was a burst of those behind it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Levels {
    /// The median.
    pub typical: f64,
    /// The 10th percentile.
    pub floor: f64,
    /// The 95th percentile: what it can do at its best.
    pub best: f64,
    /// The share of windows below 90 % of the typical one, 0 to 1.
    pub slow_share: f64,
    /// The mean.
    pub mean: f64,
    /// The interval of the mean within this run; never used to compare.
    pub within: Option<Interval>,
    /// How many windows.
    pub windows: usize,
}

/// One thing to say.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Finding {
    /// Too little was measured to say anything.
    TooShort {
        /// Windows that count: from [`STEADY_MIN`] on there are enough, but half of them or more did no work.
        windows: usize,
    },
    /// Fast, then exactly slower.
    Burst {
        /// The figures.
        #[serde(flatten)]
        burst: Burst,
        /// What the refill test says; `None` where it was not made.
        cause: Option<Cause>,
        /// How long the rest before it was, in seconds.
        rest_seconds: Option<f64>,
        /// When the burst ended.
        #[serde(serialize_with = "in_document::<_, String, _>")]
        #[schemars(with = "String")]
        at: UnixNanos,
    },
    /// One change of level.
    Step {
        /// When.
        #[serde(serialize_with = "in_document::<_, String, _>")]
        #[schemars(with = "String")]
        at: UnixNanos,
        /// How long after the beginning, in seconds.
        after_seconds: f64,
        /// The level before.
        from: f64,
        /// The level behind.
        to: f64,
    },
    /// A trend over the whole course.
    Ramp {
        /// Last over first, minus 1.
        change: f64,
        /// The ends of its 99 % interval.
        interval: (f64, f64),
        /// Over how long, in seconds.
        seconds: f64,
    },
    /// Two levels in turn.
    TwoState {
        /// The lower level.
        low: f64,
        /// The upper level.
        high: f64,
        /// The share of the time at the lower level, 0 to 1.
        low_share: f64,
        /// For how long a level is held on average, in seconds.
        dwell_seconds: f64,
    },
    /// Something that comes back.
    Periodic {
        /// The period in seconds.
        seconds: f64,
        /// How far the slowest phase lies below the fastest, as a share of the median.
        depth: f64,
    },
    /// Several changes of level.
    Unstable {
        /// How many levels.
        levels: usize,
        /// The lowest of them.
        low: f64,
        /// The highest.
        high: f64,
    },
    /// One level.
    Steady {
        /// The typical window, as in the levels.
        level: f64,
        /// The share of windows below 90 % of it, where that is more than a tenth of them.
        slow_share: Option<f64>,
    },
    /// One level, or a ramp: its size is worth a word, and its interval does not exclude that there is none.
    PossibleRamp {
        /// The typical window, as in the levels.
        level: f64,
        /// Last over first, minus 1.
        change: f64,
        /// The ends of its 99 % interval.
        interval: (f64, f64),
        /// Over how long, in seconds.
        seconds: f64,
    },
    /// Others took CPU time in at least a tenth of the stretches.
    Disturbed(Disturbed),
    /// No throttle: what that says about a bucket.
    NotSeen(NotSeen),
    /// It lasted less than was asked for.
    EndedEarly {
        /// For how long it lasted.
        #[serde(rename = "lasted_ns")]
        lasted: Nanos,
        /// What was asked for.
        #[serde(rename = "of_ns")]
        of: Nanos,
        /// Why.
        why: Early,
    },
}

/// Why a soak lasted less than was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Early {
    /// It was killed, or it is still going on.
    Unfinished,
    /// Somebody interrupted it.
    Interrupted,
    /// Its stretches failed, one after the other.
    Failed,
    /// Its time ran out while it was not running: it was resumed too late, or the machine was suspended to the end.
    Lapsed,
}

/// What the soak `run` says; `None` where it is no soak.
pub fn summarize(run: &Run) -> Option<SoakSummary> {
    let soak = run.plan.soak?;
    let case = run.plan.cases.first()?;
    let rounds: Vec<&Round> = run
        .rounds_of(&case.id)
        .filter(|round| round.stretch.is_some())
        .collect();
    let past: Vec<Past> = rounds.iter().copied().filter_map(Past::of).collect();
    let throttle = throttle::of(&past);
    let kept = course::kept(&past, &throttle, soak.every.is_some());
    let group = past::coarse_group(&past);
    let course = course::of(&kept, soak.every, group, POINTS_MAX);
    let (pictured, picture) = if throttle.is_bucket() {
        let whole = course::whole(&past);
        let picture = course::of(&whole, soak.every, group, POINTS_MAX);
        (whole, picture)
    } else {
        (kept.clone(), course.clone())
    };
    let fine = fine::find(&past, case.shape.window);
    let values: Vec<f64> = kept
        .iter()
        .filter(|window| !window.edge)
        .map(|window| window.value)
        .collect();
    let settled = course::settled(&past, &throttle, soak.every.is_some());
    let settled: Vec<f64> = settled.iter().map(|window| window.value).collect();
    let levels = levels(&settled);
    let disturbed = disturbed::of(&rounds, &past);
    let lasted = past
        .first()
        .zip(past.last())
        .map_or(Nanos::ZERO, |(first, last)| last.ended.since(first.started));
    let mut list = said_of_course(&throttle, &course, fine.as_ref(), &values, group, case);
    if list.is_empty() && !matches!(throttle, Throttle::NotSeen(_)) {
        let windows = settled.len();
        list.push(Finding::TooShort { windows });
    }
    let early = early(run, lasted, soak.span.since(lasted) >= room(case, &soak));
    let findings = findings(list, levels.as_ref(), &throttle, disturbed, early);
    let (quantity, unit) = measured(case.metrics.first());
    Some(SoakSummary {
        soak,
        quantity,
        unit,
        window: case.shape.window,
        lasted,
        windows: past.iter().map(|past| past.windows.len()).sum(),
        left_out: past.iter().map(|past| past.left_out).sum(),
        marks: marks::of(run, &past, soak.every),
        throttle,
        course,
        picture,
        edges: pictured.iter().filter(|window| window.edge).count(),
        fine,
        levels,
        disturbed,
        findings,
    })
}

/// The quantity of the windows and its unit: the first metric's where that is a rate, else plain operations.
fn measured(first: Option<&PlannedMetric>) -> (String, Unit) {
    match first {
        Some(metric) if metric.unit.is_rate() => (metric.quantity.clone(), metric.unit),
        _ => ("ops_per_s".to_owned(), Unit::OpsPerSecond),
    }
}

fn levels(windows: &[f64]) -> Option<Levels> {
    if windows.len() < 2 || windows.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let sorted = quantile::sorted(windows);
    let at = |q| quantile::of_sorted(&sorted, q);
    let typical = at(0.5)?;
    let slow = windows
        .iter()
        .filter(|&&x| x < SLOW_BELOW * typical)
        .count();
    Some(Levels {
        typical,
        floor: at(FLOOR)?,
        best: at(BEST)?,
        slow_share: count(slow) / count(windows.len()),
        mean: quantile::mean(windows)?,
        within: within::mean_interval(windows, CONFIDENCE),
        windows: windows.len(),
    })
}

/// Everything that is to be said, the most telling first: the course, who disturbed it, the throttle that was not seen,
/// and an early end.
fn findings(
    mut list: Vec<Finding>,
    levels: Option<&Levels>,
    throttle: &Throttle,
    disturbed: Option<Disturbed>,
    early: Option<Finding>,
) -> Vec<Finding> {
    for finding in &mut list {
        by_levels(finding, levels);
    }
    list.extend(disturbed.filter(Disturbed::is_said).map(Finding::Disturbed));
    if let Throttle::NotSeen(seen) = throttle {
        list.push(Finding::NotSeen(*seen));
    }
    list.extend(early);
    list
}

/// Gives a series of one level the figure that stands in the levels, so that there is one typical rate and not two; or
/// takes the word back where there are too few windows for it.
fn by_levels(finding: &mut Finding, levels: Option<&Levels>) {
    let Some(levels) = levels else { return };
    match finding {
        Finding::Steady { .. } | Finding::PossibleRamp { .. } if levels.windows < STEADY_MIN => {
            *finding = Finding::TooShort {
                windows: levels.windows,
            };
        }
        Finding::Steady { level, slow_share } => {
            *level = levels.typical;
            *slow_share = Some(levels.slow_share).filter(|&share| share > FLOOR);
        }
        Finding::PossibleRamp { level, .. } => *level = levels.typical,
        _ => {}
    }
}

/// What is said of a soak that lasted less than was asked for; `room_left` tells whether another stretch had room.
/// Where the last of the samples left none before the end, nothing is missing.
fn early(run: &Run, lasted: Nanos, room_left: bool) -> Option<Finding> {
    let failed = |round: &Round| matches!(round.outcome, Outcome::Failed(_));
    let why = match run.meta.end {
        End::Open => Early::Unfinished,
        End::Interrupted => Early::Interrupted,
        End::Complete if room_left && run.rounds.last().is_some_and(failed) => Early::Failed,
        End::Complete if room_left => Early::Lapsed,
        End::Complete => return None,
    };
    let of = run.plan.soak?.span;
    Some(Finding::EndedEarly { lasted, of, why })
}

/// From which time on another stretch had room behind the last one: what it needs at least, and with pauses the time
/// until it is due.
fn room(case: &PlannedCase, soak: &Soak) -> Nanos {
    shortest_stretch(case.shape.window).plus(soak.every.unwrap_or_default())
}

/// What the course says, the most telling first; nothing where it is too short for that.
fn said_of_course(
    throttle: &Throttle,
    course: &Course,
    fine: Option<&FinePeriod>,
    windows: &[f64],
    group: usize,
    case: &PlannedCase,
) -> Vec<Finding> {
    let mut list = Vec::new();
    if let Throttle::Seen {
        burst,
        cause,
        rest_seconds,
        at,
    } = throttle
    {
        list.push(Finding::Burst {
            burst: *burst,
            cause: *cause,
            rest_seconds: *rest_seconds,
            at: *at,
        });
    }
    let slow = course.finding();
    let quick = fine.map(|fine| Finding::Periodic {
        seconds: fine.seconds,
        depth: fine.depth,
    });
    let said = !list.is_empty();
    match slow {
        // The same change again, or nothing new.
        Some(Finding::Step { .. } | Finding::Steady { .. } | Finding::PossibleRamp { .. })
            if said =>
        {
            list.extend(quick);
        }
        Some(Finding::TwoState { dwell_seconds, .. })
            if fine.is_some_and(|fine| same_cycle(fine.seconds, 2.0 * dwell_seconds)) =>
        {
            list.extend(quick);
        }
        Some(Finding::Steady { .. } | Finding::PossibleRamp { .. }) | None => {
            let hidden = quick.or_else(|| course::two_states(windows, group, case.shape.window));
            match (hidden, slow) {
                (Some(hidden), _) => list.push(hidden),
                (None, slow) => list.extend(slow),
            }
        }
        Some(Finding::TwoState { dwell_seconds, .. }) => {
            // Two states that change by the clock are a job as well.
            let job = course.period().filter(|job| {
                matches!(job, Finding::Periodic { seconds, .. } if same_cycle(*seconds, 2.0 * dwell_seconds))
            });
            list.extend(slow);
            list.extend(job);
            list.extend(quick);
        }
        Some(other) => {
            let again = matches!((&other, &quick), (Finding::Periodic { seconds, .. }, Some(_))
                if fine.is_some_and(|fine| same_cycle(fine.seconds, *seconds)));
            list.push(other);
            list.extend(quick.filter(|_| !again));
        }
    }
    list
}

fn same_cycle(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() <= SAME_CYCLE
}

/// The character of a course as something to say.
fn finding_of(character: &Character, course: &Course) -> Option<Finding> {
    let seconds = course.point_seconds;
    Some(match character {
        Character::Unknown | Character::Burst(_) => return None,
        Character::Steady { level, .. } => match course.possible_ramp {
            Some(drift) => Finding::PossibleRamp {
                level: *level,
                change: drift.change,
                interval: (drift.lo, drift.hi),
                seconds: seconds * count(course.points.len()),
            },
            None => Finding::Steady {
                level: *level,
                slow_share: None,
            },
        },
        Character::Step {
            segments: [before, behind],
        } => {
            let point = course.points.get(behind.start)?;
            Finding::Step {
                at: point.at,
                after_seconds: point.elapsed.as_secs_f64(),
                from: before.level,
                to: behind.level,
            }
        }
        Character::Ramp(drift) => Finding::Ramp {
            change: drift.change,
            interval: (drift.lo, drift.hi),
            seconds: seconds * count(course.points.len()),
        },
        Character::TwoState(found) => Finding::TwoState {
            low: found.low,
            high: found.high,
            low_share: found.low_share,
            dwell_seconds: found.dwell * seconds,
        },
        Character::Periodic(period) => Finding::Periodic {
            seconds: period.windows * seconds,
            depth: period.depth,
        },
        Character::Unstable { segments } => {
            let levels = || segments.iter().map(|segment| segment.level);
            Finding::Unstable {
                levels: segments.len(),
                low: levels().reduce(f64::min)?,
                high: levels().reduce(f64::max)?,
            }
        }
    })
}

#[cfg(test)]
mod tests;
