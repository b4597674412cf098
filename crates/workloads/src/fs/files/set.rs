//! The directory that rounds work in: made once, with as many files as asked for, or as many as inodes and space allow.
//!
//! At most half of the free inodes are used, and of the space what all files of a run may take. Where that is less, or
//! a quota says so on the way, the directory has fewer files, and every figure that stands on it says how many and why.

use super::super::ops::{self, Name};
use crate::storage::Fill;
use crate::storage::space::{limits, of_file};
use engine::workload::{Place, WorkError};
use model::job::Redundancy;
use std::ffi::CStr;
use std::fs;
use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use sys::folder::{Entries, Folder, How, write};
use sys::loops::failure::Failure;

/// What a directory is to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) files: u64,
    /// Bytes in each.
    pub(super) bytes: u64,
}

/// Fewer files than this, or than were asked for, are no directory to measure in.
const LEAST: u64 = 100;

/// Files between two words of how far it is.
const TELL_EVERY: u64 = 1000;

/// What the names of its files begin with.
pub(super) const PREFIX: &str = "e";

impl Wanted {
    /// What one file takes.
    pub(super) const fn each(self) -> u64 {
        of_file(self.bytes)
    }

    pub(super) fn key(self) -> String {
        format!("files {} of {}", self.files, self.bytes)
    }

    /// The directory, and the note that it is whole.
    pub(super) fn paths(self, place: &Place) -> [PathBuf; 2] {
        let name = format!("files-{}-{}", self.files, self.bytes);
        [name.clone(), name + ".complete"].map(|name| place.run_dir.join(name))
    }
}

/// What was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Made {
    pub(super) files: u64,
    /// Why there are fewer than asked for, where there are.
    pub(super) why: Option<String>,
}

impl Made {
    /// As noted; `None` where nothing was noted, or by a program that was killed on the way.
    pub(super) fn noted(note: &Path) -> Option<Self> {
        let text = fs::read_to_string(note).ok()?;
        let (files, why) = text.split_once('\n')?;
        Some(Self {
            files: files.parse().ok()?,
            why: (!why.is_empty()).then(|| why.to_owned()),
        })
    }

    fn text(&self) -> String {
        format!("{}\n{}", self.files, self.why.as_deref().unwrap_or(""))
    }
}

/// How many files may be made, and why not all; an error where that is none to speak of.
fn allowed(wanted: Wanted, dir: &Path) -> Result<Made, WorkError> {
    let limits = limits(dir)?;
    let inodes = limits.free_inodes();
    let by_space = limits.room() / wanted.each();
    let by_inodes = inodes.map_or(u64::MAX, |free| free / 2);
    let files = wanted.files.min(by_space).min(by_inodes);
    if files == wanted.files {
        return Ok(Made { files, why: None });
    }
    let why = if by_inodes < by_space {
        let free = inodes.unwrap_or(0);
        format!("of {free} free inodes at most half are used")
    } else {
        limits.rule()
    };
    if files < wanted.files.min(LEAST) {
        let wanted = wanted.files;
        return Err(WorkError::Unsupported(format!(
            "there is room for {files} files, and {wanted} are asked for: {why}"
        )));
    }
    let why = Some(fewer(files, wanted, &why));
    Ok(Made { files, why })
}

fn fewer(files: u64, wanted: Wanted, why: &str) -> String {
    let wanted = wanted.files;
    format!("the directory has {files} files and not {wanted}: {why}")
}

/// Makes the directory anew, and notes last that it is whole. `tell` takes how many files there are.
pub(super) fn make(
    wanted: Wanted,
    place: &Place,
    tell: &mut dyn FnMut(u64),
) -> Result<Made, WorkError> {
    remove(wanted, place)?;
    let [path, note] = wanted.paths(place);
    let mut made = allowed(wanted, &place.run_dir)?;
    fs::create_dir(&path).map_err(|error| WorkError::failed("mkdir", path.display(), error))?;
    let folder = Folder::open(&path).map_err(|failure| failed(&failure, &path))?;
    let mut data = vec![0; usize::try_from(wanted.bytes).unwrap_or(usize::MAX)];
    Redundancy::default().fill(place.seed, 0, &mut data);
    let mut name = Name::new(PREFIX);
    for number in 0..made.files {
        let name = name.of(number);
        if let Err(failure) = make_one(&folder, name, &data) {
            let is_full = matches!(
                failure.error.kind(),
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded
            );
            if !is_full || number / 2 < wanted.files.min(LEAST) {
                return Err(ops::failed(&failure, &path, name));
            }
            let why = format!("after {number} of them: {}", failure.error);
            made = leave_half(&folder, &path, number, &why, wanted)?;
            break;
        }
        if (number + 1).is_multiple_of(TELL_EVERY) {
            tell(number + 1);
        }
    }
    // What was made here must not be written back while it is measured.
    sys::loops::copy::sync_file_system(folder.handle().as_fd())
        .map_err(|failure| failed(&failure, &path))?;
    fs::write(&note, made.text())
        .map_err(|error| WorkError::failed("write", note.display(), error))?;
    Ok(made)
}

fn make_one(folder: &Folder, name: &CStr, data: &[u8]) -> Result<(), Failure> {
    let file = folder.file(name, How::CREATE)?;
    if data.is_empty() {
        return Ok(());
    }
    write(&file, data, 0)
}

