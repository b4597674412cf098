//! Latencies of single operations, recorded without allocating.
//!
//! An HdrHistogram with three significant figures (0.1 % quantisation) from 1 ns to 60 s, allocated before the
//! measured part begins. A latency above 60 s does not fit and is counted apart; it is never saturated into the
//! last bucket, which would invent a number.

use hdrhistogram::Histogram;
use model::latency::LAT;
use model::order::Keyed as _;
use std::collections::BTreeMap;
use sys::clock::Clock;

/// Latencies of one kind.
#[derive(Clone, Debug)]
pub struct Latencies {
    histogram: Histogram<u64>,
    too_long: u64,
}

impl Default for Latencies {
    fn default() -> Self {
        Self {
            histogram: Histogram::new_with_bounds(1, LATENCY_NS_MAX, 3)
                .expect("1 ns to 60 s at three figures are valid bounds"),
            too_long: 0,
        }
    }
}

impl Latencies {
    /// Records one latency of `nanos` for each of `count` operations.
    #[inline]
    pub fn record(&mut self, nanos: u64, count: u64) {
        if self.histogram.record_n(nanos, count).is_err() {
            self.too_long += count;
        }
    }

    /// Adds what `other` has recorded; for threads that each record by themselves.
    pub fn absorb(&mut self, other: &Self) {
        self.histogram
            .add(&other.histogram)
            .expect("all have the same bounds, so that everything fits");
        self.too_long += other.too_long;
    }

    /// Forgets everything recorded so far.
    pub fn clear(&mut self) {
        self.histogram.reset();
        self.too_long = 0;
    }

    /// Operations that took longer than 60 s.
    pub const fn too_long(&self) -> u64 {
        self.too_long
    }

    /// How many were recorded.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// What was recorded: ascending pairs of latency in nanoseconds and count.
    pub fn pairs(&self) -> Vec<(u64, u64)> {
        let recorded = self.histogram.iter_recorded();
        recorded
            .map(|step| (step.value_iterated_to(), step.count_at_value()))
            .collect()
    }
}

/// The longest latency that is recorded, in nanoseconds.
const LATENCY_NS_MAX: u64 = 60_000_000_000;

/// Records latencies of one copy; does nothing but the operation where latencies were not asked for.
#[derive(Debug)]
pub struct Recorder {
    clock: Clock,
    latencies: Option<Latencies>,
}

impl Recorder {
    /// A recorder that records nothing.
    pub const fn off() -> Self {
        Self {
            clock: Clock::Kernel,
            latencies: None,
        }
    }

    /// A recorder that times with `clock`.
    pub fn on(clock: Clock) -> Self {
        Self {
            clock,
            latencies: Some(Latencies::default()),
        }
    }

    /// Whether latencies are recorded at all.
    #[inline]
    pub const fn records(&self) -> bool {
        self.latencies.is_some()
    }

    /// Does one operation and records the time from just before it to just after it.
    #[inline]
    pub fn time<T>(&mut self, operation: impl FnOnce() -> T) -> T {
        let Some(latencies) = &mut self.latencies else {
            return operation();
        };
        let start = self.clock.tick();
        let result = operation();
        let end = self.clock.tick();
        latencies.record(self.clock.nanos(start, end), 1);
        result
    }

    /// Begins to time operations that follow each other with nothing in between: see [`Laps`].
    #[inline]
    pub fn laps(&mut self) -> Laps<'_> {
        let last = if self.records() { self.clock.tick() } else { 0 };
        Laps {
            recorder: self,
            last,
        }
    }

    /// Forgets everything recorded so far.
    pub fn clear(&mut self) {
        if let Some(latencies) = &mut self.latencies {
            latencies.clear();
        }
    }

    /// Records a latency that the caller took by itself, in nanoseconds.
    #[inline]
    pub fn add(&mut self, nanos: u64) {
        if let Some(latencies) = &mut self.latencies {
            latencies.record(nanos, 1);
        }
    }

    /// Adds what `other` has recorded, where both record; for threads that each record by themselves.
    pub fn absorb(&mut self, other: &Self) {
        if let (Some(own), Some(others)) = (&mut self.latencies, &other.latencies) {
            own.absorb(others);
        }
    }

    /// What was recorded, under its name; nothing where nothing was asked for.
    pub fn named(&self) -> BTreeMap<String, Latencies> {
        let latencies = self.latencies.iter();
        latencies
            .map(|latencies| (LAT.to_owned(), latencies.clone()))
            .into_map()
    }
}

