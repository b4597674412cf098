//! The loops over words of eight bytes for x86-64, written out, at a fixed place of the cache line.
//!
//! How many instructions sysbench 1.0.20 of Debian 12 executes was counted under cachegrind, by the difference between
//! blocks of 1 and 8 KiB: 11 for eight words read, and 42 for eight words written, eight of them loads or stores. Both
//! loops here have as many; what the others of a writing turn are for, counting does not tell, and here they only step
//! through registers. A core that executes six at once is limited by them, and not by its stores.

use super::super::align::placement;
use std::arch::asm;
use std::sync::atomic::AtomicU64;

/// Assembly whose lines, which loop to the label `2`, begin `pad` bytes behind a boundary of 64: as `place_loop!`, but
/// in one piece, because a compiler may put what sets registers up between two.
macro_rules! placed {
    ($pad:ident, [$($line:literal),* $(,)?], $($operand:tt)*) => {
        asm!(
            placement!(),
            "2:",
            $($line,)*
            pad = const $pad,
            $($operand)*
        )
    };
}

/// Words of one turn.
const TURN: usize = 8;

/// Loads every word and returns all of them, exclusive-or.
#[inline(never)]
pub(super) fn read<const PAD: usize>(block: &[AtomicU64]) -> u64 {
    let (turns, rest) = block.as_chunks::<TURN>();
    let all = if turns.is_empty() {
        0
    } else {
        turns_read::<PAD>(turns)
    };
    rest.iter()
        .fold(all, |all, word| all ^ super::Word::get(word))
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "a call would be part of the figure")]
fn turns_read<const PAD: usize>(turns: &[[AtomicU64; TURN]]) -> u64 {
    let range = turns.as_ptr_range();
    let (mut a, mut b, mut c, mut d) = (0_u64, 0_u64, 0_u64, 0_u64);
    // SAFETY: the loop loads each word once and nothing beyond them; atomic words may be written by others meanwhile,
    // and an aligned load of eight bytes is atomic on x86-64.
    unsafe {
        placed!(PAD, [
            "xor {a}, qword ptr [{at}]",
            "xor {b}, qword ptr [{at} + 8]",
            "xor {c}, qword ptr [{at} + 16]",
            "xor {d}, qword ptr [{at} + 24]",
            "xor {a}, qword ptr [{at} + 32]",
            "xor {b}, qword ptr [{at} + 40]",
            "xor {c}, qword ptr [{at} + 48]",
            "xor {d}, qword ptr [{at} + 56]",
            "add {at}, 64",
            "cmp {at}, {end}",
            "jne 2b",
            ],
            a = inout(reg) a,
            b = inout(reg) b,
            c = inout(reg) c,
            d = inout(reg) d,
            at = inout(reg) range.start => _,
            end = in(reg) range.end,
            options(nostack, readonly)
        );
    }
    a ^ b ^ c ^ d
}

/// Stores `value` into every word and returns it.
#[inline(never)]
pub(super) fn write<const PAD: usize>(block: &[AtomicU64], value: u64) -> u64 {
    let (turns, rest) = block.as_chunks::<TURN>();
    if !turns.is_empty() {
        turns_written::<PAD>(turns, value);
    }
    for word in rest {
        super::Word::put(word, value);
    }
    value
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "a call would be part of the figure")]
fn turns_written<const PAD: usize>(turns: &[[AtomicU64; TURN]], value: u64) {
    let range = turns.as_ptr_range();
    // SAFETY: the loop stores into each word once and nowhere else; atomic words may be written through a shared
    // reference, and an aligned store of eight bytes is atomic on x86-64.
    unsafe {
        placed!(PAD, [
            ".macro kurabe_store offset",
            "mov qword ptr [{at} + \\offset], {value}",
            "lea {a}, [{at} + 8]",
            "lea {b}, [{at} + 16]",
            "lea {c}, [{at} + 24]",
            ".endm",
            "kurabe_store 0",
            "lea {a}, [{at} + 32]",
            "kurabe_store 8",
            "lea {a}, [{at} + 32]",
            "kurabe_store 16",
            "lea {a}, [{at} + 32]",
            "kurabe_store 24",
            "lea {a}, [{at} + 32]",
            "kurabe_store 32",
            "lea {a}, [{at} + 32]",
            "kurabe_store 40",
            "lea {a}, [{at} + 32]",
            "kurabe_store 48",
            "lea {a}, [{at} + 32]",
            "kurabe_store 56",
            "add {at}, 64",
            "cmp {at}, {end}",
            "jne 2b",
            ".purgem kurabe_store",
            ],
            value = in(reg) value,
            a = out(reg) _,
            b = out(reg) _,
            c = out(reg) _,
            at = inout(reg) range.start => _,
            end = in(reg) range.end,
            options(nostack)
        );
    }
}
