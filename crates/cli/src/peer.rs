//! The machine at the other end of a network that a run works with.

use crate::exit::{Exit, failure};
use engine::consent::Permits;
use engine::workload::WorkError;
use model::record::Run;
use std::path::Path;

/// Refuses to begin where nobody is there who speaks the protocol, or who has another test: what all rounds would tell
/// is told once.
pub(crate) fn asked(run: &Run, permits: &Permits) -> anyhow::Result<()> {
    for peer in run.plan.peers() {
        let found = workloads::net::peer::reach(Path::new(&peer.path), permits);
        found.map_err(|error| match error {
            WorkError::Unsupported(_) => failure(Exit::Unsupported, error, None),
            _ => failure(Exit::Incomplete, error, None),
        })?;
    }
    Ok(())
}
