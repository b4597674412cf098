//! A set where it stands: its directory inside the run's own at the anchor, its tree, and what is known of it.
//!
//! What is known is written beside the set when a round ends, and taken away when one begins that may change it.
//! Where it is not there, or of a set that is described otherwise, the set is looked at file by file, or made anew.
//! Nothing else than names of ours is looked at, and nothing outside of the run's own directory is reached: the set's
//! directory is opened once, and everything in it by that handle.

use super::map::{Map, Now};
use super::tree::{Name, Tree};
use engine::workload::{Place, WorkError};
use model::fileset::FileSet;
use serde::{Deserialize, Serialize};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use sys::folder::{Entries, Folder};
use sys::loops::failure::Failure;

/// A set at its place.
#[derive(Debug)]
pub(super) struct Set {
    pub(super) spec: FileSet,
    pub(super) tree: Tree,
    pub(super) map: Map,
    /// The root of the set.
    pub(super) folder: Folder,
    /// Files that tasks work on: the first of them.
    pub(super) working: u64,
    /// The root by its path, and that of what is known of it.
    root: PathBuf,
    state: PathBuf,
    /// It was made although a run before might have left it, where that is to be said.
    pub(super) made_anew: bool,
}

/// What stands in the first line of a state, before a byte for each file and each directory.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Header {
    /// The set as it is described, but for its name and what of it is used.
    described: String,
    made_anew: bool,
}

/// How a set was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Nothing of it is there.
    Nothing,
    /// As it was left.
    Left,
}

/// What makes a set another one.
fn described(set: &FileSet) -> String {
    let of = (
        (set.depth, set.width, set.files),
        (&set.sizes, set.spread, set.total),
    );
    serde_json::to_string(&of).unwrap_or_default()
}

/// What a set is called in the run's own directory: sets of several anchors may stand in one.
fn stem(anchor: &Path) -> String {
    let mut hasher = DefaultHasher::new();
    anchor.hash(&mut hasher);
    format!("set-{:016x}", hasher.finish())
}

fn failed(operation: &str, path: &Path) -> impl FnOnce(io::Error) -> WorkError {
    move |error| WorkError::failed(operation, path.display(), error)
}

impl Set {
    /// Opens what there is of the set; its directory is made where it is not there. What is described otherwise is
    /// removed.
    pub(super) fn open(spec: &FileSet, place: &Place) -> Result<(Self, Found), WorkError> {
        let dir = place.run_dir_at(&spec.anchor);
        let root = dir.join(stem(&spec.anchor));
        let state = root.with_extension("state");
        let kept = read_state(&state, spec).map_err(failed("read", &state))?;
        if matches!(kept, Kept::Otherwise) {
            remove(&root)?;
        }
        let found = match fs::create_dir(&root) {
            Ok(()) => Found::Nothing,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Found::Left,
            Err(error) => return Err(failed("create", &root)(error)),
        };
        let folder = Folder::open(&root).map_err(|failure| words(&failure, root.display()))?;
        let tree = Tree::new(spec);
        let mut set = Self {
            map: Map::new(spec.extent().0, tree.directories()),
            working: spec.working_extent().0,
            spec: spec.clone(),
            tree,
            folder,
            root,
            state,
            made_anew: false,
        };
        match (found, kept) {
            (Found::Nothing, _) => {}
            (Found::Left, Kept::Known(header, states)) => {
                set.made_anew = header.made_anew;
                set.take_over(&states);
            }
            (Found::Left, _) => set.look()?,
        }
        Ok((set, found))
    }

    /// The path of a file of the set, for words.
    pub(super) fn told(&self, path: &std::ffi::CStr) -> String {
        let inside = path.to_string_lossy();
        let root = self.root.file_name().unwrap_or_default().to_string_lossy();
        format!("{}/.../{root}/{inside}", self.spec.anchor.display())
    }

    /// Bytes of its full files.
    pub(super) fn bytes(&self) -> u64 {
        let full = (0..self.map.files()).filter(|file| self.map.file_is(*file) == Now::Full);
        full.map(|file| self.spec.size_of(file)).sum()
    }

    /// Takes over what was written of it.
    fn take_over(&mut self, states: &[u8]) {
        let directories = usize::try_from(self.tree.directories()).unwrap_or(usize::MAX);
        let (of_directories, of_files) = states.split_at(directories.min(states.len()));
        for (directory, _) in (0..).zip(of_directories).filter(|(_, state)| **state > 0) {
            self.map
                .note_directory(directory, self.tree.parent(directory));
        }
        for (file, state) in (0..).zip(of_files) {
            let now = match state {
                0 => continue,
                1 => Now::There,
                _ => Now::Full,
            };
            self.map.note_file(file, self.tree.directory_of(file), now);
        }
    }

