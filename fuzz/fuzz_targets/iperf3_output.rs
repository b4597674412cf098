//! Any bytes as an output of iperf3.

#![no_main]

mod reader;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    reader::read("iperf3", data);
});
