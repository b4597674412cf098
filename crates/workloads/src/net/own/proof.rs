//! Who has the token, proved by HMAC-SHA256 (RFC 2104) over what both sides sent.
//!
//! The client's hello holds a number of its own and the server's challenge another, so that what either side proves
//! holds for this connection alone. Which side proves, and what a key is for, is part of what is signed: nothing can be
//! handed back to whom it came from.

use super::hello::{Hello, TAG_BYTES};
use super::token::Token;
use ring::hmac;
use std::io;

/// What the server sends.
pub(crate) const CHALLENGE_BYTES: usize = 32;

/// HMAC-SHA256 in whole.
pub(crate) const PROOF_BYTES: usize = 32;

/// The server's word in front of a challenge; no state of iperf3 has its number.
pub(crate) const CHALLENGES: u8 = b'N';
/// In front of its own proof.
pub(crate) const WELCOME: u8 = b'W';
/// In the place of it: the client's proof is wrong.
pub(crate) const WRONG: u8 = b'X';
/// In the place of it: it is right, and somebody else is served, for so many milliseconds yet (`u32`, big-endian).
pub(crate) const BUSY: u8 = b'B';
/// In the place of a challenge: the hello is of another version.
pub(crate) const UNKNOWN: u8 = b'V';
/// To a connection of a session: it is taken.
pub(crate) const TAKEN: u8 = b'A';
/// Behind [`BUSY`] where the server does not know how long.
pub(crate) const NOT_KNOWN_MS: u32 = u32::MAX;

/// What the two sides say to each other before either knows the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Challenge {
    hello: Hello,
    number: [u8; CHALLENGE_BYTES],
}

/// What is signed, and by whom.
const OF_CLIENT: &[u8] = b"kurabe 1 client";
const OF_SERVER: &[u8] = b"kurabe 1 server";
const OF_SESSION: &[u8] = b"kurabe 1 session";
const OF_DATA: &[u8] = b"kurabe 1 data";

impl Challenge {
    /// A server's to this hello, which was never used before.
    pub(crate) fn new(hello: Hello) -> io::Result<Self> {
        let mut number = [0; CHALLENGE_BYTES];
        sys::random::fill(&mut number)?;
        Ok(Self { hello, number })
    }

    /// What a client heard behind its hello.
    pub(crate) const fn heard(hello: Hello, number: [u8; CHALLENGE_BYTES]) -> Self {
        Self { hello, number }
    }

    /// What the server sends.
    pub(crate) const fn number(&self) -> &[u8; CHALLENGE_BYTES] {
        &self.number
    }

    /// The client's proof.
    pub(crate) fn of_client(&self, token: &Token) -> [u8; PROOF_BYTES] {
        self.signed(token, OF_CLIENT)
    }

    /// The server's.
    pub(crate) fn of_server(&self, token: &Token) -> [u8; PROOF_BYTES] {
        self.signed(token, OF_SERVER)
    }

    /// Whether the client has the token. The time that it takes tells nothing of where proofs differ.
    pub(crate) fn is_client(&self, token: &Token, proof: &[u8]) -> bool {
        self.verified(token, OF_CLIENT, proof)
    }

    /// Whether the server has it.
    pub(crate) fn is_server(&self, token: &Token, proof: &[u8]) -> bool {
        self.verified(token, OF_SERVER, proof)
    }

    /// The key of the session that begins so.
    pub(crate) fn session(&self, token: &Token) -> SessionKey {
        let key = self.signed(token, OF_SESSION);
        SessionKey(hmac::Key::new(hmac::HMAC_SHA256, &key))
    }

    fn text(&self, label: &[u8]) -> Vec<u8> {
        [label, &self.hello.0, &self.number].concat()
    }

    fn signed(&self, token: &Token, label: &[u8]) -> [u8; PROOF_BYTES] {
        let mut proof = [0; PROOF_BYTES];
        let tag = hmac::sign(&token.key(), &self.text(label));
        proof.copy_from_slice(tag.as_ref());
        proof
    }

    fn verified(&self, token: &Token, label: &[u8], proof: &[u8]) -> bool {
        hmac::verify(&token.key(), &self.text(label), proof).is_ok()
    }
}

/// What only the two ends of a session know.
#[derive(Clone, Debug)]
pub(crate) struct SessionKey(hmac::Key);

impl SessionKey {
    /// The tag of this number. Nothing is allocated.
    pub(crate) fn tag(&self, number: u64) -> [u8; TAG_BYTES] {
        let mut context = hmac::Context::with_key(&self.0);
        context.update(OF_DATA);
        context.update(&number.to_be_bytes());
        let mut tag = [0; TAG_BYTES];
        tag.copy_from_slice(&context.sign().as_ref()[..TAG_BYTES]);
        tag
    }

    /// Whether that is its tag. `ring` compares whole tags in constant time and no parts of them, so that both are
    /// signed once more and these are compared: what the time tells of them is of no use to whoever has not the key.
    pub(crate) fn is_tag(&self, number: u64, tag: &[u8]) -> bool {
        let shown = hmac::sign(&self.0, tag);
        hmac::verify(&self.0, &self.tag(number), shown.as_ref()).is_ok()
    }

    #[cfg(test)]
    pub(crate) fn of_test(byte: u8) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, &[byte; 32]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(text: &str) -> Token {
        text.repeat(32).parse().unwrap()
    }

    #[test]
    fn whoever_has_the_token_is_known_and_nobody_else() {
        let (right, wrong) = (token("5"), token("6"));
        let challenge = Challenge::new(Hello::control().unwrap()).unwrap();
        let heard = Challenge::heard(challenge.hello, *challenge.number());
        assert!(challenge.is_client(&right, &heard.of_client(&right)));
        assert!(heard.is_server(&right, &challenge.of_server(&right)));
        assert!(!challenge.is_client(&right, &heard.of_client(&wrong)));
        assert!(!heard.is_server(&right, &challenge.of_server(&wrong)));
        // What one side proves is no proof of the other.
        assert!(!challenge.is_client(&right, &challenge.of_server(&right)));
        assert!(!heard.is_server(&right, &heard.of_client(&right)));
        let proof = heard.of_client(&right);
        assert!(!challenge.is_client(&right, &proof[..31]));
        assert!(!challenge.is_client(&right, &[]));
        assert_eq!(
            challenge.session(&right).tag(3),
            heard.session(&right).tag(3)
        );
    }

    #[test]
    fn a_proof_that_was_heard_proves_nothing_the_next_time() {
        let token = token("a");
        let hello = Hello::control().unwrap();
        let [first, second] = [(); 2].map(|()| Challenge::new(hello).unwrap());
        let proof = first.of_client(&token);
        assert!(first.is_client(&token, &proof));
        assert!(!second.is_client(&token, &proof));
        assert_ne!(first.session(&token).tag(0), second.session(&token).tag(0));
        let other = Challenge::heard(Hello::control().unwrap(), *first.number());
        assert!(!other.is_client(&token, &proof));
    }

    /// RFC 4231, test case 2, by the way that tags are made here: keyed by bytes, over a text in parts.
    #[test]
    fn it_is_hmac_sha256() {
        let key = hmac::Key::new(hmac::HMAC_SHA256, b"Jefe");
        let mut context = hmac::Context::with_key(&key);
        context.update(b"what do ya want ");
        context.update(b"for nothing?");
        let expected = [0x5b, 0xdc, 0xc1, 0x46, 0xbf, 0x60, 0x75, 0x4e];
        assert_eq!(context.sign().as_ref()[..8], expected);
    }
}