    /// Writes what is known of it, in whole or not at all. Where that fails, as on a file system that is full or
    /// broken, the set is looked at file by file the next time.
    pub(super) fn keep(&self) {
        let header = Header {
            described: described(&self.spec),
            made_anew: self.made_anew,
        };
        let mut text = serde_json::to_vec(&header).unwrap_or_default();
        text.push(b'\n');
        let directories = (0..self.map.directories()).map(|at| u8::from(self.map.directory_is(at)));
        text.extend(directories);
        text.extend(
            (0..self.map.files()).map(|file| match self.map.file_is(file) {
                Now::Missing => 0,
                Now::There => 1,
                Now::Full => 2,
            }),
        );
        let new = self.state.with_extension("new");
        let write = || {
            fs::File::create(&new)?.write_all(&text)?;
            fs::rename(&new, &self.state)
        };
        let written: io::Result<()> = write();
        if written.is_err() {
            let _ = fs::remove_file(&new);
        }
    }

    /// Forgets what was written of it: from now on it changes.
    pub(super) fn forget(&self) -> Result<(), WorkError> {
        match fs::remove_file(&self.state) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(failed("remove", &self.state)(error))
            }
            _ => Ok(()),
        }
    }

    /// Removes all of it: nothing is there afterwards.
    pub(super) fn clear(self) -> Result<Self, WorkError> {
        self.forget()?;
        remove(&self.root)?;
        fs::create_dir(&self.root).map_err(failed("create", &self.root))?;
        let folder = Folder::open(&self.root);
        let folder = folder.map_err(|failure| words(&failure, self.root.display()))?;
        Ok(Self {
            map: Map::new(self.map.files(), self.map.directories()),
            folder,
            ..self
        })
    }

    /// Looks at each directory and file of it, and takes what is there for all that is.
    pub(super) fn look(&mut self) -> Result<(), WorkError> {
        let map = Map::new(self.map.files(), self.map.directories());
        let mut name = Name::default();
        let mut entries = Entries::default();
        for directory in 0..map.directories() {
            let above = self.tree.parent(directory);
            if above.is_some_and(|above| !map.directory_is(above)) {
                continue;
            }
            let path = self.tree.directory(directory, &mut name);
            match self.folder.child(path) {
                Ok(inside) => {
                    map.note_directory(directory, above);
                    self.look_into(&map, directory, &inside, &mut entries)
                        .map_err(|failure| words(&failure, self.told(path)))?;
                }
                Err(failure) if is_none(&failure.error) => {}
                Err(failure) => return Err(words(&failure, self.told(path))),
            }
        }
        self.map = map;
        Ok(())
    }

    fn look_into(
        &self,
        map: &Map,
        directory: u64,
        inside: &Folder,
        entries: &mut Entries,
    ) -> Result<(), Failure> {
        let files = self.tree.files_in(directory, map.files());
        if files.is_empty() {
            return Ok(());
        }
        loop {
            let mut names = inside.read(entries)?.peekable();
            if names.peek().is_none() {
                return Ok(());
            }
            for name in names {
                let Some(number) = self.tree.number_of(name) else {
                    continue;
                };
                let file = files.start + number;
                let found = inside.stat(name)?;
                if file >= files.end || !found.is_file {
                    continue;
                }
                let is_full = found.bytes == self.spec.size_of(file);
                let now = if is_full { Now::Full } else { Now::There };
                map.note_file(file, directory, now);
            }
        }
    }
}

/// Whether an error of opening a directory says that there is none of ours: a link to one is none.
fn is_none(error: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    matches!(error.kind(), Kind::NotFound | Kind::NotADirectory)
}

/// What was written of a set.
enum Kept {
    /// Nothing that can be trusted.
    Nothing,
    /// It is described otherwise.
    Otherwise,
    Known(Header, Vec<u8>),
}

fn read_state(path: &Path, spec: &FileSet) -> io::Result<Kept> {
    let text = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Kept::Nothing),
        text => text?,
    };
    let Some(end) = text.iter().position(|byte| *byte == b'\n') else {
        return Ok(Kept::Nothing);
    };
    let Ok(header) = serde_json::from_slice::<Header>(&text[..end]) else {
        return Ok(Kept::Nothing);
    };
    if header.described != described(spec) {
        return Ok(Kept::Otherwise);
    }
    let states = text[end + 1..].to_vec();
    let whole = spec.directories().saturating_add(spec.extent().0);
    if states.len() as u64 == whole {
        Ok(Kept::Known(header, states))
    } else {
        Ok(Kept::Nothing)
    }
}

/// An operation on something of a set failed.
#[cold]
pub(super) fn words(failure: &Failure, object: impl std::fmt::Display) -> WorkError {
    crate::os::failed(failure, object)
}

/// Removes a directory of the run's own with everything in it; links are removed and not followed.
fn remove(root: &Path) -> Result<(), WorkError> {
    match fs::remove_dir_all(root) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("remove", root)(error)),
        _ => Ok(()),
    }
}
