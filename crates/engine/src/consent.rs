//! What a run may touch beside its own work directory: decided from what the user typed on this command line, and
//! opened only as decided.
//!
//! No profile, no job file and no kept run can give consent; a resumed run needs it typed again. [`grant`] decides in
//! the supervisor before anything is opened for writing. Its permits go to the workers with their orders, and a worker
//! opens nothing that no permit names. A worker looks again at what it opens: it takes a handle to what the name leads
//! to, checks that, and opens the handle, so that nothing can be put in its place between the look and the opening.
//!
//! A server is opened by the secret that its permit carries. What may be dropped there is decided by the worker who
//! sees its tables: those with our marker, and nothing else, whatever the user consents to.
//!
//! A device must pass [`crate::erase`]. A file that somebody else made is written to only where `--overwrite-file`
//! names it; a file that we made carries our mark (`mark`) and may be written again, as long as nobody else changed it.
//! Where a file system cannot carry marks no named file is made, because nobody could tell it from others later. Every
//! file that is written to is held by the supervisor (`hold`), which also makes those that are not there: workers
//! neither make nor remove any. As root none is made or written where somebody else has a say in what its path leads to
//! ([`crate::strangers`]), and each is reached by the way that was looked at, whatever becomes of the path as typed.

mod hold;
mod killed;
mod mark;
mod needless;
mod permit;
mod places;
mod programs;

pub use hold::{Left, Settled};
pub use killed::was_left_by_killed;
pub use permit::{Permit, Permits, Unseen};
pub use programs::may_execute;

use crate::erase::{self, Claim};
use crate::secret::Secret;
use crate::strangers::Stranger;
use crate::workload::{StandIn, Workload, its_own};
use hold::Held;
use mark::Mark;
use model::named::{Named, NamedKind};
use model::plan::Plan;
use permit::Seen;
use places::{Placed, Places};
use programs::programs;
use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use sys::block::device::{self, Number};
use sys::io::file::{self, Access};
use sys::tree::Tree;

/// What the user typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Consent {
    /// Behind `--yes-erase`: a device's name, or name, `=` and the identity of device or content.
    pub erase: Vec<String>,
    /// Behind `--overwrite-file`.
    pub overwrite: Vec<PathBuf>,
    /// `--dir-of-others`: root may work where somebody else may rename.
    pub dir_of_others: bool,
    /// `--allow-exec`: the programs of jobs may be executed.
    pub executes: bool,
    /// What opens servers and peers, by their addresses: from the user's own files or environment, never from a run
    /// that is kept.
    pub secrets: BTreeMap<PathBuf, Secret>,
    /// `--db-allow-existing`: a database may be used that holds tables of others, which stay as they are.
    pub db_allow_existing: bool,
}

/// A file, device, server or peer that a case works on beside its own directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touch {
    /// Absolute; of a server or peer its address.
    pub path: PathBuf,
    /// What it is said to be.
    pub kind: NamedKind,
    /// True where data on it is written, discarded or removed.
    pub writes: bool,
    /// True where a file that is not there is made.
    pub creates: bool,
}

