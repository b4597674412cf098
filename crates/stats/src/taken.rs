//! Who took CPU time away, where both the host and other processes of the machine did.
//!
//! A little stolen time beside a busy neighbour in the same machine must not be charged to the host, nor the other way
//! round: the one that explains more of what is missing is named. Each figure is held against the same whole, the time
//! that the copies asked for.

/// How much of what is missing stolen time must explain to be its cause whatever else ran: half of it, for nothing else
/// can then explain more.
const EXPLAINS_MIN: f64 = 0.5;

/// Whether stolen time (`steal`, of the demanded time) is named before other processes (`foreign`, of one CPU) where
/// `copies` miss this share of their time.
pub(crate) fn by_host_first(steal: f64, foreign: Option<f64>, copies: u32, missing: f64) -> bool {
    // What others used they cannot have taken more than once: spread over the copies it is a share of theirs.
    let by_others = foreign.unwrap_or(0.0) / f64::from(copies.max(1));
    steal >= by_others || steal >= EXPLAINS_MIN * missing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_larger_cause_goes_first() {
        let check = |steal, foreign, copies, missing, expect| {
            let first = by_host_first(steal, foreign, copies, missing);
            assert_eq!(first, expect, "{steal} {foreign:?} {copies} {missing}");
        };
        // A copy off the CPU for half of the time beside compilers, and a host that took a fiftieth.
        check(0.024, Some(1.5), 1, 0.53, false);
        check(0.024, Some(1.5), 2, 0.53, false);
        // Next to nothing else ran.
        check(0.024, Some(0.01), 1, 0.53, true);
        check(0.024, None, 1, 0.53, true);
        // Others ran on CPUs that were free: what the host took is what is missing.
        check(0.1, Some(0.5), 1, 0.12, true);
        // A busy host and a busy machine.
        check(0.3, Some(1.5), 2, 0.5, true);
        check(0.2, Some(1.5), 2, 0.5, false);
    }
}
