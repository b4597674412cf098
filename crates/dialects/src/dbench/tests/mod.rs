//! Outputs made up in the forms of versions 3 and 4, and what is no output.

mod corpus;
mod write;

use super::*;
use crate::figures::testkit::{one, survives, value};

const FOUR: &str = "\
dbench version 4.00 - Copyright

Running for 60 seconds with load '/opt/bench/client.txt' and minimum warmup 12 secs
4 of 4 processes prepared for launch   0 sec
releasing clients
   4      9120   210.50 MB/sec  warmup   1 sec  latency 12.001 ms
   4     18441   211.75 MB/sec  execute  59 sec  latency 31.250 ms
   4  cleanup  60 sec

 Operation                Count    AvgLat    MaxLat
 --------------------------------------------------
 NTCreateX                70412     0.125    19.500
 FIND_FIRST               12001     0.000     0.040
 Flush                     5120     8.750    31.250

Throughput 211.75 MB/sec (sync open) (sync dirs)  4 clients  8 procs  max_latency=31.250 ms
";

#[test]
fn version_4_prints_its_throughput_and_a_table_of_operations() {
    let found = (READER.read)(FOUR);
    assert_eq!(found.left_out, []);
    let total = one(&found, 0, "dbench.throughput").unwrap();
    assert_eq!(value(total, "bytes_per_s"), Some(211.75e6));
    assert_eq!(value(total, "lat_ns_max"), Some(31.25e6));
    assert_eq!((total.copies, total.version.as_deref()), (4, Some("4.00")));
    let params: Vec<String> = total
        .params
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let expect = "load=client.txt procs=8 run_s=60 sync_dirs=yes sync_open=yes warmup_s=12";
    assert_eq!(params.join(" "), expect);
    let check = |test, count, mean, max| {
        let figures = one(&found, 0, test).unwrap();
        let values =
            ["count", "lat_ns_mean", "lat_ns_max"].map(|quantity| value(figures, quantity));
        assert_eq!(values, [count, mean, max], "{test}");
    };
    check("dbench.ntcreatex", Some(70412.0), Some(125e3), Some(19.5e6));
    check("dbench.find-first", Some(12001.0), None, Some(40e3));
    check("dbench.flush", Some(5120.0), Some(8.75e6), Some(31.25e6));
    assert_eq!(found.figures.len(), 4);
}

#[test]
fn what_dbench_4_did_with_its_own_file_is_our_test_of_it() {
    let plain = FOUR
        .replace(" (sync open) (sync dirs)", "")
        .replace("8 procs", "4 procs");
    let found = (READER.read)(&plain);
    let total = one(&found, 0, "dbench.throughput").unwrap();
    let ours = total.ours.as_ref().unwrap();
    assert_eq!(ours.test, "fs.dbench");
    assert_eq!(
        ours.set,
        [("load", CLIENT_TXT.to_owned()), ("time", "60s".to_owned())]
    );
    assert_eq!(value(total, "ntcreatex_ns_mean"), Some(125e3));
    assert_eq!(value(total, "flush_ns_max"), Some(31.25e6));
    // Another program's name for an operation is none of ours.
    let other = one(&found, 0, "dbench.find-first").unwrap();
    assert_eq!(value(other, "lat_ns_max"), Some(40e3));
    assert_eq!(one(&found, 0, "dbench.flush").unwrap().values.len(), 1);
    for (from, to) in [
        ("client.txt", "other.txt"),
        ("version 4.00", "version 3.04"),
        ("4 procs", "8 procs"),
        ("211.75 MB/sec  4", "211.75 MB/sec (sync open)  4"),
    ] {
        let other = plain.replace(from, to);
        assert_ne!(other, plain, "{from}");
        let found = (READER.read)(&other);
        assert!(found.figures.iter().all(|one| one.ours.is_none()), "{from}");
    }
}

#[test]
fn version_3_prints_one_line_per_run_and_scripts_print_more() {
    let text = "before\n\tThroughput 150.5 MB/sec 8 procs\n\tThroughput 97 MB/sec 16 procs\n\tAverage: 123.75\n";
    let found = (READER.read)(text);
    let all: Vec<_> = found
        .figures
        .iter()
        .map(|f| (f.output, f.copies, value(f, "bytes_per_s")))
        .collect();
    assert_eq!(all, [(0, 8, Some(150.5e6)), (1, 16, Some(97e6))]);
    assert!(
        found
            .figures
            .iter()
            .all(|figures| figures.values.len() == 1 && figures.version.is_none())
    );
    assert_eq!(found.left_out, []);
}

#[test]
fn what_stands_after_a_result_is_of_the_next_run() {
    let found = (READER.read)(&format!("{FOUR}Throughput 20 MB/sec 2 procs\n"));
    let next = one(&found, 1, "dbench.throughput").unwrap();
    assert_eq!(
        (next.copies, next.params.len(), &next.version),
        (2, 0, &None)
    );
    assert_eq!(
        found
            .figures
            .iter()
            .filter(|figures| figures.output == 1)
            .count(),
        1
    );
}

#[test]
fn a_row_that_cannot_be_read_is_listed_and_those_below_it_are_read() {
    let whole = (READER.read)(FOUR);
    let damaged = FOUR.replacen(" Flush ", " Fl ush ", 1);
    let found = (READER.read)(&damaged);
    assert_eq!(found.figures.len() + 1, whole.figures.len());
    assert_eq!(found.left_out.len(), 1, "{:?}", found.left_out);
    assert!(found.left_out[0].what.starts_with("Fl ush"));
    // Half of a number is another number.
    let flush = FOUR.lines().find(|line| line.contains(" Flush ")).unwrap();
    let broken = FOUR.replacen(flush, &format!("{}\n{}", &flush[..flush.len() - 1], "4"), 1);
    let of_broken = (READER.read)(&broken);
    assert_eq!(of_broken.figures, found.figures);
    assert_eq!(of_broken.left_out.len(), 2, "{:?}", of_broken.left_out);
    // A line that is broken after its number.
    let broken = FOUR.replacen(" MB/sec", " MB\n/sec", FOUR.matches(" MB/sec").count());
    assert!(!(READER.read)(&broken).left_out.is_empty());
    // Rubbish is not listed line by line.
    let rubbish = FOUR.replacen("Throughput", &"what is this\n".repeat(1000), 1);
    assert!((READER.read)(&rubbish).left_out.len() < 20);
}

#[test]
fn a_result_that_is_none_is_listed() {
    let check = |line: &str| {
        let found = (READER.read)(line);
        assert_eq!(
            (found.figures.len(), found.left_out.len()),
            (0, 1),
            "{line}"
        );
    };
    check("Throughput 0 MB/sec  2 clients  2 procs  max_latency=0.000 ms");
    check("Throughput 12.5 MB/sec  2 clients  2 procs");
    check("Throughput 12.5 MB/sec  2 clients  2 procs  max_latency=1.5 s");
    check("Throughput 12.5 MB/sec (NB=15 MB/sec) 2 procs");
    check("Throughput 1,5 MB/sec 2 procs");
    check("Throughput 12.5 MB/sec 0 procs");
    check("Throughput 12.5 MB/sec 2 servers");
}

#[test]
fn bad_input_is_survived() {
    let two = "\tThroughput 150.5 MB/sec 8 procs\n\tThroughput 97.25 MB/sec 16 procs";
    survives(&READER, &[FOUR, two]);
}
