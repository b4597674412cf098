//! What no job can do: said in words before anything is opened.

use super::{Behind, Contents, End, FileOrder, IoEngine, Job, Mix, Target, Verify, VerifyMethod};
use crate::num::{approx, round_to_usize};
use crate::units::Nanos;

/// What extents are multiples of: the largest block that ext4 has.
const EXTENT: u64 = 4096;

impl Job {
    /// What is wrong with it, where something is.
    pub fn check(&self) -> Result<(), String> {
        for blocks in self.blocks.iter().flatten() {
            blocks.check()?;
        }
        let (smallest, block) = self.size_range();
        if smallest == 0 || block > BLOCK_MAX {
            let odd = if smallest == 0 { smallest } else { block };
            return Err(format!(
                "a block of {odd} bytes is not from 1 to {BLOCK_MAX}"
            ));
        }
        let files = self.files.count.max(1);
        let is_short = |number| {
            self.bytes_of_file(number)
                .is_some_and(|bytes| bytes < smallest)
        };
        if let Some(size) = self.size.filter(|_| (0..files).any(is_short)) {
            return Err(format!(
                "{size} bytes of file hold no block of {smallest} bytes in each of {files} files"
            ));
        }
        if !self.file_sizes.is_empty()
            && (self.file_sizes.len() != files as usize
                || self.size != Some(self.file_sizes.iter().sum()))
        {
            return Err(format!(
                "the sizes of {files} files are not those of all of them"
            ));
        }
        if self.depth == 0 || self.depth > DEPTH_MAX {
            return Err(format!(
                "an iodepth of {} is not from 1 to {DEPTH_MAX}",
                self.depth
            ));
        }
        if self.depth > 1 && self.is_synchronous() {
            return Err(format!(
                "an iodepth of {} needs io_uring or libaio: psync, pvsync2 and mmap do one operation at a time",
                self.depth
            ));
        }
        let buffers = block.saturating_mul(u64::from(self.depth));
        if buffers > BUFFERS_MAX {
            return Err(format!(
                "{} buffers of {block} bytes need more than {BUFFERS_MAX} bytes of memory",
                self.depth
            ));
        }
        self.check_work()?;
        self.check_times()?;
        self.check_verify()
    }

    fn check_work(&self) -> Result<(), String> {
        if self.engine.is_on_names() {
            if self.names.count == 0 {
                return Err("no names are given to work on".to_owned());
            }
            if self.blocks.iter().any(Option::is_some) {
                return Err("operations on names are all alike: they have no sizes".to_owned());
            }
        }
        match self.engine {
            IoEngine::Cpu => return self.check_burn(),
            IoEngine::Exec if self.program.is_none() => {
                return Err("it is not said which program is executed".to_owned());
            }
            IoEngine::Exec => return Ok(()),
            _ => {}
        }
        self.check_lengths()?;
        self.distribution.check()?;
        if let Some(priorities) = &self.priorities {
            priorities.check()?;
            if self.is_synchronous() {
                return Err(
                    "operations have priorities of their own only with io_uring or libaio"
                        .to_owned(),
                );
            }
        }
        if let FileOrder::Favours(distribution) = &self.files.order {
            distribution.check()?;
        }
        let (smallest, block) = self.size_range();
        if let Some(align) = self
            .steps
            .align_bytes
            .iter()
            .flatten()
            .find(|align| **align == 0)
        {
            return Err(format!("offsets are no multiples of {align}"));
        }
        if self.files.count == 0 || self.files.count > FILES_MAX {
            return Err(format!(
                "{} files are not from 1 to {FILES_MAX}",
                self.files.count
            ));
        }
        let further = match self.target {
            Target::TestFile => 0,
            Target::File { .. } | Target::Device { .. } => self.files.count - 1,
        };
        if self.more_targets.len() != further as usize {
            return Err(format!(
                "{} files are asked for, and {} are named",
                self.files.count,
                self.more_targets.len() + 1
            ));
        }
        if let Some(zones) = self.zones
            && (zones.range_bytes < block || zones.work_bytes < smallest)
        {
            return Err(format!(
                "a zone of {} bytes holds no block of {block} bytes",
                zones.range_bytes
            ));
        }
        if self
            .batching
            .complete_max
            .is_some_and(|most| most < self.batching.complete_min)
        {
            return Err("more completions are waited for than are taken back at most".to_owned());
        }
        if matches!(&self.contents, Contents::Pattern(pattern) if pattern.is_empty()) {
            return Err("a pattern of 0 bytes fills nothing".to_owned());
        }
        let can_equal = matches!(self.contents, Contents::Stamped | Contents::Constant);
        if self.redundancy.dedupe_percent > 0 && (!can_equal || self.verify.is_some()) {
            return Err(
                "blocks that equal each other go with no other contents and no checks".to_owned(),
            );
        }
        Ok(())
    }

