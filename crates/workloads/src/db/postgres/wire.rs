//! A connection: one write for a statement, and reads into one buffer until the server is ready again.
//!
//! Blocking sockets: a thread per connection is how sysbench works, and one that waits for many connections was
//! measured and is no faster (docs/method/database.md). Nothing is allocated for a statement; a server that says
//! nothing is not waited for longer than the time-outs, and one that says too much gets no memory for it.

use super::decode::{self, Code, Garbage, MESSAGE_MAX};
use super::error::Trouble;
use crate::db::address::{Address, Host};
use bytes::BytesMut;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::ops::Range;
use std::os::unix::net::UnixStream;
use std::time::Duration;
use sys::names::addresses;

/// Being let in may take this long.
const CONNECT_MAX: Duration = Duration::from_secs(10);

/// What is read at once: the hundred rows of a range have 13 KB.
const READ_BYTES: usize = 32 << 10;

/// A socket of either kind.
#[derive(Debug)]
enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// What was said, in the buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) tag: u8,
    body: Range<usize>,
}

/// A connection.
#[derive(Debug)]
pub(super) struct Wire {
    socket: Socket,
    /// What is to be written.
    pub(super) out: BytesMut,
    read: Vec<u8>,
    /// What was read and not looked at.
    begin: usize,
    end: usize,
    /// The server's word on the transaction: `I` for none, `T` in one, `E` in one that failed.
    pub(super) status: u8,
}

/// What was answered to a statement, as far as it concerns everybody.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Done {
    /// Rows that were concerned.
    pub(super) rows: u64,
    /// Why it failed.
    pub(super) code: Option<Code>,
}

fn connected(to: &Address) -> Result<Socket, Trouble> {
    let refused = Trouble::Connect;
    match &to.host {
        Host::Socket(dir) => UnixStream::connect(to.engine.socket_at(dir, to.port))
            .map(Socket::Unix)
            .map_err(refused),
        Host::Name(name) => {
            let mut last = io::ErrorKind::NotFound.into();
            for place in addresses(name, to.port, CONNECT_MAX).map_err(Trouble::Name)? {
                match TcpStream::connect_timeout(&place, CONNECT_MAX) {
                    Ok(stream) => {
                        stream.set_nodelay(true).map_err(refused)?;
                        return Ok(Socket::Tcp(stream));
                    }
                    Err(error) => last = error,
                }
            }
            Err(refused(last))
        }
    }
}

impl Wire {
    /// Connects, and says nothing yet.
    pub(super) fn connect(to: &Address) -> Result<Self, Trouble> {
        let mut wire = Self::over(connected(to)?);
        wire.wait_at_most(CONNECT_MAX).map_err(Trouble::Connect)?;
        Ok(wire)
    }

    fn over(socket: Socket) -> Self {
        Self {
            socket,
            out: BytesMut::with_capacity(4096),
            read: vec![0; READ_BYTES],
            begin: 0,
            end: 0,
            status: b'I',
        }
    }

    /// How long a single read or write may take from now on.
    pub(super) fn wait_at_most(&mut self, time: Duration) -> io::Result<()> {
        let time = Some(time);
        match &self.socket {
            Socket::Tcp(socket) => {
                socket.set_read_timeout(time)?;
                socket.set_write_timeout(time)
            }
            Socket::Unix(socket) => {
                socket.set_read_timeout(time)?;
                socket.set_write_timeout(time)
            }
        }
    }

    /// The descriptor, for asking who is at the other end of a Unix socket; `None` for the network.
    pub(super) fn unix(&self) -> Option<&UnixStream> {
        match &self.socket {
            Socket::Unix(socket) => Some(socket),
            Socket::Tcp(_) => None,
        }
    }

    /// True where the other end of the network is this machine's own address.
    pub(super) fn is_loopback(&self) -> bool {
        match &self.socket {
            Socket::Unix(_) => true,
            Socket::Tcp(socket) => socket.peer_addr().is_ok_and(|peer| peer.ip().is_loopback()),
        }
    }

    /// Writes what has been put into [`Self::out`].
    #[inline]
    pub(super) fn send(&mut self) -> Result<(), Trouble> {
        let sent = match &mut self.socket {
            Socket::Tcp(socket) => socket.write_all(&self.out),
            Socket::Unix(socket) => socket.write_all(&self.out),
        };
        self.out.clear();
        sent.map_err(Trouble::from_io)
    }

