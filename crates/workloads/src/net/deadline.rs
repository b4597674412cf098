//! One deadline over many reads and writes of a TCP connection: who sends a byte a second does not get past it.

use super::exchange::is_time_out;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::time::Duration;
use sys::until::Until;

/// A connection until an instant. Each call may take what is left, and then fails with [`ErrorKind::TimedOut`].
#[derive(Clone, Copy, Debug)]
pub struct Timed<'a> {
    stream: &'a TcpStream,
    until: Until,
}

impl<'a> Timed<'a> {
    /// From now until then. The time-outs of the socket are its own from now on.
    pub const fn new(stream: &'a TcpStream, until: Until) -> Self {
        Self { stream, until }
    }
}

/// Whether there is something to read, the end too, within so long; not where a signal came between.
pub(super) fn is_readable_within(stream: &TcpStream, at_most: Duration) -> io::Result<bool> {
    match sys::ready::is_readable_within(stream.as_fd(), at_most) {
        Err(error) if error.kind() == ErrorKind::Interrupted => Ok(false),
        other => other,
    }
}

/// Ends what is sent, and waits so long at most until the other end has seen that, so that whoever comes next does not
/// find it busy.
pub(super) fn leave(stream: &TcpStream, at_most: Duration) {
    const TAKEN_MAX: u64 = 64;
    let _ = stream.shutdown(Shutdown::Write);
    let mut rest = Read::take(Timed::new(stream, Until::after(at_most)), TAKEN_MAX);
    let _ = io::copy(&mut rest, &mut io::sink());
}

/// What is left; an error where that is nothing.
fn left(until: Until) -> io::Result<Duration> {
    until.left().ok_or_else(|| ErrorKind::TimedOut.into())
}

/// Linux calls a time-out of a socket `EAGAIN`.
fn named(error: io::Error) -> io::Error {
    if is_time_out(&error) {
        ErrorKind::TimedOut.into()
    } else {
        error
    }
}

impl Read for Timed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(left(self.until)?))?;
        let mut stream = self.stream;
        stream.read(buffer).map_err(named)
    }
}

impl Write for Timed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(left(self.until)?))?;
        let mut stream = self.stream;
        stream.write(bytes).map_err(named)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, TcpListener};

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (one, listener.accept().unwrap().0)
    }

    #[test]
    fn a_byte_now_and_then_does_not_get_past_it() {
        let (ours, theirs) = pair();
        let begun = sys::clock::monotonic();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let mut theirs = theirs;
                while theirs.write_all(b"a").is_ok() {
                    sys::clock::sleep(10_000_000);
                }
            });
            let mut timed = Timed::new(&ours, Until::after(Duration::from_millis(200)));
            let why = timed.read_exact(&mut [0; 4096]).unwrap_err();
            assert_eq!(why.kind(), ErrorKind::TimedOut, "{why}");
            drop(ours);
        });
        let taken = Duration::from_nanos(sys::clock::monotonic() - begun);
        // It ended, and long before the 40 s that all of the bytes take.
        assert!((200..20_000).contains(&taken.as_millis()), "{taken:?}");
    }

    #[test]
    fn nobody_who_reads_nothing_holds_a_write_up() {
        let (ours, _theirs) = pair();
        let mut timed = Timed::new(&ours, Until::after(Duration::from_millis(100)));
        let why = timed.write_all(&vec![0; 64 << 20]).unwrap_err();
        assert_eq!(why.kind(), ErrorKind::TimedOut, "{why}");
        let mut over = Timed::new(&ours, Until::after(Duration::ZERO));
        assert_eq!(over.read(&mut [0]).unwrap_err().kind(), ErrorKind::TimedOut);
    }
}
