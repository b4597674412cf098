//! Whether a directory can hold the files of the tests: asked before anything is measured.

use model::host::Fact;
use model::units::Bytes;
use std::path::Path;
use sys::probe;
use sys::tree::{Tree, error_name};

/// What a directory is good for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkDirState {
    /// Why no file can be created and written in it; `None` where that works.
    pub not_writable: Option<String>,
    /// What may still be written: of the free space for ordinary users, of quotas, and of what is below.
    pub free: Fact<Bytes>,
    /// `tmpfs` or `ramfs` where it lives in memory: file figures are then those of memory.
    pub in_memory: Option<String>,
    /// True where it is mounted so that programs in it cannot be executed.
    pub no_exec: bool,
}

impl WorkDirState {
    /// Whether `need` fits. Space that is not known is not refused: the tests will fail with their own reason.
    pub fn has_room_for(&self, need: Bytes) -> bool {
        self.free.known().is_none_or(|free| *free >= need)
    }
}

/// Looks at `dir` by writing to it; leaves nothing behind.
pub fn check_work_dir(dir: &Path) -> WorkDirState {
    let found = probe::file_system(dir);
    let known = found.as_ref().ok();
    WorkDirState {
        not_writable: probe::writable(dir).err(),
        in_memory: known.and_then(|found| found.in_memory()).map(str::to_owned),
        no_exec: known.is_some_and(|found| found.no_exec),
        free: match sys::room::free_bytes(&Tree::real(), dir) {
            Ok(free) => Fact::Known(Bytes(free)),
            Err(error) => Fact::Missing(format!(
                "statfs `{}`: {}",
                dir.display(),
                error_name(&error)
            )),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_good_directory_is_writable_and_has_room_for_something_but_not_for_everything() {
        let dir = tempfile::tempdir().unwrap();
        let state = check_work_dir(dir.path());
        assert_eq!(state.not_writable, None);
        assert!(state.has_room_for(Bytes(1)));
        assert!(!state.has_room_for(Bytes(u64::MAX)));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn shared_memory_lives_in_memory() {
        let state = check_work_dir(Path::new("/dev/shm"));
        assert_eq!(state.in_memory.as_deref(), Some("tmpfs"));
    }

    #[test]
    fn a_directory_that_is_not_there_says_so() {
        let state = check_work_dir(Path::new("/nonexistent"));
        assert_eq!(
            state.not_writable.as_deref(),
            Some("create a file in `/nonexistent`: ENOENT")
        );
        assert_eq!(
            state.free,
            Fact::Missing("statfs `/nonexistent`: ENOENT".to_owned())
        );
        assert!(state.has_room_for(Bytes(1)), "unknown is not full");
    }
}
