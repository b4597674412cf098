//! What a server says, read from bytes that anybody may have sent: bounded, and nothing is built of rows.
//!
//! Source: PostgreSQL's documentation, "Message Formats". `postgres-protocol` has a decoder too: it makes objects of
//! each message and takes any length that is announced, and so is not used for this direction.

use std::fmt;

/// A message longer than this is none of what is asked for here: a row of the tests has 120 bytes.
pub(super) const MESSAGE_MAX: usize = 1 << 20;

/// Its tag, and its length with itself.
pub(super) const HEADER: usize = 5;

/// What was sent makes no sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Garbage;

/// The tag of the message that `bytes` begin with and the length of all of it; `None` before that is known.
pub(super) fn message(bytes: &[u8]) -> Result<Option<(u8, usize)>, Garbage> {
    let Some(header) = bytes.first_chunk::<HEADER>() else {
        return match bytes.first() {
            Some(tag) if !is_tag(*tag) => Err(Garbage),
            _ => Ok(None),
        };
    };
    let [tag, length @ ..] = *header;
    let length = usize::try_from(u32::from_be_bytes(length)).map_err(|_| Garbage)?;
    if !is_tag(tag) || !(4..=MESSAGE_MAX).contains(&length) {
        return Err(Garbage);
    }
    Ok(Some((tag, length + 1)))
}

/// What a server sends to who does what we do.
const fn is_tag(tag: u8) -> bool {
    matches!(
        tag,
        b'1' | b'2'
            | b'3'
            | b'A'
            | b'C'
            | b'D'
            | b'E'
            | b'G'
            | b'I'
            | b'K'
            | b'N'
            | b'R'
            | b'S'
            | b'T'
            | b'Z'
            | b'n'
            | b's'
            | b't'
            | b'v'
    )
}

/// The columns of a row; a value that is missing is `None`.
pub(super) struct Columns<'a> {
    left: u16,
    rest: &'a [u8],
}

impl<'a> Columns<'a> {
    /// Of the body of a row.
    pub(super) fn new(body: &'a [u8]) -> Result<Self, Garbage> {
        let (count, rest) = body.split_first_chunk::<2>().ok_or(Garbage)?;
        Ok(Self {
            left: u16::from_be_bytes(*count),
            rest,
        })
    }

    /// The next one; a row that ends before is garbage.
    pub(super) fn next(&mut self) -> Result<Option<&'a [u8]>, Garbage> {
        self.left = self.left.checked_sub(1).ok_or(Garbage)?;
        let (length, rest) = self.rest.split_first_chunk::<4>().ok_or(Garbage)?;
        let length = i32::from_be_bytes(*length);
        if length == -1 {
            self.rest = rest;
            return Ok(None);
        }
        let length = usize::try_from(length).map_err(|_| Garbage)?;
        let (value, rest) = rest.split_at_checked(length).ok_or(Garbage)?;
        self.rest = rest;
        Ok(Some(value))
    }

    /// Whether all of them have been read, and nothing is behind.
    pub(super) const fn is_over(&self) -> bool {
        self.left == 0 && self.rest.is_empty()
    }
}

/// How many rows a statement says that it concerned: the last word of `UPDATE 1`, `INSERT 0 1`, `SELECT 100`; 0 where
/// that is no number, as of `COMMIT`.
pub(super) fn rows_of(body: &[u8]) -> Result<u64, Garbage> {
    let text = body.strip_suffix(b"\0").ok_or(Garbage)?;
    let digits = text.iter().rev().take_while(|byte| byte.is_ascii_digit());
    let number = &text[text.len() - digits.count()..];
    let add =
        |sum: Option<u64>, digit: &u8| sum?.checked_mul(10)?.checked_add(u64::from(digit - b'0'));
    number.iter().fold(Some(0), add).ok_or(Garbage)
}

/// The five letters of an error's code.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Code(pub(super) [u8; 5]);

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| {
            let letter = if byte.is_ascii_alphanumeric() {
                char::from(*byte)
            } else {
                '?'
            };
            fmt::Write::write_char(f, letter)
        })
    }
}

/// A field of an error by its letter.
pub(super) fn field(body: &[u8], wanted: u8) -> Option<&[u8]> {
    let mut rest = body;
    loop {
        let (&letter, after) = rest.split_first()?;
        let end = after.iter().position(|byte| *byte == 0)?;
        if letter == wanted {
            return Some(&after[..end]);
        }
        rest = after.get(end + 1..)?;
    }
}

/// The code of an error.
pub(super) fn code(body: &[u8]) -> Result<Code, Garbage> {
    let code = field(body, b'C').ok_or(Garbage)?;
    code.try_into().map(Code).map_err(|_| Garbage)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_seen_when_its_length_is() {
        let check = |bytes: &[u8], expected| assert_eq!(message(bytes), expected, "{bytes:?}");
        check(b"", Ok(None));
        check(b"Z\0\0", Ok(None));
        check(b"Z\0\0\0\x05", Ok(Some((b'Z', 6))));
        check(b"H", Err(Garbage));
        check(b"HTTP/1.1 400", Err(Garbage));
        // 4 GiB, and less than nothing.
        check(b"D\xff\xff\xff\xff", Err(Garbage));
        check(b"D\0\0\0\x03", Err(Garbage));
        check(b"D\0\x10\0\x01", Err(Garbage));
    }

    #[test]
    fn rows_are_counted_and_codes_read() {
        for (body, rows) in [
            (&b"INSERT 0 1\0"[..], Ok(1)),
            (b"SELECT 100\0", Ok(100)),
            (b"COMMIT\0", Ok(0)),
            (b"UPDATE 1", Err(Garbage)),
            (b"UPDATE 99999999999999999999\0", Err(Garbage)),
        ] {
            assert_eq!(rows_of(body), rows);
        }
        let error = b"SERROR\0C40P01\0Mdead\nlock\0\0";
        assert_eq!(code(error).unwrap().to_string(), "40P01");
        assert_eq!(field(error, b'M'), Some(&b"dead\nlock"[..]));
        assert!(code(b"SERROR\0C40\0\0").is_err() && code(b"C40P01").is_err());
    }

    #[test]
    fn columns_end_where_the_row_does() {
        let row = b"\0\x02\0\0\0\x01x\xff\xff\xff\xff";
        let mut columns = Columns::new(row).unwrap();
        assert_eq!(columns.next(), Ok(Some(&b"x"[..])));
        assert!(!columns.is_over());
        assert_eq!(columns.next(), Ok(None));
        assert!(columns.is_over());
        assert_eq!(columns.next(), Err(Garbage));
        let long = b"\0\x01\x7f\xff\xff\xffx";
        assert_eq!(Columns::new(long).unwrap().next(), Err(Garbage));
    }
}
