//! What the steps of a test mean.

use crate::lang::{Lang, say};
use crate::number::{self, counted, percent};
use crate::said;
use model::estimate::Estimate;
use stats::scaling::{Finding, Fit, Refused, Scaling};

/// What the steps mean, one sentence each; why there is no law is left out where it is said `once` for all tests.
pub(super) fn sentences(scaling: &Scaling, once: bool, lang: Lang) -> Vec<String> {
    let mut lines = vec![finding(&scaling.finding, lang)];
    lines.extend(scaling.cpus.quota.map(|cpus| quota(cpus, lang)));
    let gain = scaling.second_thread.as_ref();
    lines.extend(gain.map(|gain| second_thread(gain, lang)));
    match &scaling.fit {
        Ok(fit) => {
            lines.push(law(fit, lang));
            lines.extend(fit.peak.map(|copies| peak(copies, fit.up_to, lang)));
        }
        Err(_) if once => {}
        Err(why) => lines.push(refused(why, lang)),
    }
    if scaling.steps.iter().any(|step| step.oversubscribed) {
        lines.push(oversubscribed(scaling.cpus.allowed, lang));
    }
    lines
}

/// Why none of these tests has a fit, where all of them have equally few steps: in one sentence for all of them.
pub(super) fn no_law(tests: &[&Scaling], lang: Lang) -> Option<String> {
    let mut fits = tests.iter().map(|test| test.fit.as_ref().err());
    let why = fits.next()??;
    let of_all = matches!(why, Refused::TooFewSteps { .. }) && fits.all(|one| one == Some(why));
    of_all.then(|| refused(why, lang))
}

/// The ends of an interval of shares.
fn share_range(estimate: &Estimate) -> String {
    let ends = estimate.interval;
    let ends = ends.map(|interval| (small(interval.lo), small(interval.hi)));
    number::range(ends.as_ref())
}

/// A share as a percentage; below a hundred-thousandth there is nothing but rounding.
fn small(share: f64) -> String {
    percent(if share.abs() < 1e-5 { 0.0 } else { share })
}

fn quota(cpus: f64, lang: Lang) -> String {
    let counted = counted(cpus, "CPU", "CPUs");
    say!(
        lang,
        "a quota allows {counted} at the same time",
        "クォータにより同時に使用できるのは {cpus} CPU です"
    )
}

fn second_thread(gain: &Estimate, lang: Lang) -> String {
    let (value, range) = (number::signed_percent(gain.value), share_range(gain));
    say!(
        lang,
        "the second thread of a core adds {value} ({range})",
        "コアの 2 番目のスレッドによる増加は {value} です（{range}）"
    )
}

fn oversubscribed(cpus: u32, lang: Lang) -> String {
    let counted = counted(cpus, "CPU", "CPUs");
    say!(
        lang,
        "^ more copies than may run at the same time: they take turns on {counted}",
        "^ は同時に実行できる数を超える並列数で、{cpus} CPU を交代で使用します"
    )
}

/// The fitted law: serial share and cost of pairs, with their intervals.
fn law(fit: &Fit, lang: Lang) -> String {
    let figure = |estimate: &Estimate| {
        let value = small(estimate.value);
        format!("{value} ({})", share_range(estimate))
    };
    let (sigma, kappa) = (figure(&fit.sigma), figure(&fit.kappa));
    let (steps, up_to) = (fit.steps, fit.up_to);
    let line = say!(
        lang,
        "Universal Scalability Law, {steps} steps up to {up_to} copies: serial share {sigma}, cost of pairs {kappa}",
        "ユニバーサルスケーラビリティ則（{steps} 段階、{up_to} 並列まで）: 逐次部分 {sigma}、対ごとのコスト {kappa}"
    );
    if steps != 3 {
        return line;
    }
    let unchecked = lang.pick(
        "three steps always fit exactly: a fourth would be needed to contradict the law",
        "3 段階では常に完全に一致するため、検証には 4 段階目が必要です",
    );
    format!("{line}; {unchecked}")
}

/// How many copies do most.
fn peak(peak: f64, up_to: u32, lang: Lang) -> String {
    let copies = format!("{peak:.0}");
    if peak <= f64::from(up_to) {
        say!(
            lang,
            "it peaks at about {copies} copies",
            "約 {copies} 並列で最大になります"
        )
    } else {
        say!(
            lang,
            "by the law it would peak at about {copies} copies, which were not measured",
            "この法則では約 {copies} 並列で最大になりますが、その並列数は測定していません"
        )
    }
}

/// Why there is no fit.
fn refused(refused: &Refused, lang: Lang) -> String {
    match refused {
        Refused::TooFewSteps { have } => say!(
            lang,
            "no Universal Scalability Law: its three figures need 3 concurrencies within the usable CPUs, here are {have}",
            "ユニバーサルスケーラビリティ則は適用できません: 使用できる CPU 数以内に 3 種類の並列数が必要ですが、{have} 種類です"
        ),
        Refused::TooFewPasses { have } => {
            let passes = counted(*have, "complete pass", "complete passes");
            say!(
                lang,
                "no Universal Scalability Law: {passes}, where an interval needs 6",
                "ユニバーサルスケーラビリティ則は適用できません: 区間には 6 巡が必要ですが、完全な巡回は {have} 巡です"
            )
        }
        Refused::DoesNotDescribe { copies, off } => say!(
            lang,
            "no Universal Scalability Law: it does not describe these figures (at {copies} copies off by {off})",
            "ユニバーサルスケーラビリティ則はこの結果に合いません（{copies} 並列で {off} のずれ）",
            off = percent(off.abs())
        ),
    }
}

