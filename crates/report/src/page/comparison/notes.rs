//! What a comparison says beside its table: runs of one side that are no separate instances, what took time from the
//! rounds, rounds that have no single level or changed it, slow moments that tell another story than the typical rate,
//! why no number of rounds would tell, what is in doubt, and what runs of one machine differ by.

use super::refusal::side as side_in_words;
use super::table::verdict;
use crate::comparison::{Compared, Party, has_level};
use crate::grouped::grouped;
use crate::lang::{Lang, say};
use crate::number::percent;
use crate::page::first::name_of_category;
use crate::said;
use model::comparison::{
    Both, Estimator, FloorComparison, Hopeless, Inside, MetricComparison, Repeat, RunState,
    Scatter, ScatterSource, Verdict,
};
use model::estimate::{Interval, State};

/// The notes, in the order of the metrics; what concerns the runs comes first.
pub(super) fn notes(of: Compared<'_>) -> Vec<String> {
    let (sides, comparison, lang) = (of.sides, of.comparison, of.lang);
    let mut notes = repeats(of);
    let [base, other] = sides.names(lang);
    let disturbed = &comparison.disturbed;
    for (name, warnings) in [(&base, &disturbed.base), (&other, &disturbed.other)] {
        let said = warnings.iter().map(|warning| said::warning(warning, lang));
        notes.extend(said.map(|said| format!("{name}: {said}")));
    }
    notes.extend(levels(&base, true, of));
    notes.extend(levels(&other, false, of));
    for metric in &comparison.metrics {
        let floor = metric.floor.as_ref();
        if let Some(floor) = floor.filter(|floor| differs(floor, metric.adjusted)) {
            let name = sides.metric_name(&metric.id);
            notes.extend(slow_moments(&name, &other, metric.adjusted, floor, lang));
        }
    }
    for why in Hopeless::ALL {
        let list = names(of, |metric| metric.hopeless == Some(why));
        if !list.is_empty() {
            notes.push(format!("{list}: {}", hopeless(why, lang)));
        }
    }
    notes.extend(doubts(of));
    notes.extend(dependence(of));
    notes.extend(scatter(of));
    notes.extend(earlier(of));
    notes
}

/// Runs of one side that are no separate instances, a sentence for each instance.
pub(super) fn repeats(of: Compared<'_>) -> Vec<String> {
    let repeats = of.comparison.repeats.iter();
    repeats.map(|repeat| repeated(repeat, of)).collect()
}

/// The names of the metrics of which this is true.
fn names(of: Compared<'_>, true_of: impl Fn(&MetricComparison) -> bool) -> String {
    let metrics = of.comparison.metrics.iter();
    let found = metrics.filter(|metric| true_of(metric));
    let names = found.map(|metric| of.sides.metric_name(&metric.id));
    names.collect::<Vec<_>>().join(", ")
}

/// Runs of one side that are no separate instances.
fn repeated(repeat: &Repeat, of: Compared<'_>) -> String {
    let [base, other] = of.sides.both();
    let runs = if repeat.on_base { base } else { other }.runs();
    let name = |id: &String| {
        let run = runs.iter().find(|run| run.meta.id == *id);
        run.and_then(|run| run.meta.label.clone())
            .unwrap_or_else(|| id.clone())
    };
    let list = repeat.runs.iter().map(name).collect::<Vec<_>>().join(", ");
    let (lang, side) = (of.lang, side_in_words(repeat.on_base, of.lang));
    let what = if repeat.sure {
        lang.pick(
            "come from one instance",
            "は同じインスタンスで測定したものです",
        )
    } else {
        lang.pick(
            "cannot be told apart and may come from one instance",
            "は同じインスタンスかどうか判別できません",
        )
    };
    say!(
        lang,
        "{side}: {list} {what}; a plan takes five separate ones a side",
        "{side}の {list} {what}。プランの比較には、各側 5 台の別々のインスタンスが必要です"
    )
}

