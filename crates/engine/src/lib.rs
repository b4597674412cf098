//! Turns a plan into a run.
//!
//! [`resolve::resolve`] makes a plan of what the user asked for; [`run::execute`] executes it in passes of shuffled
//! rounds. Every round runs in fresh worker processes ([`worker::run`]), started through a gate, watched with a
//! deadline, cleaned up afterwards.
//!
//! Architecture invariants: engine names no workload; it knows them only through [`workload::Workload`]. It prints
//! nothing and never exits the process. Nothing in it drops or corrects a round.

pub mod alone;
pub mod budget;
mod combine;
pub mod consent;
mod counter;
pub mod erase;
pub mod ground;
pub mod host;
pub mod look;
mod measure;
mod noise;
pub mod profile;
pub mod recorder;
pub mod resolve;
mod round;
pub mod run;
mod schedule;
pub mod secret;
pub mod set_up;
pub mod soak;
pub mod strangers;
pub mod tick;
mod wire;
pub mod workdir;
pub mod worker;
pub mod workload;

pub use schedule::FAILURES_MAX;
pub use stats::knee;
