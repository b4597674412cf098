//! A connection to a server for what is not measured, in PostgreSQL's SQL.

use super::decode::{Columns, Garbage};
use super::error::{self, refused};
use super::facts;
use super::login::log_in;
use super::wire::Wire;
use crate::db::address::Address;
use crate::db::server::line::Line;
use crate::db::server::trouble::Trouble;
use crate::db::server::{Few, Holder, Link, Lock, MARK, Relation, Rows, value};
use crate::db::statement::name;
use crate::db::tables::Maker;
use bytes::{BufMut, BytesMut};
use engine::secret::Secret;
use model::named::ServerFact;
use model::units::Bytes;
use postgres_protocol::message::frontend;

/// The number of a lock: "kurabe" in ASCII, or the next one.
const fn number_of(lock: Lock) -> u64 {
    match lock {
        Lock::Round => 0x6b75_7261_6265,
        Lock::Run => 0x6b75_7261_6266,
    }
}

/// Names are of the schema that is the first one now: one that others make later, and that comes before it, changes
/// nothing.
pub(super) const ONE_SCHEMA: &str =
    "SELECT set_config('search_path', quote_ident(current_schema()), false)";

/// Rows are copied in pieces of about this size.
const PIECE_BYTES: usize = 64 << 10;

/// A connection for what is not measured.
struct PostgresLink {
    wire: Wire,
    /// The process that serves this connection, as the one who let us in calls it.
    process: Option<u32>,
    party: Option<u32>,
}

/// Connects.
pub(in crate::db) fn connect(
    address: &Address,
    secret: Option<&Secret>,
) -> Result<Box<dyn Link>, Trouble> {
    let (wire, let_in) = log_in(address, secret)?;
    let party = party(&wire, let_in.process);
    Ok(Box::new(PostgresLink {
        wire,
        process: let_in.process,
        party,
    }))
}

/// The server's main process, where it is on this machine. Of a Unix socket the kernel says who listens; over loopback
/// the server says which process serves us, and it counts where that is one of PostgreSQL here.
fn party(wire: &Wire, process: Option<u32>) -> Option<u32> {
    if let Some(socket) = wire.line.unix() {
        return sys::peer::listener(socket).ok().flatten();
    }
    if !wire.line.is_loopback() {
        return None;
    }
    let tree = sys::tree::Tree::real();
    let serves = sys::counters::process(&tree, process?).ok()?;
    (serves.name == "postgres")
        .then_some(serves.parent)
        .filter(|parent| *parent > 1)
}

/// What a table has and no copy of it, in SQL: the numbers of its database, of itself and of the transaction that wrote
/// its comment. A copy in the database has another number, as one that was restored; one that came with a copy of the
/// database is in one of another number; and a comment that was restored is of another transaction, also where a fresh
/// server counts the rest in the same way. The last holds through VACUUM, which keeps it.
fn identity(table: &str, transaction: &str) -> String {
    format!(
        "concat_ws('.', (SELECT oid FROM pg_database WHERE datname = current_database()), {table}, {transaction})"
    )
}

/// A row of schema, name, comment, how our mark of it begins, and two truths.
fn relation(row: Vec<Option<String>>) -> Option<Relation> {
    let [schema, name, comment, mark, is_here, is_table]: [Option<String>; 6] =
        row.try_into().ok()?;
    let words = comment.and_then(|comment| Some(comment.strip_prefix(&mark?)?.to_owned()));
    Some(Relation {
        schema: schema?,
        name: name?,
        words,
        is_here: is_here? == "t",
        is_table: is_table? == "t",
    })
}

impl PostgresLink {
    /// The first value of the answer.
    fn value(&mut self, sql: &str) -> Result<Option<String>, Trouble> {
        self.ask(sql).map(value)
    }

    /// Carries out a statement and marks the table, in one transaction: there is never a table of ours without its
    /// mark.
    fn marked(&mut self, table: &str, sql: &str, words: &str) -> Result<(), Trouble> {
        let marked = self.try_marked(table, sql, words);
        if marked.is_err() && self.wire.status != b'I' {
            // What went wrong is told.
            let _ = self.ask("ROLLBACK");
        }
        marked
    }

    fn try_marked(&mut self, table: &str, sql: &str, words: &str) -> Result<(), Trouble> {
        let oid = format!("'{table}'::regclass::oid");
        let identity = identity(&oid, "(txid_current() % 4294967296)");
        let found = self.value(&format!("BEGIN; {sql} SELECT {identity}"))?;
        let identity = found.ok_or(Garbage)?;
        self.ask(&format!(
            "COMMENT ON TABLE {table} IS '{MARK}{table} {identity}: {words}'; COMMIT"
        ))
        .map(drop)
    }

