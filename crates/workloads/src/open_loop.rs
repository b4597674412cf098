//! Events of threads that arrive by themselves: whoever is free waits for the next one, runs it, and records from its
//! arrival on.
//!
//! What each thread records others may read while it works, so that a rate is judged before it ends. One histogram for
//! all threads was rejected: they would wait for each other after every event.

use crate::arrivals::{Queue, Taken};
use crate::sysbench::Events;
use engine::recorder::Latencies;
use model::latency::{LAG, LAT, LATE};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use sys::clock::monotonic;
use sys::loops::failure::Failure;

/// What was recorded of events that arrive by themselves.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    /// From the arrival to the end.
    pub(crate) lat: Latencies,
    /// From the arrival to the start.
    lag: Latencies,
    /// What of that is the program's own doing.
    late: Latencies,
    /// Events that have ended, and those of them that took longer than the limit.
    pub(crate) all: u64,
    pub(crate) beyond: u64,
    pub(crate) limit_ns: u64,
}

impl Tally {
    /// Forgets all of it; the limit stays.
    pub(crate) fn clear(&mut self) {
        self.lat.clear();
        self.lag.clear();
        self.late.clear();
        (self.all, self.beyond) = (0, 0);
    }

    /// Adds what another thread recorded.
    pub(crate) fn absorb(&mut self, other: &Self) {
        self.lat.absorb(&other.lat);
        self.lag.absorb(&other.lag);
        self.late.absorb(&other.late);
        self.all += other.all;
        self.beyond += other.beyond;
    }

    /// The latencies by their names.
    pub(crate) fn named(&self) -> BTreeMap<String, Latencies> {
        [(LAT, &self.lat), (LAG, &self.lag), (LATE, &self.late)]
            .map(|(name, latencies)| (name.to_owned(), latencies.clone()))
            .into()
    }
}

/// The tally; whoever has it has it alone.
pub(crate) fn locked(tally: &Mutex<Tally>) -> MutexGuard<'_, Tally> {
    // Nobody leaves it half done.
    tally.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Events of one thread that arrive by themselves.
pub(crate) struct Open {
    pub(crate) queue: Queue,
    /// What this thread does next, where that has not arrived yet.
    taken: Option<Taken>,
    /// When the thread last had nothing to do.
    free_since: u64,
    /// This thread writes it; others read it now and then.
    tally: Arc<Mutex<Tally>>,
    /// At the end: what must be said of a queue that grew.
    pub(crate) behind: Option<String>,
}

/// A thread that waits for an event hears of the end after so long, in nanoseconds.
const LOOK_NS: u64 = 10_000_000;

impl Open {
    /// Events that arrive in this queue.
    pub(crate) fn new(queue: Queue) -> Self {
        Self {
            queue,
            taken: None,
            free_since: 0,
            tally: Arc::default(),
            behind: None,
        }
    }

    /// What is recorded of them, for others who look at it.
    pub(crate) fn tally(&self) -> Arc<Mutex<Tally>> {
        Arc::clone(&self.tally)
    }

    /// Waits a while for the next event and runs it; false where it has not arrived yet, or never will.
    pub(crate) fn one<E: Events>(&mut self, events: &mut E) -> Result<bool, Failure> {
        let now = monotonic();
        let taken = self.taken.take().filter(|taken| self.queue.has(taken));
        let taken = taken.unwrap_or_else(|| self.queue.take(now));
        let due = taken.due;
        if due > now {
            sys::clock::sleep_until(due.min(now + LOOK_NS));
            if due > now + LOOK_NS {
                self.taken = Some(taken);
                return Ok(false);
            }
        }
        if !self.queue.has(&taken) {
            return Ok(false);
        }
        let start = monotonic();
        let could = due.max(self.free_since);
        events.event()?;
        let end = monotonic();
        self.free_since = end;
        let mut tally = locked(&self.tally);
        // Whoever replaces a schedule clears afterwards what was recorded before.
        if self.queue.has(&taken) {
            let lat = end.saturating_sub(due);
            tally.lat.record(lat, 1);
            tally.lag.record(start.saturating_sub(due), 1);
            tally.late.record(start.saturating_sub(could), 1);
            tally.all += 1;
            tally.beyond += u64::from(lat > tally.limit_ns);
        }
        Ok(true)
    }

    /// Records what has arrived by now and did not begin, with what it has waited: it takes that long at least.
    pub(crate) fn give_up(&mut self, now: u64) {
        let mut tally = locked(&self.tally);
        let mut record = |due: u64, count| {
            tally.lat.record(now - due, count);
            tally.lag.record(now - due, count);
        };
        if let Some(taken) = self.taken.take().filter(|taken| taken.due <= now) {
            record(taken.due, 1);
        }
        self.queue.drain(now, record);
    }
}
