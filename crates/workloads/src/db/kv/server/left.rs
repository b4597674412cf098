//! What runs of kurabe left in a database of keys, and its removal: `kurabe clean --db URL`.

use super::{MARKER, Marker, Server};
use crate::db::kv::wire::Wire;
use crate::db::server::{Named, Way};
use engine::workload::WorkError;

/// What is there of what our marker counts, in words: those keys are deleted with it, and nothing else. A run that goes
/// on keeps its own.
pub(in crate::db) fn clean(named: Named, way: Way) -> Result<Option<String>, WorkError> {
    let mut server = Server::over(named.entered(Wire::log_in)?, named);
    server.look()?;
    server.without_runs()?;
    server.lock()?;
    let Marker::Ours(note) = server.marked()? else {
        return Ok(None);
    };
    let keys = match way {
        Way::Remove => server.remove()?,
        Way::Look => server.there(0..note.keys.number)?,
    };
    Ok(Some(format!(
        "{keys} {} and the key that counts them, {}",
        if keys == 1 { "key" } else { "keys" },
        String::from_utf8_lossy(MARKER)
    )))
}