    fn begin_copy(&mut self, sql: &str) -> Result<(), Trouble> {
        let wire = &mut self.wire;
        frontend::query(sql, &mut wire.line.out).map_err(Trouble::Io)?;
        wire.send()?;
        loop {
            let said = wire.next()?;
            match said.tag {
                b'G' => return Ok(()),
                b'N' | b'S' | b'A' => {}
                b'E' => return Err(error::told(wire.body(&said))),
                _ => return Err(Garbage.into()),
            }
        }
    }

    fn send_piece(&mut self, piece: &[u8]) -> Result<(), Trouble> {
        let data = frontend::CopyData::new(piece).map_err(Trouble::Io)?;
        data.write(&mut self.wire.line.out);
        self.wire.send()
    }

    fn end_copy(&mut self) -> Result<(), Trouble> {
        frontend::copy_done(&mut self.wire.line.out);
        self.wire.send()?;
        let done = self.wire.answer(|_| Ok(()))?;
        done.refused.map_or(Ok(()), |why| {
            Err(refused(why.code, "the server refused the rows".to_owned()))
        })
    }
}

impl Link for PostgresLink {
    fn ask(&mut self, sql: &str) -> Result<Rows, Trouble> {
        frontend::query(sql, &mut self.wire.line.out).map_err(Trouble::Io)?;
        self.wire.send()?;
        let mut few = Few::default();
        let done = self.wire.answer(|body| {
            let mut columns = Columns::new(body)?;
            let mut row = Vec::new();
            while !columns.is_over() {
                let value = columns.next()?;
                row.push(value.map(|value| String::from_utf8_lossy(value).into_owned()));
            }
            few.keep(row).then_some(()).ok_or(Garbage)
        })?;
        match done.refused {
            None => Ok(few.rows),
            Some(why) => Err(refused(why.code, "the server refused it".to_owned())),
        }
    }

    fn line(&mut self) -> &mut Line {
        &mut self.wire.line
    }

    fn party(&self) -> Option<u32> {
        self.party
    }

    fn shared(&mut self) -> Result<Option<String>, Trouble> {
        let own = self.number()?;
        let named = self.process.map(|process| process.to_string());
        Ok(own.filter(|own| Some(own) != named.as_ref()))
    }

    fn look(&mut self) -> Result<Option<String>, Trouble> {
        let replica = self.value("SELECT pg_is_in_recovery()")?;
        if replica.as_deref() == Some("t") {
            let why = "it is a replica, which nobody writes to\nhint: name the primary server";
            return Ok(Some(why.to_owned()));
        }
        if self.value("SELECT current_schema()")?.is_none() {
            let why = "its user has no schema\nhint: `search_path` of the user is to name one that is there";
            return Ok(Some(why.to_owned()));
        }
        self.ask(ONE_SCHEMA).map(|_| None)
    }

    fn try_lock(&mut self, lock: Lock) -> Result<bool, Trouble> {
        // Nobody ends this connection for being idle; older versions do not do that.
        self.ask(
            "SELECT set_config(name, '0', false) FROM pg_settings WHERE name = 'idle_session_timeout'",
        )?;
        let got = self.value(&format!("SELECT pg_try_advisory_lock({})", number_of(lock)))?;
        Ok(got.as_deref() == Some("t"))
    }

    fn holder(&mut self, lock: Lock) -> Result<Option<Holder>, Trouble> {
        let number = number_of(lock);
        // What a user may not see of others is missing.
        let rows = self.ask(&format!(
            "SELECT l.pid, a.usename, CASE a.client_port WHEN -1 THEN 'the machine of the server' \
             ELSE host(a.client_addr) END, floor(extract(epoch FROM now() - a.backend_start)) \
             FROM pg_locks l LEFT JOIN pg_stat_activity a USING (pid) WHERE l.locktype = 'advisory' AND l.granted \
             AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
             AND l.classid = {} AND l.objid = {}",
            number >> 32,
            number & u64::from(u32::MAX)
        ))?;
        Ok(Holder::read(rows))
    }

    /// Administrators are let in whatever the limits of users say, and have connections of their own.
    fn connections_max(&mut self) -> Result<Option<String>, Trouble> {
        self.value(
            "SELECT CASE WHEN r.rolsuper THEN m.most ELSE least(m.most - \
             current_setting('superuser_reserved_connections')::int, nullif(r.rolconnlimit, -1), \
             nullif(d.datconnlimit, -1)) END \
             FROM (SELECT current_setting('max_connections')::int AS most) m, pg_roles r, pg_database d \
             WHERE r.rolname = session_user AND d.datname = current_database()",
        )
    }

    fn identity(&mut self) -> Result<Option<String>, Trouble> {
        // In no time zone of anybody's.
        self.value("SELECT extract(epoch FROM pg_postmaster_start_time())")
    }

