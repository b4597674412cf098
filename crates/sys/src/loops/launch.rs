//! Starts one program from a measured process: fork and exec by hand, with two pipes and nothing else open.
//!
//! std's `Command` uses vfork-like calls and gives no say over descriptor numbers; the helper's chain of
//! replacements needs both under control: descriptors 0, 1 and 2, and a program that may have no path at all.

#![expect(
    unsafe_code,
    reason = "fork, dup2 and execve with chosen descriptors have no safe interface"
)]

use std::ffi::{CString, OsStr, OsString};
use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;

/// The descriptor under which a program without a path is executed.
const PROGRAM_FD: RawFd = 3;

/// Descriptors are first moved up to here, out of the way of those that the program gets.
const HIGH_FD: libc::c_int = 10;

/// What to start.
#[derive(Debug)]
pub struct Launch<'a> {
    /// The program.
    pub program: Program<'a>,
    /// Its arguments, without the program's own name.
    pub args: &'a [&'a OsStr],
    /// Its current directory.
    pub dir: &'a Path,
    /// One environment variable on top of ours.
    pub env: Option<(&'a str, &'a str)>,
}

/// Where a program is.
#[derive(Clone, Copy, Debug)]
pub enum Program<'a> {
    /// Under this path.
    Path(&'a Path),
    /// Behind this descriptor; it is executed, and executes itself again, as `/proc/self/fd/3`.
    Fd(BorrowedFd<'a>),
}

/// A started program, with its standard input and output at hand. Dies with the thread that started it.
#[derive(Debug)]
pub struct Child {
    pid: libc::pid_t,
    input: Option<PipeWriter>,
    output: PipeReader,
    ended: Option<ExitStatus>,
}

impl Child {
    /// Starts it. An error of execve comes back as the error of this call.
    pub fn start(launch: &Launch<'_>) -> io::Result<Self> {
        let path = match launch.program {
            Program::Path(path) => path.to_owned(),
            Program::Fd(_) => format!("/proc/self/fd/{PROGRAM_FD}").into(),
        };
        let program = c_string(path.as_os_str())?;
        let args = std::iter::once(path.as_os_str())
            .chain(launch.args.iter().copied())
            .map(c_string)
            .collect::<io::Result<Vec<_>>>()?;
        let environment = environment(launch.env)?;
        let dir = c_string(launch.dir.as_os_str())?;
        let (input_read, input) = io::pipe()?;
        let (output, output_write) = io::pipe()?;
        let (mut error_read, error_write) = io::pipe()?;
        let plan = Plan {
            // SAFETY: getpid takes nothing and cannot fail.
            parent: unsafe { libc::getpid() },
            program: &program,
            args: &pointers(&args),
            environment: &pointers(&environment),
            dir: &dir,
            input: high(input_read.as_raw_fd())?,
            output: high(output_write.as_raw_fd())?,
            error: high(error_write.as_raw_fd())?,
            program_fd: match launch.program {
                Program::Path(_) => None,
                Program::Fd(fd) => Some(high(fd.as_raw_fd())?),
            },
        };
        drop((input_read, output_write, error_write));
        // SAFETY: the child calls only async-signal-safe functions and never returns.
        let pid = match unsafe { libc::fork() } {
            -1 => return Err(io::Error::last_os_error()),
            0 => become_program(&plan),
            pid => pid,
        };
        drop(plan);
        let mut child = Self {
            pid,
            input: Some(input),
            output,
            ended: None,
        };
        let mut errno = Vec::new();
        error_read.read_to_end(&mut errno)?;
        match <[u8; 4]>::try_from(errno.as_slice()) {
            // Closed by a successful execve.
            Err(_) => Ok(child),
            Ok(bytes) => {
                child.kill();
                Err(io::Error::from_raw_os_error(i32::from_ne_bytes(bytes)))
            }
        }
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.pid.unsigned_abs()
    }

    /// Writes to its standard input; `None` once [`Self::close_input`] was called.
    pub fn input(&self) -> Option<&PipeWriter> {
        self.input.as_ref()
    }

    /// Reads its standard output.
    pub fn output(&self) -> &PipeReader {
        &self.output
    }

    /// Closes its standard input: the end of work for programs that read it.
    pub fn close_input(&mut self) {
        self.input = None;
    }

    /// Closes its standard input, gives it `patience_ms` to end on its own, kills it where it does not, and reaps it.
    pub fn finish(&mut self, patience_ms: u64) -> ExitStatus {
        self.close_input();
        let deadline = crate::clock::monotonic() + patience_ms * 1_000_000;
        while self.wait(libc::WNOHANG).is_none() && crate::clock::monotonic() < deadline {
            crate::clock::sleep(1_000_000);
        }
        self.kill()
    }

    /// Kills it where it still runs, and reaps it.
    pub fn kill(&mut self) -> ExitStatus {
        loop {
            if let Some(status) = self.ended {
                return status;
            }
            // SAFETY: the child was not waited for yet, so the id is still its own. One that has ended keeps its
            // status.
            unsafe { libc::kill(self.pid, libc::SIGKILL) };
            self.wait(0);
        }
    }

    fn wait(&mut self, flags: libc::c_int) -> Option<ExitStatus> {
        if self.ended.is_none() {
            let mut status = 0;
            // SAFETY: `status` is valid to write to.
            let got = unsafe { libc::waitpid(self.pid, &raw mut status, flags) };
            if got == self.pid {
                self.ended = Some(ExitStatus::from_raw(status));
            } else if got < 0 && io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                // Somebody else reaped it. What it came to is not known, so it does not count as a success.
                self.ended = Some(ExitStatus::from_raw(libc::SIGKILL));
            }
        }
        self.ended
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
    }
}

