//! The C library that is inside what is linked statically: its own name for itself, for those who ask under what terms
//! the program may be handed on.

/// The library, with its version, that a build without a dynamic loader has inside, and the static helper of every
/// build: `GNU C Library (Debian GLIBC 2.36-9+deb12u14) stable release version 2.36.`. `None` where the compiler has no
/// static library, or one that does not name itself (musl).
#[must_use]
pub fn linked() -> Option<&'static str> {
    Some(env!("KURABE_C_LIBRARY")).filter(|name| !name.is_empty())
}
