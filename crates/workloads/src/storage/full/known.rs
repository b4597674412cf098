//! What a job that judges the writes of an earlier one knows of them beforehand: which places they are in, in which
//! order they came, and how to tell that it was this very description of a job that made them.
//!
//! A block without a header is damage only where it is sure that there was one. What the check itself is told says
//! nothing of the job that wrote: that one may have had other options, or have been ended before. So it is sure only of
//! a file which this program wrote from the same description: its headers carry a word that is made from the
//! description ([`word`]). And only up to the last of its writes that is found.

use crate::storage::verify::Checked;
use model::digest::Digest;
use model::job::{Job, Mix, VerifyMethod};

/// What writes are multiples of, but for rare ones.
const SECTOR: usize = 512;

/// What is known.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known {
    /// The length that places are multiples of.
    pub(super) grain: usize,
    /// Blocks of other jobs begin at multiples of this.
    pub(super) stride: usize,
    /// The word of the description in headers; 0 for none.
    pub(super) word: u32,
    /// How many writes are looked for at a time, where not all of them have to be known first.
    pub(super) at_once: Option<u64>,
}

impl Known {
    /// For a job on regions of so many bytes, whose order is drawn from `seed`.
    pub(super) fn of(job: &Job, first: u64, regions: &[u64], seed: u64) -> Self {
        let reads = job.pattern.mix == Mix::Read;
        let is_shared = job.verify.as_ref().is_some_and(|how| how.is_shared);
        let grain = usize::try_from(job.size_range().0)
            .unwrap_or(usize::MAX)
            .max(1);
        Self {
            grain,
            stride: SECTOR.min(1 << grain.trailing_zeros()),
            word: if reads || is_shared {
                0
            } else {
                word(job, first, regions, seed)
            },
            at_once: job.checked_at_once(),
        }
    }

    /// Whether a block that does not pass is here for sure: it has an intact header of its own, or most of one, or most
    /// of a pattern.
    pub(super) fn is_certain(&self, method: &VerifyMethod, block: &[u8], offset: u64) -> bool {
        match method {
            VerifyMethod::Pattern(_) => {
                let mut sectors = block.chunks(SECTOR);
                self.stride == SECTOR && sectors.any(|part| method.resembles(part, offset))
            }
            method => {
                method.length(block, offset) == Some(block.len()) || method.resembles(block, offset)
            }
        }
    }
}

/// A word for everything that decides where the writes of a job go; 0 where a second job of the same description may
/// write elsewhere, or leave out some. When it ends is no part of it: that is seen by the last block that is found.
fn word(job: &Job, first: u64, regions: &[u64], seed: u64) -> u32 {
    let leaves_out = job.continue_on.write || !job.continue_on.only.write.is_empty();
    if leaves_out || !job.is_replayable() {
        return 0;
    }
    let mut end = job.end;
    end.time = None;
    let places = Job {
        pattern: job.pattern,
        block_bytes: job.block_bytes,
        read_percent: job.read_percent,
        repeat_blocks: job.repeat_blocks,
        blocks: job.blocks.clone(),
        distribution: job.distribution.clone(),
        steps: job.steps,
        zones: job.zones,
        files: job.files.clone(),
        file_sizes: job.file_sizes.clone(),
        end,
        seed: Some(seed),
        ..Job::default()
    };
    let text = serde_json::to_string(&places).unwrap_or_default();
    let digest = Digest::EMPTY.bytes(text.as_bytes());
    let digest = regions
        .iter()
        .fold(digest.word(first), |sum, bytes| sum.word(*bytes));
    let folded = (digest.0 >> 32) ^ digest.0;
    u32::try_from(folded & 0xffff_ffff).unwrap_or(0).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::job::{Blocks, Pattern};
    use model::units::Nanos;

    #[test]
    fn the_word_is_that_of_the_places_and_of_nothing_else() {
        let base = Job {
            pattern: Pattern::from_word("randwrite").unwrap(),
            seed: Some(3),
            ..Job::default()
        };
        let of = |job: &Job, seed| word(job, 0, &[1 << 20], seed);
        let known = of(&base, 5);
        assert_ne!(known, 0);
        let same: [fn(&mut Job); 4] = [
            |job| job.depth = 8,
            |job| job.direct = false,
            |job| job.end.time = Some(Nanos::from_secs(1)),
            |job| job.think = Nanos::from_secs(1),
        ];
        for change in same {
            let mut job = base.clone();
            change(&mut job);
            assert_eq!(of(&job, 5), known, "{job:?}");
        }
        let other: [fn(&mut Job); 4] = [
            |job| job.block_bytes = 8192,
            |job| job.repeat_blocks = true,
            |job| job.blocks.write = Some(Blocks::Fixed(512)),
            |job| job.end.ops = Some(3),
        ];
        for change in other {
            let mut job = base.clone();
            change(&mut job);
            assert_ne!(of(&job, 5), known, "{job:?}");
        }
        assert_ne!(of(&base, 6), known, "another seed");
        assert_ne!(word(&base, 4096, &[1 << 20], 5), known, "another place");
        let mut passing = base.clone();
        passing.continue_on.verify = true;
        assert_eq!(of(&passing, 5), known);
        passing.continue_on.write = true;
        assert_eq!(of(&passing, 5), 0, "writes may be missing");
        let drawn = Job { seed: None, ..base };
        assert_eq!(of(&drawn, 5), 0);
    }
}
