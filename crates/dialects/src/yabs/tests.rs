//! Outputs of made-up machines.

use super::*;

const OUTPUT: &str = r#"$ curl -sL yabs.sh | bash -s -- -j
{"version":"v2026-07-03","time":"20261104-030201","os":{"arch":"x64","distro":"Debian 13"},
"cpu":{"model":"Made-up CPU","cores":3},"fio":[
{"bs":"4k","speed_r":1000,"iops_r":250,"speed_w":1004,"iops_w":251,"speed_rw":2004,"iops_rw":501,"speed_units":"KBps"},
{"bs":"1m","speed_r":"30720","iops_r":30,"speed_w":0,"iops_w":0,"speed_rw":30720,"iops_rw":30},
{"bs":"8k","speed_r":1}],
"iperf":[{"mode":"IPv4","provider":"Example Net","loc":"Oslo, NO (10G)","send":"800 Mbits/sec","recv":"busy ","latency":"12.5 ms"},
{"mode":"IPv6","provider":"Example Net","loc":"Oslo, NO (10G)","send":"1.20 Gbits/sec","recv":"640 Kbits/sec"}],
"geekbench":[{"version":6,"single":1500,"multi":4200,"url":"https://example.org"},{"version":5,"single":0,"multi":""}]}
"#;

fn values(figures: &Figures) -> Vec<(&str, f64)> {
    let values = figures.values.iter();
    values
        .map(|figure| (figure.quantity.as_str(), figure.value))
        .collect()
}

#[test]
fn each_program_of_the_script_has_figures() {
    let found = read(OUTPUT);
    let tests: Vec<(&str, u32)> = found
        .figures
        .iter()
        .map(|figures| (figures.test.as_str(), figures.copies))
        .collect();
    assert_eq!(
        tests,
        [
            ("yabs.fio-4k", 2),
            ("yabs.fio-1m", 2),
            ("yabs.iperf3-ipv4-example-net-oslo-no-10g", 8),
            ("yabs.iperf3-ipv6-example-net-oslo-no-10g", 8),
            ("yabs.geekbench6-single", 1),
            ("yabs.geekbench6-multi", 3),
        ]
    );
    let [disk, large, net, net6, single, multi] = &found.figures[..] else {
        panic!("six of them were counted");
    };
    assert_eq!(
        values(disk),
        [
            ("iops", 501.0),
            ("read_iops", 250.0),
            ("write_iops", 251.0),
            ("bw_bytes_per_s", 2_052_096.0),
            ("read_bw_bytes_per_s", 1_024_000.0),
            ("write_bw_bytes_per_s", 1_028_096.0),
        ]
    );
    // A zero is a test that failed.
    assert_eq!(values(large).len(), 4);
    assert_eq!(
        values(net),
        [("send_bytes_per_s", 1e8), ("ping_ns", 12.5e6)]
    );
    assert_eq!(
        values(net6),
        [("send_bytes_per_s", 1.5e8), ("recv_bytes_per_s", 8e4)]
    );
    assert_eq!(values(single), [("score", 1500.0)]);
    assert_eq!(values(multi), [("score", 4200.0)]);
    let version = disk.version.as_deref();
    assert_eq!(version, Some("v2026-07-03"));
    assert_eq!(
        disk.when.unwrap().rfc3339(),
        "2026-11-04T03:02:01.000000000Z"
    );
    let left: Vec<&str> = found
        .left_out
        .iter()
        .map(|part| part.what.as_str())
        .collect();
    assert_eq!(
        left,
        [
            "a run of fio of another kind: bs `8k`",
            "iperf3, Example Net, recv: busy",
            "Geekbench 5: no `single` score",
            "Geekbench 5: no `multi` score",
        ]
    );
}

#[test]
fn its_runs_of_fio_are_a_test_of_ours_where_the_size_of_the_file_is_known() {
    let check = |arch: &str, size: Option<&str>| {
        let found = read(&OUTPUT.replace("x64", arch));
        let ours = found.figures[0].ours.clone();
        let set = ours.map(|ours| {
            assert_eq!(ours.test, "familiar.yabs-4k");
            ours.set
        });
        let value = |key: &str| {
            let set = set.iter().flatten().find(|(name, _)| *name == key);
            set.map(|(_, value)| value.as_str())
        };
        assert_eq!(value("size"), size, "{arch}");
        assert_eq!(value("runtime"), size.map(|_| "30s"), "{arch}");
    };
    check("x64", Some("2G"));
    check("aarch64", Some("512M"));
    check("riscv", None);
}

