//! Any bytes as a load file of dbench.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Err(error) = workloads::fs::dbench::load_digest(data) {
        assert!(!error.is_empty());
    }
});
