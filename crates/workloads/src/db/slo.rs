//! `db.oltp-slo`: the highest rate of transactions that arrive by themselves, at which a percentile of their latency
//! stays below a limit.
//!
//! A round is a [`super::search`]. What a client does, and what is checked at the end, is `db.oltp`'s.

use super::client::Course;
use super::engines::Engine;
use super::oltp::OLTP;
use super::search::{ABOVE, CLOSED, HELD, HELD_LAT, Limit};
use super::spec::{MIX, RANGE_SIZE, ROWS, SYNCHRONOUS_PARAM, TABLE_SIZE, TABLES};
use crate::arrivals::{LAG_MAX, LAG_MEAN, LATE_MEAN};
use crate::sysbench::{LAT_MEAN, LAT_P95};
use engine::consent::Touch;
use engine::workload::{
    BadValue, Body, ErrandKind, OnStandIn, Place, StandIn, Told, WorkError, Workload, Writes,
};
use model::ground::Ground;
use model::headline::{Headline, Topic};
use model::host::HostFacts;
use model::num::round_to_u64;
use model::params::Params;
use model::plan::Shape;
use model::spec::{
    Fold, How, MetricClass, MetricDef, Nature, ParamDef, ParamKind, Role, Spec, TestDef,
};
use model::units::{Bytes, Nanos, Unit};

/// The workload.
pub(crate) static SLO: Slo = Slo;

/// The search for a rate.
#[derive(Debug)]
pub(crate) struct Slo;

const fn tps(quantity: &'static str, doc: &'static str) -> MetricDef {
    let how = How::Reported(Fold::Sum);
    MetricDef::rate(
        quantity,
        Unit::OpsPerSecond,
        MetricClass::Throughput,
        how,
        doc,
    )
}

static SPEC: Spec = Spec {
    name: "db.oltp-slo",
    version: 1,
    nature: Nature::Database,
    title: "The highest rate of sysbench's OLTP transactions that keeps a latency, on SQLite or on a server",
    doc: "Transactions of `db.oltp` arrive by themselves, at random as from many independent users, and whichever \
          connection is free takes the next one. A round searches the highest rate at which the percentile of `limit` \
          stays below its latency: rates double while they hold, and then the distance between the last one that held \
          and the first that did not is halved until it is 5 %. A latency counts from the arrival, so that waiting for \
          a free connection is part of it. Each rate is tried for `time`, and for as long as it takes until ten \
          transactions are expected beyond the percentile; one that lets more of them take longer, or lets the queue \
          grow, does not hold. A closed loop, whose rate is told beside, comes first: the search begins at half of \
          that rate.\n\n\
          More `--copies` are more connections. The closed loop of a server says how much it can do, this test how \
          much of that somebody who waits for an answer can use.",
    params: &[
        ParamDef {
            name: "limit",
            kind: ParamKind::Text,
            default: "p99:20ms",
            doc: "Which percentile is to stay below which latency: `p99:20ms`, `p99.9:5ms`.",
        },
        ParamDef {
            name: "time",
            kind: ParamKind::Duration,
            default: "1s",
            doc: "How long a rate is tried at least, and how long the closed loop is measured: half a second or more.",
        },
        MIX,
        TABLES,
        TABLE_SIZE,
        RANGE_SIZE,
        ROWS,
        SYNCHRONOUS_PARAM,
    ],
    metrics: &[
        tps(
            HELD,
            "The highest rate of arriving transactions that was tried and kept the limit.",
        ),
        tps(
            ABOVE,
            "The lowest rate that was tried and did not keep it: what holds is between the two.",
        )
        .acting(Role::Below),
        tps(
            CLOSED,
            "Committed transactions a second of the same connections where each begins the next one at once.",
        )
        .acting(Role::Below),
        MetricDef::time(
            HELD_LAT,
            MetricClass::LatencyTail,
            How::Reported(Fold::Mean),
            "The percentile of the limit at the highest rate that kept it, from the arrival of a transaction to its end.",
        ),
        LAT_MEAN,
        LAT_P95,
        LAG_MEAN,
        LAG_MAX,
        LATE_MEAN,
    ],
    tests: &[TestDef::new(
        "db.oltp-slo",
        "SQLite, highest rate of sysbench OLTP read-write that keeps a latency: special rows, WAL, synchronous FULL",
        &[],
    )],
    simulated: false,
    on_disk: true,
};

