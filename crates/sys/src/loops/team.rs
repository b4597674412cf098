//! Threads of one process that work at the same time as the caller, until it says stop.
//!
//! A measured loop that is about threads (mutexes, shared lines, load beside a latency) cannot start and join them for
//! every batch: waking them would be part of the figure. So they are started in set-up, prepare themselves, wait, run
//! freely from the first batch to the end, and count what they do in lines of their own. The caller is member 0 and
//! works as well.
//!
//! It refuses to start without any member that the system cannot start: fewer threads are another test.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread::{Builder, JoinHandle};

/// The members wait.
const WAITING: u32 = 0;
/// The members end.
const STOP: u32 = u32::MAX;

/// The stack of a member: the loops use a few hundred bytes, and thousands of members should fit.
const STACK_BYTES: usize = 256 << 10;

/// Starts a thread and waits for its end. Before the first one of a process glibc (since 2.34) locks its mutexes
/// without atomic instructions, and does so never again afterwards.
pub fn second_thread() -> io::Result<()> {
    let builder = Builder::new().stack_size(STACK_BYTES);
    let thread = builder.spawn(|| ())?;
    thread
        .join()
        .map_err(|_| io::Error::other("a thread that does nothing panicked"))
}

/// What all members share.
#[derive(Debug)]
struct Shared {
    /// [`WAITING`], then 1, 2, ... for the parts of the work, then [`STOP`].
    part: AtomicU32,
    /// Members that wait for the first part.
    ready: AtomicU32,
    done: Box<[Counter]>,
}

/// A count on cache lines of its own: two, because CPUs fetch them in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Counter(AtomicU64);

/// One member's view of the team.
#[derive(Clone, Debug)]
pub struct Member {
    shared: Arc<Shared>,
    index: usize,
}

impl Member {
    /// Its number, from 0.
    pub const fn index(&self) -> usize {
        self.index
    }

    /// Waits for the first part of the work. Called once, when the member has prepared itself.
    pub fn wait(&self) {
        self.shared.ready.fetch_add(1, Ordering::AcqRel);
        while self.part() == WAITING {
            std::thread::park();
        }
    }

    /// Which part of the work is under way, from 1.
    #[inline]
    pub fn part(&self) -> u32 {
        self.shared.part.load(Ordering::Acquire)
    }

    /// Whether it is time to end.
    #[inline]
    pub fn stopped(&self) -> bool {
        self.part() == STOP
    }

    /// Counts work that this member has done.
    #[inline]
    pub fn add(&self, done: u64) {
        let own = &self.shared.done[self.index].0;
        // Nobody else writes it, so no locked instruction is needed.
        own.store(own.load(Ordering::Relaxed) + done, Ordering::Release);
    }

    /// What this member has done since it was started.
    #[inline]
    pub fn done(&self) -> u64 {
        self.shared.done[self.index].0.load(Ordering::Acquire)
    }
}

/// Threads at work, or waiting for it.
#[derive(Debug)]
pub struct Team<T> {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<T>>,
}

