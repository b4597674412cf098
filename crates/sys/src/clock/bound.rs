//! How far the clock of the day may be off, as the kernel knows it from whoever sets it.

#![expect(unsafe_code, reason = "adjtimex has no safe interface in std")]

use std::io;

/// The largest error of [`super::wall`] in nanoseconds: half of the way to the server that the clock follows, and what
/// it may have drifted since. `None` where nothing keeps it, and where who does tells no error: systemd-timesyncd says
/// that there is none at all. Source: adjtimex(2), `maxerror`, `esterror` and `STA_UNSYNC`.
pub fn wall_bound() -> io::Result<Option<u64>> {
    // SAFETY: `timex` holds integers alone, of which all bits 0 are a value.
    let mut told: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: `told` is a valid timex; without a mode nothing is changed.
    let state = unsafe { libc::adjtimex(&raw mut told) };
    if state < 0 {
        return Err(io::Error::last_os_error());
    }
    let is_kept = told.status & libc::STA_UNSYNC == 0 && told.esterror > 0;
    let bound = u64::try_from(told.maxerror).unwrap_or(u64::MAX);
    Ok(is_kept.then(|| bound.saturating_mul(1000)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_kept_has_a_bound() {
        // No test knows whether somebody keeps it; what is not kept grows to 16 s.
        if let Some(bound) = wall_bound().unwrap() {
            assert!(bound <= 20_000_000_000, "{bound}");
        }
    }
}
