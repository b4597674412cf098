//! The `kurabe` program. Everything is in the library beside it, so that the project's own tasks can generate
//! documentation from the same command line.

use std::process::ExitCode;

/// Counts allocations, so that every round can say that it made none while measuring.
#[global_allocator]
static ALLOCATOR: sys::alloc::Counting = sys::alloc::Counting;

fn main() -> ExitCode {
    cli::main()
}
