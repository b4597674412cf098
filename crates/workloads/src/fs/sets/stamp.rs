//! Makes blocks differ, so that storage cannot keep one for several.

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
