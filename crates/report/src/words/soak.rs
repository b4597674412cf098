//! What is said about soaks, in every language. Figures arrive as text with their units.

use crate::number::{percent, signed_percent};

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
}

/// A clause with its figures as text.
#[derive(Clone, Debug)]
pub enum Said {
    /// Too few windows.
    TooShort(usize),
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
    Steady(String),
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
    /// The time it was asked for, where it did not come to its end.
    pub asked: Option<String>,
    /// The time between samples; `None` for load without a pause.
    pub every: Option<String>,
    /// For how long nothing was measured that should have been.
    pub missed: Option<String>,
    /// How many windows.
    pub windows: usize,
    /// The length of one.
    pub window: String,
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

pub(super) const EN: SoakWords = SoakWords {
    says: says_en,
    between: "; ",
    operations: |n| format!("{n} operations"),
    of_cpu_time: |work, time| format!("{work} ({time} of CPU time)"),
    blocks: |low, high| format!("lowest block {low}, highest {high}"),
    spent: spent_en,
    levels: "levels",
    burst: "burst rate",
    sustained: "sustained rate",
    bucket: "bucket",
    at_full_speed: |time| format!("or {time} at full speed"),
    typical: "typical (median window)",
    floor: "floor (10 % of windows are slower)",
    best: "best (5 % of windows are faster)",
    slow: "windows below 90 % of typical",
    mean: "mean",
    within: "within this run; not to be compared",
    of_stretches: |metric| format!("{metric} (median of the stretches)"),
    marks: "marks",
    mark: |mark| match mark {
        Marked::ClockJump(by) => format!("the clock was set by {by}"),
        Marked::Suspended(time) => format!("the machine was suspended for {time}"),
        Marked::SuspendedAtRest(time) => {
            format!("the machine was suspended for {time} while it rested before this")
        }
        Marked::Failed(why) => format!("a stretch failed: {why}"),
        Marked::Gap(time) => format!("nothing was measured for {time} before this"),
    },
    left_out: |n| {
        format!(
            "{n} windows are left out of every level: the clock was set or the machine suspended meanwhile"
        )
    },
    next_resume: "go on with it until its time is over",
};

pub(super) const JA: SoakWords = SoakWords {
    says: says_ja,
    between: "。また、",
    operations: |n| format!("{n} 回の操作"),
    of_cpu_time: |work, time| format!("{work}（CPU 時間で {time}）"),
    blocks: |low, high| format!("最も低い目盛りは {low}、最も高い目盛りは {high}"),
    spent: spent_ja,
    levels: "水準",
    burst: "バースト時の速度",
    sustained: "持続速度",
    bucket: "バケットの容量",
    at_full_speed: |time| format!("全速で {time} に相当"),
    typical: "代表値（区間の中央値）",
    floor: "下限（10 % の区間はこれより遅い）",
    best: "最良（5 % の区間はこれより速い）",
    slow: "代表値の 90 % を下回る区間の割合",
    mean: "平均",
    within: "この測定内の区間であり、比較には使えません",
    of_stretches: |metric| format!("{metric}（各回の中央値）"),
    marks: "記録された出来事",
    mark: |mark| match mark {
        Marked::ClockJump(by) => format!("時計が {by} 変更されました"),
        Marked::Suspended(time) => format!("マシンが {time} 停止していました"),
        Marked::SuspendedAtRest(time) => {
            format!("この前の休止中に、マシンが {time} 停止していました")
        }
        Marked::Failed(why) => format!("測定に失敗しました: {why}"),
        Marked::Gap(time) => format!("この前の {time} は測定されていません"),
    },
    left_out: |n| {
        format!(
            "時計の変更またはマシンの停止があったため、{n} 個の区間をすべての水準から除いています"
        )
    },
    next_resume: "残りの時間の測定を続けます",
};

/// What is said with a figure, or nothing where there is none.
fn with(figure: Option<&String>, say: fn(&str) -> String) -> String {
    figure.map(|figure| say(figure)).unwrap_or_default()
}

fn spent_en(spent: &Spent) -> String {
    let asked = with(spent.asked.as_ref(), |time| format!(" of {time}"));
    let every = match &spent.every {
        None => "without a pause".to_owned(),
        Some(every) => format!("a sample every {every}"),
    };
    let missed = with(spent.missed.as_ref(), |time| {
        format!(", nothing measured for {time} of it")
    });
    let (time, windows, window) = (&spent.time, spent.windows, &spent.window);
    format!("{time}{asked}, {every}{missed}: {windows} windows of {window}")
}

fn spent_ja(spent: &Spent) -> String {
    let asked = with(spent.asked.as_ref(), |time| format!("（予定 {time}）"));
    let every = match &spent.every {
        None => "休止なし".to_owned(),
        Some(every) => format!("{every} ごとに測定"),
    };
    let missed = with(spent.missed.as_ref(), |time| {
        format!("、うち {time} は測定なし")
    });
    let (time, windows, window) = (&spent.time, spent.windows, &spent.window);
    format!("{time}{asked}、{every}{missed}: {window} の区間 {windows} 個")
}

fn says_en(said: &Said) -> String {
    match said {
        Said::TooShort(windows) => {
            format!("too short to say anything: {windows} usable windows")
        }
        Said::Bucket {
            burst,
            time,
            sustained,
            credit,
            rest,
        } => format!(
            "{burst} for {time}, then {sustained}: a token bucket of {credit}, confirmed by its refill during a rest of {rest}"
        ),
        Said::NoBucket {
            burst,
            time,
            sustained,
            at,
            rest,
        } => format!(
            "{burst} for {time}, then, from {at} on, {sustained}: a step, cause unknown, for after a rest of {rest} the fast rate did not come back as credit would"
        ),
        Said::Untested {
            burst,
            time,
            sustained,
            credit,
            at,
        } => format!(
            "{burst} for {time}, then, from {at} on, {sustained}: a step, or a bucket of {credit}; no refill test was made to tell"
        ),
        Said::Step {
            at,
            after,
            from,
            to,
            change,
        } => format!(
            "a step of {} at {at}, {after} after the start: from {from} to {to}",
            signed_percent(*change)
        ),
        Said::Ramp {
            change,
            interval: (lo, hi),
            time,
        } => format!(
            "a ramp of {} over {time} (99 % interval {} .. {})",
            signed_percent(*change),
            signed_percent(*lo),
            signed_percent(*hi)
        ),
        Said::TwoState {
            low,
            high,
            low_share,
            dwell,
        } => format!(
            "two states in turn: {low} for {} of the time and {high} for {}, each held for {dwell} on average",
            percent(*low_share),
            percent(1.0 - low_share)
        ),
        Said::Periodic { time, depth } => {
            format!(
                "something comes back every {time} and takes up to {}",
                percent(*depth)
            )
        }
        Said::Unstable { levels, low, high } => {
            format!("{levels} levels between {low} and {high}: no single number describes it")
        }
        Said::Steady(level) => format!("steady at {level}"),
        Said::NotSeen { time, work } => format!(
            "no throttle seen in {time} of load or {work}: a bucket, if there is any, is larger"
        ),
    }
}

fn says_ja(said: &Said) -> String {
    match said {
        Said::TooShort(windows) => {
            format!("有効な区間が {windows} 個しかなく、判断できません")
        }
        Said::Bucket {
            burst,
            time,
            sustained,
            credit,
            rest,
        } => format!(
            "{time} の間 {burst}、その後は {sustained}。容量 {credit} のトークンバケットであり、{rest} の休止中の回復で確認しました"
        ),
        Said::NoBucket {
            burst,
            time,
            sustained,
            at,
            rest,
        } => format!(
            "{time} の間 {burst}、{at} からは {sustained}。{rest} 休止してもクレジットのようには回復しなかったため、原因不明の段差です"
        ),
        Said::Untested {
            burst,
            time,
            sustained,
            credit,
            at,
        } => format!(
            "{time} の間 {burst}、{at} からは {sustained}。段差か容量 {credit} のバケットかは、回復の試験をしていないため分かりません"
        ),
        Said::Step {
            at,
            after,
            from,
            to,
            change,
        } => format!(
            "開始から {after} 後の {at} に {} の段差があり、{from} から {to} になりました",
            signed_percent(*change)
        ),
        Said::Ramp {
            change,
            interval: (lo, hi),
            time,
        } => format!(
            "{time} かけて {} 変化しました（99 % 信頼区間 {} .. {}）",
            signed_percent(*change),
            signed_percent(*lo),
            signed_percent(*hi)
        ),
        Said::TwoState {
            low,
            high,
            low_share,
            dwell,
        } => format!(
            "二つの状態を行き来します。{low} が時間の {}、{high} が {} で、平均 {dwell} ずつ続きます",
            percent(*low_share),
            percent(1.0 - low_share)
        ),
        Said::Periodic { time, depth } => {
            format!(
                "{time} ごとに繰り返す低下があり、最大で {} 下がります",
                percent(*depth)
            )
        }
        Said::Unstable { levels, low, high } => {
            format!("{low} から {high} までの {levels} つの水準があり、一つの数値では表せません")
        }
        Said::Steady(level) => format!("{level} で安定しています"),
        Said::NotSeen { time, work } => format!(
            "{time} の負荷（{work}）の間に制限は見られず、バケットがあるとすればこれより大きいものです"
        ),
    }
}
