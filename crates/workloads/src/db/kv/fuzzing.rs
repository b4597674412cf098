//! Any bytes as replies of a Redis or Valkey server: for `fuzz/` and the tests.

use super::resp::{Found, Garbage, LINE_MAX, VALUE_MAX, reply};

/// One reply after the other.
pub(in crate::db) fn any(bytes: &[u8]) {
    let mut rest = bytes;
    loop {
        match reply(rest) {
            Ok(Found::Whole(reply)) => {
                assert!(reply.length > 0 && reply.length <= rest.len());
                assert!(reply.body.end <= reply.length);
                rest = &rest[reply.length..];
            }
            Ok(Found::Part(least)) => {
                assert!(least > rest.len() && least <= VALUE_MAX + LINE_MAX);
                return;
            }
            Err(Garbage) => return,
        }
    }
}
