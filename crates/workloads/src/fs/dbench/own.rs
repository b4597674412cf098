//! A trace of our own with the operations, sizes and failures of dbench's, of which nothing is in it.
//!
//! How often each operation comes, how often it fails, how much is moved in all, how many files are open and how large
//! the set is were counted in runs of dbench 4.0 (458,344 operations a loop). Everything else is drawn: office work as
//! sessions. A session opens a file, works with it and closes it; some make a file that is removed soon. Up to 23
//! sessions overlap. Between them a client looks for files that mostly are not there.
//!
//! The trace is the same for every client and round, whatever the seed of the run: figures compare. It ends as it
//! began, so that it can begin anew.

use super::trace::{Expected, Names, Op, Trace};
use model::rng::Rng;
use std::collections::VecDeque;
use sys::loops::file_server::Opening;

/// Sessions of a loop; as many close as open.
const SESSIONS: usize = 58_200;
/// Of them make a file, which is removed later. dbench makes 16,056 and removes 16,000.
const MAKE: usize = 16_000;
/// Of those are renamed.
const RENAMED: usize = 3_355;
/// Opens of what is not there.
const MISSING: usize = 21_030;
/// Questions after names that are there, and that are not.
const QUERIES: [usize; 2] = [47_429, 24_385];
/// Patterns that something fits, and that nothing does.
const FINDS: [usize; 2] = [13_437, 14_328];
const QUERY_FILE_SYSTEM: usize = 13_168;
const QUERY_FILE: usize = 12_585;
const SET_FILE: usize = 6_454;
const FLUSHES: usize = 5_553;
/// As many are given back.
const LOCKS: usize = 258;

/// Lengths of reads and how many there are of each: 124,199 with 1.472 GB. 4 KiB is what clients ask for, and 60 KiB
/// the most that they may.
const READS: [(u32, usize); 10] = [
    (16, 2_800),
    (256, 2_200),
    (512, 1_400),
    (2048, 6_800),
    (4096, 86_348),
    (8192, 5_500),
    (16_384, 2_300),
    (32_768, 460),
    (57_344, 439),
    (61_440, 15_952),
];
/// The same of writes: 39,502 with 1.016 GB. A single byte is how a client makes a file longer.
const WRITES: [(u32, usize); 8] = [
    (1, 8_700),
    (512, 1_150),
    (2048, 2_100),
    (4096, 11_137),
    (8192, 1_352),
    (16_384, 500),
    (49_152, 500),
    (65_536, 14_063),
];
/// Of the writes go to files that were there before: one in so many.
const OVERWRITES: usize = 4;

/// Files that are there all the time, and their sizes together. With those that come and go there are at most 106 files
/// of about 24 MB.
const FILES: usize = 90;
const FILES_BYTES: u64 = 23_000_000;
/// The smallest: the longest transfer fits into each.
const FILE_LEAST: u64 = 65_536;
/// Made files that are closed and not removed yet, at most.
const AGING: usize = 10;
/// Sessions at the same time, at most, and of them such that make a file.
const OPEN_MAX: usize = 23;
const MAKING_MAX: usize = FILES_COME - AGING;
const FILES_COME: usize = 16;
/// Names for made files: many more than are there at the same time.
const DRAFTS: usize = 64;
/// How many sessions begin together: the mean of what is drawn.
const TOGETHER: f64 = 4.0;
/// Directories of the set.
const DIRECTORIES: usize = 8;
/// Names that are asked for and never there.
const MISSES: usize = 200;

/// The seed: changing it, or anything here, makes another version of the test.
const SEED: u64 = 0x6462_656e_6368;

/// The trace, and the files that it needs with their sizes.
#[derive(Debug)]
pub(super) struct Own {
    pub(super) trace: Trace,
    pub(super) directories: Vec<String>,
    pub(super) files: Vec<(String, u64)>,
}

/// Makes it.
pub(super) fn own() -> Own {
    let mut rng = Rng::new(SEED);
    let files = files(&mut rng);
    let mut maker = Maker {
        names: Names::default(),
        ops: Vec::with_capacity(460_000),
        free: (0..OPEN_MAX)
            .rev()
            .filter_map(|slot| u16::try_from(slot).ok())
            .collect(),
        reads: deck(&READS, &mut rng),
        writes: deck(&WRITES, &mut rng),
        aging: VecDeque::new(),
        made: 0,
        files: &files,
        rng,
    };
    maker.make();
    let trace = Trace {
        slots: u16::try_from(OPEN_MAX).unwrap_or(u16::MAX),
        longest: READS
            .iter()
            .chain(&WRITES)
            .map(|kind| kind.0)
            .max()
            .unwrap_or(0),
        ops: maker.ops,
        names: maker.names.done(),
        lines: Vec::new(),
    };
    Own {
        trace,
        directories: (0..DIRECTORIES).map(directory).collect(),
        files,
    }
}

/// As deep as a share of a client is.
fn directory(number: usize) -> String {
    format!("share/client/folder-{number}")
}

