//! Ctrl-C and its relatives, noted and nothing more.
//!
//! The handler sets a flag; whoever waits sees `EINTR` from its system call and asks [`interrupted`]. A second
//! signal ends the process at once, for a user who does not want to wait for the clean-up. One that follows within
//! half a second counts as the same: timeout(1) signals its child and then the group that the child is in.

#![expect(unsafe_code, reason = "std has no signal handling")]

use std::io;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};

static CAUGHT: AtomicI32 = AtomicI32::new(0);

/// The monotonic clock when the first signal came; 0 before.
static FIRST_AT: AtomicU64 = AtomicU64::new(0);

/// Signals this close together have one cause: nobody reads "interrupted" and presses a key in less, in nanoseconds.
const SAME_CAUSE_NS: u64 = 500_000_000;

/// The signals that mean "please stop": terminal interrupt and quit, polite kill, lost terminal.
const STOP: [libc::c_int; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

extern "C" fn note(signal: libc::c_int) {
    // clock_gettime is async-signal-safe, and so are lock-free atomics.
    let now = crate::clock::monotonic();
    match FIRST_AT.compare_exchange(0, now, Ordering::SeqCst, Ordering::SeqCst) {
        Ok(_) => CAUGHT.store(signal, Ordering::SeqCst),
        Err(first) if now.saturating_sub(first) < SAME_CAUSE_NS => {}
        // SAFETY: _exit is async-signal-safe and does not return.
        Err(_) => unsafe { libc::_exit(128 + signal) },
    }
}

/// From now on SIGINT, SIGTERM, SIGHUP and SIGQUIT are noted instead of ending the process. A signal that was ignored
/// when the process started (nohup) stays ignored.
pub fn catch_stop_signals() -> io::Result<()> {
    for signal in STOP {
        if current(signal)? == libc::SIG_IGN {
            continue;
        }
        install(signal, note as *const () as libc::sighandler_t)?;
    }
    Ok(())
}

/// Writing to a closed pipe gives EPIPE instead of ending the process. (Rust's start-up code does it too; the
/// workers rely on it, so it is said here.)
pub fn ignore_sigpipe() -> io::Result<()> {
    install(libc::SIGPIPE, libc::SIG_IGN)
}

/// True where SIGXFSZ is ignored because of us, and not because whoever started us ignored it.
static IGNORES_SIGXFSZ: AtomicBool = AtomicBool::new(false);

/// Writing beyond the file size limit gives EFBIG instead of ending the process.
pub fn ignore_sigxfsz() -> io::Result<()> {
    if current(libc::SIGXFSZ)? != libc::SIG_IGN {
        install(libc::SIGXFSZ, libc::SIG_IGN)?;
        IGNORES_SIGXFSZ.store(true, Ordering::SeqCst);
    }
    Ok(())
}

/// In a child, before it executes another program: signals that we ignore do what they did when we were started, and
/// SIGPIPE what it does in a program that a shell starts. (Rust's start-up code ignores it before anybody could look
/// what it was.) Those that we catch do so by themselves. Neither allocates nor locks.
pub(crate) fn give_back() -> io::Result<()> {
    if IGNORES_SIGXFSZ.load(Ordering::SeqCst) {
        install(libc::SIGXFSZ, libc::SIG_DFL)?;
    }
    install(libc::SIGPIPE, libc::SIG_DFL)
}

/// Asks everything else in our process group to end: everything that we started and that has not left. False where we
/// do not lead the group, and nothing was asked.
pub(crate) fn ask_group_to_end() -> io::Result<bool> {
    // SAFETY: getpgrp takes nothing and cannot fail.
    let group = unsafe { libc::getpgrp() };
    if u32::try_from(group) != Ok(std::process::id()) {
        return Ok(false);
    }
    let heard = current(libc::SIGTERM)?;
    install(libc::SIGTERM, libc::SIG_IGN)?;
    // SAFETY: kill takes plain integers; 0 is our own group.
    unsafe { libc::kill(0, libc::SIGTERM) };
    install(libc::SIGTERM, heard)?;
    Ok(true)
}

/// The stop signal that came, if any.
pub fn interrupted() -> Option<i32> {
    match CAUGHT.load(Ordering::SeqCst) {
        0 => None,
        signal => Some(signal),
    }
}

fn current(signal: libc::c_int) -> io::Result<libc::sighandler_t> {
    // SAFETY: an all-zero sigaction is a valid value of this plain C struct.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: a null new action only reads; `action` is valid to write to.
    if unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut action) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(action.sa_sigaction)
}

fn install(signal: libc::c_int, handler: libc::sighandler_t) -> io::Result<()> {
    // SAFETY: an all-zero sigaction is a valid value of this plain C struct: no flags, empty mask. Without
    // SA_RESTART system calls return EINTR, which is what the waiting loops want.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler;
    // SAFETY: `action` holds a handler that only does async-signal-safe work.
    if unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_that_come_together_are_one() {
        catch_stop_signals().unwrap();
        for signal in [libc::SIGTERM, libc::SIGTERM, libc::SIGHUP] {
            // SAFETY: raise takes one integer, and the signal is caught.
            assert_eq!(unsafe { libc::raise(signal) }, 0);
        }
        assert_eq!(interrupted(), Some(libc::SIGTERM));
    }
}
