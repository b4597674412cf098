//! The work directory: made, marked, and removed with everything in it, and nothing else.
//!
//! Only a directory that carries our marker file is ever removed. Its maker holds a lock on the marker (flock(2)),
//! which the kernel drops however the maker ends: that tells a directory in use from one left behind, also across
//! containers, where a process id says nothing.
//!
//! Whoever may rename things in the parent directory can put another directory, or a link to one, in the place of ours
//! at any time. What is marked and emptied is therefore a directory that is held open, and never a name: a directory
//! that is not the one we made is not marked, and nothing in it is removed. Workers know the directory by name; on
//! a directory that strangers can rename in they make their files where the strangers want.

use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use sys::io::file::{find_directory, handle_path};
use sys::tree::Tree;

/// The marker's file name.
const MARKER: &str = ".kurabe-work";

/// How the directory's name begins.
const PREFIX: &str = "kurabe-work-";

/// The directory inside it that all rounds share.
const RUN_DIR: &str = "run";

/// Who made a work directory.
#[derive(Debug, Serialize, Deserialize)]
struct Marker {
    run: String,
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
    run_dir: PathBuf,
    /// The directory itself, whatever has become of its name.
    dir: File,
    /// Held, not read: its lock says that we are alive.
    _marker: File,
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
        // Writable for nobody else, whatever the umask is.
        let made = DirBuilder::new().mode(0o755).create(&path);
        made.map_err(fail("create the work directory"))?;
        let dir = find_directory(&path).map_err(fail("open the work directory"))?;
        let here = handle_path(&dir);
        let made = just_made(&dir)
            .and_then(|()| mark(&here.join(MARKER), run))
            .and_then(|marker| fs::create_dir(here.join(RUN_DIR)).map(|()| marker));
        match made {
            Ok(marker) => Ok(Self {
                run_dir: path.join(RUN_DIR),
                path,
                dir,
                _marker: marker,
            }),
            Err(error) => {
                // Where the marker is there it is ours, and nothing but it can be in it yet.
                let _ = fs::remove_dir(&path);
                Err(fail("mark the work directory")(error))
            }
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory inside it that all rounds share.
    pub(crate) fn run_dir(&self) -> &Path {
        &self.run_dir
    }

    /// Removes it now, and says what went wrong if it stays.
    pub fn remove(self) -> Result<(), WorkDirError> {
        remove_marked(&self.dir, &self.path)
    }
}

/// Refuses a directory that cannot be the one that was made a moment ago, because there is something in it.
fn just_made(dir: &File) -> io::Result<()> {
    match fs::read_dir(handle_path(dir))?.next() {
        None => Ok(()),
        Some(_) => Err(io::Error::other(
            "somebody put another directory in its place",
        )),
    }
}

/// Writes the marker, locked before it says anything: a marker without words belongs to nobody yet. It leaves nothing
/// where it fails.
fn mark(path: &Path, run: &str) -> io::Result<File> {
    let mut file = File::create_new(path)?;
    let marker = Marker {
        run: run.to_owned(),
    };
    let mut write = || {
        file.lock()?;
        file.write_all(&serde_json::to_vec(&marker)?)
    };
    if let Err(error) = write() {
        let _ = fs::remove_file(path);
        return Err(error);
    }
    Ok(file)
}

impl Drop for WorkDir {
    fn drop(&mut self) {
        // After `remove` there is nothing left to do; elsewhere an error here has nobody to tell, and `kurabe
        // clean` finds what stays.
        let _ = remove_marked(&self.dir, &self.path);
    }
}

/// Empties a directory with our marker, and removes what `path` leads to if that is empty.
fn remove_marked(dir: &File, path: &Path) -> Result<(), WorkDirError> {
    let here = handle_path(dir);
    if !is_plain_file(&here.join(MARKER)) {
        return Ok(());
    }
    let remove = || {
        refuse_mounts(&here)?;
        empty_but_for_marker(&here)?;
        fs::remove_file(here.join(MARKER))?;
        fs::remove_dir(path)
    };
    remove().map_err(|error| WorkDirError {
        operation: "remove the work directory",
        path: path.to_owned(),
        error,
    })
}

/// What somebody mounted below the directory is not ours to empty.
fn refuse_mounts(path: &Path) -> io::Result<()> {
    // Without /proc nothing is known of mounts, and nothing is removed.
    let mounts = sys::mounts::read(&Tree::real()).map_err(io::Error::other)?;
    let real = fs::read_link(path)?;
    match mounts
        .iter()
        .find(|mount| Path::new(&mount.point).starts_with(&real))
    {
        None => Ok(()),
        Some(mount) => Err(io::Error::other(format!(
            "something is mounted at `{}`; unmount it first",
            mount.point
        ))),
    }
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
    let marker = path.join(MARKER);
    if !is_plain_file(&marker) {
        return None;
    }
    let mut file = File::open(&marker).ok()?;
    // Whoever made it and lives holds the lock. A file system without locks gives an error: then it stays.
    file.try_lock().ok()?;
    // A marker of ours has some fifty bytes.
    let mut text = String::new();
    (&mut file).take(4096).read_to_string(&mut text).ok()?;
    let marker: Marker = serde_json::from_str(&text).ok()?;
    Some(Stale {
        path: path.to_owned(),
        run: marker.run,
    })
}

/// A file, and no link to one: a link may lead anywhere.
fn is_plain_file(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_file())
}