/// A search has fifteen steps at most, each of a minute, and more than twice that where a rate is not kept; or of
/// `time`.
const SEARCH_MAX: Nanos = Nanos::from_secs(2400);
const TIMES_MAX: u64 = 40;
/// And about so many steps, which are so much longer than what is judged of them.
const STEPS: f64 = 10.0;
const WITH_SETTLING: f64 = 1.25;
/// Where nobody knows better, rates of about so many a second are tried: a disk that syncs some hundred times a second
/// takes longer until a percentile can be judged, and memory less.
const USUAL_TPS: f64 = 200.0;

/// What a search is expected to take.
fn expected(params: &Params) -> Nanos {
    let percentile = limit(params).map_or(0.0, |limit| limit.events() / USUAL_TPS);
    let step = params.duration("time").as_secs_f64().max(percentile);
    Nanos(round_to_u64(STEPS * WITH_SETTLING * step * 1e9))
}

/// The headline of a search on this.
fn headline(on: &str, params: &Params) -> Headline {
    Headline::named(
        Topic::Database,
        &format!("{on} OLTP within {}", params.text("limit")),
    )
}

/// The limit of the parameters.
fn limit(params: &Params) -> Result<Limit, BadValue> {
    let expected = "a percentile up to 99.99 and a time up to a minute, such as `p99:20ms`";
    Limit::parse(params.text("limit")).ok_or_else(|| BadValue::new("limit", expected))
}

impl Workload for Slo {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn shape(&self, params: &Params) -> Shape {
        let times = |count: u64| Nanos(params.duration("time").0.saturating_mul(count));
        Shape {
            warmup: Nanos::ZERO,
            measure: expected(params),
            measure_max: Some(SEARCH_MAX.plus(times(TIMES_MAX))),
            fixed_work: true,
            windowless: true,
            ..OLTP.shape(params)
        }
    }

    fn check_params(&self, params: &Params) -> Result<(), BadValue> {
        limit(params)?;
        OLTP.check_params(params)
    }

    fn headline(&self, params: &Params) -> Option<Headline> {
        Some(headline("SQLite", params))
    }

    fn writes(&self, params: &Params) -> Writes {
        OLTP.writes(params)
    }

    fn implementation(&self, params: &Params) -> Option<String> {
        OLTP.implementation(params)
    }

    /// What a step came to is kept.
    fn allocates(&self, _: &Params) -> bool {
        true
    }

    fn touches(&self, params: &Params, stand_in: Option<&StandIn>) -> Vec<Touch> {
        OLTP.touches(params, stand_in)
    }

    fn on_stand_in(
        &self,
        params: &Params,
        stand_in: &StandIn,
    ) -> Result<Option<OnStandIn>, String> {
        let there = OLTP.on_stand_in(params, stand_in)?;
        Ok(there.map(|there| OnStandIn {
            title: format!(
                "{}; the highest rate within {}",
                there.title,
                params.text("limit")
            ),
            headline: Engine::of(&stand_in.path.to_string_lossy())
                .map(|engine| headline(engine.products(), params)),
            metrics: self.metrics(params),
            shape: Shape {
                settle: there.shape.settle,
                ..self.shape(params)
            },
            allocates: true,
            ..there
        }))
    }

    fn ground(
        &self,
        params: &Params,
        host: &HostFacts,
        stand_in: Option<&StandIn>,
    ) -> Option<Ground> {
        OLTP.ground(params, host, stand_in)
    }

    fn errand(
        &self,
        errand: ErrandKind,
        params: &Params,
        place: &Place,
        tell: &mut dyn FnMut(Bytes),
    ) -> Result<Told, WorkError> {
        OLTP.errand(errand, params, place, tell)
    }

    fn reach(&self, place: &Place) -> Result<(), WorkError> {
        OLTP.reach(place)
    }

    fn prepare(&self, params: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        let limit = limit(params)?;
        OLTP.begin(
            params,
            place,
            Course::Search(limit, params.duration("time")),
        )
    }
}
