//! A server for those who have its token ([`crate::net::own`]) and, where its owner says so, for clients of iperf3, 3.1
//! to 3.21, whoever comes: one test at a time.
//!
//! It trusts nobody. Who has not shown the token costs no thread. Every size, count and time that a peer decides has a
//! bound here; connections that say nothing cost one of [`door`]'s few places and are thrown out for the next one;
//! rates and durations above what the owner allows strangers are refused; datagrams go to nobody but the address that
//! holds the control connection, and only after it has said the first word by UDP too, so that nobody can point this
//! server at a third machine.
//!
//! Two threads besides those of streams ([`flows`]): the door, which accepts, reads cookies and says that somebody else
//! is served, and the [`test`] that is on.

mod desk;
mod door;
mod ending;
mod flows;
mod journal;
mod line;
mod order;
mod own;
mod report;
mod streams;
mod test;
#[cfg(test)]
pub(in crate::net) mod tests;

pub use door::Door;
pub use journal::Write;
pub use order::Limits;

use crate::net::own::{Machine, Token};
use journal::Journal;
use model::units::Nanos;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use sys::clock::monotonic;

/// How much longer than agreed a test goes on that began before the end of the server, which it was to fit in: its
/// beginning took a moment.
const TEST_LONGER: Duration = Duration::from_secs(5);

/// Who is served, and what they are told.
#[derive(Clone, Debug)]
pub struct Offer {
    /// Lets in those who have it.
    pub token: Token,
    /// This machine, for them.
    pub machine: Machine,
    /// Every client of iperf3 is served as well, within these limits.
    pub open: Option<Limits>,
}

/// A server at work.
pub(crate) struct Serving<'a> {
    offer: &'a Offer,
    /// How long it was to be there.
    span: Duration,
    /// Nobody is served from this instant on, of the monotonic clock.
    until: u64,
    stop: &'a (dyn Fn() -> bool + Sync),
    journal: Journal<'a>,
    /// Nobody is let in any more, because something broke.
    failed: AtomicBool,
}

impl Serving<'_> {
    /// How long it is there yet.
    fn left(&self) -> Duration {
        Duration::from_nanos(self.until.saturating_sub(monotonic()))
    }

    /// Whether nobody is served any more who comes now.
    fn closes(&self) -> bool {
        (self.stop)() || self.left().is_zero()
    }

    /// Whether a test that is on is to end.
    fn ends(&self) -> bool {
        let longer = Nanos::from(TEST_LONGER);
        (self.stop)()
            || self.failed.load(Ordering::Relaxed)
            || monotonic() >= self.until.saturating_add(longer.0)
    }
}
