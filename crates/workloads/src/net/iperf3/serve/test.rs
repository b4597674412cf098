//! A test from the client's cookie to its last word.

use super::super::{Parameters, Results, State};
use super::Serving;
use super::desk::{Arrival, Seat};
use super::ending::Ending;
use super::flows::{Carrier, Flows};
use super::line::{LOOK, Line};
use super::order::{Limits, Order, order};
use super::report::{Tested, told};
use super::streams::{self, UdpDoor};
use model::units::Nanos;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;
use sys::clock::monotonic;
use sys::process::usage_self;

/// How long a client may take for what it has ready: its parameters, its last word.
const ANSWER: Duration = Duration::from_secs(10);

/// How long it may take for its results, which may be long.
const RESULTS: Duration = Duration::from_secs(30);

/// How much longer than agreed the server waits for the end. Source: iperf3's watchdog, 4 s for each of ten steps.
const GRACE: Duration = Duration::from_secs(40);

/// How much longer than agreed the server sends: a client's clock begins later than the server's, and its word takes
/// its way. A client that has gone without a word gets no more than that.
const SENT_LONGER: Duration = Duration::from_secs(3);

/// Who comes, and what it needs of the door.
pub(super) struct Client<'a> {
    pub(super) stream: TcpStream,
    pub(super) peer: SocketAddr,
    /// Connections that show the same cookie.
    pub(super) streams: Receiver<Arrival>,
    /// What the door knows of it.
    pub(super) seat: &'a Seat<'a>,
    /// What it may use.
    pub(super) limits: Limits,
}

/// Serves a test, and says in the journal what came of it.
pub(super) fn serve(serving: &Serving<'_>, client: Client<'_>) {
    let peer = client.peer;
    let mut line = match Line::new(client.stream, serving) {
        Ok(line) => line,
        Err(error) => return serving.journal.refusal(&format!("{peer} failed: {error}")),
    };
    let mut test = Test {
        serving,
        line: &mut line,
        peer,
        streams: client.streams,
        seat: client.seat,
        limits: client.limits,
        tested: None,
        was_asked: false,
    };
    let ended = test.run();
    let (tested, was_asked) = (test.tested.take(), test.was_asked);
    match ended {
        Ok(report) => serving.journal.line(&format!("{peer} done: {report}")),
        Err(ending) => {
            // Whatever failed then, failed because of that.
            let ending = if serving.ends() {
                Ending::ServerEnds
            } else {
                ending
            };
            ending.tell(&mut line);
            match &tested {
                Some(tested) => {
                    let so_far = told(tested, None);
                    let text = format!("{peer} ended early, {ending}: {so_far}");
                    serving.journal.line(&text);
                }
                None if was_asked => serving.journal.line(&format!("{peer} {ending}")),
                None => serving.journal.refusal(&format!("{peer} {ending}")),
            }
        }
    }
    // Before the streams are closed: a client that writes to them should hear first why it may not.
    line.leave();
    drop(tested);
}

struct Test<'a, 'b> {
    serving: &'a Serving<'a>,
    line: &'b mut Line<'a>,
    peer: SocketAddr,
    streams: Receiver<Arrival>,
    seat: &'b Seat<'b>,
    limits: Limits,
    /// What was counted, from when there is something.
    tested: Option<Tested>,
    /// Whether it came so far that somebody read what is asked.
    was_asked: bool,
}

impl Test<'_, '_> {
    fn run(&mut self) -> Result<String, Ending> {
        self.line.within(ANSWER).tell(State::ParamExchange)?;
        let asked = Parameters::read(self.line)?;
        let order = order(&asked, self.limits, self.serving.left())?;
        self.seat.lasts(order.omit + order.time);
        self.was_asked = true;
        let peer = self.peer;
        self.serving.journal.line(&format!("{peer} asks: {order}"));
        let carriers = self.connect(&order)?;
        for note in carriers
            .first()
            .map(|one| streams::tune(one, &asked, order.length))
            .into_iter()
            .flatten()
        {
            self.serving
                .journal
                .line(&format!("{peer} not as asked: {note}"));
        }
        for other in carriers.iter().skip(1) {
            streams::tune(other, &asked, order.length);
        }
        self.flow(&order, carriers, &asked)?;
        self.exchange(&asked)
    }

