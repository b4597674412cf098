//! Which CPUs the calling thread may run on.
//!
//! Raw system calls with a mask that grows: glibc's `cpu_set_t` stops at 1024 CPUs, and the kernel refuses a mask
//! that is smaller than its own.

#![expect(unsafe_code, reason = "std has no affinity")]

use std::io;

/// Words of the largest mask tried: 65536 CPUs, eight times what any kernel is configured for.
const WORDS_MAX: usize = 1024;

/// The CPUs this thread may run on, ascending.
pub fn allowed_cpus() -> io::Result<Vec<u32>> {
    let mask = mask()?;
    let cpus = (0_u32..).zip(
        mask.iter()
            .flat_map(|word| (0..64).map(move |bit| word >> bit & 1)),
    );
    Ok(cpus
        .filter(|(_, set)| *set == 1)
        .map(|(cpu, _)| cpu)
        .collect())
}

/// Moves this thread to `cpu` once and then lets it go anywhere it was allowed before: a defined start, no pinning.
pub fn start_on(cpu: u32) -> io::Result<()> {
    let before = mask()?;
    let mut one = vec![0; before.len()];
    set_bit(&mut one, cpu)?;
    set(&one)?;
    set(&before)
}

/// Keeps this thread on `cpu`: for measurements of one core, where the place is part of the question. Threads started
/// later inherit it. Allocates nothing, because a measured part may go from CPU to CPU.
pub fn pin(cpu: u32) -> io::Result<()> {
    // Of a mask that is longer than its own the kernel takes as much as it has.
    let mut one = [0_u64; WORDS_MAX];
    set_bit(&mut one, cpu)?;
    set(&one)
}

/// Keeps this thread on any of `cpus`. Threads started later inherit it.
pub fn keep_to(cpus: &[u32]) -> io::Result<()> {
    let mut some = vec![0_u64; WORDS_MAX];
    for &cpu in cpus {
        set_bit(&mut some, cpu)?;
    }
    set(&some)
}

/// The CPU this thread runs on at this moment.
pub fn current_cpu() -> Option<u32> {
    // SAFETY: sched_getcpu takes nothing.
    u32::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// Adds `cpu` to a mask; one that lies beyond it is none that the kernel has.
fn set_bit(mask: &mut [u64], cpu: u32) -> io::Result<()> {
    let word = usize::try_from(cpu / 64).map_err(io::Error::other)?;
    *mask
        .get_mut(word)
        .ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))? |= 1 << (cpu % 64);
    Ok(())
}

fn mask() -> io::Result<Vec<u64>> {
    let mut words = 8;
    loop {
        let mut mask = vec![0_u64; words];
        let bytes = words * size_of::<u64>();
        // SAFETY: `mask` is valid for `bytes` bytes; pid 0 is the calling thread.
        let size =
            unsafe { libc::syscall(libc::SYS_sched_getaffinity, 0, bytes, mask.as_mut_ptr()) };
        if size > 0 {
            return Ok(mask);
        }
        let error = io::Error::last_os_error();
        if error.raw_os_error() != Some(libc::EINVAL) || words >= WORDS_MAX {
            return Err(error);
        }
        words *= 2;
    }
}

fn set(mask: &[u64]) -> io::Result<()> {
    // SAFETY: `mask` is valid for its size; pid 0 is the calling thread.
    let result = unsafe {
        libc::syscall(
            libc::SYS_sched_setaffinity,
            0,
            size_of_val(mask),
            mask.as_ptr(),
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allowed_cpus_survive_a_start_on_one_of_them() {
        let before = allowed_cpus().unwrap();
        assert!(before.is_sorted() && !before.is_empty());
        start_on(before[before.len() - 1]).unwrap();
        assert_eq!(allowed_cpus().unwrap(), before);
    }

    #[test]
    fn a_pinned_thread_is_where_it_was_put() {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let cpu = *allowed_cpus().unwrap().last().unwrap();
                pin(cpu).unwrap();
                assert_eq!(allowed_cpus().unwrap(), [cpu]);
                assert_eq!(current_cpu(), Some(cpu));
                assert!(pin(u32::MAX).is_err());
                assert!(pin(65_535).is_err(), "no machine has so many");
            });
        });
    }

    #[test]
    fn a_cpu_that_is_not_there_is_refused_and_changes_nothing() {
        let before = allowed_cpus().unwrap();
        assert!(start_on(u32::MAX).is_err());
        assert!(start_on(500).is_err() || before.contains(&500));
        assert_eq!(allowed_cpus().unwrap(), before);
    }
}
