//! Counters read from trees that the tests build, and from the machine that the tests run on.

#![expect(
    clippy::disallowed_methods,
    reason = "the time limit of a test needs no calibrated clock"
)]

use super::*;
use std::path::Path;

/// A tree with these files; a path that ends in `/` is a directory.
pub(super) struct Fake(tempfile::TempDir);

impl Fake {
    pub(super) fn new(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for (path, content) in files {
            write(dir.path(), path, content.as_bytes());
        }
        Self(dir)
    }

    pub(super) fn tree(&self) -> Tree {
        Tree::at(self.0.path())
    }
}

fn write(root: &Path, path: &str, content: &[u8]) {
    let place = root.join(path.trim_start_matches('/'));
    if path.ends_with('/') {
        std::fs::create_dir_all(place).unwrap();
        return;
    }
    std::fs::create_dir_all(place.parent().unwrap()).unwrap();
    std::fs::write(place, content).unwrap();
}

pub(super) fn why<T: std::fmt::Debug>(result: Result<T, TreeError>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn cpu_ticks_are_read_by_kind() {
    let fake = Fake::new(&[(
        "/proc/stat",
        "cpu  30645 1 2279 152787 368 2 49 18 7 8\ncpu0 1 2 3\nintr 1\n",
    )]);
    let ticks = cpu(&fake.tree()).unwrap();
    assert_eq!(
        ticks,
        CpuTicks {
            user: 30645,
            nice: 1,
            system: 2279,
            idle: 152_787,
            iowait: 368,
            irq: 2,
            softirq: 49,
            steal: 18,
        }
    );
    assert_eq!(ticks.busy(), 30645 + 1 + 2279 + 2 + 49);
}

#[test]
fn ticks_that_run_backwards_count_as_nothing() {
    let earlier = CpuTicks {
        idle: 10,
        steal: 5,
        ..CpuTicks::default()
    };
    let later = CpuTicks {
        idle: 9,
        steal: 7,
        ..CpuTicks::default()
    };
    let between = later.since(earlier);
    assert_eq!((between.idle, between.steal), (0, 2));
}

#[test]
fn a_stat_file_that_lacks_something_says_what() {
    let check = |text: &str, expect: &str| {
        let fake = Fake::new(&[("/proc/stat", text)]);
        assert_eq!(why(cpu(&fake.tree())), expect);
    };
    check("", "parse `/proc/stat`: the first line is not `cpu`");
    check(
        "cpu0 1 2 3 4 5 6 7 8\n",
        "parse `/proc/stat`: the first line is not `cpu`",
    );
    check(
        "cpu  1 2 3 4 5 6 7\n",
        "parse `/proc/stat`: it has no steal",
    );
    check(
        "cpu  1 2 x 4 5 6 7 8\n",
        "parse `/proc/stat`: system is `x`, not a number",
    );
    assert_eq!(
        why(cpu(&Fake::new(&[]).tree())),
        "read `/proc/stat`: ENOENT"
    );
}

#[test]
fn pressure_is_the_total_of_some() {
    let fake = Fake::new(&[
        (
            "/proc/pressure/cpu",
            "some avg10=0.00 avg60=0.24 avg300=0.36 total=8508492\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1\n",
        ),
        ("/proc/pressure/io", "full avg10=0.00 total=5\n"),
    ]);
    let tree = fake.tree();
    assert_eq!(
        pressure(&tree, Resource::Cpu).unwrap(),
        Duration::from_micros(8_508_492)
    );
    assert_eq!(
        why(pressure(&tree, Resource::Io)),
        "parse `/proc/pressure/io`: it has no total of `some`"
    );
    assert_eq!(
        why(pressure(&tree, Resource::Memory)),
        "read `/proc/pressure/memory`: ENOENT"
    );
}

#[test]
fn memory_kills_of_the_machine_come_from_vmstat() {
    let fake = Fake::new(&[("/proc/vmstat", "nr_free_pages 9\noom_kill 3\n")]);
    assert_eq!(memory_kills(&fake.tree()).unwrap(), 3);
    let old = Fake::new(&[("/proc/vmstat", "nr_free_pages 9\noom_kill_x 3\n")]);
    assert_eq!(
        why(memory_kills(&old.tree())),
        "parse `/proc/vmstat`: it has no oom_kill"
    );
}

#[test]
fn process_names_may_hold_spaces_and_parentheses() {
    let tail = "S 1 42 42 0 -1 4194560 9 8 7 6 100 23 40 2 20 0 1 0 7777 1 1";
    let kernel = "I 2 0 0 0 -1 69238880 0 0 0 0 0 5 0 0 20 0 1 0 12 0 0";
    let fake = Fake::new(&[
        ("/proc/42/stat", &format!("42 (a) b (c d) {tail}\n") as &str),
        ("/proc/7/stat", &format!("7 (kworker/0:1H) {kernel}\n")),
        // Being reaped, and gone.
        ("/proc/8/stat", "8 (zombie) Z 0 -1 -1 0 -1 0 0\n"),
        ("/proc/9/", ""),
        ("/proc/self/stat", "broken"),
    ]);
    let mut found = processes(&fake.tree()).unwrap();
    found.seen.sort_by_key(|process| process.pid);
    assert_eq!(
        found.seen,
        [
            Process {
                pid: 7,
                parent: 2,
                group: 0,
                name: "kworker/0:1H".to_owned(),
                kernel: true,
                ticks: 5,
                children_ticks: 0,
                start: 12,
            },
            Process {
                pid: 42,
                parent: 1,
                group: 42,
                name: "a) b (c d".to_owned(),
                kernel: false,
                ticks: 123,
                children_ticks: 42,
                start: 7777,
            },
        ]
    );
}

#[test]
fn a_process_that_is_refused_or_odd_is_left_out_and_that_is_told() {
    let stat = |pid: u32| format!("{pid} (x) S 1 1 1 0 -1 0 0 0 0 0 1 2 3 4 20 0 1 0 9 0 0\n");
    let check = |files: &[(&str, &str)], expect: Result<(&[u32], bool), &str>| {
        let fake = Fake::new(files);
        let found = processes(&fake.tree()).map_err(|error| error.to_string());
        let found = found.map(|walk| {
            let mut pids: Vec<u32> = walk.seen.iter().map(|process| process.pid).collect();
            pids.sort_unstable();
            (pids, walk.is_part)
        });
        let expect = expect.map(|(pids, part)| (pids.to_vec(), part));
        assert_eq!(found, expect.map_err(str::to_owned), "{files:?}");
    };
    let (first, ours) = (stat(1), stat(42));
    let (first, ours) = (
        ("/proc/1/stat", &first as &str),
        ("/proc/42/stat", &ours as &str),
    );
    check(&[first, ours], Ok((&[1, 42], false)));
    // Ended meanwhile.
    check(&[first, ours, ("/proc/9/", "")], Ok((&[1, 42], false)));
    check(
        &[first, ours, ("/proc/9/stat", "odd")],
        Ok((&[1, 42], true)),
    );
    // Refused, as by hidepid=1: there is no permission that root lacks, but it cannot read a directory.
    check(&[first, ours, ("/proc/9/stat/", "")], Ok((&[1, 42], true)));
    // Not listed, as by hidepid=2.
    check(&[ours], Ok((&[42], true)));
    let why = "read `/proc/9/stat`: EISDIR";
    check(&[("/proc/9/stat/", "")], Err(why));
}

/// Every file that a reader opens.
const FILES: [&str; 12] = [
    "/proc/stat",
    "/proc/vmstat",
    "/proc/pressure/cpu",
    "/proc/1/stat",
    "/proc/self/cgroup",
    "/proc/self/mountinfo",
    "/cg/cpu.max",
    "/cg/cpu.stat",
    "/cg/memory.max",
    "/cg/memory.events",
    "/cg/cpu.cfs_quota_us",
    "/cg/memory.limit_in_bytes",
];

/// Text that resembles what the kernel writes, cut and mixed.
fn junk() -> impl proptest::strategy::Strategy<Value = Vec<u8>> {
    use proptest::prelude::*;
    let word = prop_oneof![
        Just("cpu ".to_owned()),
        Just("some total=".to_owned()),
        Just("1 (".to_owned()),
        Just(") S ".to_owned()),
        Just("0::/".to_owned()),
        Just("2:cpu,memory:/../x".to_owned()),
        Just("30 1 0:26 / /cg rw - cgroup2 c rw\n".to_owned()),
        Just("30 1 0:26 /.. /cg rw - cgroup c rw,cpu,memory\n".to_owned()),
        Just("oom_kill ".to_owned()),
        Just("throttled_usec ".to_owned()),
        Just("18446744073709551616 ".to_owned()),
        Just("18446744073709551615 ".to_owned()),
        Just("-1 ".to_owned()),
        Just("0 0".to_owned()),
        Just("\n".to_owned()),
        ".{0,12}",
    ];
    prop_oneof![
        proptest::collection::vec(word, 0..12).prop_map(|words| words.concat().into_bytes()),
        proptest::collection::vec(any::<u8>(), 0..64),
    ]
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]
    #[test]
    fn garbage_gives_errors_and_no_panic(contents in proptest::collection::vec(junk(), FILES.len())) {
        let fake = Fake::new(&[]);
        for (path, content) in FILES.iter().zip(&contents) {
            write(fake.0.path(), path, content);
        }
        let tree = fake.tree();
        let _ = cpu(&tree);
        let _ = memory_kills(&tree);
        let _ = pressure(&tree, Resource::Cpu);
        let _ = processes(&tree);
        if let Ok(groups) = Cgroups::find(&tree) {
            if let Ok(Some(quota)) = groups.cpu_quota(&tree) {
                assert!(quota.is_finite());
            }
            let _ = groups.memory_limit(&tree);
            let _ = groups.throttled(&tree);
            let _ = groups.memory_kills(&tree);
        }
    }
}

