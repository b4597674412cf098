//! What a storage test must ask about a file, and std cannot: how to open it past the cache, how `O_DIRECT` wants its
//! operations aligned, which parts of it were really written, and what of it lies in the page cache.

#![expect(
    unsafe_code,
    reason = "statx, ioctl, mincore, access and posix_fadvise have no safe interface in std"
)]

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// When a write returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncMode {
    /// When the kernel has the data.
    #[default]
    None,
    /// When the data is on the device (`O_DSYNC`).
    Data,
    /// When data and all of the file's attributes are (`O_SYNC`).
    All,
}

/// The error number with which the kernel keeps a file from being written to that nobody may change, whatever his
/// rights (`chattr +i`, `+a`).
pub const NOT_PERMITTED: i32 = libc::EPERM;

/// How a file is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// For writing too.
    pub write: bool,
    /// Past the page cache (`O_DIRECT`).
    pub direct: bool,
    /// When a write returns.
    pub sync: SyncMode,
}

/// Opens a file that is there. A link in the last place is refused, and nothing is made or cut.
pub fn open(path: &Path, access: Access) -> io::Result<File> {
    open_with(path, access, libc::O_NOFOLLOW)
}

/// A handle to what `path` names, without opening it: whoever holds it can ask what it is, and open that with
/// [`reopen`], whatever is put in its place meanwhile. A link in the last place is followed only where `follow` says
/// so; otherwise the handle is that of the link.
pub fn find(path: &Path, follow: bool) -> io::Result<File> {
    let follow = if follow { 0 } else { libc::O_NOFOLLOW };
    OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_PATH | follow)
        .open(path)
}

/// A handle to the directory that `path` names, by which it is reached whatever is put in its place; a link is refused.
pub fn find_directory(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW)
        .open(path)
}

/// Opens what [`find`] found.
pub fn reopen(found: &File, access: Access) -> io::Result<File> {
    open_with(&handle_path(found), access, 0)
}

/// Whether anybody has a regular file open for writing, or mapped from such an opening: in another PID namespace, in
/// the kernel (a loop device, a network export) or in this process. `file` must be open for reading only. `None` where
/// the kernel does not say: the file is another user's, or the file system has no leases.
///
/// A read lease is granted only where nobody has the file open for writing (fcntl(2), `F_SETLEASE`), and given back at
/// once. Whoever opens the file for writing in between waits for that; with `O_NONBLOCK` the opening fails with
/// `EWOULDBLOCK` instead.
pub fn is_open_for_writing(file: &File) -> Option<bool> {
    /// linux/fcntl.h: the signal that tells of a broken lease, in the place of `SIGIO`, which ends a process.
    const F_SETSIG: libc::c_int = 10;
    let fd = file.as_raw_fd();
    // SAFETY: a number for our own descriptor; by itself the signal is ignored.
    if unsafe { libc::fcntl(fd, F_SETSIG, libc::SIGURG) } != 0 {
        return None;
    }
    // SAFETY: a lease on our own descriptor.
    if unsafe { libc::fcntl(fd, libc::F_SETLEASE, libc::F_RDLCK) } != 0 {
        let error = io::Error::last_os_error();
        return (error.raw_os_error() == Some(libc::EAGAIN)).then_some(true);
    }
    // SAFETY: the lease that was just taken; nobody else has it.
    unsafe { libc::fcntl(fd, libc::F_SETLEASE, libc::F_UNLCK) };
    Some(false)
}

/// A path that leads to an opened file, whatever has become of its name.
pub fn handle_path(file: &File) -> PathBuf {
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

/// Makes a file that nothing of its name may be in the place of, not even a link.
pub fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .custom_flags(libc::O_NOFOLLOW)
        .open(path)
}

/// Reads leave no trace and save the look at the time of the last one (`O_NOATIME`), which only owners of a file may
/// ask for; others open it as usual.
fn open_with(path: &Path, access: Access, more: libc::c_int) -> io::Result<File> {
    let flags = flags(access) | more;
    let with = |flags| {
        OpenOptions::new()
            .read(true)
            .write(access.write)
            .custom_flags(flags)
            .open(path)
    };
    match with(flags | libc::O_NOATIME) {
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => with(flags),
        opened => opened,
    }
}

