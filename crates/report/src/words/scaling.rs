//! What is said about scaling, in both languages.

use crate::number::percent;
use stats::scaling::{Finding, Refused};

/// About how tests scale.
#[derive(Debug)]
pub struct ScalingWords {
    /// Heading.
    pub heading: &'static str,
    /// Column: copies.
    pub copies: &'static str,
    /// Column: times as much as one copy.
    pub speedup: &'static str,
    /// Column: speed-up over CPUs in use.
    pub per_cpu: &'static str,
    /// Column: work per CPU second against one copy.
    pub worth: &'static str,
    /// Column: share of the time on a CPU.
    pub on_cpu: &'static str,
    /// Column: the mean time of an event.
    pub event_mean: &'static str,
    /// Column: the 95th percentile of the times of events.
    pub event_p95: &'static str,
    /// How to read the columns.
    pub legend: &'static str,
    /// Behind it where these columns are there: what a CPU second did, and the time on a CPU.
    pub legend_worth: &'static str,
    /// How to read the bars.
    pub legend_bars: &'static str,
    /// How to read the times of events.
    pub legend_times: &'static str,
    /// The same where there is the mean alone.
    pub legend_mean: &'static str,
    /// The same where there is the percentile alone.
    pub legend_p95: &'static str,
    /// How to read the sign before figures of rounds without a single level.
    pub legend_no_level: &'static str,
    /// Copies beyond the CPUs that may be used.
    pub oversubscribed: fn(u32) -> String,
    /// What is concluded.
    pub finding: fn(&Finding) -> String,
    /// The fitted law: serial share with interval, cost of pairs, steps, up to how many copies.
    pub law: fn(&str, &str, u32, u32) -> String,
    /// Said of a fit of three steps.
    pub unchecked: &'static str,
    /// How many copies do most; the number, and whether so many were measured.
    pub peak: fn(&str, bool) -> String,
    /// Why there is no fit.
    pub refused: fn(&Refused) -> String,
    /// What the second thread of a core adds, with its interval.
    pub second_thread: fn(&str, &str) -> String,
    /// A quota, as CPUs.
    pub quota: fn(&str) -> String,
    /// Fact: the clock rate seen by the probes.
    pub clock_rate: &'static str,
    /// Its range in GHz and its median.
    pub clock_range: fn(&str, &str, &str) -> String,
    /// Fact: which code did the work.
    pub implementations: &'static str,
}

fn whole(share: f64) -> String {
    percent(share)
}

