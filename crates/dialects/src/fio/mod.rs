//! fio: its job files and command lines in, its reports out.
//!
//! [`parse`] reads a command line with the job files that it names into a [`Plan`] of [`Job`]s in fio's terms;
//! [`resolve`] settles what these leave to the files that are there, and makes of each what the storage engine does.
//! [`result`] holds the nouns of what is reported. All of it was learned from descriptions, which others made
//! partly from the source, and by running fio 3.33; the source was not opened for it.

mod apply;
mod cmdline;
mod draft;
mod error;
mod finish;
pub mod job;
mod jobfile;
pub mod options;
pub mod output;
mod plan;
mod program;
pub(crate) mod read;
mod resolve;
pub mod result;
mod safety;
mod showcmd;
#[cfg(test)]
pub(crate) mod testkit;
#[cfg(test)]
mod tests;
mod value;

pub use cmdline::{parse, parse_file};
pub use draft::Draft;
pub use error::{Error, Place};
pub use job::Job;
pub use jobfile::{Found, Surroundings};
pub use plan::{Eta, Format, Group, IdleProf, MAX_JOBS, Output, Plan, Remark, Request};
pub use program::{Has, PROGRAM, ProgramOption};
pub use read::{NAME, figures, work};
pub use resolve::resolve;
pub use safety::names_device;
pub use showcmd::{arguments, show_command};
pub use value::{Bare, KbBase};
