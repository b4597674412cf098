//! The SQLite that is linked into this program: a library and no server, so that a statement is a call.
//!
//! Statements are prepared once for each connection. They borrow it, and neither may go to another thread: both are
//! kept by the thread that connected. The library's cache of statements was rejected, because it allocates for every
//! use of one. Commits are as durable as `synchronous` says, in a write-ahead log; one connection writes at a time, and
//! the others are refused at once, without the waits of the library's own handler.

use super::session::{Session, SessionError};
use super::statement::{Answer, Kind, Statement, Value};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, OpenFlags, ffi};
use std::cell::RefCell;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use sys::loops::failure::Failure;

/// A database file.
#[derive(Clone, Debug)]
pub(super) struct Sqlite {
    /// A database with a write-ahead log.
    pub(super) path: PathBuf,
    pub(super) tables: u32,
    /// How durable a commit is: `FULL` or `NORMAL`.
    pub(super) synchronous: &'static str,
}

/// What a thread has open.
struct Open {
    // Before the connection that they borrow.
    begin: rusqlite::Statement<'static>,
    begin_immediate: rusqlite::Statement<'static>,
    commit: rusqlite::Statement<'static>,
    rollback: rusqlite::Statement<'static>,
    /// Of the first table in the order of [`Kind::ALL`], then of the next one.
    statements: Vec<rusqlite::Statement<'static>>,
    /// It outlives the thread, because statements that borrow it live where nothing can be borrowed; a worker process
    /// ends with its round.
    connection: &'static Connection,
}

thread_local! {
    static OPEN: RefCell<Option<Open>> = const { RefCell::new(None) };
}

/// Opens the database for reading and writing; it has to be there.
pub(super) fn open(path: &Path) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(Duration::ZERO)?;
    Ok(connection)
}

impl Open {
    fn new(of: &Sqlite) -> Result<Self, Error> {
        let connection = open(&of.path)?;
        connection.pragma_update(None, "synchronous", of.synchronous)?;
        // The first of all connections looks through the log, and whoever comes meanwhile is refused.
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        let connection: &'static Connection = Box::leak(Box::new(connection));
        let prepare = |sql: &str| connection.prepare(sql);
        let of_table = |table: u32| {
            let kinds = Kind::of_sysbench().iter();
            kinds.map(move |kind| prepare(&kind.sql(table)))
        };
        let statements = (0..of.tables).flat_map(of_table);
        Ok(Self {
            begin: prepare("BEGIN")?,
            begin_immediate: prepare("BEGIN IMMEDIATE")?,
            commit: prepare("COMMIT")?,
            rollback: prepare("ROLLBACK")?,
            statements: statements.collect::<Result<_, _>>()?,
            connection,
        })
    }

    fn execute(&mut self, table: u32, statement: &Statement<'_>) -> Result<Answer, Error> {
        let kind = statement.kind();
        let place = table as usize * Kind::of_sysbench().len() + kind as usize;
        let prepared = &mut self.statements[place];
        for (place, value) in (1_usize..).zip(&*statement.values()) {
            match value {
                Value::Number(number) => prepared.raw_bind_parameter(place, number)?,
                Value::Text(text) => prepared.raw_bind_parameter(place, text)?,
            }
        }
        if prepared.column_count() > 0 {
            return fetched(prepared);
        }
        let rows = prepared.raw_execute()? as u64;
        Ok(Answer {
            rows,
            ..Answer::default()
        })
    }
}

/// Steps through all rows.
fn fetched(prepared: &mut rusqlite::Statement<'_>) -> Result<Answer, Error> {
    let mut answer = Answer::default();
    let mut rows = prepared.raw_query();
    while let Some(row) = rows.next()? {
        answer.rows += 1;
        match row.get_ref(0)? {
            ValueRef::Text(text) => answer.bytes += text.len() as u64,
            ValueRef::Integer(number) => answer.sum += number,
            _ => {}
        }
    }
    Ok(answer)
}

