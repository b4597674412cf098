//! What is said about storage, in both languages. Figures arrive as text with their units.

use crate::number::percent;
use model::limit::Limit;
use stats::storage::{Of, Together};

/// About storage.
#[derive(Debug)]
pub struct StorageWords {
    /// Heading.
    pub heading: &'static str,
    /// Row: the rate over time.
    pub over_time: &'static str,
    /// Row: the distribution of a latency, by its name.
    pub latency: fn(Of, &str) -> String,
    /// How to read the pictures.
    pub legend: &'static str,
    /// True where terminals may draw each block two columns wide.
    pub wide_blocks: bool,
    /// Where a latency lies.
    pub modes: fn(&SaidModes) -> String,
    /// Whether a steady state was reached.
    pub steady: fn(&SaidSteady) -> String,
    /// A fall that may be the end of a burst.
    pub fall: fn(&SaidFall) -> String,
    /// No such fall: time of load, operations, and the command that looks longer.
    pub no_fall: fn(&str, &str, &str) -> String,
    /// What the first write of a place costs.
    pub first_write: fn(&SaidFirstWrite) -> String,
    /// What else than the storage may have set the limit.
    pub limit: fn(&Limit) -> String,
}

/// The humps of a distribution.
#[derive(Clone, Debug)]
pub struct SaidModes {
    /// What the operations are.
    pub of: Of,
    /// The humps, the fastest first.
    pub modes: Vec<SaidMode>,
    /// Whether they are in the same rounds.
    pub together: Together,
    /// The share of the bytes that came out of a cache, where that explains them.
    pub cached: Option<String>,
}

/// One hump.
#[derive(Clone, Debug)]
pub struct SaidMode {
    /// Its share.
    pub share: String,
    /// Where it is.
    pub peak: String,
    /// The range that holds the middle 80 % of it.
    pub range: String,
}

/// What the rule of steadiness says.
#[derive(Clone, Debug)]
pub enum SaidSteady {
    /// It is met, from this round of so many on.
    Since(u32, usize),
    /// There are fewer than five rounds.
    TooFewRounds,
    /// So much has been written of what is needed.
    NotWritten(String, String),
    /// The rounds range so far.
    Ranging(String),
    /// The rounds slope so far.
    Sloping(String),
    /// There is no rate to judge.
    NoLevel,
}

/// A fall with its figures as text, and the command that finds out.
#[derive(Clone, Debug)]
pub enum SaidFall {
    /// Between rounds: how many were fast, the fast rate, the slow one.
    Between(usize, String, String, String),
    /// Within rounds: for how long they are fast, the fast rate, the slow one.
    Within(String, String, String, String),
}

/// What the first write of a place costs.
#[derive(Clone, Debug)]
pub enum SaidFirstWrite {
    /// So many places are too few.
    TooFew(usize),
    /// No difference beyond the margin; the ratio and its interval.
    None(String, String),
    /// The second write is faster by this factor, with its interval.
    Costs(String, String),
}

const fn of_en(of: Of) -> &'static str {
    match of {
        Of::Reads => "reads",
        Of::Writes => "writes",
        Of::Trims => "trims",
        Of::Syncs => "syncs",
    }
}

pub(super) const EN: StorageWords = StorageWords {
    heading: "storage: latency and course",
    over_time: "rate over time",
    latency: |of, name| format!("{} ({name})", of_en(of)),
    legend: "rate: each block is a mean of windows of 100 ms, a gap lies between two rounds, and the blocks span at \
             least 10 % to either side; latency: the axis is logarithmic, from the fastest to the slowest thousandth",
    wide_blocks: false,
    modes: modes_en,
    steady: steady_en,
    fall: |fall| match fall {
        SaidFall::Between(rounds, from, to, command) => format!(
            "{from} in the first {}, then exactly {to}: perhaps a burst of credit that ran out; `{command}` finds out",
            if *rounds == 1 {
                "round".to_owned()
            } else {
                format!("{rounds} rounds")
            }
        ),
        SaidFall::Within(time, from, to, command) => format!(
            "{from} for the first {time} of every round, then exactly {to}: perhaps a small burst of credit, or a cache; \
             `{command}` finds out"
        ),
    },
    no_fall: |time, operations, command| {
        format!(
            "no burst was seen to end in {time} of load ({operations} operations): a bucket of credit, if there is any, is \
             larger; `{command}` finds out"
        )
    },
    first_write: |said| match said {
        SaidFirstWrite::TooFew(places) => {
            format!("what a first write costs cannot be told from {places} places: it takes 6")
        }
        SaidFirstWrite::None(ratio, range) => format!(
            "the first write of a place costs nothing that matters: writing it again is {ratio} times as fast ({range})"
        ),
        SaidFirstWrite::Costs(ratio, range) => format!(
            "the first write of a place is slow: writing it again is {ratio} times as fast ({range})"
        ),
    },
    limit: limit_en,
};

