//! Values of which the compiler no longer knows where they come from, at no cost.
//!
//! [`std::hint::black_box`] sends its value through memory, which costs several cycles; inside of a measured loop
//! that would be part of the figure. An empty piece of assembly keeps the value in its register. On architectures
//! other than x86-64 and aarch64 the twins by `black_box` serve, and the loops that use them are a little slower than
//! they need be. Wherever there is assembly, the twins are compiled for tests, and compared.
#![expect(
    unsafe_code,
    reason = "empty pieces of assembly as barriers for the compiler"
)]

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use assembly as here;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
use portable as here;

#[cfg(any(test, not(target_arch = "x86_64")))]
pub(super) use here::kept;
pub(super) use here::{opaque_f64, opaque_i32, opaque_u64, written};

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod assembly {
    use std::arch::asm;

    /// A function that hides a value in a register: with the register's kind and how the comment names it.
    macro_rules! hidden {
        ($(#[$doc:meta])* $name:ident, $kind:ty, $register:ident, $text:literal) => {
            $(#[$doc])*
            #[inline]
            pub(in crate::loops) fn $name(value: $kind) -> $kind {
                let mut value = value;
                // SAFETY: the assembly is a comment, so it changes neither the register nor anything else.
                unsafe {
                    asm!(
                        $text,
                        inout($register) value,
                        options(pure, nomem, nostack, preserves_flags)
                    );
                }
                value
            }
        };
    }

    #[cfg(target_arch = "x86_64")]
    hidden!(
        /// Hides an integer.
        opaque_i32, i32, reg, "/* {0:e} */"
    );
    #[cfg(target_arch = "aarch64")]
    hidden!(
        /// Hides an integer.
        opaque_i32, i32, reg, "/* {0:w} */"
    );
    hidden!(
        /// Hides a word.
        opaque_u64, u64, reg, "/* {0} */"
    );
    #[cfg(target_arch = "x86_64")]
    hidden!(
        /// Hides a floating-point number, in a floating-point register.
        opaque_f64, f64, xmm_reg, "/* {0} */"
    );
    #[cfg(target_arch = "aarch64")]
    hidden!(
        /// Hides a floating-point number, in a floating-point register.
        opaque_f64, f64, vreg, "/* {0:d} */"
    );

    /// Uses a word where the compiler cannot see for what, so that the turn of a loop that made it is kept.
    #[cfg(any(test, not(target_arch = "x86_64")))]
    #[inline]
    pub(in crate::loops) fn kept(value: u64) {
        // SAFETY: the assembly is a comment; it is taken to read the register and all of memory, and changes nothing.
        unsafe {
            asm!("/* {0} */", in(reg) value, options(nostack, preserves_flags));
        }
    }

    /// Uses what a pointer leads to where the compiler cannot see for what: everything written before must be in
    /// memory, and everything read later is read anew.
    #[inline]
    pub(in crate::loops) fn written<T>(pointer: *const T) {
        // SAFETY: the assembly is a comment; it is taken to read and write memory, and does neither.
        unsafe {
            asm!("/* {0} */", in(reg) pointer, options(nostack, preserves_flags));
        }
    }
}

/// The same by the standard library.
#[cfg(any(test, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod portable {
    use std::hint::black_box;

    #[inline]
    pub(in crate::loops) fn opaque_i32(value: i32) -> i32 {
        black_box(value)
    }

    #[inline]
    pub(in crate::loops) fn opaque_u64(value: u64) -> u64 {
        black_box(value)
    }

    #[inline]
    pub(in crate::loops) fn opaque_f64(value: f64) -> f64 {
        black_box(value)
    }

    #[inline]
    pub(in crate::loops) fn kept(value: u64) {
        black_box(value);
    }

    #[inline]
    pub(in crate::loops) fn written<T>(pointer: *const T) {
        black_box(pointer);
    }
}

#[cfg(test)]
mod tests {
    use super::{here, portable};

    #[test]
    fn hidden_values_stay_the_same_and_so_do_those_of_the_portable_twins() {
        for value in [i32::MIN, -1, 0, 7, i32::MAX] {
            assert_eq!(
                [here::opaque_i32, portable::opaque_i32].map(|hide| hide(value)),
                [value; 2]
            );
        }
        for value in [0, 1, 1 << 63, u64::MAX] {
            assert_eq!(
                [here::opaque_u64, portable::opaque_u64].map(|hide| hide(value)),
                [value; 2]
            );
        }
        for value in [0.1, -0.0, f64::INFINITY, f64::MIN_POSITIVE] {
            let hidden = [here::opaque_f64, portable::opaque_f64].map(|hide| hide(value).to_bits());
            assert_eq!(hidden, [value.to_bits(); 2]);
        }
    }

    #[test]
    fn barriers_change_nothing_that_is_stored_around_them() {
        let barriers = [
            (here::kept as fn(u64), here::written as fn(*const u64)),
            (portable::kept, portable::written),
        ];
        for (kept, written) in barriers {
            let mut values = vec![0; 8];
            for (value, n) in values.iter_mut().zip(1..) {
                *value = n;
                kept(*value);
            }
            written(values.as_ptr());
            assert_eq!(std::hint::black_box(values), [1, 2, 3, 4, 5, 6, 7, 8]);
        }
    }
}
