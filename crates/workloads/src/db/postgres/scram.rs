//! SCRAM-SHA-256: both sides show that they know a password, and neither says it. RFC 5802, RFC 7677.
//!
//! Of a library there would be tables of all characters, 0.2 MB of the program, by which a password is brought into a
//! form of its own before (RFC 4013). Here it is taken as it was written: what is typed has that form already, but for
//! characters that stand for others (such as a ligature, or a letter and its accent apart).

use model::base64::{from_base64, to_base64};
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// The name of this way of login.
pub(super) const NAME: &str = "SCRAM-SHA-256";

/// That the connection has no TLS whose end both sides could name: as a header, and the same in base64.
const HEADER: &str = "n,,";
const HEADER_BASE64: &str = "biws";

/// Bytes of randomness in a number that is used once; 24 characters in base64.
const NONCE_BYTES: usize = 18;

/// The block of SHA-256, in bytes. Source: FIPS 180-4, section 1.
const BLOCK: usize = 64;

type Hash = [u8; 32];

/// What the server made of our words does not fit to them.
pub(super) type Broken = &'static str;

/// An exchange that has begun.
pub(super) struct Begun {
    password: Vec<u8>,
    nonce: String,
}

/// An exchange in which we have shown that we know the password; what the server has to show.
pub(super) struct Shown {
    signature: Hash,
}

impl Begun {
    pub(super) fn new(password: &str) -> std::io::Result<Self> {
        let mut random = [0; NONCE_BYTES];
        sys::random::fill(&mut random)?;
        Ok(Self::with(password, to_base64(&random)))
    }

    fn with(password: &str, nonce: String) -> Self {
        Self {
            password: password.as_bytes().to_vec(),
            nonce,
        }
    }

    /// Our first words. PostgreSQL knows the user by the start of the connection and ignores the name here.
    pub(super) fn words(&self) -> String {
        format!("{HEADER}n=,r={}", self.nonce)
    }

    /// What is said to the server's first words, `asked`; more than `rounds_max` rounds are not made.
    pub(super) fn answer(
        &self,
        asked: &str,
        rounds_max: u32,
    ) -> Result<Option<(String, Shown)>, Broken> {
        if part(asked, "m=").is_some() {
            return Err("it wants an extension that is not known");
        }
        let rounds = part(asked, "i=").and_then(number);
        let rounds = rounds.filter(|rounds| *rounds > 0);
        if rounds.is_some_and(|rounds| rounds > rounds_max) {
            return Ok(None);
        }
        let nonce = part(asked, "r=").ok_or("its number is missing")?;
        if !nonce.starts_with(&self.nonce) || nonce.len() == self.nonce.len() {
            return Err("its number does not begin with ours");
        }
        let salt = part(asked, "s=").and_then(from_base64);
        let salt = salt.ok_or("its salt is none")?;
        let rounds = rounds.ok_or("its number of rounds is none")?;
        let mut said = format!("c={HEADER_BASE64},r={nonce}");
        let all = format!("n=,r={},{asked},{said}", self.nonce);
        let salted = Keyed::new(&self.password).salted(&salt, rounds);
        let keyed = Keyed::new(&salted);
        let key = keyed.of(&[b"Client Key"]);
        let stored: Hash = Sha256::digest(key).into();
        let proof = xor(key, Keyed::new(&stored).of(&[all.as_bytes()]));
        let signature = Keyed::new(&keyed.of(&[b"Server Key"])).of(&[all.as_bytes()]);
        write!(said, ",p={}", to_base64(&proof)).expect("text has room");
        Ok(Some((said, Shown { signature })))
    }
}

impl Shown {
    /// Whether the server, too, has shown that it knows the password.
    pub(super) fn check(&self, told: &str) -> Result<(), Broken> {
        let signature = part(told, "v=").and_then(from_base64);
        if signature.as_deref() == Some(&self.signature) {
            Ok(())
        } else {
            Err("its signature does not fit to the password")
        }
    }
}

/// A part of `r=...,s=...,i=...` by its beginning.
fn part<'a>(words: &'a str, beginning: &str) -> Option<&'a str> {
    words
        .split(',')
        .find_map(|part| part.strip_prefix(beginning))
}

/// A number; one that does not fit is the largest.
fn number(digits: &str) -> Option<u32> {
    let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    is_number.then(|| digits.parse().unwrap_or(u32::MAX))
}

