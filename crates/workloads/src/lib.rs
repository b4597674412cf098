//! Every workload there is: one file each, one line each in [`ALL`], and the profiles made of them.

use engine::workload::Workload;

mod arrivals;
pub mod bracket;
mod connect;
mod cpu;
pub mod db;
mod first_write;
pub mod fs;
mod memory;
pub mod net;
mod open_loop;
mod os;
pub mod profiles;
mod selftest;
pub mod storage;
mod sysbench;
mod unixbench;

/// Every workload, alphabetic by name.
pub static ALL: &[&dyn Workload] = &[
    &cpu::AES_GCM,
    &cpu::BLAKE3,
    &cpu::DHRYSTONE,
    &cpu::JSON,
    &cpu::MATMUL,
    &cpu::PRIME,
    &cpu::SHA256,
    &cpu::SORT,
    &cpu::WHETSTONE,
    &cpu::ZSTD,
    &cpu::SYSBENCH_CPU,
    &db::KV,
    &db::OLTP,
    &db::SLO,
    &db::TPCB,
    &storage::FAMILIAR,
    &fs::BONNIE,
    &fs::BONNIE_FILES,
    &fs::COPY,
    &fs::DBENCH,
    &fs::DURABLE,
    &fs::FILEIO,
    &fs::FILES,
    &fs::sets::SETS,
    &fs::sets::VDBENCH,
    &memory::BANDWIDTH,
    &memory::BLOCK,
    &memory::LATENCY,
    &memory::LEVELS,
    &memory::LOADED,
    &memory::MBW,
    &memory::ROUND_TRIP,
    &net::CONNECT,
    &net::LOCAL_CONNECT,
    &net::LOCAL_RR,
    &net::LOCAL_TCP,
    &net::RR,
    &net::TCP,
    &net::UDP,
    &net::UDP_MAX,
    &os::CONTEXT,
    &os::EXECL,
    &os::EXECL_STATIC,
    &os::MUTEX,
    &os::PIPE,
    &os::SHELL,
    &os::SPAWN,
    &os::SYSCALL,
    &os::THREADS,
    &selftest::FAULT,
    &selftest::GROUND,
    &selftest::NULL,
    &selftest::REPLAY,
    &selftest::SLEEP,
    &first_write::FIRST_WRITE,
    &storage::IO,
    &storage::JOBS,
];

/// Whether a workload tests the program itself: what comes out is known before, whatever else runs.
pub fn is_selftest(workload: &str) -> bool {
    workload.starts_with("selftest.")
}

/// The workload of this name.
pub fn find(name: &str) -> Option<&'static dyn Workload> {
    ALL.iter()
        .copied()
        .find(|workload| workload.spec().name == name)
}
