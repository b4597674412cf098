//! Values of which the compiler no longer knows where they come from, at no cost.
//!
//! [`std::hint::black_box`] sends its value through memory, which costs several cycles; inside of a measured loop
//! that would be part of the figure. An empty piece of assembly keeps the value in its register. On architectures
//! other than x86-64 and aarch64 `black_box` serves, and the loops that use this are a little slower than they need be.
#![expect(
    unsafe_code,
    reason = "empty pieces of assembly as barriers for the compiler"
)]

/// Hides an integer.
#[inline]
pub(super) fn opaque_i32(value: i32) -> i32 {
    #[cfg(target_arch = "x86_64")]
    {
        let mut value = value;
        // SAFETY: the assembly is a comment, so it changes neither the register nor anything else.
        unsafe {
            std::arch::asm!("/* {0:e} */", inout(reg) value, options(pure, nomem, nostack, preserves_flags));
        }
        value
    }
    #[cfg(target_arch = "aarch64")]
    {
        let mut value = value;
        // SAFETY: the assembly is a comment, so it changes neither the register nor anything else.
        unsafe {
            std::arch::asm!("/* {0:w} */", inout(reg) value, options(pure, nomem, nostack, preserves_flags));
        }
        value
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    std::hint::black_box(value)
}

/// Hides a word.
#[inline]
pub(super) fn opaque_u64(value: u64) -> u64 {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    {
        let mut value = value;
        // SAFETY: the assembly is a comment, so it changes neither the register nor anything else.
        unsafe {
            std::arch::asm!("/* {0} */", inout(reg) value, options(pure, nomem, nostack, preserves_flags));
        }
        value
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    std::hint::black_box(value)
}

/// Hides a floating-point number, in a floating-point register.
#[inline]
pub(super) fn opaque_f64(value: f64) -> f64 {
    #[cfg(target_arch = "x86_64")]
    {
        let mut value = value;
        // SAFETY: the assembly is a comment, so it changes neither the register nor anything else.
        unsafe {
            std::arch::asm!("/* {0} */", inout(xmm_reg) value, options(pure, nomem, nostack, preserves_flags));
        }
        value
    }
    #[cfg(target_arch = "aarch64")]
    {
        let mut value = value;
        // SAFETY: the assembly is a comment, so it changes neither the register nor anything else.
        unsafe {
            std::arch::asm!("/* {0:d} */", inout(vreg) value, options(pure, nomem, nostack, preserves_flags));
        }
        value
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    std::hint::black_box(value)
}

/// Uses a word where the compiler cannot see for what, so that the turn of a loop that made it is kept.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub(super) fn kept(value: u64) {
    #[cfg(target_arch = "aarch64")]
    // SAFETY: the assembly is a comment; it is taken to read the register and all of memory, and changes nothing.
    unsafe {
        std::arch::asm!("/* {0} */", in(reg) value, options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "aarch64"))]
    std::hint::black_box(value);
}

/// Uses what a pointer leads to where the compiler cannot see for what: everything written before must be in memory,
/// and everything read later is read anew.
#[inline]
pub(super) fn written<T>(pointer: *const T) {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    // SAFETY: the assembly is a comment; it is taken to read and write memory, and does neither.
    unsafe {
        std::arch::asm!("/* {0} */", in(reg) pointer, options(nostack, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    std::hint::black_box(pointer);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_values_stay_the_same() {
        assert_eq!([i32::MIN, -1, 0, 7].map(opaque_i32), [i32::MIN, -1, 0, 7]);
        assert_eq!([0, u64::MAX].map(opaque_u64), [0, u64::MAX]);
        assert_eq!(
            [0.1, -0.0, f64::INFINITY].map(|x| opaque_f64(x).to_bits()),
            [0.1, -0.0, f64::INFINITY].map(f64::to_bits)
        );
    }
}
