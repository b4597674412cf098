//! What `kurabe net serve` speaks with those who have its token.
//!
//! A connection begins with a [`Hello`] of 37 bytes that no version of iperf3 sends. On one for control the server
//! answers with a number that it never used before; the client proves by HMAC-SHA256 over both sides' numbers that it
//! has the token, and then the server does ([`proof`]). The token itself never crosses the wire, what was heard once
//! proves nothing the next time, and a server that has it not is found out. Nothing else is encrypted or signed:
//! whoever sits between both machines, or is taken for the server, may let the proof pass and say the rest himself.
//!
//! Then there is one [`Request`] and its [`Answer`], as JSON behind its length. Further connections of the same session
//! show a hello with a number of their own, which is taken once, and a tag by a key that only these two can know; so
//! does its first datagram.

pub(crate) mod client;
pub(crate) mod clock;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
pub(crate) mod hello;
pub(crate) mod proof;
pub mod token;
pub mod words;

pub(crate) use hello::Hello;
pub(crate) use proof::{Challenge, SessionKey};
pub use token::{BadToken, Token};
pub use words::Machine;
pub(crate) use words::{Answer, Messages, Protocol, Request};
