//! What is known of each file and directory of a set: whether it is there, full, or in use.
//!
//! Threads of all tasks share it. A thread takes a file before it does anything with it, and gives it back in its new
//! state: no two work on one file unless both share it, nobody reads what is not full or deletes what is open. A
//! directory counts what is in it, so that none is removed in which something is about to be made. All of it are single
//! atomic operations: nobody waits for a lock.

use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering};

/// Bits of a file's state; the rest counts those who share it.
const THERE: u16 = 1;
const FULL: u16 = 2;
const TAKEN: u16 = 4;
const SHARER: u16 = 16;

/// Bits of a directory's state; the rest counts what is in it.
const DIR_THERE: u32 = 1 << 31;
const DIR_TAKEN: u32 = 1 << 30;

/// What a file must be, to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wants {
    Missing,
    There,
    Full,
}

/// What a file is when it is given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Now {
    Missing,
    There,
    Full,
}

impl Now {
    const fn bits(self) -> u16 {
        match self {
            Self::Missing => 0,
            Self::There => THERE,
            Self::Full => THERE | FULL,
        }
    }

    /// As it was found by its bits.
    const fn of(bits: u16) -> Self {
        match (bits & THERE, bits & FULL) {
            (0, _) => Self::Missing,
            (_, 0) => Self::There,
            _ => Self::Full,
        }
    }
}

/// Whether a thread has got a file or directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// It has, and this is what it was.
    Mine(Now),
    /// Somebody else has it.
    Busy,
    /// It is not what was wanted.
    Unfit,
}

/// The states of a set.
#[derive(Debug)]
pub(super) struct Map {
    files: Vec<AtomicU16>,
    directories: Vec<AtomicU32>,
    /// How many files are there, how many of them are full, and how many directories are there.
    there: AtomicU64,
    full: AtomicU64,
    made: AtomicU64,
    /// How often any of this changed.
    changes: AtomicU64,
}