#[test]
fn what_is_cut_or_of_another_program_gives_nothing() {
    for end in 0..OUTPUT.trim_end().len() {
        assert_eq!(read(&OUTPUT[..end]), Found::default(), "{end}");
    }
    let check = |text: &str| assert_eq!(read(text), Found::default(), "{text}");
    check(r#"{"version":"1.2","fio":[{"bs":"4k","iops_r":1}]}"#);
    check(r#"{"version":"v2026-7-3","fio":[{"bs":"4k","iops_r":1}]}"#);
    check(r#"{"version":2026,"fio":[{"bs":"4k","iops_r":1}]}"#);
    check(
        r#"{"version":"v2026-07-03","fio":7,"iperf":{},"geekbench":[[]]}"#
            .replace("{}", "[]")
            .as_str(),
    );
    check(&"{\"version\":\"v2026-07-03\",\"fio\":".repeat(100_000));
}

#[test]
fn what_is_written_in_its_layout_reads_back_to_the_same_figures() {
    use model::host::Fact;
    use model::params::ParamValue;
    use model::plan::PlannedCase;
    use model::record::Outcome;
    use model::units::{Bytes, Nanos};
    let case = |id: &str, block: u64, size: u64| PlannedCase {
        params: [
            ("bs", ParamValue::Size(Bytes(block))),
            ("size", ParamValue::Size(Bytes(size))),
            ("runtime", ParamValue::Duration(Nanos::from_secs(5))),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into_iter()
        .collect(),
        ..testkit::case(id, Vec::new())
    };
    let mut run = testkit::run(vec![
        case("familiar.yabs-4k@2", 4096, 512 << 20),
        case("familiar.yabs-1m@2", 1 << 20, 2 << 30),
        // One that gave no value.
        case("familiar.yabs-64k@2", 65_536, 2 << 30),
    ]);
    run.host.cpu.arch = "x86_64".to_owned();
    run.host.cpu.model = Fact::Known("Made \"up\" CPU".to_owned());
    let figures = [
        ("familiar.yabs-4k@2", [12_800.2, 12_799.6, 25_599.8]),
        ("familiar.yabs-1m@2", [301.4, 298.6, 600.0]),
    ];
    for (id, [read, write, both]) in figures {
        let values = [("read_iops", read), ("write_iops", write), ("iops", both)];
        let done = Outcome::Done(testkit::measured(&values));
        run.rounds
            .push(testkit::round(&id.parse().unwrap(), 1, done));
    }
    let text = report_json(&run).unwrap();
    let found = read(&text);
    assert_eq!(found.left_out, []);
    let tests: Vec<&str> = found.figures.iter().map(|one| one.test.as_str()).collect();
    assert_eq!(tests, ["yabs.fio-4k", "yabs.fio-1m"]);
    for ((figures, (test, iops)), block) in
        found.figures.iter().zip(figures).zip([4096.0, 1_048_576.0])
    {
        // As whole numbers, which is what the program prints.
        let value = |quantity: &str| {
            let mut all = figures.values.iter();
            all.find(|one| one.quantity == quantity).unwrap().value
        };
        for (at, way) in ["read_", "write_", ""].into_iter().enumerate() {
            let (ops, bytes) = (
                value(&format!("{way}iops")),
                value(&format!("{way}bw_bytes_per_s")),
            );
            assert!((ops - iops[at]).abs() <= 0.5, "{test} {way}: {ops}");
            assert!(
                (bytes - iops[at] * block).abs() <= 512.0,
                "{test} {way}: {bytes}"
            );
        }
        let ours = figures.ours.as_ref().unwrap();
        assert_eq!(format!("{}@2", ours.test), test);
        assert_eq!(figures.params["runtime"], "5");
    }
    assert_eq!(found.figures[0].params["size"], "512M");
    assert_eq!(found.figures[0].when, Some(UnixNanos(testkit::START.0)));
    assert!(text.contains("not YABS"));
    run.rounds.clear();
    assert_eq!(report_json(&run), None);
}

#[test]
fn bad_input_is_survived() {
    crate::figures::testkit::survives(&READER, &[OUTPUT]);
}
