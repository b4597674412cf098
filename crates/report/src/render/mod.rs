//! How pages are drawn: each way is one file, which knows blocks and nothing else.

mod drawing;
pub mod html;
pub mod markdown;
pub mod svg;
pub mod text;

pub use drawing::Drawing;
pub use markdown::markdown;
pub use text::text;
