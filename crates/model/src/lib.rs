//! The nouns of kurabe: what is measured, on what, with which result.
//!
//! Everything here is data. Nothing reads a file, a clock or a random number, and nothing prints. Names follow
//! the words of ARCHITECTURE.md exactly: workload, test, case, metric, profile, plan, round, window, pass, run,
//! estimate, verdict.
//!
//! The types of [`record`], [`plan`], [`host`] and [`noise`] are also the format in which the store and
//! `kurabe export` keep a run ([`record::RECORD_VERSION`]); what `--json` prints of them is a separate, published
//! document that lives in `report`. What is concluded ([`estimate`], [`comparison`]) is never stored: it stands in
//! those documents as it is here, with the same keys, and so do [`warning::Warning`] and the facts of [`host`] and
//! [`named`].

pub mod base64;
pub mod bounds;
pub mod comparison;
pub mod digest;
pub mod document;
pub mod estimate;
pub mod facts;
pub mod figure;
pub mod fileset;
pub mod flows;
pub mod ground;
pub mod headline;
pub mod host;
pub mod job;
pub mod latency;
pub mod limit;
pub mod line;
pub mod look;
pub mod money;
pub mod named;
pub mod noise;
pub mod num;
pub mod offer;
pub mod order;
pub mod origin;
pub mod params;
pub mod pattern;
pub mod plan;
pub mod record;
pub mod rng;
pub mod soak;
pub mod spec;
pub mod units;
pub mod warning;