fn flags(access: Access) -> libc::c_int {
    let direct = if access.direct { libc::O_DIRECT } else { 0 };
    let sync = match access.sync {
        SyncMode::None => 0,
        SyncMode::Data => libc::O_DSYNC,
        SyncMode::All => libc::O_SYNC,
    };
    direct | sync
}

/// Whether an error of [`open`] with `direct` means that the file system has no `O_DIRECT`.
pub fn refuses_direct(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EINVAL)
}

/// Whether an error of locking a file (flock(2)) means that the file system has no locks: Lustre without its option,
/// NFS without its daemon, some FUSE.
pub fn has_no_locks(error: &io::Error) -> bool {
    let none = [libc::ENOSYS, libc::EOPNOTSUPP, libc::ENOLCK];
    error
        .raw_os_error()
        .is_some_and(|number| none.contains(&number))
}

/// How `O_DIRECT` wants its operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectAlignment {
    /// Buffers begin at a multiple of this.
    pub memory: u32,
    /// Offsets and lengths are multiples of this.
    pub offset: u32,
}

/// How `O_DIRECT` wants operations on this file aligned; `None` where the kernel (before 6.1) or the file system does
/// not say. Both 0: there is no `O_DIRECT` on this file.
pub fn direct_alignment(file: &File) -> Option<DirectAlignment> {
    // SAFETY: statx is a struct of integers, for which all zeros are a value.
    let mut found: libc::statx = unsafe { std::mem::zeroed() };
    // By number: std declares the C library's `statx` as weak, and a static link that sees only weak references leaves
    // it out, so that the call goes to address 0.
    // SAFETY: the path is an empty C string, and `found` is valid to write to.
    let result = unsafe {
        libc::syscall(
            libc::SYS_statx,
            file.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH,
            libc::STATX_DIOALIGN,
            &raw mut found,
        )
    };
    (result == 0 && found.stx_mask & libc::STATX_DIOALIGN != 0).then_some(DirectAlignment {
        memory: found.stx_dio_mem_align,
        offset: found.stx_dio_offset_align,
    })
}

/// Asks the kernel to forget what it has of the file in the page cache. Dirty pages stay: sync first.
pub fn drop_cache(file: &File) -> io::Result<()> {
    drop_cache_of(file, 0, 0)
}

/// The same for `bytes` bytes from `first` on; 0 bytes are all to the end.
pub fn drop_cache_of(file: &File, first: u64, bytes: u64) -> io::Result<()> {
    advise(file, first, bytes, libc::POSIX_FADV_DONTNEED)
}

/// In which order a file will be read through the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadOrder {
    /// Read ahead of nobody: only what is asked for is fetched.
    Random,
    /// Read ahead twice as far.
    Sequential,
}

/// Tells the kernel the order in which the file will be read through this descriptor.
pub fn tell_order(file: &File, order: ReadOrder) -> io::Result<()> {
    let word = match order {
        ReadOrder::Random => libc::POSIX_FADV_RANDOM,
        ReadOrder::Sequential => libc::POSIX_FADV_SEQUENTIAL,
    };
    advise(file, 0, 0, word)
}

fn advise(file: &File, first: u64, bytes: u64, word: libc::c_int) -> io::Result<()> {
    let out_of_range = |_| io::Error::from_raw_os_error(libc::EINVAL);
    let first = libc::off_t::try_from(first).map_err(out_of_range)?;
    let bytes = libc::off_t::try_from(bytes).map_err(out_of_range)?;
    // SAFETY: an open descriptor is all it needs; no memory of ours is touched.
    let error = unsafe { libc::posix_fadvise(file.as_raw_fd(), first, bytes, word) };
    if error == 0 {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(error))
    }
}

/// Takes room for the first `bytes` bytes of the file and makes it that long, without writing them: fallocate(2).
pub fn reserve(file: &File, bytes: u64) -> io::Result<()> {
    allocate(file, 0, bytes)
}

