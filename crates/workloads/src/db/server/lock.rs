//! Who works in a database: locks that keep a second kurabe out, of a run and of a round.
//!
//! A lock of the server ends with its connection, however that ends; a run asks for its own again before each round.

use super::{Link, Rows, Server, connect, trouble};
use crate::db::address::Address;
use engine::consent::Permits;
use engine::workload::WorkError;
use std::path::Path;

/// A worker that was killed has its lock until the server notices.
const LOCK_TRIES: u32 = 50;
const LOCK_WAIT_NS: u64 = 100_000_000;

/// What is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::db) enum Lock {
    /// The tables, while a round works with them.
    Round,
    /// The database, for a run.
    Run,
}

/// The connection that has a lock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::db) struct Holder {
    number: String,
    user: Option<String>,
    host: Option<String>,
    seconds: Option<String>,
}

impl Holder {
    /// A row of its number, its user, where it comes from, and for how many seconds it has been there.
    pub(in crate::db) fn read(rows: Rows) -> Option<Self> {
        let row = rows.into_iter().next()?;
        let [number, user, host, seconds]: [Option<String>; 4] = row.try_into().ok()?;
        Some(Self {
            number: number?,
            user,
            host,
            seconds,
        })
    }

    /// In words, in one line of what others chose.
    fn told(&self) -> String {
        let part = |before: &str, value: &Option<String>, after: &str| {
            let value = value.as_deref().unwrap_or("");
            let is_told = !value.is_empty();
            let words = || format!("{before}{}{after}", trouble::shown(value.as_bytes()));
            is_told.then(words).unwrap_or_default()
        };
        format!(
            "has had it{}{}: connection {}{}",
            part(" for ", &self.seconds, " s"),
            part(", from ", &self.host, ""),
            trouble::shown(self.number.as_bytes()),
            part(" of ", &self.user, "")
        )
    }
}

/// Databases that are locked as long as this is there, and their servers are.
pub(in crate::db) struct Locked(Vec<Server>);

impl Locked {
    /// Takes locks again that were lost, as with a server that was started anew. An error where another kurabe has one
    /// by now. What is not there at this moment is none: its rounds say so.
    pub(in crate::db) fn hold(&mut self) -> Result<(), WorkError> {
        self.0.iter_mut().try_for_each(Server::hold)
    }
}

/// Locks these databases for a run: a second kurabe is told who works there. Names of one database are locked once.
pub(in crate::db) fn lock<'a>(
    permits: &Permits,
    paths: impl IntoIterator<Item = &'a Path>,
) -> Result<Locked, WorkError> {
    let mut servers: Vec<Server> = Vec::new();
    let mut ours: Vec<Own> = Vec::new();
    for path in paths {
        let mut server = Server::connected(permits, path)?;
        let identity = server.with("look at", Link::identity)?;
        let on_it = |own: &&Own| own.identity == identity;
        let numbers: Vec<&str> = ours.iter().filter(on_it).map(|own| &*own.number).collect();
        if server.lock(Lock::Run, &numbers)? {
            let number = server.with("look at", Link::number)?.unwrap_or_default();
            ours.push(Own { identity, number });
            servers.push(server);
        }
    }
    Ok(Locked(servers))
}

/// A connection that has a lock of the run.
struct Own {
    /// Its server: numbers are of one server alone.
    identity: Option<String>,
    number: String,
}

impl Server {
    /// Sees to it that the run's lock is ours, or nobody's.
    fn hold(&mut self) -> Result<(), WorkError> {
        // Its own connection gets a lock as often as it asks.
        let got = self.link.try_lock(Lock::Run);
        if matches!(got, Ok(true)) {
            return Ok(());
        }
        if got.is_err() {
            let Ok(link) = self.named.entered(connect) else {
                return Ok(());
            };
            self.link = link;
        }
        match self.lock(Lock::Run, &[]) {
            Err(why) if matches!(self.link.try_lock(Lock::Run), Ok(false)) => Err(why),
            _ => Ok(()),
        }
    }

    /// Locks; false where one of these connections has it already.
    pub(super) fn lock(&mut self, lock: Lock, ours: &[&str]) -> Result<bool, WorkError> {
        let mut holder: Option<Holder> = None;
        let mut is_ours = false;
        let got = locked(|| {
            if self.with("lock", |link| link.try_lock(lock))? {
                return Ok(true);
            }
            holder = self.with("lock", |link| link.holder(lock))?;
            let number = holder.as_ref().map(|holder| &*holder.number);
            is_ours = number.is_some_and(|number| ours.contains(&number));
            Ok(is_ours)
        })?;
        if got {
            return Ok(!is_ours);
        }
        let address = &self.named.address;
        let Some(holder) = holder else {
            return Err(taken(address));
        };
        Err(WorkError::Failed(format!(
            "cannot work in `{address}`: another kurabe {}\n\
             hint: wait until it is done, or name another database; where it is no more, `{}` ends its connection",
            holder.told(),
            self.link.ends(&holder.number)
        )))
    }
}

/// Waits until nobody else works in a database, for as long as a server needs to notice that a worker was killed; false
/// where somebody still does.
pub(in crate::db) fn locked(
    mut try_lock: impl FnMut() -> Result<bool, WorkError>,
) -> Result<bool, WorkError> {
    for _ in 0..LOCK_TRIES {
        if try_lock()? {
            return Ok(true);
        }
        sys::clock::sleep(LOCK_WAIT_NS);
    }
    Ok(false)
}

/// That somebody else works in a database, of whom nothing is known.
pub(in crate::db) fn taken(address: &Address) -> WorkError {
    WorkError::Failed(format!(
        "cannot work in `{address}`: another kurabe works there, from this machine or another one\n\
         hint: wait until it is done, or name another database"
    ))
}
