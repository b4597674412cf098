//! Any bytes as an output of sysbench.

#![no_main]

mod reader;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    reader::read("sysbench", data);
});
