//! `kurabe fio ...`: fio's job files and command lines, measured by this program and reported in fio's forms.
//!
//! The way of the data: our own options are taken out of the line, `dialects` reads the rest into a plan of fio's
//! jobs, what cannot be done is refused by its place, each phase (the jobs up to the next stonewall) becomes a case
//! whose copies do one job each, the run is kept like every run, and what its copies did is turned into fio's report.

pub(crate) mod apart;
mod directories;
mod files;
mod help;
mod logs;
pub(crate) mod out;
mod own;
mod phases;
pub(crate) mod results;
mod scheduler;
mod status;
pub(crate) mod surroundings;

use crate::args::FioArgs;
use crate::consent;
use crate::context::Context;
use crate::directory::{Directory, OPTION_OF_FIO};
use crate::exit::{Exit, failure};
use crate::new_run;
use crate::output;
use crate::session::{self, Measured, Onlooker, Ready};
use crate::targets;
use anyhow::Context as _;
use dialects::fio::result::Kept;
use dialects::fio::{Eta, Job, Plan, Remark, Request};
use directories::Directories;
use engine::look::Looking;
use model::job::IoEngine;
use model::record::{End, Failure, Outcome, Round, Run};
use own::Own;
use phases::Phase;
use report::Lang;
use scheduler::Schedulers;
use status::Statuses;
use std::path::PathBuf;
use surroundings::Machine;
use workloads::storage::exec;

pub(crate) fn run(context: &Context, args: &FioArgs) -> anyhow::Result<Exit> {
    let own = Own::read(&args.arguments)?;
    if let Some(name) = &own.show {
        return show_kept(context, &own, name);
    }
    let plan = dialects::fio::parse(&own.rest, &Machine).map_err(|error| refused(&error))?;
    if let Some(text) = help::answer(&plan.request, context.lines)? {
        output::print(&text)?;
        return Ok(Exit::Ok);
    }
    if plan.request == Request::ShowCommand {
        output::print(&dialects::fio::show_command(&plan))?;
        return Ok(Exit::Ok);
    }
    let remarks = dialects::fio::options::check_limits(&plan).map_err(|error| refused(&error))?;
    let said = Said::of(&plan, &remarks);
    if own.speaks() {
        said.say();
    }
    if plan.request == Request::ParseOnly {
        return Ok(Exit::Ok);
    }
    measure(context, &own, &plan, said)
}

fn refused(error: &dialects::fio::Error) -> anyhow::Error {
    failure(Exit::Usage, error, None)
}

/// What there is to say of jobs, and of what they did, beside errors.
#[derive(Debug, Default)]
struct Said {
    /// What makes figures doubtful, or other than most people would expect.
    warnings: Vec<String>,
    /// What is fine and worth a word.
    notes: Vec<String>,
}

impl Said {
    /// What the reader of the jobs has to say.
    fn of(plan: &Plan, remarks: &[Remark]) -> Self {
        let notes = plan.notes.iter().chain(remarks);
        Self {
            warnings: plan.warnings.iter().map(Remark::to_string).collect(),
            notes: notes.map(Remark::to_string).collect(),
        }
    }

    fn say(&self) {
        let warnings = self.warnings.iter().map(|text| format!("warning: {text}"));
        let notes = self.notes.iter().map(|text| format!("note: {text}"));
        for text in warnings.chain(notes) {
            output::say(&text);
        }
    }
}