/// Why something named is not touched.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// A device.
    #[error(transparent)]
    Device(#[from] erase::Refusal),
    /// The file is there, is not ours, and would be written to.
    #[error("overwrite `{}`: {why}, and everything in it would be lost", path.display())]
    NotNamed {
        /// The file.
        path: PathBuf,
        /// Whose it is, or what became of it.
        why: &'static str,
    },
    /// It is not what tests can work on, or not any more.
    #[error("use `{}`: {why}", path.display())]
    Unfit {
        /// The file or device.
        path: PathBuf,
        /// Why, and what helps.
        why: String,
    },
    /// A job executes a program, and nobody has said that it may.
    #[error(
        "execute `{program}` for job `{job}`: a job file gives no consent\nhint: it would run with your rights, and \
         whatever it does is not undone; if that may be, add `--allow-exec` to `kurabe fio`"
    )]
    NotAllowed {
        /// The job.
        job: String,
        /// Its program.
        program: String,
    },
    /// Somebody else may choose which file root would make or write.
    #[error(
        "use `{}` as root: {stranger}\nhint: name a file on whose way only root may rename, or add `--dir-of-others` \
         if all who may are trusted", path.display()
    )]
    OfOthers {
        /// The file.
        path: PathBuf,
        /// Who, and where.
        stranger: Stranger,
    },
    /// The kernel refused.
    #[error("{operation} `{}`: {error}", path.display())]
    System {
        /// What was tried.
        operation: &'static str,
        /// The file or device.
        path: PathBuf,
        /// What the kernel said.
        error: io::Error,
    },
    /// A stand-in that no test uses.
    #[error(
        "use `{}`: no test of this run works on a file or device\nhint: `kurabe run storage` does", .0.display()
    )]
    Unused(PathBuf),
    /// A server that no test works on.
    #[error("cannot use `{}`: no test of this run works on a database server\nhint: `kurabe run oltp` does, or `kv` on Redis", .0.display())]
    UnusedServer(PathBuf),
    /// A peer that no test works with.
    #[error(
        "cannot use `{}`: no test of this run works with a peer\nhint: `kurabe run net` does", .0.display()
    )]
    UnusedPeer(PathBuf),
    /// Consent for something that the run does not touch: a slip of the hand.
    #[error("{option} `{word}`: no test of this run works on it")]
    Needless {
        /// The option.
        option: &'static str,
        /// What stands behind it.
        word: String,
    },
    /// A job names what the supervisor was not told about: a bug of ours.
    #[error("use `{}`: this run has no permit for it", .0.display())]
    NoPermit(PathBuf),
}

impl Refusal {
    /// The option that would allow it, with its value.
    pub fn option(&self) -> Option<[String; 2]> {
        match self {
            Self::Device(erase::Refusal::NotConfirmed { word, .. }) => {
                Some(["--yes-erase".to_owned(), word.clone()])
            }
            Self::NotNamed { path, .. } => {
                Some(["--overwrite-file".to_owned(), path.display().to_string()])
            }
            _ => None,
        }
    }

    fn unfit(path: &Path, why: impl Into<String>) -> Self {
        Self::Unfit {
            path: path.to_owned(),
            why: why.into(),
        }
    }

    fn system(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::System {
            operation,
            path,
            error,
        }
    }
}

/// The time that a store kept for the id of a file of ours: its ctime in nanoseconds. `None` where it knows none.
pub type Known<'a> = &'a dyn Fn(&str) -> Option<String>;

/// What was granted, with the claims on devices and the hold on files that go with it: they last as long as this
/// value.
#[derive(Debug, Default)]
pub struct Granted {
    /// For the workers.
    pub permits: Permits,
    /// Devices and files that are written to although programs may use them that cannot be seen.
    pub unseen: Vec<Unseen>,
    /// Root may work in directories of others.
    pub dir_of_others: bool,
    /// Held, not read.
    claims: Vec<Claim>,
    held: Vec<Held>,
}

impl Granted {
    /// Marks the files of ours as they are now that the run is over, or removes them: those that `unlinks` says, and
    /// those that are not whole. Nothing is done to files of others.
    pub fn settle(mut self, unlinks: &dyn Fn(&Path) -> bool) -> Vec<Settled> {
        self.end(unlinks)
    }

    /// Keeps a file until the run is over; what is known of it to a worker.
    fn hold(&mut self, held: Held, run: Option<String>) -> Seen {
        let (device, inode) = held.number();
        self.held.push(held);
        Seen::File { device, inode, run }
    }

    fn end(&mut self, unlinks: &dyn Fn(&Path) -> bool) -> Vec<Settled> {
        let all = self.held.drain(..);
        all.filter_map(|held| held.settle(unlinks)).collect()
    }
}

impl Drop for Granted {
    /// A run that ends early leaves its files as one that is over does. No store hears of it, so that they are known by
    /// their marks alone.
    fn drop(&mut self) {
        self.end(&|_| false);
    }
}

