//! What a job does next: which kind of operation, on which file, where, and how much.

use super::budget::Budget;
use super::passes::Passes;
use super::popular::PopularFile;
use super::sizes::Sizes;
use super::walk::{Ground, Walk};
use crate::storage::body::{Choice, index};
use crate::storage::job::{kinds, of_kind};
use crate::storage::records::place;
use model::job::{Blocks, FileOrder, Job, Mix};
use model::rng::Rng;
use sys::io::Kind;

/// Where an operation goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) kind: Kind,
    pub(super) file: u32,
    pub(super) offset: u64,
    pub(super) len: u32,
}

/// The order of a job's operations.
#[derive(Clone, Debug)]
pub(super) struct Course {
    mix: Choice,
    rng: Rng,
    sizes: [Sizes; 3],
    random_percent: [u8; 3],
    /// For each file one walk for all kinds, or one for each: sequential reads and writes have places of their own.
    walks: Vec<Walk>,
    per_file: usize,
    files: Pick,
    budget: Budget,
    /// Bytes of all files that are used.
    total: u64,
    /// What was given back and is to be written next.
    trimmed: Option<Target>,
    trims_then_writes: bool,
    /// An fsync or fdatasync after every so many writes, and the writes since.
    syncs: [(u64, u64, Kind); 2],
    /// Where files are to be forgotten when they have been gone through, and the one that is.
    passes: Option<Passes>,
    anew: Option<u32>,
    /// Walks in sequence may leave their region before its bytes are done.
    leaves: bool,
    /// Where the regions of files begin, how long they are, and what places in them are multiples of.
    first: u64,
    regions: Vec<u64>,
    grain: u64,
}

/// Which file is next.
#[derive(Clone, Debug)]
struct Pick {
    count: u32,
    order: FileOrder,
    at: u32,
    /// Operations left on it, or bytes where one is done before the next.
    left: u64,
    ops: u64,
    bytes: u64,
    /// Where files are not alike: the bytes of each, and what of them is left until all have been gone through.
    sizes: Vec<u64>,
    rest: Vec<u64>,
    rng: Rng,
    /// Where some come more often than others.
    favourites: Option<PopularFile>,
}

impl Pick {
    #[inline]
    fn next(&mut self) -> u32 {
        if self.count == 1 {
            return 0;
        }
        if self.left == 0 || self.is_through(self.at) {
            self.step();
        }
        self.at
    }

    /// Whether a file has been gone through and others have not.
    #[inline]
    fn is_through(&self, file: u32) -> bool {
        self.rest.get(index(file)).is_some_and(|rest| *rest == 0)
    }

    fn step(&mut self) {
        if self.rest.iter().all(|rest| *rest == 0) {
            self.rest.clone_from(&self.sizes);
        }
        let any = |rng: &mut Rng| u32::try_from(rng.below(u64::from(self.count))).unwrap_or(0);
        self.at = match (&self.order, &mut self.favourites) {
            (FileOrder::RoundRobin | FileOrder::Sequential, _) => (self.at + 1) % self.count,
            (FileOrder::Favours(_), Some(favourites)) => favourites.next(),
            (FileOrder::Random | FileOrder::Favours(_), _) => any(&mut self.rng),
        };
        while self.is_through(self.at) {
            self.at = (self.at + 1) % self.count;
        }
        self.left = match self.order {
            FileOrder::Sequential => self.rest.get(index(self.at)).copied().unwrap_or(self.bytes),
            FileOrder::RoundRobin | FileOrder::Random | FileOrder::Favours(_) => self.ops,
        };
    }

    #[inline]
    fn took(&mut self, len: u64) {
        if let Some(rest) = self.rest.get_mut(index(self.at)) {
            *rest = rest.saturating_sub(len);
        }
        self.left = match self.order {
            FileOrder::Sequential => self.left.saturating_sub(len),
            FileOrder::RoundRobin | FileOrder::Random | FileOrder::Favours(_) => {
                self.left.saturating_sub(1)
            }
        };
    }
}

