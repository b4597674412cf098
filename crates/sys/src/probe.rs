//! System-call probes: what this kernel, this container and this directory let us do.
//!
//! Each asks by trying, because nothing else is sure: seccomp filters, sysctls and mount options refuse what the
//! version number promises. Each leaves nothing behind. The only place for `cfg(target_arch)` in probing.

#![expect(unsafe_code, reason = "these calls are not in std")]

use crate::tree::{Tree, error_name};
use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Why something is refused, in a form that ends a sentence: `io_uring_setup: EPERM (...)`.
pub type Refusal = String;

/// The size of `struct io_uring_params` (`include/uapi/linux/io_uring.h`); an all-zero one asks for the defaults.
const IO_URING_PARAMS: usize = 120;

/// Whether an `io_uring` can be set up. `tree` tells why not.
pub fn io_uring(tree: &Tree) -> Result<(), Refusal> {
    let mut params = [0u64; IO_URING_PARAMS / 8];
    // SAFETY: `params` is valid to read and write for the size that the kernel expects.
    let fd = unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, params.as_mut_ptr()) };
    if fd < 0 {
        let error = io::Error::last_os_error();
        let setting = tree.read_trimmed("/proc/sys/kernel/io_uring_disabled").ok();
        return Err(io_uring_refusal(&error, setting.as_deref()));
    }
    close(fd);
    Ok(())
}

/// `setting` is the sysctl, which exists since Linux 6.6.
fn io_uring_refusal(error: &io::Error, setting: Option<&str>) -> Refusal {
    let why = match (error.raw_os_error(), setting) {
        (Some(libc::EPERM), Some(setting @ ("1" | "2"))) => {
            format!("sysctl kernel.io_uring_disabled is {setting}")
        }
        (Some(libc::EPERM | libc::EACCES), _) => "a seccomp filter or security policy".to_owned(),
        // The sysctl is there, so the kernel has io_uring.
        (Some(libc::ENOSYS), Some(_)) => "a seccomp filter hides it".to_owned(),
        (Some(libc::ENOSYS), None) => {
            "the kernel is older than 5.1, built without it, or a seccomp filter hides it"
                .to_owned()
        }
        (Some(libc::ENOMEM), _) => "too little lockable memory, see `ulimit -l`".to_owned(),
        _ => return format!("io_uring_setup: {}", error_name(error)),
    };
    format!("io_uring_setup: {} ({why})", error_name(error))
}

/// Whether Linux native AIO contexts can be made.
pub fn libaio() -> Result<(), Refusal> {
    let mut context: libc::c_ulong = 0;
    // SAFETY: `context` is zero, as the call demands, and valid to write to.
    let made = unsafe { libc::syscall(libc::SYS_io_setup, 1, &raw mut context) };
    if made < 0 {
        let error = io::Error::last_os_error();
        let name = error_name(&error);
        return Err(match error.raw_os_error() {
            Some(libc::ENOSYS) => {
                format!("io_setup: {name} (built without it, or a seccomp filter hides it)")
            }
            Some(libc::EAGAIN) => format!("io_setup: {name} (sysctl fs.aio-max-nr is used up)"),
            _ => format!("io_setup: {name}"),
        });
    }
    // SAFETY: `context` was made above and is destroyed once.
    unsafe { libc::syscall(libc::SYS_io_destroy, context) };
    Ok(())
}

/// Whether files in `dir` can be opened with `O_DIRECT`. Uses a file without a name, or one that is removed at once.
pub fn o_direct(dir: &Path) -> Result<(), Refusal> {
    match scratch_file(dir, libc::O_DIRECT) {
        Ok(_) => Ok(()),
        Err(direct) => {
            let place = dir.display();
            Err(match scratch_file(dir, 0) {
                Ok(_) => format!(
                    "open a file in `{place}` with O_DIRECT: {} (the file system refuses it)",
                    error_name(&direct)
                ),
                Err(plain) => format!("create a file in `{place}`: {}", error_name(&plain)),
            })
        }
    }
}

/// Why a file of a few bytes is too large.
pub const FILE_SIZE_LIMIT: &str = "the limit on the size of files (`ulimit -f`) is smaller";

/// Whether a file can be created and written in `dir`.
pub fn writable(dir: &Path) -> Result<(), Refusal> {
    let failed = |operation: &str, error: &io::Error| {
        let why = if error.kind() == io::ErrorKind::FileTooLarge {
            FILE_SIZE_LIMIT.to_owned()
        } else {
            error_name(error)
        };
        format!("{operation} a file in `{}`: {why}", dir.display())
    };
    let mut file = scratch_file(dir, 0).map_err(|error| failed("create", &error))?;
    io::Write::write_all(&mut file, b"kurabe").map_err(|error| failed("write", &error))
}

