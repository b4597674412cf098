//! A program that is executed beside jobs on storage: until it ends, or its time is over.
//!
//! Nothing of it is measured. It is executed by leave of the permits alone, which come from the command line; what it
//! writes goes to files that the supervisor has made, or to the supervisor's standard error. At the end it is asked to
//! end with all that it started, and killed where it does not; what is left of them goes with the worker's group.

use super::file::refused;
use engine::consent::{Permit, Permits};
use engine::workload::WorkError;
use model::job::Program;
use model::record::CommandEnd;
use std::fs::File;
use std::path::Path;
use sys::clock::{monotonic, sleep};
use sys::io::file::Access;
use sys::process::{Beside, Ended};

/// How often it looks whether the program has ended, or is to.
const LOOKS_EVERY_NS: u64 = 5_000_000;

/// A program at work.
pub(super) struct Running<'a> {
    program: &'a Program,
    beside: Beside,
}

impl<'a> Running<'a> {
    pub(super) fn start(
        job: &str,
        program: &'a Program,
        permits: &Permits,
    ) -> Result<Self, WorkError> {
        let errors = permits.errors(job, &program.name).map_err(refused)?;
        let outputs = match &program.outputs {
            Some([output, errors]) => [emptied(output, permits)?, emptied(errors, permits)?],
            None => [errors.try_clone().map_err(failed(program))?, errors],
        };
        let Program {
            name,
            arguments,
            dir,
            ..
        } = program;
        let beside = Beside::start(name, arguments, dir, outputs).map_err(failed(program))?;
        Ok(Self { program, beside })
    }

    /// Waits until a time of the monotonic clock, or as long as it `goes_on`; until the program ends, but where the
    /// whole time is waited for.
    pub(super) fn wait(
        &mut self,
        until: u64,
        whole: bool,
        goes_on: impl Fn() -> bool,
    ) -> Result<(), WorkError> {
        let mut left = until.saturating_sub(monotonic());
        while left > 0 && goes_on() && (whole || !self.has_ended()?) {
            sleep(left.min(LOOKS_EVERY_NS));
            left = until.saturating_sub(monotonic());
        }
        Ok(())
    }

    fn has_ended(&mut self) -> Result<bool, WorkError> {
        let ended = self.beside.ended().map_err(failed(self.program))?;
        Ok(ended.is_some())
    }

    /// Brings its end about, with that of everything that it started; says how it ended, and whether that is as it
    /// should be.
    pub(super) fn end(mut self) -> Result<(CommandEnd, bool), WorkError> {
        let by_itself = self.has_ended()?;
        self.beside.ask_to_end().map_err(failed(self.program))?;
        let grace = self.program.grace;
        self.wait(monotonic().saturating_add(grace.0), false, || true)?;
        let in_time = self.has_ended()?;
        let ended = self.beside.kill().map_err(failed(self.program))?;
        Ok(match ended {
            _ if !in_time => (CommandEnd::Hung(grace), false),
            Ended::Code(code) => (CommandEnd::Exited(code), !by_itself || code == 0),
            Ended::Signal(signal) => (CommandEnd::Signal(signal), !by_itself),
        })
    }
}

/// How the program of a job ended, in words.
pub fn told(job: &str, program: &str, end: &CommandEnd) -> String {
    let killed = match end {
        CommandEnd::Hung(_) => " of SIGTERM, and was killed",
        _ => "",
    };
    format!("job `{job}`: program `{program}`: {end}{killed}")
}

fn failed(program: &Program) -> impl Fn(std::io::Error) -> WorkError {
    let name = program.name.clone();
    move |error| WorkError::failed("execute", &name, error)
}

/// A file for what it writes: one of ours, or one that the user gave up, without what was in it.
fn emptied(path: &Path, permits: &Permits) -> Result<File, WorkError> {
    let permit = permits.of(path).map_err(refused)?;
    if permit.makes() {
        return marked(permit).map_err(refused);
    }
    let access = Access {
        write: true,
        ..Access::default()
    };
    let file = permit.open(access).map_err(refused)?;
    let emptied = file.set_len(0);
    emptied.map_err(|error| WorkError::failed("empty", path.display(), error))?;
    Ok(file)
}

/// One of ours, which is whole whatever the program writes.
fn marked(permit: &Permit) -> Result<File, engine::consent::Refusal> {
    let file = permit.empty()?;
    permit.keep_note(&file, "output")?;
    Ok(file)
}
