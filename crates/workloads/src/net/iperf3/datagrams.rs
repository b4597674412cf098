//! The loops of datagrams, the same at both ends: a thread sends, or receives, until its team is told to end.
//!
//! Several datagrams are one system call where several are due, or have come: each is counted on its own all the same.
//! Where a next part of the team's work begins, what was counted before it is forgotten. Nothing is allocated.

use super::datagram::{Datagram, HELLO, REPLY, Width};
use super::pace::{Pace, rest};
use super::tally::Tally;
use crate::net::exchange::is_nothing_yet;
use engine::recorder::Latencies;
use std::io::{self, ErrorKind};
use std::net::UdpSocket;
use std::os::fd::AsFd;
use sys::clock::{monotonic, sleep, sleep_exactly};
use sys::datagrams::{Batch, is_full};
use sys::loops::team::Member;
use sys::tuning::{buffers, set_receive_buffer};

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

/// As much room for what has come as a program may have: what the kernel has by default is full in a third of a
/// millisecond of a few Gbit/s. It gives no more than twice `net.core.rmem_max`; where it gave more by itself, that
/// stays.
pub(crate) fn make_room(socket: &UdpSocket) -> io::Result<()> {
    const ROOM: u32 = 4 << 20;
    let room = || buffers(socket.as_fd()).map(|[_, room]| room);
    let own = room()?;
    if own < 2 * ROOM {
        set_receive_buffer(socket.as_fd(), ROOM)?;
    }
    if room()? < own {
        set_receive_buffer(socket.as_fd(), own / 2)?;
    }
    Ok(())
}

/// With less room than this nobody sleeps: it could be full by then.
const NAP_ROOM: u32 = 256 << 10;

/// What is there waits for so long at most, and no receiver sleeps for fewer datagrams than this.
const NAP_MAX_NS: u64 = 100_000;
const NAP_FOR: u64 = 16;

/// When a receiver looks again.
///
/// The kernel wakes one that waits at once, and where the datagrams come fast that is for every few of them: it costs
/// both ends more than they do. Who sleeps meanwhile is woken by nobody but its clock.
#[derive(Debug)]
struct Naps {
    since: u64,
}

impl Naps {
    /// How long to sleep now that so many have come at once, `most` at most.
    fn next(&mut self, came: usize, most: usize, now: u64) -> Option<u64> {
        let passed = now.saturating_sub(self.since);
        self.since = now;
        let nap = passed * NAP_FOR / (came as u64).max(1);
        (came < most && nap <= NAP_MAX_NS).then_some(nap)
    }
}

/// Counts what comes, on a socket that waits no longer than a look. All that a call brought came when it returned: that
/// is when a program has it, which jitter is of. Where it `answers`, a first word that is said again gets its answer
/// again: it is no data.
pub(crate) fn receive(
    socket: &UdpSocket,
    width: Width,
    batch: &mut Batch<'_>,
    member: &Member,
    tally: &mut Tally,
    answers: bool,
) -> io::Result<()> {
    let mut part = member.part();
    sleep_exactly();
    let has_room = buffers(socket.as_fd()).is_ok_and(|[_, room]| room >= NAP_ROOM);
    let mut naps = Naps { since: monotonic() };
    while !member.stopped() {
        let came = batch.receive(socket.as_fd());
        let now = monotonic();
        if member.stopped() {
            break;
        }
        if begins_anew(&mut part, member) {
            tally.omit();
        }
        let came = match came {
            Ok(came) => came,
            Err(error) if is_nothing_yet(&error) => continue,
            // Who has closed its socket says no more.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => continue,
            Err(error) => return Err(error),
        };
        let before = tally.bytes;
        batch.each(came, |bytes, length| match Datagram::read(bytes, width) {
            Some(datagram) => tally.saw(datagram, width, length, now),
            None if answers && length == HELLO.len() => drop(socket.send(&REPLY)),
            None => {}
        });
        member.add(tally.bytes - before);
        if has_room && let Some(nap) = naps.next(came, batch.most(), now) {
            sleep(nap);
        }
    }
    Ok(())
}

