//! `--dry-run`: a plan in words or as a document, and what would refuse it. Nothing is measured and nothing is kept.

use crate::args::Chosen;
use crate::consent;
use crate::context::Context;
use crate::exit::{Exit, failure};
use crate::kind::Kind;
use crate::output;
use crate::server_room;
use engine::budget::{self, short_of};
use engine::consent::Consent;
use engine::soak::sample_length;
use model::ground::GroundKind;
use model::named::NamedKind;
use model::num::{approx, round_to_u64};
use model::params::budget_text;
use model::plan::{Plan, PlannedCase, Shape};
use model::record::Run;
use model::soak::Soak;
use model::spec::MetricDef;
use model::units::{Bytes, Nanos};
use report::Lang;
use report::formats::Shown;
use report::number::{self, counted, in_seconds};
use report::page::plan::{PlanView, PlannedRounds, Written, sent};
use workloads::net::route::link_bits_per_s;

/// Prints the plan of a run, or of the two sides of a duel. What would refuse it as it was typed is said too: who looks
/// before he leaps wants to know.
pub(crate) fn show(
    context: &Context,
    runs: &[Run],
    format: Chosen,
    consent: &Consent,
    most_on_server: Bytes,
) -> anyhow::Result<Exit> {
    let refused = consent::examine(context, runs, consent);
    let refused = refused.or_else(|| over(runs));
    let refused = refused.or_else(|| server_room::over(runs, most_on_server));
    let first = runs.first().map(|run| &run.plan);
    let view = PlanView {
        command: first.map_or(Kind::Run, Kind::of).word(),
        expected: expected(runs),
        note: first.and_then(note),
        refused: refused.clone(),
        writes: written(runs),
        on_servers: server_room::on_servers(runs, most_on_server),
        runs,
        rounds: &rounds,
    };
    output::print(&format.draw(context, Shown::Plan(&view))?)?;
    if let Some(refusal) = refused {
        output::say(&format!(
            "note: as it stands, this would be refused: {refusal}"
        ));
    }
    Ok(Exit::Ok)
}

pub(crate) fn rounds(plan: &Plan, case: &PlannedCase) -> PlannedRounds {
    let rounds = budget::rounds(plan, case);
    PlannedRounds {
        least: rounds.least,
        most: rounds.most,
        fit: budget::passes_that_fit(plan),
        each: budget::round_cost(case),
        measure: match &plan.soak {
            Some(soak) => sample_length(soak, &case.shape),
            None => case.shape.measure,
        },
    }
}

/// What all of it is expected to take. The sides of a duel share one budget.
pub(crate) fn expected(sides: &[Run]) -> Nanos {
    let each = sides.iter().map(|side| of_plan(&side.plan));
    let all = each.fold(Nanos::ZERO, Nanos::plus);
    let budget = sides.first().and_then(|side| side.plan.budget);
    budget.map_or(all, |budget| all.min(budget))
}

/// What all of it writes to storage. Where something stands in for the test file, that is named beside it.
fn written(runs: &[Run]) -> Written {
    let mut written = Written::default();
    let mut ways = 0;
    for run in runs {
        for case in &run.plan.cases {
            let Some(workload) = workloads::find(&case.workload) else {
                continue;
            };
            // What a server writes is written where the server is.
            let stand_ins = engine::consent::stand_ins(&run.plan);
            let works_on = |is: fn(NamedKind) -> bool| {
                let mut own = stand_ins.iter().filter(|own| is(own.kind));
                own.any(|own| !workload.touches(&case.params, Some(own)).is_empty())
            };
            if works_on(|kind| kind == NamedKind::Server) {
                continue;
            }
            let here = workload.on(&case.params, &run.host, case.id.copies);
            let writes = workload.writes(&here);
            let planned = rounds(&run.plan, case);
            let times = u64::from(planned.most.or(planned.fit).unwrap_or(1));
            let each = times * u64::from(case.id.copies);
            written.files.0 += writes.per_round.0.saturating_mul(each);
            let span = match &run.plan.soak {
                Some(soak) => load_of(soak, &case.shape),
                None => Nanos(case.shape.warmup.plus(case.shape.measure).0 * times),
            };
            if writes.throughout {
                written.throughout = written.throughout.plus(span);
            }
            // Messages one at a time are no load of a network.
            let is_flow = |metric: &MetricDef| metric.unit.is_bytes_per_second();
            let flows = workload.metrics(&case.params).into_iter().any(is_flow);
            if flows && works_on(NamedKind::is_peer) {
                if let Some(bits) = workload.bits_per_s(&case.params, case.id.copies) {
                    let bytes = approx(bits) / 8.0 * span.as_secs_f64();
                    let all = written.at_rates.0.saturating_add(round_to_u64(bytes));
                    written.at_rates = Bytes(all);
                } else {
                    let own = u64::from(workload.ways(&case.params));
                    ways = ways.max(own);
                    let all = Nanos(span.0.saturating_mul(own));
                    written.to_peers = written.to_peers.plus(all);
                }
            }
        }
        let made = run.plan.grounds();
        let made = made.filter(|ground| ground.kind == GroundKind::File);
        written.files.0 += made.filter_map(|ground| Some(ground.bytes?.0)).sum::<u64>();
    }
    // Nothing goes on for longer than all of it does.
    let all = expected(runs);
    written.throughout = written.throughout.min(all);
    written.to_peers = written.to_peers.min(Nanos(all.0.saturating_mul(ways)));
    written
}

