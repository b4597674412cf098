//! A connection to a server for what is not measured, and whose tables are whose.
//!
//! Each of our tables carries a comment that begins with [`MARK`], from the transaction that made it on; only such a
//! table is ever dropped, and never anybody else's. One kurabe at a time works in a database: a lock of the server,
//! which ends with the connection, keeps a second one out.

use super::error::Trouble;
use super::facts::{self, Told as Facts};
use super::login::log_in;
use super::wire::Wire;
use crate::db::address::{Address, Defaults};
use crate::db::mix::Mix;
use crate::db::statement::name;
use crate::db::tables::Tables;
use engine::consent::Permits;
use engine::secret::Secret;
use engine::workload::{Place, StandIn, WorkError};
use model::named::ServerFact;
use postgres_protocol::message::frontend;
use std::path::Path;
use std::time::Duration;

/// What the comment of every table of ours begins with.
pub(super) const MARK: &str = "kurabe: ";
/// Making an index of ten million rows takes minutes.
const MAKING_MAX: Duration = Duration::from_secs(600);

/// The number of the lock: "kurabe" in ASCII.
const LOCK: u64 = 0x6b75_7261_6265;
/// A worker that was killed has its lock until the server notices.
const LOCK_TRIES: u32 = 50;
const LOCK_WAIT_NS: u64 = 100_000_000;

/// A connection for what is not measured, which holds the lock.
pub(in crate::db) struct Server {
    pub(super) wire: Wire,
    pub(super) address: Address,
    secret: Option<Secret>,
    /// The process that serves this connection, as the one who let us in calls it.
    process: Option<u32>,
    /// The server's main process, where it is on this machine and can be told.
    party: Option<u32>,
    /// Whether tables of others may be there.
    allows_existing: bool,
}

/// A table or what looks like one, and whether a name of ours would mean it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Relation {
    schema: String,
    pub(super) name: String,
    pub(super) comment: String,
    is_here: bool,
    is_table: bool,
}

impl Relation {
    pub(super) fn is_ours(&self) -> bool {
        self.is_here && self.is_table && self.comment.starts_with(MARK) && self.has_name_of_ours()
    }

    fn has_name_of_ours(&self) -> bool {
        let number = self.name.strip_prefix("sbtest");
        number
            .is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
    }
}

/// Why tables cannot be made among these; `None` where they can.
fn refusal(found: &[Relation], tables: u32, allows_existing: bool) -> Option<String> {
    let mut others = found.iter().filter(|one| !one.is_ours());
    let wanted = |one: &Relation| one.is_here && (0..tables).any(|number| name(number) == one.name);
    if let Some(taken) = others.clone().find(|one| wanted(one)) {
        return Some(format!(
            "`{}` is there and is none of kurabe's: it stays as it is\n\
             hint: make an empty database with `createdb`, and name that one",
            taken.name
        ));
    }
    let first = others.next().filter(|_| !allows_existing)?;
    let more = match others.count() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!(
        "it holds `{}.{}`{more}, of others\n\
         hint: make an empty database with `createdb`, and name that one; or add `--db-allow-existing`: kurabe makes \
         and drops tables of its own alone, but what it does costs the others",
        first.schema, first.name
    ))
}

/// What a server's path is: the address and what opens it.
fn asked(permits: &Permits, path: &Path) -> Result<(Address, Option<Secret>, bool), WorkError> {
    let permit = permits.of(path);
    let permit = permit.map_err(|error| WorkError::Failed(error.to_string()))?;
    let address = read(path)?;
    Ok((address, permit.secret().cloned(), permit.allows_existing()))
}

/// The address that a path of a server is.
fn read(path: &Path) -> Result<Address, WorkError> {
    let text = path.to_string_lossy();
    let typed = Address::read(&text, &Defaults::default());
    typed
        .map(|typed| typed.address)
        .map_err(|why| WorkError::failed("read the address", &text, why))
}

/// Connects, and no more.
pub(in crate::db) fn reach(place: &Place, server: &StandIn) -> Result<(), WorkError> {
    Server::connect(&place.permits, &server.path).map(drop)
}

/// What a server says of itself.
pub(in crate::db) fn facts(permits: &Permits, path: &Path) -> Result<Vec<ServerFact>, WorkError> {
    let mut server = Server::connect(permits, path)?;
    if server.is_shared()? && Server::connect(permits, path)?.backend()? == server.backend()? {
        return Err(WorkError::Unsupported(format!(
            "work on `{}`: two connections have one process of the server at the same time{}",
            server.address,
            super::error::POOLER
        )));
    }
    facts::kept(&mut server)
}

impl Server {
    /// Connects.
    fn connect(permits: &Permits, path: &Path) -> Result<Self, WorkError> {
        let (address, secret, allows_existing) = asked(permits, path)?;
        let failed = |trouble: Trouble| of("connect to", &address, &trouble);
        let (wire, let_in) = log_in(&address, secret.as_ref()).map_err(failed)?;
        Ok(Self {
            party: party(&wire, let_in.process),
            process: let_in.process,
            wire,
            address,
            secret,
            allows_existing,
        })
    }

