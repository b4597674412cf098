//! A machine, and one of each warning, refusal, state and failure.

use model::comparison::Refusal;
use model::estimate::State;
use model::host::{BlockDevice, Cache, Fact, HostFacts, IoThrottle};
use model::limit::Limit;
use model::look::Busy;
use model::plan::CaseId;
use model::record::{CommandEnd, Failure};
use model::units::{Bytes, Nanos};
use model::warning::{FailedFor, OffCpuCause, TargetLimit, Warning};
use stats::look::Seen;
use std::collections::BTreeMap;

/// A throttle of a device.
const THROTTLE: IoThrottle = IoThrottle {
    read_bytes_per_s: Some(100 << 20),
    write_bytes_per_s: None,
    reads_per_s: Some(300),
    writes_per_s: None,
};

/// A small VM in a container, with some facts hidden.
pub(crate) fn host() -> HostFacts {
    let known = |text: &str| Fact::Known(text.to_owned());
    let mut host = HostFacts {
        hostname: known("web-1"),
        locale: known("C.UTF-8"),
        ..HostFacts::default()
    };
    host.cpu.model = known("Example CPU @ 2.50GHz");
    host.cpu.arch = "x86_64".to_owned();
    host.cpu.online = Fact::Known(2);
    host.cpu.sockets = Fact::Known(1);
    host.cpu.cores = Fact::Known(1);
    host.cpu.threads_per_core = Fact::Known(2);
    host.cpu.mhz = Fact::Known(2500.0);
    host.cpu.caches = Fact::Known(vec![Cache {
        level: 1,
        kind: "data".to_owned(),
        size: Bytes(32_768),
        shared_by: 2,
    }]);
    host.cpu.flags = Fact::Known(vec!["fpu".to_owned(), "sse2".to_owned()]);
    host.limits.cgroup = known("v2");
    host.limits.cpu_quota = Fact::Known(Some(1.5));
    host.limits.cpus_allowed = Fact::Known(2);
    host.limits.memory = Fact::Known(None);
    host.limits.container = Fact::Known(Some("docker".to_owned()));
    host.limits.alone = Fact::Known(true);
    host.memory.total = Fact::Known(Bytes(4 << 30));
    host.memory.transparent_huge_pages = known("madvise");
    host.kernel.release = known("6.12.8");
    host.kernel.distribution = known("Debian GNU/Linux 12 (bookworm)");
    host.kernel.mitigations = Fact::Known(BTreeMap::from([
        ("meltdown".to_owned(), "Mitigation: PTI".to_owned()),
        ("mds".to_owned(), "Vulnerable: no microcode".to_owned()),
        ("tsx".to_owned(), "Not affected".to_owned()),
    ]));
    host.platform.virtualization = Fact::Known(Some("kvm".to_owned()));
    host.clock.source = known("tsc");
    host.clock.cost = Fact::Known(Nanos(24));
    host.storage.path = "/home/bench".to_owned();
    host.storage.file_system = known("ext4");
    host.storage.free = Fact::Known(Bytes(20 << 30));
    host.storage.devices = Fact::Known(vec![BlockDevice {
        name: "vda1".to_owned(),
        kind: "partition".to_owned(),
        size: Fact::Known(Bytes(25 << 30)),
        scheduler: known("none"),
        rotational: Fact::Known(true),
        model: Fact::Missing("no model file".to_owned()),
        throttle: Fact::Known(None),
        buffered: Fact::Known(false),
    }]);
    host.io.io_uring = Fact::Known(Some("disabled by sysctl".to_owned()));
    host.io.libaio = Fact::Known(None);
    host.programs = BTreeMap::from([("sort".to_owned(), known("/usr/bin/sort 9.1"))]);
    host
}

