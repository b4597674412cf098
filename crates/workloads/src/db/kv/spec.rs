//! What `db.kv` declares: parameters by the words of redis-benchmark and `memtier_benchmark`, and the figures.

use super::keys::KEYS_MAX;
use crate::arrivals::{LAG_MAX, LAG_MEAN, LATE_MEAN, RATE};
use crate::db::spec::SERVER_CPU;
use crate::storage::{mean, p50, p99, p999};
use crate::sysbench::LAT_MAX;
use model::latency::LAT;
use model::spec::{
    Amount, Fold, How, MetricClass, MetricDef, Nature, ParamDef, ParamKind, Spec, TestDef, Time,
};
use model::units::Unit;

/// The words of the parameter `mix`.
pub(super) const MIXES: [&str; 3] = ["get", "set", "mixed"];

/// The quantity that a test without reads has not.
pub(super) const HIT_RATE: &str = "hit_rate";

/// Requests of a batch at most.
const PIPELINE_MAX: u64 = 10_000;

pub(super) static SPEC: Spec = Spec {
    name: "db.kv",
    version: 1,
    nature: Nature::Database,
    title: "GET and SET requests to a Redis or Valkey server",
    doc: "One operation is one request: GET of a key, or SET of a key to a value of its length. Keys are chosen evenly \
          among those that were made before, so that reads find them. Each copy is a connection, over which \
          `pipeline` requests go in one write; the next ones go when all of them are answered, and every reply is \
          checked. A thread serves one connection, or several where there are more than CPUs.\n\n\
          It needs a server: `--db redis://host:6379/0`, or `--db 'redis:///0?socket=/run/redis/redis.sock'`. The \
          database must be empty or kurabe's own; keys begin with `kurabe:kv:`, a marker tells that they are ours, and \
          nothing else is deleted. Without a pipeline most of the time is the way through two kernels and back, and \
          most of the CPU theirs: the figure says how fast small messages go to and fro as much as how fast the server \
          is. A server on this machine shares the CPUs with the clients.",
    params: &[
        ParamDef {
            name: "mix",
            kind: ParamKind::Choice(&MIXES),
            default: "get",
            doc: "What is asked: GET, SET, or both by `ratio`.",
        },
        ParamDef {
            name: "keys",
            kind: ParamKind::Count {
                min: 1,
                max: KEYS_MAX,
            },
            default: "100000",
            doc: "How many keys (redis-benchmark's `-r`); each request takes one at random, all alike.",
        },
        ParamDef {
            name: "data_size",
            kind: ParamKind::Size,
            default: "3",
            doc: "Bytes of a value (redis-benchmark's `-d`), from 1 to 1M.",
        },
        ParamDef {
            name: "pipeline",
            kind: ParamKind::Count {
                min: 1,
                max: PIPELINE_MAX,
            },
            default: "1",
            doc: "Requests that a connection sends before it waits for the replies (redis-benchmark's `-P`). Each of \
                  them takes as long as all of them.",
        },
        ParamDef {
            name: "ratio",
            kind: ParamKind::Text,
            default: "1:10",
            doc: "With `mixed`: SETs to GETs (memtier_benchmark's `--ratio`), each request by chance.",
        },
        ParamDef {
            name: "rate",
            kind: RATE.kind,
            default: "0",
            doc: "Requests that arrive per second, at random (Poisson), for all copies together, whatever becomes of \
                  them; 0 for one after the other. With a rate a latency counts from the instant at which its request \
                  arrived.",
        },
        ParamDef {
            name: "time",
            kind: ParamKind::Duration,
            default: "1s",
            doc: "How long a round measures, half a second or more.",
        },
    ],
    metrics: &[
        MetricDef::rate(
            "requests_per_s",
            Unit::OpsPerSecond,
            MetricClass::Throughput,
            How::Per(Amount::Work, Time::Wall),
            "Requests of all connections that were answered, over the wall time of the measured part.",
        ),
        MetricDef::time(
            "cpu_ns_per_op",
            MetricClass::System,
            How::TimePerOp(Time::Cpu),
            "CPU time, user and system, of the process that asks, over the requests.",
        ),
        MetricDef::time(
            SERVER_CPU,
            MetricClass::System,
            How::Reported(Fold::Mean),
            "CPU time of the processes of a server on this machine in the measured part, over the requests; by the \
             kernel's ticks of some milliseconds.",
        ),
        mean(
            "lat_ns_mean",
            LAT,
            "Mean time of a request, from before its batch is put together to the last byte of the batch's replies; \
             with a rate from its arrival.",
        ),
        p50("lat_ns_p50", LAT),
        p99("lat_ns_p99", LAT),
        p999("lat_ns_p999", LAT),
        LAT_MAX,
        LAG_MEAN,
        LAG_MAX,
        LATE_MEAN,
        MetricDef::rate(
            HIT_RATE,
            Unit::Share,
            MetricClass::System,
            How::Reported(Fold::Mean),
            "Reads that found their key, of all reads of the measured part.",
        ),
    ],
    tests: &[
        TestDef::new(
            "db.kv-get",
            "Redis or Valkey, GET: 100,000 keys of 3 bytes, one request at a time",
            &[],
        ),
        TestDef::new(
            "db.kv-set",
            "Redis or Valkey, SET: 100,000 keys of 3 bytes, one request at a time",
            &[("mix", "set")],
        ),
        TestDef::new(
            "db.kv-mixed",
            "Redis or Valkey, SET to GET 1:10: 100,000 keys of 3 bytes, one request at a time",
            &[("mix", "mixed")],
        ),
    ],
    simulated: false,
    on_disk: false,
};
