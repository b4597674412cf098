//! Many datagrams by one system call, on a connected socket of UDP: std has a call for each.
//!
//! A call takes as many datagrams as are ready (`sendmmsg`, `recvmmsg`), or a train: one buffer that kernel or card cut
//! into datagrams of the same size, or have put together from them (`UDP_SEGMENT`, `UDP_GRO`). Nothing is allocated for
//! a call. Calls are made by their numbers: musl makes a `sendmmsg` of as many `sendmsg` as there are messages.

#![expect(
    unsafe_code,
    reason = "std has no sendmmsg, no recvmmsg and no setsockopt"
)]

use crate::socket::{get, set};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::null_mut;

/// No call takes more datagrams, and no kernel before 6.9 more in a train. Source: `UDP_MAX_SEGMENTS` of linux/udp.h.
pub const MOST: usize = 64;

/// So many bytes of datagrams a call takes at most: they stay in a cache of second level.
const ROOM_MAX: usize = 128 << 10;

/// No buffer of UDP has more bytes, and no train that is sent. Source: udp(7); 65,535 without the headers of IPv4.
const TRAIN_MAX: usize = 64 << 10;
const SENT_MAX: usize = 65_507;

/// Bytes of a line of the caches, at which datagrams that are on their own begin.
const LINE: usize = 64;

/// Whether a datagram is longer than the way takes. Source: ip(7), `EMSGSIZE`.
pub fn is_too_long(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EMSGSIZE)
}

/// Whether a queue in front of the card has no room. Source: send(2), `ENOBUFS`.
pub fn is_full(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ENOBUFS)
}

/// Whether a call has datagrams on their own, or one train of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// On their own.
    One,
    /// In a train: the socket has been told to cut or to join.
    Train,
}

/// `struct user_msghdr` of linux/socket.h.
#[repr(C)]
#[derive(Debug)]
struct Header {
    name: *mut libc::c_void,
    name_bytes: libc::c_uint,
    vectors: *mut libc::iovec,
    vectors_count: usize,
    control: *mut Control,
    control_bytes: usize,
    flags: libc::c_uint,
}

/// `struct mmsghdr` of linux/socket.h.
#[repr(C)]
#[derive(Debug)]
struct Message {
    header: Header,
    bytes: libc::c_uint,
}

/// `struct cmsghdr` with a number behind it: the size of what a train was put together from.
#[repr(C)]
#[derive(Debug, Default)]
struct Control {
    bytes: usize,
    level: libc::c_int,
    kind: libc::c_int,
    value: libc::c_int,
    _behind: libc::c_int,
}

/// Datagrams of one size, in room that the caller has.
#[derive(Debug)]
pub struct Batch<'a> {
    room: &'a mut [u8],
    /// Of a datagram, and from the beginning of one to that of the next.
    bytes: usize,
    apart: usize,
    slots: usize,
    by: By,
    vectors: Vec<libc::iovec>,
    messages: Vec<Message>,
    control: Control,
    calls: u64,
    trains: u64,
}

/// Bytes of room for datagrams of `bytes`: as many as one call takes, fewer where they are large.
pub const fn room(bytes: usize, by: By) -> usize {
    let apart = apart(bytes, by);
    let most = match by {
        By::One => ROOM_MAX,
        By::Train => SENT_MAX,
    };
    let fit = most / apart;
    let fit = if fit > MOST { MOST } else { fit };
    if fit == 0 { apart } else { fit * apart }
}

/// Bytes of room for what a receiver takes at once, datagrams of no more than `bytes` each.
pub const fn room_to_receive(bytes: usize, by: By) -> usize {
    match by {
        By::One => room(bytes, by),
        By::Train => TRAIN_MAX,
    }
}

const fn apart(bytes: usize, by: By) -> usize {
    match (by, bytes) {
        (_, 0) => LINE,
        (By::One, _) => bytes.next_multiple_of(LINE),
        (By::Train, _) => bytes,
    }
}

impl<'a> Batch<'a> {
    /// Datagrams of `bytes` to be sent, in this [`room`].
    pub fn to_send(room: &'a mut [u8], bytes: usize, by: By) -> Self {
        Self::new(room, bytes, by)
    }

