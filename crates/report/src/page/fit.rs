//! Texts in so many columns of a screen.

use crate::table::columns;

/// As much of a text as so many columns have room for.
pub(crate) fn cut(text: &str, room: usize) -> String {
    if columns(text) <= room {
        return text.to_owned();
    }
    let mut kept: String = text.chars().take(room).collect();
    while columns(&kept) + "...".len() > room && kept.pop().is_some() {}
    kept.trim_end().to_owned() + "..."
}

/// As many parts as there is room for, of the first one at least what has room; the last ones matter least.
pub(crate) fn joined(mut parts: Vec<String>, between: &str, room: usize) -> String {
    loop {
        let line = parts.join(between);
        if columns(&line) <= room || parts.len() <= 1 {
            return cut(&line, room);
        }
        parts.pop();
    }
}
