//! `fs.bonnie-files`: many empty files in one directory, made, looked at and removed, with names in order and without.

use super::metrics::{cpu_share, longest, ops_per_s};
use super::{PHASES, Part, failed, timed};
use engine::recorder::Recorder;
use engine::workload::{Body, Finish, Place, WorkError, Workload};
use model::digest::Digest;
use model::headline::{Headline, Topic};
use model::params::Params;
use model::plan::{Settle, Shape};
use model::rng::Rng;
use model::spec::{MetricDef, Nature, ParamDef, ParamKind, Spec, TestDef};
use model::units::Nanos;
use std::path::{Path, PathBuf};
use sys::clock::Clock;
use sys::folder::{Entries, Folder};
use sys::loops::chunks::Done;
use sys::loops::failure::Failure;
use sys::loops::names::{self, Names};

/// The workload.
pub(crate) static FILES: Files = Files;

/// Six phases on many files.
#[derive(Debug)]
pub(crate) struct Files;

static SPEC: Spec = Spec {
    name: "fs.bonnie-files",
    version: 1,
    nature: Nature::FileSystem,
    title: "bonnie++'s six phases on many empty files",
    doc: "One round is six phases in their order, as bonnie++ 2.00 has them. Empty files are made in one directory, \
          each by open and close, under names that begin with a number; stat is called for each in the order in which \
          the directory lists them; they are removed in that order, and the directory with them. Then the same under \
          names that begin with up to twelve random letters, where stat and removal each go in a random order of their \
          own. Phases that make or remove end with sync(2), of the whole machine, which is part of their time.",
    params: &[ParamDef {
        name: "files",
        kind: ParamKind::Count { min: 1, max: 1000 },
        default: "16",
        doc: "How many files each copy has, in units of 1024.",
    }],
    metrics: METRICS,
    tests: &[TestDef::new(
        "fs.bonnie-files",
        "bonnie++'s create, stat and delete of 16 × 1024 empty files, sequential and random",
        &[],
    )],
    simulated: false,
    on_disk: true,
};

static METRICS: &[MetricDef] = &[
    ops_per_s(
        "create_seq_ops_per_s",
        "Files made under names in order, over the time from before the first open to the return of sync.",
    ),
    ops_per_s(
        "stat_seq_ops_per_s",
        "Files looked at in the order of the directory's list, over the time from before the list is opened to the \
         return of the last stat.",
    ),
    ops_per_s(
        "delete_seq_ops_per_s",
        "Files removed in the order of the list, over the time from before the list is opened to the return of sync, \
         with the removal of the directory.",
    ),
    ops_per_s(
        "create_random_ops_per_s",
        "Files made under names that begin at random, over the time from before the first open to the return of sync.",
    ),
    ops_per_s(
        "stat_random_ops_per_s",
        "Files looked at in a random order, over the time from before the first stat to the return of the last.",
    ),
    ops_per_s(
        "delete_random_ops_per_s",
        "Files removed in a random order, over the time from before the first to the return of sync, with the removal \
         of the directory.",
    ),
    cpu_share("create_seq_cpu_share"),
    cpu_share("stat_seq_cpu_share"),
    cpu_share("delete_seq_cpu_share"),
    cpu_share("create_random_cpu_share"),
    cpu_share("stat_random_cpu_share"),
    cpu_share("delete_random_cpu_share"),
    longest("create_seq_lat_ns_max"),
    longest("stat_seq_lat_ns_max"),
    longest("delete_seq_lat_ns_max"),
    longest("create_random_lat_ns_max"),
    longest("stat_random_lat_ns_max"),
    longest("delete_random_lat_ns_max"),
];

/// The phases in their order.
const NAMES: [&str; PHASES] = [
    "create_seq",
    "stat_seq",
    "delete_seq",
    "create_random",
    "stat_random",
    "delete_random",
];

/// Files that one of `files` stands for.
const UNIT: u64 = 1024;
/// Letters of a name beside its number, at most.
const LETTERS_MAX: u64 = 12;
const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Files a second and phase where nothing is known of the file system, and of the slowest that is waited for.
const USUAL: u64 = 20_000;
const SLOWEST: u64 = 50;
/// However little there is to do, it may take this long: sync writes what all of the machine wrote.
const AT_LEAST: Nanos = Nanos::from_secs(600);