pub(super) const EN: ScalingWords = ScalingWords {
    heading: "scaling",
    copies: "copies",
    speedup: "speed-up",
    per_cpu: "per CPU",
    worth: "CPU second",
    on_cpu: "on CPU",
    legend: "speed-up: times one copy; per CPU: of a perfect speed-up",
    legend_worth: "; CPU second: its work against one copy alone; on CPU: share of the time",
    legend_bars: "# reached, . lost",
    event_mean: "mean time",
    event_p95: "p95",
    legend_no_level: "~ stands before what comes from rounds that no single number describes, here or with one copy",
    legend_times: "mean time, p95: what an event (operation) took, the average and the 95th percentile; medians of the \
                   rounds",
    legend_mean: "mean time: what an event (operation) took on average; medians of the rounds",
    legend_p95: "p95: what an event (operation) took, the 95th percentile; medians of the rounds",
    oversubscribed: |cpus| {
        format!(
            "^ more copies than may run at the same time: they take turns on {}",
            super::en::plural(cpus, "CPU", "CPUs")
        )
    },
    finding: |finding| match finding {
        Finding::OneCpu => "there is one CPU: nothing to scale to".to_owned(),
        Finding::Scales => "it scales: at all CPUs at least 90 % of a perfect speed-up".to_owned(),
        Finding::SharedCores => {
            "it scales over the cores; further copies share cores with others (SMT)".to_owned()
        }
        Finding::Quota { cpus } => {
            format!(
                "a quota of {} limits it, not the CPUs there are",
                super::en::cpus_of(&cpus.to_string())
            )
        }
        Finding::Stolen { share } => format!(
            "the host took away {} of the time asked for: the machine does not have these CPUs for itself",
            whole(*share)
        ),
        Finding::Foreign { share } => format!(
            "other processes of this machine took {} of a CPU meanwhile: measure again on a quiet machine",
            whole(*share)
        ),
        Finding::SharedResource {
            worth,
            of_one_process,
        } => format!(
            "a shared resource: the copies ran, but a CPU second did only {} of what it does alone (threads of one core, \
             clock rate, cache, memory, {})",
            whole(*worth),
            if *of_one_process {
                "or what the threads of the test share, such as locks and cache lines"
            } else {
                "or locks that spin"
            }
        ),
        Finding::Waits { on_cpu } => format!(
            "the copies waited: they were on a CPU for only {} of the time (for each other, for the kernel, or for a CPU)",
            whole(*on_cpu)
        ),
        Finding::Falls { best } => format!("more copies do less: {best} did most"),
        Finding::Unclear => "cannot tell: too few passes or too much scatter".to_owned(),
    },
    law: |sigma, kappa, steps, up_to| {
        format!(
            "Universal Scalability Law, {steps} steps up to {up_to} copies: serial share {sigma}, cost of pairs {kappa}"
        )
    },
    unchecked: "three steps always fit exactly: a fourth would be needed to contradict the law",
    peak: |copies, measured| {
        if measured {
            format!("it peaks at about {copies} copies")
        } else {
            format!("by the law it would peak at about {copies} copies, which were not measured")
        }
    },
    refused: |refused| match refused {
        Refused::TooFewSteps { have } => format!(
            "no Universal Scalability Law: its three figures need 3 concurrencies within the usable CPUs, here are {have}"
        ),
        Refused::TooFewPasses { have } => {
            format!(
                "no Universal Scalability Law: {}, where an interval needs 6",
                super::en::plural(*have, "complete pass", "complete passes")
            )
        }
        Refused::DoesNotDescribe { copies, off } => format!(
            "no Universal Scalability Law: it does not describe these figures (at {copies} copies off by {})",
            whole(off.abs())
        ),
    },
    second_thread: |gain, interval| format!("the second thread of a core adds {gain} ({interval})"),
    quota: |cpus| {
        format!(
            "a quota allows {} at the same time",
            super::en::cpus_of(cpus)
        )
    },
    clock_rate: "clock rate while measuring",
    clock_range: |lo, hi, median| {
        format!("{lo}..{hi} GHz (median {median}), seen before and after the rounds")
    },
    implementations: "code that ran",
};

