//! `fs.durable`: what it costs that what was written survives a power cut: files as a mail server writes them, a log as
//! a database writes it, and several writers of one log, each by itself or as a group.
//!
//! Writers are threads of one process. In a group one of those that wait syncs for all of them: a sync that begins when
//! a record is written covers it. That is what databases call group commit; without it the kernel's journal still takes
//! syncs together that come at the same time.

use super::ops::{self, Name};
use crate::storage::Fill;
use crate::storage::space::{limits, of_file};
use crate::storage::{mean, p50, p99, p999};
use crate::sysbench::{Events, Threads, Timing, events_per_s};
use engine::recorder::Recorder;
use engine::workload::{BadValue, Body, Finish, Place, WorkError, Workload, Writes};
use model::digest::Digest;
use model::headline::{Headline, Topic};
use model::job::Redundancy;
use model::latency::LAT;
use model::num::approx;
use model::params::Params;
use model::plan::{Settle, Shape};
use model::spec::{Fold, How, MetricClass, MetricDef, Nature, ParamDef, ParamKind, Spec, TestDef};
use model::units::{Nanos, Unit};
use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use sys::folder::{Folder, How as Open, sync, write};
use sys::loops::failure::Failure;

/// The workload.
pub(crate) static DURABLE: Durable = Durable;

/// Writes that are on the disk before the next one begins.
#[derive(Debug)]
pub(crate) struct Durable;

static SPEC: Spec = Spec {
    name: "fs.durable",
    version: 1,
    nature: Nature::FileSystem,
    title: "writes through the page cache that are synced one by one, or by a group",
    doc: "One operation writes one message or record of `size` bytes and waits until it is on the disk (fsync).\n\n\
          `mail`: each in a new file, which is made, written, synced and closed, as a mail server's queue takes a \
          message. `log`: each behind the last one in a file of the writer's own, as a database writes its log. \
          `shared`: all writers in one log, each syncs by itself. `group`: the same, and one of the waiting writers \
          syncs for all of them. Copies are threads of one process, the writers. Names and places in logs are used \
          again when a round has written 16 MiB for each copy, or less where there is little room. What it costs to \
          make a file durable is the difference to `create` and `write` of `fs.files-1k`.",
    params: &[
        ParamDef {
            name: "way",
            kind: ParamKind::Choice(&["mail", "log", "shared", "group"]),
            default: "mail",
            doc: "Where messages and records go, and who syncs them.",
        },
        ParamDef {
            name: "size",
            kind: ParamKind::Size,
            default: "4k",
            doc: "Bytes of each; from 1 to 1M.",
        },
    ],
    metrics: &[
        events_per_s(
            MetricClass::Throughput,
            "Messages or records of all copies that were written and synced, over the wall time of the measured part.",
        ),
        mean(
            "lat_ns_mean",
            LAT,
            "Time of one: from before its file is made, or its record written, to the return of the fsync that covers \
             it (of `mail`, of the close behind it).",
        ),
        p50("lat_ns_p50", LAT),
        p99("lat_ns_p99", LAT),
        p999("lat_ns_p999", LAT),
        MetricDef::rate(
            "records_per_sync",
            Unit::Number,
            MetricClass::System,
            How::Reported(Fold::Mean),
            "With `group`: records over the syncs that covered them, the warm-up included.",
        ),
    ],
    tests: &[
        TestDef::new(
            "fs.durable-mail",
            "a new file of 4 KiB each time, written and synced",
            &[],
        ),
        TestDef::new(
            "fs.durable-log",
            "4 KiB behind a log each time, synced",
            &[("way", "log")],
        ),
        TestDef::new(
            "fs.durable-shared",
            "4 KiB behind one log of all writers, each syncs",
            &[("way", "shared")],
        ),
        TestDef::new(
            "fs.durable-group",
            "4 KiB behind one log of all writers, one syncs for all that wait",
            &[("way", "group")],
        ),
    ],
    simulated: false,
    on_disk: true,
};

/// The largest message.
const BYTES_MAX: u64 = 1 << 20;
/// What a writer writes before it begins anew.
const SPAN: u64 = 16 << 20;
/// The fewest messages that this must be.
const TURNS_MIN: u64 = 16;

/// Who syncs what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Mail,
    Log,
    Shared,
    Group,
}

impl Way {
    fn of(params: &Params) -> Self {
        match params.text("way") {
            "log" => Self::Log,
            "shared" => Self::Shared,
            "group" => Self::Group,
            _ => Self::Mail,
        }
    }
}

impl Workload for Durable {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn shape(&self, _: &Params) -> Shape {
        Shape {
            warmup: Nanos::from_millis(200),
            measure: Nanos::from_millis(1500),
            settle: Settle::Sync,
            threads: true,
            ..Shape::DEFAULT
        }
    }

