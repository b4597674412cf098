//! A connection as the protocol has it: a message after the other, until the server is ready again.

use super::decode::{self, Garbage};
use super::{Refused, error};
use crate::db::address::Address;
use crate::db::server::line::Line;
use crate::db::server::trouble::Trouble;
use std::ops::Range;

/// What was said, in the buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) tag: u8,
    body: Range<usize>,
}

/// A connection.
#[derive(Debug)]
pub(super) struct Wire {
    pub(super) line: Line,
    /// The server's word on the transaction: `I` for none, `T` in one, `E` in one that failed.
    pub(super) status: u8,
}

/// What was answered to a statement, as far as it concerns everybody.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Done {
    /// Rows that were concerned.
    pub(super) rows: u64,
    /// Why it failed, where it is to be tried again.
    pub(super) refused: Option<Refused>,
}

impl Done {
    /// The place of the code with which it was refused.
    pub(super) fn place(&self) -> Option<usize> {
        self.refused.map(|refused| refused.place)
    }
}

impl Wire {
    /// Connects, and says nothing yet.
    pub(super) fn connect(to: &Address) -> Result<Self, Trouble> {
        Line::connect(to).map(Self::over)
    }

    pub(super) const fn over(line: Line) -> Self {
        Self { line, status: b'I' }
    }

    /// Writes what has been put into the line.
    #[inline]
    pub(super) fn send(&mut self) -> Result<(), Trouble> {
        match self.line.send() {
            Err(Trouble::Ended) => Err(self.last_words()),
            sent => sent,
        }
    }

    /// Who ended a connection may have said why.
    #[cold]
    fn last_words(&mut self) -> Trouble {
        match self.answer(|_| Ok(())) {
            Err(told @ Trouble::Told(_)) => told,
            _ => Trouble::Ended,
        }
    }

