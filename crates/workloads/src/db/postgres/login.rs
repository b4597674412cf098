//! Being let in: the beginning of a connection, and the ways of login of PostgreSQL.
//!
//! A password goes over the network as a proof (SCRAM, which is the default since PostgreSQL 14) or a digest (md5). One
//! in the clear is sent to this machine alone, or encrypted.

use super::decode::Garbage;
use super::error;
use super::wire::Wire;
use crate::db::address::Address;
use crate::db::engines::Engine;
use crate::db::server::trouble::Trouble;
use crate::db::server::trust::TlsTrouble;
use engine::secret::Secret;
use postgres_protocol::authentication::{md5_hash, sasl};
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
fn encrypted(mut wire: Wire, address: &Address) -> Result<Wire, Trouble> {
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
    wire.line = wire.line.encrypted(address)?;
    Ok(wire)
}

/// Connects and logs in.
pub(super) fn log_in(address: &Address, secret: Option<&Secret>) -> Result<(Wire, LetIn), Trouble> {
    let mut wire = Wire::connect(address)?;
    if address.tls.is_some() {
        wire = encrypted(wire, address)?;
    }
    log_in_over(wire, address, secret)
}

/// Logs in over a connection.
pub(super) fn log_in_over(
    mut wire: Wire,
    address: &Address,
    secret: Option<&Secret>,
) -> Result<(Wire, LetIn), Trouble> {
    let settings = [
        ("user", address.user.as_str()),
        ("database", &address.database),
        ("application_name", "kurabe"),
        ("client_encoding", "UTF8"),
    ];
    written(frontend::startup_message(settings, &mut wire.line.out))?;
    wire.send()?;
    let mut scram = None;
    let mut let_in = LetIn::default();
    let mut is_proved = true;
    loop {
        let said = wire.next()?;
        match said.tag {
            b'R' => {
                let body = wire.body(&said);
                let (kind, rest) = body.split_first_chunk::<4>().ok_or(Garbage)?;
                let kind = u32::from_be_bytes(*kind);
                if kind == 0 {
                    if !is_proved {
                        return Err(Trouble::Proof("it ended the exchange before".to_owned()));
                    }
                    continue;
                }
                let rest = rest.to_vec();
                if kind == 12 {
                    is_proved = true;
                } else if kind == 10 {
                    is_proved = false;
                }
                answer(&mut wire, &mut scram, (kind, &rest), address, secret)?;
            }
            b'K' => {
                let process = wire.body(&said).first_chunk::<4>().ok_or(Garbage)?;
                let_in.process = Some(u32::from_be_bytes(*process));
            }
            b'E' => return Err(error::told(wire.body(&said))),
            b'Z' => return Ok((wire, let_in)),
            b'N' | b'S' | b'v' => {}
            _ => return Err(Garbage.into()),
        }
    }
}

fn unknown(way: impl Into<String>) -> Trouble {
    Trouble::Login(Engine::Postgres, way.into())
}

fn answer(
    wire: &mut Wire,
    scram: &mut Option<sasl::ScramSha256>,
    (kind, asked): (u32, &[u8]),
    address: &Address,
    secret: Option<&Secret>,
) -> Result<(), Trouble> {
    let password = || {
        secret
            .map(Secret::reveal)
            .ok_or(Trouble::NoPassword(Engine::Postgres))
    };
    let proof = |error: std::io::Error| Trouble::Proof(error.to_string());
    match (kind, scram) {
        (3, _) if wire.line.is_loopback() || wire.line.is_encrypted() => {
            written(frontend::password_message(
                password()?.as_bytes(),
                &mut wire.line.out,
            ))?;
        }
        (3, _) => {
            let why = "a password in the clear, over a network without TLS";
            return Err(unknown(why));
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
        (10, scram @ None) => {
            let mut ways = asked.split(|byte| *byte == 0);
            if !ways.any(|way| way == sasl::SCRAM_SHA_256.as_bytes()) {
                return Err(unknown("SASL without SCRAM-SHA-256"));
            }
            let binding = sasl::ChannelBinding::unsupported();
            let begun = sasl::ScramSha256::new(password()?.as_bytes(), binding);
            let way = sasl::SCRAM_SHA_256;
            written(frontend::sasl_initial_response(
                way,
                begun.message(),
                &mut wire.line.out,
            ))?;
            *scram = Some(begun);
        }
        (11, Some(scram)) => {
            if rounds(asked).is_some_and(|rounds| rounds > ROUNDS_MAX) {
                return Err(unknown("SCRAM with more than a million rounds"));
            }
            scram.update(asked).map_err(proof)?;
            written(frontend::sasl_response(scram.message(), &mut wire.line.out))?;
        }
        (12, Some(scram)) => {
            scram.finish(asked).map_err(proof)?;
            return Ok(());
        }
        (2, _) => return Err(unknown("Kerberos")),
        (7..=9, _) => return Err(unknown("GSSAPI or SSPI")),
        (other, _) => return Err(unknown(format!("number {other}"))),
    }
    wire.send()
}

/// The rounds that `r=...,s=...,i=4096` asks for; more than fit into a number are too many.
fn rounds(asked: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(asked).ok()?;
    let rounds = text.split(',').find_map(|part| part.strip_prefix("i="))?;
    Some(rounds.parse().unwrap_or(u32::MAX))
}
