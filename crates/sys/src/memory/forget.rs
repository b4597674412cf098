//! What the kernel keeps of files in memory, and how it is told to forget it.
//!
//! Names and attributes (dentries, inodes) are forgotten for the whole machine or not at all, and by root alone; the
//! content of one file by whoever has it open ([`crate::io::file::drop_cache`]).

use std::fs::OpenOptions;
use std::io::{self, Write};

/// proc(5): pages, names and attributes that are clean are given up at once.
const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

/// Whether this process may make the kernel forget; nothing is forgotten yet.
pub fn may_drop_caches() -> io::Result<()> {
    OpenOptions::new().write(true).open(DROP_CACHES).map(drop)
}

/// Makes the kernel forget all that is clean of all files of the machine: what was read from them, their names and
/// their attributes. Sync first: what is dirty stays.
pub fn drop_caches() -> io::Result<()> {
    let mut control = OpenOptions::new().write(true).open(DROP_CACHES)?;
    control.write_all(b"3\n")
}
