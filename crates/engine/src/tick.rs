//! Ticks: how far a round has come, told while it goes on, where somebody asks for it.
//!
//! The measuring thread writes nothing and waits for nothing. When a tick is due, and a batch has ended, it gives away
//! what it has recorded and takes empty records in exchange ([`SoFar::give`]), which takes the same short time however
//! much that is. A thread beside it, which the worker has for this alone, adds up and writes. Copying the records in
//! place was rejected: a histogram has 200 KiB, and an operation that ends meanwhile would have been as much slower.

use crate::measure::Counted;
use crate::recorder::Latencies;
use crate::workload::{Body, Finish};
use model::job::Report;
use model::units::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use sys::clock::monotonic;
use sys::process::Usage;

/// When ticks are due, on the monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ticks {
    /// The first.
    pub(crate) first: u64,
    /// From one to the next; above 0.
    pub(crate) every: u64,
}

impl Ticks {
    /// None, before anybody knows when.
    pub(crate) const NEVER: Self = Self {
        first: u64::MAX,
        every: u64::MAX,
    };

    /// Every `every`, counted from `began`.
    pub(crate) const fn new(began: u64, every: Nanos) -> Self {
        let every = if every.0 == 0 { 1 } else { every.0 };
        Self {
            first: began.saturating_add(every),
            every,
        }
    }

    /// The first that is later than `now`.
    pub(crate) const fn after(self, now: u64) -> u64 {
        if now < self.first {
            return self.first;
        }
        let over = (now - self.first) / self.every + 1;
        self.first.saturating_add(over.saturating_mul(self.every))
    }
}

/// What a body has given away of what it recorded, and how far it is.
#[derive(Default)]
pub struct SoFar {
    given: BTreeMap<String, Given>,
    /// Something was given that has not been added up.
    is_full: bool,
    /// What has been given is of a ramp.
    in_ramp: bool,
    /// What threads of the body have given away by themselves.
    beside: Vec<Arc<Mutex<Self>>>,
    /// What a storage job did so far.
    pub job: Option<Box<Report>>,
    /// How long it has been at work.
    pub wall: Nanos,
    /// What is made of all this before anybody sees it.
    made: Option<Make>,
}

/// Makes of what was given away, and of the time at work, what is handed over in the end.
type Make = Box<dyn Fn(&mut Finish, Nanos) + Send>;

impl std::fmt::Debug for SoFar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SoFar").finish_non_exhaustive()
    }
}

/// Latencies of one name: those of ticks before the last one, and those of the last one.
#[derive(Default)]
struct Given {
    all: Latencies,
    part: Latencies,
}

impl SoFar {
    /// Takes what was recorded under this name since the last time, and leaves empty records in its place.
    pub fn give(&mut self, name: &str, latencies: &mut Latencies) {
        if let Some(given) = self.given.get_mut(name) {
            std::mem::swap(&mut given.part, latencies);
        } else {
            let given = Given {
                part: std::mem::take(latencies),
                ..Given::default()
            };
            self.given.insert(name.to_owned(), given);
        }
        self.is_full = true;
    }

    /// Says before anything is given whether the body is in a ramp: what is done there is told, and forgotten when the
    /// ramp is over.
    pub fn ramp(&mut self, goes_on: bool) {
        if self.in_ramp && !goes_on {
            self.given.values_mut().for_each(|given| given.all.clear());
        }
        self.in_ramp = goes_on;
    }

    /// Whether nobody has told yet what was given last: then there are no empty records to be had in exchange.
    pub const fn is_full(&self) -> bool {
        self.is_full
    }

    /// Before it is told or handed over, this is done with it. Said once.
    pub fn make(&mut self, make: impl Fn(&mut Finish, Nanos) + Send + 'static) {
        self.made.get_or_insert_with(|| Box::new(make));
    }

    /// What `other` takes belongs to it too: a thread of the body gives that away by itself.
    pub fn join(&mut self, other: &Arc<Mutex<Self>>) {
        if !self.beside.iter().any(|known| Arc::ptr_eq(known, other)) {
            self.beside.push(Arc::clone(other));
        }
    }

