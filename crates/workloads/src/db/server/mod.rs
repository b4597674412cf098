//! A database server that tests work on: what all kinds of them have in common, and whose tables are whose.
//!
//! A kind of server is a [`Driver`] for the clients and a [`Link`] for what is not measured, both of which [`connect`]
//! and `db.oltp` find by the address. Each of our tables carries a mark from the statement that made it on, and only
//! such a table is ever dropped. The mark names the table and holds what no copy of it has, which each kind of server
//! has in another form ([`Link::relations`]): a copy, a restored dump and a table of another name are of others. One
//! run at a time works in a database, and one round: two locks of the server, each of which ends with its connection,
//! keep a second kurabe out.

mod bank;
mod driver;
pub(super) mod facts;
mod left;
pub(super) mod line;
mod lock;
mod tables;
mod tls;
#[cfg(test)]
pub(super) mod tls_tests;
pub(super) mod trouble;
pub(super) mod trust;

pub(super) use driver::{Driver, Word};
pub use left::{Cleaned, Way};
pub(super) use left::{clean, left_there};
pub(super) use lock::{Holder, Lock, Locked, lock, locked, taken};
pub(super) use tables::{RENEWED_MAX, Stood, errand, stand_on};

use self::line::Line;
use self::trouble::Trouble;
use super::address::{Address, Defaults};
use super::engines::Engine;
use super::mix::Mix;
use super::statement::BANK;
use super::tables::{Maker, Tables};
use engine::consent::Permits;
use engine::secret::Secret;
use engine::workload::{Place, StandIn, WorkError};
use model::named::ServerFact;
use model::units::Bytes;
use std::io;
use std::path::Path;
use std::time::Duration;

/// What the comment of every table of ours begins with, and of what was copied from one.
pub(super) const MARK: &str = "kurabe: ";

/// Rows of text; a value that is missing is `None`.
pub(super) type Rows = Vec<Vec<Option<String>>>;

/// More is no answer to a question of few rows: the tables of a database with 300,000 of them take so much.
const ANSWER_MAX: usize = 64 << 20;

/// Rows of an answer, and what they take.
#[derive(Default)]
pub(super) struct Few {
    pub(super) rows: Rows,
    bytes: usize,
}

impl Few {
    /// Keeps a row; false where they are too many, however little is in each.
    pub(super) fn keep(&mut self, row: Vec<Option<String>>) -> bool {
        let texts: usize = row.iter().flatten().map(String::len).sum();
        self.bytes += size_of_val(&row) + size_of_val(row.as_slice()) + texts;
        self.rows.push(row);
        self.bytes <= ANSWER_MAX
    }
}

/// A connection to a kind of server for what is not measured, in its own SQL. sysbench's tables go by their numbers,
/// from 0, while they are made.
pub(super) trait Link {
    /// Answers in rows of text, to questions of few rows.
    fn ask(&mut self, sql: &str) -> Result<Rows, Trouble>;

    /// The connection below.
    fn line(&mut self) -> &mut Line;

    /// The server's main process, where it is on this machine and can be told.
    fn party(&self) -> Option<u32>;

    /// The process of the server that answers at this moment, where one who stands between may give it to another
    /// connection at the next.
    fn shared(&mut self) -> Result<Option<String>, Trouble> {
        Ok(None)
    }

    /// Sees to it that names mean what tables are made in; the words why no tables can be made there, with a hint.
    fn look(&mut self) -> Result<Option<String>, Trouble>;

    /// Tries to take a lock of the database.
    fn try_lock(&mut self, lock: Lock) -> Result<bool, Trouble>;

    /// Who has it, as far as the server tells.
    fn holder(&mut self, lock: Lock) -> Result<Option<Holder>, Trouble>;

    /// How many connections of this user the server lets in at most, as far as it tells.
    fn connections_max(&mut self) -> Result<Option<String>, Trouble>;

    /// What no other server says of itself.
    fn identity(&mut self) -> Result<Option<String>, Trouble>;

    /// The server's number for this connection.
    fn number(&mut self) -> Result<Option<String>, Trouble>;

    /// The statement by which an administrator ends a connection.
    fn ends(&self, number: &str) -> String;

    /// Everything that is called like a table, with what our mark says where one was made by us.
    fn relations(&mut self) -> Result<Vec<Relation>, Trouble>;

    /// Further names that have to be free where these tables are made.
    fn wants(&self, tables: &[String]) -> Vec<String>;

    /// Makes the table of this name by this statement. It carries our mark, with these words, from the first moment on.
    fn make(&mut self, name: &str, sql: &str, words: &str) -> Result<(), Trouble>;

    /// Makes a table of sysbench's in the same way.
    fn create(&mut self, table: u32, words: &str) -> Result<(), Trouble>;