    /// The next message; waits for it.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Said, Trouble> {
        loop {
            let there = self.line.there();
            let length = match decode::message(there)? {
                Some((tag, length)) if length <= there.len() => {
                    let whole = self.line.take(length);
                    let body = whole.start + decode::HEADER..whole.end;
                    return Ok(Said { tag, body });
                }
                Some((_, length)) => length,
                None => decode::HEADER,
            };
            self.line.fill(length)?;
        }
    }

    /// What stands in a message that was the last one.
    pub(super) fn body(&self, said: &Said) -> &[u8] {
        self.line.taken(said.body.clone())
    }

    /// Reads until the server is ready for the next statement, also where it has told an error, after which the
    /// connection may go on; `row` takes each row. A code after which one tries again is no error: it is in what was
    /// done.
    #[inline]
    pub(super) fn answer(
        &mut self,
        mut row: impl FnMut(&[u8]) -> Result<(), Garbage>,
    ) -> Result<Done, Trouble> {
        let (mut done, mut told) = (Done::default(), None);
        loop {
            let said = match self.next() {
                Ok(said) => said,
                // Who ends a connection may have said why.
                Err(trouble) => return Err(told.unwrap_or(trouble)),
            };
            match said.tag {
                b'D' => row(self.body(&said))?,
                b'C' => {
                    let rows = decode::rows_of(self.body(&said))?;
                    done.rows = done.rows.saturating_add(rows);
                }
                b'Z' => {
                    let status = self.body(&said).first().copied();
                    self.status = status.filter(|one| b"ITE".contains(one)).ok_or(Garbage)?;
                    return told.map_or(Ok(done), Err);
                }
                b'E' => {
                    let body = self.body(&said);
                    match Refused::of(decode::code(body)?) {
                        None => told = told.or_else(|| Some(error::told(body))),
                        refused => done.refused = refused,
                    }
                }
                // Parsed, bound, described, a notice, a setting, a notification, no rows.
                b'1' | b'2' | b'3' | b'N' | b'S' | b'A' | b'I' | b'T' | b'n' | b't' => {}
                _ => return Err(Garbage.into()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::postgres::decode::MESSAGE_MAX;
    use crate::db::server::line::READ_BYTES;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    /// What a connection makes of these bytes, after which nothing comes.
    fn heard(bytes: &[u8]) -> (Wire, Result<Done, Trouble>, u64) {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(bytes).unwrap();
        drop(theirs);
        let mut wire = Wire::over(Line::over(ours));
        let mut rows = 0;
        let done = wire.answer(|_| {
            rows += 1;
            Ok(())
        });
        (wire, done, rows)
    }

    #[test]
    fn an_answer_ends_when_the_server_is_ready() {
        let bytes = b"2\0\0\0\x04D\0\0\0\x06\0\0N\0\0\0\x05\0C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05T";
        let (wire, done, rows) = heard(bytes);
        assert_eq!((done.unwrap().rows, rows, wire.status), (1, 1, b'T'));
        // A code after which one tries again is no trouble, and others are.
        let refused = |code: &str| {
            let mut bytes = format!("E\0\0\0\x0fC{code}\0Mx\0\0").into_bytes();
            bytes[4] = u8::try_from(bytes.len() - 1).unwrap();
            bytes.extend_from_slice(b"Z\0\0\0\x05E");
            heard(&bytes)
        };
        let (wire, done, _) = refused("40P01");
        assert_eq!(done.unwrap().place(), Some(1));
        assert_eq!(wire.status, b'E');
        let (_, done, _) = refused("42P01");
        assert!(matches!(done, Err(Trouble::Told(_))));
    }

    #[test]
    fn an_error_is_read_to_its_end_and_the_next_answer_is_its_own() {
        let error = b"E\0\0\0\x0fC42P01\0Mx\0\0";
        let (mut wire, done, _) = heard(
            &[
                &error[..],
                b"Z\0\0\0\x05I",
                b"C\0\0\0\x0dUPDATE 7\0",
                b"Z\0\0\0\x05I",
            ]
            .concat(),
        );
        assert!(matches!(done, Err(Trouble::Told(_))), "{done:?}");
        assert_eq!(wire.answer(|_| Ok(())).unwrap().rows, 7);
        // Who says nothing more has said why, to whoever asks next too.
        let (_, done, _) = heard(error);
        assert!(matches!(done, Err(Trouble::Told(_))), "{done:?}");
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(error).unwrap();
        drop(theirs);
        let mut wire = Wire::over(Line::over(ours));
        wire.line.out.extend_from_slice(b"X\0\0\0\x04");
        assert!(matches!(wire.send(), Err(Trouble::Told(_))));
    }

    #[test]
    fn what_ends_in_the_middle_or_is_endless_is_an_error_and_takes_no_memory() {
        for bytes in [&b""[..], b"D\0\0", b"D\0\0\0\x20abc", b"D\0\x0f\xff\xffabc"] {
            let (wire, done, _) = heard(bytes);
            assert!(matches!(done, Err(Trouble::Ended)), "{bytes:?}: {done:?}");
            assert!(wire.line.capacity() <= MESSAGE_MAX + 1);
        }
        for bytes in [
            &b"D\xff\xff\xff\xff"[..],
            b"HTTP/1.1",
            b"Z\0\0\0\x05X",
            b"Z\0\0\0\x04",
        ] {
            let (wire, done, _) = heard(bytes);
            assert!(
                matches!(done, Err(Trouble::Garbage(_))),
                "{bytes:?}: {done:?}"
            );
            assert_eq!(wire.line.capacity(), READ_BYTES);
        }
    }

    #[test]
    fn messages_across_the_ends_of_reads_are_whole() {
        // More than the buffer, in messages of odd lengths.
        let mut bytes = Vec::new();
        for length in 0..2000_usize {
            let length = length % 97;
            bytes.push(b'D');
            bytes.extend_from_slice(&u32::try_from(length + 4).unwrap().to_be_bytes());
            bytes.extend(std::iter::repeat_n(7, length));
        }
        bytes.extend_from_slice(b"Z\0\0\0\x05I");
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut wire = Wire::over(Line::over(ours));
        std::thread::scope(|scope| {
            scope.spawn(|| theirs.write_all(&bytes).unwrap());
            let mut rows = 0;
            wire.answer(|row| {
                assert!(row.iter().all(|byte| *byte == 7) && row.len() == rows % 97);
                rows += 1;
                Ok(())
            })
            .unwrap();
            assert_eq!(rows, 2000);
        });
    }
}
