//! What is kept, sent and rewritten as JSON.
//!
//! Serde compiles the code for a type anew wherever it is asked for it, and for each way to read or write once more:
//! 0.5 MB for a run in each. So there is one way, from text and to text, and it is compiled here: apart from `model`,
//! which measured loops use and which is compiled for speed.

use model::ground::Errand;
use model::host::HostFacts;
use model::line::Machine;
use model::plan::{Duel, Plan};
use model::record::{CopyDetail, Failure, Measured, Round, RunMeta};

/// What can be read from JSON.
pub trait Read: Sized {
    /// What `text` says.
    fn read(text: &str) -> serde_json::Result<Self>;
}

/// What is kept as JSON on one line.
pub trait Kept: Read {
    /// The text. A number that is not finite becomes `null`, for JSON has no word for it.
    fn write(&self) -> serde_json::Result<String>;
}

macro_rules! kept {
    ($($of:ty),+ $(,)?) => {$(
        impl Read for $of {
            fn read(text: &str) -> serde_json::Result<Self> {
                serde_json::from_str(text)
            }
        }

        impl Kept for $of {
            fn write(&self) -> serde_json::Result<String> {
                serde_json::to_string(self)
            }
        }
    )+};
}

kept! {
    RunMeta,
    Plan,
    HostFacts,
    Round,
    Duel,
    Option<Duel>,
    Machine,
    Vec<String>,
    Vec<Errand>,
    Option<Box<Measured>>,
    Failure,
    Box<CopyDetail>,
}
