//! Clones of a measured loop at different alignments.
//!
//! Where a loop begins within its cache line can change its speed by several percent, and one build is one sample of
//! that however often it runs. So every loop here is compiled three times, each beginning at its own offset from a
//! boundary of 64 bytes, and the workload rotates them over rounds: the spread between places is then in the interval
//! instead of in the difference between two builds. Because the boundary is asked for inside the function, what the
//! linker puts before it moves nothing. Source: Curtsinger and Berger, "Stabilizer", ASPLOS 2013.
//!
//! Stable Rust cannot align functions, so an alignment directive and a row of no-operations stand in front of the loop.
//! On architectures without such assembly here the clones are alike.

/// How many clones every measured loop has.
pub const CLONES: u32 = 3;

/// Aligns what follows to 64 bytes and then moves it by `PAD` bytes (`PAD` / 4 instructions where they have four).
macro_rules! place_loop {
    ($pad:ident) => {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: directives and no-operations change neither registers nor memory.
        unsafe {
            std::arch::asm!(
                ".p2align 6",
                ".rept {pad}",
                "nop",
                ".endr",
                pad = const $pad,
                options(nomem, nostack, preserves_flags)
            );
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: directives and no-operations change neither registers nor memory.
        unsafe {
            std::arch::asm!(
                ".p2align 6",
                ".rept {pad} / 4",
                "nop",
                ".endr",
                pad = const $pad,
                options(nomem, nostack, preserves_flags)
            );
        }
    };
}

/// Calls the clone of a function that belongs to a number, whatever it is: `clone!(number, function(arguments))`. The
/// offsets are 0, 20 and 44 bytes: one for each of the two halves of a line that decoders fetch, and one that crosses.
macro_rules! clone {
    ($number:expr, $function:ident($($argument:expr),* $(,)?)) => {
        match $number % $crate::loops::CLONES {
            0 => $function::<0>($($argument),*),
            1 => $function::<20>($($argument),*),
            _ => $function::<44>($($argument),*),
        }
    };
}

pub(super) use {clone, place_loop};
