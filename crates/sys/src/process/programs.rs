//! Other programs, run to their end: what they say first, or whether they succeed.
//!
//! Like a worker such a program ends with us, and with its time. It is never measured.

#![expect(
    unsafe_code,
    reason = "what happens between fork and exec is beyond std"
)]

use super::{kill_group, leash, set_nonblocking};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

/// Runs `program` with `args` to its end, or for `timeout_ms` at most, and returns the first line it printed.
/// Standard input is empty; standard error is used where standard output stays empty.
pub fn first_line(program: &Path, args: &[&str], timeout_ms: u64) -> io::Result<String> {
    let (_, said) = run_to_end(program, args, timeout_ms)?;
    lines(&said)
        .next()
        .map(str::to_owned)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "it printed nothing"))
}

/// Runs `script` with /bin/sh to its end, or for `timeout_ms` at most. Anything but success is an error that holds the
/// last line it printed.
pub fn shell(script: &str, timeout_ms: u64) -> io::Result<()> {
    let (status, said) = run_to_end(Path::new("/bin/sh"), &["-c", script], timeout_ms)?;
    if status.success() {
        return Ok(());
    }
    let last = lines(&said).last().unwrap_or("it said nothing");
    Err(io::Error::other(format!("{status}: {last}")))
}

fn lines(said: &str) -> impl Iterator<Item = &str> {
    said.lines().map(str::trim).filter(|line| !line.is_empty())
}

/// The status, and what was said on standard output, or on standard error where that stayed empty. What does not fit
/// into a pipe (64 KiB) blocks the program until the time is over: meant for programs that say little.
fn run_to_end(program: &Path, args: &[&str], timeout_ms: u64) -> io::Result<(ExitStatus, String)> {
    let parent = std::process::id();
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the place that the rule points to"
    )]
    let mut command = Command::new(program);
    command
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // SAFETY: between fork and exec the closure makes only async-signal-safe calls and does not allocate.
    unsafe { command.pre_exec(move || leash(parent)) };
    let mut child = command.spawn()?;
    let deadline = crate::clock::monotonic().saturating_add(timeout_ms * 1_000_000);
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if crate::clock::monotonic() > deadline {
            kill_group(child.id());
            child.wait()?;
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "it did not end in time",
            ));
        }
        crate::clock::sleep(1_000_000);
    };
    // What it said is in the pipes by now. Reading on to their end could take for ever: a child of its own may hold
    // them open.
    let mut said = Vec::new();
    for pipe in [
        child.stdout.take().map(OwnedFd::from),
        child.stderr.take().map(OwnedFd::from),
    ] {
        let Some(pipe) = pipe.filter(|_| said.is_empty()) else {
            continue;
        };
        set_nonblocking(pipe.as_raw_fd())?;
        // Stops at "would block" with what came before it.
        let _ = File::from(pipe).read_to_end(&mut said);
    }
    Ok((status, String::from_utf8_lossy(&said).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_is_found_and_a_hanging_program_is_killed() {
        let sh = Path::new("/bin/sh");
        assert_eq!(
            first_line(sh, &["-c", "echo; echo one; echo two"], 5_000).unwrap(),
            "one"
        );
        assert_eq!(
            first_line(sh, &["-c", "echo err >&2"], 5_000).unwrap(),
            "err"
        );
        // A child that stays and holds the pipe does not hold us.
        assert_eq!(
            first_line(sh, &["-c", "echo one; sleep 2 &"], 5_000).unwrap(),
            "one"
        );
        let error = first_line(sh, &["-c", "sleep 60"], 50).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn a_shell_command_succeeds_or_says_why_not() {
        assert!(shell("true", 5_000).is_ok());
        let error = shell("echo first; echo no such disk; exit 3", 5_000).unwrap_err();
        assert_eq!(error.to_string(), "exit status: 3: no such disk");
        assert!(shell("sleep 60", 50).is_err());
    }
}
