//! Bytes that are sent and received again and again.

use model::rng::Rng;

/// A block begins where a page does, as those of iperf3 do: what does not begin with a cache line is copied by some
/// processors more slowly.
const PAGE: usize = 4096;

/// A block of memory.
#[derive(Debug)]
pub(super) struct Block {
    room: Vec<u8>,
    begin: usize,
}

impl Block {
    /// Zeros.
    pub(super) fn zeros(size: usize) -> Self {
        let room = vec![0; size + PAGE];
        let begin = room.as_ptr().align_offset(PAGE).min(PAGE);
        let mut block = Self { room, begin };
        block.room.truncate(begin + size);
        block
    }

    /// Bytes that do not compress: nothing on the way makes them smaller.
    pub(super) fn random(seed: u64, size: usize) -> Self {
        let mut block = Self::zeros(size);
        let mut rng = Rng::stream(seed, 5201);
        for part in block.bytes_mut().chunks_mut(8) {
            part.copy_from_slice(&rng.next().to_le_bytes()[..part.len()]);
        }
        block
    }

    /// All of it.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.room[self.begin..]
    }

    /// The same, to be written.
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.room[self.begin..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_begins_with_a_page_and_is_as_long_as_asked() {
        for size in [1, 7, 4096, 128 << 10] {
            let block = Block::random(1, size);
            assert_eq!(block.bytes().len(), size);
            assert_eq!(block.bytes().as_ptr().align_offset(PAGE), 0);
            assert_eq!(block.bytes(), Block::random(1, size).bytes());
        }
        assert_ne!(Block::random(1, 8).bytes(), Block::random(2, 8).bytes());
        assert!(Block::zeros(100).bytes().iter().all(|byte| *byte == 0));
    }
}