fn count(params: &Params) -> u64 {
    params.count("files") * UNIT
}

impl Workload for Files {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn shape(&self, params: &Params) -> Shape {
        self.shape_of(params, 1)
    }

    fn shape_of(&self, params: &Params, copies: u32) -> Shape {
        let all = (count(params) * PHASES as u64).saturating_mul(u64::from(copies));
        let at = |rate: u64| Nanos((all / rate).saturating_mul(1_000_000_000));
        Shape {
            warmup: Nanos::ZERO,
            measure: at(USUAL).plus(Nanos::from_secs(1)),
            measure_max: Some(AT_LEAST.plus(at(SLOWEST))),
            fixed_work: true,
            windowless: true,
            settle: Settle::Sync,
            shortenable: false,
            ..Shape::DEFAULT
        }
    }

    fn headline(&self, _: &Params) -> Option<Headline> {
        let words = ["bonnie create", "bonnie 作成"];
        Some(Headline::new(Topic::Storage, words))
    }

    fn prepare(&self, params: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        let many = u32::try_from(count(params)).unwrap_or(u32::MAX);
        let mut rng = Rng::stream(place.seed, 0);
        let mut named = |number_first| {
            let mut names = Names::default();
            (0..many).for_each(|at| names.push(&name(at, number_first, &mut rng)));
            names
        };
        let names = [true, false].map(&mut named);
        let orders = [(); 2].map(|()| {
            let mut order: Vec<u32> = (0..many).collect();
            rng.shuffle(&mut order);
            order
        });
        Ok(Box::new(Round {
            dir: place.dir.join("files"),
            names,
            orders,
            entries: Entries::default(),
            clock: place.clock(),
            handle: None,
            parts: Vec::with_capacity(PHASES),
        }))
    }
}

/// The name of a file: its number, with up to twelve letters behind or before it.
fn name(at: u32, number_first: bool, rng: &mut Rng) -> Vec<u8> {
    let letters = (0..rng.below(LETTERS_MAX + 1)).map(|_| LETTERS[rng.index(LETTERS.len())]);
    let letters: Vec<u8> = letters.collect();
    let number = format!("{at:010x}").into_bytes();
    if number_first {
        [number, letters].concat()
    } else {
        [letters, number].concat()
    }
}

/// A round.
struct Round {
    dir: PathBuf,
    /// Names in order, and names that are not.
    names: [Names; 2],
    /// In which order files with random names are looked at and removed.
    orders: [Vec<u32>; 2],
    entries: Entries,
    clock: Clock,
    /// The directory, while there is one.
    handle: Option<Folder>,
    /// The phases that are over.
    parts: Vec<Part>,
}

impl Round {
    /// Makes the directory, which is no part of a phase.
    fn make(&mut self) -> Result<(), WorkError> {
        let failed = |error| WorkError::failed("create", self.dir.display(), error);
        std::fs::create_dir(&self.dir).map_err(failed)?;
        self.handle = Some(open(&self.dir)?);
        Ok(())
    }

    fn phase(&mut self, at: usize) -> Result<Part, WorkError> {
        if at.is_multiple_of(PHASES / 2) {
            self.make()?;
        }
        let [names_in_order, names] = &self.names;
        let [stats, removals] = &self.orders;
        let (dir, clock, entries) = (self.dir.as_path(), self.clock, &mut self.entries);
        let handle = self.handle.as_ref();
        let handle = handle.expect("the phase that makes files made the directory");
        match at {
            0 => synced(dir, || names::create(handle, names_in_order, clock)),
            1 => timed(|| {
                let list = open(dir)?;
                let done = names::stat_listed(&list, entries, clock);
                done.map_err(|failure| failed(&failure, dir))
            }),
            2 => removed(dir, || {
                let list = open(dir)?;
                let done = names::remove_listed(&list, entries, clock);
                done.map_err(|failure| failed(&failure, dir))
            }),
            3 => synced(dir, || names::create(handle, names, clock)),
            4 => timed(|| {
                let done = names::stat(handle, names, stats, clock);
                done.map_err(|failure| failed(&failure, dir))
            }),
            _ => removed(dir, || {
                let done = names::remove(handle, names, removals, clock);
                done.map_err(|failure| failed(&failure, dir))
            }),
        }
    }
}

fn open(dir: &Path) -> Result<Folder, WorkError> {
    Folder::open(dir).map_err(|failure| failed(&failure, dir))
}

