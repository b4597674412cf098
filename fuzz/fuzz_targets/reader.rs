//! What is asked of every reader of outputs, whatever it reads.

use dialects::figures::READERS;
use dialects::figures::line::plain;

/// Gives the bytes to the reader of this program, if they are a text.
pub(crate) fn feed(program: &str, data: &[u8]) {
    let reader = READERS.iter().find(|reader| reader.program == program);
    let (Some(reader), Some(text)) = (reader, plain(data)) else {
        return;
    };
    let found = (reader.read)(&text);
    for one in &found.figures {
        assert!(one.copies > 0 && one.test.starts_with(program));
        assert!(!one.values.is_empty());
        for figure in &one.values {
            assert!(figure.value.is_finite() && figure.value > 0.0, "{figure:?}");
        }
    }
    let last = text.lines().count();
    for left in &found.left_out {
        assert!((1..=last).contains(&left.line) && !left.what.contains('\n'));
    }
}