    /// Puts rows into a new table.
    fn fill(
        &mut self,
        table: u32,
        maker: &mut Maker,
        tell: &mut dyn FnMut(Bytes),
    ) -> Result<(), Trouble>;

    /// Makes the index of a table of so many rows, and has it looked through.
    fn complete(&mut self, table: u32, rows: u32) -> Result<(), Trouble>;

    /// Has the mark of a table of ours say these words, which have no quotes.
    fn note(&mut self, table: &str, words: &str) -> Result<(), Trouble>;

    /// Drops a table of ours.
    fn remove(&mut self, table: &str) -> Result<(), Trouble> {
        self.ask(&format!("DROP TABLE {table}")).map(drop)
    }

    /// The table that marks take beside the others, where it is there and ours.
    fn beside(&mut self) -> Result<Option<&'static str>, Trouble> {
        Ok(None)
    }

    /// Removes what marks take beside the tables, where no table of ours is left.
    fn sweep(&mut self) -> Result<(), Trouble> {
        Ok(())
    }

    /// A checksum of every value in a table, which the server makes.
    fn checksum(&mut self, table: &str) -> Result<String, Trouble>;

    /// What these tables and their indexes take.
    fn bytes(&mut self, tables: &[String]) -> Result<Option<u64>, Trouble>;

    /// What the server says of itself: its product and version, then the settings that decide a figure.
    fn settings(&mut self) -> Result<Vec<ServerFact>, Trouble>;

    /// The same with the tables of a test, a sentence each.
    fn facts(&mut self, tables: &[String]) -> Result<Vec<String>, Trouble>;
}

/// A question of few rows takes no longer: whoever waits for the answer sees nothing move.
const ASKING_MAX: Duration = Duration::from_secs(30);

/// Making an index of ten million rows takes minutes.
pub(super) const MAKING_MAX: Duration = Duration::from_secs(600);

/// Connects to whatever listens there.
fn connect(address: &Address, secret: Option<&Secret>) -> Result<Box<dyn Link>, Trouble> {
    let mut link = match address.engine {
        Engine::Postgres => super::postgres::connect(address, secret)?,
        Engine::Mysql => super::mysql::connect(address, secret)?,
        Engine::Redis => {
            let why = format!("kurabe makes no tables on {}", address.engine.products());
            return Err(Trouble::Io(io::Error::new(io::ErrorKind::Unsupported, why)));
        }
    };
    link.line().wait_at_most(ASKING_MAX).map_err(Trouble::Io)?;
    Ok(link)
}

/// What helps where a pooler gives one connection of the server to several of ours: prepared statements and locks are
/// the connection's, and not ours.
pub(super) const POOLER: &str = "\nhint: a pooler such as PgBouncer with `pool_mode = transaction` shares connections \
                                 of the server: name the server itself, or a pool with `pool_mode = session`";

/// Connects, and no more.
pub(super) fn reach(place: &Place, server: &StandIn) -> Result<(), WorkError> {
    Server::connected(&place.permits, &server.path).map(drop)
}

/// What a server says of itself.
pub(super) fn settings(permits: &Permits, path: &Path) -> Result<Vec<ServerFact>, WorkError> {
    let mut server = Server::connected(permits, path)?;
    let process = server.with("look at", Link::shared)?;
    if process.is_some()
        && Server::connected(permits, path)?.with("look at", Link::shared)? == process
    {
        return Err(WorkError::Unsupported(format!(
            "cannot work on `{}`: two connections have one process of the server at the same time{POOLER}",
            server.named.address
        )));
    }
    let mut told = server.with("ask for the settings of", Link::settings)?;
    told.extend(server.link.line().facts());
    Ok(told)
}

/// What is refused where tables cannot be made, and where they cannot be dropped.
const MAKE: &str = "make tables in";
const DROP: &str = "drop tables of ours in";

/// The connections of a run beside those of its clients: one has the run's lock, and one the round's.
const BESIDE: u32 = 2;

/// Refuses what would fail in the first round: a server on which these tables cannot be made, or that does not let so
/// many clients in.
pub(super) fn fits(
    permits: &Permits,
    path: &Path,
    tables: &[String],
    clients: u32,
) -> Result<(), WorkError> {
    let mut server = Server::connected(permits, path)?;
    let unfit = server.with("look at", Link::look)?;
    server.refused(MAKE, unfit)?;
    let taken = server.taken(tables)?;
    server.refused(MAKE, taken)?;
    let most = server.with("look at", Link::connections_max)?;
    let needed = clients.saturating_add(BESIDE);
    match most.and_then(|most| most.parse::<u32>().ok()) {
        Some(most) if needed > most => Err(WorkError::Unsupported(format!(
            "cannot work on `{}`: {clients} copies take {needed} connections, and the server lets in {most} of this \
             user\nhint: fewer `--copies`, or a larger `max_connections` of the server, or limit of the user",
            server.named.address
        ))),
        _ => Ok(()),
    }
}

