//! `kurabe list`: what can be run, and what was.

use crate::args::{ListArgs, ListWhat};
use crate::columns::{columns_within, terminal_width};
use crate::context::Context;
use crate::exit::Exit;
use crate::output;
use model::record::End;
use report::Lang;
use report::number::counted;
use std::collections::HashMap;
use std::fmt::Write as _;
use store::DuelLine;

pub(crate) fn run(context: &Context, args: &ListArgs) -> anyhow::Result<Exit> {
    let rows = match args.what {
        ListWhat::Tests => tests(),
        ListWhat::Profiles => profiles()?,
        ListWhat::Metrics => metrics(),
        ListWhat::Runs => runs(context)?,
    };
    output::print(&columns_within(&rows, terminal_width()))?;
    let described = matches!(
        args.what,
        ListWhat::Tests | ListWhat::Profiles | ListWhat::Metrics
    );
    if described && context.lang == Lang::Ja {
        // They are the reference to which every figure refers; a translation could differ from it.
        output::say("注: テスト、プロファイル、測定項目の説明は英語のみです");
    }
    Ok(Exit::Ok)
}

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