/// The same, and the file stays as long as it is.
pub fn reserve_behind(file: &File, bytes: u64) -> io::Result<()> {
    allocate(file, libc::FALLOC_FL_KEEP_SIZE, bytes)
}

fn allocate(file: &File, mode: libc::c_int, bytes: u64) -> io::Result<()> {
    let bytes =
        libc::off_t::try_from(bytes).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
    // SAFETY: an open descriptor is all it needs; no memory of ours is touched.
    if unsafe { libc::fallocate(file.as_raw_fd(), mode, 0, bytes) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// How many of the first `bytes` bytes of the file lie in the page cache. Refused (`EPERM`) where the kernel would not
/// tell: since 5.2 mincore(2) calls all pages of a file resident to those who neither own it nor may write to it.
pub fn cached_bytes(file: &File, bytes: usize) -> io::Result<usize> {
    if !is_told_what_is_cached(file)? {
        return Err(io::Error::from_raw_os_error(libc::EPERM));
    }
    let page = crate::probe::page_bytes()?;
    let page = usize::try_from(page).map_err(io::Error::other)?;
    // SAFETY: a new shared mapping of our file, only looked at by mincore; nothing of ours is replaced.
    let start = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            bytes,
            libc::PROT_READ,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            0,
        )
    };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    let mut pages = vec![0_u8; bytes.div_ceil(page)];
    // SAFETY: the mapping has `bytes` bytes, and `pages` one byte for each of its pages.
    let result = unsafe { libc::mincore(start, bytes, pages.as_mut_ptr()) };
    let error = io::Error::last_os_error();
    // SAFETY: the mapping was made above with this length, and nothing refers to it.
    unsafe { libc::munmap(start, bytes) };
    if result != 0 {
        return Err(error);
    }
    Ok(resident(&pages, page).min(bytes))
}

/// Bytes of the pages of `page` bytes that mincore(2) calls resident.
fn resident(pages: &[u8], page: usize) -> usize {
    pages.iter().filter(|&&flags| flags & 1 == 1).count() * page
}

/// Whether mincore tells us the truth about this file: `can_do_mincore` of the kernel's `mm/mincore.c`. An owner by
/// capability alone (`CAP_FOWNER`) counts as none, which only leaves something unsaid.
fn is_told_what_is_cached(file: &File) -> io::Result<bool> {
    // SAFETY: geteuid takes nothing.
    if file.metadata()?.uid() == unsafe { libc::geteuid() } {
        return Ok(true);
    }
    let path = CString::new(handle_path(file).into_os_string().into_vec())?;
    // SAFETY: `path` is a C string.
    Ok(unsafe { libc::access(path.as_ptr(), libc::W_OK) } == 0)
}

/// What of a file is backed by the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extents {
    /// Bytes that were written.
    pub written: u64,
    /// Bytes that have their place but were never written: reading them gives zeros and touches no device.
    pub unwritten: u64,
    /// The largest part of the file without any place on the device.
    pub holes: u64,
}

/// `struct fiemap` of linux/fiemap.h with room for a number of extents.
#[repr(C)]
struct Fiemap {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    count: u32,
    reserved: u32,
    extents: [FiemapExtent; EXTENTS],
}

/// `struct fiemap_extent` of linux/fiemap.h.
#[repr(C)]
#[derive(Clone, Copy)]
struct FiemapExtent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

const EXTENTS: usize = 128;
/// `_IOWR('f', 11, struct fiemap)`; the size counts the head of 32 bytes only.
const FS_IOC_FIEMAP: libc::Ioctl = 0xc020_660b;
const FIEMAP_FLAG_SYNC: u32 = 1;
const FIEMAP_EXTENT_LAST: u32 = 1;
const FIEMAP_EXTENT_UNWRITTEN: u32 = 0x800;

