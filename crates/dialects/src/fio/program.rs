//! The options of the program itself, apart from those of jobs.

/// Whether an option of the program itself has a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Has {
    /// None.
    Nothing,
    /// It may.
    Optional,
    /// It must.
    Value,
}

/// An option of the program itself.
#[derive(Debug)]
pub struct ProgramOption {
    /// Its name.
    pub name: &'static str,
    /// Whether it has a value.
    pub has: Has,
    /// What it does here.
    pub doc: &'static str,
    /// Whether it counts; refused with this reason otherwise.
    pub refused: Option<&'static str>,
}

const fn takes(name: &'static str, has: Has, doc: &'static str) -> ProgramOption {
    ProgramOption {
        name,
        has,
        doc,
        refused: None,
    }
}

const fn refuses(name: &'static str, has: Has, why: &'static str) -> ProgramOption {
    ProgramOption {
        name,
        has,
        doc: "",
        refused: Some(why),
    }
}

const REMOTE: &str = "jobs run on this machine only";
const TRIGGER: &str = "no command is executed on a trigger";

/// The options of the program itself.
pub static PROGRAM: &[ProgramOption] = &[
    takes(
        "section",
        Has::Value,
        "Only this section of the job files; may be given several times.",
    ),
    takes(
        "output",
        Has::Value,
        "Where results go; standard output where not said.",
    ),
    takes(
        "output-format",
        Has::Value,
        "`normal`, `terse`, `json`, `json+`, or several with commas between.",
    ),
    takes(
        "minimal",
        Has::Nothing,
        "The same as `--output-format=terse`.",
    ),
    takes(
        "append-terse",
        Has::Nothing,
        "The terse form behind the others.",
    ),
    takes(
        "terse-version",
        Has::Value,
        "Version of the terse form: 3, 4 or 5.",
    ),
    takes("eta", Has::Value, "`always`, `never` or `auto`."),
    takes(
        "idle-prof",
        Has::Value,
        "`system` or `percpu`: how much of the CPUs nobody used during the jobs, by the kernel's ticks of 10 ms, and how \
         long a small piece of work took before them; `calibrate`: that alone.",
    ),
    takes(
        "eta-newline",
        Has::Value,
        "Accepted with a note; progress has its own lines.",
    ),
    takes(
        "eta-interval",
        Has::Value,
        "Accepted with a note; progress has its own pace.",
    ),
    takes(
        "status-interval",
        Has::Value,
        "At every such time (100ms at least) the report so far; in the file of `--output` they stand before the last one.",
    ),
    takes(
        "readonly",
        Has::Nothing,
        "Jobs that would write are an error.",
    ),
    takes("parse-only", Has::Nothing, "Reads everything and ends."),
    takes(
        "showcmd",
        Has::Nothing,
        "Prints the job files as a command line and ends.",
    ),
    takes("version", Has::Nothing, "Names the version and ends."),
    takes("help", Has::Nothing, "Explains the program and ends."),
    takes("cmdhelp", Has::Optional, "Explains one option, or all."),
    takes(
        "enghelp",
        Has::Optional,
        "Explains one engine, or lists them.",
    ),
    takes(
        "max-jobs",
        Has::Value,
        "Accepted with a note; the limit is 4096.",
    ),
    takes(
        "alloc-size",
        Has::Value,
        "Accepted with a note; memory is not set aside.",
    ),
    takes("warnings-fatal", Has::Nothing, "A warning is an error."),
    takes(
        "bandwidth-log",
        Has::Nothing,
        "Accepted with a note; each job has logs of its own.",
    ),
    takes(
        "aux-path",
        Has::Value,
        "Accepted with a note; no files of fio's state are made.",
    ),
    refuses("client", Has::Value, REMOTE),
    refuses("server", Has::Optional, REMOTE),
    refuses("daemonize", Has::Value, REMOTE),
    refuses("remote-config", Has::Value, REMOTE),
    refuses("trigger", Has::Value, TRIGGER),
    refuses("trigger-file", Has::Value, TRIGGER),
    refuses("trigger-remote", Has::Value, TRIGGER),
    refuses("trigger-timeout", Has::Value, TRIGGER),
    refuses("debug", Has::Value, "fio's internals are not here"),
    refuses("inflate-log", Has::Value, "no log files are written"),
    refuses(
        "merge-blktrace-only",
        Has::Nothing,
        "recorded traces are not supported",
    ),
    refuses("crctest", Has::Optional, "fio's own tests are not here"),
    refuses(
        "cpuclock-test",
        Has::Nothing,
        "fio's own tests are not here",
    ),
];
