//! How long a cache line takes from one CPU to another and back.
//!
//! Two threads, each kept on its CPU, hand one word back and forth: one writes odd numbers, the other even ones, each
//! waits until it sees the other's. The partner is started once; which CPU it is on is told to it between measurements.
//!
//! It refuses CPUs that the process may not use: the partner says so, and nothing hangs.

use super::team::{Member, Team};
use crate::affinity;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

/// Turns of a wait after which it is looked whether the other side has ended.
const PATIENCE: u32 = 1 << 20;

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
            let mut patience = PATIENCE;
            while ball.load(Ordering::Acquire) == out {
                std::hint::spin_loop();
                patience -= 1;
                if patience == 0 {
                    patience = PATIENCE;
                    if self.team.anybody_ended() {
                        return Err(io::ErrorKind::BrokenPipe.into());
                    }
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
        // Many answers between two looks at the rest, so that the rest costs nothing.
        for _ in 0..1000 {
            let ball = table.ball.0.load(Ordering::Acquire);
            if ball % 2 == 1 {
                table.ball.0.store(ball + 1, Ordering::Release);
            } else {
                std::hint::spin_loop();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
