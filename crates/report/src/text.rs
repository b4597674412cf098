//! A run for people, on a terminal.
//!
//! From top to bottom: which run, which machine, one line per metric, the UnixBench-style index, what has no value and
//! why, the notes, and what to type next. Where the table is wider than the terminal, each metric takes two lines
//! instead; nothing is cut off.

use crate::duel;
use crate::host;
use crate::loaded;
use crate::marks::Note;
use crate::memory;
use crate::number;
use crate::scaling;
use crate::set_otherwise;
use crate::set_up;
use crate::storage;
use crate::style::Style;
use crate::table::{Grid, indent, wrapped};
use crate::view::{RunView, index_text};
use crate::words::{Lang, Words};
use dialects::printable::printable;
use model::estimate::{IndexSummary, MetricSummary};
use model::num::round_to_u64;
use model::plan::CaseId;
use model::record::{End, Run};
use model::warning::Warning;

/// The run as text.
pub fn text(view: &RunView<'_>, style: Style, lang: Lang) -> String {
    let words = lang.words();
    let mut page = Page {
        out: String::new(),
        style,
    };
    page.out.push_str(&title(view.run, style, words));
    page.block(None, &facts(view, style, words));
    if let Some(soak) = &view.soak {
        crate::soak::text(&mut page, soak, view, words);
    } else {
        page.block(None, &metrics(view, style, words));
        page.block(Some(words.run.set_up), &set_up::block(view, style, words));
    }
    page.block(
        Some(words.storage.heading),
        &storage::block_of(view, style, words),
    );
    page.block(
        Some(words.memory.heading),
        &memory::block(view, style, words),
    );
    page.block(
        Some(words.loaded.heading),
        &loaded::block(view, style, words),
    );
    page.block(
        Some(words.scaling.heading),
        &scaling::block(view, style, words),
    );
    page.block(Some(words.run.index), &indexes(view, style, words));
    page.block(
        Some(words.run.without_value),
        &pairs(&without_value(view, words), style),
    );
    page.block(Some(words.run.dropped), &pairs(&dropped(view.run), style));
    page.block(Some(words.run.warnings), &run_warnings(view, style, words));
    page.block(Some(words.run.notes), &pairs(&notes(view, words), style));
    page.block(Some(words.run.next), &commands(&next(view, words), style));
    page.out
}

/// The page being written.
pub(crate) struct Page {
    pub(crate) out: String,
    pub(crate) style: Style,
}

impl Page {
    /// Appends a block after an empty line: under its heading and indented, or as it stands. Empty blocks vanish.
    pub(crate) fn block(&mut self, heading: Option<&str>, text: &str) {
        if text.is_empty() {
            return;
        }
        self.out.push('\n');
        match heading {
            Some(heading) => {
                self.out.push_str(&self.style.heading(heading));
                self.out.push('\n');
                self.out.push_str(&indent(text));
            }
            None => self.out.push_str(text),
        }
    }
}

/// Pairs of a name and a sentence, the sentences broken to fit under a heading.
pub(crate) fn pairs(list: &[(String, String)], style: Style) -> String {
    let mut grid = Grid::new(2);
    for (name, text) in list {
        grid.row(vec![name.clone(), text.clone()]);
    }
    if grid.is_empty() {
        return String::new();
    }
    grid.render_wrapped(style.columns() - 2, &[])
}

/// Commands, each with what it does behind it; below it where the terminal is too narrow, for a command that is
/// broken over lines cannot be copied.
fn commands(list: &[(String, String)], style: Style) -> String {
    let mut grid = Grid::new(2);
    for (command, explanation) in list {
        grid.row(vec![command.clone(), explanation.clone()]);
    }
    if grid.width() <= style.columns() - 2 {
        return grid.render(&[]);
    }
    let lines: Vec<String> = list
        .iter()
        .map(|(command, explanation)| format!("{command}\n  {explanation}"))
        .collect();
    lines.join("\n") + "\n"
}

