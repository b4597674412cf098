//! What can be wrong with a job file or a command line, each with the place where it stands.
//!
//! One variant per thing that a user would do about it. Refused: a silent guess. Where fio drops a job and goes on,
//! this reader stops, because half of a comparison is not what was asked for.

use std::fmt;
use std::sync::Arc;

/// Where something stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The job file; `None` is the command line.
    pub file: Option<Arc<str>>,
    /// The line in the file, or the argument on the command line, from 1.
    pub line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            Some(file) => write!(f, "`{file}` line {}", self.line),
            None => write!(f, "command line, argument {}", self.line),
        }
    }
}

/// Why a job file or a command line cannot be carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// fio has no such option, or this program has never heard of it.
    #[error("{place}: no option `{option}`{}", hint(*nearest))]
    UnknownOption {
        /// Where it stands.
        place: Place,
        /// What was written.
        option: String,
        /// The known option that is closest to it.
        nearest: Option<&'static str>,
    },
    /// An abbreviation that fits several options.
    #[error("{place}: `{option}` can mean {}", candidates.join(", "))]
    Ambiguous {
        /// Where it stands.
        place: Place,
        /// What was written.
        option: String,
        /// The options that it fits.
        candidates: Vec<String>,
    },
    /// An option of fio that is known and not carried out.
    #[error("{place}: option `{option}` is refused: {reason}{}", hint(*nearest))]
    Refused {
        /// Where it stands.
        place: Place,
        /// The option.
        option: String,
        /// Why it is not carried out.
        reason: String,
        /// The supported option that comes closest to it.
        nearest: Option<&'static str>,
    },
    /// An option with a value that it does not take.
    #[error("{place}: option `{option}` does not take `{value}`: {expected}")]
    BadValue {
        /// Where it stands.
        place: Place,
        /// The option.
        option: String,
        /// What was written.
        value: String,
        /// What it takes.
        expected: String,
    },
    /// An option that needs a value and has none.
    #[error("{place}: option `{option}` needs a value\nhint: write `{option}=VALUE`")]
    MissingValue {
        /// Where it stands.
        place: Place,
        /// The option.
        option: String,
    },
    /// A line that is neither a section nor an option.
    #[error("{place}: {what}")]
    Syntax {
        /// Where it stands.
        place: Place,
        /// What is wrong.
        what: String,
    },
    /// A file that cannot be read.
    #[error("{place}: read job file `{path}`: {reason}")]
    Unreadable {
        /// Where it is asked for.
        place: Place,
        /// The file.
        path: String,
        /// What the reader said.
        reason: String,
    },
    /// More of something than this reader takes.
    #[error("{place}: {what}: at most {limit}")]
    TooMuch {
        /// Where it stands.
        place: Place,
        /// What there is too much of.
        what: &'static str,
        /// How much is taken.
        limit: usize,
    },
    /// Options of one job that cannot go together.
    #[error("{place}: job `{job}`: {what}")]
    Conflict {
        /// Where the job starts.
        place: Place,
        /// The job.
        job: String,
        /// What contradicts what.
        what: String,
    },
    /// Nothing to do.
    #[error("no job: {what}\nhint: name a job file, or give --name=NAME and its options")]
    NoJob {
        /// What was found instead.
        what: String,
    },
}

fn hint(nearest: Option<&'static str>) -> String {
    nearest.map_or_else(String::new, |name| {
        format!("\nhint: the nearest supported option is `{name}`")
    })
}
