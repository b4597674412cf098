//! Others: the languages and report layouts of the programs that kurabe replaces.
//!
//! One module per program. Everything here reads a finished run or a text and returns values or a text; nothing
//! measures, opens a file or prints. Names, defaults, formulas, keys and layouts are those of these programs, for they
//! are what the languages consist of. All of it is written from descriptions, which others made partly from the
//! sources, and from real outputs; no source was opened for it, and no code or prose of theirs is in here.

// The made-up machine of the coverage-guided targets in `fuzz/` serves the tests here too, and calls us by our name.
#[cfg(test)]
extern crate self as dialects;

pub mod bonnie;
pub mod command;
pub mod dbench;
pub mod familiar;
pub mod figures;
pub mod fio;
#[cfg(test)]
mod fuzzing;
pub mod iperf3;
mod mbw;
mod pgbench;
pub mod printable;
mod sysbench;
pub mod unixbench;
pub mod vdbench;
pub mod yabs;
