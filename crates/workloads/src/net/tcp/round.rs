//! A round: the talk before, the data, and the talk behind it.

use super::figures::{self, Course, Moment};
use super::flows::Flows;
use super::{SECOND, is_up};
use crate::net::iperf3::control::{Control, Trouble};
use crate::net::iperf3::{Parameters, Results};
use crate::net::peer::{Other, Peer, SAYS_WITHIN};
use crate::net::route::Route;
use crate::net::shaper::Rates;
use engine::recorder::Recorder;
use engine::workload::{Body, Finish, Place, WorkError};
use model::num::approx;
use model::params::Params;
use std::io;
use std::time::Duration;
use sys::clock::monotonic;
use sys::until::Until;

/// Data that stands still for so long does not flow any more.
const STILL_NS: u64 = 10 * SECOND;

/// What the kernel knows of the flows is asked for so often.
const ASK_EVERY_NS: u64 = 100_000_000;

/// A stream that ends may be heard of sooner than why: so long the server has to say it.
const WHY_WITHIN: Duration = Duration::from_millis(500);

/// A test at work.
pub(super) struct Round {
    peer: Peer,
    up: bool,
    /// Gone once the talk is over.
    control: Option<Control>,
    flows: Flows,
    course: Course,
    has_begun: bool,
    /// Bytes when they were looked at last and were more than before, and when that was.
    moved: (u64, u64),
    next_ask: u64,
    route: Option<Route>,
    /// Of a single flow.
    rates: Option<Rates>,
}

/// What is asked of the server.
fn asked(params: &Params, place: &Place) -> Parameters {
    let whole = |nanos: u64| i64::try_from(nanos.div_ceil(SECOND)).unwrap_or(i64::MAX);
    Parameters {
        tcp: true,
        omit: whole(place.warmup.0),
        time: whole(place.measure.0).max(1),
        parallel: i64::from(place.copies),
        len: i64::try_from(params.size("size").0).unwrap_or(i64::MAX),
        pacing_timer: 1000,
        reverse: !is_up(params),
        client_version: Some(concat!("kurabe ", env!("CARGO_PKG_VERSION")).to_owned()),
        ..Parameters::default()
    }
}

impl Round {
    /// Agrees with the server on a test; data flows at the first batch.
    pub(super) fn begin(other: Other, params: &Params, place: &Place) -> Result<Self, WorkError> {
        let begin = |why: Trouble| why.told(&other.peer, "begin a test with");
        let began = Moment::now();
        let control = other.control().map_err(begin)?;
        let until = Until::after(SAYS_WITHIN);
        control.agree(&asked(params, place), until).map_err(begin)?;
        let until = Until::after(SAYS_WITHIN);
        // One after the other: both ends must see the same order.
        let streams = (0..place.copies).map(|_| control.stream(until));
        let streams = streams.collect::<Result<Vec<_>, _>>().map_err(begin)?;
        control.begin(until).map_err(begin)?;
        let size = usize::try_from(params.size("size").0).unwrap_or(usize::MAX);
        let up = is_up(params);
        let route = streams.first().map(Route::of);
        let flows = Flows::start(streams, up, size, place.seed)?;
        Ok(Self {
            course: Course::new(began, place.copies),
            peer: other.peer,
            up,
            control: Some(control),
            flows,
            has_begun: false,
            moved: (0, 0),
            next_ask: 0,
            route,
            rates: (place.copies == 1).then(Rates::default),
        })
    }

