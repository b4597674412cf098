//! Any bytes as what a PostgreSQL server says: for `fuzz/` and the tests.

use super::decode::{self, Columns, HEADER, MESSAGE_MAX};
use super::login::log_in_over;
use super::wire::Wire;
use crate::db::engines::Engine;
use crate::db::fuzzing::{PASSWORD, heard, quotes_no_password, somebody};
use engine::secret::Secret;

/// The first byte says whether it is heard while we log in, with a password or without one, or as an answer.
pub(in crate::db) fn any(bytes: &[u8]) {
    decoders(bytes);
    let Some((way, bytes)) = bytes.split_first() else {
        return;
    };
    let (ours, theirs) = heard(bytes);
    let mut wire = Wire::over(ours);
    if way % 3 == 0 {
        let mut rows = 0;
        // Whatever comes of it.
        let _ = wire.answer(|row| {
            rows += 1;
            Columns::new(row).map(drop)
        });
        assert!(rows <= bytes.len());
    } else {
        let secret = (way % 3 == 1).then(|| Secret::new(PASSWORD.to_owned()));
        match log_in_over(wire, &somebody(Engine::Postgres), secret.as_ref()) {
            Ok((let_in, _)) => wire = let_in,
            Err(trouble) => {
                quotes_no_password(&trouble.to_string(), bytes);
                drop(theirs);
                return;
            }
        }
    }
    assert!(wire.line.capacity() <= MESSAGE_MAX + 1);
}

fn decoders(bytes: &[u8]) {
    if let Ok(Some((_, length))) = decode::message(bytes) {
        assert!((HEADER..=MESSAGE_MAX + 1).contains(&length));
    }
    let _ = decode::rows_of(bytes);
    let _ = decode::code(bytes).map(|code| code.to_string());
    if let Ok(mut columns) = Columns::new(bytes) {
        let mut all = 0;
        while let Ok(value) = columns.next() {
            all += value.map_or(0, <[u8]>::len) + 4;
        }
        assert!(all <= bytes.len());
    }
}