/// Removes a stale work directory.
pub fn remove_stale(stale: &Stale) -> Result<(), WorkDirError> {
    let dir = find_directory(&stale.path).map_err(|error| WorkDirError {
        operation: "open the work directory",
        path: stale.path.clone(),
        error,
    })?;
    remove_marked(&dir, &stale.path)
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
        let marker = r#"{"run":"dead"}"#;
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
    fn what_is_put_in_the_place_of_a_work_directory_is_not_emptied() {
        let parent = tempfile::tempdir().unwrap();
        let precious = parent.path().join("precious");
        fs::create_dir(&precious).unwrap();
        // Even where somebody puts a marker into it.
        for name in ["file", MARKER] {
            fs::write(precious.join(name), r#"{"run":"r1"}"#).unwrap();
        }
        let moved = parent.path().join("moved");
        for link in [true, false] {
            let dir = WorkDir::create(parent.path(), "r1").unwrap();
            let path = dir.path().to_owned();
            fs::write(path.join("data"), "x").unwrap();
            fs::rename(&path, &moved).unwrap();
            if link {
                std::os::unix::fs::symlink(&precious, &path).unwrap();
            } else {
                fs::rename(&precious, &path).unwrap();
            }
            dir.remove().unwrap_err();
            assert_eq!(fs::read_dir(&path).unwrap().count(), 2, "{link}");
            // Ours was emptied where it is.
            assert_eq!(fs::read_dir(&moved).unwrap().count(), 0, "{link}");
            fs::remove_dir(&moved).unwrap();
            if link {
                let stale = Stale {
                    path: path.clone(),
                    run: "r1".to_owned(),
                };
                remove_stale(&stale).unwrap_err();
                assert_eq!(fs::read_dir(&precious).unwrap().count(), 2);
                fs::remove_file(&path).unwrap();
            }
        }
    }

    #[test]
    fn a_directory_that_is_not_new_is_not_marked() {
        let parent = tempfile::tempdir().unwrap();
        let look = |dir: &Path| just_made(&find_directory(dir).unwrap());
        look(parent.path()).unwrap();
        fs::write(parent.path().join("file"), "x").unwrap();
        look(parent.path()).unwrap_err();
        find_directory(Path::new("/proc/self/cwd")).unwrap_err();
    }

    #[test]
    fn a_missing_parent_is_an_error_that_names_it() {
        let error = WorkDir::create(Path::new("/nonexistent/dir"), "r")
            .unwrap_err()
            .to_string();
        assert!(error.contains("create the work directory") && error.contains("/nonexistent/dir"));
    }
}
