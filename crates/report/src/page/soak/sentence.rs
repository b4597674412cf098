//! What a soak says: a clause for each finding.

use crate::lang::{Lang, say};
use crate::number::{self, Scale, instant, percent, seconds, signed_percent};
use model::units::{Nanos, Unit};
use stats::burst::{Burst, Cause};
use stats::soak::{Disturbed, Early, Finding, SoakSummary, Throttle};

/// Medians that differ by less than this are called alike: half of the smallest change that a warning is raised for.
const ALIKE: f64 = 0.005;

/// What the soak says, in one sentence.
pub(crate) fn sentence(soak: &SoakSummary, lang: Lang) -> String {
    let figures = Figures::of(soak, lang);
    let clauses = soak.findings.iter().map(|finding| figures.clause(finding));
    let clauses: Vec<String> = clauses.collect();
    clauses.join(lang.pick("; ", "。また、"))
}

/// The rate of its typical window, where its sentence does not say it.
pub(crate) fn typical(soak: &SoakSummary, lang: Lang) -> Option<String> {
    let rate = Figures::of(soak, lang).rate(soak.levels?.typical);
    (!sentence(soak, lang).contains(&rate)).then_some(rate)
}

/// How the figures of a soak are told: the rates in one scale.
pub(super) struct Figures<'a> {
    soak: &'a SoakSummary,
    scale: Scale,
    lang: Lang,
}

impl<'a> Figures<'a> {
    pub(super) fn of(soak: &'a SoakSummary, lang: Lang) -> Self {
        let points = soak.course.points.iter().map(|point| point.value);
        let burst = match &soak.throttle {
            Throttle::Seen { burst, .. } => Some(burst.burst_rate),
            _ => None,
        };
        let largest = points.chain(burst).fold(0.0, f64::max);
        let scale = number::scale(soak.unit, &soak.quantity, largest);
        Self { soak, scale, lang }
    }

    /// A rate in the scale of all, or in its own where it would otherwise begin with noughts.
    pub(super) fn rate(&self, x: f64) -> String {
        let scale = self.scale_of(x);
        format!("{} {}", scale.value(x), scale.unit)
    }

    /// The scale in which a rate stands, and an interval beside its unit.
    pub(super) fn scale_of(&self, x: f64) -> Scale {
        if self.scale.value(x).starts_with("0.") {
            number::scale(self.soak.unit, &self.soak.quantity, x)
        } else {
            self.scale.clone()
        }
    }

    /// The credit of a burst: as work, and in CPU seconds where these were lent.
    pub(super) fn credit(&self, burst: &Burst) -> String {
        let work = self.work(burst.credit);
        let Some(time) = burst
            .credit_cpu_seconds()
            .map(|time| seconds(time, self.lang))
        else {
            return work;
        };
        say!(
            self.lang,
            "{work} ({time} of CPU time)",
            "{work}（CPU 時間で {time}）"
        )
    }

    /// An amount of work in native units.
    fn work(&self, amount: f64) -> String {
        if self.soak.unit.is_bytes_per_second() {
            return number::alone(Unit::Bytes, amount);
        }
        let n = number::alone(Unit::Number, amount);
        say!(self.lang, "{n} operations", "{n} 回の操作")
    }