/// `ID "label", start, duration, how it ended; program`. A soak is about one case, which no table names.
pub(crate) fn run_line(run: &Run, words: &Words) -> String {
    let meta = &run.meta;
    let label = meta
        .label
        .as_ref()
        .map_or_else(String::new, |label| format!(" \"{label}\""));
    let case = soaked(run);
    let mut parts: Vec<String> = case.map(ToString::to_string).into_iter().collect();
    parts.push(number::instant(meta.started));
    if let Some(finished) = meta.finished {
        let span = model::units::Nanos(finished.0.saturating_sub(meta.started.0));
        parts.push((words.run.took)(&number::duration(span)));
    }
    parts.push(end(run, words));
    printable(&format!(
        "{}{label}  {}; kurabe {} ({})",
        meta.id,
        parts.join(", "),
        meta.binary.version,
        meta.binary.build
    ))
}

/// The case of a soak; `None` for every other run.
pub(crate) fn soaked(run: &Run) -> Option<&CaseId> {
    run.plan.soak?;
    run.plan.cases.first().map(|case| &case.id)
}

/// How it ended. A side of a duel tells its failed rounds here too: each of them cost a pair.
fn end(run: &Run, words: &Words) -> String {
    let end = (words.run.end)(run.meta.end);
    let end = match duel::failed_of(run) {
        (failed @ 1.., of) if run.plan.duel.is_some() => (words.duel.end)(end, failed, of),
        _ => end.to_owned(),
    };
    // A run that is not complete has more to say than what it never was to measure.
    match run.plan.dropped.len() {
        left_out @ 1.. if run.meta.end == End::Complete => {
            format!("{end}, {}", (words.run.left_out)(left_out))
        }
        _ => end,
    }
}

fn title(run: &Run, style: Style, words: &Words) -> String {
    let mut out: String = wrapped(&run_line(run, words), style.columns())
        .lines()
        .map(|line| style.heading(line) + "\n")
        .collect();
    if !run.meta.tags.is_empty() {
        let tags: Vec<String> = run
            .meta
            .tags
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        out.push_str(&indent(&printable(&tags.join(" "))));
    }
    out
}

fn facts(view: &RunView<'_>, style: Style, words: &Words) -> String {
    pairs(&facts_of(view, words), style)
}

/// Which machine, and what the figures are about.
pub(crate) fn facts_of(view: &RunView<'_>, words: &Words) -> Vec<(String, String)> {
    let mut list = host::brief(&view.run.host, &words.host);
    list.extend(host::works_on(&view.run.plan, &words.host));
    list.extend(duel::fact(view.run, words));
    list.extend(scaling::facts(view, words));
    list.extend(set_otherwise::facts(view, words));
    if !view.run.rounds.is_empty() {
        let scope = (words.comparison.scope)(&stats::scope::of_run(view.run));
        list.push((words.run.scope.to_owned(), scope));
    }
    list
}

fn metrics(view: &RunView<'_>, style: Style, words: &Words) -> String {
    if view.metrics.is_empty() {
        return format!("{}\n", words.run.nothing);
    }
    let mut grid = Grid::with_header(&words.metric_headings());
    for metric in view.measured() {
        let shown = view.shown(metric);
        grid.row(vec![
            view.name_in_table(metric),
            shown.value,
            shown.unit,
            shown.interval,
            shown.rounds,
            state(metric, words),
            view.marks.of(&metric.warnings),
        ]);
    }
    if grid.width() <= style.columns() {
        return grid.render(&[1, 3, 4]);
    }
    view.measured()
        .map(|metric| narrow(view, metric, words))
        .collect()
}

/// What the metric looks like. Rounds of which none has a value are not too few of them.
pub(crate) fn state(metric: &MetricSummary, words: &Words) -> String {
    if metric.estimate.is_none() && metric.rounds.is_empty() {
        words.run.no_value.to_owned()
    } else {
        (words.state)(&metric.state)
    }
}