pub(super) const JA: ScalingWords = ScalingWords {
    heading: "スケーリング",
    copies: "並列数",
    speedup: "倍率",
    per_cpu: "CPU あたり",
    worth: "CPU 秒",
    on_cpu: "CPU 上",
    legend: "倍率: 1 並列との比。CPU あたり: 理想の倍率に対する割合",
    legend_worth: "。CPU 秒: CPU 時間 1 秒の仕事量の 1 並列との比。CPU 上: CPU 上にいた時間の割合",
    legend_bars: "# は到達、. は損失",
    event_mean: "平均時間",
    event_p95: "p95",
    legend_no_level: "~ の付いた値は、その並列数または 1 並列のラウンドを一つの数値では表せないものです",
    legend_times: "平均時間、p95: 1 イベント（操作）の所要時間の平均と 95 パーセンタイル。各ラウンドの中央値",
    legend_mean: "平均時間: 1 イベント（操作）の平均所要時間。各ラウンドの中央値",
    legend_p95: "p95: 1 イベント（操作）の所要時間の 95 パーセンタイル。各ラウンドの中央値",
    oversubscribed: |cpus| {
        format!("^ は同時に実行できる数を超える並列数で、{cpus} CPU を交代で使用します")
    },
    finding: |finding| match finding {
        Finding::OneCpu => "CPU が 1 個のため、スケーリングを測定できません".to_owned(),
        Finding::Scales => "スケールします: 全 CPU で理想の倍率の 90 % 以上です".to_owned(),
        Finding::SharedCores => {
            "コア数まではスケールし、それ以上はコアを共有します（SMT）".to_owned()
        }
        Finding::Quota { cpus } => {
            format!("実際の CPU 数ではなく、CPU クォータ {cpus} により制限されています")
        }
        Finding::Stolen { share } => {
            format!(
                "要求した CPU 時間の {} をホストに奪われました。CPU を占有できていません",
                whole(*share)
            )
        }
        Finding::Foreign { share } => format!(
            "このマシンの他のプロセスが 1 CPU の {} を使用しました。静かな状態で測定し直してください",
            whole(*share)
        ),
        Finding::SharedResource {
            worth,
            of_one_process,
        } => format!(
            "共有資源が限界です: 実行は続いていましたが、CPU 時間あたりの仕事量は単独時の {} でした（同一コアのスレッド、\
             クロック、キャッシュ、メモリ、{}など）",
            whole(*worth),
            if *of_one_process {
                "テストのスレッドどうしで共有するロックやキャッシュライン"
            } else {
                "スピンロック"
            }
        ),
        Finding::Waits { on_cpu } => format!(
            "待ちが発生しています: CPU 上にいた時間は {} のみでした（相互の待ち、カーネル、CPU の空き待ち）",
            whole(*on_cpu)
        ),
        Finding::Falls { best } => {
            format!("並列数を増やすと性能が下がります。最大は {best} 並列のときです")
        }
        Finding::Unclear => "判断できません: 巡回数が足りないか、ばらつきが大きすぎます".to_owned(),
    },
    law: |sigma, kappa, steps, up_to| {
        format!(
            "ユニバーサルスケーラビリティ則（{steps} 段階、{up_to} 並列まで）: 逐次部分 {sigma}、対ごとのコスト {kappa}"
        )
    },
    unchecked: "3 段階では常に完全に一致するため、検証には 4 段階目が必要です",
    peak: |copies, measured| {
        if measured {
            format!("約 {copies} 並列で最大になります")
        } else {
            format!("この法則では約 {copies} 並列で最大になりますが、その並列数は測定していません")
        }
    },
    refused: |refused| match refused {
        Refused::TooFewSteps { have } => format!(
            "ユニバーサルスケーラビリティ則は適用できません: 使用できる CPU 数以内に 3 種類の並列数が必要ですが、{have} 種類です"
        ),
        Refused::TooFewPasses { have } => format!(
            "ユニバーサルスケーラビリティ則は適用できません: 区間には 6 巡が必要ですが、完全な巡回は {have} 巡です"
        ),
        Refused::DoesNotDescribe { copies, off } => format!(
            "ユニバーサルスケーラビリティ則はこの結果に合いません（{copies} 並列で {} のずれ）",
            whole(off.abs())
        ),
    },
    second_thread: |gain, interval| {
        format!("コアの 2 番目のスレッドによる増加は {gain} です（{interval}）")
    },
    quota: |cpus| format!("クォータにより同時に使用できるのは {cpus} CPU です"),
    clock_rate: "測定中のクロック",
    clock_range: |lo, hi, median| {
        format!("{lo}..{hi} GHz（中央値 {median}、各ラウンドの前後に測定）")
    },
    implementations: "実行されたコード",
};

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::mem::discriminant;

    const FINDINGS: [Finding; 10] = [
        Finding::OneCpu,
        Finding::Scales,
        Finding::SharedCores,
        Finding::Quota { cpus: 1.5 },
        Finding::Stolen { share: 0.4 },
        Finding::Foreign { share: 0.25 },
        Finding::SharedResource {
            worth: 0.62,
            of_one_process: false,
        },
        Finding::Waits { on_cpu: 0.45 },
        Finding::Falls { best: 4 },
        Finding::Unclear,
    ];

    const REFUSED: [Refused; 3] = [
        Refused::TooFewSteps { have: 2 },
        Refused::TooFewPasses { have: 5 },
        Refused::DoesNotDescribe {
            copies: 8,
            off: -0.12,
        },
    ];

    /// What a sentence must name, in English and in Japanese.
    type Says = [&'static [&'static str]; 2];

    /// No wildcard: whoever adds a finding says here what it is about.
    const fn of_finding(finding: &Finding) -> Says {
        match finding {
            Finding::OneCpu => [&["one CPU", "nothing to scale to"], &["CPU が 1 個"]],
            Finding::Scales => [&["it scales:", "90 %"], &["スケールします", "90 %"]],
            Finding::SharedCores => [&["over the cores", "(SMT)"], &["コア", "（SMT）"]],
            Finding::Quota { .. } => [
                &["a quota of 1.5 CPUs limits it"],
                &["クォータ 1.5", "制限"],
            ],
            Finding::Stolen { .. } => [&["the host took away 40 %"], &["40 % をホストに奪われ"]],
            Finding::Foreign { .. } => [
                &["other processes", "25 % of a CPU", "quiet machine"],
                &["他のプロセス", "1 CPU の 25 %"],
            ],
            Finding::SharedResource { .. } => [
                &[
                    "a shared resource",
                    "a CPU second did only 62 %",
                    "cache",
                    "memory",
                ],
                &["共有資源", "62 %", "キャッシュ", "メモリ"],
            ],
            Finding::Waits { .. } => [
                &["the copies waited", "45 % of the time"],
                &["待ち", "45 %"],
            ],
            Finding::Falls { .. } => [
                &["more copies do less", "4 did most"],
                &["性能が下がります", "4 並列"],
            ],
            Finding::Unclear => [&["cannot tell", "scatter"], &["判断できません", "ばらつき"]],
        }
    }

    const fn of_refused(refused: &Refused) -> Says {
        match refused {
            Refused::TooFewSteps { .. } => [
                &[
                    "no Universal Scalability Law",
                    "need 3 concurrencies",
                    "here are 2",
                ],
                &["適用できません", "3 種類", "2 種類"],
            ],
            Refused::TooFewPasses { .. } => [
                &[
                    "no Universal Scalability Law",
                    "5 complete passes",
                    "needs 6",
                ],
                &["適用できません", "6 巡", "5 巡"],
            ],
            Refused::DoesNotDescribe { .. } => [
                &["does not describe", "at 8 copies off by 12 %"],
                &["合いません", "8 並列", "12 %"],
            ],
        }
    }

    fn check(sentences: &[String; 2], says: Says) {
        for (sentence, parts) in sentences.iter().zip(says) {
            assert!(
                !sentence.contains('\n') && !sentence.contains("  "),
                "{sentence}"
            );
            for part in parts {
                assert!(sentence.contains(part), "`{part}` is not in: {sentence}");
            }
        }
    }

    #[test]
    fn every_finding_says_what_it_is_about_in_both_languages() {
        let kinds: HashSet<_> = FINDINGS.iter().map(discriminant).collect();
        assert_eq!(kinds.len(), FINDINGS.len());
        for finding in FINDINGS {
            let said = [EN, JA].map(|says| (says.finding)(&finding));
            check(&said, of_finding(&finding));
        }
    }

    #[test]
    fn threads_of_one_process_may_share_what_is_the_tests_own() {
        let finding = Finding::SharedResource {
            worth: 0.43,
            of_one_process: true,
        };
        check(
            &[EN, JA].map(|says| (says.finding)(&finding)),
            [
                &["43 %", "or what the threads of the test share", "locks"],
                &["43 %", "テストのスレッドどうしで共有するロック"],
            ],
        );
    }

    #[test]
    fn every_refusal_says_why_there_is_no_law_in_both_languages() {
        let kinds: HashSet<_> = REFUSED.iter().map(discriminant).collect();
        assert_eq!(kinds.len(), REFUSED.len());
        for refused in REFUSED {
            let said = [EN, JA].map(|says| (says.refused)(&refused));
            check(&said, of_refused(&refused));
        }
    }

    #[test]
    fn what_is_said_beside_the_finding_has_its_figures_in_both_languages() {
        let second = [EN, JA].map(|says| (says.second_thread)("+20 %", "18 % .. 22 %"));
        check(
            &second,
            [
                &["the second thread of a core adds +20 %", "18 % .. 22 %"],
                &["2 番目のスレッド", "+20 %", "18 % .. 22 %"],
            ],
        );
        let quota = [EN, JA].map(|says| (says.quota)("1.5"));
        check(
            &quota,
            [
                &["a quota allows 1.5 CPUs at the same time"],
                &["クォータ", "1.5 CPU"],
            ],
        );
        let turns = [EN, JA].map(|says| (says.oversubscribed)(2));
        check(&turns, [&["they take turns on 2 CPUs"], &["2 CPU を交代"]]);
        for (measured, says) in [
            (
                true,
                [
                    &["it peaks at about 31 copies"][..],
                    &["約 31 並列で最大になります"],
                ],
            ),
            (
                false,
                [
                    &["would peak at about 31", "not measured"],
                    &["約 31 並列", "測定していません"],
                ],
            ),
        ] {
            check(&[EN, JA].map(|words| (words.peak)("31", measured)), says);
        }
    }
}