fn measure(context: &Context, own: &Own, plan: &Plan, mut before: Said) -> anyhow::Result<Exit> {
    let consent = own.consent();
    let executes = |job: &Job| job.does.engine == IoEngine::Exec;
    let programs = plan.jobs().filter(|job| executes(job));
    let programs = programs.map(|job| (job.name.clone(), job.exec.program.clone()));
    engine::consent::may_execute(&programs.collect::<Vec<_>>(), &consent)
        .map_err(|why| targets::refused(&why))?;
    let looking = Looking::begin();
    out::check(plan, own.dir_of_others)?;
    logs::check(plan, own.dir_of_others)?;
    let _directories = Directories::make(plan, &consent)?;
    let phases = phases::of(plan)?;
    let schedulers = Schedulers::set(plan)?;
    let first = files::directory_of_first(plan);
    let dir = Directory::look_beside(first.as_deref(), OPTION_OF_FIO, &consent)?;
    let mut planned = phases::plan(plan, &phases, own, &dir.host)?;
    targets::name(&mut planned, &[])?;
    if let Some(words) = dir.in_memory()
        && planned.cases.iter().any(|case| case.on_disk)
    {
        if own.speaks() {
            output::say(&format!("warning: {words}"));
        }
        before.warnings.push(words);
    }
    let mut ready = Ready::new([new_run::of(dir, planned, own.label.clone(), &own.tags)?]);
    let granted = consent::grant(context, &ready.runs, &consent)?;
    // Behind the gate: of a place where no file can be made nobody asks how much room it has. What the gate made is
    // empty, and goes with it.
    phases::check_space(&phases)?;
    ready.runs[0].meta.looks.push(looking.end());
    let quiet = !own.speaks() || plan.output.eta == Eta::Never;
    let head = out::opening(plan);
    let head = if out::file(plan).is_some() {
        head
    } else {
        output::print(&head)?;
        String::new()
    };
    let mut statuses = Statuses::new(plan, &phases, &ready.runs[0]);
    let onlooker = statuses.as_mut().map(|own| own as &mut dyn Onlooker);
    let Measured {
        mut runs,
        files: stay,
    } = session::measure_before(context, &ready, granted, quiet, onlooker)?;
    let run = runs.pop().context("read the run back")?;
    let pass = results::middle_pass(&phases, &run);
    let after = remarks(&run, context.lang);
    let ends = program_ends(&phases, &run, &after);
    let own_notes = schedulers.notes().chain(ends.iter().cloned()).collect();
    let notes = [before.notes, own_notes].concat();
    let mut report = results::report(plan, &phases, &run, pass);
    let left = stay.as_deref().unwrap_or_default();
    report.kept = Some(kept_run(
        (&run, pass),
        [before.warnings, after.clone()].concat(),
        notes,
        left,
    ));
    let before = head + statuses.as_ref().map_or("", Statuses::said);
    out::show(plan, &report, &before, (&run.meta.id, own.dir_of_others))?;
    let logged = logs::write(plan, &phases, (&run, pass), own.dir_of_others);
    say_errors(&phases, &run);
    if own.speaks() {
        say_how_it_went(&run, pass, (&after, &ends));
        if let Some(words) = files::left_behind(left) {
            output::say(&words);
        }
    }
    stay?;
    logged?;
    Ok(exit(&phases, &run))
}

/// What the JSON has of the run that only this program has.
fn kept_run(
    (run, pass): (&Run, u32),
    warnings: Vec<String>,
    notes: Vec<String>,
    left: &[PathBuf],
) -> Kept {
    let files = left.iter().map(|path| path.display().to_string());
    let passes = run.rounds.iter().map(|round| round.pass).max().unwrap_or(1);
    Kept {
        run: run.meta.id.clone(),
        pass,
        passes,
        warnings,
        notes,
        files: files.collect(),
    }
}

/// Reports a kept run again. What it was asked for is kept with it; how it is shown is asked for now, and nothing else
/// can be: what was measured stays as it is.
fn show_kept(context: &Context, own: &Own, name: &str) -> anyhow::Result<Exit> {
    let refused_to_show = |why: &str| {
        let hint = format!("`kurabe show {name}` shows every run");
        let text = format!("report run `{name}` in fio's words: {why}");
        failure(Exit::Usage, text, Some(&hint))
    };
    let asks_for_more = |what: &str| {
        let text = format!("report run `{name}` again: {what} asks for more than its report");
        let hint = "beside `--show` stand `--output-format`, `--output` and the like; without it jobs are measured";
        failure(Exit::Usage, text, Some(hint))
    };
    if let Some(option) = own.measures() {
        return Err(asks_for_more(&format!("`{option}`")));
    }
    let run = context.load(name)?;
    let Some(kept) = run.plan.of_fio() else {
        return Err(refused_to_show("`kurabe fio` did not make it"));
    };
    let arguments: Vec<String> = kept.iter().chain(&own.rest).cloned().collect();
    let read =
        |line: &[String]| dialects::fio::parse(line, &Machine).map_err(|error| refused(&error));
    let (asked, plan) = (read(kept)?, read(&arguments)?);
    let with_its_output = Plan {
        output: plan.output.clone(),
        ..asked
    };
    if plan != with_its_output || plan.output.status_interval_ns.is_some() {
        let words = own.rest.iter().map(|word| format!("`{word}`"));
        let words: Vec<String> = words.collect();
        return Err(asks_for_more(&format!("something of {}", words.join(" "))));
    }
    let phases = phases::told(&plan);
    let cases = || run.plan.cases.iter().map(|case| &case.id);
    if !phases.iter().map(|phase| &phase.case).eq(cases()) {
        return Err(refused_to_show(
            "the version that kept it divided its jobs otherwise",
        ));
    }
    out::check(&plan, own.dir_of_others)?;
    let pass = results::middle_pass(&phases, &run);
    let mut report = results::report(&plan, &phases, &run, pass);
    // The reader says the same of the same jobs: it need not be kept beside them.
    let notes = dialects::fio::options::check_limits(&plan).unwrap_or_default();
    let said = Said::of(&plan, &notes);
    let after = remarks(&run, context.lang);
    let ends = program_ends(&phases, &run, &after);
    if own.speaks() {
        said.say();
    }
    report.kept = Some(kept_run(
        (&run, pass),
        [said.warnings, after.clone()].concat(),
        [said.notes, ends.clone()].concat(),
        &[],
    ));
    let head = out::opening(&plan);
    out::show(&plan, &report, &head, (&run.meta.id, own.dir_of_others))?;
    say_errors(&phases, &run);
    if own.speaks() {
        say_how_it_went(&run, pass, (&after, &ends));
    }
    Ok(exit(&phases, &run))
}

