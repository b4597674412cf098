//! Messages of DNS (RFC 1035, section 4): the question that is written, and what is read of an answer.
//!
//! An answer is text from a stranger. Nothing in it is believed: every count and length is checked where it is used,
//! the pointers of one name are limited in number, so that loops end, and what lies behind the answers (authorities,
//! additions) is not looked at. Not read either: lifetimes, because nothing is kept.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Bits of the second word of a message (RFC 1035, section 4.1.1).
const IS_ANSWER: u16 = 0x8000;
const OPERATION: u16 = 0x7800;
const IS_AUTHORITY: u16 = 0x0400;
const IS_CUT: u16 = 0x0200;
const ASKS_OTHERS: u16 = 0x0100;
const CAN_ASK_OTHERS: u16 = 0x0080;
const CODE: u8 = 0x0f;

/// Result codes (RFC 1035, section 4.1.1).
pub(super) const FORMERR: u8 = 1;
pub(super) const SERVFAIL: u8 = 2;
pub(super) const NXDOMAIN: u8 = 3;
pub(super) const NOTIMP: u8 = 4;
pub(super) const REFUSED: u8 = 5;

/// Types and the one class (RFC 1035, section 3.2; RFC 3596; RFC 6891).
const A: u16 = 1;
const CNAME: u16 = 5;
const AAAA: u16 = 28;
const OPT: u16 = 41;
const INTERNET: u16 = 1;

/// The largest answer over UDP that is asked for where `edns0` is set: what passes every network in one piece (DNS flag
/// day 2020, RFC 9715).
const EDNS_BYTES: u16 = 1232;

/// The most bytes of a name in a message (RFC 1035, section 2.3.4), and so the most parts.
const NAME_BYTES: usize = 255;
const PARTS_MAX: usize = 128;

/// The most aliases of one name. RFC 1034 (section 3.6.2) wants no chains at all; BIND follows 16.
const ALIASES_MAX: usize = 16;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// IPv4.
    A,
    /// IPv6.
    Aaaa,
}

/// A name as messages have it: each part behind its length, in small letters, an empty part last.
type Name = Vec<u8>;

/// What is wrong with an answer, in a form that ends a sentence.
pub(super) type Broken = &'static str;

const TOO_SHORT: Broken = "it ends too early";

/// One question.
#[derive(Clone, Debug)]
pub(super) struct Question {
    /// A random number that the answer repeats.
    pub(super) id: u16,
    pub(super) kind: Kind,
    /// Whether it says that larger answers may come.
    pub(super) edns: bool,
    name: Name,
}

/// What a server says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The addresses; none where the name exists and has none of this kind.
    Addresses(Vec<IpAddr>),
    /// There is no such name (NXDOMAIN).
    NoSuchName,
    /// The answer is too large for UDP.
    Cut,
    /// Another code.
    Code(u8),
}

impl Question {
    /// `name` has been checked, and has no dot at its end.
    pub(super) fn new(id: u16, name: &str, kind: Kind, edns: bool) -> Self {
        Self {
            id,
            kind,
            edns,
            name: written(name),
        }
    }

    /// The message that asks.
    pub(super) fn message(&self) -> Vec<u8> {
        let words = [self.id, ASKS_OTHERS, 1, 0, 0, u16::from(self.edns)];
        let mut message: Vec<u8> = words.into_iter().flat_map(u16::to_be_bytes).collect();
        message.extend(&self.name);
        message.extend(self.kind.number().to_be_bytes());
        message.extend(INTERNET.to_be_bytes());
        if self.edns {
            // Of the root; its class is the size, its lifetime holds version and flags, and it has no content (RFC
            // 6891, section 6.1.2).
            message.push(0);
            message.extend(OPT.to_be_bytes());
            message.extend(EDNS_BYTES.to_be_bytes());
            message.extend([0; 6]);
        }
        message
    }

    /// What a message answers; `None` where it is no answer to this question.
    pub(super) fn answered(&self, message: &[u8]) -> Option<Result<Answer, Broken>> {
        let mut reader = Reader { message, at: 0 };
        let (id, flags) = (reader.word().ok()?, reader.word().ok()?);
        let (questions, answers) = (reader.word().ok()?, reader.word().ok()?);
        let [_authorities, _additions] = [reader.word().ok()?, reader.word().ok()?];
        if id != self.id || flags & IS_ANSWER == 0 || flags & OPERATION != 0 {
            return None;
        }
        let code = flags.to_be_bytes()[1] & CODE;
        // A server that knows no EDNS may not even have read the question (RFC 6891, section 7). All that this can
        // bring about is that it is asked again without.
        if questions == 0 && code == FORMERR && self.edns {
            return Some(Ok(Answer::Code(code)));
        }
        let is_ours = questions == 1
            && reader.name().ok()? == self.name
            && reader.word().ok()? == self.kind.number()
            && reader.word().ok()? == INTERNET;
        if !is_ours {
            return None;
        }
        let knows = flags & (IS_AUTHORITY | CAN_ASK_OTHERS) != 0;
        Some(match code {
            0 if flags & IS_CUT != 0 => Ok(Answer::Cut),
            0 if answers == 0 && !knows => Err("it refers to other servers"),
            0 => self.addresses(&mut reader, answers).map(Answer::Addresses),
            NXDOMAIN => Ok(Answer::NoSuchName),
            _ => Ok(Answer::Code(code)),
        })
    }

