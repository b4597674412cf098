//! Tables of made-up machines.

use super::*;
use crate::figures::testkit::{one, quoted, value};
use crate::yabs::READER;

/// The head of an output, for a version.
fn head(version: &str) -> String {
    format!(
        "# ## ## ## ## #\n#   Yet-Another-Bench-Script   #\n#   {version}   #\n# ## ## ## ## #\n\n\
         Tue Nov  3 09:15:00 AM JST 2026\n\n\
         Basic System Information:\n---------------------------------\n\
         Uptime     : 0 days, 0 hours, 5 minutes\nProcessor  : AMD EPYC of nowhere\nCPU cores  : 3 @ 2000.000 MHz\n\n"
    )
}

/// 4096 bytes 12,300 times a second are 50.38 MB, and 49.20 thousands of KiB.
fn disks(speeds: [&str; 6]) -> String {
    let [r4, w4, t4, r64, w64, t64] = speeds;
    format!(
        "fio Disk Speed Tests (Mixed R/W 50/50) (Partition /dev/vda1):\n---------------------------------\n\
         Block Size | 4k            (IOPS) | 64k           (IOPS)\n\
         \x20 ------   | ---            ----  | ----           ---- \n\
         Read       | {r4}   (12.3k) | {r64}  (1.0k)\nWrite      | {w4}   (12.3k) | {w64}  (1.0k)\n\
         Total      | {t4}  (24.6k) | {t64}  (2.0k)\n"
    )
}

const DECIMAL: [&str; 6] = [
    "50.38 MB/s",
    "50.39 MB/s",
    "100.77 MB/s",
    "65.80 MB/s",
    "65.90 MB/s",
    "131.70 MB/s",
];
const BINARY: [&str; 6] = [
    "49.20 MB/s",
    "49.21 MB/s",
    "98.41 MB/s",
    "64.25 MB/s",
    "64.35 MB/s",
    "128.60 MB/s",
];

const NETWORK: &str = "\niperf3 Network Speed Tests (IPv4):\n---------------------------------\n\
Provider        | Location (Link)           | Send Speed      | Recv Speed      | Ping           \n\
-----           | -----                     | ----            | ----            | ----           \n\
Example Net     | Oslo, NO (10G)            | 800 Mbits/sec   | busy            | 12.5 ms        \n\
Other Net       | Kyoto, JP (100G)          | 1.20 Gbits/sec  | 640 Kbits/sec   | --             \n";

const SCORES_6: &str = "\nGeekbench 6 Benchmark Test:\n---------------------------------\n\
Test            | Value                         \n                |                               \n\
Single Core     | 1500                          \nMulti Core      | 4200                          \n\
Full Test       | https://example.org/1\n\nYABS completed in 9 min 1 sec\n";

fn whole() -> String {
    head("v2026-09-01") + &disks(DECIMAL) + NETWORK + SCORES_6
}

fn left(found: &Found) -> Vec<&str> {
    found
        .left_out
        .iter()
        .map(|part| part.what.as_str())
        .collect()
}

fn speed(text: &str) -> Option<f64> {
    let found = (READER.read)(text);
    value(
        one(&found, 0, "yabs.fio-4k").unwrap(),
        "read_bw_bytes_per_s",
    )
}

