//! What is said to people, in every language the program speaks.
//!
//! One [`Words`] per language, all fields required: a sentence that one language lacks does not compile. Sentences
//! with figures are functions, because word order differs. Words of documents for programs are not here: they are
//! keys and never translated. Raw errors of the system stay in English inside a translated sentence.

mod duel;
mod en;
mod ja;
mod loaded;
mod memory;
mod scaling;
mod shared;
mod soak;
mod storage;

pub use duel::DuelWords;
pub use loaded::LoadedWords;
pub use memory::MemoryWords;
pub use scaling::ScalingWords;
pub(crate) use shared::{Named, Span, days, sets_of, soak_command};
pub use soak::{Marked, Said, SoakWords, Spent};
pub use storage::{SaidFall, SaidFirstWrite, SaidMode, SaidModes, SaidSteady, StorageWords};

use model::comparison::{Estimator, Hopeless, Refusal, RoundsNeeded, Scope, Verdict};
use model::estimate::State;
use model::record::{End, Failure};
use model::warning::Warning;

/// A language.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lang {
    /// English.
    #[default]
    En,
    /// Japanese.
    Ja,
}

impl Lang {
    /// Every language.
    pub const ALL: [Self; 2] = [Self::En, Self::Ja];

    /// The language that a locale's name (`LC_ALL`, `LANG`) asks for: `ja_JP.UTF-8` is Japanese. Japanese in an
    /// encoding other than UTF-8 would arrive as rubbish, so that gets English, as does everything unknown.
    pub fn from_env(locale: &str) -> Self {
        let locale = locale.to_ascii_lowercase();
        let (name, encoding) = locale.split_once('.').unwrap_or((&locale, ""));
        let language = name.split(['_', '@', '-']).next().unwrap_or("");
        let encoding = encoding.split('@').next().unwrap_or("");
        match (language, encoding) {
            ("ja", "" | "utf-8" | "utf8") => Self::Ja,
            _ => Self::En,
        }
    }

    /// The language of this name, as `--lang` takes it: `en` or `ja`.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "en" => Some(Self::En),
            "ja" => Some(Self::Ja),
            _ => None,
        }
    }

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
    /// About runs.
    pub run: RunWords,
    /// About machines.
    pub host: HostWords,
    /// About comparisons.
    pub comparison: ComparisonWords,
    /// About duels.
    pub duel: DuelWords,
    /// About soaks.
    pub soak: SoakWords,
    /// About memory, point by point.
    pub memory: MemoryWords,
    /// About latency under load.
    pub loaded: LoadedWords,
    /// About how tests scale.
    pub scaling: ScalingWords,
    /// About storage.
    pub storage: StorageWords,
    /// One sentence for each warning.
    pub warning: fn(&Warning) -> String,
    /// Why values do not compare; the command that helps goes into the sentence.
    pub refusal: fn(&Refusal, &str) -> String,
    /// What a series looks like, in a few words.
    pub state: fn(&State) -> String,
    /// A verdict's word.
    pub verdict: fn(Verdict) -> &'static str,
    /// Why a round has no value.
    pub failure: fn(&Failure) -> String,
}

