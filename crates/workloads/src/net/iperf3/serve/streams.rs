//! The connections of a test's streams: TCP by the cookie, UDP by a word that the client's address says and an answer.

use super::super::State;
use super::super::datagram::{HELLO, REPLY};
use super::super::datagrams::make_room;
use super::super::parameters::Parameters;
use super::active::Arrival;
use super::ending::Ending;
use super::flows::Carrier;
use super::line::{LOOK, Line};
use super::order::Order;
use crate::net::exchange::is_nothing_yet;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;
use sys::until::Until;

/// How long a client may take to connect all of its streams: as long as one of iperf3 waits for an answer.
const CONNECT: Duration = Duration::from_secs(30);

/// What came before a socket was connected, at most: it is thrown away.
pub(super) const STRAY_MAX: usize = 1000;

/// What failed where the listener brings none.
pub(super) const ACCEPT: &str = "accept a stream";

/// Waits for as many connections as there are streams; the listener brings them.
pub(super) fn tcp(
    line: &mut Line<'_>,
    order: &Order,
    arrivals: &Receiver<Arrival>,
) -> Result<Vec<Carrier>, Ending> {
    let mut found = Vec::new();
    let until = Until::after(CONNECT);
    while found.len() < order.streams {
        match arrivals.recv_timeout(LOOK) {
            Ok(stream) => {
                let stream = stream.map_err(|error| Ending::system(ACCEPT, error))?;
                found.push(Carrier::Tcp(stream));
            }
            Err(RecvTimeoutError::Timeout) => still_there(line, until)?,
            Err(RecvTimeoutError::Disconnected) => return Err(Ending::ServerEnds),
        }
    }
    Ok(found)
}

/// Whether it is worth to wait for more.
fn still_there(line: &mut Line<'_>, until: Until) -> Result<(), Ending> {
    if line.serving().ends() {
        return Err(Ending::ServerEnds);
    }
    if until.left().is_none() {
        return Err(Ending::NoStreams);
    }
    let readable = line.is_readable_within(Duration::ZERO);
    if readable.map_err(|error| Ending::system("wait for the client", error))? {
        // A client says nothing here but that it goes.
        return Err(Ending::said(State::read(line.within(LOOK))));
    }
    Ok(())
}

/// The socket to which the next stream says its first word.
pub(super) struct UdpListener {
    at: SocketAddr,
    peer: IpAddr,
    socket: UdpSocket,
}

impl UdpListener {
    /// At the address to which the client's control connection came, for nobody but its other end.
    pub(super) fn open(control: &TcpStream) -> io::Result<Self> {
        let at = plain(control.local_addr()?);
        Ok(Self {
            at,
            peer: plain(control.peer_addr()?).ip(),
            socket: listening(at)?,
        })
    }

    /// Waits for as many first words as there are streams.
    pub(super) fn streams(
        self,
        line: &mut Line<'_>,
        order: &Order,
    ) -> Result<Vec<UdpSocket>, Ending> {
        let made = |stream: io::Result<UdpSocket>| {
            stream.map_err(|error| Ending::system("make a socket", error))
        };
        let until = Until::after(CONNECT);
        let mut found: Vec<UdpSocket> = Vec::new();
        let mut socket = self.socket;
        loop {
            let mut word = [0; 64];
            match socket.recv_from(&mut word) {
                // Strangers are not answered.
                Ok((length, from)) if length == HELLO.len() && plain(from).ip() == self.peer => {
                    socket
                        .connect(from)
                        .map_err(|error| Ending::system("connect a socket", error))?;
                    if found.len() + 1 == order.streams {
                        found.push(made(answered(socket))?);
                        return Ok(found);
                    }
                    // Answered when there is a socket for the next one.
                    let next = made(listening(self.at))?;
                    let stream = std::mem::replace(&mut socket, next);
                    found.push(made(answered(stream))?);
                }
                Ok(_) => still_there(line, until)?,
                // A client that has closed its socket says no more.
                Err(error)
                    if is_nothing_yet(&error) || error.kind() == ErrorKind::ConnectionRefused =>
                {
                    if let Some(last) = found.last() {
                        answer_again(last);
                    }
                    still_there(line, until)?;
                }
                Err(error) => return Err(Ending::system("wait for a stream", error)),
            }
        }
    }
}

/// A stream that is connected, and answered.
fn answered(stream: UdpSocket) -> io::Result<UdpSocket> {
    // What anybody else sent before it was connected; the client waits.
    stream.set_nonblocking(true)?;
    let mut rest = (0..STRAY_MAX).take_while(|_| stream.recv(&mut [0; 64]).is_ok());
    while rest.next().is_some() {}
    stream.send(&REPLY)?;
    Ok(stream)
}

/// A client that did not get its answer says its word again.
fn answer_again(stream: &UdpSocket) {
    if matches!(stream.recv(&mut [0; 64]), Ok(length) if length == HELLO.len()) {
        // Where this is lost too, it comes again.
        let _ = stream.send(&REPLY);
    }
}

pub(super) fn listening(at: SocketAddr) -> io::Result<UdpSocket> {
    let socket = sys::tuning::shared_udp(at)?;
    socket.set_read_timeout(Some(LOOK))?;
    Ok(socket)
}

/// An address of IPv4 as such, also where a socket of IPv6 tells it.
pub(super) fn plain(address: SocketAddr) -> SocketAddr {
    match address.ip().to_canonical() {
        IpAddr::V4(ip) => SocketAddr::new(ip.into(), address.port()),
        // With its zone.
        IpAddr::V6(_) => address,
    }
}

/// Sets what the client asked for, for datagrams of `length` bytes: what could not be, in words. Nothing is set on TCP.
pub(super) fn tune(carrier: &Carrier, asked: &Parameters, length: usize) -> Vec<String> {
    let mut notes = Vec::new();
    let Carrier::Udp(socket, _) = carrier else {
        return notes;
    };
    let mut tried = |what: &str, done: io::Result<()>| {
        if let Err(error) = done {
            notes.push(format!("{what}: {error}"));
        }
    };
    // A socket of IPv6 that speaks IPv4 sends as IPv4 does.
    let is_ipv6 = socket.local_addr().is_ok_and(|at| plain(at).is_ipv6());
    tried("set buffers", make_room(socket));
    if asked.dont_fragment > 0 && !is_ipv6 {
        let done = sys::tuning::refuse_fragments(socket.as_fd(), false);
        tried("send whole", done);
    }
    if asked.gso > 0 {
        let done = sys::datagrams::cut(socket.as_fd(), length, is_ipv6);
        tried("cut up trains of datagrams", done);
    }
    if asked.gro > 0 {
        let done = sys::datagrams::join(socket.as_fd());
        tried("take trains of datagrams", done);
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_ipv4_is_the_same_whatever_socket_tells_it() {
        let check = |text: &str, expected: &str| {
            let address: SocketAddr = text.parse().unwrap();
            assert_eq!(plain(address).to_string(), expected);
        };
        check("[::ffff:192.0.2.1]:5201", "192.0.2.1:5201");
        check("192.0.2.1:5201", "192.0.2.1:5201");
        check("[fe80::1%3]:5201", "[fe80::1%3]:5201");
    }
}
