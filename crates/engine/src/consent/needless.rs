//! Consent that was given for nothing.

use super::{Consent, Refusal, Touch};
use crate::erase;
use model::named::NamedKind;
use std::path::Path;

/// Consent for what the run does not touch is a slip of the hand, and nobody knows what was meant.
pub(super) fn refuse(wanted: &[Touch], consent: &Consent) -> Result<(), Refusal> {
    let touched = |kind: NamedKind, names: &dyn Fn(&Path) -> bool| {
        let mut own = wanted.iter().filter(|touch| touch.kind == kind);
        own.any(|touch| names(&touch.path))
    };
    for word in &consent.erase {
        if !touched(NamedKind::Device, &|path| erase::names(word, path)) {
            return Err(Refusal::Needless {
                option: "--yes-erase",
                word: word.clone(),
            });
        }
    }
    if consent.db_allow_existing && !touched(NamedKind::Server, &|_| true) {
        return Err(Refusal::Needless {
            option: "--db-allow-existing",
            word: "a database".to_owned(),
        });
    }
    for named in &consent.overwrite {
        let absolute = std::path::absolute(named).unwrap_or_default();
        let by_name = |path: &Path| path == absolute;
        if !touched(NamedKind::File, &by_name) && !touched(NamedKind::Output, &by_name) {
            return Err(Refusal::Needless {
                option: "--overwrite-file",
                word: named.display().to_string(),
            });
        }
    }
    Ok(())
}
