//! The control connection of a client: from the cookie to the results of both ends.
//!
//! Whoever asks says until when. What a server says that was not to come ends the test, with its words.

use super::error_numbers::TOTAL_RATE;
use super::wire_error::{Part, WireError};
use super::{Cookie, Parameters, Results, ServerError, State};
use crate::connect::{NotConnected, connect};
use crate::net::deadline::{Timed, is_readable_within, leave};
use crate::net::exchange::{datagrams_beside, is_time_out};
use crate::net::own::client::Session;
use crate::net::own::{Answer, Request, Token};
use crate::net::peer::Peer;
use engine::workload::WorkError;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;
use sys::limits::{MORE_FILES, is_out_of_files, with_hint};
use sys::until::Until;

/// Why a test does not go on.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// There is no connection.
    Connect(NotConnected),
    /// Another client has the server, for so long yet where it says that.
    Busy(Option<Duration>),
    /// The server refused.
    Told(ServerError),
    /// The server was interrupted.
    Terminated,
    /// Something else was to come.
    Unexpected(State),
    /// It was not understood, or nothing came.
    Wire(WireError),
    /// The server ended the connection in the middle.
    Gone,
    /// Somebody interrupted us.
    Interrupted,
    /// A server of iperf3 is there, and a token was to be proved.
    OfIperf3,
    /// It speaks neither protocol.
    Stranger,
    /// It speaks another version of ours.
    Version,
    /// The token is not the server's.
    WrongToken,
    /// The server has not the token.
    Impostor,
    /// The server is not there for so long.
    Short {
        /// How long it is.
        left_s: u32,
        /// The `--for` that it takes.
        needs_s: u32,
    },
    /// The machine there refused something.
    Failed(String),
    /// This machine refused something.
    Here(String),
    /// Something else was to be answered.
    Odd(Answer),
    /// Datagrams do not get through where connections do.
    Blocked,
}

impl From<WireError> for Trouble {
    fn from(error: WireError) -> Self {
        match error {
            WireError::Ended {
                got: 0,
                part: Part::State,
                ..
            } => Self::Gone,
            WireError::Io(Part::State, why) if why.kind() == ErrorKind::ConnectionReset => {
                Self::Gone
            }
            other => Self::Wire(other),
        }
    }
}

/// A server stays with us until it is done, so that the next test does not find it busy; no longer than this.
pub(crate) const LEAVES_WITHIN: Duration = Duration::from_secs(2);

/// A connection that is in a test.
#[derive(Debug)]
pub(crate) struct Control {
    stream: TcpStream,
    cookie: Cookie,
    at: SocketAddr,
    /// Whether nobody wants to wait any more.
    stops: fn() -> bool,
}

/// How long a look for the server's next word lasts.
const LOOK: Duration = Duration::from_millis(100);

impl Control {
    /// Connects and says who we are, by a token first where there is one; the server waits for parameters then.
    pub(crate) fn open(peer: &Peer, token: Option<&Token>, until: Until) -> Result<Self, Trouble> {
        let stream = if let Some(token) = token {
            let session = Session::open(peer, token, until)?;
            session.say(Request::Iperf3 {}, until)?;
            session.into_parts().0
        } else {
            connect(peer.host(), peer.port(), until).map_err(Trouble::Connect)?
        };
        // A round that is interrupted has its figures of the server still.
        Self::over(stream, until, || false)
    }

    /// The same over a connection that is there; `stops` ends every wait for a word of the server.
    pub(super) fn over(
        stream: TcpStream,
        until: Until,
        stops: fn() -> bool,
    ) -> Result<Self, Trouble> {
        let refused = |error| Trouble::Connect(NotConnected::Refused(error));
        stream.set_nodelay(true).map_err(refused)?;
        let at = stream.peer_addr().map_err(refused)?;
        let cookie = Cookie::new().map_err(refused)?;
        let control = Self {
            stream,
            cookie,
            at,
            stops,
        };
        cookie.write(&mut control.timed(until))?;
        control.expect(State::ParamExchange, until)?;
        Ok(control)
    }

    /// Says what is wanted; the server waits for streams then.
    pub(crate) fn agree(&self, parameters: &Parameters, until: Until) -> Result<(), Trouble> {
        parameters.write(&mut self.timed(until))?;
        self.expect(State::CreateStreams, until)
    }

    /// A connection for a stream, to where the control connection leads.
    pub(crate) fn stream(&self, until: Until) -> Result<TcpStream, Trouble> {
        let left = until.left().ok_or(NotConnected::Late);
        let left = left.map_err(Trouble::Connect)?;
        let stream = TcpStream::connect_timeout(&self.at, left);
        let stream = stream.map_err(|error| Trouble::Connect(NotConnected::Refused(error)))?;
        self.join(&stream, until)?;
        Ok(stream)
    }

    /// A socket of UDP for a stream, between the addresses that the control connection has: it hears nobody else.
    pub(crate) fn socket(&self) -> io::Result<UdpSocket> {
        datagrams_beside(&self.stream, self.at)
    }

