//! What can go wrong with a server, in words of a message: never with a password, and with what helps.

use super::decode::{self, Code, Garbage};
use std::io;
use sys::names::NamesError;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub(super) enum Trouble {
    /// Nobody let us in.
    #[error("{error}{hint}", error = .0, hint = connect_hint(.0))]
    Connect(io::Error),
    /// The name of a host.
    #[error("{0}")]
    Name(NamesError),
    /// A read or write.
    #[error("{0}")]
    Io(io::Error),
    /// The server did not answer in time.
    #[error("the server did not answer in time")]
    Silent,
    /// In the middle.
    #[error("the server ended the connection")]
    Ended,
    /// It is no PostgreSQL, or a broken one.
    #[error(
        "what the server answered is no message of PostgreSQL\nhint: look whether another program listens there"
    )]
    Garbage,
    /// It asks for a way of login that is not there.
    #[error(
        "the server asks for a way of login that kurabe does not know ({0}): it knows SCRAM-SHA-256, md5 and password"
    )]
    Login(String),
    /// It asks for a password, and nobody gave one.
    #[error(
        "the server asks for a password\nhint: keep it in ~/.pgpass, or the address with it in `KURABE_DB_URL` or `--db-file FILE`"
    )]
    NoPassword,
    /// The server is not whom it says it is, or the password is another one.
    #[error("the server did not prove that it knows the password: {0}")]
    Proof(String),
    /// What the server said.
    #[error("{words} ({code}){hint}", hint = hint(.code, .words))]
    Told {
        /// Its code.
        code: Code,
        /// Its message.
        words: String,
    },
}

impl Trouble {
    pub(super) fn from_io(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Self::Silent,
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::ConnectionReset => Self::Ended,
            _ => Self::Io(error),
        }
    }

    /// Whether another try a moment later would come to the same.
    pub(super) const fn is_lasting(&self) -> bool {
        match self {
            Self::Name(NamesError::Unanswered { .. }) => false,
            Self::Name(_) | Self::Login(_) | Self::NoPassword | Self::Proof(_) => true,
            Self::Told { code, .. } => matches!(
                &code.0,
                b"28P01"
                    | b"28000"
                    | b"3D000"
                    | b"42501"
                    | b"25006"
                    | b"26000"
                    | b"42P05"
                    | b"08P01"
            ),
            _ => false,
        }
    }

    /// An error as the server sent it.
    pub(super) fn told(body: &[u8]) -> Self {
        match decode::code(body) {
            Ok(code) => Self::Told {
                code,
                words: decode::words(body),
            },
            Err(Garbage) => Self::Garbage,
        }
    }
}

impl From<Garbage> for Trouble {
    fn from(_: Garbage) -> Self {
        Self::Garbage
    }
}

fn connect_hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => {
            "\nhint: look whether the server runs and listens there (`listen_addresses`, `unix_socket_directories`, `port`)"
        }
        _ => "",
    }
}

/// What helps where a pooler gives one connection of the server to several of ours: prepared statements and locks are
/// the connection's, and not ours.
pub(super) const POOLER: &str = "\nhint: a pooler such as PgBouncer with `pool_mode = transaction` shares connections \
                                 of the server: name the server itself, or a pool with `pool_mode = session`";

/// What helps against an error of the server. Source: PostgreSQL's documentation, "PostgreSQL Error Codes".
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the words of an error have a reference to its fields"
)]
fn hint(code: &Code, words: &str) -> &'static str {
    match &code.0 {
        b"28P01" => {
            "\nhint: the password is that of the first line that fits in ~/.pgpass, or of `KURABE_DB_URL` or `--db-file FILE`"
        }
        b"28000" => "\nhint: look at pg_hba.conf of the server, and at the user in the address",
        b"3D000" => {
            "\nhint: make an empty one for this with `createdb`, and name it in the address"
        }
        b"42501" => {
            "\nhint: the user needs the right to make tables: GRANT CREATE ON SCHEMA public TO the user, or a database of his own"
        }
        b"53300" => {
            "\nhint: fewer `--copies`, or a larger `max_connections` of the server; kurabe takes one more than copies"
        }
        b"53100" => "\nhint: the server's disk is full",
        b"57P01" | b"57P02" | b"57P03" => "\nhint: somebody stops or starts the server",
        b"25006" => {
            "\nhint: it is a replica, or `default_transaction_read_only` is on: measure a server that may be written to"
        }
        b"26000" | b"42P05" => POOLER,
        // As PgBouncer refuses what it does not pass on.
        b"08P01" if words.contains("startup parameter") => {
            "\nhint: a pooler is between: name the server itself, or see `ignore_startup_parameters` of PgBouncer"
        }
        _ => "",
    }
}
