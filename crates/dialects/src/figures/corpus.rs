//! Real outputs, cut short: what is left of a text has no figure that the whole text has not.

use super::{READERS, testkit};
use model::rng::Rng;

/// A figure as it is told apart: program, test, copies, quantity, and the value.
type Told = (&'static str, String, u32, String, f64);

/// Whether it is the same figure: a cell of a table has fewer digits than the line of the same run behind it, and so
/// has a printed mean beside the sums that follow it.
fn is_same(one: &Told, other: &Told) -> bool {
    let of_mean = if one.3 == "lat_ns_mean" { 5000.0 } else { 0.0 };
    // A part of a text may not say all that makes its figures those of our own test, whose names are longer.
    let is_named = one.3.ends_with(&other.3) || other.3.ends_with(&one.3);
    is_named
        && (one.0, &one.1, one.2) == (other.0, &other.1, other.2)
        && (one.4 - other.4).abs() <= (1e-3 * other.4.abs()).max(of_mean)
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

#[test]
#[ignore = "corpus: KURABE_CORPUS names a directory of other people's outputs"]
fn a_real_output_that_is_cut_has_no_other_figures() {
    let programs = [
        "bonnie",
        "dbench",
        "fio",
        "iperf3",
        "mbw",
        "sysbench",
        "unixbench",
        "vdbench",
    ];
    let mut rng = Rng::new(11);
    let mut strange = Vec::new();
    for (path, text, _) in programs.into_iter().flat_map(testkit::corpus) {
        let whole = told(&text);
        for _ in 0..300 {
            let at = rng.index(text.len());
            if !text.is_char_boundary(at) {
                continue;
            }
            let others = told(&text[..at]).into_iter();
            let others = others.filter(|one| !whole.iter().any(|other| is_same(one, other)));
            strange.extend(others.map(|one| (path.clone(), at, one)));
        }
    }
    assert!(strange.is_empty(), "{strange:#?}");
}
