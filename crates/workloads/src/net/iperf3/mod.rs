//! The protocol that iperf3 speaks, for both ends: versions 3.1 to 3.21, written from what can be seen of it.
//!
//! One TCP connection is for control: a [`Cookie`] first, then [`State`]s of one byte, and [`frame`]s of JSON between
//! them. Every stream has a connection, or a UDP socket, of its own to the same port. What comes from the other end is
//! measured before it is kept, and waited for no longer than the deadline of whoever reads ([`super::deadline`]).

pub mod client;
pub(crate) mod control;
pub mod cookie;
pub mod datagram;
pub(crate) mod datagrams;
pub mod error_numbers;
pub mod frame;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod number;
pub(crate) mod pace;
pub mod parameters;
pub mod results;
pub mod serve;
pub mod state;
pub(crate) mod tally;
pub mod wire_error;
pub(crate) mod words;

pub use cookie::Cookie;
pub use datagram::Datagram;
pub use error_numbers::ServerError;
pub use parameters::Parameters;
pub use results::{Results, StreamResults};
pub use state::State;
pub use wire_error::WireError;

/// Where servers listen, by TCP and by UDP.
pub const PORT: u16 = 5201;

/// The id of a stream by its place among all, from 0: 1, 3, 4, 5... There is no 2, and other versions count on that.
pub fn stream_id(place: u32) -> i64 {
    if place == 0 { 1 } else { i64::from(place) + 2 }
}

#[cfg(test)]
mod exchanges;
