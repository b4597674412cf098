//! A connection to a server for what is not measured, in the SQL of MySQL and MariaDB.

use super::decode::Parts;
use super::marks::MARKS;
use super::wire::Wire;
use super::{Garbage, QUERY, entered, error, facts};
use crate::db::address::Address;
use crate::db::server::line::Line;
use crate::db::server::trouble::Trouble;
use crate::db::server::{Few, Holder, Link, Lock, Relation, Rows, value};
use crate::db::statement::name;
use crate::db::tables::Maker;
use bytes::BufMut;
use engine::secret::Secret;
use model::named::ServerFact;
use model::units::Bytes;
use std::fmt::Write as _;
use sys::counters::Process;
use sys::tree::Tree;

/// Rows are put in by statements of about this size, a transaction each: less than `max_allowed_packet`, whose default
/// is 1 MiB at least.
const PIECE_BYTES: usize = 256 << 10;

/// A connection is idle while a round or a run goes on.
const NEVER_IDLE: &str = "SET SESSION wait_timeout = 604800";

/// The name of a lock, in SQL. Locks are of the whole server, and their names have 64 letters at most.
const fn name_of(lock: Lock) -> &'static str {
    match lock {
        Lock::Round => "CONCAT('kurabe.', MD5(DATABASE()))",
        Lock::Run => "CONCAT('kurabe.run.', MD5(DATABASE()))",
    }
}

/// A connection for what is not measured.
pub(super) struct MysqlLink {
    wire: Wire,
    party: Option<u32>,
}

/// Connects.
pub(in crate::db) fn connect(
    address: &Address,
    secret: Option<&Secret>,
) -> Result<Box<dyn Link>, Trouble> {
    let wire = entered(address, secret)?;
    let mut link = MysqlLink { wire, party: None };
    link.party = link.find_party()?;
    Ok(Box::new(link))
}

/// The process of a server that began so many seconds ago, where exactly one is called so and did: `now` and the clock
/// of processes count from the machine's start.
fn began_then(all: &[Process], (now, per_second): (u64, u64), seconds: u64) -> Option<u32> {
    let is_one = |one: &&Process| {
        let age = now.saturating_sub(one.start / per_second.max(1));
        matches!(one.name.as_str(), "mariadbd" | "mysqld") && age.abs_diff(seconds) <= AGE_SECONDS
    };
    let mut found = all.iter().filter(is_one);
    let first = found.next()?;
    found.next().is_none().then_some(first.pid)
}

/// A server counts its time from a moment after its process began, in whole seconds.
const AGE_SECONDS: u64 = 3;

/// Seconds since this machine started.
fn seconds_up(tree: &Tree) -> Option<u64> {
    let text = tree.read("/proc/uptime").ok()?;
    text.split(['.', ' ']).next()?.parse().ok()
}

impl MysqlLink {
    /// The server's process, where it is on this machine. Of a Unix socket the kernel says who listens; over loopback
    /// it is the one process of such a name that is as old as the server says that it is.
    fn find_party(&mut self) -> Result<Option<u32>, Trouble> {
        if let Some(socket) = self.wire.line.unix() {
            return Ok(sys::peer::listener(socket).ok().flatten());
        }
        if !self.wire.line.is_loopback() {
            return Ok(None);
        }
        let rows = self.ask("SHOW GLOBAL STATUS LIKE 'Uptime'")?;
        let seconds = rows.into_iter().next().and_then(|mut row| row.pop()?);
        let tree = Tree::real();
        let found = || {
            let clock = (seconds_up(&tree)?, sys::probe::ticks_per_second().ok()?);
            let all = sys::counters::processes(&tree).ok()?;
            began_then(&all.seen, clock, seconds?.parse().ok()?)
        };
        Ok(found())
    }

    /// The first value of the answer.
    fn value(&mut self, sql: &str) -> Result<Option<String>, Trouble> {
        self.ask(sql).map(value)
    }
}

