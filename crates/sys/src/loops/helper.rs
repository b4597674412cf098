//! The small C program of the process tests (`helper/helper.c`), carried inside this one: where it is put so that it
//! runs, and how it is told to work.

#![expect(unsafe_code, reason = "memfd_create has no interface in std")]

use super::failure::Failure;
use super::launch::{Child, Launch, Program};
use super::transfer::{read_full, write_full};
use crate::process::Usage;
use packed::Packed;
use std::borrow::Cow;
use std::ffi::{CStr, OsStr};
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};

static DYNAMIC: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/helper-dynamic"));
static STATIC: Packed = packed::carried!("helper-static");

/// The most operations of one request: the chain counts in C's int.
const OPS_MAX: u64 = 1_000_000_000;

/// How long the helper may take to end once its input is closed. It ends at once unless a command that it runs hangs.
const PATIENCE_MS: u64 = 500;

/// How the helper is linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linking {
    /// Against the machine's libc, by its dynamic loader.
    Dynamic,
    /// With all it needs inside.
    Static,
}

/// What the helper does per operation.
#[derive(Clone, Copy, Debug)]
pub enum Task<'a> {
    /// fork; the child exits with 0; wait; check the status.
    Spawn,
    /// execve of itself, with its state in the arguments.
    Chain,
    /// fork; the child executes this program with these arguments; wait; check the status.
    Run(&'a [&'a OsStr]),
}

/// Whether this build has a helper that is linked so; the error says why not.
pub fn built(linking: Linking) -> Result<(), String> {
    if linking == Linking::Static && STATIC.is_empty() {
        return Err(
            "this build has no static helper: there was no static libc (libc.a) where it was built"
                .to_owned(),
        );
    }
    Ok(())
}

/// Why the helper cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Not on this machine, or not with this build; another try will not help.
    #[error("{0}")]
    Unsupported(String),
    /// An operation failed.
    #[error("{operation} `{object}`: {error}")]
    Failed {
        /// What was tried.
        operation: &'static str,
        /// With what.
        object: String,
        /// What the system said.
        error: io::Error,
    },
}

/// A running helper. It ends with this value, and with the thread that started it.
#[derive(Debug)]
pub struct Helper {
    child: Child,
    file: Option<PathBuf>,
}

impl Helper {
    /// Writes the helper into `dir` and starts it there.
    pub fn start(linking: Linking, task: Task<'_>, dir: &Path) -> Result<Self, StartError> {
        Self::start_in(linking, task, dir, dir, None)
    }

    /// Writes the helper into `home` and starts it with `dir` as its current directory and one more environment
    /// variable. `home` leads to the same directory from here and from `dir`: names of directories above, which
    /// somebody else may change, need not be in it. Where programs in `home` may not be executed (`noexec`), it runs
    /// from memory instead.
    pub fn start_in(
        linking: Linking,
        task: Task<'_>,
        home: &Path,
        dir: &Path,
        env: Option<(&str, &str)>,
    ) -> Result<Self, StartError> {
        built(linking).map_err(StartError::Unsupported)?;
        let program = match linking {
            Linking::Dynamic => Cow::Borrowed(DYNAMIC),
            Linking::Static => Cow::Owned(STATIC.bytes()),
        };
        let args: Vec<&OsStr> = match task {
            Task::Spawn => vec!["spawn".as_ref()],
            // Target, count and start: a chain that is over and waits for its next request.
            Task::Chain => ["0", "0", "0", "0"].map(OsStr::new).to_vec(),
            Task::Run(command) => std::iter::once(OsStr::new("run"))
                .chain(command.iter().copied())
                .collect(),
        };
        // The child changes its directory before it executes the file, and goes on executing it.
        let mut helper = launch(&program, linking, home, &args, dir, env)?;
        match helper.reply() {
            Ok(()) => Ok(helper),
            Err(failure) => {
                let status = helper.child.finish(PATIENCE_MS);
                let why = match (status.code(), status.signal()) {
                    // ld.so's own exit code for a libc or a symbol version that it cannot find.
                    (Some(127), _) => "the dynamic loader refused it (exit status 127)".to_owned(),
                    (Some(code), _) => format!("{failure} (exit status {code})"),
                    (_, Some(signal)) => format!("it was ended by signal {signal}"),
                    _ => failure.to_string(),
                };
                Err(StartError::Unsupported(format!(
                    "the helper does not run here: {why}"
                )))
            }
        }
    }

