//! Programs that run at the same time on the same CPUs.
//!
//! The kernel gives a CPU to one after the other for a few milliseconds, so that what the machine does meanwhile (its
//! clock rate, neighbours on the other hardware thread of a core, stolen time) meets all of them alike. Only figures
//! per second of CPU time can be compared so, and only of work that does not keep much in the caches that they share.

use anyhow::Context;

/// What one of them does: it starts a program, waits for it, and reads its figure.
pub(super) type Program<'a, T> = Box<dyn FnOnce() -> anyhow::Result<T> + Send + 'a>;

/// Does `work` on these CPUs; so do the threads and the programs that it starts.
pub(super) fn kept_to<T>(
    cpus: &[u32],
    work: impl FnOnce() -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let before = sys::affinity::allowed_cpus().context("read the CPUs allowed")?;
    sys::affinity::keep_to(cpus).with_context(|| format!("keep to the CPUs {cpus:?}"))?;
    let said = work();
    let back = sys::affinity::keep_to(&before).context("go back to the CPUs allowed");
    said.and_then(|said| back.map(|()| said))
}

/// Runs all `programs` on `cpus`; what they say, in their order.
pub(super) fn at_once<T: Send>(
    cpus: &[u32],
    programs: Vec<Program<'_, T>>,
) -> anyhow::Result<Vec<T>> {
    kept_to(cpus, || all_of(programs))
}

fn all_of<T: Send>(programs: Vec<Program<'_, T>>) -> anyhow::Result<Vec<T>> {
    let said = std::thread::scope(|scope| {
        let running: Vec<_> = programs
            .into_iter()
            .map(|program| scope.spawn(program))
            .collect();
        let ended = running.into_iter().map(|thread| {
            let said = thread.join();
            said.unwrap_or_else(|_| Err(anyhow::anyhow!("a thread panicked")))
        });
        // All of them end before the first error is told.
        ended.collect::<Vec<_>>()
    });
    said.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_run_at_the_same_time_on_the_cpus_given_and_errors_are_told_at_the_end() {
        let allowed = sys::affinity::allowed_cpus().unwrap();
        let last = *allowed.last().unwrap();
        // Each waits until both are there.
        let both = std::sync::Barrier::new(2);
        let program = || -> Program<'_, Vec<u32>> {
            Box::new(|| {
                both.wait();
                Ok(sys::affinity::allowed_cpus()?)
            })
        };
        let said = at_once(&[last], vec![program(), program()]).unwrap();
        assert_eq!(said, [vec![last], vec![last]]);
        assert_eq!(sys::affinity::allowed_cpus().unwrap(), allowed);
        let fails = || -> Program<'_, ()> { Box::new(|| anyhow::bail!("no figure")) };
        assert!(at_once(&allowed, vec![Box::new(|| Ok(())), fails()]).is_err());
        assert_eq!(sys::affinity::allowed_cpus().unwrap(), allowed);
    }
}
