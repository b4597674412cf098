//! Priorities of this thread, and of threads that it starts from now on: for CPUs (setpriority(2)) and for block
//! devices (`ioprio_set(2)`).

#![expect(unsafe_code, reason = "std has no priorities")]

use std::io;

/// The CPU priority: from -20, the highest, to 19.
pub fn set_nice(nice: i8) -> io::Result<()> {
    // SAFETY: numbers alone; 0 is the calling thread.
    let result = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, i32::from(nice)) };
    done(result == 0)
}

/// The class of I/O priority (1 realtime, 2 best effort, 3 idle) and the level in it, of which 0 is the highest.
pub fn set_io(class: u8, level: u8) -> io::Result<()> {
    const CLASS_SHIFT: u32 = 13;
    set_ioprio(libc::c_long::from(class) << CLASS_SHIFT | libc::c_long::from(level))
}

/// Whether this thread may have operations of the class realtime.
pub fn may_be_realtime() -> io::Result<()> {
    const REALTIME: u8 = 1;
    // SAFETY: numbers alone; 0 is the calling thread.
    let before = unsafe { libc::syscall(libc::SYS_ioprio_get, WHO_PROCESS, 0) };
    done(before >= 0)?;
    set_io(REALTIME, 7)?;
    set_ioprio(before)
}

/// `IOPRIO_WHO_PROCESS` (linux/ioprio.h).
const WHO_PROCESS: libc::c_int = 1;

fn set_ioprio(priority: libc::c_long) -> io::Result<()> {
    // SAFETY: numbers alone; 0 is the calling thread.
    let result = unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, 0, priority) };
    done(result == 0)
}

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
        let told = std::thread::scope(|scope| {
            let own = scope.spawn(|| {
                set_nice(7).unwrap();
                set_io(3, 0).unwrap();
                // proc(5): the 19th field, the second of which is in brackets.
                let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
                let (_, behind) = stat.rsplit_once(')').unwrap();
                behind.split_whitespace().nth(16).unwrap().to_owned()
            });
            own.join().unwrap()
        });
        assert_eq!(told, "7");
        assert!(set_io(4, 0).is_err(), "there is no such class");
        // SAFETY: asks alone.
        let is_root = unsafe { libc::geteuid() } == 0;
        assert_eq!(may_be_realtime().is_ok(), is_root);
    }
}
