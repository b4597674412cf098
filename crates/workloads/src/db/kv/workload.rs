//! `db.kv`: clients that each send one batch of requests after the other to a server that the user names.
//!
//! The keys are a ground: made once, and never of other values than the round knows, so that every round begins with
//! the same database.

use super::client::{Client, Counts, Setting, Shared};
use super::clients::Clients;
use super::keys::{Keys, Values};
use super::room::{More, Needs};
use super::server::{self, Server};
use super::spec::{HIT_RATE, SPEC};
use super::watch::Watch;
use crate::arrivals::{self, OF_ARRIVALS, Queue, RATE};
use crate::db::engines::Engine;
use crate::db::oltp::{self, AT_MOST, SLOWEST_BYTES_PER_S, TIME_MIN, USUAL_BYTES_PER_S, WARMUP};
use crate::db::party::{self, Party};
use crate::db::server::left_there;
use crate::db::stand_in;
use crate::sysbench::{Threads, Timing};
use engine::consent::Touch;
use engine::recorder::{Latencies, Recorder};
use engine::workload::{
    BadValue, Body, ErrandKind, Finish, OnStandIn, Place, StandIn, Told, WorkError, Workload,
};
use model::ground::{Ground, GroundKind};
use model::headline::{Headline, Topic};
use model::host::HostFacts;
use model::latency::{LAT, quantile};
use model::num::approx;
use model::params::Params;
use model::plan::{Settle, Shape};
use model::spec::{MetricDef, Spec};
use model::units::{Bytes, Nanos};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

/// The workload.
pub(crate) static KV: Kv = Kv;

/// Requests to a key-value server.
#[derive(Debug)]
pub(crate) struct Kv;

/// What keys are expected to take, made and looked at, and the slowest that is waited for: keys a second.
const USUAL_KEYS_PER_S: u64 = 100_000;
const SLOWEST_KEYS_PER_S: u64 = 2_000;
/// Connecting, and a look at the keys.
const SETUP: Nanos = Nanos::from_millis(50);

/// The largest value, and the largest batch of requests and of replies.
const SIZE_MAX: u64 = 1 << 20;
const BATCH_MAX: u64 = 16 << 20;

/// What is told of a round that did not find its keys.
const ANEW: &str = "keys were missing before a round: all were made anew";

/// What is told of a round on a server that tells too little.
const UNWATCHED: &str =
    "the server does not tell this user (INFO) whether it deletes keys by itself";

/// What is told of a round in which the server was not asked all the time.
const INTERRUPTED: &str =
    "for a part of a round the server could not be asked whether it deletes keys by itself";

/// A request that takes so long, and so many times the median, has met a server that stood still.
const STILL_NS: u64 = 200_000_000;
const STILL_TIMES: u64 = 100;

/// What must be said of a round in which the server seems to have stood still; the same of each.
fn stood_still(latencies: &BTreeMap<String, Latencies>) -> Option<String> {
    let pairs = latencies.get(LAT)?.pairs();
    let &(longest, _) = pairs.last()?;
    let middle = quantile(&pairs, 0.5)?;
    (longest >= STILL_NS && longest >= STILL_TIMES * middle).then(|| {
        "in a round some requests took more than 0.2 s and a hundred times the median: the server, or the way to it, \
         stood still (`lat_ns_max`)"
            .to_owned()
    })
}

/// What a case without a server is told.
const NEEDS: &str = "it works on a Redis or Valkey server, which `--db redis://host:6379/0` names";

/// SETs and GETs by the parameters: so many of so many are SETs.
fn writes_of(params: &Params) -> Result<(u64, u64), BadValue> {
    let bad = || {
        BadValue::new(
            "ratio",
            "SETs and GETs, such as `1:10`: whole numbers, one of them above 0, each up to 1000000",
        )
    };
    let (writes, reads) = params.text("ratio").split_once(':').ok_or_else(bad)?;
    let number = |text: &str| {
        let digits = text.len() <= 7 && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse::<u64>().ok();
        number.filter(|number| digits && *number <= 1_000_000)
    };
    let (writes, reads) = number(writes).zip(number(reads)).ok_or_else(bad)?;
    if writes + reads == 0 {
        return Err(bad());
    }
    Ok(match params.text("mix") {
        "set" => (1, 1),
        "mixed" => (writes, writes + reads),
        _ => (0, 1),
    })
}

/// What stands in, where that is a server of this kind.
fn server_of(stand_in: Option<&StandIn>) -> Option<&StandIn> {
    stand_in::of_kind(stand_in, Engine::Redis)
}

