//! Where the figures of a run come from that another program measured.

use crate::host::Fact;
use crate::units::UnixNanos;
use serde::{Deserialize, Serialize};

/// The program whose output became a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The program that measured, such as `fio`.
    pub program: String,
    /// Its version, where its output says it.
    pub version: Option<String>,
    /// When it measured, in nanoseconds since 1970; missing where its output does not say.
    pub when: Fact<UnixNanos>,
    /// The digest of what was read: 16 hexadecimal digits. The same text makes the same run.
    pub digest: String,
    /// The name of the file, without directories; `-` for standard input.
    pub file: String,
}

impl Origin {
    /// The program with its version: `fio 3.33`.
    pub fn who(&self) -> String {
        match &self.version {
            Some(version) => format!("{} {version}", self.program),
            None => self.program.clone(),
        }
    }
}
