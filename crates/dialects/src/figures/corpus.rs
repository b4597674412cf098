//! Real outputs, cut short: what is left of a text has no figure that the whole text has not.

use super::{READERS, testkit};
use model::rng::Rng;

/// A figure as it is told apart: program, test, copies, quantity, and the value.
type Told = (&'static str, String, u32, String, f64);

/// Whether it is the same figure: a cell of a table has fewer digits than the line of the same run behind it, and so
/// has a printed mean beside the sums that follow it.
fn is_same(one: &Told, other: &Told) -> bool {
    // A part of a text may not say all that makes its figures those of our own test, whose names are longer.
    let is_named = one.3.ends_with(&other.3) || other.3.ends_with(&one.3);
    is_named && (one.0, &one.1, one.2) == (other.0, &other.1, other.2) && is_near(one, other)
}

/// Whether it is the same value: of a rate that follows from a count and a time, up to their last digits.
fn is_near(one: &Told, other: &Told) -> bool {
    let of_mean = if one.3 == "lat_ns_mean" { 5000.0 } else { 0.0 };
    let share = if one.3 == "ops_per_s" { 2e-3 } else { 1e-3 };
    (one.4 - other.4).abs() <= (share * other.4.abs()).max(of_mean)
}

fn told(text: &str) -> Vec<Told> {
    let of_reader = |reader: &'static super::Reader| {
        let figures = (reader.read)(text).figures.into_iter();
        figures.flat_map(move |one| {
            let values = one.values.into_iter();
            values.map(move |figure| {
                (
                    reader.program,
                    one.test.clone(),
                    one.copies,
                    figure.quantity,
                    figure.value,
                )
            })
        })
    };
    READERS.iter().flat_map(of_reader).collect()
}

const PROGRAMS: [&str; 8] = [
    "bonnie",
    "dbench",
    "fio",
    "iperf3",
    "mbw",
    "sysbench",
    "unixbench",
    "vdbench",
];

/// Texts of the corpus as something made of each at random places: the figures that the whole has not.
fn strange(
    seed: u64,
    is_same: impl Fn(&Told, &Told) -> bool,
    change: impl Fn(&str, usize) -> String,
) -> Vec<(String, usize, Told)> {
    let mut rng = Rng::new(seed);
    let mut strange = Vec::new();
    for (path, text, _) in PROGRAMS.into_iter().flat_map(testkit::corpus) {
        let whole = told(&text);
        for _ in 0..300 {
            let at = rng.index(text.len());
            if !text.is_char_boundary(at) {
                continue;
            }
            let changed = change(&text, at);
            let found = told(&changed);
            let others = found.into_iter();
            let others = others.filter(|one| !whole.iter().any(|other| is_same(one, other)));
            strange.extend(others.map(|one| (path.clone(), at, one)));
        }
    }
    strange
}

#[test]
#[ignore = "corpus: KURABE_CORPUS names a directory of other people's outputs"]
fn a_real_output_that_is_cut_has_no_other_figures() {
    let cut = |text: &str, at: usize| text[..at].to_owned();
    let strange = strange(11, is_same, cut);
    assert!(strange.is_empty(), "{strange:#?}");
}

#[test]
#[ignore = "corpus: KURABE_CORPUS names a directory of other people's outputs"]
fn a_real_output_of_which_a_line_is_broken_in_two_has_no_other_figures() {
    let broken = |text: &str, at: usize| format!("{}\n{}", &text[..at], &text[at..]);
    // A name that is broken in two is another name, of the same value; a rate that is, follows from counts.
    let is_same = |one: &Told, other: &Told| one.0 == other.0 && is_near(one, other);
    let strange = strange(12, is_same, broken);
    assert!(strange.is_empty(), "{strange:#?}");
}
