//! Tests of the store from outside: what it keeps, what it refuses, and what a death in the middle leaves.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail where they stand, as tests do"
)]

mod beside;
mod damage;
mod export;
mod fixture;
mod gate;
mod keep;
mod locks;
mod lost;
mod owned;
mod processes;
mod root;
