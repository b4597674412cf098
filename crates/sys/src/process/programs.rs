//! Other programs, run to their end: what they say first, or whether they succeed.
//!
//! Like a worker such a program ends with us, and with its time. It is never measured.

#![expect(
    unsafe_code,
    reason = "what happens between fork and exec is beyond std"
)]

use super::{end, kill_group, leash, set_nonblocking};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

/// Runs `program` with `args` to its end, or for `timeout_ms` at most, and returns the first line it printed.
/// Standard input is empty; standard error is used where standard output stays empty.
pub fn first_line(program: &Path, args: &[&str], timeout_ms: u64) -> io::Result<String> {
    let (end, said) = run_to_end(program, args, timeout_ms, &|| false)?;
    if !matches!(end, ChildEnd::Ended(_)) {
        let why = "it did not end in time";
        return Err(io::Error::new(io::ErrorKind::TimedOut, why));
    }
    let (out, err) = (said.out.text(), said.err.text());
    lines(if out.is_empty() { &err } else { &out })
        .next()
        .map(str::to_owned)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "it printed nothing"))
}

/// How a script ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptEnd {
    /// With exit code 0.
    Done {
        /// Something that it started still runs in the background.
        leaves: bool,
    },
    /// With another exit code, and the last line it wrote, to standard error where it wrote there; may be empty.
    Exited(i32, String),
    /// By a signal, and what it had written.
    Signal(i32, String),
    /// It took longer than it may and was killed with all that it had started; and what it had written.
    TimedOut(String),
    /// `stop` said so, and it was killed with all that it had started.
    Stopped,
}

/// Runs `script` with /bin/sh to its end, for `timeout_ms` at most, or until `stop` says so. It may write as much as it
/// likes: only the last of it is kept. A process that it leaves behind in the background stays.
pub fn script(script: &str, timeout_ms: u64, stop: &dyn Fn() -> bool) -> io::Result<ScriptEnd> {
    let (end, said) = run_to_end(Path::new("/bin/sh"), &["-c", script], timeout_ms, stop)?;
    let last = || {
        let err = said.err.last_line();
        if err.is_empty() {
            said.out.last_line()
        } else {
            err
        }
    };
    Ok(match end {
        ChildEnd::Ended(status) if status.success() => ScriptEnd::Done {
            leaves: is_at_work(said.group),
        },
        ChildEnd::Ended(status) => match (status.code(), status.signal()) {
            (Some(code), _) => ScriptEnd::Exited(code, last()),
            (None, signal) => ScriptEnd::Signal(signal.unwrap_or(0), last()),
        },
        ChildEnd::TimedOut => ScriptEnd::TimedOut(last()),
        ChildEnd::Stopped => ScriptEnd::Stopped,
    })
}

/// Runs `script` with /bin/sh to its end, or for `timeout_ms` at most. Anything but success is an error that holds the
/// last line it printed.
pub fn shell(script: &str, timeout_ms: u64) -> io::Result<()> {
    let why = |how: String, last: &str| {
        let last = if last.is_empty() {
            "it said nothing"
        } else {
            last
        };
        Err(io::Error::other(format!("{how}: {last}")))
    };
    match self::script(script, timeout_ms, &|| false)? {
        ScriptEnd::Done { .. } => Ok(()),
        ScriptEnd::Exited(code, last) => why(format!("exit code {code}"), &last),
        ScriptEnd::Signal(signal, last) => why(format!("killed by signal {signal}"), &last),
        ScriptEnd::TimedOut(last) => why("it did not end in time".to_owned(), &last),
        ScriptEnd::Stopped => why("stopped".to_owned(), ""),
    }
}

fn lines(said: &str) -> impl Iterator<Item = &str> {
    said.lines().map(str::trim).filter(|line| !line.is_empty())
}

/// How a program ended.
enum ChildEnd {
    Ended(ExitStatus),
    TimedOut,
    Stopped,
}

/// Whether anybody is left of a process group; a process that has ended and was not reaped yet is nobody.
fn is_at_work(group: u32) -> bool {
    let group = group.to_string();
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return false;
    };
    let numbers = entries.flatten().filter(|entry| {
        let name = entry.file_name();
        name.as_encoded_bytes().iter().all(u8::is_ascii_digit)
    });
    numbers.into_iter().any(|entry| {
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else {
            return false;
        };
        // PID (NAME) STATE PPID PGRP ...; the name may hold anything: its last bracket counts. proc_pid_stat(5).
        let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let mut fields = rest.split_whitespace();
        let state = fields.next();
        fields.nth(1) == Some(group.as_str()) && !matches!(state, Some("Z" | "X"))
    })
}

/// What a program wrote, and the group of its processes.
struct Spoken {
    group: u32,
    out: Said,
    err: Said,
}

/// Runs `program` to its end, or kills it with its group when the time is over or `stop` says so. What it writes is
/// read meanwhile, so that a full pipe cannot hold it.
fn run_to_end(
    program: &Path,
    args: &[&str],
    timeout_ms: u64,
    stop: &dyn Fn() -> bool,
) -> io::Result<(ChildEnd, Spoken)> {
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
    unsafe { command.pre_exec(move || leash(parent, &[])) };
    let mut child = command.spawn()?;
    attend(&mut child, timeout_ms, stop).inspect_err(|_| end(&mut child))
}

