//! What a figure is for a server or a plan, and whether it keeps to a level.
//!
//! Rounds of one run say what held for these minutes. What holds for the server takes several visits, 20 minutes or
//! more apart, because hours differ by more than minutes show; what holds for a plan takes five instances. So one run
//! decides nothing, and neither does what another program measured: the verdict is then `unclear`, with what it would
//! take to tell.

use crate::contrast::{ERROR_RATE, Values};
use crate::figure::Figure;
use crate::needed::ROUNDS_MAX;
use crate::rounds::whole;
use crate::scatter::{self, OfSide};
use crate::thresholds::{CONFIDENCE, ROUNDS_MIN, RUNS_MIN};
use crate::yuen::{self, Trim};
use crate::{dist, quantile, scope};
use model::document::in_document;
use model::estimate::{Ends, Interval};
use model::figure::{Bound, Level};
use model::num::{approx, count};
use model::record::Run;
use schemars::JsonSchema;
use serde::Serialize;

/// The chance that the true scatter is below the bound planned with.
const SCATTER_BOUND: f64 = 0.8;

/// The fewest visits that say anything of a server.
const VISITS_MIN: u32 = 2;

/// What a figure is, as several runs show it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Standing {
    /// The geometric mean: of instances, or of the runs of one.
    pub value: f64,
    /// The 95 % interval for the minutes that were measured; null where runs have too few rounds for one.
    #[serde(serialize_with = "in_document::<_, Ends, _>")]
    #[schemars(with = "Ends")]
    pub minutes: Option<Interval>,
    /// The 95 % interval for what `scope` names, with the scatter between runs; null where nothing tells it.
    #[serde(serialize_with = "in_document::<_, Ends, _>")]
    #[schemars(with = "Ends")]
    pub interval: Option<Interval>,
    /// What it is about.
    pub scope: About,
    /// How many runs stand behind it.
    pub runs: u32,
    /// At how many times, 20 minutes or more apart, they began.
    pub visits: u32,
    /// Why nothing may be decided by it; null where something may.
    pub undecided: Option<Undecided>,
    /// The variance of the logarithm of one more visit (or instance), and its degrees of freedom.
    #[serde(skip)]
    pub(crate) of_one: yuen::Part,
}

/// What a figure of several runs is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "place", rename_all = "snake_case")]
pub enum About {
    /// One instance.
    ThisInstance,
    /// What is rented out under this name.
    ThisPlan {
        /// How many separate instances were measured: five or more.
        instances: u32,
    },
    /// Several instances, too few for a plan.
    TheseInstances {
        /// How many.
        instances: u32,
    },
    /// Runs of which it is not known whether they come from one instance.
    TheseRuns,
}

/// Why a figure decides nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Undecided {
    /// There is one run.
    OneRun,
    /// All runs are of one visit.
    OneVisit,
    /// Other programs measured it.
    Imported,
    /// Several instances, fewer than a plan needs.
    FewInstances,
    /// It is not known whether the runs come from one instance.
    UnknownInstances,
    /// A value is zero or less, or not finite, so that there is no scale on which it scatters.
    NoLogarithm,
}

/// Whether a level is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Held {
    /// It is: the whole interval lies on its good side.
    Met,
    /// It is not: the whole interval lies on the other side.
    Missed,
    /// Nobody can tell.
    Unclear,
}

/// How much would tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Needed {
    /// So many runs of the server in all, 20 minutes or more apart.
    Runs(u32),
    /// So many instances in all, one run each.
    Instances(u32),
    /// More than 200 of them.
    NotAtThisNoise,
}

/// A figure held against a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Judged {
    /// The verdict.
    pub verdict: Held,
    /// What it would take to tell, where it is unclear.
    pub needed: Option<Needed>,
    /// True where the minutes that were measured lie on one side, and that is not enough to tell.
    pub minutes_told: bool,
}

