//! Family `net`: what passes between this machine and another one, or over its own loopback.

mod exchange;
mod local;

pub(crate) use local::{LOCAL_CONNECT, LOCAL_RR, LOCAL_TCP};