fn modes_en(said: &SaidModes) -> String {
    let of = of_en(said.of);
    let text = match &said.modes[..] {
        [] => format!("too few {of} to say where most of them lie"),
        [one] => format!(
            "most {of} take about {} (80 % of them {})",
            one.peak, one.range
        ),
        [first, rest @ ..] => {
            let rest: Vec<String> = rest
                .iter()
                .map(|mode| format!("{} about {}", mode.share, mode.peak))
                .collect();
            format!(
                "{} of {of} take about {}, {}",
                first.share,
                first.peak,
                rest.join(", ")
            )
        }
    };
    let cached = said.cached.as_ref().map_or_else(String::new, |share| {
        format!("; {share} of the bytes came out of a cache, which is what the fast ones are")
    });
    let apart = match said.together {
        Together::OtherRounds => "; not in the same rounds: something changed between them",
        Together::Single | Together::SameRounds => "",
    };
    format!("{text}{cached}{apart}")
}

fn steady_en(said: &SaidSteady) -> String {
    match said {
        SaidSteady::Since(round, rounds) => format!(
            "steady state by SNIA's rule, from round {round} of {rounds} on: the file has been written twice, and the last \
             five rounds neither range nor slope too far"
        ),
        SaidSteady::TooFewRounds => {
            "whether this is the steady state cannot be told: SNIA's rule takes five rounds"
                .to_owned()
        }
        SaidSteady::NotWritten(written, needed) => format!(
            "whether this is the steady state cannot be told: {written} of the file have been written, its making \
             included, and it takes twice the file, up to {needed}"
        ),
        SaidSteady::Ranging(range) => {
            format!(
                "no steady state by SNIA's rule: the last five rounds range over {range} of their mean (20 % at most)"
            )
        }
        SaidSteady::Sloping(slope) => {
            format!(
                "no steady state by SNIA's rule: the last five rounds slope by {slope} (10 % at most)"
            )
        }
        SaidSteady::NoLevel => {
            "whether this is the steady state cannot be told: the rate is no positive number"
                .to_owned()
        }
    }
}

fn limit_en(limit: &Limit) -> String {
    match limit {
        Limit::Cpu {
            share,
            one_at_a_time: true,
            ..
        } => format!(
            "a CPU was busy for {} of the time with one operation after the other: most of the latency is this machine's \
             own path, not the device",
            percent(*share)
        ),
        Limit::Cpu {
            share, copies: 1, ..
        } => format!(
            "submitting and completing took {} of a CPU: one process can hardly ask for more, and the storage may do more \
             for several (`TEST@2`, or `numjobs=2` of a fio job)",
            percent(*share)
        ),
        Limit::Cpu { share, copies, .. } => format!(
            "submitting and completing took {} of the CPUs that {copies} copies can have: the storage may do more for a \
             machine with more CPUs",
            percent(*share)
        ),
        Limit::Late { share } => format!(
            "this program started operations late: its own lateness is {} of the latency (late_ns_mean)",
            percent(*share)
        ),
        Limit::Cached {
            share,
            direct: true,
        } => format!(
            "{} of the bytes came out of a cache in spite of O_DIRECT: the figures are not the device's (cached_share)",
            percent(*share)
        ),
        Limit::Cached {
            share,
            direct: false,
        } => format!(
            "{} of the bytes came out of the page cache: the figures are not the device's (cached_share)",
            percent(*share)
        ),
        Limit::DeviceIdle { busy_share } => format!(
            "the device had something to do for only {} of the time although operations were waiting: something else is \
             the limit (device_busy_share)",
            percent(*busy_share)
        ),
    }
}

const fn of_ja(of: Of) -> &'static str {
    match of {
        Of::Reads => "読み込み",
        Of::Writes => "書き込み",
        Of::Trims => "トリム",
        Of::Syncs => "同期",
    }
}

pub(super) const JA: StorageWords = StorageWords {
    heading: "ストレージ: レイテンシーと推移",
    over_time: "速度の推移",
    latency: |of, name| format!("{}（{name}）", of_ja(of)),
    legend: "速度: 目盛り一つは 100 ms の区間の平均、空白はラウンドの境目で、目盛りの幅は上下に少なくとも 10 % です。\
             レイテンシー: 横軸は対数で、最も速い 0.1 % から最も遅い 0.1 % までです",
    wide_blocks: true,
    modes: modes_ja,
    steady: steady_ja,
    fall: |fall| match fall {
        SaidFall::Between(rounds, from, to, command) => format!(
            "最初の {rounds} 回は {from}、その後は正確に {to} です。クレジットが尽きたバーストかもしれません。\
             `{command}` で確かめられます"
        ),
        SaidFall::Within(time, from, to, command) => format!(
            "毎回、最初の {time} は {from}、その後は正確に {to} です。小さなバーストかキャッシュかもしれません。\
             `{command}` で確かめられます"
        ),
    },
    no_fall: |time, operations, command| {
        format!(
            "{time} の負荷（{operations} 回の操作）の間にバーストの終わりは見られませんでした。クレジットのバケットが\
             あるとすればこれより大きいものです。`{command}` で確かめられます"
        )
    },
    first_write: |said| match said {
        SaidFirstWrite::TooFew(places) => {
            format!("最初の書き込みのコストには 6 か所が必要ですが、{places} か所しかありません")
        }
        SaidFirstWrite::None(ratio, range) => format!(
            "最初の書き込みに目立ったコストはありません。同じ場所への再書き込みは {ratio} 倍の速さです（{range}）"
        ),
        SaidFirstWrite::Costs(ratio, range) => {
            format!(
                "最初の書き込みは遅く、同じ場所への再書き込みは {ratio} 倍の速さです（{range}）"
            )
        }
    },
    limit: limit_ja,
};

