//! fio: its job files and command lines in, its reports in and out.
//!
//! [`parse`] reads a command line with the job files that it names into a [`Plan`] of resolved [`Job`]s; what of it the
//! storage engine can do is the caller's to decide. [`result`] holds the nouns in which results come and go. All of it
//! was learned from descriptions, which others made partly from the source, and by running fio 3.33; the source was not
//! opened for it.

mod apply;
mod cmdline;
mod draft;
mod error;
mod finish;
pub mod import;
pub mod job;
mod jobfile;
pub mod options;
pub mod output;
mod plan;
mod program;
pub mod result;
mod safety;
mod showcmd;
#[cfg(test)]
mod testkit;
#[cfg(test)]
mod tests;
mod value;

pub use cmdline::{parse, parse_file};
pub use draft::Draft;
pub use error::{Error, Place};
pub use job::Job;
pub use jobfile::Surroundings;
pub use plan::{Eta, Format, Group, MAX_JOBS, Output, Plan, Remark, Request};
pub use program::{Has, PROGRAM, ProgramOption};
pub use safety::{Change, Touched, names_device, writes};
pub use showcmd::{arguments, show_command};
pub use value::{Bare, KbBase};
