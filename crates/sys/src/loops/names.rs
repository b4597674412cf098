//! Empty files by their names in one directory: made, looked at and removed, with the longest single operation.
//!
//! Names lie in one text, each with a NUL behind it, so that a name costs nothing but its system calls. What a
//! directory lists is taken from the kernel's own records, in the order and the portions in which it gives them.

#![expect(
    unsafe_code,
    reason = "openat, fstatat, unlinkat and getdents64 on a borrowed descriptor, one call each"
)]

use super::chunks::{Done, Laps};
use super::failure::Failure;
use crate::clock::Clock;
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

/// Bytes of directory records that are asked for at a time: what libc's readdir asks for.
pub const RECORDS: usize = 32 << 10;

/// Names, each in a field of its own.
#[derive(Debug, Default)]
pub struct Names {
    text: Vec<u8>,
}

/// Bytes of a field: a name of at most 31.
const FIELD: usize = 32;

impl Names {
    /// Adds a name.
    ///
    /// # Panics
    ///
    /// Where it is longer than 31 bytes or holds a NUL, which is our own mistake.
    pub fn push(&mut self, name: &[u8]) {
        assert!(
            name.len() < FIELD && !name.contains(&0),
            "a name of at most 31 bytes"
        );
        let mut field = [0; FIELD];
        field[..name.len()].copy_from_slice(name);
        self.text.extend_from_slice(&field);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.text.len() / FIELD
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// In the order in which they were added.
    fn all(&self) -> impl Iterator<Item = &CStr> {
        self.text.chunks(FIELD).filter_map(name)
    }

    /// The name of this number.
    #[inline]
    fn get(&self, at: u32) -> Option<&CStr> {
        let at = usize::try_from(at).ok()? * FIELD;
        name(self.text.get(at..at + FIELD)?)
    }
}

#[inline]
fn name(field: &[u8]) -> Option<&CStr> {
    CStr::from_bytes_until_nul(field).ok()
}

/// Makes each of them, and none that is there already. An operation is open and close.
pub fn create(dir: BorrowedFd<'_>, names: &Names, clock: Clock) -> Result<Done, Failure> {
    const FLAGS: libc::c_int = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL;
    const MODE: libc::c_uint = 0o600;
    let dir = dir.as_raw_fd();
    let mut laps = Laps::begin(clock);
    let mut done = 0;
    for name in names.all() {
        // SAFETY: `name` is a C string; the rest are plain integers.
        let fd = unsafe { libc::openat(dir, name.as_ptr(), FLAGS, MODE) };
        if fd < 0 {
            return Err(Failure::last("create", done));
        }
        // SAFETY: `fd` was opened above and is nobody else's.
        if unsafe { libc::close(fd) } != 0 {
            return Err(Failure::last("close", done));
        }
        laps.lap();
        done += 1;
    }
    Ok(laps.done(done))
}

/// Looks at each of those, in this order.
pub fn stat(
    dir: BorrowedFd<'_>,
    names: &Names,
    order: &[u32],
    clock: Clock,
) -> Result<Done, Failure> {
    each(names, order, clock, |name, done| {
        stat_one(dir.as_raw_fd(), name, done)
    })
}

/// Removes each of those, in this order.
pub fn remove(
    dir: BorrowedFd<'_>,
    names: &Names,
    order: &[u32],
    clock: Clock,
) -> Result<Done, Failure> {
    each(names, order, clock, |name, done| {
        remove_one(dir.as_raw_fd(), name, done)
    })
}

#[inline]
fn each(
    names: &Names,
    order: &[u32],
    clock: Clock,
    operation: impl Fn(&CStr, u64) -> Result<(), Failure>,
) -> Result<Done, Failure> {
    let mut laps = Laps::begin(clock);
    let mut done = 0;
    for &at in order {
        if let Some(name) = names.get(at) {
            operation(name, done)?;
            laps.lap();
            done += 1;
        }
    }
    Ok(laps.done(done))
}

/// Looks at everything that the directory lists, in the order of the list.
pub fn stat_listed(dir: BorrowedFd<'_>, records: &mut [u8], clock: Clock) -> Result<Done, Failure> {
    let fd = dir.as_raw_fd();
    let mut laps = Laps::begin(clock);
    let done = listed(fd, records, 0, &mut laps, |name, done| {
        stat_one(fd, name, done)
    })?;
    Ok(laps.done(done))
}

/// Removes everything that the directory lists, in the order of the list, and looks again until it lists nothing: what
/// a list still shows of a directory that changes meanwhile, no standard says.
pub fn remove_listed(
    dir: BorrowedFd<'_>,
    records: &mut [u8],
    clock: Clock,
) -> Result<Done, Failure> {
    let fd = dir.as_raw_fd();
    let mut laps = Laps::begin(clock);
    let mut done = 0;
    loop {
        let by_now = listed(fd, records, done, &mut laps, |name, done| {
            remove_one(fd, name, done)
        })?;
        if by_now == done {
            return Ok(laps.done(done));
        }
        done = by_now;
        // SAFETY: lseek takes plain integers.
        if unsafe { libc::lseek(fd, 0, libc::SEEK_SET) } != 0 {
            return Err(Failure::last("list", done));
        }
    }
}

/// Where the length of a record stands, and where its name begins: `linux_dirent64` of getdents64(2).
const LENGTH_AT: usize = 16;
const NAME_AT: usize = 19;

/// Does an operation for each name from where the list stands to its end; `done` were done before.
#[inline]
fn listed(
    fd: RawFd,
    records: &mut [u8],
    mut done: u64,
    laps: &mut Laps,
    operation: impl Fn(&CStr, u64) -> Result<(), Failure>,
) -> Result<u64, Failure> {
    loop {
        // SAFETY: `records` is valid to write to for its length.
        let got = unsafe {
            libc::syscall(
                libc::SYS_getdents64,
                fd,
                records.as_mut_ptr(),
                records.len(),
            )
        };
        let Ok(bytes) = usize::try_from(got) else {
            return Err(Failure::last("list", done));
        };
        if bytes == 0 {
            return Ok(done);
        }
        let mut rest = records.get(..bytes).unwrap_or_default();
        while let Some((record, behind)) = record(rest) {
            rest = behind;
            let Some(name) = name(record).filter(|name| !is_dots(name)) else {
                continue;
            };
            operation(name, done)?;
            laps.lap();
            done += 1;
        }
    }
}

/// The name of the first record with what is behind it in the record, and the records after it.
#[inline]
fn record(records: &[u8]) -> Option<(&[u8], &[u8])> {
    let length = records.get(LENGTH_AT..)?.first_chunk::<2>()?;
    let length = usize::from(u16::from_ne_bytes(*length));
    let (record, behind) = records.split_at_checked(length)?;
    Some((record.get(NAME_AT..)?, behind))
}

#[inline]
fn is_dots(name: &CStr) -> bool {
    matches!(name.to_bytes(), b"." | b"..")
}

#[inline]
fn stat_one(dir: RawFd, name: &CStr, done: u64) -> Result<(), Failure> {
    let mut found = std::mem::MaybeUninit::<libc::stat64>::uninit();
    // SAFETY: `name` is a C string and `found` has room for what the kernel writes.
    if unsafe { libc::fstatat64(dir, name.as_ptr(), found.as_mut_ptr(), 0) } != 0 {
        return Err(Failure::last("stat", done));
    }
    // SAFETY: the kernel filled it in, since the call succeeded.
    let found = unsafe { found.assume_init() };
    if found.st_size == 0 {
        Ok(())
    } else {
        Err(Failure::kind("check", done, io::ErrorKind::InvalidData))
    }
}

#[inline]
fn remove_one(dir: RawFd, name: &CStr, done: u64) -> Result<(), Failure> {
    // SAFETY: `name` is a C string; the rest are plain integers.
    if unsafe { libc::unlinkat(dir, name.as_ptr(), 0) } != 0 {
        return Err(Failure::last("remove", done));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::fd::AsFd;

    fn names(n: u32) -> Names {
        let mut names = Names::default();
        (0..n).for_each(|at| names.push(format!("{at:010x}").as_bytes()));
        names
    }

    fn count(dir: &tempfile::TempDir) -> usize {
        std::fs::read_dir(dir.path()).unwrap().count()
    }

    #[test]
    fn files_are_made_looked_at_and_removed_by_name_and_by_list() {
        let dir = tempfile::tempdir().unwrap();
        let open = || File::open(dir.path()).unwrap();
        // More than one portion of records.
        let (names, mut records) = (names(2000), vec![0; RECORDS]);
        let order: Vec<u32> = (0..2000).rev().collect();
        for by_list in [true, false] {
            let made = create(open().as_fd(), &names, Clock::Kernel).unwrap();
            assert_eq!((made.ops, count(&dir)), (2000, 2000));
            assert!(made.longest_ns > 0);
            let [seen, gone] = if by_list {
                [
                    stat_listed(open().as_fd(), &mut records, Clock::Kernel),
                    remove_listed(open().as_fd(), &mut records, Clock::Kernel),
                ]
            } else {
                [
                    stat(open().as_fd(), &names, &order, Clock::Kernel),
                    remove(open().as_fd(), &names, &order, Clock::Kernel),
                ]
            };
            assert_eq!((seen.unwrap().ops, gone.unwrap().ops), (2000, 2000));
            assert_eq!(count(&dir), 0);
        }
    }

    #[test]
    fn what_is_there_missing_or_not_empty_is_told_with_what_was_done() {
        let dir = tempfile::tempdir().unwrap();
        let handle = File::open(dir.path()).unwrap();
        let names = names(3);
        std::fs::write(dir.path().join("0000000002"), "x").unwrap();
        let failure = create(handle.as_fd(), &names, Clock::Kernel).unwrap_err();
        assert_eq!((failure.operation, failure.done), ("create", 2));
        let failure = stat(handle.as_fd(), &names, &[0, 1, 2], Clock::Kernel).unwrap_err();
        assert_eq!((failure.operation, failure.done), ("check", 2));
        std::fs::remove_file(dir.path().join("0000000001")).unwrap();
        let failure = remove(handle.as_fd(), &names, &[0, 1, 2], Clock::Kernel).unwrap_err();
        assert_eq!((failure.operation, failure.done), ("remove", 1));
        assert_eq!(failure.error.kind(), io::ErrorKind::NotFound);
    }
}
