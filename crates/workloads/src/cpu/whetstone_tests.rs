//! Tests of `cpu.whetstone`, against a reference that is written from the description of the program in H. J. Curnow
//! and B. A. Wichmann, "A synthetic benchmark" (Computer Journal 19(1), 1976), and shares nothing with the kernel:
//! modules with the numbers, counts and formulas of the paper, arrays that begin with 1, no arithmetic rearranged.
//!
//! Where the double-precision version that UnixBench runs is known to depart from the paper, so does the reference, and
//! says so: in the constants, and in what a call of module 8 begins with. Modules 1, 5 and 10 have the count 0 in the
//! paper, and are left out.

use super::*;
use crate::os::testing::{params, place, prepare};

/// The paper's t, t1 and t2. There the first two are 0.499975 and 0.50025; here they are nearer to a half, as in later
/// versions in double precision.
const CONSTANTS: [f64; 3] = [0.499_999_75, 0.500_000_25, 2.0];

/// Turns of each module for every 100,000 Whetstone instructions, in the order of [`reference`].
mod turns {
    pub(super) const ARRAY_ELEMENTS: u64 = 12;
    pub(super) const ARRAY_AS_PARAMETER: u64 = 14;
    pub(super) const CONDITIONAL_JUMPS: u64 = 345;
    pub(super) const INTEGER_ARITHMETIC: u64 = 210;
    pub(super) const TRIGONOMETRY: u64 = 32;
    pub(super) const PROCEDURE_CALLS: u64 = 899;
    pub(super) const ARRAY_REFERENCES: u64 = 616;
    pub(super) const STANDARD_FUNCTIONS: u64 = 93;
}

/// An array whose elements are counted from 1, as in ALGOL; the element 0 is never used.
type FromOne = [f64; 5];

/// The four assignments of modules 2 and 3: each element becomes the sum of all four, one of them negative, by a
/// factor. The last one multiplies by t in module 2 and divides by t2 in module 3.
fn four_assignments(e: &mut FromOne, scaled: impl Fn(f64) -> f64) {
    let [t, ..] = CONSTANTS;
    for negative in (2..=4).rev() {
        let assigned = 5 - negative;
        let signed = |i: usize| if i == negative { -e[i] } else { e[i] };
        e[assigned] = (signed(1) + signed(2) + signed(3) + signed(4)) * t;
    }
    e[4] = scaled(-e[1] + e[2] + e[3] + e[4]);
}

fn module_2(turns: u64) -> FromOne {
    let mut e = [f64::NAN, 1.0, -1.0, -1.0, -1.0];
    for _ in 0..turns {
        four_assignments(&mut e, |sum| sum * CONSTANTS[0]);
    }
    e
}

/// The procedure `pa` does them six times.
fn module_3(turns: u64, mut e: FromOne) -> FromOne {
    for _ in 0..turns * 6 {
        four_assignments(&mut e, |sum| sum / CONSTANTS[2]);
    }
    e
}

/// Three choices in a row.
fn module_4(turns: u64) -> u64 {
    (0..turns).fold(1, |j, _| {
        let first = if j == 1 { 2 } else { 3 };
        let second = u64::from(first <= 2);
        u64::from(second < 1)
    })
}

/// Its two assignments to array elements are read by nobody.
fn module_6(turns: u64) -> [i64; 3] {
    let [mut j, mut k, mut l] = [1, 2, 3];
    for _ in 0..turns {
        j = j * (k - j) * (l - k);
        k = l * k - (l - j) * k;
        l = (l - k) * (k + j);
    }
    [j, k, l]
}

fn module_7(turns: u64) -> [f64; 2] {
    let [t, _, t2] = CONSTANTS;
    let arc = |of: f64, x: f64, y: f64| {
        t * f64::atan(t2 * of.sin() * of.cos() / ((x + y).cos() + (x - y).cos() - 1.0))
    };
    let [mut x, mut y] = [0.5, 0.5];
    for _ in 0..turns {
        x = arc(x, x, y);
        y = arc(y, x, y);
    }
    [x, y]
}

/// The procedure `p3`. In the paper every call begins with the same x and y, and both sums are multiplied by t; here a
/// call begins with y and z of the call before, and the second factor is t1.
fn module_8(turns: u64) -> [f64; 3] {
    let [t, t1, t2] = CONSTANTS;
    let procedure = |x: f64, y: f64| {
        let x = t * (x + y);
        let y = t1 * (x + y);
        [x, y, (x + y) / t2]
    };
    (0..turns).fold([1.0; 3], |[_, y, z], _| procedure(y, z))
}

/// The procedure `p0`: each of three elements gets another one's value, the last one the new value of the first.
fn module_9(turns: u64) -> [f64; 3] {
    let (j, k, l) = (1, 2, 3);
    let mut e = [f64::NAN, 1.0, 2.0, 3.0];
    for _ in 0..turns {
        for (to, from) in [(j, k), (k, l), (l, j)] {
            e[to] = e[from];
        }
    }
    [e[j], e[k], e[l]]
}

fn module_11(turns: u64) -> f64 {
    let [_, t1, _] = CONSTANTS;
    (0..turns).fold(0.75, |x: f64, _| f64::sqrt(f64::exp(x.ln() / t1)))
}

fn reference(scale: u64) -> Results {
    let array = module_2(turns::ARRAY_ELEMENTS * scale);
    let parameter = module_3(turns::ARRAY_AS_PARAMETER * scale, array);
    let [_, elements @ ..] = array;
    let [_, parameter @ ..] = parameter;
    Results {
        elements,
        parameter,
        jumps: module_4(turns::CONDITIONAL_JUMPS * scale),
        trigonometry: module_7(turns::TRIGONOMETRY * scale),
        calls: module_8(turns::PROCEDURE_CALLS * scale),
        references: module_9(turns::ARRAY_REFERENCES * scale),
        standard: module_11(turns::STANDARD_FUNCTIONS * scale),
    }
}

#[test]
fn integer_arithmetic_computes_the_same_in_every_turn_so_that_a_compiler_may_leave_it_out() {
    for turns in [1, 2, turns::INTEGER_ARITHMETIC * SCALE] {
        assert_eq!(module_6(turns), [1, 2, 3]);
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
