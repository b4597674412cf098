//! Starts the project's own tasks: see the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    xtask::main("xtask", xtask::TASKS)
}
