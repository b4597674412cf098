//! Family `net`: what passes between this machine and another one, or over its own loopback.

mod block;
#[cfg(test)]
mod bound_tests;
pub mod deadline;
#[cfg(test)]
mod ended_tests;
mod exchange;
mod figures;
pub mod iperf3;
mod kernel;
mod local;
pub mod own;
pub mod peer;
pub mod rate;
pub mod route;
mod rr;
mod shaper;
mod talk;
mod tcp;
pub mod udp;
mod wake;

pub(crate) use local::{LOCAL_CONNECT, LOCAL_RR, LOCAL_TCP};
pub(crate) use rr::{CONNECT, RR};
pub(crate) use tcp::TCP;
pub(crate) use udp::{UDP, UDP_MAX};
