//! What a job works on: where it lies, how much of it is used, and that it was really written before anybody measures
//! it.
//!
//! Mostly it is a file that serves all rounds of a run, and every test of the same size and content. It lies in the
//! run's own marked directory, so that no file of anybody else can be meant. A note beside it says that it is complete
//! and which file it is, and is written last: a worker that dies while it writes the file leaves a file without a
//! note, which is written again. Copies of one round meet at a lock. Space is asked for before anything is written: at
//! most half of what is free, and what stays free is at least 1 GiB (10 % of a file system below 10 GiB), also while
//! others write.
//!
//! Files and devices that somebody names are opened by their permits alone ([`engine::consent`]). A file of others is
//! never made longer; one that we made for a job says in its mark that it is complete. Of a device the first and the
//! last MiB are left alone: what says whose it is lies there, and stays true for the next look.

mod ground;
mod layout;

use super::advice::{Advice, hint};
use engine::consent::{Permit, Refusal};
use engine::workload::{Place, WorkError};
use layout::Tell;
use model::digest::Digest;
use model::job::{Job, Layout, OrderHint, Redundancy, SyncOn, Target};
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use sys::io::file::{Access, ReadOrder, SyncMode, tell_order};
use sys::tree::Tree;

pub(super) use ground::{errand, ground, size_made_in};
#[cfg(test)]
pub(super) use layout::write_or_remove;
pub(super) use layout::{Note, SIZE_LEAST, missing, no_room};

/// What a job works on, ready.
#[derive(Debug)]
pub(super) struct TestFile {
    pub(super) path: PathBuf,
    /// The first byte that may be used: a whole number of blocks from the beginning.
    pub(super) start: u64,
    /// Bytes from there on that the job uses: whole blocks.
    pub(super) size: u64,
    /// Where its content comes from.
    pub(super) seed: u64,
    /// Whether parts of it may never have been written, with nobody to say which.
    pub(super) is_unknown: bool,
    whose: Whose,
}

impl TestFile {
    /// Where the file ends, or what is used of it where that is further.
    pub(super) fn length(&self) -> u64 {
        let found = fs::metadata(&self.path).map_or(0, |found| found.len());
        found.max(self.start + self.size)
    }
}

/// By whose leave it is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    /// It is this file of the run's own.
    Own { device: u64, inode: u64 },
    /// That of a permit.
    Named,
}

/// What is left alone at each end of a device.
const END: u64 = 1 << 20;

/// What the job works on, written now where no round before has done so.
pub(super) fn ensure(job: &Job, place: &Place) -> Result<TestFile, WorkError> {
    ensure_telling(job, place, &mut |_| ())
}

/// The same, telling how much has been written.
fn ensure_telling(job: &Job, place: &Place, tell: Tell<'_>) -> Result<TestFile, WorkError> {
    match &job.target {
        Target::TestFile => own(job, place, tell),
        Target::File { path, create } => named(job, place, permit(place, path)?, *create),
        Target::Device { path, fill } => device(job, place, permit(place, path)?, *fill, tell),
    }
}

/// A file of this round's own that nobody has written to, in its directory; with `reserve` the file system keeps room
/// for all of it, as fio has it do for files that it is to write.
pub(super) fn fresh(job: &Job, place: &Place, reserve: bool) -> Result<TestFile, WorkError> {
    let bytes = job.size.unwrap_or_default();
    let copies = u64::from(place.copies.max(1));
    super::space::check_round(&place.dir, bytes.saturating_mul(copies))?;
    let path = place.dir.join("fresh");
    let failed = |operation: &'static str| {
        let path = path.display().to_string();
        move |error: io::Error| WorkError::failed(operation, path, error)
    };
    let file = sys::io::file::create(&path).map_err(failed("create"))?;
    if reserve {
        match sys::io::file::reserve(&file, bytes) {
            // Not every file system can, and fio goes on without.
            Err(error) if error.kind() != io::ErrorKind::Unsupported => {
                return Err(failed("reserve room for")(error));
            }
            _ => {}
        }
    }
    let found = file.metadata().map_err(failed("find the size of"))?;
    let whose = Whose::Own {
        device: found.dev(),
        inode: found.ino(),
    };
    Ok(part(job, path, 0, bytes, place.seed, whose))
}

fn permit<'a>(place: &'a Place, path: &Path) -> Result<&'a Permit, WorkError> {
    place.permits.of(path).map_err(refused)
}

