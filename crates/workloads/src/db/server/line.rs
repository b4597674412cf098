//! The socket of a connection and its two buffers: what is written goes out in one call, and what is read stands in one
//! buffer that messages are taken from.
//!
//! Blocking sockets: for transactions a thread per connection, as sysbench works; `db.kv` waits for several at once
//! in one. Nothing is allocated for a statement; a server that says nothing is not waited for longer than the
//! time-outs, and one that says too much gets no memory for it: how long a message may be says who reads it.

use super::facts::fact;
use super::tls::{self, Tls};
use super::trouble::{Trouble, stranger};
use super::trust::TlsTrouble;
use crate::connect::{NotConnected, connect};
use crate::db::address::{Address, Host};
use crate::db::engines::Engine;
use bytes::BytesMut;
use model::named::ServerFact;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;
use sys::ready::is_readable_within;
use sys::socket::keep_alive;
use sys::until::Until;

/// Being let in may take this long.
pub(in crate::db) const CONNECT_MAX: Duration = Duration::from_secs(10);

/// What is read at once: the hundred rows of a range have 13 KB.
pub(in crate::db) const READ_BYTES: usize = 32 << 10;

/// What says whether connections are encrypted.
pub(super) const TLS: &str = "tls";

/// A socket of any kind.
#[derive(Debug)]
enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(Box<Tls>),
}

impl Socket {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> Result<(), Trouble> {
        match self {
            Self::Tcp(socket) => socket.write_all(bytes).map_err(Trouble::from_io),
            Self::Unix(socket) => socket.write_all(bytes).map_err(Trouble::from_io),
            Self::Tls(tls) => tls.write(bytes),
        }
    }
}

/// A connection whose messages nobody has looked at.
#[derive(Debug)]
pub(in crate::db) struct Line {
    socket: Socket,
    /// How long a single read or write may take.
    patience: Duration,
    /// Nothing is waited for before a read.
    reads_at_once: bool,
    /// What is to be written.
    pub(in crate::db) out: BytesMut,
    read: Vec<u8>,
    /// Being let in ends by then, by the monotonic clock; `None` once it has.
    let_in_by: Option<Until>,
    /// What was read and not taken.
    begin: usize,
    end: usize,
}

fn connected(to: &Address, by: Until) -> Result<Socket, Trouble> {
    let refused = |error| Trouble::Connect(to.engine, error);
    match &to.host {
        Host::Socket(named) => UnixStream::connect(to.engine.socket_at(named, to.port))
            .map(Socket::Unix)
            .map_err(refused),
        Host::Name(name) => {
            let stream = connect(name, to.port, by).map_err(|why| match why {
                NotConnected::Name(why) => Trouble::Name(why),
                NotConnected::Late => Trouble::Silent,
                NotConnected::Refused(error) => refused(error),
            })?;
            stream.set_nodelay(true).map_err(refused)?;
            keep_alive(stream.as_fd()).map_err(refused)?;
            Ok(Socket::Tcp(stream))
        }
    }
}

/// A reader that sleeps in the read itself is woken a second time: Linux wakes it when the other end takes what was
/// written, which makes room that nobody waits for (at Unix sockets alone). One that sleeps in poll(2), as the
/// libraries of these servers do, is not.
fn read_unix(socket: &mut UnixStream, room: &mut [u8], patience: Duration) -> io::Result<usize> {
    if is_readable_within(socket.as_fd(), patience)? {
        socket.read(room)
    } else {
        Err(io::ErrorKind::TimedOut.into())
    }
}

impl Line {
    /// Connects, and says nothing yet. From here on all of being let in has [`CONNECT_MAX`], also where whoever is
    /// there says something now and then.
    pub(in crate::db) fn connect(to: &Address) -> Result<Self, Trouble> {
        let by = Until::after(CONNECT_MAX);
        let mut line = Self::of(connected(to, by)?);
        line.let_in_by = Some(by);
        Ok(line)
    }

    /// Over a socket that is connected.
    #[cfg(any(test, fuzzing))]
    pub(in crate::db) fn over(socket: UnixStream) -> Self {
        Self::of(Socket::Unix(socket))
    }

    fn of(socket: Socket) -> Self {
        Self {
            socket,
            patience: CONNECT_MAX,
            reads_at_once: false,
            out: BytesMut::with_capacity(4096),
            read: vec![0; READ_BYTES],
            let_in_by: None,
            begin: 0,
            end: 0,
        }
    }

