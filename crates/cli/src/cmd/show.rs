//! `kurabe show [RUN]`: a kept run in any format. Nothing is measured again.

use crate::args::{ShowArgs, ShowFormat};
use crate::catalogue;
use crate::context::Context;
use crate::exit::{Exit, failure};
use crate::output;
use crate::session::Measured;
use model::plan::PlannedCase;
use model::record::{End, Failure, Outcome, Run};
use report::offers::{self, OfferPart};

pub(crate) fn run(context: &Context, args: &ShowArgs) -> anyhow::Result<Exit> {
    let format = args.format.chosen()?;
    let run = context.load(&args.run)?;
    check_format(&run, format)?;
    output::print(&render(context, &run, format))?;
    Ok(Exit::Ok)
}

/// Refuses a format that has nothing to say about this run: UnixBench's report is one of UnixBench's tests alone, and
/// of no soak; YABS' is one of its runs of fio.
pub(crate) fn check_format(run: &Run, format: ShowFormat) -> anyhow::Result<()> {
    let (name, has_tests, lacks, hint) = match format {
        ShowFormat::Unixbench => (
            "unixbench",
            run.plan.soak.is_none() && !dialects::unixbench::indexes(run).is_empty(),
            "it is a soak, or has none of UnixBench's tests",
            "`kurabe run unixbench` has them all; `--format text` shows any run",
        ),
        ShowFormat::Yabs => (
            "yabs",
            dialects::yabs::has_report(run),
            "it has none of YABS' runs of fio",
            "`kurabe run familiar` has them; `--format text` shows any run",
        ),
        ShowFormat::Page(..) | ShowFormat::Json | ShowFormat::Csv | ShowFormat::CsvRounds => {
            return Ok(());
        }
    };
    let why = if run.meta.origin.is_some() {
        (
            "it was imported, and kurabe measured none of it",
            "`--format text` shows its figures",
        )
    } else if has_tests {
        return Ok(());
    } else {
        (lacks, hint)
    };
    let what = format!("show with `--format {name}`: {}", why.0);
    Err(failure(Exit::Usage, what, Some(why.1)))
}

/// Shows the run that has just been measured, and says how it went.
pub(crate) fn measured(
    context: &Context,
    measured: Measured,
    format: ShowFormat,
) -> anyhow::Result<Exit> {
    let runs = measured.whole()?;
    let [run] = runs.as_slice() else {
        anyhow::bail!("read the run back");
    };
    output::print(&render(context, run, format))?;
    Ok(exit(run))
}

/// How a measured run went: whether it was interrupted, and whether every case was measured as it was meant to be.
pub(crate) fn exit(run: &Run) -> Exit {
    if run.meta.end == End::Interrupted {
        return Exit::Interrupted;
    }
    let whole = |case: &PlannedCase| is_whole(run.rounds_of(&case.id).map(|round| &round.outcome));
    if run.plan.cases.iter().all(whole) {
        Exit::Ok
    } else {
        Exit::Incomplete
    }
}

/// Whether the rounds of a case, in their order, are what was asked for. One that failed now and then costs itself and
/// no more; a case without any, one that was given up in the end, and one that the machine could not go on doing have
/// lost something that the caller must know of.
fn is_whole<'a>(rounds: impl Iterator<Item = &'a Outcome>) -> bool {
    let (mut any, mut in_a_row) = (false, 0);
    for outcome in rounds {
        match outcome {
            Outcome::Done(_) => (any, in_a_row) = (true, 0),
            Outcome::Failed(Failure::Unsupported(_)) => return false,
            Outcome::Failed(_) => in_a_row += 1,
        }
    }
    any && in_a_row < engine::FAILURES_MAX
}

/// The run in this format.
fn render(context: &Context, run: &Run, format: ShowFormat) -> String {
    let mut view = report::view::view(run);
    if let (ShowFormat::Page(..), Some(id)) = (format, &run.meta.offer) {
        view.offer = offer(context, run, id).unwrap_or_else(|error| {
            output::say(&format!(
                "going on without the catalogue of offers: {error:#}"
            ));
            None
        });
    }
    match format {
        ShowFormat::Page(format, detail) => {
            let page = report::page::run::page(&view, detail, context.lang);
            context.drawn(&page, format)
        }
        ShowFormat::Json => report::json::run(&view),
        ShowFormat::Csv => report::csv::metrics(&view),
        ShowFormat::CsvRounds => report::csv::rounds(&view),
        ShowFormat::Unixbench => report::unixbench(&view),
        ShowFormat::Yabs => report::yabs(&view),
    }
}

/// What was rented for the run, with what all runs of it say of its claims.
fn offer(context: &Context, run: &Run, id: &str) -> anyhow::Result<Option<OfferPart>> {
    let Some(catalogue) = catalogue::read(None)? else {
        return Ok(None);
    };
    let Some(offer) = catalogue.find(id) else {
        return Ok(None);
    };
    let mut figures = offer
        .claims
        .iter()
        .map(|claim| claim.is.figure.quantity.as_ref());
    let whole = figures.any(catalogue::takes_latencies);
    let mut runs = if offer.claims.is_empty() {
        Vec::new()
    } else {
        catalogue::runs(context, |other| other == id, whole)?
    };
    // It may come from a file.
    if runs.iter().all(|other| other.meta.id != run.meta.id) {
        runs.push(run.clone());
    }
    let measured = offers::Measured::new(offer, &runs.iter().collect::<Vec<_>>());
    Ok(Some(offers::part(&measured)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_lost_rounds_for_good_is_incomplete() {
        let check = |rounds: &str, expect: bool| {
            let outcomes: Vec<Outcome> = rounds
                .chars()
                .map(|round| match round {
                    'd' => Outcome::Done(testkit::measured(&[])),
                    'u' => Outcome::Failed(Failure::Unsupported("too little memory".to_owned())),
                    _ => Outcome::Failed(Failure::OutOfMemory),
                })
                .collect();
            assert_eq!(is_whole(outcomes.iter()), expect, "{rounds}");
        };
        check("", false);
        check("u", false);
        check("fff", false);
        check("d", true);
        check("dfd", true);
        check("ddff", true);
        check("fffd", true);
        // Given up, and no longer possible for a while.
        check("ddfff", false);
        check("dddduddd", false);
    }
}