    /// Its process id; the same for the whole of a chain.
    pub fn pid(&self) -> u32 {
        self.child.pid()
    }

    /// Does `ops` operations, and returns how many it did: all, or as many as one request takes.
    pub fn batch(&mut self, ops: u64) -> Result<u64, Failure> {
        let ops = ops.min(OPS_MAX);
        if ops == 0 {
            return Ok(0);
        }
        let input = self.child.input().ok_or_else(|| gone("write"))?;
        write_full(input.as_raw_fd(), &ops.to_ne_bytes(), 0)?;
        self.reply_after(ops)
    }

    /// What it and the children that it waited for have used until now, as the kernel counts it for them.
    pub fn used(&mut self) -> Result<Usage, Failure> {
        let input = self.child.input().ok_or_else(|| gone("write"))?;
        write_full(input.as_raw_fd(), &0_u64.to_ne_bytes(), 0)?;
        let mut bytes = [0; 48];
        if !read_full(self.child.output().as_raw_fd(), &mut bytes, 0)? {
            return Err(gone("read"));
        }
        let mut words = bytes.chunks_exact(8).map(|word| {
            let mut eight = [0; 8];
            eight.copy_from_slice(word);
            u64::from_ne_bytes(eight)
        });
        let mut next = || words.next().unwrap_or(0);
        // The order of `struct used` in C.
        Ok(Usage {
            user: next().saturating_mul(1_000),
            system: next().saturating_mul(1_000),
            voluntary: next(),
            involuntary: next(),
            major_faults: next(),
            minor_faults: next(),
        })
    }

    /// Ends it, reaps it and removes its file. True where it ended in good order.
    pub fn finish(&mut self) -> bool {
        let status = self.child.finish(PATIENCE_MS);
        self.remove_file();
        status.success()
    }

    fn reply(&mut self) -> Result<(), Failure> {
        self.reply_after(0).map(|_| ())
    }

    fn reply_after(&mut self, ops: u64) -> Result<u64, Failure> {
        let mut bytes = [0; 16];
        if !read_full(self.child.output().as_raw_fd(), &mut bytes, 0)? {
            return Err(gone("read"));
        }
        let reply = Reply::parse(bytes);
        match reply.failure() {
            Some(failure) => Err(failure),
            None if reply.done <= ops => Ok(reply.done),
            None => Err(Failure::kind(
                "count",
                reply.done,
                io::ErrorKind::InvalidData,
            )),
        }
    }

    fn remove_file(&mut self) {
        if let Some(file) = self.file.take() {
            // The directory goes with everything in it in any case; a file that is gone already is fine.
            let _ = std::fs::remove_file(file);
        }
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        self.child.kill();
        self.remove_file();
    }
}

fn gone(operation: &'static str) -> Failure {
    Failure::kind(operation, 0, io::ErrorKind::UnexpectedEof)
}

/// What the helper reports; `struct reply` in C.
#[derive(Clone, Copy, Debug)]
struct Reply {
    done: u64,
    stage: u32,
    detail: u32,
}

