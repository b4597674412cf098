//! Files that a run writes to, held by its supervisor from before the first write to after the last.
//!
//! Held means open, so that the kernel gives the file's number to no other one, and locked (flock(2)), so that a second
//! run keeps out and a run that was killed can be told from one that goes on. A file of ours carries the run's name
//! meanwhile ([`super::mark`]); at the end it is marked as it is then, or removed.

use super::mark::{self, Mark, Standing, State};
use super::places::Placed;
use super::{Known, Refusal, Touch};
use model::rng::Rng;
use model::units::Nanos;
use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use sys::block::elsewhere::{self, Shown};
use sys::block::uses::{self, OfFile};
use sys::io::file::{self, Access};
use sys::io::remove::{self, Removal};
use sys::owned;
use sys::tree::Tree;

/// A file of a run, in the supervisor.
#[derive(Debug)]
pub(super) struct Held {
    /// As it was typed.
    path: PathBuf,
    /// By which it was opened.
    place: PathBuf,
    file: File,
    device: u64,
    inode: u64,
    /// The run's name in the mark; `None` for a file of somebody else.
    run: Option<String>,
    /// Whether others had it open for writing when it was taken; `None` where the kernel does not say.
    written: Option<bool>,
    /// It carries our mark.
    is_ours: bool,
}

/// What became of a file of ours when its run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Left {
    /// It stays, to be used again.
    Kept {
        /// Its id, and the ctime that it has now: what a store must keep to know it again for sure.
        id: String,
        /// In nanoseconds.
        changed: i128,
    },
    /// It was removed.
    Removed,
    /// It stays, and is not ours any more: why.
    Lost(String),
}

/// A file of ours when its run has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled {
    /// Where it is.
    pub path: PathBuf,
    /// What became of it.
    pub left: Left,
}

/// A name that no other run and no other file has: 128 bits from the clocks and the process's number.
pub(super) fn fresh_name() -> String {
    let process = u64::from(std::process::id());
    let mut wall = Rng::stream(sys::clock::wall(), process);
    let mut monotonic = Rng::stream(sys::clock::monotonic(), process);
    format!("{:016x}{:016x}", wall.next(), monotonic.next())
}

const WRITE: Access = Access {
    write: true,
    direct: false,
    sync: file::SyncMode::None,
};

/// Takes an existing file that may be written to: one of ours, or one that the user gave up with `--overwrite-file`.
/// `None` for a file that is only read, and is somebody else's or in the hands of another run.
pub(super) fn take(
    tree: &Tree,
    Placed { touch, place }: &Placed,
    found: &File,
    overwrite: bool,
    known: Known<'_>,
) -> Result<Option<(Held, Option<Mark>)>, Refusal> {
    let path = &touch.path;
    let read = |file: &File| {
        mark::standing(file, known).map_err(Refusal::system("read the mark of", path))
    };
    let look = file::reopen(found, Access::default()).map_err(Refusal::system("open", path))?;
    let standing = read(&look)?;
    let gives_up = touch.writes && overwrite;
    match &standing {
        Standing::Ours(_) => {}
        _ if gives_up => {}
        // The lock tells a run that goes on from one that was killed.
        Standing::Killed if touch.writes => {}
        other => return others(touch, other),
    }
    let locked = || {
        if touch.writes {
            Err(Refusal::unfit(path, LOCKED))
        } else {
            Ok(None)
        }
    };
    // Before it is opened for writing here: then it is.
    if matches!(look.try_lock(), Err(TryLockError::WouldBlock)) {
        return locked();
    }
    let written = written_by_others(&look);
    if !matches!(standing, Standing::Ours(_)) {
        // An overlay copies a file when it is opened for writing.
        refuse_others_elsewhere(tree, path, place, &look)?;
    }
    drop(look);
    let file = file::reopen(found, WRITE).map_err(not_writable(path))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return locked(),
        // Not every file system has locks, and a file that the user gave up needs none.
        Err(TryLockError::Error(_)) if gives_up => {}
        Err(TryLockError::Error(error)) => return Err(Refusal::system("lock", path)(error)),
    }
    // What counts is what it is now that nobody else takes it.
    let mark = match read(&file)? {
        Standing::Ours(mark) => Some(mark),
        _ if gives_up => None,
        other => return others(touch, &other),
    };
    let what = file.metadata().map_err(Refusal::system("look at", path))?;
    let held = Held {
        path: path.clone(),
        place: place.clone(),
        file,
        device: what.dev(),
        inode: what.ino(),
        run: None,
        written,
        is_ours: mark.is_some(),
    };
    Ok(Some((held, mark)))
}