/// HMAC with SHA-256 by one key, RFC 2104: what comes of the key is made once.
struct Keyed {
    inner: Sha256,
    outer: Sha256,
}

impl Keyed {
    fn new(key: &[u8]) -> Self {
        let mut block = [0; BLOCK];
        if key.len() > BLOCK {
            block[..32].copy_from_slice(&Sha256::digest(key));
        } else {
            block[..key.len()].copy_from_slice(key);
        }
        let begun = |with: u8| Sha256::new_with_prefix(block.map(|byte| byte ^ with));
        Self {
            inner: begun(0x36),
            outer: begun(0x5c),
        }
    }

    fn of(&self, parts: &[&[u8]]) -> Hash {
        let mut inner = self.inner.clone();
        for part in parts {
            inner.update(part);
        }
        let mut outer = self.outer.clone();
        outer.update(inner.finalize());
        outer.finalize().into()
    }

    /// The first block of PBKDF2, RFC 8018, section 5.2.
    fn salted(&self, salt: &[u8], rounds: u32) -> Hash {
        let mut last = self.of(&[salt, &1_u32.to_be_bytes()]);
        let mut all = last;
        for _ in 1..rounds {
            last = self.of(&[&last]);
            all = xor(all, last);
        }
        all
    }
}

fn xor(a: Hash, b: Hash) -> Hash {
    std::array::from_fn(|at| a[at] ^ b[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_is_said_twice() {
        assert_eq!(to_base64(HEADER.as_bytes()), HEADER_BASE64);
    }

    const ASKED: &str =
        "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";

    fn begun() -> Begun {
        Begun::with("pencil", "rOprNGfwEbeRWgbNEkqO".to_owned())
    }

    #[test]
    fn the_example_of_rfc_7677_comes_out() {
        // For an empty name, as PostgreSQL wants it; by hand with Python's `hmac`, which gives the RFC's proof for its
        // name.
        let (said, shown) = begun().answer(ASKED, 4096).unwrap().unwrap();
        assert_eq!(
            said,
            "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=qvT2SWdEH5Q06albL+hjSYuUhCG7VndFyzIb7CK4n9k="
        );
        assert_eq!(
            shown.check("v=3HO6Qt1M4MKJrmlKaoOqLAI0/0TV0HZe7J9H3MBtSOg="),
            Ok(())
        );
        for told in ["", "e=invalid-proof", "v=", "v=AAAA"] {
            assert!(shown.check(told).is_err(), "{told}");
        }
    }

    #[test]
    fn words_of_a_server_that_do_not_fit_to_ours_are_refused() {
        let check = |asked: &str, why: &str| {
            assert_eq!(begun().answer(asked, 4096).err(), Some(why), "{asked}");
        };
        check("", "its number is missing");
        let other = ASKED.replace("rOpr", "rOpq");
        check(&other, "its number does not begin with ours");
        let ours = "r=rOprNGfwEbeRWgbNEkqO,s=eA==,i=1";
        check(ours, "its number does not begin with ours");
        check(&ASKED.replace("W22", "W2"), "its salt is none");
        check(&ASKED.replace("W22", "W2!"), "its salt is none");
        check(&ASKED.replace("4096", "4k"), "its number of rounds is none");
        for rounds in ["4097", "99999999999999999999"] {
            let many = ASKED.replace("4096", rounds);
            assert!(begun().answer(&many, 4096).unwrap().is_none(), "{rounds}");
        }
    }

    #[test]
    fn no_exchange_uses_the_number_of_another() {
        let [a, b] = [(); 2].map(|()| Begun::new("pencil").unwrap().words());
        assert_ne!(a, b);
        assert_eq!(a.len(), "n,,n=,r=".len() + 24);
    }

    #[test]
    fn keyed_digests_are_those_of_rfc_4231() {
        let hex = |hash: Hash| hash.map(|byte| format!("{byte:02x}")).concat();
        assert_eq!(
            hex(Keyed::new(b"Jefe").of(&[b"what do ya want ", b"for nothing?"])),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        let larger = b"Test Using Larger Than Block-Size Key - Hash Key First";
        assert_eq!(
            hex(Keyed::new(&[0xaa; 131]).of(&[larger])),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        );
    }
}
