//! Family `net`: what passes between this machine and another one, or over its own loopback.

mod block;
pub mod deadline;
mod exchange;
pub mod iperf3;
mod local;
pub mod own;
pub mod peer;
mod route;
mod rr;
mod shaper;
mod tcp;

pub(crate) use local::{LOCAL_CONNECT, LOCAL_RR, LOCAL_TCP};
pub(crate) use rr::{CONNECT, RR};
pub(crate) use tcp::TCP;
