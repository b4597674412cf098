//! Any bytes as the address of a database server.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| workloads::db::fuzzing::address(data));