/// What of the file's first `size` bytes is backed by the device, as the file system tells (FIEMAP). An error means
/// that it does not tell.
pub fn extents(file: &File, size: u64) -> io::Result<Extents> {
    let mut found = Extents::default();
    let mut at = 0;
    while at < size {
        // SAFETY: fiemap is a struct of integers, for which all zeros are a value.
        let mut map: Fiemap = unsafe { std::mem::zeroed() };
        map.start = at;
        map.length = size - at;
        map.flags = FIEMAP_FLAG_SYNC;
        map.count = u32::try_from(EXTENTS).unwrap_or(1);
        // SAFETY: `map` has room for the `count` extents that it announces.
        if unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP, &raw mut map) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let mapped = usize::try_from(map.mapped).unwrap_or(0).min(EXTENTS);
        for extent in &map.extents[..mapped] {
            let end = (extent.logical + extent.length).min(size);
            let begin = extent.logical.max(at);
            found.holes += begin.saturating_sub(at);
            let bytes = end.saturating_sub(begin);
            if extent.flags & FIEMAP_EXTENT_UNWRITTEN == 0 {
                found.written += bytes;
            } else {
                found.unwritten += bytes;
            }
            at = at.max(end);
        }
        let last = map.extents[..mapped].last();
        if last.is_none_or(|extent| extent.flags & FIEMAP_EXTENT_LAST != 0) {
            found.holes += size.saturating_sub(at);
            break;
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cached_is_counted_in_pages_of_any_size() {
        for page in [4096, 16_384, 65_536] {
            let pages = [1, 0, 1, 0xff];
            assert_eq!(resident(&pages, page), 3 * page);
        }
        let mut file = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut file, &vec![1; 100_000]).unwrap();
        assert_eq!(
            cached_bytes(&file, 100_000).unwrap(),
            100_000,
            "just written"
        );
    }

    #[test]
    fn a_file_is_open_for_writing_as_long_as_somebody_has_it_so() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let (writer, path) = file.into_parts();
        let look = File::open(&path).unwrap();
        assert_eq!(is_open_for_writing(&look), Some(true));
        let again = open(&path, Access::default()).unwrap();
        drop(writer);
        // A program that another test starts may have the writer for a moment.
        let mut said = is_open_for_writing(&look);
        for _ in 0..500 {
            if said != Some(true) {
                break;
            }
            crate::clock::sleep(10_000_000);
            said = is_open_for_writing(&look);
        }
        assert_eq!(said, Some(false), "open for reading, twice");
        drop(again);
        // Nothing of the lease stays: this would wait for it, or fail.
        let mut writer = File::options();
        let writer = writer.append(true).custom_flags(libc::O_NONBLOCK);
        let writer = writer.open(&path).unwrap();
        assert_eq!(is_open_for_writing(&look), Some(true));
        drop(writer);
    }

    mod root {
        use super::*;
        use std::os::unix::fs::PermissionsExt;

        /// What is said of a file of root's with this `mode` to somebody who is not root, after the cache was dropped.
        fn said_to_nobody(mode: u32) -> io::Result<usize> {
            // Not in /tmp, which may be in memory and then is always cached.
            let mut file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
            std::io::Write::write_all(&mut file, &vec![1; 1 << 20]).unwrap();
            file.set_permissions(std::fs::Permissions::from_mode(mode))
                .unwrap();
            file.sync_all().unwrap();
            drop_cache(&file).unwrap();
            let by_nobody = || {
                // The system call concerns this thread alone; the C library's function would change all of them.
                // SAFETY: takes integers.
                let changed = unsafe { libc::syscall(libc::SYS_setresuid, 65_534, 65_534, 65_534) };
                assert_eq!(changed, 0);
                cached_bytes(&file, 1 << 20)
            };
            std::thread::scope(|scope| scope.spawn(by_nobody).join().unwrap())
        }

        #[test]
        #[ignore = "root: gives up being root in a thread"]
        fn nobody_is_told_what_is_cached_of_the_files_of_others() {
            let refused = said_to_nobody(0o644).unwrap_err();
            assert_eq!(refused.raw_os_error(), Some(libc::EPERM));
            // Who may write to it is told.
            assert!(said_to_nobody(0o666).unwrap() < 1 << 19);
        }
    }
}
