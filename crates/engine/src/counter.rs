//! The CPU's counter as a clock for latencies: used as long as the kernel itself takes its time from it.
//!
//! The kernel's watchdog may find at any time that the counters of the CPUs run apart, or that they stop, and goes over
//! to another clock for good. It is asked before each round, and again after it: what was timed meanwhile is doubtful,
//! which is said and not corrected.

use crate::host::clock;
use model::host::HostFacts;
use sys::clock::Clock;
use sys::tree::Tree;

/// The clock source that the counter is.
const TSC: &str = "tsc";

/// The counter of this machine.
#[derive(Debug)]
pub(crate) struct Counter {
    tree: Tree,
    /// Nanoseconds per tick; `None` where it was not to be trusted from the first.
    rate: Option<f64>,
}

impl Counter {
    /// Calibrates it, where the kernel takes its time from it and the CPU promises a constant rate.
    pub(crate) fn of(host: &HostFacts) -> Self {
        let clock = &host.clock;
        let source = clock.source.known().is_some_and(|source| source == TSC);
        let trusted = source && clock.tsc_reliable.known() == Some(&true);
        Self {
            tree: Tree::real(),
            rate: trusted.then(Clock::calibrate).and_then(Clock::rate),
        }
    }

    /// Nanoseconds per tick, as long as the kernel relies on it.
    pub(crate) fn rate(&self) -> Option<f64> {
        let relied_on = || clock::source(&self.tree).is_ok_and(|source| source == TSC);
        self.rate.filter(|_| relied_on())
    }

    /// What there is to say about latencies that were read with the rate `used`.
    pub(crate) fn lost(&self, used: Option<f64>) -> Option<String> {
        let is_lost = used.is_some() && self.rate().is_none();
        is_lost.then(|| {
            let now = clock::source(&self.tree).unwrap_or_else(|error| error.to_string());
            format!(
                "the kernel gave up the CPU's counter as its clock during a round (now: {now}): latencies of that round \
                 may be wrong, later ones are read from the kernel's clock"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_the_kernel_gives_up_is_not_used_again_and_that_is_said() {
        let root = tempfile::tempdir().unwrap();
        let dir = root
            .path()
            .join("sys/devices/system/clocksource/clocksource0");
        std::fs::create_dir_all(&dir).unwrap();
        let source = |name: &str| std::fs::write(dir.join("current_clocksource"), name).unwrap();
        let counter = |rate| Counter {
            tree: Tree::at(root.path()),
            rate,
        };
        source("tsc\n");
        assert_eq!(counter(None).rate(), None);
        let trusted = counter(Some(0.4));
        assert_eq!(trusted.rate(), Some(0.4));
        assert_eq!(trusted.lost(Some(0.4)), None);
        source("hpet\n");
        assert_eq!(trusted.rate(), None);
        let said = trusted.lost(Some(0.4)).unwrap();
        assert!(said.contains("(now: hpet)"), "{said}");
        assert_eq!(trusted.lost(None), None, "it was not used");
    }
}