impl Words {
    /// What stands above the columns of a table of metrics.
    pub(crate) const fn metric_headings(&self) -> [&'static str; 7] {
        let run = &self.run;
        [
            run.metric,
            run.value,
            run.unit,
            run.interval,
            run.rounds,
            run.state,
            run.notes,
        ]
    }

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

/// About runs.
#[derive(Debug)]
pub struct RunWords {
    /// How it ended.
    pub end: fn(End) -> &'static str,
    /// `tested WHAT`, ready to follow the time.
    pub took: fn(&str) -> String,
    /// Column: the metric.
    pub metric: &'static str,
    /// Column: the value.
    pub value: &'static str,
    /// Column: the unit.
    pub unit: &'static str,
    /// Column: the 95 % interval.
    pub interval: &'static str,
    /// Column: how many rounds.
    pub rounds: &'static str,
    /// Column: the state.
    pub state: &'static str,
    /// Column and heading: numbers of the notes below.
    pub notes: &'static str,
    /// Nothing was measured.
    pub nothing: &'static str,
    /// Heading of the UnixBench-style index.
    pub index: &'static str,
    /// `1 copy`, `4 copies`.
    pub copies: fn(u32) -> String,
    /// `from 6 passes`.
    pub passes: fn(u32) -> String,
    /// `partial: 11 of 12 tests`.
    pub partial: fn(usize, usize) -> String,
    /// A compat mode's figure: which version's rules.
    pub compat: fn(&str) -> String,
    /// Heading: what has no value, and why.
    pub without_value: &'static str,
    /// Heading: what was left out of the plan.
    pub dropped: &'static str,
    /// Behind how a run ended: how many tests, or cases of them, were left out of its plan.
    pub left_out: fn(usize) -> String,
    /// What a metric looks like that has no value in any round.
    pub no_value: &'static str,
    /// The warning about too few rounds of several metrics: the fewest, the most, and how many it takes.
    pub too_few_between: fn(u32, u32, u32) -> String,
    /// Behind a note about too few rounds, where some metric has several: what stands in the place of an interval.
    pub range_instead: &'static str,
    /// Before the smallest and the largest round, where they stand without a column's heading.
    pub range: &'static str,
    /// A warning that names copies, of metrics of several numbers of copies; `None` for every other.
    pub of_several_copies: fn(&Warning) -> Option<String>,
    /// Behind the warning about a budget that was too short: what six passes of its rounds take, and a larger budget.
    pub six_passes_take: fn(&str, &str) -> String,
    /// Heading: what the tests were set up with.
    pub set_up: &'static str,
    /// Fact: parameters that are not the tests' own.
    pub set_otherwise: &'static str,
    /// One of them: name, value, and what the test itself has.
    pub in_place_of: fn(&str, &str, &str) -> String,
    /// In the place of the names of all tests.
    pub all_tests: &'static str,
    /// Heading: warnings about the whole run.
    pub warnings: &'static str,
    /// Why a metric that scatters too widely shows no value; the spread as a percentage.
    pub unstable: (&'static str, &'static str),
    /// Right behind a warning that several metrics have: how many.
    pub worst_of: fn(usize) -> String,
    /// Below such warnings, once: whose figures they tell.
    pub worst: &'static str,
    /// Fact: what the figures are about.
    pub scope: &'static str,
    /// Heading: what to type next.
    pub next: &'static str,
    /// Explanation of `kurabe show --format ...`.
    pub next_show: &'static str,
    /// Explanation of `kurabe compare`.
    pub next_compare: &'static str,
    /// Explanation of `kurabe show --format unixbench`.
    pub next_unixbench: &'static str,
    /// Explanation of `kurabe run --resume`.
    pub next_resume: &'static str,
    /// Explanation of `kurabe fio --show`.
    pub next_fio: &'static str,
}

/// About machines: headings and the names of facts.
#[derive(Debug)]
pub struct HostWords {
    /// Heading.
    pub host: &'static str,
    /// The machine's name.
    pub name: &'static str,
    /// What tells this instance from another.
    pub instance: &'static str,
    /// What tells this boot from another.
    pub boot: &'static str,
    /// Heading and fact: processors.
    pub cpu: &'static str,
    /// Fact.
    pub arch: &'static str,
    /// Fact.
    pub online: &'static str,
    /// Fact.
    pub offline: &'static str,
    /// Fact.
    pub sockets: &'static str,
    /// Fact.
    pub cores: &'static str,
    /// Fact.
    pub threads_per_core: &'static str,
    /// Fact.
    pub clock_rate: &'static str,
    /// Fact.
    pub governor: &'static str,
    /// Fact.
    pub caches: &'static str,
    /// Fact.
    pub flags: &'static str,
    /// Fact.
    pub numa: &'static str,
    /// Heading: what we may use.
    pub limits: &'static str,
    /// Fact.
    pub cgroup: &'static str,
    /// Fact.
    pub cpu_quota: &'static str,
    /// Fact.
    pub cpus_allowed: &'static str,
    /// Fact.
    pub memory_limit: &'static str,
    /// Fact.
    pub root: &'static str,
    /// Fact.
    pub container: &'static str,
    /// Heading and fact.
    pub memory: &'static str,
    /// Fact.
    pub available: &'static str,
    /// Fact.
    pub swap: &'static str,
    /// Fact.
    pub huge_pages: &'static str,
    /// Fact.
    pub page_size: &'static str,
    /// Heading and fact.
    pub kernel: &'static str,
    /// Fact.
    pub build: &'static str,
    /// Fact.
    pub distribution: &'static str,
    /// Fact.
    pub mitigations: &'static str,
    /// Heading: virtual or not.
    pub platform: &'static str,
    /// Fact.
    pub virtualization: &'static str,
    /// Fact.
    pub vendor: &'static str,
    /// Fact.
    pub product: &'static str,
    /// Heading and fact.
    pub clock: &'static str,
    /// Fact.
    pub clock_cost: &'static str,
    /// Fact.
    pub tsc_reliable: &'static str,
    /// Heading: what is behind the work directory.
    pub storage: &'static str,
    /// What is measured in the place of a test file.
    pub works_on: &'static str,
    /// Tests write to it.
    pub written_to: &'static str,
    /// Tests only read it.
    pub only_read: &'static str,
    /// Fact.
    pub directory: &'static str,
    /// Fact.
    pub file_system: &'static str,
    /// Fact.
    pub mount_options: &'static str,
    /// Fact.
    pub mount_point: &'static str,
    /// Fact.
    pub free: &'static str,
    /// Fact.
    pub devices: &'static str,
    /// Heading: kinds of I/O.
    pub io: &'static str,
    /// Heading: programs that tests run.
    pub programs: &'static str,
    /// Fact.
    pub locale: &'static str,
    /// An empty list, no limit, no container...
    pub none: &'static str,
    /// On bare metal.
    pub bare_metal: &'static str,
    /// True.
    pub yes: &'static str,
    /// False.
    pub no: &'static str,
    /// A kind of I/O that works.
    pub usable: &'static str,
    /// A kind of I/O that is refused, and why.
    pub refused: fn(&str) -> String,
    /// A fact that is not known, and why.
    pub unknown: fn(&str) -> String,
    /// `2 CPUs`.
    pub cpus: fn(u32) -> String,
    /// A quota of so many CPUs.
    pub quota: fn(&str) -> String,
    /// So much free space.
    pub free_space: fn(&str) -> String,
    /// What one reading of the clock costs.
    pub reading: fn(&str) -> String,
    /// How many weaknesses of the CPU the kernel mitigates, and how many it leaves open.
    pub mitigated: fn(usize, usize) -> String,
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
