//! Any bytes as what an end of iperf3's protocol says.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| workloads::net::iperf3::fuzzing::wire(data));
