//! What runs of one machine differ by beyond what their rounds say: another hour, another place in memory, other
//! neighbours.
//!
//! Rounds of one run share all that, so that their interval holds for these minutes alone. A comparison of runs that
//! were not measured in pairs adds this scatter. It is taken from what knows the most of this machine: several runs of
//! a side; earlier runs of the machine; what was measured beforehand on machines of the project, in `scatter.txt`; or
//! what tests of that class do. All but the first are taken at their upper 80 % limit, because half of the true scatter
//! brings most of the false claims back.

use crate::dependence::Dependence;
use crate::inside::Disturbances;
use crate::rounds::RunRounds;
use crate::{dist, quantile, yuen};
use model::comparison::{Scatter, ScatterSource};
use model::num::{approx, count};
use model::plan::{MetricId, PlannedCase, PlannedMetric};
use model::record::Run;
use model::spec::{MetricClass, Nature};
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// The first line of the file.
const HEADING: &str = "# kurabe scatter 1";

/// So many runs of a machine make a side whose scatter they show themselves.
const RUNS_OF_SIDE: usize = 3;

/// The fewest earlier runs that show a machine's scatter.
const EARLIER_MIN: usize = 5;

/// The fewest rounds of an earlier run that nobody disturbed.
const QUIET_MIN: usize = 3;

/// The chance that the true scatter is below the limit that is taken.
const LIMIT: f64 = 0.8;

/// How surely the scatter of a class is known: as if from so many runs.
const CLASS_RUNS: u32 = 11;

/// The scatter between runs, as a comparison adds it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Spread {
    /// The runs of the side show it themselves.
    OfTheRuns,
    /// A standard deviation of a run's logarithm, known to so many degrees of freedom.
    Known {
        /// The standard deviation.
        deviation: f64,
        /// Its degrees of freedom.
        df: f64,
    },
}

impl Spread {
    /// None, as in pairs and between instances.
    pub(crate) const NONE: Self = Self::exactly(0.0);

    /// This standard deviation of a run's logarithm, surely.
    pub(crate) const fn exactly(deviation: f64) -> Self {
        Self::Known {
            deviation,
            df: f64::INFINITY,
        }
    }

    /// That of runs each of which saw the machine at so many times.
    pub(crate) fn over(self, visits: f64) -> Self {
        match self {
            Self::Known { deviation, df } => Self::Known {
                deviation: deviation / visits.max(1.0).sqrt(),
                df,
            },
            Self::OfTheRuns => self,
        }
    }

    /// The variances, with their degrees of freedom, of a side whose mean over its runs is `side` and whose runs are
    /// `runs`.
    pub(crate) fn parts(self, side: &yuen::Side, runs: &[yuen::Side]) -> Vec<(f64, f64)> {
        let n = count(runs.len());
        match self {
            Self::Known { deviation, df } => {
                vec![(side.se_squared, side.df), (deviation.powi(2) / n, df)]
            }
            Self::OfTheRuns => {
                let seen = variance_of_means(runs).unwrap_or_default();
                // Chance may have put the runs closer together than their rounds allow.
                vec![((seen / n).max(side.se_squared), n - 1.0)]
            }
        }
    }
}

/// A machine's earlier runs, ready to be asked.
pub(crate) struct Past<'a>(Vec<(Dependence, RunRounds<'a>)>);

