//! What goes into the buffers of writes.

use super::Judge;
use super::checks::Checks;
use super::course::Target;
use crate::storage::body::index;
use crate::storage::data::{CHUNK, Fill};
use model::job::{Contents, Redundancy};
use model::rng::Rng;
use sys::io::Op;

/// The data of a job's writes, and the operation that waits for another one to end.
#[derive(Clone, Debug)]
pub(super) struct Writer {
    pub(super) contents: Contents,
    pub(super) redundancy: Redundancy,
    /// Blocks in each slot's buffer, which writes take in turn, and the length of one.
    pub(super) turns: u32,
    pub(super) block: usize,
    pub(super) seed: u64,
    /// The blocks that equal ones are drawn from.
    pub(super) set: Option<WorkingSet>,
    /// Numbers what is written.
    pub(super) written: u64,
    pub(super) rng: Rng,
    pub(super) held: Option<(Target, Judge, u64)>,
}

/// Different blocks, each of which is written again and again.
#[derive(Clone, Copy, Debug)]
pub(super) struct WorkingSet {
    pub(super) blocks: u64,
    pub(super) seed: u64,
}

impl WorkingSet {
    /// That of a job on so many bytes in blocks of so many; `None` where all equal blocks are the same one.
    pub(super) fn of(redundancy: Redundancy, bytes: u64, block: u64, seed: u64) -> Option<Self> {
        let share = bytes / 100 * u64::from(redundancy.working_set_percent);
        (redundancy.working_set_percent > 0).then(|| Self {
            blocks: (share / block.max(1)).max(1),
            seed: redundancy.working_set_seed.unwrap_or(seed),
        })
    }
}

impl Writer {
    /// Where the block of this turn lies in its slot's buffer.
    #[inline]
    pub(super) const fn at(&self, turn: u32) -> usize {
        index(turn) * self.block
    }

    #[inline]
    pub(super) const fn turn_after(&self, turn: u32) -> u32 {
        (turn + 1) % self.turns
    }

    /// Gets the data of a write ready, and says which writing it is where writes are checked. A buffer that `is_used`
    /// may hold what was read into it, or the headers of an earlier write.
    #[inline]
    pub(super) fn fill(
        &mut self,
        buffer: &mut [u8],
        op: &mut Op,
        is_used: bool,
        checks: Option<&mut Checks>,
    ) -> u64 {
        if self.redundancy.draws_same(&mut self.rng) {
            // Behind the blocks that writes take in turn lies the one that all equal ones come from.
            op.at = self.at(self.turns);
            if let Some(set) = self.set {
                let chunks = self.block.div_ceil(CHUNK) as u64;
                let first = self.rng.below(set.blocks) * chunks;
                let data = &mut buffer[op.at..op.at + index(op.len)];
                self.redundancy.fill_equal(set.seed, first, data);
            }
            return 0;
        }
        let data = &mut buffer[op.at..op.at + index(op.len)];
        self.written = self.written.wrapping_add(1);
        match &self.contents {
            Contents::Stamped => self.redundancy.refresh(self.written, data),
            Contents::Refilled => self.redundancy.fill(self.seed, self.written << 20, data),
            Contents::Zero if is_used => data.fill(0),
            Contents::Pattern(pattern) if is_used => repeat(pattern, data),
            Contents::Constant | Contents::Zero | Contents::Pattern(_) => {}
        }
        checks.map_or(0, |checks| checks.stamp(data, op.offset))
    }
}

/// Fills `data` with the pattern, again and again.
pub(in crate::storage) fn repeat(pattern: &[u8], data: &mut [u8]) {
    for (byte, of_pattern) in data.iter_mut().zip(pattern.iter().cycle()) {
        *byte = *of_pattern;
    }
}
