//! Devices and files that the user names: into the plan, and through the gate, before anything is kept or measured.

use crate::args::NewRun;
use crate::context::Context;
use crate::exit::{Exit, failure};
use crate::output;
use dialects::printable::quoted;
use engine::consent::{self, Consent, Granted, Left, Refusal};
use engine::workload::{StandIn, Workload};
use model::named::{Named, NamedKind};
use model::plan::Plan;
use model::record::Run;
use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use store::Store;
use sys::tree::Tree;

/// What stands in for the test file, as the user named it.
pub(crate) fn stand_in(args: &NewRun) -> anyhow::Result<Option<StandIn>> {
    match (&args.device, &args.file) {
        (Some(device), _) => named(device, NamedKind::Device).map(Some),
        (None, Some(file)) => named(file, NamedKind::File).map(Some),
        (None, None) => Ok(None),
    }
}

/// A name as a stand-in: absolute, because workers have directories of their own, with its links as they are.
fn named(path: &Path, kind: NamedKind) -> anyhow::Result<StandIn> {
    let absolute = std::path::absolute(path).map_err(|error| {
        failure(
            Exit::Usage,
            format!("use `{}`: {error}", path.display()),
            None,
        )
    })?;
    Ok(StandIn {
        path: absolute,
        kind,
    })
}

/// Writes into the plan what its tests work on beside the run's own directory.
pub(crate) fn write_into(plan: &mut Plan, stand_in: Option<&StandIn>) -> anyhow::Result<()> {
    consent::name(&Tree::real(), plan, stand_in, workloads::find).map_err(|why| refused(&why))
}

/// The plan with what it names looked at again.
pub(crate) fn look_again(plan: &Plan) -> anyhow::Result<Plan> {
    let mut now = plan.clone();
    write_into(&mut now, consent::stand_in(plan).as_ref())?;
    Ok(now)
}

/// Decides about everything that the runs touch, claims the devices that they write to, and holds the files.
pub(crate) fn grant(context: &Context, runs: &[Run], consent: &Consent) -> anyhow::Result<Granted> {
    let granted = judged(context, runs, consent, consent::grant)?;
    for unseen in &granted.unseen {
        output::say(&format!(
            "warning: nobody was seen to use `{}`, but a program that has it open may not have been seen: {}",
            unseen.path.display(),
            unseen.why
        ));
    }
    Ok(granted)
}

/// How [`consent::grant`] and [`consent::examine`] are called.
type Judge<T> = fn(
    &Tree,
    &[&Plan],
    &Consent,
    consent::Known<'_>,
    fn(&str) -> Option<&'static dyn Workload>,
) -> Result<T, Refusal>;

fn judged<T>(
    context: &Context,
    runs: &[Run],
    consent: &Consent,
    judge: Judge<T>,
) -> anyhow::Result<T> {
    let plans: Vec<&Plan> = runs.iter().map(|run| &run.plan).collect();
    // Every file of a job is held open. Where the limit cannot be raised it may do as it is.
    let _ = sys::limits::raise_open_files();
    // Opened for the first file of ours that somebody asks about, and not made: what is wrong with it is said when the
    // run is begun in it.
    let store = OnceCell::new();
    let known = |id: &str| {
        let store = store.get_or_init(|| context.store_to_read().ok());
        store.as_ref()?.file_changed(id).ok().flatten()
    };
    judge(&Tree::real(), &plans, consent, &known, workloads::find).map_err(|why| refused(&why))
}

/// Marks the files of ours as the runs leave them, and removes those that a job of theirs unlinks or that are not
/// whole. Gives those that stay.
pub(crate) fn settle(
    granted: Granted,
    store: &Store,
    runs: &[Run],
) -> anyhow::Result<Vec<PathBuf>> {
    let plans = runs.iter().map(|run| &run.plan);
    let unlinked: Vec<PathBuf> = plans.flat_map(workloads::storage::jobs::unlinked).collect();
    let mut stay = Vec::new();
    for file in granted.settle(&|path| unlinked.iter().any(|own| own == path)) {
        match file.left {
            Left::Kept { id, changed } => {
                store.note_file(&file.path, &id, &changed.to_string())?;
                stay.push(file.path);
            }
            Left::Removed => store.forget_file(&file.path)?,
            Left::Lost(why) => {
                output::say(&format!(
                    "warning: `{}` stays and is no file of kurabe's any more: {why}",
                    file.path.display()
                ));
            }
        }
    }
    Ok(stay)
}

/// What would refuse the runs as they were typed.
pub(crate) fn refusal(context: &Context, runs: &[Run]) -> Option<String> {
    let judged = judged(context, runs, &context.consent, consent::examine);
    judged.err().map(|refusal| refusal.to_string())
}

/// What the plan works on beside the run's own directory, a line for each.
pub(crate) fn describe(plan: &Plan) -> String {
    let line = |named: &Named| {
        let how = if named.writes {
            "written to: what is in it is lost"
        } else {
            "only read"
        };
        format!("works on: {} `{}`, {how}\n", named.kind, named.path)
    };
    plan.named.iter().map(line).collect()
}

fn refused(refusal: &Refusal) -> anyhow::Error {
    let hint = refusal.option().map(|option| {
        let words = std::env::args_os().skip(1);
        let words = words.map(|word| word.to_string_lossy().into_owned());
        let command: Vec<String> = words.chain(option).map(|word| quoted(&word)).collect();
        format!(
            "if everything on it may be lost: `kurabe {}`",
            command.join(" ")
        )
    });
    failure(Exit::Usage, refusal, hint.as_deref())
}
