//! `db.oltp`: sysbench's OLTP tests: clients that each carry out one transaction after the other, on the SQLite inside
//! of this program or on a server that stands in for it.
//!
//! On SQLite each round works on a copy of tables that were made once. On a server there is one set of tables, which is
//! made anew where a round before has changed it and it is small.

use super::client::{Changes, Client, Counts, Course, Setting, Shared};
use super::engines::Engine;
use super::mix::Mix;
use super::mysql::Mysql;
use super::party;
use super::postgres::Postgres;
use super::rows::Rows;
use super::search::Search;
use super::server::{self, Driver, Stood};
use super::session::{RETRIES_MAX, Session};
use super::spec::{LAT_P999, SERVER_CPU_TIME, SPEC, SYNCHRONOUS};
use super::sqlite::Sqlite;
use super::stand_in::{self, server_of};
use super::tables::{self, Tables};
use super::under::{OfFile, OfServer, Under};
use crate::arrivals::{self, OF_ARRIVALS, Queue};
use crate::sysbench::{Threads, Timing};
use engine::consent::Touch;
use engine::recorder::Recorder;
use engine::workload::{
    BadValue, Body, ErrandKind, Finish, OnStandIn, Place, StandIn, Told, WorkError, Workload,
    Writes,
};
use model::ground::{Ground, GroundKind};
use model::headline::{Headline, Topic};
use model::host::HostFacts;
use model::num::approx;
use model::params::Params;
use model::plan::{Settle, Shape};
use model::spec::{MetricDef, Spec};
use model::units::{Bytes, Nanos};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The workload.
pub(crate) static OLTP: Oltp = Oltp;

/// Transactions on an embedded database.
#[derive(Debug)]
pub(crate) struct Oltp;

/// What tables are expected to take, and the slowest that is waited for: bytes a second, made, read and synced.
pub(super) const USUAL_BYTES_PER_S: u64 = 64 << 20;
pub(super) const SLOWEST_BYTES_PER_S: u64 = 2 << 20;
pub(super) const AT_MOST: Nanos = Nanos::from_secs(600);

/// What a round connects and forgets before it measures: every connection has a cache of its own, which is empty.
pub(super) const WARMUP: Nanos = Nanos::from_millis(300);

impl Oltp {
    /// The copy that a round works on, and its log.
    fn per_round(params: &Params) -> Bytes {
        Bytes(Tables::of(params).bytes().0 + tables::LOG_BYTES)
    }
}

/// Whether only transactions that arrive by themselves have this figure: the far tail of the others shows no stall.
fn is_of_arrivals(quantity: &str) -> bool {
    quantity == LAT_P999.quantity || OF_ARRIVALS.contains(&quantity)
}

/// The figures of transactions that write or read.
pub(super) fn figures(params: &Params, writes: bool) -> Vec<&'static MetricDef> {
    let open = arrivals::asked(params);
    let metrics = SPEC.metrics.iter();
    // Readers of a database with a write-ahead log wait for nobody.
    metrics
        .filter(|metric| writes || metric.quantity != "retries_per_transaction")
        .filter(|metric| open || !is_of_arrivals(metric.quantity))
        .collect()
}

/// How a round of tables of so many bytes goes.
pub(super) fn shape(params: &Params, bytes: Bytes) -> Shape {
    Shape {
        setup: bytes.time_at(USUAL_BYTES_PER_S),
        setup_max: AT_MOST,
        warmup: WARMUP,
        measure: params.duration("time"),
        measure_min: TIME_MIN,
        settle: Settle::Sync,
        threads: true,
        ..Shape::DEFAULT
    }
}

/// That a round takes long enough.
pub(super) fn check_time(params: &Params) -> Result<(), BadValue> {
    if params.duration("time").0 < TIME_MIN.0 {
        return Err(BadValue::new("time", "half a second or more"));
    }
    Ok(())
}

/// The ground of these tables.
pub(super) fn ground(tables: &Tables) -> Ground {
    let bytes = tables.bytes();
    Ground {
        key: tables.key(),
        kind: GroundKind::Data,
        bytes: Some(bytes),
        expected: bytes.time_at(USUAL_BYTES_PER_S),
        at_most: AT_MOST.plus(bytes.time_at(SLOWEST_BYTES_PER_S)),
    }
}

/// How transactions follow each other by the parameter `rate`.
pub(super) fn course(params: &Params) -> Course {
    params.ordered_rate().map_or(Course::Closed, Course::Open)
}

impl Workload for Oltp {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn shape(&self, params: &Params) -> Shape {
        shape(params, Self::per_round(params))
    }

    fn check_params(&self, params: &Params) -> Result<(), BadValue> {
        if params.count("range_size") > params.count("table_size") {
            return Err(BadValue::new("range_size", "no more than `table_size`"));
        }
        check_time(params)
    }

