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
        "{words}\nhint: look whether another program listens there",
        words = no_message(*.0)
    )]
    Garbage(Engine),
    /// Who answers while we are to be let in may be somebody else.
    #[error(
        "{why}\nhint: look whether {product} listens there, or another program{kind}",
        product = .engine.products(),
        kind = .kind.map(|kind| format!(": what it says is what {kind} says")).unwrap_or_default()
    )]
    Stranger {
        engine: Engine,
        why: String,
        kind: Option<&'static str>,
    },
    /// It asks for a way of login that is not there.
    #[error("the server asks for a way of login that kurabe does not know ({1}): it knows {known}", known = logins(*.0))]
    Login(Engine, String),
    /// It asks for a password, and nobody gave one.
    #[error(
        "the server asks for a password\nhint: keep it in {file}the address with it in `KURABE_DB_URL` or `--db-file FILE`",
        file = .0.keeps_in().map(|file| format!("{file}, or ")).unwrap_or_default()
    )]
    NoPassword(Engine),
    /// The password would go as it is where others may hear it.
    #[error("{words}", words = clear(*.0))]
    Clear(Engine),
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

    /// Whether the server told an error of one of these codes.
    pub(in crate::db) fn is_told(&self, codes: &[&str]) -> bool {
        matches!(self, Self::Told(told) if codes.contains(&&*told.code))
    }

    /// Whether another try a moment later would come to the same.
    pub(in crate::db) fn is_lasting(&self) -> bool {
        match self {
            Self::Name(NamesError::Unanswered { .. }) => false,
            Self::Name(_)
            | Self::Login(..)
            | Self::NoPassword(_)
            | Self::Clear(_)
            | Self::Proof(_) => true,
            Self::Told(told) => told.is_lasting,
            Self::Tls(trouble) => trouble.is_lasting(),
            _ => false,
        }
    }
}

fn no_message(engine: Engine) -> String {
    format!(
        "what the server answered is no message of {}",
        engine.products()
    )
}

/// What went wrong while a server of this kind was to let us in, where nobody may be there who understands us: with
/// whoever says first what these bytes are, as far as it shows.
pub(super) fn stranger(engine: Engine, trouble: Trouble, first: &[u8]) -> Trouble {
    let why = match trouble {
        Trouble::Garbage(_) => no_message(engine),
        Trouble::Silent | Trouble::Ended => trouble.to_string(),
        other => return other,
    };
    let kind = speaker(first).filter(|kind| *kind != engine.products());
    Trouble::Stranger { engine, why, kind }
}

/// Who begins so. Sources: RFC 4253 (4.2), RFC 9112, RFC 8446 (5.1), RFC 5321; the protocols' own documentation.
pub(super) fn speaker(first: &[u8]) -> Option<&'static str> {
    match first {
        [b'S', b'S', b'H', b'-', ..] => Some("an SSH server"),
        [b'H', b'T', b'T', b'P', b'/', ..] => Some("a web server"),
        [b'2', b'2', b'0', b' ' | b'-', ..] => Some("a mail or FTP server"),
        // An alert.
        [21, 3, ..] => Some("a server that wants TLS"),
        // The first packet: version 10 of the protocol, or an error.
        [_, _, 0, 0, 10 | 255, ..] => Some(Engine::Mysql.products()),
        // An error, or a demand for a login, of a short length.
        [b'E' | b'R', 0, 0, _, _, ..] => Some(Engine::Postgres.products()),
        [b'-', b'A'..=b'Z', b'A'..=b'Z', ..] => Some(Engine::Redis.products()),
        _ => None,
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

/// Why a password is not sent as it is.
const fn clear(engine: Engine) -> &'static str {
    match engine {
        Engine::Redis => {
            "the password would go over the network as it is (AUTH, without TLS)\n\
             hint: name the server by `rediss://` or a Unix socket; `?password=clear` in the address sends it all the \
             same, to all who listen there"
        }
        Engine::Postgres | Engine::Mysql => {
            "the server asks for the password as it is (`password`), and the connection is not encrypted\n\
             hint: `sslmode=verify-full` in the address, a Unix socket, or `scram-sha-256` in pg_hba.conf; \
             `?password=clear` in the address sends it all the same, to all who listen there or took the server's place"
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_a_server_is_told_by_its_code() {
        let told = Trouble::Told(Box::new(Told {
            words: "no such column".to_owned(),
            code: "1054".to_owned(),
            hint: "",
            is_lasting: false,
        }));
        assert!(told.is_told(&["1146", "1054"]));
        assert!(!told.is_told(&["1146", "105"]) && !Trouble::Silent.is_told(&["1054"]));
    }

    #[test]
    fn who_is_another_one_is_named_by_what_it_says_first() {
        let check = |first: &[u8], words: &str| {
            let why = stranger(Engine::Redis, Trouble::Garbage(Engine::Redis), first);
            let why = why.to_string();
            assert!(why.starts_with("what the server answered is no message of Redis/Valkey\n"));
            assert!(why.ends_with(words), "{why}");
            assert_eq!(why.lines().count(), 2);
        };
        check(b"SSH-2.0-OpenSSH_9.2p1\r\n", "what an SSH server says");
        check(b"HTTP/1.1 400 Bad Request\r\n", "what a web server says");
        check(b"220 mail.example ESMTP", "what a mail or FTP server says");
        check(
            &[21, 3, 1, 0, 2, 2, 40],
            "what a server that wants TLS says",
        );
        check(b"\x4a\0\0\0\x0a11.4.2-MariaDB", "what MySQL/MariaDB says");
        check(b"E\0\0\0\x85SFATAL\0VFATAL\0", "what PostgreSQL says");
        // Of the kind itself nobody says that it is another one.
        check(
            b"-NOAUTH Authentication required.\r\n",
            "or another program",
        );
        check(b"what is that", "or another program");
        check(b"", "or another program");
    }

    #[test]
    fn only_what_may_be_another_one_is_said_to_be() {
        let silent = stranger(Engine::Mysql, Trouble::Silent, b"");
        let silent = silent.to_string();
        assert!(
            silent.starts_with(
                "the server did not answer in time\nhint: look whether MySQL/MariaDB listens"
            ),
            "{silent}"
        );
        let proof = Trouble::NoPassword(Engine::Postgres);
        let same = stranger(Engine::Postgres, proof, b"R\0\0\0\x08");
        assert!(matches!(same, Trouble::NoPassword(_)), "{same}");
    }
}
