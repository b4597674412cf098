//! What a driver of a database is to a client: one connection that carries out prepared statements.
//!
//! A driver says of each error whether the same transaction may be tried again, and by which code; how often and after
//! which wait is not its business.

use super::statement::{Answer, Statement};
use sys::loops::failure::Failure;

/// Codes of one driver after which a transaction is tried again, at most.
pub(super) const RETRIES_MAX: usize = 4;

/// One connection. It is made in one thread and connects in another one, which then carries out everything.
pub(super) trait Session: Send + 'static {
    /// Names of the codes after which a transaction is tried again, [`RETRIES_MAX`] at most; the usual one first.
    const RETRIES: &'static [&'static str];

    /// Whether a statement that changes a row may find that another transaction has put a new one in its place
    /// meanwhile, and so concern none.
    const ROWS_MAY_BE_GONE: bool;

    /// Connects, and prepares every statement.
    fn connect(&mut self) -> Result<(), SessionError>;

    /// Begins a transaction, which will write or not.
    fn begin(&mut self, writes: bool) -> Result<(), SessionError>;

    /// Carries out one statement on the table of this number, from 0.
    fn execute(&mut self, table: u32, statement: &Statement<'_>) -> Result<Answer, SessionError>;

    /// Ends the transaction: it holds, as far as the database was asked to make it last.
    fn commit(&mut self) -> Result<(), SessionError>;

    /// Takes back whatever of a transaction has been begun.
    fn rollback(&mut self) -> Result<(), SessionError>;

    /// Ends the connection's work, in the thread that connected.
    fn close(&mut self);

    /// What it is connected to, for messages.
    fn object(&self) -> String;
}

/// Why something was not carried out.
#[derive(Debug)]
pub(super) enum SessionError {
    /// The whole transaction may be tried again; the place of the code in [`Session::RETRIES`].
    Retry(usize),
    /// Trying again does not help.
    Fatal(Failure),
}
