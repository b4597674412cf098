//! Memory that reads and writes go through: aligned as direct I/O wants it, with data that no storage can save.

use model::rng::Rng;

/// Direct I/O wants memory at multiples of this at most.
const ALIGN: usize = 4096;

/// Bytes at an aligned address.
#[derive(Debug)]
pub(super) struct Aligned {
    all: Vec<u8>,
    begin: usize,
    length: usize,
}

impl Aligned {
    /// So many zeros; their pages are there.
    pub(super) fn new(bytes: u64) -> Self {
        let length = usize::try_from(bytes).unwrap_or(usize::MAX / 2);
        // Not of zeros: those would be one page of the kernel until the first write.
        let all = vec![1; length + ALIGN];
        let begin = all.as_ptr().align_offset(ALIGN).min(ALIGN);
        Self { all, begin, length }
    }

    pub(super) fn bytes(&mut self) -> &mut [u8] {
        &mut self.all[self.begin..self.begin + self.length]
    }

    /// The first of them, at most all.
    pub(super) fn part(&mut self, bytes: u64) -> &mut [u8] {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let length = self.length.min(bytes);
        &mut self.bytes()[..length]
    }
}

/// Random data of this seed: nothing to compress.
pub(super) fn fill(bytes: &mut [u8], seed: u64) {
    let mut rng = Rng::stream(seed, 71);
    for chunk in bytes.chunks_mut(8) {
        let word = rng.next().to_le_bytes();
        chunk.copy_from_slice(&word[..chunk.len()]);
    }
}

/// The smallest block that storage may find again.
const SECTOR: usize = 4096;

/// Makes each block unlike any other of the run: nothing to find again.
pub(super) fn stamp(bytes: &mut [u8], next: &mut u64) {
    for sector in bytes.chunks_mut(SECTOR) {
        *next = next.wrapping_add(1);
        if let Some(head) = sector.first_chunk_mut::<8>() {
            *head = next.to_le_bytes();
        }
    }
}