/// Of a side, which metrics have no single level, and which changed theirs during the run: what the runs by themselves
/// say.
fn levels(name: &str, is_base: bool, of: Compared<'_>) -> Vec<String> {
    let [base, other] = of.sides.both();
    let side = if is_base { base } else { other };
    let list = |concerned: fn(&RunState) -> bool| {
        let metrics = of.comparison.metrics.iter().filter(|m| m.ratio.is_some());
        let found = metrics.filter_map(|metric| {
            let Both { base, other } = &metric.states;
            let states = if is_base { base } else { other };
            let name = of.sides.metric_name(&metric.id);
            among(&name, states, side, concerned, of.lang)
        });
        Some(found.collect::<Vec<_>>().join(", ")).filter(|list| !list.is_empty())
    };
    let torn = list(|of| !has_level(of));
    let torn = torn.map(|list| {
        say!(
            of.lang,
            "{name}: no single level in {list}: `kurabe show` gives no value there; what stands in the table is a mean, \
             at which the machine may never run",
            "{name}: 一つの水準に落ち着いていない項目があります。{list}。`kurabe show` では値を示しません。\
             表の値は平均で、実際にその速度で動くとは限りません"
        )
    });
    let changed = list(|of| matches!(of.state, State::Drifting { .. } | State::Step { .. }));
    let changed = changed.map(|list| {
        say!(
            of.lang,
            "{name}: the level changed during the run in {list}: the figures are about the whole of it, and another \
             hour may tell otherwise",
            "{name}: 測定中に水準が変わった項目があります。{list}。値は測定全体についてのもので、\
             別の時間帯では異なる可能性があります"
        )
    });
    torn.into_iter().chain(changed).collect()
}

/// The metric, where some of the runs are concerned, with what that one looks like or how many of them are.
fn among(
    metric: &str,
    states: &[RunState],
    side: &Party<'_>,
    concerned: impl Fn(&RunState) -> bool,
    lang: Lang,
) -> Option<String> {
    let found: Vec<&RunState> = states.iter().filter(|of| concerned(of)).collect();
    let first = found.first()?;
    let how = if side.is_group() {
        let (n, of) = (found.len(), states.len());
        say!(lang, "in {n} of {of} runs", "{of} 件中 {n} 件")
    } else {
        said::state(&first.state, lang)
    };
    Some(with_remark(metric, &how, lang))
}

/// A name with what its rounds look like, or with how many metrics it stands for.
pub(super) fn with_remark(name: &str, remark: &str, lang: Lang) -> String {
    say!(lang, "{name} ({remark})", "{name}: {remark}")
}

/// True where slow moments surely differ, and not in the direction in which the typical rate does.
fn differs(floor: &FloorComparison, typical: Verdict) -> bool {
    let floor = floor.adjusted.without_doubt();
    matches!(floor, Verdict::Better | Verdict::Worse) && floor != typical.without_doubt()
}

/// Slow moments tell another story than the typical rate.
fn slow_moments(
    metric: &str,
    other: &str,
    typical: Verdict,
    floor: &FloorComparison,
    lang: Lang,
) -> Option<String> {
    let (ratio, Interval { lo, hi, .. }) = (floor.ratio?, floor.interval?);
    let faster = ratio > 1.0;
    // The nearer end of the interval first: 15 % .. 25 % slower.
    let (near, far) = if faster { (lo, hi) } else { (hi, lo) };
    let change = |ratio: f64| percent(if faster { ratio - 1.0 } else { 1.0 - ratio });
    let range = format!("{} .. {}", change(near), change(far));
    let change = change(ratio);
    let shares = match floor.slow_shares {
        Both {
            base: Some(base),
            other: Some(other),
        } => say!(
            lang,
            "; windows below 90 % of the typical rate: {base} and {other}",
            "。通常の 90 % を下回る区間の割合は {base} と {other} です",
            base = percent(base),
            other = percent(other)
        ),
        _ => String::new(),
    };
    let typically = verdict(typical.without_doubt(), lang);
    let [faster_or, slower] = lang.pick(["faster", "slower"], ["速く", "遅く"]);
    let direction = if faster { faster_or } else { slower };
    Some(say!(
        lang,
        "{metric}: the verdict is {typically}, but {other}'s slow moments are {change} {direction} ({range}){shares}",
        "{metric}: 判定は{typically}ですが、遅い瞬間では {other} が {change} {direction}なっています（{range}）{shares}"
    ))
}