/// A server with the lock of a database.
pub(super) struct Server {
    link: Box<dyn Link>,
    named: Named,
}

/// A table or what looks like one, and whether a name of ours would mean it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Relation {
    pub(super) schema: String,
    pub(super) name: String,
    /// What our mark says; `None` where it has none, or one of another table.
    pub(super) words: Option<String>,
    pub(super) is_here: bool,
    pub(super) is_table: bool,
}

impl Relation {
    fn is_ours(&self) -> bool {
        self.is_here && self.is_table && self.words.is_some() && self.has_name_of_ours()
    }

    fn has_name_of_ours(&self) -> bool {
        let number = self.name.strip_prefix("sbtest");
        self.is_bank()
            || number.is_some_and(|number| {
                !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
            })
    }

    /// Whether pgbench's tables are called so.
    fn is_bank(&self) -> bool {
        BANK.contains(&self.name.as_str())
    }
}

/// Why tables cannot be made among these; `None` where they can.
fn refusal(
    engine: Engine,
    found: &[Relation],
    tables: &[String],
    allows_existing: bool,
) -> Option<String> {
    let makes = engine.makes_databases_by();
    let mut others = found.iter().filter(|one| !one.is_ours());
    let wanted = |one: &Relation| one.is_here && tables.contains(&one.name);
    if let Some(taken) = others.clone().find(|one| wanted(one)) {
        return Some(format!(
            "`{}` is there and is none of kurabe's: it stays as it is\n\
             hint: make an empty database with `{makes}`, and name that one",
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
         hint: make an empty database with `{makes}`, and name that one; or add `--db-allow-existing`: kurabe makes \
         and drops tables of its own alone, but what it does costs the others",
        first.schema, first.name
    ))
}

/// A server as a run names it.
#[derive(Clone)]
pub(super) struct Named {
    pub(super) address: Address,
    pub(super) secret: Option<Secret>,
    /// Whether what others keep there is no reason to refuse it.
    pub(super) allows_existing: bool,
}

impl Named {
    /// What the path of a server is, and what opens it.
    pub(super) fn of(permits: &Permits, path: &Path) -> Result<Self, WorkError> {
        let permit = permits.of(path);
        let permit = permit.map_err(|error| WorkError::Failed(error.to_string()))?;
        let text = path.to_string_lossy();
        let typed = Address::read(&text, &Defaults::default());
        let typed = typed.map_err(|why| WorkError::failed("read the address", &text, why))?;
        Ok(Self {
            address: typed.address,
            secret: permit.secret().cloned(),
            allows_existing: permit.allows_existing(),
        })
    }

    /// Connects by this.
    pub(super) fn entered<T>(
        &self,
        connect: impl FnOnce(&Address, Option<&Secret>) -> Result<T, Trouble>,
    ) -> Result<T, WorkError> {
        connect(&self.address, self.secret.as_ref())
            .map_err(|trouble| of("connect to", &self.address, &trouble))
    }
}

impl Server {
    /// Connects.
    fn connected(permits: &Permits, path: &Path) -> Result<Self, WorkError> {
        let named = Named::of(permits, path)?;
        let link = named.entered(connect)?;
        Ok(Self { link, named })
    }

    /// Connects, takes the lock, and looks whether tables may be made there.
    pub(super) fn open(
        place: &Place,
        server: &StandIn,
        tables: &Tables,
    ) -> Result<Self, WorkError> {
        let mut opened = Self::connected(&place.permits, &server.path)?;
        opened.enter(MAKE)?;
        opened.lock(Lock::Round, &[])?;
        let taken = opened.taken(&tables.names())?;
        opened.refused(MAKE, taken)?;
        Ok(opened)
    }

    /// Looks whether this can be done there.
    fn enter(&mut self, operation: &str) -> Result<(), WorkError> {
        self.with("wait for", |link| {
            link.line().wait_at_most(MAKING_MAX).map_err(Trouble::Io)
        })?;
        let unfit = self.with("look at", Link::look)?;
        self.refused(operation, unfit)
    }

    /// Why tables of these names cannot be made among those that are there.
    fn taken(&mut self, tables: &[String]) -> Result<Option<String>, WorkError> {
        let found = self.relations()?;
        let engine = self.named.address.engine;
        let wanted = [tables.to_vec(), self.link.wants(tables)].concat();
        Ok(refusal(engine, &found, &wanted, self.named.allows_existing))
    }

    /// An error where something cannot be done there, and why.
    fn refused(&self, operation: &str, why: Option<String>) -> Result<(), WorkError> {
        why.map_or(Ok(()), |why| {
            Err(WorkError::Unsupported(format!(
                "cannot {operation} `{}`: {why}",
                self.named.address
            )))
        })
    }

    /// What it is.
    pub(super) const fn engine(&self) -> Engine {
        self.named.address.engine
    }

    /// Connections of so many clients, prepared.
    pub(super) fn clients<D: Driver>(
        &self,
        number: usize,
        work: (&Mix, u32),
    ) -> Result<Vec<D>, WorkError> {
        let connected = |_| {
            self.named
                .entered(|address, secret| D::connected(address, secret, work))
        };
        (0..number).map(connected).collect()
    }

    /// The server's main process, where it is on this machine and can be told.
    pub(super) fn party(&self) -> Option<u32> {
        self.link.party()
    }

    /// Whether it is on this machine.
    pub(super) fn is_here(&mut self) -> bool {
        self.link.line().is_loopback()
    }

    /// The address without what opens it.
    pub(super) fn shown(&self) -> String {
        self.named.address.to_string()
    }

    /// What the server says of itself, with the tables of the test.
    pub(super) fn facts(&mut self, tables: &[String]) -> Result<Vec<String>, WorkError> {
        let mut told = self.with("ask for the settings of", |link| link.facts(tables))?;
        told.extend(self.link.line().note());
        Ok(told)
    }

    /// Does something over the connection.
    fn with<T>(
        &mut self,
        operation: &str,
        does: impl FnOnce(&mut (dyn Link + 'static)) -> Result<T, Trouble>,
    ) -> Result<T, WorkError> {
        let done = does(&mut *self.link);
        done.map_err(|trouble| of(operation, &self.named.address, &trouble))
    }

    fn relations(&mut self) -> Result<Vec<Relation>, WorkError> {
        self.with("list the tables of", Link::relations)
    }
}

/// The first value of the first row.
pub(super) fn value(rows: Rows) -> Option<String> {
    rows.into_iter().flatten().next().flatten()
}

/// What went wrong with a server; what no further round can help is said to be so.
pub(super) fn of(operation: &str, address: &Address, trouble: &Trouble) -> WorkError {
    let socket = match address.socket() {
        // The name of the socket is not in every address, and the one thing to look at.
        Some(socket) if matches!(trouble, Trouble::Connect(..)) => {
            format!(" (socket `{}`)", socket.display())
        }
        _ => String::new(),
    };
    let words = format!("cannot {operation} `{address}`{socket}: {trouble}");
    if trouble.is_lasting() {
        WorkError::Unsupported(words)
    } else {
        WorkError::Failed(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relation(name: &str, words: Option<&str>, is_here: bool, is_table: bool) -> Relation {
        Relation {
            schema: "public".to_owned(),
            name: name.to_owned(),
            words: words.map(str::to_owned),
            is_here,
            is_table,
        }
    }

    #[test]
    fn only_what_carries_our_mark_is_ours_and_others_are_left_alone() {
        let ours = relation("sbtest2", Some("being made"), true, true);
        let wanted = ["sbtest1", "sbtest2"].map(str::to_owned);
        let check = |found: &[Relation], allows: bool, words: Option<&str>| {
            let why = refusal(Engine::Postgres, found, &wanted, allows);
            match words {
                None => assert_eq!(why, None),
                Some(words) => assert!(why.clone().unwrap().contains(words), "{why:?}"),
            }
        };
        check(&[], false, None);
        check(std::slice::from_ref(&ours), false, None);
        let others = relation("orders", None, true, true);
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
        for (name, words, is_table) in [
            ("sbtest1", None, true),
            ("sbtest2", None, true),
            ("sbtest1", None, false),
            ("sbtest1", Some("whole"), false),
        ] {
            let taken = relation(name, words, true, is_table);
            assert!(!taken.is_ours());
            check(&[taken], true, Some("none of kurabe's"));
        }
        // Elsewhere it is not in our way, and not ours.
        let elsewhere = relation("sbtest1", Some("whole"), false, true);
        check(std::slice::from_ref(&elsewhere), true, None);
        check(&[elsewhere], false, Some("of others"));
        // The mark alone does not make ours what we would never have called so.
        assert!(!relation("orders", Some("whole"), true, true).is_ours());
        assert!(!relation("sbtest", Some("whole"), true, true).is_ours());
        assert!(!relation("sbtest1; DROP", Some("whole"), true, true).is_ours());
        assert!(relation("pgbench_history", Some("whole"), true, true).is_ours());
        assert!(!relation("pgbench_history", None, true, true).is_ours());
        assert!(!relation("pgbench_other", Some("whole"), true, true).is_ours());
    }
}
