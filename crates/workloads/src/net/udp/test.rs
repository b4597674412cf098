//! A test of iperf3's protocol by UDP, from its first word to what it came to.

use super::figures::{self, Outcome};
use super::flows::{Flowed, Flows};
use super::greet::sockets;
use crate::net::figures::{KEPT_FROM, Moment, cut_short};
use crate::net::iperf3::Parameters;
use crate::net::iperf3::datagram::Width;
use crate::net::iperf3::words::{Bits, Bytes};
use crate::net::peer::{Other, SAYS_WITHIN, spent};
use crate::net::talk::{Refused, Talk, Way, asked};
use crate::net::tcp::flows::{How, Rate};
use crate::net::tcp::is_up;
use engine::workload::{Place, WorkError};
use model::num::{approx, round_to_u64};
use model::params::Params;
use model::units::{Bytes as ByteCount, Nanos};
use std::io::{self, ErrorKind};
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::time::Duration;
use sys::clock::monotonic;
use sys::link::of_address;
use sys::until::Until;

/// Counts have 64 bits, which every version can have.
const WIDTH: Width = Width::Bits64;

/// What is to flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order {
    pub(super) up: bool,
    /// Bytes of a datagram.
    pub(super) size: usize,
    /// Of each flow.
    pub(super) bits_per_s: u64,
    /// Whether datagrams go and come in trains.
    pub(super) offload: bool,
}

impl Order {
    /// Bytes per second that so many flows are asked for.
    pub(super) fn bytes_per_s(&self, flows: u32) -> f64 {
        approx(self.bits_per_s) / 8.0 * f64::from(flows)
    }

    /// Of these parameters, at this rate.
    pub(super) fn of(params: &Params, bits_per_s: u64) -> Self {
        Self {
            up: is_up(params),
            size: usize::try_from(params.size("size").0).unwrap_or(usize::MAX),
            bits_per_s,
            offload: params.text("offload") == "on",
        }
    }
}

/// A test at work.
#[derive(Debug)]
pub(super) struct Test {
    talk: Talk,
    order: Order,
    /// Whether the server leaves out a beginning.
    omits: bool,
    flows: Flows,
    /// Before the first word to the server, and when the part began that counts.
    started: Moment,
    began: Moment,
    has_begun: bool,
    /// That part is under way, which is to last so long.
    measures: bool,
    asked: Nanos,
    /// Bytes that may be moved.
    left: Option<ByteCount>,
    /// When the flows ended, and what they had done.
    over: Option<(Moment, Vec<Flowed>)>,
}

impl Test {
    /// Agrees with the server on a test.
    pub(super) fn agree(other: Other, order: Order, place: &Place) -> Result<Talk, Refused> {
        let asked = Parameters {
            udp: true,
            bandwidth: i64::try_from(order.bits_per_s).unwrap_or(i64::MAX),
            udp_counters_64bit: 1,
            dont_fragment: 1,
            gso: order.offload.into(),
            gro: order.offload.into(),
            ..asked(place, order.size as u64, order.up)
        };
        let way = Way {
            up: order.up,
            by: "UDP",
        };
        Talk::begin(other, way, &asked)
    }

    /// Has all streams; data flows from [`Self::look`] on.
    pub(super) fn begin(
        started: Moment,
        talk: Talk,
        order: Order,
        place: &Place,
    ) -> Result<Self, WorkError> {
        let sockets = sockets(&talk, place.copies)?;
        if order.offload {
            for socket in &sockets {
                in_trains(socket, order).map_err(|error| no_trains(&talk, &error))?;
            }
        }
        let how = How {
            up: order.up,
            size: order.size,
            rate: Some(Rate {
                bits_per_s: order.bits_per_s,
                burst: 1,
            }),
            ..How::default()
        };
        let flows = Flows::start(sockets, &how, WIDTH, place.seed)?;
        // A server that sends begins with its word, and a socket's buffer is full in a moment.
        if !order.up {
            flows.go();
        }
        talk.has_streams(Until::after(SAYS_WITHIN))?;
        Ok(Self {
            talk,
            order,
            omits: place.warmup.0 > 0,
            flows,
            started,
            began: started,
            has_begun: false,
            measures: place.warmup == Nanos::ZERO,
            asked: place.measure,
            left: place.bytes_left,
            over: None,
        })
    }