/// What an error means for the transaction.
fn told(operation: &'static str) -> impl Fn(Error) -> SessionError {
    move |error| {
        let code = error.sqlite_error().map_or(0, |error| error.extended_code);
        match (code, code & 0xff) {
            (ffi::SQLITE_BUSY_SNAPSHOT, _) => SessionError::Retry(2),
            (_, ffi::SQLITE_BUSY) => SessionError::Retry(0),
            (_, ffi::SQLITE_LOCKED) => SessionError::Retry(1),
            _ => SessionError::Fatal(Failure {
                operation,
                done: 0,
                error: io::Error::other(error.to_string()),
            }),
        }
    }
}

/// Does it with what this thread has open.
fn with<T>(
    operation: &'static str,
    work: impl FnOnce(&mut Open) -> Result<T, Error>,
) -> Result<T, SessionError> {
    OPEN.with_borrow_mut(|open| match open {
        Some(open) => work(open).map_err(told(operation)),
        None => Err(SessionError::Fatal(Failure {
            operation,
            done: 0,
            error: io::ErrorKind::NotConnected.into(),
        })),
    })
}

impl Session for Sqlite {
    const RETRIES: &'static [&'static str] =
        &["SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_BUSY_SNAPSHOT"];
    const ROWS_MAY_BE_GONE: bool = false;

    fn connect(&mut self) -> Result<(), SessionError> {
        let open = Open::new(self).map_err(told("open"))?;
        OPEN.set(Some(open));
        Ok(())
    }

    fn begin(&mut self, writes: bool) -> Result<(), SessionError> {
        with("begin a transaction in", |open| {
            // One that reads first and writes then could be refused in the middle, when waiting helps nobody.
            let begin = if writes {
                &mut open.begin_immediate
            } else {
                &mut open.begin
            };
            begin.raw_execute().map(|_| ())
        })
    }

    #[inline]
    fn execute(&mut self, table: u32, statement: &Statement<'_>) -> Result<Answer, SessionError> {
        with(statement.kind().operation(), |open| {
            open.execute(table, statement)
        })
    }

    fn commit(&mut self) -> Result<(), SessionError> {
        with("commit to", |open| open.commit.raw_execute().map(|_| ()))
    }

    fn rollback(&mut self) -> Result<(), SessionError> {
        with("roll back in", |open| {
            if open.connection.is_autocommit() {
                return Ok(());
            }
            open.rollback.raw_execute().map(|_| ())
        })
    }

    fn close(&mut self) {
        OPEN.set(None);
    }

    fn object(&self) -> String {
        self.path.display().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::tests::{database, with};

    fn session(path: &Path, synchronous: &'static str) -> Sqlite {
        let mut session = Sqlite {
            path: path.to_owned(),
            tables: 1,
            synchronous,
        };
        session.connect().unwrap();
        session
    }

    /// Asks this thread's connection.
    fn asked(pragma: &str) -> i64 {
        OPEN.with_borrow(|open| {
            let connection = open.as_ref().unwrap().connection;
            let value = connection.pragma_query_value(None, pragma, |row| row.get(0));
            value.unwrap()
        })
    }

    fn set(pragma: &str, value: i64) {
        OPEN.with_borrow(|open| {
            let connection = open.as_ref().unwrap().connection;
            let set = connection.pragma_update_and_check(None, pragma, value, |_| Ok(()));
            assert!(matches!(set, Ok(()) | Err(Error::QueryReturnedNoRows)));
        });
    }

    #[test]
    fn a_connection_is_as_durable_as_asked() {
        let (_root, _, path) = database(&with(&[]));
        for (word, number) in [("FULL", 2), ("NORMAL", 1)] {
            let mut session = session(&path, word);
            assert_eq!(asked("synchronous"), number, "{word}");
            assert_eq!(asked("wal_autocheckpoint"), 1000);
            assert_eq!(asked("busy_timeout"), 0);
            session.close();
        }
    }

    #[test]
    fn statements_do_what_they_are_named_for() {
        let (_root, _, path) = database(&with(&[]));
        let mut session = session(&path, "FULL");
        let (c, pad) = ("1".repeat(119), "2".repeat(59));
        let (c, pad) = (c.as_str(), pad.as_str());
        let mut check = |statement: Statement<'_>, rows: u64, bytes: u64| {
            let answer = session.execute(0, &statement).unwrap();
            assert_eq!((answer.rows, answer.bytes), (rows, bytes), "{statement:?}");
            answer.sum
        };
        let range = (991, 1090);
        let (first, last) = range;
        check(Statement::Point { id: 7 }, 1, 119);
        check(Statement::Point { id: 1001 }, 0, 0);
        check(Statement::Range { first, last }, 10, 1190);
        check(Statement::Ordered { first, last }, 10, 1190);
        check(Statement::Distinct { first, last }, 10, 1190);
        let before = check(Statement::Sum { first, last }, 1, 0);
        check(Statement::UpdateIndex { id: 1000 }, 1, 0);
        assert_eq!(check(Statement::Sum { first, last }, 1, 0), before + 1);
        check(Statement::UpdateNonIndex { c, id: 999 }, 1, 0);
        check(Statement::UpdateNonIndex { c, id: 1000 }, 1, 0);
        // Two rows have the same text now.
        check(Statement::Distinct { first, last }, 9, 1071);
        check(Statement::Delete { id: 1000 }, 1, 0);
        check(Statement::Delete { id: 1000 }, 0, 0);
        check(
            Statement::Insert {
                id: 1000,
                k: 5,
                c,
                pad,
            },
            1,
            0,
        );
        check(Statement::Append { k: 6, c, pad }, 1, 0);
        check(Statement::Point { id: 1001 }, 1, 119);
    }

    #[test]
    fn refusals_are_told_by_code() {
        let (_root, _, path) = database(&with(&[]));
        let mut session = session(&path, "NORMAL");
        let other = open(&path).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        assert!(matches!(session.begin(true), Err(SessionError::Retry(0))));
        // Readers wait for nobody.
        session.begin(false).unwrap();
        session.execute(0, &Statement::Point { id: 1 }).unwrap();
        other
            .execute_batch("UPDATE sbtest1 SET k=k+1 WHERE id=1; COMMIT")
            .unwrap();
        // What was read is no longer the last that was committed.
        let write = session.execute(0, &Statement::UpdateIndex { id: 1 });
        assert!(matches!(write, Err(SessionError::Retry(2))), "{write:?}");
        session.rollback().unwrap();
        session.rollback().unwrap();
        session.begin(true).unwrap();
        session
            .execute(0, &Statement::UpdateIndex { id: 1 })
            .unwrap();
        session.commit().unwrap();
    }

    #[test]
    fn what_cannot_be_written_is_told_with_what_was_done() {
        let (_root, _, path) = database(&with(&[]));
        let mut session = session(&path, "NORMAL");
        let check = |result: Result<(), SessionError>, operation: &str, words: &str| {
            let Err(SessionError::Fatal(failure)) = result else {
                panic!("{result:?}");
            };
            assert_eq!(failure.operation, operation);
            assert!(failure.error.to_string().contains(words), "{failure}");
        };
        set("max_page_count", asked("page_count"));
        let (c, pad) = ("1".repeat(119), "2".repeat(59));
        let append = Statement::Append {
            k: 1,
            c: &c,
            pad: &pad,
        };
        let full = (0..1000).find_map(|_| session.execute(0, &append).err());
        let full = full.map_or(Ok(()), Err);
        check(full, "insert a row into", "database or disk is full");
        set("query_only", 1);
        let update = session.execute(0, &Statement::UpdateIndex { id: 1 });
        check(update.map(|_| ()), "update a row of", "readonly database");
        assert_eq!(session.object(), path.display().to_string());
        session.close();
        let closed = session.execute(0, &Statement::Point { id: 1 });
        check(closed.map(|_| ()), "select from", "not connected");
        session.path = path.with_file_name("none.db");
        check(session.connect(), "open", "unable to open");
    }
}
