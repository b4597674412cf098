//! The facts of a job, each under the word and with the value that users of fio know.

use super::super::{
    Arrivals, Batching, Burn, Contents, ContinueOn, FileOrder, Files, IoEngine, Job, LatencyTarget,
    OrderHint, Pacing, Pattern, Process, Rate, Redundancy, Steps, SyncOn, Target, Task, Verify,
    VerifyMethod,
};
use super::{BS, DEPTH, DIRECT, ENGINE, IO_SIZE, RW, SIZE, TARGET};
use crate::digest::Digest;
use crate::pattern::{Blocks, Directions, Distribution};
use crate::units::{Bytes, Nanos};
use std::collections::BTreeMap;
use std::fmt::Display;

/// The facts of one of several jobs, but for where its part of the file begins. A test names every field of a job, with
/// those that are no part of this.
pub(super) fn facts(task: &Task) -> BTreeMap<&'static str, String> {
    let job = &task.job;
    let depth = if job.is_synchronous() { 1 } else { job.depth };
    let mut all = Facts(BTreeMap::new());
    all.set(RW, rw(job));
    all.set(BS, bs(job));
    all.set(ENGINE, engine_word(job.engine, job.is_synchronous()));
    all.set(DEPTH, depth);
    of_order(job, &mut all);
    of_writes(job, &mut all);
    of_pace(job, &mut all);
    of_end(job, &mut all);
    of_engine(job, &mut all);
    of_files(job, &mut all);
    if !task.cpus.is_empty() {
        all.set("cpus_allowed", list(&task.cpus, ","));
    }
    of_process(&task.process, &mut all);
    all.some("rate_share", task.rate_share);
    all.0
}

fn of_process(process: &Process, all: &mut Facts) {
    if process.nice != 0 {
        all.set("nice", process.nice);
    }
    let priority = process.io_priority;
    all.some("prioclass", priority.map(|of| of.class));
    all.some("prio", priority.map(|of| of.level));
    if let Some(memory) = &process.memory {
        let nodes = list(&memory.nodes, ",");
        let mode = match memory.mode {
            super::super::MemoryMode::Local => "local",
            super::super::MemoryMode::Prefer => "prefer",
            super::super::MemoryMode::Bind => "bind",
            super::super::MemoryMode::Interleave => "interleave",
        };
        all.set("numa_mem_policy", format!("{mode}:{nodes}"));
    }
}

/// Where operations go.
fn of_order(job: &Job, all: &mut Facts) {
    let (random, mix) = (job.pattern.random, job.pattern.mix);
    if mix.reads() && mix.writes() {
        all.set("rwmixread", job.read_percent);
    }
    all.switch("norandommap", random && job.repeat_blocks);
    if random && job.distribution != Distribution::Uniform {
        all.set("random_distribution", distribution(&job.distribution));
    }
    let Steps {
        skip_bytes,
        ops_per_offset,
        repeats_offset,
        random_percent,
        align_bytes,
        is_unaligned,
    } = &job.steps;
    if *skip_bytes != 0 {
        all.set("bytes left out between operations", skip_bytes);
    }
    if *ops_per_offset != 1 {
        all.set("operations at a random offset", ops_per_offset);
    }
    if *repeats_offset {
        all.set("rw_sequencer", "identical");
    }
    if random_percent.iter().any(|percent| *percent != 100) {
        all.set("percentage_random", list(random_percent.iter(), ","));
    }
    all.each("blockalign", align_bytes);
    all.switch("bs_unaligned", *is_unaligned);
    if let Some(zones) = &job.zones {
        all.set("zonesize", Bytes(zones.work_bytes).exact());
        all.set("zonerange", Bytes(zones.range_bytes).exact());
        all.set("zoneskip", Bytes(zones.skip_bytes).exact());
    }
}

