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
use std::os::unix::fs::MetadataExt;
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
    refuse_the_store(context, runs)?;
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

/// Refuses to work on the store, before it or any file is opened: what is written there is lost, and to open and close
/// it drops the locks of whoever has it open.
fn refuse_the_store(context: &Context, runs: &[Run]) -> anyhow::Result<()> {
    // Where there is no place for a store, that is said when it is opened.
    let Ok(store) = context.store_path() else {
        return Ok(());
    };
    let own = ["", "-wal", "-shm", "-journal"].map(|end| {
        let mut name = store.clone().into_os_string();
        name.push(end);
        PathBuf::from(name)
    });
    let is_own = |named: &&Named| {
        let path = Path::new(&named.path);
        own.iter().any(|own| is_same_file(path, own))
    };
    match runs.iter().flat_map(|run| &run.plan.named).find(is_own) {
        None => Ok(()),
        Some(named) => Err(failure(
            Exit::Usage,
            format!("work on `{}`: it is the store", named.path),
            Some("name another file, or another store with `--store FILE`"),
        )),
    }
}

/// Whether both names lead to one file, or would if it were there; nothing is opened for it.
fn is_same_file(a: &Path, b: &Path) -> bool {
    if let (Ok(a), Ok(b)) = (std::fs::metadata(a), std::fs::metadata(b)) {
        return (a.dev(), a.ino()) == (b.dev(), b.ino());
    }
    let place = |path: &Path| {
        let path = std::path::absolute(path).ok()?;
        Some((
            path.parent()?.canonicalize().ok()?,
            path.file_name()?.to_owned(),
        ))
    };
    place(a).is_some_and(|a| Some(a) == place(b))
}

/// Marks the files of ours as the runs leave them, and removes those that a job of theirs unlinks or that are not
/// whole. Gives those that stay. Without a store they are known by their marks alone.
pub(crate) fn settle(
    granted: Granted,
    store: Option<&Store>,
    runs: &[Run],
) -> anyhow::Result<Vec<PathBuf>> {
    let plans = runs.iter().map(|run| &run.plan);
    let unlinked: Vec<PathBuf> = plans.flat_map(workloads::storage::jobs::unlinked).collect();
    let mut stay = Vec::new();
    for file in granted.settle(&|path| unlinked.iter().any(|own| own == path)) {
        match file.left {
            Left::Kept { id, changed } => {
                if let Some(store) = store {
                    store.note_file(&file.path, &id, &changed.to_string())?;
                }
                stay.push(file.path);
            }
            Left::Removed => store.map_or(Ok(()), |store| store.forget_file(&file.path))?,
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
