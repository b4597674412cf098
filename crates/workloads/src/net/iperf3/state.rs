//! Where a test is: one signed byte on the control connection, in either direction.

use super::wire_error::{Part, WireError, fill};
use std::io::{Read, Write};

/// What is on the wire; 3, 5 to 8 and 15 never are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i8)]
pub enum State {
    /// The server makes its timers and buffers.
    TestStart = 1,
    /// Data flows from now on.
    TestRunning = 2,
    /// The client says that it is over, whoever sends.
    TestEnd = 4,
    /// The server waits for parameters.
    ParamExchange = 9,
    /// The server waits for the connections of streams.
    CreateStreams = 10,
    /// The server was interrupted.
    ServerTerminate = 11,
    /// The client was interrupted.
    ClientTerminate = 12,
    /// The server waits for results, and sends its own then.
    ExchangeResults = 13,
    /// The server has both.
    DisplayResults = 14,
    /// The client goes.
    IperfDone = 16,
    /// The server has another test, or another cookie.
    AccessDenied = -1,
    /// Two numbers follow.
    ServerError = -2,
}

impl State {
    /// Every one.
    pub const ALL: [Self; 12] = [
        Self::TestStart,
        Self::TestRunning,
        Self::TestEnd,
        Self::ParamExchange,
        Self::CreateStreams,
        Self::ServerTerminate,
        Self::ClientTerminate,
        Self::ExchangeResults,
        Self::DisplayResults,
        Self::IperfDone,
        Self::AccessDenied,
        Self::ServerError,
    ];

    /// By its byte.
    pub fn of(byte: u8) -> Result<Self, WireError> {
        let value = byte.cast_signed();
        let mut all = Self::ALL.into_iter();
        all.find(|state| *state as i8 == value)
            .ok_or(WireError::UnknownState(value))
    }

    /// Its byte.
    pub const fn byte(self) -> u8 {
        (self as i8).cast_unsigned()
    }

    /// Reads one.
    pub fn read(from: &mut impl Read) -> Result<Self, WireError> {
        let mut byte = [0];
        fill(from, &mut byte, Part::State)?;
        Self::of(byte[0])
    }

    /// Writes it.
    pub fn write(self, to: &mut impl Write) -> Result<(), WireError> {
        to.write_all(&[self.byte()])
            .map_err(|error| WireError::Unsent(Part::State, error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_the_state_of_its_value_or_none() {
        for byte in 0..=u8::MAX {
            match State::of(byte) {
                Ok(state) => assert_eq!(state.byte(), byte),
                Err(why) => {
                    let value = byte.cast_signed();
                    let known = [1, 2, 4, 9, 10, 11, 12, 13, 14, 16, -1, -2];
                    assert!(!known.contains(&value), "{value}");
                    let said = format!("`{value}` is no state");
                    assert!(why.to_string().contains(&said), "{why}");
                }
            }
        }
        assert_eq!(State::of(0xff).unwrap(), State::AccessDenied);
        let ended = State::read(&mut [].as_slice()).unwrap_err();
        assert!(matches!(ended, WireError::Ended { got: 0, of: 1, .. }));
    }
}