/// A metric on two lines, for terminals that are too narrow for the table.
fn narrow(view: &RunView<'_>, metric: &MetricSummary, words: &Words) -> String {
    let shown = view.shown(metric);
    let name = view.name(metric) + view.mark(metric);
    let mut head = format!("{name}  {} {}", shown.value, shown.unit);
    let marks = view.marks.of(&metric.warnings);
    if !marks.is_empty() {
        head = format!("{head}  {marks}");
    }
    let state = state(metric, words);
    let label = if shown.is_range {
        words.run.range
    } else {
        words.run.interval
    };
    format!(
        "{}\n  {label} {}; {} {}; {state}\n",
        head.trim_end(),
        shown.interval,
        words.run.rounds,
        shown.rounds,
    )
}

fn indexes(view: &RunView<'_>, style: Style, words: &Words) -> String {
    let mut grid = Grid::with_header(&["", words.run.value, words.run.interval, ""]);
    for index in &view.indexes {
        let (value, interval) = index
            .estimate
            .as_ref()
            .map_or_else(|| (number::NONE.to_owned(), None), index_text);
        grid.row(vec![
            (words.run.copies)(index.copies),
            value,
            interval.unwrap_or_else(|| number::NONE.to_owned()),
            index_remarks(index, words).join("; "),
        ]);
    }
    if grid.is_empty() {
        return String::new();
    }
    grid.render_wrapped(style.columns() - 2, &[1, 2])
}

/// What must be known to read an index rightly.
pub(crate) fn index_remarks(index: &IndexSummary, words: &Words) -> Vec<String> {
    let of = dialects::unixbench::TESTS.len();
    let mut remarks: Vec<String> = Vec::new();
    match (&index.compat, index.estimate) {
        (Some(version), Some(_)) => remarks.push((words.run.compat)(version)),
        (None, Some(estimate)) => remarks.push((words.run.passes)(estimate.n)),
        (_, None) => remarks.extend(index.missing.as_deref().map(printable)),
    }
    if index.partial {
        remarks.push((words.run.partial)(index.parts.len(), of));
    }
    remarks
}

/// Name and reason of each metric without a value; once per case where the whole case has none.
pub(crate) fn without_value(view: &RunView<'_>, words: &Words) -> Vec<(String, String)> {
    let mut list: Vec<(String, String)> = Vec::new();
    let mut spread_out = false;
    for metric in view
        .metrics
        .iter()
        .filter(|metric| metric.estimate.is_none())
    {
        let first = view.name(metric) == printable(&metric.id.case.to_string());
        if metric.rounds.is_empty()
            && let Some(failure) = view.last_failure(&metric.id.case)
        {
            let why = (words.failure)(failure);
            // Its note may have the same words.
            let noted = |warning: &Warning| matches!(warning, Warning::RoundsFailed { reason, .. } if *reason == why);
            if first && !metric.warnings.iter().any(noted) {
                list.push((view.name(metric), printable(&why)));
            }
            continue;
        }
        if !metric.rounds.is_empty() && !stats::state::has_single_number(&metric.state) {
            spread_out = true;
            continue;
        }
        let why = metric.missing.clone().unwrap_or_default();
        list.push((view.name(metric), printable(&why)));
    }
    if spread_out {
        // Once for all: the state column says of which metrics it is true.
        let (name, why) = words.run.unstable;
        list.push((name.to_owned(), why.to_owned()));
    }
    list
}

pub(crate) fn dropped(run: &Run) -> Vec<(String, String)> {
    run.plan
        .dropped
        .iter()
        .map(|dropped| (printable(&dropped.what), printable(&dropped.why)))
        .collect()
}

/// A warning as a safe line.
pub(crate) fn warning_line(warning: &Warning, words: &Words) -> String {
    printable(&(words.warning)(warning))
}

/// The warnings about the run as a whole. Where its budget was too short, what it should have been.
pub(crate) fn about_run(view: &RunView<'_>, words: &Words) -> Vec<String> {
    let line = |warning: &Warning| {
        let mut line = warning_line(warning, words);
        if let Warning::BudgetShort = warning
            && let Some((time, room)) = crate::six_passes::of(view.run)
        {
            let room = format!("{}s", round_to_u64(room.as_secs_f64()));
            line.push_str(&(words.run.six_passes_take)(&number::duration(time), &room));
        }
        line
    };
    stats::warnings::of_run(view.run)
        .into_iter()
        .map(line)
        .collect()
}