/// What is written, when it is safe, and how it is checked.
fn of_writes(job: &Job, all: &mut Facts) {
    if job.pattern.mix.writes() {
        match job.sync {
            SyncOn::None => {}
            SyncOn::Dsync => all.set("sync", "dsync"),
            SyncOn::Sync => all.set("sync", "sync"),
        }
        all.number("fsync", job.fsync_every);
        all.number("fdatasync", job.fdatasync_every);
        all.switch("end_fsync", job.fsync_at_end);
        all.switch("fsync_on_close", job.fsync_on_close);
        let Redundancy {
            compress_percent,
            dedupe_percent,
            working_set_percent,
            working_set_seed,
        } = job.redundancy;
        all.number("buffer_compress_percentage", compress_percent);
        all.number("dedupe_percentage", dedupe_percent);
        all.number("dedupe_working_set_percentage", working_set_percent);
        all.some("dedupe_global", working_set_seed);
        if job.engine.has_data() {
            contents(&job.contents, all);
        }
    }
    if let Some(of) = &job.verify {
        verify(of, all);
    }
    let ContinueOn {
        read,
        write,
        verify,
        only,
    } = &job.continue_on;
    let kinds = [(*read, "read"), (*write, "write"), (*verify, "verify")];
    let kinds = kinds.into_iter().filter(|(goes_on, _)| *goes_on);
    let kinds: Vec<&str> = kinds.map(|(_, word)| word).collect();
    if !kinds.is_empty() {
        all.set("continue_on_error", kinds.join(","));
    }
    let numbers = [&only.read, &only.write, &only.verify];
    if numbers.iter().any(|numbers| !numbers.is_empty()) {
        let numbers = numbers.map(|numbers| list(numbers, ":"));
        all.set("ignore_error", numbers.join(","));
    }
}

fn contents(contents: &Contents, all: &mut Facts) {
    match contents {
        // Both are data of which storage can save nothing.
        Contents::Stamped | Contents::Refilled => {}
        Contents::Constant => all.set("scramble_buffers", "no"),
        Contents::Zero => all.set("zero_buffers", YES),
        Contents::Pattern(bytes) => all.set("buffer_pattern", hex(bytes)),
    }
}

/// That other jobs write to the same places says [`super::BESIDE`].
fn verify(of: &Verify, all: &mut Facts) {
    let method = match &of.method {
        VerifyMethod::Meta => "meta",
        VerifyMethod::Crc7 => "crc7",
        VerifyMethod::Crc16 => "crc16",
        VerifyMethod::Crc32 => "crc32",
        VerifyMethod::Crc32c => "crc32c",
        VerifyMethod::Crc64 => "crc64",
        VerifyMethod::Xxhash => "xxhash",
        VerifyMethod::Md5 => "md5",
        VerifyMethod::Sha1 => "sha1",
        VerifyMethod::Sha256 => "sha256",
        VerifyMethod::Sha512 => "sha512",
        VerifyMethod::Pattern(_) => "pattern",
        VerifyMethod::Nothing => "null",
    };
    all.set("verify", method);
    if let VerifyMethod::Pattern(bytes) = &of.method {
        all.set("verify_pattern", hex(bytes));
    }
    if !of.reads_back {
        all.set("do_verify", "no");
    }
    all.switch("verify_only", of.only_checks);
    all.switch("verify_fatal", of.is_fatal);
    all.some("verify_backlog", of.backlog);
    all.some("verify_backlog_batch", of.backlog_batch);
    all.some("verify_interval", of.interval_bytes);
    all.number("verify_offset", of.offset_bytes);
}

/// How fast it goes.
fn of_pace(job: &Job, all: &mut Facts) {
    all.some("rate_iops", job.rate_iops);
    if job.is_rated() {
        match job.arrivals {
            Arrivals::Linear => {}
            Arrivals::Poisson => all.set("rate_process", "poisson"),
            Arrivals::Uniform => all.set("rate_process", "uniform"),
        }
    }
    if job.think > Nanos::ZERO {
        all.set("thinktime", nanos(job.think));
        if job.think_blocks > 1 {
            all.set("thinktime_blocks", job.think_blocks);
        }
    }
    pacing(&job.pacing, all);
    if job.flow.weight > 0 {
        all.set("flow", job.flow.weight);
    }
    if let Some(target) = &job.latency_target {
        let LatencyTarget {
            latency,
            window,
            percentile,
            run,
        } = target;
        all.set("latency_target", nanos(*latency));
        all.set("latency_window", nanos(*window));
        all.set("latency_percentile", percentile);
        all.switch("latency_run", *run);
    }
}

