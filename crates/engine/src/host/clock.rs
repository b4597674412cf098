//! The clock: where the time comes from, what asking costs, and whether the CPU's counter can be trusted.

use super::{Probes, cpu::Info, fact};
use model::host::ClockFacts;
use sys::tree::{Tree, TreeError};

const SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// What the kernel takes its time from at this moment.
pub(crate) fn source(tree: &Tree) -> Result<String, TreeError> {
    tree.read_trimmed(SOURCE)
}

pub(super) fn facts(tree: &Tree, info: &Info, probes: &Probes) -> ClockFacts {
    ClockFacts {
        source: fact(source(tree)),
        cost: probes.clock_cost.clone(),
        tsc_reliable: fact(reliable(info, &probes.arch)),
    }
}

/// x86 promises a counter of constant rate that never stops with two flags. The generic timer of 64-bit ARM has both
/// properties by architecture (Arm ARM, chapter D12). Others do not tell.
fn reliable(info: &Info, arch: &str) -> Result<bool, String> {
    match arch {
        "aarch64" => Ok(true),
        "x86_64" | "i686" => {
            let flags = info.flags()?;
            Ok(["constant_tsc", "nonstop_tsc"]
                .iter()
                .all(|flag| flags.iter().any(|found| found == flag)))
        }
        other => Err(format!("the kernel does not tell on {other}")),
    }
}
