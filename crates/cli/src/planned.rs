//! `--dry-run`: a plan in words or as a document, and what would refuse it. Nothing is measured and nothing is kept.

use crate::args::PlanFormat;
use crate::columns::{columns_within, terminal_width, wrapped};
use crate::context::Context;
use crate::exit::Exit;
use crate::named;
use crate::output;
use crate::resume::Kind;
use engine::budget::short_of;
use model::plan::{Plan, PlannedCase};
use model::record::Run;
use model::units::Nanos;
use report::json::{PlanView, PlannedRounds};
use report::number::counted;
use report::set_otherwise;
use std::fmt::Write;

/// Prints the plan of a run, or of the two sides of a duel, in `words` or as a document. What would refuse it as it was
/// typed is said too: who looks before he leaps wants to know.
pub(crate) fn show(
    context: &Context,
    runs: &[Run],
    format: PlanFormat,
    words: &str,
) -> anyhow::Result<Exit> {
    let refused = named::refusal(context, runs);
    match format {
        PlanFormat::Text => output::print(words)?,
        PlanFormat::Json => output::print(&document(runs, refused.clone()))?,
    }
    if let Some(refusal) = refused {
        output::say(&format!(
            "note: as it stands, this would be refused: {refusal}"
        ));
    }
    Ok(Exit::Ok)
}

fn document(runs: &[Run], refused: Option<String>) -> String {
    let command = runs.first().map_or(Kind::Run, |run| Kind::of(&run.plan));
    let rounds = |plan: &Plan, case: &PlannedCase| {
        let rounds = Rounds::of(plan, case);
        PlannedRounds {
            least: rounds.least,
            most: rounds.most,
            each: engine::budget::round_cost(case),
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
                Rounds::of(plan, case).in_words(plan, sides.len()),
                format!("{measure:.1} s each"),
                set_otherwise::title(case),
            ]
        })
        .collect();
    let width = terminal_width();
    let mut text = columns_within(&rows, width);
    for side in sides {
        text.push_str(&named::describe(&side.plan));
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

/// What all of it is expected to take. The sides of a duel share one budget.
fn expected(sides: &[Run]) -> Nanos {
    let each = sides.iter().map(|side| match &side.plan.soak {
        Some(soak) => soak.span,
        None => engine::budget::expected(&side.plan),
    });
    let all = each.fold(Nanos::ZERO, Nanos::plus);
    let budget = sides.first().and_then(|side| side.plan.budget);
    budget.map_or(all, |budget| all.min(budget))
}

/// How many rounds a case is to have, or pairs of them, as far as that is known before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rounds {
    /// At least, unless somebody interrupts.
    least: Option<u32>,
    /// At most.
    most: Option<u32>,
}

/// The rounds of the first and of the last look at the data.
const FIRST_LOOK: u32 = stats::looks::LOOKS[0];
const LAST_LOOK: u32 = stats::looks::LOOKS[stats::looks::LOOKS.len() - 1];

impl Rounds {
    fn of(plan: &Plan, case: &PlannedCase) -> Self {
        let between = |least: u32, most: u32| Self {
            least: Some(least),
            most: Some(most),
        };
        let no_more_than = |n: u32| match short_of(plan) {
            Some(short) if short.passes < n => Self {
                least: None,
                most: Some(n),
            },
            _ => between(n, n),
        };
        if plan.soak.is_some() {
            // Time decides, and each stretch is one.
            return Self {
                least: None,
                most: None,
            };
        }
        match (engine::budget::rounds_wanted(plan, case), looks(plan)) {
            (None, false) => Self {
                least: None,
                most: None,
            },
            (wanted, true) if case.shape.rounds.is_none() => match wanted.unwrap_or(LAST_LOOK) {
                few @ ..=FIRST_LOOK => no_more_than(few),
                more => Self {
                    least: short_of(plan).is_none().then_some(FIRST_LOOK),
                    most: Some(more.min(LAST_LOOK)),
                },
            },
            (rounds, _) => no_more_than(rounds.unwrap_or_default()),
        }
    }

    fn in_words(self, plan: &Plan, sides: usize) -> String {
        let (one, many) = if sides > 1 {
            ("pair", "pairs")
        } else {
            ("round", "rounds")
        };
        match (self.least, self.most) {
            (_, None) => match engine::budget::passes_that_fit(plan) {
                None | Some(0) => format!("as many {many} as fit"),
                Some(n) => format!("about {}", counted(n, one, many)),
            },
            (None, Some(most)) => format!("up to {}", counted(most, one, many)),
            (Some(least), Some(most)) if least == most => counted(most, one, many),
            (Some(least), Some(most)) => format!("{least} to {most} {many}"),
        }
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
    let need = engine::budget::ROUNDS_MIN;
    let few = plan
        .passes
        .filter(|&passes| passes < need && plan.soak.is_none() && plan.duel.is_none())?;
    let passes = counted(few, "pass has", "passes have");
    Some(format!("{passes} no 95 % interval: it takes {need}"))
}

/// Whether looks at the data decide how many rounds there will be.
const fn looks(plan: &Plan) -> bool {
    plan.target.is_some() || (plan.duel.is_some() && plan.passes.is_none())
}
