//! Pages: what people read, as blocks that every format draws in its own way.
//!
//! One file for each section, with its sentences in every language beside the block that says them. A section of a
//! family is such a file and a line in [`run`].

pub(crate) mod beside;
pub mod block;
pub(crate) mod blog;
mod causes;
pub mod chart;
pub(crate) mod charts;
pub mod comparison;
mod database;
mod familiar;
mod first;
mod fit;
pub mod host;
mod indexes;
pub mod list;
mod loaded;
mod memory;
mod metrics;
mod next;
mod notes;
mod offered;
pub mod offers;
pub mod plan;
pub mod ranking;
pub mod run;
pub(crate) mod scaling;
mod set_up;
pub(crate) mod soak;
pub(crate) mod storage;
pub(crate) mod title;
mod trust;
mod usual;

pub use block::{Block, Cell, Table, Text, Tone};
