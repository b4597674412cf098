//! The mark on a file that kurabe makes for a job, and when it still counts.
//!
//! A mark is an attribute of the file ([`sys::owned`]). Tools copy attributes to other files, they stay when somebody
//! else writes into the file, and a number of an inode is given again: an attribute alone proves nothing. A mark
//! therefore says on which file it was set, what that file was like then, and whether a run was writing:
//!
//! ```text
//!            make                    lay out, keep a note                  settle
//! (no file) ------> OPEN, empty ----------------------> OPEN with a note ---------> SHUT
//!                     ^    |                               |        ^                 |
//!                     |    |  killed: nobody holds it      |        |  hold           |  changed by anybody,
//!                     |    v                               v        +-----------------+  copied, number reused
//!                     |  unchanged since its mark: ours    |                          v
//!                     +------------------------------------+--- else ------>  SOMEBODY ELSE'S
//! ```
//!
//! - SHUT: no run is writing. It is ours while device, inode, length, time of the last write and time of the last
//!   change of anything (mtime, ctime) are those of the mark. The id in the mark is known to the store that kept the
//!   run, with the exact ctime; without that store the ctime may be up to [`SETTING_NS`] behind the one in the mark,
//!   because setting an attribute is a change by itself. Whoever writes to the file, formats it, copies over it, or
//!   changes its owner, permissions or name has made it his, also where he puts the mtime back.
//! - OPEN: a run is writing. Its supervisor holds the file open and locked (flock(2)) from before the first write to
//!   after the last, so that the kernel gives its number to no other file, and no second run takes it. Workers know it
//!   by number, and by the run's name in the mark. What others write to it meanwhile is lost, as with any file that a
//!   program is writing to.
//! - OPEN, and nobody holds the lock: a run was killed. What was written since the mark was set may be that run's or
//!   somebody else's, and nobody can tell: it is ours only where nothing was, by the same comparison as for SHUT, or
//!   where it is empty.
//!
//! So nothing that somebody else put into a file is ever taken for ours, and the price is that a file whose writer was
//! killed stays until its owner removes it or names it with `--overwrite-file`.

use super::Known;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use sys::owned;

/// How long after its last look at the file a mark may be set, in nanoseconds: the ctime moves by as much.
const SETTING_NS: i128 = 1_000_000_000;

/// How often a mark is set until it was set in time: a disk that is just written back can hold up a change.
const TRIES: u32 = 10;

/// Files get times from a clock that moves every 1 to 10 ms (include/linux/timekeeping.h), in some file systems every
/// second or two: two changes in one step look like one. In nanoseconds.
const STEP_NS: i128 = 20_000_000;
const COARSE_STEP_NS: i128 = 2_000_000_000;

/// The first word of a mark; other versions are not ours.
const VERSION: &str = "2";

/// Whether a run was writing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// This one was.
    Open(String),
    /// None was.
    Shut,
}

/// What a mark says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    /// Random, and new for each run that takes the file.
    pub(super) id: String,
    pub(super) state: State,
    /// What the file holds; empty where it is not whole.
    pub(super) note: String,
}

/// Whose a file is, as far as its mark says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Ours, unchanged.
    Ours(Mark),
    /// A run that was killed was writing to it.
    Killed,
    /// We made it, and somebody changed it.
    Changed,
    /// Somebody else's.
    Others,
}

/// The time of a file's last change of anything, in nanoseconds.
pub(super) fn changed_at(found: &Metadata) -> i128 {
    i128::from(found.ctime()) * 1_000_000_000 + i128::from(found.ctime_nsec())
}

fn written_at(found: &Metadata) -> i128 {
    i128::from(found.mtime()) * 1_000_000_000 + i128::from(found.mtime_nsec())
}

/// Which file it is, and what it is like: all but the ctime, which setting a mark moves.
fn stamp(found: &Metadata) -> String {
    let (device, inode, length) = (found.dev(), found.ino(), found.len());
    format!("{device}:{inode}:{length}:{}", written_at(found))
}

