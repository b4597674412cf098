//! Empty files by their names in one directory: made, looked at and removed, with the longest single operation.
//!
//! Names lie in one text, each with a NUL behind it, so that a name costs nothing but its system calls. What a
//! directory lists is taken in the order and the portions in which the kernel gives it.

use super::chunks::{Done, Laps};
use super::failure::Failure;
use super::file_server::close;
use crate::clock::Clock;
use crate::folder::{Entries, Folder, How};
use std::ffi::CStr;
use std::io;

/// Names, each in a field of its own.
#[derive(Debug, Default)]
pub struct Names {
    text: Vec<u8>,
}

/// Bytes of a field: a name of at most 31.
const FIELD: usize = 32;

impl Names {
    /// Adds a name.
    ///
    /// # Panics
    ///
    /// Where it is longer than 31 bytes or holds a NUL, which is our own mistake.
    pub fn push(&mut self, name: &[u8]) {
        assert!(
            name.len() < FIELD && !name.contains(&0),
            "a name of at most 31 bytes"
        );
        let mut field = [0; FIELD];
        field[..name.len()].copy_from_slice(name);
        self.text.extend_from_slice(&field);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.text.len() / FIELD
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// In the order in which they were added.
    fn all(&self) -> impl Iterator<Item = &CStr> {
        self.text.chunks(FIELD).filter_map(name)
    }

    /// The name of this number.
    #[inline]
    fn get(&self, at: u32) -> Option<&CStr> {
        let at = usize::try_from(at).ok()? * FIELD;
        name(self.text.get(at..at + FIELD)?)
    }
}

#[inline]
fn name(field: &[u8]) -> Option<&CStr> {
    CStr::from_bytes_until_nul(field).ok()
}

/// Makes each of them, and none that is there already. An operation is open and close.
pub fn create(dir: &Folder, names: &Names, clock: Clock) -> Result<Done, Failure> {
    each(names.all(), clock, |name| {
        let file = dir.file(name, How::CREATE)?;
        close(file.into()).map_err(|error| Failure {
            operation: "close",
            done: 0,
            error,
        })
    })
}

/// Looks at each of those, in this order.
pub fn stat(dir: &Folder, names: &Names, order: &[u32], clock: Clock) -> Result<Done, Failure> {
    let names = order.iter().filter_map(|&at| names.get(at));
    each(names, clock, |name| stat_one(dir, name))
}

/// Removes each of those, in this order.
pub fn remove(dir: &Folder, names: &Names, order: &[u32], clock: Clock) -> Result<Done, Failure> {
    let names = order.iter().filter_map(|&at| names.get(at));
    each(names, clock, |name| remove_one(dir, name))
}

#[inline]
fn each<'n>(
    names: impl Iterator<Item = &'n CStr>,
    clock: Clock,
    operation: impl Fn(&CStr) -> Result<(), Failure>,
) -> Result<Done, Failure> {
    let mut laps = Laps::begin(clock);
    let mut done = 0;
    for name in names {
        operation(name).map_err(after(done))?;
        laps.lap();
        done += 1;
    }
    Ok(laps.done(done))
}

/// A failure of the operation behind so many.
fn after(done: u64) -> impl FnOnce(Failure) -> Failure {
    move |failure| Failure { done, ..failure }
}

/// Looks at everything that the directory lists, in the order of the list.
pub fn stat_listed(dir: &Folder, entries: &mut Entries, clock: Clock) -> Result<Done, Failure> {
    let mut laps = Laps::begin(clock);
    let done = listed(dir, entries, 0, &mut laps, |name| stat_one(dir, name))?;
    Ok(laps.done(done))
}

/// Removes everything that the directory lists, in the order of the list, and looks again until it lists nothing: what
/// a list still shows of a directory that changes meanwhile, no standard says.
pub fn remove_listed(dir: &Folder, entries: &mut Entries, clock: Clock) -> Result<Done, Failure> {
    let mut laps = Laps::begin(clock);
    let mut done = 0;
    loop {
        let by_now = listed(dir, entries, done, &mut laps, |name| remove_one(dir, name))?;
        if by_now == done {
            return Ok(laps.done(done));
        }
        done = by_now;
        dir.rewind().map_err(after(done))?;
    }
}

/// Does an operation for each name from where the list stands to its end; `done` were done before.
#[inline]
fn listed(
    dir: &Folder,
    entries: &mut Entries,
    mut done: u64,
    laps: &mut Laps,
    operation: impl Fn(&CStr) -> Result<(), Failure>,
) -> Result<u64, Failure> {
    loop {
        let mut is_over = true;
        for name in dir.read(entries).map_err(after(done))? {
            is_over = false;
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            operation(name).map_err(after(done))?;
            laps.lap();
            done += 1;
        }
        if is_over {
            return Ok(done);
        }
    }
}

#[inline]
fn stat_one(dir: &Folder, name: &CStr) -> Result<(), Failure> {
    if dir.stat(name)?.bytes == 0 {
        Ok(())
    } else {
        Err(Failure::kind("check", 0, io::ErrorKind::InvalidData))
    }
}

#[inline]
fn remove_one(dir: &Folder, name: &CStr) -> Result<(), Failure> {
    dir.unlink(name).map_err(|failure| Failure {
        operation: "remove",
        ..failure
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(n: u32) -> Names {
        let mut names = Names::default();
        (0..n).for_each(|at| names.push(format!("{at:010x}").as_bytes()));
        names
    }

    fn count(dir: &tempfile::TempDir) -> usize {
        std::fs::read_dir(dir.path()).unwrap().count()
    }

    #[test]
    fn files_are_made_looked_at_and_removed_by_name_and_by_list() {
        let dir = tempfile::tempdir().unwrap();
        let open = || Folder::open(dir.path()).unwrap();
        // More than one portion of records.
        let (names, mut records) = (names(2000), Entries::default());
        let order: Vec<u32> = (0..2000).rev().collect();
        for by_list in [true, false] {
            let made = create(&open(), &names, Clock::Kernel).unwrap();
            assert_eq!((made.ops, count(&dir)), (2000, 2000));
            assert!(made.longest_ns > 0);
            let [seen, gone] = if by_list {
                [
                    stat_listed(&open(), &mut records, Clock::Kernel),
                    remove_listed(&open(), &mut records, Clock::Kernel),
                ]
            } else {
                [
                    stat(&open(), &names, &order, Clock::Kernel),
                    remove(&open(), &names, &order, Clock::Kernel),
                ]
            };
            assert_eq!((seen.unwrap().ops, gone.unwrap().ops), (2000, 2000));
            assert_eq!(count(&dir), 0);
        }
    }

    #[test]
    fn what_is_there_missing_or_not_empty_is_told_with_what_was_done() {
        let dir = tempfile::tempdir().unwrap();
        let handle = Folder::open(dir.path()).unwrap();
        let names = names(3);
        std::fs::write(dir.path().join("0000000002"), "x").unwrap();
        let failure = create(&handle, &names, Clock::Kernel).unwrap_err();
        assert_eq!((failure.operation, failure.done), ("create", 2));
        let failure = stat(&handle, &names, &[0, 1, 2], Clock::Kernel).unwrap_err();
        assert_eq!((failure.operation, failure.done), ("check", 2));
        std::fs::remove_file(dir.path().join("0000000001")).unwrap();
        let failure = remove(&handle, &names, &[0, 1, 2], Clock::Kernel).unwrap_err();
        assert_eq!((failure.operation, failure.done), ("remove", 1));
        assert_eq!(failure.error.kind(), io::ErrorKind::NotFound);
    }
}