/// A phase that ends with a sync.
fn synced(dir: &Path, work: impl FnOnce() -> Result<Done, Failure>) -> Result<Part, WorkError> {
    timed(|| {
        let done = work().map_err(|failure| failed(&failure, dir))?;
        sys::process::sync();
        Ok(done)
    })
}

/// A phase that ends with the removal of the empty directory and a sync.
fn removed(dir: &Path, work: impl FnOnce() -> Result<Done, WorkError>) -> Result<Part, WorkError> {
    timed(|| {
        let done = work()?;
        let gone = std::fs::remove_dir(dir);
        gone.map_err(|error| WorkError::failed("remove", dir.display(), error))?;
        sys::process::sync();
        Ok(done)
    })
}

impl Body for Round {
    fn batch(&mut self, ops: u64, _: &mut Recorder) -> Result<u64, WorkError> {
        for done in 0..ops {
            let at = self.parts.len();
            if at == PHASES {
                return Ok(done);
            }
            let part = self.phase(at)?;
            let wanted = self.names[0].len() as u64;
            if part.done.ops != wanted {
                let (dir, found) = (self.dir.display(), part.done.ops);
                let phase = NAMES[at];
                return Err(WorkError::Wrong(format!(
                    "`{dir}` had {found} files in phase {phase}, and {wanted} were made"
                )));
            }
            self.parts.push(part);
        }
        Ok(ops)
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        let mut finish = Finish::default();
        let mut digest = Digest::EMPTY;
        for (part, name) in self.parts.iter().zip(NAMES) {
            part.report(name, "ops_per_s", 1.0, &mut finish.reported);
            digest = digest.word(part.done.ops);
        }
        finish.digest = digest;
        Ok(finish)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::testing;
    use std::collections::BTreeSet;

    const SMALL: &[(&str, &str)] = &[("files", "1")];

    #[test]
    fn names_are_numbers_with_letters_on_one_side_and_no_two_are_alike() {
        let mut rng = Rng::new(1);
        let all: Vec<Vec<u8>> = (0..2000).map(|at| name(at, true, &mut rng)).collect();
        assert!(all.is_sorted() && all[0].starts_with(b"0000000000"));
        let lengths: BTreeSet<usize> = all.iter().map(Vec::len).collect();
        assert_eq!(lengths, (10..=22).collect());
        let random: BTreeSet<Vec<u8>> = (0..2000).map(|at| name(at, false, &mut rng)).collect();
        assert_eq!(random.len(), 2000);
        assert!(random.iter().any(|name| name.ends_with(b"00000007cf")));
    }

    #[test]
    fn a_round_makes_looks_and_removes_twice_and_leaves_nothing() {
        let (_root, place) = testing::place();
        let mut body = testing::prepare(&FILES, SMALL, &place).unwrap();
        let listed = || {
            std::fs::read_dir(place.dir.join("files"))
                .map(Iterator::count)
                .ok()
        };
        for expected in [Some(1024), Some(1024), None, Some(1024), Some(1024), None] {
            assert_eq!(body.batch(1, &mut Recorder::off()).unwrap(), 1);
            assert_eq!(listed(), expected);
        }
        assert_eq!(body.batch(1, &mut Recorder::off()).unwrap(), 0);
        let finish = body.finish().unwrap();
        let declared: BTreeSet<&str> = METRICS.iter().map(|metric| metric.quantity).collect();
        let reported: BTreeSet<&str> = finish.reported.keys().map(String::as_str).collect();
        assert_eq!(reported, declared);
        assert!(finish.reported.values().all(|&value| value >= 0.0));
        assert!(finish.reported["stat_seq_ops_per_s"] > 0.0);
        assert!(finish.reported["create_random_lat_ns_max"] > 0.0);
    }

    #[test]
    fn a_file_that_somebody_else_made_there_is_told() {
        let (_root, place) = testing::place();
        let mut body = testing::prepare(&FILES, SMALL, &place).unwrap();
        body.batch(1, &mut Recorder::off()).unwrap();
        std::fs::write(place.dir.join("files/other"), "").unwrap();
        let error = body.batch(1, &mut Recorder::off()).unwrap_err();
        assert!(matches!(&error, WorkError::Wrong(why) if why.contains("had 1025 files")));
    }
}
