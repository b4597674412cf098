//! What runs of kurabe left in a database, and its removal: `kurabe clean --db URL`.
//!
//! It takes the locks of a run and of a round first, so that the tables of a run that goes on are not among them.

use super::{DROP, Link, Lock, Named, Relation, Server, connect};
use engine::workload::WorkError;
use std::fmt::Display;

/// Whether what was left is removed or told alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// It is removed.
    Remove,
    /// It is told.
    Look,
}

/// What could not be removed, with the command that does it.
pub(in crate::db) fn left_there(why: &WorkError, address: &impl Display) -> WorkError {
    WorkError::Failed(format!(
        "{why}\nhint: `kurabe clean --db '{address}'` removes what is left there"
    ))
}

/// What was found to be ours.
#[derive(Debug, Default)]
pub struct Cleaned {
    /// What is removed, or would be, in words.
    pub ours: Vec<String>,
    /// Why the rest stays.
    pub failed: Vec<WorkError>,
}

/// Our tables in a database, which are dropped with nothing else; one that cannot be dropped keeps no other.
pub(in crate::db) fn clean(named: Named, way: Way) -> Result<Cleaned, WorkError> {
    let link = named.entered(connect)?;
    let mut server = Server { link, named };
    server.enter(match way {
        Way::Remove => DROP,
        Way::Look => "look for tables of ours in",
    })?;
    server.lock(Lock::Run, &[])?;
    server.lock(Lock::Round, &[])?;
    let ours = server.relations()?.into_iter().filter(Relation::is_ours);
    let ours = ours.map(|table| table.name);
    let beside = server.with("list the tables of", Link::beside)?;
    let (mut dropped, mut failed) = match way {
        Way::Remove => server.drop_each(ours),
        Way::Look => (ours.collect(), Vec::new()),
    };
    if let Some(beside) = beside.filter(|_| failed.is_empty()) {
        let swept = match way {
            Way::Remove => server.with(DROP, Link::sweep),
            Way::Look => Ok(()),
        };
        match swept {
            Ok(()) => dropped.push(beside.to_owned()),
            Err(why) => failed.push(why),
        }
    }
    let ours = dropped.iter().map(|table| format!("table {table}"));
    Ok(Cleaned {
        ours: ours.collect(),
        failed,
    })
}
