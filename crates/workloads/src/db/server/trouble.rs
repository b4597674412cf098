//! What can go wrong with a server, in words of a message: never with a password, and with what helps.

use super::trust::TlsTrouble;
use crate::db::engines::Engine;
use std::io;
use sys::names::NamesError;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub(in crate::db) enum Trouble {
    /// Nobody let us in.
    #[error("{1}{hint}", hint = connect_hint(*.0, .1))]
    Connect(Engine, io::Error),
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
    /// It is another program, or a broken one.
    #[error(
        "what the server answered is no message of {product}\nhint: look whether another program listens there",
        product = .0.products()
    )]
    Garbage(Engine),
    /// It asks for a way of login that is not there.
    #[error("the server asks for a way of login that kurabe does not know ({1}): it knows {known}", known = logins(*.0))]
    Login(Engine, String),
    /// It asks for a password, and nobody gave one.
    #[error(
        "the server asks for a password\nhint: keep it in {file}the address with it in `KURABE_DB_URL` or `--db-file FILE`",
        file = .0.keeps_in().map(|file| format!("{file}, or ")).unwrap_or_default()
    )]
    NoPassword(Engine),
    /// The server is not whom it says it is, or the password is another one.
    #[error("the server did not prove that it knows the password: {0}")]
    Proof(String),
    /// What the server said.
    #[error("{0}")]
    Told(Box<Told>),
    /// Connections cannot be encrypted, or not as they should be.
    #[error("{0}")]
    Tls(Box<TlsTrouble>),
}

/// An error as a server told it.
#[derive(Debug, thiserror::Error)]
#[error("{words} ({code}){hint}")]
pub(in crate::db) struct Told {
    /// Its message.
    pub(in crate::db) words: String,
    /// Its code.
    pub(in crate::db) code: String,
    /// What helps, with the line that it begins, or nothing.
    pub(in crate::db) hint: &'static str,
    /// Whether another try a moment later would come to the same.
    pub(in crate::db) is_lasting: bool,
}

impl Trouble {
    /// Of a read or write.
    pub(in crate::db) fn from_io(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Self::Silent,
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::ConnectionReset => Self::Ended,
            _ => Self::Io(error),
        }
    }

    /// Whether another try a moment later would come to the same.
    pub(in crate::db) fn is_lasting(&self) -> bool {
        match self {
            Self::Name(NamesError::Unanswered { .. }) => false,
            Self::Name(_) | Self::Login(..) | Self::NoPassword(_) | Self::Proof(_) => true,
            Self::Told(told) => told.is_lasting,
            Self::Tls(trouble) => trouble.is_lasting(),
            _ => false,
        }
    }
}

/// The words of a server, such as may be shown: in one line and not endless.
pub(in crate::db) fn shown(message: &[u8]) -> String {
    let text = String::from_utf8_lossy(message);
    let printable = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    printable.take(300).collect()
}

fn connect_hint(engine: Engine, error: &io::Error) -> String {
    let settings = match engine {
        Engine::Postgres => "`listen_addresses`, `unix_socket_directories`, `port`",
        Engine::Mysql => "`bind_address`, `skip_networking`, `socket`, `port`",
        Engine::Redis => "`bind`, `unixsocket`, `port`",
    };
    match error.kind() {
        io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => {
            format!("\nhint: look whether the server runs and listens there ({settings})")
        }
        _ => String::new(),
    }
}

/// The ways of login that are known.
const fn logins(engine: Engine) -> &'static str {
    match engine {
        Engine::Postgres => "SCRAM-SHA-256, md5 and password",
        Engine::Mysql => {
            "mysql_native_password, caching_sha2_password, and unix_socket of who runs kurabe"
        }
        Engine::Redis => "AUTH",
    }
}