impl<'a> Past<'a> {
    /// Of these runs.
    pub(crate) fn of(runs: &[&'a Run]) -> Self {
        let runs = runs.iter().map(|run| RunRounds::of(run));
        Self(runs.map(|run| (run.dependence(), run)).collect())
    }

    /// The ids of the runs.
    pub(crate) fn ids(&self) -> Vec<String> {
        self.0
            .iter()
            .map(|(_, run)| run.run.meta.id.clone())
            .collect()
    }

    /// The mean of each run that measured the same case and has a few rounds that nothing disturbed. `alike` says
    /// whether a case is the same measurement.
    fn means(&self, id: &MetricId, alike: impl Fn(&PlannedCase) -> bool) -> Vec<yuen::Side> {
        let means = self.0.iter().filter_map(|(dependence, run)| {
            let rounds = run.case(&id.case).filter(|rounds| alike(rounds.case))?;
            let disturbed = Disturbances::of(rounds);
            let rounds = rounds.values(&id.quantity);
            let quiet = rounds.filter(|(round, _)| disturbed.in_round(&round.noise).is_none());
            let values: Vec<f64> = quiet.map(|(_, value)| value).collect();
            let logs = quantile::logs(&values).filter(|logs| logs.len() >= QUIET_MIN)?;
            Some(yuen::side(&logs)?.with(*dependence))
        });
        means.collect()
    }

    /// What these runs differed by: how many they are, and the spread; `None` for fewer than [`EARLIER_MIN`].
    fn spread(&self, id: &MetricId, alike: impl Fn(&PlannedCase) -> bool) -> Option<(u32, Spread)> {
        let means = self.means(id, alike);
        (means.len() >= EARLIER_MIN).then_some(())?;
        let df = count(means.len()) - 1.0;
        let upper = variance_of_means(&means)? * limit_of(df);
        let spread = Spread::Known {
            deviation: (upper - own_variance(&means)).max(0.0).sqrt(),
            df,
        };
        Some((crate::rounds::whole(means.len()), spread))
    }
}

/// What runs of machines differed by in each metric, by `TEST:QUANTITY`: the standard deviation of a run's logarithm
/// beyond what its rounds say, and how many runs of so many machines showed it. Runs of one machine are held against
/// one another alone; disturbed rounds do not count.
pub fn observed(machines: &[Vec<&Run>]) -> BTreeMap<String, (f64, usize)> {
    let mut sums: BTreeMap<String, (f64, f64, usize)> = BTreeMap::new();
    for runs in machines {
        let past = Past::of(runs);
        let cases = runs.iter().flat_map(|run| &run.plan.cases);
        let mut seen: Vec<MetricId> = Vec::new();
        for (case, metric) in cases.flat_map(|case| case.metrics.iter().map(move |one| (case, one)))
        {
            let id = MetricId {
                case: case.id.clone(),
                quantity: metric.quantity.clone(),
            };
            if metric.is_setting() || seen.contains(&id) {
                continue;
            }
            let means = past.means(&id, |there| there.params == case.params);
            if let Some(variance) = variance_of_means(&means) {
                let own = own_variance(&means);
                let sum = sums
                    .entry(format!("{}:{}", id.case.test, id.quantity))
                    .or_default();
                let df = count(means.len()) - 1.0;
                *sum = (
                    sum.0 + df * (variance - own),
                    sum.1 + df,
                    sum.2.max(means.len()),
                );
            }
            seen.push(id);
        }
    }
    let deviation = |(sum, df, runs): (f64, f64, usize)| ((sum / df).max(0.0).sqrt(), runs);
    let known = sums.into_iter().map(|(key, sum)| (key, deviation(sum)));
    known.collect()
}

/// The mean of what the rounds of each run leave in its mean.
fn own_variance(means: &[yuen::Side]) -> f64 {
    means.iter().map(|side| side.se_squared).sum::<f64>() / count(means.len())
}

/// What is known beforehand, by `TEST:QUANTITY`: the standard deviation, and the number of runs that showed it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Shipped(BTreeMap<String, (f64, u32)>);

/// What is built into the program.
pub(crate) fn embedded() -> &'static Shipped {
    static SHIPPED: OnceLock<Shipped> = OnceLock::new();
    SHIPPED.get_or_init(|| {
        Shipped::read(include_str!("../scatter.txt"))
            .expect("a test reads the scatter that is built in")
    })
}

impl Shipped {
    /// Reads a file; the error names the line.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        if text.lines().next() != Some(HEADING) {
            return Err(format!("line 1: expected `{HEADING}`"));
        }
        let mut known = BTreeMap::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (key, scatter) = entry(line)
                .ok_or_else(|| format!("line {number}: `{line}` is no scatter with its origin"))?;
            if known.insert(key.clone(), scatter).is_some() {
                return Err(format!("line {number}: `{key}` is there already"));
            }
        }
        Ok(Self(known))
    }

    /// That of a metric: measured, or that of its class.
    fn scatter(&self, id: &MetricId, nature: Nature, class: MetricClass) -> (Scatter, Spread) {
        let known = self.0.get(&format!("{}:{}", id.case.test, id.quantity));
        let (deviation, runs, source) = match known {
            Some(&(deviation, runs)) => (deviation, runs, ScatterSource::Shipped { runs }),
            None => (of_class(nature, class), CLASS_RUNS, ScatterSource::Class),
        };
        let df = approx(u64::from(runs)) - 1.0;
        let deviation = deviation * limit_of(df).sqrt();
        (
            Scatter {
                deviation: deviation.exp_m1(),
                source,
            },
            Spread::Known { deviation, df },
        )
    }
}

