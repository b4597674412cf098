//! sysbench: what it printed, as figures.

mod read;
mod text;

pub(crate) use read::READER;
