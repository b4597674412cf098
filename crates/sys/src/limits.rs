//! What this process may have of the machine (setrlimit(2)), looked at before anything else runs.
//!
//! A stack that cannot grow ends a process without a word of its own, and so does memory that is refused to a program
//! that cannot do without. Both are therefore found out at the start, where there is still room to say so, or told by
//! the allocator when they happen. Refused: raising what an administrator has set as the highest; only what the user
//! may have anyway is taken.

#![expect(
    unsafe_code,
    reason = "getrlimit, setrlimit and the last words of a process"
)]

use std::fmt::Write as _;
use std::hint::black_box;
use std::io;
use std::sync::OnceLock;

/// The stack that the program takes, in bytes: measured at less than 64 KiB, and at less than 256 KiB in a build
/// without optimisation, and as much again for what was not tried.
const STACK_BYTES: u64 = 512 << 10;

/// The stack that is asked for where it is too small, in bytes: what Linux gives by default.
const STACK_USUAL_BYTES: u64 = 8 << 20;

/// Open files that one copy takes at most: measured at 18, with the store, the work directory, the pipes of a worker
/// and what is read meanwhile.
const OPEN_FILES: u64 = 32;

/// Address space that must be left beside the stack, in bytes: what the first steps of a command allocate.
const ADDRESS_SPACE_BYTES: u64 = 4 << 20;

/// Less than the program takes of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Short {
    /// The stack.
    #[error(
        "start: the stack may have {} KiB (`ulimit -s`), and kurabe takes {}\nhint: `ulimit -s {}`, in this shell or by whoever may raise it",
        .bytes / 1024, STACK_BYTES / 1024, STACK_USUAL_BYTES / 1024
    )]
    Stack {
        /// What it may have.
        bytes: u64,
    },
    /// Open files.
    #[error(
        "start: {files} files may be open at a time (`ulimit -n`), and kurabe takes {OPEN_FILES}, and more with several copies\nhint: `ulimit -n 1024`, in this shell or by whoever may raise it"
    )]
    OpenFiles {
        /// How many may be open.
        files: u64,
    },
    /// Memory.
    #[error(
        "start: the address space may have {} KiB (`ulimit -v`), and {} are left of them where kurabe takes {}\nhint: `ulimit -v unlimited`, in this shell or by whoever may raise it",
        .bytes / 1024, .left / 1024, (STACK_BYTES + ADDRESS_SPACE_BYTES) / 1024
    )]
    AddressSpace {
        /// What it may have.
        bytes: u64,
        /// What is left of it.
        left: u64,
    },
}

/// Makes sure that the process can do its work without being ended for want of a stack, and has files to open. What
/// is too small is raised as far as the user may. To be called first, while little of the stack is used.
pub fn suffice() -> Result<(), Short> {
    let stack = at_least(libc::RLIMIT_STACK, STACK_BYTES, STACK_USUAL_BYTES);
    stack.map_err(|bytes| Short::Stack { bytes })?;
    let files = at_least(libc::RLIMIT_NOFILE, OPEN_FILES, u64::MAX);
    files.map_err(|files| Short::OpenFiles { files })?;
    let Some(bytes) = address_space() else {
        return Ok(());
    };
    // Where nobody tells what is used, nothing more can be known than that there is a limit.
    let left = mapped().map_or(bytes, |used| bytes.saturating_sub(used));
    if left < STACK_BYTES + ADDRESS_SPACE_BYTES {
        return Err(Short::AddressSpace { bytes, left });
    }
    // The kernel extends the stack when it is used, if there is address space left by then.
    grow_stack(STACK_BYTES / FRAME_BYTES as u64 / 2);
    Ok(())
}

/// The limit on the address space in bytes; `None` where there is none.
fn address_space() -> Option<u64> {
    limit(libc::RLIMIT_AS)
        .ok()
        .map(|limit| limit.rlim_cur)
        .filter(|&bytes| bytes != libc::RLIM_INFINITY)
}

/// Raises a limit that is below `least` towards `wanted`. The error is what it stays at.
fn at_least(what: libc::__rlimit_resource_t, least: u64, wanted: u64) -> Result<(), u64> {
    // A kernel that does not tell limits sets none that we could know of.
    let Ok(mut found) = limit(what) else {
        return Ok(());
    };
    if found.rlim_cur >= least {
        return Ok(());
    }
    let before = found.rlim_cur;
    found.rlim_cur = found.rlim_max.min(wanted);
    if raise(what, &found).is_ok() && found.rlim_cur >= least {
        Ok(())
    } else {
        Err(before)
    }
}

/// Allows this process as many open files as the system lets it have: three for every worker add up.
pub fn raise_open_files() -> io::Result<()> {
    let mut found = limit(libc::RLIMIT_NOFILE)?;
    found.rlim_cur = found.rlim_max;
    raise(libc::RLIMIT_NOFILE, &found)
}

/// What the limits that are raised here were when the process started.
static FOUND: [(libc::__rlimit_resource_t, OnceLock<libc::rlimit>); 2] = [
    (libc::RLIMIT_STACK, OnceLock::new()),
    (libc::RLIMIT_NOFILE, OnceLock::new()),
];

