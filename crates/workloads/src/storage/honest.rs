//! Whether what is measured can be the storage at all: found out by trying, never by the name of the file system.
//!
//! After a direct read of a part that the page cache did not hold, either the page cache holds it (then `O_DIRECT` was
//! ignored), or the kernel counted bytes fetched from storage (then all is well), or neither: some other cache, or a
//! device that the kernel does not see, answered. What the page cache holds of a file that we neither own nor may write
//! to the kernel keeps to itself: then only what it counted speaks. And the file system is asked whether every part of
//! the file was really written, because reading what was not touches no device.

use super::file::{TestFile, missing};
use engine::workload::WorkError;
use model::job::Job;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use sys::io::counters;
use sys::io::{Completion, Engine, Kind, Op, Psync, Setup, Wait};
use sys::tree::Tree;

/// How much is read to find out.
const PROBE: u32 = 1 << 20;

/// What a reader must know about direct reads of this file, if anything. `file` is opened with `O_DIRECT`.
pub(super) fn direct_reads(
    file: File,
    path: &Path,
    size: u64,
) -> Result<Option<String>, WorkError> {
    let probe = u32::try_from(size / 4096 * 4096)
        .unwrap_or(PROBE)
        .min(PROBE);
    if probe == 0 {
        return Ok(None);
    }
    let failed = |operation: &'static str| {
        move |error: std::io::Error| WorkError::failed(operation, path.display(), error)
    };
    let plain = File::open(path).map_err(failed("open"))?;
    let bytes = usize::try_from(probe).unwrap_or(0);
    // Best effort: what cannot be dropped shows in the next line.
    let _ = sys::io::file::drop_cache(&plain);
    let cached = || sys::io::file::cached_bytes(&plain, bytes).ok();
    let (before, fetched) = (cached(), fetched());
    read(file, probe, bytes).map_err(failed("read"))?;
    let half = bytes / 2;
    let name = file_system(path);
    if before.is_some_and(|cached| cached > half) {
        return Ok(Some(format!(
            "{name} keeps the whole test file in memory: what is measured is no disk"
        )));
    }
    if cached().is_some_and(|cached| cached > half) {
        return Ok(Some(format!(
            "{name} ignores O_DIRECT: reads and writes go through the page cache"
        )));
    }
    let unseen = fetched
        .zip(self::fetched())
        .is_some_and(|(then, now)| now.saturating_sub(then) < u64::from(probe) / 2);
    Ok(unseen.then(|| {
        format!(
            "direct reads on {name} reach no device that the kernel counts: a cache of the file system's own, or a server, \
             answers them"
        )
    }))
}

fn fetched() -> Option<u64> {
    counters::process(&Tree::real())
        .ok()
        .map(|io| io.read_bytes)
}

fn read(file: File, len: u32, slot_bytes: usize) -> std::io::Result<()> {
    let mut engine = Psync::new(Setup {
        files: vec![file],
        slots: 1,
        slot_bytes,
    })?;
    let op = Op {
        kind: Kind::Read,
        file: 0,
        offset: 0,
        len,
        at: 0,
        priority: 0,
    };
    engine.prepare(0, op);
    engine.submit()?;
    let mut over = [Completion::default()];
    engine.reap(Wait::One, &mut over)?;
    over[0].bytes().map(drop)
}

/// The type of the file system that holds `path`, as a reader knows it; the device itself where it is one.
fn file_system(path: &Path) -> String {
    if sys::block::device::number(path).is_ok_and(|number| number.is_some()) {
        return format!("`{}`", path.display());
    }
    let mounts = sys::mounts::read(&Tree::real()).unwrap_or_default();
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    sys::mounts::holding(&mounts, &real.to_string_lossy()).map_or_else(
        || "this file system".to_owned(),
        |mount| format!("the file system ({})", mount.kind),
    )
}

/// What a reader must know about parts of the file that were never written, if there are any. A file system that does
/// not tell is no reason to doubt what was written by ourselves.
pub(super) fn never_written(file: &File, size: u64) -> Option<String> {
    let missing = missing(file, size);
    (missing > 0).then(|| {
        format!(
            "{missing} of {size} bytes of the test file have no data on the device: reading them touches no device"
        )
    })
}

