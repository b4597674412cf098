//! What `storage.io` declares: parameters in the words of fio, metrics, and the tests made of it.

use super::job::{ENGINES, PATTERNS};
use model::job::{DEPTH_MAX, IoEngine, Job, Mix};
use model::params::Params;
use model::plan::{StorageLoad, TestFile};
use model::spec::{
    Amount, Better, Fold, How, MetricClass, MetricDef, Nature, ParamDef, ParamKind, Role, Spec,
    Stat, TestDef, Time,
};
use model::units::{Bytes, Nanos, Unit};

pub(super) static SPEC: Spec = Spec {
    name: "storage.io",
    version: 2,
    nature: Nature::Storage,
    title: "reads and writes of a test file",
    doc: "One operation reads or writes one block of a test file, which lies in the work directory (`--dir`), was \
          written completely with incompressible data before the first round, and is used by all rounds of the run; or \
          of the device (`--device`) or existing file (`--file`) that is named in its place. \
          The queue is kept full: as soon as an operation is over the next one starts, unless a rate, a pause or \
          batches are asked for. With several copies every copy is a process with a queue of its own on the same \
          file; each goes through all blocks in a random order of its own, or through its own part of the file one \
          after the other.",
    params: PARAMS,
    metrics: METRICS,
    tests: TESTS,
    simulated: false,
    on_disk: true,
};

/// The largest file that is chosen where none of a size is asked for.
const SIZE_AUTO_MAX: Bytes = Bytes(2 << 30);

/// What a case of these parameters asks of the storage.
pub(super) fn load(params: &Params) -> StorageLoad {
    let size = params.size("size");
    let content =
        ["buffer_compress_percentage", "dedupe_percentage"].map(|name| params.count(name));
    StorageLoad {
        depth: params.count("iodepth"),
        paced: ["rate_iops", "rate_percent"].map(|name| params.count(name)) != [0, 0]
            || params.duration("thinktime") > Nanos::ZERO,
        direct: params.switch("direct"),
        file: (!params.text("rw").contains("trim")).then(|| TestFile {
            // Tests share a file where they ask for the same size and content.
            name: format!("{size:?} {content:?}"),
            size_max: if size.0 > 0 { size } else { SIZE_AUTO_MAX },
            block: params.size("bs"),
        }),
    }
}

const fn switch(name: &'static str, default: &'static str, doc: &'static str) -> ParamDef {
    ParamDef {
        name,
        kind: ParamKind::Switch,
        default,
        doc,
    }
}

const fn count(
    name: &'static str,
    min: u64,
    max: u64,
    default: &'static str,
    doc: &'static str,
) -> ParamDef {
    ParamDef {
        name,
        kind: ParamKind::Count { min, max },
        default,
        doc,
    }
}

const MANY: u64 = 1 << 40;