    /// Encrypts from now on, where the address asks for it.
    pub(in crate::db) fn encrypt(&mut self, to: &Address) -> Result<(), Trouble> {
        let Some(asked) = &to.tls else {
            return Ok(());
        };
        let Socket::Tcp(socket) = &self.socket else {
            return Err(TlsTrouble::Absent(to.engine).into());
        };
        // What came already was not encrypted, and would be taken for what is.
        if self.begin != self.end {
            return Err(Trouble::Garbage(to.engine));
        }
        let within = self.let_in_by.map_or(Some(CONNECT_MAX), Until::left);
        let within = within.ok_or(Trouble::Silent)?;
        let socket = socket.try_clone().map_err(Trouble::Io)?;
        self.socket = Socket::Tls(Box::new(tls::open(socket, (to, asked), within)?));
        Ok(())
    }

    /// We are let in: how long a single read or write may take from now on.
    pub(in crate::db) fn wait_at_most(&mut self, time: Duration) -> io::Result<()> {
        self.let_in_by = None;
        self.time_out(time)
    }

    /// What is left of the time for being let in is what the next read or write has.
    #[cold]
    fn hurry(&mut self, by: Until) -> Result<(), Trouble> {
        self.time_out(by.left().ok_or(Trouble::Silent)?)
            .map_err(Trouble::Io)
    }

    fn time_out(&mut self, time: Duration) -> io::Result<()> {
        self.patience = time;
        let time = Some(time);
        if let Socket::Unix(socket) = &self.socket {
            socket.set_read_timeout(time)?;
            return socket.set_write_timeout(time);
        }
        self.tcp().map_or(Ok(()), |socket| {
            socket.set_read_timeout(time)?;
            socket.set_write_timeout(time)
        })
    }

    const fn tcp(&self) -> Option<&TcpStream> {
        match &self.socket {
            Socket::Tcp(socket) => Some(socket),
            Socket::Tls(tls) => Some(&tls.socket),
            Socket::Unix(_) => None,
        }
    }

    /// From now on a read of a Unix socket waits by itself: where whoever reads knows that there is something
    /// ([`Self::socket`], [`Self::holds_more`]), and where the second wake ([`read_unix`]) costs less than poll(2).
    pub(in crate::db) const fn read_at_once(&mut self) {
        self.reads_at_once = true;
    }

    /// Whether more was decrypted than was read, of which the socket says nothing.
    pub(in crate::db) const fn holds_more(&self) -> bool {
        match &self.socket {
            Socket::Tls(tls) => tls.holds_more(),
            Socket::Tcp(_) | Socket::Unix(_) => false,
        }
    }

