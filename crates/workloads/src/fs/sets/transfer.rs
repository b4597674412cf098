//! Reads and writes of files, a part at a time, and what goes from one file to another.
//!
//! A file is opened, gone through and closed. Written in order from its beginning to its end it is full from then on;
//! what is not full is not read. The last part of a file is as long as the file has bytes.

use super::choose::Chosen;
use super::map::{Now, Taken, Wants};
use super::set::words;
use super::stamp::stamp;
use super::thread::{Stepped, Thread, as_asked, as_closed, nothing, take_place};
use engine::workload::WorkError;
use model::fileset::{Blocks, FileIo, FileOperation, FileTask, StopAfter};
use model::num::{approx, round_to_u64};
use model::rng::Rng;
use std::fs::File;
use sys::clock::monotonic;
use sys::folder::{How, read, write};

/// A file that a thread works on.
#[derive(Debug)]
pub(super) struct Opened {
    file: File,
    number: u64,
    /// What it was when it was taken.
    pub(super) was: Now,
    size: u64,
    /// Where the next operation in order begins.
    at: u64,
    /// Where it began to go through the file in order.
    begun_at: u64,
    /// Operations, or bytes, until another file is chosen.
    left: Left,
}

/// What is left of the work on a file.
#[derive(Clone, Copy, Debug)]
enum Left {
    Operations(u64),
    Bytes(u64),
    /// Until its end.
    End,
}

impl Thread {
    /// One read or write.
    pub(super) fn transfer(&mut self) -> Result<Stepped, WorkError> {
        if self.open.is_none()
            && let Some(nothing) = self.open_next()?
        {
            return Ok(nothing);
        }
        let doing = &self.together.tasks[self.number];
        let (task, set) = (&doing.task, &doing.set);
        let Some(opened) = &mut self.open else {
            return Ok(Stepped::None { is_busy: false });
        };
        let rng = &mut self.chooser.rng;
        let percent = task.reads_percent();
        let reads = percent == 100 || (percent > 0 && rng.below(100) < u64::from(percent));
        let (offset, bytes) = opened.next(task, rng);
        let [for_reads, for_writes] = &mut self.buffers;
        let moved = if reads {
            let buffer = for_reads.part_mut(bytes);
            let run = || read(&opened.file, buffer, offset);
            self.meter.time(FileOperation::Read, run)
        } else {
            let buffer = for_writes.part_mut(bytes);
            stamp(buffer, &mut self.stamp);
            let run = || write(&opened.file, buffer, offset);
            self.meter.time(FileOperation::Write, run)
        };
        let nanos = match moved {
            Ok(((), nanos)) => nanos,
            Err(failure) => {
                let path = set.tree.file(opened.number, &mut self.names[0]);
                return Err(words(&failure, set.told(path)));
            }
        };
        self.meter.moved(reads, bytes);
        if opened.did(task, offset, bytes) {
            self.close_it()?;
        }
        Ok(Stepped::Did(nanos))
    }

    /// Opens the next file; what is told where there is none.
    fn open_next(&mut self) -> Result<Option<Stepped>, WorkError> {
        let task = self.task();
        let fills = task.reads_percent() == 0 && task.io == FileIo::Sequential;
        let wants = if fills { Wants::There } else { Wants::Full };
        let (file, was) = match self.take(wants) {
            Chosen::This(file, was) => (file, was),
            other => return Ok(Some(nothing(other))),
        };
        let doing = &self.together.tasks[self.number];
        let (task, set) = (&doing.task, &doing.set);
        let percent = task.reads_percent();
        let how = How {
            write: percent == 0,
            both: percent > 0 && percent < 100,
            ..How::READ
        };
        let how = as_asked(task, how);
        let path = set.tree.file(file, &mut self.names[0]);
        let open = || set.folder.file(path, how);
        match self.meter.time(FileOperation::Open, open) {
            Ok((opened, _)) => {
                let size = set.spec.size_of(file);
                let rng = &mut self.chooser.rng;
                self.open = Some(Opened::new(task, (opened, file, was), size, rng));
                Ok(None)
            }
            Err(failure) => {
                let told = words(&failure, set.told(path));
                set.map.give_back(file, was, was, task.shares_files);
                Err(told)
            }
        }
    }