/// One of each warning.
pub(crate) fn all_warnings() -> Vec<Warning> {
    let rounds_share = 0.33;
    vec![
        Warning::RoundsFailed {
            failed: 2,
            of: 7,
            reason: "worker exited with code 3".to_owned(),
            others: Vec::new(),
        },
        Warning::RoundsFailed {
            failed: 7,
            of: 9,
            reason: "worker exited with code 3".to_owned(),
            others: ["two", "one", "a", "b", "c"]
                .map(|reason| FailedFor {
                    rounds: 1,
                    reason: reason.to_owned(),
                })
                .into(),
        },
        Warning::TooFewRounds { have: 4, need: 6 },
        Warning::Steal {
            rounds_share,
            worst_share: 0.12,
        },
        Warning::Throttled { rounds_share },
        Warning::ForeignCpu {
            rounds_share,
            process: Some("apt".to_owned()),
        },
        Warning::ForeignCpu {
            rounds_share,
            process: None,
        },
        Warning::Gaps { rounds_share },
        Warning::UnevenSpeed { rounds_share },
        Warning::UnevenSpeed { rounds_share: 0.9 },
        Warning::SharedCore {
            rounds_share,
            worst_share: 0.48,
        },
        Warning::ClockTrouble { rounds_share },
        Warning::OrderEffect {
            within_pass: false,
            change: -0.12,
        },
        Warning::OrderEffect {
            within_pass: true,
            change: 0.034,
        },
        Warning::WarmingUp {
            discarded: Nanos::from_millis(100),
            longer: Nanos::from_millis(300),
            effect: -0.021,
        },
        Warning::WorkDirInMemory {
            file_system: "tmpfs".to_owned(),
        },
        Warning::DebugBuild,
        Warning::SlowClock {
            source: "hpet".to_owned(),
        },
        Warning::PartOfProcesses,
        Warning::OffCpu {
            share: 0.5,
            copies: 4,
            cause: OffCpuCause::MoreCopiesThanCpus(2),
        },
        Warning::OffCpu {
            share: 0.25,
            copies: 2,
            cause: OffCpuCause::Quota(Some(1.5)),
        },
        Warning::OffCpu {
            share: 0.25,
            copies: 2,
            cause: OffCpuCause::Quota(None),
        },
        Warning::OffCpu {
            share: 0.1,
            copies: 2,
            cause: OffCpuCause::Steal,
        },
        Warning::OffCpu {
            share: 0.1,
            copies: 2,
            cause: OffCpuCause::Foreign,
        },
        Warning::OffCpu {
            share: 0.1,
            copies: 2,
            cause: OffCpuCause::Unknown,
        },
        Warning::CpuWorthLess {
            loss: 0.4,
            copies: 2,
            threads_share_cores: true,
            of_one_process: false,
        },
        Warning::CpuWorthLess {
            loss: 0.5,
            copies: 4,
            threads_share_cores: true,
            of_one_process: true,
        },
        Warning::CpuWorthLess {
            loss: 0.57,
            copies: 4,
            threads_share_cores: false,
            of_one_process: true,
        },
        Warning::CpuWorthLess {
            loss: 0.2,
            copies: 8,
            threads_share_cores: false,
            of_one_process: false,
        },
        Warning::Allocated { allocations: 17 },
        Warning::BudgetShort,
        target_missed(3, TargetLimit::Time),
        target_missed(4, TargetLimit::Rounds(9)),
        target_missed(5, TargetLimit::Scatter(28)),
        Warning::Limited(Limit::Cpu {
            share: 0.83,
            copies: 1,
            one_at_a_time: false,
        }),
        Warning::Limited(Limit::Cpu {
            share: 0.83,
            copies: 1,
            one_at_a_time: true,
        }),
        Warning::Limited(Limit::Cpu {
            share: 0.9,
            copies: 64,
            one_at_a_time: false,
        }),
        Warning::Limited(Limit::Late { share: 0.12 }),
        Warning::Limited(Limit::Cached {
            share: 0.68,
            direct: true,
        }),
        Warning::Limited(Limit::Cached {
            share: 0.68,
            direct: false,
        }),
        Warning::Limited(Limit::DeviceIdle { busy_share: 0.4 }),
        Warning::Limited(Limit::Throttled {
            device: "vda".to_owned(),
            throttle: THROTTLE,
        }),
        Warning::Limited(Limit::Buffered {
            device: "loop0".to_owned(),
        }),
        Warning::Other {
            what: "said by a workload".to_owned(),
        },
    ]
}

/// So many cases, named `os.pipe@1`, `os.pipe@2`... that missed a target of 2 %.
fn target_missed(cases: u32, limit: TargetLimit) -> Warning {
    Warning::TargetMissed {
        cases,
        target: 0.02,
        limit,
        which: (1..=cases)
            .map(|copies| CaseId {
                test: "os.pipe".to_owned(),
                copies,
            })
            .collect(),
    }
}

