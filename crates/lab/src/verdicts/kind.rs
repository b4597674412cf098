//! A kind of comparison: what the runs are like, and what is promised of verdicts on them.

use super::made::Maker;
use super::noises::{self, Course, Noise};
use super::score::{self, Bounds, Tally};
use model::record::Run;
use model::rng::Rng;
use stats::CompareOptions;

/// The margin of every comparison.
pub(super) const MARGIN: f64 = 0.02;

/// One kind.
#[derive(Clone)]
pub(super) struct Kind {
    /// What it is about, then metrics and rounds.
    pub(super) name: String,
    pub(super) metrics: usize,
    pub(super) rounds: Rounds,
    pub(super) between: Between,
    pub(super) runs: Runs,
    pub(super) tests: Tests,
    pub(super) truth: Truth,
    pub(super) bounds: Bounds,
    /// Where the scatter between runs has to come from; nowhere in a duel.
    pub(super) source: Option<&'static str>,
    /// Why there is no bound where one might be expected.
    pub(super) remark: &'static str,
}

/// The rounds of each run, those of the base first.
#[derive(Clone, Copy)]
pub(super) struct Rounds {
    pub(super) n: (usize, usize),
    pub(super) noise: (Noise, Noise),
    pub(super) course: Course,
    /// Whether each run ended when its interval was narrow enough.
    pub(super) target: bool,
    /// Whether rounds have windows, out of which slow moments are made.
    pub(super) windows: bool,
}

impl Rounds {
    /// Nine with a noise of 1 % that have nothing to do with one another.
    pub(super) const NINE: Self = Self {
        n: (9, 9),
        noise: noises::BOTH_ONE_PERCENT,
        course: Course::Own(0.0),
        target: false,
        windows: false,
    };
}

/// What runs of one machine differ by.
#[derive(Clone, Copy)]
pub(super) struct Between {
    /// The standard deviation of a run's logarithm. Half of the variance is that of its hour, which all runs of one
    /// sitting share, and half is its own.
    pub(super) deviation: f64,
    /// Whether all metrics are shifted alike.
    pub(super) common: bool,
}

impl Between {
    const NOTHING: Self = Self {
        deviation: 0.0,
        common: false,
    };

    /// As names of kinds have it.
    pub(super) fn words(self) -> String {
        let what = if self.common {
            "all metrics"
        } else {
            "each metric"
        };
        format!("{} % on {what}", 100.0 * self.deviation)
    }
}

/// Which runs there are, and when they were made. All earlier ones began before the base, and that before the other
/// side.
#[derive(Clone, Copy)]
pub(super) struct Runs {
    /// Whether both sides are of one machine; otherwise either has earlier runs of its own.
    pub(super) one_machine: bool,
    /// Those of each side.
    pub(super) side: Batch,
    /// Earlier runs of each machine.
    pub(super) earlier: Batch,
    /// Whether the two sides are measured in turn, in pairs.
    pub(super) duel: bool,
    /// Whether the passes of each run lie hours apart, so that each has an hour of its own.
    pub(super) spread: bool,
}

impl Runs {
    /// One against another of the same machine, of which nothing else is kept.
    pub(super) const TWO: Self = Self {
        one_machine: true,
        side: Batch::apart(1),
        earlier: Batch::apart(0),
        duel: false,
        spread: false,
    };
    /// Three against three, each in an hour of its own.
    pub(super) const THREE_A_SIDE: Self = Self {
        side: Batch::apart(3),
        ..Self::TWO
    };
    pub(super) const DUEL: Self = Self {
        duel: true,
        ..Self::TWO
    };

    /// One against another with these earlier runs.
    pub(super) const fn with_earlier(earlier: Batch) -> Self {
        Self {
            earlier,
            ..Self::TWO
        }
    }

    pub(super) const fn of_two_machines(self) -> Self {
        Self {
            one_machine: false,
            ..self
        }
    }
}

/// So many runs, of which so many follow one another within minutes.
#[derive(Clone, Copy)]
pub(super) struct Batch {
    pub(super) runs: u32,
    pub(super) per_sitting: u32,
}

