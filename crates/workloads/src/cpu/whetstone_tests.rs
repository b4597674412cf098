//! Tests of `cpu.whetstone`, against a reference that is written differently: sections as the program's text has them,
//! with its branches, divisions and square root, in the order of the text, on arrays with indices.

use super::*;
use crate::os::testing::{params, place, prepare};

const T: f64 = 0.499_999_75;
const T1: f64 = 0.500_000_25;
const T2: f64 = 2.0;

fn reference(scale: u64) -> Results {
    let assign = |e: &mut [f64; 4], divide: bool| {
        e[0] = (e[0] + e[1] + e[2] - e[3]) * T;
        e[1] = (e[0] + e[1] - e[2] + e[3]) * T;
        e[2] = (e[0] - e[1] + e[2] + e[3]) * T;
        let sum = -e[0] + e[1] + e[2] + e[3];
        e[3] = if divide { sum / T2 } else { sum * T };
    };
    let mut e = [1.0, -1.0, -1.0, -1.0];
    (0..12 * scale).for_each(|_| assign(&mut e, false));
    let elements = e;
    (0..14 * scale * 6).for_each(|_| assign(&mut e, true));
    let mut j = 1;
    for _ in 0..345 * scale {
        j = if j == 1 { 2 } else { 3 };
        j = u64::from(j <= 2);
        j = u64::from(j < 1);
    }
    let (mut x, mut y) = (0.5_f64, 0.5_f64);
    for _ in 0..32 * scale {
        x = T * (T2 * x.sin() * x.cos() / ((x + y).cos() + (x - y).cos() - 1.0)).atan();
        y = T * (T2 * y.sin() * y.cos() / ((x + y).cos() + (x - y).cos() - 1.0)).atan();
    }
    let mut xyz = [1.0; 3];
    for _ in 0..899 * scale {
        xyz[0] = xyz[1];
        xyz[1] = xyz[2];
        xyz[0] = T * (xyz[0] + xyz[1]);
        xyz[1] = T1 * (xyz[0] + xyz[1]);
        xyz[2] = (xyz[0] + xyz[1]) / T2;
    }
    let mut array = [1.0, 2.0, 3.0];
    for _ in 0..616 * scale {
        array[0] = array[1];
        array[1] = array[2];
        array[2] = array[0];
    }
    let mut standard = 0.75_f64;
    for _ in 0..93 * scale {
        standard = (standard.ln() / T1).exp().sqrt();
    }
    Results {
        elements,
        parameter: e,
        jumps: j,
        trigonometry: [x, y],
        calls: xyz,
        references: array,
        standard,
    }
}

#[test]
fn every_section_gives_what_the_reference_gives() {
    for scale in [0, 1, 2, 3, SCALE, 20, 100] {
        let (got, want) = (values(&pass(scale, 0)), values(&reference(scale)));
        for ((section, got), (_, want)) in got.into_iter().zip(want) {
            assert!(
                (got - want).abs() < 1e-11,
                "{section} at {scale}: {got} and {want}"
            );
        }
    }
}

#[test]
fn the_expected_results_are_the_references() {
    for ((section, got), (_, want)) in values(&EXPECTED).into_iter().zip(values(&reference(SCALE)))
    {
        assert!((got - want).abs() < 1e-11, "{section}: {got} and {want}");
    }
    check(&pass(SCALE, 0)).unwrap();
}

#[test]
fn less_work_in_any_section_is_found() {
    let less = values(&pass(SCALE - 1, 0));
    for section in ["N1", "N2", "N3", "N5", "N6", "N8"] {
        let mut mixed = pass(SCALE, 0);
        for &(name, value) in less.iter().filter(|(name, _)| *name == section) {
            match name {
                "N1" => mixed.elements[0] = value,
                "N2" => mixed.parameter[0] = value,
                "N3" => mixed.jumps = 1,
                "N5" => mixed.trigonometry[0] = value,
                "N6" => mixed.calls[0] = value,
                _ => mixed.standard = value,
            }
        }
        let error = check(&mixed).unwrap_err().to_string();
        assert!(error.contains(section), "{error}");
    }
    // N7 gives the same after every even number of turns; only a count of instructions shows its work.
    assert_eq!(
        pass(SCALE, 0).references.map(f64::to_bits),
        pass(2, 0).references.map(f64::to_bits)
    );
}

