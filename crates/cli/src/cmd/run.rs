//! `kurabe run [WHAT...]`: resolve the plan, execute it, keep every round as it ends, summarize, show.

use crate::args::RunArgs;
use crate::cmd::show;
use crate::columns::columns;
use crate::context::Context;
use crate::exit::Exit;
use crate::named;
use crate::new_run;
use crate::output;
use crate::resume::{self, Kind};
use crate::session;
use engine::budget::short_of;
use engine::resolve::Request;
use model::host::HostFacts;
use model::plan::{Plan, PlannedCase};
use model::record::Run;
use report::number::counted;
use report::set_otherwise;
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
        if let Some(note) = shortage(&run.plan).filter(|_| !quiet) {
            output::say(&format!("note: {note}"));
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
    let rows: Vec<Vec<String>> = plan
        .cases
        .iter()
        .map(|case| {
            let measure = case.shape.measure.as_secs_f64();
            vec![
                case.id.to_string(),
                rounds_in_words(plan, case, sides.len()),
                format!("{measure:.1} s each"),
                set_otherwise::title(case),
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
    if let Some(note) = shortage(plan) {
        let _ = writeln!(text, "note: {note}");
    }
    let _ = writeln!(
        text,
        "{}, about {time:.0} s while nothing else runs, seed {}",
        counted(plan.cases.len() as u64, "case", "cases"),
        plan.seed
    );
    text
}

/// How many rounds a case is to have, or pairs of them.
fn rounds_in_words(plan: &Plan, case: &PlannedCase, sides: usize) -> String {
    let (one, many) = if sides > 1 {
        ("pair", "pairs")
    } else {
        ("round", "rounds")
    };
    let most = |n: u32| match short_of(plan) {
        Some(short) if short.passes < n => format!("up to {}", counted(n, one, many)),
        _ => counted(n, one, many),
    };
    match (engine::budget::rounds_wanted(plan, case), looks(plan)) {
        (None, false) => format!("as many {many} as fit"),
        (wanted, true) if case.shape.rounds.is_none() => match wanted.unwrap_or(LAST_LOOK) {
            few @ ..=FIRST_LOOK => most(few),
            more => format!("{FIRST_LOOK} to {} {many}", more.min(LAST_LOOK)),
        },
        (rounds, _) => most(rounds.unwrap_or_default()),
    }
}

/// What is said where the budget cannot hold the passes that were asked for, or those that an interval takes.
pub(crate) fn shortage(plan: &Plan) -> Option<String> {
    let short = short_of(plan)?;
    let budget = plan.budget.unwrap_or_default().as_secs_f64();
    let passes = counted(short.wanted, "pass", "passes");
    let fit = match short.passes {
        0 => "not even one fits".to_owned(),
        1 => "about one fits".to_owned(),
        n => format!("about {n} fit"),
    };
    let few = if short.passes < engine::budget::ROUNDS_MIN.min(short.wanted) {
        ", and fewer than six rounds have no interval"
    } else {
        ""
    };
    Some(format!(
        "the budget of {budget:.0} s is over before {passes}: {fit}, and the run ends there{few}; {passes} take about {:.0} s",
        short.needs.as_secs_f64().ceil()
    ))
}

/// Whether looks at the data decide how many rounds there will be.
const fn looks(plan: &Plan) -> bool {
    plan.target.is_some() || (plan.duel.is_some() && plan.passes.is_none())
}
