//! The first 37 bytes of a connection, and of a datagram, of ours: as many as iperf3's cookie has, so that a listener
//! reads one size, and none that iperf3 ever sent: cookies have no letter that is large.

use super::proof::SessionKey;
use crate::net::iperf3::cookie::COOKIE_BYTES;

/// What tells it from a cookie, with the version of the protocol.
const MAGIC: [u8; 8] = *b"KURABE\x001";

/// What kind it is.
const KIND: usize = MAGIC.len();
const CONTROL: u8 = b'C';
const DATA: u8 = b'D';

/// What only the client decides.
const REST: usize = KIND + 1;
/// The number that a client never used before.
pub(crate) const NONCE_BYTES: usize = COOKIE_BYTES - REST;

/// A number of a session, and its tag behind it.
const COUNTER_BYTES: usize = 8;
/// 160 bits of HMAC-SHA256. Source: RFC 2104, section 5, not less than half of it.
pub(crate) const TAG_BYTES: usize = NONCE_BYTES - COUNTER_BYTES;

/// As it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hello(pub(crate) [u8; COOKIE_BYTES]);

/// What it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A connection on which the token is proved.
    Control,
    /// One of a session, or a datagram of it: with its number, from 0.
    Data(u64),
    /// Of another version, or of no kind.
    Unknown,
}

impl Hello {
    /// Of a connection for control, with a number that nobody can guess.
    pub(crate) fn control() -> std::io::Result<Self> {
        let mut bytes = begun(CONTROL);
        sys::random::fill(&mut bytes[REST..])?;
        Ok(Self(bytes))
    }

    /// Of the connection, or datagram, with this number.
    pub(crate) fn data(number: u64, key: &SessionKey) -> Self {
        let mut bytes = begun(DATA);
        let (counter, tag) = bytes[REST..].split_at_mut(COUNTER_BYTES);
        counter.copy_from_slice(&number.to_be_bytes());
        tag.copy_from_slice(&key.tag(number));
        Self(bytes)
    }

    /// These bytes, where they are one of ours, of whatever version.
    pub(crate) fn of(bytes: [u8; COOKIE_BYTES]) -> Option<Self> {
        let name = MAGIC.len() - 1;
        (bytes[..name] == MAGIC[..name]).then_some(Self(bytes))
    }

    /// What it is.
    pub(crate) fn kind(&self) -> Kind {
        if self.0[..KIND] != MAGIC {
            return Kind::Unknown;
        }
        match self.0[KIND] {
            CONTROL => Kind::Control,
            DATA => {
                let mut number = [0; COUNTER_BYTES];
                number.copy_from_slice(&self.0[REST..REST + COUNTER_BYTES]);
                Kind::Data(u64::from_be_bytes(number))
            }
            _ => Kind::Unknown,
        }
    }

    /// Whether its tag is that of its number, by this key.
    pub(crate) fn is_of(&self, key: &SessionKey) -> bool {
        let Kind::Data(number) = self.kind() else {
            return false;
        };
        key.is_tag(number, &self.0[REST + COUNTER_BYTES..])
    }
}

fn begun(kind: u8) -> [u8; COOKIE_BYTES] {
    let mut bytes = [0; COOKIE_BYTES];
    bytes[..KIND].copy_from_slice(&MAGIC);
    bytes[KIND] = kind;
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::iperf3::Cookie;

    #[test]
    fn no_cookie_is_one_and_each_is_what_it_was_made_as() {
        let mut sent = Vec::new();
        Cookie::new().unwrap().write(&mut sent).unwrap();
        assert_eq!(Hello::of(sent.try_into().unwrap()), None);
        // 3.1 makes it of the host's name, which a DNS has in small letters; and a NUL ends every cookie.
        assert_eq!(Hello::of(*b"kurabe.example.1448223344.1234567890\0"), None);

        let control = Hello::control().unwrap();
        assert_eq!(Hello::of(control.0).unwrap().kind(), Kind::Control);
        assert_ne!(control, Hello::control().unwrap());
        let key = SessionKey::of_test(1);
        let data = Hello::data(u64::MAX - 1, &key);
        assert_eq!(Hello::of(data.0).unwrap().kind(), Kind::Data(u64::MAX - 1));
    }

    #[test]
    fn a_number_has_one_tag_for_each_key() {
        let key = SessionKey::of_test(1);
        let hello = Hello::data(7, &key);
        assert!(hello.is_of(&key));
        assert!(!hello.is_of(&SessionKey::of_test(2)));
        assert!(!Hello::control().unwrap().is_of(&key));
        for place in REST..COOKIE_BYTES {
            let mut changed = hello;
            changed.0[place] ^= 1;
            assert!(!changed.is_of(&key), "byte {place}");
        }
    }

    #[test]
    fn another_version_is_ours_and_unknown() {
        let mut hello = Hello::control().unwrap();
        hello.0[KIND - 1] = b'2';
        assert_eq!(Hello::of(hello.0).unwrap().kind(), Kind::Unknown);
        hello.0[KIND - 1] = b'1';
        hello.0[KIND] = b'Z';
        assert_eq!(Hello::of(hello.0).unwrap().kind(), Kind::Unknown);
    }
}
