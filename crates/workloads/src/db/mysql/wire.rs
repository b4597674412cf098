//! A connection as the protocol has it: a command in one write, and packets until the server is done with it.

use super::decode::{self, END, ERROR, Ended, HEADER, OK, Parts};
use super::{Garbage, Refused, error};
use crate::db::server::line::Line;
use crate::db::server::trouble::Trouble;
use bytes::BufMut;
use std::ops::Range;

/// The flag that each statement is a transaction by itself where none was begun.
pub(super) const AUTOCOMMIT: u16 = 2;

/// A connection.
#[derive(Debug)]
pub(super) struct Wire {
    pub(super) line: Line,
    /// The number of the next packet, by which both sides notice when one is missing.
    pub(super) number: u8,
    /// Where the packet begins that is being written.
    begin: usize,
    /// Whether rows end without a packet between them and their description.
    pub(super) is_without_eof: bool,
    /// Whether an answer says if it describes its columns.
    pub(super) caches_metadata: bool,
}

/// What was answered to a statement, as far as it concerns everybody.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Done {
    /// Rows that were changed.
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

impl From<Ended> for Done {
    fn from(ended: Ended) -> Self {
        Self {
            rows: ended.rows,
            refused: None,
        }
    }
}

impl Wire {
    pub(super) const fn over(line: Line) -> Self {
        Self {
            line,
            number: 0,
            begin: 0,
            is_without_eof: false,
            caches_metadata: false,
        }
    }

    /// Begins a command, whose answer begins its own count of packets.
    #[inline]
    pub(super) fn begin(&mut self) {
        self.number = 0;
        self.begin_packet();
    }

    /// Begins a packet of a conversation that goes on.
    #[inline]
    pub(super) fn begin_packet(&mut self) {
        self.begin = self.line.out.len();
        self.line.out.put_u32_le(0);
    }

    /// Ends what was begun, and writes it.
    #[inline]
    pub(super) fn send(&mut self) -> Result<(), Trouble> {
        self.end_packet();
        self.line.send()
    }

    /// Ends a packet that is written with what follows.
    #[inline]
    pub(super) fn end_packet(&mut self) {
        let length = self.line.out.len() - self.begin - HEADER;
        // Statements of ours are shorter than 16 MiB.
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        let header = length.to_le_bytes();
        let packet = &mut self.line.out[self.begin..];
        packet[..3].copy_from_slice(&header[..3]);
        packet[3] = self.number;
        self.number = self.number.wrapping_add(1);
    }

    /// The next packet; waits for it.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Range<usize>, Trouble> {
        loop {
            let there = self.line.there();
            let length = match decode::packet(there)? {
                Some((number, length)) if length <= there.len() => {
                    if number != self.number {
                        return Err(Garbage.into());
                    }
                    self.number = self.number.wrapping_add(1);
                    let whole = self.line.take(length);
                    return Ok(whole.start + HEADER..whole.end);
                }
                Some((_, length)) => length,
                None => HEADER,
            };
            self.line.fill(length)?;
        }
    }

    /// What stands in a packet that was the last one.
    #[inline]
    pub(super) fn body(&self, packet: Range<usize>) -> &[u8] {
        self.line.taken(packet)
    }

    /// The next packet's body.
    #[inline]
    pub(super) fn next_body(&mut self) -> Result<&[u8], Trouble> {
        let packet = self.next()?;
        Ok(self.body(packet))
    }

    /// Passes over descriptions of columns or parameters, and the packet behind them.
    pub(super) fn pass(&mut self, descriptions: u64) -> Result<(), Trouble> {
        for _ in 0..descriptions {
            self.next()?;
        }
        if descriptions > 0 && !self.is_without_eof {
            let end = self.next_body()?;
            if end.first() != Some(&END) || end.len() > 5 {
                return Err(Garbage.into());
            }
        }
        Ok(())
    }

    /// Reads all of the answer to a statement; `row` takes each row. A code after which a transaction is tried again is
    /// no error of the connection: it is in what was done.
    #[inline]
    pub(super) fn answer(
        &mut self,
        mut row: impl FnMut(&[u8]) -> Result<(), Garbage>,
    ) -> Result<Done, Trouble> {
        let (is_without_eof, caches_metadata) = (self.is_without_eof, self.caches_metadata);
        let first = self.next_body()?;
        match first.first() {
            Some(&OK) => return Ok(decode::ended(first)?.into()),
            Some(&ERROR) => return refused(first),
            _ => {}
        }
        let mut parts = Parts(first);
        let columns = parts.number()?.ok_or(Garbage)?;
        let is_described = !caches_metadata || parts.u8()? == 1;
        if !parts.0.is_empty() || columns > COLUMNS_MAX {
            return Err(Garbage.into());
        }
        if is_described {
            self.pass(columns)?;
        } else if !is_without_eof {
            return Err(Garbage.into());
        }
        loop {
            let packet = self.next_body()?;
            match packet.first() {
                Some(&ERROR) => return refused(packet),
                Some(&END) if is_without_eof => return Ok(decode::ended(packet)?.into()),
                // The warnings and the flags of the connection.
                Some(&END) if packet.len() == 5 => return Ok(Done::default()),
                _ => row(packet)?,
            }
        }
    }
}