fn pacing(pacing: &Pacing, all: &mut Facts) {
    let usual = Pacing::default();
    let rates = |of: fn(&Rate) -> Option<u64>| pacing.rates.map(of);
    all.each("rate", &rates(|rate| rate.bytes_per_s));
    all.each("rate_iops of each direction", &rates(|rate| rate.iops));
    all.each("rate_min", &rates(|rate| rate.min_bytes_per_s));
    all.each("rate_iops_min", &rates(|rate| rate.min_iops));
    if pacing.cycle != usual.cycle {
        all.set("rate_cycle", nanos(pacing.cycle));
    }
    all.switch("rate_ignore_thinktime", pacing.ignores_think);
    if pacing.think_spin != usual.think_spin {
        all.set("thinktime_spin", nanos(pacing.think_spin));
    }
    if pacing.think_counts_begun {
        all.set("thinktime_blocks_type", "issue");
    }
    if pacing.think_iotime != usual.think_iotime {
        all.set("thinktime_iotime", nanos(pacing.think_iotime));
    }
    all.some("max_latency", pacing.max_latency.map(nanos));
}

/// How much is done, where that is something else than all of its region once, or until the time is over.
fn of_end(job: &Job, all: &mut Facts) {
    let end = &job.end;
    let whole = |bytes: u64| {
        // The blocks that fit into each of its files may be a little less than its size.
        let rest = job.size_range().1.saturating_mul(job.files.count.into());
        job.size
            .is_some_and(|size| bytes <= size && size - bytes < rest.max(1))
    };
    if let Some(bytes) = end.bytes.filter(|bytes| !whole(*bytes)) {
        all.set(IO_SIZE, Bytes(bytes).exact());
    }
    all.number("number_ios", end.ops.unwrap_or_default());
    if !end.time_based && end.loops > 1 {
        all.set("loops", end.loops);
    }
}

/// How operations reach the kernel, or what is done in their place.
fn of_engine(job: &Job, all: &mut Facts) {
    let is_ring = job.engine == IoEngine::IoUring;
    all.switch("hipri", job.poll_device);
    all.switch("sqthread_poll", is_ring && job.poll_submissions);
    all.switch("registerfiles", is_ring && job.register_files);
    all.switch("fixedbufs", is_ring && job.register_buffers);
    if !job.is_synchronous() {
        let usual = Batching::default();
        let own = &job.batching;
        all.some("iodepth_batch", own.submit);
        if own.complete_min != usual.complete_min {
            all.set("iodepth_batch_complete_min", own.complete_min);
        }
        all.some("iodepth_batch_complete_max", own.complete_max);
        all.some("iodepth_low", own.low);
        all.switch("serialize_overlap", own.serializes_overlap);
    }
    if let Some(priorities) = &job.priorities {
        all.set("cmdprio", otherwise(priorities));
    }
    let names = &job.names;
    if names.count > 0 {
        all.set("nrfiles", names.count);
        all.set("filesize", Bytes(names.bytes).exact());
        all.switch("statx", names.statx);
    }
    let Burn {
        percent,
        chunk,
        sorts,
    } = job.burn;
    if job.burn != Burn::default() {
        all.set("cpuload", percent);
        all.set("cpuchunks", nanos(chunk));
        all.set("cpumode", if sorts { "qsort" } else { "noop" });
    }
    if let Some(program) = &job.program {
        // Its arguments may say whose machine it is.
        let words = std::iter::once(&program.name).chain(&program.arguments);
        let digest = words.fold(Digest::EMPTY, |all, word| {
            all.bytes(word.as_bytes()).word(0)
        });
        all.set("program", of_digest(digest));
    }
}

