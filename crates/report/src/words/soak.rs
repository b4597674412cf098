//! What is said about soaks, in every language. Figures arrive as text with their units.

mod en;
mod ja;

pub(super) use en::WORDS as EN;
pub(super) use ja::WORDS as JA;

use crate::number::percent;
use model::warning::Warning;
use stats::soak::{Disturbed, Early};

/// About soaks.
#[derive(Debug)]
pub struct SoakWords {
    /// One clause of the sentence.
    pub says: fn(&Said) -> String,
    /// What stands between two clauses.
    pub between: &'static str,
    /// `4.3 M operations`.
    pub operations: fn(&str) -> String,
    /// `4.3 M operations (13 s of CPU time)`.
    pub of_cpu_time: fn(&str, &str) -> String,
    /// Under the line of blocks: what its lowest and its highest block stand for.
    pub blocks: fn(&str, &str) -> String,
    /// How the soak was spent.
    pub spent: fn(&Spent) -> String,
    /// Heading of the levels.
    pub levels: &'static str,
    /// Row: the rate while credit lasts.
    pub burst: &'static str,
    /// Row: the rate afterwards.
    pub sustained: &'static str,
    /// Row: the size of the bucket.
    pub bucket: &'static str,
    /// The bucket as time at full speed.
    pub at_full_speed: fn(&str) -> String,
    /// Row: the median window.
    pub typical: &'static str,
    /// Row: the 10th percentile.
    pub floor: &'static str,
    /// Row: the 95th percentile.
    pub best: &'static str,
    /// Row: the share of slow windows.
    pub slow: &'static str,
    /// Row: the mean, with its interval within this run.
    pub mean: &'static str,
    /// Behind that interval.
    pub within: &'static str,
    /// Row: another metric, the median of the stretches.
    pub of_stretches: fn(&str) -> String,
    /// Heading: what happened to the series.
    pub marks: &'static str,
    /// One mark.
    pub mark: fn(&Marked) -> String,
    /// How many windows are left out because of the clock.
    pub left_out: fn(usize) -> String,
    /// Explanation of `kurabe soak --resume`.
    pub next_resume: &'static str,
    /// The clock rate while measuring: lowest, highest, median, in GHz.
    pub clock_range: fn(&str, &str, &str) -> String,
    /// The sentence for a warning, about stretches where that of a run is about rounds.
    pub warning: fn(&Warning) -> String,
}

/// A clause with its figures as text.
#[derive(Clone, Debug)]
pub enum Said {
    /// Too few windows, or windows without work.
    TooShort {
        /// How many.
        windows: usize,
        /// How many it takes.
        need: usize,
    },
    /// A token bucket.
    Bucket {
        /// The rate while credit lasts.
        burst: String,
        /// For how long.
        time: String,
        /// The rate afterwards.
        sustained: String,
        /// The size in native units.
        credit: String,
        /// The rest before the refill test.
        rest: String,
    },
    /// A step down that the refill test shows to be no bucket.
    NoBucket {
        /// The rate before.
        burst: String,
        /// For how long.
        time: String,
        /// The rate behind.
        sustained: String,
        /// When.
        at: String,
        /// The rest before the refill test.
        rest: String,
    },
    /// A burst without a refill test.
    Untested {
        /// The rate before.
        burst: String,
        /// For how long.
        time: String,
        /// The rate behind.
        sustained: String,
        /// What a bucket would hold.
        credit: String,
        /// When.
        at: String,
    },
    /// One change of level.
    Step {
        /// When.
        at: String,
        /// How long after the start.
        after: String,
        /// The level before.
        from: String,
        /// The level behind.
        to: String,
        /// New over old, minus 1.
        change: f64,
    },
    /// A trend.
    Ramp {
        /// Last over first, minus 1.
        change: f64,
        /// The ends of its interval.
        interval: (f64, f64),
        /// Over how long.
        time: String,
    },
    /// Two levels in turn.
    TwoState {
        /// The lower level.
        low: String,
        /// The upper level.
        high: String,
        /// The share of the lower one.
        low_share: f64,
        /// For how long a level is held.
        dwell: String,
    },
    /// Something that comes back.
    Periodic {
        /// The period.
        time: String,
        /// What it takes, as a share.
        depth: f64,
    },
    /// Several changes of level.
    Unstable {
        /// How many levels.
        levels: usize,
        /// The lowest.
        low: String,
        /// The highest.
        high: String,
    },
    /// One level.
    Steady {
        /// The level.
        level: String,
        /// The share of windows below 90 % of it, where that is much.
        slow: Option<f64>,
    },
    /// One level, or a trend.
    PossibleRamp {
        /// The level.
        level: String,
        /// Last over first, minus 1.
        change: f64,
        /// The ends of its interval.
        interval: (f64, f64),
        /// Over how long.
        time: String,
    },
    /// Others took CPU time.
    Disturbed(Disturbed),
    /// It lasted less than was asked for.
    EndedEarly {
        /// Why.
        why: Early,
        /// For how long it lasted, and that as a share of what was asked for; `None` where no stretch ended.
        lasted: Option<(String, f64)>,
        /// What was asked for.
        of: String,
    },
    /// No throttle.
    NotSeen {
        /// For how long.
        time: String,
        /// The work done meanwhile.
        work: String,
    },
}

/// How a soak was spent, with its figures as text.
#[derive(Clone, Debug)]
pub struct Spent {
    /// From its beginning to its last window.
    pub time: String,
    /// The time it was asked for, where it did not last as long.
    pub asked: Option<String>,
    /// True where it came to its end all the same: no room was left for another sample.
    pub no_room: bool,
    /// The time between samples; `None` for load without a pause.
    pub every: Option<String>,
    /// For how long nothing was measured that should have been.
    pub missed: Option<String>,
    /// How many windows.
    pub windows: usize,
    /// The length of one.
    pub window: String,
    /// How long starting and ending stretches took, where that is a window or more.
    pub between: Option<String>,
    /// How many of the windows are not in the picture.
    pub edges: usize,
}

/// What happened to a series, with its figures as text.
#[derive(Clone, Debug)]
pub enum Marked {
    /// The wall clock was set.
    ClockJump(String),
    /// The machine was suspended.
    Suspended(String),
    /// It was suspended during a rest.
    SuspendedAtRest(String),
    /// A stretch failed.
    Failed(String),
    /// Nothing was measured.
    Gap(String),
}

/// What is said with a figure, or nothing where there is none.
fn with(figure: Option<&String>, say: fn(&str) -> String) -> String {
    figure.map(|figure| say(figure)).unwrap_or_default()
}

/// Medians that differ by less than this are called alike: half of the smallest change that a warning is raised for.
const ALIKE: f64 = 0.005;

/// Who disturbed, each with its share: the host, other processes, a quota.
fn shares(disturbed: &Disturbed, say: [fn(&str) -> String; 3]) -> Vec<String> {
    let all = [disturbed.steal, disturbed.foreign_cpu, disturbed.throttled];
    all.into_iter()
        .zip(say)
        .filter_map(|(share, say)| Some(say(&percent(share.filter(|&share| share > 0.0)?))))
        .collect()
}
