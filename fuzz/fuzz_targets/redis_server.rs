//! Any bytes as replies of a Redis or Valkey server.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| workloads::db::fuzzing::redis_server(data));
