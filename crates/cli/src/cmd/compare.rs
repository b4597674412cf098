//! `kurabe compare BASE OTHER...`: reads the runs and calls one pure function for each pair of sides.
//!
//! A run against itself is refused: it would always be the same as itself, and that is no finding.

use crate::args::{CompareArgs, CompareFormat, FailIf, ScatterArg};
use crate::context::{Context, Reader};
use crate::exit::{Exit, failure};
use crate::output;
use model::comparison::{Comparison, Scatter, ScatterSource, Verdict};
use model::record::Run;
use report::comparison::{self, CompareOptions, ComparisonView, LatestOf, Party};
use report::number::counted;

/// One side as it was typed, and what was read for it: at least one run.
struct Side<'a> {
    text: &'a str,
    runs: Vec<Run>,
    /// The runs of one label, the one that was taken first, where several have it.
    alike: Vec<Vec<String>>,
}

pub(crate) fn run(context: &Context, args: &CompareArgs) -> anyhow::Result<Exit> {
    let format = args.format.chosen()?;
    let reader = context.reader();
    let base = side(&reader, &args.base)?;
    let others: Vec<Side<'_>> = args
        .others
        .iter()
        .map(|other| side(&reader, other))
        .collect::<anyhow::Result<_>>()?;
    for other in &others {
        no_run_on_both_sides(&base, other)?;
    }
    let sides: Vec<&Side<'_>> = std::iter::once(&base).chain(&others).collect();
    let earlier = match args.scatter {
        None | Some(ScatterArg::Store) => earlier(&reader, &sides)?,
        Some(ScatterArg::Shipped | ScatterArg::Share(_)) => Vec::new(),
    };
    let options = CompareOptions {
        margin: args.margin,
        earlier: &earlier,
        scatter: match args.scatter {
            Some(ScatterArg::Share(share)) => Some(share),
            _ => None,
        },
    };
    let view = comparison::view_groups(party(&base), others.iter().map(party).collect(), &options);
    if args.scatter == Some(ScatterArg::Store) {
        needs_earlier(&view)?;
    }
    output::print(&render(context, &view, format))?;
    Ok(exit(&view, args.fail_if))
}

/// How the command ends, and on standard error why, where something was missing for a verdict.
fn exit(view: &ComparisonView<'_>, fail_if: Option<FailIf>) -> Exit {
    let metrics = || view.others.iter().flat_map(|(_, one)| &one.metrics);
    let worse = || metrics().any(|metric| metric.adjusted == Verdict::Worse);
    if fail_if == Some(FailIf::Worse) && worse() {
        return Exit::GateFailed;
    }
    let compared = |one: &Comparison| one.metrics.iter().any(|metric| metric.interval.is_some());
    if !view.others.iter().all(|(_, one)| compared(one)) {
        output::say("nothing could be compared: no metric has an interval on both sides");
        return Exit::Incomplete;
    }
    let doubted = metrics().filter(|metric| metric.doubt.is_some()).count();
    if doubted > 0 {
        output::say(&format!(
            "{} in doubt: rounds were disturbed from inside of a machine; measure again when it is quiet",
            counted(doubted, "difference is", "differences are")
        ));
        return Exit::Incomplete;
    }
    Exit::Ok
}

/// Earlier runs of the machines, as many as say enough of each; none where there is no store.
fn earlier(reader: &Reader<'_>, sides: &[&Side<'_>]) -> anyhow::Result<Vec<Run>> {
    let mut ids: Vec<String> = Vec::new();
    let mut found = Vec::new();
    for latest in sides
        .iter()
        .filter_map(|side| side.runs.iter().max_by_key(|run| run.meta.started))
    {
        for (id, run) in reader.earlier(latest, EARLIER_MOST)? {
            if !ids.contains(&id) {
                ids.push(id);
                found.push(run);
            }
        }
    }
    Ok(found)
}

/// The most earlier runs of a machine that are read.
const EARLIER_MOST: u32 = 20;