/// Sets a limit, and remembers what it was at first.
fn raise(what: libc::__rlimit_resource_t, to: &libc::rlimit) -> io::Result<()> {
    if let Some((_, found)) = FOUND.iter().find(|(known, _)| *known == what) {
        let before = limit(what)?;
        found.get_or_init(|| before);
    }
    set(what, to)
}

fn set(what: libc::__rlimit_resource_t, to: &libc::rlimit) -> io::Result<()> {
    // SAFETY: `to` is a valid rlimit.
    if unsafe { libc::setrlimit(what, to) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// In a child, before it executes another program: the limits are what they were. A program that closes every
/// descriptor it might have would take minutes with ours. Neither allocates nor locks.
pub(crate) fn give_back() -> io::Result<()> {
    for (what, found) in &FOUND {
        if let Some(found) = found.get() {
            set(*what, found)?;
        }
    }
    Ok(())
}

fn limit(what: libc::__rlimit_resource_t) -> io::Result<libc::rlimit> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is valid to write to.
    if unsafe { libc::getrlimit(what, &raw mut limit) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(limit)
}

/// Whether no descriptor is left, to this process or to the machine. Source: errno(3), `EMFILE` and `ENFILE`.
pub fn is_out_of_files(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

/// What helps where no descriptor is left.
pub const MORE_FILES: &str = "hint: more open files (`ulimit -n`)";

/// The system's words, and what helps where no descriptor is left.
pub fn with_hint(error: &io::Error) -> String {
    if is_out_of_files(error) {
        format!("{error}\n{MORE_FILES}")
    } else {
        error.to_string()
    }
}

/// Bytes of address space that this process has mapped. Source: proc(5), the first number of `statm`, in pages.
fn mapped() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split(' ').next()?.parse().ok()?;
    // SAFETY: sysconf takes one integer.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    pages.checked_mul(u64::try_from(page).ok()?)
}

/// What one call of [`grow_stack`] takes at least.
const FRAME_BYTES: usize = 4096;

#[inline(never)]
fn grow_stack(frames: u64) {
    let mut frame = [0_u8; FRAME_BYTES];
    black_box(&mut frame);
    if frames > 0 {
        grow_stack(frames - 1);
    }
    // Used after the call, so that the call cannot take the place of this frame.
    black_box(&mut frame);
}

/// The exit code of a process that memory was refused to: something is missing from the result.
const RAN_OUT: libc::c_int = 4;

/// Says that memory was refused and ends the process: what comes behind would be an abort that names nothing. Neither
/// allocates nor locks.
#[cold]
pub(crate) fn ran_out(bytes: usize) -> ! {
    let mut words = Words {
        bytes: [0; 400],
        used: 0,
    };
    let _ = write!(words, "error: get {bytes} bytes of memory: ");
    let _ = match address_space() {
        Some(limit) => write!(
            words,
            "the address space may have {} KiB (`ulimit -v`)\nhint: `ulimit -v unlimited`, or less at a time: smaller \
             sizes with `--set`, fewer `--copies`",
            limit / 1024
        ),
        None => write!(
            words,
            "the system gives no more\nhint: less at a time: smaller sizes with `--set`, fewer `--copies`"
        ),
    };
    let _ = words.write_str("\n");
    // SAFETY: the words are valid for their length. Nobody is left to tell where this fails.
    unsafe { libc::write(libc::STDERR_FILENO, words.bytes.as_ptr().cast(), words.used) };
    // SAFETY: _exit does not return, and runs nothing that could allocate.
    unsafe { libc::_exit(RAN_OUT) }
}

/// Text in memory that is there already; what does not fit is left out.
struct Words {
    bytes: [u8; 400],
    used: usize,
}

impl std::fmt::Write for Words {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let room = &mut self.bytes[self.used..];
        let taken = room.len().min(text.len());
        room[..taken].copy_from_slice(&text.as_bytes()[..taken]);
        self.used += taken;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_what_it_takes_and_limits_are_named_with_a_way_out() {
        assert_eq!(suffice(), Ok(()));
        for (short, limit) in [
            (Short::Stack { bytes: 16 << 10 }, "16 KiB (`ulimit -s`)"),
            (Short::OpenFiles { files: 8 }, "`ulimit -n`"),
            (
                Short::AddressSpace {
                    bytes: 8 << 20,
                    left: 1 << 20,
                },
                "8192 KiB (`ulimit -v`), and 1024 are left",
            ),
        ] {
            let text = short.to_string();
            assert!(text.contains(limit) && text.contains("\nhint: "), "{text}");
        }
    }

    #[test]
    fn what_is_mapped_is_known_and_grows() {
        let before = mapped().unwrap();
        let region = crate::memory::Region::new(64 << 20, crate::memory::Pages::Usual).unwrap();
        assert!(mapped().unwrap() >= before + region.len() as u64 / 2);
    }

    #[test]
    fn last_words_end_where_their_room_does() {
        let mut words = Words {
            bytes: [0; 400],
            used: 0,
        };
        for _ in 0..100 {
            write!(words, "{} bytes; ", 12_345).unwrap();
        }
        assert_eq!(words.used, 400);
        assert!(words.bytes.starts_with(b"12345 bytes; 12345 bytes; "));
    }
}
