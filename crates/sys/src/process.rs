//! Worker processes: started so that they cannot outlive us, watched, killed with everything they started.
//!
//! A worker is this same binary executed again. It gets a process group of its own (so that Ctrl-C on the terminal
//! reaches only the supervisor, and one kill reaches all it started) and a parent-death signal (so that `kill -9` of
//! the supervisor ends it too). The supervisor is a "child subreaper": orphans of a killed worker come to it and are
//! reaped.

#![expect(
    unsafe_code,
    reason = "fork-time set-up, process groups and rusage are beyond std"
)]

mod beside;
mod living;
mod programs;
mod worker;

pub use beside::{Beside, inherited, share_errors};
pub use living::usage_of;
pub use programs::{ScriptEnd, first_line, script, shell};
pub use worker::be_worker;
pub(crate) use worker::give_back;

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

/// Variables that may hold a password: no worker inherits them, nor what it starts.
pub const SECRET_VARIABLES: [&str; 5] = [
    "KURABE_DB_URL",
    "KURABE_TOKEN",
    "PGPASSWORD",
    "MYSQL_PWD",
    "REDISCLI_AUTH",
];

/// A running worker.
#[derive(Debug)]
pub struct Worker {
    child: Child,
    /// Writes to the worker's standard input.
    pub input: File,
    /// Reads the worker's standard output; does not block.
    pub output: File,
    /// Reads the worker's standard error; does not block.
    pub errors: File,
}

/// How a worker ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With this exit code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

impl Worker {
    /// Executes this binary again with `args` and our process id behind them, in `dir`, with one more environment
    /// variable. It is to call [`be_worker`] with that id before anything else. It gets these `handles` under the
    /// numbers that they have here.
    pub fn start(
        args: &[&OsStr],
        dir: &Path,
        env: (&str, &str),
        handles: &[&File],
    ) -> io::Result<Self> {
        let parent = std::process::id();
        let handles: Vec<RawFd> = handles.iter().map(|handle| handle.as_raw_fd()).collect();
        #[expect(
            clippy::disallowed_methods,
            reason = "this is the place that the rule points to"
        )]
        let mut command = Command::new("/proc/self/exe");
        command
            .arg0("kurabe")
            .args(args)
            .arg(parent.to_string())
            .current_dir(dir)
            .env(env.0, env.1)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        for secret in SECRET_VARIABLES {
            command.env_remove(secret);
        }
        // SAFETY: between fork and exec the closure makes only async-signal-safe calls and does not allocate.
        unsafe { command.pre_exec(move || leash(parent, &handles)) };
        let mut child = command.spawn()?;
        match pipes(&mut child) {
            Ok([input, output, errors]) => Ok(Self {
                child,
                input,
                output,
                errors,
            }),
            Err(error) => {
                end(&mut child);
                Err(error)
            }
        }
    }

    /// Its process id, which is its process group too.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, or `None` while it runs. It is not reaped before [`Self::kill`], so that its process id, and with
    /// it the group that `kill` means, cannot belong to somebody else by then.
    pub fn ended(&self) -> io::Result<Option<Ended>> {
        // SAFETY: an all-zero siginfo is a valid value of this plain C struct.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        // SAFETY: `info` is valid to write to; the id is that of our own child, which is not reaped yet.
        if unsafe { libc::waitid(libc::P_PID, self.pid(), &raw mut info, options) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: waitid fills in the fields of SIGCHLD, or leaves them 0 where nothing ended.
        if unsafe { info.si_pid() } == 0 {
            return Ok(None);
        }
        // SAFETY: as above.
        let status = unsafe { info.si_status() };
        Ok(Some(match info.si_code {
            libc::CLD_EXITED => Ended::Code(status),
            _ => Ended::Signal(status),
        }))
    }

    /// Asks it to end in good order; one that does not listen dies of it.
    pub fn ask_to_end(&self) {
        if let Ok(pid) = i32::try_from(self.pid()) {
            // SAFETY: kill takes plain integers; our own child is not reaped yet, so the id is its own.
            unsafe { libc::kill(pid, libc::SIGTERM) };
        }
    }

    /// Kills it and everything in its process group, and waits for it. What it started in other groups, and orphans
    /// that it left to us, are for [`reap_orphans`].
    pub fn kill(&mut self) -> io::Result<Ended> {
        kill_group(self.pid());
        Ok(how(self.child.wait()?))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // A worker that was not killed is not left behind, whatever went wrong above. One that was is reaped, and an
        // error says so.
        if self.ended().is_ok() {
            let _ = self.kill();
        }
    }
}

/// The pipes of a new worker: its input, and its output and errors, which do not block.
fn pipes(child: &mut Child) -> io::Result<[File; 3]> {
    let missing = || io::Error::other("a pipe that was asked for is missing");
    let input = OwnedFd::from(child.stdin.take().ok_or_else(missing)?);
    let output = OwnedFd::from(child.stdout.take().ok_or_else(missing)?);
    let errors = OwnedFd::from(child.stderr.take().ok_or_else(missing)?);
    set_nonblocking(output.as_raw_fd())?;
    set_nonblocking(errors.as_raw_fd())?;
    Ok([input, output, errors].map(File::from))
}

