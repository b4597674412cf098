//! What every target of a reader of outputs does, and what holds whatever the bytes are.

use dialects::figures::{READERS, line};

/// Reads the bytes as an output of this program; whether figures were found.
pub(crate) fn read(program: &str, data: &[u8]) -> bool {
    let reader = READERS.iter().find(|reader| reader.program == program);
    let reader = reader.expect("the program has a reader");
    let Some(text) = line::plain(data) else {
        return false;
    };
    let found = (reader.read)(&text);
    let lines = text.split('\n').count();
    assert!(
        found
            .left_out
            .iter()
            .all(|part| (1..=lines).contains(&part.line))
    );
    for figures in &found.figures {
        assert!(figures.copies > 0 && !figures.values.is_empty());
        assert!(figures.values.iter().all(|figure| figure.value.is_finite()));
        let allowed =
            |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
        assert!(figures.test.chars().all(allowed));
    }
    !found.figures.is_empty()
}