    fn check_lengths(&self) -> Result<(), String> {
        let (what, of_a_device) = match self.engine {
            IoEngine::Ftruncate => (
                "ftruncate: a length changes",
                "ftruncate: a device keeps its length",
            ),
            engine if engine.moves_extents() => {
                ("extents are moved", "a device has no extents to move")
            }
            _ => return Ok(()),
        };
        if self.pattern.mix != Mix::Write {
            return Err(format!(
                "{what} in the place of writes, and there is nothing else"
            ));
        }
        let mut all = std::iter::once(&self.target).chain(&self.more_targets);
        if all.any(|target| matches!(target, Target::Device { .. })) {
            return Err(of_a_device.to_owned());
        }
        let (least, most) = self.size_range();
        let all = [least, most, self.offset_bytes];
        let is_whole = all.iter().all(|bytes| bytes.is_multiple_of(EXTENT));
        if self.engine.moves_extents() && (!is_whole || self.steps.is_unaligned) {
            return Err(format!(
                "extents are moved in whole blocks of {EXTENT} bytes: sizes and offsets must be multiples of it"
            ));
        }
        Ok(())
    }

    fn check_burn(&self) -> Result<(), String> {
        if self.burn.is_none() || self.burn.chunk == Nanos::ZERO {
            return Err("it is not said for which share of the time a CPU is kept busy".to_owned());
        }
        if self.end.time.is_none() {
            return Err("a job that keeps a CPU busy has no end of its own".to_owned());
        }
        Ok(())
    }

    fn check_times(&self) -> Result<(), String> {
        if self.threads == 0 || self.threads > THREADS_MAX {
            return Err(format!(
                "{} threads are not from 1 to {THREADS_MAX}",
                self.threads
            ));
        }
        let searches = self.latency_target.is_some() || self.steady_state.is_some();
        if self.threads > 1 && searches {
            return Err(
                "the search for a depth and for a steady state is for each thread alone: use processes".to_owned(),
            );
        }
        if let Some(target) = self.latency_target
            && (target.window == Nanos::ZERO || !(0.0..=100.0).contains(&target.percentile))
        {
            return Err("a latency target needs a window, and a share from 0 to 100 %".to_owned());
        }
        if let Some(rule) = self.steady_state
            && (rule.interval == Nanos::ZERO || rule.duration < rule.interval)
        {
            return Err("a steady state needs a duration of several looks".to_owned());
        }
        if self.samples == Some(Nanos::ZERO) {
            return Err("a window of 0 ns has no rate".to_owned());
        }
        let both = |iops: Option<u64>, bytes: Option<u64>| iops.is_some() && bytes.is_some();
        if self
            .pacing
            .rates
            .iter()
            .any(|rate| both(rate.iops, rate.bytes_per_s))
        {
            return Err("a rate is in operations or in bytes".to_owned());
        }
        if self.rate_iops.is_some()
            && self
                .pacing
                .rates
                .iter()
                .any(|rate| rate.iops.or(rate.bytes_per_s).is_some())
        {
            return Err("the job has one rate for all of it, or one for each direction".to_owned());
        }
        Ok(())
    }

    fn check_verify(&self) -> Result<(), String> {
        let Some(how) = &self.verify else {
            return Ok(());
        };
        let (smallest, _) = self.size_range();
        how.check(smallest)?;
        let grain = how.interval_bytes.unwrap_or(1);
        if self
            .grains()
            .iter()
            .any(|bytes| !bytes.is_multiple_of(grain))
        {
            return Err(format!(
                "verify: all sizes must be whole numbers of intervals of {grain} bytes"
            ));
        }
        if self.threads > 1 && self.writes() && how.reads_back {
            return Err(
                "verify: threads that write the same blocks would each miss its own: use jobs with files of their own"
                    .to_owned(),
            );
        }
        if self.steps.is_unaligned {
            return Err("verify: blocks of any size have no headers in known places".to_owned());
        }
        if self.only_checks() && self.pattern.mix.trims() {
            return Err("verify: a job that only checks would trim what it checks".to_owned());
        }
        let moves_data = self.engine.has_data() && !self.engine.is_on_room();
        if matches!(self.pattern.mix, Mix::Trim) || !moves_data {
            return Err("verify: nothing is transferred that could be checked".to_owned());
        }
        if self
            .size
            .is_some_and(|size| self.ledger_room(size) > WRITES_MAX)
        {
            return Err(format!(
                "verify: more than {WRITES_MAX} writes would have to be remembered until their check; use a backlog"
            ));
        }
        Ok(())
    }

