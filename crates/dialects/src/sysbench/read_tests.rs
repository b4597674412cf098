//! Tests of the reader of sysbench's outputs: by outputs made up here, and by those of a corpus.

use super::*;
use crate::figures::testkit::{self, same};
use serde_json::Value;

#[path = "cut_tests.rs"]
mod cut;

const CPU_MEMORY: &str = include_str!("../../../../fuzz/corpus/sysbench_output/1.0-cpu-memory");
const THREADS_MUTEX: &str =
    include_str!("../../../../fuzz/corpus/sysbench_output/1.0-threads-mutex");
const FILEIO: &str = include_str!("../../../../fuzz/corpus/sysbench_output/1.0-fileio");
const OLTP: &str = include_str!("../../../../fuzz/corpus/sysbench_output/1.0-oltp");
const V04: &str = include_str!("../../../../fuzz/corpus/sysbench_output/0.4");
const ALL: [&str; 5] = [CPU_MEMORY, THREADS_MUTEX, FILEIO, OLTP, V04];

/// `test@copies: quantity value, ...`, each in whole units.
fn told(text: &str) -> Vec<String> {
    let tell = |one: &Figures| {
        let values = one
            .values
            .iter()
            .map(|figure| format!("{} {:.0}", figure.quantity, figure.value));
        let values: Vec<String> = values.collect();
        format!("{}@{}: {}", one.test, one.copies, values.join(", "))
    };
    read(text).figures.iter().map(tell).collect()
}

#[test]
fn versions_1_0_and_1_1_are_read() {
    assert_eq!(
        told(CPU_MEMORY),
        [
            "sysbench.cpu@2: ops_per_s 2346, lat_ns_mean 852225, lat_ns_min 810000, lat_ns_p95 910000, \
             lat_ns_max 7250000",
            "sysbench.cpu@1: ops_per_s 3457, lat_ns_mean 289144, lat_ns_min 280000, lat_ns_p95 300000, \
             lat_ns_max 1290000",
            "sysbench.memory@2: bytes_per_s 10355862405, ops_per_s 9876, lat_ns_mean 202402, lat_ns_min 190000, \
             lat_ns_p95 210000, lat_ns_max 3500000",
        ]
    );
    assert_eq!(
        told(FILEIO),
        [
            "sysbench.fileio-rndrw@4: read_iops 2567, write_iops 1712, fsyncs_per_s 5433, \
             read_bw_bytes_per_s 42058383, write_bw_bytes_per_s 28038922, lat_ns_mean 409737, lat_ns_min 10000, \
             lat_ns_p99 1250000, lat_ns_max 35500000",
            "sysbench.fileio-seqrewr@1: write_iops 6543, fsyncs_per_s 8376, write_bw_bytes_per_s 107206410, \
             lat_ns_mean 70000, lat_ns_min 10000, lat_ns_p95 150000, lat_ns_max 9750000",
        ]
    );
    let oltp = "tps 1000, qps 20001, errors_per_s 0, lat_ns_mean 3994676, lat_ns_min 1900000, lat_ns_p95 6320000, \
                lat_ns_max 99500000";
    let expect = [
        format!("sysbench.oltp-read-write@4: {oltp}"),
        format!("sysbench.oltp@4: {oltp}"),
    ];
    assert_eq!(told(OLTP), expect);
}

#[test]
fn version_0_4_is_read() {
    assert_eq!(
        told(V04),
        [
            "sysbench.cpu@1: ops_per_s 398, lat_ns_mean 2511020, lat_ns_min 2450000, lat_ns_p95 2600000, \
             lat_ns_max 9750000",
            "sysbench.memory@1: bytes_per_s 2661894062, ops_per_s 81235, lat_ns_mean 11749, lat_ns_min 10000, \
             lat_ns_p95 10000, lat_ns_max 3250000",
            "sysbench.threads@64: ops_per_s 3092, lat_ns_mean 20512500, lat_ns_min 500000, lat_ns_p95 60400000, \
             lat_ns_max 185250000",
            "sysbench.fileio-rndrw@8: iops 2923, read_iops 1754, write_iops 1169, bw_bytes_per_s 47896855, \
             lat_ns_mean 1234500, lat_ns_min 10000, lat_ns_p95 3750000, lat_ns_max 45500000",
            "sysbench.oltp-complex@16: tps 654, requests_per_s 12432, lat_ns_mean 24425000, lat_ns_min 3450000, \
             lat_ns_p95 60750000, lat_ns_max 345500000",
        ]
    );
    assert!(
        read(V04)
            .figures
            .iter()
            .all(|one| one.version.as_deref() == Some("0.4.12"))
    );
}

