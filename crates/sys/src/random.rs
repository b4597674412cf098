//! Numbers that nobody can guess: the kernel's, not those that are made from a seed here.

#![expect(unsafe_code, reason = "getrandom has no interface in std")]

use std::io;

/// So many come at once, and no signal interrupts that. Source: getrandom(2).
const AT_ONCE: usize = 256;

/// Fills `bytes`, at most 256 of them.
pub fn fill(bytes: &mut [u8]) -> io::Result<()> {
    assert!(bytes.len() <= AT_ONCE, "so many do not come at once");
    // SAFETY: `bytes` is valid to write to for its length.
    let count = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    if usize::try_from(count) == Ok(bytes.len()) {
        return Ok(());
    }
    Err(io::Error::last_os_error())
}