impl Mark {
    /// Marks the file as it is now; the ctime that it has then.
    pub(super) fn set(&self, file: &File) -> io::Result<i128> {
        for _ in 0..TRIES {
            let before = file.metadata()?;
            owned::mark(file, &self.text(&before))?;
            let after = file.metadata()?;
            let in_time = changed_at(&after) - changed_at(&before) <= SETTING_NS;
            if in_time && stamp(&after) == stamp(&before) {
                return Ok(changed_at(&after));
            }
        }
        Err(io::Error::other("somebody else is writing to it"))
    }

    /// The same, and returns not before a write that comes next would get another time than the last one.
    pub(super) fn set_for_good(&self, file: &File) -> io::Result<i128> {
        let changed = self.set(file)?;
        let written = written_at(&file.metadata()?);
        let in_whole_seconds = changed % 1_000_000_000 == 0 && written % 1_000_000_000 == 0;
        let step = if in_whole_seconds {
            COARSE_STEP_NS
        } else {
            STEP_NS
        };
        // A time in the future is nobody's last write.
        if (0..step).contains(&(changed - written)) {
            sys::clock::sleep(u64::try_from(step).unwrap_or(0));
        }
        Ok(changed)
    }

    fn text(&self, found: &Metadata) -> String {
        let state = match &self.state {
            State::Open(run) => format!("open={run}"),
            State::Shut => "shut".to_owned(),
        };
        let (stamp, changed) = (stamp(found), changed_at(found));
        format!(
            "{VERSION} {stamp} {changed} {} {state} {}",
            self.id, self.note
        )
    }
}

/// A mark, and what it says of the file that it was set on.
struct Read {
    mark: Mark,
    stamp: String,
    changed: i128,
}

fn read(file: &File) -> io::Result<Option<Read>> {
    Ok(owned::mark_on(file)?.as_deref().and_then(parse))
}

fn parse(text: &str) -> Option<Read> {
    let mut words = text.splitn(6, ' ');
    let mut next = || words.next();
    if next()? != VERSION {
        return None;
    }
    let (stamp, changed, id, state) = (next()?, next()?, next()?, next()?);
    let state = match (state, state.strip_prefix("open=")) {
        ("shut", _) => State::Shut,
        (_, Some(run)) => State::Open(run.to_owned()),
        _ => return None,
    };
    Some(Read {
        stamp: stamp.to_owned(),
        changed: changed.parse().ok()?,
        mark: Mark {
            id: id.to_owned(),
            state,
            note: next()?.to_owned(),
        },
    })
}

/// The mark of a file that a run of this name is writing to; `None` for any other.
pub(super) fn of_run(file: &File, run: &str) -> io::Result<Option<Mark>> {
    let found = file.metadata()?;
    let ours = |read: &Read| {
        is_of(&read.stamp, &found) && matches!(&read.mark.state, State::Open(own) if own == run)
    };
    Ok(read(file)?.filter(ours).map(|read| read.mark))
}

/// Whether a mark was set on this file, whatever has become of it since.
fn is_of(stamp: &str, found: &Metadata) -> bool {
    stamp.starts_with(&format!("{}:{}:", found.dev(), found.ino()))
}