/// The test of kurabe and what differs from its own parameters, of each figure.
fn ours(text: &str) -> Vec<String> {
    let tell = |one: Figures| {
        let ours = one.ours?;
        let set = ours
            .set
            .iter()
            .map(|(name, value)| format!(" {name}={value}"));
        Some(ours.test.into_owned() + &set.collect::<String>())
    };
    let tell = |one| tell(one).unwrap_or_default();
    read(text).figures.into_iter().map(tell).collect()
}

#[test]
fn only_what_is_known_to_be_alike_is_ours() {
    assert_eq!(
        ours(CPU_MEMORY),
        [
            "cpu.prime max_prime=20000",
            "cpu.prime",
            "memory.block-read-1m"
        ]
    );
    assert_eq!(ours(THREADS_MUTEX), ["os.threads", "os.mutex"]);
    assert_eq!(ours(FILEIO), ["", ""]);
    assert_eq!(ours(OLTP), ["", ""]);
    let of_04 = [
        "cpu.prime version=0.4 max_prime=20000",
        "memory.block-write version=0.4 scope=local mode=rnd block_size=32768",
        "os.threads version=0.4",
        "",
        "",
    ];
    assert_eq!(ours(V04), of_04);
    let check = |from: &str, to: &str, expect: &str| {
        let text = CPU_MEMORY.replace(from, to);
        assert_eq!(ours(&text)[2], expect, "{from} -> {to}");
    };
    check("$ sysbench memory", "$ sysbench cpu", "");
    check("--threads=2 --memory", "--threads=4 --memory", "");
    check("--threads=2 --memory", "--threads=$N --memory", "");
    check(
        "--threads=2 --memory",
        "--threads=2 --memory-hugetlb=on --memory",
        "",
    );
    check(
        "--threads=2 --memory",
        "--threads=2 --memory-access-mode=rnd --memory",
        "memory.block-read-1m mode=rnd",
    );
    check("sysbench 1.0.20", "sysbench 0.5.0", "");
    check("sysbench 1.0.20 (using", "sysbench 2.0 (using", "");
    check(
        "Number of threads: 2\n",
        "Number of threads: 2\nTarget transaction rate: 10/sec\n",
        "",
    );
    check("operation: read", "operation: none", "");
    check(
        "block size: 1024KiB",
        "block size: 2KiB",
        "memory.block-read block_size=2048",
    );
    check("block size: 1024KiB", "block size: xKiB", "");
    check(" run\nsysbench", " run\nSomething else:\nsysbench", "");
}

#[test]
fn a_command_line_names_the_test_that_the_output_does_not() {
    let check = |line: &str, expect: Option<&str>| {
        let test = Command::parse(line).map(|command| command.test);
        assert_eq!(test.as_deref(), expect, "{line}");
    };
    check("root@oak:~# sysbench --test=mutex run", Some("mutex"));
    check(
        "$ /usr/bin/sysbench threads --threads=4 run | tee out",
        Some("threads"),
    );
    check(
        "sysbench ./src/lua/oltp_read_only.lua run",
        Some("oltp_read_only"),
    );
    check(
        "sysbench --test=tests/db/oltp.lua --num-threads=8 run",
        Some("oltp"),
    );
    check("sysbench fileio prepare && sysbench fileio run", None);
    check("sysbench fileio --file-test-mode=$MODE run", None);
    check("sysbench 1.0.20 (using system LuaJIT)", None);
    check("sysbench run", None);
    check("we run sysbench", None);
    let named: Vec<String> = read(THREADS_MUTEX)
        .figures
        .into_iter()
        .map(|one| one.test)
        .collect();
    assert_eq!(named, ["sysbench.threads", "sysbench.mutex"]);
    let left: Vec<usize> = read(THREADS_MUTEX)
        .left_out
        .iter()
        .map(|one| one.line)
        .collect();
    assert_eq!(left, [31]);
}

