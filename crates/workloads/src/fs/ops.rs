//! Names and errors of file operations, for everybody who does many of them: the operations are those of
//! [`sys::folder`], one system call each.
//!
//! A name is a prefix and a number, written into the same buffer again and again, so that no operation allocates. An
//! error gets its object only where there is one: what failed, on which name, in which directory.

use engine::workload::WorkError;
use std::ffi::CStr;
use std::io::ErrorKind;
use std::path::Path;
use sys::loops::failure::Failure;

pub(crate) use sys::name::Name;

/// An operation on a name in a directory failed. A file system can be full of files while there is space: then the
/// kernel's word for it misleads.
#[cold]
pub(crate) fn failed(failure: &Failure, dir: &Path, name: &CStr) -> WorkError {
    let path = dir.join(name.to_string_lossy().as_ref());
    let is_full = failure.error.kind() == ErrorKind::StorageFull;
    if is_full && matches!(sys::probe::free_inodes(dir), Ok(Some(0))) {
        let why = format!("{}; no inodes are left: see `df -i`", failure.error);
        return WorkError::failed(failure.operation, path.display(), why);
    }
    crate::os::failed(failure, path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_operation_and_object() {
        let failure = Failure {
            operation: "unlink",
            done: 0,
            error: std::io::Error::other("why"),
        };
        let error = failed(&failure, Path::new("../0"), c"f1");
        assert_eq!(error.to_string(), "unlink `../0/f1`: why");
    }
}