    fn check_params(&self, params: &Params) -> Result<(), BadValue> {
        if (1..=BYTES_MAX).contains(&params.size("size").0) {
            return Ok(());
        }
        let expected = format!("from 1 to {BYTES_MAX} bytes");
        Err(BadValue::new("size", expected))
    }

    fn metrics(&self, params: &Params) -> Vec<&'static MetricDef> {
        let is_group = Way::of(params) == Way::Group;
        let metrics = SPEC.metrics.iter();
        metrics
            .filter(|metric| is_group || metric.quantity != "records_per_sync")
            .collect()
    }

    fn headline(&self, params: &Params) -> Option<Headline> {
        let words = match Way::of(params) {
            Way::Mail => ["mail", "メール"],
            Way::Log => ["log", "ログ"],
            Way::Shared => return None,
            Way::Group => ["group commit", "グループコミット"],
        };
        Some(Headline::new(Topic::Files, words))
    }

    fn writes(&self, _: &Params) -> Writes {
        Writes {
            throughout: true,
            ..Writes::default()
        }
    }

    fn prepare(&self, params: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        self.check_params(params)?;
        let (way, size) = (Way::of(params), params.size("size").0);
        let turns = turns(size, place)?;
        let path = place.dir.clone();
        let open = || {
            let opened = Folder::open(&path);
            opened.map_err(|failure| crate::os::failed(&failure, path.display()))
        };
        let log = Arc::new(Log::new(&open()?, &path, u64::from(place.copies) * turns)?);
        let mut data = vec![0; usize::try_from(size).unwrap_or(usize::MAX)];
        Redundancy::default().fill(place.seed, 0, &mut data);
        let mut writers = Vec::new();
        for copy in 0..place.copies.max(1) {
            writers.push(Writer::new(
                (open()?, path.clone(), copy),
                way,
                data.clone(),
                turns,
                Arc::clone(&log),
            )?);
        }
        writers.reverse();
        let make = |_| writers.pop().expect("there are as many as copies");
        Ok(Box::new(Writing {
            threads: Threads::start(place, make, Timing::Own)?,
            in_memory: sys::probe::file_system(&place.dir)
                .ok()
                .and_then(sys::probe::FileSystem::in_memory),
            log,
            way,
            size,
        }))
    }
}

/// How many messages a writer writes before it begins anew.
fn turns(size: u64, place: &Place) -> Result<u64, WorkError> {
    let dir = &place.dir;
    let limits = limits(dir)?;
    let inodes = limits.free_inodes();
    let copies = u64::from(place.copies.max(1));
    let each = of_file(size);
    let by_space = limits.room() / each / copies;
    let by_inodes = inodes.map_or(u64::MAX, |free| free / 2 / copies);
    let turns = (SPAN / size.next_multiple_of(4096))
        .min(by_space)
        .min(by_inodes);
    if turns >= TURNS_MIN {
        return Ok(turns);
    }
    let inodes = inodes.map_or(String::new(), |free| format!("; {free} inodes are free"));
    Err(WorkError::Unsupported(format!(
        "there is room for {turns} messages of each writer, and {TURNS_MIN} are needed: {}{inodes}",
        limits.rule()
    )))
}

/// A log that all writers share.
struct Log {
    file: File,
    /// The number of the next record.
    next: AtomicU64,
    /// Records before it begins anew.
    turns: u64,
    group: Mutex<Group>,
    over: Condvar,
    syncs: AtomicU64,
}

/// What the members of a group know of each other.
#[derive(Debug, Default)]
struct Group {
    /// Syncs that have begun, and those that have ended.
    begun: u64,
    ended: u64,
    failed: Option<i32>,
}

const LOG: &CStr = c"log";

impl Log {
    fn new(folder: &Folder, path: &std::path::Path, turns: u64) -> Result<Self, WorkError> {
        let file = folder.file(LOG, Open::CREATE);
        Ok(Self {
            file: file.map_err(|failure| ops::failed(&failure, path, LOG))?,
            next: AtomicU64::new(0),
            turns,
            group: Mutex::default(),
            over: Condvar::new(),
            syncs: AtomicU64::new(0),
        })
    }

    /// Writes a record behind the last one.
    fn append(&self, data: &[u8]) -> Result<(), Failure> {
        let number = self.next.fetch_add(1, Ordering::Relaxed) % self.turns;
        write(&self.file, data, number * data.len() as u64)
    }