impl Workload for Kv {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn shape(&self, params: &Params) -> Shape {
        Shape {
            setup: SETUP,
            setup_max: AT_MOST,
            warmup: WARMUP,
            measure: params.duration("time"),
            measure_min: TIME_MIN,
            settle: Settle::None,
            threads: true,
            ..Shape::DEFAULT
        }
    }

    fn check_params(&self, params: &Params) -> Result<(), BadValue> {
        let size = params.size("data_size").0;
        if !(1..=SIZE_MAX).contains(&size) {
            return Err(BadValue::new("data_size", "from 1 byte to 1M"));
        }
        let pipeline = params.count("pipeline");
        if pipeline * size > BATCH_MAX {
            return Err(BadValue::new(
                "pipeline",
                "no more requests than have 16 MiB of values together",
            ));
        }
        if arrivals::asked(params) && pipeline > 1 {
            return Err(BadValue::new(
                "pipeline",
                "1 where requests arrive at a `rate`: each comes by itself",
            ));
        }
        oltp::check_time(params)?;
        writes_of(params).map(drop)
    }

    fn metrics(&self, params: &Params) -> Vec<&'static MetricDef> {
        let reads = writes_of(params).is_ok_and(|(writes, of)| writes < of);
        let is_one = |metric: &&MetricDef| match metric.quantity {
            HIT_RATE => reads,
            name if OF_ARRIVALS.contains(&name) => arrivals::asked(params),
            _ => true,
        };
        SPEC.metrics.iter().filter(is_one).collect()
    }

    fn touches(&self, _: &Params, stand_in: Option<&StandIn>) -> Vec<Touch> {
        stand_in::touches(server_of(stand_in))
    }

    fn without_stand_in(&self) -> Result<(), String> {
        Err(NEEDS.to_owned())
    }

    fn on_stand_in(
        &self,
        params: &Params,
        stand_in: &StandIn,
    ) -> Result<Option<OnStandIn>, String> {
        let Some(server) = server_of(Some(stand_in)) else {
            return Err(stand_in::other_kind(stand_in, NEEDS));
        };
        let Keys { number, size } = Keys::of(params);
        let mix = params.text("mix");
        let what = match mix {
            "mixed" => format!("SET to GET {}", params.text("ratio")),
            other => other.to_uppercase(),
        };
        let at_once = match params.count("pipeline") {
            1 => "one request at a time".to_owned(),
            more => format!("{more} requests at a time"),
        };
        let rate = params
            .ordered_rate()
            .map(|rate| format!(", {rate} a second"));
        let rate = rate.unwrap_or_default();
        let title =
            format!("Redis or Valkey, {what}: {number} keys of {size} bytes, {at_once}{rate}");
        let headline = Headline::named(Topic::Database, &format!("key-value {mix}"));
        let headline = Some(headline.beside("lat_ns_p99"));
        let (metrics, shape) = (self.metrics(params), self.shape(params));
        let there = stand_in::case_on(server, title, headline, metrics, shape);
        Ok(Some(there))
    }

    fn ground(&self, params: &Params, _: &HostFacts, _: Option<&StandIn>) -> Option<Ground> {
        let keys = Keys::of(params);
        let bytes = keys.bytes();
        let at = |keys_per_s: u64, bytes_per_s: u64| {
            let millis = keys.number.saturating_mul(1000) / keys_per_s;
            Nanos::from_millis(millis).plus(bytes.time_at(bytes_per_s))
        };
        Some(Ground {
            key: keys.key(),
            kind: GroundKind::Data,
            bytes: Some(bytes),
            expected: at(USUAL_KEYS_PER_S, USUAL_BYTES_PER_S),
            at_most: AT_MOST.plus(at(SLOWEST_KEYS_PER_S, SLOWEST_BYTES_PER_S)),
        })
    }

    fn errand(
        &self,
        errand: ErrandKind,
        params: &Params,
        place: &Place,
        tell: &mut dyn FnMut(Bytes),
    ) -> Result<Told, WorkError> {
        if errand == ErrandKind::Remove {
            return remove(place).map(|()| Told::default());
        }
        let keys = Keys::of(params);
        let mut server = open(place, Some(keys.number))?;
        match errand {
            ErrandKind::Make => {
                server.make(Needs::of(params, place.copies), tell)?;
                Ok(Told {
                    holds: true,
                    bytes: Some(keys.bytes()),
                })
            }
            ErrandKind::Check | ErrandKind::Remove => Ok(Told {
                holds: server.holds(keys)?,
                bytes: Some(keys.bytes()),
            }),
        }
    }

    fn reach(&self, place: &Place) -> Result<(), WorkError> {
        server_of(place.stand_in.as_ref()).map_or(Ok(()), |named| server::reach(place, named))
    }

    fn prepare(&self, params: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        self.check_params(params)?;
        let keys = Keys::of(params);
        let (writes, of) = writes_of(params)?;
        let setting = Setting {
            keys: keys.number,
            size: keys.size,
            pipeline: u32::try_from(params.count("pipeline")).unwrap_or(u32::MAX),
            writes,
            of,
            letter: Values::letter(place.seed),
        };
        let mut server = open(place, Some(keys.number))?;
        let anew = server.stand_on(Needs::of(params, place.copies))?;
        let all = server.all()?;
        let mut testing = Testing::start(params, setting, place, (server, all))?;
        testing.notes.extend(anew.then(|| ANEW.to_owned()));
        Ok(Box::new(testing))
    }
}

