//! Whether a server deletes keys by itself while ours are there: asked each second, beside what is measured.
//!
//! A round has a thread and a connection for it: a question in the measured threads would be a part of the latencies. A
//! run has a connection over which the same is asked between rounds.

use super::facts::Info;
use super::keys::{Keys, Note};
use super::server::{Marker, Server};
use super::wire::Wire;
use crate::db::server::Named;
use engine::consent::Permits;
use engine::workload::WorkError;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Thread;
use std::time::Duration;
use sys::clock::monotonic;

/// From one question to the next.
const EVERY_NS: u64 = 1_000_000_000;

/// Where others have less left than this part of what ours take at most, the round ends: a ninth was left at least when
/// they were made.
const LEAST: u64 = 20;

/// How many keys a server has deleted by itself since it was first asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Evicted {
    last: Option<u64>,
    grown: u64,
}

impl Evicted {
    /// Takes what the server's counter says, which begins anew with the server, and where its owner resets it.
    pub(super) fn learn(&mut self, told: Option<u64>) {
        let Some(now) = told else { return };
        self.grown += match self.last {
            None => 0,
            Some(last) if last <= now => now - last,
            Some(_) => now,
        };
        self.last = Some(now);
    }

    pub(super) const fn grown(self) -> u64 {
        self.grown
    }
}

/// The number of this name in INFO, taken where it lies.
fn number(info: &[u8], name: &[u8]) -> Option<u64> {
    let mut lines = info.split(|byte| *byte == b'\n');
    let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(b":"))?;
    let value = value.strip_suffix(b"\r").unwrap_or(value);
    std::str::from_utf8(value).ok()?.parse().ok()
}

/// Whether a round is to end by what INFO says now; `None` where that does not tell.
fn ends(info: &[u8], evicted: &mut Evicted, least: Option<u64>) -> Option<bool> {
    let told = number(info, b"evicted_keys")?;
    evicted.learn(Some(told));
    let most = number(info, b"maxmemory").filter(|most| *most > 0);
    let left = most.zip(number(info, b"used_memory"));
    let left = left.map(|(most, used)| most.saturating_sub(used));
    let is_short = least.zip(left).is_some_and(|(least, left)| left < least);
    Some(evicted.grown > 0 || is_short)
}

#[derive(Debug, Default)]
struct Flags {
    ends: AtomicBool,
    is_over: AtomicBool,
    /// At least one question was not answered.
    was_interrupted: AtomicBool,
}

/// The thread of a round.
pub(super) struct Watch {
    flags: Arc<Flags>,
    thread: Thread,
}

impl Watch {
    /// Begins; `None` where the server does not tell.
    pub(super) fn of(server: &Server, keys: Keys) -> Result<Option<Self>, WorkError> {
        if server.info.as_ref().and_then(Info::evicted).is_none() {
            return Ok(None);
        }
        let line = Asking {
            wire: Some(server.client()?),
            named: server.named.clone(),
        };
        let evicted = server.evicted;
        let least = (server.others > 0).then(|| keys.bytes_at_most() / LEAST);
        let flags = Arc::new(Flags::default());
        let own = Arc::clone(&flags);
        // It is not waited for at the end: a server that stands still would hold that up.
        let thread = std::thread::Builder::new().spawn(move || watch(&own, line, evicted, least));
        let thread = thread.map_err(|error| WorkError::failed("start", "a thread", error))?;
        Ok(Some(Self {
            flags,
            thread: thread.thread().clone(),
        }))
    }

    /// Whether the round is to end.
    #[inline]
    pub(super) fn ends(&self) -> bool {
        self.flags.ends.load(Ordering::Relaxed)
    }

    /// Whether the server could not be asked for a part of the round.
    pub(super) fn was_interrupted(&self) -> bool {
        self.flags.was_interrupted.load(Ordering::Relaxed)
    }
}

/// The connection of the thread.
struct Asking {
    /// `None` where it was lost.
    wire: Option<Wire>,
    named: Named,
}