    fn control(&self) -> Result<&Control, WorkError> {
        let over = || WorkError::Failed(format!("measure with `{}`: the test is over", self.peer));
        self.control.as_ref().ok_or_else(over)
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
    fn ended(&mut self) -> WorkError {
        if self
            .control()
            .is_ok_and(|control| control.says_within(WHY_WITHIN).unwrap_or(false))
        {
            return self.broken(Until::after(WHY_WITHIN));
        }
        match self.flows.end() {
            Err(error) => self.lost(&error),
            Ok(()) => self.lost(&io::ErrorKind::UnexpectedEof.into()),
        }
    }

    fn lost(&self, error: &io::Error) -> WorkError {
        let (doing, peer) = (if self.up { "send to" } else { "receive from" }, &self.peer);
        let why = if error.kind() == io::ErrorKind::UnexpectedEof {
            "the server closed the stream in the middle of the test".to_owned()
        } else {
            error.to_string()
        };
        WorkError::Failed(format!("{doing} `{peer}`: {why}"))
    }

    #[cold]
    fn stands_still(&self) -> WorkError {
        let (peer, seconds) = (&self.peer, STILL_NS / SECOND);
        let port = peer.port();
        let (doing, direction) = if self.up {
            ("send to", "to")
        } else {
            ("receive from", "from")
        };
        WorkError::Failed(format!(
            "{doing} `{peer}`: no byte has passed for {seconds} s\nhint: the peer stands still, a link is down, or a \
             packet filter drops what goes {direction} TCP port {port} there"
        ))
    }

    /// Looks whether data flows.
    fn look(&mut self, now: u64) -> Result<(), WorkError> {
        if self.flows.anybody_ended() {
            return Err(self.ended());
        }
        let bytes = self.flows.bytes();
        if bytes != self.moved.0 {
            self.moved = (bytes, now);
        } else if now.saturating_sub(self.moved.1) > STILL_NS {
            return Err(self.stands_still());
        }
        if let Some(rates) = &mut self.rates {
            rates.see(now, bytes);
        }
        if self.up && now >= self.next_ask {
            self.next_ask = now + ASK_EVERY_NS;
            self.course.ask(&self.flows);
        }
        Ok(())
    }

    /// The talk behind the data: what the server has counted.
    fn talk(&mut self, ours: &Results) -> Result<Results, WorkError> {
        if self.flows.anybody_ended() {
            return Err(self.ended());
        }
        let over = || WorkError::Failed("end a test that is over".to_owned());
        let control = self.control.take().ok_or_else(over)?;
        let (peer, flows) = (&self.peer, &mut self.flows);
        let end = |why: Trouble| why.told(peer, "end the test with");
        let until = Until::after(SAYS_WITHIN);
        control.end(until).map_err(end)?;
        // From now on the server may close the streams; it hears of the end at once, while data is still on its way.
        if self.up {
            let _ = flows.end();
        }
        control.ended(until).map_err(end)?;
        // A server that sends goes on until it has heard: what comes until then is read, and not counted.
        if !self.up {
            let _ = flows.end();
        }
        let until = Until::after(SAYS_WITHIN);
        control.exchange(ours, until).map_err(end)
    }
}

impl Body for Round {
    fn batch(&mut self, ops: u64, _: &mut Recorder) -> Result<u64, WorkError> {
        if !self.has_begun {
            self.has_begun = true;
            self.flows.go();
            self.moved = (0, monotonic());
            self.course.measured_part_begins(&self.flows);
        }
        let says = self.control()?.says_within(Duration::from_millis(ops));
        if says.map_err(|error| self.lost(&error))? {
            return Err(self.broken(Until::after(SAYS_WITHIN)));
        }
        self.look(monotonic())?;
        Ok(ops)
    }

    fn work(&self) -> Option<f64> {
        Some(approx(self.flows.passed()))
    }

    fn measured_part_begins(&mut self) {
        self.course.measured_part_begins(&self.flows);
        self.rates = self.rates.map(|_| Rates::default());
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        // First of all: data goes on to flow.
        self.course.ends(&self.flows);
        // While the connection is there.
        let route = self.route.as_ref().zip(self.flows.first());
        let of_way = route.map_or_else(Vec::new, |(route, stream)| route.notes(stream));
        let ours = figures::ours(&self.course, &self.flows, self.up);
        let theirs = self.talk(&ours)?;
        // With what was sent until the server had heard of the end.
        let sent = self.flows.bytes();
        let mut finish = figures::all(&self.course, &ours, &theirs, (self.up, sent), &self.peer)?;
        finish.notes.extend(of_way);
        let held = self.rates.as_ref().and_then(Rates::held);
        finish.notes.extend(held);
        Ok(finish)
    }
}