impl<T: Send + 'static> Team<T> {
    /// Starts one thread for each of `works`, which become members 1, 2, ..., and returns when all of them wait (or
    /// have ended). The caller's own view is [`Team::me`].
    pub fn start<W>(works: Vec<W>) -> io::Result<Self>
    where
        W: FnOnce(&Member) -> T + Send + 'static,
    {
        let mut team = Self {
            shared: Arc::new(Shared {
                part: AtomicU32::new(WAITING),
                ready: AtomicU32::new(0),
                done: (0..=works.len()).map(|_| Counter::default()).collect(),
            }),
            threads: Vec::with_capacity(works.len()),
        };
        for (work, index) in works.into_iter().zip(1..) {
            let member = Member {
                shared: Arc::clone(&team.shared),
                index,
            };
            let builder = Builder::new().stack_size(STACK_BYTES);
            team.threads.push(builder.spawn(move || work(&member))?);
        }
        while !team.all_wait() {
            crate::clock::sleep(50_000);
        }
        Ok(team)
    }

    fn all_wait(&self) -> bool {
        let ended = self.threads.iter().any(JoinHandle::is_finished);
        let ready = usize::try_from(self.shared.ready.load(Ordering::Acquire)).unwrap_or(0);
        ended || ready >= self.threads.len()
    }

    /// The caller as a member.
    pub fn me(&self) -> Member {
        Member {
            shared: Arc::clone(&self.shared),
            index: 0,
        }
    }

    /// Begins the next part of the work: the first call wakes everybody, later ones only tell.
    pub fn next_part(&self) {
        if self.shared.part.fetch_add(1, Ordering::AcqRel) == WAITING {
            self.wake();
        }
    }

    /// What all members have done together since they were started.
    #[inline]
    pub fn done(&self) -> u64 {
        let counts = self.shared.done.iter();
        counts.map(|count| count.0.load(Ordering::Acquire)).sum()
    }

    /// What each member beside the caller has done since it was started, in their order.
    pub fn each(&self) -> impl Iterator<Item = u64> {
        let counts = self.shared.done.iter().skip(1);
        counts.map(|count| count.0.load(Ordering::Acquire))
    }

    /// How many members there are beside the caller.
    pub fn len(&self) -> usize {
        self.threads.len()
    }

    /// True where the caller is alone.
    pub fn is_empty(&self) -> bool {
        self.threads.is_empty()
    }

    /// Whether a member has ended by itself, which means that its work failed.
    pub fn anybody_ended(&self) -> bool {
        self.threads.iter().any(JoinHandle::is_finished)
    }

    /// Whether all members have ended by themselves.
    pub fn everybody_ended(&self) -> bool {
        self.threads.iter().all(JoinHandle::is_finished)
    }

    /// Tells everybody that it is time to end, and does not wait for them.
    pub fn stop(&self) {
        self.shared.part.store(STOP, Ordering::Release);
        self.wake();
    }

    /// Ends everybody and returns what they have to say, in their order; a member that panicked says nothing.
    pub fn end(&mut self) -> Vec<T> {
        self.stop();
        let ended = self.threads.drain(..);
        ended.filter_map(|thread| thread.join().ok()).collect()
    }
}

impl<T> Team<T> {
    fn wake(&self) {
        for thread in &self.threads {
            thread.thread().unpark();
        }
    }
}

impl<T> Drop for Team<T> {
    fn drop(&mut self) {
        self.shared.part.store(STOP, Ordering::Release);
        self.wake();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counting(member: &Member) -> (usize, u32) {
        member.wait();
        let mut last = 0;
        while !member.stopped() {
            last = last.max(member.part());
            member.add(1);
        }
        (member.index(), last)
    }

    #[test]
    fn members_wait_work_together_and_end() {
        let mut team = Team::start(vec![counting; 3]).unwrap();
        assert_eq!(team.done(), 0, "nobody works before the first part");
        let me = team.me();
        team.next_part();
        me.add(5);
        while team.each().any(|done| done == 0) {
            std::thread::yield_now();
        }
        team.next_part();
        assert_eq!((me.part(), me.done(), team.anybody_ended()), (2, 5, false));
        assert!(team.each().sum::<u64>() <= team.done() - 5);
        let indexes: Vec<usize> = team.end().into_iter().map(|(index, _)| index).collect();
        assert_eq!(indexes, [1, 2, 3]);
    }

    #[test]
    fn a_team_that_is_dropped_or_fails_ends_its_threads() {
        drop(Team::start(vec![counting; 2]).unwrap());
        let team = Team::start(vec![counting; 2]).unwrap();
        team.next_part();
        team.stop();
        while !team.everybody_ended() {
            std::thread::yield_now();
        }
        let failing = |_: &Member| 7;
        let mut team = Team::start(vec![failing]).unwrap();
        while !team.anybody_ended() {
            std::thread::yield_now();
        }
        assert!(team.everybody_ended());
        assert_eq!(team.end(), [7]);
    }
}