static PARAMS: &[ParamDef] = &[
    ParamDef {
        name: "rw",
        kind: ParamKind::Choice(PATTERNS),
        default: "randread",
        doc: "What is done, and in which order: `rand` for random, `rw` for reads and writes, `trim` for giving ranges \
              back to the file system.",
    },
    ParamDef {
        name: "bs",
        kind: ParamKind::Size,
        default: "4k",
        doc: "Bytes of one operation. With O_DIRECT a multiple of what the device asks for, mostly 512 or 4096.",
    },
    ParamDef {
        name: "size",
        kind: ParamKind::Size,
        default: "0",
        doc: "Bytes of the test file; 0 chooses twice the memory, from 1 to 2 GiB, and less where space is short. At \
              most half of the free space is used, and at least 1 GiB stays free, or 10 % of a small file system.",
    },
    count(
        "iodepth",
        1,
        DEPTH_MAX as u64,
        "1",
        "Operations under way at the same time, in each copy.",
    ),
    count(
        "batch",
        0,
        DEPTH_MAX as u64,
        "0",
        "Completions that are waited for, taken and begun again together. It spares calls, and up to that many operations \
         fewer than `iodepth` are under way. 0 keeps the queue full.",
    ),
    ParamDef {
        name: "ioengine",
        kind: ParamKind::Choice(ENGINES),
        default: "auto",
        doc: "How operations reach the kernel; `auto` is psync for an iodepth of 1, and else the first of io_uring, \
              libaio and psync that works here. `null` does nothing and shows what the program itself costs.",
    },
    switch("direct", "yes", "Past the page cache (O_DIRECT)."),
    count(
        "fsync",
        0,
        MANY,
        "0",
        "An fsync after every so many writes; 0 for none.",
    ),
    count(
        "fdatasync",
        0,
        MANY,
        "0",
        "An fdatasync after every so many writes; 0 for none.",
    ),
    ParamDef {
        name: "sync",
        kind: ParamKind::Choice(&["none", "dsync", "sync"]),
        default: "none",
        doc: "When a write returns: when the kernel has the data, when the data is on the device (O_DSYNC), or when \
              the file's attributes are too (O_SYNC).",
    },
    count(
        "rwmixread",
        0,
        100,
        "50",
        "The share of reads in per cent, where there are both reads and writes.",
    ),
    switch(
        "norandommap",
        "no",
        "Any block at any time; otherwise every block comes once before any comes again.",
    ),
    count(
        "rate_iops",
        0,
        100_000_000,
        "0",
        "Operations per second and copy that arrive, whatever becomes of them; latencies then count from the intended \
         start. 0 for as many as possible.",
    ),
    count(
        "rate_percent",
        0,
        100,
        "0",
        "The same rate as a share of what the test `rate_of` has come to in this run so far, at the median, with as many \
         copies. That test is measured too, and comes first in every pass. 0 for no such rate.",
    ),
    ParamDef {
        name: "rate_of",
        kind: ParamKind::Text,
        default: "",
        doc: "The test of whose operations per second `rate_percent` is a share.",
    },
    ParamDef {
        name: "rate_process",
        kind: ParamKind::Choice(&["linear", "poisson"]),
        default: "linear",
        doc: "With a rate: at equal distances, or at random as from many independent users.",
    },
    ParamDef {
        name: "thinktime",
        kind: ParamKind::Duration,
        default: "0",
        doc: "A pause after every `thinktime_blocks` operations.",
    },
    count(
        "thinktime_blocks",
        1,
        MANY,
        "1",
        "Operations between two pauses.",
    ),
    count(
        "buffer_compress_percentage",
        0,
        100,
        "0",
        "The share of each 4 KiB of data that is zeros, to find out whether the storage compresses.",
    ),
    count(
        "dedupe_percentage",
        0,
        100,
        "0",
        "The share of blocks that equal each other, to find out whether the storage deduplicates.",
    ),
    switch(
        "hipri",
        "no",
        "Poll the device for completions (io_uring and pvsync2, with O_DIRECT, on devices that can).",
    ),
    switch(
        "sqthread_poll",
        "no",
        "A kernel thread polls for submissions and uses a CPU of its own for it (io_uring).",
    ),
    switch(
        "registerfiles",
        "yes",
        "Register the file with the kernel (io_uring).",
    ),
    switch(
        "fixedbufs",
        "yes",
        "Register the buffers with the kernel (io_uring).",
    ),
];

pub(super) const fn rate(
    quantity: &'static str,
    unit: Unit,
    how: How,
    doc: &'static str,
) -> MetricDef {
    MetricDef::rate(quantity, unit, MetricClass::Throughput, how, doc)
}

pub(crate) const fn mean(
    quantity: &'static str,
    name: &'static str,
    doc: &'static str,
) -> MetricDef {
    let how = How::Of(name, Stat::Mean);
    MetricDef::time(quantity, MetricClass::LatencyTypical, how, doc)
}

pub(crate) const fn p50(quantity: &'static str, name: &'static str) -> MetricDef {
    let how = How::Of(name, Stat::Quantile(0.5));
    let doc = "Median of the same time.";
    MetricDef::time(quantity, MetricClass::LatencyTypical, how, doc)
}

pub(crate) const fn p99(quantity: &'static str, name: &'static str) -> MetricDef {
    let how = How::Of(name, Stat::Quantile(0.99));
    let doc = "99th percentile of the same time.";
    MetricDef::time(quantity, MetricClass::LatencyTail, how, doc)
}

