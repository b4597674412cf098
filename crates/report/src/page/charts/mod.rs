//! The charts of pages: one file for each, which says what was found and has its figures as a table.

mod copies;
mod curve;
mod headlines;
mod latency;
mod latency_over_time;
mod loaded;
mod offered;
mod price;
mod ratios;
mod series;
mod values;

pub(crate) use copies::copies;
pub(crate) use curve::curve;
pub(crate) use headlines::headlines;
pub(crate) use latency::{latency, of_sides};
pub(crate) use latency_over_time::latency_over_time;
pub(crate) use loaded::loaded;
pub(crate) use offered::offered;
pub(crate) use price::price;
pub(crate) use ratios::ratios;
pub(crate) use series::{long, series};
pub(crate) use values::values;