fn modes_ja(said: &SaidModes) -> String {
    let of = of_ja(said.of);
    let text = match &said.modes[..] {
        [] => format!("{of}の回数が少なく、分布の中心は分かりません"),
        [one] => format!("{of}の多くは約 {} です（80 % は {}）", one.peak, one.range),
        [first, rest @ ..] => {
            let rest: Vec<String> = rest
                .iter()
                .map(|mode| format!("{} は約 {}", mode.share, mode.peak))
                .collect();
            format!(
                "{of}の {} は約 {}、{} です",
                first.share,
                first.peak,
                rest.join("、")
            )
        }
    };
    let cached = said.cached.as_ref().map_or_else(String::new, |share| {
        format!("。データの {share} はキャッシュから読まれており、速いほうの山はこれによるものです")
    });
    let apart = match said.together {
        Together::OtherRounds => "。ただし同じ回には現れておらず、途中で状態が変わっています",
        Together::Single | Together::SameRounds => "",
    };
    format!("{text}{cached}{apart}")
}

fn steady_ja(said: &SaidSteady) -> String {
    match said {
        SaidSteady::Since(round, rounds) => format!(
            "SNIA の基準による定常状態です（{rounds} 回中 {round} 回目から）。ファイルは 2 回書かれ、最後の 5 回の幅と傾きは\
             基準内です"
        ),
        SaidSteady::TooFewRounds => {
            "定常状態かどうかは判断できません。SNIA の基準には 5 回の測定が必要です".to_owned()
        }
        SaidSteady::NotWritten(written, needed) => format!(
            "定常状態かどうかは判断できません。ファイルの作成を含めて {written} が書かれましたが、ファイルの 2 倍（最大 \
             {needed}）が必要です"
        ),
        SaidSteady::Ranging(range) => {
            format!(
                "SNIA の基準では定常状態ではありません。最後の 5 回の幅が平均の {range} です（上限 20 %）"
            )
        }
        SaidSteady::Sloping(slope) => {
            format!(
                "SNIA の基準では定常状態ではありません。最後の 5 回の傾きが {slope} です（上限 10 %）"
            )
        }
        SaidSteady::NoLevel => {
            "定常状態かどうかは判断できません。速度が正の数ではありません".to_owned()
        }
    }
}

fn limit_ja(limit: &Limit) -> String {
    match limit {
        Limit::Cpu {
            share,
            one_at_a_time: true,
            ..
        } => format!(
            "一度に一つの操作で CPU が時間の {} 使われていました。レイテンシーの大半はデバイスではなく、このマシン自身の\
             処理時間です",
            percent(*share)
        ),
        Limit::Cpu {
            share, copies: 1, ..
        } => format!(
            "操作の発行と完了処理に CPU の {} が使われました。一つのプロセスではこれ以上要求できず、並列（`TEST@2`、fio のジョブでは `numjobs=2`）では\
             ストレージの性能がさらに出る可能性があります",
            percent(*share)
        ),
        Limit::Cpu { share, copies, .. } => format!(
            "操作の発行と完了処理に、{copies} 並列で使える CPU の {} が使われました。CPU の多いマシンではストレージの\
             性能がさらに出る可能性があります",
            percent(*share)
        ),
        Limit::Late { share } => format!(
            "このプログラムの操作開始が遅れました。遅れはレイテンシーの {} です（late_ns_mean）",
            percent(*share)
        ),
        Limit::Cached {
            share,
            direct: true,
        } => format!(
            "O_DIRECT にもかかわらず、データの {} がキャッシュから読まれました。デバイスの値ではありません（cached_share）",
            percent(*share)
        ),
        Limit::Cached {
            share,
            direct: false,
        } => format!(
            "データの {} がページキャッシュから読まれました。デバイスの値ではありません（cached_share）",
            percent(*share)
        ),
        Limit::DeviceIdle { busy_share } => format!(
            "操作が待っていたにもかかわらず、デバイスが動いていたのは時間の {} のみでした。ほかに限界があります\
             （device_busy_share）",
            percent(*busy_share)
        ),
    }
}
