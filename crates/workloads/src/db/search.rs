//! The search for the highest rate of arriving events at which a percentile of their latency stays below a limit.
//!
//! A closed loop comes first, and says about where to look; then one rate is tried after the other. It knows threads
//! and their events, and no client.

use crate::arrivals::Schedule;
use crate::bracket::Bracket;
use crate::open_loop::Tally;
use crate::sysbench::{Events, Threads};
use engine::workload::{Finish, WorkError};
use model::job::Arrivals;
use model::latency::quantile;
use model::num::{approx, round_to_u64};
use model::params::{ParamValue, parse_duration};
use model::units::Nanos;
use std::fmt;
use sys::clock::monotonic;

/// The highest rate that held, the lowest above it that did not, the closed loop's, and the percentile at the first.
pub(super) const HELD: &str = "held_tps";
pub(super) const ABOVE: &str = "above_tps";
pub(super) const CLOSED: &str = "closed_tps";
pub(super) const HELD_LAT: &str = "held_lat_ns";

/// What must hold of latencies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Limit {
    /// So many per cent of the transactions...
    percent: f64,
    /// ...take no longer.
    latency: Nanos,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "p{}:{}",
            self.percent,
            ParamValue::Duration(self.latency)
        )
    }
}

/// Latencies end at 60 s.
const LATENCY_MAX: Nanos = Nanos::from_secs(60);

/// As many are to be beyond a percentile that is judged.
const BEYOND: f64 = 10.0;

/// For ten beyond it a hundred thousand transactions end in a step, 1,700 a second of a minute.
const PERCENT_MAX: f64 = 99.99;

impl Limit {
    /// Reads `p99:20ms`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (percent, latency) = text.strip_prefix('p')?.split_once(':')?;
        let percent = percent.parse::<f64>().ok()?;
        let latency = parse_duration(latency)?;
        let can_be =
            percent > 0.0 && percent <= PERCENT_MAX && latency.0 > 0 && latency <= LATENCY_MAX;
        can_be.then_some(Self { percent, latency })
    }

    /// The share of the transactions that may take longer.
    fn slower(self) -> f64 {
        (100.0 - self.percent) / 100.0
    }

    /// So many transactions have ten beyond the percentile.
    pub(super) fn events(self) -> f64 {
        // To the whole number that decimal fractions of a percentile mean.
        (BEYOND / self.slower() - 1e-6).ceil()
    }
}

/// The closed loop connects and forgets before it counts.
const CLOSED_WARMUP: Nanos = Nanos::from_millis(300);
/// A rate that takes longer until it can be judged is not tried.
const STEP_MAX_S: f64 = 60.0;
/// What of a step is left out in the beginning, when the queue is empty: a part of what is judged.
const SETTLE: f64 = 0.25;
/// Rates that are closer than this are one: 5 %, a margin of throughput.
const APART: f64 = 0.05;
/// How often it is looked at how many transactions have ended.
const LOOK: Nanos = Nanos::from_millis(10);

/// A search under way.
pub(super) struct Search {
    limit: Limit,
    /// How long a rate is tried at least.
    time: Nanos,
    seed: u64,
    /// Committed transactions a second of the closed loop, and the rates; `None` before it.
    closed: Option<(f64, Bracket)>,
    /// Rates that were tried: each has arrivals of its own.
    steps: u64,
    /// What was recorded at the highest rate that held.
    held: Option<Tally>,
}

impl Search {
    /// Before the closed loop.
    pub(super) fn new(limit: Limit, time: Nanos, seed: u64) -> Self {
        Self {
            limit,
            time,
            seed,
            closed: None,
            steps: 0,
            held: None,
        }
    }

    /// So many steps, or as many as are left.
    pub(super) fn steps<E: Events>(
        &mut self,
        steps: u64,
        threads: &mut Threads<E>,
    ) -> Result<u64, WorkError> {
        for done in 0..steps {
            if !self.step(threads)? {
                return Ok(done);
            }
        }
        Ok(steps)
    }

    /// The closed loop, or a rate. False where nothing is left to try.
    fn step<E: Events>(&mut self, threads: &mut Threads<E>) -> Result<bool, WorkError> {
        let Some((_, rates)) = &self.closed else {
            let tps = self.closed_loop(threads)?;
            self.closed = Some((tps, self.rates(tps)));
            return Ok(true);
        };
        if rates.is_over() {
            // Nothing waits at the end.
            threads.replace(None, self.limit.latency.0);
            return Ok(false);
        }
        let holds = self.holds(rates.at(), threads)?;
        if holds {
            self.held = Some(threads.tally());
        }
        self.steps += 1;
        if let Some((_, rates)) = &mut self.closed {
            rates.judged(holds);
        }
        Ok(true)
    }

