//! Outputs of made-up machines, and everything that comes between them and a reader.

mod broken;
mod corpus;
mod formats;
mod texts;

use super::read;
use crate::figures::Figures;

/// The figures of a text in which everything is understood.
fn figures(text: &str) -> Vec<Figures> {
    let found = read(text);
    assert_eq!(found.left_out, []);
    found.figures
}

fn names(figures: &[Figures]) -> Vec<&str> {
    figures.iter().map(|part| part.test.as_str()).collect()
}

/// A value, or none.
fn value(figures: &Figures, quantity: &str) -> Option<f64> {
    let mut values = figures.values.iter();
    let found = values.find(|figure| figure.quantity == quantity);
    found.map(|figure| figure.value)
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
