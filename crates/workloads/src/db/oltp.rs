//! `db.oltp`: sysbench's OLTP tests on the SQLite inside of this program: clients that each carry out one transaction
//! after the other on one database file.
//!
//! Each round works on a copy of tables that were made once, and what is in them afterwards is what its committed
//! transactions say, or the round fails.

use super::check;
use super::client::{Changes, Client, Counts, Setting, Shared};
use super::mix::Mix;
use super::rows::Rows;
use super::session::{RETRIES_MAX, Session};
use super::spec::{SPEC, SYNCHRONOUS};
use super::sqlite::Sqlite;
use super::tables::{self, Held, Tables};
use crate::sysbench::{Threads, Timing};
use engine::recorder::Recorder;
use engine::workload::{
    BadValue, Body, ErrandKind, Finish, Place, StandIn, Told, WorkError, Workload, Writes,
};
use model::ground::{Ground, GroundKind};
use model::headline::{Headline, Topic};
use model::host::HostFacts;
use model::num::approx;
use model::params::Params;
use model::plan::{Settle, Shape};
use model::spec::{MetricDef, Spec};
use model::units::{Bytes, Nanos};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The workload.
pub(crate) static OLTP: Oltp = Oltp;

/// Transactions on an embedded database.
#[derive(Debug)]
pub(crate) struct Oltp;

/// What tables are expected to take, and the slowest that is waited for: bytes a second, made, read and synced.
const USUAL_BYTES_PER_S: u64 = 64 << 20;
const SLOWEST_BYTES_PER_S: u64 = 2 << 20;
const AT_MOST: Nanos = Nanos::from_secs(600);

/// What a round connects and forgets before it measures: every connection has a cache of its own, which is empty.
const WARMUP: Nanos = Nanos::from_millis(300);

/// Databases up to this size are gone through page by page after each round.
const QUICK_CHECK_MAX: u64 = 64 << 20;

fn at(bytes: Bytes, per_s: u64) -> Nanos {
    let nanos = u128::from(bytes.0) * 1_000_000_000 / u128::from(per_s);
    Nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

impl Oltp {
    /// The copy that a round works on, and its log.
    fn per_round(params: &Params) -> Bytes {
        Bytes(Tables::of(params).bytes().0 + tables::LOG_BYTES)
    }
}

impl Workload for Oltp {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn shape(&self, params: &Params) -> Shape {
        Shape {
            setup: at(Self::per_round(params), USUAL_BYTES_PER_S),
            setup_max: AT_MOST,
            warmup: WARMUP,
            measure: params.duration("time"),
            measure_min: TIME_MIN,
            settle: Settle::Sync,
            threads: true,
            ..Shape::DEFAULT
        }
    }

    fn check_params(&self, params: &Params) -> Result<(), BadValue> {
        if params.count("range_size") > params.count("table_size") {
            return Err(BadValue::new("range_size", "no more than `table_size`"));
        }
        if params.duration("time").0 < TIME_MIN.0 {
            return Err(BadValue::new("time", "half a second or more"));
        }
        Ok(())
    }

    fn headline(&self, params: &Params) -> Option<Headline> {
        let is_told = params.text("mix") == "read_write" && params.text("synchronous") == "FULL";
        is_told.then(|| Headline::named(Topic::Database, "SQLite OLTP").beside("lat_ns_mean"))
    }

    fn metrics(&self, params: &Params) -> Vec<&'static MetricDef> {
        let writes = Mix::of(params.text("mix")).writes();
        let metrics = SPEC.metrics.iter();
        // Readers of a database with a write-ahead log wait for nobody.
        metrics
            .filter(|metric| writes || metric.quantity != "retries_per_transaction")
            .collect()
    }

    fn writes(&self, params: &Params) -> Writes {
        Writes {
            per_round: Self::per_round(params),
            throughout: Mix::of(params.text("mix")).writes(),
        }
    }

    fn implementation(&self, _: &Params) -> Option<String> {
        Some(format!("SQLite {}", rusqlite::version()))
    }

    /// A refusal has a message, which the library makes.
    fn allocates(&self, params: &Params) -> bool {
        Mix::of(params.text("mix")).writes()
    }

    fn ground(&self, params: &Params, _: &HostFacts, _: Option<&StandIn>) -> Option<Ground> {
        let tables = Tables::of(params);
        let bytes = tables.bytes();
        Some(Ground {
            key: tables.key(),
            kind: GroundKind::Data,
            bytes: Some(bytes),
            expected: at(bytes, USUAL_BYTES_PER_S),
            at_most: AT_MOST.plus(at(bytes, SLOWEST_BYTES_PER_S)),
        })
    }

    fn errand(
        &self,
        errand: ErrandKind,
        params: &Params,
        place: &Place,
        tell: &mut dyn FnMut(Bytes),
    ) -> Result<Told, WorkError> {
        let tables = Tables::of(params);
        match errand {
            ErrandKind::Make => tables::make(&tables, place, tell),
            ErrandKind::Check => Ok(tables::check(&tables, place)),
            ErrandKind::Remove => tables::remove(&tables, place).map(|()| Told::default()),
        }
    }

    fn prepare(&self, params: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        self.check_params(params)?;
        let tables = Tables::of(params);
        let (path, before) = tables::fresh(&tables, place)?;
        let session = Sqlite {
            path: path.clone(),
            tables: tables.number,
            synchronous: durability(params),
        };
        let setting = Setting {
            mix: Mix::of(params.text("mix")),
            rows: Rows::new(tables.choice, tables.size),
            tables: tables.number,
            table_size: tables.size,
            range_size: u32::try_from(params.count("range_size")).unwrap_or(u32::MAX),
        };
        let file = OfFile {
            path,
            tables,
            before,
            in_memory: sys::probe::file_system(&place.dir)
                .ok()
                .and_then(sys::probe::FileSystem::in_memory),
        };
        Ok(Box::new(Testing::start(&session, setting, place, file)?))
    }
}

