//! A Redis or Valkey server, over RESP2: requests about keys, one or several in a write.
//!
//! Messages are read and written here, without a client library: what is sent is known before, and of what comes
//! every byte is looked at where it lies. Keys are ours by a marker ([`server`]); nothing is listed or flushed.

mod client;
mod clients;
mod error;
mod facts;
#[cfg(any(test, fuzzing))]
pub(super) mod fuzzing;
mod keys;
mod lock;
mod resp;
mod room;
mod server;
mod spec;
mod watch;
mod wire;
mod workload;

pub(super) use room::Needs;
pub(super) use server::{clean, settings};
pub(super) use watch::Guard;
pub(crate) use workload::KV;
