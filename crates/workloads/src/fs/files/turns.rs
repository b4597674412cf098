//! Operations on names and files that the kernel has in memory: turn after turn, each with some of every kind.
//!
//! What a turn makes it takes away again, so that the directory stays as large as it is. New files come in runs of one
//! kind after another, as programs make them; files that are only looked at are chosen at random among those that
//! stand.

use super::classes::{Class, Classes};
use super::set::{Made, PREFIX};
use crate::fs::ops::{Name, failed};
use crate::storage::Fill;
use crate::storage::space::of_file;
use engine::recorder::Recorder;
use engine::workload::{Body, Finish, Place, WorkError};
use model::digest::Digest;
use model::job::Redundancy;
use model::rng::Rng;
use std::ffi::CStr;
use std::ops::Range;
use std::path::PathBuf;
use sys::folder::{Entries, Folder, How, read, sync, write};
use sys::loops::failure::Failure;

/// Bytes that the new files of a turn hold together, about.
const TURN_BYTES: u64 = 1 << 20;
/// New files of a turn.
const TURN_FILES: [u64; 2] = [16, 256];
/// Files of a turn that are synced, and times that names are read.
const SYNCS: u64 = 4;
const LISTINGS: u64 = 4;
/// A directory of so many names is read in whole at a time; of larger ones what one call gives, some thousand names.
pub(super) const WHOLE_MAX: u64 = 4096;

/// New files of a turn, where each has so many bytes.
fn files_of_turn(bytes: u64) -> u64 {
    (TURN_BYTES / bytes.max(1)).clamp(TURN_FILES[0], TURN_FILES[1])
}

/// What new files of a turn take together, at most.
pub(super) fn most_bytes(bytes: u64) -> u64 {
    let files = files_of_turn(bytes) + SYNCS + 1;
    files.saturating_mul(of_file(bytes))
}

/// At work.
pub(super) struct Turns {
    folder: Folder,
    path: PathBuf,
    made: Made,
    standing: Name,
    fresh: Name,
    moved: Name,
    data: Vec<u8>,
    back: Vec<u8>,
    entries: Entries,
    rng: Rng,
    classes: Classes,
    /// The number of the next new file.
    next: u64,
    per_turn: u64,
}

impl Turns {
    pub(super) fn new(
        (folder, path, made): (Folder, PathBuf, Made),
        bytes: u64,
        place: &Place,
    ) -> Self {
        let len = usize::try_from(bytes).unwrap_or(usize::MAX);
        let mut data = vec![0; len];
        Redundancy::default().fill(place.seed, 0, &mut data);
        // Numbers of a round and a copy: what a killed one left is in nobody's way.
        let own = format!("{}-{}-", place.round, place.copy);
        Self {
            folder,
            path,
            made,
            standing: Name::new(PREFIX),
            fresh: Name::new(&format!("n{own}")),
            moved: Name::new(&format!("m{own}")),
            back: vec![0; len],
            data,
            entries: Entries::default(),
            rng: Rng::stream(place.seed, 11),
            classes: Classes::new(place.clock()),
            next: 0,
            per_turn: files_of_turn(bytes),
        }
    }

    fn turn(&mut self) -> Result<(), WorkError> {
        let first = self.next;
        let from = first + SYNCS + 1;
        let to = from + self.per_turn;
        self.sync(first..from)?;
        self.create(from..to)?;
        self.look()?;
        self.read_back(from..to)?;
        self.rename(from..to)?;
        for _ in 0..LISTINGS {
            self.list()?;
        }
        self.unlink(from..to)?;
        self.next = to;
        Ok(())
    }

    /// New files, each synced as soon as it is written. The first one pays for what the last turn left to the
    /// journal, and is not counted.
    fn sync(&mut self, numbers: Range<u64>) -> Result<(), WorkError> {
        let Self {
            folder,
            fresh,
            classes,
            ..
        } = self;
        let first = numbers.start;
        for number in numbers.clone() {
            let name = fresh.of(number);
            let done = folder.file(name, How::CREATE).and_then(|file| {
                write(&file, &self.data, 0)?;
                if number == first {
                    return sync(&file);
                }
                classes.time(Class::Fsync, || sync(&file))
            });
            done.map_err(|failure| failed(&failure, &self.path, name))?;
        }
        for number in numbers {
            let name = fresh.of(number);
            let done = folder.unlink(name);
            done.map_err(|failure| failed(&failure, &self.path, name))?;
        }
        Ok(())
    }

