//! A program that is executed beside other jobs.
//!
//! It is no consent: whether programs are executed at all is decided from what the user types.

use crate::units::Nanos;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A program, and how it is executed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// A path, or a name without a slash, which is looked for where a shell would.
    pub name: String,
    /// What it is given.
    pub arguments: Vec<String>,
    /// Its current directory; absolute.
    pub dir: PathBuf,
    /// The files that its standard output and its standard error go to, absolute; where there are none, both go where
    /// our own standard error does.
    pub outputs: Option<[PathBuf; 2]>,
    /// How long it may take to end when it has been asked to, before it is killed.
    pub grace: Nanos,
}
