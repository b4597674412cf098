//! What runs of kurabe left in a database, and its removal: `kurabe clean --db URL`.
//!
//! It takes the locks of a run and of a round first, so that the tables of a run that goes on are not among them.

use super::{Link, Lock, Named, Relation, Server, connect};
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

/// The names of our tables in a database, which are dropped with nothing else.
pub(in crate::db) fn clean(named: Named, way: Way) -> Result<Vec<String>, WorkError> {
    let link = named.entered(connect)?;
    let mut server = Server { link, named };
    server.enter()?;
    server.lock(Lock::Run, &[])?;
    server.lock(Lock::Round, &[])?;
    let ours = server.relations()?.into_iter().filter(Relation::is_ours);
    let names: Vec<String> = ours.map(|table| table.name).collect();
    if way == Way::Remove {
        names.iter().try_for_each(|table| server.drop_one(table))?;
        server.with("drop a table of ours in", Link::sweep)?;
    }
    Ok(names)
}