    /// The next message; waits for it.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Said, Trouble> {
        loop {
            let there = &self.read[self.begin..self.end];
            let length = match decode::message(there)? {
                Some((tag, length)) if length <= there.len() => {
                    let body = self.begin + decode::HEADER..self.begin + length;
                    self.begin += length;
                    return Ok(Said { tag, body });
                }
                Some((_, length)) => length,
                None => decode::HEADER,
            };
            self.fill(length)?;
        }
    }

    /// Reads more, where a message of this length is to fit in.
    fn fill(&mut self, length: usize) -> Result<(), Trouble> {
        debug_assert!(
            length <= MESSAGE_MAX + 1,
            "a decoder lets no longer one through"
        );
        if self.begin == self.end {
            (self.begin, self.end) = (0, 0);
        } else if self.begin + length > self.read.len() {
            self.read.copy_within(self.begin..self.end, 0);
            (self.begin, self.end) = (0, self.end - self.begin);
        }
        if length > self.read.len() {
            self.read.resize(length, 0);
        }
        let room = &mut self.read[self.end..];
        let read = loop {
            let read = match &mut self.socket {
                Socket::Tcp(socket) => socket.read(room),
                Socket::Unix(socket) => socket.read(room),
            };
            match read {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other.map_err(Trouble::from_io)?,
            }
        };
        if read == 0 {
            return Err(Trouble::Ended);
        }
        self.end += read;
        Ok(())
    }

    /// What stands in a message that was the last one.
    pub(super) fn body(&self, said: &Said) -> &[u8] {
        &self.read[said.body.clone()]
    }

    /// Reads until the server is ready for the next statement; `row` takes each row. An error of the statement is no
    /// error of the connection: its code is in what was done.
    #[inline]
    pub(super) fn answer(
        &mut self,
        mut row: impl FnMut(&[u8]) -> Result<(), Garbage>,
    ) -> Result<Done, Trouble> {
        let mut done = Done::default();
        loop {
            let said = self.next()?;
            match said.tag {
                b'D' => row(self.body(&said))?,
                b'C' => done.rows += decode::rows_of(self.body(&said))?,
                b'Z' => {
                    let status = self.body(&said).first().copied();
                    self.status = status.filter(|one| b"ITE".contains(one)).ok_or(Garbage)?;
                    return Ok(done);
                }
                b'E' => {
                    let body = self.body(&said);
                    let code = decode::code(body)?;
                    if !super::is_tried_again(code) {
                        return Err(Trouble::told(body));
                    }
                    done.code = Some(code);
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
    use crate::db::engines::Engine;
    use proptest::prelude::*;

    /// What a connection makes of these bytes, after which nothing comes.
    fn heard(bytes: &[u8]) -> (Wire, Result<Done, Trouble>, u64) {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(bytes).unwrap();
        drop(theirs);
        let mut wire = Wire::over(Socket::Unix(ours));
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
        assert_eq!(done.unwrap().code.unwrap().to_string(), "40P01");
        assert_eq!(wire.status, b'E');
        let (_, done, _) = refused("42P01");
        assert!(matches!(done, Err(Trouble::Told { .. })));
    }

    #[test]
    fn what_ends_in_the_middle_or_is_endless_is_an_error_and_takes_no_memory() {
        for bytes in [&b""[..], b"D\0\0", b"D\0\0\0\x20abc", b"D\0\x0f\xff\xffabc"] {
            let (wire, done, _) = heard(bytes);
            assert!(matches!(done, Err(Trouble::Ended)), "{bytes:?}: {done:?}");
            assert!(wire.read.len() <= MESSAGE_MAX + 1);
        }
        for bytes in [
            &b"D\xff\xff\xff\xff"[..],
            b"HTTP/1.1",
            b"Z\0\0\0\x05X",
            b"Z\0\0\0\x04",
        ] {
            let (wire, done, _) = heard(bytes);
            assert!(matches!(done, Err(Trouble::Garbage)), "{bytes:?}: {done:?}");
            assert_eq!(wire.read.len(), READ_BYTES);
        }
    }

    #[test]
    fn a_server_that_says_nothing_is_not_waited_for() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let mut wire = Wire::over(Socket::Unix(ours));
        wire.wait_at_most(Duration::from_millis(20)).unwrap();
        assert!(matches!(wire.next(), Err(Trouble::Silent)));
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
        let mut wire = Wire::over(Socket::Unix(ours));
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

    #[test]
    fn what_is_no_host_is_told_before_anybody_is_asked() {
        let to = Address {
            engine: Engine::Postgres,
            user: "bob".to_owned(),
            host: Host::Name("db..example".to_owned()),
            port: 5432,
            database: "shop".to_owned(),
        };
        let why = connected(&to).unwrap_err();
        assert!(why.is_lasting(), "{why}");
        let why = why.to_string();
        assert!(
            why.contains("`db..example`") && why.contains("hint: "),
            "{why}"
        );
    }

    proptest! {
        #[test]
        fn no_bytes_break_a_connection(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
            let (wire, _, _) = heard(&bytes);
            prop_assert!(wire.read.len() <= MESSAGE_MAX + 1);
        }
    }
}