    fn headline(&self, params: &Params) -> Option<Headline> {
        let is_told = params.text("mix") == "read_write" && params.text("synchronous") == "FULL";
        is_told.then(|| Headline::named(Topic::Database, "SQLite OLTP").beside("lat_ns_mean"))
    }

    fn metrics(&self, params: &Params) -> Vec<&'static MetricDef> {
        figures(params, Mix::of(params.text("mix")).writes())
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

    fn touches(&self, _: &Params, stand_in: Option<&StandIn>) -> Vec<Touch> {
        stand_in::touches(server_of(stand_in))
    }

    /// A server is as durable as it is set, and says so in the notes: a test that is called by SQLite's word for
    /// something else is none of it.
    fn on_stand_in(
        &self,
        params: &Params,
        stand_in: &StandIn,
    ) -> Result<Option<OnStandIn>, String> {
        let Some(server) = server_of(Some(stand_in)) else {
            return Ok(None);
        };
        let Some(engine) = Engine::of(&server.path.to_string_lossy()) else {
            return Ok(None);
        };
        if !engine.has_tables() {
            return Err(format!(
                "{} has no tables and transactions\nhint: `kurabe run kv` measures it",
                engine.products()
            ));
        }
        if params.text("synchronous") != SYNCHRONOUS[0] {
            return Err(
                "`synchronous` is SQLite's: a server is as durable as its own settings say"
                    .to_owned(),
            );
        }
        let mix = Mix::of(params.text("mix"));
        let headline = format!("{} OLTP", engine.products());
        let headline = Headline::named(Topic::Database, &headline).beside("lat_ns_mean");
        let title = format!(
            "{}, sysbench OLTP {}: {} rows, durable as the server is set",
            engine.products(),
            mix.word.replace('_', "-"),
            params.text("rows")
        );
        let headline = (mix.word == "read_write").then_some(headline);
        let metrics = self.metrics(params).into_iter().chain([&SERVER_CPU_TIME]);
        let shape = Shape {
            settle: Settle::None,
            ..self.shape(params)
        };
        let there = stand_in::case_on(server, title, headline, metrics.collect(), shape);
        Ok(Some(OnStandIn {
            without: &["synchronous"],
            ..there
        }))
    }

    fn ground(&self, params: &Params, _: &HostFacts, _: Option<&StandIn>) -> Option<Ground> {
        Some(ground(&Tables::of(params)))
    }

    fn errand(
        &self,
        errand: ErrandKind,
        params: &Params,
        place: &Place,
        tell: &mut dyn FnMut(Bytes),
    ) -> Result<Told, WorkError> {
        let tables = Tables::of(params);
        if let Some(named) = server_of(place.stand_in.as_ref()) {
            return server::errand(errand, &tables, place, named, tell);
        }
        match errand {
            ErrandKind::Make => tables::make(&tables, place, tell),
            ErrandKind::Check => Ok(tables::check(&tables, place)),
            ErrandKind::Remove => tables::remove(&tables, place).map(|()| Told::default()),
        }
    }

    fn reach(&self, place: &Place) -> Result<(), WorkError> {
        server_of(place.stand_in.as_ref()).map_or(Ok(()), |server| server::reach(place, server))
    }

    fn prepare(&self, params: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        self.begin(params, place, course(params))
    }
}

impl Oltp {
    /// Sets up a round that goes like this.
    pub(super) fn begin(
        &self,
        params: &Params,
        place: &Place,
        course: Course,
    ) -> Result<Box<dyn Body>, WorkError> {
        self.check_params(params)?;
        let tables = Tables::of(params);
        let mix = Mix::of(params.text("mix"));
        let setting = Setting {
            mix,
            course,
            rows: Rows::new(tables.choice, tables.size),
            tables: tables.number,
            table_size: tables.size,
            range_size: u32::try_from(params.count("range_size")).unwrap_or(u32::MAX),
        };
        if let Some(named) = server_of(place.stand_in.as_ref()) {
            return begin_there(tables, setting, place, named);
        }
        let copies = place.copies.max(1) as usize;
        let (path, before) = tables::fresh(&tables, place)?;
        let session = Sqlite {
            path: path.clone(),
            tables: tables.number,
            synchronous: durability(params),
        };
        let under = Under::File(OfFile {
            path,
            tables,
            before,
            in_memory: sys::probe::file_system(&place.dir)
                .ok()
                .and_then(sys::probe::FileSystem::in_memory),
        });
        let sessions = vec![session; copies];
        Ok(Box::new(Testing::start(sessions, setting, place, under)?))
    }
}

/// Sets up a round on the tables of a server.
pub(super) fn begin_there(
    tables: Tables,
    setting: Setting,
    place: &Place,
    named: &StandIn,
) -> Result<Box<dyn Body>, WorkError> {
    let stood = server::stand_on(&tables, place, named, setting.mix)?;
    match stood.server.engine() {
        Engine::Postgres => on_server::<Postgres>(stood, tables, setting, place),
        Engine::Mysql => on_server::<Mysql>(stood, tables, setting, place),
        Engine::Redis => Err(WorkError::Unsupported(
            "carry out transactions on Redis: it has no tables".to_owned(),
        )),
    }
}

