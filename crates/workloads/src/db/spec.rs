//! What `db.oltp` declares: parameters by sysbench's words, and the figures.

use super::mix::Mix;
use super::rows::Choice;
use crate::arrivals::{self, LAG_MAX, LAG_MEAN, LATE_MEAN};
use crate::sysbench::{LAT_MAX, LAT_MEAN, LAT_MIN, LAT_P95};
use model::latency::LAT;
use model::spec::{
    Amount, Better, Fold, How, MetricClass, MetricDef, Nature, ParamDef, ParamKind, Spec, Stat,
    TestDef, Time,
};
use model::units::Unit;

const CLASS: MetricClass = MetricClass::Throughput;

/// The words of the parameter `synchronous`, those of SQLite.
pub(super) const SYNCHRONOUS: [&str; 2] = ["FULL", "NORMAL"];

const CPU_TIME: MetricDef = MetricDef::time(
    "cpu_ns_per_op",
    MetricClass::System,
    How::TimePerOp(Time::Cpu),
    "CPU time, user and system, of the process over the committed transactions: client and \
     SQLite together, or the client of a server alone.",
);

/// The quantity of what a server on this machine uses.
pub(super) const SERVER_CPU: &str = "server_cpu_ns_per_op";

/// What a test has on a server alone.
pub(super) static SERVER_CPU_TIME: MetricDef = MetricDef::time(
    SERVER_CPU,
    MetricClass::System,
    How::Reported(Fold::Mean),
    "CPU time of the processes of a server on this machine in the measured part, over the committed transactions; by the \
     kernel's ticks of some milliseconds.",
);

const LAT_STDDEV: MetricDef = MetricDef::time(
    "lat_ns_stddev",
    MetricClass::LatencyTail,
    How::Of(LAT, Stat::Deviation),
    "Standard deviation of the times of all events from their mean.",
);

const LAT_P99: MetricDef = MetricDef::time(
    "lat_ns_p99",
    MetricClass::LatencyTail,
    How::Of(LAT, Stat::Quantile(0.99)),
    "99 % of the events of all copies took no longer.",
);

pub(super) const LAT_P999: MetricDef = MetricDef::time(
    "lat_ns_p999",
    MetricClass::LatencyExtreme,
    How::Of(LAT, Stat::Quantile(0.999)),
    "With a rate: 99.9 % of the events of all copies took no longer.",
);

const RETRIES: MetricDef = MetricDef {
    better: Better::Lower,
    ..MetricDef::rate(
        "retries_per_transaction",
        Unit::Number,
        MetricClass::LatencyTail,
        How::Reported(Fold::Mean),
        "Tries that another connection put an end to, over the transactions that were committed: SQLite's lock \
         was taken, or a server told a deadlock, a row of that number, a serialization failure or a wait that was \
         too long. Each is followed by a wait of up to 0.1 ms, then up to twice as long each time, up to 10 ms.",
    )
};

pub(super) const MIX: ParamDef = ParamDef {
    name: "mix",
    kind: ParamKind::Choice(&Mix::WORDS),
    default: "read_write",
    doc: "What a transaction is made of: sysbench's script `oltp_MIX`, with its numbers of statements.",
};

pub(super) const TABLES: ParamDef = ParamDef {
    name: "tables",
    kind: ParamKind::Count { min: 1, max: 100 },
    default: "1",
    doc: "How many tables (`--tables`); each group of statements takes one at random.",
};

pub(super) const TABLE_SIZE: ParamDef = ParamDef {
    name: "table_size",
    kind: ParamKind::Count {
        min: 1,
        max: 10_000_000,
    },
    default: "10000",
    doc: "Rows of each table (`--table_size`); 10,000 take 2.3 MiB.",
};

pub(super) const RANGE_SIZE: ParamDef = ParamDef {
    name: "range_size",
    kind: ParamKind::Count {
        min: 1,
        max: 100_000,
    },
    default: "100",
    doc: "Rows of a range (`--range_size`).",
};

pub(super) const ROWS: ParamDef = ParamDef {
    name: "rows",
    kind: ParamKind::Choice(&Choice::WORDS),
    default: "special",
    doc: "How rows are chosen (`--rand-type`): three of four picks evenly from 0.75 % of the table in its \
          middle and the rest near it, or evenly from all of it.",
};

pub(super) const SYNCHRONOUS_PARAM: ParamDef = ParamDef {
    name: "synchronous",
    kind: ParamKind::Choice(&SYNCHRONOUS),
    default: "FULL",
    doc: "How durable a commit is: FULL syncs the log at each, NORMAL only when the log is copied back.",
};

pub(super) const TIME: ParamDef = ParamDef {
    name: "time",
    kind: ParamKind::Duration,
    default: "1s",
    doc: "How long a round measures, half a second or more (`--time`, which is 10 s there; pgbench's `-T`).",
};

/// What transactions are measured by.
pub(super) static METRICS: [MetricDef; 14] = [
    MetricDef::rate(
        "tps",
        Unit::OpsPerSecond,
        CLASS,
        How::Per(Amount::Work, Time::Wall),
        "Committed transactions of all connections, over the wall time of the measured part: sysbench's \
         transactions per second, pgbench's tps.",
    ),
    MetricDef::rate(
        "qps",
        Unit::OpsPerSecond,
        CLASS,
        How::Per(Amount::Reported("statements"), Time::Wall),
        "Statements of the same transactions, BEGIN and COMMIT among them and those of tries that ended without a \
         commit not, over the same time: sysbench's queries per second.",
    ),
    CPU_TIME,
    LAT_MEAN,
    LAT_STDDEV,
    LAT_MIN,
    LAT_P95,
    LAT_P99,
    LAT_P999,
    LAT_MAX,
    LAG_MEAN,
    LAG_MAX,
    LATE_MEAN,
    RETRIES,
];

