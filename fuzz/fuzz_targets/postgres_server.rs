//! Any bytes as what a PostgreSQL server says, while one logs in and as an answer.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| workloads::db::fuzzing::postgres_server(data));
