//! What decides the figures of storage jobs: jobs of one definition do the same work, whatever they are called and
//! whichever language described them.
//!
//! No part of it are the files and how they were made ready, the order that a seed gives, how long the work goes on and
//! what is written down of it. Every other field of a job is. Fields that mean nothing for a job, such as the depth of
//! an engine that waits, are left out, because languages have other defaults for them.

use super::{
    Arrivals, Batching, Burn, Contents, IoEngine, Job, OrderHint, Pacing, Redundancy, Steps,
    SyncOn, Task,
};
use crate::digest::Digest;
use crate::params::{ParamValue, Params};
use crate::pattern::{Blocks, Direction, Distribution};
use crate::units::{Bytes, Nanos};
use std::collections::{BTreeMap, BTreeSet};

/// What every description of a job says: without these two jobs cannot be held against each other.
const ALWAYS: [&str; 5] = [RW, BS, ENGINE, DEPTH, COPIES];

const RW: &str = "rw";
const BS: &str = "bs";
const ENGINE: &str = "ioengine";
const DEPTH: &str = "iodepth";
/// How many jobs of the same kind work at the same time.
const COPIES: &str = "copies";
const SIZE: &str = "size";
const DIRECT: &str = "direct";
/// Whether jobs of the same kind work on the same files.
const FILES: &str = "filename";
const BESIDE: &str = "jobs beside it";

/// What decides the figures of one job, or of clones that work at the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// In which directions data goes.
    directions: Vec<Direction>,
    /// Each fact by the word that users know; what a job does not have is absent.
    facts: BTreeMap<&'static str, String>,
    /// What is not known of it.
    unknown: BTreeSet<&'static str>,
    /// Nothing but [`ALWAYS`] is known.
    is_partial: bool,
    /// Jobs of other definitions that work at the same time, where that is known.
    beside: Option<u32>,
}

