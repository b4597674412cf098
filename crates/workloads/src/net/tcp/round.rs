//! A round: the talk before, the data, and the talk behind it.

use super::enough::Enough;
use super::figures::{self, Course};
use super::flows::{Flows, How};
use super::is_up;
use super::spec::RATE;
use crate::net::figures::{KEPT_FROM, Moment, cut_short};
use crate::net::iperf3::words::Bits;
use crate::net::iperf3::{Parameters, Results};
use crate::net::kernel::Kernel;
use crate::net::peer::{Other, SAYS_WITHIN, spent};
use crate::net::route::Route;
use crate::net::shaper::Rates;
use crate::net::talk::{Talk, Way, asked};
use engine::recorder::Recorder;
use engine::workload::{Body, Finish, Place, WorkError};
use model::num::{approx, round_to_u64};
use model::params::Params;
use model::units::{Bytes, Nanos};
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;
use sys::clock::monotonic;
use sys::until::Until;

/// What the kernel knows of the flows is asked for so often.
const ASK_EVERY_NS: u64 = 100_000_000;

/// How often the flows are looked at. Whoever looks takes a CPU from who sends or receives: on two CPUs, every 5 ms and
/// wherever it was woken, that cost 4 to 10 % of the bytes. But where a round may move no more than so many bytes, its
/// end is not to be late.
const LOOK: Nanos = Nanos::from_millis(50);
const LOOK_AT_BYTES: Nanos = Nanos::from_millis(5);

