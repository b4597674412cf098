//! Family `selftest`: workloads whose result is known beforehand, to test the harness itself.

mod fault;
mod ground;
mod null;
mod replay;
mod sleep;

pub(crate) use fault::FAULT;
pub(crate) use ground::GROUND;
pub(crate) use null::NULL;
pub(crate) use replay::REPLAY;
pub(crate) use sleep::SLEEP;