    fn create(&mut self, numbers: Range<u64>) -> Result<(), WorkError> {
        let (folder, data) = (&self.folder, &self.data);
        for number in numbers {
            let name = self.fresh.of(number);
            let classes = &mut self.classes;
            let made = classes.time(Class::Create, || folder.file(name, How::CREATE));
            let done = made.and_then(|file| {
                classes.time(Class::Write, move || {
                    write(&file, data, 0)?;
                    drop(file);
                    Ok(())
                })
            });
            done.map_err(|failure| failed(&failure, &self.path, name))?;
        }
        Ok(())
    }

    /// Asks for files that stand, and opens some.
    fn look(&mut self) -> Result<(), WorkError> {
        let folder = &self.folder;
        for class in [Class::Stat, Class::Open] {
            for _ in 0..self.per_turn {
                let name = self.standing.of(self.rng.below(self.made.files));
                let done = self.classes.time(class, || match class {
                    Class::Stat => folder.stat(name).map(drop),
                    _ => folder.file(name, How::READ).map(drop),
                });
                done.map_err(|failure| failed(&failure, &self.path, name))?;
            }
        }
        Ok(())
    }

    fn read_back(&mut self, numbers: Range<u64>) -> Result<(), WorkError> {
        let (folder, back) = (&self.folder, &mut self.back);
        for number in numbers {
            let name = self.fresh.of(number);
            let done = self
                .classes
                .time(Class::Read, || read_whole(folder, name, back));
            done.map_err(|failure| failed(&failure, &self.path, name))?;
        }
        Ok(())
    }

    fn rename(&mut self, numbers: Range<u64>) -> Result<(), WorkError> {
        let folder = &self.folder;
        for number in numbers {
            let (name, new) = (self.fresh.of(number), self.moved.of(number));
            let done = self
                .classes
                .time(Class::Rename, || folder.rename(name, folder, new));
            done.map_err(|failure| failed(&failure, &self.path, name))?;
        }
        Ok(())
    }

    fn unlink(&mut self, numbers: Range<u64>) -> Result<(), WorkError> {
        let folder = &self.folder;
        for number in numbers {
            let name = self.moved.of(number);
            let done = self.classes.time(Class::Unlink, || folder.unlink(name));
            done.map_err(|failure| failed(&failure, &self.path, name))?;
        }
        Ok(())
    }

    fn list(&mut self) -> Result<(), WorkError> {
        let whole = self.made.files <= WHOLE_MAX;
        let (folder, entries) = (&self.folder, &mut self.entries);
        let names = self
            .classes
            .time(Class::Readdir, || list(folder, entries, whole));
        self.classes
            .count_names(names.map_err(|failure| failed(&failure, &self.path, c"."))?);
        Ok(())
    }
}

/// Opens a file, reads all of it and closes it.
pub(super) fn read_whole(folder: &Folder, name: &CStr, back: &mut [u8]) -> Result<(), Failure> {
    let file = folder.file(name, How::READ)?;
    read(&file, back, 0)
}

/// Reads names: all of the directory, or the next that one call gives, from the beginning again behind the end.
pub(super) fn list(folder: &Folder, entries: &mut Entries, whole: bool) -> Result<u64, Failure> {
    if whole {
        folder.rewind()?;
    }
    let mut all = 0;
    loop {
        let names = folder.read(entries)?.count() as u64;
        all += names;
        match (names, whole) {
            (0, true) => return Ok(all),
            (0, false) => folder.rewind()?,
            (_, true) => {}
            (_, false) => return Ok(all),
        }
    }
}

impl Body for Turns {
    fn batch(&mut self, ops: u64, _: &mut Recorder) -> Result<u64, WorkError> {
        let before = self.classes.ops();
        loop {
            self.turn()?;
            let done = self.classes.ops() - before;
            if done >= ops {
                return Ok(done);
            }
        }
    }

    fn measured_part_begins(&mut self) {
        self.classes.clear();
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        if self.next > 0 && self.back != self.data {
            let why = format!(
                "`{}`: what was read is not what was written",
                self.path.display()
            );
            return Err(WorkError::Wrong(why));
        }
        let mut finish = Finish {
            digest: Digest::EMPTY.word(self.data.len() as u64),
            ..Finish::default()
        };
        self.classes.tell(&mut finish);
        super::tell_set(&self.made, &mut finish);
        Ok(finish)
    }
}