/// On how much of what kind of files, and through which cache.
fn of_files(job: &Job, all: &mut Facts) {
    if !job.engine.has_data() {
        return;
    }
    all.set(DIRECT, if job.direct { YES } else { "no" });
    all.set(TARGET, target(job));
    if let Some(size) = job.size.filter(|size| *size > 0) {
        all.set(SIZE, Bytes(size).exact());
    }
    if job.files.count > 1 {
        all.set("nrfiles", job.files.count);
        file_order(&job.files, all);
    }
    let one_size = job.file_sizes.windows(2).all(|pair| pair[0] == pair[1]);
    if let Some((least, most)) = job.file_sizes.iter().min().zip(job.file_sizes.iter().max())
        && !one_size
    {
        let [least, most] = [least, most].map(|bytes| Bytes(*bytes).exact());
        let digest = job.file_sizes.iter();
        let digest = of_digest(digest.fold(Digest::EMPTY, |all, bytes| all.word(*bytes)));
        all.set("filesize", format!("{least} to {most}, {digest}"));
    }
    if !job.direct {
        all.switch("invalidate", job.pattern.mix.reads() && job.invalidate);
        match job.order_hint {
            OrderHint::None => {}
            OrderHint::AsPattern => all.set("fadvise_hint", YES),
            OrderHint::Random => all.set("fadvise_hint", "random"),
            OrderHint::Sequential => all.set("fadvise_hint", "sequential"),
        }
        all.switch("pre_read", job.pre_read);
    }
}

fn target(job: &Job) -> &'static str {
    let mut targets = std::iter::once(&job.target).chain(&job.more_targets);
    let is_device = |target: &Target| matches!(target, Target::Device { .. });
    let first = is_device(&job.target);
    match (first, targets.all(|target| is_device(target) == first)) {
        (true, true) => "a device",
        (false, true) => "a file",
        (_, false) => "files and devices",
    }
}

fn file_order(files: &Files, all: &mut Facts) {
    let word = match &files.order {
        FileOrder::RoundRobin => "roundrobin".to_owned(),
        FileOrder::Sequential => "sequential".to_owned(),
        FileOrder::Random => "random".to_owned(),
        FileOrder::Favours(which) => distribution(which),
    };
    if files.order != FileOrder::RoundRobin || files.ops_per_file != 1 {
        all.set(
            "file_service_type",
            format!("{word}:{}", files.ops_per_file),
        );
    }
}

