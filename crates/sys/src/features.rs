//! Instruction sets beyond the architecture's base: what this CPU has, and the operating system lets us use.
//!
//! The same question that cryptographic and other crates ask before they choose among their implementations, so that
//! a result can name the one that ran. The only place for `cfg(target_arch)` in such questions.

/// Whether the instructions called `name` (the compiler's word for them) may be used. Those of another architecture
/// may not. Panics for a name that is not in the list below: a bug of the caller.
#[must_use]
pub fn has(name: &str) -> bool {
    assert!(
        X86.contains(&name) || AARCH64.contains(&name),
        "instructions `{name}` are not known here"
    );
    detected(name)
}

/// The architecture that this program was compiled for: `x86_64`, `aarch64`...
#[must_use]
pub const fn architecture() -> &'static str {
    std::env::consts::ARCH
}

/// Names of x86-64. `aarch64` shares some words for other instructions.
const X86: &[&str] = &[
    "aes",
    "avx",
    "avx2",
    "avx512f",
    "avx512vl",
    "bmi2",
    "fma",
    "pclmulqdq",
    "sha",
    "sse4.1",
    "vaes",
];

/// Names of aarch64.
const AARCH64: &[&str] = &["aes", "neon", "sha2"];

#[cfg(target_arch = "x86_64")]
fn detected(name: &str) -> bool {
    use std::arch::is_x86_feature_detected as detected;
    match name {
        "aes" => detected!("aes"),
        "avx" => detected!("avx"),
        "avx2" => detected!("avx2"),
        "avx512f" => detected!("avx512f"),
        "avx512vl" => detected!("avx512vl"),
        "bmi2" => detected!("bmi2"),
        "fma" => detected!("fma"),
        "pclmulqdq" => detected!("pclmulqdq"),
        "sha" => detected!("sha"),
        "sse4.1" => detected!("sse4.1"),
        "vaes" => detected!("vaes"),
        _ => false,
    }
}

#[cfg(target_arch = "aarch64")]
fn detected(name: &str) -> bool {
    use std::arch::is_aarch64_feature_detected as detected;
    match name {
        "aes" => detected!("aes"),
        "neon" => detected!("neon"),
        "sha2" => detected!("sha2"),
        _ => false,
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn detected(_: &str) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel's words for the same instructions (`/proc/cpuinfo`), where they differ from the compiler's.
    fn in_cpuinfo(name: &str) -> &str {
        match name {
            "sha" => "sha_ni",
            "sse4.1" => "sse4_1",
            same => same,
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn agrees_with_the_kernel() {
        let info = std::fs::read_to_string("/proc/cpuinfo").unwrap();
        let line = info.lines().find(|line| line.starts_with("flags")).unwrap();
        let flags: Vec<&str> = line.split_whitespace().collect();
        for name in X86 {
            assert_eq!(has(name), flags.contains(&in_cpuinfo(name)), "{name}");
        }
        assert!(!has("neon"));
    }

    #[test]
    #[should_panic(expected = "not known")]
    fn a_misspelt_name_is_a_bug_and_not_a_no() {
        let _ = has("avx3");
    }
}