    fn clause(&self, finding: &Finding) -> String {
        let rate = |x: f64| self.rate(x);
        let ramp = |change: f64, (lo, hi): (f64, f64), over: f64| {
            let [change, lo, hi] = [change, lo, hi].map(signed_percent);
            (change, format!("{lo} .. {hi}"), seconds(over, self.lang))
        };
        match finding {
            Finding::TooShort { windows } => too_short(*windows, self.lang),
            Finding::Burst {
                burst,
                cause,
                rest_seconds,
                at,
            } => self.burst(
                burst,
                *cause,
                rest_seconds.unwrap_or_default(),
                &instant(*at),
            ),
            Finding::Step {
                at,
                after_seconds,
                from,
                to,
            } => {
                let (at, after, change) = (
                    instant(*at),
                    seconds(*after_seconds, self.lang),
                    to / from - 1.0,
                );
                let (from, to, change) = (rate(*from), rate(*to), signed_percent(change));
                say!(
                    self.lang,
                    "a step of {change} at {at}, {after} after the start: from {from} to {to}",
                    "開始から {after}後の {at} に {change} の段差があり、{from} から {to} になりました"
                )
            }
            Finding::Ramp {
                change,
                interval,
                seconds,
            } => {
                let (change, interval, time) = ramp(*change, *interval, *seconds);
                say!(
                    self.lang,
                    "a ramp of {change} over {time} (99 % interval {interval})",
                    "{time} かけて {change} 変化しました（99 % 信頼区間 {interval}）"
                )
            }
            Finding::PossibleRamp {
                level,
                change,
                interval,
                seconds,
            } => {
                let (change, interval, time) = ramp(*change, *interval, *seconds);
                let level = rate(*level);
                say!(
                    self.lang,
                    "around {level}, not surely steady: perhaps a ramp of {change} over {time} (99 % interval {interval}, so it may be chance)",
                    "{level} 前後ですが、安定しているとは言い切れません。{time} かけて {change} 変化している可能性があります（99 % 信頼区間 {interval}、偶然かもしれません）"
                )
            }
            Finding::TwoState {
                low,
                high,
                low_share,
                dwell_seconds,
            } => say!(
                self.lang,
                "two states in turn: {low} for {share} of the time and {high} for {rest}, each held for {dwell} on average",
                "二つの状態を行き来します。{low} が時間の {share}、{high} が {rest} で、平均 {dwell} ずつ続きます",
                low = rate(*low),
                high = rate(*high),
                dwell = seconds(*dwell_seconds, self.lang),
                share = percent(*low_share),
                rest = percent(1.0 - low_share)
            ),
            Finding::Periodic { seconds: s, depth } => say!(
                self.lang,
                "something comes back every {time} and takes up to {depth}",
                "{time} ごとに繰り返す低下があり、最大で {depth} 下がります",
                time = seconds(*s, self.lang),
                depth = percent(*depth)
            ),
            Finding::Unstable { levels, low, high } => say!(
                self.lang,
                "{levels} levels between {low} and {high}: no single number describes it",
                "{low} から {high} までの {levels} つの水準があり、一つの数値では表せません",
                low = rate(*low),
                high = rate(*high)
            ),
            Finding::Steady { level, slow_share } => steady(&rate(*level), *slow_share, self.lang),
            Finding::Disturbed(by) => disturbed(by, self.lang),
            Finding::NotSeen(seen) => say!(
                self.lang,
                "no throttle seen in {time} of load or {work}: a bucket, if there is any, is larger",
                "{time} の負荷（{work}）の間に制限は見られず、バケットがあるとすればこれより大きいものです",
                time = seconds(seen.seconds, self.lang),
                work = self.work(seen.work)
            ),
            Finding::EndedEarly { lasted, of, why } => ended_early(*why, *lasted, *of, self.lang),
        }
    }

    /// A burst, by what the refill test says about it.
    fn burst(&self, burst: &Burst, cause: Option<Cause>, rest: f64, at: &str) -> String {
        let (fast, slow) = (self.rate(burst.burst_rate), self.rate(burst.sustained_rate));
        let (time, credit) = (seconds(burst.burst_seconds, self.lang), self.credit(burst));
        let (rest, lang) = (seconds(rest, self.lang), self.lang);
        match cause {
            Some(Cause::TokenBucket) => say!(
                lang,
                "{fast} for {time}, then {slow}: a token bucket of {credit}, confirmed by its refill during a rest of {rest}",
                "{time} の間 {fast}、その後は {slow}。容量 {credit} のトークンバケットであり、{rest} の休止中の回復で確認しました"
            ),
            Some(Cause::Unknown) => say!(
                lang,
                "{fast} for {time}, then, from {at} on, {slow}: a step, cause unknown, for after a rest of {rest} the fast rate did not come back as credit would",
                "{time} の間 {fast}、{at} からは {slow}。{rest} 休止してもクレジットのようには回復しなかったため、原因不明の段差です"
            ),
            None => say!(
                lang,
                "{fast} for {time}, then, from {at} on, {slow}: a step, or a bucket of {credit}; no refill test was made to tell",
                "{time} の間 {fast}、{at} からは {slow}。段差か容量 {credit} のバケットかは、回復の試験をしていないため分かりません"
            ),
        }
    }
}