fn run_warnings(view: &RunView<'_>, style: Style, words: &Words) -> String {
    let mut grid = Grid::new(2);
    for line in about_run(view, words) {
        grid.row(vec!["!".to_owned(), line]);
    }
    if grid.is_empty() {
        return String::new();
    }
    grid.render_wrapped(style.columns() - 2, &[])
        .lines()
        .map(|line| style.attention(line) + "\n")
        .collect()
}

/// What stands before a note to which no number refers.
pub(crate) const NOTED: &str = "!";

/// What stands before what is said about the notes themselves.
pub(crate) const OF_NOTES: &str = "-";

/// Number and sentence of each note, and whose figures the notes tell. The page of a soak has no table whose lines
/// could refer to them, and they are all about its one case.
pub(crate) fn notes(view: &RunView<'_>, words: &Words) -> Vec<(String, String)> {
    let notes = view.marks.notes();
    if view.soak.is_some() {
        return notes
            .iter()
            .map(|note| (words.soak.warning)(&note.warning))
            .map(|sentence| (NOTED.to_owned(), printable(&sentence)))
            .collect();
    }
    let shared = |note: &Note| note.metrics > 1 && has_figures(&note.warning);
    let mut list: Vec<(String, String)> = notes
        .iter()
        .enumerate()
        .map(|(i, note)| {
            let mut sentence = match (&note.warning, note.rounds_most) {
                (Warning::TooFewRounds { have, need }, Some(most)) if most > *have => {
                    (words.run.too_few_between)(*have, most, *need)
                }
                (warning, _) => {
                    let several = note
                        .copies_differ
                        .then(|| (words.run.of_several_copies)(warning));
                    several
                        .flatten()
                        .unwrap_or_else(|| warning_line(warning, words))
                }
            };
            if note.rounds_most.is_some_and(|most| most > 1) {
                sentence.push_str(words.run.range_instead);
            }
            let text = if shared(note) {
                sentence + &(words.run.worst_of)(note.metrics)
            } else {
                sentence
            };
            (format!("[{}]", i + 1), text)
        })
        .collect();
    if notes.iter().any(shared) {
        list.push((OF_NOTES.to_owned(), words.run.worst.to_owned()));
    }
    list
}

/// Whether the sentence holds figures that differ from metric to metric.
fn has_figures(warning: &Warning) -> bool {
    !matches!(
        warning,
        Warning::WorkDirInMemory { .. }
            | Warning::DebugBuild
            | Warning::SlowClock { .. }
            | Warning::PartOfProcesses
            | Warning::BudgetShort
            | Warning::TargetMissed { .. }
            | Warning::Other(_)
    )
}

/// Commands that make sense now, each with what it does.
pub(crate) fn next(view: &RunView<'_>, words: &Words) -> Vec<(String, String)> {
    let id = printable(&view.run.meta.id);
    let mut list = vec![(
        format!("kurabe show {id} --format markdown"),
        words.run.next_show.to_owned(),
    )];
    if view.soak.is_some() {
        if !view.complete() {
            list.push((
                format!("kurabe soak --resume {id}"),
                words.soak.next_resume.to_owned(),
            ));
        }
        return list;
    }
    list.push(match duel::both_ids(view.run) {
        Some((a, b)) => (
            printable(&format!("kurabe compare {a} {b}")),
            words.duel.next_compare.to_owned(),
        ),
        None => (
            format!("kurabe compare OTHER {id}"),
            words.run.next_compare.to_owned(),
        ),
    });
    if !view.indexes.is_empty() {
        list.push((
            format!("kurabe show {id} --format unixbench"),
            words.run.next_unixbench.to_owned(),
        ));
    }
    if view.run.plan.of_fio().is_some() {
        list.push((
            format!("kurabe fio --show={id}"),
            words.run.next_fio.to_owned(),
        ));
    } else if !view.complete() {
        let command = if view.run.plan.duel.is_some() {
            "duel"
        } else {
            "run"
        };
        list.push((
            format!("kurabe {command} --resume {id}"),
            words.run.next_resume.to_owned(),
        ));
    }
    list
}

#[cfg(test)]
pub(crate) mod tests;