/// A file in `dir` that has no name any more when this returns.
fn scratch_file(dir: &Path, flags: libc::c_int) -> io::Result<File> {
    let options = |more: libc::c_int| {
        let mut options = OpenOptions::new();
        options
            .read(true)
            .write(true)
            .mode(0o600)
            .custom_flags(flags | more);
        options
    };
    match options(libc::O_TMPFILE).open(dir) {
        // Not every file system has O_TMPFILE, and kernels differ in how they say so; the named file decides.
        Err(error)
            if matches!(
                error.raw_os_error(),
                Some(libc::EOPNOTSUPP | libc::EISDIR | libc::EINVAL | libc::ENOENT)
            ) => {}
        other => return other,
    }
    let name = dir.join(format!(".kurabe-probe-{}", std::process::id()));
    let opened = options(0).create_new(true).open(&name);
    // The file may exist although the open failed: the kernel creates it before it refuses O_DIRECT. A name that was
    // there before us is left alone.
    let ours = !matches!(&opened, Err(error) if error.kind() == io::ErrorKind::AlreadyExists);
    if ours {
        let _ = std::fs::remove_file(&name);
    }
    opened
}

/// The file system behind a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSystem {
    /// What ordinary users may still write, in bytes.
    pub free_bytes: u64,
    /// All of it, in bytes.
    pub total_bytes: u64,
    /// The unit of allocation, in bytes.
    pub block_bytes: u64,
    /// Its type, as a magic number of statfs(2).
    pub magic: u64,
    /// Mounted read-only.
    pub read_only: bool,
    /// Mounted so that programs in it cannot be executed.
    pub no_exec: bool,
}

impl FileSystem {
    /// The name of a file system that lives in memory and vanishes with the machine, or `None`.
    pub fn in_memory(self) -> Option<&'static str> {
        // Magic numbers of include/uapi/linux/magic.h.
        match self.magic {
            0x0102_1994 => Some("tmpfs"),
            0x8584_58f6 => Some("ramfs"),
            _ => None,
        }
    }

    /// Whether its files are made up by the kernel as they are read and written: procfs, sysfs and their like.
    pub fn made_by_kernel(self) -> bool {
        // Magic numbers of include/uapi/linux/magic.h, in the order in which they stand in the text below.
        // proc, sysfs, debugfs, tracefs, cgroup, cgroup2, securityfs, selinuxfs, bpf, efivarfs, configfs, pstore,
        // devpts, mqueue, nsfs, binfmt_misc, fusectl, anonymous inodes.
        const MAGICS: [u64; 18] = [
            0x9fa0,
            0x6265_6572,
            0x6462_6720,
            0x7472_6163,
            0x0027_e0eb,
            0x6367_7270,
            0x7363_6673,
            0xf97c_ff8c,
            0xcafe_4a11,
            0xde5e_81e4,
            0x6265_6570,
            0x6165_676c,
            0x1cd1,
            0x1980_0202,
            0x6e73_6673,
            0x4249_4e4d,
            0x6573_5543,
            0x0904_1934,
        ];
        MAGICS.contains(&self.magic)
    }
}

