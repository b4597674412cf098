//! What is said to people, in every language the program speaks.
//!
//! One [`Words`] per language, all fields required: a sentence that one language lacks does not compile. Sentences
//! with figures are functions, because word order differs. Words of documents for programs are not here: they are
//! keys and never translated. Raw errors of the system stay in English inside a translated sentence.

mod duel;
mod en;
mod ja;
mod shared;

pub use crate::lang::Lang;
pub use duel::DuelWords;
pub(crate) use shared::{Span, days, sets_of};

use model::comparison::{Estimator, Hopeless, Refusal, RoundsNeeded, Scope, Verdict};

impl Lang {
    /// Its words.
    pub fn words(self) -> &'static Words {
        match self {
            Self::En => &en::WORDS,
            Self::Ja => &ja::WORDS,
        }
    }
}

/// Everything that is said in one language.
#[derive(Debug)]
pub struct Words {
    /// Which language.
    pub lang: Lang,
    /// About runs.
    pub run: RunWords,
    /// About comparisons.
    pub comparison: ComparisonWords,
    /// About duels.
    pub duel: DuelWords,
    /// Why values do not compare; the command that helps goes into the sentence.
    pub refusal: fn(&Refusal, &str) -> String,
    /// A verdict's word.
    pub verdict: fn(Verdict) -> &'static str,
}

impl Words {
    /// What stands above the columns of a table of compared metrics.
    pub(crate) const fn comparison_headings(&self) -> [&'static str; 8] {
        let (run, says) = (&self.run, &self.comparison);
        [
            run.metric,
            run.unit,
            says.base,
            says.other,
            says.ratio,
            run.interval,
            says.verdict,
            says.needed,
        ]
    }
}

/// What tables of runs and of comparisons have above their columns.
#[derive(Debug)]
pub struct RunWords {
    /// Column: the metric.
    pub metric: &'static str,
    /// Column: the unit.
    pub unit: &'static str,
    /// Column: the 95 % interval.
    pub interval: &'static str,
}

/// About comparisons.
#[derive(Debug)]
pub struct ComparisonWords {
    /// The base side.
    pub base: &'static str,
    /// The other side.
    pub other: &'static str,
    /// Heading: the summary.
    pub summary: &'static str,
    /// Heading: families of metrics.
    pub categories: &'static str,
    /// Column: the ratio.
    pub ratio: &'static str,
    /// Column: the verdict.
    pub verdict: &'static str,
    /// Column: rounds needed to tell.
    pub needed: &'static str,
    /// Heading: what was not compared, and why.
    pub refused: &'static str,
    /// Heading: what has a ratio and no interval, and why.
    pub without_interval: &'static str,
    /// Heading: what differs in the set-up.
    pub differences: &'static str,
    /// `12 metrics`.
    pub metrics: fn(u32) -> String,
    /// `all 12 metrics`.
    pub all_metrics: fn(usize) -> String,
    /// A reason and the list of what it is true of.
    pub these_are: fn(&str, &str) -> String,
    /// Behind a run that was named by its label: how many runs have it.
    pub latest_of: fn(usize) -> String,
    /// What it would take to tell.
    pub rounds_needed: fn(RoundsNeeded) -> String,
    /// The counts in one sentence.
    pub counts: fn(&Counts) -> String,
    /// The largest gain: metric, ratio, interval.
    pub gain: fn(&str, &str, &str) -> String,
    /// The largest loss: metric, ratio, interval.
    pub loss: fn(&str, &str, &str) -> String,
    /// How many metrics have a ratio without an interval, and how many have no ratio.
    pub incomplete: fn(usize, usize) -> String,
    /// Both sides were disturbed by something else, most rounds of one or both of them.
    pub both_disturbed: &'static str,
    /// One side was, by its name.
    pub one_disturbed: fn(&str) -> String,
    /// How many points of the set-up differ, and the first few of them.
    pub setup_differs: fn(usize, &str) -> String,
    /// The rounds were measured and compared in pairs.
    pub paired: &'static str,
    /// Looks at the data decided when to end: the level at which differences are read, and that of `same`.
    pub looked: fn(&str, &str) -> String,
    /// What the conclusions are about, ready to follow a heading.
    pub scope: fn(&Scope) -> String,
    /// A group, called by its first run and the number of further ones.
    pub and_more: fn(&str, usize) -> String,
    /// Heading: what is said beside the table.
    pub notes: &'static str,
    /// Slow moments tell another story than the typical rate.
    pub slow_moments: fn(&FloorNote) -> String,
    /// Why no number of rounds would tell: the metrics, the reason.
    pub hopeless: fn(&str, Hopeless) -> String,
    /// A margin was raised: metric, the margin of its class, the margin that applies.
    pub margin_raised: fn(&str, &str, &str) -> String,
    /// Runs of one side are no separate instances: whether of the base, whether that is sure, which.
    pub repeat: fn(bool, bool, &str) -> String,
    /// Rounds of a side that have no single level: the side, the metrics with what they look like, what the ratios are
    /// ratios of.
    pub no_level: fn(&str, &str, Estimator) -> String,
    /// Rounds of a side that changed in the course of the run: the side, the metrics with what they look like.
    pub changed: fn(&str, &str) -> String,
    /// A name with what its rounds look like, or with how many metrics it stands for.
    pub with_remark: fn(&str, &str) -> String,
    /// `in 2 of 5 runs`.
    pub in_runs: fn(usize, usize) -> String,
    /// Behind the unit of a metric of which less is better.
    pub lower: &'static str,
    /// How to read the values.
    pub values_are: fn(Estimator) -> &'static str,
    /// How to read the sign of a value that is no level.
    pub no_level_legend: &'static str,
    /// How to read what stands behind some units.
    pub lower_legend: &'static str,
    /// How to read the table.
    pub legend: &'static [&'static str],
    /// Nothing to compare.
    pub nothing: &'static str,
}

/// How many metrics got which verdict.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The other side's name.
    pub other: String,
    /// The base side's name.
    pub base: String,
    /// Metrics with a verdict or at least a ratio.
    pub compared: usize,
    /// Better, by more than the margin or by an unsure amount.
    pub better: usize,
    /// Worse, likewise.
    pub worse: usize,
    /// The same within the margin.
    pub same: usize,
    /// Cannot tell.
    pub unclear: usize,
    /// Of all these, how many have no single level on a side.
    pub no_level: usize,
}

/// What is said where slow moments differ in another direction than the typical rate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FloorNote {
    /// The metric.
    pub metric: String,
    /// The other side's name.
    pub other: String,
    /// The verdict about the typical rate.
    pub typical: Verdict,
    /// True where the other side's slow moments are faster.
    pub faster: bool,
    /// By how much.
    pub change: String,
    /// From how much to how much.
    pub range: String,
    /// Shares of slow windows on the base side and on the other side.
    pub slow_shares: Option<(String, String)>,
}

#[cfg(test)]
mod method_page;
#[cfg(test)]
mod tests;
