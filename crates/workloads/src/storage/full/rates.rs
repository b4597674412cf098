//! A rate for each direction: which may begin an operation now, and the smallest rates that must be kept.
//!
//! Each direction that has a rate has a schedule of its own, in operations or bytes, that does not care for the
//! storage, as `pace` has one for the whole job. Of those that are due the mix chooses.

use crate::arrivals::Schedule;
use crate::storage::records::place;
use model::job::{Arrivals, Pacing, Rate};
use model::num::approx;
use sys::io::Kind;

const KINDS: [Kind; 3] = [Kind::Read, Kind::Write, Kind::Trim];

/// The schedules of the directions.
#[derive(Clone, Debug)]
pub(super) struct Rates {
    of: [Option<Stream>; 3],
}

#[derive(Clone, Debug)]
struct Stream {
    schedule: Schedule,
    /// It counts bytes, not operations.
    by_bytes: bool,
}

/// What may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// Any kind.
    All,
    /// This kind alone.
    Only(Kind),
    /// Nothing before this instant.
    Later(u64),
}

impl Rates {
    /// `None` where no direction has a rate.
    pub(super) fn new(pacing: &Pacing, arrivals: Arrivals, seed: u64) -> Option<Self> {
        let stream = |rate: &Rate, seed: u64| {
            let (per_s, by_bytes) = match (rate.iops, rate.bytes_per_s) {
                (Some(iops), _) => (iops, false),
                (None, Some(bytes)) => (bytes, true),
                (None, None) => return None,
            };
            Some(Stream {
                schedule: Schedule::new(approx(per_s), arrivals, seed),
                by_bytes,
            })
        };
        let rates = &pacing.rates;
        let of = [
            stream(&rates.read, seed),
            stream(&rates.write, seed.wrapping_add(1)),
            stream(&rates.trim, seed.wrapping_add(2)),
        ];
        of.iter().any(Option::is_some).then_some(Self { of })
    }

    /// What may begin now, of `kinds`, which the job does.
    pub(super) fn due(&mut self, kinds: &[Kind], now: u64) -> Due {
        let (mut ready, mut only, mut next) = (0, None, u64::MAX);
        for kind in kinds {
            let at = self.of[place(*kind)]
                .as_mut()
                .map_or(0, |stream| stream.schedule.due(now));
            if at <= now {
                ready += 1;
                only = Some(*kind);
            } else {
                next = next.min(at);
            }
        }
        match only {
            None => Due::Later(next),
            Some(kind) if ready < kinds.len() => Due::Only(kind),
            Some(_) => Due::All,
        }
    }

    /// An operation begins: when it was meant to.
    pub(super) fn take(&mut self, kind: Kind, bytes: u64, now: u64) -> u64 {
        let Some(stream) = &mut self.of[place(kind).min(2)] else {
            return now;
        };
        let due = stream.schedule.due(now);
        let amount = if stream.by_bytes { approx(bytes) } else { 1.0 };
        stream.schedule.advance(amount);
        due
    }

    /// Everything is that much later.
    pub(super) fn shift(&mut self, nanos: u64) {
        for stream in self.of.iter_mut().flatten() {
            stream.schedule.shift(nanos);
        }
    }
}

/// The smallest rates.
#[derive(Clone, Debug)]
pub(super) struct Floor {
    rates: [Rate; 3],
    cycle: u64,
    began: u64,
    done: [(u64, u64); 3],
}

impl Floor {
    /// `None` where no direction has a smallest rate. `cycle` is in ticks of the caller's clock.
    pub(super) fn new(pacing: &Pacing, cycle: u64) -> Option<Self> {
        let rates = [pacing.rates.read, pacing.rates.write, pacing.rates.trim];
        let any = rates
            .iter()
            .any(|rate| rate.min_iops.is_some() || rate.min_bytes_per_s.is_some());
        any.then_some(Self {
            rates,
            cycle,
            began: 0,
            done: [(0, 0); 3],
        })
    }

    /// The measured time begins.
    pub(super) fn begin(&mut self, now: u64) {
        self.began = now;
        self.done = [(0, 0); 3];
    }

    /// Operations of a direction are over.
    pub(super) fn add(&mut self, direction: usize, ops: u64, bytes: u64) {
        if let Some(done) = self.done.get_mut(direction) {
            *done = (done.0 + ops, done.1 + bytes);
        }
    }