    /// Makes a connection to [`Self::at`] a stream of this test.
    pub(super) fn join(&self, stream: &TcpStream, until: Until) -> Result<(), Trouble> {
        Ok(self.cookie.write(&mut Timed::new(stream, until))?)
    }

    /// Where the control connection leads.
    pub(super) const fn at(&self) -> SocketAddr {
        self.at
    }

    /// What all connections of this test show.
    pub(super) fn cookie(&self) -> String {
        self.cookie.text()
    }

    /// Bytes of a segment.
    pub(super) fn mss(&self) -> io::Result<u32> {
        sys::tcp::mss(self.stream.as_fd())
    }

    /// Waits until the server has all streams. Data flows from then on.
    pub(crate) fn begin(&self, until: Until) -> Result<(), Trouble> {
        self.expect(State::TestStart, until)?;
        self.expect(State::TestRunning, until)
    }

    /// Waits so long, and whether the server has said something meanwhile.
    pub(crate) fn says_within(&self, at_most: Duration) -> io::Result<bool> {
        is_readable_within(&self.stream, at_most)
    }

    /// Whether the server has said nothing yet, or that it has all streams: anything else ends the test.
    pub(crate) fn goes_on(&self) -> bool {
        let begins = [State::TestStart, State::TestRunning].map(State::byte);
        // One more: it would be the end.
        let mut next = [0; 3];
        match self.says_within(Duration::ZERO) {
            Ok(true) => self
                .stream
                .peek(&mut next)
                .is_ok_and(|got| got > 0 && begins.starts_with(&next[..got])),
            said => said.is_ok(),
        }
    }

    /// What the server says in the middle of a test, where nothing is to come.
    pub(crate) fn said(&self, until: Until) -> Trouble {
        let mut from = self.timed(until);
        match State::read(&mut from) {
            Ok(state) => self.other(state, until),
            Err(error) => error.into(),
        }
    }

    /// Says that the test is over.
    pub(crate) fn end(&self, until: Until) -> Result<(), Trouble> {
        Ok(State::TestEnd.write(&mut self.timed(until))?)
    }

    /// Says that we go in the middle of a test; who does not hear it has gone too.
    pub(super) fn terminate(self, until: Until) {
        let _ = State::ClientTerminate.write(&mut self.timed(until));
        self.leave();
    }

    /// Waits until the server has heard that, and wants results.
    pub(crate) fn ended(&self, until: Until) -> Result<(), Trouble> {
        self.expect(State::ExchangeResults, until)
    }

    /// Gives our results for the server's, with its report where that was asked for, and goes.
    pub(crate) fn exchange(
        self,
        ours: &Results,
        wants_report: bool,
        until: Until,
    ) -> Result<Results, Trouble> {
        ours.write(&mut self.timed(until))?;
        self.hear(until)?;
        let mut from = self.timed(until);
        let theirs = if wants_report {
            Results::read_with_report(&mut from)?
        } else {
            Results::read(&mut from)?
        };
        self.expect(State::DisplayResults, until)?;
        State::IperfDone.write(&mut self.timed(until))?;
        self.leave();
        Ok(theirs)
    }

    /// Goes, and waits until the server has seen that.
    pub(crate) fn leave(self) {
        leave(&self.stream, LEAVES_WITHIN);
    }

    const fn timed(&self, until: Until) -> Timed<'_> {
        Timed::new(&self.stream, until)
    }

    /// Waits for the server's next word, or until reading it takes too long.
    fn hear(&self, until: Until) -> Result<(), Trouble> {
        while !(self.stops)() {
            let look = until.left().unwrap_or_default().min(LOOK);
            if look.is_zero() || self.says_within(look).unwrap_or(true) {
                return Ok(());
            }
        }
        Err(Trouble::Interrupted)
    }

    fn expect(&self, expected: State, until: Until) -> Result<(), Trouble> {
        self.hear(until)?;
        let state = State::read(&mut self.timed(until))?;
        if state == expected {
            return Ok(());
        }
        Err(self.other(state, until))
    }

    fn other(&self, state: State, until: Until) -> Trouble {
        match state {
            State::AccessDenied => Trouble::Busy(None),
            State::ServerTerminate => Trouble::Terminated,
            State::ServerError => match ServerError::read(&mut self.timed(until)) {
                Ok(error) => Trouble::Told(error),
                Err(error) => error.into(),
            },
            other => Trouble::Unexpected(other),
        }
    }
}

impl Trouble {
    /// Whether nobody listens at this moment.
    pub(crate) fn is_refused(&self) -> bool {
        let refused = ErrorKind::ConnectionRefused;
        matches!(self, Self::Connect(NotConnected::Refused(error)) if error.kind() == refused)
    }

    /// Whether a lower rate may be served.
    pub(crate) fn is_rate(&self) -> bool {
        matches!(self, Self::Told(error) if error.number == TOTAL_RATE)
    }

