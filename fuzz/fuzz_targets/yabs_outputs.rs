//! Any bytes as any text that YABS may have printed.

#![no_main]

mod reader;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    reader::read("yabs", data);
});