    /// The work on the open file is over.
    fn close_it(&mut self) -> Result<(), WorkError> {
        let Some(opened) = self.open.take() else {
            return Ok(());
        };
        let is_full = opened.was == Now::Full || (opened.begun_at == 0 && opened.at >= opened.size);
        let (number, was) = (opened.number, opened.was);
        let doing = &self.together.tasks[self.number];
        let (task, set) = (&doing.task, &doing.set);
        let mut now = if is_full { Now::Full } else { was };
        let closed = self.meter.close(task, opened.file);
        let mut result = closed.map(drop).map_err(|failure| {
            let path = set.tree.file(number, &mut self.names[0]);
            words(&failure, set.told(path))
        });
        if task.deletes && result.is_ok() {
            let path = set.tree.file(number, &mut self.names[0]);
            let remove = || set.folder.unlink(path);
            match self.meter.time(FileOperation::Delete, remove) {
                Ok(_) => now = Now::Missing,
                Err(failure) => result = Err(words(&failure, set.told(path))),
            }
        }
        set.map.give_back(number, was, now, task.shares_files);
        if now == Now::Missing {
            set.map.leave(Some(set.tree.directory_of(number)));
        }
        result
    }

    /// Closes and gives back a file that was being worked on when everything ended; that counts no more.
    pub(super) fn put_back(&mut self, opened: Opened) -> Result<(), WorkError> {
        let Opened {
            file, number, was, ..
        } = opened;
        let doing = &self.together.tasks[self.number];
        let (task, set) = (&doing.task, &doing.set);
        let closed = as_closed(task, file);
        set.map.give_back(number, was, was, task.shares_files);
        closed.map_err(|failure| {
            let path = set.tree.file(number, &mut self.names[0]);
            words(&failure, set.told(path))
        })
    }

    /// Copies a file, or gives it another name.
    pub(super) fn copy_or_move(&mut self) -> Result<Stepped, WorkError> {
        let copies = self.task().operation == FileOperation::Copy;
        let wants = if copies { Wants::Full } else { Wants::There };
        let (from, was) = match self.take(wants) {
            Chosen::This(file, was) => (file, was),
            other => return Ok(nothing(other)),
        };
        let Some((to, target_was)) = self.take_target() else {
            let doing = self.doing();
            doing.set.map.give_back(from, was, was, false);
            return Ok(Stepped::None { is_busy: true });
        };
        let begin = monotonic();
        let result = if copies {
            self.copy(from, to)
        } else {
            self.rename(from, to)
        };
        let nanos = monotonic() - begin;
        let doing = &self.together.tasks[self.number];
        let (set, target) = (&doing.set, &doing.target);
        let same = set.spec.size_of(from) == target.spec.size_of(to);
        let arrives = if was == Now::Full && same {
            Now::Full
        } else {
            Now::There
        };
        // A copy that failed has left something.
        let (stays, comes) = match (result.is_ok(), copies) {
            (true, true) => (was, arrives),
            (false, true) => (was, Now::There),
            (true, false) => (Now::Missing, arrives),
            (false, false) => (was, target_was),
        };
        set.map.give_back(from, was, stays, false);
        target.map.give_back(to, target_was, comes, false);
        if stays == Now::Missing {
            self.vacated = from;
            set.map.leave(Some(set.tree.directory_of(from)));
        }
        if comes == Now::Missing {
            target.map.leave(Some(target.tree.directory_of(to)));
        }
        result?;
        if copies {
            self.meter.did(FileOperation::Copy, nanos);
        } else {
            self.meter.did(FileOperation::Move, nanos);
        }
        Ok(Stepped::Did(nanos))
    }

    /// Takes a file that is missing, and where there is none one that is replaced.
    fn take_target(&mut self) -> Option<(u64, Now)> {
        let doing = &self.together.tasks[self.number];
        let target = &doing.target;
        let any = self.chooser.rng.below(target.working);
        let last = self.vacated.min(target.working - 1);
        let likely = std::iter::once(last);
        let all = || (0..target.working).map(|step| (any + step) % target.working);
        let mine = |taken, file| match taken {
            Taken::Mine(was) => Some((file, was)),
            _ => None,
        };
        let missing = || {
            likely
                .chain(all())
                .find_map(|file| mine(take_place(target, file), file))
        };
        let replaced = || {
            let take = |file| target.map.take(file, Wants::There, false);
            all().find_map(|file| mine(take(file), file))
        };
        let may = target.map.may_have(Wants::Missing);
        may.then(missing).flatten().or_else(replaced)
    }

