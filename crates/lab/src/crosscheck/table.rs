//! Every comparison: what is held against what, and what the ratio must be.

use super::checks::Copies::{All, Exactly};
use super::checks::Must::{AtLeast, Nothing, Within};
use super::checks::Original::{Chase, Exchange, Mbw, MbwAll, StressNgStream, Sysbench};
use super::checks::Reported::{
    EventsOverCpuTime, EventsOverTime, EventsPerSecond, Operations, Transferred,
};
use super::checks::{Check, Copies, Cpus, Must, Original, Reported};

const fn sysbench(
    name: &'static str,
    tests: &'static [&'static str],
    threads: u32,
    arguments: &'static [&'static str],
    figure: Reported,
) -> Check {
    Check {
        name,
        tests,
        copies: Exactly(threads),
        quantity: "ops_per_s",
        original: Sysbench(Exactly(threads), arguments, figure),
        must: Within(0.05),
    }
}

/// Both sides at once, by what they do in a second of CPU time: for work of CPUs only, of which the rate changes by
/// half with what the other hardware threads of the cores do meanwhile.
const fn sysbench_at_once(
    name: &'static str,
    tests: &'static [&'static str],
    threads: u32,
    arguments: &'static [&'static str],
    of_ours: f64,
) -> Check {
    Check {
        quantity: "ops_per_cpu_s",
        ..sysbench(name, tests, threads, arguments, EventsOverCpuTime(of_ours))
    }
}

const fn bandwidth(
    name: &'static str,
    tests: &'static [&'static str],
    copies: Copies,
    original: Original,
    must: Must,
) -> Check {
    Check {
        name,
        tests,
        copies,
        quantity: "bytes_per_s",
        original,
        must,
    }
}

const fn chase(
    name: &'static str,
    tests: &'static [&'static str],
    bytes: &'static str,
    loads: &'static str,
) -> Check {
    Check {
        name,
        tests,
        copies: Exactly(1),
        quantity: "ns_per_load",
        original: Chase(bytes, loads),
        must: Within(0.03),
    }
}

const fn exchange(
    name: &'static str,
    tests: &'static [&'static str],
    (protocol, cpus): (&'static str, Cpus),
    must: Must,
) -> Check {
    Check {
        name,
        tests,
        copies: Exactly(1),
        quantity: "ops_per_s",
        original: Exchange(protocol, cpus),
        must,
    }
}

const TCP_RR: &[&str] = &["net.local-rr"];
const UDP_RR: &[&str] = &["net.local-rr-udp"];
const CPU: &[&str] = &["cpu", "--time=2"];
const THREADS: &[&str] = &["threads", "--time=2"];
/// Ten of our events in each of theirs. Every thread does one, which with the usual 50,000 locks takes a fifth of a
/// second. The total time is that of the slower thread: where one CPU is disturbed more than the other, theirs is the
/// figure of the worse one and ours of both.
const MUTEX: &[&str] = &["mutex", "--mutex-locks=500000"];
const TEN: f64 = 10.0;
/// As long as rounds of ours are while both share the CPUs.
const MUTEX_LONG: &[&str] = &["mutex", "--mutex-locks=1000000"];
const TWENTY: f64 = 20.0;
const CPU_LONG: &[&str] = &["cpu", "--time=3"];
const WRITE_1K: &[&str] = &["memory", "--time=2", "--memory-total-size=900T"];
const READ_1K: &[&str] = &[
    "memory",
    "--time=2",
    "--memory-total-size=900T",
    "--memory-oper=read",
];
const WRITE_1M: &[&str] = &[
    "memory",
    "--time=2",
    "--memory-total-size=900T",
    "--memory-block-size=1M",
];
const READ_1M: &[&str] = &[
    "memory",
    "--time=2",
    "--memory-total-size=900T",
    "--memory-block-size=1M",
    "--memory-oper=read",
];
/// A block beyond every cache, one for each thread.
const WRITE_1G: &[&str] = &[
    "memory",
    "--time=5",
    "--memory-total-size=900T",
    "--memory-block-size=1G",
    "--memory-scope=local",
];
const READ_1G: &[&str] = &[
    "memory",
    "--time=5",
    "--memory-total-size=900T",
    "--memory-block-size=1G",
    "--memory-scope=local",
    "--memory-oper=read",
];

