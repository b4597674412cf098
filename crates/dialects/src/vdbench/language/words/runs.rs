//! Runs: what they do, how fast, how long, and over which values they go again.

use super::raw::OPENFLAGS;
use super::takes::THREADS;
use super::{Takes, Word};

const COMMAND: &str = "no command out of a file is run";
const HITS: &str = "blocks that come again soon are drawn by nobody here";

/// The names of operations on files.
pub(super) const OPERATIONS: &[&str] = &[
    "mkdir", "rmdir", "create", "delete", "open", "close", "read", "write", "access", "getattr",
    "setattr", "copy", "move",
];

const fn again(name: &'static str, of: &'static Takes, doc: &'static str) -> Word {
    Word::done(name, Takes::Loop(of), "", doc)
}

pub(super) static WORDS: &[Word] = &[
    Word::done(
        "rd",
        Takes::Text("a name"),
        "",
        "The name of the run; `default` gives defaults to those behind it.",
    ),
    Word::done(
        "wd",
        Takes::Names,
        "",
        "The workloads that it does at the same time.",
    )
    .of_storages(),
    Word::done(
        "sd",
        Takes::Names,
        "",
        "The storages that they work on, in place of their own.",
    )
    .of_storages(),
    Word::done(
        "iorate",
        Takes::Rates,
        "max",
        "Operations per second of all workloads; several are a run each. `curve` measures the \
         maximum, then shares of it.",
    )
    .of_storages(),
    Word::done(
        "curve",
        Takes::Points,
        "(10,50,70,80,90,100)",
        "The shares of the maximum that `iorate=curve` goes through, in per cent.",
    )
    .of_storages(),
    Word::refused(
        "stopcurve",
        "Ends a curve at a response time.",
        "every point of a curve is measured",
    ),
    Word::done(
        "elapsed",
        Takes::Time,
        "30",
        "How long it goes on, behind the warm-up; two intervals at least.",
    ),
    Word::done(
        "interval",
        Takes::Time,
        "1",
        "How often it is reported. The first interval is not counted.",
    ),
    Word::done(
        "warmup",
        Takes::Time,
        "",
        "Work before that, which is not counted; then the first interval is.",
    ),
    Word::noted(
        "pause",
        "Waits before the next run.",
        "what a run wrote is on the device before the next one begins",
    ),
    Word::done(
        "maxdata",
        Takes::Size,
        "",
        "Ends when so many bytes were read and written behind the warm-up.",
    )
    .of_storages(),
    Word::done(
        "distribution",
        Takes::Choice(&[
            "exponential",
            "e",
            "uniform",
            "u",
            "deterministic",
            "d",
            "variable",
            "v",
        ]),
        "exponential",
        "When operations of a rate arrive.",
    ),
    again("forxfersize", &Takes::Size, "The sizes of operations.").also(&["xfersize"]),
    again(
        "forthreads",
        &THREADS,
        "The threads of each storage, or of each file workload.",
    )
    .also(&["threads"]),
    again("forrdpct", &Takes::Percent, "The share of reads.").also(&["rdpct", "readpct"]),
    again("forseekpct", &Takes::Seek, "The share of random places.")
        .of_storages()
        .also(&["seekpct"]),
    again(
        "forcompratio",
        &Takes::Count(1..=100),
        "The ratio of compression.",
    )
    .of_storages()
    .also(&["compratio"]),
    Word::refused("forrhpct", "The share of reads that hit.", HITS)
        .also(&["rhpct"])
        .but(&["0", "(0)"]),
    Word::refused("forwhpct", "The share of writes that hit.", HITS)
        .also(&["whpct"])
        .but(&["0", "(0)"]),
    Word::noted(
        "forhitarea",
        "What hits are drawn from.",
        "without `rhpct` and `whpct` nothing is a hit",
    )
    .also(&["hitarea"]),
    OPENFLAGS,
    Word::refused("startcmd", "A command before it.", COMMAND),
    Word::refused("endcmd", "A command behind it.", COMMAND),
    Word::refused(
        "replay",
        "A trace that is done again.",
        "no trace is done again here",
    ),
    // Files.
    Word::done(
        "fwd",
        Takes::Names,
        "",
        "The file workloads that it does at the same time.",
    )
    .of_file_sets(),
    Word::done(
        "fwdrate",
        Takes::Rates,
        "max",
        "Operations per second of all file workloads; several are a run each.",
    )
    .of_file_sets(),
    Word::done(
        "format",
        Takes::Choices(&[
            "no",
            "yes",
            "restart",
            "only",
            "clean",
            "directories",
            "once",
            "limited",
            "complete",
        ]),
        "no",
        "What is there when it begins: all made anew, what is missing made, or what the run \
         before has left.",
    )
    .of_file_sets(),
    again(
        "foroperations",
        &Takes::Choice(OPERATIONS),
        "The operations of its file workloads.",
    )
    .of_file_sets()
    .also(&["operations"]),
    again(
        "fordepth",
        &Takes::Count(1..=64),
        "The levels of directories.",
    )
    .of_file_sets()
    .also(&["depth"]),
    again(
        "forwidth",
        &Takes::Count(1..=1_000_000),
        "The directories in each directory.",
    )
    .of_file_sets()
    .also(&["width"]),
    again(
        "forfiles",
        &Takes::Count(1..=100_000_000),
        "The files in each directory.",
    )
    .of_file_sets()
    .also(&["files"]),
    again("forsizes", &Takes::Size, "The sizes of files.")
        .of_file_sets()
        .also(&["forsize", "sizes"]),
    again("fortotal", &Takes::Size, "The bytes of a file set.")
        .of_file_sets()
        .also(&["fortotalsize", "totalsize"]),
    again(
        "forwss",
        &Takes::Size,
        "The bytes of a file set that are worked on.",
    )
    .of_file_sets()
    .also(&["forworkingsetsize", "workingsetsize"]),
];