#[test]
fn each_table_has_the_figures_that_the_json_has() {
    let found = (READER.read)(&whole());
    let tests: Vec<(&str, u32)> = found
        .figures
        .iter()
        .map(|one| (one.test.as_str(), one.copies))
        .collect();
    assert_eq!(
        tests,
        [
            ("yabs.fio-4k", 2),
            ("yabs.fio-64k", 2),
            ("yabs.iperf3-ipv4-example-net-oslo-no-10g", 8),
            ("yabs.iperf3-ipv4-other-net-kyoto-jp-100g", 8),
            ("yabs.geekbench6-single", 1),
            ("yabs.geekbench6-multi", 3),
        ]
    );
    let disk = &found.figures[0];
    let values: Vec<(&str, f64)> = disk
        .values
        .iter()
        .map(|v| (v.quantity.as_str(), v.value.round()))
        .collect();
    assert_eq!(
        values,
        [
            // Of the speeds, which have more digits.
            ("iops", 24_602.0),
            ("read_iops", 12_300.0),
            ("write_iops", 12_302.0),
            ("bw_bytes_per_s", 100_770_000.0),
            ("read_bw_bytes_per_s", 50_380_000.0),
            ("write_bw_bytes_per_s", 50_390_000.0),
        ]
    );
    let of = |at: usize, quantity| value(&found.figures[at], quantity);
    assert_eq!(
        (
            of(2, "send_bytes_per_s"),
            of(2, "recv_bytes_per_s"),
            of(2, "ping_ns")
        ),
        (Some(1e8), None, Some(12.5e6))
    );
    assert_eq!(
        (
            of(3, "send_bytes_per_s"),
            of(3, "recv_bytes_per_s"),
            of(3, "ping_ns")
        ),
        (Some(1.5e8), Some(8e4), None)
    );
    assert_eq!(
        (of(4, "score"), of(5, "score")),
        (Some(1500.0), Some(4200.0))
    );
    assert_eq!(left(&found), ["iperf3, Example Net, recv: busy"]);
    assert_eq!(disk.version.as_deref(), Some("v2026-09-01"));
    assert_eq!(
        disk.when.unwrap().rfc3339(),
        "2026-11-03T09:15:00.000000000Z"
    );
    assert_eq!(disk.ours.as_ref().unwrap().test, "familiar.yabs-4k");
    assert_eq!(disk.params["size"], "2G");
}

#[test]
fn a_speed_is_what_its_version_means() {
    let check = |version: &str, speeds, expected: f64| {
        assert_eq!(
            speed(&(head(version) + &disks(speeds))),
            Some(expected),
            "{version}"
        );
    };
    check("v2026-07-03", DECIMAL, 50_380_000.0);
    check("v2027-01-01", DECIMAL, 50_380_000.0);
    check("v2026-07-02", BINARY, 50_380_800.0);
    check("v2022-08-17", BINARY, 50_380_800.0);
    // Other units of the same.
    let kilo = [
        "980.00 KB/s",
        "1.00 KB/s",
        "1.00 GB/s",
        "1.00 GB/s",
        "1.00 GB/s",
        "1.50 GB/s",
    ];
    check("v2026-07-03", kilo, 980_000.0);
    check("v2025-01-01", kilo, 1_003_520.0);
    let giga = [
        "1.50 GB/s",
        "1.00 GB/s",
        "1.00 GB/s",
        "1.00 GB/s",
        "1.00 GB/s",
        "1.50 GB/s",
    ];
    check("v2026-07-03", giga, 1.5e9);
    check("v2025-01-01", giga, 1.536e9);
}

#[test]
fn without_a_version_the_operations_tell_the_unit_or_nothing_is_guessed() {
    assert_eq!(speed(&disks(DECIMAL)), Some(50_380_000.0));
    assert_eq!(speed(&disks(BINARY)), Some(50_380_800.0));
    // One column alone, with a few digits, tells neither; columns that contradict each other do not either.
    let mixed = [
        DECIMAL[0], BINARY[1], DECIMAL[2], DECIMAL[3], DECIMAL[4], DECIMAL[5],
    ];
    let text = disks(mixed);
    let found = (READER.read)(&text);
    let disk = one(&found, 0, "yabs.fio-4k").unwrap();
    assert_eq!(
        (value(disk, "iops"), value(disk, "bw_bytes_per_s")),
        (Some(24_600.0), None)
    );
    assert_eq!(left(&found).len(), 1, "{:?}", found.left_out);
    assert!(left(&found)[0].contains("the text has no version"));
    assert_eq!((disk.version.clone(), disk.ours.clone()), (None, None));
}

#[test]
fn other_sections_and_bad_cells_are_listed_and_hide_nothing() {
    let text = head("v2026-09-01")
        + "Other Speed Tests:\n---------------------------------\nA | 1\n\n"
        + "dd Sequential Disk Speed Tests:\n---------------------------------\nWrite | 1 GB/s | 1 GB/s\n\n"
        + &disks([
            "N/A", DECIMAL[1], DECIMAL[2], DECIMAL[3], DECIMAL[4], DECIMAL[5],
        ])
        + SCORES_6;
    let found = (READER.read)(&text);
    assert_eq!(
        left(&found),
        [
            "a section that is not read: Other Speed Tests",
            "a section that is not read: dd Sequential Disk Speed Tests",
            "fio 4k, Read: `N/A   (12.3k)`",
        ]
    );
    assert_eq!(found.figures.len(), 4);
    // Without the number of cores the score of all of them is of nothing known.
    let found = (READER.read)(SCORES_6);
    assert_eq!(found.figures.len(), 1);
    assert!(
        left(&found)[0].contains("how many cores"),
        "{:?}",
        found.left_out
    );
}

