//! The files of a test: made once for all rounds of a run, or anew in each where a test writes them from empty.
//!
//! All that are there once are in a directory of the run's own, with a note that is written last: whoever is killed
//! before leaves files that nobody takes for whole.

use super::Setting;
use crate::storage::space;
use engine::workload::{Place, Told, WorkError};
use model::params::Params;
use model::rng::Rng;
use model::units::Bytes;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use sys::io::file::{self, Access, SyncMode};

/// Files, each as large as the others.
#[derive(Debug)]
pub(super) struct Files {
    /// In their order.
    pub(super) all: Vec<Named>,
    pub(super) each_bytes: u64,
}

/// An open file and its name.
#[derive(Debug)]
pub(super) struct Named {
    pub(super) file: File,
    pub(super) path: PathBuf,
}

/// The key of the ground, and the name of its directory: cases of the same files share them.
pub(super) fn key(params: &Params) -> String {
    let (files, size) = (params.count("files"), params.size("size"));
    format!("fileio-{files}x{}", wanted(files, size))
}

/// Bytes of each file where there is room for all.
fn wanted(files: u64, size: Bytes) -> u64 {
    size.0 / files.max(1)
}

/// What all files together come to at most.
pub(super) fn bytes(params: &Params) -> Bytes {
    let files = params.count("files");
    Bytes(wanted(files, params.size("size")) * files)
}

/// Bytes of each file in `dir`: what was asked for, or less where there is no room for it.
fn each_bytes(params: &Params, dir: &Path) -> Result<u64, WorkError> {
    let disk = space::limits(dir)?;
    let (files, block) = (params.count("files"), params.size("block").0);
    let room = disk.room();
    let each = wanted(files, params.size("size")).min(room / files);
    if each >= block {
        return Ok(each / block * block);
    }
    Err(WorkError::Unsupported(format!(
        "make {files} files of a block of {block} bytes at least: there is room for {room} bytes: {}\nhint: fewer \
         `files`, or `--dir` on another file system",
        disk.rule()
    )))
}

fn path(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("test_file.{number}"))
}

fn directory(params: &Params, place: &Place) -> PathBuf {
    place.run_dir.join(key(params))
}

const NOTE: &str = "complete";

/// Writes the files of the ground.
pub(super) fn make(
    params: &Params,
    place: &Place,
    tell: &mut dyn FnMut(Bytes),
) -> Result<Told, WorkError> {
    remove(params, place)?;
    let dir = directory(params, place);
    let failed = |operation: &str, path: &Path, error: io::Error| {
        WorkError::failed(operation, path.display(), error)
    };
    fs::create_dir(&dir).map_err(|error| failed("make directory", &dir, error))?;
    let each = each_bytes(params, &dir)?;
    let mut rng = Rng::stream(place.seed, 2);
    // Written block by block, as sysbench does: how large the pieces of a file are in the page cache comes from that,
    // and what small writes and reads of them cost.
    let block = usize::try_from(params.size("block").0.max(4096)).unwrap_or(4096);
    let mut piece = vec![0; block.next_multiple_of(8)];
    for word in piece.chunks_exact_mut(8) {
        word.copy_from_slice(&rng.next().to_le_bytes());
    }
    for number in 0..params.count("files") {
        let path = path(&dir, number);
        write(&path, each, &mut piece, &mut rng).map_err(|error| failed("write", &path, error))?;
        tell(Bytes((number + 1) * each));
    }
    let note = dir.join(NOTE);
    fs::write(&note, each.to_string()).map_err(|error| failed("write", &note, error))?;
    Ok(held(params, each))
}

/// Writes and syncs a file of bytes that nothing makes smaller.
fn write(path: &Path, bytes: u64, piece: &mut [u8], rng: &mut Rng) -> io::Result<()> {
    let mut file = file::create(path)?;
    let mut left = usize::try_from(bytes).unwrap_or(usize::MAX);
    while left > 0 {
        // No two pieces alike.
        for block in piece.chunks_mut(4096) {
            block[..8].copy_from_slice(&rng.next().to_le_bytes());
        }
        let now = left.min(piece.len());
        file.write_all(&piece[..now])?;
        left -= now;
    }
    file.sync_all()
}

fn held(params: &Params, each: u64) -> Told {
    Told {
        holds: true,
        bytes: Some(Bytes(each * params.count("files"))),
    }
}

/// Whether the files are there, in whole.
pub(super) fn check(params: &Params, place: &Place) -> Told {
    noted(params, place).map_or_else(Told::default, |each| held(params, each))
}

/// Bytes of each file, as the note says and the files are.
fn noted(params: &Params, place: &Place) -> Option<u64> {
    let dir = directory(params, place);
    let note = fs::read_to_string(dir.join(NOTE)).ok()?;
    let each: u64 = note.parse().ok()?;
    let is_whole = |number| {
        let found = path(&dir, number).symlink_metadata();
        found.is_ok_and(|found| found.is_file() && found.len() >= each)
    };
    (0..params.count("files")).all(is_whole).then_some(each)
}

/// Takes the files away.
pub(super) fn remove(params: &Params, place: &Place) -> Result<(), WorkError> {
    let dir = directory(params, place);
    match fs::remove_dir_all(&dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(WorkError::failed("remove", dir.display(), error))
        }
        _ => Ok(()),
    }
}

/// The files of a round.
pub(super) fn open(params: &Params, setting: &Setting, place: &Place) -> Result<Files, WorkError> {
    let is_new = setting.mode == super::rules::Mode::SeqWrite;
    let (dir, each_bytes) = if is_new {
        (place.dir.clone(), each_bytes(params, &place.dir)?)
    } else {
        let Some(each) = noted(params, place) else {
            let why = "stand on the files of the test: they are not there in whole";
            return Err(WorkError::Failed(why.to_owned()));
        };
        (directory(params, place), each)
    };
    let flags = params.text("flags");
    let access = Access {
        write: true,
        direct: flags == "direct",
        sync: match flags {
            "sync" => SyncMode::All,
            "dsync" => SyncMode::Data,
            _ => SyncMode::None,
        },
    };
    let open = |number| {
        let path = path(&dir, number);
        if is_new {
            file::create(&path)
                .map_err(|error| WorkError::failed("create", path.display(), error))?;
        }
        let file = file::open(&path, access).map_err(|error| {
            let with = if access.direct { " with O_DIRECT" } else { "" };
            let what = format!("open `{}`{with}: {error}", path.display());
            if access.direct && file::refuses_direct(&error) {
                WorkError::Unsupported(what)
            } else {
                WorkError::Failed(what)
            }
        })?;
        Ok(Named { file, path })
    };
    let all = (0..params.count("files")).map(open);
    Ok(Files {
        all: all.collect::<Result<_, WorkError>>()?,
        each_bytes,
    })
}

/// What must be said of files that are smaller than they were asked for.
pub(super) fn note(params: &Params, each_bytes: u64) -> Option<String> {
    let (files, block) = (params.count("files"), params.size("block").0);
    let asked = wanted(files, params.size("size")) / block * block * files;
    let have = each_bytes * files;
    (have < asked).then(|| {
        format!(
            "the files have {} MiB together in place of {} MiB: there is no room for more, and more of them may lie in \
             the page cache",
            have >> 20,
            asked >> 20
        )
    })
}
