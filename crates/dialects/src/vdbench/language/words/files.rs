//! Sets of files, and workloads on them.

use super::raw::{HOST, OPENFLAGS};
use super::runs::OPERATIONS;
use super::{Takes, Word};

pub(super) static SETS: &[Word] = &[
    Word::done(
        "fsd",
        Takes::Text("a name"),
        "",
        "The name of the file set; `default` gives defaults to those behind it.",
    ),
    Word::done(
        "anchor",
        Takes::Text("a directory"),
        "",
        "The directory in which the run's own directory is made, which goes with the run; where \
         it is not there, the one above.",
    ),
    Word::done("depth", Takes::Count(1..=64), "1", "Levels of directories."),
    Word::done(
        "width",
        Takes::Count(1..=1_000_000),
        "1",
        "Directories in each directory.",
    ),
    Word::done(
        "files",
        Takes::Count(1..=100_000_000),
        "10",
        "Files in each directory that has any.",
    ),
    Word::done("sizes", Takes::Files, "4k", "How large files are.").also(&["size"]),
    Word::done(
        "distribution",
        Takes::Choice(&["bottom", "all"]),
        "bottom",
        "Whether directories of the last level have files, or all.",
    ),
    Word::done(
        "shared",
        Takes::Choice(&["yes", "no"]),
        "no",
        "Several threads may work on one file at the same time.",
    ),
    Word::done(
        "totalsize",
        Takes::Size,
        "",
        "The set ends where its bytes would be more.",
    ),
    Word::done(
        "workingsetsize",
        Takes::Size,
        "",
        "Workloads stay within the first files of so many bytes.",
    )
    .also(&["wss"]),
    OPENFLAGS,
    Word::done(
        "count",
        Takes::Counted,
        "",
        "Makes so many file sets, numbered in their names and anchors.",
    ),
    Word::refused(
        "journal",
        "Notes what was written.",
        "what was written is not read back",
    ),
    Word::noted(
        "logbytewritten",
        "Logs what was written.",
        "nothing is logged per write",
    ),
];

pub(super) static WORKLOADS: &[Word] = &[
    Word::done(
        "fwd",
        Takes::Text("a name"),
        "",
        "The name of the workload; `default` gives defaults to those behind it, `format` says \
         with which `threads` and `xfersize` sets are made.",
    ),
    Word::done("fsd", Takes::Names, "", "The file sets that it works on."),
    HOST,
    Word::done(
        "operation",
        Takes::Choices(OPERATIONS),
        "read",
        "What it does; several are a workload each.",
    )
    .also(&["operations"]),
    Word::done(
        "rdpct",
        Takes::Percent,
        "",
        "The share of reads, the others being writes.",
    )
    .also(&["readpct"]),
    Word::done(
        "fileio",
        Takes::Choices(&[
            "sequential",
            "seq",
            "random",
            "shared",
            "delete",
            "sequentialnz",
            "seqnz",
        ]),
        "sequential",
        "How it goes through a file. `shared` and `delete` are about reads and writes; other operations go on without.",
    ),
    Word::done(
        "fileselect",
        Takes::Select,
        "random",
        "Which file comes next.",
    )
    .also(&["fileselection"]),
    Word::done(
        "xfersize",
        Takes::Transfers,
        "4k",
        "The sizes of reads and writes.",
    )
    .also(&["xfersizes"]),
    Word::done(
        "stopafter",
        Takes::CountOrShare,
        "a file's worth",
        "Closes the file after so many operations, or such a share of its size.",
    ),
    Word::done("threads", Takes::Count(1..=4096), "1", "Threads."),
    Word::done(
        "skew",
        Takes::Percent,
        "",
        "Its share of the operations of its run.",
    ),
    Word::refused(
        "target",
        "The set that files are copied to.",
        "files are copied and moved within their set",
    ),
    OPENFLAGS,
    Word::refused(
        "logbytewritten",
        "Logs what was written.",
        "nothing is logged per write",
    )
    .but(&["no"]),
];