/// The shortest measured part.
const TIME_MIN: Nanos = Nanos::from_millis(500);

fn durability(params: &Params) -> &'static str {
    let asked = params.text("synchronous");
    let found = SYNCHRONOUS.iter().find(|word| **word == asked);
    found.copied().unwrap_or(SYNCHRONOUS[0])
}

/// What a round began with.
struct OfFile {
    path: PathBuf,
    tables: Tables,
    before: Held,
    /// The kind of a file system that is memory.
    in_memory: Option<&'static str>,
}

impl OfFile {
    /// What is wrong with it, now that its transactions have made these changes.
    fn check(&self, mix: &Mix, changes: &Changes) -> Result<(), WorkError> {
        let shown = self.path.display();
        let look_at = |error| WorkError::failed("look at", self.path.display(), error);
        let after = tables::survey(&self.path, self.tables.number).map_err(look_at)?;
        let mut wrong = check::wrong(mix, &self.before, changes, &after);
        if wrong.is_none() && self.tables.bytes().0 <= QUICK_CHECK_MAX {
            wrong = tables::damage(&self.path).map_err(look_at)?;
        }
        match wrong {
            None => Ok(()),
            Some(what) => Err(WorkError::Wrong(format!("`{shown}`: {what}"))),
        }
    }
}

impl OfFile {
    /// What must be said of where it lies.
    fn note(&self) -> Option<String> {
        let kind = self.in_memory?;
        Some(format!(
            "the database is in memory ({kind}): nothing is on a disk after a commit"
        ))
    }
}

/// Tries that ended with each code, and transactions that were committed.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    retries: [u64; RETRIES_MAX],
    committed: u64,
}

struct Testing<S: Session> {
    threads: Threads<Client<S>>,
    counts: Vec<Arc<Counts>>,
    shared: Arc<Shared>,
    mix: &'static Mix,
    file: OfFile,
    /// When the measured part began.
    began: Seen,
    /// Transactions of the measured part.
    ops: u64,
}

impl<S: Session + Clone> Testing<S> {
    fn start(
        session: &S,
        setting: Setting,
        place: &Place,
        file: OfFile,
    ) -> Result<Self, WorkError> {
        let counts: Vec<Arc<Counts>> = (0..place.copies.max(1)).map(|_| Arc::default()).collect();
        let shared: Arc<Shared> = Arc::default();
        let make = |number: u32| {
            Client::new(
                session.clone(),
                setting,
                Arc::clone(&shared),
                Arc::clone(&counts[number as usize]),
                (place.seed, number),
            )
        };
        Ok(Self {
            threads: Threads::start(place, make, Timing::Own)?,
            counts,
            shared,
            mix: setting.mix,
            file,
            began: Seen::default(),
            ops: 0,
        })
    }
}

impl<S: Session> Testing<S> {
    fn seen(&self) -> Seen {
        let mut seen = Seen::default();
        for counts in &self.counts {
            seen.committed += counts.committed.load(Ordering::Relaxed);
            for (sum, count) in seen.retries.iter_mut().zip(&counts.retries) {
                *sum += count.load(Ordering::Relaxed);
            }
        }
        seen
    }

    /// An answer that was wrong is more than an operation that failed.
    fn told(&self, error: WorkError) -> WorkError {
        let wrong = self.shared.wrong.get();
        wrong.map_or(error, |what| WorkError::Wrong(what.clone()))
    }
}

impl<S: Session> Body for Testing<S> {
    fn batch(&mut self, ops: u64, _: &mut Recorder) -> Result<u64, WorkError> {
        let done = self.threads.batch(ops).map_err(|error| self.told(error))?;
        self.ops += done;
        Ok(done)
    }

    fn measured_part_begins(&mut self) {
        self.threads.measured_part_begins();
        self.began = self.seen();
        self.ops = 0;
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        self.threads.end().map_err(|error| self.told(error))?;
        let all = self.threads.all();
        let changes = all.fold(Changes::default(), |sum, client| sum.plus(client.changes()));
        self.file.check(self.mix, &changes)?;
        let now = self.seen();
        let committed = (now.committed - self.began.committed).max(1);
        let retries: [u64; RETRIES_MAX] =
            std::array::from_fn(|code| now.retries[code] - self.began.retries[code]);
        let statements = u64::from(self.mix.statements());
        let reported = [
            ("statements", approx(self.ops * statements)),
            (
                "retries_per_transaction",
                approx(retries.iter().sum()) / approx(committed),
            ),
        ];
        Ok(Finish {
            reported: reported
                .map(|(name, value)| (name.to_owned(), value))
                .into(),
            latencies: self.threads.latencies(),
            notes: unusual::<S>(&retries, committed)
                .chain(self.file.note())
                .collect(),
            ..Finish::default()
        })
    }
}

/// Sentences about codes that are not the usual one.
fn unusual<S: Session>(
    retries: &[u64; RETRIES_MAX],
    committed: u64,
) -> impl Iterator<Item = String> {
    let counted = S::RETRIES.into_iter().zip(*retries).skip(1);
    counted.filter(|(_, count)| *count > 0).map(move |(code, count)| {
        format!("of {committed} transactions of a round some were tried again after {code}: {count} times")
    })
}