    /// Gives a file the name of another one.
    fn rename(&mut self, from: u64, to: u64) -> Result<(), WorkError> {
        let doing = &self.together.tasks[self.number];
        let (set, target) = (&doing.set, &doing.target);
        let [name, other] = &mut self.names;
        let (old, new) = (set.tree.file(from, name), target.tree.file(to, other));
        let renamed = set.folder.rename(old, &target.folder, new);
        renamed.map_err(|failure| words(&failure, set.told(old)))
    }

    /// Writes the bytes of a file to another one.
    fn copy(&mut self, from: u64, to: u64) -> Result<(), WorkError> {
        let doing = &self.together.tasks[self.number];
        let (set, target, task) = (&doing.set, &doing.target, &doing.task);
        let [name, other] = &mut self.names;
        let (source, new) = (set.tree.file(from, name), target.tree.file(to, other));
        let meter = &mut self.meter;
        let how = as_asked(task, How::READ);
        let at_source = |failure| words(&failure, set.told(source));
        let at_target = |failure| words(&failure, target.told(new));
        let open = || set.folder.file(source, how);
        let (input, _) = meter.time(FileOperation::Open, open).map_err(at_source)?;
        let how = How {
            create: true,
            cut: true,
            ..How::WRITE
        };
        let how = as_asked(task, how);
        let open = || target.folder.file(new, how);
        let (output, _) = meter.time(FileOperation::Create, open).map_err(at_target)?;
        let (size, mut at) = (set.spec.size_of(from), 0);
        while at < size {
            let bytes = draw(&task.transfer, &mut self.chooser.rng).min(size - at);
            let buffer = self.buffers[0].part_mut(bytes);
            let run = || read(&input, buffer, at);
            meter.time(FileOperation::Read, run).map_err(at_source)?;
            let buffer = self.buffers[0].part_mut(bytes);
            let run = || write(&output, buffer, at);
            meter.time(FileOperation::Write, run).map_err(at_target)?;
            meter.moved(true, bytes);
            meter.moved(false, bytes);
            at += bytes;
        }
        meter.close(task, input).map_err(at_source)?;
        meter.close(task, output).map_err(at_target)?;
        Ok(())
    }
}

impl Opened {
    fn new(
        task: &FileTask,
        (file, number, was): (File, u64, Now),
        size: u64,
        rng: &mut Rng,
    ) -> Self {
        let smallest = task.transfer.min_bytes().max(1);
        let begun_at = match task.io {
            FileIo::SequentialInside => {
                let blocks = size / smallest;
                (1 + rng.below(blocks.saturating_sub(1))).min(blocks.saturating_sub(1)) * smallest
            }
            FileIo::Sequential | FileIo::Random => 0,
        };
        let left = match (task.stop_after, task.io) {
            (Some(StopAfter::Operations(count)), _) => Left::Operations(count),
            (Some(StopAfter::Percent(percent)), _) => {
                Left::Bytes(round_to_u64(approx(size) * percent / 100.0).max(1))
            }
            (None, FileIo::Random) => Left::Bytes(size),
            (None, FileIo::Sequential | FileIo::SequentialInside) => Left::End,
        };
        Self {
            file,
            number,
            was,
            size,
            at: begun_at,
            begun_at,
            left,
        }
    }

    /// Where the next operation begins, and how many bytes it moves.
    fn next(&self, task: &FileTask, rng: &mut Rng) -> (u64, u64) {
        let bytes = draw(&task.transfer, rng).min(self.size);
        if task.io == FileIo::Random {
            let places = (self.size / bytes.max(1)).max(1);
            return (rng.below(places) * bytes, bytes);
        }
        (self.at, bytes.min(self.size - self.at))
    }

    /// An operation was done; true where it was the last on this file.
    fn did(&mut self, task: &FileTask, offset: u64, bytes: u64) -> bool {
        let in_order = task.io != FileIo::Random;
        if in_order {
            self.at = offset + bytes;
        }
        let at_end = in_order && self.at >= self.size;
        match &mut self.left {
            Left::Operations(left) => {
                *left = left.saturating_sub(1);
                *left == 0 || at_end
            }
            Left::Bytes(left) => {
                *left = left.saturating_sub(bytes);
                *left == 0 || at_end
            }
            Left::End => at_end,
        }
    }
}

