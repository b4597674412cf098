//! What runs of one machine differ by beyond what their rounds say: another hour, another place in memory, other
//! neighbours.
//!
//! Rounds of one run share all that, so that their interval holds for these minutes alone. A comparison of runs that
//! were not measured in pairs adds this scatter. It is taken from what knows the most of this machine: several runs of
//! a side; earlier runs of the machine; what was measured beforehand on machines of the project, in `scatter.txt`; or
//! what tests of that class do. All but the first are taken at their upper 80 % limit, because half of the true scatter
//! brings most of the false claims back.

use crate::history::Past;
use crate::{dist, quantile, yuen};
use model::comparison::{Both, Scatter, ScatterSource};
use model::num::{approx, count};
use model::plan::{MetricId, PlannedCase, PlannedMetric};
use model::record::Run;
use model::spec::{MetricClass, Nature};
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// The first line of the file.
const HEADING: &str = "# kurabe scatter 1";

/// So many runs of a machine, seen at so many times, make a side whose scatter they show themselves.
const RUNS_OF_SIDE: usize = 3;

/// The chance that the true scatter is below the limit that is taken.
const LIMIT: f64 = 0.8;

/// How surely the scatter of a class is known: as if from so many runs.
const CLASS_RUNS: u32 = 11;

/// The scatter between runs, as a comparison adds it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    /// The standard deviation of a run's logarithm.
    pub(crate) deviation: f64,
    /// The degrees of freedom to which that is known.
    pub(crate) df: f64,
    /// Where that comes from; `None` where nothing is added.
    source: Option<ScatterSource>,
}

impl Spread {
    /// None, as in pairs and between instances.
    pub(crate) const NONE: Self = Self {
        deviation: 0.0,
        df: f64::INFINITY,
        source: None,
    };

    /// This share, surely.
    pub(crate) fn asked(share: f64) -> Self {
        Self::of(share.ln_1p(), f64::INFINITY, ScatterSource::Asked)
    }

    /// This standard deviation of a run's logarithm.
    pub(crate) const fn of(deviation: f64, df: f64, source: ScatterSource) -> Self {
        Self {
            deviation,
            df,
            source: Some(source),
        }
    }

    /// As pages tell it.
    pub(crate) fn told(self) -> Option<Scatter> {
        let deviation = self.deviation.exp_m1();
        self.source.map(|source| Scatter { deviation, source })
    }

    /// Whether it is an estimate, which the runs of a side may know better.
    fn is_estimated(self) -> bool {
        self.source
            .is_some_and(|source| source != ScatterSource::Asked)
    }

    /// So many times as much.
    pub(crate) fn times(self, factor: f64) -> Self {
        let deviation = self.deviation * factor;
        Self { deviation, ..self }
    }

    /// What several have together, as if an hour that is bad for one were bad for all: their mean.
    pub(crate) fn mean_of(all: &[Self]) -> Self {
        let deviations: Vec<f64> = all.iter().map(|one| one.deviation).collect();
        Self {
            deviation: quantile::mean(&deviations).unwrap_or_default(),
            df: all.iter().map(|one| one.df).fold(f64::INFINITY, f64::min),
            source: all.iter().find_map(|one| one.source),
        }
    }
}

/// One side of a ratio, before what runs differ by is added.
pub(crate) struct OfSide<'a> {
    /// The mean over its runs.
    pub(crate) mean: yuen::Side,
    /// That of each run.
    pub(crate) runs: &'a [yuen::Side],
    /// At how many times they saw the machine.
    pub(crate) visits: usize,
}

impl OfSide<'_> {
    /// The variance that its runs show themselves, where they may and are enough of them at enough times.
    fn shown(&self, spread: Spread) -> Option<f64> {
        let enough = self.runs.len() >= RUNS_OF_SIDE && self.visits >= RUNS_OF_SIDE;
        (enough && spread.is_estimated()).then(|| variance_of_means(self.runs))?
    }
}

/// The variances that the logarithm of a ratio is made of, each with its degrees of freedom.
#[derive(Default)]
pub(crate) struct Parts {
    /// All of them.
    pub(crate) all: Vec<yuen::Part>,
    /// What of it comes from the scatter between runs.
    pub(crate) between: Vec<yuen::Part>,
    /// The standard deviation that the runs of either side show themselves, where they do.
    pub(crate) shown: Both<Option<f64>>,
}

/// The parts of two sides. Where one estimate is taken for both, it is one: it is as wrong for one as for the other.
pub(crate) fn parts(spread: &Both<Spread>, base: &OfSide<'_>, other: &OfSide<'_>) -> Parts {
    let mut parts = Parts::default();
    let mut added: Vec<(Spread, f64)> = Vec::new();
    for (side, spread, shown) in [
        (base, spread.base, &mut parts.shown.base),
        (other, spread.other, &mut parts.shown.other),
    ] {
        let own = side.mean.se_squared;
        // Runs of one visit share what differs from one to the next.
        let n = count(side.runs.len().min(side.visits));
        if let Some(seen) = side.shown(spread) {
            *shown = Some(seen.sqrt());
            // Chance may have put the runs closer together than their rounds allow.
            parts.all.push(((seen / n).max(own), n - 1.0));
            parts.between.push(((seen / n - own).max(0.0), n - 1.0));
        } else {
            parts.all.push((own, side.mean.df));
            added.push((spread, spread.deviation.powi(2) / count(side.visits.max(1))));
        }
    }
    let added: Vec<yuen::Part> = match added[..] {
        [(one, here), (two, there)] if one == two => vec![(here + there, one.df)],
        _ => added
            .iter()
            .map(|&(spread, variance)| (variance, spread.df))
            .collect(),
    };
    parts.all.extend(&added);
    parts.between.extend(added);
    parts
}