#[test]
fn fileio_is_our_test_where_the_command_line_says_all() {
    let text = FILEIO.split("\nsysbench 1.1.0").next().unwrap();
    let ours = |command: &str| {
        let found = read(&format!("{command}\n{text}\n"));
        let ours = found.figures[0].ours.clone();
        ours.map(|ours| {
            let set = ours
                .set
                .iter()
                .map(|(name, value)| format!("{name}={value}"));
            format!("{} {}", ours.test, set.collect::<Vec<_>>().join(" "))
        })
    };
    let with = |more: &str| {
        ours(&format!(
            "$ sysbench fileio --file-test-mode=rndrw --file-extra-flags=direct --threads=4{more} run"
        ))
    };
    let set = "files=128 size=2147483648 block=16384 io=sync flags=direct fsync_freq=100";
    assert_eq!(with(""), Some(format!("fs.fileio-rndrw {set} time=10s")));
    assert_eq!(
        with(" --time=60"),
        Some(format!("fs.fileio-rndrw {set} time=60s"))
    );
    for other in [
        " --file-fsync-all=on",
        " --file-fsync-end=off",
        " --file-fsync-mode=fdatasync",
        " --file-merged-requests=4",
        " --file-rw-ratio=2",
        " --rand-type=special",
        " --time=0",
    ] {
        assert_eq!(with(other), None, "{other}");
    }
    assert_eq!(ours(""), None);
}

#[test]
fn what_decides_a_figure_is_kept_with_it() {
    let check = |text: &str, at: usize, expect: &str| {
        let params = &read(text).figures[at].params;
        let params: Vec<String> = params
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        assert_eq!(params.join("; "), expect);
    };
    let oltp = "queries of a transaction=14 reads, 4 writes, 2 others";
    check(
        OLTP,
        0,
        &format!("{oltp}; rand-type=pareto; table-size=10000; tables=4"),
    );
    check(OLTP, 1, oltp);
    check(
        V04,
        4,
        "queries of a transaction=14 reads, 5 writes, 2 others; rand-type=Special",
    );
    check(
        FILEIO,
        0,
        "file-block-size=16KiB; file-extra-flags=directio; file-fsync-freq=100; file-io-mode=synchronous; \
         file-num=128; file-rw-ratio=1.50; file-size=16MiB",
    );
}

#[test]
fn what_cannot_be_kept_is_named() {
    let check = |text: &str, expect: &[(usize, &str)]| {
        let found = read(text);
        let left: Vec<(usize, &str)> = found
            .left_out
            .iter()
            .map(|one| (one.line, one.what.as_str()))
            .collect();
        assert_eq!((found.figures.len(), &left[..]), (0, expect), "{text}");
    };
    let one = &CPU_MEMORY[..CPU_MEMORY.find("sysbench 1.1").unwrap()];
    check(
        &one.replace("Number of", "No of"),
        &[(1, "results without a number of threads")],
    );
    let unfinished = &one[..one.find("CPU speed").unwrap()];
    check(
        unfinished,
        &[(1, "no results of sysbench cpu (cut short?)")],
    );
    let cut = one.find("2345.67").unwrap() + 4;
    check(
        &one[..cut],
        &[
            (15, "the text may be cut here: events per second:  2345"),
            (1, "no results of sysbench cpu (cut short?)"),
        ],
    );
    let hostile = unfinished.to_owned() + "CPU speed:\n    events per second:  1e999\n";
    let left = "no number: events per second:  1e999";
    check(
        &hostile,
        &[(15, left), (1, "no results of sysbench cpu (cut short?)")],
    );
    check(
        "sysbench 1.0.20 (using system LuaJIT)\n\n128 files, 16384Kb each, 2048Mb total\nCreating files\n",
        &[],
    );
    check("we measured with sysbench 1.0.20 on\nmax: 5\navg: 6\n", &[]);
}