/// The kernels of ours that may be the fastest; the others do the same work with more waiting or more reading of what
/// is overwritten.
const KERNELS: &[&str] = &[
    "memory.read",
    "memory.copy-nt",
    "memory.triad-nt",
    "memory.read-x8",
    "memory.write-nt-x8",
    "memory.copy-nt-x8",
    "memory.triad-nt-x8",
];

/// Every comparison.
pub(super) const CHECKS: &[Check] = &[
    sysbench(
        "sysbench cpu, 1 thread",
        &["cpu.prime"],
        1,
        CPU,
        EventsPerSecond,
    ),
    sysbench(
        "sysbench cpu, 2 threads",
        &["cpu.prime"],
        2,
        CPU,
        EventsPerSecond,
    ),
    sysbench(
        "sysbench threads, 1",
        &["os.threads"],
        1,
        THREADS,
        EventsOverTime(1.0),
    ),
    sysbench(
        "sysbench threads, 2",
        &["os.threads"],
        2,
        THREADS,
        EventsOverTime(1.0),
    ),
    sysbench(
        "sysbench threads, 4",
        &["os.threads"],
        4,
        THREADS,
        EventsOverTime(1.0),
    ),
    sysbench(
        "sysbench mutex, 1",
        &["os.mutex"],
        1,
        MUTEX,
        EventsOverTime(TEN),
    ),
    sysbench(
        "sysbench mutex, 2",
        &["os.mutex"],
        2,
        MUTEX,
        EventsOverTime(TEN),
    ),
    sysbench_at_once(
        "sysbench cpu at once, 1 thread",
        &["cpu.prime"],
        1,
        CPU_LONG,
        1.0,
    ),
    sysbench_at_once(
        "sysbench cpu at once, 2 threads",
        &["cpu.prime"],
        2,
        CPU_LONG,
        1.0,
    ),
    sysbench_at_once(
        "sysbench mutex at once, 1",
        &["os.mutex"],
        1,
        MUTEX_LONG,
        TWENTY,
    ),
    sysbench_at_once(
        "sysbench mutex at once, 2",
        &["os.mutex"],
        2,
        MUTEX_LONG,
        TWENTY,
    ),
    sysbench(
        "sysbench memory write 1K",
        &["memory.block-write"],
        1,
        WRITE_1K,
        Operations,
    ),
    sysbench(
        "sysbench memory read 1K",
        &["memory.block-read"],
        1,
        READ_1K,
        Operations,
    ),
    sysbench(
        "sysbench memory write 1M",
        &["memory.block-write-1m"],
        1,
        WRITE_1M,
        Operations,
    ),
    sysbench(
        "sysbench memory read 1M",
        &["memory.block-read-1m"],
        1,
        READ_1M,
        Operations,
    ),
    bandwidth(
        "mbw MEMCPY",
        &["memory.mbw-memcpy"],
        Exactly(1),
        Mbw("-t0", 1.0),
        Nothing,
    ),
    bandwidth(
        "mbw DUMB",
        &["memory.mbw-dumb"],
        Exactly(1),
        Mbw("-t1", 1.0),
        Nothing,
    ),
    bandwidth(
        "mbw MEMCPY by its -t1",
        &["memory.mbw-memcpy"],
        Exactly(1),
        Mbw("-t1", 1.0),
        AtLeast(0.95),
    ),
    bandwidth(
        "mbw DUMB by its -t0",
        &["memory.mbw-dumb"],
        Exactly(1),
        Mbw("-t0", 1.0),
        AtLeast(0.95),
    ),
    bandwidth(
        "mbw MCBLOCK",
        &["memory.mbw-mcblock"],
        Exactly(1),
        Mbw("-t2", 1.0),
        AtLeast(0.95),
    ),
    // What a copy moves is read and written, so that mbw's figure counts half of what ours do.
    bandwidth(
        "best of ours, mbw -t0, 1",
        KERNELS,
        Exactly(1),
        Mbw("-t0", 2.0),
        AtLeast(1.0),
    ),
    bandwidth(
        "best of ours, mbw -t1, 1",
        KERNELS,
        Exactly(1),
        Mbw("-t1", 2.0),
        AtLeast(1.0),
    ),
    bandwidth(
        "best of ours, mbw -t0, all",
        KERNELS,
        All,
        MbwAll("-t0", 2.0),
        AtLeast(1.0),
    ),
    bandwidth(
        "best of ours, mbw -t1, all",
        KERNELS,
        All,
        MbwAll("-t1", 2.0),
        AtLeast(1.0),
    ),
    bandwidth(
        "best of ours, sysbench read 1G, 1",
        KERNELS,
        Exactly(1),
        Sysbench(Exactly(1), READ_1G, Transferred),
        AtLeast(1.0),
    ),
    bandwidth(
        "best of ours, sysbench write 1G, 1",
        KERNELS,
        Exactly(1),
        Sysbench(Exactly(1), WRITE_1G, Transferred),
        AtLeast(1.0),
    ),
    bandwidth(
        "best of ours, sysbench read 1G, all",
        KERNELS,
        All,
        Sysbench(All, READ_1G, Transferred),
        AtLeast(1.0),
    ),
    bandwidth(
        "best of ours, sysbench write 1G, all",
        KERNELS,
        All,
        Sysbench(All, WRITE_1G, Transferred),
        AtLeast(1.0),
    ),
    bandwidth(
        "best of ours, stress-ng stream, 1",
        KERNELS,
        Exactly(1),
        StressNgStream(Exactly(1)),
        AtLeast(1.0),
    ),
    bandwidth(
        "best of ours, stress-ng stream, all",
        KERNELS,
        All,
        StressNgStream(All),
        AtLeast(1.0),
    ),
    chase(
        "chase in C, 16 KiB",
        &["memory.latency-16k"],
        "16384",
        "50000000",
    ),
    chase(
        "chase in C, 1 MiB",
        &["memory.latency-1m"],
        "1048576",
        "20000000",
    ),
    chase(
        "chase in C, 32 MiB",
        &["memory.latency-32m"],
        "33554432",
        "8000000",
    ),
    chase(
        "chase in C, 512 MiB",
        &["memory.latency-512m"],
        "536870912",
        "4000000",
    ),
    exchange(
        "round trips in C, TCP, all on one CPU",
        TCP_RR,
        ("tcp", Cpus::One),
        Within(0.03),
    ),
    exchange(
        "round trips in C, UDP, all on one CPU",
        UDP_RR,
        ("udp", Cpus::One),
        Within(0.03),
    ),
    // Whether the scheduler puts the two threads on one CPU or on two decides the rate of either side.
    exchange(
        "round trips in C, TCP, on any CPU",
        TCP_RR,
        ("tcp", Cpus::Any),
        Nothing,
    ),
    exchange(
        "round trips in C, UDP, on any CPU",
        UDP_RR,
        ("udp", Cpus::Any),
        Nothing,
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_is_of_tests_that_exist_and_a_metric_that_they_have() {
        for check in CHECKS {
            for test in check.tests {
                let owner = workloads::ALL
                    .iter()
                    .find(|workload| workload.spec().tests.iter().any(|def| def.name == *test));
                let spec = owner.unwrap_or_else(|| panic!("{test}")).spec();
                let mut metrics = spec.metrics.iter();
                assert!(
                    metrics.any(|metric| metric.quantity == check.quantity),
                    "{test}"
                );
            }
        }
    }

    #[test]
    fn names_are_told_apart() {
        let mut names: Vec<&str> = CHECKS.iter().map(|check| check.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CHECKS.len());
    }
}