impl Asking {
    /// Whether the round is to end; over a new connection where the one before is lost. `None` where that is not told.
    fn ends(&mut self, evicted: &mut Evicted, least: Option<u64>) -> Option<bool> {
        for _ in 0..2 {
            let known = self.wire.take();
            let mut wire = known.or_else(|| self.named.entered(Wire::log_in).ok())?;
            if let Ok(told) = wire.info(|info| ends(info, evicted, least)) {
                self.wire = Some(wire);
                return told;
            }
        }
        None
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.flags.is_over.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

/// Asks each second, and allocates nothing as long as its connection is there. Others may end that alone: the clients'
/// own go on then.
fn watch(flags: &Flags, mut line: Asking, mut evicted: Evicted, least: Option<u64>) {
    let mut due = monotonic() + EVERY_NS;
    while !flags.is_over.load(Ordering::Acquire) {
        let now = monotonic();
        if now < due {
            std::thread::park_timeout(Duration::from_nanos(due - now));
            continue;
        }
        match line.ends(&mut evicted, least) {
            Some(false) => {}
            Some(true) => {
                flags.ends.store(true, Ordering::Relaxed);
                return;
            }
            None => flags.was_interrupted.store(true, Ordering::Relaxed),
        }
        due = now + EVERY_NS;
    }
}

/// An answer between rounds that takes longer is waited for no longer.
const ANSWER_MAX: Duration = Duration::from_secs(5);

/// A connection of a run, which asks before each round and in rests.
pub(in crate::db) struct Guard {
    server: Server,
    /// An answer may still be under way over its connection, or the connection is gone.
    is_lost: bool,
    /// Why the marker could not be written again.
    unmarked: Option<WorkError>,
}

impl Guard {
    pub(in crate::db) fn of(permits: &Permits, path: &Path) -> Result<Self, WorkError> {
        let mut server = Server::connected(permits, path)?;
        server.look()?;
        server.names_run()?;
        let is_lost = server.wire.line.wait_at_most(ANSWER_MAX).is_err();
        Ok(Self {
            server,
            is_lost,
            unmarked: None,
        })
    }

    /// Asks, over a new connection where the one before is lost.
    fn gone(&mut self) -> Result<u64, WorkError> {
        let server = &mut self.server;
        if self.is_lost {
            server.wire = server.named.entered(Wire::log_in)?;
            self.is_lost = server.wire.line.wait_at_most(ANSWER_MAX).is_err();
            self.is_lost |= server.names_run().is_err();
        }
        let gone = server.gone();
        self.is_lost |= gone.is_err();
        gone
    }

    /// An error where the server has deleted keys by itself since the run began. One that is away at this moment has
    /// not: its rounds say what else it is.
    pub(in crate::db) fn spares(&mut self) -> Result<(), WorkError> {
        let Ok(gone) = self.gone().or_else(|_| self.gone()) else {
            return Ok(());
        };
        let server = &mut self.server;
        match (server.marker(), server.note) {
            (Ok(Marker::Ours(note)), _) => server.note = Some(note),
            // Without it our keys would be of others. A round that gave way has removed both.
            (Ok(Marker::Nothing), Some(note)) if gone > 0 => {
                self.unmarked = server.mark_again(note).err();
                self.is_lost |= self.unmarked.is_some();
            }
            (Ok(_), _) => server.note = None,
            (Err(_), _) => self.is_lost = true,
        }
        if gone == 0 {
            return Ok(());
        }
        let why = self.server.evicts(gone, "");
        Err(match &self.unmarked {
            None => why,
            Some(unmarked) => WorkError::Failed(format!(
                "{unmarked}: without it kurabe's keys stay there\nbefore that: {why}"
            )),
        })
    }
}

impl Server {
    /// Writes the marker again that is gone, where any key that it counted is still there.
    fn mark_again(&mut self, note: Note) -> Result<(), WorkError> {
        self.note = None;
        if self.there(0..note.keys.number)? == 0 {
            return Ok(());
        }
        self.mark(Note {
            is_whole: false,
            ..note
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_begins_anew_goes_on() {
        let mut evicted = Evicted::default();
        let steps = [
            (Some(7), 0),
            (Some(7), 0),
            (None, 0),
            (Some(10), 3),
            // The server was started anew, or the counter reset.
            (Some(0), 3),
            (Some(2), 5),
            (Some(1), 6),
        ];
        for (told, grown) in steps {
            evicted.learn(told);
            assert_eq!(evicted.grown(), grown, "{told:?}");
        }
    }

    #[test]
    fn a_round_ends_by_what_is_told_where_it_lies() {
        let check = |evicted: &str, used: &str, most: &str, least: Option<u64>| {
            let info = format!(
                "# Memory\r\nused_memory:{used}\r\nused_memory_peak:1\r\nmaxmemory:{most}\r\n# Stats\r\n\
                 total_evicted_keys:99\r\nevicted_keys:{evicted}\r\n"
            );
            let mut known = Evicted::default();
            known.learn(Some(5));
            let ends = ends(info.as_bytes(), &mut known, least);
            assert_eq!(ends.is_some(), evicted.parse::<u64>().is_ok());
            assert_eq!(
                Info::read(&info).number("evicted_keys"),
                number(info.as_bytes(), b"evicted_keys")
            );
            ends.unwrap_or(false)
        };
        assert!(!check("5", "50", "100", Some(10)));
        assert!(check("6", "50", "100", Some(10)));
        assert!(check("6", "50", "100", None));
        assert!(check("5", "91", "100", Some(10)));
        // Nothing of others is there, or there is no bound.
        assert!(!check("5", "91", "100", None));
        assert!(!check("5", "91", "0", Some(10)));
        assert!(check("5", "900", "100", Some(10)));
        // What is no number is none.
        assert!(!check("x", "y", "z", Some(10)));
    }
}