/// A file that comes and goes, under its first or its second name.
fn draft(name: &str, number: usize) -> String {
    format!("{}/{name}-{number:03}.tmp", directory(number % DIRECTORIES))
}

fn files(rng: &mut Rng) -> Vec<(String, u64)> {
    let shares: Vec<f64> = (0..FILES).map(|_| rng.exponential()).collect();
    let all: f64 = shares.iter().sum();
    let free = model::num::approx(FILES_BYTES - FILE_LEAST * FILES as u64);
    let size = |share: f64| FILE_LEAST + model::num::round_to_u64(free * share / all);
    let named = shares.iter().zip(0..).map(|(&share, number)| {
        let folder = directory(number % DIRECTORIES);
        (format!("{folder}/document-{number:03}.dat"), size(share))
    });
    named.collect()
}

/// Lengths in a random order.
fn deck(kinds: &[(u32, usize)], rng: &mut Rng) -> Vec<u32> {
    let all = kinds
        .iter()
        .flat_map(|&(length, count)| std::iter::repeat_n(length, count));
    let mut all: Vec<u32> = all.collect();
    rng.shuffle(&mut all);
    all
}

/// What a session does while its file is open, and what is done before it.
#[derive(Clone, Copy, Debug, Default)]
struct Session {
    makes: bool,
    renames: bool,
    reads: u32,
    writes: u32,
    query_file: u32,
    set_file: u32,
    flushes: u32,
    locks: u32,
    missing: u32,
    queries: [u32; 2],
    finds: [u32; 2],
    file_system: u32,
}

/// Deals everything that comes in a loop to its sessions.
fn sessions(rng: &mut Rng) -> Vec<Session> {
    let mut all = vec![Session::default(); SESSIONS];
    for (number, session) in all.iter_mut().take(MAKE).enumerate() {
        session.makes = true;
        session.renames = number < RENAMED;
    }
    rng.shuffle(&mut all);
    let making = |all: &[Session], makes| {
        let places = all.iter().enumerate();
        let places = places.filter(|(_, session)| session.makes == makes);
        places.map(|(place, _)| place).collect::<Vec<usize>>()
    };
    let (makers, others) = (making(&all, true), making(&all, false));
    let everybody: Vec<usize> = (0..SESSIONS).collect();
    let reads = READS.iter().map(|kind| kind.1).sum();
    let writes: usize = WRITES.iter().map(|kind| kind.1).sum();
    let overwrites = writes / OVERWRITES;
    let mut deal = |count: usize, to: &[usize], add: fn(&mut Session)| {
        for _ in 0..count {
            add(&mut all[to[rng.index(to.len())]]);
        }
    };
    deal(reads, &others, |session| session.reads += 1);
    deal(writes - overwrites, &makers, |session| session.writes += 1);
    deal(overwrites, &others, |session| session.writes += 1);
    deal(FLUSHES, &makers, |session| session.flushes += 1);
    deal(LOCKS, &others, |session| session.locks += 1);
    deal(SET_FILE, &makers, |session| session.set_file += 1);
    deal(QUERY_FILE, &everybody, |session| session.query_file += 1);
    deal(MISSING, &everybody, |session| session.missing += 1);
    deal(QUERIES[0], &everybody, |session| session.queries[0] += 1);
    deal(QUERIES[1], &everybody, |session| session.queries[1] += 1);
    deal(FINDS[0], &everybody, |session| session.finds[0] += 1);
    deal(FINDS[1], &everybody, |session| session.finds[1] += 1);
    deal(QUERY_FILE_SYSTEM, &everybody, |session| {
        session.file_system += 1;
    });
    all
}

struct Maker<'a> {
    names: Names,
    ops: Vec<Op>,
    /// Slots that are free.
    free: Vec<u16>,
    /// Lengths to come.
    reads: Vec<u32>,
    writes: Vec<u32>,
    /// Made files that are not removed yet, the oldest first.
    aging: VecDeque<u32>,
    /// How many files were made.
    made: usize,
    files: &'a [(String, u64)],
    rng: Rng,
}

/// A session that is under way.
struct Running {
    slot: u16,
    name: u32,
    /// What it does, in order.
    ops: VecDeque<Op>,
    renames: bool,
    /// The number of the file that it makes.
    draft: Option<usize>,
}