#[test]
fn a_latency_of_nought_is_one_below_what_is_printed() {
    let text = CPU_MEMORY
        .replace("0.19", "0.00")
        .replace("    0.20\n", "    0.00\n");
    let values = read(&text).figures.pop().unwrap().values;
    let quantities: Vec<&str> = values
        .iter()
        .map(|figure| figure.quantity.as_str())
        .collect();
    assert_eq!(
        quantities,
        ["bytes_per_s", "ops_per_s", "lat_ns_p95", "lat_ns_max"]
    );
}

#[test]
fn cut_anywhere_it_says_nothing_that_the_whole_does_not() {
    let mut outputs = 0;
    for text in ALL {
        // Output by output, with the command line above it.
        let starts = text.match_indices("\nsysbench ").map(|(at, _)| {
            let above = text[..at].rfind("\n\n").map_or(0, |end| end + 2);
            if text[above..].starts_with('$') {
                above
            } else {
                at + 1
            }
        });
        let mut starts: Vec<usize> = starts.chain([0, text.len()]).collect();
        starts.sort_unstable();
        starts.dedup();
        // The mutex test without a command line has no name, and so no figures.
        let pieces = starts.windows(2).map(|pair| &text[pair[0]..pair[1]]);
        for piece in pieces.filter(|piece| !read(piece).figures.is_empty()) {
            testkit::cut(&READER, piece);
            outputs += 1;
        }
    }
    assert_eq!(outputs, 14);
}

#[test]
fn what_quotes_an_output_is_no_part_of_it() {
    for text in ALL {
        testkit::quoted(&READER, text);
    }
}

#[test]
fn bad_input_is_survived() {
    testkit::survives(&READER, &[FILEIO, V04]);
}

/// Real outputs, which cannot be part of this repository.
mod corpus {
    use super::*;

    /// Facts of the corpus, the quantity that each is, what one of its units is, and half a unit of its last digit.
    const FACTS: &[(&str, &str, f64, f64)] = &[
        ("/operations_per_s", "ops_per_s", 1.0, 0.005),
        ("/events_per_s", "ops_per_s", 1.0, 0.005),
        ("/cpu_events_per_s", "ops_per_s", 1.0, 0.005),
        ("/mib_per_s", "bytes_per_s", MIB, 0.005),
        ("/reads_per_s", "read_iops", 1.0, 0.005),
        ("/writes_per_s", "write_iops", 1.0, 0.005),
        ("/fsyncs_per_s", "fsyncs_per_s", 1.0, 0.005),
        ("/read_mib_per_s", "read_bw_bytes_per_s", MIB, 0.005),
        ("/written_mib_per_s", "write_bw_bytes_per_s", MIB, 0.005),
        ("/tps", "tps", 1.0, 0.005),
        ("/qps", "requests_per_s", 1.0, 0.005),
        ("/latency_ms/min", "lat_ns_min", 1e6, 0.005),
        ("/latency_ms/avg", "lat_ns_mean", 1e6, 0.005),
        ("/latency_ms/max", "lat_ns_max", 1e6, 0.005),
        ("/latency_ms/percentile_value", "lat_ns_p", 1e6, 0.005),
    ];

    #[test]
    #[ignore = "corpus: KURABE_CORPUS names a directory with expected.json"]
    fn every_output_of_the_corpus_is_read_to_its_last_figure() {
        let (mut outputs, mut unnamed, mut checked) = (0, 0, 0);
        for (path, text, entry) in testkit::corpus("sysbench") {
            let facts = &entry["facts"];
            let found = read(&text);
            let mut figures = found.figures.iter();
            for run in facts["runs"].as_array().unwrap() {
                if run["test"].is_null() {
                    assert_eq!(found.left_out.len(), 1, "{path}");
                    unnamed += 1;
                    continue;
                }
                let one = figures
                    .next()
                    .unwrap_or_else(|| panic!("{path}: {:?}", found.left_out));
                assert_eq!(one.version.as_deref(), run["version"].as_str(), "{path}");
                assert_eq!(
                    u64::from(one.copies),
                    run["threads"].as_u64().unwrap(),
                    "{path}"
                );
                assert!(
                    one.test
                        .starts_with(&format!("sysbench.{}", run["test"].as_str().unwrap())),
                    "{path}"
                );
                checked += check_values(&path, one, run);
                check_params(&path, one, run);
                outputs += 1;
            }
            assert!(figures.next().is_none(), "{path}");
            // Transactions of 0.4 and 0.5 are none of kurabe's, and it is said.
            let test = facts["runs"][0]["test"].as_str();
            assert_eq!(
                found.left_out.len(),
                usize::from(test.is_none_or(|test| test.starts_with("oltp"))),
                "{path}"
            );
        }
        println!("{outputs} outputs, {checked} figures, {unnamed} without a name");
        assert_eq!((outputs, unnamed), (13, 1));
    }

