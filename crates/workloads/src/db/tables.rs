//! The tables of a test: made once for all rounds of a run, and copied for each, so that all begin with the same data.
//!
//! The database that was made is never written to again. Its note is written last: whoever is killed before leaves a
//! file that nobody takes for whole. A copy is read and written and no clone of the file, whose first writes would cost
//! what a file system does to tell the two apart.

use super::rows::{Choice, Rows};
use super::statement::{BANK, name};
use super::text::{C_BYTES, PAD_BYTES, Text};
use crate::storage::space;
use engine::workload::{Place, Told, WorkError};
use model::digest::Digest;
use model::params::Params;
use model::rng::Rng;
use model::units::Bytes;
use rusqlite::{Connection, Error, OpenFlags, params};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// What a row takes: 119 and 59 bytes of text, two numbers, and the entry of the index; pages are not full.
const ROW_BYTES: u64 = 240;
/// The log of a round: it is copied back when it has 1000 pages of 4 KiB, or up to twice as many where somebody reads.
pub(super) const LOG_BYTES: u64 = 8 << 20;

/// Counts and adds up what is in a table, whose name follows.
pub(super) const SURVEY: &str =
    "SELECT count(*), coalesce(sum(k), 0), coalesce(min(id), 0), coalesce(max(id), 0) FROM ";

/// Rows between two words about how much is made.
const TOLD_ROWS: u32 = 10_000;

/// Accounts and tellers of each of pgbench's branches.
pub(super) const ACCOUNTS: u64 = 100_000;
pub(super) const TELLERS: u64 = 10;
/// What an account and its place in the index take, with the rest of its branch.
const ACCOUNT_BYTES: u64 = 160;

/// Which tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tables {
    /// How many.
    pub(super) number: u32,
    /// Rows of each; the scale of pgbench's: how many branches.
    pub(super) size: u32,
    /// How the numbers in `k` are chosen, which are from 1 to the size as well.
    pub(super) choice: Choice,
    /// The `fillfactor` of pgbench's tables, which are a set of four and count as one; `None` for sysbench's.
    pub(super) bank: Option<u64>,
}

/// What is in the tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Held {
    /// Of all tables together.
    pub(super) rows: u64,
    pub(super) sum_k: i64,
    /// The smallest and the largest number of a row; of pgbench's four sums, which are to be one.
    pub(super) first: i64,
    pub(super) last: i64,
}

impl Held {
    /// What is in further tables beside what was seen before.
    pub(super) fn both(before: Option<Self>, more: Self) -> Self {
        let Some(before) = before else { return more };
        Self {
            rows: before.rows + more.rows,
            sum_k: before.sum_k + more.sum_k,
            first: before.first.min(more.first),
            last: before.last.max(more.last),
        }
    }
}

impl Tables {
    /// Those of the parameters.
    pub(super) fn of(params: &Params) -> Self {
        let count = |name: &str| u32::try_from(params.count(name)).unwrap_or(u32::MAX);
        Self {
            number: count("tables"),
            size: count("table_size"),
            choice: Choice::of(params.text("rows")),
            bank: None,
        }
    }

    /// The names of all of them.
    pub(super) fn names(&self) -> Vec<String> {
        match self.bank {
            None => (0..self.number).map(name).collect(),
            Some(_) => BANK.map(str::to_owned).into(),
        }
    }

    /// Rows of all of them when they were made.
    pub(super) fn rows(&self) -> u64 {
        let size = u64::from(self.size);
        match self.bank {
            None => u64::from(self.number) * size,
            Some(_) => size * (ACCOUNTS + TELLERS + 1),
        }
    }

    /// The key of the ground, and the name of its directory: cases of the same tables share them.
    pub(super) fn key(&self) -> String {
        match self.bank {
            None => format!("oltp-{}x{}-{}", self.number, self.size, self.choice.word()),
            Some(fillfactor) => format!("tpcb-{}-{fillfactor}", self.size),
        }
    }

    /// What must be said of so many connections: where there are fewer branches they wait for each other's.
    pub(super) fn contention(&self, connections: u32) -> Option<String> {
        let is_tight = self.bank.is_some() && self.size < connections;
        is_tight.then(|| {
            format!(
                "{connections} connections at `scale` {}: each transaction changes a branch, and those of the same \
                 branch wait for each other's commit; fewer branches than connections measure that wait",
                self.size
            )
        })
    }

    /// What the database takes, about.
    pub(super) fn bytes(&self) -> Bytes {
        let row = match self.bank {
            None => ROW_BYTES,
            Some(fillfactor) => ACCOUNT_BYTES * 100 / fillfactor,
        };
        Bytes(self.rows() * row + (64 << 10))
    }

    /// Where it lies.
    pub(super) fn path(&self, place: &Place) -> PathBuf {
        self.directory(place).join(DATABASE)
    }