/// Facts that are being gathered.
struct Facts(BTreeMap<&'static str, String>);

impl Facts {
    fn set(&mut self, name: &'static str, value: impl Display) {
        self.0.insert(name, value.to_string());
    }

    /// What is on.
    fn switch(&mut self, name: &'static str, is_on: bool) {
        if is_on {
            self.set(name, YES);
        }
    }

    /// What is not 0.
    fn number(&mut self, name: &'static str, value: impl Into<u64>) {
        let value: u64 = value.into();
        if value > 0 {
            self.set(name, value);
        }
    }

    /// What is there, if anything is.
    fn some(&mut self, name: &'static str, value: Option<impl Display>) {
        if let Some(value) = value {
            self.set(name, value);
        }
    }

    /// What is there for reads, writes and trims, with commas between.
    fn each(&mut self, name: &'static str, values: &Directions<Option<u64>>) {
        if values.iter().any(Option::is_some) {
            let text = |value: &Option<u64>| value.map_or_else(String::new, |of| of.to_string());
            self.set(name, values.each().map(text).join(","));
        }
    }
}

const YES: &str = "yes";

fn nanos(span: Nanos) -> String {
    format!("{} ns", span.0)
}

fn list(values: impl IntoIterator<Item = impl Display>, between: &str) -> String {
    let texts = values.into_iter().map(|value| value.to_string());
    texts.collect::<Vec<_>>().join(between)
}

fn of_digest(digest: Digest) -> String {
    format!("of digest {:016x}", digest.0)
}

/// What has no short words: whether it is the same, and no more.
fn otherwise(value: &impl std::fmt::Debug) -> String {
    let digest = Digest::EMPTY.bytes(format!("{value:?}").as_bytes());
    format!("set otherwise, {}", of_digest(digest))
}

/// The bytes, as far as they are few.
fn hex(bytes: &[u8]) -> String {
    const SHOWN: usize = 16;
    if bytes.len() > SHOWN {
        return of_digest(Digest::EMPTY.bytes(bytes));
    }
    let digits = bytes.iter().map(|byte| format!("{byte:02x}"));
    format!("0x{}", digits.collect::<String>())
}

fn distribution(of: &Distribution) -> String {
    let with_center = |word: &str, value: f64, center: &Option<f64>| {
        let center = center.map_or_else(String::new, |center| format!(":{center}"));
        format!("{word}:{value}{center}")
    };
    match of {
        Distribution::Uniform => "random".to_owned(),
        Distribution::Zipf { theta, center } => with_center("zipf", *theta, center),
        Distribution::Pareto { power, center } => with_center("pareto", *power, center),
        Distribution::Normal { deviation_percent } => format!("normal:{deviation_percent}"),
        Distribution::Zoned(zones) => {
            let parts = zones.map(|zones| shares(zones));
            format!("zoned:{}", list(parts.iter(), ","))
        }
        Distribution::ZonedAbsolute(zones) => {
            let parts = zones.map(|zones| shares(zones));
            format!("zoned_abs:{}", list(parts.iter(), ","))
        }
    }
}

/// `60/10:40/90`.
fn shares(parts: &[(impl Display, impl Display)]) -> String {
    list(parts.iter().map(|(of, part)| format!("{of}/{part}")), ":")
}

/// The pattern in the words of fio.
fn rw(job: &Job) -> String {
    let words = ["", "rand"].into_iter().flat_map(|order| {
        ["read", "write", "rw", "trim", "trimwrite"].map(|mix| [order, mix].concat())
    });
    let mut words = words.filter(|word| Pattern::from_word(word) == Some(job.pattern));
    words.next().unwrap_or_default()
}

/// The sizes of operations: one, or one for each direction that the job has.
fn bs(job: &Job) -> String {
    let exact = |bytes: &u64| Bytes(*bytes).exact();
    let text = |blocks: &Option<Blocks>| match blocks {
        None => exact(&job.block_bytes),
        Some(Blocks::Fixed(bytes)) => exact(bytes),
        Some(Blocks::Range {
            min_bytes,
            max_bytes,
        }) => format!("{} to {}", exact(min_bytes), exact(max_bytes)),
        Some(Blocks::Split(parts)) => {
            let part = |(bytes, share): &(u64, f64)| format!("{}/{share}", exact(bytes));
            list(parts.iter().map(part), ":")
        }
    };
    let mut all: Vec<String> = job.pattern.mix.used(&job.blocks).map(text).collect();
    all.dedup();
    all.join(", ")
}

/// The engine, as users know it; one that is chosen on the spot by its name where what it is follows from the job.
fn engine_word(engine: IoEngine, is_synchronous: bool) -> &'static str {
    match engine {
        IoEngine::Auto if is_synchronous => "psync",
        IoEngine::Auto => "auto",
        IoEngine::IoUring => "io_uring",
        IoEngine::Libaio => "libaio",
        IoEngine::Psync => "psync",
        IoEngine::Pvsync2 => "pvsync2",
        IoEngine::Mmap => "mmap",
        IoEngine::Ftruncate => "ftruncate",
        IoEngine::Falloc => "falloc",
        IoEngine::Null => "null",
        IoEngine::FileCreate => "filecreate",
        IoEngine::FileStat => "filestat",
        IoEngine::FileDelete => "filedelete",
        IoEngine::DirCreate => "dircreate",
        IoEngine::DirStat => "dirstat",
        IoEngine::DirDelete => "dirdelete",
        IoEngine::Cpu => "cpuio",
        IoEngine::Exec => "exec",
        IoEngine::Defrag => "e4defrag",
        IoEngine::DefragInPlace => "e4defrag, inplace",
    }
}
