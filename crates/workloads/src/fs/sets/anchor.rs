//! Where the run's own directory is made for an anchor that a parameter file names.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// What becomes of an anchor that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The directory above must be there: `create_anchors=no`.
    Last,
    /// Any directory above: `create_anchors=yes`.
    Any,
}

/// The directory in which the run works for this anchor: the anchor itself, by the name that leads to it without links.
/// Where it is not there it is not made, because nobody could tell later whose it is: the run works in the directory
/// above it, which lies on the same file system. The error is for whoever wrote the anchor.
pub fn stand_at(anchor: &Path, missing: Missing) -> Result<PathBuf, String> {
    let told = anchor.display();
    if !anchor.is_absolute() {
        return Err(format!("anchor `{told}` is no absolute path"));
    }
    let above = match missing {
        Missing::Last => 2,
        Missing::Any => usize::MAX,
    };
    for dir in anchor.ancestors().take(above) {
        match fs::canonicalize(dir) {
            Ok(real) if real.is_dir() => return Ok(real),
            Ok(_) => {
                return Err(format!(
                    "anchor `{told}`: `{}` is no directory",
                    dir.display()
                ));
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => {
                return Err(format!(
                    "anchor `{told}`: look at `{}`: {error}",
                    dir.display()
                ));
            }
        }
    }
    let what = "neither it nor the directory above it is there";
    Err(format!(
        "anchor `{told}`: {what}; hint: make it, or say create_anchors=yes"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_anchor_that_is_not_there_is_not_made() {
        let root = tempfile::tempdir().unwrap();
        let real = fs::canonicalize(root.path()).unwrap();
        fs::write(real.join("file"), "").unwrap();
        std::os::unix::fs::symlink(&real, real.join("link")).unwrap();
        let check = |anchor: &str, missing, expect: Result<&Path, &str>| {
            let found = stand_at(&real.join(anchor), missing);
            match expect {
                Ok(dir) => assert_eq!(found.as_deref(), Ok(dir), "{anchor}"),
                Err(words) => assert!(found.clone().unwrap_err().contains(words), "{found:?}"),
            }
        };
        check("", Missing::Last, Ok(&real));
        check("link", Missing::Last, Ok(&real));
        check("new", Missing::Last, Ok(&real));
        check("new/er", Missing::Last, Err("create_anchors=yes"));
        check("new/er", Missing::Any, Ok(&real));
        check("file", Missing::Last, Err("is no directory"));
        check("file/in", Missing::Any, Err("look at"));
        assert!(stand_at(Path::new("here"), Missing::Any).is_err());
        assert_eq!(fs::read_dir(&real).unwrap().count(), 2, "nothing was made");
    }
}