/// Asks for the file system behind `path`.
pub fn file_system(path: &Path) -> io::Result<FileSystem> {
    let name = CString::new(path.as_os_str().as_bytes())
        .map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
    // SAFETY: an all-zero statfs is a valid value of this plain C struct.
    let mut kind: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: `name` ends in NUL and `kind` is valid to write to.
    if unsafe { libc::statfs(name.as_ptr(), &raw mut kind) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: an all-zero statvfs is a valid value of this plain C struct.
    let mut numbers: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: `name` ends in NUL and `numbers` is valid to write to.
    if unsafe { libc::statvfs(name.as_ptr(), &raw mut numbers) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let block_bytes = numbers.f_frsize;
    Ok(FileSystem {
        free_bytes: numbers.f_bavail.saturating_mul(block_bytes),
        total_bytes: numbers.f_blocks.saturating_mul(block_bytes),
        block_bytes,
        // Magic numbers are unsigned 32-bit patterns in a field that is signed on most architectures.
        magic: u64::try_from(i128::from(kind.f_type) & 0xffff_ffff).unwrap_or_default(),
        read_only: numbers.f_flag & libc::ST_RDONLY != 0,
        no_exec: numbers.f_flag & libc::ST_NOEXEC != 0,
    })
}

/// How many files may still be made in the file system behind `path`, by this process; `None` where it makes room for
/// them as they come (btrfs).
pub fn free_inodes(path: &Path) -> io::Result<Option<u64>> {
    let name = CString::new(path.as_os_str().as_bytes())
        .map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
    // SAFETY: an all-zero statvfs is a valid value of this plain C struct.
    let mut numbers: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: `name` ends in NUL and `numbers` is valid to write to.
    if unsafe { libc::statvfs(name.as_ptr(), &raw mut numbers) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok((numbers.f_files > 0).then_some(numbers.f_favail))
}

/// The page size in bytes.
pub fn page_bytes() -> io::Result<u64> {
    system_value(libc::_SC_PAGESIZE)
}

/// The machine's memory in bytes.
pub fn memory_bytes() -> io::Result<u64> {
    Ok(system_value(libc::_SC_PHYS_PAGES)?.saturating_mul(page_bytes()?))
}

/// How many ticks the counters of [`crate::counters`] make per second: 100 on every Linux that one meets.
pub fn ticks_per_second() -> io::Result<u64> {
    system_value(libc::_SC_CLK_TCK)
}

fn system_value(name: libc::c_int) -> io::Result<u64> {
    // SAFETY: sysconf takes one integer.
    let value = unsafe { libc::sysconf(name) };
    u64::try_from(value).map_err(|_| io::Error::last_os_error())
}

/// Whether we are root.
pub fn is_root() -> bool {
    // SAFETY: geteuid takes nothing and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// The machine's architecture as the kernel names it: `x86_64`, `aarch64`.
pub fn machine() -> io::Result<String> {
    // SAFETY: an all-zero utsname is a valid value of this plain C struct.
    let mut names: libc::utsname = unsafe { std::mem::zeroed() };
    // SAFETY: `names` is valid to write to.
    if unsafe { libc::uname(&raw mut names) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(names
        .machine
        .iter()
        // A C char is signed on x86 and unsigned on ARM.
        .map(|byte| byte.to_ne_bytes()[0])
        .take_while(|&byte| byte != 0)
        .map(char::from)
        .collect())
}

/// The signature with which a hypervisor introduces itself (cpuid leaf 0x40000000), such as `KVMKVMKVM`; `None` where
/// the CPU does not claim to be virtual or the architecture has no such thing.
pub fn hypervisor_signature() -> Option<String> {
    let bytes = cpu::hypervisor_signature()?;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_matches(|c: char| c == '\0' || c == ' ');
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(target_arch = "x86_64")]
mod cpu {
    use core::arch::x86_64::__cpuid;

    /// Leaf 1, ecx: set by hypervisors for their guests, never by hardware (AMD and Intel manuals).
    const HYPERVISOR_PRESENT: u32 = 1 << 31;
    const HYPERVISOR_LEAF: u32 = 0x4000_0000;

    /// Hypervisors that also speak Hyper-V's interface, for the sake of Windows guests, show it first and their own
    /// 0x100 leaves later (the kernel's `hypervisor_cpuid_base` searches in the same steps).
    const SECOND_LEAF: u32 = HYPERVISOR_LEAF + 0x100;
    const SECOND_SIGNATURES: [&[u8; 12]; 2] = [b"KVMKVMKVM\0\0\0", b"XenVMMXenVMM"];

    pub(super) fn hypervisor_signature() -> Option<[u8; 12]> {
        if cpuid(1).ecx & HYPERVISOR_PRESENT == 0 {
            return None;
        }
        let second = signature(SECOND_LEAF);
        // A CPU without that leaf answers with whatever it likes: only known text counts.
        if SECOND_SIGNATURES.contains(&&second) {
            return Some(second);
        }
        Some(signature(HYPERVISOR_LEAF))
    }

    fn signature(leaf: u32) -> [u8; 12] {
        let answer = cpuid(leaf);
        let mut bytes = [0; 12];
        let registers = [answer.ebx, answer.ecx, answer.edx];
        for (place, register) in bytes.chunks_exact_mut(4).zip(registers) {
            place.copy_from_slice(&register.to_le_bytes());
        }
        bytes
    }

    #[allow(
        unused_unsafe,
        reason = "newer compilers know that cpuid is safe, 1.90 does not"
    )]
    fn cpuid(leaf: u32) -> core::arch::x86_64::CpuidResult {
        // SAFETY: every x86-64 CPU has cpuid, and leaves that it does not know return zeros or the last leaf.
        unsafe { __cpuid(leaf) }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod cpu {
    pub(super) fn hypervisor_signature() -> Option<[u8; 12]> {
        None
    }
}

fn close(fd: libc::c_long) {
    if let Ok(fd) = libc::c_int::try_from(fd) {
        // SAFETY: the descriptor was just made by us and is closed once.
        unsafe { libc::close(fd) };
    }
}

#[cfg(test)]
mod tests;