impl Batch {
    /// Each in an hour of its own.
    pub(super) const fn apart(runs: u32) -> Self {
        let per_sitting = 1;
        Self { runs, per_sitting }
    }

    /// All of them in one sitting.
    pub(super) const fn at_once(runs: u32) -> Self {
        let per_sitting = runs;
        Self { runs, per_sitting }
    }
}

/// Which tests are measured.
#[derive(Clone, Copy)]
pub(super) enum Tests {
    /// Those that nobody has measured, of processors: what their runs differ by is a guess.
    Unknown,
    /// One of which the program is built with what its runs differ by, with ever more copies.
    Shipped,
}

/// Families that unknown tests belong to.
const FAMILIES: usize = 6;

impl Tests {
    /// The id of a case.
    pub(super) fn id(self, at: usize) -> String {
        match self {
            Self::Unknown => format!("{}.m{at}@1", family(at)),
            Self::Shipped => format!("os.pipe@{}", at + 1),
        }
    }
}

fn family(at: usize) -> String {
    format!("t{}", at % FAMILIES)
}

/// The ratio of the first metrics; all others are equal on both sides.
#[derive(Clone, Copy)]
pub(super) struct Truth {
    pub(super) ratio: f64,
    pub(super) differing: usize,
}

impl Truth {
    const EQUAL: Self = Self {
        ratio: 1.0,
        differing: 0,
    };

    /// That of a metric.
    pub(super) const fn of(self, at: usize) -> f64 {
        if at < self.differing { self.ratio } else { 1.0 }
    }

    /// On which side of 1 that of a category lies: the first metrics of a family are among those that it is formed of.
    pub(super) fn of_category(self, name: &str) -> f64 {
        let differs = (0..self.differing.min(FAMILIES)).any(|at| family(at) == name);
        if differs { self.ratio } else { 1.0 }
    }
}

impl Kind {
    /// Equal servers, one run each, with no more between runs than their rounds show.
    pub(super) fn of(what: &str, metrics: usize, rounds: Rounds) -> Self {
        let (plural, (base, other)) = (if metrics == 1 { "" } else { "s" }, rounds.n);
        Self {
            name: format!("{what}, {metrics} metric{plural}, {base} and {other} rounds"),
            metrics,
            rounds,
            between: Between::NOTHING,
            runs: Runs::TWO,
            tests: Tests::Unknown,
            truth: Truth::EQUAL,
            bounds: Bounds::NONE,
            source: Some(score::ASKED),
            remark: "",
        }
    }

    /// Runs that differ, and where the program has to take from by how much.
    pub(super) fn of_runs(self, between: Between, runs: Runs, source: &'static str) -> Self {
        Self {
            between,
            runs,
            source: Some(source),
            ..self
        }
    }

    /// The first metrics of the other side are so many times as fast.
    pub(super) fn differing(self, differing: usize, ratio: f64) -> Self {
        let truth = Truth { ratio, differing };
        Self { truth, ..self }
    }

    pub(super) fn bounded(self, bounds: Bounds) -> Self {
        Self { bounds, ..self }
    }

    /// Why there is no bound.
    pub(super) fn remarked(self, remark: &'static str) -> Self {
        Self { remark, ..self }
    }

    /// What so many comparisons conclude.
    pub(super) fn tally(&self, calls: u32, seed: u64) -> Tally {
        let maker = Maker::of(self);
        let mut tally = Tally::default();
        let mut rng = Rng::new(seed);
        for _ in 0..calls {
            let made = maker.call(&mut rng);
            let options = CompareOptions {
                margin: Some(MARGIN),
                earlier: &made.earlier,
                // Where runs differ by nothing, nothing is to hide a rate.
                scatter: (self.between.deviation <= 0.0).then_some(0.0),
            };
            let sides = (refer(&made.base), refer(&made.other));
            let found = stats::compare_groups(&sides.0, &sides.1, &options);
            tally.add(&found, self.truth);
        }
        tally
    }
}

fn refer(runs: &[Run]) -> Vec<&Run> {
    runs.iter().collect()
}
