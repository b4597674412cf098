//! What holds for the figures of every reader, whatever the text.

use dialects::figures::{READERS, line};
use std::collections::BTreeSet;

/// Reads a text with the reader of this program; true where it found figures.
pub(super) fn read(program: &str, bytes: &[u8]) -> bool {
    let reader = READERS.iter().find(|reader| reader.program == program);
    let reader = reader.expect("the reader of this name is in the list");
    let Some(text) = line::plain(bytes) else {
        return false;
    };
    let found = (reader.read)(&text);
    let lines = text.split('\n').count();
    for part in &found.left_out {
        assert!((1..=lines).contains(&part.line), "{part:?}");
        assert!(
            !part.what.is_empty() && !part.what.contains('\n'),
            "{part:?}"
        );
    }
    for figures in &found.figures {
        assert!(
            figures.copies > 0 && !figures.values.is_empty(),
            "{figures:?}"
        );
        let name = figures.test.strip_prefix(program);
        let rest = name.and_then(|name| name.strip_prefix('.'));
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
        assert!(
            rest.is_some_and(|rest| !rest.is_empty() && rest.chars().all(is_plain)),
            "{figures:?}"
        );
        assert!(!figures.title.is_empty() && !figures.title.contains('\n'));
        for (index, figure) in figures.values.iter().enumerate() {
            assert!(
                figure.value.is_finite() && figure.value >= 0.0,
                "{figure:?}"
            );
            let mut before = figures.values[..index].iter();
            assert!(
                before.all(|other| other.quantity != figure.quantity),
                "{figures:?}"
            );
        }
    }
    let names = found.figures.iter().map(|part| (part.output, &part.test));
    let distinct: BTreeSet<_> = names.collect();
    assert_eq!(distinct.len(), found.figures.len());
    // The order of outputs is that of the text.
    assert!(found.figures.is_sorted_by_key(|figures| figures.output));
    !found.figures.is_empty()
}
