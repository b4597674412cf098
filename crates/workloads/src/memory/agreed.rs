//! What the copies of a round agree on: the first one decides, for all, and the others wait for what it says.
//!
//! The room for memory shrinks while copies take theirs. Copies that each looked for themselves would find another room
//! than their neighbours, and work on arrays of another size, or refuse what was there for all of them together.

use engine::workload::{Place, WorkError};
use model::units::Nanos;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs;
use std::path::Path;

/// How long the others wait: the first copy has been started before them and decides first of all. Who has waited for
/// so long decides for himself.
const PATIENCE: Nanos = Nanos::from_secs(10);

/// What `decide` finds in the first copy of the round, under a `name` that the round uses once.
pub(super) fn agreed<T: Serialize + DeserializeOwned>(
    place: &Place,
    name: &str,
    decide: impl FnOnce() -> Result<T, WorkError>,
) -> Result<T, WorkError> {
    let path = place.shared_dir.join(format!("agreed-{name}"));
    if place.copy == 0 {
        // One that refuses says nothing: its failure ends the round for all.
        let decided = decide()?;
        if place.copies > 1 {
            keep(place, &path, &decided)?;
        }
        return Ok(decided);
    }
    let give_up = sys::clock::monotonic() + PATIENCE.0;
    loop {
        if let Some(said) = kept(&path) {
            return Ok(said);
        }
        if sys::clock::monotonic() > give_up {
            return decide();
        }
        sys::clock::sleep(2_000_000);
    }
}

/// What somebody has kept at `path`; `None` where nobody has yet.
pub(super) fn kept<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_str(&fs::read_to_string(path).ok()?).ok()
}

/// Keeps `value` at `path`, under another name first, so that nobody reads half of it.
pub(super) fn keep<T: Serialize>(place: &Place, path: &Path, value: &T) -> Result<(), WorkError> {
    let fresh = place.dir.join("fresh");
    let text = serde_json::to_string(value)
        .map_err(|error| WorkError::failed("write", fresh.display(), error))?;
    fs::write(&fresh, text).map_err(|error| WorkError::failed("write", fresh.display(), error))?;
    fs::rename(&fresh, path).map_err(|error| WorkError::failed("rename to", path.display(), error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::testing;

    #[test]
    fn all_copies_have_what_the_first_one_found() {
        let (_root, first) = testing::place();
        let first = Place { copies: 3, ..first };
        let other = Place {
            copy: 2,
            ..first.clone()
        };
        let found = std::thread::scope(|scope| {
            // Waits, because nobody has said anything yet.
            let found = scope.spawn(|| agreed(&other, "size", || Ok(7_u64)).unwrap());
            sys::clock::sleep(30_000_000);
            assert_eq!(agreed(&first, "size", || Ok(5_u64)).unwrap(), 5);
            found.join().unwrap()
        });
        assert_eq!(found, 5);
        // Another question has another answer.
        assert_eq!(agreed(&first, "room", || Ok(9_u64)).unwrap(), 9);
        assert_eq!(agreed(&other, "room", || Ok(1_u64)).unwrap(), 9);
    }

    #[test]
    fn a_first_copy_that_refuses_leaves_nothing() {
        let (_root, place) = testing::place();
        let place = Place { copies: 2, ..place };
        let refuse = || Err::<u64, _>(WorkError::Unsupported("too little memory".to_owned()));
        assert!(agreed(&place, "size", refuse).is_err());
        assert_eq!(fs::read_dir(&place.shared_dir).unwrap().count(), 0);
    }
}
