//! The protocol of Redis and Valkey, version 2 (RESP2): commands out, replies in.
//!
//! Source: the protocol's specification, "Redis serialization protocol specification". A reply is looked at where it
//! lies in the buffer, and nothing is copied or allocated for it. Lengths are bounded before anybody makes room for
//! them. Of an array the number of its parts is a reply, and each part is one of its own.

use bytes::{BufMut, BytesMut};
use std::ops::Range;

/// What is no reply of this protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Garbage;

/// What kind of reply, with its number where it is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A word, such as OK.
    Word,
    /// An error: its code, and words.
    Error,
    Number(i64),
    /// A value.
    Value,
    /// No value.
    Nothing,
    /// So many replies follow that belong together.
    Array(usize),
}

/// A reply that is there in whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) kind: Kind,
    /// Where its text or value is.
    pub(super) body: Range<usize>,
    /// How long all of it is.
    pub(super) length: usize,
}

/// What some bytes are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Whole(Reply),
    /// The beginning of a reply of at least this length.
    Part(usize),
}

/// A line: errors have some hundred bytes.
pub(super) const LINE_MAX: usize = 4 << 10;
/// The longest value: a list of ten thousand clients has 4 MB, and no test has larger values than 1 MiB.
pub(super) const VALUE_MAX: usize = 16 << 20;
/// The parts of an array: settings are asked for one at a time.
const PARTS_MAX: usize = 1 << 10;

/// What every line and every value ends with.
pub(super) const END: &[u8] = b"\r\n";

/// The reply that these bytes begin with.
#[inline]
pub(super) fn reply(bytes: &[u8]) -> Result<Found, Garbage> {
    let Some(&first) = bytes.first() else {
        return Ok(Found::Part(1));
    };
    if !b"+-:$*".contains(&first) {
        return Err(Garbage);
    }
    let Some(line) = line(bytes)? else {
        return Ok(Found::Part(bytes.len() + 1));
    };
    let text = &bytes[line.clone()];
    let whole = |kind| {
        Ok(Found::Whole(Reply {
            kind,
            body: line.clone(),
            length: line.end + END.len(),
        }))
    };
    match first {
        b'+' => whole(Kind::Word),
        b'-' => whole(Kind::Error),
        b':' => whole(Kind::Number(number(text)?)),
        b'*' => match count(text, PARTS_MAX)? {
            Some(parts) => whole(Kind::Array(parts)),
            None => whole(Kind::Nothing),
        },
        _ => match count(text, VALUE_MAX)? {
            Some(length) => value(bytes, line.end + END.len(), length),
            None => whole(Kind::Nothing),
        },
    }
}

/// The value of this length that begins there.
#[inline]
fn value(bytes: &[u8], begin: usize, length: usize) -> Result<Found, Garbage> {
    let end = begin + length;
    let whole = end + END.len();
    match bytes.get(end..whole) {
        None => Ok(Found::Part(whole)),
        Some(END) => Ok(Found::Whole(Reply {
            kind: Kind::Value,
            body: begin..end,
            length: whole,
        })),
        Some(_) => Err(Garbage),
    }
}

/// What stands between the first byte and the end of the line; `None` where that has not come yet.
#[inline]
fn line(bytes: &[u8]) -> Result<Option<Range<usize>>, Garbage> {
    let seen = &bytes[..bytes.len().min(LINE_MAX)];
    match seen.iter().position(|byte| *byte == b'\r') {
        None if bytes.len() >= LINE_MAX => Err(Garbage),
        None => Ok(None),
        Some(end) => match bytes.get(end + 1) {
            None => Ok(None),
            Some(b'\n') => Ok(Some(1..end)),
            Some(_) => Err(Garbage),
        },
    }
}

/// A length or a number of parts, at most `most`; `None` for -1, which is nothing.
#[inline]
fn count(text: &[u8], most: usize) -> Result<Option<usize>, Garbage> {
    if text == b"-1" {
        return Ok(None);
    }
    let found = usize::try_from(number(text)?).map_err(|_| Garbage)?;
    if found > most {
        return Err(Garbage);
    }
    Ok(Some(found))
}

#[inline]
fn number(text: &[u8]) -> Result<i64, Garbage> {
    let (is_negative, digits) = match text.split_first() {
        Some((b'-', digits)) => (true, digits),
        _ => (false, text),
    };
    // 19 digits are more than 64 bits hold, which the sums find out.
    if digits.is_empty() || digits.len() > 19 {
        return Err(Garbage);
    }
    let mut sum = 0_i64;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return Err(Garbage);
        }
        let next = sum.checked_mul(10);
        let next = next.and_then(|ten| ten.checked_add(i64::from(digit - b'0')));
        sum = next.ok_or(Garbage)?;
    }
    Ok(if is_negative { -sum } else { sum })
}

