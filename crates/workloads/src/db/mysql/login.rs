//! Being let in: the beginning of a connection, and the ways of login of MySQL and MariaDB.
//!
//! A password goes over the network as a proof. In the clear, for which `caching_sha2_password` asks the first time, it
//! is sent over a Unix socket alone, or encrypted.

use super::decode::{self, END, ERROR, Greeting, OK, Parts, SCRAMBLE};
use super::wire::Wire;
use super::{Garbage, error};
use crate::db::address::Address;
use crate::db::engines::Engine;
use crate::db::server::line::Line;
use crate::db::server::trouble::{Trouble, shown};
use crate::db::server::trust::TlsTrouble;
use bytes::BufMut;
use engine::secret::Secret;
use sha1::{Digest, Sha1};
use sha2::Sha256;

/// The ways of login.
const NATIVE: &str = "mysql_native_password";
const CACHING: &str = "caching_sha2_password";

/// `utf8mb4_general_ci`, which every version has. Source: MariaDB's documentation, "Supported Character Sets".
const CHARACTERS: u8 = 45;

/// What we would read at most; the server sends less.
const PACKET_MAX: u32 = 1 << 24;

/// What follows the byte 1 in the words of `caching_sha2_password`.
const IS_KNOWN: u8 = 3;
const WANTS_ALL: u8 = 4;

/// The byte before further words of a way of login.
const MORE: u8 = 1;

/// Connects and logs in; with the flags of the connection.
pub(super) fn log_in(address: &Address, secret: Option<&Secret>) -> Result<(Wire, u16), Trouble> {
    log_in_over(Wire::over(Line::connect(address)?), address, secret)
}

/// Logs in over a connection.
pub(super) fn log_in_over(
    mut wire: Wire,
    address: &Address,
    secret: Option<&Secret>,
) -> Result<(Wire, u16), Trouble> {
    match let_in(&mut wire, address, secret) {
        Ok(status) => Ok((wire, status)),
        Err(trouble) => Err(wire.line.at_login(Engine::Mysql, trouble)),
    }
}

fn let_in(wire: &mut Wire, address: &Address, secret: Option<&Secret>) -> Result<u16, Trouble> {
    let first = wire.next_body()?;
    if first.first() == Some(&ERROR) {
        return Err(error::told(first));
    }
    let greeting = decode::greeting(first)?;
    let secret = secret.map_or("", Secret::reveal).as_bytes();
    answer_greeting(wire, &greeting, address, secret)?;
    loop {
        let packet = wire.next_body()?;
        match packet.first() {
            Some(&OK) => {
                let status = decode::ended(packet)?.status;
                return Ok(status);
            }
            Some(&ERROR) => return Err(error::told(packet)),
            Some(&END) => {
                let mut parts = Parts(&packet[1..]);
                let way = String::from_utf8_lossy(parts.until_zero()).into_owned();
                if packet.len() == 1 {
                    return Err(unknown("mysql_old_password"));
                }
                let proof = if is_by_socket(&way) {
                    Vec::new()
                } else {
                    let scramble = parts.bytes(SCRAMBLE).ok().and_then(|s| s.try_into().ok());
                    let proof = scramble.and_then(|scramble| proof(&way, secret, &scramble));
                    proof.ok_or_else(|| unknown(&way))?
                };
                wire.begin_packet();
                wire.line.out.put_slice(&proof);
                wire.send()?;
            }
            // The proof was right, and the end follows.
            Some(&MORE) if packet.get(1..) == Some(&[IS_KNOWN]) => {}
            Some(&MORE) if packet.get(1..) == Some(&[WANTS_ALL]) => {
                if wire.line.unix().is_none() && !wire.line.is_encrypted() {
                    return Err(unknown(
                        "caching_sha2_password in full over a network without TLS; with `ssl-mode=REQUIRED` in the \
                         address or over the Unix socket it works, and without as soon as this user has logged in so",
                    ));
                }
                wire.begin_packet();
                wire.line.out.put_slice(secret);
                wire.line.out.put_u8(0);
                wire.send()?;
            }
            _ => return Err(Garbage.into()),
        }
    }
}

