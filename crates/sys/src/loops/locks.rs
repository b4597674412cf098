//! Mutexes of the C library between threads of one process: the events of sysbench's `threads` and `mutex` tests.
//!
//! The library's own mutex and not Rust's, which spins before it sleeps: what programs on the server wait with is what
//! is measured. Where the mutexes lie is part of the figure, so both ways of the original are here: those of its
//! `threads` test lie one behind the other, so that threads with neighbouring ones share a cache line, and those of its
//! `mutex` test have 256 bytes each. Seen by the addresses that it passes to the library.
//!
//! It refuses a set of no mutexes.
#![expect(
    unsafe_code,
    reason = "pthread_mutex_t, sched_yield, a loop in assembly, and alignment"
)]

use super::align::{clone, place_loop};
use super::failure::Failure;
use std::cell::UnsafeCell;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// How mutexes lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spacing {
    /// One right behind the other: a thread that takes one takes the cache line of its neighbour too.
    Together,
    /// 256 bytes for each.
    Apart,
}

/// Mutexes in a row, from the beginning of a cache line; rows have no gaps between them where a mutex has 40 bytes.
#[repr(C, align(64))]
struct Row([UnsafeCell<libc::pthread_mutex_t>; ROW]);

const ROW: usize = 8;

/// A count of those who held a mutex, which only a holder raises, on a line of its own.
#[derive(Default)]
#[repr(align(128))]
struct Held(UnsafeCell<u64>);

/// A mutex and its count.
#[repr(C, align(256))]
struct Padded {
    mutex: UnsafeCell<libc::pthread_mutex_t>,
    held: UnsafeCell<u64>,
}

enum Places {
    Together { rows: Box<[Row]>, held: Box<[Held]> },
    Apart(Box<[Padded]>),
}

/// Mutexes that threads share. They stay where they are for as long as they live, as the library demands.
pub struct Locks {
    places: Places,
    /// The number that every turn of the `mutex` test raises. As in the original it belongs to no mutex in particular,
    /// so that its line travels with every turn and raises may be lost.
    shared: Shared,
}

#[derive(Default)]
#[repr(align(128))]
struct Shared(AtomicU64);

// SAFETY: the mutexes are made to be shared, and each count is only touched by the holder of its mutex.
unsafe impl Sync for Locks {}
// SAFETY: nothing in it belongs to a thread while no mutex is held.
unsafe impl Send for Locks {}

impl std::fmt::Debug for Locks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Locks").field(&self.len()).finish()
    }
}

const fn unlocked() -> UnsafeCell<libc::pthread_mutex_t> {
    UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER)
}