/// What consent refuses, another round will not get either; what the kernel refuses, it may.
pub(super) fn refused(refusal: Refusal) -> WorkError {
    match refusal {
        Refusal::System { .. } => WorkError::Failed(refusal.to_string()),
        other => WorkError::Unsupported(other.to_string()),
    }
}

/// The run's own file.
fn own(job: &Job, place: &Place, tell: Tell<'_>) -> Result<TestFile, WorkError> {
    let name = name(job);
    let _lock = lock(place, &name)?;
    let [path, note_path] = paths(job, place);
    let note = match complete(&path, &note_path, job) {
        Some(note) => match given_back(&path, &note, job) {
            0 => note,
            bytes => {
                let why = format!(
                    "{bytes} of its {} bytes have no data on the device any more: something gave them back",
                    note.size
                );
                return Err(WorkError::failed("stand on", path.display(), why));
            }
        },
        None => layout::write_anew(job, &path, &note_path, place.seed, tell)?,
    };
    let whose = Whose::Own {
        device: note.device,
        inode: note.inode,
    };
    Ok(part(job, path, 0, note.size, note.seed, whose))
}

/// The run's own file of a job, and the note that it is complete.
fn paths(job: &Job, place: &Place) -> [PathBuf; 2] {
    let name = name(job);
    [&name, &format!("{name}.complete")].map(|name| place.run_dir.join(name))
}

/// The blocks of a job between `start` and `end`.
fn part(job: &Job, path: PathBuf, start: u64, end: u64, seed: u64, whose: Whose) -> TestFile {
    let start = start.next_multiple_of(job.block_bytes);
    TestFile {
        path,
        start,
        size: end.saturating_sub(start) / job.block_bytes * job.block_bytes,
        seed,
        is_unknown: false,
        whose,
    }
}

/// Copies of a round take turns. The lock goes with the file.
fn lock(place: &Place, name: &str) -> Result<File, WorkError> {
    let path = place.run_dir.join(format!("{name}.lock"));
    let lock =
        File::create(&path).map_err(|error| WorkError::failed("create", path.display(), error))?;
    match lock.lock() {
        Ok(()) => Ok(lock),
        Err(error) if !sys::io::file::has_no_locks(&error) => {
            Err(WorkError::failed("lock", path.display(), error))
        }
        // One alone has nobody to take turns with.
        Err(_) if place.copies == 1 => Ok(lock),
        Err(_) => Err(WorkError::Unsupported(
            "the file system has no locks, by which copies take turns; hint: --copies 1".to_owned(),
        )),
    }
}

/// Jobs share a file where they agree on its size and content. A job that gives ranges back has one of its own.
pub(super) fn name(job: &Job) -> String {
    let size = job.size.map_or("auto".to_owned(), |size| size.to_string());
    let Redundancy {
        compress_percent: compress,
        dedupe_percent: dedupe,
        ..
    } = job.redundancy;
    let trim = if job.pattern.mix.trims() { "-trim" } else { "" };
    format!("data-{size}-c{compress}-d{dedupe}{trim}")
}

/// The note of a complete file that fits the job.
fn complete(path: &Path, note: &Path, job: &Job) -> Option<Note> {
    let note: Note = serde_json::from_slice(&fs::read(note).ok()?).ok()?;
    let found = path.symlink_metadata().ok()?;
    let fits = found.is_file()
        && (found.dev(), found.ino()) == (note.device, note.inode)
        && found.len() == note.size
        && job.size.is_none_or(|size| size == note.size)
        && job.redundancy == note.redundancy;
    fits.then_some(note)
}

/// Bytes of a complete file that lost their data since: reading them touches no device. 0 where they are less than a
/// hundredth, because what is written over may compress a little better than before. A job that gives ranges back has
/// a file of its own.
fn given_back(path: &Path, note: &Note, job: &Job) -> u64 {
    if job.pattern.mix.trims() {
        return 0;
    }
    let opened = open_own(path, (note.device, note.inode), Access::default());
    let missing = opened.map_or(0, |file| missing(&file, note.size));
    let lost = missing.saturating_sub(note.missing);
    if lost > note.size / 100 { lost } else { 0 }
}

