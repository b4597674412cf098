//! Why the other end was not understood.

use std::fmt;
use std::io::{self, ErrorKind, Read};

/// What was to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// 37 bytes.
    Cookie,
    /// One byte.
    State,
    /// JSON of the client.
    Parameters,
    /// JSON of either end.
    Results,
    /// Two numbers behind `SERVER_ERROR`.
    ServerError,
    /// What both ends of our own protocol prove.
    Proof,
    /// What a client of ours wants.
    Request,
    /// What our server says.
    Answer,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cookie => "cookie",
            Self::State => "state",
            Self::Parameters => "parameters",
            Self::Results => "results",
            Self::ServerError => "error number",
            Self::Proof => "proof",
            Self::Request => "request",
            Self::Answer => "answer",
        })
    }
}

/// Why a part of the protocol could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// The other end closed its half of the connection.
    #[error(
        "the other end closed the connection in place of its {part} ({got} of {of} bytes came)"
    )]
    Ended {
        /// What was to come.
        part: Part,
        /// Bytes that came.
        got: usize,
        /// Bytes that were to come.
        of: usize,
    },
    /// Not within the deadline.
    #[error("no {0} came in time")]
    Late(Part),
    /// The system refused.
    #[error("read its {0}: {1}")]
    Io(Part, io::Error),
    /// What we say does not get there.
    #[error("send the {0}: {1}")]
    Unsent(Part, io::Error),
    /// A state that there is not.
    #[error("`{0}` is no state of iperf3's protocol\nhint: does iperf3 listen at that port?")]
    UnknownState(i8),
    /// More than anybody needs.
    #[error(
        "{length} bytes of {part} are announced, and {max} are the most\nhint: does iperf3 listen at that port?"
    )]
    TooLong {
        /// Of what.
        part: Part,
        /// As it was said.
        length: u32,
        /// As it may be.
        max: u32,
    },
    /// No JSON, or of other types.
    #[error("its {0} cannot be read: {1}")]
    Json(Part, String),
}

impl WireError {
    /// By what a read said.
    pub(super) fn io(part: Part, error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::TimedOut | ErrorKind::WouldBlock => Self::Late(part),
            _ => Self::Io(part, error),
        }
    }

    /// By what a reader of JSON said, which may quote what came.
    pub(super) fn json(part: Part, error: &serde_json::Error) -> Self {
        let said: String = error.to_string().chars().take(SAID_MAX).collect();
        let printable = |c: char| if c.is_control() { ' ' } else { c };
        Self::Json(part, said.chars().map(printable).collect())
    }
}

/// As much as one line needs to say what is wrong.
const SAID_MAX: usize = 160;

/// Fills `bytes`.
pub(in crate::net) fn fill(
    from: &mut impl Read,
    bytes: &mut [u8],
    part: Part,
) -> Result<(), WireError> {
    let mut got = 0;
    while got < bytes.len() {
        match from.read(&mut bytes[got..]) {
            Ok(0) => {
                let of = bytes.len();
                return Err(WireError::Ended { part, got, of });
            }
            Ok(more) => got += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(WireError::io(part, error)),
        }
    }
    Ok(())
}