    /// Every stream's carrier.
    fn connect(&mut self, order: &Order) -> Result<Vec<Carrier>, Ending> {
        let found = if let Some(width) = order.udp {
            let door = UdpDoor::open(self.line.stream());
            let door = door.map_err(|error| Ending::system("open a socket of UDP", error))?;
            self.line.within(ANSWER).tell(State::CreateStreams)?;
            let sockets = door.streams(self.line, order)?;
            let carrier = |socket| Carrier::Udp(socket, width);
            sockets.into_iter().map(carrier).collect()
        } else {
            self.seat.expect(order.directions.len());
            self.line.within(ANSWER).tell(State::CreateStreams)?;
            streams::tcp(self.line, order, &self.streams)?
        };
        let bounded: io::Result<_> = found.into_iter().map(Carrier::bounded).collect();
        bounded.map_err(|error| Ending::system("set a socket", error))
    }

    /// Data, from its first byte to the client's word that it is over.
    fn flow(
        &mut self,
        order: &Order,
        carriers: Vec<Carrier>,
        asked: &Parameters,
    ) -> Result<(), Ending> {
        let payload = payload(order.length, asked.repeating_payload > 0)
            .map_err(|error| Ending::system("get random bytes", error))?;
        let limit = self.limits.bits_per_s;
        let flows = Flows::start(order, carriers, &payload, limit)
            .map_err(|error| Ending::system("start threads", error))?;
        self.line.within(ANSWER).tell(State::TestStart)?;
        self.line.tell(State::TestRunning)?;
        let used = usage_self();
        let begun = monotonic();
        flows.go(after(begun, order.omit + order.time + SENT_LONGER));
        let (counted_from, ended) = self.watch(order, &flows, begun);
        let (now, flowed) = flows.end();
        self.tested = Some(Tested {
            order: order.clone(),
            limit,
            flowed,
            nanos: now.saturating_sub(counted_from),
            all_nanos: now.saturating_sub(begun),
            used: usage_self().since(used),
        });
        ended
    }

    /// Waits for the end: since when is counted, and how it ended.
    fn watch(&mut self, order: &Order, flows: &Flows, begun: u64) -> (u64, Result<(), Ending>) {
        let mut counted_from = begun;
        let mut omitted_until = (!order.omit.is_zero()).then(|| after(begun, order.omit));
        let expires = after(begun, order.omit + order.time + GRACE);
        loop {
            let now = monotonic();
            if omitted_until.is_some_and(|until| now >= until) {
                flows.count();
                counted_from = now;
                omitted_until = None;
            }
            if self.serving.ends() {
                return (counted_from, Err(Ending::ServerEnds));
            }
            if now >= expires {
                return (counted_from, Err(Ending::Expired));
            }
            let next = omitted_until.unwrap_or(u64::MAX).saturating_sub(now);
            let look = LOOK.min(Duration::from_nanos(next));
            match self.line.is_readable_within(look) {
                // A client that closed its streams has something to say as well.
                Ok(false) => match flows.failed() {
                    Some(error) => return (counted_from, Err(Ending::system("send", error))),
                    None => continue,
                },
                Ok(true) => {}
                Err(error) => {
                    let failed = Ending::system("wait for the client", error);
                    return (counted_from, Err(failed));
                }
            }
            return match State::read(self.line.within(LOOK)) {
                Ok(State::TestEnd) => (counted_from, Ok(())),
                other => (counted_from, Err(Ending::said(other))),
            };
        }
    }

    /// Results, the client's first.
    fn exchange(&mut self, asked: &Parameters) -> Result<String, Ending> {
        self.line.within(RESULTS).tell(State::ExchangeResults)?;
        let theirs = Results::read(self.line)?;
        let tested = self.tested.as_ref().ok_or(Ending::Gone)?;
        let report = told(tested, Some(&theirs));
        let mut ours = tested.results();
        if asked.get_server_output > 0 {
            ours.server_output_text = Some(tested.text());
        }
        ours.write(self.line)?;
        self.seat.goes();
        self.line.within(ANSWER).tell(State::DisplayResults)?;
        // Its last word; who closes the connection in its place has the results all the same.
        let _ = State::read(self.line);
        Ok(report)
    }
}

fn after(instant: u64, span: Duration) -> u64 {
    instant.saturating_add(Nanos::from(span).0)
}

/// What a block holds: random bytes, which nothing on the way can make smaller, or a pattern where the client wants it.
fn payload(length: usize, repeats: bool) -> io::Result<Arc<[u8]>> {
    let mut bytes = vec![0; length];
    if repeats {
        let digits = (b'0'..=b'9').cycle();
        bytes
            .iter_mut()
            .zip(digits)
            .for_each(|(byte, digit)| *byte = digit);
    } else {
        // So many come at once.
        bytes.chunks_mut(256).try_for_each(sys::random::fill)?;
    }
    Ok(bytes.into())
}
