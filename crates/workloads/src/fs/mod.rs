//! Family `fs`: what goes through the file system as programs use it, page cache included.

mod aligned;
mod bonnie;
mod copy;
pub mod dbench;
mod durable;
mod fileio;
mod files;
mod ops;
pub mod sets;

pub(crate) use bonnie::{FILES as BONNIE_FILES, LARGE as BONNIE};
pub(crate) use copy::COPY;
pub(crate) use dbench::DBENCH;
pub(crate) use durable::DURABLE;
pub(crate) use fileio::FILEIO;
pub(crate) use files::FILES;
pub(crate) use ops::failed;
