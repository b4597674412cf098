//! The work directories of what is measured, held for longer than it is: as long as they are, nobody takes a run that
//! the store has open for one that was killed.
//!
//! A side has one where the run works, and one in each further directory that its plan asks for. Two names of one
//! directory get one work directory.

use super::{RunError, Side};
use crate::strangers;
use crate::workdir::{self, WorkDir, WorkDirError};
use model::order::Order as _;
use model::plan::Plan;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The work directories of all sides. They are removed with it.
#[derive(Debug)]
pub struct Places(pub(super) Vec<Stands>);

/// Those of one side.
#[derive(Debug)]
pub(super) struct Stands {
    /// Where the run works, and further ones.
    pub(super) dirs: Vec<WorkDir>,
    /// The further directories of the plan, and which of `dirs` is in it.
    anchors: Vec<(PathBuf, usize)>,
}

impl Places {
    /// Makes them. Root refuses one that belongs to somebody else, unless `of_others` says that this is meant.
    pub fn make(sides: &[Side<'_>], of_others: bool) -> Result<Self, RunError> {
        let make = |side: &Side<'_>| Stands::make(side, of_others);
        Ok(Self(sides.iter().map(make).collect::<Result<_, _>>()?))
    }

    /// Gives the room back that they take, and holds them on.
    pub(super) fn empty(&self) {
        self.all().for_each(WorkDir::empty);
    }

    /// All of them.
    pub(super) fn all(&self) -> impl Iterator<Item = &WorkDir> {
        self.0.iter().flat_map(|side| &side.dirs)
    }

    /// Removes them now, and says what went wrong where some stay.
    pub fn remove(self) -> Vec<WorkDirError> {
        let all = self.0.into_iter().flat_map(|side| side.dirs);
        let removed: Vec<_> = all.map(WorkDir::remove).collect();
        removed.into_iter().filter_map(Result::err).collect()
    }
}

impl Stands {
    fn make(side: &Side<'_>, of_others: bool) -> Result<Self, WorkDirError> {
        let mut stands = Self {
            dirs: vec![WorkDir::make_or_take_up(side.dir, side.run, of_others)?],
            anchors: Vec::new(),
        };
        let mut known = vec![identity(side.dir)?];
        for anchor in side.plan.anchors() {
            let way = way_to(anchor, of_others)?;
            let id = identity(&way)?;
            let at = known.iter().position(|other| *other == id);
            if at.is_none() {
                let made = WorkDir::make_or_take_up(&way, side.run, of_others)?;
                stands.dirs.push(made);
                known.push(id);
            }
            stands
                .anchors
                .push((anchor.to_owned(), at.unwrap_or(known.len() - 1)));
        }
        Ok(stands)
    }

    /// Where the run itself works.
    pub(super) fn own(&self) -> &WorkDir {
        &self.dirs[0]
    }

    /// The directories that the plan names, but for that of the run, with the work directories in them.
    pub(super) fn further(&self) -> Vec<(&Path, &WorkDir)> {
        let further = self.anchors.iter().filter(|(_, at)| *at > 0);
        further
            .map(|(anchor, at)| (anchor.as_path(), &self.dirs[*at]))
            .collect()
    }
}

/// Where an anchor leads, without links; refused to root where somebody else has a say in that, unless this is meant.
fn way_to(anchor: &Path, of_others: bool) -> Result<PathBuf, WorkDirError> {
    let led = strangers::way_to_directory(anchor).and_then(|led| match led.stranger {
        Some(stranger) if !of_others => Err(io::Error::other(format!(
            "as root: {stranger}; hint: `--dir-of-others` where that is meant"
        ))),
        _ => Ok(led.path),
    });
    led.map_err(|error| WorkDirError {
        operation: "work in",
        path: anchor.to_owned(),
        error,
    })
}

/// Which directory it is, whatever it is called.
fn identity(dir: &Path) -> Result<(u64, u64), WorkDirError> {
    let found = fs::metadata(dir).and_then(|found| {
        if found.is_dir() {
            Ok((found.dev(), found.ino()))
        } else {
            Err(io::ErrorKind::NotADirectory.into())
        }
    });
    found.map_err(|error| WorkDirError {
        operation: "look at the directory for work",
        path: dir.to_owned(),
        error,
    })
}

/// Where the work directories of `run` are made: in `dir`, and in the further directories of its plan.
pub fn work_dirs(run: &str, dir: &Path, plan: &Plan) -> Vec<PathBuf> {
    let mut all = vec![workdir::place(dir, run)];
    let real = |anchor: &Path| fs::canonicalize(anchor).unwrap_or_else(|_| anchor.to_owned());
    all.extend(
        plan.anchors()
            .map(|anchor| workdir::place(&real(anchor), run)),
    );
    all.order();
    all.dedup();
    all
}
