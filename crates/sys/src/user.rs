//! Whose rights this process has, and giving up those of root for good.
//!
//! Who serves strangers needs no rights but to talk: what they find in it should be worth nothing.

#![expect(unsafe_code, reason = "std changes users of children alone")]

use std::io;

/// The user and the group that own nothing: `nobody`. Source: `DEFAULT_OVERFLOWUID` of the kernel, and the same number
/// in every distribution's /etc/passwd.
pub const NOBODY: u32 = 65534;

/// Why a process still has more rights than it should.
#[derive(Debug, thiserror::Error)]
pub enum KeptRoot {
    /// The kernel refused a step.
    #[error("give up root: {call} to {NOBODY} (nobody): {error}")]
    Refused {
        /// Which step.
        call: &'static str,
        /// What the kernel said.
        error: io::Error,
    },
    /// It said yes, and root can be had back.
    #[error("give up root: the kernel lets this process become root again")]
    ComesBack,
}

/// Whether this process is root, or can become it.
pub fn may_be_root() -> bool {
    // SAFETY: takes nothing and cannot fail.
    let real = unsafe { libc::getuid() };
    // SAFETY: takes nothing and cannot fail.
    let effective = unsafe { libc::geteuid() };
    real == 0 || effective == 0
}

/// Makes this process one of [`NOBODY`], in no other group, for good. The C library does it for every thread. To be
/// called where [`may_be_root`].
pub fn give_up_root() -> Result<(), KeptRoot> {
    // Groups first: whoever is no longer root cannot leave any.
    // SAFETY: no groups are read where their number is 0.
    done("setgroups", unsafe { libc::setgroups(0, std::ptr::null()) })?;
    // SAFETY: takes plain integers.
    done("setresgid", unsafe {
        libc::setresgid(NOBODY, NOBODY, NOBODY)
    })?;
    // SAFETY: takes plain integers.
    done("setresuid", unsafe {
        libc::setresuid(NOBODY, NOBODY, NOBODY)
    })?;
    // Capabilities went with the user id, unless somebody had switched that off (capabilities(7), securebits).
    // SAFETY: takes plain integers.
    let again = unsafe { libc::setresuid(0, 0, 0) };
    if again == 0 || may_be_root() {
        return Err(KeptRoot::ComesBack);
    }
    Ok(())
}

fn done(call: &'static str, result: libc::c_int) -> Result<(), KeptRoot> {
    if result == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    Err(KeptRoot::Refused { call, error })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_we_are_is_what_the_kernel_says() {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status
            .lines()
            .find(|line| line.starts_with("Uid:"))
            .unwrap();
        let ids: Vec<&str> = line.split_whitespace().skip(1).take(2).collect();
        assert_eq!(may_be_root(), ids.contains(&"0"), "{line}");
    }

    #[test]
    fn a_step_that_is_refused_is_named() {
        let why = done("setresuid", -1).unwrap_err().to_string();
        assert!(why.contains("give up root: setresuid to 65534"), "{why}");
    }
}