fn too_short(windows: usize, lang: Lang) -> String {
    let need = stats::soak::STEADY_MIN;
    if windows >= need {
        return say!(
            lang,
            "nothing to describe: at least half of the {windows} windows did no work",
            "{windows} 個の区間の半分以上で処理が進まず、表せる値がありません"
        );
    }
    let usable = number::counted(windows, "usable window", "usable windows");
    say!(
        lang,
        "too short to be called steady: {usable}, and it takes {need}",
        "有効な区間が {windows} 個しかなく、安定しているとは言えません（{need} 個必要です）"
    )
}

fn steady(level: &str, slow_share: Option<f64>, lang: Lang) -> String {
    match slow_share.map(percent) {
        None => say!(lang, "steady at {level}", "{level} で安定しています"),
        Some(slow) => say!(
            lang,
            "steady at {level}, but {slow} of the windows are below 90 % of that",
            "{level} で安定していますが、区間の {slow} はその 90 % を下回ります"
        ),
    }
}

/// Who disturbed, each with its share: the host, other processes, a quota.
fn disturbed(disturbed: &Disturbed, lang: Lang) -> String {
    let by = [
        (
            disturbed.steal,
            lang.pick("by the host in", "ホストによるもの"),
        ),
        (
            disturbed.foreign_cpu,
            lang.pick("by other processes in", "他のプロセスによるもの"),
        ),
        (
            disturbed.throttled,
            lang.pick("by a CPU quota in", "CPU クォータによるもの"),
        ),
    ];
    let by: Vec<String> = by
        .into_iter()
        .filter_map(|(share, who)| Some((share.filter(|&share| share > 0.0)?, who)))
        .map(|(share, who)| format!("{who} {}", percent(share)))
        .collect();
    let (share, by) = (percent(disturbed.share), by.join(lang.pick(", ", "、")));
    let change = match disturbed.change {
        None => String::new(),
        Some(change) if change.abs() < ALIKE => say!(
            lang,
            ", where the median window is within 0.5 % of the others'",
            "。その間の区間の中央値は、他との差が 0.5 % 未満です"
        ),
        Some(change) => say!(
            lang,
            ", where the median window differs by {change} from the others'",
            "。その間の区間の中央値は、他と {change} 違います",
            change = signed_percent(change)
        ),
    };
    say!(
        lang,
        "disturbed in {share} of its stretches ({by}){change}",
        "測定回の {share} で CPU 時間を奪われています（{by}）{change}"
    )
}