    /// Judges the cycle where it is over: `seconds` tells ticks in seconds. `kinds` are those that the job does.
    pub(super) fn judge(
        &mut self,
        kinds: &[Kind],
        now: u64,
        seconds: impl Fn(u64) -> f64,
    ) -> Result<(), String> {
        if now.saturating_sub(self.began) < self.cycle {
            return Ok(());
        }
        let time = seconds(now - self.began);
        for (direction, name) in [(0, "read"), (1, "write"), (2, "trim")] {
            let rate = self.rates[direction];
            let (ops, bytes) = self.done[direction];
            for (least, done, unit) in [
                (rate.min_iops, ops, "operations"),
                (rate.min_bytes_per_s, bytes, "bytes"),
            ] {
                let reached = approx(done) / time;
                if let Some(least) = least
                    && kinds.contains(&KINDS[direction])
                    && reached < approx(least)
                {
                    return Err(format!(
                        "{name}: {reached:.0} {unit} per second are fewer than the {least} that were to be kept"
                    ));
                }
            }
        }
        self.begin(now);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::job::Directions;
    use model::units::Nanos;

    fn pacing(read: Rate, write: Rate) -> Pacing {
        let rates = Directions {
            read,
            write,
            trim: Rate::default(),
        };
        Pacing {
            rates,
            cycle: Nanos(1000),
            ..Pacing::default()
        }
    }

    fn iops(iops: u64) -> Rate {
        Rate {
            iops: Some(iops),
            ..Rate::default()
        }
    }

    #[test]
    fn each_direction_keeps_its_own_rate_in_operations_or_bytes() {
        let writes = Rate {
            bytes_per_s: Some(4096 * 500),
            ..Rate::default()
        };
        let mut rates = Rates::new(&pacing(iops(1000), writes), Arrivals::Linear, 1).unwrap();
        let both = [Kind::Read, Kind::Write];
        let (mut now, mut done) = (0, [0_u32; 2]);
        // Two seconds on a storage that takes no time.
        while now < 2_000_000_000 {
            match rates.due(&both, now) {
                Due::Later(at) => now = at,
                Due::All => {
                    rates.take(Kind::Read, 4096, now);
                    done[0] += 1;
                }
                Due::Only(kind) => {
                    rates.take(kind, 4096, now);
                    done[place(kind)] += 1;
                }
            }
        }
        assert!(
            done[0].abs_diff(2000) <= 1 && done[1].abs_diff(1000) <= 1,
            "{done:?}"
        );
    }

    #[test]
    fn a_direction_without_a_rate_is_always_due() {
        let mut rates = Rates::new(&pacing(iops(1), Rate::default()), Arrivals::Linear, 1).unwrap();
        let both = [Kind::Read, Kind::Write];
        assert_eq!(rates.due(&both, 5), Due::All);
        assert_eq!(rates.take(Kind::Read, 4096, 5), 5);
        assert_eq!(rates.due(&both, 6), Due::Only(Kind::Write));
        assert_eq!(rates.due(&[Kind::Read], 6), Due::Later(1_000_000_005));
        rates.shift(10);
        assert_eq!(rates.due(&[Kind::Read], 6), Due::Later(1_000_000_015));
        assert!(Rates::new(&Pacing::default(), Arrivals::Linear, 1).is_none());
    }

    #[test]
    fn too_few_operations_or_bytes_in_a_cycle_are_an_error() {
        let least = Rate {
            min_iops: Some(1000),
            min_bytes_per_s: Some(4_000_000),
            ..Rate::default()
        };
        let check = |ops, bytes, words: Option<&str>| {
            let mut floor = Floor::new(&pacing(least, Rate::default()), 1000).unwrap();
            floor.begin(0);
            floor.add(0, ops, bytes);
            let seconds = |ticks| approx(ticks) / 1000.0;
            assert_eq!(
                floor.judge(&[Kind::Read], 999, seconds),
                Ok(()),
                "the cycle is not over"
            );
            assert!(
                floor.judge(&[Kind::Write], 1000, seconds).is_ok(),
                "no reads: nothing to keep"
            );
            floor.begin(0);
            floor.add(0, ops, bytes);
            let judged = floor.judge(&[Kind::Read], 1000, seconds);
            match words {
                None => assert_eq!(judged, Ok(())),
                Some(words) => assert!(judged.unwrap_err().contains(words)),
            }
        };
        check(1000, 4_096_000, None);
        check(999, 4_096_000, Some("read: 999 operations"));
        check(1000, 3_000_000, Some("3000000 bytes"));
        assert!(Floor::new(&Pacing::default(), 1).is_none());
    }
}