/// The slack of a thread's sleeps, in picoseconds. Source: prctl(2), `PR_SET_TIMERSLACK`.
const SLACK_PS: u64 = 50_000_000;

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
    /// Sends by its schedule, whatever is due by one call; how much later than that each datagram is given to the
    /// kernel is recorded in `late`, in nanoseconds. All of a call carry the instant at which it is made.
    pub(crate) fn send(
        &self,
        batch: &mut Batch<'_>,
        member: &Member,
        is_over: &dyn Fn() -> bool,
        tally: &mut Tally,
        mut late: Option<&mut Latencies>,
    ) -> io::Result<()> {
        let (mut part, size) = (member.part(), batch.bytes());
        // Where they follow each other more closely, a timer for each would cost more than the datagram does: the
        // kernel ends a sleep up to so much later, and what is due by then goes together. Otherwise each has a call and
        // an instant of its own, also behind a schedule: a thread may lose its CPU in the middle of a call.
        let together = if self.pace.cost(size) < SLACK_PS {
            batch.most()
        } else {
            sleep_exactly();
            1
        };
        let mut due = monotonic();
        let mut alone = false;
        while !member.stopped() && !is_over() {
            let mut now = monotonic();
            let bursts = self.pace.due(due, now, size * self.burst);
            let all = bursts
                .saturating_mul(self.burst)
                .min(self.burst.max(together));
            let mut turns = 0;
            while turns < all && !member.stopped() && (turns == 0 || !is_over()) {
                if begins_anew(&mut part, member) {
                    tally.omit();
                    if let Some(late) = &mut late {
                        late.clear();
                    }
                }
                let count = if alone { 1 } else { together.min(all - turns) };
                for place in 0..count {
                    header(now, tally.packets + 1 + place as u64)
                        .write(batch.at(place), self.width);
                }
                let sent = match batch.send(self.socket.as_fd(), count) {
                    Ok(sent) => sent,
                    // The socket's buffer is full, or the queue of the card.
                    Err(error) if is_nothing_yet(&error) || is_full(&error) => 0,
                    Err(error) => return Err(error),
                };
                if let Some(late) = &mut late {
                    for turn in turns..turns + sent {
                        late.record(self.pace.late(due, now, turn * size), 1);
                    }
                }
                let bytes = (sent * size) as u64;
                tally.packets += sent as u64;
                tally.bytes += bytes;
                member.add(bytes);
                // What one alone was refused for has had its turn: it is tried again in its time.
                turns += sent.max(usize::from(count == 1));
                alone = sent < count;
                now = monotonic();
            }
            due = self.pace.after(turns * size, now);
            rest(due, member);
        }
        Ok(())
    }
}

