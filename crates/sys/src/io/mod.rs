//! Storage I/O as a measured loop needs it: operations prepared in slots, submitted in batches, reaped as they
//! complete.
//!
//! Every engine owns its files and its buffers, so that neither can go away while the kernel works on them: an engine
//! that is dropped waits for what is in flight. [`Engine`] is a trait for static dispatch: a loop is compiled once for
//! each engine, and no operation allocates, locks or makes a virtual call.

mod aio;
mod buffers;
mod choose;
pub mod counters;
pub mod file;
pub mod flag;
pub mod flow;
pub mod map;
mod mmap;
pub mod names;
mod null;
pub mod remove;
mod room;
mod sync;
mod uring;

pub use aio::Aio;
pub use choose::{Chosen, first_that_works, why_no_context, why_no_ring};
pub use mmap::Mmap;
pub use null::Null;
pub use room::{Change, Changes};
pub use sync::{Psync, Pvsync2};
pub use uring::{Uring, UringOptions};

use buffers::Buffers;
use std::fs::File;
use std::io;

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Reads into the slot's buffer.
    Read,
    /// Writes from the slot's buffer.
    Write,
    /// Gives a range back to the file system; what is read there afterwards is zeros.
    Trim,
    /// fsync(2) of the file.
    Sync,
    /// fdatasync(2) of the file.
    DataSync,
}

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// What it does.
    pub kind: Kind,
    /// Which of the engine's files.
    pub file: u32,
    /// Where in the file, in bytes.
    pub offset: u64,
    /// How many bytes.
    pub len: u32,
    /// Where in the slot's buffer the data begins.
    pub at: usize,
    /// The priority of a read or a write as `ioprio_set(2)` writes it; 0 for that of the process. Engines that hand
    /// requests to the kernel's queues keep to it.
    pub priority: u16,
}

/// An operation that is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// Its slot, which is free again.
    pub slot: u32,
    /// Bytes transferred, or the negative error number.
    pub result: i32,
}

impl Completion {
    /// Bytes transferred, or the error.
    pub fn bytes(self) -> io::Result<u32> {
        u32::try_from(self.result).map_err(|_| io::Error::from_raw_os_error(-self.result))
    }
}

/// How long to wait for a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Not at all.
    No,
    /// Until one is there.
    One,
    /// Until so many are there, or as many as are under way: completions in company cost fewer calls, and the first of
    /// them waits for the last. Engines whose operations are over at once take what there is.
    Several(u32),
    /// Until one is there, or [`crate::clock::monotonic`] reaches this. Engines without such a wait look now and then.
    Until(u64),
}

/// Does operations of up to [`Engine::slots`] slots at the same time.
pub trait Engine {
    /// Whether an operation is over when [`Engine::submit`] returns: there is no time between the two to measure.
    const SYNCHRONOUS: bool;

    /// How many operations may be under way.
    fn slots(&self) -> u32;

    /// The buffer of a slot. Panics where an operation is using it.
    fn buffer(&mut self, slot: u32) -> &mut [u8];

    /// Takes an operation in; the kernel hears of it with the next [`Engine::submit`]. Panics where the slot is in use
    /// or the operation lies outside its buffer: bugs of the caller.
    fn prepare(&mut self, slot: u32, op: Op);

    /// Hands everything prepared to the kernel.
    fn submit(&mut self) -> io::Result<()>;

    /// Fills the beginning of `into` with operations that are over, and says with how many.
    fn reap(&mut self, wait: Wait, into: &mut [Completion]) -> io::Result<usize>;

    /// Lets go of what it holds of a file in the page cache, which would keep it there.
    fn let_go(&mut self, _file: u32) -> io::Result<()> {
        Ok(())
    }
}

/// What every engine is made from.
#[derive(Debug)]
pub struct Setup {
    /// The files, opened as the operations need them.
    pub files: Vec<File>,
    /// How many operations may be under way; at least 1.
    pub slots: u32,
    /// Bytes of buffer for each slot.
    pub slot_bytes: usize,
}

/// What every engine that works on files keeps: files, buffers, and which slots are in use.
#[derive(Debug)]
struct Common {
    files: Vec<File>,
    buffers: Buffers,
    busy: Vec<bool>,
    in_flight: u32,
}

impl Common {
    fn new(setup: Setup) -> io::Result<Self> {
        let slots = usize::try_from(setup.slots.max(1)).map_err(io::Error::other)?;
        Ok(Self {
            files: setup.files,
            buffers: Buffers::new(slots, setup.slot_bytes)?,
            busy: vec![false; slots],
            in_flight: 0,
        })
    }

    fn slots(&self) -> u32 {
        u32::try_from(self.busy.len()).unwrap_or(u32::MAX)
    }

    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        let slot = index(slot);
        assert!(!self.busy[slot], "the buffer of a slot in use");
        self.buffers.get_mut(slot)
    }

    /// Marks the slot as in use and checks that the operation lies inside its buffer.
    #[inline]
    fn occupy(&mut self, slot: u32, op: Op) {
        let slot = index(slot);
        assert!(!self.busy[slot], "an operation in a slot in use");
        let data = matches!(op.kind, Kind::Read | Kind::Write);
        let end = op.at.saturating_add(index(op.len));
        assert!(
            !data || end <= self.buffers.slot_bytes(),
            "an operation outside its buffer"
        );
        assert!(index(op.file) < self.files.len(), "an operation on no file");
        // To the kernel it would be negative, and -1 means something else to each engine.
        let in_bounds = i64::try_from(op.offset).is_ok();
        assert!(in_bounds, "an operation beyond the end of any file");
        self.busy[slot] = true;
        self.in_flight += 1;
    }

    #[inline]
    fn release(&mut self, slot: u32) {
        let busy = &mut self.busy[index(slot)];
        assert!(*busy, "an operation that is over twice");
        *busy = false;
        self.in_flight -= 1;
    }

    /// How many operations are under way.
    const fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// How many of `wanted` completions there can be: at least one where anything is under way.
    fn at_most_in_flight(&self, wanted: u32) -> u32 {
        wanted.min(self.in_flight).max(1)
    }
}

/// A slot or a length as an index: lossless on every platform that Linux runs on.
#[inline]
const fn index(n: u32) -> usize {
    n as usize
}

#[cfg(test)]
mod tests;
