//! What one process that still lives has used: for children that nobody has waited for yet.
//!
//! Its CPU time is that of its own clock, to the nanosecond; user and kernel mode share it as the ticks of
//! `/proc/[pid]/stat` do, which is the kernel's own division. It does not tell what the process's children used.

use super::Usage;
use std::io;

/// What the process with this id has used until now, without its children: time and faults of all its threads, and
/// switches of its first, which is what the kernel tells of a process.
pub fn usage_of(pid: u32) -> io::Result<Usage> {
    let all = cpu_time_of(pid)?;
    let odd = |what: &str| io::Error::other(format!("/proc/{pid} has no {what}"));
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name before it may hold anything.
    let (_, fields) = stat.rsplit_once(") ").ok_or_else(|| odd("name"))?;
    // proc(5) counts fields from 1, and the state behind the name is number 3.
    let field = |place: usize, name: &str| -> io::Result<u64> {
        let field = fields.split_ascii_whitespace().nth(place - 3);
        let number = field.and_then(|field| field.parse().ok());
        number.ok_or_else(|| odd(name))
    };
    let (user, system) = (field(14, "utime")?, field(15, "stime")?);
    let user = share_of(all, user, system);
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let switches = |name: &str| -> io::Result<u64> {
        let value = status.lines().find_map(|line| line.strip_prefix(name));
        let number = value.and_then(|value| value.trim().parse().ok());
        number.ok_or_else(|| odd(name))
    };
    Ok(Usage {
        user,
        system: all - user,
        voluntary: switches("voluntary_ctxt_switches:")?,
        involuntary: switches("nonvoluntary_ctxt_switches:")?,
        major_faults: field(12, "majflt")?,
        minor_faults: field(10, "minflt")?,
    })
}

/// The part of `all` that `part` is of `part` and `rest` together; without either, nothing.
fn share_of(all: u64, part: u64, rest: u64) -> u64 {
    let share = u128::from(all) * u128::from(part) / (u128::from(part) + u128::from(rest)).max(1);
    u64::try_from(share).unwrap_or(all)
}

/// The CPU time of a process in nanoseconds.
fn cpu_time_of(pid: u32) -> io::Result<u64> {
    let pid = libc::pid_t::try_from(pid).map_err(io::Error::other)?;
    let mut clock = 0;
    // SAFETY: `clock` is valid to write to.
    let result = unsafe { libc::clock_getcpuclockid(pid, &raw mut clock) };
    if result != 0 {
        return Err(io::Error::from_raw_os_error(result));
    }
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `now` is valid to write to.
    if unsafe { libc::clock_gettime(clock, &raw mut now) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let (seconds, nanos) = (u64::try_from(now.tv_sec), u64::try_from(now.tv_nsec));
    Ok(seconds.unwrap_or(0) * 1_000_000_000 + nanos.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::usage_self;

    #[test]
    fn a_process_that_lives_has_used_what_it_says_of_itself() {
        let start = usage_self();
        let cpu = |usage: Usage| usage.user + usage.system;
        while cpu(usage_self().since(start)) < 30_000_000 {
            std::hint::black_box(vec![1_u8; 1 << 16]);
        }
        let before = usage_self();
        let seen = usage_of(std::process::id()).unwrap();
        let after = usage_self();
        // Its own count is in microseconds.
        assert!(
            cpu(seen) + 1_000 >= cpu(before) && cpu(seen) <= cpu(after) + 1_000,
            "{before:?} {seen:?} {after:?}"
        );
        assert!((before.minor_faults..=after.minor_faults).contains(&seen.minor_faults));
        assert!(usage_of(0x7fff_ffff).is_err(), "there is no such process");
    }

    #[test]
    fn modes_share_the_time_as_their_ticks_do() {
        let check = |all, part, rest, expect| assert_eq!(share_of(all, part, rest), expect);
        check(1_000, 1, 3, 250);
        check(1_000, 0, 0, 0);
        check(1_000, 5, 0, 1_000);
        check(u64::MAX, u64::MAX, 0, u64::MAX);
    }
}
