//! Two processes and two pipes: a counter goes there and comes back, and both sides check it.
//!
//! Nobody is pinned: where the scheduler puts the two is part of what is measured.

#![expect(unsafe_code, reason = "a bare fork; std only starts other programs")]

use super::failure::Failure;
use super::transfer::{read_full, write_full};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// The partner's exit code where the counter it got was not the one it expected.
const WRONG_COUNTER: i32 = 3;

/// The other process of the exchange. It ends with the [`Partner`], and with the thread that started it.
#[derive(Debug)]
pub struct Partner {
    pid: libc::pid_t,
    to: OwnedFd,
    from: OwnedFd,
    counter: u64,
    ended: Option<i32>,
}

impl Partner {
    /// Forks the other process.
    pub fn start() -> Result<Self, Failure> {
        let pipe = || {
            std::io::pipe().map_err(|error| Failure {
                operation: "pipe",
                done: 0,
                error,
            })
        };
        let (there_read, there_write) = pipe()?;
        let (back_read, back_write) = pipe()?;
        // SAFETY: getpid takes nothing and cannot fail.
        let parent = unsafe { libc::getpid() };
        // SAFETY: the child calls only async-signal-safe functions and never returns.
        match unsafe { libc::fork() } {
            -1 => Err(Failure::last("fork", 0)),
            0 => answer(parent, there_read.as_raw_fd(), back_write.as_raw_fd()),
            pid => Ok(Self {
                pid,
                to: there_write.into(),
                from: back_read.into(),
                counter: 0,
                ended: None,
            }),
        }
    }

    /// The other process's id.
    pub fn pid(&self) -> u32 {
        self.pid.unsigned_abs()
    }

    /// Sends the counter and takes it back, `ops` times: one operation is one round trip. The counter goes on from
    /// call to call.
    pub fn round_trips(&mut self, ops: u64) -> Result<(), Failure> {
        let (to, from) = (self.to.as_raw_fd(), self.from.as_raw_fd());
        for done in 0..ops {
            let sent = self.counter.to_ne_bytes();
            let mut got = [0; 8];
            write_full(to, &sent, done)?;
            if !read_full(from, &mut got, done)? {
                return Err(Failure::kind("read", done, io::ErrorKind::UnexpectedEof));
            }
            if sent != got {
                return Err(Failure::kind(
                    "check the counter",
                    done,
                    io::ErrorKind::InvalidData,
                ));
            }
            self.counter += 1;
        }
        Ok(())
    }

    /// Ends the other process and reaps it. True where it had ended before, on its own, over a wrong counter.
    pub fn finish(&mut self) -> bool {
        let status = *self.ended.get_or_insert_with(|| reap(self.pid));
        libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == WRONG_COUNTER
    }

    /// Breaks the agreement about the counter, so that a test sees it noticed.
    #[doc(hidden)]
    pub fn skip_one_for_test(&mut self) {
        self.counter += 1;
    }
}

impl Drop for Partner {
    fn drop(&mut self) {
        self.finish();
    }
}

fn reap(pid: libc::pid_t) -> i32 {
    // SAFETY: the child was not waited for yet, so the id is still its own. One that has ended keeps its status.
    unsafe { libc::kill(pid, libc::SIGKILL) };
    let mut status = 0;
    loop {
        // SAFETY: `status` is valid to write to.
        let got = unsafe { libc::waitpid(pid, &raw mut status, 0) };
        if got == pid || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return status;
        }
    }
}

/// The other process: takes the counter, checks it against its own, sends it back; until the end of the pipe.
fn answer(parent: libc::pid_t, from: RawFd, to: RawFd) -> ! {
    let code = match own_two_descriptors(parent, from, to) {
        Ok(()) => answer_all(),
        Err(()) => 1,
    };
    // SAFETY: _exit is async-signal-safe and does not return; exit would run the parent's handlers a second time.
    unsafe { libc::_exit(code) }
}

/// Dies with the parent, and keeps only its two ends, as 0 and 1: an end held by accident would hide that the
/// parent is gone.
fn own_two_descriptors(parent: libc::pid_t, from: RawFd, to: RawFd) -> Result<(), ()> {
    crate::process::die_with_parent().map_err(|_| ())?;
    // SAFETY: getppid takes nothing and cannot fail.
    if unsafe { libc::getppid() } != parent {
        return Err(());
    }
    // `to` first goes out of the way of 0 and 1, which it may be itself where the parent had closed its own.
    // SAFETY: fcntl with F_DUPFD takes plain integers.
    let to = unsafe { libc::fcntl(to, libc::F_DUPFD, 3) };
    // SAFETY: dup2 takes plain integers.
    if to < 0 || unsafe { libc::dup2(from, 0) } != 0 {
        return Err(());
    }
    // SAFETY: dup2 takes plain integers.
    if unsafe { libc::dup2(to, 1) } != 1 {
        return Err(());
    }
    // SAFETY: close_range takes plain integers; nothing of this process uses the closed ones any more.
    if unsafe { libc::syscall(libc::SYS_close_range, 2, libc::c_uint::MAX, 0) } != 0 {
        // Kernels before 5.9: the usual limit of open files bounds what there can be.
        for fd in 2..1024 {
            // SAFETY: as above; a number that is not open gives EBADF.
            unsafe { libc::close(fd) };
        }
    }
    Ok(())
}

fn answer_all() -> libc::c_int {
    let mut expected: u64 = 0;
    let mut got = [0; 8];
    loop {
        match read_full(0, &mut got, 0) {
            Ok(true) => {}
            Ok(false) => return 0,
            Err(_) => return 1,
        }
        if got != expected.to_ne_bytes() {
            return WRONG_COUNTER;
        }
        if write_full(1, &got, 0).is_err() {
            return 1;
        }
        expected += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_partner_is_gone_after_finish() {
        let mut partner = Partner::start().unwrap();
        partner.round_trips(500).unwrap();
        partner.round_trips(1).unwrap();
        assert!(crate::process::exists(partner.pid()));
        assert!(!partner.finish());
        assert!(!crate::process::exists(partner.pid()));
    }

    #[test]
    fn the_partner_notices_a_wrong_counter() {
        let mut partner = Partner::start().unwrap();
        partner.round_trips(5).unwrap();
        partner.skip_one_for_test();
        let failure = partner.round_trips(5).unwrap_err();
        assert_eq!(failure.error.kind(), io::ErrorKind::UnexpectedEof);
        assert!(partner.finish());
    }

    #[test]
    fn a_killed_partner_is_an_error_and_not_a_death() {
        let mut partner = Partner::start().unwrap();
        // SAFETY: the partner was not waited for yet, so the id is its own.
        unsafe { libc::kill(partner.pid, libc::SIGKILL) };
        let failure = partner.round_trips(5).unwrap_err();
        assert!(["read", "write"].contains(&failure.operation));
        assert!(!partner.finish());
    }
}
