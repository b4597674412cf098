//! Formats of pages: each is one file, which knows blocks and nothing else.

pub mod markdown;
pub mod text;

pub use markdown::markdown;
pub use text::text;
