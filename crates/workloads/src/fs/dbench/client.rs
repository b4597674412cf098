//! One client at work: the operations of a trace, one after the other, each as dbench does it.
//!
//! A name that is not there costs what a server pays that serves clients to whom `A` and `a` are one name: it reads the
//! directory for a name that is the same but for that. dbench goes on with the name as it was asked for whatever it
//! finds, and so does this.

use super::trace::{Class, Expected, Op, Place, Trace};
use engine::recorder::{Latencies, Recorder};
use engine::workload::{Body, Finish, WorkError};
use model::num::approx;
use model::order::Keyed as _;
use std::ffi::CString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use sys::clock::Clock;
use sys::loops::file_server::{self as calls, Names, Opening};

/// An open file, and the place of its name.
struct Open {
    file: OwnedFd,
    name: u32,
}

pub(super) struct Client {
    trace: Trace,
    places: Vec<Place>,
    base: CString,
    open: Vec<Option<Open>>,
    /// The next operation.
    at: usize,
    clock: Clock,
    buffer: Vec<u8>,
    names: Names,
    latencies: Vec<Latencies>,
    /// Read and written.
    bytes: u64,
    /// Operations with another result than the trace says, and the first of them.
    odd: u64,
    first_odd: Option<usize>,
}

/// What an operation came to.
enum Done {
    AsExpected,
    Otherwise,
}

impl Client {
    /// A client of `trace`, whose names begin in `base`; what it writes is `data`, again and again.
    pub(super) fn new(
        trace: Trace,
        base: &Path,
        clock: Clock,
        data: impl FnMut() -> u8,
    ) -> Result<Self, WorkError> {
        let places = trace.names.iter().map(|name| Place::new(base, name));
        let places = places.collect::<Result<Vec<_>, _>>()?;
        let length = usize::try_from(trace.longest).unwrap_or(usize::MAX);
        let open = std::iter::repeat_with(|| None).take(usize::from(trace.slots).max(1));
        Ok(Self {
            base: Place::new(base, "")?.directory,
            open: open.collect(),
            at: 0,
            clock,
            buffer: std::iter::repeat_with(data).take(length).collect(),
            names: Names::default(),
            latencies: vec![Latencies::default(); Class::ALL.len()],
            bytes: 0,
            odd: 0,
            first_odd: None,
            places,
            trace,
        })
    }

    fn place(&self, name: u32) -> &Place {
        &self.places[name as usize]
    }