/// A file that somebody named.
fn named(job: &Job, place: &Place, permit: &Permit, create: bool) -> Result<TestFile, WorkError> {
    let path = permit.path();
    let _lock = lock(place, &key(path))?;
    let ready = |size, seed| Ok(part(job, path.to_owned(), 0, size, seed, Whose::Named));
    if let Some(note) = permit.note().map_err(refused)?
        && let Ok(note) = serde_json::from_str::<Note>(&note)
        && job.size.is_none_or(|size| size <= note.size)
        && job.redundancy == note.redundancy
    {
        let size = job.size.unwrap_or(note.size);
        // An earlier job may have given ranges back, or never written them: whoever may make the file makes it whole.
        if !create || job.layout != Layout::Written || is_whole(permit, size)? {
            return ready(size, note.seed);
        }
    }
    if create && permit.makes() {
        let note = layout::make_named(job, permit, place.seed)?;
        return ready(note.size, note.seed);
    }
    let opened = permit.open(Access::default()).map_err(refused)?;
    let length = opened
        .metadata()
        .map_err(|error| WorkError::failed("find the size of", path.display(), error))?
        .len();
    let size = job.size.unwrap_or(length);
    if size > length || length < job.block_bytes {
        return Err(WorkError::Unsupported(format!(
            "`{}` has {length} bytes, and {} are asked for: what this run may not make anew is not made longer\n\
             hint: ask for less, or name another file; where nobody needs this one, remove it",
            path.display(),
            size.max(job.block_bytes)
        )));
    }
    ready(size, place.seed)
}

/// Whether every part of a file up to `size` is on the device, as far as the file system tells.
fn is_whole(permit: &Permit, size: u64) -> Result<bool, WorkError> {
    let file = permit.open(Access::default()).map_err(refused)?;
    Ok(layout::missing(&file, size) == 0)
}

/// What files of the run's own are called that belong to a path.
fn key(path: &Path) -> String {
    let digest = Digest::EMPTY.bytes(path.as_os_str().as_bytes());
    format!("named-{:016x}", digest.0)
}

/// A device, but for its ends.
fn device(
    job: &Job,
    place: &Place,
    permit: &Permit,
    fill: bool,
    tell: Tell<'_>,
) -> Result<TestFile, WorkError> {
    let path = permit.path();
    let bytes = permit.device_bytes().unwrap_or(0);
    let room = bytes.saturating_sub(2 * END);
    let fills = fill && permit.writes();
    let size = match job.size {
        Some(size) => size,
        None if fills => layout::size_auto().min(room),
        None => room,
    };
    let ready = part(
        job,
        path.to_owned(),
        END,
        END + size,
        place.seed,
        Whose::Named,
    );
    if size > room || ready.size == 0 {
        return Err(WorkError::Unsupported(format!(
            "`{}` has {bytes} bytes, of which the first and the last MiB are left alone: that is no room for {} bytes in \
             blocks of {}",
            path.display(),
            size.max(job.block_bytes),
            job.block_bytes
        )));
    }
    if !fills {
        return Ok(TestFile {
            is_unknown: true,
            ..ready
        });
    }
    let name = key(path);
    let _lock = lock(place, &name)?;
    let note_path = place.run_dir.join(format!("{name}.complete"));
    // Each round has a shared directory of its own: that tells this round's trims from those of others.
    let this_round = place.shared_dir.to_string_lossy().into_owned();
    let known: Option<Note> = fs::read(&note_path)
        .ok()
        .and_then(|text| serde_json::from_slice(&text).ok());
    let fits = |note: &Note| {
        note.size >= size
            && note.redundancy == job.redundancy
            && note
                .trimmed_in
                .as_ref()
                .is_none_or(|round| *round == this_round)
    };
    let note = match known.filter(fits) {
        Some(note) if note.trimmed_in.is_some() || !job.pattern.mix.trims() => note,
        known => {
            let mut note = match known {
                Some(note) => note,
                None => layout::fill_device(job, permit, END, size, place.seed, tell)?,
            };
            note.trimmed_in = job.pattern.mix.trims().then_some(this_round);
            layout::keep(&note, &note_path)?;
            note
        }
    };
    Ok(TestFile {
        seed: note.seed,
        ..ready
    })
}