    /// Waits so long, and looks whether data flows.
    pub(super) fn look(&mut self, at_most: Duration) -> Result<(), WorkError> {
        if !self.has_begun {
            self.has_begun = true;
            self.talk.flows_from(monotonic());
            self.began = Moment::now();
            if self.order.up {
                self.flows.go();
            } else {
                self.flows.forget();
            }
        }
        self.talk.wait(at_most)?;
        if let Some(left) = self.left.filter(|left| self.flows.bytes() >= left.0) {
            return Err(spent(left.0));
        }
        if self.flows.anybody_ended() {
            return Err(self.ended());
        }
        self.talk.look(self.flows.bytes(), monotonic())
    }

    /// What counts begins now.
    pub(super) fn measured_part_begins(&mut self) {
        self.began = Moment::now();
        self.flows.forget();
        self.measures = true;
    }

    /// Whether what was measured so far is worth something by itself.
    pub(super) fn is_kept(&self) -> bool {
        self.measures && Moment::now().since(self.began).0 >= KEPT_FROM
    }

    /// Bytes that were sent or received here so far.
    pub(super) fn bytes(&self) -> u64 {
        self.flows.bytes()
    }

    /// Why a flow ended by itself.
    #[cold]
    fn ended(&mut self) -> WorkError {
        let over = self.over();
        let why = self.why(&over.1);
        self.over = Some(over);
        why
    }

    /// Ends the flows, where they have not been ended.
    fn over(&mut self) -> (Moment, Vec<Flowed>) {
        self.over.take().unwrap_or_else(|| {
            self.flows.stop();
            (Moment::now(), self.flows.end())
        })
    }

    fn why(&self, flowed: &[Flowed]) -> WorkError {
        let error = flowed.iter().find_map(|flow| flow.error.as_ref());
        self.talk.ended(|| match error {
            Some(error) => self.lost(error),
            None => self.talk.failed("a thread ended by itself"),
        })
    }

    fn lost(&self, error: &io::Error) -> WorkError {
        /// The card computes no sums, or packets are encrypted: udp(7), `UDP_SEGMENT`.
        const EIO: i32 = 5;
        let port = self.talk.peer().port();
        if sys::datagrams::is_too_long(error) {
            return self.too_long(error);
        }
        if self.order.offload && error.raw_os_error() == Some(EIO) {
            return no_trains(&self.talk, error);
        }
        let hint = match error.kind() {
            ErrorKind::PermissionDenied => {
                format!(
                    "a packet filter of this machine refuses what goes to UDP port {port} there"
                )
            }
            ErrorKind::ConnectionRefused => format!(
                "nobody has UDP port {port} there any more, or a packet filter there refuses it now"
            ),
            _ => return self.talk.lost(error),
        };
        self.talk.failed(&format!("{error}\nhint: {hint}"))
    }

    fn too_long(&self, error: &io::Error) -> WorkError {
        let size = self.order.size;
        let longest = self.flows.first().and_then(|socket| {
            let is_ipv6 = socket.local_addr().ok()?.is_ipv6();
            sys::datagrams::longest(socket.as_fd(), is_ipv6).ok()
        });
        let hint = match longest {
            Some(longest) => {
                format!("the way takes {longest} bytes: `--set 'net.udp*.size={longest}'`")
            }
            None => "a smaller one: `--set 'net.udp*.size=1200'`".to_owned(),
        };
        let what = format!("datagrams of {size} bytes are too long for the way ({error})");
        self.talk.failed(&format!("{what}\nhint: {hint}"))
    }