impl Reply {
    fn parse(bytes: [u8; 16]) -> Self {
        let word = |at: usize| {
            u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let mut done = [0; 8];
        done.copy_from_slice(&bytes[..8]);
        Self {
            done: u64::from_ne_bytes(done),
            stage: word(8),
            detail: word(12),
        }
    }

    fn failure(self) -> Option<Failure> {
        let errno = io::Error::from_raw_os_error(self.detail.cast_signed());
        let (operation, error) = match self.stage {
            0 => return None,
            1 => ("fork", errno),
            2 => ("wait", errno),
            3 => {
                let status = std::process::ExitStatus::from_raw(self.detail.cast_signed());
                (
                    "check the status",
                    io::Error::other(format!("the child ended with {status}")),
                )
            }
            4 => ("execl", errno),
            5 => ("open `/dev/null`", errno),
            _ => ("read the report", io::ErrorKind::InvalidData.into()),
        };
        Some(Failure {
            operation,
            done: self.done,
            error,
        })
    }
}

fn launch(
    program: &[u8],
    linking: Linking,
    home: &Path,
    args: &[&OsStr],
    dir: &Path,
    env: Option<(&str, &str)>,
) -> Result<Helper, StartError> {
    let path = home.join(match linking {
        Linking::Dynamic => "helper",
        Linking::Static => "helper-static",
    });
    let failed = |operation, object: &Path, error| StartError::Failed {
        operation,
        object: object.display().to_string(),
        error,
    };
    write_program(&path, program).map_err(|error| failed("write", &path, error))?;
    let from_file = start(&Launch {
        program: Program::Path(&path),
        args,
        dir,
        env,
    });
    let error = match from_file {
        Ok(child) => {
            return Ok(Helper {
                child,
                file: Some(path),
            });
        }
        Err(error) => error,
    };
    let _ = std::fs::remove_file(&path);
    match error.raw_os_error() {
        // Mounted noexec, or forbidden by a security module.
        Some(libc::EACCES | libc::EPERM) => {}
        // The file is there, so it is the interpreter that is not.
        Some(libc::ENOENT) if linking == Linking::Dynamic => {
            return Err(StartError::Unsupported(no_loader(program)));
        }
        _ => return Err(failed("execute", &path, error)),
    }
    let memory = in_memory(program).map_err(|error| failed("memfd_create", &path, error))?;
    match start(&Launch {
        program: Program::Fd(memory.as_fd()),
        args,
        dir,
        env,
    }) {
        Ok(child) => Ok(Helper { child, file: None }),
        Err(in_memory) => Err(StartError::Unsupported(format!(
            "programs may not be executed in `{}` ({error}), nor from memory ({in_memory})",
            home.display()
        ))),
    }
}

fn write_program(path: &Path, program: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o755)
        .open(path)?;
    file.write_all(program)?;
    // The umask may have taken the bits away.
    file.set_permissions(Permissions::from_mode(0o755))
}

/// Starts it, trying again for as long as the file counts as being written: a process forked by another thread
/// holds our descriptor until it has executed its own program.
fn start(launch: &Launch<'_>) -> io::Result<Child> {
    for _ in 0..200 {
        match Child::start(launch) {
            Err(error) if error.raw_os_error() == Some(libc::ETXTBSY) => {
                crate::clock::sleep(5_000_000);
            }
            result => return result,
        }
    }
    Child::start(launch)
}

fn in_memory(program: &[u8]) -> io::Result<File> {
    // Kernels since 6.3 want to be told that it will be executed; older ones refuse the flag.
    let mut fd = memfd(c"kurabe-helper", libc::MFD_CLOEXEC | libc::MFD_EXEC);
    if fd
        .as_ref()
        .is_err_and(|error| error.raw_os_error() == Some(libc::EINVAL))
    {
        fd = memfd(c"kurabe-helper", libc::MFD_CLOEXEC);
    }
    let mut file = fd?;
    file.write_all(program)?;
    // Executing a file that is open for writing fails (ETXTBSY), so it is opened again for reading only.
    File::open(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

fn memfd(name: &CStr, flags: libc::c_uint) -> io::Result<File> {
    // SAFETY: `name` is a C string; the flags are plain integers.
    let fd = unsafe { libc::memfd_create(name.as_ptr(), flags) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and nobody else's.
    Ok(unsafe { File::from_raw_fd(fd) })
}

/// Names the loader that the helper asks for: the first thing in the file that reads like its path.
fn no_loader(program: &[u8]) -> String {
    let path = program
        .windows(4)
        .position(|window| window == b"/lib")
        .and_then(|start| program.get(start..))
        .and_then(|rest| rest.split(|&byte| byte == 0).next())
        .map_or_else(|| "its path is unknown".into(), String::from_utf8_lossy);
    format!(
        "no dynamic loader: the machine has no `{path}`, which dynamically linked programs need"
    )
}

#[cfg(test)]
mod tests;
