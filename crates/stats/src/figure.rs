//! A figure of a run: its value in each round, whatever it is made of, ready to be held against a level or against the
//! same figure of other runs.
//!
//! A figure is a metric as it was planned, the place where most of the latencies of a storage test lie, or what
//! somebody else computes of the rounds, such as an index.

use crate::compare::not_alike;
use crate::contrast::{OfRun, Values};
use crate::dependence::Dependence;
use crate::rounds::{CaseRounds, RunRounds};
use crate::scatter::{self, Spread};
use crate::{modes, quantile, storage, summarize};
use model::figure::FigureName;
use model::plan::PlannedCase;
use model::record::Run;
use model::spec::{Better, MetricClass};
use model::units::Unit;

/// The end of a quantity that is where most of a kind of latency lies, of which the beginning is the name.
pub const MODE: &str = "_ns_mode";

/// The kind of latency that is meant by `lat_ns_mode`: the leading one, whatever its name.
pub const LEADING: &str = "lat";

/// A run whose figures are asked for, its rounds sorted out once.
pub struct Figures<'a> {
    rounds: RunRounds<'a>,
    dependence: Dependence,
}

/// What a figure is.
#[derive(Clone, Debug, PartialEq)]
pub struct What<'a> {
    /// Its whole name.
    pub name: FigureName,
    /// Its unit.
    pub unit: Unit,
    /// In which direction it is good.
    pub better: Better,
    /// Of which class it is.
    pub class: MetricClass,
    /// The cases that it is made of.
    pub cases: Vec<&'a PlannedCase>,
}

/// A figure of a run.
#[derive(Clone, Debug)]
pub struct Figure<'a> {
    /// The run.
    pub run: &'a Run,
    /// What it is.
    pub what: What<'a>,
    pub(crate) values: OfRun,
}

/// Why a run has no such figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Absent {
    /// It did not measure the test.
    NoTest,
    /// The test has no such quantity; these it has.
    NoQuantity(Vec<String>),
    /// It was to be measured, and has no value.
    NoValue(String),
}

impl<'a> Figures<'a> {
    /// Those of this run.
    pub fn of(run: &'a Run) -> Self {
        let rounds = RunRounds::of(run);
        Self {
            dependence: rounds.dependence(),
            rounds,
        }
    }

