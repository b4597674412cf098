//! `--dry-run`: a plan in words or as a document, and what would refuse it. Nothing is measured and nothing is kept.

use crate::args::PlanFormat;
use crate::columns::{columns_within, terminal_width, wrapped};
use crate::consent;
use crate::context::Context;
use crate::exit::Exit;
use crate::kind::Kind;
use crate::output;
use engine::budget::{self, Rounds, short_of};
use engine::consent::Consent;
use engine::soak::sample_length;
use model::named::Named;
use model::plan::{Plan, PlannedCase};
use model::record::Run;
use model::soak::Soak;
use model::units::Nanos;
use report::json::{PlanView, PlannedRounds};
use report::number::counted;
use report::{Lang, duel, set_otherwise};
use std::fmt::Write;

/// Prints the plan of a run, or of the two sides of a duel. What would refuse it as it was typed is said too: who looks
/// before he leaps wants to know.
pub(crate) fn show(
    context: &Context,
    runs: &[Run],
    format: PlanFormat,
    consent: &Consent,
) -> anyhow::Result<Exit> {
    let refused = consent::examine(context, runs, consent);
    output::print(&match format {
        PlanFormat::Text => sides(runs, context.lang) + &describe(runs),
        PlanFormat::Json => document(runs, refused.clone()),
    })?;
    if let Some(refusal) = refused {
        output::say(&format!(
            "note: as it stands, this would be refused: {refusal}"
        ));
    }
    Ok(Exit::Ok)
}

/// A line for each side of a duel; nothing for other runs.
pub(crate) fn sides(runs: &[Run], lang: Lang) -> String {
    let line = |run: &Run| {
        let letter = run.plan.duel.as_ref()?.letter();
        Some(format!("side {letter}: {}\n", duel::side(run, lang)?))
    };
    runs.iter().filter_map(line).collect()
}

fn document(runs: &[Run], refused: Option<String>) -> String {
    let command = runs.first().map_or(Kind::Run, |run| Kind::of(&run.plan));
    let rounds = |plan: &Plan, case: &PlannedCase| {
        let rounds = budget::rounds(plan, case);
        PlannedRounds {
            least: rounds.least,
            most: rounds.most,
            each: budget::round_cost(case),
        }
    };
    report::json::plan(&PlanView {
        command: command.word(),
        expected: expected(runs),
        note: runs
            .first()
            .and_then(|run| shortage(&run.plan).or_else(|| few_passes(&run.plan))),
        refused,
        runs,
        rounds: &rounds,
    })
}

/// The plan of a run, or of a duel, in words: cases, rounds, time. The sides of a duel have the same.
fn describe(sides: &[Run]) -> String {
    let Some(Run { plan, .. }) = sides.first() else {
        return String::new();
    };
    if let (Some(soak), [case]) = (&plan.soak, plan.cases.as_slice()) {
        return of_soak(plan, soak, case);
    }
    let rows: Vec<Vec<String>> = plan
        .cases
        .iter()
        .map(|case| {
            let measure = case.shape.measure.as_secs_f64();
            vec![
                case.id.to_string(),
                in_words(budget::rounds(plan, case), plan, sides.len()),
                format!("{measure:.1} s each"),
                set_otherwise::title(case),
            ]
        })
        .collect();
    let width = terminal_width();
    let mut text = columns_within(&rows, width);
    for side in sides {
        text.push_str(&targets(&side.plan));
    }
    for dropped in &plan.dropped {
        let line = format!("left out: {} ({})", dropped.what, dropped.why);
        text.push_str(&wrapped(&line, width));
    }
    if let Some(note) = shortage(plan).or_else(|| few_passes(plan)) {
        text.push_str(&wrapped(&format!("note: {note}"), width));
    }
    let _ = writeln!(
        text,
        "{}, about {:.0} s while nothing else runs, seed {}",
        counted(plan.cases.len() as u64, "case", "cases"),
        expected(sides).as_secs_f64(),
        plan.seed
    );
    text
}

