//! A client's connection to a server: what a kind of server has to do, and what follows for a transaction.

use super::trouble::Trouble;
use crate::db::address::Address;
use crate::db::mix::Mix;
use crate::db::session::{Session, SessionError};
use crate::db::statement::{Answer, Statement};
use engine::secret::Secret;
use std::io;
use sys::loops::failure::Failure;

/// What begins and ends a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::db) enum Word {
    Begin,
    Commit,
    Rollback,
}

impl Word {
    /// As every server understands it.
    pub(in crate::db) const fn sql(self) -> &'static str {
        match self {
            Self::Begin => "BEGIN",
            Self::Commit => "COMMIT",
            Self::Rollback => "ROLLBACK",
        }
    }
}

/// A client's connection to a kind of server. What a server refuses so that its transaction may be tried again is no
/// error: it has the place of its code in [`Driver::RETRIES`].
pub(in crate::db) trait Driver: Send + Sized + 'static {
    /// As [`Session::RETRIES`]; each begins with its code.
    const RETRIES: &'static [&'static str];

    /// As [`Session::ROWS_MAY_BE_GONE`].
    const ROWS_MAY_BE_GONE: bool;

    /// Connects and prepares what the mix needs on so many tables, before anything is measured: a login takes
    /// milliseconds.
    fn connected(
        address: &Address,
        secret: Option<&Secret>,
        work: (&Mix, u32),
    ) -> Result<Self, Trouble>;

    /// Carries out a word.
    fn say(&mut self, word: Word) -> Result<Option<usize>, Trouble>;

    /// Carries out a prepared statement on the table of this number, from 0.
    fn carry_out(
        &mut self,
        table: u32,
        statement: &Statement<'_>,
    ) -> Result<(Answer, Option<usize>), Trouble>;

    /// Whether a transaction was begun and not ended.
    fn is_open(&self) -> bool;

    /// Takes leave.
    fn part(&mut self) -> Result<(), Trouble>;

    /// What it is connected to, without what opens it.
    fn address(&self) -> &str;
}

impl<D: Driver> Session for D {
    const RETRIES: &'static [&'static str] = D::RETRIES;
    const ROWS_MAY_BE_GONE: bool = D::ROWS_MAY_BE_GONE;

    fn connect(&mut self) -> Result<(), SessionError> {
        Ok(())
    }

    fn begin(&mut self, _: bool) -> Result<(), SessionError> {
        done(self.say(Word::Begin), "begin a transaction in")
    }

    #[inline]
    fn execute(&mut self, table: u32, statement: &Statement<'_>) -> Result<Answer, SessionError> {
        let operation = statement.kind().operation();
        let (answer, refused) = self
            .carry_out(table, statement)
            .map_err(|trouble| fatal(&trouble, operation))?;
        refused.map_or(Ok(answer), |place| Err(SessionError::Retry(place)))
    }

    fn commit(&mut self) -> Result<(), SessionError> {
        done(self.say(Word::Commit), "commit to")
    }

    fn rollback(&mut self) -> Result<(), SessionError> {
        if !self.is_open() {
            return Ok(());
        }
        done(self.say(Word::Rollback), "roll back in")
    }

    fn close(&mut self) {
        // Who is not there any more needs no farewell.
        let _ = self.part();
    }

    fn object(&self) -> String {
        self.address().to_owned()
    }
}

fn done(said: Result<Option<usize>, Trouble>, operation: &'static str) -> Result<(), SessionError> {
    let refused = said.map_err(|trouble| fatal(&trouble, operation))?;
    refused.map_or(Ok(()), |place| Err(SessionError::Retry(place)))
}

fn fatal(trouble: &Trouble, operation: &'static str) -> SessionError {
    SessionError::Fatal(Failure {
        operation,
        done: 0,
        error: io::Error::other(trouble.to_string()),
    })
}