fn index(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl Map {
    /// Nothing is there.
    pub(super) fn new(files: u64, directories: u64) -> Self {
        Self {
            files: (0..files).map(|_| AtomicU16::new(0)).collect(),
            directories: (0..directories).map(|_| AtomicU32::new(0)).collect(),
            there: AtomicU64::new(0),
            full: AtomicU64::new(0),
            made: AtomicU64::new(0),
            changes: AtomicU64::new(0),
        }
    }

    /// Files of the set.
    pub(super) fn files(&self) -> u64 {
        self.files.len() as u64
    }

    /// Directories of the set.
    pub(super) fn directories(&self) -> u64 {
        self.directories.len() as u64
    }

    /// Files that are there, and how many of them are full.
    pub(super) fn counts(&self) -> (u64, u64) {
        (
            self.there.load(Ordering::Acquire),
            self.full.load(Ordering::Acquire),
        )
    }

    /// Directories that are there.
    pub(super) fn made(&self) -> u64 {
        self.made.load(Ordering::Acquire)
    }

    /// Grows whenever something has become there, full or missing.
    pub(super) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Whether any file may be what is wanted, whoever has it.
    pub(super) fn may_have(&self, wants: Wants) -> bool {
        let (there, full) = self.counts();
        match wants {
            Wants::Missing => there < self.files(),
            Wants::There => there > 0,
            Wants::Full => full > 0,
        }
    }

    /// Takes a file for oneself, or together with others who share it.
    #[inline]
    pub(super) fn take(&self, file: u64, wants: Wants, shares: bool) -> Taken {
        let Some(state) = self.files.get(index(file)) else {
            return Taken::Unfit;
        };
        let mut found = state.load(Ordering::Acquire);
        loop {
            let fits = match wants {
                Wants::Missing => found & THERE == 0,
                Wants::There => found & THERE != 0,
                Wants::Full => found & FULL != 0,
            };
            // Who has it may change what it is.
            if found & TAKEN != 0 || (found >= SHARER && !shares) {
                return Taken::Busy;
            }
            if !fits {
                return Taken::Unfit;
            }
            let next = if shares {
                found + SHARER
            } else {
                found | TAKEN
            };
            let order = (Ordering::AcqRel, Ordering::Acquire);
            match state.compare_exchange_weak(found, next, order.0, order.1) {
                Ok(_) => return Taken::Mine(Now::of(found)),
                Err(other) => found = other,
            }
        }
    }

    /// Gives back a file that was `before`.
    #[inline]
    pub(super) fn give_back(&self, file: u64, before: Now, now: Now, shares: bool) {
        let Some(state) = self.files.get(index(file)) else {
            return;
        };
        if shares {
            state.fetch_sub(SHARER, Ordering::AcqRel);
            return;
        }
        state.store(now.bits(), Ordering::Release);
        if before != now {
            self.count(before, now);
        }
    }

    fn count(&self, before: Now, now: Now) {
        for (bit, count) in [(THERE, &self.there), (FULL, &self.full)] {
            match (before.bits() & bit, now.bits() & bit) {
                (0, new) if new != 0 => {
                    count.fetch_add(1, Ordering::AcqRel);
                }
                (old, 0) if old != 0 => {
                    count.fetch_sub(1, Ordering::AcqRel);
                }
                _ => {}
            }
        }
        self.changes.fetch_add(1, Ordering::AcqRel);
    }

    fn directory(&self, directory: u64) -> Option<&AtomicU32> {
        self.directories.get(index(directory))
    }

    /// One more will be in this directory, which is there from now on until that has been made and removed again; false
    /// where it is not there, or about to go. The root of the set, `None`, always is.
    pub(super) fn enter(&self, directory: Option<u64>) -> bool {
        let Some(state) = directory.and_then(|at| self.directory(at)) else {
            return directory.is_none();
        };
        let more = |found: u32| {
            let stays = found & DIR_THERE != 0 && found & DIR_TAKEN == 0;
            stays.then_some(found + 1)
        };
        let order = (Ordering::AcqRel, Ordering::Acquire);
        state.fetch_update(order.0, order.1, more).is_ok()
    }

    /// One less is in it.
    pub(super) fn leave(&self, directory: Option<u64>) {
        if let Some(state) = directory.and_then(|at| self.directory(at)) {
            state.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// Takes a directory that is missing, or one with nothing in it.
    pub(super) fn take_directory(&self, directory: u64, wants: Wants) -> Taken {
        let Some(state) = self.directory(directory) else {
            return Taken::Unfit;
        };
        let found = state.load(Ordering::Acquire);
        if found & DIR_TAKEN != 0 {
            return Taken::Busy;
        }
        let (fits, was) = match wants {
            Wants::Missing => (found & DIR_THERE == 0, Now::Missing),
            Wants::There | Wants::Full => (found == DIR_THERE, Now::There),
        };
        if !fits {
            return Taken::Unfit;
        }
        let order = (Ordering::AcqRel, Ordering::Acquire);
        match state.compare_exchange(found, found | DIR_TAKEN, order.0, order.1) {
            Ok(_) => Taken::Mine(was),
            Err(_) => Taken::Busy,
        }
    }

    /// Gives back a directory that was taken.
    pub(super) fn give_back_directory(&self, directory: u64, before: Now, now: Now) {
        let Some(state) = self.directory(directory) else {
            return;
        };
        let is_there = now != Now::Missing;
        state.store(if is_there { DIR_THERE } else { 0 }, Ordering::Release);
        match (before != Now::Missing, is_there) {
            (false, true) => {
                self.made.fetch_add(1, Ordering::AcqRel);
            }
            (true, false) => {
                self.made.fetch_sub(1, Ordering::AcqRel);
            }
            _ => return,
        }
        self.changes.fetch_add(1, Ordering::AcqRel);
    }

    /// What a file is, where nobody works on the set.
    pub(super) fn file_is(&self, file: u64) -> Now {
        let state = self.files.get(index(file));
        Now::of(state.map_or(0, |state| state.load(Ordering::Acquire)))
    }

    /// Whether a directory is there, where nobody works on the set.
    pub(super) fn directory_is(&self, directory: u64) -> bool {
        let state = self.directory(directory);
        state.is_some_and(|state| state.load(Ordering::Acquire) & DIR_THERE != 0)
    }

    /// Notes what a file was found to be: nobody works on the set, and the directories above are noted already.
    pub(super) fn note_file(&self, file: u64, directory: u64, now: Now) {
        let before = self.file_is(file);
        self.give_back(file, before, now, false);
        match (before, now) {
            (Now::Missing, Now::There | Now::Full) => {
                self.enter(Some(directory));
            }
            (Now::There | Now::Full, Now::Missing) => self.leave(Some(directory)),
            _ => {}
        }
    }

    /// Notes that a directory was found, or made, in the one above, which is noted already.
    pub(super) fn note_directory(&self, directory: u64, above: Option<u64>) {
        if !self.directory_is(directory) {
            self.give_back_directory(directory, Now::Missing, Now::There);
            self.enter(above);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_taken_by_one_and_shared_by_several() {
        let map = Map::new(2, 1);
        map.note_directory(0, None);
        assert_eq!(map.take(0, Wants::There, false), Taken::Unfit);
        assert_eq!(
            map.take(0, Wants::Missing, false),
            Taken::Mine(Now::Missing)
        );
        assert_eq!(
            map.take(0, Wants::There, false),
            Taken::Busy,
            "it may become there"
        );
        map.give_back(0, Now::Missing, Now::Full, false);
        assert_eq!((map.counts(), map.changes()), ((1, 1), 2));
        assert_eq!(map.take(0, Wants::Full, true), Taken::Mine(Now::Full));
        assert_eq!(map.take(0, Wants::Full, true), Taken::Mine(Now::Full));
        assert_eq!(map.take(0, Wants::There, false), Taken::Busy);
        map.give_back(0, Now::Full, Now::Full, true);
        assert_eq!(
            map.take(0, Wants::There, false),
            Taken::Busy,
            "one still has it"
        );
        map.give_back(0, Now::Full, Now::Full, true);
        assert_eq!(map.take(0, Wants::There, false), Taken::Mine(Now::Full));
        assert_eq!(map.take(0, Wants::Full, true), Taken::Busy);
        map.give_back(0, Now::Full, Now::Missing, false);
        assert_eq!(map.counts(), (0, 0));
        assert!(map.may_have(Wants::Missing) && !map.may_have(Wants::Full));
        assert_eq!(
            map.take(9, Wants::Missing, false),
            Taken::Unfit,
            "there is none"
        );
    }

    #[test]
    fn no_directory_goes_in_which_something_is_or_is_about_to_be() {
        let map = Map::new(1, 2);
        assert!(!map.enter(Some(0)), "it is not there");
        assert_eq!(
            map.take_directory(0, Wants::Missing),
            Taken::Mine(Now::Missing)
        );
        assert_eq!(map.take_directory(0, Wants::Missing), Taken::Busy);
        assert!(!map.enter(Some(0)), "it is about to be");
        map.give_back_directory(0, Now::Missing, Now::There);
        assert!(map.enter(Some(0)) && map.enter(None));
        assert_eq!(map.take_directory(0, Wants::There), Taken::Unfit);
        map.leave(Some(0));
        assert_eq!(map.take_directory(0, Wants::There), Taken::Mine(Now::There));
        assert!(!map.enter(Some(0)), "it is about to go");
        map.give_back_directory(0, Now::There, Now::Missing);
        assert_eq!(map.made(), 0);
    }

    #[test]
    fn threads_never_hold_one_file_together_nor_lose_count() {
        const FILES: u64 = 3;
        let map = Map::new(FILES, 1);
        let holders: Vec<AtomicU32> = (0..FILES).map(|_| AtomicU32::new(0)).collect();
        std::thread::scope(|scope| {
            for thread in 0..4_u64 {
                let (map, holders) = (&map, &holders);
                scope.spawn(move || {
                    for step in 0..20_000 {
                        let file = (thread + step) % FILES;
                        let wants = if step % 2 == 0 {
                            Wants::Missing
                        } else {
                            Wants::There
                        };
                        if let Taken::Mine(was) = map.take(file, wants, false) {
                            let holder = &holders[index(file)];
                            assert_eq!(holder.fetch_add(1, Ordering::AcqRel), 0);
                            let now = if was == Now::Missing {
                                Now::There
                            } else {
                                Now::Missing
                            };
                            holder.fetch_sub(1, Ordering::AcqRel);
                            map.give_back(file, was, now, false);
                        }
                    }
                });
            }
        });
        let there = (0..FILES).filter(|file| map.file_is(*file) != Now::Missing);
        assert_eq!(map.counts().0, there.count() as u64);
    }
}
