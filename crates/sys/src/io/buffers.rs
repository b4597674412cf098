//! Memory for I/O: aligned, one part for each slot, and never moved.

#![expect(
    unsafe_code,
    reason = "std allocates no memory of a given alignment that outlives a move"
)]

use std::io;
use std::ptr::NonNull;

/// One mapping, cut into equal parts. Pages are touched when it is made: no measured operation pays for them.
#[derive(Debug)]
pub(super) struct Buffers {
    start: NonNull<u8>,
    bytes: usize,
    slots: usize,
    slot_bytes: usize,
}

// SAFETY: it owns its mapping alone; nothing in it belongs to a thread.
unsafe impl Send for Buffers {}

/// Parts begin at multiples of the smallest page, whatever the machine's is: that satisfies every device's memory
/// alignment that `O_DIRECT` asks for.
const ALIGN: usize = 4096;

impl Buffers {
    pub(super) fn new(slots: usize, slot_bytes: usize) -> io::Result<Self> {
        let slot_bytes = slot_bytes.max(1).next_multiple_of(ALIGN);
        let too_large = || io::Error::from(io::ErrorKind::OutOfMemory);
        let bytes = slots.checked_mul(slot_bytes).ok_or_else(too_large)?;
        // SAFETY: a new private mapping without a file; nothing of ours is replaced without MAP_FIXED.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self {
            start: NonNull::new(start.cast()).ok_or_else(too_large)?,
            bytes,
            slots,
            slot_bytes,
        })
    }

    /// Bytes of each part, rounded up to whole pages.
    pub(super) const fn slot_bytes(&self) -> usize {
        self.slot_bytes
    }

    /// The part of a slot. Panics where there is no such slot. The caller knows that the kernel is not using it.
    pub(super) fn get_mut(&mut self, slot: usize) -> &mut [u8] {
        let start = self.pointer(slot);
        // SAFETY: the part lies inside the mapping, which is ours alone, and lives as long as `self`.
        unsafe { std::slice::from_raw_parts_mut(start, self.slot_bytes) }
    }

    /// Where the part of a slot begins. Panics where there is no such slot.
    #[inline]
    pub(super) fn pointer(&self, slot: usize) -> *mut u8 {
        assert!(slot < self.slots, "a buffer of no slot");
        // SAFETY: slot < slots, so the offset lies inside the mapping of slots * slot_bytes bytes.
        unsafe { self.start.as_ptr().add(slot * self.slot_bytes) }
    }

    /// Never gives the memory back: for an engine that could not stop the kernel from using it.
    pub(super) fn leak(&mut self) {
        self.bytes = 0;
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        if self.bytes > 0 {
            // SAFETY: the mapping was made with this length, and no reference into it outlives `self`.
            unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
        }
    }
}