/// The plan of a soak in words.
fn of_soak(plan: &Plan, soak: &Soak, case: &PlannedCase) -> String {
    let seconds = |time: Nanos| format!("{} s", time.as_secs_f64());
    let mut rows = vec![vec!["test".to_owned(), case.id.to_string()]];
    if let Some(set) = set_otherwise::parameters(case) {
        rows.push(vec!["set otherwise".to_owned(), set]);
    }
    rows.push(vec!["time".to_owned(), seconds(soak.span)]);
    rows.push(vec!["windows of".to_owned(), seconds(case.shape.window)]);
    match soak.every {
        None => rows.push(vec![
            "load".to_owned(),
            format!(
                "without a pause, in stretches of {}",
                seconds(case.shape.measure)
            ),
        ]),
        Some(every) => {
            rows.push(vec![
                "opening".to_owned(),
                format!("load without a pause for {}", seconds(soak.opening)),
            ]);
            rows.push(vec![
                "samples".to_owned(),
                format!(
                    "of {} every {}",
                    seconds(sample_length(soak, &case.shape)),
                    seconds(every)
                ),
            ]);
        }
    }
    rows.push(vec!["seed".to_owned(), plan.seed.to_string()]);
    columns_within(&rows, terminal_width()) + &targets(plan)
}

/// What the plan works on beside the run's own directory, a line for each.
fn targets(plan: &Plan) -> String {
    let line = |named: &Named| {
        let how = if named.writes {
            "written to: what is in it is lost"
        } else {
            "only read"
        };
        format!("works on: {} `{}`, {how}\n", named.kind, named.path)
    };
    plan.named.iter().map(line).collect()
}

/// What all of it is expected to take. The sides of a duel share one budget.
fn expected(sides: &[Run]) -> Nanos {
    let each = sides.iter().map(|side| match &side.plan.soak {
        Some(soak) => soak.span,
        None => budget::expected(&side.plan),
    });
    let all = each.fold(Nanos::ZERO, Nanos::plus);
    let budget = sides.first().and_then(|side| side.plan.budget);
    budget.map_or(all, |budget| all.min(budget))
}

/// Rounds in words, or pairs of them.
fn in_words(rounds: Rounds, plan: &Plan, sides: usize) -> String {
    let (one, many) = if sides > 1 {
        ("pair", "pairs")
    } else {
        ("round", "rounds")
    };
    match (rounds.least, rounds.most) {
        (_, None) => match budget::passes_that_fit(plan) {
            None | Some(0) => format!("as many {many} as fit"),
            Some(n) => format!("about {}", counted(n, one, many)),
        },
        (None, Some(most)) => format!("up to {}", counted(most, one, many)),
        (Some(least), Some(most)) if least == most => counted(most, one, many),
        (Some(least), Some(most)) => format!("{least} to {most} {many}"),
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
    let few = if short.passes < stats::ROUNDS_MIN.min(short.wanted) {
        ", and fewer than six rounds have no interval"
    } else {
        ""
    };
    let kept = if plan.dropped.is_empty() {
        ""
    } else {
        " of what is not left out"
    };
    let take = short.needs.as_secs_f64().ceil();
    let room = short.room().map_or_else(String::new, |room| {
        format!(
            ", for which `--budget {:.0}s` has room",
            room.as_secs_f64().ceil()
        )
    });
    Some(format!(
        "the budget of {budget:.0} s{} is over before {passes}: {fit}, and the run ends there{few}; {passes}{kept} take \
         about {take:.0} s{room}",
        profiles_own(plan)
    ))
}

/// Whose budget it is, where nobody typed it.
fn profiles_own(plan: &Plan) -> String {
    let profiles = workloads::profiles::all().unwrap_or_default();
    let mut of = profiles
        .iter()
        .filter(|profile| plan.what.contains(&profile.name));
    of.find(|profile| profile.budget == plan.budget)
        .map_or_else(String::new, |profile| {
            format!(" (of the profile `{}`)", profile.name)
        })
}

/// What is said of passes that were asked for and are too few for an interval.
fn few_passes(plan: &Plan) -> Option<String> {
    let need = stats::ROUNDS_MIN;
    let few = plan
        .passes
        .filter(|&passes| passes < need && plan.soak.is_none() && plan.duel.is_none())?;
    let passes = counted(few, "pass has", "passes have");
    Some(format!("{passes} no 95 % interval: it takes {need}"))
}