/// Whose a file is that nobody is writing to: the caller holds its lock. `known` gives the ctime that a store kept for
/// an id.
pub(super) fn standing(file: &File, known: Known<'_>) -> io::Result<Standing> {
    let found = file.metadata()?;
    let Some(read) = read(file)?.filter(|read| is_of(&read.stamp, &found)) else {
        return Ok(Standing::Others);
    };
    let since = changed_at(&found) - read.changed;
    let unchanged = match (&read.mark.state, known(&read.mark.id)) {
        (State::Shut, Some(exact)) => exact == changed_at(&found).to_string(),
        _ => (0..=SETTING_NS).contains(&since),
    };
    let is_open = matches!(read.mark.state, State::Open(_));
    Ok(
        if unchanged && read.stamp == stamp(&found) || is_open && found.len() == 0 {
            Standing::Ours(read.mark)
        } else if is_open {
            Standing::Killed
        } else {
            Standing::Changed
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{FileExt, PermissionsExt};
    use std::path::Path;

    fn none(_: &str) -> Option<String> {
        None
    }

    fn mark(state: State) -> Mark {
        Mark {
            id: "1d".to_owned(),
            state,
            note: "a note of several words".to_owned(),
        }
    }

    fn open() -> State {
        State::Open("r1".to_owned())
    }

    /// A file with content, marked.
    fn marked(dir: &Path, state: State) -> (File, i128) {
        let path = dir.join("file");
        let _ = std::fs::remove_file(&path);
        std::fs::write(&path, vec![7; 8192]).unwrap();
        let file = File::options().read(true).write(true).open(path).unwrap();
        let changed = mark(state).set_for_good(&file).unwrap();
        (file, changed)
    }

    fn place() -> tempfile::TempDir {
        tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap()
    }

    #[test]
    fn an_unchanged_file_is_ours_whether_its_run_was_killed_or_not() {
        let dir = place();
        for state in [State::Shut, open()] {
            let (file, changed) = marked(dir.path(), state.clone());
            let exact = |id: &str| (id == "1d").then(|| changed.to_string());
            for known in [&none as Known<'_>, &exact] {
                let found = standing(&file, known).unwrap();
                assert_eq!(found, Standing::Ours(mark(state.clone())));
            }
            let of_run = |run: &str| of_run(&file, run).unwrap();
            assert_eq!(of_run("r1").is_some(), state == open());
            assert_eq!(of_run("r2"), None);
        }
        // The store knows of another time: somebody touched it within the second.
        let (file, _) = marked(dir.path(), State::Shut);
        let other = |_: &str| Some("1".to_owned());
        assert_eq!(standing(&file, &other).unwrap(), Standing::Changed);
    }

    #[test]
    fn whoever_changes_it_has_made_it_his() {
        type Change = fn(&File, &Path);
        let changes: [(&str, Change); 6] = [
            ("a byte in place", |file, _| {
                file.write_all_at(b"x", 4096).unwrap();
            }),
            ("the same bytes again", |file, _| {
                file.write_all_at(&[7; 8192], 0).unwrap();
            }),
            ("longer", |file, _| file.set_len(8193).unwrap()),
            ("cut and written anew", |_, path| {
                std::fs::write(path, vec![7; 8192]).unwrap();
            }),
            ("a write whose time is put back", |file, _| {
                let before = file.metadata().unwrap().modified().unwrap();
                file.write_all_at(b"x", 0).unwrap();
                // Beyond what setting a mark may take.
                sys::clock::sleep(1_100_000_000);
                file.set_modified(before).unwrap();
            }),
            ("permissions", |file, _| {
                sys::clock::sleep(1_100_000_000);
                let all = std::fs::Permissions::from_mode(0o600);
                file.set_permissions(all).unwrap();
            }),
        ];
        let dir = place();
        for (what, change) in changes {
            for (state, expect) in [(State::Shut, Standing::Changed), (open(), Standing::Killed)] {
                let (file, _) = marked(dir.path(), state);
                change(&file, &dir.path().join("file"));
                assert_eq!(standing(&file, &none).unwrap(), expect, "{what}");
            }
        }
    }

    #[test]
    fn a_mark_does_not_count_on_another_file() {
        let dir = place();
        let (file, _) = marked(dir.path(), State::Shut);
        let text = owned::mark_on(&file).unwrap().unwrap();
        let other = File::create(dir.path().join("other")).unwrap();
        other.set_len(8192).unwrap();
        other
            .set_modified(file.metadata().unwrap().modified().unwrap())
            .unwrap();
        owned::mark(&other, &text).unwrap();
        assert_eq!(standing(&other, &none).unwrap(), Standing::Others);
        for text in [
            "",
            "2",
            "test file",
            &text.replacen('2', "1", 1),
            &text.replacen("shut", "else", 1),
        ] {
            owned::mark(&file, text).unwrap();
            assert_eq!(standing(&file, &none).unwrap(), Standing::Others, "{text}");
        }
    }

    #[test]
    fn an_empty_file_of_a_killed_run_holds_nothing_that_could_be_lost() {
        let dir = place();
        let (file, _) = marked(dir.path(), open());
        file.set_len(0).unwrap();
        assert_eq!(
            standing(&file, &none).unwrap(),
            Standing::Ours(mark(open()))
        );
        let (file, _) = marked(dir.path(), State::Shut);
        file.set_len(0).unwrap();
        assert_eq!(standing(&file, &none).unwrap(), Standing::Changed);
    }
}