pub(crate) const fn p999(quantity: &'static str, name: &'static str) -> MetricDef {
    let how = How::Of(name, Stat::Quantile(0.999));
    let doc = "99.9th percentile of the same time; needs 10,000 operations in a round.";
    MetricDef::time(quantity, MetricClass::LatencyExtreme, how, doc)
}

const fn share(quantity: &'static str, better: Better, doc: &'static str) -> MetricDef {
    MetricDef {
        quantity,
        unit: Unit::Share,
        better,
        class: MetricClass::System,
        how: How::Reported(Fold::Mean),
        role: Role::Plain,
        doc,
    }
}

const CLAT: &str = "Mean time from the return of the submitting call to the completion being seen; with psync and \
                    pvsync2 the time of the one call that does it all.";
const SLAT: &str = "Mean time from before the operations of a batch are prepared to the return of the call that \
                    submits them; psync and pvsync2 have none.";
const LAT: &str = "Mean time from before an operation is prepared to its completion being seen; with a rate from its \
                   intended start.";

/// The rate that a share of something was.
pub(super) const RATE: &str = "arriving_iops";

/// The rate that a share of another test's came to.
pub(super) const ARRIVING: MetricDef = rate(
    RATE,
    Unit::OpsPerSecond,
    How::Setting,
    "Operations per second and copy that arrived, where that is a share of what another test came to.",
)
.acting(Role::Offered);

pub(super) static METRICS: &[MetricDef] = &[
    rate(
        "iops",
        Unit::OpsPerSecond,
        How::Per(Amount::Operations, Time::Wall),
        "Reads, writes and trims completed, over wall time, summed over the copies.",
    ),
    rate(
        "bw_bytes_per_s",
        Unit::BytesPerSecond,
        How::Per(Amount::Reported("bytes"), Time::Wall),
        "Bytes read, written and trimmed, over wall time, summed over the copies.",
    ),
    rate(
        "read_iops",
        Unit::OpsPerSecond,
        How::Per(Amount::Reported("reads"), Time::Wall),
        "Reads alone, of a mixed test.",
    ),
    rate(
        "write_iops",
        Unit::OpsPerSecond,
        How::Per(Amount::Reported("writes"), Time::Wall),
        "Writes alone, of a mixed test.",
    ),
    mean(
        "sync_ns_mean",
        "sync",
        "Mean time of an fsync or fdatasync call, from submission to completion.",
    ),
    p50("sync_ns_p50", "sync"),
    p99("sync_ns_p99", "sync"),
    p999("sync_ns_p999", "sync"),
    mean("clat_ns_mean", "clat", CLAT),
    p50("clat_ns_p50", "clat"),
    p99("clat_ns_p99", "clat"),
    p999("clat_ns_p999", "clat"),
    mean("read_clat_ns_mean", "read_clat", CLAT),
    p50("read_clat_ns_p50", "read_clat"),
    p99("read_clat_ns_p99", "read_clat"),
    p999("read_clat_ns_p999", "read_clat"),
    mean("write_clat_ns_mean", "write_clat", CLAT),
    p50("write_clat_ns_p50", "write_clat"),
    p99("write_clat_ns_p99", "write_clat"),
    p999("write_clat_ns_p999", "write_clat"),
    mean("lat_ns_mean", "lat", LAT),
    p50("lat_ns_p50", "lat"),
    p99("lat_ns_p99", "lat"),
    p999("lat_ns_p999", "lat"),
    mean("read_lat_ns_mean", "read_lat", LAT),
    p50("read_lat_ns_p50", "read_lat"),
    p99("read_lat_ns_p99", "read_lat"),
    p999("read_lat_ns_p999", "read_lat"),
    mean("write_lat_ns_mean", "write_lat", LAT),
    p50("write_lat_ns_p50", "write_lat"),
    p99("write_lat_ns_p99", "write_lat"),
    p999("write_lat_ns_p999", "write_lat"),
    mean("slat_ns_mean", "slat", SLAT),
    p50("slat_ns_p50", "slat"),
    p99("slat_ns_p99", "slat"),
    p999("slat_ns_p999", "slat"),
    mean("read_slat_ns_mean", "read_slat", SLAT),
    p50("read_slat_ns_p50", "read_slat"),
    p99("read_slat_ns_p99", "read_slat"),
    p999("read_slat_ns_p999", "read_slat"),
    mean("write_slat_ns_mean", "write_slat", SLAT),
    p50("write_slat_ns_p50", "write_slat"),
    p99("write_slat_ns_p99", "write_slat"),
    p999("write_slat_ns_p999", "write_slat"),
    mean(
        "late_ns_mean",
        "late",
        "Mean lateness of this program with a rate: from when an operation was to start and a slot was free, to when it \
         was prepared. What the storage makes operations wait is not in it.",
    ),
    p99("late_ns_p99", "late"),
    ARRIVING,
    MetricDef::time(
        "cpu_ns_per_op",
        MetricClass::System,
        How::TimePerOp(Time::Cpu),
        "CPU time of this program and of the kernel on its behalf, per operation.",
    ),
    share(
        "cached_share",
        Better::Lower,
        "The share of bytes read that no device delivered to this program (/proc/self/io), because some cache had them.",
    )
    .acting(Role::Cached),
    share(
        "device_busy_share",
        Better::Higher,
        "The share of the time in which the device behind the file had at least one operation under way, whoever asked \
         for it (/sys/dev/block/*/stat).",
    )
    .acting(Role::DeviceBusy),
];

