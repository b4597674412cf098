//! The charts of pages: one file for each, which says what was found and has its figures as a table.

mod copies;
mod curve;
mod headlines;
mod latency;
mod offered;
mod ratios;
mod series;

pub(crate) use copies::copies;
pub(crate) use curve::curve;
pub(crate) use headlines::headlines;
pub(crate) use latency::latency;
pub(crate) use offered::offered;
pub(crate) use ratios::ratios;
pub(crate) use series::series;