/// Everything that the cases of a plan touch.
fn touches(
    plan: &Plan,
    stand_ins: &[StandIn],
    find: fn(&str) -> Option<&'static dyn Workload>,
) -> Vec<Touch> {
    let all = plan.cases.iter().filter_map(|case| {
        let workload = find(&case.workload)?;
        let own = its_own(workload, &case.params, stand_ins);
        Some(workload.touches(&case.params, own))
    });
    all.flatten().collect()
}

/// Each path once, with all that is done to it.
fn each_once(touches: impl IntoIterator<Item = Touch>) -> Vec<Touch> {
    let mut found: Vec<Touch> = Vec::new();
    for touch in touches {
        match found.iter_mut().find(|known| known.path == touch.path) {
            Some(known) => {
                known.writes |= touch.writes;
                known.creates |= touch.creates;
            }
            None => found.push(touch),
        }
    }
    found
}

/// Writes into the plan what its cases touch, with `stand_ins` in the place of what they would make. Refuses what can
/// never be touched, whatever the user consents to.
pub fn name(
    tree: &Tree,
    plan: &mut Plan,
    stand_ins: &[StandIn],
    find: fn(&str) -> Option<&'static dyn Workload>,
) -> Result<(), Refusal> {
    let touches = each_once(touches(plan, stand_ins, find));
    let is_used = |own: &&StandIn| touches.iter().any(|touch| touch.path == own.path);
    if let Some(own) = stand_ins.iter().find(|own| !is_used(own)) {
        let path = own.path.clone();
        return Err(match own.kind {
            NamedKind::Server => Refusal::UnusedServer(path),
            kind if kind.is_peer() => Refusal::UnusedPeer(path),
            _ => Refusal::Unused(path),
        });
    }
    plan.named.clear();
    for touch in touches {
        let path = touch
            .path
            .to_str()
            .ok_or_else(|| Refusal::unfit(&touch.path, "its name is not UTF-8"))?;
        if !touch.kind.is_elsewhere() {
            look(&touch, &touch.path)?;
        }
        let facts = crate::host::behind(tree, &touch.path, touch.kind);
        plan.named.push(Named {
            path: path.to_owned(),
            kind: touch.kind,
            stands_in: stand_ins.iter().any(|own| own.path == touch.path),
            writes: touch.writes,
            size: facts.size,
            devices: facts.devices,
            serial: facts.serial,
            server: Vec::new(),
        });
    }
    Ok(())
}

/// What stands in for what the cases of a plan would make.
pub fn stand_ins(plan: &Plan) -> Vec<StandIn> {
    let own = plan.named.iter().filter(|named| named.stands_in);
    own.map(|own| StandIn {
        path: PathBuf::from(&own.path),
        kind: own.kind,
    })
    .collect()
}

/// Decides about everything that the plans touch, claims the devices that will be written to, and takes or makes the
/// files. `known` is what a store knows of files of ours.
pub fn grant(
    tree: &Tree,
    plans: &[&Plan],
    consent: &Consent,
    known: Known<'_>,
    find: fn(&str) -> Option<&'static dyn Workload>,
) -> Result<Granted, Refusal> {
    let executes = may_execute(&programs(plans, find), consent)?;
    let mut granted = decide(tree, wanted(plans, find), consent, known)?;
    if executes {
        granted.permits.allow_programs()?;
    }
    Ok(granted)
}

/// Whether [`grant`] would refuse, without making or marking anything.
pub fn examine(
    tree: &Tree,
    plans: &[&Plan],
    consent: &Consent,
    known: Known<'_>,
    find: fn(&str) -> Option<&'static dyn Workload>,
) -> Result<(), Refusal> {
    may_execute(&programs(plans, find), consent)?;
    look_at_all(tree, wanted(plans, find), consent, known).map(drop)
}

/// Everything that the plans touch, each path once.
fn wanted(plans: &[&Plan], find: fn(&str) -> Option<&'static dyn Workload>) -> Vec<Touch> {
    let all = plans.iter();
    each_once(all.flat_map(|plan| touches(plan, &stand_ins(plan), find)))
}