/// What the job works on, as the job wants it opened.
pub(super) fn open(job: &Job, found: &TestFile, place: &Place) -> Result<File, WorkError> {
    let access = Access {
        write: job.writes(),
        direct: job.direct,
        sync: match job.sync {
            SyncOn::None => SyncMode::None,
            SyncOn::Dsync => SyncMode::Data,
            SyncOn::Sync => SyncMode::All,
        },
    };
    let path = &found.path;
    let no_direct = |error: &io::Error| job.direct && sys::io::file::refuses_direct(error);
    let without = || {
        WorkError::Unsupported(format!(
            "the file system of `{}` has no O_DIRECT; {}",
            path.display(),
            hint(job.language, Advice::PageCache)
        ))
    };
    match found.whose {
        Whose::Own { device, inode } => {
            open_own(path, (device, inode), access).map_err(|error| match error {
                error if no_direct(&error) => without(),
                error => WorkError::failed("open", path.display(), error),
            })
        }
        Whose::Named => permit(place, path)?
            .open(access)
            .map_err(|refusal| match &refusal {
                Refusal::System { error, .. } if no_direct(error) => without(),
                _ => refused(refusal),
            }),
    }
}

/// Handles to what the page cache is to forget meanwhile: none where nothing is.
pub(super) fn to_forget(
    job: &Job,
    files: &[TestFile],
    place: &Place,
) -> Result<Vec<File>, WorkError> {
    let reads_back = job.verify.as_ref().is_some_and(|how| how.reads_back);
    let wanted = job.forgets_again() || (job.forgets() && reads_back);
    if !wanted {
        return Ok(Vec::new());
    }
    files.iter().map(|found| open(job, found, place)).collect()
}

/// A file as the job works on it: the kernel has been told in which order, where the page cache takes part.
pub(super) fn open_for_work(job: &Job, found: &TestFile, place: &Place) -> Result<File, WorkError> {
    let opened = open(job, found, place)?;
    if let Some(order) = order(job).filter(|_| !job.direct) {
        tell_order(&opened, order)
            .map_err(|error| WorkError::failed("tell the order of", found.path.display(), error))?;
    }
    Ok(opened)
}

/// What the kernel is told of the order to come.
pub(super) fn order(job: &Job) -> Option<ReadOrder> {
    match job.order_hint {
        OrderHint::None => None,
        OrderHint::AsPattern if job.pattern.random => Some(ReadOrder::Random),
        OrderHint::Random => Some(ReadOrder::Random),
        OrderHint::AsPattern | OrderHint::Sequential => Some(ReadOrder::Sequential),
    }
}

/// Opens the file that was written, and none that was put in its place, nor one that has another name elsewhere.
fn open_own(path: &Path, number: (u64, u64), access: Access) -> io::Result<File> {
    let found = sys::io::file::find(path, false)?;
    let what = found.metadata()?;
    if !what.is_file() || what.nlink() > 1 || (what.dev(), what.ino()) != number {
        return Err(io::Error::other(
            "it is not the file any more that was written",
        ));
    }
    sys::io::file::reopen(&found, access)
}

/// Refuses blocks that `O_DIRECT` cannot transfer.
pub(super) fn check_alignment(job: &Job, found: &TestFile, file: &File) -> Result<(), WorkError> {
    if !job.direct || job.pattern.mix.trims() {
        return Ok(());
    }
    let need = match sys::io::file::direct_alignment(file) {
        Some(alignment) if alignment.offset == 0 => {
            return Err(WorkError::Unsupported(
                "this file system has no O_DIRECT for this file".to_owned(),
            ));
        }
        Some(alignment) => u64::from(alignment.offset),
        None => smallest_block(found, file)?,
    };
    if job.block_bytes.is_multiple_of(need) {
        Ok(())
    } else {
        Err(WorkError::Unsupported(format!(
            "O_DIRECT needs blocks of a multiple of {need} bytes here, and {} is none",
            job.block_bytes
        )))
    }
}

/// The smallest block where the kernel does not say: that of the device, or a sector; a larger one of the device below
/// a file shows in the first operation.
fn smallest_block(found: &TestFile, file: &File) -> Result<u64, WorkError> {
    let failed = |error: io::Error| WorkError::failed("ask about", found.path.display(), error);
    if file
        .metadata()
        .map_err(failed)?
        .file_type()
        .is_block_device()
    {
        let number = sys::block::device::number_of(file).map_err(failed)?;
        let told =
            number.and_then(|number| sys::block::device::logical_block(&Tree::real(), number).ok());
        return Ok(told.unwrap_or(512));
    }
    let space = sys::probe::file_system(&sys::io::file::handle_path(file)).map_err(failed)?;
    Ok(space.block_bytes.clamp(1, 512))
}
