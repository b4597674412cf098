//! The trace against what was counted in dbench's, and against itself.

use super::*;
use crate::fs::dbench::trace::Class;
use std::collections::{BTreeMap, BTreeSet};

/// What was counted in dbench 4.0's loop: the class, how often, and how often it fails.
const COUNTED: [(Class, usize, usize); 14] = [
    (Class::Read, 124_199, 0),
    (Class::Open, 79_230, 21_030),
    (Class::QueryPath, 71_814, 24_385),
    (Class::Close, 58_200, 0),
    (Class::Write, 39_502, 0),
    (Class::Find, 27_765, 0),
    (Class::Unlink, 16_000, 0),
    (Class::QueryFileSystem, 13_168, 0),
    (Class::QueryFile, 12_585, 0),
    (Class::SetFile, 6_454, 0),
    (Class::Flush, 5_553, 0),
    (Class::Rename, 3_355, 0),
    (Class::Lock, 258, 0),
    (Class::Unlock, 258, 0),
];

fn within_1_percent(found: usize, wanted: usize) -> bool {
    found.abs_diff(wanted) * 100 <= wanted
}

#[test]
fn every_operation_and_failure_comes_as_often_as_in_dbench_within_1_percent() {
    let own = own();
    let mut found: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    for op in &own.trace.ops {
        let count = found.entry(op.class().place()).or_default();
        count.0 += 1;
        count.1 += usize::from(matches!(
            op,
            Op::Open {
                expected: Expected::Failure,
                ..
            } | Op::QueryPath {
                expected: Expected::Failure,
                ..
            }
        ));
    }
    for (class, count, failures) in COUNTED {
        let got = found.remove(&class.place()).unwrap();
        assert!(within_1_percent(got.0, count), "{class:?}: {got:?}");
        assert!(within_1_percent(got.1, failures), "{class:?}: {got:?}");
    }
    assert!(found.is_empty(), "{found:?}");
    assert!(within_1_percent(own.trace.ops.len(), 458_344));
}

#[test]
fn as_much_is_read_and_written_as_in_dbench_within_1_percent() {
    let (mut read, mut written) = (0, 0);
    for op in own().trace.ops {
        match op {
            Op::Read { length, .. } => read += length as usize,
            Op::Write { length, .. } => written += length as usize,
            _ => {}
        }
    }
    assert!(within_1_percent(read, 1_472_000_000), "{read}");
    assert!(within_1_percent(written, 1_016_000_000), "{written}");
}

/// What is there while the trace goes on: sizes by name, and names by slot.
#[test]
fn every_operation_meets_what_it_expects_and_the_end_is_the_beginning() {
    let own = own();
    let name = |name: u32| own.trace.names[name as usize].as_str();
    let began: BTreeMap<&str, u64> = own
        .files
        .iter()
        .map(|(name, size)| (name.as_str(), *size))
        .collect();
    assert_eq!(began.len(), FILES);
    let mut sizes = began.clone();
    let mut open: BTreeMap<u16, &str> = BTreeMap::new();
    let (mut most_open, mut most_files, mut most_bytes) = (0, 0, 0);
    for op in &own.trace.ops {
        match *op {
            Op::Open {
                name: at,
                slot,
                how,
                expected,
            } => {
                let is_there = sizes.contains_key(name(at));
                match (how, expected) {
                    (Opening::Make, Expected::Success) => {
                        assert!(!is_there, "{op:?}");
                        sizes.insert(name(at), 0);
                    }
                    (_, expected) => assert!(expected.is(is_there), "{op:?}"),
                }
                if expected == Expected::Success {
                    assert!(open.insert(slot, name(at)).is_none(), "{op:?}");
                }
            }
            Op::Close { slot } => {
                assert!(open.remove(&slot).is_some());
            }
            Op::Write {
                slot,
                length,
                offset,
            } => {
                let size = sizes.get_mut(open[&slot]).unwrap();
                *size = (*size).max(offset + u64::from(length));
            }
            Op::Read {
                slot,
                length,
                offset,
                there,
            } => {
                assert!(
                    there == length && offset + u64::from(length) <= sizes[open[&slot]],
                    "{op:?}"
                );
            }
            Op::Rename { from, to, .. } => {
                let size = sizes.remove(name(from)).unwrap();
                assert!(sizes.insert(name(to), size).is_none(), "{op:?}");
            }
            Op::Unlink { name: at, .. } => assert!(sizes.remove(name(at)).is_some(), "{op:?}"),
            Op::QueryPath { name: at, expected } => {
                assert!(expected.is(sizes.contains_key(name(at))), "{op:?}");
            }
            Op::QueryFile { slot }
            | Op::SetFile { slot }
            | Op::Flush { slot }
            | Op::Lock { slot, .. }
            | Op::Unlock { slot, .. } => assert!(open.contains_key(&slot), "{op:?}"),
            _ => {}
        }
        most_open = most_open.max(open.len());
        most_files = most_files.max(sizes.len());
        most_bytes = most_bytes.max(sizes.values().sum());
    }
    assert!(open.is_empty());
    assert_eq!(sizes, began);
    assert_eq!(most_open, OPEN_MAX);
    assert!((100..=106).contains(&most_files), "{most_files}");
    assert!(
        (23_000_000..=25_000_000).contains(&most_bytes),
        "{most_bytes}"
    );
}

#[test]
fn the_trace_is_the_same_every_time_and_its_names_are_few() {
    let (one, other) = (own(), own());
    assert_eq!(one.trace, other.trace);
    let names: BTreeSet<&String> = one.trace.names.iter().collect();
    assert_eq!(names.len(), one.trace.names.len());
    assert!(names.len() < 500);
}
