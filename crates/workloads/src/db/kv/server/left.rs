//! What runs of kurabe left in a database of keys, and its removal: `kurabe clean --db URL`.

use super::{MARKER, Marker, Server};
use crate::db::kv::wire::Wire;
use crate::db::server::{Named, Way};
use engine::workload::WorkError;

/// What our marker counts, in words, where it is there: those keys are deleted with it, and nothing else.
pub(in crate::db) fn clean(named: Named, way: Way) -> Result<Option<String>, WorkError> {
    let mut server = Server::over(named.entered(Wire::log_in)?, named);
    server.look()?;
    server.lock()?;
    let Marker::Ours(note) = server.marked()? else {
        return Ok(None);
    };
    if way == Way::Remove {
        server.remove()?;
    }
    Ok(Some(format!(
        "{} keys and the key that counts them, {}",
        note.keys.number,
        String::from_utf8_lossy(MARKER)
    )))
}