    /// How many writes are looked for at a time in a job that only checks; `None` where all of them must be known
    /// first, because later ones may have written over parts of earlier ones.
    pub fn checked_at_once(&self) -> Option<u64> {
        let how = self.verify.as_ref().filter(|how| how.only_checks)?;
        let portion = how.backlog.unwrap_or(CHECKED_AT_ONCE);
        self.writes_coincide().then_some(portion)
    }

    /// Writes that may wait to be checked at the same time, in a job that works on so many bytes of all its files.
    pub fn ledger_room(&self, region: u64) -> usize {
        let (bytes, ops) = self.end.whole(region);
        let bytes = if bytes == u64::MAX { region } else { bytes };
        let ops = (bytes / self.size_range().0.max(1))
            .saturating_add(1)
            .min(ops);
        let backlog = self.verify.as_ref().and_then(|how| {
            if how.only_checks {
                return self.checked_at_once();
            }
            // With a part of the backlog checked at a time the rest stays, and more comes.
            how.backlog.filter(|_| how.backlog_batch.is_none())
        });
        let ops = backlog.map_or(ops, |backlog| ops.min(backlog + u64::from(self.depth)));
        round_to_usize(approx(ops)).saturating_add(self.depth as usize)
    }
}

impl End {
    /// Bytes and operations that are begun before the job ends or is done again; the largest numbers where time alone
    /// ends it. `region` is what a job does that names no bytes.
    pub fn whole(&self, region: u64) -> (u64, u64) {
        let loops = if self.time_based {
            1
        } else {
            self.loops.max(1)
        };
        let times = |amount: u64| amount.saturating_mul(loops);
        // There is no use in counting.
        let endless = self.time_based && self.bytes.is_none() && self.ops.is_none();
        let bytes = if endless {
            u64::MAX
        } else {
            let once = self.bytes.unwrap_or(region);
            match self.behind {
                // Of several loops each is over with the region, and those that follow are whole ones.
                Behind::Ends | Behind::Again if loops > 1 && once > region && region > 0 => {
                    let more = once.div_ceil(region).max(loops);
                    region.saturating_mul(if self.behind == Behind::Again {
                        more
                    } else {
                        loops
                    })
                }
                _ => times(once),
            }
        };
        (bytes, self.ops.map_or(u64::MAX, times))
    }
}

impl VerifyMethod {
    /// The smallest block that can be checked this way, in bytes.
    pub const fn block_min(&self) -> usize {
        match self {
            Self::Pattern(_) | Self::Nothing => 1,
            _ => self.header(),
        }
    }

    /// Bytes before the data of a block: those of every header, and the checksum. 0 where there is none.
    pub const fn header(&self) -> usize {
        let sum = match self {
            Self::Pattern(_) | Self::Nothing => return 0,
            Self::Meta => 0,
            Self::Crc7 => 1,
            Self::Crc16 => 2,
            Self::Crc32 | Self::Crc32c | Self::Xxhash => 4,
            Self::Crc64 => 8,
            Self::Md5 => 16,
            Self::Sha1 => 20,
            Self::Sha256 | Self::Sha512 => 64,
        };
        HEADER + sum
    }
}

impl Verify {
    /// What is wrong with it for blocks from `min` bytes on, where something is.
    fn check(&self, min: u64) -> Result<(), String> {
        let interval = self.interval_bytes.unwrap_or(min);
        let least = self.method.block_min() as u64;
        if matches!(&self.method, VerifyMethod::Pattern(pattern) if pattern.is_empty()) {
            return Err("verify: a pattern of 0 bytes says nothing".to_owned());
        }
        if interval.min(min) < least {
            return Err(format!(
                "verify: a header and its checksum need {least} bytes, and {} are too few",
                interval.min(min)
            ));
        }
        if !min.is_multiple_of(interval) {
            return Err(format!(
                "verify: blocks of {min} bytes are no whole number of intervals of {interval}"
            ));
        }
        let header = self.method.header() as u64;
        if self.offset_bytes > 0
            && (self.offset_bytes < header || self.offset_bytes + header > interval)
        {
            return Err(format!(
                "verify: a header moved by {} bytes must lie behind its first {header} bytes and end within {interval}",
                self.offset_bytes
            ));
        }
        if self.backlog == Some(0) {
            return Err("verify: a backlog of 0 writes is never full".to_owned());
        }
        Ok(())
    }
}

