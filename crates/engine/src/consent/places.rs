//! By which way what is touched is reached: looked at once, and used as it was looked at.

use super::{Refusal, Touch};
use crate::strangers;
use model::named::NamedKind;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What is touched, and the path by which it is reached: a file that is made or written by its directory without links.
pub(super) struct Placed {
    pub(super) touch: Touch,
    pub(super) place: PathBuf,
}

/// The directories of files, each looked at once.
#[derive(Default)]
pub(super) struct Places(BTreeMap<PathBuf, PathBuf>);

impl Places {
    /// Refuses root a file in whose place others may put another.
    pub(super) fn find(&mut self, touch: Touch, of_others: bool) -> Result<Placed, Refusal> {
        let is_file = touch.kind != NamedKind::Device && !touch.kind.is_elsewhere();
        let is_changed = is_file && (touch.writes || touch.creates);
        let parts = (touch.path.parent(), touch.path.file_name());
        let (true, (Some(parent), Some(name))) = (is_changed, parts) else {
            let place = touch.path.clone();
            return Ok(Placed { touch, place });
        };
        if !self.0.contains_key(parent) {
            let led = strangers::way_to_directory(parent)
                .map_err(Refusal::system("open directory", parent))?;
            if let (Some(stranger), false) = (led.stranger, of_others) {
                let path = touch.path;
                return Err(Refusal::OfOthers { path, stranger });
            }
            self.0.insert(parent.to_owned(), led.path);
        }
        let place = self.0[parent].join(name);
        Ok(Placed { touch, place })
    }
}