/// How two definitions stand to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// They are the same as far as both are known; with what only one of them knows.
    Same(Vec<&'static str>),
    /// They differ: the fact, and what either has.
    Differ(Vec<(&'static str, String, String)>),
}

impl Definition {
    /// That of jobs that work at the same time, where it is the same of all; `None` where it is not, or without a job.
    pub fn of(tasks: &[Task]) -> Option<Self> {
        let (first, others) = tasks.split_first()?;
        let alike = facts(first);
        // Clones may begin at other places, one behind the other.
        if !others.iter().all(|task| facts(task) == alike) {
            return None;
        }
        let mut all = alike;
        let job = &first.job;
        let threads = tasks.iter().map(|task| u64::from(task.job.threads.max(1)));
        all.insert(COPIES, threads.sum::<u64>().to_string());
        let has_data = all.contains_key(DIRECT);
        if has_data && job.offset_bytes > 0 {
            all.insert("offset", job.offset_bytes.to_string());
        }
        if has_data && !others.is_empty() {
            let targets = |task: &Task| (task.job.target.clone(), task.job.more_targets.clone());
            let one = others.iter().all(|task| targets(task) == targets(first));
            all.insert(FILES, if one { SHARED } else { "each its own" }.to_owned());
        }
        let unknown = has_data && !all.contains_key(SIZE);
        let mix = job.pattern.mix;
        let has = [mix.reads(), mix.writes(), mix.trims()];
        let directions = Direction::ALL.into_iter().zip(has);
        Some(Self {
            directions: directions
                .filter_map(|(one, has)| has.then_some(one))
                .collect(),
            facts: all,
            unknown: unknown.then_some(SIZE).into_iter().collect(),
            is_partial: false,
            beside: Some(0),
        })
    }

    /// So many of it at the same time, on the same files.
    #[must_use]
    pub fn times(mut self, copies: u32) -> Self {
        let copies = u64::from(copies).saturating_mul(self.copies());
        self.facts.insert(COPIES, copies.to_string());
        if copies > 1 && self.has_data() {
            self.facts.entry(FILES).or_insert_with(|| SHARED.to_owned());
        }
        self
    }

    /// How many jobs work at the same time.
    pub fn copies(&self) -> u64 {
        let copies = self.facts.get(COPIES);
        copies.and_then(|text| text.parse().ok()).unwrap_or(1)
    }

    /// The same where it is not known whether jobs of another kind worked at the same time.
    #[must_use]
    pub fn perhaps_beside_others(mut self) -> Self {
        self.beside = None;
        self
    }

    /// The same where it is not known which of the jobs had the same files.
    #[must_use]
    pub fn without_files(mut self) -> Self {
        if self.facts.remove(FILES).is_some() {
            self.unknown.insert(FILES);
        }
        self
    }

    /// The same beside so many other jobs.
    #[must_use]
    pub const fn beside(mut self, others: u32) -> Self {
        self.beside = Some(others);
        self
    }

    /// The same where the size is not known.
    #[must_use]
    pub fn without_size(mut self) -> Self {
        self.facts.remove(SIZE);
        self.unknown.insert(SIZE);
        self
    }

    /// The same where nothing is known but what every description says.
    #[must_use]
    pub fn partial(mut self) -> Self {
        self.unknown.clear();
        self.facts.retain(|name, _| ALWAYS.contains(name));
        self.is_partial = true;
        self
    }

    /// The only direction; `None` where there are several, or none.
    pub fn only_direction(&self) -> Option<Direction> {
        match self.directions[..] {
            [only] => Some(only),
            _ => None,
        }
    }

    /// What both surely know, as one text: definitions that differ in it are different.
    pub fn always_known(&self) -> String {
        let known = ALWAYS.iter().filter_map(|name| self.facts.get(name));
        known.cloned().collect::<Vec<_>>().join("\0")
    }

    /// How it stands to another one.
    pub fn against(&self, other: &Self) -> Agreement {
        let mut unknown = Vec::new();
        let mut differ = Vec::new();
        let names = self.facts.keys().chain(other.facts.keys());
        let names: BTreeSet<&'static str> = names.copied().collect();
        for name in names {
            if self.knows(name) && other.knows(name) {
                let (here, there) = (self.told(name), other.told(name));
                if here != there {
                    differ.push((name, here, there));
                }
            } else {
                unknown.push(name);
            }
        }
        if let (Some(here), Some(there)) = (self.beside, other.beside)
            && here != there
        {
            differ.push((BESIDE, here.to_string(), there.to_string()));
        }
        if differ.is_empty() {
            Agreement::Same(unknown)
        } else {
            Agreement::Differ(differ)
        }
    }

    /// Whether it says whether the job has this.
    fn knows(&self, name: &str) -> bool {
        !self.unknown.contains(name) && (!self.is_partial || ALWAYS.contains(&name))
    }

    /// Whether data of files is read or written.
    fn has_data(&self) -> bool {
        self.facts.contains_key(DIRECT)
    }

    /// What it says of this: that it is not set, or not known, as well.
    pub fn told(&self, name: &str) -> String {
        let none = if self.knows(name) { NOT_SET } else { NOT_KNOWN };
        let found = self.facts.get(name);
        found.map_or_else(|| none.to_owned(), Clone::clone)
    }

    /// As the parameters of a case: what is not known stands there as such.
    pub fn params(&self) -> Params {
        let not_told = [DIRECT, SIZE].into_iter().filter(|_| self.is_partial);
        let unknown = not_told.chain(self.unknown.iter().copied());
        let unknown = unknown.map(|name| (name, NOT_KNOWN.to_owned()));
        let facts = self.facts.iter().map(|(name, text)| (*name, text.clone()));
        let beside = self.beside.filter(|beside| *beside > 0);
        let beside = beside.map(|beside| (BESIDE, beside.to_string()));
        let all = unknown.chain(facts).chain(beside);
        all.map(|(name, text)| (name.to_owned(), ParamValue::Text(text)))
            .collect()
    }
}

const SHARED: &str = "the same";
const NOT_SET: &str = "not set";
const NOT_KNOWN: &str = "not known";

/// The facts of one of several jobs, but for where its part of the file begins. A test names every field of a job, with
/// those that are no part of this.
fn facts(task: &Task) -> BTreeMap<&'static str, String> {
    let job = &task.job;
    let depth = if job.is_synchronous() { 1 } else { job.depth };
    let mut all = Facts(BTreeMap::new());
    all.put(RW, rw(job));
    all.put(BS, bs(job));
    all.put(ENGINE, engine_word(job));
    all.put(DEPTH, depth.to_string());
    of_order(job, &mut all);
    of_writes(job, &mut all);
    of_pace(job, &mut all);
    of_engine(job, &mut all);
    of_files(job, &mut all);
    all.set("cpus_allowed", &task.cpus)
        .only(!task.cpus.is_empty());
    all.set("process", &task.process)
        .only(!task.process.is_plain());
    all.some("rate_share", task.rate_share.as_ref());
    all.0
}

/// Where operations go.
fn of_order(job: &Job, all: &mut Facts) {
    let (random, mix) = (job.pattern.random, job.pattern.mix);
    all.set("rwmixread", &job.read_percent)
        .only(mix.reads() && mix.writes());
    all.set("norandommap", &job.repeat_blocks)
        .only(random && job.repeat_blocks);
    all.set("random_distribution", &job.distribution)
        .only(random && job.distribution != Distribution::Uniform);
    all.set("steps", &job.steps)
        .only(job.steps != Steps::default());
    all.some("zones", job.zones.as_ref());
}

/// What is written, when it is safe, and how it is checked.
fn of_writes(job: &Job, all: &mut Facts) {
    let writes = job.pattern.mix.writes();
    all.set("sync", &job.sync)
        .only(writes && job.sync != SyncOn::None);
    all.set("fsync", &job.fsync_every)
        .only(writes && job.fsync_every > 0);
    all.set("fdatasync", &job.fdatasync_every)
        .only(writes && job.fdatasync_every > 0);
    all.set("end_fsync", &job.fsync_at_end)
        .only(writes && job.fsync_at_end);
    all.set("fsync_on_close", &job.fsync_on_close)
        .only(writes && job.fsync_on_close);
    all.set("redundancy", &job.redundancy)
        .only(writes && job.redundancy != Redundancy::default());
    // Both are data of which storage can save nothing.
    let is_usual = matches!(job.contents, Contents::Stamped | Contents::Refilled);
    all.set("contents", &job.contents)
        .only(writes && job.engine.has_data() && !is_usual);
    all.some("verify", job.verify.as_ref());
}

/// How fast it goes.
fn of_pace(job: &Job, all: &mut Facts) {
    all.some("rate_iops", job.rate_iops.as_ref());
    all.set("rate_process", &job.arrivals)
        .only(job.is_rated() && job.arrivals != Arrivals::Linear);
    let pauses = job.think > Nanos::ZERO;
    all.set("thinktime", &job.think.0).only(pauses);
    all.set("thinktime_blocks", &job.think_blocks)
        .only(pauses && job.think_blocks > 1);
    all.set("pacing", &job.pacing)
        .only(job.pacing != Pacing::default());
    all.set("flow", &job.flow.weight).only(job.flow.weight > 0);
    all.some("latency_target", job.latency_target.as_ref());
}

/// How operations reach the kernel, or what is done in their place.
fn of_engine(job: &Job, all: &mut Facts) {
    let is_ring = job.engine == IoEngine::IoUring;
    all.set("hipri", &job.poll_device).only(job.poll_device);
    all.set("sqthread_poll", &job.poll_submissions)
        .only(is_ring && job.poll_submissions);
    all.set("registerfiles", &job.register_files)
        .only(is_ring && job.register_files);
    all.set("fixedbufs", &job.register_buffers)
        .only(is_ring && job.register_buffers);
    all.set("batching", &job.batching)
        .only(!job.is_synchronous() && job.batching != Batching::default());
    all.some("priorities", job.priorities.as_ref());
    let names = &job.names;
    all.set("names", &(names.count, names.bytes, names.statx))
        .only(names.count > 0);
    all.set("cpuload", &job.burn)
        .only(job.burn != Burn::default());
    if let Some(program) = &job.program {
        // Its arguments may say whose machine it is.
        let words = std::iter::once(&program.name).chain(&program.arguments);
        let digest = words.fold(Digest::EMPTY, |all, word| {
            all.bytes(word.as_bytes()).word(0)
        });
        all.put("program", format!("of digest {:016x}", digest.0));
    }
}

/// On how much of which files, and through which cache.
fn of_files(job: &Job, all: &mut Facts) {
    let has_data = job.engine.has_data();
    let through_cache = has_data && !job.direct;
    let reads = job.pattern.mix.reads();
    let yes_or_no = if job.direct { "yes" } else { "no" };
    all.put(DIRECT, yes_or_no.to_owned()).only(has_data);
    if let Some(size) = job.size.filter(|size| has_data && *size > 0) {
        all.put(SIZE, Bytes(size).exact());
    }
    all.set("nrfiles", &job.files)
        .only(has_data && job.files.count > 1);
    let one_size = job.file_sizes.windows(2).all(|pair| pair[0] == pair[1]);
    all.set("filesize", &job.file_sizes).only(!one_size);
    all.set("invalidate", &job.invalidate)
        .only(through_cache && reads && job.invalidate);
    all.set("fadvise_hint", &job.order_hint)
        .only(through_cache && job.order_hint != OrderHint::None);
    all.set("pre_read", &job.pre_read)
        .only(through_cache && job.pre_read);
}

/// Facts that are being gathered.
struct Facts(BTreeMap<&'static str, String>);

/// The fact that was put there last.
struct Last<'a> {
    facts: &'a mut Facts,
    name: &'static str,
}

impl Facts {
    fn put(&mut self, name: &'static str, text: String) -> Last<'_> {
        self.0.insert(name, text);
        Last { facts: self, name }
    }

    fn set(&mut self, name: &'static str, value: &dyn std::fmt::Debug) -> Last<'_> {
        self.put(name, format!("{value:?}"))
    }

    /// What is there, if anything is.
    fn some(&mut self, name: &'static str, value: Option<&impl std::fmt::Debug>) {
        if let Some(value) = value {
            self.set(name, value);
        }
    }
}

impl Last<'_> {
    /// Takes it away again where the job has no such thing.
    fn only(self, applies: bool) {
        if !applies {
            self.facts.0.remove(self.name);
        }
    }
}

/// The pattern in the words of fio.
fn rw(job: &Job) -> String {
    let words = ["", "rand"].into_iter().flat_map(|order| {
        ["read", "write", "rw", "trim", "trimwrite"].map(|mix| [order, mix].concat())
    });
    let mut words = words.filter(|word| super::Pattern::from_word(word) == Some(job.pattern));
    words.next().unwrap_or_default()
}

/// The sizes of operations: one, or one for each direction that the job has.
fn bs(job: &Job) -> String {
    let text = |blocks: &Option<Blocks>| match blocks {
        None => Bytes(job.block_bytes).exact(),
        Some(Blocks::Fixed(bytes)) => Bytes(*bytes).exact(),
        Some(blocks) => format!("{blocks:?}"),
    };
    let mut all: Vec<String> = job.pattern.mix.used(&job.blocks).map(text).collect();
    all.dedup();
    all.join(", ")
}

/// The engine, as users know it; one that is chosen on the spot by its name where what it is follows from the job.
fn engine_word(job: &Job) -> String {
    match job.engine {
        IoEngine::Auto if job.is_synchronous() => "psync".to_owned(),
        IoEngine::IoUring => "io_uring".to_owned(),
        engine => format!("{engine:?}").to_ascii_lowercase(),
    }
}

#[cfg(test)]
mod tests;
