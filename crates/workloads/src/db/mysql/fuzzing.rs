//! Any bytes as what a MySQL or MariaDB server says: for `fuzz/` and the tests.

use super::decode::{self, HEADER, PACKET_MAX, Parts};
use super::login::log_in_over;
use super::wire::Wire;
use crate::db::engines::Engine;
use crate::db::fuzzing::{PASSWORD, heard, quotes_no_password, somebody};
use engine::secret::Secret;

/// The first byte says whether it is heard while we log in or as an answer, and whether it is packets as it is, or
/// their bodies, each behind its length.
pub(in crate::db) fn any(bytes: &[u8]) {
    decoders(bytes);
    let Some((way, bytes)) = bytes.split_first() else {
        return;
    };
    let is_login = way & 1 == 0;
    // An answer is numbered from 1 on, and so is what follows our words while we log in.
    let bytes = if way & 2 == 0 {
        bytes.to_vec()
    } else {
        packets(bytes, is_login)
    };
    let (ours, theirs) = heard(&bytes);
    let mut wire = Wire::over(ours);
    if is_login {
        let secret = (way & 4 == 0).then(|| Secret::new(PASSWORD.to_owned()));
        match log_in_over(wire, &somebody(Engine::Mysql), secret.as_ref()) {
            Ok((let_in, _)) => wire = let_in,
            Err(trouble) => {
                quotes_no_password(&trouble.to_string(), &bytes);
                drop(theirs);
                return;
            }
        }
    } else {
        wire.number = 1;
        (wire.caches_metadata, wire.is_without_eof) = (way & 4 == 0, way & 8 == 0);
        let mut rows = 0;
        // Whatever comes of it.
        let _ = wire.answer(|row| {
            rows += 1;
            decode::only_value(row).map(drop)
        });
        assert!(rows <= bytes.len());
    }
    assert!(wire.line.capacity() <= PACKET_MAX + HEADER);
}

/// Packets of these bodies, numbered as a server does.
fn packets(mut bytes: &[u8], is_login: bool) -> Vec<u8> {
    let mut all = Vec::new();
    let mut number = u8::from(!is_login);
    while let Some((&length, rest)) = bytes.split_first() {
        let (body, rest) = rest.split_at(usize::from(length).min(rest.len()));
        let length = u8::try_from(body.len()).unwrap_or(u8::MAX);
        all.extend([length, 0, 0, number]);
        all.extend(body);
        // Between two of the server's stands one of ours while we log in.
        number = number.wrapping_add(if is_login { 2 } else { 1 });
        bytes = rest;
    }
    all
}

fn decoders(bytes: &[u8]) {
    if let Ok(Some((_, length))) = decode::packet(bytes) {
        assert!((HEADER + 1..=PACKET_MAX + HEADER).contains(&length));
    }
    let _ = decode::ended(bytes);
    let _ = decode::error(bytes);
    let _ = decode::greeting(bytes);
    let _ = decode::whole(bytes);
    if let Ok(Some(value)) = decode::only_value(bytes) {
        assert!(value.len() < bytes.len());
    }
    let mut parts = Parts(bytes);
    let mut all = 0;
    while let Ok(value) = parts.text() {
        all += value.map_or(0, <[u8]>::len) + 1;
    }
    assert!(all <= bytes.len());
}
