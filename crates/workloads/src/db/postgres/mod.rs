//! A PostgreSQL server, over its own protocol: a connection carries out prepared statements, one after the other.
//!
//! Each statement is parsed once for each connection. Then it is bound, executed and synced in one write, and read
//! until the server is ready again: a round trip for a statement, as sysbench makes it. Parameters and results travel
//! in binary. sysbench sends its parameters as text and asks for a description of the rows each time; that costs the
//! server a little more, and is left out (docs/method/database.md).

mod decode;
mod error;
mod facts;
#[cfg(any(test, fuzzing))]
pub(super) mod fuzzing;
mod link;
mod login;
mod scram;
#[cfg(test)]
mod tests;
mod wire;

pub(super) use link::connect;

use self::decode::{Code, Columns, Garbage};
use self::wire::Wire;
use super::address::Address;
use super::mix::Mix;
use super::server::trouble::Trouble;
use super::server::{Driver, Word};
use super::statement::{Answer, Kind, Statement, Value};
use bytes::{BufMut, BytesMut};
use engine::secret::Secret;
use postgres_protocol::IsNull;
use postgres_protocol::message::frontend;
use std::time::Duration;

/// A statement that takes longer never ends: latencies end at 60 s, and `deadlock_timeout` is 1 s.
const STATEMENT_MAX: Duration = Duration::from_secs(50);

/// A code after which a transaction is tried again, and its place in [`Driver::RETRIES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Refused {
    code: Code,
    place: usize,
}

impl Refused {
    /// `None` for a code after which nothing is tried again.
    fn of(code: Code) -> Option<Self> {
        let mut all = Postgres::RETRIES.iter();
        let place = all.position(|own| own.as_bytes().starts_with(&code.0))?;
        Some(Self { code, place })
    }
}

/// A connection whose statements are prepared.
#[derive(Debug)]
pub(super) struct Postgres {
    wire: Wire,
    address: String,
    /// The names of statements, of the first table in the order of [`Kind::ALL`], then of the next one; empty where the
    /// mix has no use for one.
    names: Vec<String>,
}

/// `$1`, `$2`... in the place of `?`.
fn numbered(sql: &str) -> String {
    use std::fmt::Write as _;
    let mut parts = sql.split('?');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.zip(1..).fold(first, |mut text, (part, number)| {
        // Writing to a String cannot fail.
        let _ = write!(text, "${number}{part}");
        text
    })
}

/// Bind, Execute and Sync.
fn put(out: &mut BytesMut, name: &str, statement: &Statement<'_>) -> Result<(), Trouble> {
    bind(out, name, &statement.values())?;
    frontend::execute("", 0, out).map_err(Trouble::Io)?;
    frontend::sync(out);
    Ok(())
}

#[inline]
fn bind(out: &mut BytesMut, name: &str, values: &[Value<'_>]) -> Result<(), Trouble> {
    /// Of parameters and of results.
    const BINARY: [i16; 1] = [1];
    let put = |value: &Value<'_>, out: &mut BytesMut| {
        match value {
            Value::Number(number) => out.put_i32(*number),
            Value::Text(text) => out.put_slice(text.as_bytes()),
        }
        Ok(IsNull::No)
    };
    frontend::bind("", name, BINARY, values, put, BINARY, out).map_err(|_| Garbage.into())
}

/// Takes a row in: the bytes of its text without the blanks that CHAR adds, or its number.
#[inline]
fn fetched(row: &[u8], kind: Kind, answer: &mut Answer) -> Result<(), Garbage> {
    let mut columns = Columns::new(row)?;
    let value = columns.next()?.unwrap_or_default();
    if !columns.is_over() {
        return Err(Garbage);
    }
    match kind {
        Kind::Sum => {
            let number = value.try_into().map_err(|_| Garbage)?;
            let sum = answer.sum.checked_add(i64::from_be_bytes(number));
            answer.sum = sum.ok_or(Garbage)?;
        }
        Kind::Balance => {
            let _: [u8; 4] = value.try_into().map_err(|_| Garbage)?;
        }
        _ => {
            let blanks = value.iter().rev().take_while(|byte| **byte == b' ').count();
            answer.bytes += (value.len() - blanks) as u64;
        }
    }
    Ok(())
}

impl Driver for Postgres {
    /// A row of this number is there (two transactions replaced it), a deadlock, and what a stricter isolation than the
    /// default refuses.
    const RETRIES: &'static [&'static str] = &[
        "23505 (unique violation)",
        "40P01 (deadlock)",
        "40001 (serialization failure)",
    ];

    /// Two transactions that replace the same row: the second one waits, and the row that it waited for is gone. What
    /// the first one put in its place came after the second statement began.
    const ROWS_MAY_BE_GONE: bool = true;

    fn connected(
        address: &Address,
        secret: Option<&Secret>,
        (mix, tables): (&Mix, u32),
    ) -> Result<Self, Trouble> {
        let (mut wire, _) = login::log_in(address, secret)?;
        wire.line.wait_at_most(STATEMENT_MAX).map_err(Trouble::Io)?;
        // A row by its number is answered about as soon as the server has taken the statement: measured,
        // docs/method/database.md.
        if !mix.explicit && !mix.writes() {
            wire.line.read_at_once();
        }
        frontend::query(link::ONE_SCHEMA, &mut wire.line.out).map_err(Trouble::Io)?;
        wire.send()?;
        wire.answer(|_| Ok(()))?;
        let mut names = Vec::new();
        for table in 0..tables {
            for kind in Kind::ALL {
                if !mix.needs(kind) {
                    names.push(String::new());
                    continue;
                }
                let name = format!("k{table}_{}", kind as u8);
                let sql = numbered(&kind.sql(table));
                frontend::parse(&name, &sql, [], &mut wire.line.out).map_err(Trouble::Io)?;
                names.push(name);
            }
        }
        frontend::sync(&mut wire.line.out);
        wire.send()?;
        wire.answer(|_| Ok(()))?;
        Ok(Self {
            wire,
            address: address.to_string(),
            names,
        })
    }

    fn say(&mut self, word: Word) -> Result<Option<usize>, Trouble> {
        frontend::query(word.sql(), &mut self.wire.line.out).map_err(Trouble::Io)?;
        self.wire.send()?;
        Ok(self.wire.answer(|_| Ok(()))?.place())
    }

    #[inline]
    fn carry_out(
        &mut self,
        table: u32,
        statement: &Statement<'_>,
    ) -> Result<(Answer, Option<usize>), Trouble> {
        let kind = statement.kind();
        let name = &self.names[table as usize * Kind::ALL.len() + kind as usize];
        put(&mut self.wire.line.out, name, statement)?;
        self.wire.send()?;
        let mut answer = Answer::default();
        let done = self.wire.answer(|row| fetched(row, kind, &mut answer))?;
        answer.rows = done.rows;
        Ok((answer, done.place()))
    }

    fn is_open(&self) -> bool {
        self.wire.status != b'I'
    }

    fn part(&mut self) -> Result<(), Trouble> {
        frontend::terminate(&mut self.wire.line.out);
        self.wire.send()
    }

    fn address(&self) -> &str {
        &self.address
    }
}