impl Link for MysqlLink {
    fn ask(&mut self, sql: &str) -> Result<Rows, Trouble> {
        self.wire.begin();
        self.wire.line.out.put_u8(QUERY);
        self.wire.line.out.put_slice(sql.as_bytes());
        self.wire.send()?;
        let mut few = Few::default();
        let done = self.wire.answer(|body| {
            let mut parts = Parts(body);
            let mut row = Vec::new();
            while !parts.0.is_empty() {
                let value = parts.text()?;
                row.push(value.map(|value| String::from_utf8_lossy(value).into_owned()));
            }
            few.keep(row).then_some(()).ok_or(Garbage)
        })?;
        match done.refused {
            None => Ok(few.rows),
            Some(why) => Err(error::of(why.code, "the server refused it".to_owned())),
        }
    }

    fn line(&mut self) -> &mut Line {
        &mut self.wire.line
    }

    fn party(&self) -> Option<u32> {
        self.party
    }

    fn look(&mut self) -> Result<Option<String>, Trouble> {
        let read_only = self.value("SELECT @@global.read_only")?;
        if !matches!(read_only.as_deref(), Some("0" | "OFF")) {
            let why =
                "it is a replica, or `read_only` is on\nhint: name a server that may be written to";
            return Ok(Some(why.to_owned()));
        }
        let version = self.value("SELECT VERSION()")?.unwrap_or_default();
        if !version.contains("MariaDB") {
            // MySQL tells sizes of a day ago otherwise.
            self.ask("SET SESSION information_schema_stats_expiry = 0")?;
        }
        Ok(None)
    }

    fn try_lock(&mut self, lock: Lock) -> Result<bool, Trouble> {
        self.ask(NEVER_IDLE)?;
        let sql = format!("SELECT GET_LOCK({}, 0)", name_of(lock));
        Ok(self.value(&sql)?.as_deref() == Some("1"))
    }

    fn holder(&mut self, lock: Lock) -> Result<Option<Holder>, Trouble> {
        // What a user may not see of others is missing; who keeps a lock for a run has been idle since.
        let rows = self.ask(&format!(
            "SELECT l.id, p.user, p.host, p.time FROM (SELECT IS_USED_LOCK({}) AS id) l \
             LEFT JOIN information_schema.processlist p ON p.id = l.id",
            name_of(lock)
        ))?;
        Ok(Holder::read(rows))
    }

    /// An administrator has one more than all, and who is one is not asked.
    fn connections_max(&mut self) -> Result<Option<String>, Trouble> {
        self.value(
            "SELECT IF(@@max_user_connections > 0, LEAST(@@max_user_connections, @@global.max_connections + 1), \
             @@global.max_connections + 1)",
        )
    }

    fn identity(&mut self) -> Result<Option<String>, Trouble> {
        self.value("SELECT CONCAT_WS(' ', @@hostname, @@port, @@datadir)")
    }

    fn number(&mut self) -> Result<Option<String>, Trouble> {
        self.value("SELECT CONNECTION_ID()")
    }

    fn ends(&self, number: &str) -> String {
        format!("KILL {number}")
    }

    fn relations(&mut self) -> Result<Vec<Relation>, Trouble> {
        self.marked_relations()
    }

    fn wants(&self, _: &[String]) -> Vec<String> {
        vec![MARKS.to_owned()]
    }

    fn make(&mut self, name: &str, sql: &str, words: &str) -> Result<(), Trouble> {
        self.make_marked(name, sql, words)
    }

    fn create(&mut self, table: u32, words: &str) -> Result<(), Trouble> {
        let name = name(table);
        let sql = format!(
            "CREATE TABLE {name} (id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) \
             DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id)) ENGINE=InnoDB"
        );
        self.make(&name, &sql, words)
    }

    fn fill(
        &mut self,
        table: u32,
        maker: &mut Maker,
        tell: &mut dyn FnMut(Bytes),
    ) -> Result<(), Trouble> {
        let begin = format!("INSERT INTO {} (id, k, c, pad) VALUES ", name(table));
        let mut piece = String::with_capacity(PIECE_BYTES + 512);
        loop {
            let row = maker.next();
            if let Some((id, k, c, pad)) = row {
                piece.push_str(if piece.is_empty() { &begin } else { "," });
                // Writing to a String cannot fail.
                let _ = write!(piece, "({id},{k},'{c}','{pad}')");
            }
            let is_over = row.is_none();
            if piece.len() >= PIECE_BYTES || (is_over && !piece.is_empty()) {
                tell(Bytes(piece.len() as u64));
                self.ask(&piece)?;
                piece.clear();
            }
            if is_over {
                return Ok(());
            }
        }
    }

