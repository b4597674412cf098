//! The same files when the kernel has forgotten them: each is touched once in a round, and comes from the disk.
//!
//! Names and attributes are forgotten only by the whole machine at once and by root ([`sys::memory::forget`]); what
//! a file holds can be forgotten by anybody, file by file. What cannot be forgotten here is missing, with its reason.
//! How much of it the device's own cache answers, nobody can say.

use super::classes::{Class, Classes};
use super::set::{Made, PREFIX};
use super::turns::{list, read_whole};
use crate::fs::ops::{Name, failed};
use engine::recorder::Recorder;
use engine::workload::{Body, Finish, Place, WorkError};
use model::rng::Rng;
use std::path::{Path, PathBuf};
use sys::folder::{Entries, Folder, How};
use sys::io::file;
use sys::memory::forget;

/// The most files that one round touches, and that are forgotten one by one.
const FILES_MAX: usize = 20_000;

/// Readings of names with which a round begins: the whole of a small directory at the first of them.
const LISTINGS: u64 = 8;

/// What is forgotten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Forgotten {
    /// All: names, attributes and content.
    All,
    /// Content alone: why nothing else.
    Content(String),
}

/// What can be forgotten on this machine of files with so many bytes; an error where that is nothing.
pub(super) fn forgettable(bytes: u64) -> Result<Forgotten, String> {
    match forget::may_drop_caches() {
        Ok(()) => Ok(Forgotten::All),
        Err(error) => {
            let why = format!(
                "names and attributes stay in memory: only root may make the kernel forget them \
                 (/proc/sys/vm/drop_caches: {error})"
            );
            if bytes > 0 {
                Ok(Forgotten::Content(why))
            } else {
                Err(why)
            }
        }
    }
}

/// At work.
pub(super) struct Cold {
    folder: Folder,
    path: PathBuf,
    made: Made,
    forgotten: Forgotten,
    name: Name,
    /// The files to be touched, the next one last.
    order: Vec<u64>,
    listings: u64,
    whole: bool,
    back: Vec<u8>,
    entries: Entries,
    classes: Classes,
}

impl Cold {
    pub(super) fn new(
        (folder, path, made): (Folder, PathBuf, Made),
        forgotten: Forgotten,
        bytes: u64,
        place: &Place,
    ) -> Result<Self, WorkError> {
        if let Some(kind) = in_memory(&path) {
            return Err(WorkError::Unsupported(format!(
                "`{}` is in memory ({kind}): nothing of it can be forgotten",
                path.display()
            )));
        }
        let mut rng = Rng::stream(place.seed, 12);
        let copies = u64::from(place.copies.max(1));
        let own = (0..made.files).filter(|number| number % copies == u64::from(place.copy));
        let mut order: Vec<u64> = own.collect();
        rng.shuffle(&mut order);
        order.truncate(FILES_MAX);
        let mut cold = Self {
            folder,
            path,
            forgotten,
            name: Name::new(PREFIX),
            order,
            listings: 0,
            whole: made.files <= super::turns::WHOLE_MAX,
            made,
            back: vec![0; usize::try_from(bytes).unwrap_or(usize::MAX)],
            entries: Entries::default(),
            classes: Classes::new(place.clock()),
        };
        cold.forget()?;
        Ok(cold)
    }

    /// Makes the kernel forget, and looks whether it did: the first of the files, which nobody touches then.
    fn forget(&mut self) -> Result<(), WorkError> {
        let failed_at = |operation: &str, path: &Path| {
            let path = path.display().to_string();
            let operation = operation.to_owned();
            move |error: std::io::Error| WorkError::failed(&operation, path, error)
        };
        match &self.forgotten {
            Forgotten::All => {
                forget::drop_caches().map_err(failed_at("drop the caches for", &self.path))?;
            }
            Forgotten::Content(_) => {
                for &number in &self.order {
                    let name = self.name.of(number);
                    let found = self.folder.file(name, How::READ);
                    let found = found.map_err(|failure| failed(&failure, &self.path, name))?;
                    file::drop_cache(&found).map_err(failed_at("posix_fadvise", &self.path))?;
                }
            }
        }
        let Some(number) = self.order.pop().filter(|_| !self.back.is_empty()) else {
            return Ok(());
        };
        let name = self.name.of(number);
        let found = self.folder.file(name, How::READ);
        let found = found.map_err(|failure| failed(&failure, &self.path, name))?;
        // Where nobody says what is in memory, nothing speaks against it.
        if file::cached_bytes(&found, self.back.len()).is_ok_and(|cached| cached > 0) {
            return Err(WorkError::Unsupported(format!(
                "`{}`: the kernel keeps in memory what it was told to forget",
                self.path.display()
            )));
        }
        Ok(())
    }

    /// Does the next operations; false where all is done.
    fn step(&mut self) -> Result<bool, WorkError> {
        let (folder, entries, whole) = (&self.folder, &mut self.entries, self.whole);
        let all = self.forgotten == Forgotten::All;
        let listings = if whole { 1 } else { LISTINGS };
        if all && self.listings < listings {
            self.listings += 1;
            let names = self
                .classes
                .time(Class::Readdir, || list(folder, entries, whole));
            let names = names.map_err(|failure| failed(&failure, &self.path, c"."))?;
            self.classes.count_names(names);
            return Ok(true);
        }
        let Some(number) = self.order.pop() else {
            return Ok(false);
        };
        let name = self.name.of(number);
        let (classes, back) = (&mut self.classes, &mut self.back);
        let done = match self.order.len() % 3 {
            0 if all => classes.time(Class::Stat, || folder.stat(name).map(drop)),
            1 if all => classes.time(Class::Open, || folder.file(name, How::READ).map(drop)),
            _ if !back.is_empty() => classes.time(Class::Read, || read_whole(folder, name, back)),
            _ => classes.time(Class::Stat, || folder.stat(name).map(drop)),
        };
        done.map_err(|failure| failed(&failure, &self.path, name))?;
        Ok(true)
    }
}

/// The kind of a file system that is memory.
pub(super) fn in_memory(path: &Path) -> Option<&'static str> {
    sys::probe::file_system(path).ok()?.in_memory()
}

impl Body for Cold {
    fn batch(&mut self, ops: u64, _: &mut Recorder) -> Result<u64, WorkError> {
        for done in 0..ops {
            if !self.step()? {
                return Ok(done);
            }
        }
        Ok(ops)
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        let mut finish = Finish::default();
        self.classes.tell(&mut finish);
        if let Forgotten::Content(why) = &self.forgotten {
            for quantity in ["stat_ops_per_s", "open_ops_per_s", "readdir_names_per_s"] {
                finish.missing.insert(quantity.to_owned(), why.clone());
            }
            finish.notes.push(why.clone());
        }
        super::tell_set(&self.made, &mut finish);
        Ok(finish)
    }
}
