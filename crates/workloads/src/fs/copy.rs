//! `fs.copy`: how fast a small file is copied through the page cache, buffer by buffer.

use crate::fs::aligned::Aligned;
use crate::os::{all_or_each, failed};
use crate::unixbench::{COMPAT, Compat, Length, shape};
use engine::recorder::Recorder;
use engine::workload::{BadValue, Body, Finish, Place, WorkError, Workload};
use model::digest::Digest;
use model::headline::{Headline, Topic};
use model::num::approx;
use model::params::Params;
use model::plan::Shape;
use model::spec::{
    Amount, How, MetricClass, MetricDef, Nature, ParamDef, ParamKind, Spec, TestDef, Time,
};
use model::units::{Nanos, Unit};
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use sys::loops::copy;

/// The workload.
pub(crate) static COPY: Copy = Copy;

/// Read from one file, write to another.
#[derive(Debug)]
pub(crate) struct Copy;

static SPEC: Spec = Spec {
    name: "fs.copy",
    version: 2,
    nature: Nature::FileSystem,
    title: "file copy through the page cache",
    doc: "One operation reads `bufsize` bytes of one file and writes them to another; at the end of the first file \
          both go back to their beginnings. Nothing is synced and nothing bypasses the page cache: the file fits into \
          it, and mostly into the CPU's caches, so this measures system calls, the file system's code and memory \
          copies, and hardly the disk, which only sees what the kernel writes back meanwhile.",
    params: &[
        ParamDef {
            name: "bufsize",
            kind: ParamKind::Size,
            default: "1024",
            doc: "Bytes per read and per write, from 1 to 1M.",
        },
        ParamDef {
            name: "blocks",
            kind: ParamKind::Count {
                min: 1,
                max: 64 << 20,
            },
            default: "2000",
            doc: "The file's size in units of 1024 bytes; rounded down to whole buffers, at least one.",
        },
        COMPAT,
    ],
    metrics: &[MetricDef::rate(
        "bytes_per_s",
        Unit::BytesPerSecond,
        MetricClass::Throughput,
        How::Per(Amount::Work, Time::Wall),
        "Bytes copied (read and written once each, counted once), over the wall time from the first read to the \
              return of the last write, the returns to the beginning included.",
    )],
    tests: &[
        TestDef::new(
            "fs.copy-1024",
            "File Copy 1024 bufsize 2000 maxblocks",
            &[("bufsize", "1024"), ("blocks", "2000")],
        ),
        TestDef::new(
            "fs.copy-256",
            "File Copy 256 bufsize 500 maxblocks",
            &[("bufsize", "256"), ("blocks", "500")],
        ),
        TestDef::new(
            "fs.copy-4096",
            "File Copy 4096 bufsize 8000 maxblocks",
            &[("bufsize", "4096"), ("blocks", "8000")],
        ),
    ],
    simulated: false,
    on_disk: true,
};

/// The largest buffer.
const BUFSIZE_MAX: u64 = 1 << 20;

/// The names of the first file and its copy.
const NAMES: [&str; 2] = ["original", "copy"];

/// A step of what is done before the copying begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// sync(2).
    Sync,
    /// Nothing, for so long.
    Pause(Nanos),
    /// Write the first file again and again, for so long; at least once.
    Write(Nanos),
    /// Read it likewise.
    Read(Nanos),
}

/// What versions 5.1.3 and 6 do: they write, read and copy, and settle before each of these. Only the last pause is
/// shorter.
const REHEARSAL: [Step; 14] = {
    use Step::{Pause, Read, Sync, Write};
    const ONE: Nanos = Nanos::from_secs(1);
    const TWO: Nanos = Nanos::from_secs(2);
    [
        Sync,
        Pause(TWO),
        Sync,
        Pause(TWO),
        Write(TWO),
        Sync,
        Pause(TWO),
        Sync,
        Pause(TWO),
        Read(TWO),
        Sync,
        Pause(TWO),
        Sync,
        Pause(ONE),
    ]
};