/// More columns are none of what is asked for.
const COLUMNS_MAX: u64 = 100;

fn refused(packet: &[u8]) -> Result<Done, Trouble> {
    let (code, _) = decode::error(packet)?;
    let refused = Refused::of(code).ok_or_else(|| error::told(packet))?;
    Ok(Done {
        rows: 0,
        refused: Some(refused),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::mysql::decode::PACKET_MAX;
    use crate::db::server::line::READ_BYTES;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    /// These packets, numbered from 1 on.
    fn packets(bodies: &[&[u8]]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (body, number) in bodies.iter().zip(1_u8..) {
            bytes.extend(&u32::try_from(body.len()).unwrap().to_le_bytes()[..3]);
            bytes.push(number);
            bytes.extend(*body);
        }
        bytes
    }

    /// What a connection makes of these bytes, after which nothing comes.
    fn heard(bytes: &[u8], caches: bool) -> (Wire, Result<Done, Trouble>, u64) {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(bytes).unwrap();
        drop(theirs);
        let mut wire = Wire::over(Line::over(ours));
        wire.caches_metadata = caches;
        wire.is_without_eof = caches;
        wire.number = 1;
        let mut rows = 0;
        let done = wire.answer(|_| {
            rows += 1;
            Ok(())
        });
        (wire, done, rows)
    }

    const ENDED: &[u8] = b"\xfe\0\0\x03\0\0\0";

    #[test]
    fn rows_end_as_was_agreed() {
        // As MariaDB sends them, with a description and without.
        for begin in [&[&b"\x01\x00"[..]][..], &[b"\x01\x01", b"column"]] {
            let all = [begin, &[b"\0\0\x01x", ENDED]].concat();
            let (_, done, rows) = heard(&packets(&all), true);
            assert_eq!((done.unwrap().refused, rows), (None, 1));
        }
        // And as servers did before.
        let old: &[&[u8]] = &[
            b"\x01",
            b"column",
            b"\xfe\0\0\x02\0",
            b"\0\0\x01x",
            b"\xfe\0\0\x03\0",
        ];
        let (_, done, rows) = heard(&packets(old), false);
        assert_eq!((done.unwrap().refused, rows), (None, 1));
        let (_, done, _) = heard(&packets(&[b"\0\x07\0\x02\0\0\0"]), true);
        assert_eq!(done.unwrap().rows, 7);
    }

    #[test]
    fn a_code_after_which_one_tries_again_is_no_trouble_and_others_are() {
        let deadlock: &[u8] = b"\xff\xbd\x04#40001Deadlock";
        for all in [&[deadlock][..], &[b"\x01\0", b"\0\0\x01x", deadlock]] {
            let (_, done, _) = heard(&packets(all), true);
            assert_eq!(done.unwrap().refused.unwrap().code, 1213);
        }
        let (_, done, _) = heard(&packets(&[b"\xff\x7a\x04#42S02No such table"]), true);
        assert!(matches!(done, Err(Trouble::Told(told)) if told.code == "1146"));
    }

    #[test]
    fn what_ends_in_the_middle_or_is_endless_is_an_error_and_takes_no_memory() {
        for bytes in [&b""[..], b"\x05\0", b"\x05\0\0\x01ab", b"\0\0\x10\x01ab"] {
            let (wire, done, _) = heard(bytes, true);
            assert!(matches!(done, Err(Trouble::Ended)), "{bytes:?}: {done:?}");
            assert!(wire.line.capacity() <= PACKET_MAX + HEADER);
        }
        for bytes in [
            &b"\xff\xff\xff\x01"[..],
            b"HTTP/1.1",
            // A number that is another one's turn.
            b"\x07\0\0\x02\0\0\0\x02\0\0\0",
            // The wish for a file of ours.
            b"\x02\0\0\x01\xfbx",
            b"\x03\0\0\x01\xfc\xff\xff",
        ] {
            let (wire, done, _) = heard(bytes, true);
            assert!(
                matches!(done, Err(Trouble::Garbage(_))),
                "{bytes:?}: {done:?}"
            );
            assert_eq!(wire.line.capacity(), READ_BYTES);
        }
    }

    #[test]
    fn what_is_written_has_its_length_and_number() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut wire = Wire::over(Line::over(ours));
        for body in [&b"\x03BEGIN"[..], b"\x03x"] {
            wire.begin();
            wire.line.out.put_slice(body);
            wire.send().unwrap();
        }
        let mut sent = [0; 16];
        std::io::Read::read_exact(&mut theirs, &mut sent).unwrap();
        assert_eq!(&sent, b"\x06\0\0\0\x03BEGIN\x02\0\0\0\x03x");
    }
}
