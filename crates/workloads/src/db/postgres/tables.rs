//! The tables of a test on a server: made, looked at, checked and dropped, and never anybody else's.
//!
//! Each of our tables carries a comment that begins with [`MARK`], from the transaction that made it on; only such a
//! table is ever dropped. The comment is also the note of what is in it, written when it is whole, so that who is killed
//! before leaves tables that nobody takes for whole. One kurabe at a time works in a database: a lock of the server,
//! which ends with the connection, keeps a second one out.

use super::error::Trouble;
use super::facts::{self, Told as Facts};
use super::login::log_in;
use super::wire::Wire;
use crate::db::address::{Address, Host};
use crate::db::statement::name;
use crate::db::tables::{Held, Tables};
use crate::db::text::{C_BYTES, PAD_BYTES, Text};
use crate::db::{mix::Mix, rows::Rows};
use bytes::{BufMut, BytesMut};
use engine::secret::Secret;
use engine::workload::{Place, StandIn, Told, WorkError};
use model::rng::Rng;
use model::units::Bytes;
use postgres_protocol::message::frontend;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// What the comment of every table of ours begins with.
pub(super) const MARK: &str = "kurabe: ";
/// The comment of one that is being made.
const MAKING: &str = "being made";
/// And of one that transactions of a round may have changed.
const CHANGED: &str = "changed by a round";

/// The tables of a test with at most this many bytes are made anew for every round that would find them changed: some
/// tenths of a second for the usual 10,000 rows. Larger ones stay as rounds leave them.
const RENEWED_MAX: u64 = 64 << 20;

/// Making an index of ten million rows takes minutes.
const MAKING_MAX: Duration = Duration::from_secs(600);

/// The number of the lock: "kurabe" in ASCII.
const LOCK: u64 = 0x6b75_7261_6265;
/// A worker that was killed has its lock until the server notices.
const LOCK_TRIES: u32 = 50;
const LOCK_WAIT_NS: u64 = 100_000_000;

/// A connection for what is not measured, which holds the lock.
pub(in crate::db) struct Server {
    wire: Wire,
    pub(super) address: Address,
    secret: Option<Secret>,
    /// The server's main process, where it is on this machine and can be told.
    party: Option<u32>,
    /// Whether tables of others may be there.
    allows_existing: bool,
}

/// A table or what looks like one, and whether a name of ours would mean it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Relation {
    schema: String,
    name: String,
    comment: String,
    is_here: bool,
    is_table: bool,
}

impl Relation {
    fn is_ours(&self) -> bool {
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
         hint: make an empty database with `createdb`, and name that one; or add `--db-allow-existing`: kurabe makes and \
         drops tables of its own alone, but what it does costs the others",
        first.schema, first.name
    ))
}

/// What a stand-in is: the address and what opens it.
fn asked(place: &Place, server: &StandIn) -> Result<(Address, Option<Secret>, bool), WorkError> {
    let permit = place.permits.of(&server.path);
    let permit = permit.map_err(|error| WorkError::Failed(error.to_string()))?;
    let address = read(&server.path)?;
    Ok((address, permit.secret().cloned(), permit.allows_existing()))
}

/// The address that a path of a server is.
fn read(path: &Path) -> Result<Address, WorkError> {
    let text = path.to_string_lossy();
    let typed = Address::read(&text, None);
    typed
        .map(|typed| typed.address)
        .map_err(|why| WorkError::failed("read the address", &text, why))
}

