//! What runs of one machine differ by beyond what their rounds say: another hour, another place in memory, other
//! neighbours.
//!
//! Rounds of one run share all that, so that their interval holds for these minutes alone. A comparison of runs that
//! were not measured in pairs adds this scatter. It is taken from what knows the most of this machine: several runs of
//! a side; earlier runs of the machine; what was measured beforehand on machines of the project, in `scatter.txt`; or
//! what tests of that class do. All but the first are taken at their upper 80 % limit: too small a figure brings false
//! claims back.

use crate::history::{Past, Seen};
use crate::visits::Visits;
use crate::{dist, quantile, rounds, yuen};
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

/// How surely the scatter of a class is known: as if from so many visits.
const CLASS_VISITS: u32 = 11;

/// What runs at fewer visits differ by is known no better than that of a class.
const VISITS_MIN: u32 = 4;

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
    /// How they saw their machine.
    pub(crate) visits: Visits,
}

impl OfSide<'_> {
    /// What its runs show themselves, where they may and saw the machine at enough times.
    fn shown(&self, spread: Spread) -> Option<OfVisits> {
        let found = OfVisits::of(self.runs, &self.visits)?;
        (found.number >= RUNS_OF_SIDE && spread.is_estimated()).then_some(found)
    }
}

/// What runs differ by, as the visits show it during which they began: hours add to what minutes do.
struct OfVisits {
    /// How many visits there are.
    number: usize,
    /// The variance of a run.
    of_run: f64,
    /// The variance of the mean of all runs.
    of_mean: f64,
}

impl OfVisits {
    /// `None` for fewer than two visits.
    fn of(runs: &[yuen::Side], visits: &Visits) -> Option<Self> {
        let means: Vec<f64> = runs.iter().map(|side| side.mean).collect();
        let visits = visits.sorted(&means);
        let centres: Vec<f64> = visits
            .iter()
            .filter_map(|means| quantile::mean(means))
            .collect();
        let of_centre = quantile::variance(&centres)?;
        // Runs of one visit share its hour, and differ by the rest.
        let squares = visits
            .iter()
            .zip(&centres)
            .flat_map(|(means, centre)| means.iter().map(move |mean| (mean - centre).powi(2)));
        let within = squares.sum::<f64>() / count(means.len() - visits.len()).max(1.0);
        let of_sizes = |term: fn(f64) -> f64| {
            visits
                .iter()
                .map(|means| term(count(means.len())))
                .sum::<f64>()
        };
        let alone = of_sizes(|runs| 1.0 / runs) / count(visits.len());
        Some(Self {
            number: visits.len(),
            of_run: of_centre + (1.0 - alone) * within,
            of_mean: of_centre * of_sizes(|runs| runs * runs) / count(means.len()).powi(2),
        })
    }
}

/// One side by itself, with the scatter between its runs.
pub(crate) struct Alone {
    /// The variances of its mean, each with its degrees of freedom.
    pub(crate) parts: Vec<yuen::Part>,
    /// What one more visit would scatter by.
    pub(crate) of_one: yuen::Part,
    /// Whether its runs show that themselves.
    pub(crate) is_shown: bool,
}

/// What is known of a side that is held against no other one.
pub(crate) fn of_side(side: &OfSide<'_>, spread: Spread) -> Alone {
    let own = side.mean.se_squared;
    if let Some(seen) = side.shown(spread) {
        let df = count(seen.number) - 1.0;
        return Alone {
            parts: vec![(seen.of_mean.max(own), df)],
            of_one: (seen.of_run.max(own), df),
            is_shown: true,
        };
    }
    let between = spread.deviation.powi(2);
    Alone {
        parts: vec![
            (own, side.mean.df),
            (between / side.visits.equal(), spread.df),
        ],
        of_one: (between + own * count(side.runs.len()), spread.df),
        is_shown: false,
    }
}

/// What runs of a machine differ by at one visit each.
pub(crate) struct Differ {
    /// The variance of their means.
    variance: f64,
    /// What their rounds leave in it.
    own: f64,
    /// At how many visits they began.
    pub(crate) visits: usize,
}

impl Differ {
    /// `None` for fewer than two visits.
    pub(crate) fn of(seen: &Seen) -> Option<Self> {
        let found = OfVisits::of(&seen.means, &seen.visits())?;
        // A run that was spread over several visits shows the mean of what they brought.
        let each = seen.visits_of_each();
        Some(Self {
            variance: found.of_run * each,
            own: own_variance(&seen.means) * each,
            visits: found.number,
        })
    }

    pub(crate) fn df(&self) -> f64 {
        count(self.visits) - 1.0
    }