/// There was no room for the file of this number, however much was promised: others need some, and so do rounds.
fn leave_half(
    folder: &Folder,
    path: &Path,
    number: u64,
    why: &str,
    wanted: Wanted,
) -> Result<Made, WorkError> {
    let files = number / 2;
    let mut name = Name::new(PREFIX);
    for number in files..=number {
        let name = name.of(number);
        match folder.unlink(name) {
            // The last of them may not even have got its name.
            Err(failure) if failure.error.kind() != ErrorKind::NotFound => {
                return Err(ops::failed(&failure, path, name));
            }
            _ => {}
        }
    }
    let why = Some(fewer(files, wanted, why));
    Ok(Made { files, why })
}

/// What is there, in whole; what a round left that failed is taken away.
pub(super) fn check(wanted: Wanted, place: &Place) -> Result<Option<Made>, WorkError> {
    let [path, note] = wanted.paths(place);
    let (Some(made), Ok(folder)) = (Made::noted(&note), Folder::open(&path)) else {
        return Ok(None);
    };
    let (mut found, mut entries, mut strangers) = (0, Entries::default(), Vec::new());
    loop {
        let names = folder.read(&mut entries);
        let mut names = names.map_err(|failure| failed(&failure, &path))?.peekable();
        if names.peek().is_none() {
            break;
        }
        for name in names.filter(|name| ![c".", c".."].contains(name)) {
            if name.to_bytes().starts_with(PREFIX.as_bytes()) {
                found += 1;
            } else {
                strangers.push(name.to_owned());
            }
        }
    }
    for name in &strangers {
        let gone = folder.unlink(name);
        gone.map_err(|failure| ops::failed(&failure, &path, name))?;
    }
    Ok((found == made.files).then_some(made))
}

/// Takes it away, whatever there is of it; first the note that it is whole.
pub(super) fn remove(wanted: Wanted, place: &Place) -> Result<(), WorkError> {
    let [path, note] = wanted.paths(place);
    let gone = |path: &Path, result: std::io::Result<()>| match result {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(WorkError::failed("remove", path.display(), error))
        }
        _ => Ok(()),
    };
    gone(&note, fs::remove_file(&note))?;
    gone(&path, fs::remove_dir_all(&path))
}

fn failed(failure: &Failure, path: &Path) -> WorkError {
    crate::os::failed(failure, path.display())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::testing;

    const WANTED: Wanted = Wanted {
        files: 250,
        bytes: 10,
    };

    #[test]
    fn a_set_is_made_found_whole_and_taken_away() {
        let (_root, place) = testing::place();
        let [path, note] = WANTED.paths(&place);
        let whole = Made {
            files: 250,
            why: None,
        };
        assert_eq!(check(WANTED, &place).unwrap(), None);
        assert_eq!(make(WANTED, &place, &mut |_| ()).unwrap(), whole);
        assert_eq!(check(WANTED, &place).unwrap(), Some(whole.clone()));
        // What a killed round left goes, and a file that is missing is seen.
        fs::write(path.join("n1-0-0000000001"), "left").unwrap();
        assert_eq!(check(WANTED, &place).unwrap(), Some(whole));
        assert_eq!(fs::read_dir(&path).unwrap().count(), 250);
        assert_eq!(fs::read(path.join("e0000000249")).unwrap().len(), 10);
        fs::remove_file(path.join("e0000000249")).unwrap();
        assert_eq!(check(WANTED, &place).unwrap(), None);
        // Killed before its note was written: it is no whole set.
        make(WANTED, &place, &mut |_| ()).unwrap();
        fs::remove_file(&note).unwrap();
        assert_eq!(check(WANTED, &place).unwrap(), None);
        remove(WANTED, &place).unwrap();
        remove(WANTED, &place).unwrap();
        assert_eq!(fs::read_dir(&place.run_dir).unwrap().count(), 0);
    }

    #[test]
    fn more_than_there_is_room_for_is_made_smaller_or_refused() {
        let (_root, place) = testing::place();
        let check = |files, bytes| allowed(Wanted { files, bytes }, &place.run_dir);
        assert_eq!(check(200, 0).unwrap().why, None);
        let made = check(1 << 50, 0).unwrap();
        let why = made.why.unwrap();
        assert!(made.files >= LEAST && made.files < 1 << 50);
        assert!(
            why.contains(&format!(
                "{} files and not {}: of ",
                made.files,
                1_u64 << 50
            )),
            "{why}"
        );
        let refused = check(1000, 1 << 50).unwrap_err();
        assert!(matches!(refused, WorkError::Unsupported(_)), "{refused}");
    }

    #[test]
    fn where_no_more_fit_half_stay_and_the_figures_say_so() {
        let (_root, place) = testing::place();
        make(WANTED, &place, &mut |_| ()).unwrap();
        let [path, _] = WANTED.paths(&place);
        let folder = Folder::open(&path).unwrap();
        let made = leave_half(&folder, &path, 250, "after 250 of them: full", WANTED).unwrap();
        assert_eq!(fs::read_dir(&path).unwrap().count(), 125);
        assert_eq!(
            made.why.as_deref(),
            Some("the directory has 125 files and not 250: after 250 of them: full")
        );
        let note = place.run_dir.join("note");
        fs::write(&note, made.text()).unwrap();
        assert_eq!(Made::noted(&note), Some(made));
        fs::write(&note, "125").unwrap();
        assert_eq!(Made::noted(&note), None, "cut short");
    }
}