/// All that the child needs between fork and execve, made before: after fork it must not allocate.
struct Plan<'a> {
    parent: libc::pid_t,
    program: &'a CString,
    args: &'a [*const libc::c_char],
    environment: &'a [*const libc::c_char],
    dir: &'a CString,
    input: OwnedFd,
    output: OwnedFd,
    error: OwnedFd,
    program_fd: Option<OwnedFd>,
}

fn become_program(plan: &Plan<'_>) -> ! {
    let error = match set_up(plan) {
        Ok(()) => {
            // SAFETY: program, arguments and environment are C strings behind null-terminated arrays that live in
            // `plan`.
            unsafe {
                libc::execve(
                    plan.program.as_ptr(),
                    plan.args.as_ptr(),
                    plan.environment.as_ptr(),
                )
            };
            io::Error::last_os_error()
        }
        Err(error) => error,
    };
    let errno = error.raw_os_error().unwrap_or(libc::EIO).to_ne_bytes();
    // SAFETY: `errno` is valid to read from for its length. Nobody is left to tell where this fails too.
    unsafe { libc::write(plan.error.as_raw_fd(), errno.as_ptr().cast(), errno.len()) };
    // SAFETY: _exit is async-signal-safe and does not return.
    unsafe { libc::_exit(127) }
}

fn set_up(plan: &Plan<'_>) -> io::Result<()> {
    crate::process::die_with_parent()?;
    // SAFETY: getppid takes nothing and cannot fail.
    if unsafe { libc::getppid() } != plan.parent {
        return Err(io::Error::from_raw_os_error(libc::ESRCH));
    }
    // SAFETY: `dir` is a C string.
    check(unsafe { libc::chdir(plan.dir.as_ptr()) })?;
    // SAFETY: dup2 takes plain integers; both are open.
    check(unsafe { libc::dup2(plan.input.as_raw_fd(), 0) })?;
    // SAFETY: as above.
    check(unsafe { libc::dup2(plan.output.as_raw_fd(), 1) })?;
    if let Some(fd) = &plan.program_fd {
        // SAFETY: as above.
        check(unsafe { libc::dup2(fd.as_raw_fd(), PROGRAM_FD) })?;
    }
    // Whatever else is open stays behind. Kernels before 5.11 refuse the call; ours are close-on-exec anyway.
    let first = if plan.program_fd.is_some() {
        PROGRAM_FD + 1
    } else {
        PROGRAM_FD
    };
    // SAFETY: close_range takes plain integers, and with this flag it closes nothing of this process yet.
    unsafe {
        libc::syscall(
            libc::SYS_close_range,
            first,
            libc::c_uint::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        )
    };
    crate::process::give_back()?;
    // SAFETY: an all-zero sigset_t is the empty set.
    let none: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: `none` is a valid set; the old one is not asked for.
    check(unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut()) })
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

