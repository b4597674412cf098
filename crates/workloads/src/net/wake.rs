//! How much must have come before a reader is woken.
//!
//! The kernel wakes it for every packet that it is faster than. At gigabits a second that is most of its CPU time, and
//! some of the sender's where both share the CPUs. With `SO_RCVLOWAT` it sleeps until so much is there as comes in
//! [`WAIT_NS`]: what it reads is late by no more, and where less comes than before, by what a read waits at most.
//!
//! It sleeps until up to eight reads are there, where the sender fills our buffer as fast as it can. BBR sends by what
//! it has seen arrive: there a single read wakes, which is as much as the other end writes at once. Over loopback with
//! its large packets, a part of a read wakes where that was seen to give more: of several flows with BBR, and of a
//! single one without.

use std::net::TcpStream;
use std::os::fd::AsFd;
use sys::tcp::{congestion, mss};
use sys::tuning::{buffers, wake_from};

/// What is there waits for so long.
const WAIT_NS: u64 = 500_000;

/// So often is chosen anew, at most.
const EVERY_NS: u64 = 10_000_000;

/// Less is not worth a system call.
const LEAST: u64 = 4096;

/// Over loopback this part of a read may wake.
const PART: usize = 8;

/// So many reads wake where nobody paces.
const READS: usize = 8;

/// No link but loopback has longer segments than those of jumbo frames.
const JUMBO: u32 = 9000;

/// The choice for one connection.
#[derive(Debug)]
pub(super) struct Wake<'a> {
    stream: &'a TcpStream,
    /// More is not waited for.
    most: usize,
    /// What is set.
    from: u32,
    /// Bytes since then.
    bytes: u64,
    since: u64,
}

impl<'a> Wake<'a> {
    /// For a reader who takes so many bytes at once, of one of so many flows.
    pub(super) fn new(stream: &'a TcpStream, read: usize, flows: usize, now: u64) -> Self {
        let is_loopback = mss(stream.as_fd()).is_ok_and(|mss| mss > JUMBO);
        Self {
            stream,
            most: most(read, flows > 1, is_loopback, is_paced(stream)),
            from: 1,
            bytes: 0,
            since: now,
        }
    }

    /// So many bytes have been read.
    #[inline]
    pub(super) fn read(&mut self, bytes: usize, now: u64) {
        self.bytes += bytes as u64;
        let passed = now.saturating_sub(self.since);
        if passed >= EVERY_NS {
            self.choose(passed);
            (self.bytes, self.since) = (0, now);
        }
    }

    #[cold]
    fn choose(&mut self, passed: u64) {
        // More than a part of its buffer might never be there.
        let room = buffers(self.stream.as_fd()).map_or(0, |[_, receive]| receive / 4);
        let from = mark(
            self.bytes,
            passed,
            room.min(u32::try_from(self.most).unwrap_or(room)),
        );
        // Who is woken too often still reads everything.
        if from != self.from && wake_from(self.stream.as_fd(), from).is_ok() {
            self.from = from;
        }
    }
}

/// How much wakes a reader at most.
const fn most(read: usize, is_one_of_several: bool, is_loopback: bool, is_paced: bool) -> usize {
    match (is_loopback, is_paced) {
        (true, paced) if is_one_of_several == paced => read / PART,
        (_, true) => read,
        (_, false) => read * READS,
    }
}

/// Whether this socket sends with BBR. Most likely the other end then does too, which nobody tells while data flows.
pub(super) fn is_paced(stream: &TcpStream) -> bool {
    congestion(stream.as_fd()).is_ok_and(|name| name.starts_with("bbr"))
}

/// From how many bytes on, at this rate: a power of two, so that it rarely changes.
fn mark(bytes: u64, passed: u64, most: u32) -> u32 {
    let come = bytes.saturating_mul(WAIT_NS) / passed.max(1);
    match come.min(most.into()).checked_ilog2() {
        Some(log) if 1 << log >= LEAST => 1 << log,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpListener};
    use std::time::Duration;
    use sys::clock::monotonic;

    #[test]
    fn a_fast_flow_waits_for_half_a_millisecond_of_it_and_a_slow_one_for_nothing() {
        let of_rate = |bytes_per_s: u64| mark(bytes_per_s / 100, 10_000_000, 128 << 10);
        assert_eq!(of_rate(2_000_000_000), 128 << 10);
        assert_eq!(of_rate(125_000_000), 32 << 10);
        assert_eq!(of_rate(8_200_000), 4096);
        assert_eq!(of_rate(8_100_000), 1);
        assert_eq!(of_rate(0), 1);
        assert_eq!(mark(u64::MAX, 1, 100_000), 64 << 10);
        assert_eq!(mark(u64::MAX, 0, 0), 1);
    }

    #[test]
    fn what_wakes_depends_on_the_sender_and_on_the_link() {
        let of = |is_loopback, is_paced| {
            [false, true].map(|several| most(16 << 10, several, is_loopback, is_paced) >> 10)
        };
        assert_eq!(of(false, false), [128, 128]);
        assert_eq!(of(false, true), [16, 16]);
        assert_eq!(of(true, false), [2, 128]);
        assert_eq!(of(true, true), [16, 2]);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        // The one that every kernel has, for everybody.
        sys::tuning::set_congestion(stream.as_fd(), "reno").unwrap();
        assert_eq!(Wake::new(&stream, 16 << 10, 2, 0).most, 128 << 10);
        assert_eq!(Wake::new(&stream, 16 << 10, 1, 0).most, 2 << 10);
    }

    #[test]
    fn what_is_left_of_a_fast_flow_is_read_all_the_same() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut theirs = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut ours, _) = listener.accept().unwrap();
        ours.set_read_timeout(Some(Duration::from_millis(20)))
            .unwrap();
        let stream = ours.try_clone().unwrap();
        let mut wake = Wake::new(&stream, 128 << 10, 1, 0);
        wake.read(100_000_000, EVERY_NS);
        assert!(wake.from >= 4096, "{}", wake.from);
        theirs.write_all(b"abc").unwrap();
        let begun = monotonic();
        assert_eq!(ours.read(&mut [0; 8]).unwrap(), 3);
        assert!(monotonic() - begun >= 19_000_000, "it was woken at once");
        wake.read(3, 2 * EVERY_NS);
        assert_eq!(wake.from, 1);
        theirs.write_all(b"abc").unwrap();
        assert_eq!(ours.read(&mut [0; 8]).unwrap(), 3);
    }
}