    /// The process of the server that answers.
    fn backend(&mut self) -> Result<Option<String>, WorkError> {
        self.value("look at", "SELECT pg_backend_pid()")
    }

    /// Whether somebody is between, who may give our process to others: one that let us in by another number than the
    /// server's own.
    fn is_shared(&mut self) -> Result<bool, WorkError> {
        let own = self.backend()?;
        let process = self.process.map(|process| process.to_string());
        Ok(own.is_some() && own != process)
    }

    /// Connects, takes the lock, and looks whether tables may be made there.
    pub(super) fn open(
        place: &Place,
        server: &StandIn,
        tables: &Tables,
    ) -> Result<Self, WorkError> {
        let mut opened = Self::connect(&place.permits, &server.path)?;
        let waits = opened.wire.wait_at_most(MAKING_MAX);
        waits.map_err(|error| of("connect to", &opened.address, &Trouble::Io(error)))?;
        opened.look()?;
        opened.lock()?;
        let found = opened.relations()?;
        match refusal(&found, tables.number, opened.allows_existing) {
            None => Ok(opened),
            Some(why) => Err(WorkError::Unsupported(format!(
                "make tables in `{}`: {why}",
                opened.address
            ))),
        }
    }

    /// A connection of a client, prepared.
    pub(in crate::db) fn client(
        &self,
        mix: &Mix,
        tables: u32,
    ) -> Result<super::Postgres, WorkError> {
        super::Postgres::connected(&self.address, self.secret.as_ref(), (mix, tables))
            .map_err(|trouble| of("connect to", &self.address, &trouble))
    }

    /// The server's main process, where it is on this machine and can be told.
    pub(in crate::db) const fn party(&self) -> Option<u32> {
        self.party
    }

    /// Whether it is on this machine.
    pub(in crate::db) fn is_here(&self) -> bool {
        self.wire.is_loopback()
    }

    /// The address without what opens it.
    pub(in crate::db) fn shown(&self) -> String {
        self.address.to_string()
    }

    /// The server's settings and what must be said of them, with the tables of the test.
    pub(in crate::db) fn facts(&mut self, tables: u32) -> Result<Facts, WorkError> {
        facts::ask(self, tables)
    }

    /// Answers in rows of text: for questions of few rows.
    pub(super) fn ask(
        &mut self,
        operation: &str,
        sql: &str,
    ) -> Result<Vec<Vec<Option<String>>>, WorkError> {
        let rows = rows(&mut self.wire, sql);
        rows.map_err(|trouble| of(operation, &self.address, &trouble))
    }

    /// The one value of the one row.
    pub(super) fn value(
        &mut self,
        operation: &str,
        sql: &str,
    ) -> Result<Option<String>, WorkError> {
        let mut rows = self.ask(operation, sql)?;
        Ok(rows.pop().and_then(|mut row| row.pop()).flatten())
    }

    /// Refuses a server that cannot be written to, and sees to it that names mean the schema that tables are made in.
    fn look(&mut self) -> Result<(), WorkError> {
        const LOOK: &str = "look at";
        let replica = self.value(LOOK, "SELECT pg_is_in_recovery()")?;
        if replica.as_deref() == Some("t") {
            return Err(WorkError::Unsupported(format!(
                "make tables in `{}`: it is a replica, which nobody writes to\nhint: name the primary server",
                self.address
            )));
        }
        if self.value(LOOK, "SELECT current_schema()")?.is_none() {
            return Err(WorkError::Unsupported(format!(
                "make tables in `{}`: its user has no schema\n\
                 hint: `search_path` of the user is to name one that is there",
                self.address
            )));
        }
        let sql = "SELECT set_config('search_path', quote_ident(current_schema()), false)";
        self.ask(LOOK, sql).map(drop)
    }

    fn lock(&mut self) -> Result<(), WorkError> {
        for _ in 0..LOCK_TRIES {
            let got = self.value("lock", &format!("SELECT pg_try_advisory_lock({LOCK})"))?;
            if got.as_deref() == Some("t") {
                return Ok(());
            }
            sys::clock::sleep(LOCK_WAIT_NS);
        }
        Err(WorkError::Failed(format!(
            "work in `{}`: another kurabe works there, from this machine or another one\n\
             hint: wait until it is done, or name another database",
            self.address
        )))
    }

    pub(super) fn relations(&mut self) -> Result<Vec<Relation>, WorkError> {
        // What extensions brought is no data of anybody.
        let rows = self.ask(
            "list the tables of",
            "SELECT n.nspname, c.relname, coalesce(obj_description(c.oid, 'pg_class'), ''), \
             n.nspname = current_schema(), c.relkind = 'r' FROM pg_class c JOIN pg_namespace n \
             ON n.oid = c.relnamespace \
             WHERE c.relkind IN ('r', 'p', 'm', 'f', 'v') AND n.nspname <> 'information_schema' \
             AND n.nspname !~ '^pg_' AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE \
             d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e') ORDER BY 1, 2",
        )?;
        Ok(rows.into_iter().filter_map(relation).collect())
    }