fn high(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: fcntl with F_DUPFD_CLOEXEC takes plain integers.
    let copy = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, HIGH_FD) };
    check(copy)?;
    // SAFETY: `copy` is new and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}

fn environment(extra: Option<(&str, &str)>) -> io::Result<Vec<CString>> {
    let assignment = |name: &OsStr, value: &OsStr| {
        let mut text = name.as_bytes().to_vec();
        text.push(b'=');
        text.extend_from_slice(value.as_bytes());
        OsString::from_vec(text)
    };
    std::env::vars_os()
        .filter(|(name, _)| extra.is_none_or(|(replaced, _)| name != replaced))
        .map(|(name, value)| assignment(&name, &value))
        .chain(extra.map(|(name, value)| assignment(name.as_ref(), value.as_ref())))
        .map(|text| c_string(&text))
        .collect()
}

fn c_string(text: &OsStr) -> io::Result<CString> {
    CString::new(text.as_bytes()).map_err(io::Error::from)
}

/// The array that execve wants: a pointer per string, and a null at the end. Valid as long as `strings`.
fn pointers(strings: &[CString]) -> Vec<*const libc::c_char> {
    strings
        .iter()
        .map(|text| text.as_ptr())
        .chain([std::ptr::null()])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Child {
        Child::start(&Launch {
            program: Program::Path(Path::new("/bin/sh")),
            args: &["-c".as_ref(), script.as_ref()],
            dir: Path::new("/"),
            env: Some(("LANG", "xx_YY")),
        })
        .unwrap()
    }

    fn printed(script: &str) -> String {
        let mut child = sh(script);
        child.close_input();
        let text = io::read_to_string(child.output()).unwrap();
        assert!(child.finish(5_000).success());
        text
    }

    #[test]
    fn the_program_gets_its_directory_its_environment_and_three_descriptors() {
        assert_eq!(printed("pwd; echo $LANG"), "/\nxx_YY\n");
        // The shell's own descriptor for /proc/self/fd comes on top in ls, as 3.
        assert_eq!(printed("ls /proc/self/fd").split_whitespace().count(), 4);
    }

    #[test]
    fn sigpipe_ends_the_program_again() {
        let ignored = printed("grep SigIgn /proc/self/status | cut -f2");
        let ignored = u64::from_str_radix(ignored.trim(), 16).unwrap();
        assert_eq!(ignored >> (libc::SIGPIPE - 1) & 1, 0, "{ignored:x}");
    }

    #[test]
    fn a_missing_program_is_an_error_of_start() {
        let error = Child::start(&Launch {
            program: Program::Path(Path::new("/nowhere/at-all")),
            args: &[],
            dir: Path::new("/"),
            env: None,
        })
        .unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOENT));
    }

    #[test]
    fn a_program_that_does_not_end_is_killed_and_reaped() {
        let mut child = sh("exec sleep 60");
        assert!(crate::process::exists(child.pid()));
        assert_eq!(child.finish(20).signal(), Some(libc::SIGKILL));
        assert!(!crate::process::exists(child.pid()));

        let pid = sh("exec sleep 60").pid();
        assert!(!crate::process::exists(pid), "dropped without finish");
    }

    #[test]
    fn exit_codes_come_through() {
        assert_eq!(sh("exit 7").finish(5_000).code(), Some(7));
    }
}
