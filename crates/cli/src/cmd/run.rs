//! `kurabe run [WHAT...]`: resolve the plan, execute it, keep every round as it ends, summarize, show.

use crate::args::RunArgs;
use crate::cmd::show;
use crate::context::Context;
use crate::exit::Exit;
use crate::new_run;
use crate::output;
use crate::planned::{self, describe, shortage};
use crate::resume::{self, Kind};
use crate::session;
use engine::resolve::Request;
use model::host::HostFacts;
use model::plan::Plan;

pub(crate) fn run(context: &Context, args: &RunArgs) -> anyhow::Result<Exit> {
    let quiet = args.session.quiet;
    let run = if let Some(name) = &args.session.resume {
        resume::one(context, name, Kind::Run, quiet)?
    } else {
        let dry_run = args
            .new
            .dry_run
            .then(|| args.format.of_plan())
            .transpose()?;
        let run = new_run::prepare(context, &args.new, |host| plan(args, host))?;
        if let Some(format) = dry_run {
            let runs = [run];
            return planned::show(context, &runs, format, &describe(&runs));
        }
        show::check_format(&run, args.format.chosen())?;
        if let Some(note) = shortage(&run.plan).filter(|_| !quiet) {
            output::say(&format!("note: {note}"));
        }
        session::begin(context, run, quiet)?
    };
    show::measured(context, &run, args.format)
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
