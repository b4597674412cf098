//! Others: the languages and report layouts of the programs that kurabe replaces.
//!
//! One module per program. Everything here reads a finished run or a text and returns values or a text; nothing
//! measures, opens a file or prints. All of it is written from public descriptions and real outputs of those
//! programs, never from their source.

// The made-up machine of the coverage-guided targets in `fuzz/` serves the tests here too, and calls us by our name.
#[cfg(test)]
extern crate self as dialects;

pub mod fio;
pub mod printable;
pub mod unixbench;
