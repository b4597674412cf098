//! How long a cache line takes from one CPU to another and back.
//!
//! Two threads, each kept on its CPU, hand one word back and forth: one writes odd numbers, the other even ones, each
//! waits until it sees the other's. The partner is started once; which CPU it is on is told to it between measurements.
//!
//! Both look at the word as fast as they can, without the instruction that tells a CPU of such a wait (PAUSE): it takes
//! ten cycles on some CPUs and 140 on others (Intel, Optimization Reference Manual, on Skylake), and the half of one
//! that a change has to wait for in each direction would be a large part of what is measured between neighbours.
//! Without it a CPU may have to throw away loads that it had begun ahead when it sees a change, which is a part of
//! seeing one there, and two threads of one core take places in its pipelines from each other while they wait.
//!
//! It refuses CPUs that the process may not use: the partner says so, and nothing hangs.

use super::team::{Member, Team};
use crate::affinity;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

/// Looks at the word after which the caller looks whether the other side has ended.
const PATIENCE: u32 = 1 << 20;

/// Looks at the word after which the partner looks at the rest: a few microseconds, of which the rest is a thousandth.
const LOOKS: u32 = 10_000;

/// What the two sides share, each word on lines of its own.
#[derive(Debug, Default)]
struct Table {
    /// The word that goes back and forth.
    ball: Line<AtomicU64>,
    /// Which CPU the partner should be on, plus one, and in the upper half which request it is.
    wanted: Line<AtomicU64>,
    /// The last request that the partner has obeyed.
    obeyed: Line<AtomicU64>,
    /// The error number of the last request, 0 for none.
    error: Line<AtomicI32>,
}

#[derive(Debug, Default)]
#[repr(align(128))]
struct Line<T>(T);

/// The caller and its partner.
#[derive(Debug)]
pub struct Pair {
    table: Arc<Table>,
    team: Team<()>,
    requests: u64,
    me: Option<u32>,
}

impl Pair {
    /// Starts the partner.
    pub fn start() -> io::Result<Self> {
        let table = Arc::new(Table::default());
        let shared = Arc::clone(&table);
        let team = Team::start(vec![move |member: &Member| partner(&shared, member)])?;
        team.next_part();
        Ok(Self {
            table,
            team,
            requests: 0,
            me: None,
        })
    }

    /// Puts the caller on CPU `a` and the partner on CPU `b`.
    pub fn place(&mut self, a: u32, b: u32) -> io::Result<()> {
        if self.me != Some(a) {
            affinity::pin(a)?;
            self.me = Some(a);
        }
        self.requests += 1;
        let wanted = self.requests << 32 | u64::from(b);
        self.table.wanted.0.store(wanted, Ordering::Release);
        while self.table.obeyed.0.load(Ordering::Acquire) != self.requests {
            if self.team.anybody_ended() {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            std::thread::yield_now();
        }
        match self.table.error.0.load(Ordering::Acquire) {
            0 => Ok(()),
            number => Err(io::Error::from_raw_os_error(number)),
        }
    }

    /// Does `trips` round trips and returns the time they took in nanoseconds.
    pub fn trips(&mut self, trips: u64) -> io::Result<u64> {
        let ball = &self.table.ball.0;
        let first = ball.load(Ordering::Acquire);
        let start = crate::clock::monotonic();
        for trip in 0..trips {
            let out = first + 2 * trip + 1;
            ball.store(out, Ordering::Release);
            while stays(ball, out, PATIENCE) {
                if self.team.anybody_ended() {
                    return Err(io::ErrorKind::BrokenPipe.into());
                }
            }
        }
        let end = crate::clock::monotonic();
        // Nothing but the partner raises it by one for each of ours.
        assert_eq!(ball.load(Ordering::Acquire), first + 2 * trips);
        Ok(end - start)
    }
}

/// Answers every odd number with the next even one, and goes where it is told.
fn partner(table: &Table, member: &Member) {
    member.wait();
    let mut obeyed = 0;
    while !member.stopped() {
        let wanted = table.wanted.0.load(Ordering::Acquire);
        if wanted >> 32 != obeyed {
            obeyed = wanted >> 32;
            let cpu = u32::try_from(wanted & 0xffff_ffff).unwrap_or(u32::MAX);
            let error = affinity::pin(cpu).err();
            let number = error.map_or(0, |error| error.raw_os_error().unwrap_or(libc::EIO));
            table.error.0.store(number, Ordering::Release);
            table.obeyed.0.store(obeyed, Ordering::Release);
        }
        answer(&table.ball.0, LOOKS);
    }
}

/// Whether the word is still `word` after so many looks.
#[inline]
fn stays(ball: &AtomicU64, word: u64, looks: u32) -> bool {
    (0..looks).all(|_| ball.load(Ordering::Acquire) == word)
}

/// Looks at the word so many times, and answers where it is odd.
#[inline]
fn answer(ball: &AtomicU64, looks: u32) {
    for _ in 0..looks {
        let word = ball.load(Ordering::Acquire);
        if word % 2 == 1 {
            ball.store(word + 1, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_words_are_answered_and_even_ones_left() {
        let ball = AtomicU64::new(6);
        answer(&ball, 3);
        assert_eq!(ball.load(Ordering::Relaxed), 6);
        assert!(stays(&ball, 6, 3) && !stays(&ball, 7, 3));
        ball.store(7, Ordering::Relaxed);
        answer(&ball, 3);
        assert_eq!(ball.load(Ordering::Relaxed), 8);
    }

    #[cfg(target_arch = "x86_64")]
    mod slow {
        use super::*;

        /// The least of some tries: whoever takes the CPU meanwhile makes one of them longer.
        fn least(work: impl Fn()) -> u64 {
            let spent = |()| {
                let start = crate::clock::monotonic();
                work();
                crate::clock::monotonic() - start
            };
            [(); 5].map(spent).into_iter().min().unwrap()
        }

        #[test]
        #[ignore = "slow: compares times"]
        fn a_look_is_quicker_than_the_instruction_that_waits() {
            const COUNT: u32 = 1 << 20;
            let ball = AtomicU64::new(0);
            let pauses = least(|| (0..COUNT).for_each(|_| std::hint::spin_loop()));
            let waits = least(|| assert!(stays(&ball, 0, COUNT)));
            let answers = least(|| answer(&ball, COUNT));
            assert!(
                waits < pauses && answers < pauses,
                "{COUNT} looks: {waits} and {answers} ns, pauses: {pauses} ns"
            );
        }
    }

    #[test]
    fn every_trip_is_answered_and_a_cpu_that_is_not_there_is_an_error() {
        std::thread::scope(|scope| {
            // Pins itself, so not on the test's own thread.
            scope.spawn(|| {
                let cpus = affinity::allowed_cpus().unwrap();
                let mut pair = Pair::start().unwrap();
                let (first, last) = (cpus[0], cpus[cpus.len() - 1]);
                if first != last {
                    for (a, b) in [(first, last), (last, first)] {
                        pair.place(a, b).unwrap();
                        assert!(pair.trips(100).unwrap() > 0);
                    }
                }
                assert!(pair.place(first, 500_000).is_err());
            });
        });
    }
}