/// What is concluded.
pub(super) fn finding(finding: &Finding, lang: Lang) -> String {
    match finding {
        Finding::OneCpu => say!(
            lang,
            "there is one CPU: nothing to scale to",
            "CPU が 1 個のため、スケーリングを測定できません"
        ),
        Finding::Scales => say!(
            lang,
            "it scales: at all CPUs at least 90 % of a perfect speed-up",
            "スケールします: 全 CPU で理想の倍率の 90 % 以上です"
        ),
        Finding::SharedCores => say!(
            lang,
            "it scales over the cores; further copies share cores with others (SMT)",
            "コア数まではスケールし、それ以上はコアを共有します（SMT）"
        ),
        Finding::Quota { cpus } => {
            let counted = counted(*cpus, "CPU", "CPUs");
            say!(
                lang,
                "a quota of {counted} limits it, not the CPUs there are",
                "実際の CPU 数ではなく、CPU クォータ {cpus} により制限されています"
            )
        }
        Finding::Stolen { share } => say!(
            lang,
            "the host took away {share} of the time asked for: the machine does not have these CPUs for itself",
            "要求した CPU 時間の {share} をホストに奪われました。CPU を占有できていません",
            share = percent(*share)
        ),
        Finding::Foreign { share } => say!(
            lang,
            "other processes of this machine took {share} of a CPU meanwhile: measure again on a quiet machine",
            "このマシンの他のプロセスが 1 CPU の {share} を使用しました。静かな状態で測定し直してください",
            share = percent(*share)
        ),
        Finding::SharedResource {
            worth,
            of_one_process,
        } => say!(
            lang,
            "a shared resource: the copies ran, but a CPU second did only {worth} of what it does alone: {why}",
            "共有資源が限界です: 実行は続いていましたが、CPU 時間あたりの仕事量は単独時の {worth} でした。{why}",
            worth = percent(*worth),
            why = said::shared(false, *of_one_process, lang)
        ),
        Finding::Waits { on_cpu } => say!(
            lang,
            "the copies waited: they were on a CPU for only {share} of the time (for each other, for the kernel, or for a CPU)",
            "待ちが発生しています: CPU 上にいた時間は {share} のみでした（相互の待ち、カーネル、CPU の空き待ち）",
            share = percent(*on_cpu)
        ),
        Finding::Falls { best } => say!(
            lang,
            "more copies do less: {best} did most",
            "並列数を増やすと性能が下がります。最大は {best} 並列のときです"
        ),
        Finding::Unclear => say!(
            lang,
            "unclear: too few passes or too much scatter",
            "判定不能: 巡回数が足りないか、ばらつきが大きすぎます"
        ),
    }
}

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
            Finding::Unclear => [&["unclear", "scatter"], &["判定不能", "ばらつき"]],
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
            let said = Lang::ALL.map(|lang| super::finding(&finding, lang));
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
            &Lang::ALL.map(|lang| super::finding(&finding, lang)),
            [
                &["43 %", "or what the threads of the test share", "locks"],
                &["43 %", "テストのスレッドどうしがロック"],
            ],
        );
    }

    #[test]
    fn every_refusal_says_why_there_is_no_law_in_both_languages() {
        let kinds: HashSet<_> = REFUSED.iter().map(discriminant).collect();
        assert_eq!(kinds.len(), REFUSED.len());
        for refused in REFUSED {
            let said = Lang::ALL.map(|lang| super::refused(&refused, lang));
            check(&said, of_refused(&refused));
        }
    }

    #[test]
    fn what_is_said_beside_the_finding_has_its_figures_in_both_languages() {
        let gain = Estimate {
            value: 0.2,
            interval: Some(model::estimate::Interval {
                lo: 0.18,
                hi: 0.22,
                confidence: 0.95,
            }),
            n: 6,
        };
        let second = Lang::ALL.map(|lang| super::second_thread(&gain, lang));
        check(
            &second,
            [
                &["the second thread of a core adds +20 %", "18 % .. 22 %"],
                &["2 番目のスレッド", "+20 %", "18 % .. 22 %"],
            ],
        );
        let quota = Lang::ALL.map(|lang| super::quota(1.5, lang));
        check(
            &quota,
            [
                &["a quota allows 1.5 CPUs at the same time"],
                &["クォータ", "1.5 CPU"],
            ],
        );
        let turns = Lang::ALL.map(|lang| super::oversubscribed(2, lang));
        check(&turns, [&["they take turns on 2 CPUs"], &["2 CPU を交代"]]);
        for (up_to, says) in [
            (
                32,
                [
                    &["it peaks at about 31 copies"][..],
                    &["約 31 並列で最大になります"],
                ],
            ),
            (
                16,
                [
                    &["would peak at about 31", "not measured"],
                    &["約 31 並列", "測定していません"],
                ],
            ),
        ] {
            check(&Lang::ALL.map(|lang| super::peak(31.0, up_to, lang)), says);
        }
    }
}
