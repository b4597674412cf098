//! Exit codes, decided in one place.

use std::process::ExitCode;

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything went well.
    Ok,
    /// A gate failed (`--fail-if`).
    GateFailed,
    /// Whatever went wrong in `kurabe iperf3`, which has iperf3's codes.
    AsIperf3,
    /// The command line or its input is wrong.
    Usage,
    /// This machine cannot do it.
    Unsupported,
    /// Something is missing from the result.
    Incomplete,
    /// Somebody interrupted; partial data is kept.
    Interrupted,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Ok => 0,
            Exit::GateFailed | Exit::AsIperf3 => 1,
            Exit::Usage => 2,
            Exit::Unsupported => 3,
            Exit::Incomplete => 4,
            Exit::Interrupted => 130,
        })
    }
}

/// An error that knows its exit code.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub(crate) struct Failure {
    exit: Exit,
    text: String,
}

/// An error with its exit code and, where something helps, a hint.
pub(crate) fn failure(
    exit: Exit,
    text: impl std::fmt::Display,
    hint: Option<&str>,
) -> anyhow::Error {
    let text = match hint {
        Some(hint) => format!("{text}\nhint: {hint}"),
        None => text.to_string(),
    };
    Failure { exit, text }.into()
}

impl Exit {
    /// The exit code of an error: its own where it has one, "incomplete" for everything that went wrong in the world.
    pub(crate) fn of(error: &anyhow::Error) -> Self {
        if let Some(failure) = error.downcast_ref::<Failure>() {
            return failure.exit;
        }
        match error.downcast_ref::<store::StoreError>() {
            Some(
                store::StoreError::Unknown { .. }
                | store::StoreError::Ambiguous { .. }
                | store::StoreError::TooFarBack { .. }
                | store::StoreError::Missing { .. }
                | store::StoreError::Finished { .. },
            ) => Self::Usage,
            _ => Self::Incomplete,
        }
    }
}

/// Whether the error is that the reader of our output is gone.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
    })
}
