//! What a round of transactions works on: a database file of its own, or a server. What is in it afterwards is what its
//! committed transactions say, or the round fails.

use super::check;
use super::client::Changes;
use super::mix::Mix;
use super::party::Party;
use super::server::Server;
use super::tables::{self, Held, Tables};
use engine::workload::WorkError;
use std::path::PathBuf;

/// Databases up to this size are gone through page by page after each round.
const QUICK_CHECK_MAX: u64 = 64 << 20;

/// What a round began with.
pub(super) enum Under {
    File(OfFile),
    Server(Box<OfServer>),
}

/// A file of the round's own.
pub(super) struct OfFile {
    pub(super) path: PathBuf,
    pub(super) tables: Tables,
    pub(super) before: Held,
    /// The kind of a file system that is memory.
    pub(super) in_memory: Option<&'static str>,
}

/// Tables on a server.
pub(super) struct OfServer {
    pub(super) server: Server,
    pub(super) tables: Tables,
    pub(super) before: Held,
    /// What the server says of itself.
    pub(super) notes: Vec<String>,
    party: Party,
}

impl Under {
    /// The CPU time of a server is counted from here.
    pub(super) fn measured_part_begins(&mut self) {
        if let Self::Server(server) = self {
            server.party.measured_part_begins();
        }
    }

    /// What is wrong with it, now that its transactions have made these changes.
    pub(super) fn check(&mut self, mix: &Mix, changes: &Changes) -> Result<(), WorkError> {
        match self {
            Self::File(file) => file.check(mix, changes),
            Self::Server(server) => server.check(mix, changes),
        }
    }

    /// What must be said of it.
    pub(super) fn notes(&self) -> Vec<String> {
        match self {
            Self::File(file) => file.note().into_iter().collect(),
            Self::Server(server) => server.notes.clone(),
        }
    }

    /// The process whose children work for the test.
    pub(super) fn party(&self) -> Option<u32> {
        match self {
            Self::File(_) => None,
            Self::Server(server) => server.party.process(),
        }
    }

    /// The CPU time of a server since the measured part began, in nanoseconds, or why nobody knows; `None` where there
    /// is no server.
    pub(super) fn server_cpu_ns(&self) -> Option<Result<f64, String>> {
        match self {
            Self::File(_) => None,
            Self::Server(server) => Some(server.party.cpu_ns()),
        }
    }
}

impl OfFile {
    fn check(&self, mix: &Mix, changes: &Changes) -> Result<(), WorkError> {
        let shown = self.path.display();
        let look_at = |error| WorkError::failed("look at", self.path.display(), error);
        let after = tables::survey(&self.path, self.tables.number).map_err(look_at)?;
        let mut wrong = check::wrong(mix, &self.before, changes, &after);
        if wrong.is_none() && self.tables.bytes().0 <= QUICK_CHECK_MAX {
            wrong = tables::damage(&self.path).map_err(look_at)?;
        }
        match wrong {
            None => Ok(()),
            Some(what) => Err(WorkError::Wrong(format!("`{shown}`: {what}"))),
        }
    }

    /// What must be said of where it lies.
    fn note(&self) -> Option<String> {
        let kind = self.in_memory?;
        Some(format!(
            "the database is in memory ({kind}): nothing is on a disk after a commit"
        ))
    }
}

impl OfServer {
    /// Before the round, with what the server says of itself.
    pub(super) fn new(mut server: Server, tables: Tables, before: Held) -> Result<Self, WorkError> {
        let mut notes = server.facts(&tables.names())?;
        let party = Party::new(server.party(), server.is_here());
        notes.extend(party.note());
        Ok(Self {
            server,
            tables,
            before,
            notes,
            party,
        })
    }

    fn check(&mut self, mix: &Mix, changes: &Changes) -> Result<(), WorkError> {
        let after = self.server.survey(&self.tables)?;
        match check::wrong(mix, &self.before, changes, &after) {
            None => Ok(()),
            Some(what) => Err(WorkError::Wrong(format!(
                "`{}`: {what}",
                self.server.shown()
            ))),
        }
    }
}
