//! Priorities of this thread, and of threads that it starts from now on: for CPUs (setpriority(2)) and for block
//! devices (`ioprio_set(2)`).

#![expect(unsafe_code, reason = "std has no priorities")]

use libc::c_int;
use std::io;

/// The CPU priority: from -20, the highest, to 19.
pub fn set_nice(nice: i8) -> io::Result<()> {
    // SAFETY: numbers alone; 0 is the calling thread.
    let result = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, i32::from(nice)) };
    done(result == 0)
}

/// The I/O priority: its class and its level in one number.
pub fn set_io(ioprio: u16) -> io::Result<()> {
    // SAFETY: numbers alone; 0 is the calling thread.
    let result =
        unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, 0, c_int::from(ioprio)) };
    done(result == 0)
}

/// Whether this thread may have that I/O priority.
pub fn may_have_io(ioprio: u16) -> io::Result<()> {
    // SAFETY: numbers alone; 0 is the calling thread.
    let before = unsafe { libc::syscall(libc::SYS_ioprio_get, WHO_PROCESS, 0) };
    done(before >= 0)?;
    set_io(ioprio)?;
    set_io(u16::try_from(before).unwrap_or(0))
}

/// `IOPRIO_WHO_PROCESS` (linux/ioprio.h).
const WHO_PROCESS: c_int = 1;

fn done(is_done: bool) -> io::Result<()> {
    if is_done {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_gives_its_priority_away_and_the_kernel_says_so() {
        const REALTIME: u16 = (1 << 13) | 7;
        const IDLE: u16 = 3 << 13;
        let told = std::thread::scope(|scope| {
            let own = scope.spawn(|| {
                set_nice(7).unwrap();
                set_io(IDLE).unwrap();
                // proc(5): the 19th field, the second of which is in brackets.
                let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
                let (_, behind) = stat.rsplit_once(')').unwrap();
                behind.split_whitespace().nth(16).unwrap().to_owned()
            });
            own.join().unwrap()
        });
        assert_eq!(told, "7");
        assert!(set_io(4 << 13).is_err(), "there is no such class");
        // SAFETY: asks alone.
        let is_root = unsafe { libc::geteuid() } == 0;
        assert_eq!(may_have_io(REALTIME).is_ok(), is_root);
    }
}