/// One of each refusal.
pub(crate) fn all_refusals() -> Vec<Refusal> {
    vec![
        Refusal::OneSideOnly { base_has_it: true },
        Refusal::OneSideOnly { base_has_it: false },
        Refusal::WorkloadVersion { base: 1, other: 2 },
        Refusal::Parameters(vec![(
            "bs".to_owned(),
            "4096".to_owned(),
            "8192".to_owned(),
        )]),
        Refusal::TooFewRounds {
            base: 6,
            other: 3,
            need: 6,
        },
        Refusal::TooFewRounds {
            base: 1,
            other: 9,
            need: 6,
        },
        Refusal::TooFewImported {
            base: 1,
            other: 6,
            need: 6,
        },
        Refusal::TooFewPairs {
            pairs: 5,
            need: 6,
            resume: None,
        },
        Refusal::TooFewPairs {
            pairs: 1,
            need: 6,
            resume: Some("20261121-004311-9f3ca".to_owned()),
        },
        Refusal::NoValue {
            base: true,
            other: true,
            why: "a 99th percentile needs 1000 operations".to_owned(),
        },
        Refusal::NoValue {
            base: false,
            other: true,
            why: "no round of it was run".to_owned(),
        },
        Refusal::TooFewRuns {
            base: 5,
            other: 2,
            need: 5,
        },
        Refusal::GroupDisagrees {
            on_base: true,
            runs: ("first".to_owned(), "second".to_owned()),
            why: Box::new(Refusal::WorkloadVersion { base: 1, other: 2 }),
        },
        Refusal::BeyondNumbers,
        Refusal::Declared("unit".to_owned(), "Seconds".to_owned(), "Bytes".to_owned()),
        Refusal::NoRatio {
            base_is_zero: false,
            other_is_zero: false,
        },
        Refusal::NoRatio {
            base_is_zero: false,
            other_is_zero: true,
        },
        Refusal::Soak {
            base: true,
            other: false,
        },
        Refusal::Soak {
            base: false,
            other: true,
        },
        Refusal::Soak {
            base: true,
            other: true,
        },
    ]
}

/// One of each thing that a look sees.
pub(crate) fn all_seen() -> Vec<Seen> {
    let busy = |name: &str, cpu_share| Busy {
        name: name.to_owned(),
        cpu_share,
    };
    vec![
        Seen::Others {
            cpu_share: 1.4,
            programs: vec![busy("rustc", 0.96), busy("cc1", 0.4)],
        },
        Seen::MemoryPressure { wait_share: 0.03 },
        Seen::LittleMemory {
            left_bytes: Bytes(120 << 20),
        },
        Seen::LittleSpace {
            needed_bytes: Bytes(1 << 30),
            room_bytes: Bytes(200 << 20),
        },
        Seen::Quota { cpus: Some(0.5) },
        Seen::Quota { cpus: None },
        Seen::Governor {
            name: "powersave".to_owned(),
        },
        Seen::Steal { share: 0.12 },
    ]
}

/// One of each state.
pub(crate) fn all_states() -> Vec<State> {
    vec![
        State::Unknown,
        State::Steady,
        State::Drifting { change: -0.05 },
        State::PossibleDrift { change: 0.04 },
        State::PossibleTwoState {
            apart: 1,
            change: -0.92,
        },
        State::PossibleTwoState {
            apart: 4,
            change: 0.08,
        },
        State::Step {
            after: 4,
            change: 0.12,
        },
        State::TwoState {
            low: 100.0,
            high: 150.0,
            low_share: 0.4,
            of_windows: false,
        },
        State::Series,
        State::Unstable { spread: 0.9 },
        State::Setting { alike: true },
        State::Setting { alike: false },
    ]
}

fn set_up(end: CommandEnd, said: &str) -> Failure {
    Failure::SetUp {
        command: "mount /mnt/x".to_owned(),
        end,
        said: said.to_owned(),
    }
}

/// One of each failure.
pub(crate) fn all_failures() -> Vec<Failure> {
    let said = "last words".to_owned();
    vec![
        Failure::Unsupported("no io_uring".to_owned()),
        Failure::Error("open `original`: EACCES".to_owned()),
        Failure::Exited {
            code: 3,
            said: said.clone(),
        },
        Failure::Exited {
            code: 3,
            said: String::new(),
        },
        Failure::Signal { signal: 11, said },
        Failure::OutOfMemory,
        Failure::Hung {
            stage: "set-up".to_owned(),
            after: Nanos::from_secs(5),
        },
        Failure::WrongResult("digest differs".to_owned()),
        set_up(CommandEnd::Exited(7), "no such disk"),
        set_up(CommandEnd::Signal(9), ""),
        set_up(CommandEnd::Hung(Nanos::from_secs(60)), ""),
        set_up(CommandEnd::NotStarted("ENOENT".to_owned()), ""),
    ]
}
