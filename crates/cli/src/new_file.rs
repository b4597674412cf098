//! Files that commands make where the user says: whole or not there at all, and never in the place of another one.

use crate::directory;
use crate::exit::{Exit, failure};
use std::fmt::Display;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What the user names the place with.
pub(crate) const OPTION: &str = "--output FILE";

/// What helps where nothing can be made.
pub(crate) const ELSEWHERE: &str = "name another place, in which you may make files";

/// The place of a new file, which nothing is in the way of.
pub(crate) fn place(path: &Path, of_others: bool) -> anyhow::Result<PathBuf> {
    if path == Path::new("-") {
        let hint = "without `--output` it goes to standard output; `./-` is a file";
        return Err(refused(path, &"it is no file", Some(hint)));
    }
    if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
        let hint = "name a file in it";
        return Err(refused(path, &"it is called as a directory is", Some(hint)));
    }
    let place = directory::refuse_strangers_to_new(path, OPTION, of_others)?;
    check_free(path, &place)?;
    Ok(place)
}

/// Refuses a place in which there is something; `path` is what the user calls it.
pub(crate) fn check_free(path: &Path, place: &Path) -> anyhow::Result<()> {
    match place.symlink_metadata() {
        Ok(found) if found.is_dir() => Err(refused(
            path,
            &"it is a directory",
            Some("name a file in it"),
        )),
        Ok(_) => Err(exists(path)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(refused(path, &error, Some(ELSEWHERE))),
    }
}

/// Writes beside the place, and gives it its name when it is whole.
pub(crate) fn write(path: &Path, place: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let mut beside = place.as_os_str().to_owned();
    beside.push(format!(".{}.part", std::process::id()));
    let beside = PathBuf::from(beside);
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&beside)
        .map_err(|error| refused(path, &error, Some(ELSEWHERE)))?;
    let made = file.metadata();
    let done = file
        .write_all(bytes)
        .and_then(|()| file.sync_all())
        .and_then(|()| named(&beside, place));
    // Under its own name, or of no use: half of a file.
    if let Ok(made) = made {
        let _ = sys::io::remove::remove_exactly(&beside, made.dev(), made.ino());
    }
    done.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => exists(path),
        _ => failure(
            Exit::Incomplete,
            format!("write `{}`: {error}", path.display()),
            Some("nothing is left of it; make room, or name another place"),
        ),
    })
}

/// Gives a file another name, which nothing else has: what was made there meanwhile stays.
fn named(beside: &Path, place: &Path) -> io::Result<()> {
    match fs::hard_link(beside, place) {
        // Some file systems have no second names.
        Err(error) if error.kind() != ErrorKind::AlreadyExists => fs::rename(beside, place),
        done => done,
    }
}

/// The error of a file that cannot be written.
pub(crate) fn refused(path: &Path, why: &dyn Display, hint: Option<&str>) -> anyhow::Error {
    let what = format!("write `{}`: {why}", path.display());
    failure(Exit::Usage, what, hint)
}

fn exists(path: &Path) -> anyhow::Error {
    let hint = "kurabe overwrites no files: remove it, or name another with `--output FILE`";
    refused(path, &"it exists already", Some(hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_the_place_stays_and_nothing_is_left_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("r.html");
        write(&place, &place, b"one").unwrap();
        let again = write(&place, &place, b"two").unwrap_err().to_string();
        assert!(again.contains("exists already"), "{again}");
        assert_eq!(fs::read(&place).unwrap(), b"one");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        assert!(check_free(&place, &place).is_err());
        assert!(check_free(dir.path(), dir.path()).is_err());
        assert!(check_free(&place, &dir.path().join("x")).is_ok());
    }
}
