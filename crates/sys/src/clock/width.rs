//! Independent additions: how much a core does at a time.
//!
//! A chain of dependent additions ([`super::add_chain`]) tells the clock rate and nothing else: it takes one of the
//! core's adders, one cycle in one. Additions that do not wait for each other take all of them. Where another hardware
//! thread of the core is busy, it takes part of the adders and of what feeds them: the chain goes on at its rate, and
//! these become fewer. That is the only sign of it in a virtual machine, which is told neither who its neighbour on
//! the core is nor what that does.
//!
//! The operands are registers, because newer cores add constants on the way without an adder, and eight sums take
//! turns, so that up to eight additions a cycle can be told. It refuses to tell where no loop is written in assembly:
//! a compiler would make vectors or one multiplication of it.

/// Additions in one turn of the loop: eight to each of eight sums, so that the four or five instructions of the loop
/// itself are less than a tenth.
#[cfg(any(test, target_arch = "x86_64", target_arch = "aarch64"))]
const ADDS_PER_TURN: u64 = 64;

/// Runs `adds` additions, rounded down to a multiple of 64, of which eight at a time do not wait for each other.
/// Returns their duration in nanoseconds and the sum, which is that of `64 * (i | 1)` for every `i` below `adds / 64`;
/// `None` where this architecture has no such loop in assembly, so that what a core does at a time is not known.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline(never)]
pub fn add_side_by_side(adds: u64) -> Option<(u64, u64)> {
    let start = super::monotonic();
    let sums = all_turns(adds, assembly::add_8_times_8);
    Some((super::monotonic() - start, total(sums)))
}

/// Always `None`: this architecture has no such loop in assembly, so that what a core does at a time is not known.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub fn add_side_by_side(_adds: u64) -> Option<(u64, u64)> {
    None
}

/// The eight sums of all turns that `add_8_times_8` goes on with.
#[cfg(any(test, target_arch = "x86_64", target_arch = "aarch64"))]
#[inline(always)]
#[expect(clippy::inline_always, reason = "a call would be part of the figure")]
fn all_turns(adds: u64, add_8_times_8: impl Fn([u64; 8], u64) -> [u64; 8]) -> [u64; 8] {
    (0..adds / ADDS_PER_TURN).fold([0; 8], |sums, i| add_8_times_8(sums, i | 1))
}

#[cfg(any(test, target_arch = "x86_64", target_arch = "aarch64"))]
fn total(sums: [u64; 8]) -> u64 {
    sums.into_iter().fold(0, u64::wrapping_add)
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod assembly {
    /// Each of `sums` and eight times `step`, the sums taking turns.
    ///
    /// Not `pure`: a caller who wants only the time drops the sums, and a pure loop would be dropped with them.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub(super) fn add_8_times_8(mut sums: [u64; 8], step: u64) -> [u64; 8] {
        // SAFETY: register-only arithmetic, which may change the flags.
        unsafe {
            core::arch::asm!(
                ".rept 8",
                "add {a}, {step}", "add {b}, {step}", "add {c}, {step}", "add {d}, {step}",
                "add {e}, {step}", "add {f}, {step}", "add {g}, {step}", "add {h}, {step}",
                ".endr",
                a = inout(reg) sums[0], b = inout(reg) sums[1],
                c = inout(reg) sums[2], d = inout(reg) sums[3],
                e = inout(reg) sums[4], f = inout(reg) sums[5],
                g = inout(reg) sums[6], h = inout(reg) sums[7],
                step = in(reg) step, options(nomem, nostack),
            );
        }
        sums
    }

    /// Each of `sums` and eight times `step`, the sums taking turns; not `pure`, as above. `add` of registers leaves
    /// the flags alone (Arm Architecture Reference Manual, ADD (shifted register)).
    #[cfg(target_arch = "aarch64")]
    #[inline]
    pub(super) fn add_8_times_8(mut sums: [u64; 8], step: u64) -> [u64; 8] {
        // SAFETY: register-only arithmetic.
        unsafe {
            core::arch::asm!(
                ".rept 8",
                "add {a}, {a}, {step}", "add {b}, {b}, {step}",
                "add {c}, {c}, {step}", "add {d}, {d}, {step}",
                "add {e}, {e}, {step}", "add {f}, {f}, {step}",
                "add {g}, {g}, {step}", "add {h}, {h}, {step}",
                ".endr",
                a = inout(reg) sums[0], b = inout(reg) sums[1],
                c = inout(reg) sums[2], d = inout(reg) sums[3],
                e = inout(reg) sums[4], f = inout(reg) sums[5],
                g = inout(reg) sums[6], h = inout(reg) sums[7],
                step = in(reg) step, options(nomem, nostack, preserves_flags),
            );
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the assembly must do, without it.
    fn portable_add_8_times_8(sums: [u64; 8], step: u64) -> [u64; 8] {
        sums.map(|sum| (0..8).fold(sum, |sum, _| std::hint::black_box(sum.wrapping_add(step))))
    }

    /// The sum of `64 * (i | 1)` for every `i` below `turns`: odd numbers twice each, which make squares.
    fn closed_form(turns: u64) -> u64 {
        let pairs = turns / 2;
        64 * (2 * pairs * pairs + turns % 2 * turns)
    }

    #[test]
    fn all_additions_are_done_as_their_portable_twin_and_the_closed_form_say() {
        for adds in [0, 63, 64, 127, 128, 192, 6_400, 1 << 16] {
            let expected = closed_form(adds / 64);
            let twin = all_turns(adds, portable_add_8_times_8);
            assert_eq!(total(twin), expected, "{adds}");
            if let Some((_, sum)) = add_side_by_side(adds) {
                assert_eq!(sum, expected, "{adds}");
            }
        }
    }

    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    #[test]
    fn a_turn_adds_to_each_sum_what_the_portable_twin_does_also_where_it_overflows() {
        let apart = [0, 1, 2, 3, 1 << 63, u64::MAX, u64::MAX - 7, 1 << 40];
        for step in [0, 1, 2, 1 << 61, u64::MAX] {
            let found = assembly::add_8_times_8(apart, step);
            assert_eq!(found, portable_add_8_times_8(apart, step), "{step}");
        }
    }
}
