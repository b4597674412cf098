//! A test of iperf3's protocol that we lead: the talk before and behind the data, whatever carries it.

use super::iperf3::control::{Control, Trouble};
use super::iperf3::{Parameters, Results};
use super::peer::{Other, Peer, SAYS_WITHIN};
use engine::workload::{Place, WorkError};
use std::io;
use std::time::Duration;
use sys::until::Until;

const SECOND: u64 = 1_000_000_000;

/// Data that stands still for so long does not flow any more.
const STILL_NS: u64 = 10 * SECOND;

/// A stream that ends may be heard of sooner than why: so long the server has to say it.
pub(in crate::net) const WHY_WITHIN: Duration = Duration::from_millis(500);

/// Which way data goes, and what carries it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    /// From here to the peer.
    pub(super) up: bool,
    /// `TCP` or `UDP`.
    pub(super) by: &'static str,
}

/// What every test asks of a server.
pub(super) fn asked(place: &Place, bytes: u64, up: bool) -> Parameters {
    let whole = |nanos: u64| i64::try_from(nanos.div_ceil(SECOND)).unwrap_or(i64::MAX);
    Parameters {
        omit: whole(place.warmup.0),
        time: whole(place.measure.0).max(1),
        parallel: i64::from(place.copies),
        len: i64::try_from(bytes).unwrap_or(i64::MAX),
        pacing_timer: 1000,
        reverse: !up,
        client_version: Some(concat!("kurabe ", env!("CARGO_PKG_VERSION")).to_owned()),
        ..Parameters::default()
    }
}

/// A test under way.
#[derive(Debug)]
pub(super) struct Talk {
    peer: Peer,
    way: Way,
    /// Gone once the talk is over.
    control: Option<Control>,
    /// Bytes when they were looked at last and were more than before, and when that was.
    moved: (u64, u64),
}

impl Talk {
    /// Agrees with the server on a test; it waits for streams then.
    pub(super) fn begin(other: Other, way: Way, asked: &Parameters) -> Result<Self, Refused> {
        let refused = |why: Trouble| Refused {
            is_rate: why.is_rate(),
            is_gone: matches!(why, Trouble::Gone),
            why: why.told(&other.peer, "begin a test with"),
        };
        let control = other.control().map_err(refused)?;
        let until = Until::after(SAYS_WITHIN);
        control.agree(asked, until).map_err(refused)?;
        Ok(Self {
            peer: other.peer,
            way,
            control: Some(control),
            moved: (0, 0),
        })
    }

    pub(super) const fn peer(&self) -> &Peer {
        &self.peer
    }

    /// The control connection, while the test lasts.
    pub(super) fn control(&self) -> Result<&Control, WorkError> {
        let over = || WorkError::Failed(format!("measure with `{}`: the test is over", self.peer));
        self.control.as_ref().ok_or_else(over)
    }

    /// Trouble before data flows.
    pub(super) fn no_begin(&self, why: &Trouble) -> WorkError {
        why.told(&self.peer, "begin a test with")
    }

    /// Waits until the server has all streams.
    pub(super) fn has_streams(&self, until: Until) -> Result<(), WorkError> {
        let begun = self.control()?.begin(until);
        begun.map_err(|why| self.no_begin(&why))
    }

    /// Data flows from now on.
    pub(super) fn flows_from(&mut self, now: u64) {
        self.moved = (0, now);
    }

    /// Waits so long; an error where the server says anything.
    pub(super) fn wait(&self, at_most: Duration) -> Result<(), WorkError> {
        let says = self.control()?.says_within(at_most);
        if says.map_err(|error| self.lost(&error))? {
            return Err(self.broken(Until::after(SAYS_WITHIN)));
        }
        Ok(())
    }

    /// What went wrong in the middle.
    #[cold]
    fn broken(&self, until: Until) -> WorkError {
        match self.control() {
            Ok(control) => control.said(until).told(&self.peer, "measure with"),
            Err(over) => over,
        }
    }

    /// Why a flow ended by itself: the server's own words, where it has any.
    #[cold]
    pub(super) fn ended(&self, ours: impl FnOnce() -> WorkError) -> WorkError {
        let says = |control: &Control| control.says_within(WHY_WITHIN).unwrap_or(false);
        if self.control().is_ok_and(says) {
            return self.broken(Until::after(WHY_WITHIN));
        }
        ours()
    }

    /// What failed while data flowed.
    pub(super) fn lost(&self, error: &io::Error) -> WorkError {
        let why = if error.kind() == io::ErrorKind::UnexpectedEof {
            "the server closed the stream in the middle of the test".to_owned()
        } else {
            error.to_string()
        };
        self.failed(&why)
    }

    /// The same in words.
    pub(super) fn failed(&self, why: &str) -> WorkError {
        let doing = if self.way.up {
            "send to"
        } else {
            "receive from"
        };
        WorkError::Failed(format!("{doing} `{}`: {why}", self.peer))
    }

    #[cold]
    fn stands_still(&self) -> WorkError {
        let (seconds, port, by) = (STILL_NS / SECOND, self.peer.port(), self.way.by);
        let direction = if self.way.up { "to" } else { "from" };
        self.failed(&format!(
            "no byte has passed for {seconds} s\nhint: the peer stands still, a link is down, or a packet filter drops \
             what goes {direction} {by} port {port} there"
        ))
    }

    /// So many bytes have passed by now: an error where none has for long.
    pub(super) fn look(&mut self, bytes: u64, now: u64) -> Result<(), WorkError> {
        if bytes != self.moved.0 {
            self.moved = (bytes, now);
        } else if now.saturating_sub(self.moved.1) > STILL_NS {
            return Err(self.stands_still());
        }
        Ok(())
    }

    /// The talk behind the data: what the server has counted. `stop` ends our side of the streams, as soon as that
    /// disturbs nobody.
    pub(super) fn end(
        &mut self,
        ours: &Results,
        mut stop: impl FnMut(),
    ) -> Result<Results, WorkError> {
        let over = || WorkError::Failed("end a test that is over".to_owned());
        let control = self.control.take().ok_or_else(over)?;
        let end = |why: Trouble| why.told(&self.peer, "end the test with");
        let until = Until::after(SAYS_WITHIN);
        control.end(until).map_err(end)?;
        // From now on the server may close the streams; it hears of the end at once, while data is still on its way.
        if self.way.up {
            stop();
        }
        control.ended(until).map_err(end)?;
        // A server that sends goes on until it has heard: what comes until then is read, and not counted.
        if !self.way.up {
            stop();
        }
        let until = Until::after(SAYS_WITHIN);
        control.exchange(ours, false, until).map_err(end)
    }
}

/// Why there is no test.
#[derive(Debug)]
pub(super) struct Refused {
    why: WorkError,
    is_rate: bool,
    is_gone: bool,
}

impl Refused {
    /// Whether a lower rate may be served.
    pub(super) const fn is_rate(&self) -> bool {
        self.is_rate
    }

    /// Whether the server closed the connection without a word.
    pub(super) const fn is_gone(&self) -> bool {
        self.is_gone
    }
}

impl From<Refused> for WorkError {
    fn from(refused: Refused) -> Self {
        refused.why
    }
}