impl Locks {
    /// `count` mutexes, none of them held; at least one.
    pub fn new(count: usize, spacing: Spacing) -> Self {
        let count = count.max(1);
        let places = match spacing {
            Spacing::Together => Places::Together {
                rows: (0..count.div_ceil(ROW))
                    .map(|_| Row([const { unlocked() }; ROW]))
                    .collect(),
                held: (0..count).map(|_| Held::default()).collect(),
            },
            Spacing::Apart => {
                let padded = || Padded {
                    mutex: unlocked(),
                    held: UnsafeCell::new(0),
                };
                Places::Apart((0..count).map(|_| padded()).collect())
            }
        };
        Self {
            places,
            shared: Shared::default(),
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        match &self.places {
            Places::Together { held, .. } => held.len(),
            Places::Apart(padded) => padded.len(),
        }
    }

    /// Never true: there is at least one.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How often all of them were held together.
    pub fn held(&self) -> Result<u64, Failure> {
        (0..self.len()).try_fold(0, |sum, index| {
            self.lock(index, 0)?;
            // SAFETY: the mutex is held, so nobody else touches the count.
            let held = unsafe { *self.at(index).1 };
            self.unlock(index, 0)?;
            Ok(sum + held)
        })
    }

    /// A mutex and its count.
    #[inline]
    fn at(&self, index: usize) -> (*mut libc::pthread_mutex_t, *mut u64) {
        match &self.places {
            Places::Together { rows, held } => {
                (rows[index / ROW].0[index % ROW].get(), held[index].0.get())
            }
            Places::Apart(padded) => (padded[index].mutex.get(), padded[index].held.get()),
        }
    }

    #[inline]
    fn lock(&self, index: usize, done: u64) -> Result<(), Failure> {
        // SAFETY: the mutex was initialised, has not moved since and lives as long as `self`.
        let error = unsafe { libc::pthread_mutex_lock(self.at(index).0) };
        succeeded("pthread_mutex_lock", error, done)
    }

    #[inline]
    fn unlock(&self, index: usize, done: u64) -> Result<(), Failure> {
        // SAFETY: as for `lock`; this thread holds it.
        let error = unsafe { libc::pthread_mutex_unlock(self.at(index).0) };
        succeeded("pthread_mutex_unlock", error, done)
    }

    /// Raises the count of a mutex that this thread holds.
    #[inline]
    fn count(&self, index: usize) {
        // SAFETY: the caller holds the mutex, so nobody else touches the count.
        unsafe { *self.at(index).1 += 1 };
    }
}

#[inline]
fn succeeded(operation: &'static str, error: i32, done: u64) -> Result<(), Failure> {
    if error == 0 {
        return Ok(());
    }
    Err(Failure {
        operation,
        done,
        error: io::Error::from_raw_os_error(error),
    })
}

/// One event of the `threads` test: takes the mutex `index` modulo their number, yields the CPU and gives it back,
/// `yields` times.
pub fn yields(locks: &Locks, index: u64, yields: u64) -> Result<(), Failure> {
    let index = usize::try_from(index % locks.len() as u64).unwrap_or(0);
    for done in 0..yields {
        locks.lock(index, done)?;
        locks.count(index);
        // SAFETY: sched_yield takes nothing.
        unsafe { libc::sched_yield() };
        locks.unlock(index, done)?;
    }
    Ok(())
}

/// Takes the first mutex and gives it back: what sysbench 0.4 does around an event of its `memory` test.
#[inline]
pub fn once(locks: &Locks) -> Result<(), Failure> {
    locks.lock(0, 0)?;
    locks.count(0);
    locks.unlock(0, 0)
}

/// What a spin between two locks is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spin {
    /// Each turn really happens: sysbench 1.0.
    Kept,
    /// The compiler takes the turns away: sysbench 0.4 as everybody compiles it.
    Removed,
}

