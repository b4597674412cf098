//! Options that say through which interface of the kernel a job works, and how deep its queue is.

use super::super::draft::Draft;
use super::super::value::Bare;
use super::engines::{self, Engine, Here};
use super::{Kind, OptionDef, Takes, small};
use model::units::Nanos;

/// The deepest queue: what `io_uring_setup` takes.
const MAX_DEPTH: u64 = 32_768;

/// The table.
pub(super) static OPTIONS: &[OptionDef] = &[
    OptionDef::new(
        "ioengine",
        "psync",
        Kind::Text("the name of an engine, as under \"Engines\" below", engine),
        "The interface of the kernel. `sync`, `vsync` and `pvsync` differ from \
             `psync` and `pvsync2` in the system call alone. With `mmap` files lie in memory, operations copy, and a \
             sync is msync(2) of the whole file; a page that the device cannot read ends the job's process.",
    ),
    OptionDef::new(
        "stat_type",
        "stat",
        Kind::Choice(&["stat", "lstat", "statx"], |d, word| {
                d.job.does.names.statx = word == "statx";
            }),
        "The system call of `filestat` and `dirstat`. Of these names, none of which is a link, `stat` and `lstat` tell \
             the same.",
    ),
    OptionDef::new(
        "cpuload",
        "",
        Kind::Int(0..=100, |d, n| d.job.does.burn.percent = small(n)),
        "The share of the time for which `cpuio` keeps a CPU busy.",
    ),
    OptionDef::new(
        "cpuchunks",
        "50000",
        Kind::Time(Bare::Micros, |d, n| d.job.does.burn.chunk = Nanos(n)),
        "How long it does so at a time.",
    ),
    OptionDef::new(
        "cpumode",
        "noop",
        Kind::Choice(&["noop", "qsort"], |d, word| {
            d.job.does.burn.sorts = word == "qsort";
        }),
        "What it does: look at the clock, or sort numbers.",
    ),
    OptionDef::new(
        "program",
        "",
        Kind::Text("a path, or a name that is looked for in `PATH`", |d, text| {
            text.clone_into(&mut d.job.exec.program);
            Ok(())
        }),
        "What `exec` executes, with the rights of whoever starts the run, who must allow it with `--allow-exec`. It gets \
             SIGTERM, with all that it started, at the end of `runtime`. Without `time_based` the job ends \
             with it; fio's goes on to the end of `runtime`, or for ever.",
    ),
    OptionDef::new(
        "arguments",
        "",
        Kind::Text("words with spaces between", |d, text| {
            text.clone_into(&mut d.job.exec.arguments);
            Ok(())
        }),
        "Its arguments. As in fio `%r` is `runtime` in whole seconds, 0 without one, `%n` the name of the job, and quotes \
             are letters like others.",
    ),
    OptionDef::new(
        "grace_time",
        "1",
        Kind::Int(0..=3600, |d, n| d.job.exec.grace = Nanos::from_secs(n)),
        "Seconds that it has to end in when it has been asked to. Then it is killed.",
    ),
    OptionDef::new(
        "std_redirect",
        "1",
        Kind::Bool(|d, on| d.job.exec.redirects = on),
        "What it writes goes to the files `NAME.stdout` and `NAME.stderr`, with the name of the job, in the current \
         directory; of further clones to `NAME.N.stdout` and so on. They obey what files of jobs obey: one that \
         kurabe did not make is not written over. With 0 all of it goes to standard error.",
    ),
    OptionDef::new(
        "inplace",
        "0",
        Kind::Bool(|d, on| d.job.target.moves_in_place = on),
        "The donor of `e4defrag` gets room for each operation, instead of all of it before.",
    ),
    OptionDef::noted(
        "donorname",
        Takes::Value,
        "The file that gives `e4defrag` its extents.",
        "it has no name here, and goes with the job",
    ),
    OptionDef::new(
        "iodepth",
        "1",
        Kind::Int(1..=MAX_DEPTH, |d, n| d.job.does.depth = small(n)),
        "Operations under way at most. A synchronous engine has one at a time, \
             whatever is said here.",
    ),
    OptionDef::new(
        "iodepth_batch",
        "0",
        Kind::Int(0..=MAX_DEPTH, |d, n| d.job.does.batching.submit = (n > 0).then_some(small(n))),
        "Operations that are submitted together at most; 0 as many as there is room for. Where nothing is said of any of \
             these four, as many as completions have been taken, up to two; where something is, 1.",
    )
    .or(&["iodepth_batch_submit"])
    .where_fio_has("1"),
    OptionDef::new(
        "iodepth_batch_complete_min",
        "1",
        Kind::Int(0..=MAX_DEPTH, |d, n| d.job.does.batching.complete_min = small(n)),
        "Completions that are waited for; 0 looks without waiting. With 0, and no largest number, fio has one operation under \
             way whatever the depth; here it is the depth.",
    )
    .or(&["iodepth_batch_complete"]),
    OptionDef::new(
        "iodepth_batch_complete_max",
        "",
        Kind::Int(0..=MAX_DEPTH, |d, n| d.job.does.batching.complete_max = Some(small(n))),
        "Completions that are taken at most before operations are submitted in their place. Where not said, as many as \
             waited for, or an eighth of the queue and at most two where nothing is said of any of these four.",
    ),
    OptionDef::new(
        "iodepth_low",
        "",
        Kind::Int(0..=MAX_DEPTH, |d, n| d.job.does.batching.low = Some(small(n))),
        "The queue is filled again when it has drained to this.",
    ),
    OptionDef::new(
        "io_submit_mode",
        "inline",
        Kind::Choice(&["inline", "offload"], |_, _| {}),
        "Whether other threads submit, so that a submission that blocks does not \
             delay the arrivals behind it.",
    ),
    OptionDef::new(
        "serialize_overlap",
        "0",
        Kind::Bool(|d, on| d.job.does.batching.serializes_overlap = on),
        "An operation waits for those under way on the same blocks.",
    ),
    OptionDef::new(
        "direct",
        "0",
        Kind::Bool(|d, on| d.job.does.direct = on),
        "Past the page cache (`O_DIRECT`).",
    ),
    OptionDef::new(
        "buffered",
        "1",
        Kind::Bool(|d, on| d.job.does.direct = !on),
        "Through the page cache; the opposite of `direct`, and the later one \
             counts.",
    ),
    OptionDef::new(
        "hipri",
        "0",
        Kind::Flag(|d, on| d.job.does.poll_device = on),
        "Completions are polled (io_uring, pvsync2).",
    ),
    OptionDef::new(
        "fixedbufs",
        "0",
        Kind::Flag(|d, on| d.job.does.register_buffers = on),
        "Buffers are registered with the kernel once (io_uring).",
    ),
    OptionDef::new(
        "registerfiles",
        "0",
        Kind::Flag(|d, on| d.job.does.register_files = on),
        "Files are registered with the kernel once (io_uring).",
    ),
    OptionDef::new(
        "sqthread_poll",
        "0",
        Kind::Flag(|d, on| d.job.does.poll_submissions = on),
        "A thread of the kernel polls for submissions (io_uring).",
    ),
    OptionDef::new(
        "sqthread_poll_cpu",
        "",
        Kind::Int(0..=8191, |_, _| {}),
        "The CPU of that thread (io_uring).",
    ),
    OptionDef::new(
        "nonvectored",
        "1",
        Kind::Int(0..=1, |_, _| {}),
        "Operations without a vector of buffers (io_uring).",
    ),
    OptionDef::new(
        "mem",
        "malloc",
        Kind::Choice(&["malloc", "mmap", "shm", "mmapshared"], |d, w| {
                if w != "malloc" {
                    d.note(format!(
                        "`mem={w}`: buffers are private page-aligned memory in any case"
                    ));
                }
            }),
        "Where buffers come from. They are private page-aligned memory in any \
             case; huge pages and device memory are not supported.",
    )
    .or(&["iomem"]),
];

fn engine(draft: &mut Draft, text: &str) -> Result<(), String> {
    let found = engines::engine(text);
    if let Some(Engine {
        here: Here::Done(engine),
        doc,
        ..
    }) = found
    {
        draft.job.does.engine = *engine;
        if AS_OTHERS.contains(&text) {
            draft.note(format!("`ioengine={text}`: {doc}"));
        }
        return Ok(());
    }
    let why = match found.and_then(Engine::refusal) {
        Some(why) => format!("that engine of fio is not here: {why}"),
        None if text.starts_with(' ') => "a space before the word belongs to it in fio".to_owned(),
        None => "no such engine".to_owned(),
    };
    Err(format!("{why}; here are {}", engines::here()))
}

/// Engines in whose place another one works.
const AS_OTHERS: &[&str] = &["posixaio", "cpp_null"];