/// Why no number of rounds would tell.
fn hopeless(why: Hopeless, lang: Lang) -> &'static str {
    match why {
        Hopeless::OnTheMargin => lang.pick(
            "the ratio lies on the margin, where no number of rounds tells; another `--margin` would",
            "比がちょうど許容差の境目にあり、回数を増やしても判定できません。`--margin` を変えると判定できる可能性があります",
        ),
        Hopeless::Steal => lang.pick(
            "not at this noise level: the host takes time away in most of the rounds; another hour may be quieter",
            "ばらつき大のため困難: ほとんどのラウンドでホストに時間を奪われています。別の時間帯のほうが静かな可能性があります",
        ),
        Hopeless::BetweenRounds => lang.pick(
            "not at this noise level: rounds differ among themselves; passes spread over more time would say more than more of them",
            "ばらつき大のため困難: ラウンドごとの差が大きく、回数よりも、長い時間に分散して測定するほうが有効です",
        ),
        Hopeless::WithinRounds => lang.pick(
            "not at this noise level: the scatter is within the rounds; longer rounds would say more than more of them",
            "ばらつき大のため困難: ラウンドの中のばらつきが大きく、回数よりもラウンドを長くするほうが有効です",
        ),
        Hopeless::BetweenInstances => lang.pick(
            "not at this noise level: the instances differ among themselves",
            "ばらつき大のため困難: インスタンスごとの差が大きいためです",
        ),
        Hopeless::BetweenRuns => lang.pick(
            "runs of one machine differ by as much; a duel, three runs a side (20 minutes or more apart), or `--spread 2h` would tell, more rounds do not",
            "同じマシンの測定どうしの差と同程度です。回数を増やしても判定できません。デュエル、20 分以上空けた各側 3 回の測定、または `--spread 2h` が有効です",
        ),
        Hopeless::Unseen => lang.pick(
            "not at this noise level; where the scatter comes from cannot be seen",
            "ばらつき大のため困難: ばらつきの原因は記録からは分かりません",
        ),
    }
}

/// What the runs of either machine differ by, and who says so: a note for all metrics that have the same.
fn scatter(of: Compared<'_>) -> Vec<String> {
    let metrics = of.comparison.metrics.iter();
    let known = metrics.filter_map(|metric| {
        let Both { base, other } = metric.scatter;
        let said = [base?, other?].map(|scatter| scattered(&scatter, of.lang));
        Some((said, of.sides.metric_name(&metric.id)))
    });
    let note = |([base, other], names): ([String; 2], Vec<String>)| {
        let names = names.join(", ");
        let said = if base == other {
            base
        } else {
            say!(
                of.lang,
                "{base} on the base's side, {other} on the other",
                "基準側は {base}、比較対象側は {other}"
            )
        };
        say!(
            of.lang,
            "{names}: runs of one machine differ by {said}",
            "{names}: 同じマシンの測定どうしの差: {said}"
        )
    };
    grouped(known).into_iter().map(note).collect()
}

/// A scatter with its source.
fn scattered(scatter: &Scatter, lang: Lang) -> String {
    let fixed = |english: &'static str, japanese| lang.pick(english, japanese).to_owned();
    let source = match scatter.source {
        ScatterSource::Given => fixed("as the runs of the side show", "その側の測定による"),
        ScatterSource::Earlier { runs } => say!(
            lang,
            "as {runs} earlier runs of it show",
            "そのマシンの以前の測定 {runs} 件による"
        ),
        ScatterSource::Shipped { runs } => say!(
            lang,
            "as {runs} runs on a machine of the project showed",
            "開発元のマシンでの測定 {runs} 件による"
        ),
        ScatterSource::Class => fixed(
            "a guess for tests of this kind: nobody has measured this one",
            "この種のテストの目安。このテストの実測値はまだありません",
        ),
        ScatterSource::Asked => fixed("as asked for", "指定による"),
    };
    let deviation = percent(scatter.deviation);
    say!(lang, "{deviation} ({source})", "{deviation}（{source}）")
}

/// Which earlier runs were asked.
fn earlier(of: Compared<'_>) -> Vec<String> {
    let Both { base, other } = &of.comparison.earlier;
    let sides = [(true, base), (false, other)].into_iter();
    let asked = sides.filter(|(_, runs)| !runs.is_empty());
    let note = |(is_base, runs): (bool, &Vec<String>)| {
        let (side, runs) = (side_in_words(is_base, of.lang), runs.join(", "));
        say!(
            of.lang,
            "earlier runs of the machine of the {side}: {runs}",
            "{side}のマシンの以前の測定: {runs}"
        )
    };
    asked.map(note).collect()
}

/// How far neighbouring rounds are taken to depend on one another, where that widens the intervals by a tenth or more.
/// Pairs and instances do without it.
fn dependence(of: Compared<'_>) -> Option<String> {
    let Both { base, other } = &of.comparison.dependence;
    let taken = base.iter().chain(other).copied().fold(0.0, f64::max);
    let mut metrics = of.comparison.metrics.iter();
    let widened = metrics.any(|metric| metric.interval.is_some());
    (of.comparison.estimator == Estimator::Rounds && widened && taken >= DEPENDENCE_TOLD).then(|| {
        say!(
            of.lang,
            "neighbouring rounds are taken to depend on one another (by {taken:.2} where 1 is wholly; a run of one test \
             hardly shows it, and leans on a chosen value): the intervals are wider for it",
            "隣り合うラウンドは互いに独立ではないとみなしています（1 を完全な依存として {taken:.2}。テストが一つだけの測定では \
             ほとんど分からないため、あらかじめ決めた値に寄ります）。区間はその分広くなっています"
        )
    })
}

