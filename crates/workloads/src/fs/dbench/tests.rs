//! The workload on a directory.

use super::*;
use crate::os::testing::{params, place};
use engine::recorder::Recorder;

#[test]
fn our_own_trace_meets_on_a_disk_what_it_expects() {
    let (_root, place) = place();
    let mut body = DBENCH.prepare(&params(&DBENCH, &[]), &place).unwrap();
    // Every kind of operation comes in so many.
    body.batch(20_000, &mut Recorder::off()).unwrap();
    let work = body.work().unwrap();
    let finish = body.finish().unwrap();
    assert!(work > 50e6, "{work}");
    assert!(finish.latencies["flush"].count() > 100);
    let all: u64 = finish
        .latencies
        .values()
        .map(engine::recorder::Latencies::count)
        .sum();
    assert_eq!(all, 20_000);
    let declared = SPEC.metrics.iter().filter_map(|metric| match metric.how {
        How::Of(name, _) if name != model::latency::LAT => Some(name),
        _ => None,
    });
    let declared: std::collections::BTreeSet<&str> = declared.collect();
    let missing = declared
        .iter()
        .filter(|name| !finish.latencies.contains_key(**name));
    assert_eq!(missing.count(), 0);
    assert_eq!(declared.len(), finish.latencies.len());
}

#[test]
fn a_load_needs_its_file() {
    let (_root, place) = place();
    let set = params(&DBENCH, &[("load", "0123456789abcdef")]);
    let error = DBENCH.prepare(&set, &place).err().unwrap().to_string();
    assert!(
        error.contains("hint: `--loadfile FILE` does both"),
        "{error}"
    );
    for (param, value, fits) in [
        ("load", "own", true),
        ("load", "", false),
        ("load", "0123456789abcdef", true),
        ("load", "client.txt", false),
        ("time", "1s", true),
        ("time", "10ms", false),
    ] {
        let set = params(&DBENCH, &[(param, value)]);
        assert_eq!(DBENCH.check_params(&set).is_ok(), fits, "{param} {value}");
    }
}
