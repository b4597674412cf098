//! Tests of set-up differences: what is named, and what is no difference.

use super::*;
use crate::fixture;

fn check(change: impl Fn(&mut Run), expect: &[(&str, &str, &str)]) {
    let known = |text: &str| Fact::Known(text.to_owned());
    let mut base = fixture::run(&[("os.pipe@1", Vec::new()), ("os.spawn@1", Vec::new())]);
    let host = &mut base.host;
    host.kernel.release = known("6.12.8");
    host.kernel.version = known("#1 SMP");
    host.kernel.mitigations = Fact::Known(BTreeMap::from([
        ("meltdown".to_owned(), "Not affected".to_owned()),
        ("spectre_v2".to_owned(), "Retpolines".to_owned()),
    ]));
    host.memory.transparent_huge_pages = known("madvise");
    host.memory.total = Fact::Known(Bytes(8 << 30));
    host.cpu.model = known("EPYC");
    host.cpu.mhz = Fact::Known(2400.0);
    host.cpu.flags = Fact::Known(["avx2", "sse2"].map(str::to_owned).to_vec());
    host.limits.cpu_quota = Fact::Known(None);
    host.storage.file_system = known("ext4");
    host.storage.devices = Fact::Known(vec![BlockDevice {
        name: "vda".to_owned(),
        kind: "disk".to_owned(),
        size: Fact::Known(Bytes(20 << 30)),
        scheduler: known("none"),
        rotational: Fact::Known(false),
        model: Fact::Missing("no model".to_owned()),
        throttle: Fact::Known(None),
        buffered: Fact::Known(false),
    }]);
    host.programs
        .insert("sh".to_owned(), known("/bin/dash 0.5"));
    host.io.io_uring = Fact::Known(None);
    host.platform.virtualization = Fact::Known(Some("kvm".to_owned()));
    let mut other = base.clone();
    change(&mut other);
    let found: Vec<(String, String, String)> = differences(&base, &other)
        .into_iter()
        .map(|difference| (difference.what, difference.base, difference.other))
        .collect();
    let expect: Vec<(String, String, String)> = expect
        .iter()
        .map(|&(what, base, other)| (what.to_owned(), base.to_owned(), other.to_owned()))
        .collect();
    assert_eq!(found, expect);
}

#[test]
fn known_facts_that_differ_are_named_with_both_values() {
    check(|_| (), &[]);
    check(
        |run| {
            run.host.kernel.release = Fact::Known("6.1.0".to_owned());
            run.host.kernel.version = Fact::Known("#2 SMP".to_owned());
        },
        &[("kernel", "6.12.8", "6.1.0")],
    );
    check(
        |run| run.host.kernel.version = Fact::Known("#2 SMP".to_owned()),
        &[("kernel: build", "#1 SMP", "#2 SMP")],
    );
    check(
        |run| {
            run.host.kernel.mitigations = Fact::Known(BTreeMap::from([
                ("meltdown".to_owned(), "Not affected".to_owned()),
                ("spectre_v2".to_owned(), "Vulnerable".to_owned()),
                ("srso".to_owned(), "Safe RET".to_owned()),
            ]));
        },
        &[
            ("mitigations: spectre_v2", "Retpolines", "Vulnerable"),
            ("mitigations: srso", "not listed", "Safe RET"),
        ],
    );
    check(
        |run| {
            run.host.cpu.flags = Fact::Known(["sse2", "avx512f"].map(str::to_owned).to_vec());
        },
        &[("CPU flags", "only here: avx2", "only here: avx512f")],
    );
    check(
        |run| run.host.limits.cpu_quota = Fact::Known(Some(1.5)),
        &[("CPU quota", "none", "1.5 CPUs")],
    );
    check(
        |run| run.host.io.io_uring = Fact::Known(Some("EPERM".to_owned())),
        &[("io_uring", "available", "refused: EPERM")],
    );
    check(
        |run| run.host.platform.virtualization = Fact::Known(None),
        &[("virtualization", "kvm", "none")],
    );
    check(
        |run| {
            let Fact::Known(devices) = &mut run.host.storage.devices else {
                panic!()
            };
            devices[0].scheduler = Fact::Known("bfq".to_owned());
        },
        &[("block device vda: scheduler", "none", "bfq")],
    );
    check(
        |run| {
            let path = Fact::Known("/bin/bash 5.2".to_owned());
            run.host.programs.insert("sh".to_owned(), path);
            let only_here = Fact::Known("9.1".to_owned());
            run.host.programs.insert("sort".to_owned(), only_here);
        },
        &[("program: sh", "/bin/dash 0.5", "/bin/bash 5.2")],
    );
}