    /// From half of the closed loop's up to twice as many, and down to what can be judged in time.
    fn rates(&self, closed_tps: f64) -> Bracket {
        let whole = |rate: f64| u32::try_from(round_to_u64(rate)).unwrap_or(u32::MAX).max(1);
        let least = whole((self.limit.events() / STEP_MAX_S).ceil());
        Bracket::new(
            whole(closed_tps / 2.0),
            (least, whole(closed_tps * 2.0)),
            APART,
        )
    }

    fn closed_loop<E: Events>(&self, threads: &mut Threads<E>) -> Result<f64, WorkError> {
        threads.replace(None, self.limit.latency.0);
        let begin = monotonic();
        work(threads, |_, now| now - begin >= CLOSED_WARMUP.0)?;
        threads.forget();
        let (begin, mut rate) = (monotonic(), 0.0);
        work(threads, |threads, now| {
            let (ended, passed) = (threads.counted().0, now - begin);
            rate = approx(ended) / Nanos(passed).as_secs_f64();
            passed >= self.time.0 && ended > 0
        })?;
        Ok(rate)
    }

    /// Tries a rate.
    fn holds<E: Events>(&self, rate: u32, threads: &mut Threads<E>) -> Result<bool, WorkError> {
        let per_s = f64::from(rate);
        let events = self.limit.events().max(per_s * self.time.as_secs_f64());
        let seconds = events / per_s;
        let seed = self.seed.wrapping_add(self.steps);
        threads.replace(
            Some(Schedule::new(per_s, Arrivals::Poisson, seed)),
            self.limit.latency.0,
        );
        let begin = monotonic();
        let after = |part: f64| begin + round_to_u64(seconds * part * 1e9);
        let slower = self.limit.slower();
        let fails =
            |(ended, beyond): (u64, u64)| approx(beyond) > slower * events.max(approx(ended));
        let mut is_lost = false;
        work(threads, |threads, now| {
            is_lost = fails(threads.counted());
            is_lost || now >= after(SETTLE)
        })?;
        if is_lost {
            return Ok(false);
        }
        threads.forget();
        let mut holds = false;
        work(threads, |threads, now| {
            let counted = threads.counted();
            is_lost = fails(counted);
            holds = approx(counted.0) >= events && !is_lost;
            // What takes twice as long until so many have ended did not keep up.
            holds || is_lost || now >= after(2.0 + SETTLE)
        })?;
        if !holds || threads.is_behind() {
            return Ok(false);
        }
        // What waits at the end has its latency still before it.
        let (ended, beyond) = threads.counted();
        let overdue = threads.overdue(self.limit.latency.0);
        Ok(!fails((ended + overdue, beyond + overdue)))
    }

    /// Adds what was found.
    pub(super) fn report(&self, finish: &mut Finish) {
        let Some((closed_tps, rates)) = &self.closed else {
            return;
        };
        let mut tell = |quantity: &str, value: Result<f64, String>| match value {
            Ok(value) => {
                finish.reported.insert(quantity.to_owned(), value);
            }
            Err(why) => {
                finish.missing.insert(quantity.to_owned(), why);
            }
        };
        let limit = self.limit;
        let none = || {
            format!(
                "`{limit}` is not kept at {} transactions a second, and fewer cannot be judged in a minute; the closed \
                 loop does {closed_tps:.0}",
                rates.at()
            )
        };
        let all = || {
            format!(
                "`{limit}` is kept at {} a second as well, twice the closed loop's",
                rates.at()
            )
        };
        tell(CLOSED, Ok(*closed_tps));
        tell(HELD, rates.good().map(f64::from).ok_or_else(none));
        tell(ABOVE, rates.bad().map(f64::from).ok_or_else(all));
        let pairs = self.held.as_ref().map(|tally| tally.lat.pairs());
        let lat = pairs.and_then(|pairs| quantile(&pairs, self.limit.percent / 100.0));
        tell(HELD_LAT, lat.map(approx).ok_or_else(none));
        finish.latencies = self.held.as_ref().map(Tally::named).unwrap_or_default();
    }
}