/// The same for what is not in a plan: each path once. Everything is decided before anything is made or marked.
pub fn decide(
    tree: &Tree,
    wanted: Vec<Touch>,
    consent: &Consent,
    known: Known<'_>,
) -> Result<Granted, Refusal> {
    let (mut granted, looked) = look_at_all(tree, wanted, consent, known)?;
    granted.dir_of_others = consent.dir_of_others;
    // Given back before `granted` is: where descriptors run out, removing what was made needs one.
    let _spare = File::open("/").map_err(Refusal::system("open", Path::new("/")))?;
    let run = hold::fresh_name();
    for (Placed { touch, place }, found) in looked {
        let seen = match found {
            Decided::Seen(seen) => seen,
            Decided::Make => granted.hold(hold::make(&touch, &place, &run)?, Some(run.clone())),
            Decided::Take(held, None) => granted.hold(held, None),
            Decided::Take(mut held, Some(mark)) => {
                held.open(mark, &run)?;
                granted.hold(held, Some(run.clone()))
            }
        };
        granted.permits.add(Permit::new(touch, place, seen));
    }
    Ok(granted)
}

/// Decides about each, claims the devices that are written to and opens the files; nothing is made or marked yet.
fn look_at_all(
    tree: &Tree,
    wanted: Vec<Touch>,
    consent: &Consent,
    known: Known<'_>,
) -> Result<(Granted, Vec<(Placed, Decided)>), Refusal> {
    needless::refuse(&wanted, consent)?;
    let mut places = Places::default();
    let mut granted = Granted::default();
    let mut looked = Vec::new();
    for touch in wanted {
        let placed = places.find(touch, consent.dir_of_others)?;
        let touch = &placed.touch;
        let named = |word: &PathBuf| std::path::absolute(word).is_ok_and(|path| path == touch.path);
        let overwrite = consent.overwrite.iter().any(named);
        let found = if touch.kind == NamedKind::Server {
            // What is in it the worker sees who opens it.
            Decided::Seen(Seen::Server {
                secret: consent.secrets.get(&touch.path).cloned(),
                allow_existing: consent.db_allow_existing,
            })
        } else if touch.kind.is_peer() {
            Decided::Seen(Seen::Peer {
                token: consent.secrets.get(&touch.path).cloned(),
            })
        } else if touch.kind == NamedKind::Device && touch.writes {
            let permit = erase::permit(tree, &touch.path, &consent.erase, None)?;
            granted.claims.push(permit.claim(tree)?);
            granted.unseen.extend(permit.unseen().map(|why| Unseen {
                path: touch.path.clone(),
                why: why.to_owned(),
            }));
            Decided::Seen(Seen::Erasable(permit))
        } else {
            let decided = decide_to_take(tree, &placed, overwrite, known)?;
            // Not after a look at thousands of others, each of which may take its time.
            if let Decided::Take(held, _) = &decided
                && held.is_written()
            {
                hold::refuse_users(tree, &[held])?;
            }
            decided
        };
        looked.push((placed, found));
    }
    let taken = looked.iter().filter_map(|(_, found)| match found {
        Decided::Take(held, _) => Some(held),
        Decided::Seen(_) | Decided::Make => None,
    });
    let unseen = hold::refuse_users(tree, &taken.collect::<Vec<_>>())?;
    granted.unseen.extend(unseen);
    Ok((granted, looked))
}

/// What is to be done with something named.
enum Decided {
    /// Nothing: it is only read, or a device.
    Seen(Seen),
    /// It is held, and marked where it is ours.
    Take(Held, Option<Mark>),
    /// It is made.
    Make,
}

