//! The kernel, seen from here: the only crate with `unsafe` and `libc`.
//!
//! Everything it returns is plain data; it interprets nothing. Readers of /proc and /sys take a [`tree::Tree`], a
//! root prefix, so that tests can feed them.

pub mod affinity;
pub mod alloc;
pub mod block;
pub mod c_library;
pub mod clock;
pub mod counters;
pub mod datagrams;
mod dirents;
pub mod features;
pub mod folder;
pub mod io;
pub mod limits;
pub mod link;
pub mod lock;
pub mod loops;
pub mod memory;
pub mod mounts;
pub mod name;
pub mod names;
pub mod owned;
pub mod peer;
pub mod priority;
pub mod probe;
pub mod process;
pub mod random;
pub mod ready;
pub mod room;
pub mod signal;
pub mod socket;
pub mod sqlite;
pub mod stream;
pub mod tcp;
pub mod trace;
pub mod tree;
pub mod tuning;
pub mod until;
pub mod user;
pub mod zerocopy;