/// Refuses a comparison for which earlier runs were asked and are not there.
fn needs_earlier(view: &ComparisonView<'_>) -> anyhow::Result<()> {
    let known = |scatter: Option<Scatter>| {
        scatter.is_some_and(|one| {
            matches!(
                one.source,
                ScatterSource::Earlier { .. } | ScatterSource::Given
            )
        })
    };
    let mut metrics = view.others.iter().flat_map(|(_, one)| &one.metrics);
    if metrics.any(|metric| known(metric.scatter.base) && known(metric.scatter.other)) {
        return Ok(());
    }
    Err(failure(
        Exit::Usage,
        "compare: the store has too few earlier runs of these machines for `--scatter store`",
        Some(
            "five runs of the same tests on each machine show what runs of it differ by; or leave `--scatter` away",
        ),
    ))
}

/// The comparison in this format.
pub(crate) fn render(
    context: &Context,
    view: &ComparisonView<'_>,
    format: CompareFormat,
) -> String {
    match format {
        CompareFormat::Page(format, detail) => {
            let page = report::page::comparison::page(view, detail, context.lang);
            context.drawn(&page, format)
        }
        CompareFormat::Json => report::json::comparison(view),
    }
}

/// The runs of one side: one, or a list with commas. What is a run's name as a whole is no list: labels and paths may
/// hold commas.
fn side<'a>(reader: &Reader<'_>, text: &'a str) -> anyhow::Result<Side<'a>> {
    let mut side = Side {
        text,
        runs: Vec::new(),
        alike: Vec::new(),
    };
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    if parts.len() == 1 {
        side.push(reader.load_to_compare(text)?);
        return Ok(side);
    }
    if let Ok(found) = reader.load_to_compare(text) {
        side.push(found);
        return Ok(side);
    }
    for part in parts.into_iter().filter(|part| !part.is_empty()) {
        side.push(reader.load_to_compare(part)?);
    }
    side.no_run_twice()?;
    Ok(side)
}

impl Side<'_> {
    fn push(&mut self, (run, others): (Run, Vec<String>)) {
        if !others.is_empty() {
            let all = std::iter::once(run.meta.id.clone()).chain(others);
            self.alike.push(all.collect());
        }
        self.runs.push(run);
    }

    /// A run that is named twice would count as two instances.
    fn no_run_twice(&self) -> anyhow::Result<()> {
        let text = self.text;
        let mut ids: Vec<&str> = self.runs.iter().map(|run| run.meta.id.as_str()).collect();
        ids.sort_unstable();
        if let Some(twice) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
            let why = format!("compare: `{text}` names the run `{}` twice", twice[0]);
            return Err(failure(Exit::Usage, why, Some(&self.another(twice[0]))));
        }
        if ids.is_empty() {
            let why = format!("compare: `{text}` names no run");
            return Err(failure(Exit::Usage, why, Some("see `kurabe list`")));
        }
        Ok(())
    }

    /// What may have been meant in the place of a run: where its label has others, one of those.
    fn another(&self, id: &str) -> String {
        let mut labels = self.alike.iter();
        match labels.find(|alike| alike[0] == id) {
            Some(alike) => format!(
                "its label stands for the latest of {} runs; name an older one by its id, such as `{}`",
                alike.len(),
                alike[1]
            ),
            None => "name another run; `kurabe list --all` shows every run".to_owned(),
        }
    }
}

/// A run on both sides would be compared with itself.
fn no_run_on_both_sides(base: &Side<'_>, other: &Side<'_>) -> anyhow::Result<()> {
    let ids: Vec<&str> = base.runs.iter().map(|run| run.meta.id.as_str()).collect();
    let mut theirs = other.runs.iter().map(|run| run.meta.id.as_str());
    let Some(id) = theirs.find(|id| ids.contains(id)) else {
        return Ok(());
    };
    let why = format!(
        "compare: `{}` and `{}` both name the run `{id}`: a run is always the same as itself",
        base.text, other.text
    );
    let hint = if base.alike.iter().any(|alike| alike[0] == id) {
        base.another(id)
    } else {
        other.another(id)
    };
    Err(failure(Exit::Usage, why, Some(&hint)))
}

fn party<'a>(side: &'a Side<'_>) -> Party<'a> {
    let latest_of = side.alike.iter().map(|alike| LatestOf {
        run: alike[0].clone(),
        runs: alike.len(),
    });
    Party::group(&side.runs)
        .expect("a side has been read with at least one run")
        .with_latest_of(latest_of.collect())
}
