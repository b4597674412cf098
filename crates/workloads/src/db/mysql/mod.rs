//! A MySQL or MariaDB server, over its own protocol: a connection carries out prepared statements, one after the other.
//!
//! Each statement is prepared once for each connection. Then it is executed in one write, and read until the server is
//! done with it: a round trip for a statement, as sysbench makes it. Parameters and results travel in binary; their
//! types travel with the first execution alone. Where the server offers it, rows have no packet between them and their
//! description (`CLIENT_DEPRECATE_EOF`), and no description where it has not changed (MariaDB's caching of metadata).

mod decode;
mod error;
mod facts;
#[cfg(any(test, fuzzing))]
pub(super) mod fuzzing;
mod link;
mod login;
mod marks;
#[cfg(test)]
mod tests;
mod wire;

pub(super) use link::connect;

use self::wire::{AUTOCOMMIT, Done, Wire};
use super::address::Address;
use super::mix::Mix;
use super::server::trouble::Trouble;
use super::server::{Driver, Word};
use super::statement::{Answer, Kind, Statement, Value};
use bytes::{BufMut, BytesMut};
use engine::secret::Secret;
use std::time::Duration;

/// What was sent makes no sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Garbage;

/// A statement that takes longer never ends: latencies end at 60 s, and `innodb_lock_wait_timeout` is 50 s.
const STATEMENT_MAX: Duration = Duration::from_secs(55);

/// A code after which a transaction is tried again, and its place in [`Driver::RETRIES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Refused {
    code: u16,
    place: usize,
}

impl Refused {
    /// `None` for a code after which nothing is tried again.
    fn of(code: u16) -> Option<Self> {
        let number = |own: &str| own.split(' ').next()?.parse::<u16>().ok();
        let mut all = Mysql::RETRIES.iter();
        let place = all.position(|own| number(own) == Some(code))?;
        Some(Self { code, place })
    }
}

/// Commands. Source: MariaDB's documentation, "Client/Server Protocol".
const QUIT: u8 = 0x01;
const QUERY: u8 = 0x03;
const PREPARE: u8 = 0x16;
const EXECUTE: u8 = 0x17;

/// Types of parameters, with the byte of flags behind them: a number of four bytes, and a text.
const LONG: u16 = 0x0003;
const TEXT: u16 = 0x00fd;

/// A statement that the server has prepared.
#[derive(Clone, Copy, Debug)]
struct Prepared {
    id: u32,
    /// Whether the server knows the types of its parameters.
    is_bound: bool,
}

/// A connection whose statements are prepared.
#[derive(Debug)]
pub(super) struct Mysql {
    wire: Wire,
    address: String,
    /// Whether a transaction was begun and not ended: an error does not say.
    is_open: bool,
    /// Of the first table in the order of [`Kind::ALL`], then of the next one; `None` where the mix has no use for one.
    statements: Vec<Option<Prepared>>,
}

/// A connection whose statements are transactions by themselves where none was begun, whatever the server's setting.
fn entered(address: &Address, secret: Option<&Secret>) -> Result<Wire, Trouble> {
    let (mut wire, status) = login::log_in(address, secret)?;
    if status & AUTOCOMMIT == 0 {
        simply(&mut wire, "SET autocommit=1")?;
    }
    Ok(wire)
}

fn prepare(wire: &mut Wire, sql: &str) -> Result<Prepared, Trouble> {
    wire.begin();
    wire.line.out.put_u8(PREPARE);
    wire.line.out.put_slice(sql.as_bytes());
    wire.send()?;
    let packet = wire.next_body()?;
    let mut parts = decode::Parts(packet);
    match parts.u8()? {
        decode::OK => {}
        decode::ERROR => return Err(error::told(packet)),
        _ => return Err(Garbage.into()),
    }
    let id = parts.u32()?;
    let (columns, parameters) = (parts.u16()?, parts.u16()?);
    wire.pass(parameters.into())?;
    wire.pass(columns.into())?;
    Ok(Prepared {
        id,
        is_bound: false,
    })
}

/// A statement without parameters whose rows nobody wants.
fn simply(wire: &mut Wire, sql: &str) -> Result<Done, Trouble> {
    wire.begin();
    wire.line.out.put_u8(QUERY);
    wire.line.out.put_slice(sql.as_bytes());
    wire.send()?;
    wire.answer(|_| Ok(()))
}