    fn complete(&mut self, table: u32, _: u32) -> Result<(), Trouble> {
        let (name, number) = (name(table), table + 1);
        self.unbind(&name)?;
        self.ask(&format!("CREATE INDEX k_{number} ON {name}(k)"))?;
        self.bind(&name)?;
        self.ask(&format!("ANALYZE NO_WRITE_TO_BINLOG TABLE {name}"))
            .map(drop)
    }

    fn note(&mut self, table: &str, words: &str) -> Result<(), Trouble> {
        self.note_words(table, words)
    }

    fn remove(&mut self, table: &str) -> Result<(), Trouble> {
        self.ask(&format!("DROP TABLE {table}"))?;
        self.forget(table)
    }

    fn beside(&mut self) -> Result<Option<&'static str>, Trouble> {
        Ok(self.has_marks()?.then_some(MARKS))
    }

    fn sweep(&mut self) -> Result<(), Trouble> {
        self.end_marks()
    }

    fn checksum(&mut self, table: &str) -> Result<String, Trouble> {
        let sum = self.value(&format!(
            "SELECT COALESCE(SUM(CRC32(CONCAT_WS(':', id, k, c, pad))), 0) FROM {table}"
        ))?;
        sum.ok_or_else(|| Garbage.into())
    }

    fn bytes(&mut self, tables: &[String]) -> Result<Option<u64>, Trouble> {
        let found = self.value(&format!(
            "SELECT SUM(data_length + index_length) FROM information_schema.tables \
             WHERE table_schema = DATABASE() AND table_name IN ({})",
            names(tables)
        ))?;
        Ok(found.and_then(|bytes| bytes.parse().ok()))
    }

    fn settings(&mut self) -> Result<Vec<ServerFact>, Trouble> {
        facts::settings(self)
    }

    fn facts(&mut self, tables: &[String]) -> Result<Vec<String>, Trouble> {
        facts::ask(self, tables)
    }
}

/// The names of tables in quotes.
pub(super) fn names(tables: &[String]) -> String {
    format!("'{}'", tables.join("', '"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::os::unix::net::UnixStream;

    #[test]
    fn rows_without_end_are_given_up_before_they_take_much_memory() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let wire = Wire::over(Line::over(ours));
        let mut link = MysqlLink { wire, party: None };
        std::thread::scope(|scope| {
            let server = scope.spawn(move || {
                let mut number = 0_u8;
                let mut packet = |body: &[u8]| {
                    number = number.wrapping_add(1);
                    let length = u8::try_from(body.len()).unwrap();
                    [&[length, 0, 0, number], body].concat()
                };
                // A column, its description, and then rows of which nothing is told but that it is missing.
                let begin = [&b"\x01"[..], b"column", b"\xfe\0\0\x02\0"];
                let mut sent = begin.map(&mut packet).concat();
                let mut bytes = 0;
                while theirs.write_all(&sent).is_ok() {
                    bytes += sent.len();
                    sent = (0..4096).flat_map(|_| packet(b"\xfb")).collect();
                }
                bytes
            });
            assert!(matches!(link.ask("SELECT 1"), Err(Trouble::Garbage(_))));
            drop(link);
            let bytes = server.join().unwrap();
            assert!(bytes < 16 << 20, "{bytes}");
        });
    }

    #[test]
    fn a_server_is_told_by_its_age_where_nobody_else_is_as_old() {
        let process = |pid, name: &str, start| Process {
            pid,
            parent: 1,
            group: pid,
            name: name.to_owned(),
            kernel: false,
            ticks: 0,
            children_ticks: 0,
            start,
        };
        let mut all = vec![
            process(7, "mariadbd", 50_000),
            process(8, "mysqld", 90_000),
            process(9, "sshd", 50_000),
        ];
        // The machine is 1000 s old, and has 100 ticks a second.
        let clock = (1000, 100);
        assert_eq!(began_then(&all, clock, 498), Some(7));
        assert_eq!(began_then(&all, clock, 100), Some(8));
        assert_eq!(began_then(&all, clock, 300), None);
        all.push(process(10, "mariadbd", 50_100));
        assert_eq!(began_then(&all, clock, 498), None);
    }
}
