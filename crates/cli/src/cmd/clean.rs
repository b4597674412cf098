//! `kurabe clean`: removes work directories that killed runs left behind, and files that they were about to remove, and
//! nothing else. Files that they were writing to are named and stay: nobody can tell whose what is in them is.
//!
//! With `--db` it removes too what carries our mark on that server.

use crate::args::CleanArgs;
use crate::context::Context;
use crate::exit::Exit;
use crate::output;
use crate::server;
use anyhow::Context as _;
use dialects::printable::{quoted, said};
use engine::consent::was_left_by_killed;
use engine::workdir::{self, Stale};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use store::Store;
use sys::io::remove::{self, Removal};
use workloads::db::Way;

pub(crate) fn run(context: &Context, args: &CleanArgs) -> anyhow::Result<Exit> {
    // Without a store there may still be something in the directory; other trouble with it is worth saying.
    let store = match context.store_to_change(args.others.dir_of_others) {
        Ok(store) => Some(store),
        Err(error) if is_missing(&error) => None,
        Err(error) => return Err(error),
    };
    let here = match &args.dir {
        Some(dir) => dir.clone(),
        None => std::env::current_dir().context("find the current directory")?,
    };
    // Absolute, as the store notes directories: the same directory must not be found twice.
    let here =
        std::fs::canonicalize(&here).with_context(|| format!("look into `{}`", here.display()))?;
    let (mut exit, on_server) = on_server(args)?;
    let found = stale(&here, store.as_ref())?;
    let half_written = half_written(&here, store.as_ref(), &found);
    for dir in &found {
        let what = format!("{} (run {})", dir.path.display(), dir.run);
        if args.dry_run && dir.is_sure {
            output::say(&format!("would remove {what}"));
            continue;
        }
        match workdir::remove_stale(dir) {
            Ok(()) => output::say(&format!("removed {what}")),
            Err(error) => {
                output::say(&format!("error: {error}"));
                exit = Exit::Incomplete;
            }
        }
    }
    let files = left_aside(&here, store.as_ref())?;
    for (path, device, inode) in &files {
        let removal = if args.dry_run {
            None
        } else {
            Some(remove::remove_exactly(path, *device, *inode))
        };
        if matches!(removal, Some(Err(_))) {
            exit = Exit::Incomplete;
        }
        output::say(&became(path, removal));
    }
    if let (Some(store), false) = (&store, args.dry_run) {
        store.forget_work_dirs(|dir| matches!(dir.try_exists(), Ok(false)))?;
    }
    for path in &half_written {
        let name = quoted(&path.display().to_string());
        output::say(&format!(
            "left alone {}: a killed run was writing to it, and nobody can tell what was written since; `rm -- {name}` \
             removes it",
            said(&path.display().to_string())
        ));
    }
    if on_server == 0 && found.is_empty() && files.is_empty() && half_written.is_empty() {
        output::say("nothing to remove");
    }
    Ok(exit)
}

/// Removes what runs left on the server that is typed; how much of it there was. What is wrong with a server does not
/// keep the rest from being removed.
fn on_server(args: &CleanArgs) -> anyhow::Result<(Exit, usize)> {
    let Some(server) = server::to_clean(&args.address)? else {
        return Ok((Exit::Ok, 0));
    };
    let (way, done) = if args.dry_run {
        (Way::Look, "would remove")
    } else {
        (Way::Remove, "removed")
    };
    match server::clean(&server, way) {
        Ok(all) => {
            for what in &all.ours {
                output::say(&format!("{done} {what} in `{}`", server.shown()));
            }
            for error in &all.failed {
                output::say(&format!("error: {error}"));
            }
            let exit = if all.failed.is_empty() {
                Exit::Ok
            } else {
                Exit::Incomplete
            };
            Ok((exit, all.ours.len() + all.failed.len()))
        }
        Err(error) => {
            output::say(&format!("error: {error}"));
            Ok((Exit::Incomplete, 1))
        }
    }
}

/// What is said of a file that was left aside; `None` where nothing was done to it.
fn became(path: &Path, removal: Option<io::Result<Removal>>) -> String {
    let path = path.display();
    let what = format!("{path} (a file whose removal was stopped half-way)");
    match removal {
        None => format!("would remove {what}"),
        Some(Ok(Removal::Removed)) => format!("removed {what}"),
        Some(Ok(Removal::Absent)) => format!("already gone: {what}"),
        Some(Ok(Removal::Another)) => {
            format!("left alone {path} (another file has this name since a moment ago)")
        }
        Some(Err(error)) => format!("error: remove `{path}`: {error}"),
    }
}

fn is_missing(error: &anyhow::Error) -> bool {
    matches!(
        error.downcast_ref(),
        Some(store::StoreError::Missing { .. })
    )
}

/// Stale work directories in `here` and wherever kept runs had theirs.
fn stale(here: &Path, store: Option<&Store>) -> anyhow::Result<Vec<Stale>> {
    let mut found = workdir::find_stale(here)?;
    for known in noted(store)? {
        if let Some(stale) = workdir::stale_at(&known)
            && !found.contains(&stale)
        {
            found.push(stale);
        }
    }
    Ok(found)
}

/// Entries of a directory that are looked at: a directory of mails must not make this wait.
const LOOKED_AT: usize = 10_000;

/// Files that killed runs were writing to: in `here`, and those that runs name whose directories are stale.
fn half_written(here: &Path, store: Option<&Store>, found: &[Stale]) -> BTreeSet<PathBuf> {
    let entries = std::fs::read_dir(here).into_iter().flatten().flatten();
    let entries = entries.take(LOOKED_AT).map(|entry| entry.path());
    // A run that cannot be read names nothing.
    let runs = found
        .iter()
        .filter_map(|dir| store?.load_to_compare(&dir.run).ok());
    let named = runs.flat_map(|run| run.plan.named);
    let named = named.map(|target| PathBuf::from(target.path));
    entries
        .chain(named)
        .filter(|path| was_left_by_killed(path))
        .collect()
}

/// Files that a killed run was about to remove, where runs work, with their devices and numbers.
fn left_aside(here: &Path, store: Option<&Store>) -> anyhow::Result<Vec<(PathBuf, u64, u64)>> {
    let mut found =
        remove::left_aside(here).with_context(|| format!("look into `{}`", here.display()))?;
    let noted = noted(store)?;
    let parents: BTreeSet<&Path> = noted.iter().filter_map(|dir| dir.parent()).collect();
    for parent in parents.into_iter().filter(|&parent| parent != here) {
        // One that is gone holds nothing of ours.
        found.extend(remove::left_aside(parent).unwrap_or_default());
    }
    Ok(found)
}

fn noted(store: Option<&Store>) -> anyhow::Result<Vec<PathBuf>> {
    let Some(store) = store else {
        return Ok(Vec::new());
    };
    Ok(store.work_dirs()?.into_iter().map(|dir| dir.path).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_removed_is_said_to_be() {
        let said = |removal| became(Path::new("/srv/.kurabe-removed-7-1-1"), removal);
        assert!(said(Some(Ok(Removal::Removed))).starts_with("removed "));
        for other in [Removal::Absent, Removal::Another] {
            let said = said(Some(Ok(other)));
            assert!(!said.starts_with("removed "), "{said}");
        }
        assert!(said(None).starts_with("would remove "));
        assert!(said(Some(Err(io::Error::other("full")))).ends_with("`: full"));
    }
}