/// It lasted less than was asked for; where no stretch ended, not at all.
fn ended_early(why: Early, lasted: Nanos, of: Nanos, lang: Lang) -> String {
    let how = match why {
        Early::Unfinished => lang.pick(
            "killed, or still going on,",
            "強制終了されたか、まだ測定中です",
        ),
        Early::Interrupted => lang.pick("interrupted", "途中で中断されました"),
        Early::Failed => lang.pick(
            "given up, for its stretches fail,",
            "測定に失敗し続けたため打ち切りました",
        ),
        Early::Lapsed => lang.pick(
            "its time ran out while it was not running,",
            "止まり、再開されないまま予定の時間が過ぎました",
        ),
    };
    let share = percent(lasted.as_secs_f64() / of.as_secs_f64());
    let (time, whole) = (number::time(lasted, lang), number::time(of, lang));
    match lasted.0 {
        0 => say!(
            lang,
            "{how} before a stretch of the {whole} asked for had ended",
            "予定 {whole} の最初の測定回が終わる前に{how}"
        ),
        _ => say!(
            lang,
            "{how} after {time} of the {whole} asked for ({share})",
            "予定 {whole} のうち {time}（{share}）で{how}"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::soak::tests::run;
    use model::units::UnixNanos;

    /// Every finding, and every way to say it.
    fn findings() -> Vec<Finding> {
        let burst = |cause| Finding::Burst {
            burst: Burst {
                burst_rate: 9_000.0,
                sustained_rate: 3_000.0,
                burst_seconds: 42.0,
                credit: 250_000.0,
                credit_error: 0.0,
                window_seconds: 1.0,
                per_cpu_second: None,
            },
            cause,
            rest_seconds: Some(120.0),
            at: UnixNanos(1_795_221_791_000_000_000),
        };
        let disturbed = |throttled, change| {
            Finding::Disturbed(Disturbed {
                share: 0.26,
                steal: Some(0.2),
                foreign_cpu: Some(0.1),
                throttled: Some(throttled),
                change,
            })
        };
        let mut all = vec![
            Finding::TooShort { windows: 7 },
            Finding::TooShort { windows: 70 },
            burst(Some(Cause::TokenBucket)),
            burst(Some(Cause::Unknown)),
            burst(None),
            Finding::Step {
                at: UnixNanos(1_795_221_791_000_000_000),
                after_seconds: 12.0,
                from: 8_000.0,
                to: 12_000.0,
            },
            Finding::Ramp {
                change: 0.1,
                interval: (0.05, 0.2),
                seconds: 60.0,
            },
            Finding::TwoState {
                low: 1_000.0,
                high: 2_000.0,
                low_share: 0.3,
                dwell_seconds: 4.0,
            },
            Finding::Periodic {
                seconds: 17.0,
                depth: 0.2,
            },
            Finding::Unstable {
                levels: 4,
                low: 1_000.0,
                high: 2_000.0,
            },
            Finding::Steady {
                level: 1_000.0,
                slow_share: None,
            },
            Finding::Steady {
                level: 1_000.0,
                slow_share: Some(0.2),
            },
            Finding::PossibleRamp {
                level: 1_000.0,
                change: 0.04,
                interval: (-0.02, 0.1),
                seconds: 60.0,
            },
            disturbed(0.0, Some(-0.04)),
            disturbed(0.0, Some(0.001)),
            disturbed(1.0, None),
            Finding::NotSeen(stats::burst::NotSeen {
                seconds: 600.0,
                work: 4e6,
            }),
        ];
        for why in [
            Early::Unfinished,
            Early::Interrupted,
            Early::Failed,
            Early::Lapsed,
        ] {
            all.extend([0, 12].map(|lasted| Finding::EndedEarly {
                lasted: Nanos::from_secs(lasted),
                of: Nanos::from_secs(40),
                why,
            }));
        }
        all
    }

    #[test]
    fn every_finding_is_said_in_both_languages_with_the_same_figures() {
        let run = run();
        let soak = stats::soak::summarize(&run).unwrap();
        let digits = |text: &str| {
            let mut found: Vec<char> = text.chars().filter(char::is_ascii_digit).collect();
            found.sort_unstable();
            found
        };
        let mut seen = Vec::new();
        for finding in findings() {
            let [en, ja] = Lang::ALL.map(|lang| Figures::of(&soak, lang).clause(&finding));
            assert_eq!(digits(&en), digits(&ja), "{en} | {ja}");
            assert!(!ja.is_ascii() && !en.ends_with('.') && !ja.ends_with('。'));
            assert!(!seen.contains(&en), "said twice: {en}");
            seen.push(en);
        }
        assert!(!too_short(1, Lang::En).contains("windows"));
    }
}