/// Whether anybody has a file open for writing, by the kernel's own word: it counts them wherever they are, outside of
/// this PID namespace, in the kernel, or with nothing but a mapping left. It lets go of what a process had a moment
/// after the process has ended.
fn written_by_others(look: &File) -> Option<bool> {
    const LOOKS: u32 = 10;
    const PAUSE: Nanos = Nanos::from_millis(100);
    for _ in 1..LOOKS {
        match file::is_open_for_writing(look) {
            Some(true) => sys::clock::sleep(PAUSE.0),
            other => return other,
        }
    }
    file::is_open_for_writing(look)
}

const LOCKED: &str =
    "another program has locked it, such as another run of kurabe that writes to it";

/// A file that is not ours: it can be read, and no more.
fn others<T>(touch: &Touch, standing: &Standing) -> Result<Option<T>, Refusal> {
    if !touch.writes {
        return Ok(None);
    }
    Err(Refusal::NotNamed {
        path: touch.path.clone(),
        why: match standing {
            Standing::Killed => {
                "a run of kurabe that was killed was writing to it, and nobody can tell what was written since"
            }
            Standing::Changed => "kurabe made it, and somebody has changed it since",
            Standing::Others | Standing::Ours(_) => "kurabe did not make it",
        },
    })
}

/// Refuses files that others use without a lock: a loop device on one, or a program that may write to it. Where nobody
/// can say whether there is such a program, a file of somebody else is refused in a PID namespace of its own; the rest
/// is given back, to be said.
pub(super) fn refuse_users(tree: &Tree, taken: &[&Held]) -> Result<Vec<super::Unseen>, Refusal> {
    let mut unseen = Vec::new();
    if taken.is_empty() {
        return Ok(unseen);
    }
    // Each file, and beside it the one that it really is.
    let mut files: Vec<OfFile> = taken
        .iter()
        .map(|held| held.of_file(held.number()))
        .collect();
    let mut whose: Vec<usize> = (0..taken.len()).collect();
    for (place, held) in taken.iter().enumerate() {
        let shown = shown(tree, &held.path, &held.place, held.number())?;
        if let Some((_, number)) = shown.and_then(|shown| shown.real) {
            files.push(held.of_file(number));
            whose.push(place);
        }
    }
    let users = uses::of_files(tree, &files, uses::process_in_proc(tree));
    for (place, held) in taken.iter().enumerate() {
        let of_this = users.found.iter().filter(|(file, _)| whose[*file] == place);
        let mut words: Vec<&str> = of_this.map(|(_, how)| how.as_str()).collect();
        if words.is_empty() && held.is_written() {
            words.push(
                "open for writing somewhere, as the kernel says, though by no process that can be seen from here",
            );
        }
        if !words.is_empty() {
            let why = format!(
                "it is {}\nhint: no option overrides this; release it first, if you are sure",
                words.join("; ")
            );
            return Err(Refusal::unfit(&held.path, why));
        }
        if !held.is_ours {
            refuse_others_elsewhere(tree, &held.path, &held.place, &held.file)?;
        }
        // A loop device that only reads has no file open for writing.
        if let Some(why) = users.unasked.as_ref().filter(|_| !held.is_ours) {
            let why = format!(
                "whether it lies below a loop device cannot be found out: {why}\nhint: measure as root where `/sys` \
                 is mounted and loop devices can be opened (outside of containers), or let kurabe make a file of its \
                 own"
            );
            return Err(Refusal::unfit(&held.path, why));
        }
        let (None, Some(why)) = (held.written, &users.unseen) else {
            continue;
        };
        // What others made may be in the hands of programs that nobody sees.
        if why.is_blind() && !held.is_ours {
            let why = format!(
                "who writes to it cannot be found out: {why}\nhint: measure as root and outside of containers \
                 (`--pid=host`), or let kurabe make a file of its own"
            );
            return Err(Refusal::unfit(&held.path, why));
        }
        unseen.push(super::Unseen {
            path: held.path.clone(),
            why: why.to_string(),
        });
    }
    Ok(unseen)
}

/// Whether a file really lies elsewhere.
fn shown(
    tree: &Tree,
    path: &Path,
    place: &Path,
    number: (u64, u64),
) -> Result<Option<Shown>, Refusal> {
    elsewhere::shown(tree, place, number).map_err(|error| Refusal::unfit(path, error.to_string()))
}

