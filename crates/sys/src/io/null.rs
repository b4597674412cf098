//! The engine that does nothing: operations complete at once and the kernel never hears of them.
//!
//! It shows what the loop around an engine costs, and nothing about any storage.

use super::{Common, Completion, Engine, Op, Setup, Wait, index};
use std::io;

/// Completes everything that was submitted, untouched.
#[derive(Debug)]
pub struct Null {
    common: Common,
    prepared: Vec<Completion>,
    over: Vec<Completion>,
}

impl Null {
    /// An engine without files.
    pub fn new(setup: Setup) -> io::Result<Self> {
        let slots = index(setup.slots.max(1));
        Ok(Self {
            common: Common::new(setup)?,
            prepared: Vec::with_capacity(slots),
            over: Vec::with_capacity(slots),
        })
    }
}

impl Engine for Null {
    const SYNCHRONOUS: bool = false;

    fn slots(&self) -> u32 {
        self.common.slots()
    }

    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        self.common.buffer(slot)
    }

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "several loops call it, and a call for each operation costs a tenth of what the operation does"
    )]
    fn prepare(&mut self, slot: u32, op: Op) {
        self.common.occupy(slot, op);
        self.prepared.push(Completion {
            slot,
            result: i32::try_from(op.len).unwrap_or(i32::MAX),
        });
    }

    #[inline]
    fn submit(&mut self) -> io::Result<()> {
        self.over.append(&mut self.prepared);
        Ok(())
    }

    #[inline]
    fn reap(&mut self, _: Wait, into: &mut [Completion]) -> io::Result<usize> {
        let count = self.over.len().min(into.len());
        let rest = self.over.len() - count;
        for (to, from) in into.iter_mut().zip(self.over.drain(rest..)) {
            *to = from;
            self.common.release(from.slot);
        }
        Ok(count)
    }
}
