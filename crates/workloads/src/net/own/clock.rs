//! What a machine knows of its clock of the day, as it tells the other one.

use model::digest::Digest;
use serde::{Deserialize, Serialize};
use sys::clock::wall_bound;
use sys::tree::Tree;

/// Mixed in first, so that the digest is worth nothing to other programs.
const KEY: &[u8] = b"kurabe clock 1";

/// How far it may be off, and whose it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OfClock {
    /// The most, in nanoseconds; none where nothing keeps it.
    pub(crate) bound_ns: Option<u64>,
    /// A digest of what names this boot of the machine: two that have the same share their clock.
    pub(crate) boot: Option<String>,
}

impl OfClock {
    /// This machine's, at this moment.
    pub(crate) fn now() -> Self {
        let boot = Tree::real().read_trimmed("/proc/sys/kernel/random/boot_id");
        let keyed = |id: String| Digest::EMPTY.bytes(KEY).bytes(id.as_bytes()).0;
        Self {
            bound_ns: wall_bound().ok().flatten(),
            boot: boot.ok().map(|id| format!("{:016x}", keyed(id))),
        }
    }

    /// From then until now: the larger bound, and none where it was not kept all the time.
    pub(crate) fn until_now(self) -> Self {
        let now = Self::now();
        Self {
            bound_ns: self.bound_ns.zip(now.bound_ns).map(|(a, b)| a.max(b)),
            ..now
        }
    }
}
