//! JSON and terse lines, and several formats of one execution.

use super::texts::NEW;
use super::*;

fn json(options: &str, read: &str) -> String {
    format!(
        r#"{{"fio version":"fio-3.28","timestamp":1700000000,"timestamp_ms":1700000000500,"jobs":[{{"jobname":"a b",
        "groupid":0,"error":0,"job options":{{{options}}},"read":{{{read}}},
        "write":{{"io_bytes":0,"io_kbytes":0,"bw":0,"iops":0.0,"runtime":0,"total_ios":0}},
        "latency_ns":{{"1000":1.5}},"latency_us":{{"50":0.5,"100":90.0,"250":8.0}},"latency_ms":{{"2":0.0,">=2000":0.0}}}}]}}"#
    )
}

const READ: &str = r#""io_bytes":819200,"io_kbytes":800,"bw_bytes":819201,"bw":800,"iops":200.5,"runtime":1000,
    "total_ios":200,"slat_ns":{"min":0,"max":0,"mean":0.0,"stddev":0.0,"N":0},
    "clat_ns":{"min":60,"max":9000,"mean":93.5,"stddev":8.0,"N":200,"percentile":{"1.000000":61,"9.500000":62,
    "99.000000":7000,"99.900000":8000,"0.00":0,"0.00":0}},"lat_ns":{"min":61,"max":9001,"mean":94.5,"stddev":8.0}"#;

#[test]
fn keys_tell_the_units_of_json() {
    let [job] = &figures(&json("", READ))[..] else {
        panic!("one job")
    };
    assert_eq!(job.when.unwrap().0, 1_700_000_000_500_000_000);
    super::check(
        job,
        &[
            ("iops", 200.5),
            ("bw_bytes_per_s", 819_201.0),
            ("clat_ns_mean", 93.5),
            ("clat_ns_p1", 61.0),
            ("clat_ns_p9_5", 62.0),
            ("clat_ns_p999", 8000.0),
            ("lat_ns_mean", 94.5),
            ("lat_ns_mode", 100_000.0),
            ("lat_mode_share", 0.9),
        ],
    );
    assert_eq!(value(job, "slat_ns_mean"), None);
    // Before 3.0 latencies are in microseconds and all bytes in KiB.
    let old = READ
        .replace("\"io_kbytes\":800,\"bw_bytes\":819201,", "")
        .replace("_ns", "");
    let [job] = &figures(&json("", &old))[..] else {
        panic!("one job")
    };
    super::check(
        job,
        &[
            ("bw_bytes_per_s", 819_200.0),
            ("clat_ns_mean", 93_500.0),
            ("clat_ns_p99", 7e6),
        ],
    );
}