/// The sizes of each direction's operations.
fn blocks(job: &Job) -> [Blocks; 3] {
    let of = |blocks: &Option<Blocks>| blocks.clone().unwrap_or(Blocks::Fixed(job.block_bytes));
    [
        of(&job.blocks.read),
        of(&job.blocks.write),
        of(&job.blocks.trim),
    ]
}

/// The mean size of a job's operations, in bytes: of those of its first kind where they differ by kind.
pub(super) fn size_mean(job: &Job) -> f64 {
    let blocks = blocks(job);
    let first = kinds(job).first().map_or(0, |kind| place(*kind));
    blocks[first].mean_bytes()
}

impl Course {
    /// For files of which the job uses so many bytes, from `first` on, and which are so long.
    pub(super) fn new(
        job: &Job,
        first: u64,
        sizes_of_files: &[u64],
        lengths: &[u64],
        seed: u64,
    ) -> Self {
        let blocks = blocks(job);
        let kinds = kinds(job);
        let sizes = [0, 1, 2].map(|at| {
            let seed = seed.wrapping_add(at as u64);
            Sizes::new(&blocks[at], job.steps.is_unaligned, seed)
        });
        let align = job.steps.align_bytes;
        let one_walk = job.pattern.random && align.read == align.write;
        let apart = !one_walk && job.pattern.mix == Mix::ReadWrite;
        let per_file = if apart { 3 } else { 1 };
        let of_file = |file: u32| {
            let ground = move |kind: Kind| Ground {
                first,
                bytes: sizes_of_files.get(index(file)).copied().unwrap_or(0),
                sizes: job.size_range(),
                align: *of_kind(&align, kind),
                seed: seed ^ u64::from(file).rotate_left(32),
                file_end: lengths
                    .get(index(file))
                    .copied()
                    .unwrap_or(0)
                    .saturating_sub(first),
            };
            (0..per_file).map(move |at| {
                let kind = if apart { KINDS[at] } else { kinds[0] };
                Walk::new(job, ground(kind))
            })
        };
        let count = job.files.count.max(1);
        let random = job.steps.random_percent;
        let total: u64 = sizes_of_files.iter().sum();
        let leaves = job.leaves_in_sequence();
        let apart = if leaves {
            // A file is done when it is left.
            vec![u64::MAX; sizes_of_files.len()]
        } else if job.file_sizes.is_empty() {
            Vec::new()
        } else {
            sizes_of_files.to_vec()
        };
        let budget = Budget::new(&job.end, total);
        let walks = (0..count).flat_map(|file| std::iter::repeat_n(file, per_file));
        let bytes_of = |file: u32| sizes_of_files.get(index(file)).copied().unwrap_or(0);
        Self {
            passes: Passes::new(job, walks.map(bytes_of)),
            anew: None,
            mix: match kinds {
                [only] => Choice::Always(*only),
                _ if job.pattern.mix == Mix::TrimWrite => Choice::Always(Kind::Trim),
                _ => Choice::ReadsIn((u64::from(job.read_percent) << 32) / 100),
            },
            rng: Rng::stream(seed, 5),
            sizes,
            random_percent: [random.read, random.write, random.trim],
            walks: (0..count).flat_map(of_file).collect(),
            per_file,
            files: Pick {
                count,
                order: job.files.order.clone(),
                favourites: match &job.files.order {
                    FileOrder::Favours(what) => PopularFile::new(what, count, seed),
                    _ => None,
                },
                at: count - 1,
                left: 0,
                ops: job.files.ops_per_file.max(1),
                bytes: sizes_of_files.first().copied().unwrap_or(0),
                rest: apart.clone(),
                sizes: apart,
                rng: Rng::stream(seed, 29),
            },
            budget: if leaves {
                budget.in_loops(&job.end, total)
            } else {
                budget
            },
            leaves,
            first,
            regions: sizes_of_files.to_vec(),
            grain: job.size_range().0.max(1),
            total,
            trimmed: None,
            trims_then_writes: job.pattern.mix == Mix::TrimWrite,
            syncs: [
                (job.fsync_every, 0, Kind::Sync),
                (job.fdatasync_every, 0, Kind::DataSync),
            ],
        }
    }

