//! UDP: what stands at the beginning of every datagram, and the word and answer with which a stream begins.

/// What a client sends first, since 3.12. It is not repeated by iperf3.
pub const HELLO: [u8; 4] = *b"9876";

/// What a server answers: clients of every version take it.
pub const REPLY: [u8; 4] = *b"6789";

/// What clients before 3.12 send: 123456789, the lowest byte first on most machines. Servers look at none of it.
pub const OLD_HELLO: [u8; 4] = 123_456_789_u32.to_le_bytes();

/// What servers before 3.12 answer: 987654321 likewise.
pub const OLD_REPLY: [u8; 4] = 987_654_321_u32.to_le_bytes();

/// How wide the count is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// By default. After 4,294,967,295 it begins again.
    Bits32,
    /// Where the parameters say `udp_counters_64bit`.
    Bits64,
}

impl Width {
    /// Bytes of the header.
    pub const fn header(self) -> usize {
        match self {
            Self::Bits32 => 12,
            Self::Bits64 => 16,
        }
    }
}

/// What a datagram says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Seconds of the sender's clock: of the monotonic one since 3.7, so that it tells nothing to another machine.
    pub seconds: u32,
    /// And so many microseconds.
    pub microseconds: u32,
    /// From 1, in each stream.
    pub count: u64,
}

impl Datagram {
    /// Reads the beginning of a datagram; `None` where it is too short to have one, as a repeated hello is.
    pub fn read(bytes: &[u8], width: Width) -> Option<Self> {
        let word = |at: usize| Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?));
        Some(Self {
            seconds: word(0)?,
            microseconds: word(4)?,
            count: match width {
                Width::Bits32 => u64::from(word(8)?),
                Width::Bits64 => u64::from_be_bytes(*bytes.get(8..)?.first_chunk()?),
            },
        })
    }

    /// Writes it to the beginning of a datagram, which must have room for it.
    #[inline]
    pub fn write(&self, bytes: &mut [u8], width: Width) {
        bytes[..4].copy_from_slice(&self.seconds.to_be_bytes());
        bytes[4..8].copy_from_slice(&self.microseconds.to_be_bytes());
        let count = self.count.to_be_bytes();
        match width {
            // The lower half: it begins again as iperf3's does.
            Width::Bits32 => bytes[8..12].copy_from_slice(&count[4..]),
            Width::Bits64 => bytes[8..16].copy_from_slice(&count),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_as_they_were_seen() {
        let check = |width: Width, bytes: &[u8], seconds, microseconds, count| {
            let datagram = Datagram {
                seconds,
                microseconds,
                count,
            };
            assert_eq!(Datagram::read(bytes, width), Some(datagram));
            assert_eq!(Datagram::read(&bytes[1..], width), None);
            let mut written = vec![0; width.header()];
            datagram.write(&mut written, width);
            assert_eq!(written, bytes);
        };
        let narrow = [0, 0, 4, 0xcc, 0, 4, 0xd7, 0xe6, 0, 0, 0, 1];
        check(Width::Bits32, &narrow, 1228, 317_414, 1);
        let wide = [0, 0, 4, 0x43, 0, 1, 0xd5, 0x4f, 0, 0, 0, 0, 0, 0, 0, 1];
        check(Width::Bits64, &wide, 1091, 120_143, 1);
    }

    #[test]
    fn a_narrow_count_begins_again() {
        let datagram = Datagram {
            seconds: 0,
            microseconds: 0,
            count: (1 << 32) + 5,
        };
        let mut bytes = [0; 12];
        datagram.write(&mut bytes, Width::Bits32);
        assert_eq!(Datagram::read(&bytes, Width::Bits32).unwrap().count, 5);
    }

    #[test]
    fn the_first_words_are_as_they_were_seen() {
        assert_eq!(HELLO, [0x39, 0x38, 0x37, 0x36]);
        assert_eq!(REPLY, [0x36, 0x37, 0x38, 0x39]);
        assert_eq!(OLD_HELLO, [0x15, 0xcd, 0x5b, 0x07]);
        assert_eq!(OLD_REPLY, [0xb1, 0x68, 0xde, 0x3a]);
        assert_eq!(Datagram::read(&HELLO, Width::Bits32), None, "no data");
    }
}