/// Places of a device that are looked at to guess whether it was ever written, and the bytes looked at in each.
const SAMPLES: u64 = 32;
const SAMPLE: usize = 4096;

/// What a reader must know about a device of which nobody says what was written: many devices answer reads of what
/// never was, or was given back, without touching their medium.
pub(super) fn mostly_zeros(found: &TestFile) -> Result<Option<String>, WorkError> {
    let failed = |operation: &'static str| {
        move |error: std::io::Error| WorkError::failed(operation, found.path.display(), error)
    };
    let plain = File::open(&found.path).map_err(failed("open"))?;
    let mut sample = [0; SAMPLE];
    let mut empty = 0;
    let samples = SAMPLES.min(found.size / SAMPLE as u64).max(1);
    for at in 0..samples {
        // The same places every time: a note that comes and goes says nothing.
        let offset = found.start + found.size / samples * at;
        let read = plain.read_at(&mut sample, offset).map_err(failed("read"))?;
        empty += u64::from(sample[..read].iter().all(|&byte| byte == 0));
    }
    // Best effort: 32 pages in a cache do no harm.
    let _ = sys::io::file::drop_cache(&plain);
    Ok((empty > samples / 4).then(|| {
        format!(
            "{empty} of {samples} places looked at on `{}` hold nothing but zeros: what was never written may be read \
             without touching the medium",
            found.path.display()
        )
    }))
}

/// What a look at a file found. A job that lets errors of reads pass is not ended by one before it begins.
pub(super) fn looked(
    job: &Job,
    found: Result<Option<String>, WorkError>,
) -> Result<Option<String>, WorkError> {
    match found {
        Err(error) if job.continue_on.some_read_passes() => Ok(Some(format!(
            "whether reads reach the device could not be found out: {error}"
        ))),
        found => found,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sys::io::file::{Access, open};

    #[test]
    fn holes_are_found_and_a_written_file_has_none() {
        // Not in /tmp, which may be in memory: there is no FIEMAP.
        let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = dir.path().join("data");
        std::fs::write(&path, vec![1; 1 << 20]).unwrap();
        let file = open(&path, Access::default()).unwrap();
        if sys::io::file::extents(&file, 1 << 20).is_err() {
            // Nothing to check where the file system does not tell.
            assert_eq!(never_written(&file, 1 << 20), None);
            return;
        }
        assert_eq!(never_written(&file, 1 << 20), None);
        std::fs::OpenOptions::new()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(3 << 20)
            .unwrap();
        let note = never_written(&file, 3 << 20).unwrap();
        assert!(note.starts_with("2097152 of 3145728 bytes"), "{note}");
    }

    mod root {
        use super::*;

        #[test]
        #[ignore = "root: mounts a tmpfs"]
        #[expect(
            clippy::disallowed_methods,
            reason = "mount(8) is run to its end by the test"
        )]
        fn a_file_system_in_memory_is_found_out_by_trying() {
            let dir = tempfile::tempdir().unwrap();
            let mount = |args: &[&str]| {
                let mut command = std::process::Command::new(args[0]);
                let status = command.args(&args[1..]).arg(dir.path()).status().unwrap();
                assert!(status.success(), "{args:?}");
            };
            mount(&["mount", "-t", "tmpfs", "kurabe-test"]);
            let path = dir.path().join("data");
            std::fs::write(&path, vec![1; 2 << 20]).unwrap();
            let direct = Access {
                direct: true,
                ..Access::default()
            };
            // Before 6.6 tmpfs refused O_DIRECT, which is as good an answer.
            let said = open(&path, direct)
                .ok()
                .map(|file| direct_reads(file, &path, 2 << 20).unwrap().unwrap());
            mount(&["umount"]);
            if let Some(said) = said {
                assert!(
                    said.contains("(tmpfs)") && said.contains("memory"),
                    "{said}"
                );
            }
        }
    }
}