/// The bytes of one operation.
fn draw(transfer: &Blocks, rng: &mut Rng) -> u64 {
    match transfer {
        Blocks::Fixed(bytes) => *bytes,
        Blocks::Range {
            min_bytes,
            max_bytes,
        } => min_bytes * (1 + rng.below(max_bytes / (*min_bytes).max(1))),
        Blocks::Split(parts) => {
            let mut left = rng.unit() * 100.0;
            let part = parts.iter().find(|(_, share)| {
                left -= share;
                left < 0.0
            });
            part.or(parts.last()).map_or(0, |(bytes, _)| *bytes)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::set::Set;
    use super::super::tests;
    use super::super::together::{Doing, Together};
    use super::*;
    use crate::os::testing::place;
    use std::sync::Arc;

    fn opened(task: &FileTask, size: u64) -> Opened {
        let file = File::open("/dev/null").unwrap();
        Opened::new(task, (file, 0, Now::Full), size, &mut Rng::new(1))
    }

    /// Offset and bytes of all operations on one file.
    fn all(task: &FileTask, size: u64) -> Vec<(u64, u64)> {
        let (mut opened, mut rng) = (opened(task, size), Rng::new(7));
        let mut done = Vec::new();
        loop {
            let (offset, bytes) = opened.next(task, &mut rng);
            done.push((offset, bytes));
            assert!(
                bytes > 0 && offset + bytes <= size && done.len() < 100,
                "{done:?}"
            );
            if opened.did(task, offset, bytes) {
                return done;
            }
        }
    }

    #[test]
    fn a_file_is_gone_through_as_the_task_says() {
        let task = |io, stop_after| FileTask {
            io,
            stop_after,
            transfer: Blocks::Fixed(4),
            ..FileTask::default()
        };
        let in_order = all(&task(FileIo::Sequential, None), 10);
        assert_eq!(in_order, [(0, 4), (4, 4), (8, 2)], "the whole file");
        let random = all(&task(FileIo::Random, None), 40);
        assert_eq!(random.len(), 10, "one file's worth");
        assert!(
            random
                .iter()
                .all(|(offset, bytes)| offset % 4 == 0 && *bytes == 4)
        );
        let two = Some(StopAfter::Operations(2));
        assert_eq!(all(&task(FileIo::Sequential, two), 40), [(0, 4), (4, 4)]);
        assert_eq!(all(&task(FileIo::Random, two), 40).len(), 2);
        let half = Some(StopAfter::Percent(50.0));
        assert_eq!(all(&task(FileIo::Random, half), 40).len(), 5);
        assert_eq!(all(&task(FileIo::Sequential, half), 40).len(), 5);
        let inside = all(&task(FileIo::SequentialInside, None), 40);
        assert!(
            inside[0].0 > 0 && inside[0].0.is_multiple_of(4),
            "{inside:?}"
        );
        assert_eq!(inside.last(), Some(&(36, 4)));
        // A file shorter than an operation.
        assert_eq!(all(&task(FileIo::Random, None), 3), [(0, 3)]);
        assert_eq!(all(&task(FileIo::SequentialInside, None), 3), [(0, 3)]);
    }

    #[test]
    fn the_last_file_of_a_thread_is_synced_where_the_task_asks_for_it() {
        let (_dir, place) = place();
        let set = tests::set(1, 1, 2, 4096);
        let set = Arc::new(Set::open(&set, &place).unwrap().0);
        let put_back = |syncs_on_close| {
            let task = FileTask {
                syncs_on_close,
                transfer: Blocks::Fixed(4),
                ..FileTask::default()
            };
            let opened = opened(&task, 4096);
            let doing = Doing::new(&task, &set, &set, 1);
            let together = Arc::new(Together::new(vec![doing]));
            let mut thread = Thread::new(&together, (0, 0), place.clock(), 1);
            thread.put_back(opened).map_err(|why| why.to_string())
        };
        assert_eq!(put_back(false), Ok(()));
        // There is nothing below `/dev/null` that could be waited for.
        let why = put_back(true).unwrap_err();
        assert!(why.starts_with("fsync `"), "{why}");
    }

    #[test]
    fn transfers_have_their_sizes() {
        let mut rng = Rng::new(1);
        let split = Blocks::Split(vec![(4, 75.0), (8, 25.0)]);
        let large = (0..4000).filter(|_| draw(&split, &mut rng) == 8).count();
        assert!(large.abs_diff(1000) < 120, "{large}");
        let range = Blocks::Range {
            min_bytes: 4,
            max_bytes: 16,
        };
        assert!((0..100).all(|_| [4, 8, 12, 16].contains(&draw(&range, &mut rng))));
    }
}
