//! What tells this instance from another, readable without root and without giving anything private away.
//!
//! machine-id(5) asks that the identifier be never shown, only a keyed hash of it. Both identifiers are 128 random
//! bits; a keyed 64-bit digest of one tells two instances apart (two of 65,000 agree by chance once in 8 billion such
//! fleets) and cannot be computed back, because half of the bits are gone. Serial numbers and the product's UUID need
//! root, so that they are not looked at: the answer would depend on who asks.

use model::digest::Digest;
use model::host::{Fact, IdentityFacts};
use sys::tree::Tree;

/// Mixed in first, so that the digests are worth nothing to other programs.
const KEY: &[u8] = b"kurabe identity 1";

pub(super) fn facts(tree: &Tree) -> IdentityFacts {
    IdentityFacts {
        machine: digest(tree, "/etc/machine-id"),
        boot: digest(tree, "/proc/sys/kernel/random/boot_id"),
    }
}

/// The keyed digest of the identifier in `path`: 32 hexadecimal digits, with or without dashes.
fn digest(tree: &Tree, path: &str) -> Fact<String> {
    let text = match tree.read_trimmed(path) {
        Ok(text) => text.replace('-', "").to_ascii_lowercase(),
        Err(error) => return Fact::Missing(error.to_string()),
    };
    // An image that has not been booted yet says `uninitialized`.
    let random = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !random || text.bytes().all(|byte| byte == b'0') {
        return Fact::Missing(format!("parse `{path}`: it holds no identifier"));
    }
    Fact::Known(keyed(&text))
}

/// A keyed digest in 16 hexadecimal digits. Serial numbers are shorter than 128 random bits, so that whoever guesses
/// one can confirm it; it is no secret, only nothing that a published result should show.
pub(super) fn keyed(text: &str) -> String {
    let digest = Digest::EMPTY.bytes(KEY).bytes(text.as_bytes());
    format!("{:016x}", digest.0)
}
