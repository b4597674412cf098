//! A program that runs beside what a worker does, for as long as the worker says.
//!
//! It stays in the worker's process group with all that it starts, so that whoever kills that group kills it too, and
//! its CPU time counts as the worker's. It dies with the worker.

#![expect(
    unsafe_code,
    reason = "what happens between fork and exec is beyond std, and so are inherited descriptors"
)]

use super::{Ended, die_with, give_back, how};
use crate::signal::ask_group_to_end;
use std::fs::File;
use std::io;
use std::os::fd::FromRawFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A started program.
#[derive(Debug)]
pub struct Beside {
    child: Child,
    ended: Option<Ended>,
}

impl Beside {
    /// Executes `program` in `dir`; a name without a slash is looked for in `PATH`. Standard input is empty, and
    /// standard output and standard error go to these files. An error is that of the execution too.
    pub fn start(
        program: &str,
        arguments: &[String],
        dir: &Path,
        [output, errors]: [File; 2],
    ) -> io::Result<Self> {
        let parent = std::process::id();
        #[expect(
            clippy::disallowed_methods,
            reason = "this is the place that the rule points to"
        )]
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(dir)
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors);
        let leash = move || give_back().and_then(|()| die_with(parent));
        // SAFETY: between fork and exec the closure makes only async-signal-safe calls and does not allocate.
        unsafe { command.pre_exec(leash) };
        Ok(Self {
            child: command.spawn()?,
            ended: None,
        })
    }

    /// How it ended, or `None` while it runs.
    pub fn ended(&mut self) -> io::Result<Option<Ended>> {
        if self.ended.is_none() {
            self.ended = self.child.try_wait()?.map(how);
        }
        Ok(self.ended)
    }

    /// Asks it to end (SIGTERM), once; with everything that it started, where the calling process leads its group.
    pub fn ask_to_end(&self) -> io::Result<()> {
        if !ask_group_to_end()?
            && self.ended.is_none()
            && let Ok(pid) = i32::try_from(self.child.id())
        {
            // SAFETY: kill takes plain integers; our own child is not reaped yet, so the id is its own.
            unsafe { libc::kill(pid, libc::SIGTERM) };
        }
        Ok(())
    }

    /// Kills it where it still runs, and says how it ended.
    pub fn kill(&mut self) -> io::Result<Ended> {
        if let Some(ended) = self.ended()? {
            return Ok(ended);
        }
        self.child.kill()?;
        let ended = how(self.child.wait()?);
        self.ended = Some(ended);
        Ok(ended)
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}

/// A second handle to our standard error that every process inherits which is started from now on: its number.
pub fn share_errors() -> io::Result<i32> {
    // SAFETY: dup takes one integer.
    match unsafe { libc::dup(libc::STDERR_FILENO) } {
        -1 => Err(io::Error::last_os_error()),
        number => Ok(number),
    }
}

/// An inherited handle of this number, as a file; no further process inherits either.
pub fn inherited(number: i32) -> io::Result<File> {
    // SAFETY: fcntl takes plain integers; a number that nothing is open under gives EBADF.
    if unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: as above.
    match unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 0) } {
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: the descriptor was made a moment ago, and nobody else has it.
        own => Ok(unsafe { File::from_raw_fd(own) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek};

    fn end_of(beside: &mut Beside) -> Ended {
        loop {
            match beside.ended().unwrap() {
                Some(ended) => break ended,
                None => crate::clock::sleep(1_000_000),
            }
        }
    }

    #[test]
    fn a_program_runs_in_its_directory_and_tells_its_exit_code() {
        let dir = std::env::temp_dir().canonicalize().unwrap();
        let mut said = tempfile::tempfile().unwrap();
        let shared = said.try_clone().unwrap();
        let outputs = || [shared.try_clone().unwrap(), shared.try_clone().unwrap()];
        let arguments = ["-c".to_owned(), "pwd; echo no >&2; exit 3".to_owned()];
        let mut beside = Beside::start("sh", &arguments, &dir, outputs()).unwrap();
        assert_eq!(end_of(&mut beside), Ended::Code(3));
        beside.ask_to_end().unwrap();
        assert_eq!(beside.kill().unwrap(), Ended::Code(3));
        let mut text = String::new();
        said.rewind().unwrap();
        said.read_to_string(&mut text).unwrap();
        assert_eq!(text, format!("{}\nno\n", dir.display()));
        let missing = Beside::start("/no/such/program", &[], &dir, outputs()).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_program_is_asked_to_end_and_one_that_does_not_listen_is_killed() {
        let said = || tempfile::tempfile().unwrap();
        let start = |text: &str| {
            let arguments = ["-c".to_owned(), text.to_owned()];
            Beside::start("sh", &arguments, Path::new("/"), [said(), said()]).unwrap()
        };
        let mut listens = start("exec sleep 60");
        listens.ask_to_end().unwrap();
        assert_eq!(end_of(&mut listens), Ended::Signal(libc::SIGTERM));
        let mut deaf = start("exec sleep 60");
        assert_eq!(deaf.ended().unwrap(), None);
        assert_eq!(deaf.kill().unwrap(), Ended::Signal(libc::SIGKILL));
    }
}
