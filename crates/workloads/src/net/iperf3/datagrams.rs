//! The loops of datagrams, the same at both ends: a thread sends, or receives, until its team is told to end.
//!
//! Where a next part of the team's work begins, what was counted before it is forgotten. Nothing is allocated.

use super::datagram::{Datagram, HELLO, REPLY, Width};
use super::pace::{Pace, rest};
use super::tally::Tally;
use crate::net::exchange::is_nothing_yet;
use engine::recorder::Latencies;
use std::io::{self, ErrorKind};
use std::net::UdpSocket;
use sys::clock::monotonic;
use sys::loops::team::Member;

/// No datagram has more bytes.
pub(crate) const ROOM: usize = 64 << 10;

/// Whether another part has begun since the last time.
#[inline]
fn begins_anew(part: &mut u32, member: &Member) -> bool {
    let now = member.part();
    if now == *part || member.stopped() {
        return false;
    }
    *part = now;
    true
}

/// Counts what comes, on a socket that waits no longer than a look. Where it `answers`, a first word that is said again
/// gets its answer again: it is no data.
pub(crate) fn receive(
    socket: &UdpSocket,
    width: Width,
    buffer: &mut [u8],
    member: &Member,
    tally: &mut Tally,
    answers: bool,
) -> io::Result<()> {
    let mut part = member.part();
    while !member.stopped() {
        let came = socket.recv(buffer);
        let now = monotonic();
        if member.stopped() {
            break;
        }
        if begins_anew(&mut part, member) {
            tally.omit();
        }
        let got = match came {
            Ok(got) => got,
            Err(error) if is_nothing_yet(&error) => continue,
            // Who has closed its socket says no more.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => continue,
            Err(error) => return Err(error),
        };
        match Datagram::read(&buffer[..got], width) {
            Some(datagram) => {
                tally.saw(datagram, width, got, now);
                member.add(got as u64);
            }
            None if answers && got == HELLO.len() => drop(socket.send(&REPLY)),
            None => {}
        }
    }
    Ok(())
}

/// What a sender has.
#[derive(Debug)]
pub(crate) struct Sending<'a> {
    pub(crate) socket: &'a UdpSocket,
    pub(crate) width: Width,
    pub(crate) pace: &'a Pace,
    /// Datagrams at once.
    pub(crate) burst: usize,
}

impl Sending<'_> {
    /// Sends by its schedule; how much later than that each datagram goes is recorded in `late`, in nanoseconds.
    pub(crate) fn send(
        &self,
        datagram: &mut [u8],
        member: &Member,
        is_over: impl Fn() -> bool,
        tally: &mut Tally,
        mut late: Option<&mut Latencies>,
    ) -> io::Result<()> {
        let mut part = member.part();
        let mut due = monotonic();
        while !member.stopped() && !is_over() {
            let mut sent = 0;
            for _ in 0..self.burst {
                let now = monotonic();
                if begins_anew(&mut part, member) {
                    tally.omit();
                    if let Some(late) = &mut late {
                        late.clear();
                    }
                }
                let microseconds = now / 1000;
                let header = Datagram {
                    seconds: u32::try_from(microseconds / 1_000_000).unwrap_or(0),
                    microseconds: u32::try_from(microseconds % 1_000_000).unwrap_or(0),
                    count: tally.packets + 1,
                };
                header.write(datagram, self.width);
                match self.socket.send(datagram) {
                    Ok(bytes) => {
                        tally.packets += 1;
                        tally.bytes += bytes as u64;
                        member.add(bytes as u64);
                        if let Some(late) = &mut late {
                            late.record(now.saturating_sub(due), 1);
                        }
                    }
                    // The socket's buffer is full, or the queue of the card: it is tried again in its time.
                    Err(error) if is_nothing_yet(&error) || is_full(&error) => {}
                    Err(error) => return Err(error),
                }
                sent += datagram.len();
            }
            due = self.pace.after(sent, monotonic());
            rest(due, member);
        }
        Ok(())
    }
}

/// Source: udp(7), `ENOBUFS`.
fn is_full(error: &io::Error) -> bool {
    const ENOBUFS: i32 = 105;
    error.raw_os_error() == Some(ENOBUFS)
}
