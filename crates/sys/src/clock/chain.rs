//! A chain of dependent additions: how many clock cycles a nanosecond has.
//!
//! One addition waits for the one before and takes one cycle on every CPU of the last twenty years, so additions per
//! nanosecond are the effective clock rate in GHz. The chain is assembly: a compiler would fold it, and what keeps it
//! from that without assembly ([`std::hint::black_box`]) sends the sum through memory, which takes four or five cycles.
//! So it refuses to tell a rate on architectures for which no chain is written here.

/// Runs a chain of `adds` dependent additions, rounded down to a multiple of eight. Returns its duration in
/// nanoseconds and the sum, which is that of `8 * (i | 1)` for every `i` below `adds / 8`; `None` where this
/// architecture has no chain in assembly, so that the clock rate is not known.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline(never)]
pub fn add_chain(adds: u64) -> Option<(u64, u64)> {
    let start = super::monotonic();
    let sum = whole_chain(adds, assembly::add_8_times);
    Some((super::monotonic() - start, sum))
}

/// Always `None`: this architecture has no chain of additions in assembly, so that the clock rate is not known.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub fn add_chain(_adds: u64) -> Option<(u64, u64)> {
    None
}

/// The sum of a whole chain that `add_8_times` goes on with.
#[cfg(any(test, target_arch = "x86_64", target_arch = "aarch64"))]
#[inline(always)]
#[expect(clippy::inline_always, reason = "a call would be part of the figure")]
fn whole_chain(adds: u64, add_8_times: impl Fn(u64, u64) -> u64) -> u64 {
    (0..adds / 8).fold(0, |sum, i| add_8_times(sum, i | 1))
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod assembly {
    /// `sum` and eight times `step`, added one after the other.
    ///
    /// Not `pure`: a caller who wants only the time drops the sum, and a pure chain would be dropped with it.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub(super) fn add_8_times(mut sum: u64, step: u64) -> u64 {
        // SAFETY: register-only arithmetic, which may change the flags.
        unsafe {
            core::arch::asm!(
                "add {sum}, {step}", "add {sum}, {step}", "add {sum}, {step}", "add {sum}, {step}",
                "add {sum}, {step}", "add {sum}, {step}", "add {sum}, {step}", "add {sum}, {step}",
                sum = inout(reg) sum, step = in(reg) step, options(nomem, nostack),
            );
        }
        sum
    }

    /// `sum` and eight times `step`, added one after the other; not `pure`, as above. `add` of registers waits for one
    /// cycle and leaves the flags alone (Arm Architecture Reference Manual, ADD (shifted register)).
    #[cfg(target_arch = "aarch64")]
    #[inline]
    pub(super) fn add_8_times(mut sum: u64, step: u64) -> u64 {
        // SAFETY: register-only arithmetic.
        unsafe {
            core::arch::asm!(
                "add {sum}, {sum}, {step}", "add {sum}, {sum}, {step}",
                "add {sum}, {sum}, {step}", "add {sum}, {sum}, {step}",
                "add {sum}, {sum}, {step}", "add {sum}, {sum}, {step}",
                "add {sum}, {sum}, {step}", "add {sum}, {sum}, {step}",
                sum = inout(reg) sum, step = in(reg) step, options(nomem, nostack, preserves_flags),
            );
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the assembly must do, without it.
    fn portable_add_8_times(sum: u64, step: u64) -> u64 {
        (0..8).fold(sum, |sum, _| std::hint::black_box(sum.wrapping_add(step)))
    }

    /// The sum of `8 * (i | 1)` for every `i` below `turns`: odd numbers twice each, which make squares.
    fn closed_form(turns: u64) -> u64 {
        let pairs = turns / 2;
        8 * (2 * pairs * pairs + turns % 2 * turns)
    }

    #[test]
    fn a_chain_adds_what_its_portable_twin_and_the_closed_form_say() {
        for adds in [0, 7, 8, 15, 16, 24, 800, 1 << 16] {
            let expected = closed_form(adds / 8);
            assert_eq!(whole_chain(adds, portable_add_8_times), expected, "{adds}");
            if let Some((_, sum)) = add_chain(adds) {
                assert_eq!(sum, expected, "{adds}");
            }
        }
    }

    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    #[test]
    fn eight_additions_are_those_of_the_portable_twin_also_where_they_overflow() {
        for (sum, step) in [(0, 0), (1, 2), (u64::MAX, 1), (1 << 63, u64::MAX)] {
            let found = assembly::add_8_times(sum, step);
            assert_eq!(found, portable_add_8_times(sum, step), "{sum} {step}");
        }
    }

    /// The least time of `adds` additions in nanoseconds, of many: what the CPU does while nobody disturbs.
    #[cfg(target_arch = "x86_64")]
    fn least_ns(adds: u64) -> f64 {
        let times = (0..50).filter_map(|_| add_chain(adds)).map(|(ns, _)| ns);
        let least = times.min().expect("a chain in assembly");
        f64::from(u32::try_from(least).expect("about a millisecond"))
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn twice_as_many_additions_take_about_twice_as_long() {
        let ratio = least_ns(1 << 20) / least_ns(1 << 19);
        assert!((1.5..3.0).contains(&ratio), "{ratio}");
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn no_addition_of_a_chain_is_folded_away() {
        // The time-stamp counter runs at the CPU's nominal rate, whatever that is. A chain of which eight additions are
        // folded into one would do about eight of them in each tick.
        let Some(ns_per_tick) = crate::clock::Clock::calibrate().rate() else {
            eprintln!("skipped: this machine's time-stamp counter is not steady");
            return;
        };
        let adds = 1_u32 << 19;
        let per_tick = f64::from(adds) / (least_ns(u64::from(adds)) / ns_per_tick);
        assert!(
            (0.2..4.0).contains(&per_tick),
            "{per_tick} additions per tick"
        );
    }
}