    /// Drops every table of ours, and no other.
    pub(super) fn drop_ours(&mut self) -> Result<(), WorkError> {
        for ours in self.relations()?.iter().filter(|one| one.is_ours()) {
            self.ask(
                "drop a table of ours in",
                &format!("DROP TABLE {}", ours.name),
            )?;
        }
        Ok(())
    }
}

fn relation(row: Vec<Option<String>>) -> Option<Relation> {
    let [schema, name, comment, is_here, is_table]: [Option<String>; 5] = row.try_into().ok()?;
    Some(Relation {
        schema: schema?,
        name: name?,
        comment: comment?,
        is_here: is_here? == "t",
        is_table: is_table? == "t",
    })
}

/// More than this is no answer to a question of few rows.
const ANSWER_MAX: usize = 16 << 20;

fn rows(wire: &mut Wire, sql: &str) -> Result<Vec<Vec<Option<String>>>, Trouble> {
    frontend::query(sql, &mut wire.out).map_err(Trouble::Io)?;
    wire.send()?;
    let mut rows = Vec::new();
    let mut bytes = 0;
    let done = wire.answer(|body| {
        bytes += body.len();
        let mut columns = super::decode::Columns::new(body)?;
        let mut row = Vec::new();
        while !columns.is_over() {
            let value = columns.next()?;
            row.push(value.map(|value| String::from_utf8_lossy(value).into_owned()));
        }
        if bytes > ANSWER_MAX {
            return Err(super::decode::Garbage);
        }
        rows.push(row);
        Ok(())
    })?;
    match done.code {
        None => Ok(rows),
        Some(code) => Err(Trouble::Told {
            code,
            words: "the server refused it".to_owned(),
        }),
    }
}

/// The server's main process, where it is on this machine. Of a Unix socket the kernel says who listens; over loopback
/// the server says which process serves us, and it counts where that is one of PostgreSQL here.
fn party(wire: &Wire, process: Option<u32>) -> Option<u32> {
    if let Some(socket) = wire.unix() {
        return sys::peer::listener(socket).ok().flatten();
    }
    if !wire.is_loopback() {
        return None;
    }
    let tree = sys::tree::Tree::real();
    let serves = sys::counters::process(&tree, process?).ok()?;
    (serves.name == "postgres")
        .then_some(serves.parent)
        .filter(|parent| *parent > 1)
}

/// What went wrong with a server; what no further round can help is said to be so.
pub(super) fn of(operation: &str, address: &Address, trouble: &Trouble) -> WorkError {
    let socket = match address.socket() {
        // The name of the socket is in no address, and the one thing to look at.
        Some(socket) if matches!(trouble, Trouble::Connect(_)) => {
            format!(" (socket `{}`)", socket.display())
        }
        _ => String::new(),
    };
    let words = format!("{operation} `{address}`{socket}: {trouble}");
    if trouble.is_lasting() {
        WorkError::Unsupported(words)
    } else {
        WorkError::Failed(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relation(name: &str, comment: &str, is_here: bool, is_table: bool) -> Relation {
        Relation {
            schema: "public".to_owned(),
            name: name.to_owned(),
            comment: comment.to_owned(),
            is_here,
            is_table,
        }
    }

    #[test]
    fn only_what_carries_our_mark_is_ours_and_others_are_left_alone() {
        let ours = relation("sbtest2", "kurabe: being made", true, true);
        let check = |found: &[Relation], allows: bool, words: Option<&str>| {
            let why = refusal(found, 2, allows);
            match words {
                None => assert_eq!(why, None),
                Some(words) => assert!(why.clone().unwrap().contains(words), "{why:?}"),
            }
        };
        check(&[], false, None);
        check(std::slice::from_ref(&ours), false, None);
        let others = relation("orders", "", true, true);
        check(
            &[ours.clone(), others.clone()],
            false,
            Some("`public.orders`, of others"),
        );
        check(
            &[ours.clone(), others.clone(), others.clone()],
            false,
            Some("and 1 more"),
        );
        check(&[ours, others], true, None);
        // A table of our name without our mark is refused whatever is allowed.
        for (name, comment, is_table) in [
            ("sbtest1", "", true),
            ("sbtest1", "kurabe", true),
            ("sbtest2", "not kurabe: x", true),
            ("sbtest1", "kurabe: whole", false),
        ] {
            let taken = relation(name, comment, true, is_table);
            assert!(!taken.is_ours());
            check(&[taken], true, Some("none of kurabe's"));
        }
        // Elsewhere it is not in our way, and not ours.
        let elsewhere = relation("sbtest1", "kurabe: whole", false, true);
        check(std::slice::from_ref(&elsewhere), true, None);
        check(&[elsewhere], false, Some("of others"));
        // The mark alone does not make ours what we would never have called so.
        assert!(!relation("orders", "kurabe: whole", true, true).is_ours());
        assert!(!relation("sbtest", "kurabe: whole", true, true).is_ours());
        assert!(!relation("sbtest1; DROP", "kurabe: whole", true, true).is_ours());
    }
}