/// Refuses a file that kurabe did not make and that really lies elsewhere: it may be in use there.
fn refuse_others_elsewhere(
    tree: &Tree,
    path: &Path,
    place: &Path,
    file: &File,
) -> Result<(), Refusal> {
    let what = file.metadata().map_err(Refusal::system("look at", path))?;
    let Some(shown) = shown(tree, path, place, (what.dev(), what.ino()))? else {
        return Ok(());
    };
    let kind = &shown.kind;
    let really = shown.real.as_ref().map_or_else(
        || "the file where it really lies".to_owned(),
        |(real, _)| format!("it where it really lies, `{}`", real.display()),
    );
    Err(Refusal::unfit(
        path,
        format!(
            "it lies on a file system whose files really lie elsewhere ({kind}), and who uses it there cannot be found \
             out\nhint: name {really}, or let kurabe make a file of its own with `--dir`"
        ),
    ))
}

/// What the kernel said to opening a file for writing, with a hint where it is none of the usual rights.
fn not_writable(path: &Path) -> impl FnOnce(io::Error) -> Refusal {
    move |error| {
        let hinted = match error.raw_os_error() {
            Some(file::NOT_PERMITTED) => io::Error::other(format!(
                "{error}\nhint: it may be immutable or for appending only: `lsattr` tells, and `chattr -i -a` ends \
                 that, if you are sure"
            )),
            _ => error,
        };
        Refusal::system("open", path)(hinted)
    }
}

/// Makes the file of a touch, empty, marked and locked.
pub(super) fn make(touch: &Touch, place: &Path, run: &str) -> Result<Held, Refusal> {
    let path = &touch.path;
    let made = file::create(place).map_err(Refusal::system("create", path))?;
    let what = made.metadata().map_err(Refusal::system("look at", path))?;
    let mut held = Held {
        path: path.clone(),
        place: place.to_owned(),
        file: made,
        device: what.dev(),
        inode: what.ino(),
        run: None,
        written: Some(false),
        is_ours: true,
    };
    let mark = Mark {
        id: String::new(),
        state: State::Shut,
        note: String::new(),
    };
    let locked = held.file.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => Refusal::unfit(path, LOCKED),
        TryLockError::Error(error) => Refusal::system("lock", path)(error),
    });
    let opened = locked.and_then(|()| held.open(mark, run));
    opened.map_err(|refusal| {
        // It was made a moment ago, by us, and is empty.
        let _ = held.remove();
        match &refusal {
            Refusal::System { error, .. } if owned::has_no_marks(error) => Refusal::unfit(
                path,
                "this file system carries no extended attributes, so that a file of kurabe's could not be told from \
                 others later\nhint: name no file, and kurabe makes and removes one of its own; or, on a disk of this \
                 machine, make it yourself and name it with `--overwrite-file`",
            ),
            _ => refusal,
        }
    })?;
    Ok(held)
}

impl Held {
    /// Whether it is known already that others write to it.
    pub(super) fn is_written(&self) -> bool {
        self.written == Some(true)
    }

    /// What users are asked for: this file, or what it really is.
    fn of_file(&self, (device, inode): (u64, u64)) -> OfFile {
        let length = self.file.metadata().map_or(0, |what| what.len());
        OfFile {
            device,
            inode,
            length,
        }
    }

    /// Device and number.
    pub(super) const fn number(&self) -> (u64, u64) {
        (self.device, self.inode)
    }

    /// Says in the mark that this run writes to it, under a new id: what a store knows is about what it was before.
    pub(super) fn open(&mut self, mark: Mark, run: &str) -> Result<(), Refusal> {
        let mark = Mark {
            id: fresh_name(),
            state: State::Open(run.to_owned()),
            note: mark.note,
        };
        mark.set(&self.file)
            .map_err(Refusal::system("mark", &self.path))?;
        self.run = Some(run.to_owned());
        Ok(())
    }

    fn remove(&self) -> io::Result<Removal> {
        remove::remove_exactly(&self.place, self.device, self.inode)
    }

    /// Marks a file of ours as it is, or removes it; nothing to tell of files of others.
    pub(super) fn settle(self, unlinks: &dyn Fn(&Path) -> bool) -> Option<Settled> {
        let run = self.run.as_deref()?;
        let left = self
            .end(run, unlinks(&self.path))
            .unwrap_or_else(|error| Left::Lost(error.to_string()));
        Some(Settled {
            path: self.path,
            left,
        })
    }