    /// Ends the test: what it came to. Where it was `cut` by then, or the server goes without its results, that is what
    /// was received here, and why.
    pub(super) fn end(
        mut self,
        cut: Option<WorkError>,
    ) -> Result<(Outcome, Option<WorkError>), WorkError> {
        if cut.is_none() && self.flows.anybody_ended() {
            return Err(self.ended());
        }
        let (ended, flowed) = self.over();
        if cut.is_none() && flowed.iter().any(|flow| flow.error.is_some()) {
            return Err(self.why(&flowed));
        }
        let of_trains = self.of_trains(&flowed);
        let span = figures::Span {
            started: self.started,
            began: self.began,
            ended,
            omits: self.omits,
        };
        let ours = figures::ours(&span, &flowed, self.order.up);
        let theirs = cut.map_or_else(|| self.talk.end(&ours, || {}), Err);
        let (theirs, cut) = match theirs {
            Ok(theirs) => (Some(theirs), None),
            // Nothing of what is wrong is kept.
            Err(WorkError::Failed(why)) => (None, Some(WorkError::Failed(why))),
            Err(wrong) => return Err(wrong),
        };
        let (seconds, _) = ended.since(self.began);
        let Some(why) = cut else {
            let peer = self.talk.peer();
            let outcome = figures::outcome(&span, &flowed, theirs, &self.order, peer)?;
            let outcome = Outcome {
                of_trains,
                ..outcome
            };
            return Ok((outcome, None));
        };
        if seconds < KEPT_FROM {
            return Err(why);
        }
        let cut = |came_to: &str| cut_short(&why, (seconds, self.asked), came_to);
        if self.order.up {
            let sent = flowed.iter().map(|flow| flow.tally.bytes).sum();
            return Err(cut(&format!(
                "{} were sent, and nothing says how much of that arrived",
                Bytes(sent)
            )));
        }
        let Ok(outcome) = figures::outcome(&span, &flowed, None, &self.order, self.talk.peer())
        else {
            return Err(why);
        };
        let cut = cut(&format!(
            "{} were received here, and the sender's own report is missing",
            Bits(round_to_u64(outcome.rate * 8.0))
        ));
        Ok((outcome, Some(cut)))
    }

    /// What is to be said of trains.
    fn of_trains(&self, flowed: &[Flowed]) -> Option<String> {
        let socket = self.flows.first().filter(|_| self.order.offload)?;
        if flowed.iter().all(|flow| flow.trains == 0) {
            let none = "`offload`: nothing went in a train: no two datagrams were due at once, or the peer makes none";
            return Some(none.to_owned());
        }
        let link = of_address(socket.local_addr().ok()?.ip()).ok()??;
        let is_within = link.name == "lo" || link.driver.as_deref() == Some("veth");
        is_within.then(|| {
            format!(
                "`offload` over `{}`, a link within a machine: it cuts no train, and datagrams are counted that were \
                 never packets",
                link.name
            )
        })
    }
}

/// Asks the kernel for it: a probe that costs nothing.
fn in_trains(socket: &UdpSocket, order: Order) -> io::Result<()> {
    if order.up {
        let is_ipv6 = socket.local_addr()?.is_ipv6();
        sys::datagrams::cut(socket.as_fd(), order.size, is_ipv6)
    } else {
        sys::datagrams::join(socket.as_fd())
    }
}

fn no_trains(talk: &Talk, error: &io::Error) -> WorkError {
    WorkError::Unsupported(format!(
        "segmentation offload on the way to `{}`: {error}\nhint: `--set 'net.udp*.offload=off'`",
        talk.peer()
    ))
}

impl std::fmt::Display for Order {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (size, rate) = (self.size, Bits(self.bits_per_s));
        write!(f, "datagrams of {size} bytes at {rate} a flow")
    }
}