#[test]
fn on_this_machine_totals_grow_and_we_are_among_the_processes() {
    let tree = Tree::real();
    let before = cpu(&tree).unwrap();
    let own = std::process::id();
    let found = processes(&tree).unwrap();
    let us = found
        .seen
        .iter()
        .find(|process| process.pid == own)
        .unwrap();
    assert!(!us.kernel);
    assert_eq!(us.name, process::process(&tree, own).unwrap().name);
    let after = cpu(&tree).unwrap();
    assert!(after.busy() >= before.busy());
    Cgroups::find(&tree).unwrap();
}

mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: it times the machine"]
    fn a_walk_over_all_processes_takes_little_more_than_reading_their_files() {
        let own = std::fs::read_to_string("/proc/self/stat").unwrap();
        let files: Vec<String> = (1..=500).map(|pid| format!("/proc/{pid}/stat")).collect();
        let content: Vec<_> = files
            .iter()
            .map(|path| (path.as_str(), own.as_str()))
            .collect();
        let fake = Fake::new(&content);
        let tree = fake.tree();
        // The quickest of many, in turns: both are on the same machine at the same time.
        let mut quickest = [Duration::MAX; 2];
        for _ in 0..30 {
            let start = std::time::Instant::now();
            assert_eq!(processes(&tree).unwrap().seen.len(), 500);
            quickest[0] = quickest[0].min(start.elapsed());
            let start = std::time::Instant::now();
            for path in &files {
                assert_eq!(tree.read(path).unwrap().len(), own.len());
            }
            quickest[1] = quickest[1].min(start.elapsed());
        }
        assert!(quickest[0] < quickest[1] * 4, "{quickest:?}");
    }
}
