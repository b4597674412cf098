//! `db.tpcb`: pgbench's built-in transaction on a PostgreSQL server: a deposit at one of the branches of a bank. It is
//! like TPC-B and no TPC-B, which asks for more.
//!
//! Clients, figures, and what is checked are `db.oltp`'s; the tables are pgbench's, and so are its statements.

use super::client::Setting;
use super::engines::Engine;
use super::mix::TPCB as DEPOSITS;
use super::oltp;
use super::rows::{Choice, Rows};
use super::server;
use super::spec::{METRICS, SERVER_CPU_TIME, TIME};
use super::stand_in;
use super::tables::Tables;
use crate::arrivals;
use engine::consent::Touch;
use engine::workload::{
    BadValue, Body, ErrandKind, OnStandIn, Place, StandIn, Told, WorkError, Workload,
};
use model::ground::Ground;
use model::headline::{Headline, Topic};
use model::host::HostFacts;
use model::params::Params;
use model::plan::{Settle, Shape};
use model::spec::{MetricDef, Nature, ParamDef, ParamKind, Spec, TestDef};
use model::units::Bytes;

/// The workload.
pub(crate) static TPCB: Tpcb = Tpcb;

/// Deposits at a bank.
#[derive(Debug)]
pub(crate) struct Tpcb;

/// What a case without a server of this kind is told.
const NEEDS: &str = "it works on a PostgreSQL server, which `--db postgres://user@host/db` names";

static SPEC: Spec = Spec {
    name: "db.tpcb",
    version: 1,
    nature: Nature::Database,
    title: "pgbench's built-in transaction on a PostgreSQL server: TPC-B-like, not TPC-B",
    doc: "One operation is the transaction of `pgbench -M prepared`, its built-in `tpcb-like`: BEGIN, an account's \
          balance is changed and read, a teller's and a branch's are changed, a row is added to the history, COMMIT: 7 \
          statements. Account, teller, branch and amount (-5000 to 5000) are random, all alike. Tables are pgbench's \
          by name, columns and rows, and carry kurabe's mark. Copies are threads, each with a connection of its own \
          and statements that are prepared once. TPC-B itself asks for more, and this is no result of it.\n\n\
          It needs a server: `--db postgres://user@host/db`. Transactions of the same branch wait for each other's \
          commit: with a `scale` below the number of copies that wait is what is measured, and a note says so. With \
          `rate` transactions arrive at random (pgbench's `-R`), and a latency counts from the arrival.",
    params: &[
        ParamDef {
            name: "scale",
            kind: ParamKind::Count {
                min: 1,
                max: 10_000,
            },
            default: "1",
            doc: "Branches (pgbench's `-s`), each with 10 tellers and 100,000 accounts, of 15 MiB.",
        },
        ParamDef {
            name: "fillfactor",
            kind: ParamKind::Count { min: 10, max: 100 },
            default: "100",
            doc: "How full the pages of all tables but the history are made, in per cent (pgbench's `-F`).",
        },
        TIME,
        arrivals::RATE,
    ],
    metrics: &METRICS,
    tests: &[TestDef::new(
        "db.tpcb",
        "PostgreSQL, TPC-B-like, not TPC-B: scale 1, prepared statements",
        &[],
    )],
    simulated: false,
    on_disk: false,
};

pub(super) fn tables(params: &Params) -> Tables {
    Tables {
        number: 1,
        size: u32::try_from(params.count("scale")).unwrap_or(u32::MAX),
        choice: Choice::Uniform,
        bank: Some(params.count("fillfactor")),
    }
}

/// What stands in, where that is a server of this kind.
fn server_of(stand_in: Option<&StandIn>) -> Option<&StandIn> {
    stand_in::of_kind(stand_in, Engine::Postgres)
}

/// The server that the test is to work on.
fn named(place: &Place) -> Result<&StandIn, WorkError> {
    server_of(place.stand_in.as_ref()).ok_or_else(|| WorkError::Unsupported(NEEDS.to_owned()))
}

impl Workload for Tpcb {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn shape(&self, params: &Params) -> Shape {
        Shape {
            settle: Settle::None,
            ..oltp::shape(params, tables(params).bytes())
        }
    }

    fn check_params(&self, params: &Params) -> Result<(), BadValue> {
        oltp::check_time(params)
    }

    fn metrics(&self, params: &Params) -> Vec<&'static MetricDef> {
        oltp::figures(params, true)
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
        let title = format!(
            "PostgreSQL, TPC-B-like, not TPC-B: scale {}, prepared statements, durable as the server is set",
            params.count("scale")
        );
        let headline = Headline::named(Topic::Database, "PostgreSQL TPC-B-like");
        let headline = Some(headline.beside("lat_ns_mean"));
        let metrics = self.metrics(params).into_iter().chain([&SERVER_CPU_TIME]);
        let shape = self.shape(params);
        let there = stand_in::case_on(server, title, headline, metrics.collect(), shape);
        Ok(Some(there))
    }

    fn ground(&self, params: &Params, _: &HostFacts, _: Option<&StandIn>) -> Option<Ground> {
        Some(oltp::ground(&tables(params)))
    }

    fn errand(
        &self,
        errand: ErrandKind,
        params: &Params,
        place: &Place,
        tell: &mut dyn FnMut(Bytes),
    ) -> Result<Told, WorkError> {
        server::errand(errand, &tables(params), place, named(place)?, tell)
    }

    fn reach(&self, place: &Place) -> Result<(), WorkError> {
        server_of(place.stand_in.as_ref()).map_or(Ok(()), |server| server::reach(place, server))
    }

    fn prepare(&self, params: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        self.check_params(params)?;
        let tables = tables(params);
        let setting = Setting {
            mix: &DEPOSITS,
            course: oltp::course(params),
            rows: Rows::new(tables.choice, tables.size),
            tables: tables.number,
            table_size: tables.size,
            range_size: 1,
        };
        oltp::begin_there(tables, setting, place, named(place)?)
    }
}
