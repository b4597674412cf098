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
pub use held::is_open_store;
pub use sqlite::Store;

use model::plan::Duel;
use model::record::{End, RunMeta};
use model::units::UnixNanos;
use model::warning::Warning;
use std::path::PathBuf;

/// One run as lists show it: what is known without reading its rounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunLine {
    /// The run's id.
    pub id: String,
    /// The name the user gave.
    pub label: Option<String>,
    /// When it started.
    pub started: UnixNanos,
    /// When it ended; `None` for a run that is going on or was killed.
    pub finished: Option<UnixNanos>,
    /// How it ended.
    pub end: End,
    /// What the user asked for, such as `quick`.
    pub what: Vec<String>,
    /// How many cases were planned.
    pub cases: u32,
    /// How many rounds are kept.
    pub rounds: u32,
    /// How many of them failed.
    pub failed: u32,
    /// Which side of which duel it is.
    pub duel: Option<Duel>,
}

/// The run that a text means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meant {
    /// Its id.
    pub id: String,
    /// The ids of the other runs that the text would mean just as well: those with the same label, the latest first.
    /// None where the text is no label.
    pub alike: Vec<String>,
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