/// A dependence from which on it is told.
const DEPENDENCE_TOLD: f64 = 0.2;

/// The differences that hold only with rounds which something inside of a machine disturbed.
pub(super) fn doubts(of: Compared<'_>) -> Vec<String> {
    let lang = of.lang;
    let causes = [Inside::Others, Inside::Quota, Inside::Memory].into_iter();
    let told = causes.filter_map(|cause| {
        let list = doubted(of, cause).join(", ");
        let by = match cause {
            Inside::Others => lang.pick(
                "other programs used a CPU",
                "ほかのプログラムが CPU を使った",
            ),
            Inside::Quota => {
                lang.pick("a CPU quota held the work back", "CPU クォータに抑えられた")
            }
            Inside::Memory => lang.pick("memory was short", "メモリーが不足した"),
        };
        let said = say!(
            lang,
            "{list}: in doubt, for {by} in some rounds: measure again",
            "{list}: 一部のラウンドで{by}ため不確かです。再測定してください"
        );
        (!list.is_empty()).then_some(said)
    });
    told.collect()
}

/// What is in doubt for that cause. A category of one metric is that metric.
fn doubted(of: Compared<'_>, cause: Inside) -> Vec<String> {
    let metrics = of.comparison.metrics.iter().flat_map(|metric| {
        let name = of.sides.metric_name(&metric.id);
        let slow = metric.floor.and_then(|floor| floor.doubt) == Some(cause);
        let slow = slow.then(|| say!(of.lang, "slow moments of {name}", "{name} の遅い瞬間"));
        let typical = (metric.doubt == Some(cause)).then_some(name);
        typical.into_iter().chain(slow)
    });
    let categories = of.comparison.categories.iter();
    let categories = categories.filter(|one| one.doubt == Some(cause) && one.metrics > 1);
    let categories = categories.map(|one| name_of_category(&one.category, of.lang).to_owned());
    metrics.chain(categories).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::Sides;
    use crate::testkit;
    use model::comparison::Comparison;

    #[test]
    fn dependence_is_told_where_it_widens_intervals() {
        let (base, other, mut comparison) = testkit::comparison();
        let (base, other) = (Party::one(&base), Party::one(&other));
        let sides = Sides {
            base: &base,
            other: &other,
        };
        let told = |comparison: &Comparison| {
            let said = Lang::ALL.map(|lang| {
                dependence(Compared {
                    sides,
                    comparison,
                    lang,
                })
            });
            for (said, lang) in said.iter().zip(Lang::ALL) {
                testkit::assert_sentences(said.as_slice(), lang);
            }
            said[0].clone().unwrap_or_default()
        };
        comparison.dependence = (vec![0.25], vec![0.35]).into();
        assert!(told(&comparison).contains("(by 0.35 where"));
        comparison.dependence = (vec![0.1], vec![0.15]).into();
        assert_eq!(told(&comparison), "");
        comparison.dependence = (vec![0.25], vec![0.35]).into();
        for estimator in [Estimator::Runs, Estimator::Pairs] {
            comparison.estimator = estimator;
            assert_eq!(told(&comparison), "");
        }
    }

    #[test]
    fn every_reason_and_every_story_is_said_in_every_language() {
        let floor = |ratio: f64, verdict| FloorComparison {
            ratio: Some(ratio),
            interval: Some(Interval {
                lo: ratio - 0.05,
                hi: ratio + 0.05,
                confidence: 0.95,
            }),
            verdict,
            adjusted: verdict,
            values: Both::default(),
            medians: Both::default(),
            doubt: None,
            slow_shares: (Some(0.03), Some(0.12)).into(),
        };
        for lang in Lang::ALL {
            let mut all: Vec<String> = Hopeless::ALL
                .map(|why| hopeless(why, lang).to_owned())
                .to_vec();
            for (typical, ratio, found) in [
                (Verdict::Same, 0.8, Verdict::Worse),
                (Verdict::Better, 0.8, Verdict::Worse),
                (Verdict::Worse, 1.2, Verdict::Better),
                (Verdict::Unclear, 1.2, Verdict::Better),
            ] {
                let floor = floor(ratio, found);
                assert!(differs(&floor, typical));
                let said = slow_moments("os.pipe@1", "b", typical, &floor, lang).unwrap();
                assert!(
                    said.contains("20 %") && said.contains("15 % .. 25 %"),
                    "{said}"
                );
                all.push(said);
            }
            testkit::assert_sentences(&all, lang);
        }
    }
}
