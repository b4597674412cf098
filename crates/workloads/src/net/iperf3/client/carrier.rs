//! What carries the flows of a direction: connections of TCP, or sockets of UDP.
//!
//! Nothing in them is told of what is omitted: an interval is what was counted at its end without what was counted at
//! its beginning.

use super::Direction;
use crate::net::tcp::flows::Flows;
use crate::net::udp;
use model::flows::Datagrams;
use std::io;
use sys::tcp::Info;

/// Flows at work, or waiting for it.
pub(super) enum Carrier {
    Tcp(Flows),
    Udp(udp::flows::Flows),
}

/// What is known of a flow at an instant, since it began.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    pub(super) bytes: u64,
    /// What the kernel knows of a connection.
    pub(super) info: Option<Info>,
    pub(super) datagrams: Option<Datagrams>,
}

impl Carrier {
    /// Lets the data flow.
    pub(super) fn go(&self) {
        match self {
            Self::Tcp(flows) => flows.go(),
            Self::Udp(flows) => flows.go(),
        }
    }

    /// Bytes of all flows so far.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::Tcp(flows) => flows.bytes(),
            Self::Udp(flows) => flows.bytes(),
        }
    }

    pub(super) fn looks(&self) -> Vec<Look> {
        match self {
            Self::Tcp(flows) => {
                let infos = flows.infos().map(Result::ok);
                let look = |(bytes, info)| Look {
                    bytes,
                    info,
                    datagrams: None,
                };
                flows.each().zip(infos).map(look).collect()
            }
            Self::Udp(flows) => {
                let look = |(bytes, datagrams)| Look {
                    bytes,
                    info: None,
                    datagrams: Some(datagrams),
                };
                flows.each().map(look).collect()
            }
        }
    }

    /// The congestion control of our side.
    pub(super) fn congestion(&self) -> Option<String> {
        match self {
            Self::Tcp(flows) => flows.congestion(),
            Self::Udp(_) => None,
        }
    }

    /// Whether a flow has ended by itself.
    pub(super) fn anybody_ended(&self) -> bool {
        match self {
            Self::Tcp(flows) => flows.anybody_ended(),
            Self::Udp(flows) => flows.anybody_ended(),
        }
    }

    /// Ends all of them; the first error that one had before.
    pub(super) fn end(&mut self) -> io::Result<()> {
        match self {
            Self::Tcp(flows) => flows.end(),
            Self::Udp(flows) => {
                let mut errors = flows.end().into_iter().filter_map(|flow| flow.error);
                errors.next().map_or(Ok(()), Err)
            }
        }
    }
}

impl Direction {
    /// Since when it was enough, where that ends the test.
    pub(super) fn reached(&self, now: u64) -> Option<u64> {
        let enough = self.enough.as_ref()?;
        match &self.flows {
            // Those who send end one after the other.
            Carrier::Tcp(flows) => enough
                .reached()
                .filter(|_| !self.sends || flows.everybody_ended()),
            // A sender rests behind its last datagram before it ends.
            Carrier::Udp(_) => (self.flows.bytes() >= enough.wanted()).then_some(now),
        }
    }

    /// Whether a flow has ended by itself, and not because it was enough.
    pub(super) fn has_failed(&self) -> bool {
        // In this order: a sender says that it was enough before it ends.
        let has_ended = self.flows.anybody_ended();
        let is_enough = self.enough.as_ref().and_then(|enough| enough.reached());
        has_ended && is_enough.is_none()
    }
}
