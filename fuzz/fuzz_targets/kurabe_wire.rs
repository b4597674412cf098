//! Any bytes as what an end of our own network protocol says.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| workloads::net::own::fuzzing::words(data));