    /// Adds up what was given: afterwards everything that is taken in exchange is empty.
    fn add_up(&mut self) {
        for given in self.given.values_mut() {
            given.all.absorb(&given.part);
            given.part.clear();
        }
        self.is_full = false;
    }

    /// What has been done so far, as if it were all.
    fn told(&mut self) -> Finish {
        self.add_up();
        let mut told = Finish {
            job: self.job.clone(),
            ..Finish::default()
        };
        add(&mut told.latencies, &self.given);
        for other in &self.beside {
            let mut other = lock(other);
            other.add_up();
            add(&mut told.latencies, &other.given);
            if let (Some(all), Some(job)) = (&mut told.job, &other.job) {
                all.absorb(job);
            }
        }
        if let Some(make) = &self.made {
            make(&mut told, self.wall);
        }
        told
    }

    /// Adds what was given away to what is handed over in the end.
    fn complete(&mut self, finish: &mut Finish) {
        if self.in_ramp {
            return;
        }
        for (name, latencies) in self.told().latencies {
            finish.latencies.entry(name).or_default().absorb(&latencies);
        }
    }
}

fn add(all: &mut BTreeMap<String, Latencies>, given: &BTreeMap<String, Given>) {
    for (name, given) in given {
        all.entry(name.clone()).or_default().absorb(&given.all);
    }
}

/// Nobody leaves it half done.
fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A tick is told this long after it is due: about two batches, so that the measuring thread has seen to it.
const LAG_NS: u64 = 10_000_000;

/// What the measuring thread and the telling one share.
#[derive(Debug)]
pub(crate) struct Board {
    ticks: Ticks,
    posted: Mutex<Posted>,
    over: AtomicBool,
}

/// What was done until the last tick.
#[derive(Debug, Default)]
struct Posted {
    so_far: SoFar,
    /// `None` before the first.
    counted: Option<Counted>,
    /// What this process had used when the measured part began.
    used_before: Usage,
    /// What telling has used, and the allocations that giving and telling made: not part of what is measured.
    telling: Usage,
    allocations: u64,
}

/// What one copy tells at a tick.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) counted: Counted,
    pub(crate) finish: Finish,
}

impl Board {
    /// Before the first batch: whatever is exchanged is made ready.
    pub(crate) fn new(ticks: Ticks, body: &mut dyn Body) -> Self {
        let mut posted = Posted::default();
        body.tick(&mut posted.so_far);
        posted.so_far.add_up();
        Self {
            ticks,
            posted: Mutex::new(posted),
            over: AtomicBool::new(false),
        }
    }

    /// When ticks are due, told before the measured part begins.
    pub(crate) const fn keep_to(&mut self, ticks: Ticks) {
        self.ticks = ticks;
    }

    /// The measured part begins; when the first tick is due.
    pub(crate) fn begin(&self, now: u64, used_before: Usage) -> u64 {
        lock(&self.posted).used_before = used_before;
        self.ticks.after(now)
    }

    /// A tick is due, and a batch has ended: what has been counted by now. Says when it is to be called again, which is
    /// soon where somebody is telling.
    #[cold]
    pub(crate) fn post(&self, now: u64, due: u64, counted: Counted, body: &mut dyn Body) -> u64 {
        let mut posted = match self.posted.try_lock() {
            Ok(posted) if !posted.so_far.is_full() => posted,
            _ => return due,
        };
        let allocations = sys::alloc::allocations();
        body.tick(&mut posted.so_far);
        posted.counted = Some(counted);
        posted.allocations += sys::alloc::allocations() - allocations;
        self.ticks.after(now)
    }

    /// Has a second thread `say` every tick while this one does its work.
    pub(crate) fn beside<T>(
        &self,
        say: impl FnMut(Told) + Send,
        work: impl FnOnce() -> T,
    ) -> std::io::Result<T> {
        std::thread::scope(|scope| {
            let builder = std::thread::Builder::new();
            let telling = builder.spawn_scoped(scope, || self.tell(say))?;
            let _over = Over(self, telling.thread().clone());
            Ok(work())
        })
    }