/// `turns` turns of the `mutex` test: `spins` turns of an empty loop, then one random mutex is taken, counted, the
/// shared number raised, and the mutex given back. `random` is the state of the choice and is left where it came to.
/// `number` chooses the clone.
pub fn turns(
    locks: &Locks,
    turns: u64,
    spins: u64,
    spin: Spin,
    random: &mut u64,
    number: u32,
) -> Result<(), Failure> {
    let spins = match spin {
        Spin::Kept => spins,
        Spin::Removed => 0,
    };
    for done in 0..turns {
        clone!(number, empty(spins));
        // Xorshift (Marsaglia, Journal of Statistical Software 8(14), 2003): three shifts, whose cost is not seen next
        // to a lock.
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        let index = usize::try_from(*random % locks.len() as u64).unwrap_or(0);
        locks.lock(index, done)?;
        locks.count(index);
        let shared = &locks.shared.0;
        shared.store(shared.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        locks.unlock(index, done)?;
    }
    Ok(())
}

/// An empty loop: a step, a comparison and a jump for each turn, which is how compilers leave one that they may not
/// take away. Returns how many turns it made.
#[inline(never)]
fn empty<const PAD: usize>(turns: u64) -> u64 {
    place_loop!(PAD);
    count_to(turns)
}

/// The loop, written out: left to our compiler, it would be unrolled or not as it pleases.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
#[expect(clippy::inline_always, reason = "the loop begins where it was placed")]
fn count_to(turns: u64) -> u64 {
    if turns == 0 {
        return 0;
    }
    let mut turn = 0_u64;
    // SAFETY: the loop counts in a register that it is given and touches nothing else.
    unsafe {
        std::arch::asm!(
            "2:",
            "add {turn}, 1",
            "cmp {turn}, {turns}",
            "jne 2b",
            turn = inout(reg) turn,
            turns = in(reg) turns,
            options(nomem, nostack)
        );
    }
    turn
}

#[cfg(not(target_arch = "x86_64"))]
use portable_count_to as count_to;

/// The loop as the compiler makes it where each turn must be kept.
#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline(always)]
#[expect(clippy::inline_always, reason = "the loop begins where it was placed")]
fn portable_count_to(turns: u64) -> u64 {
    let mut turn = 0;
    while turn < turns {
        turn += 1;
        super::opaque::kept(turn);
    }
    turn
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_turn_of_every_thread_is_counted_once() {
        for spacing in [Spacing::Together, Spacing::Apart] {
            all_turns_are_counted(&Locks::new(5, spacing));
        }
    }

    fn all_turns_are_counted(locks: &Locks) {
        std::thread::scope(|scope| {
            for thread in 0..4_u64 {
                scope.spawn(move || {
                    for event in 0..10 {
                        yields(locks, thread + event, 20).unwrap();
                    }
                    let mut random = thread + 1;
                    turns(locks, 300, 3, Spin::Kept, &mut random, 0).unwrap();
                    turns(locks, 100, 1 << 60, Spin::Removed, &mut random, 1).unwrap();
                });
            }
        });
        assert_eq!(locks.held().unwrap(), 4 * (10 * 20 + 400));
    }

    #[test]
    fn mutexes_lie_together_or_have_lines_of_their_own_and_there_is_always_one() {
        let step = |spacing, from: usize| {
            let locks = Locks::new(20, spacing);
            locks.at(from + 1).0.addr() - locks.at(from).0.addr()
        };
        for from in [0, 6, 7, 8] {
            assert_eq!(
                step(Spacing::Together, from),
                size_of::<libc::pthread_mutex_t>()
            );
            assert_eq!(step(Spacing::Apart, from), 256);
        }
        for spacing in [Spacing::Together, Spacing::Apart] {
            assert_eq!(Locks::new(0, spacing).len(), 1);
            assert_eq!(Locks::new(7, spacing).len(), 7);
            assert!(!Locks::new(0, spacing).is_empty());
        }
    }

    #[test]
    fn the_empty_loop_makes_every_turn_and_ends_and_so_does_its_portable_twin() {
        for turns in [0, 1, 2, 3, 1000, 1 << 17] {
            let clones = [empty::<0>(turns), empty::<20>(turns), empty::<44>(turns)];
            assert_eq!(clones, [turns; 3]);
            assert_eq!(portable_count_to(turns), turns);
        }
    }

    #[test]
    fn a_lock_by_itself_touches_the_first_mutex_and_nothing_else() {
        let locks = Locks::new(3, Spacing::Apart);
        for _ in 0..7 {
            once(&locks).unwrap();
        }
        for (index, expected) in [7, 0, 0].into_iter().enumerate() {
            // SAFETY: nobody else knows the locks.
            assert_eq!(unsafe { *locks.at(index).1 }, expected, "{index}");
        }
        assert_eq!(locks.shared.0.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn random_choices_reach_every_mutex() {
        let locks = Locks::new(8, Spacing::Apart);
        let mut random = 99;
        turns(&locks, 800, 0, Spin::Kept, &mut random, 2).unwrap();
        for index in 0..locks.len() {
            // SAFETY: nobody else knows the locks.
            let held = unsafe { *locks.at(index).1 };
            assert!(held > 40, "{held}");
        }
        assert_eq!(locks.shared.0.load(Ordering::Relaxed), 800);
    }
}
