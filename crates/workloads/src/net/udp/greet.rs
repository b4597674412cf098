//! The sockets of a test's streams: each says a word to the server until it is answered.

use crate::net::exchange::is_nothing_yet;
use crate::net::iperf3::control::{Control, Trouble};
use crate::net::iperf3::datagram::HELLO;
use crate::net::iperf3::datagrams::make_room;
use crate::net::peer::{Peer, SAYS_WITHIN};
use crate::net::talk::Talk;
use engine::workload::WorkError;
use std::io::{self, ErrorKind};
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::time::Duration;
use sys::limits::with_hint;
use sys::until::Until;

/// A word without an answer is said again: by itself, iperf3 loses the test with it.
const AGAIN: Duration = Duration::from_secs(1);
/// Nobody listens yet, says the other machine: a server opens a new socket for each stream.
const REFUSED_AGAIN_NS: u64 = 50_000_000;

/// Sockets for so many streams, one after the other: both ends must see the same order.
pub(super) fn sockets(talk: &Talk, flows: u32) -> Result<Vec<UdpSocket>, WorkError> {
    let all = (0..flows).map(|_| socket(talk));
    all.collect()
}

fn socket(talk: &Talk) -> Result<UdpSocket, WorkError> {
    let peer = talk.peer();
    let opened = open(talk.control()?, peer, |socket| {
        make_room(socket)?;
        whole(socket)
    });
    opened.map_err(|why| match why {
        NotHeard::Ended(why) => why.told(peer, DOING),
        NotHeard::Failed(why) => why,
    })
}

/// What failed, in words.
const DOING: &str = "begin a test with";

/// Why a socket is not heard at the other end.
pub(in crate::net) enum NotHeard {
    /// The server ended the test.
    Ended(Trouble),
    /// Anything else.
    Failed(WorkError),
}

/// What this socket sends goes whole, or not at all.
pub(in crate::net) fn whole(socket: &UdpSocket) -> io::Result<()> {
    let is_ipv6 = socket.local_addr()?.is_ipv6();
    sys::tuning::refuse_fragments(socket.as_fd(), is_ipv6)
}

/// A socket that was `set`, and is heard at the other end.
pub(in crate::net) fn open(
    control: &Control,
    peer: &Peer,
    set: impl FnOnce(&UdpSocket) -> io::Result<()>,
) -> Result<UdpSocket, NotHeard> {
    let failed = |error| {
        let why = WorkError::failed("make a socket for", peer, with_hint(&error));
        NotHeard::Failed(why)
    };
    let socket = control.socket().map_err(failed)?;
    set(&socket).map_err(failed)?;
    match greet(&socket, control, Until::after(SAYS_WITHIN)) {
        Ok(()) => Ok(socket),
        Err(_) if !control.goes_on() => {
            let until = Until::after(SAYS_WITHIN);
            let begun = control.begin(until);
            let why = begun.err().unwrap_or_else(|| control.said(until));
            Err(NotHeard::Ended(why))
        }
        Err(error) => {
            let why = not_greeted(&error, &socket, control, peer);
            Err(NotHeard::Failed(why))
        }
    }
}

/// Says the first word until the server's socket is heard, or the server ends the test.
fn greet(socket: &UdpSocket, control: &Control, until: Until) -> io::Result<()> {
    let mut refused = None;
    while let Some(left) = until.left().filter(|_| control.goes_on()) {
        match socket.send(&HELLO) {
            // What an earlier one met with.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
            other => drop(other?),
        }
        socket.set_read_timeout(Some(left.min(AGAIN)))?;
        // Data may overtake the answer: it says the same.
        match socket.recv(&mut [0; 64]) {
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                refused = Some(error);
                sys::clock::sleep(REFUSED_AGAIN_NS);
            }
            Err(error) if is_nothing_yet(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Err(refused.unwrap_or_else(|| ErrorKind::TimedOut.into()))
}

/// UDP is blocked, as far as that is known by whom.
fn not_greeted(error: &io::Error, socket: &UdpSocket, control: &Control, peer: &Peer) -> WorkError {
    let port = peer.port();
    let seconds = SAYS_WITHIN.as_secs();
    let said = match error.kind() {
        ErrorKind::TimedOut if control.says_within(Duration::ZERO).unwrap_or(false) => {
            let here = socket.local_addr().map_or(0, |here| here.port());
            format!(
                "UDP is blocked: the server heard us, and no answer came from UDP port {port} there in {seconds} s; \
                 TCP passes\nhint: a packet filter here or on the way drops what comes from UDP port {port} there (to \
                 UDP port {here} here, another one each time)"
            )
        }
        ErrorKind::TimedOut => format!(
            "UDP is blocked: no answer came from UDP port {port} there in {seconds} s; TCP passes\nhint: a packet \
             filter there or on the way drops what goes to UDP port {port} there, or what comes back from it; open it \
             for UDP as well as for TCP"
        ),
        ErrorKind::ConnectionRefused => format!(
            "UDP is blocked: UDP port {port} there is refused ({error}); TCP passes\nhint: a packet filter there \
             refuses it, another machine answers TCP, or iperf3 listens no more: over IPv6 `iperf3 -s` 3.12 serves UDP \
             once, whoever asks, and is to be started again"
        ),
        ErrorKind::PermissionDenied => format!(
            "UDP is blocked: {error}\nhint: a packet filter of this machine refuses what goes to UDP port {port} there"
        ),
        _ => error.to_string(),
    };
    WorkError::Failed(format!("{DOING} `{peer}`: {said}"))
}
