//! One thread of the test: takes the next request of all, and does it.

use super::Setting;
use super::files::Named;
use super::rules::{Course, Request};
use crate::fs::aligned::Aligned;
use crate::sysbench::Events;
use model::rng::Rng;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use sys::io::map::Map;
use sys::io::{Aio, Completion, Engine, Kind, Op, Wait};
use sys::loops::failure::Failure;

/// What all threads share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) setting: Setting,
    pub(super) files: Vec<Named>,
    /// The files in memory, where that is the way to them.
    pub(super) maps: Vec<Map>,
    pub(super) course: Mutex<Course>,
}

/// What a thread has done since it began, on lines of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Counts {
    pub(super) reads: AtomicU64,
    pub(super) writes: AtomicU64,
    pub(super) syncs: AtomicU64,
    /// Of them at the end of the test, which are no events.
    pub(super) last_syncs: AtomicU64,
}

/// Nobody else writes it.
fn add(count: &AtomicU64) {
    count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

/// How a thread reads and writes.
pub(super) enum Way {
    /// One call, and it is done.
    Calls(Aligned),
    /// Handed to the kernel, and reaped when no more can be.
    Queue(Box<Queue>),
    /// Copied from and to memory.
    Maps(Aligned),
}

/// Requests that the kernel has.
pub(super) struct Queue {
    aio: Aio,
    /// Slots that are free.
    free: Vec<u32>,
    slots: usize,
    done: Vec<Completion>,
    block: u32,
}

impl Queue {
    pub(super) fn new(mut aio: Aio, block: u32, rng: &mut Rng) -> Self {
        let slots = aio.slots();
        for slot in 0..slots {
            for word in aio.buffer(slot).chunks_exact_mut(8) {
                word.copy_from_slice(&rng.next().to_le_bytes());
            }
        }
        Self {
            free: (0..slots).collect(),
            slots: slots as usize,
            done: vec![Completion::default(); slots as usize],
            aio,
            block,
        }
    }

    /// Hands over one request; where no more may be under way, waits for at least one.
    fn start(&mut self, kind: Kind, file: u32, offset: u64) -> io::Result<()> {
        if let Some(slot) = self.free.pop() {
            let op = Op {
                kind,
                file,
                offset,
                len: self.block,
                at: 0,
                priority: 0,
            };
            self.aio.prepare(slot, op);
            self.aio.submit()?;
        }
        if self.free.is_empty() {
            self.reap()?;
        }
        Ok(())
    }

    fn reap(&mut self) -> io::Result<()> {
        let got = self.aio.reap(Wait::One, &mut self.done)?;
        for done in &self.done[..got] {
            self.free.push(done.slot);
            whole(done.bytes()? as usize, self.block as usize)?;
        }
        Ok(())
    }

    fn wait_for_all(&mut self) -> io::Result<()> {
        while self.free.len() < self.slots {
            self.reap()?;
        }
        Ok(())
    }
}

/// Part of a block is an error: files are as long as they were made, and a disk that is full says so next time.
fn whole(moved: usize, block: usize) -> io::Result<()> {
    match moved {
        moved if moved == block => Ok(()),
        _ => Err(io::Error::other(format!(
            "{moved} of {block} bytes were moved"
        ))),
    }
}

pub(super) struct Thread {
    pub(super) shared: Arc<Shared>,
    pub(super) counts: Arc<Counts>,
    pub(super) rng: Rng,
    pub(super) way: Way,
    /// The file of the last request.
    pub(super) file: u32,
}

impl Thread {
    fn read(&mut self, file: u32, offset: u64) -> io::Result<()> {
        match &mut self.way {
            Way::Calls(buffer) => {
                let room = buffer.bytes_mut();
                let moved = self.shared.files[file as usize]
                    .file
                    .read_at(room, offset)?;
                whole(moved, room.len())
            }
            Way::Queue(queue) => queue.start(Kind::Read, file, offset),
            Way::Maps(buffer) => {
                self.shared.maps[file as usize].read(place(offset), buffer.bytes_mut());
                Ok(())
            }
        }
    }

    fn write(&mut self, file: u32, offset: u64) -> io::Result<()> {
        match &mut self.way {
            Way::Calls(buffer) => {
                let target = &self.shared.files[file as usize].file;
                let data = buffer.bytes();
                let moved = target.write_at(data, offset)?;
                if moved < data.len() {
                    // The rest says why.
                    let rest = &data[moved..];
                    whole(target.write_at(rest, offset + moved as u64)?, rest.len())?;
                }
            }
            Way::Queue(queue) => queue.start(Kind::Write, file, offset)?,
            Way::Maps(buffer) => {
                self.shared.maps[file as usize].write(place(offset), buffer.bytes());
            }
        }
        if self.shared.setting.fsync_all {
            self.sync(file)?;
            add(&self.counts.syncs);
        }
        Ok(())
    }

    fn sync(&self, file: u32) -> io::Result<()> {
        if let Some(map) = self.shared.maps.get(file as usize) {
            return map.sync();
        }
        let file = &self.shared.files[file as usize].file;
        if self.shared.setting.data_only {
            file.sync_data()
        } else {
            file.sync_all()
        }
    }
}

fn place(offset: u64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}

fn failed(operation: &'static str) -> impl Fn(io::Error) -> Failure {
    move |error| Failure {
        operation,
        done: 0,
        error,
    }
}

impl Events for Thread {
    fn event(&mut self) -> Result<(), Failure> {
        let setting = &self.shared.setting;
        let request = {
            let course = self.shared.course.lock();
            let mut course = course.unwrap_or_else(PoisonError::into_inner);
            course.next(setting, &mut self.rng)
        };
        match request {
            Request::Read { file, offset } => {
                self.file = file;
                self.read(file, offset).map_err(failed("read"))?;
                add(&self.counts.reads);
            }
            Request::Write { file, offset } => {
                self.file = file;
                self.write(file, offset).map_err(failed("write"))?;
                add(&self.counts.writes);
            }
            Request::Sync { file } => {
                self.file = file;
                self.sync(file).map_err(failed("sync"))?;
                add(&self.counts.syncs);
            }
        }
        Ok(())
    }

    /// Every thread syncs every file, and waits for what the kernel still has of it.
    fn end(&mut self) -> Result<(), Failure> {
        let setting = self.shared.setting;
        if setting.fsync_end && setting.mode.writes() && !setting.fsync_all {
            for file in 0..setting.files {
                self.file = file;
                self.sync(file).map_err(failed("sync"))?;
                add(&self.counts.last_syncs);
            }
        }
        match &mut self.way {
            Way::Queue(queue) => queue
                .wait_for_all()
                .map_err(failed("finish the requests on")),
            Way::Calls(_) | Way::Maps(_) => Ok(()),
        }
    }

    fn object(&self) -> String {
        let named = self.shared.files.get(self.file as usize);
        named.map_or_else(String::new, |named| named.path.display().to_string())
    }
}
