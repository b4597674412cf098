//! Turns a plan into a run.
//!
//! The supervisor executes passes of shuffled rounds; every round runs in fresh worker processes, started through a
//! gate, watched with a deadline, cleaned up afterwards. Architecture invariants: engine names no workload; it knows
//! them only through [`workload::Workload`]. It prints nothing and never exits the process.

pub mod host;
pub mod recorder;
pub mod workload;