/// What a datagram says that is sent at `now`.
#[inline]
fn header(now: u64, count: u64) -> Datagram {
    let microseconds = now / 1000;
    Datagram {
        seconds: u32::try_from(microseconds / 1_000_000).unwrap_or(0),
        microseconds: u32::try_from(microseconds % 1_000_000).unwrap_or(0),
        count,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixDatagram;
    use std::time::Duration;
    use sys::datagrams::{By, MOST, cut, join, room, room_to_receive};
    use sys::loops::team::Team;

    const SIZE: usize = 100;
    const LOOK: Duration = Duration::from_millis(20);

    type Done<T> = (io::Result<()>, Tally, T, [u64; 2]);

    /// A sender to whom everything is due at once, for so long: what it counted, how late each was, its calls, and how
    /// many of them were trains.
    fn sent(socket: UdpSocket, burst: usize, nanos: u64) -> Done<Latencies> {
        socket.set_write_timeout(Some(LOOK)).unwrap();
        let work = move |member: &Member| {
            let pace = Pace::new(1_000_000_000_000_000);
            let (mut tally, mut late) = (Tally::default(), Latencies::default());
            let by = sys::datagrams::sent(socket.as_fd());
            let mut room = vec![0; room(SIZE, by)];
            let mut batch = Batch::to_send(&mut room, SIZE, by);
            member.wait();
            let sending = Sending {
                socket: &socket,
                width: Width::Bits64,
                pace: &pace,
                burst,
            };
            let done = sending.send(&mut batch, member, &|| false, &mut tally, Some(&mut late));
            (done, tally, late, [batch.calls(), batch.trains()])
        };
        let mut team = Team::start(vec![work]).unwrap();
        team.next_part();
        sys::clock::sleep(nanos);
        team.end().remove(0)
    }

    /// A receiver of what is there.
    fn received(socket: UdpSocket) -> Done<()> {
        socket.set_read_timeout(Some(LOOK)).unwrap();
        let work = move |member: &Member| {
            let mut tally = Tally::default();
            let by = sys::datagrams::received(socket.as_fd());
            let mut room = vec![0; room_to_receive(SIZE, by)];
            let mut batch = Batch::to_receive(&mut room, SIZE, by);
            member.wait();
            let done = receive(
                &socket,
                Width::Bits64,
                &mut batch,
                member,
                &mut tally,
                false,
            );
            (done, tally, (), [batch.calls(), batch.trains()])
        };
        let mut team = Team::start(vec![work]).unwrap();
        team.next_part();
        let mut before = 0;
        while before == 0 || team.done() > before {
            before = team.done();
            sys::clock::sleep(100_000_000);
        }
        team.end().remove(0)
    }

    fn pair() -> [UdpSocket; 2] {
        let [one, other] = [(); 2].map(|()| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
        one.connect(other.local_addr().unwrap()).unwrap();
        other.connect(one.local_addr().unwrap()).unwrap();
        [one, other]
    }

    #[test]
    fn a_receiver_sleeps_where_many_come_and_it_has_taken_all() {
        let next = |came: usize, passed: u64| Naps { since: 0 }.next(came, MOST, passed);
        assert_eq!(next(10, 50_000), Some(80_000));
        assert_eq!(next(1, 6_250), Some(100_000));
        assert_eq!(next(16, 100_000), Some(100_000));
        // Slower; and with more that wait.
        assert_eq!(next(1, 6_251), None);
        assert_eq!(next(16, 101_000), None);
        assert_eq!(next(MOST, 50_000), None);
        let mut naps = Naps { since: 0 };
        assert_eq!(naps.next(1, MOST, 1_000_000), None);
        assert_eq!(naps.next(50, MOST, 1_100_000), Some(32_000));
    }

    #[test]
    fn a_receiver_has_no_less_room_than_the_kernel_gives_by_itself() {
        let [one, _other] = pair();
        let room = || buffers(one.as_fd()).unwrap()[1];
        let before = room();
        make_room(&one).unwrap();
        assert!(room() >= before, "{before}");
    }

    #[test]
    fn several_are_one_call_and_each_is_counted() {
        for (burst, by) in [(1, By::One), (7, By::One), (200, By::One), (1, By::Train)] {
            let [one, other] = pair();
            if by == By::Train {
                cut(one.as_fd(), SIZE, false).unwrap();
                join(other.as_fd()).unwrap();
            }
            let (done, sender, late, [calls, trains]) = sent(one, burst, 20_000_000);
            done.unwrap();
            assert_eq!(late.count(), sender.packets);
            assert_eq!(sender.bytes, sender.packets * SIZE as u64);
            // All but the rests of bursts are full.
            assert!(
                sender.packets > 200 && calls * 20 < sender.packets,
                "{calls} {sender:?}"
            );
            // What its buffer held: nothing comes any more.
            let (done, receiver, (), [calls, joined]) = received(other);
            done.unwrap();
            assert_eq!((receiver.lost, receiver.out_of_order), (0, 0));
            assert!(calls < receiver.packets, "{calls} {receiver:?}");
            assert_eq!((trains > 0, joined > 0), (by == By::Train, by == By::Train));
        }
    }

    #[test]
    fn of_what_is_refused_nothing_is_counted() {
        // Some wait there at most, and nobody takes any.
        let (one, other) = UnixDatagram::pair().unwrap();
        let (done, tally, late, [calls, _]) = sent(OwnedFd::from(one).into(), 1, 200_000_000);
        done.unwrap();
        other.set_nonblocking(true).unwrap();
        let mut room = [0; SIZE];
        let mut counts = Vec::new();
        while let Ok(length) = other.recv(&mut room) {
            assert_eq!(length, SIZE);
            counts.push(Datagram::read(&room, Width::Bits64).unwrap().count);
        }
        assert_eq!(counts, (1..=tally.packets).collect::<Vec<_>>());
        // Those that were refused have cost calls.
        let enough = tally.packets.div_ceil(MOST as u64);
        assert!(tally.packets > 0 && calls > enough, "{calls} {tally:?}");
        assert_eq!(
            (tally.bytes, late.count()),
            (tally.packets * SIZE as u64, tally.packets)
        );
    }

    #[test]
    fn a_peer_that_is_gone_ends_a_sender_of_many_too() {
        let [one, other] = pair();
        drop(other);
        let (done, tally, ..) = sent(one, 1, 1_000_000_000);
        assert_eq!(done.unwrap_err().kind(), ErrorKind::ConnectionRefused);
        // The first of many, and one alone.
        assert_eq!(tally.packets, 2);
    }
}
