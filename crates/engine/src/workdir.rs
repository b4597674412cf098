//! The work directory: made, marked, and removed with everything in it, and nothing else.
//!
//! Only a directory that carries our marker file is ever removed.

use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use sys::tree::Tree;

/// The marker's file name.
const MARKER: &str = ".kurabe-work";

/// How the directory's name begins.
const PREFIX: &str = "kurabe-work-";

/// Who made a work directory.
#[derive(Debug, Serialize, Deserialize)]
struct Marker {
    run: String,
    pid: u32,
    /// The start time of the process in clock ticks since boot: a process id alone is used again.
    pid_start: Option<u64>,
    boot: Option<String>,
}

/// Something about a work directory went wrong.
#[derive(Debug, thiserror::Error)]
#[error("{operation} `{}`: {error}", path.display())]
pub struct WorkDirError {
    /// `create`, `mark`, `remove`...
    pub operation: &'static str,
    /// The directory.
    pub path: PathBuf,
    /// What the kernel said.
    pub error: io::Error,
}

/// A work directory in use; removed when dropped.
#[derive(Debug)]
pub struct WorkDir {
    path: PathBuf,
}

/// Where the work directory of `run` is made inside `parent`.
pub fn place(parent: &Path, run: &str) -> PathBuf {
    parent.join(format!("{PREFIX}{run}"))
}

impl WorkDir {
    /// Makes the work directory of `run` inside `parent`.
    pub fn create(parent: &Path, run: &str) -> Result<Self, WorkDirError> {
        let path = place(parent, run);
        let fail = |operation| {
            let path = path.clone();
            move |error| WorkDirError {
                operation,
                path,
                error,
            }
        };
        fs::create_dir(&path).map_err(fail("create the work directory"))?;
        let pid = std::process::id();
        let tree = Tree::real();
        let marker = Marker {
            run: run.to_owned(),
            pid,
            pid_start: pid_start(&tree, pid),
            boot: boot_id(&tree),
        };
        let marked = serde_json::to_vec(&marker)
            .map_err(io::Error::other)
            .and_then(|text| fs::write(path.join(MARKER), text));
        if let Err(error) = marked {
            // Nothing but our own marker can be in it yet.
            let _ = fs::remove_file(path.join(MARKER));
            let _ = fs::remove_dir(&path);
            return Err(fail("mark the work directory")(error));
        }
        Ok(Self { path })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it now, and says what went wrong if it stays.
    pub fn remove(self) -> Result<(), WorkDirError> {
        remove_marked(&self.path)
    }
}

impl Drop for WorkDir {
    fn drop(&mut self) {
        // After `remove` there is nothing left to do; elsewhere an error here has nobody to tell, and `kurabe
        // clean` finds what stays.
        let _ = remove_marked(&self.path);
    }
}

fn remove_marked(path: &Path) -> Result<(), WorkDirError> {
    if !path.join(MARKER).is_file() {
        return Ok(());
    }
    let remove = || {
        empty_but_for_marker(path)?;
        fs::remove_file(path.join(MARKER))?;
        fs::remove_dir(path)
    };
    remove().map_err(|error| WorkDirError {
        operation: "remove the work directory",
        path: path.to_owned(),
        error,
    })
}

/// The marker goes last: whoever is stopped half-way leaves a directory that is still ours to remove.
fn empty_but_for_marker(path: &Path) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_name() == MARKER {
            continue;
        }
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// A work directory that somebody left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stale {
    /// Where it is.
    pub path: PathBuf,
    /// The run it belonged to.
    pub run: String,
}

/// The work directories directly inside `parent` whose maker is no longer alive.
pub fn find_stale(parent: &Path) -> Result<Vec<Stale>, WorkDirError> {
    let fail = |error| WorkDirError {
        operation: "list",
        path: parent.to_owned(),
        error,
    };
    let mut stale = Vec::new();
    for entry in fs::read_dir(parent).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        let named = path
            .file_name()
            .is_some_and(|n| n.to_string_lossy().starts_with(PREFIX));
        // A link that looks like ours is not ours.
        if named
            && !path.is_symlink()
            && let Some(found) = stale_at(&path)
        {
            stale.push(found);
        }
    }
    stale.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(stale)
}

/// `path` as a stale work directory; `None` where it has no readable marker or its maker is alive.
pub fn stale_at(path: &Path) -> Option<Stale> {
    let text = fs::read_to_string(path.join(MARKER)).ok()?;
    let marker: Marker = serde_json::from_str(&text).ok()?;
    (!alive(&Tree::real(), &marker)).then(|| Stale {
        path: path.to_owned(),
        run: marker.run,
    })
}

/// Removes a stale work directory.
pub fn remove_stale(stale: &Stale) -> Result<(), WorkDirError> {
    remove_marked(&stale.path)
}

fn alive(tree: &Tree, marker: &Marker) -> bool {
    marker.boot == boot_id(tree)
        && sys::process::exists(marker.pid)
        && marker.pid_start == pid_start(tree, marker.pid)
}

fn boot_id(tree: &Tree) -> Option<String> {
    tree.read_trimmed("/proc/sys/kernel/random/boot_id").ok()
}

fn pid_start(tree: &Tree, pid: u32) -> Option<u64> {
    sys::counters::process::process(tree, pid)
        .ok()
        .map(|process| process.start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_work_directory_is_made_marked_and_removed() {
        let parent = tempfile::tempdir().unwrap();
        let dir = WorkDir::create(parent.path(), "r1").unwrap();
        fs::write(dir.path().join("data"), "x").unwrap();
        assert_eq!(find_stale(parent.path()).unwrap(), [], "its maker is alive");
        let path = dir.path().to_owned();
        dir.remove().unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn a_directory_of_a_dead_process_is_stale_and_others_are_left_alone() {
        let parent = tempfile::tempdir().unwrap();
        let dead = parent.path().join("kurabe-work-dead");
        fs::create_dir(&dead).unwrap();
        let marker = r#"{"run":"dead","pid":4194304,"pid_start":1,"boot":null}"#;
        fs::write(dead.join(MARKER), marker).unwrap();
        let unmarked = parent.path().join("kurabe-work-unmarked");
        fs::create_dir(&unmarked).unwrap();
        std::os::unix::fs::symlink(&dead, parent.path().join("kurabe-work-link")).unwrap();

        let stale = find_stale(parent.path()).unwrap();
        assert_eq!(
            stale,
            [Stale {
                path: dead.clone(),
                run: "dead".to_owned()
            }]
        );
        remove_stale(&stale[0]).unwrap();
        assert!(!dead.exists() && unmarked.exists());
    }

    #[test]
    fn a_removal_that_stops_half_way_leaves_the_marker() {
        let parent = tempfile::tempdir().unwrap();
        let dir = WorkDir::create(parent.path(), "r1").unwrap();
        fs::create_dir_all(dir.path().join("round-1/copy-0")).unwrap();
        fs::write(dir.path().join("round-1/copy-0/data"), "x").unwrap();
        fs::write(dir.path().join("data"), "x").unwrap();
        std::os::unix::fs::symlink(parent.path(), dir.path().join("link")).unwrap();
        empty_but_for_marker(dir.path()).unwrap();
        let left: Vec<_> = fs::read_dir(dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(left, [MARKER]);
        assert!(parent.path().exists(), "links are not followed");
    }

    #[test]
    fn a_missing_parent_is_an_error_that_names_it() {
        let error = WorkDir::create(Path::new("/nonexistent/dir"), "r")
            .unwrap_err()
            .to_string();
        assert!(error.contains("create the work directory") && error.contains("/nonexistent/dir"));
    }
}
