//! The control connection of a test as the server reads and writes it: until an instant, and no longer than the server
//! is there.

use super::super::wire_error::WireError;
use super::super::{ServerError, State};
use super::Serving;
use crate::net::deadline;
use crate::net::exchange::is_nothing_yet;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;
use sys::until::Until;

/// How long a look at the connection lasts before the rest of the world is looked at.
pub(super) const LOOK: Duration = Duration::from_millis(100);

/// How long whoever is refused may take to read why: a connection that is closed over unread bytes takes what was
/// written to it along.
const LEAVE: Duration = Duration::from_millis(400);

/// A connection, and until when it is waited for.
pub(super) struct Line<'a> {
    stream: TcpStream,
    serving: &'a Serving<'a>,
    until: Until,
}

impl<'a> Line<'a> {
    /// Of this connection.
    pub(super) fn new(stream: TcpStream, serving: &'a Serving<'a>) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        // States are of one byte, and each is waited for.
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(LOOK))?;
        stream.set_write_timeout(Some(LOOK))?;
        Ok(Self {
            stream,
            serving,
            until: Until::after(Duration::ZERO),
        })
    }

    /// The server.
    pub(super) const fn serving(&self) -> &'a Serving<'a> {
        self.serving
    }

    /// The socket.
    pub(super) const fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// The socket, for whoever goes on with it.
    pub(super) fn into_stream(self) -> TcpStream {
        self.stream
    }

    /// What is read and written from now on is to be over by then.
    pub(super) fn within(&mut self, span: Duration) -> &mut Self {
        self.until = Until::after(span);
        self
    }

    /// Whether there is something to read, its end too, within so long.
    pub(super) fn is_readable_within(&self, at_most: Duration) -> io::Result<bool> {
        deadline::is_readable_within(&self.stream, at_most)
    }

    /// Tells the client a state.
    pub(super) fn tell(&mut self, state: State) -> Result<(), WireError> {
        state.write(self)
    }

    /// Tells the client a state, whether it reads or not, and also where the server ends.
    pub(super) fn at_once(&self, state: State) -> Result<(), WireError> {
        state.write(&mut &self.stream)
    }

    /// Tells the client why there is no test, or no longer; whoever does not hear it has gone.
    pub(super) fn refuse(&self, why: ServerError) {
        let told = self.at_once(State::ServerError);
        let _ = told.and_then(|()| why.write(&mut &self.stream));
    }

    /// Ends what is sent, and reads what is left for a moment, also where the server ends.
    pub(super) fn leave(self) {
        const TAKEN_MAX: usize = 1 << 20;
        if self.stream.shutdown(Shutdown::Write).is_err() {
            return;
        }
        let until = Until::after(LEAVE);
        let mut taken = 0;
        let mut buffer = [0; 4096];
        while until.left().is_some() && taken <= TAKEN_MAX {
            match (&self.stream).read(&mut buffer) {
                Ok(0) => return,
                Ok(got) => taken += got,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => return,
            }
        }
    }

    /// The same call again until it is done, the time is over, or the server ends.
    fn until_done(
        &self,
        mut call: impl FnMut(&TcpStream) -> io::Result<usize>,
    ) -> io::Result<usize> {
        loop {
            // Before the call: whoever has always one byte more to say is late too.
            if self.until.left().is_none() {
                return Err(ErrorKind::TimedOut.into());
            }
            match call(&self.stream) {
                Err(error) if is_nothing_yet(&error) => {}
                other => return other,
            }
            if self.serving.ends() {
                return Err(io::Error::other("the server ends"));
            }
        }
    }
}

impl Read for Line<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.until_done(|mut stream| stream.read(buffer))
    }
}

impl Write for Line<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.until_done(|mut stream| stream.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