#[test]
fn several_outputs_are_told_apart_and_one_with_its_json_is_read_once() {
    let twice = (READER.read)(&(disks(DECIMAL) + &disks(BINARY)));
    let outputs: Vec<usize> = twice.figures.iter().map(|one| one.output).collect();
    assert_eq!(outputs, [0, 0, 1, 1]);
    let json = r#"{"version":"v2026-09-01","os":{"arch":"x64"},"fio":[
{"bs":"4k","speed_r":49205,"iops_r":12301,"speed_w":49212,"iops_w":12303,"speed_rw":98417,"iops_rw":24604}]}
"#;
    let both = (READER.read)(&(whole() + json));
    let disks_of: Vec<(&str, usize)> = both
        .figures
        .iter()
        .map(|one| (one.test.as_str(), one.output))
        .collect();
    assert_eq!(
        disks_of
            .iter()
            .filter(|(test, _)| *test == "yabs.fio-4k")
            .count(),
        1,
        "{disks_of:?}"
    );
    assert_eq!(
        value(&both.figures[0], "iops"),
        Some(24_604.0),
        "that of the JSON"
    );
    assert!(
        left(&both)
            .iter()
            .any(|what| what.contains("stand in the JSON"))
    );
}

/// One column of so many operations a second in both directions, as YABS prints it: thousands with one digit behind the
/// point, and no more.
fn cut(iops: u32, kilobyte: f64) -> String {
    let cell = |iops: u32| {
        let speed = f64::from(iops) * 4096.0 / kilobyte;
        let speed = if speed < 1000.0 {
            format!("{speed:.2} KB/s")
        } else {
            format!("{:.2} MB/s", speed / 1000.0)
        };
        let iops = if iops < 1000 {
            iops.to_string()
        } else {
            format!("{}.{}k", iops / 1000, iops / 100 % 10)
        };
        format!("{speed} ({iops})")
    };
    let (one, both) = (cell(iops), cell(2 * iops));
    format!("Block Size | 4k (IOPS)\nRead | {one}\nWrite | {one}\nTotal | {both}\n")
}

#[test]
fn operations_are_cut_and_not_rounded_and_a_table_beside_its_json_is_no_second_run() {
    for iops in [
        7, 499, 999, 1000, 1099, 1350, 1399, 1999, 2555, 2999, 12_399,
    ] {
        let (kib, both) = (iops * 4, iops * 2);
        let json = format!(
            r#"{{"version":"VERSION","os":{{"arch":"x64"}},"fio":[{{"bs":"4k","speed_r":{kib},"iops_r":{iops},
"speed_w":{kib},"iops_w":{iops},"speed_rw":{},"iops_rw":{both}}}]}}"#,
            kib * 2
        );
        for (version, kilobyte) in [("v2026-09-01", 1000.0), ("v2025-01-01", 1024.0)] {
            let json = json.replace("VERSION", version) + "\n";
            let table = cut(iops, kilobyte);
            for head in [head(version), String::new()] {
                let found = (READER.read)(&(head + &table + &json));
                assert_eq!(found.figures.len(), 1, "{iops} {version}: {found:?}");
            }
            // By itself the table says nearly as much, from its speeds.
            let found = (READER.read)(&(head(version) + &table));
            let disk = one(&found, 0, "yabs.fio-4k").unwrap();
            let ratio = value(disk, "read_iops").unwrap() / f64::from(iops);
            assert!((ratio - 1.0).abs() < 0.003, "{iops} {version}: {ratio}");
            // And another run is another one.
            let found = (READER.read)(&(cut(iops * 6 / 5 + 2, kilobyte) + &json));
            assert_eq!(found.figures.len(), 2, "{iops} {version}");
        }
    }
    for (iops, kilobyte) in [(12_399, 1000.0), (7_000, 1024.0), (98_765, 1024.0)] {
        let expected = f64::from(iops) * 4096.0;
        let found = speed(&cut(iops, kilobyte)).unwrap();
        assert!((found / expected - 1.0).abs() < 0.001, "{iops} {found}");
    }
}

#[test]
fn tables_are_read_as_they_are_quoted_cut_and_broken() {
    quoted(&READER, &whole());
    crate::figures::testkit::survives(&READER, &[&whole()]);
}
