//! The gate: nothing is opened for measuring, kept or measured before everything that the runs touch has been decided
//! about, from what the user typed on this command line.

use crate::context::Context;
use crate::exit::{Exit, failure};
use crate::output;
use crate::targets::refused;
use anyhow::Context as _;
use engine::consent::{self, Consent, Granted, Refusal};
use engine::workload::Workload;
use model::named::Named;
use model::plan::Plan;
use model::record::Run;
use std::cell::OnceCell;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use sys::sqlite::{INDEX, JOURNAL, LOG, beside};
use sys::tree::Tree;

/// Decides about everything that the runs touch, claims the devices that they write to, and holds the files. From now
/// on Ctrl-C ends the run in good order: nothing is made before that would stay behind.
pub(crate) fn grant(context: &Context, runs: &[Run], consent: &Consent) -> anyhow::Result<Granted> {
    sys::signal::catch_stop_signals().context("catch Ctrl-C")?;
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

/// Why the runs would be refused as they were typed, without making or marking anything.
pub(crate) fn examine(context: &Context, runs: &[Run], consent: &Consent) -> Option<String> {
    let judged = judged(context, runs, consent, consent::examine);
    judged.err().map(|refusal| refusal.to_string())
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
    // The files beside it are beside the file that its name leads to.
    let store = store.canonicalize().unwrap_or(store);
    let own = ["", LOG, INDEX, JOURNAL].map(|end| beside(&store, end));
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