    fn end(&self, run: &str, unlink: bool) -> io::Result<Left> {
        let lost = |why: &str| Ok(Left::Lost(why.to_owned()));
        let Some(mark) = mark::of_run(&self.file, run)? else {
            return lost("somebody else changed its mark");
        };
        // Half of a file is of no use to anybody.
        if unlink || mark.note.is_empty() {
            return match self.remove()? {
                Removal::Removed | Removal::Absent => Ok(Left::Removed),
                Removal::Another => lost("another file has its name now"),
            };
        }
        if self.file.metadata()?.nlink() == 0 {
            return Ok(Left::Removed);
        }
        let shut = Mark {
            state: State::Shut,
            ..mark
        };
        let changed = shut.set_for_good(&self.file)?;
        Ok(Left::Kept {
            id: shut.id,
            changed,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(path: &Path, written: Option<bool>, is_ours: bool) -> Held {
        let file = File::open(path).unwrap();
        let what = file.metadata().unwrap();
        Held {
            path: path.to_owned(),
            place: path.to_owned(),
            file,
            device: what.dev(),
            inode: what.ino(),
            run: None,
            written,
            is_ours,
        }
    }

    /// The number of a file system as mountinfo writes it (`gnu_dev_major` and `gnu_dev_minor` of makedev(3)).
    fn numbered(device: u64) -> String {
        let major = (device >> 8) & 0xfff | (device >> 32) & !0xfff;
        let minor = device & 0xff | (device >> 12) & 0xffff_ff00;
        format!("{major}:{minor}")
    }

    #[test]
    fn programs_that_may_use_a_file_and_cannot_be_seen_are_said() {
        let dir = tempfile::tempdir().unwrap();
        let tree = Tree::at(dir.path());
        let namespace = |process: &str, name: &str| {
            let path = dir.path().join(format!("proc/{process}/ns"));
            std::fs::create_dir_all(&path).unwrap();
            let _ = std::fs::remove_file(path.join("pid"));
            std::os::unix::fs::symlink(name, path.join("pid")).unwrap();
        };
        let file = dir.path().join("file");
        std::fs::write(&file, "x").unwrap();
        // The first PID namespace; its first process is not listed.
        namespace("self", "pid:[4026531836]");
        let number = std::fs::metadata(&file).unwrap().dev();
        let mount = format!("1 0 {} / / rw - tmpfs x rw\n", numbered(number));
        std::fs::write(dir.path().join("proc/self/mountinfo"), mount).unwrap();
        std::os::unix::fs::symlink("user:[4026531837]", dir.path().join("proc/self/ns/user"))
            .unwrap();
        let unasked = refuse_users(&tree, &[&held(&file, Some(false), false)]).unwrap_err();
        let unasked = unasked.to_string();
        assert!(unasked.contains("below a loop device"), "{unasked}");
        refuse_users(&tree, &[&held(&file, Some(false), true)]).unwrap();
        std::fs::create_dir_all(dir.path().join("sys/class/block")).unwrap();
        let said = |written, is_ours| {
            let held = held(&file, written, is_ours);
            let said = refuse_users(&tree, &[&held]).map_err(|refusal| refusal.to_string())?;
            assert!(said.iter().all(|unseen| unseen.path == file));
            Ok::<_, String>(
                said.into_iter()
                    .map(|unseen| unseen.why)
                    .collect::<Vec<_>>(),
            )
        };
        for is_ours in [false, true] {
            let words = said(None, is_ours).unwrap();
            assert!(
                matches!(&words[..], [why] if why.contains("hidepid")),
                "{words:?}"
            );
            assert_eq!(said(Some(false), is_ours).unwrap(), [""; 0]);
        }
        namespace("1", "pid:[4026531836]");
        assert_eq!(said(None, false).unwrap(), [""; 0], "all are seen");
        // One that may not be looked at: its files cannot be listed.
        std::fs::create_dir_all(dir.path().join("proc/7")).unwrap();
        std::os::unix::fs::symlink("fd", dir.path().join("proc/7/fd")).unwrap();
        let words = said(None, false).unwrap();
        assert!(
            matches!(&words[..], [why] if why.contains("not every process")),
            "{words:?}"
        );
        namespace("1", "pid:[4026532288]");
        let refused = said(None, false).unwrap_err();
        assert!(refused.contains("cannot be found out"), "{refused}");
        assert_eq!(said(None, true).unwrap().len(), 1);
    }
}
