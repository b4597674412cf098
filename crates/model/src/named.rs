//! What a run works on beside its own directory: a device, a file, a server or a peer that the user, or a job of
//! theirs, names.
//!
//! It is no parameter of a test: the same test on two disks is what a comparison of the disks is made of. So it is kept
//! with the plan, and told as a difference of set-up.

use crate::host::{BlockDevice, Fact};
use crate::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a name is said to mean; that it does mean it is checked when it is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NamedKind {
    /// A block device.
    Device,
    /// A regular file.
    File,
    /// A regular file that says what a test does: it is read before, and nothing of it is measured.
    Load,
    /// A regular file that a program of a job writes to: nothing of it is measured.
    Output,
    /// A server, by its address: without what opens it, such as a password.
    Server,
    /// A machine at the other end of a network, by its host and port.
    Peer,
    /// The same, where `kurabe net serve` listens: without the token that opens it.
    TokenPeer,
}

impl NamedKind {
    /// Whether it has an address in the place of a path.
    pub const fn is_elsewhere(self) -> bool {
        matches!(self, Self::Server) || self.is_peer()
    }

    /// Whether it is a machine at the other end of a network.
    pub const fn is_peer(self) -> bool {
        matches!(self, Self::Peer | Self::TokenPeer)
    }
}

impl fmt::Display for NamedKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Device => "device",
            Self::File => "file",
            Self::Load => "load file",
            Self::Output => "output",
            Self::Server => "server",
            Self::Peer | Self::TokenPeer => "peer",
        })
    }
}

/// What the addresses of servers begin with as runs keep them, one that asks for encryption too.
pub const SERVER_SCHEMES: [&str; 4] = ["postgres://", "mysql://", "redis://", "rediss://"];

/// What a server says of itself that decides figures: its version, or one of its settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServerFact {
    /// As the server calls it.
    pub name: String,
    /// As the server writes it.
    pub value: String,
    /// Where the server has it from, by its own word: `default`, `configuration file`...
    pub source: String,
}

impl ServerFact {
    /// The name of the one that says what the server is: its product and version.
    pub const VERSION: &str = "version";

    /// Its value, and where that is from where it is nothing that everybody has.
    pub fn told(&self) -> String {
        match (self.value.as_str(), self.source.as_str()) {
            ("", _) => "empty".to_owned(),
            (value, "default" | "") => value.to_owned(),
            (value, source) => format!("{value} ({source})"),
        }
    }
}

/// A device, file, server or peer that a run works on, as it was when the plan was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Named {
    /// Absolute; links are not followed. Of a server its address, of a peer `HOST:PORT`.
    pub path: String,
    /// What it is.
    pub kind: NamedKind,
    /// True where it stands in for the run's own test file in every test that has one; false where a single job
    /// names it.
    pub stands_in: bool,
    /// True where a test writes to it.
    pub writes: bool,
    /// Its size.
    #[serde(rename = "size_bytes")]
    pub size: Fact<Bytes>,
    /// The block devices from it, or from the file system that it lies on, down to the disk.
    pub devices: Fact<Vec<BlockDevice>>,
    /// A keyed digest of the device's serial number: it tells one disk from another and nothing else.
    #[serde(rename = "serial_digest")]
    pub serial: Fact<String>,
    /// What a server, or a peer that a token opens, says of itself, asked before the first round; what it hides is not
    /// listed, and nothing is of devices and files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server: Vec<ServerFact>,
}
