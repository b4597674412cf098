//! A server for those who have its token ([`crate::net::own`]): one test at a time.
//!
//! Every client may be broken, and everybody may reach the port. A client that has not shown the token costs no thread.
//! Every size, count and time that a peer decides has a bound here; connections that say nothing cost one of
//! [`listener`]'s few places and are closed for the next one; a test that would outlast the server is refused;
//! datagrams go to no address but the one that holds the control connection, and only after it has said the first word
//! by UDP too, so that this server cannot be pointed at a third machine.
//!
//! Two threads besides those of streams ([`flows`]): the listener, which accepts, checks proofs and says that another
//! client is served, and the [`session`] that is on.

mod active;
mod ending;
mod flows;
mod line;
mod listener;
mod log;
mod order;
mod report;
mod session;
mod streams;
mod test;
#[cfg(test)]
pub(in crate::net) mod tests;

pub use listener::Listener;
pub use log::Write;

use crate::net::own::{Machine, Token};
use log::Log;
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
}

/// A server at work.
pub(crate) struct Serving<'a> {
    offer: &'a Offer,
    /// How long it was to be there.
    span: Duration,
    /// Nobody is served from this instant on, of the monotonic clock.
    until: u64,
    stop: &'a (dyn Fn() -> bool + Sync),
    log: Log<'a>,
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