/// Executes a statement with these values, of which there are eight at most.
#[inline]
fn execute(out: &mut BytesMut, statement: &mut Prepared, values: &[Value<'_>]) {
    out.put_u8(EXECUTE);
    out.put_u32_le(statement.id);
    // No cursor, and once.
    out.put_u8(0);
    out.put_u32_le(1);
    // None of them is missing.
    out.put_u8(0);
    out.put_u8(u8::from(!statement.is_bound));
    if !statement.is_bound {
        for value in values {
            out.put_u16_le(match value {
                Value::Number(_) => LONG,
                Value::Text(_) => TEXT,
            });
        }
        statement.is_bound = true;
    }
    for value in values {
        match value {
            Value::Number(number) => out.put_i32_le(*number),
            Value::Text(text) => {
                // Of fewer than 251 bytes, whose length is one byte.
                out.put_u8(u8::try_from(text.len()).unwrap_or(0));
                out.put_slice(text.as_bytes());
            }
        }
    }
}

/// Takes a row in: the bytes of its text without the blanks of CHAR, which some modes of SQL keep, or its number.
#[inline]
fn fetched(row: &[u8], kind: Kind, answer: &mut Answer) -> Result<(), Garbage> {
    let value = decode::only_value(row)?.unwrap_or_default();
    answer.rows += 1;
    if kind == Kind::Sum {
        let sum = answer.sum.checked_add(decode::whole(value)?);
        answer.sum = sum.ok_or(Garbage)?;
    } else {
        let blanks = value.iter().rev().take_while(|byte| **byte == b' ').count();
        answer.bytes += (value.len() - blanks) as u64;
    }
    Ok(())
}

impl Driver for Mysql {
    /// A deadlock, a row that changed since the transaction saw it (MariaDB's snapshot isolation), a lock that was
    /// waited for too long, and a row of this number that is there.
    const RETRIES: &'static [&'static str] = &[
        "1213 (deadlock)",
        "1020 (record changed)",
        "1205 (lock wait timeout)",
        "1062 (duplicate entry)",
    ];

    /// Who waited for a row finds what another transaction has put in its place.
    const ROWS_MAY_BE_GONE: bool = false;

    fn connected(
        address: &Address,
        secret: Option<&Secret>,
        (mix, tables): (&Mix, u32),
    ) -> Result<Self, Trouble> {
        let mut wire = entered(address, secret)?;
        wire.line.wait_at_most(STATEMENT_MAX).map_err(Trouble::Io)?;
        let mut statements = Vec::new();
        for table in 0..tables {
            for kind in Kind::ALL {
                let needs = mix.needs(kind);
                let prepared = needs.then(|| prepare(&mut wire, &kind.sql(table)));
                statements.push(prepared.transpose()?);
            }
        }
        Ok(Self {
            wire,
            address: address.to_string(),
            is_open: false,
            statements,
        })
    }

    /// After 1205 the transaction is still open, and after 1213 it is not: ROLLBACK ends both.
    fn say(&mut self, word: Word) -> Result<Option<usize>, Trouble> {
        let refused = simply(&mut self.wire, word.sql())?.place();
        self.is_open = match word {
            Word::Begin => true,
            Word::Commit => refused.is_some(),
            Word::Rollback => false,
        };
        Ok(refused)
    }

    #[inline]
    fn carry_out(
        &mut self,
        table: u32,
        statement: &Statement<'_>,
    ) -> Result<(Answer, Option<usize>), Trouble> {
        let kind = statement.kind();
        let place = table as usize * Kind::ALL.len() + kind as usize;
        let prepared = self.statements[place].as_mut();
        let prepared = prepared.expect("the mix needs what it makes");
        self.wire.begin();
        execute(&mut self.wire.line.out, prepared, &statement.values());
        self.wire.send()?;
        let mut answer = Answer::default();
        let done = self.wire.answer(|row| fetched(row, kind, &mut answer))?;
        answer.rows = answer.rows.saturating_add(done.rows);
        Ok((answer, done.place()))
    }

    fn is_open(&self) -> bool {
        self.is_open
    }

    fn part(&mut self) -> Result<(), Trouble> {
        self.wire.begin();
        self.wire.line.out.put_u8(QUIT);
        self.wire.send()
    }

    fn address(&self) -> &str {
        &self.address
    }
}
