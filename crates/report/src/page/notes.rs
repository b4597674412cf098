//! What must be known beside the figures: what has no value and why, what was left out, warnings about the run, and the
//! notes to which the lines of the table refer.

use super::block::{Block, Text, Tone};
use super::plan::left_out_of;
use crate::lang::{Lang, say};
use crate::number;
use crate::said;
use crate::view::RunView;
use model::params::budget_text;
use model::warning::Warning;
use stats::{Noted, Trust};

/// A section for each kind of note.
pub(crate) fn blocks(view: &RunView<'_>, lang: Lang) -> Vec<Block> {
    let dropped = left_out_of(&view.run.plan, lang).into_iter();
    let dropped = dropped.map(|(what, why)| (Text::name(what), why));
    let warnings = about_run(view, lang).into_iter();
    let warnings = warnings.map(|line| (Text::sign("!"), Text::with(Tone::Attention, line)));
    let section = |heading: &str, facts| Block::section(heading, vec![facts]);
    vec![
        section(
            lang.pick("without a value", "値が得られなかった項目"),
            Block::facts(without_value(view, lang)),
        ),
        section(
            lang.pick("left out of the plan", "計画から外した項目"),
            Block::facts(dropped),
        ),
        section(lang.pick("warnings", "警告"), Block::facts(warnings)),
        section(lang.pick("notes", "注"), Block::facts(notes(view, lang))),
    ]
}

/// Name and reason of each metric without a value; once per case where the whole case has none.
fn without_value(view: &RunView<'_>, lang: Lang) -> Vec<(Text, String)> {
    let mut list: Vec<(Text, String)> = Vec::new();
    let mut spread_out = false;
    for metric in view
        .metrics
        .iter()
        .filter(|metric| metric.estimate.is_none())
    {
        let name = Text::name(view.name(metric));
        if metric.rounds.is_empty()
            && let Some(failure) = view.last_failure(&metric.id.case)
        {
            let why = said::failure(failure, lang);
            // Its note may have the same words.
            let noted = |warning: &Warning| matches!(warning, Warning::RoundsFailed { reason, .. } if *reason == why);
            if view.leads(metric) && !metric.warnings.iter().any(noted) {
                list.push((name, why));
            }
            continue;
        }
        if !metric.rounds.is_empty() && !stats::state::has_single_number(&metric.state) {
            spread_out = true;
            continue;
        }
        list.push((name, said::missing(metric.missing.as_deref(), lang)));
    }
    if spread_out {
        // Once for all: the state column says of which metrics it is true.
        let states = lang.pick("unstable, two states", "不安定・二つの水準");
        let why = lang.pick(
            "no single number describes the rounds; what stands in the place of an interval is their range",
            "ラウンドを一つの数値では表せないため、信頼区間の代わりに範囲を示しています",
        );
        list.push((states.into(), why.to_owned()));
    }
    list
}

/// The warnings about the run as a whole. Where its budget was too short, what it should have been, unless what was
/// left out for want of time says that already: one piece of advice is enough.
pub(crate) fn about_run(view: &RunView<'_>, lang: Lang) -> Vec<String> {
    let advised = view.run.plan.dropped.iter().any(|one| one.needs.is_some());
    let line = |warning: &Warning| {
        let line = said::warning(warning, lang);
        if let Warning::BudgetShort = warning
            && !advised
            && let Some((time, room)) = stats::six_passes::of(view.run)
        {
            let (time, room) = (number::duration(time, lang), budget_text(room));
            return say!(
                lang,
                "{line}; here six passes of these rounds take about {time}: try `--budget {room}` or more",
                "{line}（この測定では 6 巡に約 {time} かかります。`--budget {room}` 以上で試してください）"
            );
        }
        line
    };
    let warnings = view.run.meta.warnings.iter();
    // A build that is slower than it must be stands in the first lines.
    let said_above = |of: &&Warning| view.trust == Trust::DebugBuild && **of == Warning::DebugBuild;
    warnings.filter(|of| !said_above(of)).map(line).collect()
}

/// Number and sentence of each note, and whose figures the notes tell. The page of a soak has no table whose lines
/// could refer to them, and they are all about its one case.
fn notes(view: &RunView<'_>, lang: Lang) -> Vec<(Text, String)> {
    let notes = &view.noted;
    if view.soak.is_some() {
        let of_soak = |note: &Noted| said::warning_of_soak(&note.warning, lang);
        let sign = |sentence| (Text::sign("!"), sentence);
        return notes.iter().map(of_soak).map(sign).collect();
    }
    let range = lang.pick(
        "; what stands in its place is the range of the rounds",
        "。代わりにラウンドの範囲を示しています",
    );
    let told = |(note, n): (&Noted, u32)| {
        let is_range = note.rounds_most.is_some_and(|most| most > 1);
        let range = if is_range { range } else { "" };
        (Text::sign(format!("[{n}]")), sentence(note, lang) + range)
    };
    let mut list: Vec<(Text, String)> = notes.iter().zip(1..).map(told).collect();
    if notes.iter().any(is_shared) {
        let worst = lang.pick(
            "the figures of a note about several metrics are those of the worst of them",
            "複数の項目に共通する注の数値は、そのうち最も悪い項目のものです",
        );
        list.push((Text::sign("-"), worst.to_owned()));
    }
    list
}

/// Whether a note tells figures of the worst of several metrics.
fn is_shared(note: &Noted) -> bool {
    note.metrics > 1 && note.warning.severity().is_some()
}

/// A note in words, with the figures of the worst metric that has it.
pub(crate) fn sentence(note: &Noted, lang: Lang) -> String {
    let sentence = match (&note.warning, note.rounds_most) {
        (Warning::TooFewRounds { have, need }, Some(most)) if most > *have => {
            too_few_between(*have, most, *need, lang)
        }
        (warning, _) => said::warning(warning, lang),
    };
    if !is_shared(note) {
        return sentence;
    }
    let n = note.metrics;
    let metrics = number::counted(n, "metric", "metrics");
    say!(lang, "{sentence} ({metrics})", "{sentence}（{n} 項目）")
}

/// Too few rounds of several metrics: the fewest, the most, and how many it takes.
fn too_few_between(fewest: u32, most: u32, need: u32, lang: Lang) -> String {
    say!(
        lang,
        "only {fewest} to {most} rounds; a 95 % interval needs {need}",
        "ラウンドが {fewest} から {most} しかありません。95 % 信頼区間には {need} ラウンド必要です"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_rounds_of_several_metrics_are_said_from_the_fewest_to_the_most() {
        let said = Lang::ALL.map(|lang| too_few_between(1, 2, 6, lang));
        assert_eq!(said[0], "only 1 to 2 rounds; a 95 % interval needs 6");
        assert!(said[1].contains("1 から 2 し"), "{}", said[1]);
    }
}