    /// In words, as the failure of a round: what was done, with whom, and what helps.
    pub(crate) fn told(&self, peer: &Peer, doing: &str) -> WorkError {
        let port = peer.port();
        let said = match self {
            Self::Connect(why) => return not_connected(why, peer),
            Self::Busy(None) => "it turns us away: it is busy with another test, or it is `kurabe net serve` and \
                                 wants its token\n\
                                 hint: `KURABE_TOKEN` or `--token-file FILE` takes the token; `iperf3 -s` has one \
                                 client at a time, and before 3.15 one that vanished may hold it for minutes"
                .to_owned(),
            Self::Busy(Some(left)) => format!(
                "it is busy with another test, for {} s at most\nhint: it has one client at a time",
                left.as_secs() + 1
            ),
            Self::OfIperf3 => {
                format!(
                    "a server of iperf3 is at TCP port {port} there, which knows no token\nhint: without \
                     `KURABE_TOKEN` and `--token-file` the throughput tests work with it; the others need `kurabe net \
                     serve` there"
                )
            }
            Self::Stranger => {
                format!("what it says is not `kurabe net serve`\nhint: does that listen at TCP port {port} there?")
            }
            Self::Version => "`kurabe net serve` there is of another version\n\
                              hint: the same version at both ends"
                .to_owned(),
            Self::WrongToken => "the token is not that server's\n\
                                 hint: `kurabe net serve` prints another one each time that it is started; \
                                 `KURABE_TOKEN` or `--token-file FILE` takes it"
                .to_owned(),
            Self::Impostor => "the server has not proved that it has the token: it is another one, or somebody stands \
                               between\nhint: look which machine has that name and port"
                .to_owned(),
            Self::Short { left_s, needs_s } => format!(
                "the server there ends in {left_s} s, before this could\nhint: start it with `--for {}`, or \
                 measure less",
                generous(*needs_s)
            ),
            Self::Failed(why) => format!("the server could not: {why}"),
            Self::Here(why) => why.clone(),
            Self::Odd(answer) => format!("the server said {answer:?}, which does not belong here"),
            Self::Blocked => format!(
                "UDP is blocked: connections get there and datagrams do not\nhint: a packet filter there or on the way \
                 drops what goes to UDP port {port} there, or what comes back from it"
            ),
            Self::Told(error) if error.of_system().is_some_and(|error| is_out_of_files(&error)) => {
                format!("the server ended the test: {error}\n{MORE_FILES} there, or fewer flows")
            }
            Self::Told(error) => format!("the server ended the test: {error}"),
            Self::Terminated => {
                "the server was interrupted (SERVER_TERMINATE)\nhint: start it again".to_owned()
            }
            Self::Unexpected(state) => {
                format!("the server said {state:?}, which does not belong here")
            }
            Self::Wire(error @ WireError::Late(_)) => format!(
                "{error}\nhint: does iperf3 listen at TCP port {port} there? One before 3.15 says nothing while \
                 another client is connected and silent"
            ),
            Self::Wire(error) => error.to_string(),
            Self::Interrupted => "it was interrupted".to_owned(),
            Self::Gone => format!(
                "the server closed the control connection\nhint: its own output says why; and does iperf3 listen at \
                 TCP port {port} there?"
            ),
        };
        WorkError::Failed(format!("{doing} `{peer}`: {said}"))
    }
}

/// A time for `--for` that is long enough still when somebody has started the server again and measures then.
fn generous(seconds: u32) -> String {
    const STARTS_WITHIN_S: u32 = 300;
    let minutes = seconds.saturating_add(STARTS_WITHIN_S).div_ceil(60);
    match minutes {
        0..120 => format!("{minutes}m"),
        _ => format!("{}h", minutes.div_ceil(60)),
    }
}

fn not_connected(why: &NotConnected, peer: &Peer) -> WorkError {
    let port = peer.port();
    let silent = || {
        format!(
            "nobody answers\nhint: the host is down, or a packet filter there or on the way drops what goes to TCP \
             port {port} there, or what comes back from it"
        )
    };
    let said = match why {
        NotConnected::Name(why) => why.to_string(),
        NotConnected::Late => silent(),
        NotConnected::Refused(error) if is_time_out(error) => silent(),
        NotConnected::Refused(error) if error.kind() == ErrorKind::ConnectionRefused => {
            let at = |word: &str| match port {
                super::PORT => String::new(),
                port => format!(" {word} {port}"),
            };
            let [ours, theirs] = ["--port", "-p"].map(at);
            format!(
                "{error}\nhint: nobody listens at TCP port {port} there; there `kurabe net serve --bind \
                 0.0.0.0{ours}`, whose token `KURABE_TOKEN` takes here, or `iperf3 -s{theirs}` starts a server"
            )
        }
        NotConnected::Refused(error) if is_out_of_files(error) => with_hint(error),
        NotConnected::Refused(error) => format!(
            "{error}\nhint: is a link down, or is there no way to it? `ip route get ADDRESS` shows the way"
        ),
    };
    WorkError::Failed(format!("connect to `{peer}`: {said}"))
}