    fn directory(&self, place: &Place) -> PathBuf {
        place.run_dir.join(self.key())
    }
}

/// The rows of one table, one after the other.
pub(super) struct Maker {
    rows: Rows,
    rng: Rng,
    size: u32,
    made: u32,
    sum_k: i64,
    c: Text<C_BYTES>,
    pad: Text<PAD_BYTES>,
}

impl Maker {
    pub(super) fn new(tables: &Tables, seed: u64) -> Self {
        Self {
            rows: Rows::new(tables.choice, tables.size),
            rng: Rng::stream(seed, 2),
            size: tables.size,
            made: 0,
            sum_k: 0,
            c: Text::new(),
            pad: Text::new(),
        }
    }

    /// `id`, `k`, `c` and `pad` of the next row.
    pub(super) fn next(&mut self) -> Option<(u32, u32, &str, &str)> {
        if self.made == self.size {
            return None;
        }
        self.made += 1;
        let k = self.rows.pick(&mut self.rng);
        self.sum_k += i64::from(k);
        let c = self.c.renew(&mut self.rng);
        Some((self.made, k, c, self.pad.renew(&mut self.rng)))
    }

    /// What was made of this table, and back to the first row for the next one.
    pub(super) fn ends(&mut self) -> Held {
        let held = Held {
            rows: self.made.into(),
            sum_k: self.sum_k,
            first: 1,
            last: self.made.into(),
        };
        (self.made, self.sum_k) = (0, 0);
        held
    }
}

/// The name of every database file.
const DATABASE: &str = "oltp.db";
/// The name of its write-ahead log.
const LOG: &str = "oltp.db-wal";
const NOTE: &str = "complete";

fn failed(operation: &str, path: &Path) -> impl Fn(io::Error) -> WorkError {
    move |error| WorkError::failed(operation, path.display(), error)
}

fn refused(operation: &str, path: &Path) -> impl Fn(Error) -> WorkError {
    move |error| WorkError::failed(operation, path.display(), error)
}

/// Makes the database of the ground.
pub(super) fn make(
    tables: &Tables,
    place: &Place,
    tell: &mut dyn FnMut(Bytes),
) -> Result<Told, WorkError> {
    remove(tables, place)?;
    let dir = tables.directory(place);
    fs::create_dir(&dir).map_err(failed("make directory", &dir))?;
    check_room(tables, &dir)?;
    let path = tables.path(place);
    fill(tables, &path, place.seed, tell).map_err(refused("make tables in", &path))?;
    File::open(&path)
        .and_then(|file| file.sync_all())
        .map_err(failed("sync", &path))?;
    let held = survey(&path, tables.number).map_err(refused("look at", &path))?;
    let sum = checksum(&path, tables.number).map_err(refused("read", &path))?;
    let note = dir.join(NOTE);
    fs::write(&note, noted(&held, sum)).map_err(failed("write", &note))?;
    Ok(told(&path))
}

/// There has to be room for the database, the copy that a round works on, and its log.
fn check_room(tables: &Tables, dir: &Path) -> Result<(), WorkError> {
    let needed = tables.bytes().0.saturating_mul(2).saturating_add(LOG_BYTES);
    space::check_round(dir, needed).map_err(|error| match error {
        WorkError::Unsupported(why) => WorkError::Unsupported(format!(
            "make {} rows: {why}\nhint: a smaller `table_size`, or `--dir` on another file system",
            tables.rows()
        )),
        other => other,
    })
}

fn fill(tables: &Tables, path: &Path, seed: u64, tell: &mut dyn FnMut(Bytes)) -> Result<(), Error> {
    let connection = Connection::open(path)?;
    // Synced in whole afterwards; what is half made is made anew.
    connection.pragma_update(None, "journal_mode", "OFF")?;
    connection.pragma_update(None, "synchronous", "OFF")?;
    let mut maker = Maker::new(tables, seed);
    let mut made = 0;
    for table in 0..tables.number {
        let name = name(table);
        connection.execute_batch(&format!(
            "CREATE TABLE {name} (id INTEGER NOT NULL PRIMARY KEY, k INTEGER DEFAULT 0 NOT NULL, \
             c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL); BEGIN"
        ))?;
        let insert = format!("INSERT INTO {name} (id, k, c, pad) VALUES (?, ?, ?, ?)");
        let mut insert = connection.prepare(&insert)?;
        while let Some((id, k, c, pad)) = maker.next() {
            insert.execute(params![id, k, c, pad])?;
            made += 1;
            if id % TOLD_ROWS == 0 {
                tell(Bytes(made * ROW_BYTES));
            }
        }
        maker.ends();
        connection.execute_batch(&format!(
            "COMMIT; CREATE INDEX k_{} ON {name}(k)",
            table + 1
        ))?;
    }
    connection.close().map_err(|(_, error)| error)
}

fn look(path: &Path) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(path, flags)
}

