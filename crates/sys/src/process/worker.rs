//! What a worker makes of itself, and what the programs that it starts get back.
//!
//! A process of ours has more open files than the user allowed by default, ignores signals that would end it, and as a
//! worker is the first to die where memory runs out. None of it is meant for other programs: a server that a command
//! leaves running would be killed first for want of memory, and without privilege nobody could take that back.

use super::die_with;
use std::ffi::CStr;
use std::io;
use std::sync::OnceLock;

/// Where a process says how willingly it dies where memory runs out. `proc_pid_oom_score_adj(5)`.
const SCORE: &CStr = c"/proc/self/oom_score_adj";

/// The highest score: this one first.
const FIRST: &[u8] = b"1000";

/// What a worker is called in lists of processes.
const NAME: &CStr = c"kurabe";

/// A score as the kernel writes it, and its length.
type Text = ([u8; 8], usize);

/// The score that this process had before [`be_worker`].
static FOUND: OnceLock<Text> = OnceLock::new();

/// To be called by a worker before anything else.
///
/// The worker will end when the process `supervisor` ends. The supervisor has asked for that already. The kernel
/// forgets it where the executed program has capabilities of its own (`PR_SET_PDEATHSIG(2const)`), so the worker asks
/// again.
///
/// Where memory runs out, the kernel will kill the worker first. The supervisor lives on and can say what happened.
///
/// Who looks which program is busy finds `kurabe`, and not the `exe` of the path by which it was executed.
///
/// An error means that the supervisor is gone.
pub fn be_worker(supervisor: u32) -> io::Result<()> {
    die_with(supervisor)?;
    // SAFETY: `NAME` is NUL-terminated; the kernel copies it.
    unsafe { libc::prctl(libc::PR_SET_NAME, NAME.as_ptr()) };
    // Raising one's own score needs no privilege; a kernel that refuses leaves things as they are.
    if let Some(found) = read_score() {
        FOUND.get_or_init(|| found);
        write_score(FIRST);
    }
    // As many as the supervisor had, who holds them for us.
    let _ = crate::limits::raise_open_files();
    Ok(())
}

/// In a child, before it executes a program that is not ours: what we have changed of ourselves is what it was. Neither
/// allocates nor locks.
pub(crate) fn give_back() -> io::Result<()> {
    if let Some((text, length)) = FOUND.get() {
        // Back to where it was needs no privilege either.
        write_score(&text[..*length]);
    }
    crate::limits::give_back()?;
    crate::signal::give_back()
}

fn read_score() -> Option<Text> {
    let mut text = [0; 8];
    let read = with_score(libc::O_RDONLY, |fd| {
        // SAFETY: `text` is valid to write to for its length.
        unsafe { libc::read(fd, text.as_mut_ptr().cast(), text.len()) }
    });
    let length = usize::try_from(read).ok().filter(|&length| length > 0)?;
    Some((text, length))
}

fn write_score(score: &[u8]) {
    with_score(libc::O_WRONLY, |fd| {
        // SAFETY: `score` is valid to read from for its length.
        unsafe { libc::write(fd, score.as_ptr().cast(), score.len()) }
    });
}

/// Opens the score for `what` is done with it; -1 where that fails.
fn with_score(flags: libc::c_int, what: impl FnOnce(libc::c_int) -> isize) -> isize {
    // SAFETY: the path is a NUL-terminated constant.
    let fd = unsafe { libc::open(SCORE.as_ptr(), flags | libc::O_CLOEXEC) };
    if fd < 0 {
        return -1;
    }
    let done = what(fd);
    // SAFETY: `fd` is ours and not used again.
    unsafe { libc::close(fd) };
    done
}
