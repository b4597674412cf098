//! `kurabe vdbench`: parameter files of vdbench, measured by this program and reported in vdbench's forms.
//!
//! The way of the data: `dialects` reads files and arguments into runs, what cannot be done is refused by its place,
//! each run becomes a case (its copies are the workloads on storages, or it is work on file sets), lines are printed
//! while rounds go on, the run is kept like every run, and what is reported in the end is made of what was kept.

mod cases;
mod out;
mod results;
mod watch;

use crate::args::{OutputFormat, VdbenchArgs};
use crate::cmd::fio::surroundings::Machine;
use crate::consent;
use crate::context::Context;
use crate::exit::{Exit, failure};
use crate::new_run;
use crate::output;
use crate::session::{self, Measured, Onlooker, Ready};
use crate::targets;
use anyhow::Context as _;
use cases::Case;
use dialects::vdbench::language::{self, Plan, Request};
use engine::look::Looking;
use model::record::{End, Failure, Outcome, Run};
use report::Lang;
use watch::Watch;

pub(crate) fn run(context: &Context, args: &VdbenchArgs) -> anyhow::Result<Exit> {
    if let Some(name) = &args.show {
        return show_kept(context, args, name);
    }
    let plan = read(&request(args))?;
    if !args.quiet {
        for remark in &plan.remarks {
            output::say(&format!("note: {remark}"));
        }
    }
    if args.simulate {
        output::print(&cases::listed(&plan, args.passes.unwrap_or(1)))?;
        return Ok(Exit::Ok);
    }
    measure(context, args, &plan)
}

/// What is asked for: what an option says of all runs stands behind everything else.
fn request(args: &VdbenchArgs) -> Request {
    let options = [
        ("elapsed", &args.elapsed),
        ("interval", &args.interval),
        ("warmup", &args.warmup),
    ];
    let options = options.into_iter().filter_map(|(word, value)| {
        let value = value.as_ref()?;
        Some(format!("{word}={value}"))
    });
    Request {
        files: args.files.clone(),
        words: args.words.iter().cloned().chain(options).collect(),
    }
}

fn read(request: &Request) -> anyhow::Result<Plan> {
    if request.files.is_empty() && request.words.is_empty() {
        let hint = "`kurabe vdbench -f FILE` names a parameter file";
        return Err(failure(
            Exit::Usage,
            "nothing to run: no parameter file is named",
            Some(hint),
        ));
    }
    language::parse(request, &Machine).map_err(|error| failure(Exit::Usage, error, None))
}

fn measure(context: &Context, args: &VdbenchArgs, plan: &Plan) -> anyhow::Result<Exit> {
    let looking = Looking::begin();
    let of_others = args.consent.others.dir_of_others;
    let out = args.output.as_deref();
    let _made = out.map(|dir| out::check(dir, of_others)).transpose()?;
    let consent = args.consent.consent();
    let cases = cases::of(plan)?;
    let dir = cases::work_place(&cases, &consent)?;
    let mut planned = cases::plan(plan, &cases, args, &dir.host)?;
    targets::name(&mut planned, &[])?;
    let mut ready = Ready::new([new_run::of(dir, planned, args.label.clone(), &args.tag)?]);
    let granted = consent::grant(context, &ready.runs, &consent)?;
    cases::check_space(&cases)?;
    ready.runs[0].meta.looks.push(looking.end());
    let mut watch = Watch::new(&cases, &ready.runs[0]);
    let is_text = args.output_format == OutputFormat::Text;
    let onlooker = is_text.then_some(&mut watch as &mut dyn Onlooker);
    let Measured { mut runs, files } =
        session::measure_before(context, &ready, granted, args.quiet, onlooker)?;
    let run = runs.pop().context("read the run back")?;
    report(&cases, &run, args)?;
    say_how_it_went(&cases, &run, (context.lang, args.quiet));
    let stay = files?;
    if let Some(first) = stay.iter().min() {
        let first = first.display();
        let more = match stay.len() {
            1 => String::new(),
            several => format!(" and {} more", several - 1),
        };
        output::say(&format!("left behind: `{first}`{more}, to be used again"));
    }
    watch.heard()?;
    Ok(exit(&cases, &run))
}

