//! Tests of the binary: what a user types, what comes out on both streams, and the exit code.
//!
//! Most of them run `selftest.replay`, which plays a known series, so that output is exact whatever the machine does.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod alone;
mod bed;
mod bonnie;
mod commands;
mod comparisons;
mod disks;
mod documents;
mod duels;
mod duels_set_up;
mod exports;
mod familiar;
mod faults;
mod file_loads;
mod files;
mod fio;
mod foreign;
mod grounds;
mod helps;
mod imports;
mod inherited;
mod known;
mod limits;
mod lists;
mod looks;
mod lost;
mod mariadb;
mod memory;
mod net_local;
mod net_serve;
mod net_serve_faults;
mod offers;
mod open_loop;
mod owned;
mod password;
mod postgres;
mod postgres_away;
mod postgres_duels;
mod postgres_pooler;
mod postgres_tpcb;
mod profiles;
mod redis;
mod redis_broken;
mod redis_doors;
mod redis_meanwhile;
mod reports;
mod root;
mod runs;
mod scatter;
mod server_faults;
mod servers;
mod sets;
mod shells;
mod soaks;
mod storage;
mod stores;
mod strangers;
mod tls;
mod vdbench;
mod work_dirs;