/// A failure with the jobs that it concerns: what went wrong within a job says which one.
fn in_words(failure: &Failure, phase: &Phase<'_>) -> String {
    match failure {
        Failure::Unsupported(_) | Failure::Error(_) | Failure::WrongResult(_) => {
            failure.to_string()
        }
        Failure::Exited { .. }
        | Failure::Signal { .. }
        | Failure::OutOfMemory
        | Failure::Hung { .. }
        // No job has one.
        | Failure::SetUp { .. } => format!("{}: {failure}", phase.in_words()),
    }
}

/// What went wrong, each sentence once: in every job, or in all of a phase where that is all that is known.
fn errors(phases: &[Phase<'_>], run: &Run) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for phase in phases {
        for round in run.rounds_of(&phase.case) {
            let Outcome::Failed(failure) = &round.outcome else {
                continue;
            };
            let copies = round.partial.iter().flat_map(|told| &told.copies);
            let own = copies.filter_map(|copy| copy.apart.as_ref()?.failed.as_ref());
            // The round has the first of them for its own, or one that no job knows of.
            for failure in std::iter::once(failure).chain(own) {
                let words = in_words(failure, phase);
                if !all.contains(&words) {
                    all.push(words);
                }
            }
        }
    }
    all
}

/// How the programs ended that jobs executed, each sentence once, and none that is `said` already.
fn program_ends(phases: &[Phase<'_>], run: &Run, said: &[String]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for phase in phases {
        let told = run.rounds_of(&phase.case).filter_map(Round::told);
        let jobs = told.flat_map(|told| phase.jobs.iter().zip(&told.copies));
        for ((_, job), copy) in jobs {
            let told = copy.apart.as_ref().and_then(|detail| detail.job.as_ref());
            let Some(end) = told.and_then(|told| told.program.as_ref()) else {
                continue;
            };
            let words = exec::told(&job.name, &job.exec.program, end);
            if !said.contains(&words) && !all.contains(&words) {
                all.push(words);
            }
        }
    }
    all
}

fn say_errors(phases: &[Phase<'_>], run: &Run) {
    for words in errors(phases, run) {
        output::say(&format!("error: {words}"));
    }
}

/// What makes figures of the run doubtful, each sentence once.
fn remarks(run: &Run, lang: Lang) -> Vec<String> {
    let mut said: Vec<String> = Vec::new();
    let rounds = stats::RunRounds::of(run);
    let remarks = |case| stats::storage::remarks(case, run);
    for remark in rounds.cases().iter().flat_map(remarks) {
        let remark = report::said::warning(&remark, lang);
        if !said.contains(&remark) {
            said.push(remark);
        }
    }
    said
}

fn say_how_it_went(run: &Run, pass: u32, (remarks, ends): (&[String], &[String])) {
    for remark in remarks {
        output::say(&format!("warning: {remark}"));
    }
    for end in ends {
        output::say(&format!("note: {end}"));
    }
    let id = &run.meta.id;
    let passes = run.rounds.iter().map(|round| round.pass).max().unwrap_or(1);
    output::say(&if passes > 1 {
        format!(
            "kept as run {id}; the report is of pass {pass} of {passes}, the one with the median rate; \
             `kurabe show {id}` has intervals"
        )
    } else {
        format!("kept as run {id}; --passes=6 and more give intervals")
    });
}

fn exit(phases: &[Phase<'_>], run: &Run) -> Exit {
    if run.meta.end == End::Interrupted {
        return Exit::Interrupted;
    }
    let unsupported = |round: &model::record::Round| {
        matches!(round.outcome, Outcome::Failed(Failure::Unsupported(_)))
    };
    let done = |phase: &Phase<'_>| {
        let mut rounds = run.rounds_of(&phase.case);
        rounds.any(|round| matches!(round.outcome, Outcome::Done(_)))
    };
    if phases.iter().all(done) {
        Exit::Ok
    } else if run.rounds.iter().any(unsupported) {
        Exit::Unsupported
    } else {
        Exit::Incomplete
    }
}