/// Counts and adds up what is in the tables.
pub(super) fn survey(path: &Path, tables: u32) -> Result<Held, Error> {
    let connection = look(path)?;
    let mut all = None;
    for table in 0..tables {
        let sql = format!("{SURVEY}{}", name(table));
        let of_table = connection.query_row(&sql, [], |row| {
            Ok(Held {
                rows: row.get::<_, u32>(0)?.into(),
                sum_k: row.get(1)?,
                first: row.get(2)?,
                last: row.get(3)?,
            })
        })?;
        all = Some(Held::both(all, of_table));
    }
    Ok(all.unwrap_or_default())
}

/// What SQLite finds wrong with its own structures; `None` where that is nothing.
pub(super) fn damage(path: &Path) -> Result<Option<String>, Error> {
    let found: String = look(path)?.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    Ok((found != "ok").then_some(found))
}

/// A digest of every value of every row.
fn checksum(path: &Path, tables: u32) -> Result<Digest, Error> {
    let connection = look(path)?;
    let mut digest = Digest::EMPTY;
    for table in 0..tables {
        let sql = format!("SELECT id, k, c, pad FROM {} ORDER BY id", name(table));
        let mut statement = connection.prepare(&sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            for number in 0..2 {
                digest = digest.word(row.get::<_, u32>(number)?.into());
            }
            for text in 2..4 {
                digest = digest.bytes(row.get_ref(text)?.as_bytes()?);
            }
        }
    }
    Ok(digest)
}

fn noted(held: &Held, sum: Digest) -> String {
    format!("{} {} {:016x}", held.rows, held.sum_k, sum.0)
}

fn told(path: &Path) -> Told {
    Told {
        holds: true,
        bytes: path.metadata().ok().map(|found| Bytes(found.len())),
    }
}

/// Whether the database is there, in whole: what is in it is what was noted when it was made.
pub(super) fn check(tables: &Tables, place: &Place) -> Told {
    let path = tables.path(place);
    let found =
        survey(&path, tables.number).and_then(|held| Ok((held, checksum(&path, tables.number)?)));
    let note = fs::read_to_string(tables.directory(place).join(NOTE));
    match (found, note) {
        (Ok((held, sum)), Ok(note)) if note == noted(&held, sum) => told(&path),
        _ => Told::default(),
    }
}

/// Takes the database away.
pub(super) fn remove(tables: &Tables, place: &Place) -> Result<(), WorkError> {
    let dir = tables.directory(place);
    match fs::remove_dir_all(&dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(WorkError::failed("remove", dir.display(), error))
        }
        _ => Ok(()),
    }
}

/// A copy for one round, with a write-ahead log, and what is in it.
///
/// The log is as long as it gets before anybody writes to it: SQLite begins it anew each time it has been copied back,
/// so that the log of a database in use no longer grows, and where a file system syncs a growing file more slowly, a
/// round would measure both. On the disk where it was tried there was no difference (docs/method/database.md). What has
/// no header is an empty log to SQLite.
pub(super) fn fresh(tables: &Tables, place: &Place) -> Result<(PathBuf, Held), WorkError> {
    let original = tables.path(place);
    if !tables.directory(place).join(NOTE).is_file() {
        let why = "stand on the tables of the test: they are not there in whole";
        return Err(WorkError::Failed(why.to_owned()));
    }
    check_copy(tables, &place.dir)?;
    let path = place.dir.join(DATABASE);
    copy(&original, &path).map_err(failed("copy the tables to", &path))?;
    let held = survey(&path, tables.number).map_err(refused("look at", &path))?;
    let connection = super::sqlite::open(&path).map_err(refused("open", &path))?;
    let mode: String = connection
        .pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))
        .map_err(refused("begin a write-ahead log for", &path))?;
    if mode == "wal" {
        connection
            .close()
            .map_err(|(_, error)| refused("close", &path)(error))?;
        let log = path.with_file_name(LOG);
        write_zeros(&log).map_err(failed("write", &log))?;
        return Ok((path, held));
    }
    Err(WorkError::Unsupported(format!(
        "begin a write-ahead log for `{}`: its journal stays `{mode}`: the file system lacks the shared memory that \
         one needs",
        path.display()
    )))
}

fn check_copy(tables: &Tables, dir: &Path) -> Result<(), WorkError> {
    space::check_round(dir, tables.bytes().0.saturating_add(LOG_BYTES))
}

fn write_zeros(path: &Path) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    io::copy(&mut io::repeat(0).take(LOG_BYTES), &mut file)?;
    file.sync_all()
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let mut from = File::open(from)?;
    let mut to = File::create_new(to)?;
    let mut piece = vec![0; 1 << 20];
    loop {
        let read = from.read(&mut piece)?;
        if read == 0 {
            return to.sync_all();
        }
        to.write_all(&piece[..read])?;
    }
}
