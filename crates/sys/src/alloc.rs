//! A global allocator that counts, so that "no allocation while measuring" is checked in every round and not only
//! believed.
//!
//! Cost: one relaxed increment per allocation, none per operation of a workload that keeps the rule.
//!
//! Memory that the system refuses ends the process with words of its own, where an abort would name nothing. So nothing
//! in this program can ask for memory on trial: what may be too large for the machine is mapped by itself (see
//! [`crate::memory`]).

#![expect(unsafe_code, reason = "GlobalAlloc is an unsafe trait")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

/// The system's allocator, counting.
#[derive(Debug)]
pub struct Counting;

/// Allocations and reallocations of this process since it started; always 0 where [`Counting`] is not the global
/// allocator.
pub fn allocations() -> u64 {
    ALLOCATIONS.load(Ordering::Relaxed)
}

// SAFETY: every call is passed on unchanged to the system's allocator, which keeps the contract; what it gives is
// returned, or the process ends.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps `alloc`'s contract.
        given(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps `dealloc`'s contract, and every block came from `System`.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps `alloc_zeroed`'s contract.
        given(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps `realloc`'s contract, and every block came from `System`.
        given(unsafe { System.realloc(block, layout, size) }, size)
    }
}

/// The block, where there is one.
#[inline]
fn given(block: *mut u8, bytes: usize) -> *mut u8 {
    if block.is_null() {
        crate::limits::ran_out(bytes)
    }
    block
}
