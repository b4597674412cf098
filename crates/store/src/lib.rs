//! Keep: the store of runs, and the file in which one run travels.
//!
//! A run is written while it happens, one transaction per round, and is never changed once finished; what is
//! concluded from it is computed anew each time. The seam for other databases is [`Store`]'s signatures: they speak
//! of model types and of [`StoreError`] alone, everything in SQL stays in `sqlite`, and what needs no database
//! (the encoding, the export file) lives outside of it.
//!
//! The store refuses what it could not give back as it was: a number that is NaN or infinite, a second run under a
//! known id, a round of a finished run. It refuses to touch a file that is not its own. It knows no clock and prints
//! nothing.

mod codec;
mod error;
pub mod export;
mod gate;
mod held;
mod lean;
mod rounds;
mod sqlite;

pub use error::StoreError;
pub use held::{Identity, is_open_store};
pub use model::line::RunLine;
pub use sqlite::Store;

use model::record::RunMeta;
use model::warning::Warning;
use std::path::PathBuf;

/// The run that a text means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meant {
    /// Its id.
    pub id: String,
    /// The ids of the other runs that the text would mean just as well: those with the same label, the latest first.
    /// None where the text is no label.
    pub alike: Vec<String>,
    /// The ids of the runs that it would mean if it were no label: it is the end of their id.
    pub hidden: Vec<String>,
}

/// A work directory that was announced and not yet reported gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkDir {
    /// The run it belongs to; the run itself may have been removed since.
    pub run: String,
    /// Where it is.
    pub path: PathBuf,
}

/// Adds what was noticed to what a run has: once, where an earlier part of it noticed the same.
pub fn add_warnings(meta: &mut RunMeta, warnings: &[Warning]) {
    for warning in warnings {
        if !meta.warnings.contains(warning) {
            meta.warnings.push(warning.clone());
        }
    }
}