/// Says before runs begin what they move over networks: it may be paid for.
pub(crate) fn say_what_moves(runs: &[Run]) {
    let most = runs.first().and_then(|run| run.plan.max_bytes);
    if let Some(line) = sent(written(runs), most) {
        output::say(&format!("note: {line}"));
    }
}

/// Refuses a plan that could move more than the user allows.
pub(crate) fn refuse_over(runs: &[Run]) -> anyhow::Result<()> {
    let hint = "a larger `--max-bytes`, a smaller `--budget`, fewer `--passes`, or a shorter `time` of the tests";
    over(runs).map_or(Ok(()), |why| Err(failure(Exit::Usage, why, Some(hint))))
}

/// Why that is refused. Where nobody knows how fast a network is, the link is the bound; where nobody knows that
/// either, rounds tell, and the run ends at what is allowed.
fn over(runs: &[Run]) -> Option<String> {
    let most = runs.first()?.plan.max_bytes?;
    let written = written(runs);
    let peers = runs.iter().flat_map(|run| run.plan.peers());
    let links: Option<Vec<u64>> = peers.map(|peer| link_bits_per_s(&peer.path)).collect();
    let link = links.and_then(|links| links.into_iter().max());
    let at_link = link.map_or(0, |bits| {
        round_to_u64(approx(bits) / 8.0 * written.to_peers.as_secs_f64())
    });
    let all = written.at_rates.0.saturating_add(at_link);
    if all <= most.0 {
        return None;
    }
    let gigabytes = |bytes: u64| approx(bytes) / 1e9;
    let of_link = link.filter(|_| at_link > 0).map(|bits| {
        format!(
            ", {:.2} GB of them in {} (each direction counts) at the {:.1} Gbit/s of the link",
            gigabytes(at_link),
            in_seconds(written.to_peers),
            approx(bits) / 1e9
        )
    });
    Some(format!(
        "the plan could move {:.2} GB{}, and `--max-bytes` allows {:.2} GB",
        gigabytes(all),
        of_link.unwrap_or_default(),
        gigabytes(most.0)
    ))
}

/// For how long a soak loads what it measures: its opening, and the samples behind that.
pub(crate) fn load_of(soak: &Soak, shape: &Shape) -> Nanos {
    let Some(every) = soak.every else {
        return soak.span;
    };
    let opening = soak.opening.min(soak.span);
    let samples = soak.span.since(opening).0.div_ceil(every.0.max(1));
    let samples = Nanos(sample_length(soak, shape).0.saturating_mul(samples));
    opening.plus(samples).min(soak.span)
}

/// What one run is expected to take, at most.
pub(crate) fn of_plan(plan: &Plan) -> Nanos {
    plan.soak
        .as_ref()
        .map_or_else(|| budget::expected(plan), |soak| soak.span)
}

/// What is to be known of the time of a plan.
fn note(plan: &Plan) -> Option<String> {
    let of_passes = shortage(plan).or_else(|| few_passes(plan));
    let all: Vec<String> = of_passes.into_iter().chain(takes_long(plan)).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// A run that takes longer is nothing that one waits for.
const LONG: Nanos = Nanos::from_secs(3600);

/// What tells much the same sooner, where a run is expected to take more than an hour.
fn takes_long(plan: &Plan) -> Option<String> {
    let expected = of_plan(plan);
    let is_chosen = plan.spread.is_some() || plan.soak.is_some();
    if expected <= LONG || is_chosen {
        return None;
    }
    let shorter = plan.cases.iter().find_map(|case| {
        let test = workloads::find(&case.workload)?.shorter(&case.params)?;
        Some((&case.id.test, test))
    });
    let (long, short) = shorter?;
    Some(format!(
        "`{long}` makes this take about {}; `{short}` tells in minutes what it can; hint: `kurabe run {short}`, or fewer \
         `--passes`",
        number::time(expected, Lang::En)
    ))
}

/// Says before a run that it takes long where something shorter would do.
pub(crate) fn warn_of_length(plan: &Plan) {
    if let Some(note) = takes_long(plan) {
        output::say(&format!("note: {note}"));
    }
}

/// Says before a run that its budget cannot hold what was asked for. Where not even one pass is expected to fit, it is
/// tried, because that rests on a guess at the storage, and said if it turns out to be true.
pub(crate) fn warn_of_shortage(plan: &Plan) {
    if short_of(plan).is_some_and(|short| short.passes > 0)
        && let Some(note) = shortage(plan)
    {
        output::say(&format!("note: {note}"));
    }
}

/// What is said where the budget cannot hold the passes that were asked for, or those that an interval takes.
fn shortage(plan: &Plan) -> Option<String> {
    let short = short_of(plan)?;
    let budget = in_seconds(plan.budget.unwrap_or_default());
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
    let first = if budget::making(plan) > Nanos::ZERO {
        ", with what is made first,"
    } else {
        ""
    };
    let take = short.needs.0.div_ceil(1_000_000_000);
    let room = short.room.map_or_else(String::new, |room| {
        format!(", for which `--budget {}` has room", budget_text(room))
    });
    Some(format!(
        "the budget of {budget}{} is over before {passes}: {fit}, and the run ends there{few}; {passes}{kept}{first} take \
         about {take} s{room}",
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