/// Reads that arrive by themselves, at so many per cent of what 32 at a time come to.
macro_rules! loaded {
    ($percent:literal) => {
        TestDef::new(
            concat!("storage.randread-4k-load", $percent),
            concat!(
                "random reads of 4 KiB that arrive by themselves, at ",
                $percent,
                " % of the rate of 32 at a time"
            ),
            &[
                ("rw", "randread"),
                ("iodepth", "32"),
                ("rate_percent", $percent),
                ("rate_of", "storage.randread-4k-qd32"),
                ("rate_process", "poisson"),
            ],
        )
    };
}

static TESTS: &[TestDef] = &[
    TestDef::new(
        "storage.randread-4k",
        "random reads of 4 KiB, one at a time",
        &[("rw", "randread")],
    ),
    TestDef::new(
        "storage.randread-4k-qd32",
        "random reads of 4 KiB, 32 at a time",
        &[("rw", "randread"), ("iodepth", "32")],
    ),
    TestDef::new(
        "storage.randwrite-4k",
        "random writes of 4 KiB, one at a time",
        &[("rw", "randwrite")],
    ),
    TestDef::new(
        "storage.randwrite-4k-qd32",
        "random writes of 4 KiB, 32 at a time",
        &[("rw", "randwrite"), ("iodepth", "32")],
    ),
    TestDef::new(
        "storage.randrw-4k-qd32",
        "70 % random reads and 30 % random writes of 4 KiB, 32 at a time",
        &[("rw", "randrw"), ("rwmixread", "70"), ("iodepth", "32")],
    ),
    TestDef::new(
        "storage.read-4k",
        "sequential reads of 4 KiB, one at a time",
        &[("rw", "read")],
    ),
    TestDef::new(
        "storage.read-4k-qd32",
        "sequential reads of 4 KiB, 32 at a time",
        &[("rw", "read"), ("iodepth", "32")],
    ),
    TestDef::new(
        "storage.write-4k",
        "sequential writes of 4 KiB, one at a time",
        &[("rw", "write")],
    ),
    TestDef::new(
        "storage.write-4k-qd32",
        "sequential writes of 4 KiB, 32 at a time",
        &[("rw", "write"), ("iodepth", "32")],
    ),
    TestDef::new(
        "storage.read-1m",
        "sequential reads of 1 MiB, 8 at a time",
        &[("rw", "read"), ("bs", "1M"), ("iodepth", "8")],
    ),
    TestDef::new(
        "storage.write-1m",
        "sequential writes of 1 MiB, 8 at a time",
        &[("rw", "write"), ("bs", "1M"), ("iodepth", "8")],
    ),
    TestDef::new(
        "storage.read-1m-qd1",
        "sequential reads of 1 MiB, one at a time",
        &[("rw", "read"), ("bs", "1M")],
    ),
    TestDef::new(
        "storage.write-1m-qd1",
        "sequential writes of 1 MiB, one at a time",
        &[("rw", "write"), ("bs", "1M")],
    ),
    TestDef::new(
        "storage.mixed-4k",
        "random reads and writes of 4 KiB, half and half, 64 at a time",
        &[("rw", "randrw"), ("iodepth", "64")],
    ),
    TestDef::new(
        "storage.mixed-64k",
        "random reads and writes of 64 KiB, half and half, 64 at a time",
        &[("rw", "randrw"), ("iodepth", "64"), ("bs", "64k")],
    ),
    TestDef::new(
        "storage.mixed-512k",
        "random reads and writes of 512 KiB, half and half, 64 at a time",
        &[("rw", "randrw"), ("iodepth", "64"), ("bs", "512k")],
    ),
    TestDef::new(
        "storage.mixed-1m",
        "random reads and writes of 1 MiB, half and half, 64 at a time",
        &[("rw", "randrw"), ("iodepth", "64"), ("bs", "1M")],
    ),
    TestDef::new(
        "storage.mixed-8k-qd8",
        "random reads and writes of 8 KiB, half and half, 8 at a time, as vdbench loads a raw volume",
        &[
            ("rw", "randrw"),
            ("iodepth", "8"),
            ("bs", "8k"),
            ("norandommap", "yes"),
        ],
    ),
    TestDef::new(
        "storage.read-32m",
        "sequential reads of 32 MiB, one at a time",
        &[("rw", "read"), ("bs", "32M")],
    ),
    TestDef::new(
        "storage.write-32m",
        "sequential writes of 32 MiB, one at a time",
        &[("rw", "write"), ("bs", "32M")],
    ),
    TestDef::new(
        "storage.randread-32m",
        "random reads of 32 MiB, one at a time",
        &[("rw", "randread"), ("bs", "32M")],
    ),
    TestDef::new(
        "storage.randwrite-32m",
        "random writes of 32 MiB, one at a time",
        &[("rw", "randwrite"), ("bs", "32M")],
    ),
    TestDef::new(
        "storage.fsync-4k",
        "a random write of 4 KiB and an fsync, one after the other",
        &[("rw", "randwrite"), ("direct", "no"), ("fsync", "1")],
    ),
    TestDef::new(
        "storage.dsync-4k",
        "random writes of 4 KiB with O_DSYNC, one at a time",
        &[("rw", "randwrite"), ("sync", "dsync")],
    ),
    loaded!("25"),
    loaded!("50"),
    loaded!("70"),
    loaded!("75"),
    loaded!("90"),
    TestDef::new(
        "storage.null-qd32",
        "nothing at all, 32 at a time: what this program itself costs",
        &[("rw", "randread"), ("iodepth", "32"), ("ioengine", "null")],
    ),
];