/// CPUs that this process may use.
fn cpus() -> u32 {
    let cpus = sys::affinity::allowed_cpus().map_or(1, |cpus| cpus.len());
    u32::try_from(cpus).unwrap_or(1).max(1)
}

/// The server that the test is to work on.
fn open(place: &Place, keys: Option<u64>) -> Result<Server, WorkError> {
    let stand_in = server_of(place.stand_in.as_ref());
    Server::open(
        place,
        stand_in.ok_or_else(|| WorkError::Unsupported(NEEDS.to_owned()))?,
        keys,
    )
}

/// Deletes our keys, whatever of others is there by now.
fn remove(place: &Place) -> Result<(), WorkError> {
    let removed = open(place, None).and_then(|mut server| server.remove());
    removed.map(drop).map_err(|why| {
        let named = server_of(place.stand_in.as_ref());
        named.map_or_else(
            || why.clone(),
            |named| left_there(&why, &named.path.display()),
        )
    })
}

struct Testing {
    threads: Threads<Clients>,
    counts: Vec<Arc<Counts>>,
    shared: Arc<Shared>,
    setting: Setting,
    server: Server,
    party: Party,
    /// Where the server may be asked.
    watch: Option<Watch>,
    /// All keys of the database when the round began.
    all: u64,
    notes: Vec<String>,
    /// Reads, and reads that found no key, when the measured part began.
    began: (u64, u64),
    /// Requests of the measured part.
    ops: u64,
}

impl Testing {
    /// Connects the clients and starts threads for them: one for each where requests arrive by themselves, so that one
    /// that is free takes the next, or where there are CPUs for all of them.
    fn start(
        params: &Params,
        setting: Setting,
        place: &Place,
        (mut server, all): (Server, u64),
    ) -> Result<Self, WorkError> {
        let copies = place.copies.max(1);
        let counts: Vec<Arc<Counts>> = (0..copies).map(|_| Arc::default()).collect();
        let shared = Arc::new(Shared {
            values: Values::new(setting.size),
            wrong: OnceLock::new(),
        });
        let shown: Arc<str> = server.shown().into();
        let rate = params.count(RATE.name);
        let queue = (rate > 0).then(|| Queue::random(rate, place.seed));
        let threads = if rate > 0 { copies } else { copies.min(cpus()) };
        let mut shares: Vec<Vec<Client>> = (0..threads).map(|_| Vec::new()).collect();
        for (number, counts) in (0..copies).zip(&counts) {
            let client = Client::new(
                server.client()?,
                Arc::clone(&shown),
                setting,
                Arc::clone(&shared),
                Arc::clone(counts),
                (place.seed, number),
            );
            shares[(number % threads) as usize].push(client);
        }
        let shares = shares.into_iter().map(|clients| {
            Clients::new(clients, (threads < copies).then(|| place.clock()))
                .map_err(|error| WorkError::failed("wait for", server.shown(), error))
        });
        let mut shares = shares.collect::<Result<Vec<_>, _>>()?.into_iter();
        let make = |_| shares.next().expect("there is one for each thread");
        // Where a thread has several, each batch is timed where its connection is known.
        let timing = if threads < copies {
            Timing::Off
        } else {
            Timing::Own
        };
        let facts = server.facts()?;
        let party = Party::new(server.process(), server.is_here());
        let watch = Watch::of(&server, setting.keys())?;
        let unwatched = watch.is_none().then(|| UNWATCHED.to_owned());
        let notes = facts.notes.into_iter().chain(party.note());
        let notes = notes.chain(unwatched).collect();
        let on = Place {
            copies: threads,
            ..place.clone()
        };
        Ok(Self {
            threads: Threads::start_at(&on, make, timing, |_| queue.clone())?,
            counts,
            shared,
            setting,
            server,
            party,
            watch,
            all,
            notes,
            began: (0, 0),
            ops: 0,
        })
    }

