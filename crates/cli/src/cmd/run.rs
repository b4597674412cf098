//! `kurabe run [WHAT...]`: resolve the plan, execute it, keep every round as it ends, summarize, show.

use crate::args::{RunArgs, ShowFormat};
use crate::cmd::show::render;
use crate::columns::columns;
use crate::context::{Context, host_facts};
use crate::directory::directory;
use crate::exit::{Exit, failure};
use crate::new_run::{self, fresh_seed};
use crate::output;
use crate::session;
use engine::resolve::Request;
use model::host::HostFacts;
use model::plan::Plan;
use model::record::{End, Outcome, Run, RunMeta};
use std::fmt::Write;
use std::path::Path;

pub(crate) fn run(context: &Context, args: &RunArgs) -> anyhow::Result<Exit> {
    let run = match &args.resume {
        Some(run) => resume(context, run, args.quiet)?,
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

/// A new run; `None` where only the plan was wanted.
fn begin(context: &Context, args: &RunArgs) -> anyhow::Result<Option<Run>> {
    let dir = directory(args.dir.as_deref())?;
    let host = host_facts(&dir.path);
    let plan = plan(args, &host)?;
    dir.check(&plan)?;
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

/// Goes on with a kept run, on the machine and with the program that began it: rounds of another set-up would not be
/// rounds of this run.
pub(crate) fn resume(context: &Context, run: &str, quiet: bool) -> anyhow::Result<Run> {
    session::catch_stop_signals()?;
    let store = context.store()?;
    let run = store.load(&store.resolve(run)?)?;
    let dir = directory(Some(Path::new(&run.meta.dir)))?;
    let now = Run {
        meta: RunMeta {
            binary: new_run::binary(),
            ..run.meta.clone()
        },
        host: host_facts(&dir.path),
        plan: run.plan.clone(),
        rounds: Vec::new(),
    };
    let differences = stats::differences(&run, &now);
    if !differences.is_empty() {
        let list: Vec<String> = differences
            .iter()
            .map(|d| format!("{}: {}, now {}", d.what, d.base, d.other))
            .collect();
        return Err(failure(
            Exit::Usage,
            format!(
                "go on with run `{}`: the set-up is not the same: {}",
                run.meta.id,
                list.join("; ")
            ),
            Some("begin a new run, and compare the two with `kurabe compare`"),
        ));
    }
    store.reopen(&run.meta.id)?;
    session::measure(context, &store, &run, quiet)
}

fn plan(args: &RunArgs, host: &HostFacts) -> anyhow::Result<Plan> {
    let quick = vec!["quick".to_owned()];
    let request = Request {
        what: if args.what.is_empty() {
            quick
        } else {
            args.what.clone()
        },
        copies: args.copies.clone(),
        sets: args.set.clone(),
        budget: args.budget,
        passes: args.passes,
        target: args.target,
        seed: args.seed.unwrap_or_else(fresh_seed),
        duel: None,
    };
    new_run::plan(&request, host)
}

/// The plan in words: cases, rounds, time.
fn describe(plan: &Plan) -> String {
    let rows: Vec<Vec<String>> = plan
        .cases
        .iter()
        .map(|case| {
            let rounds = engine::budget::rounds_wanted(plan, case);
            let rounds = match (rounds, plan.target) {
                (None, None) => "as many rounds as fit".to_owned(),
                (None | Some(_), Some(_)) if case.shape.rounds.is_none() => {
                    "6 to 28 rounds".to_owned()
                }
                (rounds, _) => format!("{} rounds", rounds.unwrap_or_default()),
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
    for dropped in &plan.dropped {
        let _ = writeln!(text, "left out: {} ({})", dropped.what, dropped.why);
    }
    let time = engine::budget::expected(plan).as_secs_f64();
    let _ = writeln!(
        text,
        "{} cases, about {time:.0} s, seed {}",
        plan.cases.len(),
        plan.seed
    );
    text
}

pub(crate) fn exit(run: &Run) -> Exit {
    if run.meta.end == End::Interrupted {
        return Exit::Interrupted;
    }
    let measured = |case: &model::plan::PlannedCase| {
        run.rounds_of(&case.id)
            .any(|round| matches!(round.outcome, Outcome::Done(_)))
    };
    if run.plan.cases.iter().all(measured) {
        Exit::Ok
    } else {
        Exit::Incomplete
    }
}
