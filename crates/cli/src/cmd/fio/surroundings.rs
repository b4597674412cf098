//! What job files ask of this machine: other files, variables, pages, CPUs, memory.

use super::files;
use crate::context::read_capped;
use dialects::fio::{Found, Surroundings};
use std::io::Read;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// This machine.
#[derive(Debug)]
pub(crate) struct Machine;

/// The reader's own limit; a file larger than this is no job file.
const JOB_FILE_BYTES_MAX: u64 = 1 << 20;

/// All that comes, where it is no more than a job file may be.
fn whole(from: impl Read) -> Result<String, String> {
    let mut text = String::new();
    from.take(JOB_FILE_BYTES_MAX + 1)
        .read_to_string(&mut text)
        .map_err(|error| error.to_string())?;
    if text.len() as u64 > JOB_FILE_BYTES_MAX {
        return Err(format!("it has more than {JOB_FILE_BYTES_MAX} bytes"));
    }
    Ok(text)
}

impl Surroundings for Machine {
    fn read(&self, path: &str) -> Result<String, String> {
        if path == "-" {
            return whole(std::io::stdin());
        }
        // What a shell puts in the place of `<(command)` is read once, as standard input is.
        let is_pipe = std::fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo());
        if is_pipe {
            return whole(std::fs::File::open(path).map_err(|error| error.to_string())?);
        }
        read_capped(Path::new(path), JOB_FILE_BYTES_MAX).map_err(|error| format!("{error:#}"))
    }

    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn page_bytes(&self) -> u64 {
        sys::probe::page_bytes().unwrap_or(4096)
    }

    fn cpus(&self) -> u64 {
        sys::affinity::allowed_cpus().map_or(1, |cpus| cpus.len() as u64)
    }

    fn memory_mib(&self) -> u64 {
        sys::probe::memory_bytes().unwrap_or(0) >> 20
    }

    fn find(&self, path: &str) -> Result<Found, String> {
        files::find(path)
    }
}
