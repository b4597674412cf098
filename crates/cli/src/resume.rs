//! Going on with what was interrupted or killed, on the machine and with the program that began it: rounds of another
//! set-up would not be rounds of the same run.

use crate::context::Context;
use crate::directory::{self, Directory};
use crate::exit::{Exit, failure};
use crate::kind::Kind;
use crate::session::Ready;
use crate::{new_run, targets};
use dialects::command::go_on;
use engine::consent::Consent;
use model::order::Order as _;
use model::plan::Plan;
use model::record::{End, Run, RunMeta};
use std::path::Path;
use store::Store;

/// The kept run `name`, ready to go on: both sides, where it is one of a duel. `command` is what was typed.
pub(crate) fn ready(
    context: &Context,
    name: &str,
    command: Kind,
    consent: &Consent,
) -> anyhow::Result<Ready> {
    let runs = kept(&context.store_to_read()?, name, command)?;
    for run in &runs {
        same_set_up(run, consent)?;
    }
    Ok(Ready {
        runs,
        kept: true,
        db_max: None,
    })
}

/// What is to be gone on with: one run, or the two sides of a duel in their order.
fn kept(store: &Store, name: &str, command: Kind) -> anyhow::Result<Vec<Run>> {
    let run = store.load(&store.resolve(name)?)?;
    let (id, kind) = (&run.meta.id, Kind::of(&run.plan));
    // By another name than the id, it is said which run that is: a soak of a day is not gone on with by mistake.
    let which = if name == id {
        format!("run `{id}`: it is")
    } else {
        format!("`{name}`: run `{id}` is")
    };
    if kind != command {
        let runs = sides(store, run.clone()).unwrap_or_else(|_| vec![run]);
        return Err(failure(
            Exit::Usage,
            format!("go on with {which} {}", kind.noun(command)),
            Some(&goes_on(name, &runs)),
        ));
    }
    if run.meta.end == End::Complete {
        let anew = match kind {
            Kind::Soak => "`kurabe soak TEST --for TIME` begins a new one",
            Kind::Run => "`kurabe run` begins a new one",
            Kind::Duel => "`kurabe duel` begins a new one",
        };
        return Err(failure(
            Exit::Usage,
            format!("go on with {which} finished, and is never changed again"),
            Some(&format!("`kurabe show {name}` shows it; {anew}")),
        ));
    }
    sides(store, run)
}

/// How one goes on with what is kept by this name.
pub(crate) fn goes_on(name: &str, runs: &[Run]) -> String {
    let plans: Vec<&Plan> = runs.iter().map(|run| &run.plan).collect();
    format!("`{}` goes on with it", go_on(name, &plans))
}

/// The run; of a duel both sides, in their order.
fn sides(store: &Store, run: Run) -> anyhow::Result<Vec<Run>> {
    if run.plan.duel.is_none() {
        return Ok(vec![run]);
    }
    let mut sides = vec![other_side(store, &run)?, run];
    sides.order_by(|a, b| side(a).cmp(side(b)));
    Ok(sides)
}

fn side(run: &Run) -> &str {
    run.plan.duel.as_ref().map_or("", |duel| duel.side.as_str())
}

/// The run of the duel's other side.
fn other_side(store: &Store, run: &Run) -> anyhow::Result<Run> {
    let lost = |why: &dyn std::fmt::Display| {
        let text = format!("go on with run `{}`: its other side: {why}", run.meta.id);
        failure(Exit::Usage, text, Some("begin a new duel"))
    };
    let duel = run.plan.duel.as_ref();
    let other = duel.map(|duel| store.other_side(&run.meta.id, duel));
    match other.transpose()?.flatten() {
        Some(other) => store.load(&other.id).map_err(|error| lost(&error)),
        None => Err(lost(&"it is not kept here")),
    }
}

/// Refuses to go on where machine or program are not what they were.
fn same_set_up(run: &Run, consent: &Consent) -> anyhow::Result<()> {
    let dir = Directory::look(Some(Path::new(&run.meta.dir)), directory::OPTION, consent)?;
    let now = Run {
        meta: RunMeta {
            binary: new_run::binary(),
            ..run.meta.clone()
        },
        host: dir.host,
        plan: targets::look_again(&run.plan)?,
        rounds: Vec::new(),
    };
    refuse_another(run, &now)
}

/// Refuses to go on with a run on what differs from its set-up.
pub(crate) fn refuse_another(run: &Run, now: &Run) -> anyhow::Result<()> {
    let differences = stats::differences(run, now);
    if differences.is_empty() {
        return Ok(());
    }
    let list: Vec<String> = differences
        .iter()
        .map(|d| format!("{}: {}, now {}", d.what, d.base, d.other))
        .collect();
    Err(failure(
        Exit::Usage,
        format!(
            "go on with run `{}`: the set-up is not the same: {}",
            run.meta.id,
            list.join("; ")
        ),
        Some("begin a new run, and compare the two with `kurabe compare`"),
    ))
}
