//! fio's own outputs read back: JSON, json+ and the terse form, of old and new versions, as people pass them around.
//!
//! A zero that stands for nothing measured becomes `None`. Refused: guessing units by version; what counts is which
//! keys are there.

mod json;
mod terse;

#[cfg(test)]
mod tests;

use super::result::Report;

/// The longest text that is read.
const MAX_BYTES: usize = 256 << 20;

/// Why a text is no output of fio that can be read.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// There is neither JSON nor a terse line of fio in it.
    #[error("no fio output in it: neither JSON with `jobs` nor a line of the terse form")]
    NothingFound,
    /// Longer than anything that fio prints.
    #[error("longer than {MAX_BYTES} bytes")]
    TooLong,
    /// JSON that ends too early or is broken.
    #[error("read fio's JSON")]
    Json(#[source] serde_json::Error),
    /// A terse line with a field missing or unreadable.
    #[error("line {line}: terse output: {what}")]
    Terse {
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        what: String,
    },
}

/// All reports in a text, in their order: JSON documents, and the terse lines of one version as one report.
pub fn read(text: &str) -> Result<Vec<Report>, ImportError> {
    if text.len() > MAX_BYTES {
        return Err(ImportError::TooLong);
    }
    let mut reports = json::read(text)?;
    reports.extend(terse::read(text)?);
    if reports.is_empty() {
        return Err(ImportError::NothingFound);
    }
    Ok(reports)
}
