//! Outputs of made-up machines, and everything that comes between them and a reader.

mod broken;
mod corpus;
mod formats;
mod texts;

use super::read;
use crate::figures::Figures;
use crate::figures::testkit::value;

/// The figures of a text in which everything is understood.
fn figures(text: &str) -> Vec<Figures> {
    let found = read(text);
    assert_eq!(found.left_out, []);
    found.figures
}

fn names(figures: &[Figures]) -> Vec<&str> {
    figures.iter().map(|part| part.test.as_str()).collect()
}

/// These values, to a millionth.
fn check(figures: &Figures, wanted: &[(&str, f64)]) {
    for (quantity, wanted) in wanted {
        let found = value(figures, quantity);
        let is_near = found.is_some_and(|found| (found - wanted).abs() <= 1e-6 * wanted);
        assert!(
            is_near,
            "{} {quantity}: {found:?}, not {wanted}",
            figures.test
        );
    }
}
