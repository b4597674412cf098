//! Which run a page is about.

use crate::duel;
use crate::lang::{Lang, say};
use crate::number;
use model::origin::Origin;
use model::plan::CaseId;
use model::record::{End, Round, Run};
use model::units::{Nanos, UnixNanos};

/// `ID "label", start, duration, how it ended; program`. A soak is about one case, which no table names.
pub(crate) fn line(run: &Run, lang: Lang) -> String {
    let meta = &run.meta;
    let label = meta.label.as_ref();
    let label = label.map_or_else(String::new, |label| format!(" \"{label}\""));
    let case = soaked(run);
    let mut parts: Vec<String> = case.map(ToString::to_string).into_iter().collect();
    parts.push(began(run, number::instant, lang));
    let span = took(run, lang);
    parts.extend(span.map(|span| say!(lang, "took {span}", "所要時間 {span}")));
    parts.push(end(run, lang));
    let (id, parts, binary) = (&meta.id, parts.join(", "), &meta.binary);
    let program = meta.origin.as_deref().map_or_else(
        || format!("kurabe {} ({})", binary.version, binary.build),
        Origin::who,
    );
    format!("{id}{label}  {parts}; {program}")
}

/// When it began, told so; of an imported run that may not be known.
pub(crate) fn began(run: &Run, told: fn(UnixNanos) -> String, lang: Lang) -> String {
    let origin = run.meta.origin.as_deref();
    if origin.is_some_and(|origin| origin.when.known().is_none()) {
        return lang.pick("date unknown", "日時不明").to_owned();
    }
    told(run.meta.started)
}

/// How long it took; `None` where it is not finished, or another program measured.
pub(crate) fn took(run: &Run, lang: Lang) -> Option<String> {
    let finished = run.meta.finished.filter(|_| run.meta.origin.is_none())?;
    let span = finished.0.saturating_sub(run.meta.started.0);
    Some(number::duration(Nanos(span), lang))
}

/// The case of a soak; `None` for every other run.
pub(crate) fn soaked(run: &Run) -> Option<&CaseId> {
    run.plan.soak?;
    run.plan.cases.first().map(|case| &case.id)
}

/// The word for an end.
pub(crate) fn end_word(end: End, lang: Lang) -> &'static str {
    match end {
        End::Open => lang.pick("unfinished", "未完了"),
        End::Complete => lang.pick("complete", "完了"),
        End::Interrupted => lang.pick("interrupted", "中断（途中まで）"),
    }
}

/// How it ended. A side of a duel tells its failed rounds here too: each of them cost a pair.
fn end(run: &Run, lang: Lang) -> String {
    let end = end_word(run.meta.end, lang);
    match run.rounds.iter().filter_map(Round::failure).count() {
        failed @ 1.. if run.plan.duel.is_some() => duel::end(end, failed, run.rounds.len(), lang),
        _ => end.to_owned(),
    }
}
