//! Tests of all kernels together: each does its work, proves it, and allocates only where it says so.

use super::*;
use crate::os::testing::{params, place, prepare};
use engine::recorder::Recorder;
use engine::workload::{Body, Workload};

type Overrides = &'static [(&'static str, &'static str)];

/// Every kernel in every direction, with blocks small enough for a test without optimisation.
const ALL: [(&dyn Workload, Overrides); 10] = [
    (&AES_GCM, &[("size", "1000")]),
    (&BLAKE3, &[("size", "3000")]),
    (&JSON, &[("orders", "5")]),
    (&JSON, &[("orders", "5"), ("direction", "write")]),
    (&MATMUL, &[]),
    (&MATMUL, &[("path", "portable")]),
    (&SHA256, &[("size", "64")]),
    (&SORT, &[]),
    (&ZSTD, &[("size", "20000")]),
    (&ZSTD, &[("size", "20000"), ("direction", "decompress")]),
];

#[test]
fn every_kernel_does_what_is_asked_and_proves_it() {
    for (workload, overrides) in ALL {
        for (seed, ops) in [(1, 1), (2, 7), (3, 20)] {
            let (_root, mut place) = place();
            place.seed = seed;
            let mut body = prepare(workload, overrides, &place).unwrap();
            assert_eq!(body.batch(ops, &mut Recorder::off()).unwrap(), ops);
            let finish = body.finish();
            assert!(finish.is_ok(), "{}: {finish:?}", workload.spec().name);
            assert!(body.work_per_op() >= 1.0);
        }
    }
}

#[global_allocator]
static ALLOCATOR: sys::alloc::Counting = sys::alloc::Counting;

/// Allocations of one operation: the fewest of several, because other tests of this process may allocate meanwhile.
fn allocations(body: &mut dyn Body) -> u64 {
    let one = |_| {
        let before = sys::alloc::allocations();
        body.batch(1, &mut Recorder::off()).unwrap();
        sys::alloc::allocations() - before
    };
    (0..30).map(one).min().unwrap()
}

#[test]
fn only_what_says_so_allocates() {
    for (workload, overrides) in ALL {
        let (_root, place) = place();
        let mut body = prepare(workload, overrides, &place).unwrap();
        let allocated = allocations(body.as_mut()) > 0;
        let says = workload.allocates(&params(workload, overrides));
        assert_eq!(allocated, says, "{} {overrides:?}", workload.spec().name);
    }
}

#[test]
fn sizes_that_make_no_sense_are_refused() {
    for (workload, bad) in [
        (&SHA256 as &dyn Workload, "63"),
        (&AES_GCM, "0"),
        (&ZSTD, "257M"),
    ] {
        let (_root, place) = place();
        let error = prepare(workload, &[("size", bad)], &place).err().unwrap();
        assert!(error.to_string().contains("64 bytes to 256 MiB"), "{error}");
        // And when the plan is made, which is before.
        let refused = workload.check_params(&params(workload, &[("size", bad)]));
        assert_eq!(refused.unwrap_err().param, "size");
    }
}

#[test]
fn data_for_which_there_is_no_room_is_refused_and_little_is_never_asked_for() {
    for (workload, most) in [
        (&SHA256 as &dyn Workload, ("size", "256M")),
        (&AES_GCM, ("size", "256M")),
        (&ZSTD, ("size", "256M")),
        (&JSON, ("orders", "100000")),
    ] {
        let (_root, mut place) = place();
        // As many as share what there is.
        place.copies = 1 << 20;
        let error = prepare(workload, &[most], &place).err().unwrap();
        assert!(matches!(error, WorkError::Unsupported(_)), "{error}");
        assert!(error.to_string().contains("too little memory"), "{error}");
        prepare(workload, &[], &place).unwrap();
    }
}

#[test]
fn every_kernel_names_the_code_that_runs() {
    for (workload, overrides) in ALL {
        let name = workload.implementation(&params(workload, overrides));
        assert!(name.is_some_and(|name| !name.is_empty()));
    }
    // The crate's own answer, where it gives one.
    let params = params(&BLAKE3, &[]);
    let detected = format!("{:?}", blake3::platform::Platform::detect());
    let named = BLAKE3.implementation(&params).unwrap();
    let simple = |text: &str| text.to_lowercase().replace(['-', '.'], "");
    assert_eq!(simple(&named), simple(&detected));
}