/// Kills a child with its group, and waits for it: nobody else will.
fn end(child: &mut Child) {
    kill_group(child.id());
    let _ = child.wait();
}

fn how(status: ExitStatus) -> Ended {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ended::Code(code),
        (None, Some(signal)) => Ended::Signal(signal),
        // Neither an exit nor a signal cannot come out of wait without WUNTRACED.
        (None, None) => Ended::Code(-1),
    }
}

/// In the child: a process group of its own, death with the parent, nothing of what we have changed of ourselves, and
/// the handles that it is to have.
fn leash(parent: u32, handles: &[RawFd]) -> io::Result<()> {
    // SAFETY: setpgid on ourselves takes plain integers.
    if unsafe { libc::setpgid(0, 0) } != 0 {
        return Err(io::Error::last_os_error());
    }
    for &handle in handles {
        // SAFETY: fcntl takes plain integers; the descriptor is open, and closed at the execution unless we say so.
        if unsafe { libc::fcntl(handle, libc::F_SETFD, 0) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    give_back()?;
    die_with(parent)
}

/// Death with the parent, which is to have this id.
fn die_with(parent: u32) -> io::Result<()> {
    die_with_parent()?;
    // SAFETY: getppid cannot fail.
    let now = unsafe { libc::getppid() };
    if u32::try_from(now) == Ok(parent) {
        Ok(())
    } else {
        // The parent died before the call: nobody would ever signal us.
        Err(io::Error::from_raw_os_error(libc::ESRCH))
    }
}

/// Asks the kernel to kill the calling process when the thread that forked it ends.
pub fn die_with_parent() -> io::Result<()> {
    // SAFETY: PR_SET_PDEATHSIG takes one integer.
    if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Keeps what is in this process, such as a password, to itself: no core dump has it, and no debugger of the same user.
/// What reads of others in /proc needs no more than everybody may see. `PR_SET_DUMPABLE(2const)`.
pub fn keep_secrets() {
    // SAFETY: PR_SET_DUMPABLE takes one integer. It fails for another one alone.
    unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0) };
}

/// From now on orphans of our children become our children, so that [`reap_orphans`] sees them.
pub fn adopt_orphans() -> io::Result<()> {
    // SAFETY: PR_SET_CHILD_SUBREAPER takes one integer.
    if unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Reaps every child that has ended. Only to be called where no [`Worker`] is left that was not killed: it would steal
/// that one's status.
pub fn reap_orphans() {
    loop {
        // SAFETY: a null status pointer is allowed.
        let pid = unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) };
        if pid <= 0 {
            return;
        }
    }
}

/// Kills every process in the group; no error where it is gone already.
pub fn kill_group(group: u32) {
    if let Ok(group) = i32::try_from(group) {
        // SAFETY: kill takes plain integers; a group that is gone gives ESRCH.
        unsafe { libc::kill(-group, libc::SIGKILL) };
    }
}

/// Whether a process with this id exists, as far as we may know.
#[cfg(test)]
pub(crate) fn exists(pid: u32) -> bool {
    let Ok(pid) = i32::try_from(pid) else {
        return false;
    };
    // SAFETY: signal 0 only checks.
    let result = unsafe { libc::kill(pid, 0) };
    result == 0 || io::Error::last_os_error().raw_os_error() == Some(libc::EPERM)
}

/// Waits until one of `fds` can be read or has hung up, a signal comes, or `timeout_ms` is over.
pub fn wait_readable(fds: &[RawFd], timeout_ms: u64) -> io::Result<()> {
    let mut polls: Vec<libc::pollfd> = fds
        .iter()
        .map(|&fd| libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        })
        .collect();
    let timeout = libc::c_int::try_from(timeout_ms).unwrap_or(libc::c_int::MAX);
    let count = libc::nfds_t::try_from(polls.len()).map_err(io::Error::other)?;
    // SAFETY: `polls` is valid for `count` entries.
    let ready = unsafe { libc::poll(polls.as_mut_ptr(), count, timeout) };
    if ready < 0 {
        let error = io::Error::last_os_error();
        if error.kind() == io::ErrorKind::Interrupted {
            return Ok(());
        }
        return Err(error);
    }
    Ok(())
}

