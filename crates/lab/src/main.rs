//! The laboratory, called as `cargo lab NAME`: what the program says held against what was done to the machine and
//! against other programs, and what the program itself costs.
//!
//! All of it runs the program as a user would, most of it for minutes to hours and on a quiet machine. So it is built,
//! tested and linted with everything else, run where somebody asks for it, and shipped to nobody.

#[macro_use(say)]
extern crate xtask;

mod asked;
mod cable;
mod comparison;
mod crosscheck;
mod guest;
mod many_runs;
mod overhead;
mod publishing;
mod scatter;
mod sittings;
#[cfg(test)]
mod testkit;
mod truth;
mod verdicts;

use std::process::ExitCode;
use xtask::Task;

/// Everything that can be asked for.
const TASKS: &[Task] = &[
    Task {
        name: "crosscheck",
        what: "our figures beside those of sysbench, mbw and others; `files`, `servers`, `rebuild`; `--help`",
        run: crosscheck::run,
    },
    Task {
        name: "overhead",
        what: "what the static binary itself costs, and beside fio, against the project's limits; `--help`",
        run: overhead::run,
    },
    Task {
        name: "comparison",
        what: "how long `kurabe compare` takes for 100 metrics, wall and CPU; `comparison BINARY...` takes turns",
        run: comparison::run,
    },
    Task {
        name: "store",
        what: "how long `list`, `show` and `compare` take where 100,000 runs are kept",
        run: many_runs::run,
    },
    Task {
        name: "publishing",
        what: "how long it takes to import 1,000 files, to rank and compare 100 runs, and to make and open large pages",
        run: publishing::run,
    },
    Task {
        name: "scatter",
        what: "what runs of one machine differ by, out of kept runs: the lines that the program is built with",
        run: scatter::run,
    },
    Task {
        name: "sittings",
        what: "how often kept runs of one machine are called different, by kurabe and by simpler readers",
        run: sittings::run,
    },
    Task {
        name: "verdicts",
        what: "how often verdicts are wrong on runs of which the truth is known; `--help`",
        run: verdicts::run,
    },
    Task {
        name: "truth",
        what: "ground-truth experiments on the real machine; `--help` lists them",
        run: truth::run,
    },
    Task {
        name: "guest",
        what: "the same, devices in use and rare machines, on a kernel of Debian's in an emulator; `--help`",
        run: guest::run,
    },
    Task {
        name: truth::helper::WORD,
        what: "",
        run: |_, arguments| truth::helper::run(arguments),
    },
];

fn main() -> ExitCode {
    xtask::main("lab", TASKS)
}