    /// Datagrams that come, in this [`room_to_receive`]. Of a longer one than that is for, only the length is known.
    pub fn to_receive(room: &'a mut [u8], bytes: usize, by: By) -> Self {
        let bytes = match by {
            By::One => bytes,
            By::Train => room.len(),
        };
        Self::new(room, bytes, by)
    }

    fn new(room: &'a mut [u8], bytes: usize, by: By) -> Self {
        let apart = apart(bytes, by);
        // The last one need not be filled up to a line.
        let slots = ((room.len() + apart - bytes.max(1)) / apart).min(MOST);
        // A train is one message from the beginning of the room.
        let messages = match by {
            By::One => slots,
            By::Train => 1,
        };
        let vector = |slot: &mut [u8]| libc::iovec {
            iov_base: slot.as_mut_ptr().cast(),
            iov_len: bytes,
        };
        let slices = room.chunks_mut(apart).take(messages);
        let mut vectors: Vec<_> = slices.map(vector).collect();
        let message = |vector: &mut libc::iovec| Message {
            header: Header {
                name: null_mut(),
                name_bytes: 0,
                vectors: vector,
                vectors_count: 1,
                control: null_mut(),
                control_bytes: 0,
                flags: 0,
            },
            bytes: 0,
        };
        let messages = vectors.iter_mut().map(message).collect();
        Self {
            room,
            bytes,
            apart,
            slots,
            by,
            vectors,
            messages,
            control: Control::default(),
            calls: 0,
            trains: 0,
        }
    }

    /// How many are sent at once at most.
    pub const fn most(&self) -> usize {
        self.slots
    }

    /// Bytes of each that is sent.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// System calls so far.
    pub const fn calls(&self) -> u64 {
        self.calls
    }

    /// How often several datagrams went or came in a train so far.
    pub const fn trains(&self) -> u64 {
        self.trains
    }

    /// The datagram at this place, below [`Self::most`].
    #[inline]
    pub fn at(&mut self, place: usize) -> &mut [u8] {
        &mut self.room[place * self.apart..][..self.bytes]
    }

    /// Sends the first `count`, one at least: how many went. One alone waits for room as long as the socket waits, and
    /// several do not: what was to be sent now is not sent later. Fewer are no error: the one behind them was refused,
    /// and where it is alone in the next call, that says why. A train goes whole or not at all.
    pub fn send(&mut self, socket: BorrowedFd<'_>, count: usize) -> io::Result<usize> {
        /// A segment that is longer than the way takes, as kernels before 6.13 have it.
        const TOO_LONG: Option<i32> = Some(libc::EINVAL);
        let count = count.clamp(1, self.slots);
        let flags = if count > 1 { libc::MSG_DONTWAIT } else { 0 };
        match self.by {
            By::One => self.call(libc::SYS_sendmmsg, socket, count, flags),
            By::Train => {
                self.vectors[0].iov_len = count * self.bytes;
                match self.call(libc::SYS_sendmmsg, socket, 1, flags) {
                    Ok(_) => {
                        self.trains += u64::from(count > 1);
                        Ok(count)
                    }
                    Err(error) if error.raw_os_error() == TOO_LONG => {
                        Err(io::Error::from_raw_os_error(libc::EMSGSIZE))
                    }
                    Err(error) => Err(error),
                }
            }
        }
    }

    /// Waits for one as long as the socket waits, and takes as many as are there: how many, for [`Self::each`].
    pub fn receive(&mut self, socket: BorrowedFd<'_>) -> io::Result<usize> {
        if self.by == By::Train {
            self.control = Control::default();
            let header = &mut self.messages[0].header;
            header.control = &raw mut self.control;
            header.control_bytes = size_of::<Control>();
        }
        // The real length of what is too long for its place.
        let flags = libc::MSG_WAITFORONE | libc::MSG_TRUNC;
        let came = self.call(libc::SYS_recvmmsg, socket, self.slots, flags);
        // What it points to moves with the batch.
        let header = &mut self.messages[0].header;
        (header.control, header.control_bytes) = (null_mut(), 0);
        let came = came?;
        let is_train = |segment: usize| segment < self.messages[0].bytes as usize;
        self.trains += u64::from(self.segment().is_some_and(is_train));
        Ok(came)
    }

