//! `kurabe soak TEST --for TIME`: one test for hours, kept stretch by stretch, and what its course says.

use crate::args::SoakArgs;
use crate::cmd::show;
use crate::columns::{columns_within, terminal_width};
use crate::context::Context;
use crate::exit::{Exit, failure};
use crate::named;
use crate::new_run;
use crate::output;
use crate::planned;
use crate::resume::{self, Kind};
use crate::session;
use engine::resolve::Request;
use engine::soak::{SoakError, WINDOW, sample_length};
use model::host::HostFacts;
use model::plan::Plan;
use model::units::Nanos;
use report::set_otherwise;

pub(crate) fn run(context: &Context, args: &SoakArgs) -> anyhow::Result<Exit> {
    let quiet = args.session.quiet;
    let run = if let Some(name) = &args.session.resume {
        resume::one(context, name, Kind::Soak, quiet)?
    } else {
        let dry_run = args
            .new
            .dry_run
            .then(|| args.format.of_plan())
            .transpose()?;
        let run = new_run::prepare(context, &args.new, |host| plan(args, host))?;
        warn_of_shortness(&run.plan);
        if let Some(format) = dry_run {
            let text = describe(&run.plan);
            return planned::show(context, &[run], format, &text);
        }
        show::check_format(&run, args.format.chosen())?;
        session::begin(context, run, quiet)?
    };
    show::measured(context, &run, args.format)
}

fn plan(args: &SoakArgs, host: &HostFacts) -> anyhow::Result<Plan> {
    let request = Request {
        what: args.what.iter().cloned().collect(),
        copies: args.copies.map(|copies| vec![copies]),
        sets: args.new.set.clone(),
        passes: Some(1),
        seed: new_run::seed(&args.new),
        ..Request::default()
    };
    let plan = new_run::plan(&request, host)?;
    let names: Vec<String> = plan.cases.iter().map(|case| case.id.to_string()).collect();
    let span = args.span.unwrap_or_default();
    let window = args.window.unwrap_or(WINDOW);
    engine::soak::plan(plan, span, args.every, window).map_err(|error| {
        let hint = match &error {
            SoakError::SeveralCases(_) => format!("name one of {}", names.join(", ")),
            SoakError::TooShort { .. } => {
                "make it longer, or the windows shorter with `--window 100ms`".to_owned()
            }
            SoakError::EveryTooLong { .. } => {
                "leave `--every` out for load without a pause".to_owned()
            }
            SoakError::WindowTooShort(_) => "the default is `--window 1s`".to_owned(),
        };
        failure(Exit::Usage, error, Some(&hint))
    })
}

/// A soak may be shorter than what it takes to say something about it, but not without a word.
fn warn_of_shortness(plan: &Plan) {
    let (Some(soak), Some(case)) = (&plan.soak, plan.cases.first()) else {
        return;
    };
    let windows = soak.span.0 / case.shape.window.0.max(1);
    let (steady, all) = (stats::soak::STEADY_MIN, stats::soak::WINDOWS_MIN);
    let too_few_for = if windows < steady as u64 {
        format!(
            "to call a rate steady (it takes {steady}), and to tell a burst, a step or two states (it takes {all})"
        )
    } else if windows < all as u64 {
        format!("to tell a burst, a step or two states: it takes {all}")
    } else {
        return;
    };
    output::say(&format!(
        "warning: {windows} windows are too few {too_few_for}\n\
         hint: a longer `--for`, or shorter windows with `--window 100ms`"
    ));
}

/// The plan in words.
fn describe(plan: &Plan) -> String {
    let (Some(soak), Some(case)) = (&plan.soak, plan.cases.first()) else {
        return String::new();
    };
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
    columns_within(&rows, terminal_width()) + &named::describe(plan)
}