#[test]
fn wrong_results_are_found() {
    let body = || Passes {
        first: pass(SCALE, 0),
        clone: 0,
        different: 0,
        done: 0,
        user: None,
    };
    let spoilt: [fn(&mut Results); 8] = [
        |results| results.elements[0] += 1e-15,
        |results| results.parameter[3] += 1e-15,
        |results| results.jumps ^= 1,
        |results| results.trigonometry[1] += 1e-9,
        |results| results.calls[2] = f64::NAN,
        |results| results.references[0] = 1.0,
        |results| results.standard += 1e-9,
        |results| results.standard = f64::INFINITY,
    ];
    for (number, spoil) in spoilt.into_iter().enumerate() {
        // The first pass wrong, and nothing to compare it with.
        let mut alone = body();
        spoil(&mut alone.first);
        let error = alone.finish().unwrap_err();
        assert!(matches!(error, WorkError::Wrong(_)), "{number}: {error}");
        assert!(error.to_string().contains("section N"), "{number}: {error}");
        // One pass different from the first.
        let mut other = body();
        spoil(&mut other.first);
        other.batch(1, &mut Recorder::off()).unwrap();
        other.first = pass(SCALE, 0);
        other.batch(3, &mut Recorder::off()).unwrap();
        let error = other.finish().unwrap_err();
        assert_eq!(
            error.to_string(),
            "1 passes gave other results than the first"
        );
    }
}

#[test]
fn batches_of_any_size_are_done_and_accepted() {
    let (_root, place) = place();
    let mut body = prepare(&WHETSTONE, &[], &place).unwrap();
    for ops in [0, 1, 5] {
        assert_eq!(body.batch(ops, &mut Recorder::off()).unwrap(), ops);
    }
    let finish = body.finish().unwrap();
    assert_eq!(finish.digest, digest(&pass(SCALE, 0)));
    assert_eq!(finish.reported.len(), 0, "wall time counts");
    assert!((body.work_per_op() - 500_000.0).abs() < 1e-9);
}

#[test]
fn version_5_1_3_counts_user_time_of_the_measured_part_only() {
    let (_root, place) = place();
    let mut body = prepare(&WHETSTONE, &[("compat", "5.1.3")], &place).unwrap();
    // Nothing done yet: nothing to report.
    assert_eq!(body.finish().unwrap().reported.len(), 0);
    body.batch(1, &mut Recorder::off()).unwrap();
    // Idle time, and user time before the measured part, must not count.
    std::thread::sleep(std::time::Duration::from_millis(50));
    body.measured_part_begins();
    let before = sys::process::usage_self().user;
    body.batch(300, &mut Recorder::off()).unwrap();
    let user = approx(sys::process::usage_self().user - before) / 1e9;
    std::thread::sleep(std::time::Duration::from_millis(50));
    let wips = body.finish().unwrap().reported[WIPS];
    let rate = 300.0 * body.work_per_op() / user;
    // Other tests run in other threads of this process and use its user time meanwhile, hence the wide bounds.
    assert!((0.8..1.25).contains(&(wips / rate)), "{wips} and {rate}");
}

#[test]
fn version_6_and_the_default_measure_wall_time() {
    let (_root, place) = place();
    for compat in ["6", "off"] {
        let mut body = prepare(&WHETSTONE, &[("compat", compat)], &place).unwrap();
        body.batch(2, &mut Recorder::off()).unwrap();
        assert_eq!(body.finish().unwrap().reported.len(), 0);
    }
    assert_eq!(WHETSTONE.shape(&params(&WHETSTONE, &[])), Shape::DEFAULT);
    let shape = WHETSTONE.shape(&params(&WHETSTONE, &[("compat", "6")]));
    assert_eq!((shape.measure.0, shape.rounds), (10_000_000_000, Some(10)));
}