impl Server {
    /// Connects, takes the lock, and looks whether tables may be made there.
    fn open(place: &Place, server: &StandIn, tables: &Tables) -> Result<Self, WorkError> {
        let (address, secret, allows_existing) = asked(place, server)?;
        let failed = |trouble: Trouble| of("connect to", &address, &trouble);
        let (mut wire, let_in) = log_in(&address, secret.as_ref()).map_err(failed)?;
        wire.wait_at_most(MAKING_MAX)
            .map_err(|error| of("connect to", &address, &Trouble::Io(error)))?;
        let party = party(&wire, let_in.process);
        let mut opened = Self {
            wire,
            address,
            secret,
            party,
            allows_existing,
        };
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
    fn value(&mut self, operation: &str, sql: &str) -> Result<Option<String>, WorkError> {
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

    fn relations(&mut self) -> Result<Vec<Relation>, WorkError> {
        // What extensions brought is no data of anybody.
        let rows = self.ask(
            "list the tables of",
            "SELECT n.nspname, c.relname, coalesce(obj_description(c.oid, 'pg_class'), ''), \
             n.nspname = current_schema(), c.relkind = 'r' FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
             WHERE c.relkind IN ('r', 'p', 'm', 'f', 'v') AND n.nspname <> 'information_schema' \
             AND n.nspname !~ '^pg_' AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE \
             d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e') ORDER BY 1, 2",
        )?;
        Ok(rows.into_iter().filter_map(relation).collect())
    }

    /// Drops every table of ours, and no other.
    fn drop_ours(&mut self) -> Result<(), WorkError> {
        for ours in self.relations()?.iter().filter(|one| one.is_ours()) {
            self.ask(
                "drop a table of ours in",
                &format!("DROP TABLE {}", ours.name),
            )?;
        }
        Ok(())
    }

    fn note(&mut self, table: u32, words: &str) -> Result<(), WorkError> {
        // The words are ours and hold no quotes.
        let sql = format!("COMMENT ON TABLE {} IS '{MARK}{words}'", name(table));
        self.ask("note what is in a table of", &sql).map(drop)
    }

    /// Makes the tables, whatever is left of earlier ones.
    fn make(
        &mut self,
        tables: &Tables,
        seed: u64,
        tell: &mut dyn FnMut(Bytes),
    ) -> Result<(), WorkError> {
        self.drop_ours()?;
        let rows = Rows::new(tables.choice, tables.size);
        let mut rng = Rng::stream(seed, 2);
        let mut expected = None;
        for table in 0..tables.number {
            let (name, number) = (name(table), table + 1);
            // One transaction: there is never a table of ours without its mark.
            self.ask(
                "make a table in",
                &format!(
                    "BEGIN; CREATE TABLE {name} (id SERIAL NOT NULL, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) \
                     DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id)); \
                     COMMENT ON TABLE {name} IS '{MARK}{MAKING}'; COMMIT"
                ),
            )?;
            let sum_k = self.fill(&name, tables.size, (&rows, &mut rng), tell)?;
            let own = Held {
                rows: tables.size.into(),
                sum_k,
                first: 1,
                last: tables.size.into(),
            };
            expected = Some(Held::both(expected, own));
            self.ask(
                "make an index in",
                &format!("CREATE INDEX k_{number} ON {name}(k)"),
            )?;
            let sequence = format!("pg_get_serial_sequence('{name}', 'id')");
            let next = format!("SELECT setval({sequence}, {})", tables.size);
            self.ask("number the rows of", &next)?;
            self.ask(
                "look through the tables of",
                &format!("VACUUM ANALYZE {name}"),
            )?;
        }
        let held = self.survey(tables.number)?;
        if Some(held) != expected {
            return Err(WorkError::Wrong(format!(
                "make tables in `{}`: the server holds {held:?} in place of {expected:?}",
                self.address
            )));
        }
        for table in 0..tables.number {
            let noted = self.noted(tables, table)?;
            self.note(table, &noted)?;
        }
        Ok(())
    }

    /// Copies rows into a new table; the sum of their `k`.
    fn fill(
        &mut self,
        name: &str,
        size: u32,
        (rows, rng): (&Rows, &mut Rng),
        tell: &mut dyn FnMut(Bytes),
    ) -> Result<i64, WorkError> {
        let failed = |address: &Address, trouble| of("copy rows into", address, &trouble);
        let sql = format!("COPY {name} (id, k, c, pad) FROM STDIN");
        begin_copy(&mut self.wire, &sql).map_err(|trouble| failed(&self.address, trouble))?;
        let mut c = Text::<C_BYTES>::new();
        let mut pad = Text::<PAD_BYTES>::new();
        let mut sum_k = 0;
        let mut piece = BytesMut::with_capacity(PIECE_BYTES + 256);
        for id in 1..=size {
            let k = rows.pick(rng);
            sum_k += i64::from(k);
            piece.put_slice(format!("{id}\t{k}\t").as_bytes());
            piece.put_slice(c.renew(rng).as_bytes());
            piece.put_u8(b'\t');
            piece.put_slice(pad.renew(rng).as_bytes());
            piece.put_u8(b'\n');
            if piece.len() >= PIECE_BYTES || id == size {
                tell(Bytes(piece.len() as u64));
                send_piece(&mut self.wire, &piece)
                    .map_err(|trouble| failed(&self.address, trouble))?;
                piece.clear();
            }
        }
        end_copy(&mut self.wire).map_err(|trouble| failed(&self.address, trouble))?;
        Ok(sum_k)
    }

    /// Counts and adds up what is in the tables.
    pub(in crate::db) fn survey(&mut self, tables: u32) -> Result<Held, WorkError> {
        let mut all = None;
        for table in 0..tables {
            let sql = format!(
                "SELECT count(*), coalesce(sum(k), 0), coalesce(min(id), 0), coalesce(max(id), 0) FROM {}",
                name(table)
            );
            let rows = self.ask("look at the tables of", &sql)?;
            let numbers: Vec<i64> = rows
                .iter()
                .flatten()
                .flatten()
                .filter_map(|n| n.parse().ok())
                .collect();
            let [rows, sum_k, first, last] = *numbers.as_slice() else {
                return Err(of(
                    "look at the tables of",
                    &self.address,
                    &Trouble::Garbage,
                ));
            };
            let own = Held {
                rows: rows.try_into().unwrap_or(0),
                sum_k,
                first,
                last,
            };
            all = Some(Held::both(all, own));
        }
        Ok(all.unwrap_or_default())
    }

    /// What is noted of a table that is whole, with a checksum of every value, which the server makes.
    fn noted(&mut self, tables: &Tables, table: u32) -> Result<String, WorkError> {
        let sql = format!(
            "SELECT coalesce(sum(hashtext(concat_ws(':', id, k, c, pad))::bigint), 0) FROM {}",
            name(table)
        );
        let sum = self.value("read the tables of", &sql)?;
        Ok(format!(
            "{} rows for kurabe run oltp, {}, checksum {}",
            tables.size,
            tables.choice.word(),
            sum.unwrap_or_default()
        ))
    }

    /// The comments of our tables, by name.
    fn notes(&mut self) -> Result<BTreeMap<String, String>, WorkError> {
        let ours = self.relations()?.into_iter().filter(Relation::is_ours);
        let noted = |one: Relation| {
            let words = one.comment.strip_prefix(MARK)?.to_owned();
            Some((one.name, words))
        };
        Ok(ours.filter_map(noted).collect())
    }

    /// What the tables and their indexes take on the server.
    fn bytes(&mut self, tables: u32) -> Result<Option<Bytes>, WorkError> {
        let each = (0..tables).map(|table| format!("pg_total_relation_size('{}')", name(table)));
        let sum = each.collect::<Vec<_>>().join(" + ");
        let found = self.value(
            "ask for the size of the tables of",
            &format!("SELECT {sum}"),
        )?;
        Ok(found.and_then(|bytes| bytes.parse().ok()).map(Bytes))
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

/// Rows are copied in pieces of about this size.
const PIECE_BYTES: usize = 64 << 10;

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

fn begin_copy(wire: &mut Wire, sql: &str) -> Result<(), Trouble> {
    frontend::query(sql, &mut wire.out).map_err(Trouble::Io)?;
    wire.send()?;
    loop {
        let said = wire.next()?;
        match said.tag {
            b'G' => return Ok(()),
            b'N' | b'S' | b'A' => {}
            b'E' => return Err(Trouble::told(wire.body(&said))),
            _ => return Err(Trouble::Garbage),
        }
    }
}

fn send_piece(wire: &mut Wire, piece: &[u8]) -> Result<(), Trouble> {
    let data = frontend::CopyData::new(piece).map_err(Trouble::Io)?;
    data.write(&mut wire.out);
    wire.send()
}

fn end_copy(wire: &mut Wire) -> Result<(), Trouble> {
    frontend::copy_done(&mut wire.out);
    wire.send()?;
    let done = wire.answer(|_| Ok(()))?;
    done.code.map_or(Ok(()), |code| {
        Err(Trouble::Told {
            code,
            words: "the server refused the rows".to_owned(),
        })
    })
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
fn of(operation: &str, address: &Address, trouble: &Trouble) -> WorkError {
    let socket = match &address.host {
        // The name of the socket is in no address, and the one thing to look at.
        Host::Socket(dir) if matches!(trouble, Trouble::Connect(_)) => {
            let socket = crate::db::address::socket_in(dir, address.port);
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

/// Makes the tables of the ground.
pub(in crate::db) fn make(
    tables: &Tables,
    place: &Place,
    server: &StandIn,
    tell: &mut dyn FnMut(Bytes),
) -> Result<Told, WorkError> {
    let mut made = 0;
    let mut server = Server::open(place, server, tables)?;
    server.make(tables, place.seed, &mut |piece| {
        made += piece.0;
        tell(Bytes(made));
    })?;
    Ok(Told {
        holds: true,
        bytes: server.bytes(tables.number)?,
    })
}

/// Whether the tables are there, in whole: what is in them is what was noted when they were made.
pub(in crate::db) fn check(
    tables: &Tables,
    place: &Place,
    server: &StandIn,
) -> Result<Told, WorkError> {
    let mut server = Server::open(place, server, tables)?;
    let notes = server.notes()?;
    for table in 0..tables.number {
        let Some(note) = notes.get(&name(table)) else {
            return Ok(Told::default());
        };
        if *note != server.noted(tables, table)? {
            return Ok(Told::default());
        }
    }
    Ok(Told {
        holds: true,
        bytes: server.bytes(tables.number)?,
    })
}

/// Drops our tables.
pub(in crate::db) fn remove(
    tables: &Tables,
    place: &Place,
    server: &StandIn,
) -> Result<(), WorkError> {
    Server::open(place, server, tables)?.drop_ours()
}

/// The tables for one round, and what is in them. Those that a round has changed are made anew where they are small;
/// larger ones where their rows are not the ones that were made.
pub(in crate::db) fn stand_on(
    tables: &Tables,
    place: &Place,
    server: &StandIn,
    mix: &Mix,
) -> Result<(Server, Held), WorkError> {
    let mut server = Server::open(place, server, tables)?;
    let notes = server.notes()?;
    let note = |table| notes.get(&name(table)).map(String::as_str);
    let is_small = tables.bytes().0 <= RENEWED_MAX;
    let begins = format!(
        "{} rows for kurabe run oltp, {},",
        tables.size,
        tables.choice.word()
    );
    let is_whole = |note: Option<&str>| {
        note.is_some_and(|note| note.starts_with(&begins) || (note == CHANGED && !is_small))
    };
    let mut held = None;
    if (0..tables.number).all(|table| is_whole(note(table))) {
        let found = server.survey(tables.number)?;
        let rows = u64::from(tables.number) * u64::from(tables.size);
        let is_as_made = (found.rows, found.first, found.last) == (rows, 1, tables.size.into());
        held = Some(found).filter(|_| is_as_made);
    }
    let held = match held {
        Some(held) => held,
        None => {
            server.make(tables, place.seed, &mut |_| ())?;
            server.survey(tables.number)?
        }
    };
    if mix.writes() {
        for table in 0..tables.number {
            server.note(table, CHANGED)?;
        }
    }
    Ok((server, held))
}

#[cfg(test)]
mod unit {
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
