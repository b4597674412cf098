//! Taking in what is over: whether it did what it was to do, whether its data is right, and how long it took.

use super::checks::Checks;
use super::ledger::Entry;
use super::{Full, Judge, Slot};
use crate::storage::body::index;
use crate::storage::broken::ETIMEDOUT;
use crate::storage::records::{Group, place};
use engine::workload::WorkError;
use std::path::PathBuf;
use sys::io::{Engine, Kind, Wait};

impl<E: Engine> Full<E> {
    /// Takes in what is over, at most `most` or a whole batch where batches are waited for, and says how many
    /// operations that was, syncs not counted.
    #[inline]
    pub(super) fn collect(&mut self, wait: Wait, most: u64) -> Result<u64, WorkError> {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let most = most.max(index(self.limits.taking.least));
        let into = most.min(self.limits.taking.most).min(self.queue.over.len());
        let path = &self.paths[0];
        let count = self
            .engine
            .reap(wait, &mut self.queue.over[..into])
            .map_err(|error| WorkError::failed("wait for operations on", path.display(), error))?;
        let now = if E::SYNCHRONOUS {
            self.clock.tick()
        } else {
            self.clock.tick_unordered()
        };
        self.times.now = now;
        if count == 0 {
            return Ok(0);
        }
        if self.queue.free.is_empty() {
            self.queue.room_since = now;
        }
        if let Some(samples) = &mut self.samples {
            samples.completed(count);
        }
        let mut group: Option<(Group, u64)> = None;
        let mut over = 0;
        for at in 0..count {
            let completion = self.queue.over[at];
            let slot = self.queue.slots[index(completion.slot)];
            let kind = slot.target.kind;
            self.queue.slots[index(completion.slot)].busy = false;
            self.queue.free.push(completion.slot);
            over += u64::from(place(kind) < 3);
            let whole = completion.result == i32::try_from(slot.target.len).unwrap_or(i32::MAX);
            if !(whole || self.passes(completion, &slot)) {
                continue;
            }
            if let Some(checks) = &mut self.checks {
                let data = self.engine.buffer(completion.slot);
                let at = self.writer.at(slot.turn);
                match judge(checks, data, &slot, &self.paths, at) {
                    Ok(dealt_with) => self.searched(&slot, dealt_with),
                    Err(error) => self.breaks(error, None),
                }
            }
            let bytes = u64::from(slot.target.len);
            group = match group {
                Some((mut same, sum))
                    if same.submitted == slot.submitted
                        && same.start == slot.start
                        && same.kind == kind
                        && same.priority == slot.priority =>
                {
                    same.count += 1;
                    Some((same, sum + bytes))
                }
                other => {
                    if let Some((other, sum)) = other {
                        self.record(other, sum, now);
                    }
                    let (start, submitted) = (slot.start, slot.submitted);
                    let one = Group {
                        kind,
                        priority: slot.priority,
                        start,
                        submitted,
                        count: 1,
                    };
                    Some((one, bytes))
                }
            };
        }
        if let Some((last, sum)) = group {
            self.record(last, sum, now);
        }
        self.worked(over, now);
        self.intact()?;
        Ok(over)
    }

    /// Operations that began and were submitted together are over.
    #[inline]
    fn record(&mut self, group: Group, bytes: u64, now: u64) {
        if !self.recording {
            return;
        }
        self.records.record(self.clock, group, now);
        let direction = place(group.kind);
        let Some(sum) = self.bytes.get_mut(direction) else {
            return;
        };
        *sum += bytes;
        self.times.last[direction] = now;
        if let Some(samples) = &mut self.samples {
            samples.add(group.kind, group.count, bytes);
        }
        if let Some(floor) = &mut self.floor {
            floor.add(direction, group.count, bytes);
        }
        if !self.is_watched {
            return;
        }
        if let Some(log) = &mut self.log {
            log.add(group, bytes, now);
        }
        let lat_ns = self.clock.nanos(group.start, now);
        if let Some(search) = &mut self.search {
            search.add(group.start, lat_ns, group.count);
        }
        if let Some(steady) = &mut self.steady {
            steady.add(group.count, bytes, lat_ns);
        }
        if lat_ns > self.max_latency_ns {
            let words = format!(
                "an operation on `{}` took {lat_ns} ns, longer than the {} ns of `max_latency`",
                self.paths[0].display(),
                self.max_latency_ns
            );
            self.breaks(WorkError::Failed(words), Some(ETIMEDOUT));
        }
    }

    /// Operations have ended: pauses are counted from there.
    #[inline]
    fn worked(&mut self, ops: u64, now: u64) {
        if self.pauses.counts_begun {
            return;
        }
        let mut pauses = false;
        if let Some(pace) = &mut self.pace {
            for _ in 0..ops {
                pauses |= pace.ended(now);
            }
        }
        if pauses {
            self.pause_begins(now);
        }
    }
}

/// Notes a write for its check, or checks a read.
#[inline]
fn judge(
    checks: &mut Checks,
    buffer: &mut [u8],
    slot: &Slot,
    paths: &[PathBuf],
    at: usize,
) -> Result<usize, WorkError> {
    let target = slot.target;
    let expected = match slot.judge {
        Judge::Not if target.kind == Kind::Write => {
            checks.wrote(Entry {
                offset: target.offset,
                writing: slot.writing,
                len: target.len,
                file: u16::try_from(target.file).unwrap_or(u16::MAX),
                gone: false,
            });
            return Ok(0);
        }
        Judge::Not => return Ok(0),
        Judge::As(expected) => expected,
    };
    let data = &mut buffer[at..at + index(target.len)];
    checks.judge(data, &paths[index(target.file)], target.offset, expected)
}
