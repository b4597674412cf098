//! A test from the client's cookie to its last word.

use super::super::{Parameters, Results, State};
use super::Serving;
use super::active::{Arrival, Claim};
use super::ending::Ending;
use super::flows::{Carrier, Flows};
use super::line::{LOOK, Line};
use super::order::{Order, order};
use super::report::{Tested, told};
use super::streams::{self, UdpListener};
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

/// The control connection of a test, and what belongs to it.
pub(super) struct Control<'a> {
    pub(super) stream: TcpStream,
    pub(super) peer: SocketAddr,
    /// Connections that show the same cookie.
    pub(super) streams: Receiver<Arrival>,
    /// That it is the one who is served.
    pub(super) claim: &'a Claim<'a>,
}

/// Serves a test, and logs what came of it.
pub(super) fn serve(serving: &Serving<'_>, control: Control<'_>) {
    let peer = control.peer;
    let mut line = match Line::new(control.stream, serving) {
        Ok(line) => line,
        Err(error) => return serving.log.refusal(&format!("{peer} failed: {error}")),
    };
    let mut test = Test {
        serving,
        line: &mut line,
        peer,
        streams: control.streams,
        claim: control.claim,
        tested: None,
        was_asked: false,
    };
    let ended = test.run();
    let (tested, was_asked) = (test.tested.take(), test.was_asked);
    match ended {
        Ok(report) => serving.log.line(&format!("{peer} done: {report}")),
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
                    serving.log.line(&text);
                }
                None if was_asked => serving.log.line(&format!("{peer} {ending}")),
                None => serving.log.refusal(&format!("{peer} {ending}")),
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
    claim: &'b Claim<'b>,
    /// What was counted, from when there is something.
    tested: Option<Tested>,
    /// Whether it came so far that somebody read what is asked.
    was_asked: bool,
}

impl Test<'_, '_> {
    fn run(&mut self) -> Result<String, Ending> {
        self.line.within(ANSWER).tell(State::ParamExchange)?;
        let asked = Parameters::read(self.line)?;
        let order = order(&asked, self.serving.left())?;
        self.claim.lasts(order.omit + order.time);
        self.was_asked = true;
        let peer = self.peer;
        self.serving.log.line(&format!("{peer} asks: {order}"));
        let carriers = self.connect(&order)?;
        for (place, carrier) in carriers.iter().enumerate() {
            let notes = streams::tune(carrier, &asked, order.length);
            // The same of all of them.
            for note in notes.iter().filter(|_| place == 0) {
                let text = format!("{peer} not as asked: {note}");
                self.serving.log.line(&text);
            }
        }
        self.flow(&order, carriers)?;
        self.exchange()
    }

    /// Every stream's carrier.
    fn connect(&mut self, order: &Order) -> Result<Vec<Carrier>, Ending> {
        let found = if let Some(width) = order.udp {
            let listener = UdpListener::open(self.line.stream());
            let listener =
                listener.map_err(|error| Ending::system("open a socket of UDP", error))?;
            self.line.within(ANSWER).tell(State::CreateStreams)?;
            let sockets = listener.streams(self.line, order)?;
            let carrier = |socket| Carrier::Udp(socket, width);
            sockets.into_iter().map(carrier).collect()
        } else {
            self.claim.expect(order.streams);
            self.line.within(ANSWER).tell(State::CreateStreams)?;
            streams::tcp(self.line, order, &self.streams)?
        };
        let bounded: io::Result<_> = found.into_iter().map(Carrier::bounded).collect();
        bounded.map_err(|error| Ending::system("set a socket", error))
    }

    /// Data, from its first byte to the client's word that it is over.
    fn flow(&mut self, order: &Order, carriers: Vec<Carrier>) -> Result<(), Ending> {
        let payload =
            payload(order.length).map_err(|error| Ending::system("get random bytes", error))?;
        let flows = Flows::start(order, carriers, &payload)
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
    fn exchange(&mut self) -> Result<String, Ending> {
        self.line.within(RESULTS).tell(State::ExchangeResults)?;
        let theirs = Results::read(self.line)?;
        let tested = self.tested.as_ref().ok_or(Ending::Gone)?;
        let report = told(tested, Some(&theirs));
        tested.results().write(self.line)?;
        self.line.within(ANSWER).tell(State::DisplayResults)?;
        // Its last word; who closes the connection in its place has the results all the same.
        let _ = State::read(self.line);
        Ok(report)
    }
}

fn after(instant: u64, span: Duration) -> u64 {
    instant.saturating_add(Nanos::from(span).0)
}

/// What a block holds: random bytes, which nothing on the way can make smaller.
fn payload(length: usize) -> io::Result<Arc<[u8]>> {
    let mut bytes = vec![0; length];
    // So many come at once.
    bytes.chunks_mut(256).try_for_each(sys::random::fill)?;
    Ok(bytes.into())
}
