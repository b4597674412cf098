//! What a machine knows of its clock of the day, as it tells the other one.

use model::digest::Digest;
use serde::{Deserialize, Serialize};
use sys::clock::{wall_ahead, wall_bound};
use sys::tree::Tree;

/// Mixed in first, so that the digest is worth nothing to other programs.
const KEY: &[u8] = b"kurabe clock 1";

/// Looks at one clock differ by less: one is looked at twice, and may be corrected meanwhile.
const ALIKE_NS: u64 = 10_000;

/// How far it may be off, and whose it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OfClock {
    /// The most, in nanoseconds; none where nothing keeps it.
    pub(crate) bound_ns: Option<u64>,
    /// A digest of what names this boot of the machine.
    pub(crate) boot: Option<String>,
    /// Nanoseconds that the clock of the day is ahead of the one that began with the boot: two machines that were
    /// restored from one snapshot have the same boot, and differ in this.
    pub(crate) ahead_ns: Option<u64>,
}

impl OfClock {
    /// This machine's, at this moment.
    pub(crate) fn now() -> Self {
        let boot = Tree::real().read_trimmed("/proc/sys/kernel/random/boot_id");
        let keyed = |id: String| Digest::EMPTY.bytes(KEY).bytes(id.as_bytes()).0;
        Self {
            bound_ns: wall_bound().ok().flatten(),
            boot: boot.ok().map(|id| format!("{:016x}", keyed(id))),
            ahead_ns: Some(wall_ahead()),
        }
    }

    /// Whether both are one.
    pub(crate) fn is(&self, other: &Self) -> bool {
        let boots = self.boot.as_ref().zip(other.boot.as_ref());
        let ahead = self.ahead_ns.zip(other.ahead_ns);
        boots.is_some_and(|(a, b)| a == b) && ahead.is_some_and(|(a, b)| a.abs_diff(b) < ALIKE_NS)
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