/// How long `steps` take where syncing takes no time.
fn length(steps: &[Step]) -> Nanos {
    let times = steps.iter().map(|step| match step {
        Step::Sync => 0,
        Step::Pause(time) | Step::Write(time) | Step::Read(time) => time.0,
    });
    Nanos(times.sum())
}

impl Workload for Copy {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn headline(&self, params: &Params) -> Option<Headline> {
        let size = params.size("bufsize").exact();
        let words = [format!("copy by {size}"), format!("{size} ずつコピー")];
        Some(Headline {
            words,
            ..Headline::named(Topic::PageCache, "")
        })
    }

    fn shape(&self, params: &Params) -> Shape {
        let shape = shape(params, 30, Length::Short, Shape::DEFAULT);
        match Compat::of(params) {
            Compat::Off => shape,
            Compat::V513 | Compat::V6 => Shape {
                setup: length(&REHEARSAL),
                ..shape
            },
        }
    }

    fn check_params(&self, params: &Params) -> Result<(), BadValue> {
        if (1..=BUFSIZE_MAX).contains(&params.size("bufsize").0) {
            return Ok(());
        }
        let expected = format!("from 1 to {BUFSIZE_MAX} bytes");
        Err(BadValue::new("bufsize", expected))
    }

    fn prepare(&self, params: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        self.check_params(params)?;
        let compat = Compat::of(params);
        let bufsize = params.size("bufsize").0;
        let buffers = (params.count("blocks") * 1024 / bufsize).max(1);
        let dir = match compat {
            // All copies meet on the same two files, which is what version 5.1.3 is known for.
            Compat::V513 => &place.shared_dir,
            Compat::Off | Compat::V6 => &place.dir,
        };
        let [from, to] = NAMES.map(|name| dir.join(name));
        let mut copier = Copier {
            from: Target::open(from)?,
            to: Target::open(to)?,
            buffer: indices(usize::try_from(bufsize).unwrap_or(usize::MAX)),
            buffers,
            copied: 0,
            shared: compat == Compat::V513,
        };
        match compat {
            Compat::Off => copier.write_and_read_once()?,
            Compat::V513 | Compat::V6 => copier.rehearse(&REHEARSAL, settle)?,
        }
        Ok(Box::new(copier))
    }
}

/// A file and its name, for messages.
struct Target {
    file: File,
    path: PathBuf,
}

impl Target {
    /// Opens it, or makes it. It is not cut to zero: another copy may be at work on it, and it holds the same bytes
    /// in any case.
    fn open(path: PathBuf) -> Result<Self, WorkError> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(|error| WorkError::failed("open", path.display(), error))?;
        Ok(Self { file, path })
    }
}

/// So many bytes, each of them its own index modulo 256. They begin on a cache line, as a C compiler places large
/// static arrays (those of the original are); which line of a page it is makes no difference.
fn indices(length: usize) -> Aligned {
    let mut made = Aligned::new(length);
    let bytes = made.bytes_mut().iter_mut();
    for (byte, value) in bytes.zip((0..=u8::MAX).cycle()) {
        *byte = value;
    }
    made
}

struct Copier {
    from: Target,
    to: Target,
    buffer: Aligned,
    /// Buffers in the first file.
    buffers: u64,
    /// Buffers copied so far.
    copied: u64,
    /// True where other copies write the same files.
    shared: bool,
}

/// A step that is about no file.
fn settle(step: Step) {
    match step {
        Step::Sync => sys::process::sync(),
        Step::Pause(time) => sys::clock::sleep(time.0),
        Step::Write(_) | Step::Read(_) => {}
    }
}

impl Copier {
    fn write_and_read_once(&mut self) -> Result<(), WorkError> {
        self.write_once()?;
        self.read_once()?;
        // What was written here must not be written back while the copy is measured.
        let file = self.from.file.as_fd();
        copy::sync_file_system(file).map_err(|failure| self.failed(&failure))
    }

