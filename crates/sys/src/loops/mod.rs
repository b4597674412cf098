//! Measured inner loops: free functions with primitive arguments, no allocation, no lock.

pub mod context;
pub mod copy;
#[cfg(test)]
mod count;
pub mod dhrystone;
pub mod failure;
pub mod helper;
pub mod launch;
mod opaque;
pub mod pipe;
pub mod syscall;
mod transfer;
pub mod whetstone;