/// Waits for the end of `child`, or brings it about.
fn attend(
    child: &mut Child,
    timeout_ms: u64,
    stop: &dyn Fn() -> bool,
) -> io::Result<(ChildEnd, Spoken)> {
    let mut said = Spoken {
        group: child.id(),
        out: Said::of(child.stdout.take().map(OwnedFd::from))?,
        err: Said::of(child.stderr.take().map(OwnedFd::from))?,
    };
    let deadline = crate::clock::monotonic().saturating_add(timeout_ms * 1_000_000);
    let end = loop {
        let status = child.try_wait()?;
        // Reading on to the end of the pipes could take for ever: a child of its own may hold them open.
        said.out.read();
        said.err.read();
        if let Some(status) = status {
            break ChildEnd::Ended(status);
        }
        let is_late = crate::clock::monotonic() > deadline;
        if is_late || stop() {
            kill_group(child.id());
            child.wait()?;
            break if is_late {
                ChildEnd::TimedOut
            } else {
                ChildEnd::Stopped
            };
        }
        crate::clock::sleep(1_000_000);
    };
    Ok((end, said))
}

/// What came out of a pipe: its beginning and its end.
struct Said {
    pipe: Option<File>,
    head: Vec<u8>,
    tail: Vec<u8>,
    /// True where something between head and tail was thrown away.
    cut: bool,
}

impl Said {
    /// As much is kept of the beginning, and of the end.
    const KEPT: usize = 16 << 10;

    /// As much is read in one go, so that one who writes without end is still killed in time.
    const READ_MAX: usize = 1 << 20;

    fn of(pipe: Option<OwnedFd>) -> io::Result<Self> {
        if let Some(pipe) = &pipe {
            set_nonblocking(pipe.as_raw_fd())?;
        }
        Ok(Self {
            pipe: pipe.map(File::from),
            head: Vec::new(),
            tail: Vec::new(),
            cut: false,
        })
    }

    /// Takes what is in the pipe by now.
    fn read(&mut self) {
        let Some(pipe) = &mut self.pipe else { return };
        let mut buffer = [0; 8 << 10];
        let mut all = 0;
        while all < Self::READ_MAX {
            match pipe.read(&mut buffer) {
                Ok(n @ 1..) => {
                    all += n;
                    let room = Self::KEPT.saturating_sub(self.head.len()).min(n);
                    self.head.extend_from_slice(&buffer[..room]);
                    self.tail.extend_from_slice(&buffer[room..n]);
                    let over = self.tail.len().saturating_sub(Self::KEPT);
                    self.cut |= over > 0;
                    self.tail.drain(..over);
                }
                // The end, nothing yet, or an error: whatever it is, there is no more now.
                _ => return,
            }
        }
    }

    /// The beginning as text.
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.head).into_owned()
    }

    /// The last line that is not empty, or the end of it where it is very long.
    fn last_line(&self) -> String {
        let mut end = self.tail.clone();
        if !self.cut {
            end.splice(..0, self.head.iter().copied());
        }
        let end = String::from_utf8_lossy(&end);
        let line = lines(&end).last().unwrap_or_default();
        let skip = line.chars().count().saturating_sub(LINE_MAX);
        line.chars().skip(skip).collect()
    }
}

/// A line of an error message is no longer than this; what is longer is data.
const LINE_MAX: usize = 240;

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
        assert_eq!(error.to_string(), "exit code 3: no such disk");
        assert!(shell("sleep 60", 50).is_err());
    }

    #[test]
    fn a_script_tells_how_it_ended_and_what_it_said_last_on_standard_error() {
        let check = |text: &str, expect: ScriptEnd| {
            assert_eq!(script(text, 20_000, &|| false).unwrap(), expect, "{text}");
        };
        let exited = |code, said: &str| ScriptEnd::Exited(code, said.to_owned());
        let done = |leaves| ScriptEnd::Done { leaves };
        check("echo hello", done(false));
        check("sleep 0.3 > /dev/null 2>&1 &", done(true));
        check("false", exited(1, ""));
        check("echo out; echo err >&2; echo out; exit 7", exited(7, "err"));
        check("echo one; echo two; exit 2", exited(2, "two"));
        check("kill -KILL $$", ScriptEnd::Signal(9, String::new()));
        // What a pipe cannot hold neither blocks it nor hides its last words.
        let much =
            "head -c 1000000 /dev/zero | tr '\\0' x; head -c 1000000 /dev/zero | tr '\\0' x >&2";
        check(much, done(false));
        check(
            &format!("{much}; echo >&2; echo last >&2; exit 1"),
            exited(1, "last"),
        );
    }

    #[test]
    fn a_script_that_hangs_is_killed_with_what_it_started_and_one_that_is_stopped_too() {
        let pid = |said: &str| said.parse::<u32>().unwrap();
        let hangs = "sleep 60 & echo $!; wait";
        let ScriptEnd::TimedOut(said) = script(hangs, 100, &|| false).unwrap() else {
            panic!("it hangs");
        };
        let gone = |pid| {
            (0..500).any(|_| {
                crate::clock::sleep(10_000_000);
                // Killed and not yet reaped by whoever adopted it is gone too.
                let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
                stat.is_ok_and(|stat| stat.contains(") Z ")) || !crate::process::exists(pid)
            })
        };
        assert!(gone(pid(&said)), "{said}");
        let asked = std::cell::Cell::new(0);
        let stop = || {
            asked.set(asked.get() + 1);
            asked.get() > 3
        };
        assert_eq!(
            script("sleep 60", 60_000, &stop).unwrap(),
            ScriptEnd::Stopped
        );
    }
}
