//! What a series of values looks like: steady, drifting, stepped, two-state, unstable.
//!
//! A number is a fair summary only of a series that has one level. Every series passes through here before it is
//! called by its median.

pub mod apart;
pub mod change_points;
pub mod drift;
pub mod gate;
pub mod periodic;
pub mod series;
pub mod step;
pub mod trend;
pub mod two_state;
pub mod warmup;

#[cfg(test)]
mod rates;
mod rounds;

pub use rounds::{has_single_number, of_case};

/// The least change of level that is worth a word: 3 %. Smaller ones are within what a rebuild or a neighbour moves.
pub const PRACTICAL_STEP: f64 = 0.03;
