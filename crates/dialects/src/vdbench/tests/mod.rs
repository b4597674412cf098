//! Outputs made up in the forms of several versions, and what is no output.

mod corpus;

use super::*;
use crate::figures::testkit::{survives, value};
use model::spec::Nature;

const STDOUT: &str = "\
Vdbench distribution: vdbench50407 Tue June 05  9:49:29 MDT 2018
10:15:00.001 Starting RD=mix-A; I/O rate: Uncontrolled MAX; elapsed=4 warmup=2; For loops: threads=16 xfersize=8k

Feb 03, 2024 interval i/o MB/sec bytes read resp read write read write resp queue cpu% cpu%
 rate 1024**2 i/o pct time resp resp max max stddev depth sys+u sys
10:15:01.010 1 1500.0 11.72 8192 70.10 1.250 1.000 1.750 9.50 12.25 0.500 15.9 12.5 4.5
10:15:04.020 avg_2-4 2000.0 15.63 8192 69.90 1.500 1.250 2.000 9.75 12.50 0.625 15.9 12.5 4.5
10:15:05.001 Starting RD=fill; I/O rate: 100; elapsed=(none); For loops: None
10:15:05.500 avg_2-1 0.0 0.00 0 0.00 0.000 0.000 0.000 0.00 0.00 0.000 0.0 NaN NaN
";

/// One largest response time, glued to the time, and no line with the version.
const OLDER: &str = "\
23:59:00.001 Starting RD=rd1; I/O rate: Controlled MAX; elapsed=60; For loops: None

Dec 31, 2020  interval        i/o   MB/sec   bytes   read     resp     read    write     resp     resp queue  cpu%  cpu%
                             rate  1024**2     i/o    pct     time     resp     resp      max   stddev depth sys+u   sys
00:00:00.163avg_31-150      640.5   640.50 1048576 100.00   12.500   12.500    0.000  250.125    9.500   8.0   1.5   0.5
";

const FLAT: &str = "\
<title>Vdbench output/flatfile.html</title><pre>
* rate            : Observed i/o rate
 tod timestamp Run Interval reqrate rate MB/sec bytes/io read% resp resp_max xfersize threads version cpu_used
09:00:01.042 03/09/2023-09:00:01-CST rd1 1 100 90 0.5 4096 50 0.05 0.2 4096 8 n/a 1.5 \n\
09:00:05.042 03/09/2023-09:00:05-CST rd1  avg_2-5 100 105.25 0.25 4096 51.5 0.025 0.125 4096 8 n/a 1.5 \n\
09:00:06.042 03/09/2023-09:00:06-CST rd2  avg_2-2 100 0 0 0 0 0 0 4096 8 n/a n/a \n";

const FILES: &str = "\
10:00:00.002 Starting RD=open; elapsed=30; fwdrate=max. For loops: operations=read
Mar 16, 2022 .Interval. .ReqstdOps.. ...cpu%...  read ....read.... ....write.... ..mb/sec... mb/sec .xfer.. ...mkdir...
                          rate  resp total  sys   pct   rate  resp   rate   resp  read write  total    size  rate  resp
10:00:30.040   avg_2-30 1200.0 0.250   5.5  2.5 100.0 1200.0 0.250    0.0  0.000  4.50  0.00   4.50    4096   0.0 0.000
";

#[test]
fn the_average_of_a_run_definition_is_read_by_its_headings() {
    let found = (READER.read)(STDOUT);
    let [figures] = &found.figures[..] else {
        panic!("{found:?}");
    };
    assert_eq!(
        (figures.test.as_str(), figures.copies),
        ("vdbench.mix-a.xfersize-8k", 16)
    );
    assert_eq!(
        (figures.version.as_deref(), figures.nature),
        (Some("50407"), Nature::Storage)
    );
    assert_eq!(
        figures.when.unwrap().rfc3339(),
        "2024-02-03T10:15:04.020000000Z"
    );
    let check = |quantity, expect| assert_eq!(value(figures, quantity), expect, "{quantity}");
    check("iops", Some(2000.0));
    check("bytes_per_s", Some(15.63 * 1_048_576.0));
    check("resp_ns_mean", Some(1.5e6));
    check("read_resp_ns_mean", Some(1.25e6));
    check("write_resp_ns_mean", Some(2e6));
    check("read_resp_ns_max", Some(9.75e6));
    check("write_resp_ns_max", Some(12.5e6));
    check("resp_ns_max", None);
    check("resp_ns_stddev", Some(0.625e6));
    check("cpu_share", Some(0.125));
    check("cpu_system_share", Some(0.045));
    let params: Vec<String> = figures
        .params
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let expect = "averaged=avg_2-4 bytes_per_io=8192 elapsed=4 iorate=Uncontrolled MAX rd=mix-A threads=16 warmup=2 \
                  xfersize=8k";
    assert_eq!(params.join(" "), expect);
    assert_eq!((found.left_out.len(), found.left_out[0].line), (1, 9));
}

