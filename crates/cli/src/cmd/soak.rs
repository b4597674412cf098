//! `kurabe soak TEST --for TIME`: one test for hours, kept stretch by stretch, and what its course says.

use crate::args::{ShowFormat, SoakArgs};
use crate::cmd::run::{exit, resume};
use crate::cmd::show::render;
use crate::columns::columns;
use crate::context::{Context, host_facts};
use crate::directory::directory;
use crate::exit::{Exit, failure};
use crate::new_run::{self, fresh_seed};
use crate::output;
use crate::session;
use engine::resolve::Request;
use engine::soak::{SoakError, WINDOW, sample_length};
use model::host::HostFacts;
use model::plan::Plan;
use model::record::{Run, RunMeta};
use model::units::Nanos;

pub(crate) fn run(context: &Context, args: &SoakArgs) -> anyhow::Result<Exit> {
    let run = match &args.resume {
        Some(run) => {
            only_soaks(context, run)?;
            resume(context, run, args.quiet)?
        }
        None => match begin(context, args)? {
            Some(run) => run,
            None => return Ok(Exit::Ok),
        },
    };
    let format = if args.json {
        ShowFormat::Json
    } else {
        ShowFormat::Text
    };
    output::print(&render(context, &run, format))?;
    Ok(exit(&run))
}

/// A new soak; `None` where only the plan was wanted.
fn begin(context: &Context, args: &SoakArgs) -> anyhow::Result<Option<Run>> {
    let dir = directory(args.dir.as_deref())?;
    let host = host_facts(&dir.path);
    let plan = plan(args, &host)?;
    dir.check(&plan)?;
    warn_of_shortness(&plan);
    if args.dry_run {
        output::print(&describe(&plan))?;
        return Ok(None);
    }
    let run = Run {
        meta: RunMeta {
            tags: args.tag.iter().cloned().collect(),
            ..new_run::meta(args.label.clone(), &dir.path, &host)
        },
        plan,
        host,
        rounds: Vec::new(),
    };
    session::catch_stop_signals()?;
    let store = context.store()?;
    store.begin(&run.meta, &run.plan, &run.host)?;
    session::measure(context, &store, &run, args.quiet).map(Some)
}

/// Goes on only with what is a soak: another run has its own command.
fn only_soaks(context: &Context, run: &str) -> anyhow::Result<()> {
    let store = context.store_to_read()?;
    let run = store.load(&store.resolve(run)?)?;
    if run.plan.soak.is_some() {
        return Ok(());
    }
    let id = &run.meta.id;
    Err(failure(
        Exit::Usage,
        format!("go on with run `{id}`: it is no soak"),
        Some(&format!("`kurabe run --resume {id}` goes on with it")),
    ))
}

fn plan(args: &SoakArgs, host: &HostFacts) -> anyhow::Result<Plan> {
    let request = Request {
        what: args.what.iter().cloned().collect(),
        copies: args.copies.map(|copies| vec![copies]),
        sets: args.set.clone(),
        passes: Some(1),
        seed: args.seed.unwrap_or_else(fresh_seed),
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
    if windows < stats::soak::WINDOWS_MIN as u64 {
        output::say(&format!(
            "warning: {windows} windows are too few to tell a burst, a step or two states: {} are needed\n\
             hint: a longer `--for`, or shorter windows with `--window 100ms`",
            stats::soak::WINDOWS_MIN
        ));
    }
}

/// The plan in words.
fn describe(plan: &Plan) -> String {
    let (Some(soak), Some(case)) = (&plan.soak, plan.cases.first()) else {
        return String::new();
    };
    let seconds = |time: Nanos| format!("{} s", time.as_secs_f64());
    let mut rows = vec![
        vec!["test".to_owned(), case.id.to_string()],
        vec!["time".to_owned(), seconds(soak.span)],
        vec!["windows of".to_owned(), seconds(case.shape.window)],
    ];
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
    columns(&rows)
}