/// Runs events until a look says that it is over.
fn work<E: Events>(
    threads: &mut Threads<E>,
    mut is_over: impl FnMut(&Threads<E>, u64) -> bool,
) -> Result<(), WorkError> {
    let mut look = monotonic() + LOOK.0;
    loop {
        threads.batch(1)?;
        let now = monotonic();
        if now >= look {
            if is_over(threads, now) {
                return Ok(());
            }
            look = now + LOOK.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrivals::Queue;
    use crate::os::testing::place;
    use crate::sysbench::Timing;
    use sys::loops::failure::Failure;

    #[test]
    fn a_limit_is_a_percentile_and_a_time() {
        let limit = Limit::parse("p99:20ms").unwrap();
        assert_eq!(
            (limit.latency, round_to_u64(limit.events())),
            (Nanos::from_millis(20), 1000)
        );
        assert_eq!(
            round_to_u64(Limit::parse("p99.9:5ms").unwrap().events()),
            10_000
        );
        for text in ["p99:20ms", "p99.9:500us", "p50:1s"] {
            assert_eq!(Limit::parse(text).unwrap().to_string(), text);
        }
        for bad in [
            "",
            "20ms",
            "99:20ms",
            "p99",
            "p99:20",
            "p100:1s",
            "p99.999:1s",
            "p0:1s",
            "p99:0",
            "p99:2m",
            "px:1s",
        ] {
            assert_eq!(Limit::parse(bad), None, "{bad}");
        }
    }

    /// Events that take a known time.
    struct Asleep(u64);

    impl Events for Asleep {
        fn event(&mut self) -> Result<(), Failure> {
            sys::clock::sleep_until(monotonic() + self.0);
            Ok(())
        }
    }

    fn searched(limit: &str, copies: u32, event_ns: u64) -> Finish {
        let (_root, mut place) = place();
        place.copies = copies;
        let queue = Queue::new(None);
        let mut threads = Threads::start_at(
            &place,
            |_| Asleep(event_ns),
            Timing::Off,
            |_| Some(queue.clone()),
        )
        .unwrap();
        let time = Nanos::from_millis(500);
        let mut search = Search::new(Limit::parse(limit).unwrap(), time, 1);
        search.steps(u64::MAX, &mut threads).unwrap();
        threads.end().unwrap();
        let mut finish = Finish::default();
        search.report(&mut finish);
        finish
    }

    /// One server with a service of 1 ms and random arrivals: of a load of 0.63 nine in ten take less than 3 ms.
    /// Source: the tail of an M/D/1 queue, about exp(-2 (1 - load) / load) for each service time that is waited.
    #[test]
    fn the_rate_that_a_queue_of_known_service_takes_is_found() {
        let within = || {
            let finish = searched("p90:3ms", 1, 1_000_000);
            let of = |quantity: &str| finish.reported.get(quantity).copied().unwrap_or(f64::NAN);
            assert!(
                of(HELD) < of(ABOVE) && of(ABOVE) <= 1.05 * of(HELD) + 1.0,
                "{finish:?}"
            );
            assert!(
                of(HELD_LAT) <= 3.01e6 && finish.latencies["lat"].count() >= 100,
                "{finish:?}"
            );
            (800.0..1001.0).contains(&of(CLOSED)) && (450.0..850.0).contains(&of(HELD))
        };
        // On a busy machine a service takes longer.
        assert!((0..5).any(|_| within()));
    }

    #[test]
    fn what_waits_longer_than_the_limit_counts_though_it_has_not_begun() {
        let (_root, place) = place();
        let queue = Queue::random(1_000, 1);
        let event_ns = 100_000_000;
        let mut threads = Threads::start_at(
            &place,
            |_| Asleep(event_ns),
            Timing::Own,
            |_| Some(queue.clone()),
        )
        .unwrap();
        // Nothing has waited for so long, and after that nothing waits any more.
        assert_eq!(threads.overdue(event_ns * 1_000), 0);
        threads.batch(2).unwrap();
        // Two events take 0.2 s, in the first half of which a hundred have arrived.
        let overdue = threads.overdue(event_ns);
        assert!(overdue >= 50, "{overdue}");
        threads.end().unwrap();
    }

    #[test]
    fn two_connections_take_the_load_of_both_and_a_limit_below_an_event_is_never_kept() {
        let both = || {
            let finish = searched("p90:6ms", 2, 2_000_000);
            let held = finish.reported.get(HELD);
            held.is_some_and(|held| *held > 500.0)
        };
        assert!((0..5).any(|_| both()), "one alone does 500");
        let finish = searched("p99:1ms", 1, 2_000_000);
        assert!(!finish.reported.contains_key(HELD) && finish.latencies.is_empty());
        assert!(finish.reported[CLOSED] > 0.0);
        let why = &finish.missing[HELD];
        assert!(
            why.contains("`p99:1ms` is not kept at 17 transactions a second"),
            "{why}"
        );
    }
}
