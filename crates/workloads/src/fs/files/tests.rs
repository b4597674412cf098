//! Tests of operations on names.

use super::*;
use crate::os::testing;
use engine::recorder::{Latencies, Recorder};
use std::collections::BTreeSet;

const SMALL: &[(&str, &str)] = &[("entries", "300"), ("fill", "100")];

fn with(more: &[(&'static str, &'static str)]) -> Vec<(&'static str, &'static str)> {
    let all = SMALL
        .iter()
        .filter(|(name, _)| more.iter().all(|other| other.0 != *name));
    all.chain(more).copied().collect()
}

fn made(set: &[(&str, &str)], place: &Place) -> Told {
    let params = testing::params(&FILES, set);
    FILES
        .errand(ErrandKind::Make, &params, place, &mut |_| ())
        .unwrap()
}

fn left(place: &Place) -> usize {
    let dirs = std::fs::read_dir(&place.run_dir).unwrap();
    let dirs = dirs
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir());
    dirs.map(|dir| std::fs::read_dir(dir).unwrap().count())
        .sum()
}

#[test]
fn every_kind_is_counted_and_timed_and_the_directory_stays_as_it_is() {
    for (entries, size) in [("300", "4k"), ("5000", "100k")] {
        let (_root, place) = testing::place();
        let set = with(&[("entries", entries), ("fill", "0"), ("size", size)]);
        assert!(made(&set, &place).holds);
        let params = testing::params(&FILES, &set);
        let mut body = FILES.prepare(&params, &place).unwrap();
        body.batch(1, &mut Recorder::off()).unwrap();
        body.measured_part_begins();
        let done = body.batch(1, &mut Recorder::off()).unwrap();
        let finish = body.finish().unwrap();
        let counted: u64 = finish.latencies.values().map(Latencies::count).sum();
        assert_eq!(counted, done);
        let words: BTreeSet<&str> = finish.latencies.keys().map(String::as_str).collect();
        assert_eq!(words, classes::ALL.map(|(_, word)| word).into());
        for metric in FILES.metrics(&params) {
            let reports = metric.quantity.ends_with("_per_s") || metric.is_setting();
            let value = finish.reported.get(metric.quantity);
            assert_eq!(
                value.is_some_and(|value| *value > 0.0),
                reports,
                "{}",
                metric.quantity
            );
        }
        let expect: usize = entries.parse().unwrap();
        assert_eq!(left(&place), expect, "what turns made is gone");
        assert!(finish.notes.is_empty(), "{:?}", finish.notes);
    }
}

#[test]
fn a_round_without_its_directory_or_with_one_that_is_not_whole_fails() {
    let (_root, place) = testing::place();
    let error = testing::prepare(&FILES, SMALL, &place).err().unwrap();
    assert!(
        error.to_string().contains("not there, or not in whole"),
        "{error}"
    );
    made(SMALL, &place);
    testing::prepare(&FILES, SMALL, &place).unwrap();
    let removed = testing::params(&FILES, SMALL);
    let told = FILES.errand(ErrandKind::Remove, &removed, &place, &mut |_| ());
    assert!(!told.unwrap().holds && left(&place) == 0);
}

#[test]
fn files_that_are_gone_are_named_with_what_was_done_to_them() {
    let (_root, place) = testing::place();
    made(SMALL, &place);
    let mut body = testing::prepare(&FILES, SMALL, &place).unwrap();
    let [path, _] = wanted(&testing::params(&FILES, SMALL)).paths(&place);
    for number in 0..300 {
        std::fs::remove_file(path.join(format!("e{number:010}"))).unwrap();
    }
    let error = body.batch(1, &mut Recorder::off()).unwrap_err().to_string();
    assert!(
        error.starts_with("stat `") && error.contains("/files-300-100/e0"),
        "{error}"
    );
}

#[test]
fn content_alone_is_forgotten_file_by_file_and_names_are_missing_with_the_reason() {
    // On a disk: of memory nothing is forgotten.
    let root = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let place = testing::place_in(&root);
    let set = with(&[("cache", "cold")]);
    made(&set, &place);
    let [path, note] = wanted(&testing::params(&FILES, &set)).paths(&place);
    if cold::in_memory(&path).is_some() {
        eprintln!("skipped: the sources are in memory");
        return;
    }
    let directory = (
        Folder::open(&path).unwrap(),
        path,
        Made::noted(&note).unwrap(),
    );
    let forgotten = cold::Forgotten::Content("only root may".to_owned());
    let mut body = cold::Cold::new(directory, forgotten, 100, &place).unwrap();
    let done = body.batch(1000, &mut Recorder::off()).unwrap();
    assert_eq!(body.batch(1, &mut Recorder::off()).unwrap(), 0);
    let finish = body.finish().unwrap();
    assert_eq!(done, 299, "each but the one that was looked at");
    assert_eq!(finish.latencies["read"].count(), 299);
    for quantity in ["stat_ops_per_s", "open_ops_per_s", "readdir_names_per_s"] {
        assert_eq!(finish.missing[quantity], "only root may");
        assert!(!finish.reported.contains_key(quantity));
    }
}

#[test]
fn in_memory_nothing_is_forgotten() {
    let Ok(root) = tempfile::tempdir_in("/dev/shm") else {
        eprintln!("skipped: there is no /dev/shm");
        return;
    };
    let place = testing::place_in(&root);
    let set = with(&[("cache", "cold")]);
    made(&set, &place);
    let error = testing::prepare(&FILES, &set, &place).err().unwrap();
    assert!(
        matches!(&error, WorkError::Unsupported(why) if why.contains("in memory")),
        "{error}"
    );
}

#[test]
fn tests_of_the_same_directory_share_it_and_large_ones_are_waited_for() {
    let ground = |set: &[(&str, &str)]| {
        let params = testing::params(&FILES, set);
        FILES.ground(&params, &HostFacts::default(), None).unwrap()
    };
    let small = ground(&[]);
    assert_eq!(ground(&[("size", "1M"), ("cache", "cold")]), small);
    let million = ground(&[("entries", "1000000"), ("fill", "0")]);
    assert_ne!(million.key, small.key);
    assert!(million.expected >= Nanos::from_secs(20) && million.expected < Nanos::from_secs(60));
    assert!(million.at_most >= Nanos::from_secs(5000));
}

#[test]
fn values_out_of_range_are_refused() {
    for (name, value) in [("size", "0"), ("size", "65M"), ("fill", "65M")] {
        let params = testing::params(&FILES, &[(name, value)]);
        assert_eq!(FILES.check_params(&params).unwrap_err().param, name);
    }
}
