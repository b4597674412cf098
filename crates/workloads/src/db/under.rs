//! What a round of transactions works on: a database file of its own, or a server. What is in it afterwards is what its
//! committed transactions say, or the round fails.

use super::check;
use super::client::Changes;
use super::mix::Mix;
use super::server::Server;
use super::tables::{self, Held, Tables};
use engine::workload::WorkError;
use model::num::approx;
use std::path::PathBuf;
use sys::counters::Process;
use sys::tree::Tree;

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
    /// What its processes had used when the measured part began, in ticks.
    began: Option<u64>,
}

impl Under {
    /// The CPU time of a server is counted from here.
    pub(super) fn measured_part_begins(&mut self) {
        if let Self::Server(server) = self {
            server.began = server.used();
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
            Self::Server(server) => server.server.party(),
        }
    }

    /// The CPU time of a server since the measured part began, in nanoseconds, or why nobody knows; `None` where there
    /// is no server.
    pub(super) fn server_cpu_ns(&self) -> Option<Result<f64, String>> {
        match self {
            Self::File(_) => None,
            Self::Server(server) => Some(server.cpu_ns()),
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
        let mut notes = server.facts(tables.number)?;
        if server.is_here() {
            notes.push(if server.party().is_some() {
                "the server is on this machine and shares its CPUs with the clients; its processes are no disturbance"
                    .to_owned()
            } else {
                "the server answers on this machine and its processes cannot be told from others: they count as other \
                 programs"
                    .to_owned()
            });
        }
        Ok(Self {
            server,
            tables,
            before,
            notes,
            began: None,
        })
    }

    fn check(&mut self, mix: &Mix, changes: &Changes) -> Result<(), WorkError> {
        let after = self.server.survey(self.tables.number)?;
        match check::wrong(mix, &self.before, changes, &after) {
            None => Ok(()),
            Some(what) => Err(WorkError::Wrong(format!(
                "`{}`: {what}",
                self.server.shown()
            ))),
        }
    }

    /// CPU time of the server's processes so far, in ticks.
    fn used(&self) -> Option<u64> {
        let party = self.server.party()?;
        let walk = sys::counters::processes(&Tree::real()).ok()?;
        let own = |one: &&Process| one.pid == party || one.parent == party;
        let all = walk.seen.iter().filter(own);
        Some(
            all.map(|one| {
                one.ticks
                    + if one.pid == party {
                        one.children_ticks
                    } else {
                        0
                    }
            })
            .sum(),
        )
    }

    fn cpu_ns(&self) -> Result<f64, String> {
        if !self.server.is_here() {
            return Err("the server is on another machine".to_owned());
        }
        let used = self
            .used()
            .zip(self.began)
            .map(|(now, began)| now.saturating_sub(began));
        let per_second = sys::probe::ticks_per_second().map_err(|error| error.to_string())?;
        let used = used.ok_or("the processes of the server cannot be told from others")?;
        Ok(approx(used) / approx(per_second) * 1e9)
    }
}