/// Blocks from this size on are read and written for bandwidth.
const LARGE: u64 = 128 << 10;

/// Whether bandwidth says more about the job than operations per second.
pub(super) fn leads_with_bandwidth(job: &Job) -> bool {
    job.block_bytes >= LARGE
}

/// The metrics that mean something for this job, the most telling first.
pub(super) fn metrics(job: &Job) -> Vec<&'static MetricDef> {
    let mixed = job.pattern.mix == Mix::ReadWrite;
    let syncs = job.fsync_every > 0 || job.fdatasync_every > 0;
    let applies = |metric: &&MetricDef| {
        let of = |name: &str| match name {
            "sync" => syncs,
            "late" => job.is_rated(),
            _ => {
                let (of_mix, kind) = match name.split_once('_') {
                    Some((_, kind)) => (true, kind),
                    None => (false, name),
                };
                of_mix == mixed
                    && match kind {
                        "slat" => !job.is_synchronous(),
                        "lat" => !job.is_synchronous() || job.is_rated(),
                        _ => true,
                    }
            }
        };
        match (metric.how, metric.quantity) {
            (How::Of(name, _), _) => of(name),
            (_, "read_iops" | "write_iops") => mixed,
            (_, "cached_share") => job.pattern.mix.reads() && job.engine != IoEngine::Null,
            (_, "device_busy_share") => job.engine != IoEngine::Null,
            _ => true,
        }
    };
    let mut metrics: Vec<_> = METRICS.iter().filter(applies).collect();
    if leads_with_bandwidth(job) {
        metrics.swap(0, 1);
    }
    metrics
}
