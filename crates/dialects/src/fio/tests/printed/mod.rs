//! What fio 3.33 printed, read back, so that tests can print it again: JSON, json+ and the terse form.

mod json;
mod terse;

use crate::fio::result::Report;

/// The report in a text; `None` where it is none of fio's.
pub(in crate::fio) fn read(text: &str) -> Option<Report> {
    if text.starts_with('{') {
        json::read(text)
    } else {
        terse::read(text)
    }
}