    fn clients(&self) -> impl Iterator<Item = &Client> {
        self.threads.all().flat_map(Clients::all)
    }

    /// What was recorded, once the threads have ended.
    fn latencies(&self) -> BTreeMap<String, Latencies> {
        let mut recorded = self.threads.all().filter_map(Clients::recorded);
        let Some(first) = recorded.next() else {
            return self.threads.latencies();
        };
        let mut all = first.named();
        for latencies in recorded.flat_map(Recorder::named) {
            if let Some(own) = all.get_mut(&latencies.0) {
                own.absorb(&latencies.1);
            }
        }
        all
    }

    /// Reads so far, and those that found no key.
    fn seen(&self) -> (u64, u64) {
        let add = |(reads, misses): (u64, u64), counts: &Arc<Counts>| {
            (
                reads + counts.reads.load(Ordering::Relaxed),
                misses + counts.misses.load(Ordering::Relaxed),
            )
        };
        self.counts.iter().fold((0, 0), add)
    }

    /// A reply that was wrong is more than an operation that failed.
    fn told(&self, error: WorkError) -> WorkError {
        let wrong = self.shared.wrong.get();
        wrong.map_or(error, |what| WorkError::Wrong(what.clone()))
    }

    /// What must hold of the database after a round: the server deleted none by itself, no key is gone, none is more,
    /// and what was written last is there.
    fn check(&mut self, misses: u64) -> Result<(), WorkError> {
        let wrong =
            |what: String, shown: String| Err(WorkError::Wrong(format!("`{shown}`: {what}")));
        if let Err(why) = self.server.spares(More::default()) {
            return Err(self.server.given_up(self.setting.keys, why));
        }
        let (shown, all) = (self.server.shown(), self.server.all()?);
        if all != self.all && !self.server.is_shared() && misses == 0 {
            let what = format!("the database holds {all} keys in place of {}", self.all);
            return wrong(what, shown);
        }
        let mut last: Vec<u64> = self.clients().flat_map(Client::last_written).collect();
        last.sort_unstable();
        last.dedup();
        let values = (&self.shared.values, self.setting.letter);
        match self.server.first_unwritten(&last, values)? {
            None => Ok(()),
            Some(number) => wrong(
                format!("key {number} does not hold what was written last, and acknowledged"),
                shown,
            ),
        }
    }

    /// Ends the round where the server has no room any more: our keys go before any other one has to.
    #[cold]
    fn give_way(&mut self) -> WorkError {
        // What clients met with is not what ends the round.
        let _ = self.threads.end();
        let why = self.server.short();
        self.server.given_up(self.setting.keys, why)
    }
}

impl Body for Testing {
    fn batch(&mut self, ops: u64, _: &mut Recorder) -> Result<u64, WorkError> {
        if self.watch.as_ref().is_some_and(Watch::ends) {
            return Err(self.give_way());
        }
        let each = u64::from(self.setting.pipeline);
        let done = self.threads.batch(ops.div_ceil(each));
        let done = done.map_err(|error| self.told(error))? * each;
        self.ops += done;
        Ok(done)
    }

    fn measured_part_begins(&mut self) {
        self.threads.measured_part_begins();
        self.began = self.seen();
        self.ops = 0;
        self.party.measured_part_begins();
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        let server_cpu = self.party.cpu_ns();
        let (reads, misses) = self.seen();
        let (reads, misses) = (reads - self.began.0, misses - self.began.1);
        self.threads.end().map_err(|error| self.told(error))?;
        let watch = self.watch.take();
        let interrupted = watch.is_some_and(|watch| watch.was_interrupted());
        self.notes
            .extend(interrupted.then(|| INTERRUPTED.to_owned()));
        self.check(self.seen().1)?;
        let mut finish = Finish {
            latencies: self.latencies(),
            notes: std::mem::take(&mut self.notes),
            party: self.party.process(),
            ..Finish::default()
        };
        finish.notes.extend(stood_still(&finish.latencies));
        finish.notes.extend(self.threads.notes());
        if reads > 0 {
            let hits = approx(reads - misses) / approx(reads);
            finish.reported.insert(HIT_RATE.to_owned(), hits);
        }
        party::tell(server_cpu, self.ops, &mut finish);
        Ok(finish)
    }
}
