//! The keys of a test: their names and values are computed, so that nobody has to list or remember them.
//!
//! A value begins with a letter that says who wrote it last, and the rest is a part of a fixed text that depends on
//! the key: whoever reads a key knows what must be there, whatever was written meanwhile.

use model::params::Params;
use model::rng::Rng;
use model::units::Bytes;

/// The marker: whoever has it, the keys that it counts are ours.
pub(super) const MARKER: &[u8] = b"kurabe:kv";
/// What all of our keys begin with.
pub(super) const PREFIX: &[u8] = b"kurabe:kv:";
/// Digits of a key's number, as redis-benchmark has them.
const DIGITS: usize = 12;
/// How long a name is.
pub(super) const NAME_BYTES: usize = PREFIX.len() + DIGITS;

/// What the marker's value begins with.
const MARK: &str = "kurabe: ";
/// Its end while keys are being made, and once all of them are there.
const MAKING: &str = "being made";
const WHOLE: &str = "whole";

/// Keys at most: what a marker says beyond it no test of ours has made.
pub(super) const KEYS_MAX: u64 = 100_000_000;

/// What a server keeps for a key beside its value, about: its name, an entry of the table, two objects.
const ENTRY_BYTES: u64 = 100;

/// Which keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Keys {
    /// How many.
    pub(super) number: u64,
    /// Bytes of each value.
    pub(super) size: usize,
}

impl Keys {
    pub(super) fn of(params: &Params) -> Self {
        Self {
            number: params.count("keys"),
            size: usize::try_from(params.size("data_size").0).unwrap_or(usize::MAX),
        }
    }

    /// The name of the ground.
    pub(super) fn key(self) -> String {
        format!("{} keys of {} bytes", self.number, self.size)
    }

    /// What a server needs for them at most: an entry, a name and an object of 128 bytes together, a value with a
    /// quarter of it for the sizes in which jemalloc gives memory, and tables of 8 bytes for each key, old and new, of
    /// a power of two. Redis 7.0 took 0.7 to 1.0 times this for values of 3 bytes to 1 MiB.
    pub(super) fn bytes_at_most(self) -> u64 {
        let each = (self.size as u64).saturating_mul(5) / 4 + 128;
        let tables = self.number.next_power_of_two().saturating_mul(12);
        self.number.saturating_mul(each).saturating_add(tables)
    }

    /// What a server has again at least once they are deleted.
    pub(super) const fn bytes_at_least(self) -> u64 {
        self.number
            .saturating_mul((self.size as u64).saturating_add(60))
    }

    /// What a server needs for them, about.
    pub(super) fn bytes(self) -> Bytes {
        Bytes(self.number.saturating_mul(self.size as u64 + ENTRY_BYTES))
    }
}

/// What the marker says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Note {
    pub(super) keys: Keys,
    /// Whether all of them are there.
    pub(super) is_whole: bool,
}

impl Note {
    /// Reads the value of the marker of this database; `None` where it is none of ours, or a copy of another one's.
    pub(super) fn read(text: &str, database: u32) -> Option<Self> {
        let (keys, state) = text.strip_prefix(MARK)?.split_once(", ")?;
        let keys = keys.strip_suffix(&within(database))?;
        let (number, size) = keys.strip_suffix(" bytes")?.split_once(" keys of ")?;
        let is_whole = match state {
            WHOLE => true,
            MAKING => false,
            _ => return None,
        };
        let keys = Keys {
            number: number.parse().ok()?,
            size: size.parse().ok()?,
        };
        (keys.number <= KEYS_MAX).then_some(Self { keys, is_whole })
    }

    pub(super) fn text(self, database: u32) -> String {
        let state = if self.is_whole { WHOLE } else { MAKING };
        format!("{MARK}{}{}, {state}", self.keys.key(), within(database))
    }
}

/// What a marker has and no copy of it in another database.
fn within(database: u32) -> String {
    format!(" in database {database}")
}

/// The name of a key.
pub(super) fn name(number: u64) -> [u8; NAME_BYTES] {
    let mut name = [0; NAME_BYTES];
    name[..PREFIX.len()].copy_from_slice(PREFIX);
    put_number(&mut name, number);
    name
}

/// Puts another number into a name.
#[inline]
pub(super) fn put_number(name: &mut [u8], number: u64) {
    /// What [`eight`] makes digits of.
    const EIGHT: u64 = 100_000_000;
    let (_, digits) = name.split_at_mut(PREFIX.len());
    let (high, low) = digits.split_at_mut(DIGITS - 8);
    high.copy_from_slice(&eight(number / EIGHT)[8 - (DIGITS - 8)..]);
    low.copy_from_slice(&eight(number % EIGHT));
}