impl Maker<'_> {
    fn make(&mut self) {
        let all = sessions(&mut self.rng);
        let mut rest = all.as_slice();
        while !rest.is_empty() {
            let drawn = model::num::round_to_usize(self.rng.exponential() * TOGETHER);
            let most = (1 + drawn).min(OPEN_MAX).min(rest.len());
            // As many as begin before one too many makes a file.
            let mut making = 0;
            let fit = rest[..most].iter().take_while(|session| {
                making += usize::from(session.makes);
                making <= MAKING_MAX
            });
            let (group, after) = rest.split_at(fit.count());
            self.group(group);
            rest = after;
        }
        while let Some(name) = self.aging.pop_front() {
            self.unlink(name);
        }
    }

    /// Sessions at the same time: their operations in a random order, each session's own in its order.
    fn group(&mut self, sessions: &[Session]) {
        let mut running = Vec::new();
        for session in sessions {
            self.look_around(session);
            running.push(self.begin(session));
        }
        let mut order: Vec<usize> = (0..running.len())
            .flat_map(|place| std::iter::repeat_n(place, running[place].ops.len()))
            .collect();
        self.rng.shuffle(&mut order);
        for place in order {
            self.ops.extend(running[place].ops.pop_front());
        }
        self.rng.shuffle(&mut running);
        for session in running {
            self.end(&session);
        }
    }

    /// What a client asks before it opens a file.
    fn look_around(&mut self, session: &Session) {
        let mut asks = Vec::new();
        for _ in 0..session.missing {
            asks.push(Op::Open {
                name: self.miss(),
                slot: 0,
                how: Opening::Existing,
                expected: Expected::Failure,
            });
        }
        for _ in 0..session.queries[0] {
            let name = self.file().0;
            let expected = Expected::Success;
            asks.push(Op::QueryPath { name, expected });
        }
        for _ in 0..session.queries[1] {
            let name = self.miss();
            let expected = Expected::Failure;
            asks.push(Op::QueryPath { name, expected });
        }
        for (count, pattern) in session
            .finds
            .into_iter()
            .zip(["document-*.dat", "letter.*"])
        {
            for _ in 0..count {
                let folder = directory(self.rng.index(DIRECTORIES));
                let name = self.names.place(format!("{folder}/{pattern}"));
                asks.push(Op::Find { name, most: 1366 });
            }
        }
        asks.extend((0..session.file_system).map(|_| Op::QueryFileSystem));
        self.rng.shuffle(&mut asks);
        self.ops.append(&mut asks);
    }

    /// A name that nothing has.
    fn miss(&mut self) -> u32 {
        let number = self.rng.index(MISSES);
        let folder = directory(number % DIRECTORIES);
        self.names
            .place(format!("{folder}/missing-{number:03}.tmp"))
    }

    /// One of the files that are there all the time, and its size.
    fn file(&mut self) -> (u32, u64) {
        let (name, size) = &self.files[self.rng.index(self.files.len())];
        (self.names.place(name.clone()), *size)
    }

    fn begin(&mut self, session: &Session) -> Running {
        let slot = self.free.pop().unwrap_or_default();
        let (name, size, how, draft) = if session.makes {
            let number = self.made % DRAFTS;
            self.made += 1;
            let name = self.names.place(draft("draft", number));
            (name, 0, Opening::Make, Some(number))
        } else {
            let (name, size) = self.file();
            (name, size, Opening::Existing, None)
        };
        self.ops.push(Op::Open {
            name,
            slot,
            how,
            expected: Expected::Success,
        });
        Running {
            slot,
            name,
            ops: self.work(session, slot, size),
            renames: session.renames,
            draft,
        }
    }

    /// What a session does with its open file.
    fn work(&mut self, session: &Session, slot: u16, size: u64) -> VecDeque<Op> {
        let mut ops = VecDeque::new();
        let (mut next, mut end) = (0, 0);
        ops.extend((0..session.query_file).map(|_| Op::QueryFile { slot }));
        for _ in 0..session.locks {
            // Where nothing is, as programs do that only want to know of each other.
            let (offset, length) = (1 << 31, 1);
            ops.push_back(Op::Lock {
                slot,
                length,
                offset,
            });
            ops.push_back(Op::Unlock {
                slot,
                length,
                offset,
            });
        }
        for _ in 0..session.reads {
            let length = self.reads.pop().unwrap_or_default();
            if next + u64::from(length) > size {
                next = 0;
            }
            ops.push_back(Op::Read {
                slot,
                length,
                offset: next,
                there: length,
            });
            next += u64::from(length);
        }
        for _ in 0..session.writes {
            let length = self.writes.pop().unwrap_or_default();
            let offset = if session.makes {
                end
            } else {
                self.rng.below((size - u64::from(length)) / 512 + 1) * 512
            };
            ops.push_back(Op::Write {
                slot,
                length,
                offset,
            });
            end += u64::from(length);
        }
        ops.extend((0..session.set_file).map(|_| Op::SetFile { slot }));
        ops.extend((0..session.flushes).map(|_| Op::Flush { slot }));
        ops
    }

    fn end(&mut self, session: &Running) {
        self.ops.push(Op::Close { slot: session.slot });
        self.free.push(session.slot);
        let Some(number) = session.draft else {
            return;
        };
        let mut name = session.name;
        if session.renames {
            let from = name;
            name = self.names.place(draft("letter", number));
            self.ops.push(Op::Rename {
                from,
                to: name,
                expected: Expected::Success,
            });
        }
        self.aging.push_back(name);
        if self.aging.len() > AGING {
            let oldest = self.aging.pop_front().unwrap_or_default();
            self.unlink(oldest);
        }
    }

    fn unlink(&mut self, name: u32) {
        let expected = Expected::Success;
        self.ops.push(Op::Unlink { name, expected });
    }
}

#[cfg(test)]
#[path = "own_tests.rs"]
mod tests;