    /// Does the steps in order. Those that are about no file are left to `settle`.
    fn rehearse(&mut self, steps: &[Step], mut settle: impl FnMut(Step)) -> Result<(), WorkError> {
        for &step in steps {
            match step {
                Step::Sync | Step::Pause(_) => settle(step),
                Step::Write(time) => self.repeat(time, Self::write_once)?,
                Step::Read(time) => self.repeat(time, Self::read_once)?,
            }
        }
        Ok(())
    }

    /// Once, and again until `time` has passed.
    fn repeat(
        &mut self,
        time: Nanos,
        work: fn(&mut Self) -> Result<(), WorkError>,
    ) -> Result<(), WorkError> {
        let end = sys::clock::monotonic() + time.0;
        work(self)?;
        while sys::clock::monotonic() < end {
            work(self)?;
        }
        Ok(())
    }

    fn write_once(&mut self) -> Result<(), WorkError> {
        copy::write(self.from.file.as_fd(), self.buffer.bytes(), self.buffers)
            .map_err(|failure| self.failed(&failure))
    }

    fn read_once(&mut self) -> Result<(), WorkError> {
        let found = copy::read(self.from.file.as_fd(), self.buffer.bytes_mut())
            .map_err(|failure| self.failed(&failure))?;
        if found == self.buffers {
            Ok(())
        } else {
            Err(WorkError::Wrong(format!(
                "`{}` has {found} buffers and not the {} that were written",
                self.from.path.display(),
                self.buffers
            )))
        }
    }

    /// A failed write is the second file's while copying, and the first's before.
    fn failed(&self, failure: &sys::loops::failure::Failure) -> WorkError {
        failed(failure, self.from.path.display())
    }
}

impl Body for Copier {
    fn batch(&mut self, ops: u64, recorder: &mut Recorder) -> Result<u64, WorkError> {
        let (from, to) = (self.from.file.as_fd(), self.to.file.as_fd());
        let buffer = self.buffer.bytes_mut();
        let result = all_or_each(ops, recorder, |ops| {
            copy::copy(from, to, buffer, ops).map(|()| ops)
        });
        match result {
            Ok(done) => {
                self.copied += done;
                Ok(done)
            }
            Err(failure) => {
                let object = if failure.operation == "write" {
                    &self.to
                } else {
                    &self.from
                };
                Err(failed(&failure, object.path.display()))
            }
        }
    }

    fn work_per_op(&self) -> f64 {
        approx(self.buffer.bytes().len() as u64)
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        let full = self.buffers * self.buffer.bytes().len() as u64;
        let least = self.copied.min(self.buffers) * self.buffer.bytes().len() as u64;
        let most = if self.shared { full } else { least };
        let expected = indices(self.buffer.bytes().len());
        let size = check_content(&self.to.path, expected.bytes())?;
        if !(least..=most).contains(&size) {
            return Err(WorkError::Wrong(format!(
                "`{}` has {size} bytes, and {least} were copied",
                self.to.path.display()
            )));
        }
        Ok(Finish {
            digest: Digest::EMPTY.bytes(expected.bytes()),
            ..Finish::default()
        })
    }
}

/// Reads the file anew, compares every buffer with `expected`, and returns how many bytes there are.
fn check_content(path: &Path, expected: &[u8]) -> Result<u64, WorkError> {
    let unreadable = |error| WorkError::failed("read", path.display(), error);
    let mut file = File::open(path).map_err(unreadable)?;
    let mut found = Vec::with_capacity(expected.len());
    let mut size = 0;
    loop {
        found.clear();
        let bytes = file
            .by_ref()
            .take(expected.len() as u64)
            .read_to_end(&mut found)
            .map_err(unreadable)?;
        if bytes == 0 {
            return Ok(size);
        }
        if found != expected {
            return Err(WorkError::Wrong(format!(
                "`{}` does not hold what was copied, at byte {size} or after it",
                path.display()
            )));
        }
        size += bytes as u64;
    }
}

#[cfg(test)]
#[path = "copy_tests.rs"]
mod tests;
