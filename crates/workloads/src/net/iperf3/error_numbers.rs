//! Why a server ended a test: two numbers behind [`super::State::ServerError`], iperf3's own and the system's.

use super::wire_error::{Part, WireError, fill};
use std::fmt;
use std::io::{self, Read, Write};

/// What follows the state: two 32-bit integers, the highest byte first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerError {
    /// iperf3's number.
    pub number: i32,
    /// The system's, of the other machine; 0 for none.
    pub errno: i32,
}

/// Test durations.
pub const DURATION: i32 = 5;
/// Numbers of streams.
pub const STREAMS: i32 = 6;
/// Sizes of blocks.
pub const BLOCK_SIZE: i32 = 7;
/// Rates above the server's own limit.
pub const TOTAL_RATE: i32 = 27;
/// Durations above the server's own limit.
pub const DURATION_MAX: i32 = 37;
/// Cookies.
pub const COOKIE: i32 = 106;
/// Parameters.
pub const PARAMETERS: i32 = 114;
/// Results.
pub const RESULTS: i32 = 117;
/// A client that was interrupted.
pub const CLIENT_TERMINATED: i32 = 119;
/// A server that was interrupted.
pub const SERVER_TERMINATED: i32 = 120;
/// Another test.
pub const BUSY: i32 = 121;
/// Users.
pub const NOT_AUTHORISED: i32 = 142;
/// Streams without data.
pub const NO_DATA: i32 = 144;
/// The server's own clock.
pub const EXPIRED: i32 = 160;

/// What they mean, in words of ours.
const WORDS: [(i32, &str); 14] = [
    (DURATION, "it does not take a test of this duration"),
    (STREAMS, "it does not take so many streams"),
    (BLOCK_SIZE, "it does not take blocks of this size"),
    (
        TOTAL_RATE,
        "the rate of all streams is above its limit (`--server-bitrate-limit` of iperf3)",
    ),
    (
        DURATION_MAX,
        "the test is longer than it allows (`--for` of `kurabe net serve`, `--server-max-duration` of iperf3)",
    ),
    (COOKIE, "it did not get the cookie"),
    (PARAMETERS, "it did not get or understand the parameters"),
    (RESULTS, "it did not get or understand the results"),
    (CLIENT_TERMINATED, "the client was interrupted"),
    (SERVER_TERMINATED, "the server was interrupted"),
    (BUSY, "it is busy with another test"),
    (
        NOT_AUTHORISED,
        "it wants a user and a password, which kurabe does not send",
    ),
    (NO_DATA, "no data came for too long"),
    (EXPIRED, "the test did not end when it should have"),
];

impl ServerError {
    /// Reads what follows the state.
    pub fn read(from: &mut impl Read) -> Result<Self, WireError> {
        let mut next = || {
            let mut bytes = [0; 4];
            fill(from, &mut bytes, Part::ServerError)?;
            Ok(i32::from_be_bytes(bytes))
        };
        Ok(Self {
            number: next()?,
            errno: next()?,
        })
    }

    /// What the system said there.
    pub fn of_system(&self) -> Option<io::Error> {
        (self.errno != 0).then(|| io::Error::from_raw_os_error(self.errno))
    }

    /// Writes what follows the state.
    pub fn write(&self, to: &mut impl Write) -> Result<(), WireError> {
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&self.number.to_be_bytes());
        bytes[4..].copy_from_slice(&self.errno.to_be_bytes());
        to.write_all(&bytes)
            .map_err(|error| WireError::Unsent(Part::ServerError, error))
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = WORDS.iter().find(|(number, _)| *number == self.number);
        let words = known.map_or(
            match self.number {
                100..=199 => "its test failed",
                200..=299 => "one of its streams failed",
                _ => "it refused",
            },
            |(_, words)| *words,
        );
        write!(f, "{words} (iperf3's error {})", self.number)?;
        if let Some(error) = self.of_system() {
            write!(f, ": {error}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_told_in_words_and_come_back_as_they_were() {
        let check = |number, errno, says: &[&str]| {
            let error = ServerError { number, errno };
            let mut bytes = Vec::new();
            error.write(&mut bytes).unwrap();
            assert_eq!(ServerError::read(&mut bytes.as_slice()).unwrap(), error);
            for needle in says {
                assert!(error.to_string().contains(needle), "{error}");
            }
        };
        check(37, 0, &["longer than it allows", "(iperf3's error 37)"]);
        check(114, 104, &["parameters", "reset by peer"]);
        check(150, 0, &["its test failed", "150"]);
        check(203, 0, &["one of its streams failed"]);
        check(-7, 0, &["it refused (iperf3's error -7)"]);
        assert!(ServerError::read(&mut [0; 7].as_slice()).is_err());
    }
}
