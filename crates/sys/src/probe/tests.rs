//! What must hold on whatever machine the tests run on, and the explanations of refusals.

use super::*;

#[test]
fn a_refused_io_uring_is_explained_by_error_and_sysctl() {
    let check = |number, setting: Option<&str>, expect: &str| {
        let error = io::Error::from_raw_os_error(number);
        assert_eq!(io_uring_refusal(&error, setting), expect);
    };
    check(
        libc::EPERM,
        Some("2"),
        "io_uring_setup: EPERM (sysctl kernel.io_uring_disabled is 2)",
    );
    check(
        libc::EPERM,
        Some("0"),
        "io_uring_setup: EPERM (a seccomp filter or security policy)",
    );
    check(
        libc::ENOSYS,
        Some("0"),
        "io_uring_setup: ENOSYS (a seccomp filter hides it)",
    );
    check(
        libc::ENOSYS,
        None,
        "io_uring_setup: ENOSYS (the kernel is older than 5.1, built without it, or a seccomp filter hides it)",
    );
    check(libc::EMFILE, None, "io_uring_setup: EMFILE");
}

#[test]
fn probes_leave_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let before = descriptors();
    for _ in 0..40 {
        // Refused or not: this machine decides.
        let _ = io_uring(&Tree::real());
        let _ = libaio();
        let _ = o_direct(dir.path());
        writable(dir.path()).unwrap();
    }
    // Other tests of this process open files at the same time, but not 40 of them for good.
    assert!(descriptors() < before + 40);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_directory_that_is_not_there_is_named() {
    let dir = Path::new("/nonexistent/kurabe");
    assert_eq!(
        writable(dir).unwrap_err(),
        "create a file in `/nonexistent/kurabe`: ENOENT"
    );
    assert_eq!(
        o_direct(dir).unwrap_err(),
        "create a file in `/nonexistent/kurabe`: ENOENT"
    );
    assert_eq!(
        file_system(dir).unwrap_err().raw_os_error(),
        Some(libc::ENOENT)
    );
}

#[test]
fn a_directory_that_nobody_may_write_is_refused() {
    // Nobody creates files in /proc, root included.
    assert!(writable(Path::new("/proc")).is_err());
}

#[test]
fn file_system_numbers_are_consistent() {
    let dir = tempfile::tempdir().unwrap();
    let found = file_system(dir.path()).unwrap();
    assert!(found.free_bytes <= found.total_bytes);
    assert!(found.block_bytes.is_power_of_two());
    assert!(!found.read_only);
    let proc = file_system(Path::new("/proc")).unwrap();
    assert_eq!(proc.magic, 0x9fa0, "the magic number of proc");
    assert_eq!(proc.in_memory(), None);
    let memory = FileSystem {
        magic: 0x0102_1994,
        ..proc
    };
    assert_eq!(memory.in_memory(), Some("tmpfs"));
}

#[test]
fn inodes_are_counted_where_a_file_system_has_a_number_of_them() {
    let none = free_inodes(Path::new("/proc")).unwrap();
    assert_eq!(none, None, "nobody makes files there");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    assert_ne!(free_inodes(here).unwrap(), Some(0));
    free_inodes(Path::new("/no such place")).unwrap_err();
}

#[test]
fn the_kernel_and_the_probes_agree() {
    let tree = Tree::real();
    let status = tree.read("/proc/self/status").unwrap();
    let uid: Vec<&str> = status
        .lines()
        .find_map(|line| line.strip_prefix("Uid:"))
        .unwrap()
        .split_ascii_whitespace()
        .collect();
    assert_eq!(is_root(), uid[1] == "0", "the effective user id");
    assert!(page_bytes().unwrap() >= 4096);
    assert!(ticks_per_second().unwrap() >= 1);
    assert_eq!(machine().unwrap(), std::env::consts::ARCH);
    let flagged = tree
        .read("/proc/cpuinfo")
        .unwrap()
        .split_ascii_whitespace()
        .any(|word| word == "hypervisor");
    assert_eq!(hypervisor_signature().is_some(), flagged);
}