/// What these figures show, which are all of one kind. Where some were measured here, those alone count.
///
/// # Panics
/// Where there is none.
pub fn standing(figures: &[&Figure<'_>]) -> Standing {
    assert!(!figures.is_empty(), "a standing is one of a figure");
    let own = figures.iter().filter(|one| one.run.meta.origin.is_none());
    let own: Vec<&Figure<'_>> = own.copied().collect();
    if own.is_empty() {
        return alone(figures, Undecided::Imported);
    }
    let runs: Vec<&Run> = own.iter().map(|one| one.run).collect();
    let values = Values {
        runs: own.iter().map(|one| one.values.clone()).collect(),
    };
    let Some(means) = means(&values) else {
        return alone(&own, Undecided::NoLogarithm);
    };
    match scope::instances(&runs) {
        Some(instances) if instances.len() == 1 => of_one(&own, &values, &means),
        Some(instances) => of_instances(&means, &instances),
        None if runs.len() == 1 => of_one(&own, &values, &means),
        None => alone(&own, Undecided::UnknownInstances),
    }
}

/// The mean of each run's logarithms; `None` where a value has none.
fn means(values: &Values) -> Option<Vec<yuen::Side>> {
    let of = |run: &crate::contrast::OfRun| {
        let points: Vec<f64> = run.points.iter().map(|&(_, value)| value).collect();
        Some(yuen::trimmed(&quantile::logs(&points)?, Trim::Fifth)?.with(run.dependence))
    };
    values.runs.iter().map(of).collect()
}

/// What may be said without an interval.
fn alone(figures: &[&Figure<'_>], why: Undecided) -> Standing {
    let medians: Vec<f64> = figures.iter().map(|one| one.median()).collect();
    let value = quantile::logs(&medians).and_then(|logs| Some(quantile::mean(&logs)?.exp()));
    let spread = figures[0].spread();
    Standing {
        value: value
            .or_else(|| quantile::median(&medians))
            .unwrap_or(f64::NAN),
        minutes: None,
        interval: None,
        scope: if figures.len() == 1 {
            About::ThisInstance
        } else {
            About::TheseRuns
        },
        runs: whole(figures.len()),
        visits: 0,
        undecided: Some(why),
        of_one: (spread.deviation.powi(2), spread.df),
    }
}

/// Runs of one instance.
fn of_one(figures: &[&Figure<'_>], values: &Values, means: &[yuen::Side]) -> Standing {
    let spread = figures[0].spread();
    let mean = yuen::Side::mean_of(means).expect("there is a run");
    let visits = values.visits();
    let began = whole(visits.sorted(&vec![0.0; means.len()]).len());
    let side = OfSide {
        mean,
        runs: means,
        visits,
    };
    let found = scatter::of_side(&side, spread);
    let own_half = yuen::half_width(mean.se_squared.sqrt(), mean.df, ERROR_RATE);
    let (variance, df) = yuen::together(&found.parts);
    let half = yuen::half_width(variance.sqrt(), df, ERROR_RATE);
    let of_rounds = figures.iter().all(|one| one.is_of_rounds());
    let has_rounds =
        of_rounds && values.fewest() >= usize::try_from(ROUNDS_MIN).unwrap_or(usize::MAX);
    // Nothing that is added makes a claim surer; and runs of one round each show their scatter at three visits alone.
    let tells = found.is_shown || has_rounds;
    Standing {
        value: mean.mean.exp(),
        minutes: has_rounds.then(|| interval(mean.mean, own_half)),
        interval: tells.then(|| {
            interval(
                mean.mean,
                if has_rounds { half.max(own_half) } else { half },
            )
        }),
        scope: About::ThisInstance,
        runs: whole(means.len()),
        visits: began,
        undecided: match (means.len(), began) {
            (1, _) => Some(Undecided::OneRun),
            (_, ..VISITS_MIN) => Some(Undecided::OneVisit),
            _ => None,
        },
        of_one: found.of_one,
    }
}

/// Runs of several instances, each of which counts once.
fn of_instances(means: &[yuen::Side], instances: &[Vec<usize>]) -> Standing {
    let centre = |runs: &Vec<usize>| {
        quantile::mean(&runs.iter().map(|&run| means[run].mean).collect::<Vec<_>>())
    };
    let centres: Vec<f64> = instances.iter().filter_map(centre).collect();
    let mean = quantile::mean(&centres).unwrap_or(f64::NAN);
    let variance = quantile::variance(&centres).unwrap_or_default();
    let (n, df) = (count(centres.len()), count(centres.len()) - 1.0);
    let instances = whole(centres.len());
    let is_plan = instances >= RUNS_MIN;
    let half = yuen::half_width((variance / n).sqrt(), df, ERROR_RATE);
    Standing {
        value: mean.exp(),
        minutes: None,
        interval: Some(interval(mean, half)),
        scope: if is_plan {
            About::ThisPlan { instances }
        } else {
            About::TheseInstances { instances }
        },
        runs: whole(means.len()),
        visits: instances,
        undecided: (!is_plan).then_some(Undecided::FewInstances),
        of_one: (variance, df),
    }
}

fn interval(mean: f64, half: f64) -> Interval {
    Interval {
        lo: (mean - half).exp(),
        hi: (mean + half).exp(),
        confidence: CONFIDENCE,
    }
}

/// On which side of a level an interval lies; `None` where on both.
fn side_of(interval: &Interval, bound: Bound, level: f64) -> Option<bool> {
    match bound {
        Bound::AtLeast if interval.lo >= level => Some(true),
        Bound::AtLeast if interval.hi < level => Some(false),
        Bound::AtMost if interval.hi <= level => Some(true),
        Bound::AtMost if interval.lo > level => Some(false),
        _ => None,
    }
}

impl Standing {
    /// The interval by which something may be decided.
    pub fn decides(&self) -> Option<Interval> {
        self.interval.filter(|_| self.undecided.is_none())
    }

    /// Whether it keeps to this level.
    pub fn judged(&self, bound: Bound, level: &Level) -> Judged {
        let side = |interval: Interval| side_of(&interval, bound, level.value);
        let verdict = match self.decides().and_then(side) {
            Some(true) => Held::Met,
            Some(false) => Held::Missed,
            None => Held::Unclear,
        };
        let is_unclear = verdict == Held::Unclear;
        Judged {
            verdict,
            needed: is_unclear.then(|| self.needed(level.value)).flatten(),
            minutes_told: is_unclear && self.minutes.and_then(side).is_some(),
        }
    }

    /// How many runs (or instances) in all would put the interval on one side, if the value stays where it is. The
    /// scatter that was seen may have been lucky: its upper 80 % bound is planned with.
    fn needed(&self, level: f64) -> Option<Needed> {
        let of_instances = matches!(
            self.scope,
            About::ThisPlan { .. } | About::TheseInstances { .. }
        );
        // No number of imports decides anything.
        if matches!(
            self.undecided,
            Some(Undecided::NoLogarithm | Undecided::Imported)
        ) {
            return None;
        }
        let distance = (self.value.ln() - level.ln()).abs();
        let (variance, df) = self.of_one;
        let bound = if df.is_finite() && df > 0.0 && of_instances {
            variance * df / dist::chi2_quantile(1.0 - SCATTER_BOUND, df)
        } else {
            variance
        };
        let least = if of_instances { RUNS_MIN } else { VISITS_MIN };
        let first = least.max(
            self.visits
                .saturating_add(u32::from(self.undecided.is_none())),
        );
        let tells = |n: &u32| {
            let n = approx(u64::from(*n));
            yuen::half_width((bound / n).sqrt(), n - 1.0, ERROR_RATE) <= distance
        };
        let found = (first..=ROUNDS_MAX).find(tells);
        Some(match found {
            Some(n) if of_instances => Needed::Instances(n),
            Some(n) => Needed::Runs(n),
            None => Needed::NotAtThisNoise,
        })
    }
}

#[cfg(test)]
mod tests;
