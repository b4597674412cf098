//! Storages, and workloads on them.

use super::takes::THREADS;
use super::{Takes, Word};

const HITS: &str = "blocks that come again soon are drawn by nobody here";
const FLAGS: &[&str] = &[
    "o_direct",
    "o_dsync",
    "o_rsync",
    "o_sync",
    "fsync",
    "directio",
    "nodirectio",
    "open_no_cache",
];
const FLAGS_DOC: &str = "How files are opened: past the page cache (`o_direct`, `directio`), with every write on the \
                         device when it returns (`o_sync`, `o_dsync`), or synced when closed (`fsync`).";

pub(super) const HOST: Word =
    Word::refused("host", "The hosts that use it.", "a run is of one host")
        .but(&["localhost", "*", "hd*", "default"])
        .instead(
            "run the file on every host, and compare the runs as groups: `kurabe compare A1,A2 \
         B1,B2`",
        );

pub(super) const OPENFLAGS: Word =
    Word::done("openflags", Takes::Choices(FLAGS), "", FLAGS_DOC).also(&["openflag"]);

pub(super) static STORAGES: &[Word] = &[
    Word::done(
        "sd",
        Takes::Text("a name"),
        "",
        "The name of the storage; `default` gives defaults to those behind it.",
    ),
    Word::done(
        "lun",
        Takes::Text("a device or file"),
        "",
        "The device, or the file, which is made where it is not there.",
    ),
    HOST,
    Word::done(
        "count",
        Takes::Counted,
        "",
        "Makes so many storages, numbered in their names and files; `%04d` in `lun` is the \
         number.",
    ),
    Word::done(
        "size",
        Takes::Size,
        "all of it",
        "How much of it is used; needed for a file that is not there.",
    ),
    Word::done("range", Takes::Range, "", "The part of it that is used."),
    Word::done(
        "threads",
        THREADS,
        "8",
        "Operations that are under way at the same time, shared by its workloads.",
    ),
    Word::noted(
        "hitarea",
        "What hits are drawn from.",
        "without `rhpct` and `whpct` nothing is a hit",
    ),
    Word::done("offset", Takes::Size, "0", "Where offsets begin."),
    Word::done(
        "align",
        Takes::Size,
        "",
        "What random offsets are multiples of.",
    ),
    OPENFLAGS,
    Word::refused(
        "journal",
        "Notes what was written.",
        "what was written is not read back",
    ),
    Word::refused(
        "streams",
        "Sequential streams that divide it.",
        "a sequential workload is one stream",
    )
    .instead("several storages with a `range` each are several streams"),
    Word::refused(
        "dedup",
        "Deduplication.",
        "every block that is written differs from all others",
    )
    .but(&["no"]),
    Word::refused(
        "dedupratio",
        "Deduplication.",
        "every block that is written differs from all others",
    )
    .but(&["1"]),
    Word::refused(
        "replay",
        "A trace that is done again.",
        "no trace is done again here",
    )
    .instead("`kurabe run dbench --loadfile FILE` does a trace of dbench again"),
];

pub(super) static WORKLOADS: &[Word] = &[
    Word::done(
        "wd",
        Takes::Text("a name"),
        "",
        "The name of the workload; `default` gives defaults to those behind it.",
    ),
    Word::done("sd", Takes::Names, "", "The storages that it works on."),
    HOST,
    Word::done(
        "seekpct",
        Takes::Seek,
        "100",
        "The share of its operations whose places are random; the others follow the one before.",
    ),
    Word::done("rdpct", Takes::Percent, "100", "The share of reads.").also(&["readpct"]),
    Word::refused("rhpct", "The share of reads that hit.", HITS).but(&["0"]),
    Word::refused("whpct", "The share of writes that hit.", HITS).but(&["0"]),
    Word::done(
        "xfersize",
        Takes::Transfers,
        "4k",
        "The sizes of its operations.",
    ),
    Word::done(
        "skew",
        Takes::Percent,
        "",
        "Its share of the operations of its run, which must have a rate in numbers; the others share the rest alike.",
    ),
    Word::done(
        "range",
        Takes::Range,
        "",
        "The part of each storage that it works on.",
    ),
    Word::refused(
        "stride",
        "Gaps between places.",
        "a sequential workload leaves none out, and a random one has its own order",
    ),
    Word::refused(
        "iorate",
        "A rate of its own.",
        "the run has one rate for all of its workloads",
    )
    .instead("`skew` gives a workload its share of the run's rate"),
    Word::refused(
        "priority",
        "Who comes first.",
        "it needs `iorate` of a workload, which is refused",
    ),
    OPENFLAGS,
    Word::refused(
        "hotband",
        "A part that comes more often.",
        "places are drawn alike",
    )
    .instead("`kurabe fio` has `random_distribution`"),
    Word::refused(
        "streams",
        "Sequential streams.",
        "a sequential workload is one stream",
    ),
];