    /// Each datagram of the first `count` that came: its bytes, and how many it had.
    #[inline]
    pub fn each(&self, count: usize, mut saw: impl FnMut(&[u8], usize)) {
        for (place, message) in self.messages.iter().take(count).enumerate() {
            let length = message.bytes as usize;
            let bytes = &self.room[place * self.apart..][..length.min(self.bytes)];
            match self.segment() {
                Some(segment) if segment < bytes.len() => {
                    bytes.chunks(segment).for_each(|one| saw(one, one.len()));
                }
                _ => saw(bytes, length),
            }
        }
    }

    /// Bytes of what the train that came was put together from; the last of them may have fewer.
    fn segment(&self) -> Option<usize> {
        let found = &self.control;
        let is_there = (found.level, found.kind) == (libc::SOL_UDP, libc::UDP_GRO);
        let bytes = usize::try_from(found.value).ok();
        bytes.filter(|&bytes| is_there && bytes > 0)
    }

    fn call(
        &mut self,
        number: libc::c_long,
        socket: BorrowedFd<'_>,
        count: usize,
        flags: libc::c_int,
    ) -> io::Result<usize> {
        self.calls += 1;
        let messages = self.messages[..count].as_mut_ptr();
        let count = libc::c_uint::try_from(count).unwrap_or(0);
        let no_end: *mut libc::timespec = null_mut();
        // SAFETY: the kernel reads and writes `count` messages, which have the layout that it knows, the vectors that
        // they point to, which this batch owns, and the room that those point to, which it borrows; control data is
        // `self.control`, or there is none. `sendmmsg` has no fifth argument and looks at none.
        let done =
            unsafe { libc::syscall(number, socket.as_raw_fd(), messages, count, flags, no_end) };
        usize::try_from(done).map_err(|_| io::Error::last_os_error())
    }
}

const CUTS: (libc::c_int, libc::c_int) = (libc::SOL_UDP, libc::UDP_SEGMENT);
const JOINS: (libc::c_int, libc::c_int) = (libc::SOL_UDP, libc::UDP_GRO);

/// Bytes of the longest datagram that the way of this connected socket takes whole, as far as the kernel knows.
pub fn longest(socket: BorrowedFd<'_>, is_ipv6: bool) -> io::Result<usize> {
    // With the header of UDP.
    let headers = if is_ipv6 { 48 } else { 28 };
    let mtu = crate::tuning::path_mtu(socket, is_ipv6)? as usize;
    Ok(mtu.saturating_sub(headers))
}

/// From now on, what is sent at once is a train of datagrams of so many bytes: the card cuts it, or the kernel in front
/// of it. Since 4.18. What is too long for the way cannot be in a train: it stays on its own, as if nobody had asked.
pub fn cut(socket: BorrowedFd<'_>, bytes: usize, is_ipv6: bool) -> io::Result<()> {
    if longest(socket, is_ipv6).is_ok_and(|longest| bytes > longest) {
        return Ok(());
    }
    let bytes = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
    set(socket, CUTS, &bytes)
}

/// From now on, what is received at once may be a train, which the sender made or the kernel put together. Since 5.0.
pub fn join(socket: BorrowedFd<'_>) -> io::Result<()> {
    let yes: libc::c_int = 1;
    set(socket, JOINS, &yes)
}

/// How datagrams are sent by this socket.
pub fn sent(socket: BorrowedFd<'_>) -> By {
    asked(socket, CUTS)
}

/// How they come.
pub fn received(socket: BorrowedFd<'_>) -> By {
    asked(socket, JOINS)
}