fn set_nonblocking(fd: RawFd) -> io::Result<()> {
    #[cfg(test)]
    tests::fail_where_told()?;
    // SAFETY: F_GETFL takes no further argument.
    let flags = unsafe { libc::fcntl(fd, libc::F_GETFL) };
    if flags < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: F_SETFL takes one integer.
    if unsafe { libc::fcntl(fd, libc::F_SETFL, flags | libc::O_NONBLOCK) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Resources used by a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// CPU time in user mode, in nanoseconds.
    pub user: u64,
    /// CPU time in kernel mode, in nanoseconds.
    pub system: u64,
    /// Context switches it asked for by waiting.
    pub voluntary: u64,
    /// Context switches it did not ask for.
    pub involuntary: u64,
    /// Page faults that had to read from storage.
    pub major_faults: u64,
    /// Page faults that had not.
    pub minor_faults: u64,
}

impl Usage {
    /// What was used between `earlier` and `self`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            user: self.user.saturating_sub(earlier.user),
            system: self.system.saturating_sub(earlier.system),
            voluntary: self.voluntary.saturating_sub(earlier.voluntary),
            involuntary: self.involuntary.saturating_sub(earlier.involuntary),
            major_faults: self.major_faults.saturating_sub(earlier.major_faults),
            minor_faults: self.minor_faults.saturating_sub(earlier.minor_faults),
        }
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            user: self.user + other.user,
            system: self.system + other.system,
            voluntary: self.voluntary + other.voluntary,
            involuntary: self.involuntary + other.involuntary,
            major_faults: self.major_faults + other.major_faults,
            minor_faults: self.minor_faults + other.minor_faults,
        }
    }
}

/// What this process used so far, all threads.
pub fn usage_self() -> Usage {
    usage(libc::RUSAGE_SELF)
}

/// What this thread used so far.
pub fn usage_thread() -> Usage {
    usage(libc::RUSAGE_THREAD)
}

/// What the children that were waited for used so far.
pub fn usage_children() -> Usage {
    usage(libc::RUSAGE_CHILDREN)
}

fn usage(who: libc::c_int) -> Usage {
    // SAFETY: an all-zero rusage is a valid value of this plain C struct.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is valid to write to.
    let result = unsafe { libc::getrusage(who, &raw mut usage) };
    assert_eq!(result, 0, "getrusage of ourselves or our children");
    let count = |n: libc::c_long| u64::try_from(n).unwrap_or(0);
    let nanos = |time: libc::timeval| {
        u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000
            + u64::try_from(time.tv_usec).unwrap_or(0) * 1_000
    };
    Usage {
        user: nanos(usage.ru_utime),
        system: nanos(usage.ru_stime),
        voluntary: count(usage.ru_nvcsw),
        involuntary: count(usage.ru_nivcsw),
        major_faults: count(usage.ru_majflt),
        minor_faults: count(usage.ru_minflt),
    }
}

/// Columns of the terminal behind standard output; `None` where there is none.
pub fn terminal_width() -> Option<usize> {
    // SAFETY: an all-zero winsize is a valid value of this plain C struct.
    let mut size: libc::winsize = unsafe { std::mem::zeroed() };
    // SAFETY: `size` is valid to write to for TIOCGWINSZ.
    let result = unsafe { libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &raw mut size) };
    (result == 0 && size.ws_col > 0).then(|| usize::from(size.ws_col))
}

/// sync(2): writes every dirty page of the machine back, and waits.
pub fn sync() {
    // SAFETY: sync takes nothing and cannot fail.
    unsafe { libc::sync() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_grows_with_work() {
        let start = usage_self();
        let mut spun = 0;
        while usage_self().since(start).user < 5_000_000 {
            spun += 1;
        }
        assert!(spun > 0);
    }

    #[test]
    fn each_worker_keeps_its_own_status_whoever_is_killed_first() {
        // The worker is this test binary, asked for what it does not know: it fails at once.
        let dir = std::env::temp_dir();
        let start =
            || Worker::start(&[OsStr::new("--no-such-option")], &dir, ("PAD", ""), &[]).unwrap();
        let end = |worker: &Worker| loop {
            match worker.ended().unwrap() {
                Some(ended) => break ended,
                None => crate::clock::sleep(1_000_000),
            }
        };
        let (mut first, mut second) = (start(), start());
        let Ended::Code(code) = end(&second) else {
            panic!("{:?}", end(&second))
        };
        assert!(code != 0 && end(&first) == Ended::Code(code));
        first.kill().unwrap();
        assert_eq!(second.ended().unwrap(), Some(Ended::Code(code)));
        assert_eq!(second.kill().unwrap(), Ended::Code(code));
        assert!(second.ended().is_err(), "reaped");
    }

    thread_local! {
        /// The next pipe of this thread cannot be set up.
        static FAILS: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
    }

    pub(super) fn fail_where_told() -> io::Result<()> {
        if FAILS.replace(false) {
            return Err(io::Error::from_raw_os_error(libc::EIO));
        }
        Ok(())
    }

    /// This thread's children, zombies included.
    fn children() -> String {
        std::fs::read_to_string("/proc/thread-self/children").unwrap()
    }

    #[test]
    fn a_child_whose_pipes_fail_does_not_stay() {
        FAILS.set(true);
        let dir = std::env::temp_dir();
        let started = Worker::start(&[OsStr::new("--no-such-option")], &dir, ("PAD", ""), &[]);
        assert_eq!(started.unwrap_err().raw_os_error(), Some(libc::EIO));
        assert_eq!(children(), "");
        FAILS.set(true);
        let error = shell("sleep 60", 60_000).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EIO));
        assert_eq!(children(), "");
    }

    #[test]
    fn our_own_process_exists() {
        assert!(exists(std::process::id()));
        assert!(!exists(u32::MAX));
    }
}
