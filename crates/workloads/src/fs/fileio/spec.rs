//! What `fs.fileio` declares: parameters by the options of sysbench, and the figures that it prints.

use super::rules::Mode;
use crate::sysbench::{LAT_MAX, LAT_MEAN, LAT_MIN, LAT_P95, events_per_cpu_s, events_per_s};
use model::spec::{Fold, How, MetricClass, MetricDef, Nature, ParamDef, ParamKind, Spec, TestDef};
use model::units::Unit;

const CLASS: MetricClass = MetricClass::Throughput;

const fn rate(quantity: &'static str, unit: Unit, doc: &'static str) -> MetricDef {
    MetricDef::rate(quantity, unit, CLASS, How::Reported(Fold::Sum), doc)
}

pub(super) static SPEC: Spec = Spec {
    name: "fs.fileio",
    version: 1,
    nature: Nature::FileSystem,
    title: "sysbench's fileio test: reads, writes and fsyncs of 128 files",
    doc: "One operation is one event of sysbench's fileio test: a read or write of one block, or the fsync of one \
          file. Threads of one process take their events from one row: sequential tests go through the files with one \
          position for all threads, random ones take any block of any file. After each 100 reads and writes, where one \
          of them wrote, every file is synced: 128 events, which stand in the latencies. In the end each thread syncs \
          every file; those fsyncs are no events, and their time is in every rate.\n\n\
          Files are read and written through the page cache unless `flags` says `direct`, so reads of files that were \
          just made come from memory where it holds them, as with sysbench. Writing is paced by the fsyncs. `seqwr` \
          begins with empty files in every round.",
    params: &[
        ParamDef {
            name: "mode",
            kind: ParamKind::Choice(&Mode::WORDS),
            default: "seqrd",
            doc: "What is done (`--file-test-mode`).",
        },
        ParamDef {
            name: "files",
            kind: ParamKind::Count { min: 1, max: 1000 },
            default: "128",
            doc: "How many files (`--file-num`).",
        },
        ParamDef {
            name: "size",
            kind: ParamKind::Size,
            default: "2G",
            doc: "Bytes of all files together (`--file-total-size`); less where there is no room for it.",
        },
        ParamDef {
            name: "block",
            kind: ParamKind::Size,
            default: "16384",
            doc: "Bytes of a read or write, up to 16M (`--file-block-size`).",
        },
        ParamDef {
            name: "io",
            kind: ParamKind::Choice(&["sync", "async", "mmap"]),
            default: "sync",
            doc: "The way to the files (`--file-io-mode`): one call each, Linux' libaio with 128 requests of each \
                  thread under way, or copies from and to memory.",
        },
        ParamDef {
            name: "flags",
            kind: ParamKind::Choice(&["none", "sync", "dsync", "direct"]),
            default: "none",
            doc: "How files are opened (`--file-extra-flags`).",
        },
        ParamDef {
            name: "fsync_freq",
            kind: ParamKind::Count {
                min: 0,
                max: 1_000_000_000,
            },
            default: "100",
            doc: "All files are synced after so many reads and writes (`--file-fsync-freq`); 0 for never.",
        },
        ParamDef {
            name: "fsync_all",
            kind: ParamKind::Switch,
            default: "no",
            doc: "Every write is followed by an fsync of its file, and no others are done (`--file-fsync-all`).",
        },
        ParamDef {
            name: "fsync_end",
            kind: ParamKind::Switch,
            default: "yes",
            doc: "In the end each thread syncs all files (`--file-fsync-end`).",
        },
        ParamDef {
            name: "fsync_mode",
            kind: ParamKind::Choice(&["fsync", "fdatasync"]),
            default: "fsync",
            doc: "By which call (`--file-fsync-mode`); what `mmap` wrote is synced by msync(2) in any case.",
        },
        ParamDef {
            name: "time",
            kind: ParamKind::Duration,
            default: "3s",
            doc: "How long a round does events (`--time`, which is 10 s there).",
        },
    ],
    metrics: &[
        events_per_s(
            CLASS,
            "Events of all threads, over the time from the first one's start to the return of the last fsync.",
        ),
        events_per_cpu_s(CLASS),
        rate(
            "read_iops",
            Unit::OpsPerSecond,
            "Reads over the same time: sysbench's reads/s.",
        ),
        rate(
            "write_iops",
            Unit::OpsPerSecond,
            "Writes over the same time: its writes/s.",
        ),
        rate(
            "fsyncs_per_s",
            Unit::OpsPerSecond,
            "Fsyncs over the same time, those in the end too: its fsyncs/s.",
        ),
        rate(
            "read_bw_bytes_per_s",
            Unit::BytesPerSecond,
            "Bytes read over the same time.",
        ),
        rate(
            "write_bw_bytes_per_s",
            Unit::BytesPerSecond,
            "Bytes written over the same time.",
        ),
        LAT_MEAN,
        LAT_MIN,
        LAT_P95,
        LAT_MAX,
        MetricDef::rate(
            "size_bytes",
            Unit::Bytes,
            CLASS,
            How::Setting,
            "Bytes of all files together: less than was asked for where there is no room.",
        ),
    ],
    tests: &[
        TestDef::new(
            "fs.fileio-seqrd",
            "sysbench fileio seqrd: sequential reads",
            &[],
        ),
        TestDef::new(
            "fs.fileio-seqwr",
            "sysbench fileio seqwr: sequential writes of new files",
            &[("mode", "seqwr")],
        ),
        TestDef::new(
            "fs.fileio-seqrewr",
            "sysbench fileio seqrewr: sequential rewrites",
            &[("mode", "seqrewr")],
        ),
        TestDef::new(
            "fs.fileio-rndrd",
            "sysbench fileio rndrd: random reads",
            &[("mode", "rndrd")],
        ),
        TestDef::new(
            "fs.fileio-rndwr",
            "sysbench fileio rndwr: random writes",
            &[("mode", "rndwr")],
        ),
        TestDef::new(
            "fs.fileio-rndrw",
            "sysbench fileio rndrw: three random reads to two writes",
            &[("mode", "rndrw")],
        ),
    ],
    simulated: false,
    on_disk: true,
};
