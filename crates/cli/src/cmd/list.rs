//! `kurabe list`: what can be run, and what was.

use crate::args::{ListArgs, ListWhat};
use crate::context::Context;
use crate::exit::Exit;
use crate::output;
use model::record::End;
use report::number::counted;
use report::page::list;
use std::collections::HashMap;
use std::fmt::Write as _;
use store::DuelLine;

pub(crate) fn run(context: &Context, args: &ListArgs) -> anyhow::Result<Exit> {
    let (page, described) = match args.what {
        ListWhat::Tests => (list::described(tests()), true),
        ListWhat::Profiles => (list::described(profiles()?), true),
        ListWhat::Metrics => (list::described(metrics()), true),
        ListWhat::Runs => (list::rows(runs(context)?, NAMING), false),
    };
    output::print(&report::render::text(&[page], context.lines))?;
    if let Some(note) = list::in_english(context.lang).filter(|_| described) {
        output::say(note);
    }
    Ok(Exit::Ok)
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

fn runs(context: &Context) -> anyhow::Result<Vec<Vec<String>>> {
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
            return Ok(Vec::new());
        }
        Err(error) => return Err(error),
    };
    let duels: HashMap<String, DuelLine> = store
        .duels()?
        .into_iter()
        .map(|line| (line.run.clone(), line))
        .collect();
    Ok(store
        .list()?
        .into_iter()
        .map(|line| {
            let mut end = match line.end {
                End::Complete => "complete",
                End::Interrupted => "interrupted",
                End::Open => "open",
            }
            .to_owned();
            let mut what = line.what.join(" ");
            if let Some(of) = duels.get(&line.id) {
                // Writing to a String cannot fail.
                let _ = write!(what, " ({})", report::duel::side_in_list(&of.duel));
                if of.failed > 0 {
                    let _ = write!(end, ", {} failed", of.failed);
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
        })
        .collect())
}
