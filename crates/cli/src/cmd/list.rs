//! `kurabe list`: what can be run, and what was.

use crate::args::{ListArgs, ListWhat};
use crate::context::Context;
use crate::exit::{Exit, failure};
use crate::output;
use model::record::End;
use report::number::counted;
use report::page::{Block, list};
use std::fmt::Write as _;
use store::RunLine;

/// Runs that are listed where nobody says how many: what a terminal scrolls back to at a glance.
const LAST: u32 = 50;

pub(crate) fn run(context: &Context, args: &ListArgs) -> anyhow::Result<Exit> {
    let described = match args.what {
        ListWhat::Runs => return runs(context, args).map(|()| Exit::Ok),
        _ if args.all || args.last.is_some() => {
            return Err(failure(
                Exit::Usage,
                "`--all` and `--last` are about runs; of everything else the list is whole",
                None,
            ));
        }
        ListWhat::Tests => tests(),
        ListWhat::Profiles => profiles()?,
        ListWhat::Metrics => metrics(),
    };
    print(context, list::described(described))?;
    if let Some(note) = list::in_english(context.lang) {
        output::say(note);
    }
    Ok(Exit::Ok)
}

fn print(context: &Context, page: Block) -> anyhow::Result<()> {
    output::print(&report::render::text(&[page], context.lines))
}

/// Columns of a run that say which one it is.
const NAMING: usize = 3;

fn tests() -> Vec<Vec<String>> {
    let specs = workloads::ALL.iter().map(|workload| workload.spec());
    specs
        .flat_map(|spec| spec.tests)
        .map(|test| vec![test.name.to_owned(), test.title.to_owned()])
        .collect()
}

fn profiles() -> anyhow::Result<Vec<Vec<String>>> {
    Ok(workloads::profiles::all()?
        .into_iter()
        .map(|profile| vec![profile.name, profile.title])
        .collect())
}

fn metrics() -> Vec<Vec<String>> {
    let specs = workloads::ALL.iter().map(|workload| workload.spec());
    specs
        .flat_map(|spec| spec.metrics.iter().map(move |metric| (spec, metric)))
        .filter(|(_, metric)| !metric.role.is_picture())
        .map(|(spec, metric)| {
            vec![
                format!("{}:{}", spec.name, metric.quantity),
                metric.unit.to_string(),
                metric.doc.split_whitespace().collect::<Vec<_>>().join(" "),
            ]
        })
        .collect()
}

fn runs(context: &Context, args: &ListArgs) -> anyhow::Result<()> {
    let store = match context.store_to_read() {
        Ok(store) => store,
        // No store yet means no runs yet: nothing is wrong.
        Err(error)
            if matches!(
                error.downcast_ref(),
                Some(store::StoreError::Missing { .. })
            ) =>
        {
            output::say("no runs are kept yet; `kurabe run` makes one");
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let lines = if args.all {
        store.list()?
    } else {
        store.latest(args.last.unwrap_or(LAST))?
    };
    let (shown, kept) = (lines.len(), store.count()?);
    let rows = lines.into_iter().map(row).collect();
    print(context, list::rows(rows, NAMING))?;
    if shown < kept {
        output::say(&format!(
            "the latest {shown} of {kept} runs; `kurabe list --all` shows every run, `--last N` so many"
        ));
    }
    Ok(())
}

/// These runs as the list shows them.
pub(super) fn runs_as_text(context: &Context, runs: &[RunLine]) -> String {
    let rows = runs.iter().cloned().map(row).collect();
    report::render::text(&[list::rows(rows, NAMING)], context.lines)
}

/// A run as a line of the list.
fn row(line: RunLine) -> Vec<String> {
    let mut end = match line.end {
        End::Complete => "complete",
        End::Interrupted => "interrupted",
        End::Open => "open",
    }
    .to_owned();
    let mut what = line.what.join(" ");
    if let Some(duel) = &line.duel {
        // Writing to a String cannot fail.
        let _ = write!(what, " ({})", report::duel::side_in_list(duel));
        if line.failed > 0 {
            let _ = write!(end, ", {} failed", line.failed);
        }
    }
    vec![
        line.id,
        line.label.unwrap_or_default(),
        report::number::instant(line.started),
        what,
        counted(line.cases, "case", "cases"),
        counted(line.rounds, "round", "rounds"),
        end,
    ]
}