/// A test at work.
pub(super) struct Round {
    talk: Talk,
    up: bool,
    flows: Flows,
    course: Course,
    has_begun: bool,
    /// The measured part is under way, which is to last so long.
    measures: bool,
    asked: Nanos,
    /// What may be moved, and how much that is.
    limit: Option<(Arc<Enough>, u64)>,
    /// Why it ended before that, where the server said so.
    cut: Option<WorkError>,
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
        // A server that sends more than it may is stopped by nothing that is said here: what is on its way comes.
        let most = place.bytes_left.filter(|_| !up).map_or(0, |left| left.0);
        let asked = Parameters {
            tcp: true,
            num: i64::try_from(most).unwrap_or(i64::MAX),
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
        let limit = place.bytes_left.map(|left| (Enough::of(left), left.0));
        let how = How {
            up,
            size,
            enough: limit.as_ref().map(|(enough, _)| Arc::clone(enough)),
            zerocopy: params.text("zerocopy") == "on",
            ..How::default()
        };
        if how.zerocopy {
            let mut all = streams.iter();
            all.try_for_each(|stream| sys::zerocopy::allow(stream.as_fd()))
                .map_err(|error| no_zerocopy(&error))?;
        }
        let flows = Flows::start_as(streams, &how, place.seed)?;
        Ok(Self {
            course: Course::new(began, place.copies),
            talk,
            up,
            flows,
            has_begun: false,
            measures: place.warmup == Nanos::ZERO,
            asked: place.measure,
            limit,
            cut: None,
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

    /// Whether what was measured so far is worth something by itself.
    fn is_kept(&self) -> bool {
        self.measures && self.course.lasts() >= KEPT_FROM
    }

    /// Why it ends, where it has moved all that it may.
    fn spent(&self) -> Option<WorkError> {
        let (enough, left) = self.limit.as_ref()?;
        enough.reached().map(|_| spent(*left))
    }

    /// Waits so long, and looks whether data flows. False where a flow has ended and the round with it: why is asked
    /// when it is over, because the server may take a moment to say.
    fn goes_on(&mut self, at_most: Duration) -> Result<bool, WorkError> {
        self.talk.wait(at_most)?;
        let now = monotonic();
        let spent = self.spent();
        if spent.is_some() || self.flows.anybody_ended() {
            if self.is_kept() {
                return Ok(false);
            }
            return Err(spent.unwrap_or_else(|| self.ended()));
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
        Ok(true)
    }

    /// The talk behind the data: what the server has counted.
    fn talk(&mut self, ours: &Results) -> Result<Results, WorkError> {
        if let Some(why) = self.cut.take() {
            return Err(why);
        }
        if self.spent().is_none() && self.flows.anybody_ended() {
            return Err(self.ended());
        }
        let flows = &mut self.flows;
        self.talk.end(ours, || {
            let _ = flows.end();
        })
    }
}

impl Round {
    /// What is kept of a round that the server ended, or the limit of what it may move.
    fn cut_short(&self, mut finish: Finish, why: &WorkError, is_told: bool) -> Finish {
        let (seconds, _) = self.course.measured();
        let rate = finish.reported.get(RATE).copied();
        let rate = rate.unwrap_or_else(|| self.course.read_per_s());
        let rate = Bits(round_to_u64(rate * 8.0));
        let came_to = if is_told {
            format!("{rate} arrived")
        } else if self.up {
            format!(
                "{rate} by what the peer's kernel acknowledged, which stands for the receiver's own report"
            )
        } else {
            format!("{rate} were received here, and the sender's own report is missing")
        };
        let why = cut_short(why, (seconds, self.asked), &came_to);
        finish.notes.push(why.to_string());
        finish.failed = Some(why);
        finish
    }
}

fn no_zerocopy(error: &io::Error) -> WorkError {
    WorkError::Unsupported(format!(
        "send without a copy (SO_ZEROCOPY): {error}\nhint: `--set 'net.tcp*.zerocopy=off'`"
    ))
}

impl Body for Round {
    fn batch_target(&self) -> Nanos {
        self.limit.as_ref().map_or(LOOK, |_| LOOK_AT_BYTES)
    }

    fn batch(&mut self, ops: u64, _: &mut Recorder) -> Result<u64, WorkError> {
        if !self.has_begun {
            self.has_begun = true;
            self.flows.go_and_look();
            self.talk.flows_from(monotonic());
            self.course.measured_part_begins(&self.flows);
        }
        // Before somebody waits for the words of the end.
        let is_kept = self.is_kept();
        match self.goes_on(Duration::from_millis(ops)) {
            Ok(true) => Ok(ops),
            Ok(false) => Ok(0),
            Err(why) if is_kept => {
                self.cut = Some(why);
                Ok(0)
            }
            Err(why) => Err(why),
        }
    }

    fn work(&self) -> Option<f64> {
        Some(approx(self.flows.passed()))
    }

    fn moved(&self) -> Option<Bytes> {
        let read = self.limit.as_ref().filter(|_| !self.up);
        Some(Bytes(read.map_or_else(
            || self.flows.bytes(),
            |(enough, _)| enough.taken(),
        )))
    }

    fn measured_part_begins(&mut self) {
        self.course.measured_part_begins(&self.flows);
        self.kernel.begins(monotonic());
        self.rates = self.rates.map(|_| Rates::default());
        self.measures = true;
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        // First of all: data goes on to flow.
        self.course.ends(&self.flows);
        self.kernel.ends();
        // While the connection is there.
        let route = self.route.as_ref().zip(self.flows.first());
        let of_way = route.map_or_else(Vec::new, |(route, stream)| route.notes(stream));
        let ours = figures::ours(&self.course, &self.flows, self.up);
        let is_kept = self.course.measured().0 >= KEPT_FROM;
        let (theirs, cut) = match self.talk(&ours) {
            Ok(theirs) => (Some(theirs), None),
            // Nothing of what is wrong is kept.
            Err(WorkError::Failed(why)) if is_kept => (None, Some(WorkError::Failed(why))),
            Err(why) => return Err(why),
        };
        // With what was sent until the server had heard of the end.
        let sent = self.flows.bytes();
        let all = figures::all(
            &self.course,
            &ours,
            theirs.as_ref(),
            (self.up, sent),
            self.talk.peer(),
        );
        let is_told = theirs.is_some();
        let mut finish = match (all, cut.or_else(|| self.spent())) {
            (Ok(finish), Some(why)) => self.cut_short(finish, &why, is_told),
            (Err(_), Some(why)) => return Err(why),
            (all, None) => all?,
        };
        finish.notes.extend(of_way);
        finish.notes.extend(self.flows.of_zerocopy());
        self.kernel.tell(&mut finish);
        let held = self.rates.as_ref().and_then(Rates::held);
        finish.notes.extend(held);
        Ok(finish)
    }
}
