//! Results as fio prints them: JSON and the terse form with its keys, units and layout, and a text of our own.

mod bins;
mod json;
mod layout;
mod terse;
mod text;

#[cfg(test)]
mod tests;

pub use json::json;
pub use terse::terse;
pub use text::text;
