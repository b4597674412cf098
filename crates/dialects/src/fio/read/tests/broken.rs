//! Outputs that are cut, and texts that want to do harm.

use super::texts::{MIDDLE, NEW, OLD};
use super::*;
use crate::figures::testkit::survives;
use crate::fio::read::READER;

/// Outputs of fio 3.33, as they were printed.
const PRINTED: &[&str] = &[
    include_str!("../../../../testdata/fio/mixed.json"),
    include_str!("../../../../testdata/fio/terse3.txt"),
];

#[test]
fn bad_input_is_survived() {
    let texts = [&[OLD, MIDDLE, NEW], PRINTED].concat();
    survives(&READER, &texts);
}

#[test]
fn a_histogram_that_is_cut_has_no_fullest_class() {
    let end = OLD.find("70.00%").unwrap();
    let check = |end: usize, mode: Option<f64>| {
        let found = read(&OLD[..end]).figures;
        assert_eq!(value(&found[0], "lat_ns_mode"), mode, "{end}");
    };
    check(end, None);
    check(end + "70.00%".len(), Some(1e6));
    let open = OLD
        .replace("1000=70.00%", "1000=1.00%")
        .replace(">=2000=5.00%", ">=2000=74.00%");
    assert_eq!(value(&read(&open).figures[0], "lat_ns_mode"), None);
}

#[test]
fn rubbish_is_read_in_linear_time() {
    // What is not linear would take hours for so much.
    let check = |part: &str| {
        let text = part.repeat(20_000_000 / part.len());
        let found = read(&text);
        assert!(found.figures.len() <= 1, "{part}");
        assert!(found.left_out.len() < 1_000_000);
    };
    check("a");
    check("{\"fio version\":");
    check("| 1.00th=[ 1],");
    check("3;fio-3.33;");
    check("a: (groupid=0, jobs=");
    check("  read: IOPS=1, BW=1KiB/s (");
    check("min=");
}

#[test]
fn huge_lists_and_deep_objects_are_no_outputs() {
    let check = |inside: &str| {
        let text = format!("{{\"fio version\":\"fio-3.33\",\"jobs\":{inside}}}");
        assert!(read(&text).figures.is_empty());
    };
    check(&format!("[{}1]", "1,".repeat(300_000)));
    check(&format!("[{}{{}}]", "{},".repeat(100_000)));
    check(&format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)));
    check(
        "[{\"jobname\":\"a\",\"groupid\":-1,\"read\":{\"io_bytes\":1,\"bw\":1,\"iops\":1,\"runtime\":1}}]",
    );
    check(
        "[{\"jobname\":\"a\",\"groupid\":0,\"read\":{\"io_bytes\":1,\"bw\":1,\"iops\":\"1\",\"runtime\":1}}]",
    );
    check("[{\"jobname\":\"a\",\"groupid\":0,\"read\":{\"io_bytes\":1,\"iops\":1,\"runtime\":1}}]");
    check(
        "[{\"jobname\":\"a\",\"groupid\":0,\"read\":{\"io_bytes\":18446744073709551615,\"bw\":1,\"iops\":1,\
         \"runtime\":1}}]",
    );
}
