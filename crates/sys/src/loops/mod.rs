//! Measured inner loops: free functions with primitive arguments, no allocation, no lock.

mod align;
pub mod around;
pub mod bandwidth;
pub mod blocks;
pub mod chase;
pub mod chunks;
pub mod context;
pub mod copy;
#[cfg(test)]
mod count;
pub mod dhrystone;
pub mod failure;
pub mod file_server;
pub mod helper;
pub mod launch;
pub mod locks;
pub mod matmul;
pub mod memcpy;
pub mod names;
mod opaque;
pub mod pipe;
pub mod prime;
pub mod round_trip;
pub mod sort;
pub mod syscall;
pub mod team;
mod transfer;
pub mod whetstone;

pub use align::CLONES;
