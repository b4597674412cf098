//! sysbench: what it printed, as figures.

mod fileio;
mod oltp;
mod read;
mod text;

pub(crate) use read::READER;