    fn check_values(path: &str, one: &Figures, run: &Value) -> usize {
        let mut checked = 0;
        let percentile = run["latency_ms"]["percentile"].to_string();
        for &(pointer, quantity, scale, half_digit) in FACTS {
            let Some(wanted) = run.pointer(pointer).and_then(Value::as_f64) else {
                continue;
            };
            let quantity = match quantity {
                "lat_ns_p" => format!("lat_ns_p{percentile}"),
                quantity => quantity.to_owned(),
            };
            let figure = one.values.iter().find(|figure| figure.quantity == quantity);
            match figure {
                Some(figure) => same(
                    &format!("{path}: {quantity}"),
                    figure.value / scale,
                    wanted,
                    half_digit,
                ),
                None => assert!(wanted.abs() < half_digit, "{path}: no {quantity}"),
            }
            checked += 1;
        }
        let rate = one
            .values
            .iter()
            .find(|figure| figure.quantity == "ops_per_s");
        let (events, seconds) = (
            run["events"].as_f64().unwrap(),
            run["total_time_s"].as_f64().unwrap(),
        );
        if let Some(rate) = rate {
            // Rates that are printed are over times that differ from the one printed by setting up.
            same(path, rate.value, events / seconds, 0.05 * rate.value);
        }
        checked
    }

    fn check_params(path: &str, one: &Figures, run: &Value) {
        let params = [
            ("prime_limit", "cpu-max-prime"),
            ("operation", "memory-oper"),
            ("scope", "memory-scope"),
            ("files", "file-num"),
            ("file_size", "file-size"),
            (
                "block_size",
                if run["test"] == "memory" {
                    "memory-block-size"
                } else {
                    "file-block-size"
                },
            ),
        ];
        for (fact, name) in params {
            let wanted = match &run[fact] {
                Value::Null => continue,
                Value::String(text) => text.clone(),
                number => number.to_string(),
            };
            assert_eq!(one.params.get(name), Some(&wanted), "{path}: {name}");
        }
        if let Some(mode) = run["mode"].as_str() {
            let wanted = match mode {
                "random r/w" => "rndrw",
                "sequential read" => "seqrd",
                "sequential rewrite" => "seqrewr",
                mode => panic!("{path}: {mode}"),
            };
            assert_eq!(one.test, format!("sysbench.fileio-{wanted}"), "{path}");
        }
        let of_transaction = |queries: &str| {
            run["queries_performed"][queries]
                .as_f64()
                .zip(run["transactions"].as_f64())
        };
        if let Some((reads, transactions)) = of_transaction("read") {
            let mix = &one.params["queries of a transaction"];
            assert!(
                mix.starts_with(&format!("{} reads", (reads / transactions).round())),
                "{path}: {mix}"
            );
        }
    }
}

#[test]
fn a_rate_that_contradicts_its_count_is_left_out_and_said() {
    let whole = read(CPU_MEMORY);
    let events = "events per second:";
    let at = CPU_MEMORY.find(events).unwrap() + events.len();
    let end = at + CPU_MEMORY[at..].find('\n').unwrap();
    let text = format!("{} 9999.99{}", &CPU_MEMORY[..at], &CPU_MEMORY[end..]);
    let found = read(&text);
    assert_eq!(found.figures.len(), whole.figures.len());
    let rates = |found: &Found| {
        let first = &found.figures[0].values;
        first
            .iter()
            .filter(|figure| figure.quantity == "ops_per_s")
            .count()
    };
    assert_eq!((rates(&whole), rates(&found)), (1, 0));
    let said = &found.left_out[0].what;
    assert!(
        said.contains("9999.99 events per second do not follow from"),
        "{said}"
    );
}
