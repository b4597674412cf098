//! A round: the talk before, the data, and the talk behind it.

use super::figures::{self, Course};
use super::flows::Flows;
use super::is_up;
use crate::net::figures::Moment;
use crate::net::iperf3::{Parameters, Results};
use crate::net::kernel::Kernel;
use crate::net::peer::{Other, SAYS_WITHIN};
use crate::net::route::Route;
use crate::net::shaper::Rates;
use crate::net::talk::{Talk, Way, asked};
use engine::recorder::Recorder;
use engine::workload::{Body, Finish, Place, WorkError};
use model::num::approx;
use model::params::Params;
use std::io;
use std::time::Duration;
use sys::clock::monotonic;
use sys::until::Until;

/// What the kernel knows of the flows is asked for so often.
const ASK_EVERY_NS: u64 = 100_000_000;

/// A test at work.
pub(super) struct Round {
    talk: Talk,
    up: bool,
    flows: Flows,
    course: Course,
    has_begun: bool,
    next_ask: u64,
    route: Option<Route>,
    kernel: Kernel,
    /// Of a single flow.
    rates: Option<Rates>,
}

impl Round {
    /// Agrees with the server on a test; data flows at the first batch.
    pub(super) fn begin(other: Other, params: &Params, place: &Place) -> Result<Self, WorkError> {
        let began = Moment::now();
        let (up, size) = (is_up(params), params.size("size").0);
        let asked = Parameters {
            tcp: true,
            ..asked(place, size, up)
        };
        let talk = Talk::begin(other, Way { up, by: "TCP" }, &asked)?;
        let until = Until::after(SAYS_WITHIN);
        let control = talk.control()?;
        // One after the other: both ends must see the same order.
        let streams = (0..place.copies).map(|_| control.stream(until));
        let streams = streams.collect::<Result<Vec<_>, _>>();
        let streams = streams.map_err(|why| talk.no_begin(&why))?;
        talk.has_streams(until)?;
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        let route = streams.first().map(Route::of);
        let flows = Flows::start(streams, up, size, place.seed)?;
        Ok(Self {
            course: Course::new(began, place.copies),
            talk,
            up,
            flows,
            has_begun: false,
            next_ask: 0,
            route,
            kernel: Kernel::new(),
            rates: (place.copies == 1).then(Rates::default),
        })
    }

    /// Why a flow ended by itself.
    #[cold]
    fn ended(&mut self) -> WorkError {
        let (talk, flows) = (&self.talk, &mut self.flows);
        talk.ended(|| match flows.end() {
            Err(error) => talk.lost(&error),
            Ok(()) => talk.lost(&io::ErrorKind::UnexpectedEof.into()),
        })
    }

    /// Looks whether data flows.
    fn look(&mut self, now: u64) -> Result<(), WorkError> {
        if self.flows.anybody_ended() {
            return Err(self.ended());
        }
        self.talk.look(self.flows.bytes(), now)?;
        self.kernel.look(now);
        if let Some(rates) = self.rates.as_mut().filter(|rates| rates.is_due(now)) {
            rates.see(now, self.flows.passed());
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
        let flows = &mut self.flows;
        self.talk.end(ours, || {
            let _ = flows.end();
        })
    }
}

impl Body for Round {
    fn batch(&mut self, ops: u64, _: &mut Recorder) -> Result<u64, WorkError> {
        if !self.has_begun {
            self.has_begun = true;
            self.flows.go();
            self.talk.flows_from(monotonic());
            self.course.measured_part_begins(&self.flows);
        }
        self.talk.wait(Duration::from_millis(ops))?;
        self.look(monotonic())?;
        Ok(ops)
    }

    fn work(&self) -> Option<f64> {
        Some(approx(self.flows.passed()))
    }

    fn measured_part_begins(&mut self) {
        self.course.measured_part_begins(&self.flows);
        self.kernel.begins(monotonic());
        self.rates = self.rates.map(|_| Rates::default());
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        // First of all: data goes on to flow.
        self.course.ends(&self.flows);
        self.kernel.ends();
        // While the connection is there.
        let route = self.route.as_ref().zip(self.flows.first());
        let of_way = route.map_or_else(Vec::new, |(route, stream)| route.notes(stream));
        let ours = figures::ours(&self.course, &self.flows, self.up);
        let theirs = self.talk(&ours)?;
        // With what was sent until the server had heard of the end.
        let sent = self.flows.bytes();
        let mut finish = figures::all(
            &self.course,
            &ours,
            &theirs,
            (self.up, sent),
            self.talk.peer(),
        )?;
        finish.notes.extend(of_way);
        self.kernel.tell(&mut finish);
        let held = self.rates.as_ref().and_then(Rates::held);
        finish.notes.extend(held);
        Ok(finish)
    }
}