/// What runs of these means differ by beyond what their rounds say, at its upper limit for so many degrees of freedom:
/// a standard deviation;
/// `None` where they are too few.
pub(crate) fn upper(means: &[yuen::Side], df: f64) -> Option<f64> {
    let seen = variance_of_means(means).filter(|_| df > 0.0)?;
    let beyond = (seen * limit_of(df) - own_variance(means)).max(0.0);
    Some(beyond.sqrt())
}

/// What runs of machines differed by in each metric, by `TEST:QUANTITY`: a standard deviation of a run's logarithm, and
/// how many runs showed it. Its upper limit is that of what was seen, less what rounds say, as for [earlier
/// runs](upper): where chance had runs lie no further apart than their rounds, it is small and seldom 0. Runs of one
/// machine are held against one another alone; disturbed rounds do not count. All numbers of copies of a test are one
/// figure.
pub fn observed(machines: &[Vec<&Run>]) -> BTreeMap<String, (f64, usize)> {
    let mut cases: BTreeMap<MetricId, Observed> = BTreeMap::new();
    for runs in machines {
        let past = Past::all(runs, |_| true);
        let planned = runs.iter().flat_map(|run| &run.plan.cases);
        let ids: BTreeMap<MetricId, &PlannedCase> = planned
            .filter(|case| !case.simulated)
            .flat_map(|case| {
                let measured = case.metrics.iter().filter(|metric| !metric.is_setting());
                measured.map(move |metric| (id_of(case, metric), case))
            })
            .collect();
        for (id, case) in ids {
            let seen = past.seen(&id, |there| there.params == case.params);
            let means: Vec<yuen::Side> = seen.into_iter().map(|run| run.mean).collect();
            if let Some(variance) = variance_of_means(&means) {
                let df = count(means.len()) - 1.0;
                let of = cases.entry(id).or_default();
                of.squares += df * variance;
                of.own += df * own_variance(&means);
                of.df += df;
                of.runs += means.len();
            }
        }
    }
    let mut tests: BTreeMap<String, Observed> = BTreeMap::new();
    for (id, case) in cases {
        let key = format!("{}:{}", id.case.test, id.quantity);
        let of = tests.entry(key).or_default();
        of.squares += case.squares;
        of.own += case.own;
        of.df += case.df;
        of.runs = of.runs.max(case.runs);
    }
    let known = tests.into_iter();
    known
        .map(|(key, of)| (key, (of.deviation(), of.runs)))
        .collect()
}

/// What was observed of a metric so far.
#[derive(Default)]
struct Observed {
    /// The variance of the means of runs, times its degrees of freedom.
    squares: f64,
    /// What rounds leave in them, likewise.
    own: f64,
    df: f64,
    runs: usize,
}

impl Observed {
    fn deviation(&self) -> f64 {
        // The limit is taken as if of the runs of one machine and one number of copies.
        let own = self.own / limit_of(count(self.runs) - 1.0);
        ((self.squares - own) / self.df).max(0.0).sqrt()
    }
}

fn id_of(case: &PlannedCase, metric: &PlannedMetric) -> MetricId {
    MetricId {
        case: case.id.clone(),
        quantity: metric.quantity.clone(),
    }
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
    fn spread(&self, id: &MetricId, nature: Nature, class: MetricClass) -> Spread {
        let known = self.0.get(&format!("{}:{}", id.case.test, id.quantity));
        let (deviation, runs, source) = match known {
            Some(&(deviation, runs)) => (deviation, runs, ScatterSource::Shipped { runs }),
            None => (of_class(nature, class), CLASS_RUNS, ScatterSource::Class),
        };
        let df = approx(u64::from(runs)) - 1.0;
        Spread::of(deviation * limit_of(df).sqrt(), df, source)
    }
}

/// What runs of a machine with this past differ by in a metric.
pub(crate) fn of_machine(
    past: &Past<'_>,
    shipped: &Shipped,
    (case, metric): (&PlannedCase, &PlannedMetric),
    alike: impl Fn(&PlannedCase) -> bool,
) -> Spread {
    let id = id_of(case, metric);
    past.spread(&id, alike)
        .unwrap_or_else(|| shipped.spread(&id, case.nature, metric.class))
}

/// What tests of a class do that nobody has measured, as a standard deviation of a run's logarithm. Guessed from those
/// that were, on a busy virtual machine: 1 to 4 % for the processor, 3 to 11 % for all else.
const fn of_class(nature: Nature, class: MetricClass) -> f64 {
    let typical = match nature {
        Nature::Compute => 0.03,
        _ => 0.06,
    };
    match class {
        MetricClass::LatencyExtreme => 2.0 * typical,
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