fn decide_to_take(
    tree: &Tree,
    placed: &Placed,
    overwrite: bool,
    known: Known<'_>,
) -> Result<Decided, Refusal> {
    let Placed { touch, place } = placed;
    let (found, what) = match look(touch, place)? {
        Looked::Device(seen) => return Ok(Decided::Seen(seen)),
        Looked::Absent => return Ok(Decided::Make),
        Looked::File(found, what) => (found, what),
    };
    if (touch.writes || touch.creates)
        && let Some((held, mark)) = hold::take(tree, placed, &found, overwrite, known)?
    {
        return Ok(Decided::Take(held, mark));
    }
    Ok(Decided::Seen(Seen::File {
        device: what.dev(),
        inode: what.ino(),
        run: None,
    }))
}

/// What a name leads to.
enum Looked {
    /// A device, to be read.
    Device(Seen),
    /// A regular file.
    File(File, Metadata),
    /// Nothing, and a file may be made.
    Absent,
}

/// What stands at the place of something named, where a test can work on it at all.
fn look(touch: &Touch, place: &Path) -> Result<Looked, Refusal> {
    let path = &touch.path;
    if touch.kind == NamedKind::Device {
        let (number, size_bytes) = readable_device(path)?;
        return Ok(Looked::Device(Seen::Device {
            major: number.major,
            minor: number.minor,
            size_bytes,
        }));
    }
    let found = match file::find(place, false) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && touch.creates => {
            room_for_a_file(place)?;
            return Ok(Looked::Absent);
        }
        other => other.map_err(Refusal::system("open", path))?,
    };
    let what = plain_file(&found, path, touch.writes)?;
    if what.len() == 0 && !touch.creates {
        return Err(Refusal::unfit(path, "it has 0 bytes"));
    }
    Ok(Looked::File(found, what))
}

fn readable_device(path: &Path) -> Result<(Number, u64), Refusal> {
    let name = || path.display().to_string();
    let found = file::find(path, true).map_err(Refusal::system("open", path))?;
    let number = device::number_of(&found)
        .map_err(Refusal::system("look at", path))?
        .ok_or_else(|| erase::Refusal::NotADevice(name()))?;
    let mut opened =
        file::reopen(&found, Access::default()).map_err(Refusal::system("open", path))?;
    let size = device::size(&mut opened).map_err(Refusal::system("find the size of", path))?;
    if size == 0 {
        return Err(erase::Refusal::Empty(name()).into());
    }
    Ok((number, size))
}

/// Refuses everything but a regular file of data, and for writing one with several names.
fn plain_file(found: &File, path: &Path, writes: bool) -> Result<Metadata, Refusal> {
    let what = found.metadata().map_err(Refusal::system("look at", path))?;
    let kind = what.file_type();
    let unfit = |why: &str| Err(Refusal::unfit(path, why));
    if kind.is_symlink() {
        return unfit("it is a symbolic link; name the file that it leads to");
    }
    if kind.is_dir() {
        return unfit("it is a directory");
    }
    if kind.is_block_device() {
        return unfit("it is a block device\nhint: name it as one, with `--device`");
    }
    if !kind.is_file() {
        return unfit("it is no regular file");
    }
    let space = sys::probe::file_system(&file::handle_path(found))
        .map_err(Refusal::system("ask for the file system of", path))?;
    if space.made_by_kernel() {
        return unfit("the kernel makes it up: it is no data on storage");
    }
    if writes && what.nlink() > 1 {
        let names = what.nlink();
        let why = format!(
            "it has {names} names (hard links), and what is written under one is written under all"
        );
        return Err(Refusal::unfit(path, why));
    }
    Ok(what)
}

/// Whether a file could be made here at all. Below `/dev` a file is a slip of the hand: a device was meant.
fn room_for_a_file(path: &Path) -> Result<(), Refusal> {
    let parent = path.parent().unwrap_or(path);
    let real = parent.canonicalize();
    let real = real.map_err(Refusal::system("open directory", parent))?;
    if real.starts_with("/dev") && !real.starts_with("/dev/shm") {
        return Err(Refusal::unfit(path, "there is no such device"));
    }
    let space = sys::probe::file_system(&real)
        .map_err(Refusal::system("ask for the file system of", parent))?;
    if space.made_by_kernel() {
        return Err(Refusal::unfit(path, "no file can be made there"));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
