//! Family `db`: what a database does with transactions, and how many clients it takes at the same time.
//!
//! The parts of a test know no driver: [`statement`] says what is asked, [`mix`] what a transaction is made of,
//! [`rows`] which rows, [`client`] carries transactions out, and a [`session::Session`] is all that a driver has to be:
//! the SQLite inside of this program ([`sqlite`]), or a server at an [`address`]: PostgreSQL ([`postgres`]), or MySQL
//! and MariaDB ([`mysql`]). What servers have in common is in [`server`]. One that knows keys and values in place of
//! tables has tests of its own ([`kv`]).

pub mod address;
mod check;
mod client;
pub mod encryption;
pub mod engines;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod kv;
mod mix;
mod mysql;
mod oltp;
pub mod option_file;
mod party;
mod password_file;
mod postgres;
pub mod room;
mod rows;
mod search;
mod server;
mod session;
mod slo;
mod spec;
mod sqlite;
mod stand_in;
mod statement;
mod tables;
mod text;
mod tpcb;
mod under;

pub(crate) use kv::KV;
pub(crate) use oltp::OLTP;
pub use password_file::password_in;
pub use server::{Cleaned, Way};
pub(crate) use slo::SLO;
pub(crate) use tpcb::TPCB;

use engine::consent::Permits;
use engine::secret::Secret;
use engine::workload::{WorkError, Workload as _};
use model::named::ServerFact;
use model::plan::PlannedCase;
use std::path::Path;

/// What keeps a run and others apart on its servers, for as long as the run goes on.
pub struct Held {
    tables: server::Locked,
    keys: Vec<kv::Guard>,
}

impl Held {
    /// Takes locks again that were lost, as with a server that was started anew. An error where another kurabe has one
    /// by now. What is not there at this moment is none: its rounds say so.
    pub fn hold(&mut self) -> Result<(), WorkError> {
        self.tables.hold()
    }

    /// Whether no server has deleted keys by itself since the run began; an error where one has.
    pub fn spares(&mut self) -> Result<(), WorkError> {
        self.keys.iter_mut().try_for_each(kv::Guard::spares)
    }
}

/// Sees to these addresses of servers for as long as a run goes on: databases that have tables are locked where that
/// `may_lock`, servers of keys are watched.
pub fn hold<'a>(
    permits: &Permits,
    addresses: impl IntoIterator<Item = &'a Path>,
    may_lock: bool,
) -> Result<Held, WorkError> {
    let has_tables = |path: &&Path| {
        let engine = engines::Engine::of(&path.to_string_lossy());
        engine.is_some_and(engines::Engine::has_tables)
    };
    let (tables, keys): (Vec<&Path>, Vec<&Path>) = addresses.into_iter().partition(has_tables);
    let keys = keys.into_iter().map(|path| kv::Guard::of(permits, path));
    Ok(Held {
        keys: keys.collect::<Result<_, _>>()?,
        tables: server::lock(permits, tables.into_iter().filter(|_| may_lock))?,
    })
}

/// What runs left on the server at this address, in words: what carries our mark or is counted by our marker, and
/// nothing else. It is removed, or told alone.
pub fn clean(
    address: &address::Address,
    secret: Option<Secret>,
    way: Way,
) -> Result<Cleaned, WorkError> {
    let named = server::Named {
        address: address.clone(),
        secret,
        allows_existing: true,
    };
    if address.engine.has_tables() {
        return server::clean(named, way);
    }
    Ok(Cleaned {
        ours: kv::clean(named, way)?.into_iter().collect(),
        failed: Vec::new(),
    })
}

/// What the server at this address says of itself that decides figures. Refuses one on which these cases cannot work,
/// as far as that shows before they do.
pub fn facts(
    address: &Path,
    permits: &Permits,
    cases: &[PlannedCase],
) -> Result<Vec<ServerFact>, WorkError> {
    match engines::Engine::of(&address.to_string_lossy()) {
        Some(engine) if engine.has_tables() => {
            let told = server::settings(permits, address)?;
            fits(cases, address, permits)?;
            Ok(told)
        }
        Some(_) => {
            let own = cases.iter().filter(|case| case.workload == KV.spec().name);
            let needs = own.map(|case| kv::Needs::of(&case.params, case.id.copies));
            kv::settings(permits, address, &needs.collect::<Vec<_>>())
        }
        None => Ok(Vec::new()),
    }
}

/// Refuses a server of tables on which no round of these cases could begin.
fn fits(cases: &[PlannedCase], address: &Path, permits: &Permits) -> Result<(), WorkError> {
    let (mut names, mut clients) = (Vec::new(), 0);
    for case in cases {
        let Some(tables) = room::tables_of(case) else {
            continue;
        };
        names.extend(tables.names());
        clients = clients.max(case.id.copies);
    }
    server::fits(permits, address, &names, clients)
}

#[cfg(test)]
mod open_tests;
#[cfg(test)]
mod tests;
