//! What each kind of operation took: every one is timed by itself, so that a rate is over the time that was spent in
//! its kind alone, whatever stood between.

use engine::recorder::Latencies;
use engine::workload::Finish;
use model::num::approx;
use sys::clock::Clock;
use sys::loops::failure::Failure;

/// A kind of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Create,
    Write,
    Stat,
    Open,
    Read,
    Rename,
    Unlink,
    Readdir,
    Fsync,
}

/// All of them, with the words that their metrics and latencies begin with.
pub(super) const ALL: [(Class, &str); 9] = [
    (Class::Create, "create"),
    (Class::Write, "write"),
    (Class::Stat, "stat"),
    (Class::Open, "open"),
    (Class::Read, "read"),
    (Class::Rename, "rename"),
    (Class::Unlink, "unlink"),
    (Class::Readdir, "readdir"),
    (Class::Fsync, "fsync"),
];

/// What one kind took.
#[derive(Default)]
struct Spent {
    latencies: Latencies,
    ops: u64,
    ns: u64,
    /// Names that were read; 0 for all others.
    names: u64,
}

/// What all of them took.
pub(super) struct Classes {
    clock: Clock,
    each: [Spent; ALL.len()],
}

impl Classes {
    pub(super) fn new(clock: Clock) -> Self {
        Self {
            clock,
            each: std::array::from_fn(|_| Spent::default()),
        }
    }

    /// Does one operation of this kind and times it.
    #[inline]
    pub(super) fn time<T>(
        &mut self,
        class: Class,
        operation: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let start = self.clock.tick();
        let result = operation();
        let ns = self.clock.nanos(start, self.clock.tick());
        let spent = &mut self.each[class as usize];
        spent.latencies.record(ns, 1);
        spent.ops += 1;
        spent.ns += ns;
        result
    }

    /// Counts names that an operation has read.
    #[inline]
    pub(super) fn count_names(&mut self, names: u64) {
        self.each[Class::Readdir as usize].names += names;
    }

    /// How many operations there were.
    pub(super) fn ops(&self) -> u64 {
        self.each.iter().map(|spent| spent.ops).sum()
    }

    /// Forgets the warm-up.
    pub(super) fn clear(&mut self) {
        for spent in &mut self.each {
            spent.latencies.clear();
            (spent.ops, spent.ns, spent.names) = (0, 0, 0);
        }
    }

    /// Rates and latencies of all kinds of which there was an operation.
    pub(super) fn tell(&self, finish: &mut Finish) {
        for (class, word) in ALL {
            let spent = &self.each[class as usize];
            if spent.ops == 0 {
                continue;
            }
            let (quantity, amount) = match class {
                Class::Readdir => ("readdir_names_per_s".to_owned(), spent.names),
                _ => (format!("{word}_ops_per_s"), spent.ops),
            };
            let rate = approx(amount) * 1e9 / approx(spent.ns.max(1));
            finish.reported.insert(quantity, rate);
            let latencies = spent.latencies.clone();
            finish.latencies.insert(word.to_owned(), latencies);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_over_the_time_spent_in_its_kind_alone() {
        let mut classes = Classes::new(Clock::Kernel);
        for _ in 0..20 {
            let slept = classes.time(Class::Stat, || {
                sys::clock::sleep(1_000_000);
                Ok(7)
            });
            assert_eq!(slept.unwrap(), 7);
            sys::clock::sleep(3_000_000);
            classes.time(Class::Readdir, || Ok(())).unwrap();
            classes.count_names(5);
        }
        let mut finish = Finish::default();
        classes.tell(&mut finish);
        let rate = finish.reported["stat_ops_per_s"];
        assert!(rate <= 1000.0, "{rate}");
        assert_eq!(finish.latencies["stat"].count(), 20);
        assert!(finish.reported["readdir_names_per_s"] > 5.0 * rate);
        assert_eq!((finish.reported.len(), finish.latencies.len()), (2, 2));
        classes.clear();
        assert_eq!(classes.ops(), 0);
    }
}