#[test]
fn the_program_that_measured_is_part_of_the_set_up() {
    check(
        |run| {
            run.meta.binary.version = "0.2.0".to_owned();
            run.meta.binary.commit = Some("abc".to_owned());
            run.meta.binary.build = "debug".to_owned();
            run.meta.binary.linked_statically = false;
        },
        &[
            ("binary: version", "0.1.0", "0.2.0"),
            ("binary: build", "release", "debug"),
            ("binary: linking", "static", "dynamic"),
        ],
    );
    check(
        |run| {
            for case in &mut run.plan.cases {
                case.shape.measure = Nanos::from_millis(200);
            }
        },
        &[(
            "length of a round, such as of os.pipe@1",
            "0.5 s after 0.1 s of warm-up",
            "0.2 s after 0.1 s of warm-up",
        )],
    );
}

#[test]
fn unknown_facts_and_stated_figures_within_tolerance_are_no_difference() {
    check(|run| run.host = HostFacts::default(), &[]);
    check(|run| run.host.cpu.mhz = Fact::Known(2430.0), &[]);
    check(
        |run| run.host.memory.total = Fact::Known(Bytes((8 << 30) - 9_000_000)),
        &[],
    );
    check(
        |run| run.host.memory.total = Fact::Known(Bytes(4 << 30)),
        &[("memory", "8 GiB", "4 GiB")],
    );
    check(|run| run.host.hostname = Fact::Known("b".to_owned()), &[]);
}

#[test]
fn what_is_measured_is_a_difference_of_set_up() {
    let named = |path: &str, serial: &str, writes| Named {
        path: path.to_owned(),
        kind: model::named::NamedKind::Device,
        stands_in: true,
        writes,
        size: Fact::Known(Bytes(20 << 30)),
        devices: Fact::Known(Vec::new()),
        serial: Fact::Known(serial.to_owned()),
        server: Vec::new(),
    };
    check(
        |run| run.plan.named = vec![named("/dev/vdb", "ab", false)],
        &[(
            "measured device",
            "none: what the run makes itself",
            "/dev/vdb, only read",
        )],
    );
    let differ = |base: Named, other: Named| {
        let mut run = fixture::run(&[("os.pipe@1", Vec::new())]);
        run.plan.named = vec![base];
        let mut there = run.clone();
        there.plan.named = vec![other];
        let found = differences(&run, &there);
        found.into_iter().map(|d| d.what).collect::<Vec<_>>()
    };
    let here = || named("/dev/vdb", "ab", true);
    assert_eq!(differ(here(), here()), [""; 0]);
    assert_eq!(
        differ(here(), named("/dev/vdb", "ab", false)),
        ["measured device"]
    );
    assert_eq!(
        differ(here(), named("/dev/vdb", "cd", true)),
        ["measured device: digest of the serial number"]
    );
}

#[test]
fn other_code_for_the_same_test_is_a_difference_of_set_up_and_said_once_per_test() {
    let run = |code: &[Option<&str>]| {
        let mut run = fixture::run(&[
            ("cpu.sha256@1", Vec::new()),
            ("cpu.sha256@2", Vec::new()),
            ("os.pipe@1", Vec::new()),
        ]);
        for (case, code) in run.plan.cases.iter_mut().zip(code) {
            case.implementation = code.map(ToOwned::to_owned);
        }
        run
    };
    let differ = |a: &[Option<&str>], b: &[Option<&str>]| -> Vec<_> {
        let found = differences(&run(a), &run(b));
        found
            .into_iter()
            .map(|d| (d.what, d.base, d.other))
            .collect()
    };
    let (new, old) = (Some("SHA-NI"), Some("portable"));
    let expected = (
        "code that runs: cpu.sha256".to_owned(),
        "SHA-NI".to_owned(),
        "portable".to_owned(),
    );
    assert_eq!(differ(&[new, new, None], &[old, old, None]), [expected]);
    assert_eq!(differ(&[new, new, None], &[new, new, old]), []);
}
