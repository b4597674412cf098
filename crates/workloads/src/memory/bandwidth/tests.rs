//! Kernels that compute what they say, whatever the machine has.

use super::*;
use crate::os::testing;

const OPS: [&str; 6] = ["read", "write", "copy", "scale", "add", "triad"];

#[test]
fn every_operation_is_checked_to_the_last_element() {
    std::thread::scope(|scope| {
        // Pins itself, so not on the test's own thread.
        scope.spawn(|| {
            for op in OPS {
                for stores in ["regular", "streaming"] {
                    let (_root, place) = testing::place();
                    let set = [("op", op), ("stores", stores), ("size", "7M")];
                    let mut body = match testing::prepare(&BANDWIDTH, &set, &place) {
                        Err(WorkError::Unsupported(_)) => continue,
                        body => body.unwrap(),
                    };
                    for ops in [1, 3, 20] {
                        body.batch(ops, &mut Recorder::off()).unwrap();
                    }
                    let finish = body.finish().unwrap();
                    let width = approx(Width::best().bytes());
                    assert!((finish.reported["vector_bytes"] - width).abs() < 0.5);
                    assert!(finish.notes[0].ends_with(Width::best().name()));
                }
            }
        });
    });
}

fn streams(op: Op) -> Streams {
    let (_root, place) = testing::place();
    let params = testing::params(&BANDWIDTH, &[]);
    let kernel = Kernel {
        op,
        stores: Stores::Regular,
        width: Width::Portable,
        strides: 1,
    };
    Streams::new(kernel, 1 << 20, &params, &place, 0).unwrap()
}

#[test]
fn stretches_side_by_side_reach_every_element_whatever_the_size() {
    for (op, stores, size, strides) in [
        ("copy", "streaming", "1M", "8"),
        ("read", "regular", "100000", "3"),
        ("triad", "regular", "4k", "64"),
    ] {
        let (_root, place) = testing::place();
        let set = [
            ("op", op),
            ("stores", stores),
            ("size", size),
            ("strides", strides),
        ];
        let params = testing::params(&BANDWIDTH, &set);
        let mut body = BANDWIDTH.prepare(&params, &place).unwrap();
        let bytes = body.work_per_op();
        assert!(bytes >= 4096.0 * strides.parse::<f64>().unwrap(), "{op}");
        body.batch(20, &mut Recorder::off()).unwrap();
        body.finish().unwrap();
    }
}

#[test]
fn a_changed_element_and_a_changed_source_are_found() {
    for op in [Op::Write, Op::Copy, Op::Scale, Op::Add, Op::Triad] {
        let mut body = streams(op);
        body.batch(3, &mut Recorder::off()).unwrap();
        let last = body.starts[usize::from(op.arrays()) - 1] + 17;
        body.region.numbers()[last] += 1.0;
        assert!(matches!(body.finish(), Err(WorkError::Wrong(_))), "{op:?}");
    }
    let mut body = streams(Op::Read);
    let first = body.starts[0];
    body.region.numbers()[first] += 1.0;
    body.batch(2, &mut Recorder::off()).unwrap();
    assert!(matches!(body.finish(), Err(WorkError::Wrong(_))));
}

#[test]
fn streaming_stores_that_do_not_exist_are_refused_beforehand() {
    let set = [("vectors", "portable"), STREAMING];
    let params = testing::params(&BANDWIDTH, &set);
    let why = BANDWIDTH
        .supported(&params, &HostFacts::default())
        .unwrap_err();
    assert!(why.contains("no streaming stores"), "{why}");
}

#[test]
fn arrays_that_hold_nothing_are_refused_beforehand() {
    for (size, fits) in [("0", true), ("1", false), ("4095", false), ("4k", true)] {
        let params = testing::params(&BANDWIDTH, &[("size", size)]);
        let found = BANDWIDTH.check_params(&params);
        assert_eq!(found.is_ok(), fits, "{size}: {found:?}");
    }
}