/// Says who we are and what we can do, encrypted where that is asked for.
fn answer_greeting(
    wire: &mut Wire,
    greeting: &Greeting,
    address: &Address,
    secret: &[u8],
) -> Result<(), Trouble> {
    let is_maria = greeting.capabilities & decode::IS_MYSQL == 0;
    let encrypts = address.tls.is_some();
    if encrypts && greeting.capabilities & decode::ENCRYPTION == 0 {
        return Err(TlsTrouble::Absent(address.engine).into());
    }
    let wanted = decode::IS_MYSQL
        | if encrypts { decode::ENCRYPTION } else { 0 }
        | decode::FOUND_ROWS
        | decode::LONG_FLAG
        | decode::CONNECT_WITH_DB
        | decode::PROTOCOL_41
        | decode::TRANSACTIONS
        | decode::SECURE_CONNECTION
        | decode::PLUGIN_AUTH
        | decode::DEPRECATE_EOF;
    let capabilities = wanted & greeting.capabilities;
    let further = if is_maria {
        greeting.further & decode::CACHE_METADATA
    } else {
        0
    };
    wire.is_without_eof = capabilities & decode::DEPRECATE_EOF != 0;
    // Without the packet between them a description that is left out has no end.
    let caches = further != 0 && wire.is_without_eof;
    wire.caches_metadata = caches;
    // Of a way that is not known another one is proposed; the server says which one it wants.
    let proof = proof(&greeting.way, secret, &greeting.scramble);
    let (way, proof) = match proof {
        Some(proof) => (greeting.way.as_str(), proof),
        None => (NATIVE, Vec::new()),
    };
    let begin = |wire: &mut Wire| {
        wire.begin_packet();
        let out = &mut wire.line.out;
        out.put_u32_le(capabilities);
        out.put_u32_le(PACKET_MAX);
        out.put_u8(CHARACTERS);
        out.put_bytes(0, 19);
        out.put_u32_le(if caches { further } else { 0 });
    };
    if encrypts {
        begin(wire);
        wire.send()?;
        wire.line.encrypt(address)?;
    }
    begin(wire);
    let out = &mut wire.line.out;
    out.put_slice(address.user.as_bytes());
    out.put_u8(0);
    out.put_u8(u8::try_from(proof.len()).unwrap_or(0));
    out.put_slice(&proof);
    out.put_slice(address.database.as_bytes());
    out.put_u8(0);
    if capabilities & decode::PLUGIN_AUTH != 0 {
        out.put_slice(way.as_bytes());
        out.put_u8(0);
    }
    wire.send()
}

/// Whether the kernel's word on who asks is all that the server wants.
fn is_by_socket(way: &str) -> bool {
    matches!(way, "" | "unix_socket" | "auth_socket")
}

fn unknown(way: &str) -> Trouble {
    // The name of a way comes from the server.
    Trouble::Login(Engine::Mysql, shown(way.as_bytes()))
}

/// What shows a server that we know the password; nothing where there is none, and `None` for a way that is not known.
fn proof(way: &str, password: &[u8], scramble: &[u8; SCRAMBLE]) -> Option<Vec<u8>> {
    let mixed = |one: &[u8], other: &[u8]| one.iter().zip(other).map(|(a, b)| a ^ b).collect();
    match way {
        NATIVE | CACHING if password.is_empty() => Some(Vec::new()),
        NATIVE => {
            let once = Sha1::digest(password);
            let of_both = Sha1::new()
                .chain_update(scramble)
                .chain_update(Sha1::digest(once))
                .finalize();
            Some(mixed(&once, &of_both))
        }
        CACHING => {
            let once = Sha256::digest(password);
            let of_both = Sha256::new()
                .chain_update(Sha256::digest(once))
                .chain_update(scramble)
                .finalize();
            Some(mixed(&once, &of_both))
        }
        _ => None,
    }
}
