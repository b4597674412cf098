//! The mathematics of kurabe: what may be concluded from rounds.
//!
//! Everything is a pure function of values: no file, no clock, no randomness that is not seeded by the caller. The
//! sample is the round, never the window and never the request, because rounds are the smallest pieces that depend
//! little on one another; how far they do is estimated. Ratios are compared on logarithms. The method, its words and
//! its error rates are in docs/method/statistics.md.
//!
//! [`summarize()`] turns one run into estimates, [`compare()`] turns two runs into verdicts; the modules hold the
//! pieces they are made of.

pub mod burst;
pub mod components;
pub mod composite;
pub mod dist;
pub mod duel;
pub mod family;
pub mod figure;
pub mod first_write;
pub mod hand_over;
pub mod joined;
pub mod knee;
pub mod loaded;
pub mod look;
pub mod looks;
pub mod memory;
pub mod modes;
pub mod needed;
pub mod offered;
pub mod order;
pub mod order_effect;
pub mod quantile;
pub mod rank;
pub mod rounds;
pub mod scaling;
pub mod scope;
pub mod server;
mod setting;
pub mod six_passes;
pub mod soak;
pub mod state;
pub mod storage;
pub mod toll;
pub mod value;
pub mod verdict;
pub mod walsh;
pub mod within;
pub mod yuen;

mod apart;
mod brief;
mod category;
mod compare;
mod contrast;
#[cfg(test)]
mod coverage;
mod dependence;
mod difference;
mod failed;
#[cfg(test)]
mod fixture;
mod headline;
mod history;
mod hopeless;
mod inside;
mod judged;
mod noise;
mod noted;
mod permutation;
#[cfg(test)]
mod rule;
pub mod scatter;
mod shared_core;
mod side;
mod sides;
mod summarize;
mod taken;
mod thresholds;
mod trust;
mod visits;
mod warming;
mod warnings;

pub use brief::{Brief, Figure};
pub use category::category_of;
pub use compare::{CompareOptions, compare, compare_each, compare_groups};
pub use contrast::central_value;
pub use difference::{differences, of_servers};
pub use failed::{Failed, failed, kind_of};
pub use headline::{Headlined, headlines, rounds_of_each};
pub use history::EARLIER_MOST;
pub use noted::{Noted, noted};
pub use rounds::{CaseRounds, RunRounds};
pub use summarize::{NO_ROUND, NO_VALUE, summarize, without_single_number};
pub use thresholds::{CONFIDENCE, ROUNDS_MIN, RUNS_MIN};
pub use trust::{Disturber, Rounds, Trust};