#[test]
fn a_test_of_ours_needs_every_option() {
    let check = |options: &str, wanted: Option<(&str, &str)>| {
        let twice = options
            .contains("8k")
            .then(|| READ.replace("819201", "1638402"));
        let found = figures(&json(options, twice.as_deref().unwrap_or(READ)));
        let ours = found[0].ours.as_ref().map(|ours| {
            let set = ours.set.iter().map(|(key, value)| format!("{key}={value}"));
            (ours.test.clone(), set.collect::<Vec<_>>().join(" "))
        });
        let ours = ours
            .as_ref()
            .map(|(test, set)| (test.as_ref(), set.as_str()));
        assert_eq!(ours, wanted, "{options}");
    };
    let base = r#""rw":"randread","bs":"4k","direct":"1","ioengine":"libaio","iodepth":"32","size":"1024m""#;
    check(
        base,
        Some(("storage.randread-4k-qd32", "size=1g ioengine=libaio")),
    );
    check(
        &base.replace("4k", "4096"),
        Some(("storage.randread-4k-qd32", "size=1g ioengine=libaio")),
    );
    check(
        &base.replace("libaio", "io_uring"),
        Some((
            "storage.randread-4k-qd32",
            "size=1g ioengine=io_uring registerfiles=no fixedbufs=no",
        )),
    );
    check(
        &base.replace("libaio", "psync").replace("32", "1"),
        Some(("storage.randread-4k", "size=1g ioengine=psync")),
    );
    check(&base.replace(r#""direct":"1""#, r#""direct":"0""#), None);
    check(&base.replace(r#""direct":"1","#, ""), None);
    check(&base.replace("32", "16"), None);
    check(&base.replace("4k", "8k"), None);
    check(&base.replace("libaio", "psync"), None);
    check(&base.replace("1024m", "50%"), None);
    check(&format!(r#"{base},"rate_iops":"100""#), None);
    // Several jobs with a file each are not several copies on one file.
    check(&format!(r#"{base},"numjobs":"4""#), None);
    check(
        &format!(r#"{base},"numjobs":"4","filename":"/dev/vdz""#),
        Some(("storage.randread-4k-qd32", "size=1g ioengine=libaio")),
    );
}

#[test]
fn options_are_told_with_the_defaults_of_fio() {
    let found = figures(&json(
        r#""readwrite":"read","time_based":"","numjobs":"4""#,
        READ,
    ));
    assert_eq!(found[0].test, "fio.a-b");
    assert_eq!(
        found[0].title,
        "a b: rw=read, bs=4k, ioengine=psync, iodepth=1"
    );
    assert_eq!(found[0].copies, 4);
    let params: Vec<String> = found[0]
        .params
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    assert_eq!(
        params,
        [
            "bs=4k",
            "direct=0",
            "iodepth=1",
            "ioengine=psync",
            "rw=read",
            "time_based=1"
        ]
    );
    // Before 2.3 the options are not printed, and nothing is known of them.
    let old = json("", READ).replace("\"job options\":{},", "");
    assert!(figures(&old)[0].params.is_empty());
}

#[test]
fn a_title_is_one_line_and_never_empty() {
    let check = |name: &str, title: &str, test: &str| {
        let text = json("", READ)
            .replace("\"job options\":{},", "")
            .replace("a b", name);
        let found = figures(&text);
        assert_eq!(
            (found[0].title.as_str(), found[0].test.as_str()),
            (title, test)
        );
    };
    check("", "fio.job", "fio.job");
    check("x\\ny", "x y", "fio.x-y");
}

#[test]
fn json_is_found_in_other_texts() {
    let text = json("", READ);
    let wanted = figures(&text);
    let check = |text: &str| assert_eq!(figures(text), wanted);
    check(&format!("fio: a note\n```\n{text}\n```\n"));
    check(&format!("{{\"results\": {text}}}"));
    check(&text.replace("\"jobs\":", "\"client_stats\":"));
    // Keys in another order, as tools sort them.
    let (head, jobs) = text.split_once("\"jobs\":").unwrap();
    let jobs = jobs.strip_suffix('}').unwrap();
    check(&format!(
        "{{\"jobs\":{jobs},{}}}",
        head.trim_start_matches('{').trim_end_matches(',')
    ));
    let cut = read(&text[..text.len() - 1]);
    assert!(cut.figures.is_empty());
    assert!(
        cut.left_out[0]
            .what
            .starts_with("JSON of fio that is cut or broken")
    );
}

#[test]
fn what_fio_3_33_printed_is_read() {
    macro_rules! data {
        ($name:literal) => {
            include_str!(concat!("../../../../testdata/fio/", $name))
        };
    }
    let check = |text: &str, wanted: &[&str]| {
        let found = figures(text);
        assert_eq!(names(&found), wanted);
    };
    let both = ["fio.a-read", "fio.a-write", "fio.a"];
    check(data!("plain.json"), &both);
    check(data!("null.json"), &both);
    check(
        data!("both.json"),
        &["fio.a-read", "fio.a-write", "fio.a-mixed", "fio.a"],
    );
    check(data!("mixed.json"), &["fio.a"]);
    check(
        data!("globals.json"),
        &["fio.a-read", "fio.a-write", "fio.a", "fio.b"],
    );
    check(data!("reduced.json"), &["fio.a-read", "fio.a-write"]);
    check(data!("steady.json"), &["fio.a"]);
    check(
        data!("terse3.txt"),
        &["fio.a-read", "fio.a-write", "fio.a", "fio.b"],
    );
    check(data!("terse3mixed.txt"), &["fio.a"]);
    check(data!("terse4.txt"), &both);
    check(
        data!("terse5.txt"),
        &["fio.a-read", "fio.a-write", "fio.a", "fio.b"],
    );
    // No latencies were measured; nothing is made of their zeros.
    assert_eq!(figures(data!("reduced.json"))[0].values.len(), 2);
    let found = figures(data!("fsync.json"));
    assert_eq!(found.len(), 1);
    super::check(
        &found[0],
        &[("iops", 149.85015), ("clat_ns_mean", 117_583.306_667)],
    );
    assert!(value(&found[0], "sync_ns_p99").is_some());
    let found = figures(data!("terse4.txt"));
    super::check(
        &found[0],
        &[("iops", 151.0), ("bw_bytes_per_s", 604.0 * 1024.0)],
    );
}

#[test]
fn an_execution_in_several_formats_counts_once() {
    let terse = include_str!("../../../../testdata/fio/terse5.txt");
    let alone = figures(terse).len();
    let text = json("", READ);
    // The text of the same execution, with what JSON does not say: that two jobs are one group.
    let normal = "\
fio-3.28
a b: (groupid=0, jobs=2): err= 0: pid=1: Tue Nov 14 22:13:20 2023
  read: IOPS=200, BW=800KiB/s (819kB/s)(800KiB/1000msec)
    clat (nsec): min=60, max=9000, avg=93.50, stdev= 8.00
     lat (nsec): min=61, max=9001, avg=94.50, stdev= 8.00
  cpu          : usr=0.02%, sys=0.11%, ctx=31762, majf=0, minf=15
";
    for both in [format!("{text}\n{normal}"), format!("{normal}{text}")] {
        let found = figures(&both);
        assert_eq!(found.len(), 1);
        super::check(&found[0], &[("iops", 200.5)]);
        assert_eq!(found[0].copies, 2);
    }
    let line = terse.lines().next().unwrap();
    let broken = format!("{}\n{}\n", &line[..line.len() / 2], &line[line.len() / 2..]);
    let lost = super::read(&broken);
    assert_eq!(
        (lost.figures.len(), lost.left_out.len()),
        (0, 1),
        "{lost:?}"
    );
    let other = normal.replace("avg=94.50", "avg=5094.50");
    assert_eq!(figures(&format!("{text}\n{other}")).len(), 2);
    assert_eq!(figures(&format!("{terse}{NEW}{text}")).len(), alone + 3 + 1);
    // The same twice is two executions, unless the second goes on where the first was printed.
    assert_eq!(figures(&format!("{text}{text}")).len(), 1);
    let later = text.replace("1700000000500", "1700000009500");
    assert_eq!(figures(&format!("{text}{later}")).len(), 2);
}