/// The eight digits of a number that has no more, all at once: it is cut into two halves of four digits, those into
/// halves of two, and those into digits. Each stands in a part of the word of its own, the first one lowest, and what
/// divides is a multiplication that is exact for numbers of so many digits.
#[inline]
const fn eight(number: u64) -> [u8; 8] {
    let fours = (number / 10_000) | ((number % 10_000) << 32);
    let hundreds = ((fours * 10_486) >> 20) & 0x7f_0000_007f;
    let twos = hundreds | ((fours - hundreds * 100) << 16);
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    let ones = tens | ((twos - tens * 10) << 8);
    (ones | 0x3030_3030_3030_3030).to_le_bytes()
}

/// Where values begin in the text, which is longer by so much than the longest.
const PLACES: usize = 4096;

/// The letter of the keys as they are made.
pub(super) const MADE: u8 = b'A';

/// The values of all keys.
#[derive(Debug)]
pub(super) struct Values {
    text: Vec<u8>,
    size: usize,
}

impl Values {
    pub(super) fn new(size: usize) -> Self {
        // The same for every run: whoever finds keys of ours knows their values.
        let mut rng = Rng::stream(0x6b76, 1);
        let letter = |_| b'a' + u8::try_from(rng.below(26)).unwrap_or(0);
        Self {
            text: (0..PLACES + size).map(letter).collect(),
            size,
        }
    }

    /// The letter of a round.
    pub(super) fn letter(seed: u64) -> u8 {
        b'a' + u8::try_from(seed % 26).unwrap_or(0)
    }

    /// What stands behind the letter in the value of a key.
    #[inline]
    pub(super) fn rest(&self, number: u64) -> &[u8] {
        // Neighbours are far from one another (Knuth's multiplicative hash).
        let place = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52;
        let place = usize::try_from(place).unwrap_or(0);
        &self.text[place..place + self.size - 1]
    }

    /// Whether this is the value of a key, whoever wrote it last.
    #[inline]
    pub(super) fn holds(&self, value: &[u8], number: u64) -> bool {
        value
            .split_first()
            .is_some_and(|(letter, rest)| letter.is_ascii_alphabetic() && rest == self.rest(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_computed_and_all_of_one_length() {
        assert_eq!(&name(0), b"kurabe:kv:000000000000");
        let mut other = name(123_456_789_012);
        assert_eq!(&other, b"kurabe:kv:123456789012");
        put_number(&mut other, 7);
        assert_eq!(other, name(7));
        let mut rng = Rng::new(1);
        for number in (0..10_000).map(|_| rng.below(1_000_000_000_000)) {
            for number in [number, number % KEYS_MAX, number % 10_000] {
                assert_eq!(name(number), *format!("kurabe:kv:{number:012}").as_bytes());
            }
        }
        assert!(PREFIX.starts_with(MARKER) && PREFIX.len() > MARKER.len());
    }

    #[test]
    fn a_marker_says_what_is_ours_and_other_texts_do_not() {
        for is_whole in [true, false] {
            let keys = Keys {
                number: 100_000,
                size: 3,
            };
            let note = Note { keys, is_whole };
            assert_eq!(Note::read(&note.text(7), 7), Some(note));
            // A copy in another database says nothing there.
            assert_eq!(Note::read(&note.text(7), 0), None);
        }
        for other in [
            "",
            "kurabe: ",
            "kurabe: 100000 keys of 3 bytes, whole",
            "100000 keys of 3 bytes in database 7, whole",
            "kurabe: 100000 keys of 3 bytes in database 7",
            "kurabe: 100000 keys of 3 bytes in database 7, whole or not",
            "kurabe: -1 keys of 3 bytes in database 7, whole",
            "kurabe: x keys of 3 bytes in database 7, whole",
            "kurabe: 100000001 keys of 3 bytes in database 7, whole",
        ] {
            assert_eq!(Note::read(other, 7), None, "{other}");
        }
    }

    #[test]
    fn a_value_belongs_to_its_key_whoever_wrote_it() {
        for size in [1, 3, 100, 5000] {
            let values = Values::new(size);
            let value = |letter: u8, number| [&[letter], values.rest(number)].concat();
            for number in [0, 1, 99_999] {
                assert_eq!(value(MADE, number).len(), size);
                assert!(values.holds(&value(MADE, number), number));
                assert!(values.holds(&value(Values::letter(77), number), number));
                assert!(!values.holds(&value(b'1', number), number));
                assert!(!values.holds(b"", number));
                let longer = [value(MADE, number), b"a".to_vec()].concat();
                assert!(!values.holds(&longer, number));
            }
            if size > 10 {
                assert!(!values.holds(&value(MADE, 1), 2));
            }
        }
    }
}
