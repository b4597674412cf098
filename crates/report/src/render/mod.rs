//! Formats of pages: each is one file, which knows blocks and nothing else, and a line in [`FORMATS`].

mod format;
pub mod html;
pub mod markdown;
pub mod svg;
pub mod text;

pub use format::Format;
pub use markdown::markdown;
pub use text::text;

/// Every format of pages, the usual one first.
pub static FORMATS: &[Format] = &[text::FORMAT, markdown::FORMAT];