    /// Tells every tick, until nothing more is posted.
    fn tell(&self, mut say: impl FnMut(Told)) {
        let mut due = self.ticks.after(monotonic());
        loop {
            let now = monotonic();
            if self.over.load(Ordering::Acquire) {
                return;
            }
            let at = due.saturating_add(LAG_NS);
            if now < at {
                std::thread::park_timeout(std::time::Duration::from_nanos(at - now));
                continue;
            }
            let allocations = sys::alloc::allocations();
            if let Some(told) = self.told() {
                say(told);
            }
            let mut posted = lock(&self.posted);
            posted.allocations += sys::alloc::allocations() - allocations;
            posted.telling = sys::process::usage_thread();
            due = self.ticks.after(now);
        }
    }

    /// What has been done until the last tick; `None` before the first.
    fn told(&self) -> Option<Told> {
        let mut posted = lock(&self.posted);
        let mut counted = posted.counted.clone()?;
        let finish = posted.so_far.told();
        let used = sys::process::usage_self().since(posted.used_before);
        counted.usage = used.since(sys::process::usage_thread());
        Some(Told { counted, finish })
    }

    /// Takes what telling has cost off what was counted, and adds what was given away to what is handed over.
    pub(crate) fn complete(&self, counted: &mut Counted, finish: &mut Finish) {
        let mut posted = lock(&self.posted);
        counted.usage = counted.usage.since(posted.telling);
        counted.allocations = counted.allocations.saturating_sub(posted.allocations);
        posted.so_far.complete(finish);
    }
}

/// However the work ends, nobody goes on telling.
struct Over<'a>(&'a Board, std::thread::Thread);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.over.store(true, Ordering::Release);
        self.1.unpark();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::measure;
    use crate::recorder::Recorder;
    use crate::workload::WorkError;
    use model::plan::Shape;

    #[test]
    fn ticks_keep_to_their_grid() {
        let ticks = Ticks::new(1_000, Nanos(100));
        for (now, next) in [(0, 1_100), (1_099, 1_100), (1_100, 1_200), (1_250, 1_300)] {
            assert_eq!(ticks.after(now), next, "{now}");
        }
        assert_eq!(
            Ticks::new(5, Nanos::ZERO).after(7),
            8,
            "no time is no division by it"
        );
    }

    /// Records as many latencies as it does operations.
    #[derive(Default)]
    struct Recording {
        latencies: Latencies,
        done: u64,
        given: u32,
    }

    impl Body for Recording {
        fn batch(&mut self, ops: u64, _: &mut Recorder) -> Result<u64, WorkError> {
            sys::clock::sleep(ops * 100_000);
            self.latencies.record(1_000 + self.done, ops);
            self.done += ops;
            Ok(ops)
        }

        fn tick(&mut self, so_far: &mut SoFar) {
            so_far.give("clat", &mut self.latencies);
            assert_eq!(self.latencies.count(), 0);
            self.given += 1;
        }

        fn finish(&mut self) -> Result<Finish, WorkError> {
            let left = std::mem::take(&mut self.latencies);
            Ok(Finish {
                latencies: [("clat".to_owned(), left)].into(),
                ..Finish::default()
            })
        }
    }

    #[test]
    fn nothing_is_lost_and_nothing_told_twice() {
        let mut body = Recording::default();
        let shape = Shape {
            warmup: Nanos::ZERO,
            measure: Nanos::from_millis(400),
            ..Shape::DEFAULT
        };
        let board = Board::new(Ticks::new(monotonic(), Nanos::from_millis(30)), &mut body);
        let mut told: Vec<(u64, u64)> = Vec::new();
        let say = |one: Told| told.push((one.counted.ops, one.finish.latencies["clat"].count()));
        let counted = board.beside(say, || {
            measure(&mut body, &shape, &mut Recorder::off(), Some(&board))
        });
        let mut counted = counted.unwrap().unwrap();
        let mut finish = body.finish().unwrap();
        board.complete(&mut counted, &mut finish);
        assert_eq!(finish.latencies["clat"].count(), counted.ops);
        assert!(told.len() >= 3 && body.given > 3, "{told:?}");
        assert!(
            told.iter().all(|(ops, latencies)| ops == latencies),
            "{told:?}"
        );
        assert!(
            told.is_sorted() && told[told.len() - 1].0 <= counted.ops,
            "{told:?}"
        );
    }
}