#[test]
fn one_column_for_both_largest_times_a_glued_time_and_midnight() {
    let found = (READER.read)(OLDER);
    let [figures] = &found.figures[..] else {
        panic!("{found:?}");
    };
    assert_eq!(value(figures, "resp_ns_max"), Some(250.125e6));
    assert_eq!(value(figures, "write_resp_ns_mean"), None);
    assert_eq!(figures.params["read_pct"], "100");
    assert_eq!(figures.version, None);
    // Headings have the date of the row behind them.
    let when = |text: &str| (READER.read)(text).figures[0].when.unwrap().rfc3339();
    assert_eq!(when(OLDER), "2020-12-31T00:00:00.163000000Z");
    let over_midnight = OLDER.replace(
        "00:00:00.163avg",
        "23:59:59.100         59  640.5\n00:00:00.163avg",
    );
    assert_eq!(when(&over_midnight), "2021-01-01T00:00:00.163000000Z");
}

#[test]
fn a_flat_file_is_read_by_the_names_of_its_columns() {
    let found = (READER.read)(FLAT);
    let [figures] = &found.figures[..] else {
        panic!("{found:?}");
    };
    assert_eq!((figures.test.as_str(), figures.copies), ("vdbench.rd1", 8));
    assert_eq!(value(figures, "iops"), Some(105.25));
    assert_eq!(value(figures, "bytes_per_s"), Some(0.25 * 1_048_576.0));
    assert_eq!(value(figures, "resp_ns_mean"), Some(25e3));
    assert_eq!(value(figures, "resp_ns_max"), Some(125e3));
    assert_eq!(value(figures, "cpu_share"), Some(0.015));
    assert_eq!(
        figures.when.unwrap().rfc3339(),
        "2023-03-09T09:00:05.000000000Z"
    );
    assert_eq!(
        (
            figures.params["iorate"].as_str(),
            figures.params["xfersize"].as_str()
        ),
        ("100", "4096")
    );
    assert_eq!(found.left_out.len(), 1);
}

#[test]
fn file_systems_have_columns_of_their_own() {
    let found = (READER.read)(FILES);
    let [figures] = &found.figures[..] else {
        panic!("{found:?}");
    };
    assert_eq!(
        (figures.test.as_str(), figures.nature),
        ("vdbench.open.operations-read", Nature::FileSystem)
    );
    assert_eq!(value(figures, "ops_per_s"), Some(1200.0));
    assert_eq!(value(figures, "read_ops_per_s"), Some(1200.0));
    assert_eq!(value(figures, "write_ops_per_s"), None);
    assert_eq!(value(figures, "bytes_per_s"), Some(4.5 * 1_048_576.0));
    assert_eq!(value(figures, "resp_ns_mean"), Some(250e3));
    assert_eq!(figures.params["fwdrate"], "max");
}

#[test]
fn other_countries_write_months_and_fractions_in_their_way() {
    let found = (READER.read)(&STDOUT.replace("Feb 03, 2024", "f\u{e9}vr. 03, 2024"));
    assert_eq!(found.figures[0].when, None);
    let commas = |line: &str| {
        let (time, row) = line.split_at(line.len().min(12));
        if row.contains("avg_") {
            format!("{time}{}\n", row.replace('.', ","))
        } else {
            format!("{line}\n")
        }
    };
    let with_commas: String = STDOUT.lines().map(commas).collect();
    assert_eq!(
        (READER.read)(&with_commas).figures,
        (READER.read)(STDOUT).figures
    );
    let of_both = (READER.read)(&STDOUT.replace("2000.0 15.63", "2,000.0 15.63"));
    assert_eq!((of_both.figures.len(), of_both.left_out.len()), (0, 2));
}

#[test]
fn a_row_that_is_not_understood_is_listed() {
    let check = |from: &str, to: &str| {
        let text = OLDER.replace(from, to);
        let found = (READER.read)(&text);
        assert_eq!(
            (found.figures.len(), found.left_out.len()),
            (0, 1),
            "{text}"
        );
    };
    check("Starting RD=rd1", "Beginning rd1");
    check("interval ", "");
    check(" 8.0   1.5", " 8.0 1.5 3");
    check("640.50", "much");
    check("640.5 ", "-3 ");
}

#[test]
fn the_same_row_in_two_files_counts_once_and_two_executions_are_two_outputs() {
    let twice = (READER.read)(&format!("{STDOUT}{STDOUT}"));
    assert_eq!(twice.figures.len(), 1);
    let other = STDOUT.replace("10:15:04.020", "10:15:04.021");
    let outputs: Vec<usize> = (READER.read)(&format!("{STDOUT}{other}"))
        .figures
        .iter()
        .map(|f| f.output)
        .collect();
    assert_eq!(outputs, [0, 1]);
}

#[test]
fn bad_input_is_survived() {
    survives(&READER, &[STDOUT, OLDER, FLAT, FILES]);
}
