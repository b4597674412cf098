//! Memory that reads and writes go through.

use model::rng::Rng;

/// The size of a page: what direct I/O asks for at most, and where the kernel copies fastest.
const ALIGN: usize = 4096;

/// Bytes that begin with a page.
#[derive(Debug)]
pub(super) struct Aligned {
    all: Vec<u8>,
    begin: usize,
    length: usize,
}

impl Aligned {
    /// So many bytes, all of them alike; their pages are there.
    pub(super) fn new(length: usize) -> Self {
        // Not of zeros: those would be one page of the kernel until the first write.
        let all = vec![1; length.saturating_add(ALIGN)];
        let begin = all.as_ptr().align_offset(ALIGN).min(ALIGN);
        Self { all, begin, length }
    }

    /// So many bytes at random: nothing to compress.
    pub(super) fn random(length: usize, rng: &mut Rng) -> Self {
        let mut made = Self::new(length);
        for bytes in made.bytes_mut().chunks_mut(8) {
            let word = rng.next().to_le_bytes();
            bytes.copy_from_slice(&word[..bytes.len()]);
        }
        made
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.all[self.begin..self.begin + self.length]
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.all[self.begin..self.begin + self.length]
    }

    /// The first of them, at most all.
    pub(super) fn part_mut(&mut self, bytes: u64) -> &mut [u8] {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let length = self.length.min(bytes);
        &mut self.bytes_mut()[..length]
    }
}