/// The test with clients of a server.
fn on_server<D: Driver>(
    stood: Stood,
    tables: Tables,
    setting: Setting,
    place: &Place,
) -> Result<Box<dyn Body>, WorkError> {
    let copies = place.copies.max(1) as usize;
    let clients = stood
        .server
        .clients::<D>(copies, (setting.mix, tables.number))?;
    let mut there = OfServer::new(stood.server, tables, stood.before)?;
    there.notes.extend(stood.note.map(str::to_owned));
    there.notes.extend(tables.contention(place.copies));
    let under = Under::Server(Box::new(there));
    Ok(Box::new(Testing::start(clients, setting, place, under)?))
}

/// The shortest measured part.
pub(super) const TIME_MIN: Nanos = Nanos::from_millis(500);

fn durability(params: &Params) -> &'static str {
    let asked = params.text("synchronous");
    let found = SYNCHRONOUS.iter().find(|word| **word == asked);
    found.copied().unwrap_or(SYNCHRONOUS[0])
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
    under: Under,
    /// Where a rate is searched.
    search: Option<Search>,
    /// When the measured part began.
    began: Seen,
    /// Transactions of the measured part.
    ops: u64,
}

impl<S: Session> Testing<S> {
    /// Starts a thread for each of the sessions.
    fn start(
        sessions: Vec<S>,
        setting: Setting,
        place: &Place,
        under: Under,
    ) -> Result<Self, WorkError> {
        let counts: Vec<Arc<Counts>> = (0..place.copies.max(1)).map(|_| Arc::default()).collect();
        let shared: Arc<Shared> = Arc::default();
        let mut sessions = sessions.into_iter();
        let make = |number: u32| {
            Client::new(
                sessions.next().expect("there is one for each copy"),
                setting,
                Arc::clone(&shared),
                Arc::clone(&counts[number as usize]),
                (place.seed, number),
            )
        };
        let (queue, search) = match setting.course {
            Course::Closed => (None, None),
            Course::Open(per_s) => (Some(Queue::random(per_s, place.seed)), None),
            Course::Search(limit, time) => {
                let search = Search::new(limit, time, place.seed);
                (Some(Queue::new(None)), Some(search))
            }
        };
        Ok(Self {
            threads: Threads::start_at(place, make, Timing::Own, |_| queue.clone())?,
            counts,
            shared,
            mix: setting.mix,
            under,
            search,
            began: Seen::default(),
            ops: 0,
        })
    }

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
    /// With a search an operation is a rate that is tried.
    fn batch(&mut self, ops: u64, _: &mut Recorder) -> Result<u64, WorkError> {
        if let Some(mut search) = self.search.take() {
            let done = search.steps(ops, &mut self.threads);
            self.search = Some(search);
            return done.map_err(|error| self.told(error));
        }
        let done = self.threads.batch(ops).map_err(|error| self.told(error))?;
        self.ops += done;
        Ok(done)
    }

    fn measured_part_begins(&mut self) {
        self.threads.measured_part_begins();
        self.began = self.seen();
        self.ops = 0;
        self.under.measured_part_begins();
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        let server_cpu = self.under.server_cpu_ns();
        self.threads.end().map_err(|error| self.told(error))?;
        let all = self.threads.all();
        let changes = all.fold(Changes::default(), |sum, client| sum.plus(client.changes()));
        self.under.check(self.mix, &changes)?;
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
        let mut finish = Finish {
            reported: reported
                .map(|(name, value)| (name.to_owned(), value))
                .into(),
            latencies: self.threads.latencies(),
            notes: unusual::<S>(self.mix.word, &retries, committed)
                .chain(self.under.notes())
                .chain(self.threads.notes())
                .collect(),
            party: self.under.party(),
            ..Finish::default()
        };
        if let Some(search) = &self.search {
            search.report(&mut finish);
            return Ok(finish);
        }
        if let Some(used) = server_cpu {
            party::tell(used, self.ops, &mut finish);
        }
        Ok(finish)
    }
}

/// Sentences about codes that are not the usual one.
fn unusual<S: Session>(
    mix: &str,
    retries: &[u64; RETRIES_MAX],
    committed: u64,
) -> impl Iterator<Item = String> {
    let counted = S::RETRIES.iter().zip(*retries).skip(1);
    counted.filter(|(_, count)| *count > 0).map(move |(code, count)| {
        let times = if count == 1 { "time" } else { "times" };
        format!(
            "{}: transactions were tried again after {code} {count} {times} in a round of {committed}",
            mix.replace('_', "-")
        )
    })
}
