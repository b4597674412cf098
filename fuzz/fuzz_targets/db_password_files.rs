//! Any bytes as files of passwords: `~/.pgpass` and `~/.my.cnf`.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| workloads::db::fuzzing::password_files(data));
