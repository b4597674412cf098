//! Grounds: state that several rounds of a run stand on, such as a file that was written in whole before anybody reads
//! it. It is made once, by an errand that is no part of a round, and its time is told apart from what rounds cost.

use crate::units::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What cases of one key share, as it is expected before it is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ground {
    /// Cases of a run with the same key stand on the same ground.
    pub key: String,
    /// What it is.
    pub kind: GroundKind,
    /// How much is written for it, where that is known before.
    pub bytes: Option<Bytes>,
    /// What making it is expected to take.
    #[serde(rename = "expected_ns")]
    pub expected: Nanos,
    /// Making it, or looking whether it holds, that takes longer is a hang.
    #[serde(rename = "at_most_ns")]
    pub at_most: Nanos,
}

/// What a ground is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GroundKind {
    /// A file in the run's own directory.
    File,
    /// A directory full of files.
    FileSet,
    /// What is written to a device before it is measured.
    Device,
    /// Data of another kind.
    Data,
}

/// What is done for a ground.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Did {
    /// It was made.
    Make,
    /// It was looked at: whether it is there, in whole.
    Check,
}

/// What was done for a ground before a round that stands on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Errand {
    /// The ground's key.
    pub ground: String,
    /// What the ground is.
    pub kind: GroundKind,
    /// What was done.
    pub did: Did,
    /// Whether the ground held after it.
    pub holds: bool,
    /// What it took; no part of what the round took.
    pub took: Nanos,
    /// How much was written, or is there.
    pub bytes: Option<Bytes>,
}