/// The scatter of one side's runs in a metric: of `runs` that have it, with the machine's `past`.
pub(crate) fn of_side(
    runs: usize,
    past: Option<&Past<'_>>,
    shipped: &Shipped,
    (case, metric): (&PlannedCase, &PlannedMetric),
    alike: impl Fn(&PlannedCase) -> bool,
) -> (Scatter, Spread) {
    let id = MetricId {
        case: case.id.clone(),
        quantity: metric.quantity.clone(),
    };
    if runs >= RUNS_OF_SIDE {
        let scatter = Scatter {
            deviation: 0.0,
            source: ScatterSource::Given,
        };
        return (scatter, Spread::OfTheRuns);
    }
    match past.and_then(|past| past.spread(&id, alike)) {
        Some((runs, spread @ Spread::Known { deviation, .. })) => {
            let source = ScatterSource::Earlier { runs };
            (
                Scatter {
                    deviation: deviation.exp_m1(),
                    source,
                },
                spread,
            )
        }
        _ => shipped.scatter(&id, case.nature, metric.class),
    }
}

/// What tests of a class do that nobody has measured, as a standard deviation of a run's logarithm.
const fn of_class(nature: Nature, class: MetricClass) -> f64 {
    let typical = match nature {
        Nature::Compute => 0.01,
        Nature::System | Nature::Database | Nature::Network => 0.02,
        Nature::FileSystem | Nature::Storage => 0.04,
    };
    match class {
        MetricClass::LatencyTail => 2.0 * typical,
        MetricClass::LatencyExtreme => 4.0 * typical,
        _ => typical,
    }
}

/// What a variance of so many degrees of freedom is at most, at the chance [`LIMIT`], as a multiple of itself.
fn limit_of(df: f64) -> f64 {
    df / dist::chi2_quantile(1.0 - LIMIT, df)
}

fn variance_of_means(runs: &[yuen::Side]) -> Option<f64> {
    let means: Vec<f64> = runs.iter().map(|side| side.mean).collect();
    quantile::variance(&means)
}

/// One line: key, standard deviation, how many runs stand behind it, and where it comes from (date, version, and the
/// machine until its end).
fn entry(line: &str) -> Option<(String, (f64, u32))> {
    let mut words = line.split_ascii_whitespace();
    let key = words.next().filter(|key| key.contains(':'))?;
    let deviation: f64 = words.next()?.parse().ok()?;
    let runs: u32 = words.next()?.parse().ok()?;
    let (_date, _version, _machine) = (words.next()?, words.next()?, words.next()?);
    let sound = deviation.is_finite() && deviation >= 0.0 && runs > 1;
    sound.then(|| (key.to_owned(), (deviation, runs)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_built_in_can_be_read() {
        assert!(embedded().0.len() > 3);
    }

    #[test]
    fn lines_that_mean_nothing_are_named() {
        let check = |line: &str, ok: bool| {
            let found = Shipped::read(&format!("{HEADING}\n\n# words\n{line}\n"));
            assert_eq!(found.is_ok(), ok, "{line}: {found:?}");
            assert!(ok || found.unwrap_err().starts_with("line 4: "));
        };
        check(
            "os.pipe:ops_per_s 0.012 20 2026-11-21 0.1.0 VM, 2 CPUs",
            true,
        );
        check("os.pipe 0.012 20 2026-11-21 0.1.0 VM", false);
        check("os.pipe:ops_per_s x 20 2026-11-21 0.1.0 VM", false);
        check("os.pipe:ops_per_s -0.1 20 2026-11-21 0.1.0 VM", false);
        check("os.pipe:ops_per_s NaN 20 2026-11-21 0.1.0 VM", false);
        check("os.pipe:ops_per_s 0.1 1 2026-11-21 0.1.0 VM", false);
        check("os.pipe:ops_per_s 0.1 2 2026-11-21 0.1.0", false);
        assert!(Shipped::read("os.pipe:x 0.1 2 d v m").is_err());
        let twice = format!("{HEADING}\na:b 0.1 2 d v m\na:b 0.2 2 d v m\n");
        assert!(Shipped::read(&twice).unwrap_err().contains("line 3"));
    }

    #[test]
    fn the_limit_is_above_what_was_seen_the_more_the_fewer_runs_there_are() {
        // With twenty runs 1.18 times the estimate.
        assert!(
            (limit_of(19.0).sqrt() - 1.18).abs() < 0.01,
            "{}",
            limit_of(19.0).sqrt()
        );
        assert!(limit_of(4.0).sqrt() > 1.5);
    }
}