    fn number(&mut self) -> Result<Option<String>, Trouble> {
        self.value("SELECT pg_backend_pid()")
    }

    fn ends(&self, number: &str) -> String {
        format!("SELECT pg_terminate_backend({number})")
    }

    /// Indexes, sequences and types have their names from the same pool as tables. Those of a table of ours go with it.
    fn relations(&mut self) -> Result<Vec<Relation>, Trouble> {
        // What extensions brought is no data of others. A table that is a part of another one, or has parts, holds rows
        // that others put into that one.
        let rows = self.ask(&format!(
            "SELECT n.nspname, c.relname, d.description, concat('{MARK}', c.relname, ' ', {}, ': '), \
             n.nspname = current_schema(), c.relkind = 'r' AND NOT EXISTS (SELECT 1 FROM pg_inherits i \
             WHERE c.oid IN (i.inhrelid, i.inhparent)) FROM pg_class c \
             JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_description d \
             ON d.objoid = c.oid AND d.classoid = 'pg_class'::regclass AND d.objsubid = 0 \
             WHERE (c.relkind IN ('r', 'p', 'm', 'f', 'v') OR c.relkind IN ('i', 'I', 'S', 'c') \
             AND c.relname ~ '^(k_|sbtest)[0-9]+$' AND NOT EXISTS (SELECT 1 FROM pg_index x JOIN pg_class t \
             ON t.oid = x.indrelid WHERE x.indexrelid = c.oid AND t.relname ~ '^sbtest[0-9]+$')) \
             AND n.nspname <> 'information_schema' \
             AND n.nspname !~ '^pg_' AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE \
             d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e') ORDER BY 1, 2",
            identity("c.oid", "d.xmin")
        ))?;
        Ok(rows.into_iter().filter_map(relation).collect())
    }

    fn wants(&self, tables: &[String]) -> Vec<String> {
        let numbers = tables
            .iter()
            .filter_map(|table| table.strip_prefix("sbtest"));
        numbers.map(|number| format!("k_{number}")).collect()
    }

    fn make(&mut self, name: &str, sql: &str, words: &str) -> Result<(), Trouble> {
        self.marked(name, &format!("{sql};"), words)
    }

    fn create(&mut self, table: u32, words: &str) -> Result<(), Trouble> {
        let name = name(table);
        let sql = format!(
            "CREATE TABLE {name} (id SERIAL NOT NULL, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) \
             DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id))"
        );
        self.make(&name, &sql, words)
    }

    fn fill(
        &mut self,
        table: u32,
        maker: &mut Maker,
        tell: &mut dyn FnMut(Bytes),
    ) -> Result<(), Trouble> {
        let sql = format!("COPY {} (id, k, c, pad) FROM STDIN", name(table));
        self.begin_copy(&sql)?;
        let mut piece = BytesMut::with_capacity(PIECE_BYTES + 256);
        loop {
            let row = maker.next();
            if let Some((id, k, c, pad)) = row {
                piece.put_slice(format!("{id}\t{k}\t{c}\t{pad}\n").as_bytes());
            }
            if piece.len() >= PIECE_BYTES || row.is_none() {
                tell(Bytes(piece.len() as u64));
                self.send_piece(&piece)?;
                piece.clear();
            }
            if row.is_none() {
                return self.end_copy();
            }
        }
    }

    fn complete(&mut self, table: u32, rows: u32) -> Result<(), Trouble> {
        let (name, number) = (name(table), table + 1);
        self.ask(&format!("CREATE INDEX k_{number} ON {name}(k)"))?;
        let sequence = format!("pg_get_serial_sequence('{name}', 'id')");
        self.ask(&format!("SELECT setval({sequence}, {rows})"))?;
        self.ask(&format!("VACUUM ANALYZE {name}")).map(drop)
    }

    fn note(&mut self, table: &str, words: &str) -> Result<(), Trouble> {
        self.marked(table, "", words)
    }

    fn checksum(&mut self, table: &str) -> Result<String, Trouble> {
        let sum = self.value(&format!(
            "SELECT coalesce(sum(hashtext({table}::text)::bigint), 0) FROM {table}"
        ))?;
        sum.ok_or_else(|| Garbage.into())
    }

    fn bytes(&mut self, tables: &[String]) -> Result<Option<u64>, Trouble> {
        let sum = tables.join("') + pg_total_relation_size('");
        let found = self.value(&format!("SELECT pg_total_relation_size('{sum}')"))?;
        Ok(found.and_then(|bytes| bytes.parse().ok()))
    }

    fn settings(&mut self) -> Result<Vec<ServerFact>, Trouble> {
        facts::settings(self)
    }

    fn facts(&mut self, tables: &[String]) -> Result<Vec<String>, Trouble> {
        facts::ask(self, tables)
    }
}
