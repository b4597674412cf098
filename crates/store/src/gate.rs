//! The look at a file before the database may touch it: is it a store of ours, and one that we can read?
//!
//! The answer comes from the file's first hundred bytes, read without SQLite, because SQLite writes by merely
//! opening (it rolls journals back and makes side files). A file of somebody else is therefore left bit for bit as
//! it was. The layout is section 1.3 of <https://www.sqlite.org/fileformat2.html>. Both numbers we look for are on
//! disk from the first transaction on, because that one runs before the store is switched to a write-ahead log.
//! A file that this process has open as a store is not opened again (see [`crate::held`]): it passed here before.

use crate::error::StoreError;
use crate::held::{Held, Identity};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// Marks a file as ours in SQLite's `application_id`: the letters `kura` in ASCII.
pub(crate) const APPLICATION_ID: u32 = 0x6b75_7261;

/// The schema this program writes, in SQLite's `user_version`.
pub(crate) const SCHEMA_VERSION: u32 = 3;

/// What is at the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// No file.
    Nothing,
    /// A file without a byte in it: one that we, or a second process, are about to fill.
    Empty,
    /// A store of ours with the schema of this program.
    Ours {
        /// True where its header says that it uses a write-ahead log, or this process has it open.
        logged: bool,
    },
}

const MAGIC: &[u8; 16] = b"SQLite format 3\0";
const HEADER_LEN: usize = 100;
const USER_VERSION_AT: usize = 60;
const APPLICATION_ID_AT: usize = 68;

/// Looks at what is at `path`, and refuses what is not ours.
pub(crate) fn inspect(path: &Path, held: &Held) -> Result<Found, StoreError> {
    let access = |reason: std::io::Error| StoreError::Access {
        operation: "open".to_owned(),
        path: path.to_owned(),
        reason: reason.to_string(),
    };
    let foreign = |what: &str| StoreError::Foreign {
        path: path.to_owned(),
        what: what.to_owned(),
    };
    match std::fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(error) => return Err(access(error)),
        Ok(metadata) if metadata.is_dir() => return Err(foreign("it is a directory")),
        Ok(metadata) if !metadata.is_file() => return Err(foreign("it is no regular file")),
        Ok(metadata) if metadata.len() == 0 => return Ok(Found::Empty),
        Ok(metadata) if held.locks(Identity::of(&metadata)) => {
            return Ok(Found::Ours { logged: true });
        }
        Ok(_) => {}
    }
    let header = read_header(path).map_err(access)?;
    if header.is_empty() {
        return Ok(Found::Empty);
    }
    if !header.starts_with(MAGIC) {
        return Err(foreign("it is no SQLite database"));
    }
    let (Some(application_id), Some(version)) = (
        number_at(&header, APPLICATION_ID_AT),
        number_at(&header, USER_VERSION_AT),
    ) else {
        return Err(StoreError::Damaged {
            operation: "open".to_owned(),
            path: path.to_owned(),
            what: format!("it ends after {} bytes", header.len()),
        });
    };
    match version {
        _ if application_id != APPLICATION_ID => Err(foreign("it is another program's database")),
        0 => Err(StoreError::Damaged {
            operation: "open".to_owned(),
            path: path.to_owned(),
            what: "its schema has no version".to_owned(),
        }),
        // Byte 18 and 19: 1 for a rollback journal, 2 for a write-ahead log.
        SCHEMA_VERSION => Ok(Found::Ours {
            logged: header.get(18..20) == Some(&[2, 2]),
        }),
        found => {
            let (path, known) = (path.to_owned(), SCHEMA_VERSION);
            Err(if found < known {
                StoreError::Older { path, found, known }
            } else {
                StoreError::Newer { path, found, known }
            })
        }
    }
}

fn read_header(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut header = Vec::with_capacity(HEADER_LEN);
    File::open(path)?
        .take(HEADER_LEN as u64)
        .read_to_end(&mut header)?;
    Ok(header)
}

fn number_at(header: &[u8], at: usize) -> Option<u32> {
    let bytes = header.get(at..at + 4)?;
    Some(u32::from_be_bytes(bytes.try_into().ok()?))
}
