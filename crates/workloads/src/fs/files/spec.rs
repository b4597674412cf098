//! What `fs.files` declares.

use crate::storage::{mean, p50, p99, p999};
use model::spec::{
    Fold, How, MetricClass, MetricDef, Nature, ParamDef, ParamKind, Spec, Stat, TestDef,
};
use model::units::Unit;

pub(super) static SPEC: Spec = Spec {
    name: "fs.files",
    version: 1,
    nature: Nature::FileSystem,
    title: "files made, asked for, opened, read, renamed, listed, synced and removed",
    doc: "One operation is one system call on one name, or two or three where a file has to be opened and closed for \
          it. Each is timed by itself, and the rate of a kind is over the time spent in that kind alone.\n\n\
          The directory is made before the first round, with `entries` files of `fill` bytes, and stays as large as it \
          is: each turn makes some new files, asks for, opens, reads, renames and lists some, syncs four, and removes \
          what it made. Where inodes, space or a quota do not allow as many entries, there are fewer, and the figures \
          say so. With `cache=cold` the kernel is told to forget all files first, which only root may do and the whole \
          machine feels, and each file is touched once; others than root see the data of files forgotten, and names \
          stay missing. Copies are processes that work in the same directory.",
    params: &[
        ParamDef {
            name: "entries",
            kind: ParamKind::Count {
                min: 1,
                max: 100_000_000,
            },
            default: "1000",
            doc: "Files in the directory.",
        },
        ParamDef {
            name: "fill",
            kind: ParamKind::Size,
            default: "4k",
            doc: "Bytes in each of them; at most 64M.",
        },
        ParamDef {
            name: "size",
            kind: ParamKind::Size,
            default: "4k",
            doc: "Bytes that are written to each new file, and read back; from 1 to 64M.",
        },
        ParamDef {
            name: "cache",
            kind: ParamKind::Choice(&["warm", "cold"]),
            default: "warm",
            doc: "Whether the kernel has the files in memory, or was told to forget them.",
        },
    ],
    metrics: METRICS,
    tests: TESTS,
    simulated: false,
    on_disk: true,
};

static TESTS: &[TestDef] = &[
    TestDef::new(
        "fs.files-1k",
        "small files in a directory of 1,000 (4 KiB, in memory)",
        &[],
    ),
    TestDef::new(
        "fs.files-1m",
        "small files in a directory of 1,000,000 (4 KiB, in memory)",
        &[("entries", "1000000"), ("fill", "0")],
    ),
    TestDef::new(
        "fs.files-large",
        "large files in a directory of 1,000 (1 MiB, in memory)",
        &[("size", "1M")],
    ),
    TestDef::new(
        "fs.files-cold",
        "small files in a directory of 1,000, forgotten by the kernel",
        &[("cache", "cold")],
    ),
    TestDef::new(
        "fs.files-1m-cold",
        "names in a directory of 1,000,000, forgotten by the kernel",
        &[("entries", "1000000"), ("fill", "0"), ("cache", "cold")],
    ),
    TestDef::new(
        "fs.files-large-cold",
        "64 large files (1 MiB), forgotten by the kernel",
        &[("entries", "64"), ("fill", "1M"), ("cache", "cold")],
    ),
];

const fn rate(quantity: &'static str, doc: &'static str) -> MetricDef {
    let how = How::Reported(Fold::Sum);
    MetricDef::rate(
        quantity,
        Unit::OpsPerSecond,
        MetricClass::Throughput,
        how,
        doc,
    )
}

/// Of operations of which a round has some hundred.
const fn p99_of_few(quantity: &'static str, name: &'static str) -> MetricDef {
    let how = How::Of(name, Stat::QuantileOfFew(0.99));
    let doc = "99th percentile of the same time; needs 100 operations in a round.";
    MetricDef::time(quantity, MetricClass::LatencyTail, how, doc)
}

/// Rate and latency of each kind, one after the other.
macro_rules! kinds {
    ($($name:literal $doc:literal,)* ; $($more:expr,)*) => {
        &[
            $(
                rate(concat!($name, "_ops_per_s"), concat!($doc, " Over the time spent in them.")),
                mean(concat!($name, "_ns_mean"), $name, concat!("The same: ", $doc)),
                p50(concat!($name, "_ns_p50"), $name),
                p99(concat!($name, "_ns_p99"), $name),
                p999(concat!($name, "_ns_p999"), $name),
            )*
            $($more,)*
        ]
    };
}

static METRICS: &[MetricDef] = kinds![
    "create" "A new file: from before open(2) with O_CREAT and O_EXCL to its return.",
    "stat" "What is known of a file that stands in the directory: fstatat(2), from call to return.",
    "open" "A file that stands in the directory: from before open(2) to the return of close(2).",
    "read" "A whole file: from before open(2) over its reading to the return of close(2).",
    "write" "Data of a new file: from before the first write(2) to the return of close(2).",
    "rename" "A new file gets another name in the same directory: renameat(2), from call to return.",
    "unlink" "A new file is removed: unlinkat(2), from call to return.",
    ;
    rate(
        "readdir_names_per_s",
        "Names read (getdents64(2), 32 KiB at a time), over the time spent in readings.",
    ),
    mean(
        "readdir_ns_mean",
        "readdir",
        "A reading of names: a directory of up to 4,096 from its beginning to its end, of a larger one what one call \
         gives, about a thousand.",
    ),
    p50("readdir_ns_p50", "readdir"),
    rate(
        "fsync_ops_per_s",
        "A new file that was just written is synced: fsync(2). Over the time spent in them.",
    ),
    mean(
        "fsync_ns_mean",
        "fsync",
        "The same, from call to return. What an earlier operation left to the journal is synced before, uncounted.",
    ),
    p50("fsync_ns_p50", "fsync"),
    p99_of_few("fsync_ns_p99", "fsync"),
    MetricDef::rate(
        "entries",
        Unit::Number,
        MetricClass::System,
        How::Setting,
        "Files that the directory has, beside those that rounds make and remove.",
    ),
];

/// What is done to files that were forgotten: nothing is made.
const COLD: [&str; 4] = ["stat_", "open_", "read_", "readdir_"];

/// The metrics of rounds with files in memory or forgotten, which hold data or none.
pub(super) fn metrics(cold: bool, hold_data: bool) -> Vec<&'static MetricDef> {
    let of = |metric: &&MetricDef, prefixes: &[&str]| {
        prefixes
            .iter()
            .any(|word| metric.quantity.starts_with(word))
    };
    let all = METRICS.iter();
    all.filter(|metric| !cold || of(metric, &COLD) || metric.is_setting())
        // A round touches each file once, and not ten thousand of them.
        .filter(|metric| !cold || !metric.quantity.ends_with("_p999"))
        .filter(|metric| !cold || hold_data || !metric.quantity.starts_with("read_"))
        .collect()
}
