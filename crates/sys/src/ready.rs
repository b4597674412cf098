//! Whether sockets have something to read: one, or which of several, told by one call for as many as have.
#![expect(unsafe_code, reason = "std has no poll and no epoll")]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// Whether this one has something to read, its end too, within so long. Nothing is allocated.
pub fn is_readable_within(socket: BorrowedFd<'_>, at_most: Duration) -> io::Result<bool> {
    let mut poll = libc::pollfd {
        fd: socket.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: `poll` is one valid entry.
    match unsafe { libc::poll(&raw mut poll, 1, millis(at_most)) } {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(io::Error::last_os_error()),
    }
}

/// In whole milliseconds, never sooner.
fn millis(at_most: Duration) -> libc::c_int {
    let millis = at_most.as_micros().div_ceil(1000);
    libc::c_int::try_from(millis).unwrap_or(libc::c_int::MAX)
}

/// So many are told by one call.
const TOLD_MAX: usize = 64;

/// Sockets that are waited for together, by their places. Source: epoll(7), level-triggered.
#[derive(Debug)]
pub struct Ready {
    epoll: OwnedFd,
    told: [libc::epoll_event; TOLD_MAX],
    /// Those that were told and not handed out.
    begin: usize,
    end: usize,
}

impl Ready {
    /// Of these sockets.
    pub fn new<'a>(sockets: impl IntoIterator<Item = BorrowedFd<'a>>) -> io::Result<Self> {
        // SAFETY: it takes a number and returns one.
        let made = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if made < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: it was just opened, and nobody else knows it.
        let epoll = unsafe { OwnedFd::from_raw_fd(made) };
        for (socket, place) in sockets.into_iter().zip(0..) {
            add(epoll.as_fd(), socket, place)?;
        }
        Ok(Self {
            epoll,
            told: [libc::epoll_event { events: 0, u64: 0 }; TOLD_MAX],
            begin: 0,
            end: 0,
        })
    }

    /// One more, by its place. It is waited for until it is closed, and what was told of it by then still comes: to be
    /// looked at by whoever gives places away twice.
    pub fn add(&self, socket: BorrowedFd<'_>, place: usize) -> io::Result<()> {
        let place = u64::try_from(place).map_err(io::Error::other)?;
        add(self.epoll.as_fd(), socket, place)
    }

    /// One that is waited for no longer; its socket is still open.
    pub fn remove(&self, socket: BorrowedFd<'_>) -> io::Result<()> {
        // SAFETY: the kernel looks at no event where one is taken out, and both are open.
        let done = unsafe {
            libc::epoll_ctl(
                self.epoll.as_raw_fd(),
                libc::EPOLL_CTL_DEL,
                socket.as_raw_fd(),
                std::ptr::null_mut(),
            )
        };
        if done == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }

    /// The place of one that has something to read, its end too, or an error; `None` where none has for so long. Each
    /// comes again in its turn, also where more was there than was read.
    #[inline]
    pub fn next(&mut self, at_most: Duration) -> io::Result<Option<usize>> {
        if self.begin == self.end {
            self.ask(at_most)?;
        }
        if self.begin == self.end {
            return Ok(None);
        }
        let place = self.told[self.begin].u64;
        self.begin += 1;
        Ok(usize::try_from(place).ok())
    }

    fn ask(&mut self, at_most: Duration) -> io::Result<()> {
        let millis = millis(at_most);
        let room = libc::c_int::try_from(TOLD_MAX).unwrap_or(libc::c_int::MAX);
        loop {
            // SAFETY: `told` has room for so many.
            let found = unsafe {
                libc::epoll_wait(self.epoll.as_raw_fd(), self.told.as_mut_ptr(), room, millis)
            };
            if let Ok(found) = usize::try_from(found) {
                (self.begin, self.end) = (0, found);
                return Ok(());
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }
}

fn add(epoll: BorrowedFd<'_>, socket: BorrowedFd<'_>, place: u64) -> io::Result<()> {
    let mut event = libc::epoll_event {
        events: libc::EPOLLIN.cast_unsigned(),
        u64: place,
    };
    // SAFETY: `event` is valid to read, and both are open.
    let done = unsafe {
        libc::epoll_ctl(
            epoll.as_raw_fd(),
            libc::EPOLL_CTL_ADD,
            socket.as_raw_fd(),
            &raw mut event,
        )
    };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    #[test]
    fn one_is_waited_for_no_shorter_than_was_asked() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let begun = crate::clock::monotonic();
        let asked = Duration::from_micros(20_500);
        assert!(!is_readable_within(ours.as_fd(), asked).unwrap());
        assert!(crate::clock::monotonic() - begun >= 20_500_000);
        theirs.write_all(b"a").unwrap();
        assert!(is_readable_within(ours.as_fd(), Duration::from_secs(60)).unwrap());
    }

    #[test]
    fn whoever_has_something_to_read_is_told_until_it_is_read() {
        let (mut ours, mut theirs): (Vec<_>, Vec<_>) =
            (0..100).map(|_| UnixStream::pair().unwrap()).unzip();
        let mut ready = Ready::new(ours.iter().map(AsFd::as_fd)).unwrap();
        let short = Duration::from_millis(20);
        assert_eq!(ready.next(short).unwrap(), None);
        for other in &mut theirs {
            other.write_all(b"ab").unwrap();
        }
        // More than one call tells.
        for _ in 0..2 {
            let mut told = Vec::new();
            for _ in 0..100 {
                let place = ready.next(short).unwrap().unwrap();
                ours[place].read_exact(&mut [0]).unwrap();
                told.push(place);
            }
            told.sort_unstable();
            told.dedup();
            assert_eq!(told.len(), 100, "each once in its turn");
        }
        assert_eq!(ready.next(short).unwrap(), None);
        drop(theirs.swap_remove(7));
        assert_eq!(
            ready.next(short).unwrap(),
            Some(7),
            "an end is something to read"
        );
        // Closed, it is waited for no longer; one that was added is.
        drop(ours.swap_remove(7));
        let (late, mut end) = UnixStream::pair().unwrap();
        ready.add(late.as_fd(), 1000).unwrap();
        end.write_all(b"a").unwrap();
        assert_eq!(ready.next(short).unwrap(), Some(1000));
        ready.remove(late.as_fd()).unwrap();
        assert_eq!(ready.next(short).unwrap(), None);
    }
}
