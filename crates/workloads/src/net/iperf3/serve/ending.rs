//! How a test ends that does not end well: what the client is told, and what is said of it here.

use super::super::error_numbers::{COOKIE, EXPIRED, NO_DATA, PARAMETERS, RESULTS};
use super::super::wire_error::{Part, WireError};
use super::super::{ServerError, State};
use super::line::Line;
use super::order::Refusal;
use std::io;

/// iperf3's number where a stream cannot be made.
const NO_STREAM: i32 = 200;

/// Why it ends.
#[derive(Debug, thiserror::Error)]
pub(super) enum Ending {
    /// It is not served.
    #[error("refused: {0}")]
    Refused(#[from] Refusal),
    /// What the client said is not understood, or did not come.
    #[error("{}", first_line(.0))]
    Wire(WireError),
    /// The client closed its control connection, or is no longer there.
    #[error("the client went away")]
    Gone,
    /// Somebody interrupted the client.
    #[error("the client was interrupted")]
    ClientStops,
    /// The server has been told to end, or its time is over.
    #[error("this server ends")]
    ServerEnds,
    /// The client did not end it.
    #[error("the client did not end the test in time")]
    Expired,
    /// The client did not connect its streams.
    #[error("the client did not connect its streams in time")]
    NoStreams,
    /// The client said something else than it should.
    #[error("the client said {0:?} out of turn")]
    Odd(State),
    /// The client said something where its end was to come.
    #[error("the client spoke on in the place of its end")]
    Talks,
    /// The system refused.
    #[error("{what}: {error}")]
    System {
        /// What was to be done.
        what: &'static str,
        /// What the system said.
        error: io::Error,
    },
}

/// A line of the log is one line; hints are for the user of a client.
fn first_line(error: &WireError) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or_default().to_owned()
}

impl From<WireError> for Ending {
    fn from(error: WireError) -> Self {
        match error {
            WireError::Ended { got: 0, .. } => Self::Gone,
            WireError::Io(_, error) | WireError::Unsent(_, error) if is_gone(&error) => Self::Gone,
            other => Self::Wire(other),
        }
    }
}

fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe
    )
}

impl Ending {
    /// By a call that failed.
    pub(super) const fn system(what: &'static str, error: io::Error) -> Self {
        Self::System { what, error }
    }

    /// By what a client said where it has nothing to say.
    pub(super) fn said(state: Result<State, WireError>) -> Self {
        match state {
            Ok(State::ClientTerminate) => Self::ClientStops,
            Ok(other) => Self::Odd(other),
            Err(error) => error.into(),
        }
    }

    /// Tells the client.
    pub(super) fn tell(&self, line: &mut Line<'_>) {
        match self {
            // Who does not hear it has gone.
            Self::ServerEnds => drop(line.at_once(State::ServerTerminate)),
            Self::Gone | Self::ClientStops | Self::Odd(_) | Self::Talks => {}
            Self::Refused(refusal) => line.refuse(ServerError {
                number: refusal.number,
                errno: 0,
            }),
            Self::Expired => line.refuse(ServerError {
                number: EXPIRED,
                errno: 0,
            }),
            Self::NoStreams => line.refuse(ServerError {
                number: NO_DATA,
                errno: 0,
            }),
            Self::System { error, .. } => line.refuse(ServerError {
                number: NO_STREAM,
                errno: error.raw_os_error().unwrap_or(0),
            }),
            Self::Wire(error) => {
                if let Some(number) = number(error) {
                    line.refuse(ServerError { number, errno: 0 });
                }
            }
        }
    }
}

fn number(error: &WireError) -> Option<i32> {
    let part = match error {
        WireError::Ended { part, .. }
        | WireError::TooLong { part, .. }
        | WireError::Late(part)
        | WireError::Io(part, _)
        | WireError::Json(part, _) => part,
        WireError::UnknownState(_) | WireError::Unsent(..) => return None,
    };
    match part {
        Part::Cookie => Some(COOKIE),
        Part::Parameters => Some(PARAMETERS),
        Part::Results => Some(RESULTS),
        Part::State | Part::ServerError | Part::Proof | Part::Request | Part::Answer => None,
    }
}