pub(super) static SPEC: Spec = Spec {
    name: "db.oltp",
    version: 1,
    nature: Nature::Database,
    title: "sysbench's OLTP tests on the SQLite inside of this program, or on a server of PostgreSQL, MySQL or MariaDB",
    doc: "One operation is one transaction of sysbench 1.0's OLTP tests, its events: for `read_write` BEGIN, ten rows \
          by their number, a range of 100 rows, the sum of one, one in order, one in order with each value once, two \
          updates, a row deleted and inserted again, COMMIT: 20 statements. Statements are prepared once for each \
          connection. Copies are threads of one process, each with a connection of its own to one database file in \
          the work directory, whose commits go to a write-ahead log: with `synchronous` FULL a commit is on the disk \
          before the next one begins, with NORMAL the last ones are lost when the power fails.\n\n\
          With `--db postgres://user@host:port/db` or `--db mysql://user@host:port/db` the same transactions go to \
          a server of PostgreSQL, MySQL or MariaDB, each connection with a socket of its own, and what follows of \
          SQLite and `synchronous` does not hold: a commit is as durable as the server is set, which the notes \
          tell, and tests whose names end in `-normal` are left out.\n\n\
          SQLite is a library: there is no server, no network and no login in these figures, and they are none of \
          a server. One connection writes at a time, whichever rows it writes: more copies show how those \
          that wait get along, not how a server shares locks. The tables are small and stay in memory, so that reads \
          ask the CPU and commits the disk's flush. Rows are chosen as sysbench 1.0 does (`special`) or evenly \
          (`uniform`, as 1.1).\n\n\
          With `rate` transactions arrive by themselves, at random as from many independent users, whether the ones \
          before are done or not (`--rate`); whichever connection is free takes the next one, and a latency counts \
          from the arrival. A database that stands still for a second shows in all that arrived meanwhile.",
    params: &[
        MIX,
        TABLES,
        TABLE_SIZE,
        RANGE_SIZE,
        ROWS,
        SYNCHRONOUS_PARAM,
        TIME,
        arrivals::RATE,
    ],
    metrics: &METRICS,
    tests: &[
        TestDef::new(
            "db.oltp-read-write",
            "SQLite, sysbench OLTP read-write: special rows, WAL, synchronous FULL",
            &[],
        ),
        TestDef::new(
            "db.oltp-read-write-normal",
            "SQLite, sysbench OLTP read-write: special rows, WAL, synchronous NORMAL",
            &[("synchronous", "NORMAL")],
        ),
        TestDef::new(
            "db.oltp-read-only",
            "SQLite, sysbench OLTP read-only: special rows, WAL, synchronous FULL",
            &[("mix", "read_only")],
        ),
        TestDef::new(
            "db.oltp-write-only",
            "SQLite, sysbench OLTP write-only: special rows, WAL, synchronous FULL",
            &[("mix", "write_only")],
        ),
        TestDef::new(
            "db.oltp-write-only-normal",
            "SQLite, sysbench OLTP write-only: special rows, WAL, synchronous NORMAL",
            &[("mix", "write_only"), ("synchronous", "NORMAL")],
        ),
        TestDef::new(
            "db.point-select",
            "SQLite, sysbench point select: special rows, WAL, synchronous FULL",
            &[("mix", "point_select")],
        ),
        TestDef::new(
            "db.update-index",
            "SQLite, sysbench update of an indexed column: special rows, WAL, synchronous FULL",
            &[("mix", "update_index")],
        ),
        TestDef::new(
            "db.update-index-normal",
            "SQLite, sysbench update of an indexed column: special rows, WAL, synchronous NORMAL",
            &[("mix", "update_index"), ("synchronous", "NORMAL")],
        ),
        TestDef::new(
            "db.update-non-index",
            "SQLite, sysbench update of a column without index: special rows, WAL, synchronous FULL",
            &[("mix", "update_non_index")],
        ),
        TestDef::new(
            "db.update-non-index-normal",
            "SQLite, sysbench update of a column without index: special rows, WAL, synchronous NORMAL",
            &[("mix", "update_non_index"), ("synchronous", "NORMAL")],
        ),
        TestDef::new(
            "db.insert",
            "SQLite, sysbench insert: special rows, WAL, synchronous FULL",
            &[("mix", "insert")],
        ),
        TestDef::new(
            "db.insert-normal",
            "SQLite, sysbench insert: special rows, WAL, synchronous NORMAL",
            &[("mix", "insert"), ("synchronous", "NORMAL")],
        ),
        TestDef::new(
            "db.delete",
            "SQLite, sysbench delete: special rows, WAL, synchronous FULL",
            &[("mix", "delete")],
        ),
        TestDef::new(
            "db.delete-normal",
            "SQLite, sysbench delete: special rows, WAL, synchronous NORMAL",
            &[("mix", "delete"), ("synchronous", "NORMAL")],
        ),
    ],
    simulated: false,
    on_disk: true,
};
