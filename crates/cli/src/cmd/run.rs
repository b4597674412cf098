//! `kurabe run [WHAT...]`: resolve the plan, execute it, keep every round as it ends, summarize, show.

use crate::args::RunArgs;
use crate::cmd::show;
use crate::columns::columns;
use crate::context::Context;
use crate::exit::Exit;
use crate::named;
use crate::new_run;
use crate::resume::{self, Kind};
use crate::session;
use engine::resolve::Request;
use model::host::HostFacts;
use model::plan::Plan;
use model::record::Run;
use std::fmt::Write;

pub(crate) fn run(context: &Context, args: &RunArgs) -> anyhow::Result<Exit> {
    let quiet = args.session.shown.quiet;
    let run = if let Some(name) = &args.session.resume {
        resume::one(context, name, Kind::Run, quiet)?
    } else {
        let run = new_run::prepare(&args.new, |host| plan(args, host))?;
        if args.new.dry_run {
            let runs = [run];
            return named::dry_run(context, &runs, &context.consent, &describe(&runs));
        }
        session::begin(context, run, quiet)?
    };
    show::measured(context, &run, args.session.shown)
}

fn plan(args: &RunArgs, host: &HostFacts) -> anyhow::Result<Plan> {
    let quick = vec!["quick".to_owned()];
    let request = Request {
        what: if args.what.is_empty() {
            quick
        } else {
            args.what.clone()
        },
        copies: args.amount.copies.clone(),
        sets: args.new.set.clone(),
        budget: args.amount.budget,
        passes: args.amount.passes,
        target: args.target,
        seed: new_run::seed(&args.new),
        duel: None,
    };
    new_run::plan(&request, host)
}

/// The rounds of the first and of the last look at the data.
const FIRST_LOOK: u32 = stats::looks::LOOKS[0];
const LAST_LOOK: u32 = stats::looks::LOOKS[stats::looks::LOOKS.len() - 1];

/// The plan in words: cases, rounds, time. The sides of a duel have the same.
pub(crate) fn describe(sides: &[Run]) -> String {
    let Some(Run { plan, .. }) = sides.first() else {
        return String::new();
    };
    let word = if sides.len() > 1 { "pairs" } else { "rounds" };
    let rows: Vec<Vec<String>> = plan
        .cases
        .iter()
        .map(|case| {
            let rounds = match (engine::budget::rounds_wanted(plan, case), looks(plan)) {
                (None, false) => format!("as many {word} as fit"),
                (most, true) if case.shape.rounds.is_none() => match most.unwrap_or(LAST_LOOK) {
                    few @ ..=FIRST_LOOK => format!("{few} {word}"),
                    most => format!("{FIRST_LOOK} to {} {word}", most.min(LAST_LOOK)),
                },
                (rounds, _) => format!("{} {word}", rounds.unwrap_or_default()),
            };
            let measure = case.shape.measure.as_secs_f64();
            vec![
                case.id.to_string(),
                rounds,
                format!("{measure:.1} s each"),
                case.title.clone(),
            ]
        })
        .collect();
    let mut text = columns(&rows);
    for side in sides {
        text.push_str(&named::describe(&side.plan));
    }
    for dropped in &plan.dropped {
        let _ = writeln!(text, "left out: {} ({})", dropped.what, dropped.why);
    }
    let time: f64 = sides
        .iter()
        .map(|side| engine::budget::expected(&side.plan).as_secs_f64())
        .sum();
    let time = plan
        .budget
        .map_or(time, |budget| time.min(budget.as_secs_f64()));
    let _ = writeln!(
        text,
        "{} cases, about {time:.0} s, seed {}",
        plan.cases.len(),
        plan.seed
    );
    text
}

/// Whether looks at the data decide how many rounds there will be.
const fn looks(plan: &Plan) -> bool {
    plan.target.is_some() || (plan.duel.is_some() && plan.passes.is_none())
}
