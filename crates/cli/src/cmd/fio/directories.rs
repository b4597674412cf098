//! Directories that are missing on the way to a job's files: made, as fio makes them, and gone again where nothing came
//! to lie in them.
//!
//! What `directory` names must be there, as in fio. As root nothing is made where others may rename.

use super::files::used;
use crate::directory::{OPTION_OF_FIO, parent, refuse_strangers};
use crate::exit::{Exit, failure};
use dialects::fio::{Plan, names_device};
use engine::consent::Consent;
use std::fs;
use std::path::{Path, PathBuf};

/// The directories that were made, the upper ones first; those that are empty go when dropped.
#[derive(Debug, Default)]
pub(super) struct Directories {
    made: Vec<PathBuf>,
}

impl Directories {
    /// Makes what is missing.
    pub(super) fn make(plan: &Plan, consent: &Consent) -> anyhow::Result<Self> {
        let mut all = Self::default();
        for (job, path) in used(plan) {
            // Nothing is made below what the user said is there.
            let named = job.target.directory.as_deref().unwrap_or_default();
            let missing_named = named
                .split(':')
                .any(|dir| !dir.is_empty() && !Path::new(dir).is_dir());
            if names_device(path) || missing_named || !job.target.may_create {
                continue;
            }
            if let Some(parent) = parent(path.as_ref()) {
                all.make_all(&parent, consent)?;
            }
        }
        Ok(all)
    }

    fn make_all(&mut self, dir: &Path, consent: &Consent) -> anyhow::Result<()> {
        if dir == Path::new(".") || dir.symlink_metadata().is_ok() {
            return Ok(());
        }
        if let Some(above) = parent(dir) {
            self.make_all(&above, consent)?;
            if above.is_dir() {
                refuse_strangers(&above, OPTION_OF_FIO, consent)?;
            }
        }
        fs::create_dir(dir).map_err(|error| {
            let text = format!("make directory `{}`: {error}", dir.display());
            failure(
                Exit::Usage,
                text,
                Some("make it first, or name files elsewhere"),
            )
        })?;
        self.made.push(dir.to_owned());
        Ok(())
    }
}

impl Drop for Directories {
    fn drop(&mut self) {
        for dir in self.made.iter().rev() {
            // One that files came to lie in stays, which is what this is for.
            let _ = fs::remove_dir(dir);
        }
    }
}