    /// Returns when a sync is over that began after this was called: one that another writer began, or one's own.
    fn commit(&self) -> Result<(), Failure> {
        let mut group = self.group.lock().unwrap_or_else(PoisonError::into_inner);
        let covers = group.begun + 1;
        while group.ended < covers {
            if let Some(number) = group.failed {
                return Err(Failure {
                    operation: "fsync",
                    done: 0,
                    error: io::Error::from_raw_os_error(number),
                });
            }
            if group.begun > group.ended {
                let waited = self.over.wait(group);
                group = waited.unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            group.begun += 1;
            drop(group);
            let done = sync(&self.file);
            self.syncs.fetch_add(1, Ordering::Relaxed);
            group = self.group.lock().unwrap_or_else(PoisonError::into_inner);
            match done {
                Ok(()) => group.ended = group.begun,
                Err(failure) => {
                    group.failed = Some(failure.error.raw_os_error().unwrap_or(0));
                    group.begun = group.ended;
                }
            }
            self.over.notify_all();
        }
        Ok(())
    }
}

/// One writer.
struct Writer {
    folder: Folder,
    path: PathBuf,
    way: Way,
    name: Name,
    /// A log of its own.
    own: Option<File>,
    log: Arc<Log>,
    data: Vec<u8>,
    turns: u64,
    done: u64,
}

impl Writer {
    fn new(
        (folder, path, copy): (Folder, PathBuf, u32),
        way: Way,
        data: Vec<u8>,
        turns: u64,
        log: Arc<Log>,
    ) -> Result<Self, WorkError> {
        let mut name = Name::new(&format!("w{copy}-"));
        let own = if way == Way::Log {
            let name = name.of(0);
            let made = folder.file(name, Open::CREATE);
            Some(made.map_err(|failure| ops::failed(&failure, &path, name))?)
        } else {
            None
        };
        Ok(Self {
            folder,
            path,
            way,
            name,
            own,
            log,
            data,
            turns,
            done: 0,
        })
    }

    /// A message in a file of its own. One that has the name goes first.
    fn mail(&mut self) -> Result<(), Failure> {
        let name = self.name.of(self.done % self.turns);
        if self.done >= self.turns {
            self.folder.unlink(name)?;
        }
        let file = self.folder.file(name, Open::CREATE)?;
        write(&file, &self.data, 0)?;
        sync(&file)
    }

    fn record(&self) -> Result<(), Failure> {
        if let Some(own) = &self.own {
            let at = self.done % self.turns * self.data.len() as u64;
            write(own, &self.data, at)?;
            sync(own)
        } else {
            self.log.append(&self.data)?;
            if self.way == Way::Group {
                self.log.commit()
            } else {
                sync(&self.log.file)
            }
        }
    }
}

impl Events for Writer {
    fn event(&mut self) -> Result<(), Failure> {
        match self.way {
            Way::Mail => self.mail()?,
            Way::Log | Way::Shared | Way::Group => self.record()?,
        }
        self.done += 1;
        Ok(())
    }

    fn object(&self) -> String {
        let name = match self.way {
            Way::Mail => self.name.clone().of(self.done % self.turns).to_owned(),
            Way::Log => self.name.clone().of(0).to_owned(),
            Way::Shared | Way::Group => LOG.to_owned(),
        };
        let path = self.path.join(name.to_string_lossy().as_ref());
        let no_inodes = matches!(sys::probe::free_inodes(&self.path), Ok(Some(0)));
        let why = if no_inodes {
            " (no inodes are left)"
        } else {
            ""
        };
        format!("{}{why}", path.display())
    }
}

struct Writing {
    threads: Threads<Writer>,
    in_memory: Option<&'static str>,
    log: Arc<Log>,
    way: Way,
    size: u64,
}

impl Body for Writing {
    fn batch(&mut self, ops: u64, _: &mut Recorder) -> Result<u64, WorkError> {
        self.threads.batch(ops)
    }

    fn measured_part_begins(&mut self) {
        self.threads.measured_part_begins();
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        self.threads.end()?;
        let done: u64 = self.threads.all().map(|writer| writer.done).sum();
        let mut finish = Finish {
            digest: Digest::EMPTY.word(self.size),
            latencies: self.threads.latencies(),
            ..Finish::default()
        };
        if self.way == Way::Group {
            let syncs = self.log.syncs.load(Ordering::Relaxed);
            let each = approx(done) / approx(syncs.max(1));
            finish.reported.insert("records_per_sync".to_owned(), each);
        }
        if let Some(kind) = self.in_memory {
            finish.notes.push(format!(
                "the files are in memory ({kind}): nothing is on a disk after a sync"
            ));
        }
        self.check(done)?;
        Ok(finish)
    }
}

impl Writing {
    /// As many records as were counted must be there.
    fn check(&self, done: u64) -> Result<(), WorkError> {
        if !matches!(self.way, Way::Shared | Way::Group) {
            return Ok(());
        }
        let expected = done.min(self.log.turns) * self.size;
        match self.log.file.metadata() {
            Ok(found) if found.len() >= expected => Ok(()),
            Ok(found) => Err(WorkError::Wrong(format!(
                "the log has {} bytes, and {expected} were written",
                found.len()
            ))),
            Err(error) => Err(WorkError::failed("stat", "log", error)),
        }
    }
}

#[cfg(test)]
#[path = "durable_tests.rs"]
mod tests;
