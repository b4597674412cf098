//! Any bytes as what a MySQL or MariaDB server says, while one logs in and as an answer.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| workloads::db::fuzzing::mysql_server(data));
