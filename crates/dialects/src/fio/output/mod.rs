//! Results as fio prints them: JSON, the terse form and the text with its keys, words, units and layout.

mod bins;
mod head;
mod json;
mod layout;
mod scale;
mod terse;
mod text;

#[cfg(test)]
mod tests;

pub use head::head;
pub use json::json;
pub use terse::terse;
pub use text::{calibration, text};