/// The deepest queue: what `io_uring` takes at most (`IORING_MAX_ENTRIES`).
pub const DEPTH_MAX: u32 = 32_768;
/// Bytes that every header of a block begins with: fio's.
pub const HEADER: usize = 40;
/// Files of one job: all of them are open.
const FILES_MAX: u32 = 65_000;
/// Threads of one job.
const THREADS_MAX: u32 = 4096;
/// Writes that a job looks for at a time where it only checks and does not say how many: 2 MiB of memory.
const CHECKED_AT_ONCE: u64 = 1 << 16;
/// Writes that are remembered until they are checked: 3 GiB of memory.
const WRITES_MAX: usize = 1 << 27;
/// The largest block: what fits into the kernel's 31 bits of result, less a page.
const BLOCK_MAX: u64 = 1 << 30;
/// Buffers in all, per copy.
const BUFFERS_MAX: u64 = 4 << 30;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{Batching, Files, LatencyTarget, Rate};

    #[test]
    fn what_contradicts_itself_is_refused_in_words() {
        let check = |change: &dyn Fn(&mut Job), words: &str| {
            let mut job = Job {
                size: Some(1 << 20),
                ..Job::default()
            };
            assert_eq!(job.check(), Ok(()));
            change(&mut job);
            let why = job.check().unwrap_err();
            assert!(why.contains(words), "{why}");
        };
        check(&|job| job.threads = 0, "0 threads");
        check(&|job| job.samples = Some(Nanos::ZERO), "a window of 0 ns");
        check(
            &|job| job.contents = Contents::Pattern(Vec::new()),
            "0 bytes",
        );
        check(
            &|job| {
                job.files = Files {
                    count: 0,
                    ..Files::default()
                };
            },
            "0 files",
        );
        check(
            &|job| {
                job.files.count = 2;
                job.file_sizes = vec![1 << 20, 1];
            },
            "hold no block of 4096 bytes in each of 2 files",
        );
        check(
            &|job| job.file_sizes = vec![1 << 19],
            "the sizes of 1 files",
        );
        check(
            &|job| {
                job.batching = Batching {
                    complete_min: 4,
                    complete_max: Some(2),
                    ..Batching::default()
                };
            },
            "more completions are waited for",
        );
        check(
            &|job| {
                job.pacing.rates.read = Rate {
                    iops: Some(1),
                    bytes_per_s: Some(1),
                    ..Rate::default()
                };
            },
            "in operations or in bytes",
        );
        check(
            &|job| {
                job.latency_target = Some(LatencyTarget {
                    latency: Nanos(1),
                    window: Nanos::ZERO,
                    percentile: 99.0,
                    run: false,
                });
            },
            "needs a window",
        );
        check(
            &|job| {
                job.pattern.mix = Mix::Write;
                job.threads = 2;
                job.verify = Some(Verify::new(VerifyMethod::Crc32c));
            },
            "each miss its own",
        );
        check(
            &|job| {
                job.pattern.mix = Mix::Write;
                job.block_bytes = 32;
                job.verify = Some(Verify::new(VerifyMethod::Crc32c));
            },
            "need 44 bytes",
        );
        check(
            &|job| {
                job.pattern.mix = Mix::Write;
                job.verify = Some(Verify::new(VerifyMethod::Crc32c));
                job.end = End {
                    time_based: false,
                    loops: 1 << 40,
                    ..End::default()
                };
            },
            "use a backlog",
        );
    }

    #[test]
    fn impossible_checks_are_refused() {
        let check = |change: &dyn Fn(&mut Verify), words: &str| {
            let mut how = Verify::new(VerifyMethod::Md5);
            change(&mut how);
            let why = how.check(4096).unwrap_err();
            assert!(why.contains(words), "{why}");
        };
        check(&|how| how.interval_bytes = Some(32), "need 56 bytes");
        check(&|how| how.interval_bytes = Some(1000), "no whole number");
        check(&|how| how.offset_bytes = 20, "behind its first 56");
        check(&|how| how.offset_bytes = 4090, "behind its first 56");
        check(&|how| how.backlog = Some(0), "backlog of 0");
        check(
            &|how| how.method = VerifyMethod::Pattern(Vec::new()),
            "0 bytes",
        );
        assert!(Verify::new(VerifyMethod::Sha256).check(32).is_err());
    }
}
