//! Being let in: the beginning of a connection, and the ways of login of PostgreSQL.
//!
//! A password goes over the network as a proof (SCRAM, which is the default since PostgreSQL 14) or a digest (md5). One
//! in the clear is sent over a Unix socket, encrypted, or where the address says that it may be: over loopback too it
//! would go to whatever program took the port while the server was down.

use super::decode::Garbage;
use super::wire::Wire;
use super::{error, scram};
use crate::db::address::Address;
use crate::db::engines::Engine;
use crate::db::server::trouble::Trouble;
use crate::db::server::trust::TlsTrouble;
use engine::secret::Secret;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::message::frontend;

/// What the server said while it let us in.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LetIn {
    /// The process that serves this connection, as the server calls it.
    pub(super) process: Option<u32>,
}

/// A server that asks for more rounds of a digest wants our CPU and not our password: the default is 4096.
const ROUNDS_MAX: u32 = 1_000_000;

/// Nothing that is written here fails but by being too long, and a name is not.
fn written(done: std::io::Result<()>) -> Result<(), Trouble> {
    done.map_err(Trouble::Io)
}

/// Asks for encryption, and begins it.
fn encrypt(wire: &mut Wire, address: &Address) -> Result<(), Trouble> {
    frontend::ssl_request(&mut wire.line.out);
    wire.send()?;
    if wire.line.there().is_empty() {
        wire.line.fill(1)?;
    }
    let answer = wire.line.take(1);
    match wire.line.taken(answer) {
        b"S" => {}
        b"N" => return Err(TlsTrouble::Absent(address.engine).into()),
        _ => return Err(Garbage.into()),
    }
    wire.line.encrypt(address)
}

/// Connects and logs in.
pub(super) fn log_in(address: &Address, secret: Option<&Secret>) -> Result<(Wire, LetIn), Trouble> {
    log_in_over(Wire::connect(address)?, address, secret)
}

/// Logs in over a connection.
pub(super) fn log_in_over(
    mut wire: Wire,
    address: &Address,
    secret: Option<&Secret>,
) -> Result<(Wire, LetIn), Trouble> {
    match let_in(&mut wire, address, secret) {
        Ok(let_in) => Ok((wire, let_in)),
        Err(trouble) => Err(wire.line.at_login(Engine::Postgres, trouble)),
    }
}

fn let_in(wire: &mut Wire, address: &Address, secret: Option<&Secret>) -> Result<LetIn, Trouble> {
    if address.tls.is_some() {
        encrypt(wire, address)?;
    }
    let settings = [
        ("user", address.user.as_str()),
        ("database", &address.database),
        ("application_name", "kurabe"),
        ("client_encoding", "UTF8"),
    ];
    written(frontend::startup_message(settings, &mut wire.line.out))?;
    wire.send()?;
    let mut exchange = Exchange::None;
    let mut let_in = LetIn::default();
    let mut is_in = false;
    loop {
        let said = wire.next()?;
        match said.tag {
            b'R' => {
                let body = wire.body(&said);
                let (kind, rest) = body.split_first_chunk::<4>().ok_or(Garbage)?;
                let kind = u32::from_be_bytes(*kind);
                if kind == 0 {
                    // Whoever began to prove something has to come to the end of it.
                    is_in = matches!(exchange, Exchange::None | Exchange::Proved);
                    if !is_in {
                        return Err(too_early());
                    }
                    continue;
                }
                let rest = rest.to_vec();
                answer(wire, &mut exchange, (kind, &rest), address, secret)?;
            }
            b'K' => {
                let process = wire.body(&said).first_chunk::<4>().ok_or(Garbage)?;
                let_in.process = Some(u32::from_be_bytes(*process));
            }
            b'E' => return Err(error::told(wire.body(&said))),
            b'Z' if is_in => return Ok(let_in),
            b'Z' => return Err(too_early()),
            b'N' | b'S' | b'v' => {}
            _ => return Err(Garbage.into()),
        }
    }
}

/// How far the exchange of proofs is.
enum Exchange {
    None,
    Begun(scram::Begun),
    Shown(scram::Shown),
    /// Both have shown that they know the password.
    Proved,
}

fn too_early() -> Trouble {
    Trouble::Proof("it ended the exchange before".to_owned())
}

fn unknown(way: impl Into<String>) -> Trouble {
    Trouble::Login(Engine::Postgres, way.into())
}

fn answer(
    wire: &mut Wire,
    exchange: &mut Exchange,
    (kind, asked): (u32, &[u8]),
    address: &Address,
    secret: Option<&Secret>,
) -> Result<(), Trouble> {
    let password = || {
        secret
            .map(Secret::reveal)
            .ok_or(Trouble::NoPassword(Engine::Postgres))
    };
    let proof = |why: scram::Broken| Trouble::Proof(why.to_owned());
    match (kind, &*exchange) {
        (3, _) if wire.line.is_private() || address.may_be_clear => {
            written(frontend::password_message(
                password()?.as_bytes(),
                &mut wire.line.out,
            ))?;
        }
        (3, _) => {
            // Without a password nothing is given away, and nothing is proved.
            password()?;
            return Err(Trouble::Clear(Engine::Postgres));
        }
        (5, _) => {
            let salt = asked.first_chunk::<4>().ok_or(Garbage)?;
            let user = address.user.as_bytes();
            let digest = md5_hash(user, password()?.as_bytes(), *salt);
            written(frontend::password_message(
                digest.as_bytes(),
                &mut wire.line.out,
            ))?;
        }
        (10, Exchange::None) => {
            let mut ways = asked.split(|byte| *byte == 0);
            if !ways.any(|way| way == scram::NAME.as_bytes()) {
                return Err(unknown("SASL without SCRAM-SHA-256"));
            }
            let begun = scram::Begun::new(password()?).map_err(Trouble::Io)?;
            let words = begun.words();
            let out = &mut wire.line.out;
            written(frontend::sasl_initial_response(
                scram::NAME,
                words.as_bytes(),
                out,
            ))?;
            *exchange = Exchange::Begun(begun);
        }
        (11, Exchange::Begun(begun)) => {
            let asked = std::str::from_utf8(asked).map_err(|_| Garbage)?;
            let answer = begun.answer(asked, ROUNDS_MAX).map_err(proof)?;
            let (words, shown) =
                answer.ok_or_else(|| unknown("SCRAM with more than a million rounds"))?;
            written(frontend::sasl_response(
                words.as_bytes(),
                &mut wire.line.out,
            ))?;
            *exchange = Exchange::Shown(shown);
        }
        (12, Exchange::Shown(shown)) => {
            let told = std::str::from_utf8(asked).map_err(|_| Garbage)?;
            shown.check(told).map_err(proof)?;
            *exchange = Exchange::Proved;
            return Ok(());
        }
        (2, _) => return Err(unknown("Kerberos")),
        (7..=9, _) => return Err(unknown("GSSAPI or SSPI")),
        (other, _) => return Err(unknown(format!("number {other}"))),
    }
    wire.send()
}
