//! Block devices before anything is written to them: which device a path means, who uses it, and what it holds.
//!
//! Only facts. Whether they allow to erase a device is decided in `engine::erase`, which refuses where any of these
//! facts cannot be found out.

mod below;
pub mod device;
pub mod elsewhere;
pub mod family;
mod identity;
mod loops;
mod nodes;
pub mod signature;
pub mod uses;
mod writers;
