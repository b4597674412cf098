//! Files that hold what opens something, such as a password: nobody but their owner may read them.

use crate::exit::{Exit, failure};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Longer than any address or token, and than files of passwords get.
const BYTES_MAX: u64 = 1 << 20;

/// Others who may read or write a file, in its mode.
pub(crate) const OTHERS: u32 = 0o077;

/// The first line of a file that nobody else may read, which is this: `the address`.
pub(crate) fn first_line(path: &Path, what: &str) -> anyhow::Result<String> {
    let shown = path.display();
    let refused = |why: &str, hint: Option<&str>| {
        failure(
            Exit::Usage,
            format!("cannot read {what} in `{shown}`: {why}"),
            hint,
        )
    };
    let (text, mode) = read(path).map_err(|error| refused(&error.to_string(), None))?;
    if mode & OTHERS != 0 {
        let hint = format!("`chmod 600 {shown}`");
        return Err(refused(
            &format!("others may read it (mode {:o})", mode & 0o777),
            Some(&hint),
        ));
    }
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = lines.next().ok_or_else(|| refused("it is empty", None))?;
    Ok(line.to_owned())
}

/// A regular file and its mode, of one handle.
pub(crate) fn read(path: &Path) -> std::io::Result<(String, u32)> {
    let found = std::fs::metadata(path)?;
    if !found.is_file() {
        return Err(std::io::Error::other("it is no regular file"));
    }
    let file = File::open(path)?;
    let mode = file.metadata()?.mode();
    let mut text = String::new();
    file.take(BYTES_MAX).read_to_string(&mut text)?;
    Ok((text, mode))
}
