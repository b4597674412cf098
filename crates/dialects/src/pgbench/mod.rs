//! pgbench: what it printed, as figures.

mod read;

pub(crate) use read::READER;