    /// What they differ by beyond what their rounds say, at its upper limit: a standard deviation.
    pub(crate) fn upper(&self) -> f64 {
        let beyond = self.variance * limit_of(self.df()) - self.own;
        beyond.max(0.0).sqrt()
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
        if let Some(seen) = side.shown(spread) {
            *shown = Some(seen.of_run.sqrt());
            let df = count(seen.number) - 1.0;
            // Chance may have put the runs closer together than their rounds allow.
            parts.all.push((seen.of_mean.max(own), df));
            parts.between.push(((seen.of_mean - own).max(0.0), df));
        } else {
            parts.all.push((own, side.mean.df));
            added.push((spread, spread.deviation.powi(2) / side.visits.equal()));
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

/// What a metric of a case is called in the file: `TEST:QUANTITY`, and `TEST@server:QUANTITY` where a database is not
/// on the disk below the run: a server has storage and a way to it of its own.
fn key_of(case: &PlannedCase, quantity: &str) -> String {
    let place = match (case.nature, case.on_disk) {
        (Nature::Database, false) => "@server",
        _ => "",
    };
    format!("{}{place}:{quantity}", case.id.test)
}

/// What runs of machines differed by in each metric, by its key in the file. Its upper limit is that of what was seen,
/// less what rounds say, as for [earlier runs](Differ::upper). Runs of one machine are held against one another alone;
/// disturbed rounds do not count. All numbers of copies of a test are one figure.
pub fn observed(machines: &[Vec<&Run>]) -> BTreeMap<String, Known> {
    let mut cases: BTreeMap<(String, MetricId), Observed> = BTreeMap::new();
    for runs in machines {
        let past = Past::all(runs);
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
            if let Some(differ) = Differ::of(&seen) {
                let df = differ.df();
                let key = key_of(case, &id.quantity);
                let of = cases.entry((key, id)).or_default();
                of.squares += df * differ.variance;
                of.own += df * differ.own;
                of.df += df;
                of.runs += rounds::whole(seen.means.len());
                of.visits += rounds::whole(differ.visits);
            }
        }
    }
    let mut tests: BTreeMap<String, Observed> = BTreeMap::new();
    for ((key, _), case) in cases {
        let of = tests.entry(key).or_default();
        of.squares += case.squares;
        of.own += case.own;
        of.df += case.df;
        of.runs = of.runs.max(case.runs);
        of.visits = of.visits.max(case.visits);
    }
    let known = tests.into_iter();
    known.map(|(key, of)| (key, of.known())).collect()
}

/// What was observed of a metric so far.
#[derive(Default)]
struct Observed {
    /// The variance of the means of runs, times its degrees of freedom.
    squares: f64,
    /// What rounds leave in them, likewise.
    own: f64,
    df: f64,
    runs: u32,
    visits: u32,
}

impl Observed {
    fn known(&self) -> Known {
        // The limit is taken as if of the visits of one machine and one number of copies.
        let own = self.own / limit_of(approx(u64::from(self.visits)) - 1.0);
        Known {
            deviation: ((self.squares - own) / self.df).max(0.0).sqrt(),
            runs: self.runs,
            visits: self.visits,
        }
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

/// What runs of a machine differ by in a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Known {
    /// The standard deviation of a run's logarithm, beyond what its rounds say.
    pub deviation: f64,
    /// How many runs showed it.
    pub runs: u32,
    /// At how many visits.
    pub visits: u32,
}

/// What is known beforehand, by its key.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Shipped(BTreeMap<String, Known>);

/// What is built into the program.
pub(crate) fn embedded() -> &'static Shipped {
    static SHIPPED: OnceLock<Shipped> = OnceLock::new();
    SHIPPED.get_or_init(|| {
        Shipped::read(&packed::carried!("scatter.txt").text())
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

    /// That of a metric: measured, or that of its class. What was measured is of the test's own parameters; a case with
    /// others is taken to scatter no less than its class, and so is one that was measured at few visits: those say that
    /// it is more, and not that it is less.
    pub(crate) fn spread(&self, case: &PlannedCase, quantity: &str, class: MetricClass) -> Spread {
        let of_class = of_class(case.nature, class);
        let known = self.0.get(&key_of(case, quantity));
        let is_known = |known: &Known| known.visits >= VISITS_MIN;
        let is_own = |known: &Known| case.in_place_of.is_empty() && is_known(known);
        let known = known.filter(|known| is_own(known) || known.deviation > of_class);
        let (deviation, visits, source) = match known {
            Some(known) => {
                let visits = if is_known(known) {
                    known.visits
                } else {
                    CLASS_VISITS
                };
                let source = ScatterSource::Shipped { runs: known.runs };
                (known.deviation, visits, source)
            }
            None => (of_class, CLASS_VISITS, ScatterSource::Class),
        };
        let df = approx(u64::from(visits)) - 1.0;
        Spread::of(deviation * limit_of(df).sqrt(), df, source)
    }
}

/// What runs of a machine with this past differ by in a metric.
pub(crate) fn of_machine(
    past: &Past<'_>,
    (case, metric): (&PlannedCase, &PlannedMetric),
    alike: impl Fn(&PlannedCase) -> bool,
) -> Spread {
    let id = id_of(case, metric);
    past.spread(&id, alike)
        .unwrap_or_else(|| embedded().spread(case, &metric.quantity, metric.class))
}

/// What tests of a class do that nobody has measured, as a standard deviation of a run's logarithm. Guessed from those
/// that were, on a busy virtual machine: 1 to 5 % for the processor, 3 to 23 % for all else, half of it above 7 %.
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

/// One line: key, standard deviation, how many runs at how many visits stand behind it, and where it comes from (date,
/// version, and the machine until its end).
fn entry(line: &str) -> Option<(String, Known)> {
    let mut words = line.split_ascii_whitespace();
    let key = words.next().filter(|key| key.contains(':'))?;
    let deviation: f64 = words.next()?.parse().ok()?;
    let runs: u32 = words.next()?.parse().ok()?;
    let visits: u32 = words.next()?.parse().ok()?;
    let (_date, _version, _machine) = (words.next()?, words.next()?, words.next()?);
    let sound = deviation.is_finite() && deviation > 0.0 && visits > 1 && visits <= runs;
    let known = Known {
        deviation,
        runs,
        visits,
    };
    sound.then(|| (key.to_owned(), known))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::params::ParamValue;

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
            "os.pipe:ops_per_s 0.012 20 7 2026-11-21 0.1.0 VM, 2 CPUs",
            true,
        );
        check("os.pipe 0.012 20 7 2026-11-21 0.1.0 VM", false);
        check("os.pipe:ops_per_s x 20 7 2026-11-21 0.1.0 VM", false);
        check("os.pipe:ops_per_s -0.1 20 7 2026-11-21 0.1.0 VM", false);
        check("os.pipe:ops_per_s NaN 20 7 2026-11-21 0.1.0 VM", false);
        check("os.pipe:ops_per_s 0.1 2 1 2026-11-21 0.1.0 VM", false);
        check("os.pipe:ops_per_s 0.1 2 2 2026-11-21 0.1.0", false);
        check("os.pipe:ops_per_s 0.1 2 3 2026-11-21 0.1.0 VM", false);
        // Nothing that was seen is not nothing that is there.
        check("os.pipe:ops_per_s 0 20 7 2026-11-21 0.1.0 VM", false);
        assert!(Shipped::read("os.pipe:x 0.1 2 2 d v m").is_err());
        let twice = format!("{HEADING}\na:b 0.1 2 2 d v m\na:b 0.2 2 2 d v m\n");
        assert!(Shipped::read(&twice).unwrap_err().contains("line 3"));
    }

    #[test]
    fn a_case_with_other_parameters_scatters_no_less_than_its_class() {
        let shipped = Shipped::read(&format!(
            "{HEADING}\nquiet:x 0.01 20 6 d v m\nwild:x 0.5 20 6 d v m\n"
        ));
        let shipped = shipped.unwrap();
        let source = |test: &str, is_own: bool| {
            let mut case = testkit::case(&format!("{test}@1"), Vec::new());
            if !is_own {
                case.in_place_of = [("size".to_owned(), ParamValue::Count(1))]
                    .into_iter()
                    .collect();
            }
            let spread = shipped.spread(&case, "x", MetricClass::Throughput);
            (spread.source.unwrap(), spread.deviation)
        };
        let measured = ScatterSource::Shipped { runs: 20 };
        assert_eq!(source("quiet", true).0, measured);
        assert_eq!(source("wild", true), source("wild", false));
        let other = source("quiet", false);
        assert_eq!(other.0, ScatterSource::Class);
        assert_eq!(other, source("nobody", true));
        assert!(other.1 > source("quiet", true).1);
    }

    #[test]
    fn few_visits_say_that_runs_differ_by_more_and_not_by_less() {
        let lines = "quiet:x 0.01 9 3 d v m\nwild:x 0.5 9 2 d v m\nseen:x 0.01 9 4 d v m\n";
        let shipped = Shipped::read(&format!("{HEADING}\n{lines}")).unwrap();
        let spread = |test: &str| {
            let case = testkit::case(&format!("{test}@1"), Vec::new());
            shipped.spread(&case, "x", MetricClass::Throughput)
        };
        let class = spread("nobody");
        assert_eq!(spread("quiet"), class);
        let (wild, seen) = (spread("wild"), spread("seen"));
        let measured = Some(ScatterSource::Shipped { runs: 9 });
        assert_eq!((wild.source, seen.source), (measured, measured));
        assert_eq!((wild.df, seen.df), (class.df, 3.0));
        assert!(wild.deviation > 0.5 && seen.deviation < class.deviation);
    }

    #[test]
    fn what_a_database_on_the_disk_differs_by_says_nothing_of_one_on_a_server() {
        let shipped = format!("{HEADING}\nsql:x 0.01 20 6 d v m\nsql@server:x 0.2 11 2 d v m\n");
        let shipped = Shipped::read(&shipped).unwrap();
        let runs = |nature: Nature, on_disk: bool| {
            let mut case = testkit::case("sql@1", Vec::new());
            (case.nature, case.on_disk) = (nature, on_disk);
            shipped.spread(&case, "x", MetricClass::Throughput).source
        };
        let of = |runs| Some(ScatterSource::Shipped { runs });
        assert_eq!(runs(Nature::Database, true), of(20));
        assert_eq!(runs(Nature::Database, false), of(11));
        assert_eq!(runs(Nature::Compute, false), of(20));
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
