//! CPU time per process: one walk over /proc, to see who else was busy while we measured.
//!
//! Only `/proc/[pid]/stat` is opened: one file per process, readable for everybody. Processes that end during the
//! walk are left out. Where /proc is mounted with `hidepid`, the processes of other users are refused (1) or not even
//! listed (2), and a walk without root sees only a part of the machine, which it says.

use super::number;
use crate::tree::{Tree, TreeError};
use std::fmt::Write;

/// The flag of kernel threads in the `flags` field: `PF_KTHREAD` in the kernel's `include/linux/sched.h`.
const PF_KTHREAD: u64 = 0x0020_0000;

/// One process, all its threads together. Times are in ticks of [`crate::probe::ticks_per_second`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// Its parent's id; 0 where there is none that we can see.
    pub parent: u32,
    /// Its process group.
    pub group: u32,
    /// Its name: up to 15 bytes, and whatever it likes.
    pub name: String,
    /// True for a thread of the kernel.
    pub kernel: bool,
    /// CPU time used so far, user and system.
    pub ticks: u64,
    /// CPU time of its children that ended and were waited for: where the work of short-lived processes shows up.
    pub children_ticks: u64,
    /// When it started, in ticks since boot; with the id it names a process for good.
    pub start: u64,
}

/// What a walk over /proc saw.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Walk {
    /// Every process that could be seen, in no particular order.
    pub seen: Vec<Process>,
    /// True where there are others: one was refused or not understood, or the first, which never ends, is hidden.
    pub is_part: bool,
}

/// Looks at every process. An error where nothing can be seen at all.
pub fn processes(tree: &Tree) -> Result<Walk, TreeError> {
    let mut seen = Vec::new();
    let mut missed = None;
    let mut path = String::new();
    let mut bytes = Vec::with_capacity(1024);
    for name in tree.list("/proc")? {
        if !name.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        path.clear();
        // Writing to a String cannot fail.
        let _ = write!(path, "/proc/{name}/stat");
        let read = tree.read_into(&path, &mut bytes);
        match read.and_then(|()| parse(&path, &String::from_utf8_lossy(&bytes))) {
            Ok(process) => seen.push(process),
            Err(error) if error.absent => {}
            Err(error) => missed = Some(error),
        }
    }
    match missed {
        Some(error) if seen.is_empty() => Err(error),
        missed => Ok(Walk {
            is_part: missed.is_some() || seen.iter().all(|process| process.pid != 1),
            seen,
        }),
    }
}

/// This one process.
pub fn process(tree: &Tree, pid: u32) -> Result<Process, TreeError> {
    let path = format!("/proc/{pid}/stat");
    parse(&path, &tree.read(&path)?)
}

/// `pid (name) state ppid pgrp ...`, where the name may hold spaces and parentheses: it ends at the last one.
fn parse(path: &str, text: &str) -> Result<Process, TreeError> {
    let odd = || TreeError::content(path, "it does not look like `pid (name) state ...`");
    let (pid, rest) = text.split_once(" (").ok_or_else(odd)?;
    let (name, rest) = rest.rsplit_once(") ").ok_or_else(odd)?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    // proc(5) counts fields from 1, and the state after the name is number 3.
    let field = |place: usize, name: &str| number(path, name, fields.get(place - 3).copied());
    // The kernel shows a process that is being reaped with a process group of -1.
    if fields.get(5 - 3) == Some(&"-1") {
        return Err(TreeError {
            absent: true,
            ..TreeError::content(path, "the process has just ended")
        });
    }
    let id = |field: Result<u64, TreeError>, name: &str| {
        u32::try_from(field?)
            .map_err(|_| TreeError::content(path, format!("{name} is out of range")))
    };
    Ok(Process {
        pid: id(number(path, "pid", Some(pid)), "pid")?,
        parent: id(field(4, "ppid"), "ppid")?,
        group: id(field(5, "pgrp"), "pgrp")?,
        name: name.to_owned(),
        kernel: field(9, "flags")? & PF_KTHREAD != 0,
        ticks: field(14, "utime")?.saturating_add(field(15, "stime")?),
        children_ticks: field(16, "cutime")?.saturating_add(field(17, "cstime")?),
        start: field(22, "starttime")?,
    })
}