    /// The run.
    pub const fn run(&self) -> &'a Run {
        self.rounds.run
    }

    /// The figure of this name.
    pub fn find(&self, name: &FigureName) -> Result<Figure<'a>, Absent> {
        let named = |rounds: &&CaseRounds<'a>| {
            let id = &rounds.case.id;
            id.test == name.test && name.copies.is_none_or(|copies| copies == id.copies)
        };
        let cases = self.rounds.cases().iter().filter(named);
        let Some(rounds) = cases.min_by_key(|rounds| rounds.case.id.copies) else {
            return Err(Absent::NoTest);
        };
        let metrics = &rounds.case.metrics;
        let quantity = name.quantity.as_deref();
        let metric = match quantity {
            Some(quantity) => metrics.iter().find(|metric| metric.quantity == quantity),
            None => metrics.first(),
        };
        if let Some(metric) = metric.filter(|metric| !metric.is_setting()) {
            let points = rounds.values(&metric.quantity);
            let points = points.map(|(round, value)| (round.pass, value, round.started.0));
            let what = What {
                name: whole_name(rounds.case, &metric.quantity),
                unit: metric.unit,
                better: metric.better,
                class: metric.class,
                cases: vec![rounds.case],
            };
            let why = || summarize::why_no_value(rounds, &metric.quantity);
            return self
                .made(what, points)
                .ok_or_else(|| Absent::NoValue(why()));
        }
        let mode = quantity.and_then(|quantity| quantity.strip_suffix(MODE));
        match mode.and_then(|kind| self.mode(rounds, quantity.unwrap_or_default(), kind)) {
            Some(found) => Ok(found),
            None => Err(Absent::NoQuantity(
                metrics
                    .iter()
                    .map(|metric| metric.quantity.clone())
                    .collect(),
            )),
        }
    }

    /// Where most of a kind of latency lies, round by round.
    fn mode(&self, rounds: &CaseRounds<'a>, quantity: &str, kind: &str) -> Option<Figure<'a>> {
        let leading = || storage::leading_latency(rounds);
        let kind = if kind == LEADING {
            leading()?
        } else {
            kind.to_owned()
        };
        let points = rounds.finished().filter_map(|(round, measured)| {
            let modes = modes::find(measured.latencies.get(&kind)?)?;
            let most = modes.iter().max_by(|a, b| a.share.total_cmp(&b.share))?;
            Some((round.pass, most.peak_ns, round.started.0))
        });
        let what = What {
            name: whole_name(rounds.case, quantity),
            unit: Unit::Nanoseconds,
            better: Better::Lower,
            class: MetricClass::LatencyTypical,
            cases: vec![rounds.case],
        };
        self.made(what, points)
    }

    /// What somebody computed of the rounds of each of these passes; `None` for none.
    pub fn of_passes(&self, what: What<'a>, passes: &[(u32, f64)]) -> Option<Figure<'a>> {
        let began = |pass: u32| {
            let rounds = self.run().rounds.iter().filter(|round| round.pass == pass);
            rounds
                .map(|round| round.started.0)
                .min()
                .unwrap_or_default()
        };
        let points = passes
            .iter()
            .map(|&(pass, value)| (pass, value, began(pass)));
        self.made(what, points)
    }

    fn made(
        &self,
        what: What<'a>,
        points: impl Iterator<Item = (u32, f64, u64)>,
    ) -> Option<Figure<'a>> {
        let (points, times): (Vec<_>, Vec<_>) =
            points.map(|(pass, value, at)| ((pass, value), at)).unzip();
        let values = OfRun {
            points,
            dependence: self.dependence,
            times,
        };
        (!values.points.is_empty()).then(|| Figure {
            run: self.run(),
            what,
            values,
        })
    }
}

fn whole_name(case: &PlannedCase, quantity: &str) -> FigureName {
    FigureName {
        test: case.id.test.clone(),
        copies: Some(case.id.copies),
        quantity: Some(quantity.to_owned()),
    }
}

impl Figure<'_> {
    /// The values as those of a side of a comparison.
    pub(crate) fn as_side(&self) -> Values {
        Values {
            runs: vec![self.values.clone()],
        }
    }

    /// The median of its rounds.
    pub fn median(&self) -> f64 {
        let values: Vec<f64> = self.values.points.iter().map(|&(_, value)| value).collect();
        quantile::median(&values).unwrap_or(f64::NAN)
    }

    /// Whether both measure the same: the same work, by the same definition.
    pub fn is_alike(&self, other: &Self) -> bool {
        let same = |(here, there): (&&PlannedCase, &&PlannedCase)| not_alike(here, there).is_none();
        let (here, there) = (&self.what.cases, &other.what.cases);
        self.what.name == other.what.name
            && self.what.unit == other.what.unit
            && here.len() == there.len()
            && here.iter().zip(there).all(same)
    }

    /// What runs of a machine differ by in it, as far as that is known beforehand; nothing for what plays a known
    /// result.
    pub(crate) fn spread(&self) -> Spread {
        if self.what.cases.iter().all(|case| case.simulated) {
            return Spread::NONE;
        }
        let quantity = self.what.name.quantity.as_deref().unwrap_or_default();
        let of = |case: &&PlannedCase| scatter::embedded().spread(case, quantity, self.what.class);
        let each: Vec<Spread> = self.what.cases.iter().map(of).collect();
        Spread::mean_of(&each)
    }

    /// Whether it was measured here, and in rounds of their own.
    pub(crate) fn is_of_rounds(&self) -> bool {
        self.run.meta.origin.is_none() && self.run.plan.soak.is_none()
    }
}
