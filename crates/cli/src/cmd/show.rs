//! `kurabe show [RUN]`: a kept run in any format. Nothing is measured again.

use crate::args::{Chosen, ShowArgs};
use crate::catalogue;
use crate::context::{Context, file};
use crate::exit::Exit;
use crate::known::Known;
use crate::output;
use crate::session::Measured;
use model::plan::PlannedCase;
use model::record::{End, Failure, Outcome, Run};
use report::formats::Shown;
use report::offers::{self, OfferPart};
use std::path::Path;

pub(crate) fn run(context: &Context, args: &ShowArgs) -> anyhow::Result<Exit> {
    let format = args.format.chosen()?;
    let mut run = context.load(&args.run)?;
    format.check(&run)?;
    let text = render(
        context,
        &mut run,
        Some(&args.run),
        format,
        args.catalogue.file(),
    )?;
    output::print(&text)?;
    Ok(Exit::Ok)
}

/// Shows the run that has just been measured, and says how it went.
pub(crate) fn measured(
    context: &Context,
    measured: Measured,
    format: Chosen,
    offers: Option<&Path>,
) -> anyhow::Result<Exit> {
    let mut runs = measured.whole()?;
    let [run] = runs.as_mut_slice() else {
        anyhow::bail!("read the run back");
    };
    output::print(&render(context, run, None, format, offers)?)?;
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

/// The run in this format; `named` is what the user typed for it, and `offers` the catalogue that was named.
fn render(
    context: &Context,
    run: &mut Run,
    named: Option<&str>,
    format: Chosen,
    offers: Option<&Path>,
) -> anyhow::Result<String> {
    format.leave_out_identity(&mut [&mut *run])?;
    let mut view = report::view::view(run);
    if !format.is_anonymous() {
        view.path = named.and_then(file).map(ToOwned::to_owned);
    }
    if format.format.tells_offers {
        view.offer = offer(context, run, offers).unwrap_or_else(|error| {
            output::say(&format!(
                "going on without the catalogue of offers: {error:#}"
            ));
            None
        });
    }
    format.draw(context, Shown::Run(&view))
}

/// What was rented for the run, where it says so, with what all runs of it say of its claims.
fn offer(context: &Context, run: &Run, named: Option<&Path>) -> anyhow::Result<Option<OfferPart>> {
    let Some(id) = &run.meta.offer else {
        return Ok(None);
    };
    let Some(catalogue) = catalogue::read(named)? else {
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
    catalogue::check_claims(offer, &Known::of(&runs))?;
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