/// Of a kernel that knows no trains, on their own.
fn asked(socket: BorrowedFd<'_>, option: (libc::c_int, libc::c_int)) -> By {
    let mut value = [0; size_of::<libc::c_int>()];
    match get(socket, option, &mut value) {
        Ok(_) if libc::c_int::from_ne_bytes(value) > 0 => By::Train,
        _ => By::One,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, UdpSocket};
    use std::os::fd::AsFd;
    use std::time::Duration;

    const SIZE: usize = 100;

    fn pair() -> [UdpSocket; 2] {
        let [one, other] = [(); 2].map(|()| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
        one.connect(other.local_addr().unwrap()).unwrap();
        other.connect(one.local_addr().unwrap()).unwrap();
        for socket in [&one, &other] {
            socket
                .set_read_timeout(Some(Duration::from_secs(60)))
                .unwrap();
        }
        [one, other]
    }

    fn numbered(batch: &mut Batch<'_>) {
        for place in 0..batch.most() {
            batch.at(place)[0] = u8::try_from(place).unwrap();
        }
    }

    /// Numbers and lengths of what comes, until there are `count`; how many calls that took.
    fn came(socket: &UdpSocket, count: usize) -> (Vec<(u8, usize)>, u64) {
        let by = received(socket.as_fd());
        let mut room = vec![0; room_to_receive(SIZE, by)];
        let mut batch = Batch::to_receive(&mut room, SIZE, by);
        let mut all = Vec::new();
        while all.len() < count {
            let came = batch.receive(socket.as_fd()).unwrap();
            batch.each(came, |bytes, length| all.push((bytes[0], length)));
        }
        (all, batch.calls())
    }

    fn expected(count: u8) -> Vec<(u8, usize)> {
        (0..count).map(|number| (number, SIZE)).collect()
    }

    #[test]
    fn many_go_and_come_by_one_call_in_their_order() {
        let [one, other] = pair();
        let mut room = vec![0; room(SIZE, By::One)];
        let mut batch = Batch::to_send(&mut room, SIZE, By::One);
        assert_eq!((batch.most(), batch.bytes()), (MOST, SIZE));
        numbered(&mut batch);
        assert_eq!(batch.send(one.as_fd(), 40).unwrap(), 40);
        // No more than there are, and one at least.
        assert_eq!(batch.send(one.as_fd(), 0).unwrap(), 1);
        assert_eq!(batch.calls(), 2);
        let mut all = expected(40);
        all.push((0, SIZE));
        assert_eq!(came(&other, 41), (all, 1));
    }

    #[test]
    fn a_train_is_cut_and_put_together_again() {
        for joins in [false, true] {
            let [one, other] = pair();
            cut(one.as_fd(), SIZE, false).unwrap();
            if joins {
                join(other.as_fd()).unwrap();
            }
            assert_eq!(
                (sent(one.as_fd()), sent(other.as_fd())),
                (By::Train, By::One)
            );
            assert_eq!(received(other.as_fd()) == By::Train, joins);
            let mut room = vec![0; room(SIZE, By::Train)];
            let mut batch = Batch::to_send(&mut room, SIZE, By::Train);
            numbered(&mut batch);
            assert_eq!(batch.send(one.as_fd(), 50).unwrap(), 50);
            assert_eq!((batch.calls(), batch.trains()), (1, 1));
            assert_eq!(came(&other, 50).0, expected(50));
        }
    }

    #[test]
    fn fewer_that_went_are_told_and_one_alone_hears_why() {
        let [one, other] = pair();
        let mut room = vec![0; room(SIZE, By::One)];
        let mut batch = Batch::to_send(&mut room, SIZE, By::One);
        // Each that gets there is refused, which the one behind it hears.
        drop(other);
        assert_eq!(batch.send(one.as_fd(), MOST).unwrap(), 1);
        assert_eq!(batch.send(one.as_fd(), 1).unwrap(), 1);
        let why = batch.send(one.as_fd(), 1).unwrap_err();
        assert_eq!(why.kind(), io::ErrorKind::ConnectionRefused);
    }

    #[test]
    fn of_what_is_too_long_the_length_is_known() {
        let [one, other] = pair();
        one.send(&[7; 3 * SIZE]).unwrap();
        one.send(&[8; 4]).unwrap();
        assert_eq!(came(&other, 2).0, [(7, 3 * SIZE), (8, 4)]);
    }
}