    /// The same, done in passes of the regions' sizes where only time ends it: what was written is checked after each.
    pub(super) fn in_passes(mut self) -> Self {
        self.budget = self.budget.in_passes_of(self.total);
        self
    }

    /// What is left to do.
    pub(super) const fn budget(&mut self) -> &mut Budget {
        &mut self.budget
    }

    /// Where the region of a file begins, and how long it is.
    pub(super) fn region(&self, file: u32) -> (u64, u64) {
        let bytes = self.regions.get(index(file)).copied().unwrap_or(0);
        (self.first, bytes)
    }

    /// The smallest of its operations, in bytes.
    pub(super) const fn grain(&self) -> u64 {
        self.grain
    }

    /// Whether all of it has begun.
    #[inline]
    pub(super) const fn is_done(&self) -> bool {
        self.budget.is_used_up() && self.trimmed.is_none()
    }

    /// A sync where one is due.
    #[inline]
    pub(super) fn sync(&mut self) -> Option<Target> {
        for (every, since, kind) in &mut self.syncs {
            if *every > 0 && *since >= *every {
                *since = 0;
                return Some(Target {
                    kind: *kind,
                    file: self.files.at % self.files.count,
                    offset: 0,
                    len: 0,
                });
            }
        }
        None
    }

    /// The file of which the last operation begins another time through, told once.
    #[inline]
    pub(super) const fn begins_anew(&mut self) -> Option<u32> {
        self.anew.take()
    }

    /// Which kind comes next, where more than one may.
    #[inline]
    pub(super) fn kind(&mut self) -> Kind {
        match self.mix {
            Choice::Always(kind) => kind,
            Choice::ReadsIn(limit) if self.rng.next() >> 32 < limit => Kind::Read,
            Choice::ReadsIn(_) => Kind::Write,
        }
    }

    /// The next operation of this kind; of the kind that must come next where a block was given back.
    #[inline]
    pub(super) fn next(&mut self, kind: Kind) -> Target {
        let target = match self.trimmed.take() {
            Some(target) => target,
            None => self.draw(kind),
        };
        if target.kind == Kind::Write {
            for (_, since, _) in &mut self.syncs {
                *since += 1;
            }
        }
        target
    }

    #[inline]
    fn draw(&mut self, kind: Kind) -> Target {
        let at = place(kind);
        let bytes = self.sizes[at].next();
        let file = self.files.next();
        let walk = index(file) * self.per_file + if self.per_file > 1 { at } else { 0 };
        let (offset, len) = self.walks[walk].next(kind, bytes, self.random_percent[at]);
        if let Some(passes) = &mut self.passes
            && passes.begins(walk, offset, len)
        {
            self.anew = Some(file);
        }
        self.files.took(len);
        self.budget.take(len);
        if self.leaves && self.walks[walk].has_left() {
            self.leave(file);
        }
        let target = Target {
            kind,
            file,
            offset,
            len: u32::try_from(len).unwrap_or(u32::MAX),
        };
        if self.trims_then_writes {
            self.trimmed = Some(Target {
                kind: Kind::Write,
                ..target
            });
        }
        target
    }

    /// A file is done; when all are, so is this loop.
    fn leave(&mut self, file: u32) {
        if let Some(rest) = self.files.rest.get_mut(index(file)) {
            *rest = 0;
        }
        if self.files.rest.iter().any(|rest| *rest > 0) {
            return;
        }
        self.files.rest.clone_from(&self.files.sizes);
        self.budget.region_ends();
        self.walks.iter_mut().for_each(Walk::restart);
    }
}

const KINDS: [Kind; 3] = [Kind::Read, Kind::Write, Kind::Trim];
