//! Which blocks of a region have come, where operations of different sizes are to visit each once: a bit per block.
//!
//! An operation begins at a random block, or at the next one behind it that has not come, and ends where it meets one
//! that has. That cuts as many operations as fio's map does; to begin only where a block is found free at once makes
//! half as many again.

/// Which blocks have come.
#[derive(Clone, Debug)]
pub(super) struct Covered {
    bits: Vec<u64>,
    left: u64,
    blocks: u64,
}

impl Covered {
    pub(super) fn new(blocks: u64) -> Self {
        let words = usize::try_from(blocks.div_ceil(64)).unwrap_or(usize::MAX);
        Self {
            bits: vec![0; words],
            left: blocks,
            blocks,
        }
    }

    pub(super) const fn blocks(&self) -> u64 {
        self.blocks
    }

    pub(super) fn clear(&mut self) {
        self.bits.fill(0);
        self.left = self.blocks;
    }

    fn has(&self, block: u64) -> bool {
        let (word, bit) = at(block);
        self.bits[word] & bit != 0
    }

    /// The first block from `drawn` on that has not come, from the beginning again behind the last one; and how many up
    /// to `most` behind it have not come either. They have come now.
    pub(super) fn take(&mut self, drawn: u64, most: u64) -> (u64, u64) {
        if self.left == 0 {
            self.clear();
        }
        let first = self.free_from(drawn).or_else(|| self.free_from(0));
        let first = first.unwrap_or(0);
        let end = (first + most.max(1)).min(self.blocks);
        let free = (first..end).take_while(|&block| !self.has(block));
        let count = free.count() as u64;
        for block in first..first + count {
            let (word, bit) = at(block);
            self.bits[word] |= bit;
        }
        self.left -= count;
        (first, count)
    }

    /// The first block from `from` on that has not come.
    fn free_from(&self, from: u64) -> Option<u64> {
        let (word, bit) = at(from);
        // Those before it are looked at as if they had come.
        let mut come = self.bits.get(word)? | (bit - 1);
        let mut word = word;
        while come == u64::MAX {
            word += 1;
            come = *self.bits.get(word)?;
        }
        let block = word as u64 * 64 + u64::from(come.trailing_ones());
        (block < self.blocks).then_some(block)
    }
}

/// The word and the bit of a block.
fn at(block: u64) -> (usize, u64) {
    let word = usize::try_from(block / 64).unwrap_or(usize::MAX);
    (word, 1 << (block % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_free_block_is_found_over_words_and_round_the_end() {
        let mut covered = Covered::new(200);
        let mut take = |drawn, most| covered.take(drawn, most);
        assert_eq!(take(60, 80), (60, 80));
        assert_eq!(take(61, 4), (140, 4), "behind two words that have come");
        assert_eq!(take(150, 100), (150, 50), "to the end of the region");
        assert_eq!(take(199, 7), (0, 7), "and from its beginning");
        assert_eq!(take(3, 100), (7, 53), "up to one that has come");
        assert_eq!(take(0, 9), (144, 6));
        // All have come: each may come again.
        assert_eq!(take(199, 9), (199, 1));
    }
}