    /// The addresses among the answers, of the name that the aliases lead to.
    fn addresses(&self, reader: &mut Reader, answers: u16) -> Result<Vec<IpAddr>, Broken> {
        let mut aliases: Vec<(Name, Name)> = Vec::new();
        let mut found: Vec<(Name, IpAddr)> = Vec::new();
        for _ in 0..answers {
            let owner = reader.name()?;
            let (kind, class) = (reader.word()?, reader.word()?);
            let _lifetime = reader.bytes(4)?;
            let length = usize::from(reader.word()?);
            let begin = reader.at;
            let content = reader.bytes(length)?;
            if class != INTERNET {
                continue;
            }
            if kind == CNAME {
                let mut inside = Reader {
                    message: reader.message,
                    at: begin,
                };
                aliases.push((owner, inside.name()?));
                if inside.at != reader.at {
                    return Err("an alias is not as long as it says");
                }
            } else if kind == self.kind.number() {
                found.push((owner, self.kind.address(content)?));
            }
        }
        let name = end_of_aliases(&self.name, &aliases)?;
        found.retain(|(owner, _)| owner == name);
        Ok(found.into_iter().map(|(_, address)| address).collect())
    }
}

impl Kind {
    fn number(self) -> u16 {
        match self {
            Self::A => A,
            Self::Aaaa => AAAA,
        }
    }

    fn address(self, content: &[u8]) -> Result<IpAddr, Broken> {
        let address = match self {
            Self::A => <[u8; 4]>::try_from(content).map(|bytes| Ipv4Addr::from(bytes).into()),
            Self::Aaaa => <[u8; 16]>::try_from(content).map(|bytes| Ipv6Addr::from(bytes).into()),
        };
        address.map_err(|_| "an address is not as long as addresses are")
    }
}

/// The name behind all aliases of `name`.
fn end_of_aliases<'a>(name: &'a Name, aliases: &'a [(Name, Name)]) -> Result<&'a Name, Broken> {
    let mut name = name;
    for _ in 0..=ALIASES_MAX {
        match aliases.iter().find(|(owner, _)| owner == name) {
            Some((_, target)) => name = target,
            None => return Ok(name),
        }
    }
    Err("its aliases lead in a circle, or through more than 16 names")
}

/// A name as messages have it.
fn written(name: &str) -> Name {
    let mut bytes = Vec::with_capacity(name.len() + 2);
    for part in name.split('.') {
        bytes.push(u8::try_from(part.len()).expect("parts of names were found to be short"));
        bytes.extend(part.bytes().map(|byte| byte.to_ascii_lowercase()));
    }
    bytes.push(0);
    bytes
}

/// A place in a message from which is read on.
struct Reader<'a> {
    message: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn bytes(&mut self, count: usize) -> Result<&'a [u8], Broken> {
        let rest = self.message.get(self.at..).unwrap_or_default();
        let bytes = rest.get(..count).ok_or(TOO_SHORT)?;
        self.at += count;
        Ok(bytes)
    }

    fn word(&mut self) -> Result<u16, Broken> {
        let bytes = self.bytes(2)?;
        Ok(u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    /// A name, whose end may be a pointer to the end of another one (RFC 1035, section 4.1.4).
    fn name(&mut self) -> Result<Name, Broken> {
        let mut name = Name::new();
        let mut behind = None;
        // Each part may have a pointer in front of it. A loop runs out of them, or of room.
        for _ in 0..2 * PARTS_MAX {
            let first = self.bytes(1)?[0];
            match first >> 6 {
                0b00 => {
                    name.push(first);
                    let part = self.bytes(usize::from(first))?;
                    name.extend(part.iter().map(u8::to_ascii_lowercase));
                }
                0b11 => {
                    let second = self.bytes(1)?[0];
                    behind.get_or_insert(self.at);
                    self.at = usize::from(u16::from_be_bytes([first & 0x3f, second]));
                    continue;
                }
                _ => return Err("a name in it begins with bits that have no meaning"),
            }
            if name.len() > NAME_BYTES {
                return Err("a name in it is too long");
            }
            if first == 0 {
                self.at = behind.unwrap_or(self.at);
                return Ok(name);
            }
        }
        Err("a name in it has no end")
    }
}

#[cfg(test)]
mod tests;
