//! Clones of a measured loop at different alignments.
//!
//! Where a loop begins within its cache line can change its speed by several percent, and one build is one sample of
//! that however often it runs. So every loop here is compiled three times, each put at its own offset from a
//! boundary of 64 bytes, and the workload rotates them over rounds: the spread between places is then in the interval
//! instead of in the difference between two builds. Because the boundary is asked for beside the code itself, what the
//! linker puts before it moves nothing. Source: Curtsinger and Berger, "Stabilizer", ASPLOS 2013.
//!
//! Stable Rust cannot align functions. So there are two ways: for a single loop, an alignment directive and a row of
//! no-operations stand in front of it ([`place_loop`]); for code of several functions that call each other in the
//! measured part, where no-operations would be executed each time, all of them are put into a section of the program,
//! which begins at the offset ([`three_clones`]). On architectures without such assembly here the clones are alike.

/// How many clones every measured loop has.
pub const CLONES: u32 = 3;

/// The directives of x86-64 assembly that put what follows `{pad}` bytes behind a boundary of 64.
#[cfg(target_arch = "x86_64")]
macro_rules! placement {
    () => {
        ".p2align 6\n.rept {pad}\nnop\n.endr"
    };
}

/// Aligns what follows to 64 bytes and then moves it by `PAD` bytes (`PAD` / 4 instructions where they have four).
macro_rules! place_loop {
    ($pad:ident) => {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: directives and no-operations change neither registers nor memory.
        unsafe {
            std::arch::asm!(
                $crate::loops::align::placement!(),
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
/// offsets are 0, 20 and 44 bytes. What sets a loop up comes behind them, and compilers for x86-64 put the head of a
/// loop on a boundary of 16: those of the clones come to lie at three different ones.
macro_rules! clone {
    ($number:expr, $function:ident($($argument:expr),* $(,)?)) => {
        match $number % $crate::loops::CLONES {
            0 => $function::<0>($($argument),*),
            1 => $function::<20>($($argument),*),
            _ => $function::<44>($($argument),*),
        }
    };
}

/// Declares the modules `at_0`, `at_16` and `at_32`, all with the code of the file, in sections of these offsets: where
/// functions begin, compilers align to 16 bytes. The file begins with [`begin_section`] and puts each function that is
/// not inlined into `section!()`.
macro_rules! three_clones {
    ($path:literal, $section:literal) => {
        $crate::loops::align::clone_at!(at_0, $path, $section, 0);
        $crate::loops::align::clone_at!(at_16, $path, $section, 16);
        $crate::loops::align::clone_at!(at_32, $path, $section, 32);
    };
}

/// One of them.
macro_rules! clone_at {
    ($name:ident, $path:literal, $section:literal, $pad:literal) => {
        macro_rules! section {
            () => {
                concat!($section, ".", $pad)
            };
        }
        macro_rules! pad {
            () => {
                $pad
            };
        }
        #[expect(
            clippy::duplicate_mod,
            reason = "clones are the same code at other places"
        )]
        #[path = $path]
        mod $name;
    };
}

/// Calls the function of the clone that belongs to a number: `clone_of!(number, function(arguments))`.
macro_rules! clone_of {
    ($number:expr, $function:ident($($argument:expr),* $(,)?)) => {
        match $number % $crate::loops::CLONES {
            0 => at_0::$function($($argument),*),
            1 => at_16::$function($($argument),*),
            _ => at_32::$function($($argument),*),
        }
    };
}

/// Begins the section of a clone: what the compiler puts into it starts `pad` bytes behind a boundary of 64, because
/// assembly of a module comes before its functions. The bytes in between are a text of 16, by which `cargo xtask dist`
/// finds them in the binary that is shipped.
macro_rules! begin_section {
    ($section:expr, $pad:expr) => {
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        std::arch::global_asm!(
            concat!(".pushsection ", $section, ",\"ax\",@progbits"),
            ".p2align 6",
            concat!(".rept ", $pad, " / 16"),
            ".ascii \"a clone's offset\"",
            ".endr",
            ".popsection"
        );
    };
}

#[cfg(target_arch = "x86_64")]
pub(super) use placement;
pub(super) use {begin_section, clone, clone_at, clone_of, place_loop, three_clones};

/// Clones whose functions begin at `addresses`, in the same order in each, must lie 0, 16 and 32 bytes further within
/// their lines than those of the first.
#[cfg(test)]
pub(super) fn check_clones(addresses: &[Vec<usize>; 3]) {
    let [first, rest @ ..] = addresses;
    for (clone, offset) in rest.iter().zip([16, 32]) {
        let moved = first.iter().zip(clone);
        let moved: Vec<usize> = moved.map(|(a, b)| b.wrapping_sub(*a) % 64).collect();
        assert_eq!(moved, vec![offset; first.len()], "{addresses:x?}");
    }
}

#[cfg(test)]
mod tests {
    /// The offset of the clone that is called.
    fn offset<const PAD: usize>() -> usize {
        PAD
    }

    mod at_0 {
        pub(super) fn offset() -> usize {
            0
        }
    }

    mod at_16 {
        pub(super) fn offset() -> usize {
            16
        }
    }

    mod at_32 {
        pub(super) fn offset() -> usize {
            32
        }
    }

    #[test]
    fn three_rounds_in_a_row_reach_three_clones_and_the_fourth_the_first_again() {
        let clones = [1_u32, 2, 3, 4].map(|round| clone!(round, offset()));
        assert_eq!(clones, [20, 44, 0, 20]);
        let clones = [1_u32, 2, 3, 4].map(|round| clone_of!(round, offset()));
        assert_eq!(clones, [16, 32, 0, 16]);
    }
}
