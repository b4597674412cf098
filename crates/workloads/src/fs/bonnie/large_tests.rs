//! A round of six phases on a small file.

use super::*;
use crate::os::testing;
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;

const SMALL: &[(&str, &str)] = &[("size", "2M"), ("char_size", "1000"), ("seeks", "500")];

fn batch(body: &mut dyn Body) -> u64 {
    body.batch(1, &mut Recorder::off()).unwrap()
}

#[test]
fn a_round_goes_through_its_phases_and_reports_all_that_is_declared() {
    let (_root, place) = testing::place();
    let mut body = testing::prepare(&LARGE, SMALL, &place).unwrap();
    let data = place.dir.join("data");
    assert_eq!(batch(&mut *body), 1);
    assert!(!data.exists(), "what was written byte by byte is gone");
    assert_eq!(batch(&mut *body), 1);
    let first = std::fs::read(&data).unwrap();
    assert_eq!(first.len(), 2 << 20);
    assert!(data.metadata().unwrap().blocks() > 0);
    assert_eq!(batch(&mut *body), 1);
    let second = std::fs::read(&data).unwrap();
    let same = first
        .iter()
        .zip(&second)
        .filter(|(one, other)| one == other);
    // The number at the head of each page, and of that one byte.
    assert_eq!(first.len() - same.count(), (2 << 20) / 4096);
    let done: u64 = (0..4).map(|_| batch(&mut *body)).sum();
    assert_eq!(done, 3, "and it ends by itself");
    let finish = body.finish().unwrap();
    let declared: BTreeSet<&str> = METRICS.iter().map(|metric| metric.quantity).collect();
    let told = finish.reported.keys().chain(finish.missing.keys());
    assert_eq!(told.map(String::as_str).collect::<BTreeSet<_>>(), declared);
    assert!((finish.reported["size_bytes"] - f64::from(2 << 20)).abs() < 0.5);
    for (name, value) in &finish.reported {
        assert!(*value >= 0.0 && value.is_finite(), "{name}: {value}");
        assert!(*value > 0.0 || name.ends_with("_share"), "{name}");
    }
    // It was written a moment before.
    if let Some(share) = finish.reported.get("cached_share") {
        assert!(*share > 0.9, "{share}");
        assert_eq!(finish.notes, [OF_THE_CACHE]);
    }
}

#[test]
fn a_file_that_somebody_changed_is_told() {
    let (_root, place) = testing::place();
    let mut body = testing::prepare(&LARGE, SMALL, &place).unwrap();
    assert_eq!(batch(&mut *body) + batch(&mut *body), 2);
    let data = place.dir.join("data");
    let whole = std::fs::read(&data).unwrap();
    std::fs::write(&data, [&whole[8192..], &whole[..8192]].concat()).unwrap();
    let error = body.batch(1, &mut Recorder::off()).unwrap_err();
    assert!(matches!(error, WorkError::Wrong(_)), "{error}");
}

#[test]
fn what_does_not_fit_or_makes_no_sense_is_refused_before_anything_is_written() {
    let (_root, place) = testing::place();
    let refused = testing::prepare(&LARGE, &[("size", "8T")], &place);
    let why = refused.err().unwrap().to_string();
    assert!(
        why.contains("there is room for") && why.contains("hint: `--dir`"),
        "{why}"
    );
    assert_eq!(std::fs::read_dir(&place.dir).unwrap().count(), 0);
    for (name, value) in [("size", "1k"), ("size", "9T"), ("char_size", "0")] {
        let params = testing::params(&LARGE, &[(name, value)]);
        assert_eq!(LARGE.check_params(&params).unwrap_err().param, name);
    }
}

#[test]
fn the_time_and_the_bytes_of_a_round_follow_from_the_size() {
    let quick = testing::params(&LARGE, SPEC.tests[1].params);
    // Six rounds of it fit five minutes.
    assert!(LARGE.shape(&quick).measure < Nanos::from_secs(40));
    assert_eq!(LARGE.shorter(&quick), None);
    let mut host = HostFacts::default();
    host.storage.free = model::host::Fact::Known(Bytes(1 << 40));
    let params = testing::params(&LARGE, &[]);
    assert_eq!(LARGE.shorter(&params), Some(QUICK));
    let here = LARGE.on(&params, &host, 1);
    let size = here.size("size").0;
    assert!(size >= 300 << 20);
    let writes = LARGE.writes(&here).per_round.0;
    assert!(writes > 2 * size && writes < 2 * size + (16 << 20));
    assert!(LARGE.exceeds_memory(&params, &host, 1));
    host.storage.free = model::host::Fact::Known(Bytes(400 << 20));
    assert!(!LARGE.exceeds_memory(&params, &host, 4));
    assert_eq!(LARGE.on(&params, &host, 1).size("size").0, 200 << 20);
    let each = LARGE.on(&params, &host, 4).size("size").0;
    assert_eq!(each, 50 << 20, "four copies share the disk");
    assert!(LARGE.shape(&LARGE.on(&params, &host, 1)).measure < LARGE.shape(&params).measure);
    assert_eq!(LARGE.on(&quick, &host, 1), quick);
}