    /// The socket, for waiting for several.
    pub(in crate::db) fn socket(&self) -> BorrowedFd<'_> {
        match &self.socket {
            Socket::Tcp(socket) => socket.as_fd(),
            Socket::Unix(socket) => socket.as_fd(),
            Socket::Tls(tls) => tls.socket.as_fd(),
        }
    }

    /// The Unix socket, for asking who is at its other end; `None` for the network.
    pub(in crate::db) const fn unix(&self) -> Option<&UnixStream> {
        match &self.socket {
            Socket::Unix(socket) => Some(socket),
            Socket::Tcp(_) | Socket::Tls(_) => None,
        }
    }

    /// Whether nobody between can read what is sent.
    pub(in crate::db) const fn is_encrypted(&self) -> bool {
        matches!(self.socket, Socket::Tls(_))
    }

    /// Whether what is sent reaches nothing but the other end that the address names: encrypted, or over a Unix socket.
    pub(in crate::db) const fn is_private(&self) -> bool {
        matches!(self.socket, Socket::Tls(_) | Socket::Unix(_))
    }

    /// What of the connection decides a figure.
    pub(in crate::db) fn facts(&self) -> Vec<ServerFact> {
        match &self.socket {
            Socket::Tls(tls) => tls.facts().into(),
            Socket::Tcp(_) | Socket::Unix(_) => vec![fact(TLS, "off", "")],
        }
    }

    /// What is said of it with the figures.
    pub(in crate::db) fn note(&self) -> Option<String> {
        match &self.socket {
            Socket::Tls(tls) => Some(tls.note()),
            Socket::Tcp(_) | Socket::Unix(_) => None,
        }
    }

    /// True where the other end of the network is this machine's own address.
    pub(in crate::db) fn is_loopback(&self) -> bool {
        self.tcp().is_none_or(|socket| {
            let peer = socket.peer_addr();
            peer.is_ok_and(|peer| peer.ip().is_loopback())
        })
    }

    /// Writes what has been put into [`Self::out`].
    #[inline]
    pub(in crate::db) fn send(&mut self) -> Result<(), Trouble> {
        if let Some(by) = self.let_in_by {
            self.hurry(by)?;
        }
        let sent = self.socket.write(&self.out);
        self.out.clear();
        sent
    }

    /// Writes this, which whoever put it together keeps; we are let in.
    #[inline]
    pub(in crate::db) fn send_this(&mut self, bytes: &[u8]) -> Result<(), Trouble> {
        self.socket.write(bytes)
    }

    /// What was read and not taken.
    #[inline]
    pub(in crate::db) fn there(&self) -> &[u8] {
        &self.read[self.begin..self.end]
    }

    /// Takes so many bytes of what is there: where they stand until more is read.
    #[inline]
    pub(in crate::db) fn take(&mut self, length: usize) -> Range<usize> {
        let taken = self.begin..self.begin + length;
        self.begin += length;
        taken
    }

    /// What was taken last.
    #[inline]
    pub(in crate::db) fn taken(&self, range: Range<usize>) -> &[u8] {
        &self.read[range]
    }

    /// Reads more, where a message of this length is to fit in: it may be no longer than who reads lets through.
    pub(in crate::db) fn fill(&mut self, length: usize) -> Result<(), Trouble> {
        if self.begin == self.end {
            (self.begin, self.end) = (0, 0);
        } else if self.begin + length > self.read.len() {
            self.read.copy_within(self.begin..self.end, 0);
            (self.begin, self.end) = (0, self.end - self.begin);
        }
        if length > self.read.len() {
            self.read.resize(length, 0);
        }
        if let Some(by) = self.let_in_by {
            self.hurry(by)?;
        }
        let room = &mut self.read[self.end..];
        let read = loop {
            let read = match &mut self.socket {
                Socket::Tcp(socket) => socket.read(room),
                Socket::Unix(socket) if self.reads_at_once => socket.read(room),
                Socket::Unix(socket) => read_unix(socket, room, self.patience),
                Socket::Tls(tls) => match tls.read(room)? {
                    Some(read) => break read,
                    // A part of a record, of which nothing can be read: whoever waits does so again.
                    None => return Ok(()),
                },
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

    /// What went wrong while we were to be let in, with who answers there as far as it shows.
    pub(in crate::db) fn at_login(&self, engine: Engine, trouble: Trouble) -> Trouble {
        // What was said first still stands there.
        stranger(engine, trouble, &self.read[..self.end])
    }

    /// What the buffer takes.
    #[cfg(any(test, fuzzing))]
    pub(in crate::db) const fn capacity(&self) -> usize {
        self.read.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_host_is_told_before_anybody_is_asked() {
        let to = Address {
            engine: Engine::Postgres,
            user: "bob".to_owned(),
            host: Host::Name("db..example".to_owned()),
            port: 5432,
            database: "shop".to_owned(),
            tls: None,
            may_be_clear: false,
        };
        let why = connected(&to, Until::after(CONNECT_MAX)).unwrap_err();
        assert!(why.is_lasting(), "{why}");
        let why = why.to_string();
        assert!(
            why.contains("`db..example`") && why.contains("hint: "),
            "{why}"
        );
    }

    #[test]
    fn a_server_that_says_nothing_is_not_waited_for() {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let mut line = Line::over(ours);
        line.wait_at_most(Duration::from_millis(20)).unwrap();
        assert!(matches!(line.fill(5), Err(Trouble::Silent)));
    }

    #[test]
    fn being_let_in_has_one_deadline_however_often_somebody_says_something() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut line = Line::over(ours);
        let begun = sys::clock::monotonic();
        line.let_in_by = Some(Until::after(Duration::from_millis(200)));
        std::thread::scope(|scope| {
            scope.spawn(move || {
                while theirs.write_all(b"a").is_ok() {
                    sys::clock::sleep(20_000_000);
                }
            });
            let why = loop {
                if let Err(why) = line.fill(1) {
                    break why;
                }
                line.take(line.there().len());
            };
            assert!(matches!(why, Trouble::Silent), "{why}");
            let taken = sys::clock::monotonic() - begun;
            assert!((150_000_000..2_000_000_000).contains(&taken), "{taken}");
            assert!(matches!(line.send(), Err(Trouble::Silent)));
            // Once we are in, each read has its own time.
            line.wait_at_most(Duration::from_secs(5)).unwrap();
            line.fill(1).unwrap();
            drop(line);
        });
    }
}
