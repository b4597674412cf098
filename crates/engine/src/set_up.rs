//! The shell command that sets a side of a duel up before each of its rounds.
//!
//! It is the user's own and runs with the user's rights. It is never measured. It may write what it likes, but not
//! hang for ever, and its shell ends with the supervisor; what it leaves behind in the background is left alone,
//! because starting something may be what it is for.

use model::plan::Plan;
use model::record::{CommandEnd, Failure};
use model::units::Nanos;
use sys::process::ScriptEnd;

/// It may take this long: remounting, switching a scheduler, dropping caches.
const DEADLINE: Nanos = Nanos::from_secs(60);

/// The command of one side.
#[derive(Clone, Copy, Debug)]
pub struct SetUp<'a> {
    command: &'a str,
}

/// A side is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// The command left something running in the background.
    pub leaves: bool,
}

/// Why a side is not set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotSetUp {
    /// Somebody interrupted it.
    Interrupted,
    /// It failed: always [`Failure::SetUp`].
    Failed(Failure),
}

impl<'a> SetUp<'a> {
    /// That of a plan, where it is one side of a duel that has a command.
    pub fn of(plan: &'a Plan) -> Option<Self> {
        let command = plan.duel.as_ref()?.prepare.as_deref()?;
        Some(Self { command })
    }

    /// Runs it to its end.
    pub fn run(self) -> Result<Done, NotSetUp> {
        self.run_within(DEADLINE)
    }

    fn run_within(self, deadline: Nanos) -> Result<Done, NotSetUp> {
        let failed = |end, said| {
            Err(NotSetUp::Failed(Failure::SetUp {
                command: self.command.to_owned(),
                end,
                said,
            }))
        };
        let stop = || sys::signal::interrupted().is_some();
        match sys::process::script(self.command, deadline.0 / 1_000_000, &stop) {
            Ok(ScriptEnd::Done { leaves }) => Ok(Done { leaves }),
            Ok(ScriptEnd::Stopped) => Err(NotSetUp::Interrupted),
            Ok(ScriptEnd::Exited(code, said)) => failed(CommandEnd::Exited(code), said),
            Ok(ScriptEnd::Signal(signal, said)) => failed(CommandEnd::Signal(signal), said),
            Ok(ScriptEnd::TimedOut(said)) => failed(CommandEnd::Hung(deadline), said),
            Err(error) => failed(CommandEnd::NotStarted(error.to_string()), String::new()),
        }
    }
}

/// Whether the round failed because its side could not be set up.
pub(crate) const fn is_of_set_up(failure: &Failure) -> bool {
    matches!(failure, Failure::SetUp { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_fails_or_hangs_is_named_with_what_became_of_it() {
        let check = |command: &str, expect: Result<bool, (CommandEnd, &str)>| {
            let expect = expect.map(|leaves| Done { leaves }).map_err(|(end, said)| {
                NotSetUp::Failed(Failure::SetUp {
                    command: command.to_owned(),
                    end,
                    said: said.to_owned(),
                })
            });
            let deadline = Nanos::from_millis(400);
            assert_eq!(SetUp { command }.run_within(deadline), expect);
        };
        check("true", Ok(false));
        check("sleep 1 > /dev/null 2>&1 & exit 0", Ok(true));
        let exited = CommandEnd::Exited(3);
        check(
            "echo out; echo no such disk >&2; exit 3",
            Err((exited, "no such disk")),
        );
        check("kill -TERM $$", Err((CommandEnd::Signal(15), "")));
        let hung = CommandEnd::Hung(Nanos::from_millis(400));
        check("echo waiting; exec sleep 60", Err((hung, "waiting")));
    }
}