/// Times operations that follow each other with nothing in between.
///
/// The end of one operation is the start of the next, so that the clock is read once per operation and not twice
/// (22 ns a reading on the virtual machine it was written on, 16 ns without ordering). A latency therefore contains the
/// recording of the one before it, about 5 ns.
#[derive(Debug)]
pub struct Laps<'a> {
    recorder: &'a mut Recorder,
    last: u64,
}

impl Laps<'_> {
    /// Does one operation and records the time since the end of the last one, or since [`Recorder::laps`].
    #[inline]
    pub fn lap<T>(&mut self, operation: impl FnOnce() -> T) -> T {
        let result = operation();
        if let Some(latencies) = &mut self.recorder.latencies {
            let end = self.recorder.clock.tick_unordered();
            latencies.record(self.recorder.clock.nanos(self.last, end), 1);
            self.last = end;
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(recorder: &Recorder) -> Vec<(u64, u64)> {
        recorder.named()[LAT].pairs()
    }

    #[test]
    fn a_recorder_that_is_off_only_does_the_operation() {
        let mut recorder = Recorder::off();
        assert_eq!(recorder.time(|| 7), 7);
        assert!(!recorder.records() && recorder.named().is_empty());
    }

    #[test]
    fn recorded_latencies_cover_the_operation() {
        let mut recorder = Recorder::on(Clock::Kernel);
        for _ in 0..20 {
            recorder.time(|| sys::clock::sleep(1_000_000));
        }
        let pairs = recorded(&recorder);
        assert_eq!(pairs.iter().map(|(_, count)| count).sum::<u64>(), 20);
        assert!(
            pairs.iter().all(|&(nanos, _)| nanos >= 999_000),
            "{pairs:?}"
        );
        recorder.clear();
        assert!(recorded(&recorder).is_empty());
    }

    #[test]
    fn absorbed_latencies_are_counted_with_the_own_ones() {
        let mut recorders = [Recorder::on(Clock::Kernel), Recorder::on(Clock::Kernel)];
        for recorder in &mut recorders {
            recorder.time(|| ());
        }
        let [mut own, other] = recorders;
        own.absorb(&other);
        own.absorb(&Recorder::off());
        own.add(7);
        own.add(LATENCY_NS_MAX * 4);
        let all = &own.named()[LAT];
        assert_eq!((all.count(), all.too_long()), (3, 1));
        let mut off = Recorder::off();
        off.absorb(&other);
        assert!(off.named().is_empty());
    }

    #[test]
    fn laps_cover_their_operations_without_a_gap() {
        let mut recorder = Recorder::on(Clock::Kernel);
        let start = sys::clock::monotonic();
        let mut laps = recorder.laps();
        for _ in 0..10 {
            laps.lap(|| sys::clock::sleep(500_000));
        }
        let wall = model::num::approx(sys::clock::monotonic() - start);
        let pairs = recorded(&recorder);
        assert_eq!(pairs.iter().map(|(_, count)| count).sum::<u64>(), 10);
        assert!(
            pairs.iter().all(|&(nanos, _)| nanos >= 499_000),
            "{pairs:?}"
        );
        // Together they are the wall time, within the histogram's 0.1 %.
        let sum = model::latency::mean(&pairs).unwrap() * 10.0;
        assert!(sum <= wall * 1.002, "{sum} of {wall}");
        let mut off = Recorder::off();
        assert_eq!(off.laps().lap(|| 7), 7);
    }

    #[test]
    fn named_latencies_count_every_operation_and_invent_none() {
        let mut latencies = Latencies::default();
        latencies.record(10, 3);
        latencies.record(0, 1);
        latencies.record(LATENCY_NS_MAX * 4, 2);
        assert_eq!(latencies.pairs(), [(0, 1), (10, 3)]);
        assert_eq!((latencies.count(), latencies.too_long()), (4, 2));
        let mut all = Latencies::default();
        all.record(10, 1);
        all.absorb(&latencies);
        assert_eq!(all.pairs(), [(0, 1), (10, 4)]);
        assert_eq!((all.count(), all.too_long()), (5, 2));
        latencies.clear();
        assert_eq!((latencies.count(), latencies.too_long()), (0, 0));
    }
}