    /// Looks whether a name is there, and where it is not, for one that is the same but for upper and lower case.
    fn resolve(&mut self, name: u32) -> io::Result<bool> {
        let place = &self.places[name as usize];
        match calls::stat(&place.path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let last = place.last.as_slice();
                let same = |found: &[u8]| found.eq_ignore_ascii_case(last);
                match self.names.read(&place.directory, same) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                    _ => Ok(false),
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn opened(&self, slot: u16) -> io::Result<&Open> {
        let open = self.open.get(usize::from(slot)).and_then(Option::as_ref);
        open.ok_or_else(|| io::Error::other("its opening has failed"))
    }

    fn one(&mut self, op: Op) -> io::Result<Done> {
        match op {
            Op::Open {
                name,
                slot,
                how,
                expected,
            } => {
                self.resolve(name)?;
                let path = &self.place(name).path;
                let mut file = calls::open(path, how);
                if file.as_ref().is_err_and(is_directory) {
                    file = calls::open(path, Opening::Directory);
                }
                self.keep(file, name, slot, expected)
            }
            Op::OpenDirectory {
                name,
                slot,
                expected,
            } => {
                self.make_directory(name)?;
                let file = calls::open(&self.place(name).path, Opening::Directory);
                self.keep(file, name, slot, expected)
            }
            Op::Rename { from, to, expected } => {
                self.resolve(from)?;
                self.resolve(to)?;
                let renamed = calls::rename(&self.place(from).path, &self.place(to).path);
                required(renamed, expected)
            }
            Op::Unlink { name, expected } => {
                self.resolve(name)?;
                required(calls::unlink(&self.place(name).path), expected)
            }
            Op::QueryPath { name, expected } => {
                let is_there = self.resolve(name)?;
                Ok(seen(expected.is(is_there)))
            }
            Op::RemoveTree { name } => as_ever(calls::remove_tree(&self.place(name).path)),
            Op::MakeDirectory { name } => as_ever(self.make_directory(name)),
            Op::RemoveDirectory { name } => {
                if !self.resolve(name)? {
                    return Ok(Done::AsExpected);
                }
                as_ever(calls::remove_directory(&self.place(name).path))
            }
            Op::Find { name, most } => as_ever(self.find(name, most)),
            Op::QueryFileSystem => as_ever(calls::stat_file_system(&self.base)),
            Op::Write { .. } | Op::Read { .. } => self.transfer(op),
            other => as_ever(self.on_handle(other)),
        }
    }

    fn make_directory(&mut self, name: u32) -> io::Result<()> {
        if self.resolve(name)? {
            return Ok(());
        }
        calls::make_directory(&self.place(name).path)
    }

    /// What is done to an open file and moves nothing.
    fn on_handle(&mut self, op: Op) -> io::Result<()> {
        match op {
            Op::Close { slot } => {
                self.opened(slot)?;
                let open = self.open[usize::from(slot)].take();
                open.map_or(Ok(()), |open| calls::close(open.file))
            }
            Op::QueryFile { slot } => calls::stat_handle(&self.opened(slot)?.file).map(drop),
            Op::SetFile { slot } => {
                let open = self.opened(slot)?;
                let times = calls::stat_handle(&open.file)?;
                // Other times than it has, so that there is something to set.
                let times = times.map(|seconds| seconds.saturating_sub(2));
                calls::set_times(&self.place(open.name).path, times)
            }
            Op::Lock {
                slot,
                length,
                offset,
            } => calls::lock(&self.opened(slot)?.file, offset, length.into(), true),
            Op::Unlock {
                slot,
                length,
                offset,
            } => calls::lock(&self.opened(slot)?.file, offset, length.into(), false),
            Op::Flush { slot } => calls::sync(&self.opened(slot)?.file),
            _ => Ok(()),
        }
    }

    fn transfer(&mut self, op: Op) -> io::Result<Done> {
        let (moved, is_right) = match op {
            Op::Write {
                slot,
                length,
                offset,
            } => {
                let data = &self.buffer[..length as usize];
                let moved = calls::write_at(&self.opened(slot)?.file, data, offset)?;
                if moved < data.len() {
                    // As on a disk that fills up: the rest says why.
                    let rest = &data[moved..];
                    let after = offset.saturating_add(moved as u64);
                    if calls::write_at(&self.opened(slot)?.file, rest, after)? < rest.len() {
                        return Err(io::ErrorKind::WriteZero.into());
                    }
                }
                (data.len(), true)
            }
            Op::Read {
                slot,
                length,
                offset,
                there,
            } => {
                let open = self.open.get(usize::from(slot)).and_then(Option::as_ref);
                let open = open.ok_or_else(|| io::Error::other("its opening has failed"))?;
                let room = &mut self.buffer[..length as usize];
                let moved = calls::read_at(&open.file, room, offset)?;
                (moved, moved == there as usize)
            }
            _ => (0, true),
        };
        self.bytes += moved as u64;
        Ok(seen(is_right))
    }

    /// Looks for the names that fit; without a pattern the look at the name itself is all.
    fn find(&mut self, name: u32, most: u32) -> io::Result<()> {
        self.resolve(name)?;
        let place = &self.places[name as usize];
        if !place.is_pattern {
            return Ok(());
        }
        let mut found = 0;
        let read = self.names.read(&place.directory, |name| {
            found += u32::from(fits(&place.last, name));
            found >= most
        });
        match read {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Keeps what was opened as it was expected to be; without it, what comes later has nothing to work on.
    fn keep(
        &mut self,
        file: io::Result<OwnedFd>,
        name: u32,
        slot: u16,
        expected: Expected,
    ) -> io::Result<Done> {
        match (file, expected) {
            (Ok(file), Expected::Success) => {
                self.open[usize::from(slot)] = Some(Open { file, name });
                Ok(Done::AsExpected)
            }
            (Ok(file), Expected::Failure) => {
                calls::close(file)?;
                Ok(Done::Otherwise)
            }
            (Err(error), Expected::Success) => Err(error),
            (Err(error), Expected::Failure) => failed_as_expected(error),
        }
    }

    /// What went wrong, with the operation and its object.
    fn failed(&self, op: Op, error: &io::Error) -> WorkError {
        let name = match op {
            Op::Open { name, .. }
            | Op::OpenDirectory { name, .. }
            | Op::Unlink { name, .. }
            | Op::QueryPath { name, .. }
            | Op::RemoveTree { name }
            | Op::MakeDirectory { name }
            | Op::RemoveDirectory { name }
            | Op::Find { name, .. }
            | Op::Rename { from: name, .. } => Some(name),
            Op::QueryFileSystem => None,
            Op::Close { slot }
            | Op::QueryFile { slot }
            | Op::SetFile { slot }
            | Op::Write { slot, .. }
            | Op::Read { slot, .. }
            | Op::Lock { slot, .. }
            | Op::Unlock { slot, .. }
            | Op::Flush { slot } => self.opened(slot).ok().map(|open| open.name),
        };
        let name = name.map_or("the file system", |name| &self.trace.names[name as usize]);
        let line = self.trace.lines.get(self.at);
        let line = line.map_or_else(String::new, |line| format!(" of line {line}"));
        let operation = format!("{}{line} on", op.class().name());
        WorkError::failed(&operation, name, error)
    }

    fn note(&self) -> Option<String> {
        let first = self.first_odd?;
        let line = self.trace.lines.get(first);
        let where_to = line.map_or_else(String::new, |line| {
            format!(", the first of them in line {line}")
        });
        Some(format!(
            "{} operations had another result than the load file expects{where_to}",
            self.odd
        ))
    }
}

/// What is only ever expected to succeed.
fn as_ever(result: io::Result<()>) -> io::Result<Done> {
    result.map(|()| Done::AsExpected)
}

fn seen(as_expected: bool) -> Done {
    if as_expected {
        Done::AsExpected
    } else {
        Done::Otherwise
    }
}

fn is_directory(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::IsADirectory
}

/// The failure of what is not there, and no other: a full disk is never what a trace expects.
fn failed_as_expected(error: io::Error) -> io::Result<Done> {
    use io::ErrorKind::{
        AlreadyExists, DirectoryNotEmpty, IsADirectory, NotADirectory, NotFound, PermissionDenied,
    };
    match error.kind() {
        AlreadyExists | DirectoryNotEmpty | IsADirectory | NotADirectory | NotFound
        | PermissionDenied => Ok(Done::AsExpected),
        _ => Err(error),
    }
}

/// The result of what changes names: anything but the expected one ends the round, because names would differ from
/// there on.
fn required(result: io::Result<()>, expected: Expected) -> io::Result<Done> {
    match (result, expected) {
        (Ok(()), Expected::Success) => Ok(Done::AsExpected),
        (Ok(()), Expected::Failure) => {
            Err(io::Error::other("it was expected to fail, and did not"))
        }
        (Err(error), Expected::Success) => Err(error),
        (Err(error), Expected::Failure) => failed_as_expected(error),
    }
}

/// Whether a name fits a pattern of Windows: `*` and `<` stand for any characters, `?` and `>` for one, `"` for a dot.
fn fits(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut from) = (0, 0);
    // Where to go on when it does not fit: behind the last `*`, one character later in the name.
    let mut again = None;
    while from < name.len() {
        match pattern.get(at) {
            Some(b'*' | b'<') => {
                again = Some((at + 1, from + 1));
                at += 1;
                continue;
            }
            Some(b'?' | b'>') => {}
            Some(b'"') if name[from] == b'.' => {}
            Some(byte) if byte.eq_ignore_ascii_case(&name[from]) => {}
            _ => match again {
                Some((pattern, start)) => {
                    (at, from) = (pattern, start);
                    again = Some((pattern, start + 1));
                    continue;
                }
                None => return false,
            },
        }
        (at, from) = (at + 1, from + 1);
    }
    pattern[at..].iter().all(|byte| matches!(byte, b'*' | b'<'))
}

impl Body for Client {
    fn batch(&mut self, ops: u64, recorder: &mut Recorder) -> Result<u64, WorkError> {
        for _ in 0..ops {
            let op = self.trace.ops[self.at];
            let start = self.clock.tick();
            let done = self.one(op).map_err(|error| self.failed(op, &error))?;
            let nanos = self.clock.nanos(start, self.clock.tick());
            recorder.add(nanos);
            self.latencies[op.class().place()].record(nanos, 1);
            if matches!(done, Done::Otherwise) {
                self.odd += 1;
                self.first_odd.get_or_insert(self.at);
            }
            self.at += 1;
            if self.at == self.trace.ops.len() {
                self.at = 0;
            }
        }
        Ok(ops)
    }

    fn work(&self) -> Option<f64> {
        Some(approx(self.bytes))
    }

    fn records_latency(&self) -> bool {
        true
    }

    fn measured_part_begins(&mut self) {
        for latencies in &mut self.latencies {
            latencies.clear();
        }
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        self.open.clear();
        if self.trace.lines.is_empty()
            && let Some(first) = self.first_odd
        {
            let op = self.trace.ops[first];
            return Err(WorkError::Wrong(format!(
                "{} operations had another result than the trace expects; the first is number {first}: {op:?}",
                self.odd
            )));
        }
        let all = Class::ALL.iter().zip(&self.latencies);
        let some = all.filter(|(_, latencies)| latencies.count() + latencies.too_long() > 0);
        Ok(Finish {
            latencies: some
                .map(|(class, latencies)| (class.name().to_owned(), latencies.clone()))
                .into_map(),
            notes: self.note().into_iter().collect(),
            ..Finish::default()
        })
    }
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