/// Puts a command behind what is there: an array of values.
pub(super) fn command(out: &mut BytesMut, parts: &[&[u8]]) {
    head(out, b'*', parts.len());
    for part in parts {
        head(out, b'$', part.len());
        out.extend_from_slice(part);
        out.extend_from_slice(END);
    }
}

/// The line that says how many or how long.
pub(super) fn head(out: &mut BytesMut, kind: u8, count: usize) {
    out.put_u8(kind);
    out.extend_from_slice(count.to_string().as_bytes());
    out.extend_from_slice(END);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn whole(bytes: &[u8]) -> (Kind, &[u8], usize) {
        match reply(bytes) {
            Ok(Found::Whole(reply)) => (reply.kind, &bytes[reply.body], reply.length),
            other => panic!("{}: {other:?}", bytes.escape_ascii()),
        }
    }

    #[test]
    fn replies_are_what_the_specification_says() {
        let check = |bytes: &[u8], kind: Kind, body: &[u8]| {
            assert_eq!(whole(bytes), (kind, body, bytes.len()));
            // What comes behind it is none of it.
            let more = [bytes, b"+OK\r\n"].concat();
            assert_eq!(whole(&more), (kind, body, bytes.len()));
            // And no part of it is a reply.
            for end in 0..bytes.len() {
                match reply(&bytes[..end]) {
                    Ok(Found::Part(least)) => assert!(least > end && least <= bytes.len()),
                    other => panic!("{}: {other:?}", bytes[..end].escape_ascii()),
                }
            }
        };
        check(b"+OK\r\n", Kind::Word, b"OK");
        check(b"-ERR no\r\n", Kind::Error, b"ERR no");
        check(b":1000\r\n", Kind::Number(1000), b"1000");
        check(b":-7\r\n", Kind::Number(-7), b"-7");
        check(b"$5\r\nhello\r\n", Kind::Value, b"hello");
        check(b"$2\r\n\r\n\r\n", Kind::Value, b"\r\n");
        check(b"$0\r\n\r\n", Kind::Value, b"");
        check(b"$-1\r\n", Kind::Nothing, b"-1");
        check(b"*-1\r\n", Kind::Nothing, b"-1");
        check(b"*2\r\n", Kind::Array(2), b"2");
    }

    #[test]
    fn what_is_no_reply_is_refused_before_room_is_made_for_it() {
        for bytes in [
            &b"HTTP/1.1 400 Bad Request\r\n"[..],
            b"\0\0\0\0",
            b"$-2\r\n",
            b"$16777217\r\n",
            b"$99999999999999999999\r\n",
            b"$9223372036854775808\r\n",
            b"$ 3\r\nabc\r\n",
            b"$3\r\nabcde",
            b"*1025\r\n",
            b":\r\n",
            b":1x\r\n",
            b"+OK\rx",
            b"%1\r\n",
        ] {
            assert_eq!(reply(bytes), Err(Garbage), "{}", bytes.escape_ascii());
        }
        let endless = [b"+".as_slice(), &vec![b'a'; LINE_MAX]].concat();
        assert_eq!(reply(&endless), Err(Garbage));
        assert!(matches!(
            reply(&endless[..LINE_MAX - 1]),
            Ok(Found::Part(_))
        ));
        assert!(matches!(reply(b"$16777216\r\n"), Ok(Found::Part(_))));
    }

    #[test]
    fn commands_are_arrays_of_values() {
        let mut out = BytesMut::new();
        command(&mut out, &[b"SET", b"a b", b"\r\n"]);
        command(&mut out, &[b"PING"]);
        let expected = b"*3\r\n$3\r\nSET\r\n$3\r\na b\r\n$2\r\n\r\n\r\n*1\r\n$4\r\nPING\r\n";
        assert_eq!(&out[..], expected);
    }

    proptest! {
        #[test]
        fn no_bytes_break_it(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            match reply(&bytes) {
                Ok(Found::Whole(reply)) => {
                    prop_assert!(reply.length <= bytes.len() && reply.body.end <= reply.length);
                }
                Ok(Found::Part(least)) => {
                    prop_assert!(least > bytes.len() && least <= VALUE_MAX + LINE_MAX);
                }
                Err(Garbage) => {}
            }
        }

        #[test]
        fn nor_do_such_that_look_like_replies(text in "[-+:$*][-0-9]{0,21}(\r\n)?[a-z\r\n]{0,9}") {
            if let Ok(Found::Part(least)) = reply(text.as_bytes()) {
                prop_assert!(least > text.len() && least <= VALUE_MAX + LINE_MAX);
            }
        }

        #[test]
        fn what_is_sent_as_a_value_comes_back(value in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut out = BytesMut::new();
            command(&mut out, &[&value]);
            let (kind, _, length) = whole(&out);
            prop_assert_eq!(kind, Kind::Array(1));
            let (kind, body, rest) = whole(&out[length..]);
            prop_assert_eq!((kind, body, length + rest), (Kind::Value, &value[..], out.len()));
        }
    }
}