/// What is reported of a kept run, in the form that is asked for.
fn report(cases: &[Case<'_>], run: &Run, args: &VdbenchArgs) -> anyhow::Result<()> {
    let pass = results::middle_pass(cases, run);
    let report = results::report(cases, run, pass);
    match args.output_format {
        OutputFormat::Json => output::print(&dialects::vdbench::output::json(&report))?,
        OutputFormat::Text if args.show.is_some() || cases.len() > 1 => {
            output::print(&dialects::vdbench::output::totals_text(&report))?;
        }
        OutputFormat::Text => {}
    }
    match &args.output {
        Some(dir) => out::write(
            dir,
            &report,
            (&run.meta.id, args.consent.others.dir_of_others),
        ),
        None => Ok(()),
    }
}

/// Reports a kept run again.
fn show_kept(context: &Context, args: &VdbenchArgs, name: &str) -> anyhow::Result<Exit> {
    let refused = |why: &str| {
        let hint = format!("`kurabe show {name}` shows every run");
        let text = format!("report run `{name}` in vdbench's words: {why}");
        failure(Exit::Usage, text, Some(&hint))
    };
    let run = context.load(name)?;
    let Some(kept) = run.plan.of_vdbench() else {
        return Err(refused("`kurabe vdbench` did not make it"));
    };
    let request = Request {
        files: Vec::new(),
        words: kept.to_vec(),
    };
    let plan = read(&request)?;
    let cases = cases::told(&plan, &run.plan);
    if !cases
        .iter()
        .map(|case| &case.id)
        .eq(run.plan.cases.iter().map(|case| &case.id))
    {
        return Err(refused(
            "the version that kept it divided its runs otherwise",
        ));
    }
    let of_others = args.consent.others.dir_of_others;
    let out = args.output.as_deref();
    let _made = out.map(|dir| out::check(dir, of_others)).transpose()?;
    report(&cases, &run, args)?;
    say_how_it_went(&cases, &run, (context.lang, true));
    Ok(exit(&cases, &run))
}

fn say_how_it_went(cases: &[Case<'_>], run: &Run, (lang, quiet): (Lang, bool)) {
    let mut said: Vec<String> = Vec::new();
    let mut say = |words: String| {
        if !said.contains(&words) {
            output::say(&words);
            said.push(words);
        }
    };
    for case in cases {
        for round in run.rounds_of(&case.id) {
            if let Outcome::Failed(failure) = &round.outcome {
                say(format!("error: rd={}: {failure}", case.run.name));
            }
        }
    }
    let rounds = stats::RunRounds::of(run);
    for remark in rounds
        .cases()
        .iter()
        .flat_map(|case| stats::storage::remarks(case, run))
    {
        say(format!("warning: {}", report::said::warning(&remark, lang)));
    }
    if quiet {
        return;
    }
    let id = &run.meta.id;
    let passes = run.rounds.iter().map(|round| round.pass).max().unwrap_or(1);
    output::say(&if passes > 1 {
        format!(
            "kept as run {id}; totals are of the pass with the median rate, of {passes}; `kurabe show {id}` has \
             intervals"
        )
    } else {
        format!("kept as run {id}; --passes 6 and more give intervals")
    });
}

fn exit(cases: &[Case<'_>], run: &Run) -> Exit {
    if run.meta.end == End::Interrupted {
        return Exit::Interrupted;
    }
    let done = |case: &Case<'_>| {
        let mut rounds = run.rounds_of(&case.id);
        rounds.any(|round| matches!(round.outcome, Outcome::Done(_)))
    };
    let is_unsupported = |round: &model::record::Round| {
        matches!(round.outcome, Outcome::Failed(Failure::Unsupported(_)))
    };
    if cases.iter().all(done) {
        Exit::Ok
    } else if run.rounds.iter().any(is_unsupported) {
        Exit::Unsupported
    } else {
        Exit::Incomplete
    }
}
