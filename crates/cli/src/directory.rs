//! `--dir`: where a run is measured, looked at before anything is: the directory in which its work directory is made,
//! and the machine with the storage behind it.

use crate::exit::{Exit, failure};
use crate::output;
use anyhow::Context as _;
use engine::consent::Consent;
use engine::host::{Probes, WorkDirState, check_work_dir};
use engine::strangers::{self, Led};
use model::host::HostFacts;
use model::plan::Plan;
use model::units::Bytes;
use std::path::{Path, PathBuf};
use sys::tree::Tree;

/// The directory in which the work directory is made.
pub(crate) struct Directory {
    /// Absolute and without links.
    pub(crate) path: PathBuf,
    /// What is known about this machine, with the storage behind the directory.
    pub(crate) host: HostFacts,
    state: WorkDirState,
    option: &'static str,
    /// Why it stands in for the one that was to be measured in.
    instead: Option<String>,
}

/// The option that names it in most commands, as a user types it.
pub(crate) const OPTION: &str = "--dir DIR";
/// The same for `kurabe fio`, where it names the directory of files.
pub(crate) const OPTION_OF_FIO: &str = "--directory=DIR";
/// The same for `kurabe vdbench`: beside the first file of a parameter file, or in its anchor.
pub(crate) const OPTION_OF_VDBENCH: &str = "lun=` or `anchor=";

/// The option that names the directory of such a run.
pub(crate) fn option(plan: &Plan) -> &'static str {
    if plan.of_fio().is_some() {
        OPTION_OF_FIO
    } else if plan.of_vdbench().is_some() {
        OPTION_OF_VDBENCH
    } else if plan.duel.is_some() {
        "--a dir=DIR` and `--b dir=DIR"
    } else {
        OPTION
    }
}

/// The directory in which a file lies; `None` for what no directory holds.
pub(crate) fn parent(file: &Path) -> Option<PathBuf> {
    let parent = file.parent()?;
    let is_here = parent.as_os_str().is_empty();
    Some(if is_here { Path::new(".") } else { parent }.to_owned())
}

/// What is known about this machine, with the storage behind `dir`.
pub(crate) fn host_facts(dir: &Path) -> HostFacts {
    engine::host::facts(&Tree::real(), &Probes::real(dir))
}

/// Room that a copy's files may need on the disk: two files of 8 MB, scripts' output, a helper, and some reserve.
const ROOM_PER_COPY: u64 = 32 << 20;

/// Refuses root a directory that somebody else can put another in the place of, and where nobody can say. Gives the
/// path that was looked at: absolute and without links, which somebody could turn meanwhile.
pub(crate) fn refuse_strangers(
    dir: &Path,
    option: &str,
    consent: &Consent,
) -> anyhow::Result<PathBuf> {
    let led = strangers::way_to_directory(dir).map_err(|error| unusable(dir, &error, option))?;
    match led.stranger.filter(|_| !consent.dir_of_others) {
        None => Ok(led.path),
        Some(stranger) => Err(failure(
            Exit::Usage,
            format!("use directory `{}` as root: {stranger}", dir.display()),
            Some(&hint_of_others(option)),
        )),
    }
}

/// What helps where others may rename.
pub(crate) fn hint_of_others(option: &str) -> String {
    format!(
        "name one on whose way only root may rename with `{option}`, or add `--dir-of-others` if all who may are trusted"
    )
}

/// The same for a file that is written, for which `option` stands: the place where it is, or will be. Of what is not
/// there only directories may be missing, which are made with it.
pub(crate) fn refuse_strangers_to_file(
    file: &Path,
    option: &str,
    of_others: bool,
) -> anyhow::Result<PathBuf> {
    let absolute = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    let there = |dir: &&Path| dir.try_exists().unwrap_or(true);
    let dir = absolute.ancestors().skip(1).find(there);
    let below = dir.and_then(|dir| absolute.strip_prefix(dir).ok());
    let led = match (dir, below) {
        (Some(dir), Some(below)) if below.components().count() > 1 => {
            strangers::way_to_directory(dir).map(|led| Led {
                path: led.path.join(below),
                ..led
            })
        }
        _ => strangers::way_to_file(&absolute),
    };
    place(led, file, option, of_others)
}

/// The same for a file that is made, and that no link may stand in the place of.
pub(crate) fn refuse_strangers_to_new(
    file: &Path,
    option: &str,
    of_others: bool,
) -> anyhow::Result<PathBuf> {
    let absolute = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    let (Some(dir), Some(name)) = (absolute.parent(), absolute.file_name()) else {
        return Ok(absolute);
    };
    let led = strangers::way_to_directory(dir).map(|led| Led {
        path: led.path.join(name),
        ..led
    });
    place(led, file, option, of_others)
}

/// Refuses root a file that is there and belongs to another user: in a directory for all, such as `/tmp`, that user may
/// have put it there.
pub(crate) fn refuse_file_of_strangers(
    file: &Path,
    option: &str,
    of_others: bool,
) -> anyhow::Result<()> {
    match strangers::whose_file(file).filter(|_| !of_others) {
        None => Ok(()),
        Some(stranger) => {
            let text = format!("write `{}`: as root: {stranger}", file.display());
            Err(failure(Exit::Usage, text, Some(&hint_of_others(option))))
        }
    }
}

fn place(
    led: std::io::Result<Led>,
    file: &Path,
    option: &str,
    of_others: bool,
) -> anyhow::Result<PathBuf> {
    let refused = |why: String, hint: Option<&str>| {
        let text = format!("write `{}`: {why}", file.display());
        failure(Exit::Usage, text, hint)
    };
    let elsewhere = format!("name a file in a directory that can be written to with `{option}`");
    let led = led.map_err(|error| refused(error.to_string(), Some(&elsewhere)))?;
    match led.stranger.filter(|_| !of_others) {
        None => Ok(led.path),
        Some(stranger) => {
            let hint = hint_of_others(option);
            Err(refused(format!("as root: {stranger}"), Some(&hint)))
        }
    }
}

fn unusable(dir: &Path, why: &dyn std::fmt::Display, option: &str) -> anyhow::Error {
    let why = why.to_string();
    let hint = if why.contains(sys::probe::FILE_SIZE_LIMIT) {
        "`ulimit -f unlimited`, in this shell or by whoever may raise it".to_owned()
    } else {
        format!("name a directory that can be written and has room with `{option}`")
    };
    failure(
        Exit::Usage,
        format!("use directory `{}` for measuring: {why}", dir.display()),
        Some(&hint),
    )
}

impl Directory {
    /// Looks at the directory that `option` names before anything is made in it or measured: there, writable, and where
    /// we are root out of the reach of others, unless the user agreed to that. Without a name it is the current one.
    pub(crate) fn look(
        dir: Option<&Path>,
        option: &'static str,
        consent: &Consent,
    ) -> anyhow::Result<Self> {
        let dir = dir.unwrap_or(Path::new("."));
        let found = Self::find(dir, option, consent)?;
        match &found.state.not_writable {
            Some(why) => Err(unusable(dir, why, option)),
            None => Ok(found),
        }
    }

    /// The same for jobs that name their files: beside the first of them, so that its file system is told about;
    /// else here, or where temporary files go.
    pub(crate) fn look_beside(
        files: Option<&Path>,
        option: &'static str,
        consent: &Consent,
    ) -> anyhow::Result<Self> {
        let beside = files
            // Not passed over: the file that is measured lies there too.
            .map(|dir| refuse_strangers(dir, option, consent))
            .transpose()?;
        let places = [beside, Some(".".into()), Some(std::env::temp_dir())];
        let mut found = places
            .into_iter()
            .flatten()
            .map(|place| Self::look(Some(&place), option, consent));
        let first = found
            .next()
            .context("find a place for the work directory")?;
        first.or_else(|error| found.find_map(Result::ok).ok_or(error))
    }

    /// The same for what does without a disk: where nothing can be written, a directory for what is temporary will do.
    pub(crate) fn look_or_elsewhere(
        dir: Option<&Path>,
        option: &'static str,
        consent: &Consent,
    ) -> anyhow::Result<Self> {
        let dir = dir.unwrap_or(Path::new("."));
        let found = Self::find(dir, option, consent)?;
        let Some(why) = found.state.not_writable else {
            return Ok(found);
        };
        let elsewhere = [std::env::temp_dir(), PathBuf::from("/dev/shm")];
        let mut usable = elsewhere
            .iter()
            .filter_map(|other| Self::look(Some(other), option, consent).ok());
        let Some(other) = usable.next() else {
            return Err(unusable(dir, &why, option));
        };
        output::say(&format!(
            "note: {why}; what needs a directory is measured in `{}`, and no disk",
            other.path.display()
        ));
        Ok(Self {
            instead: Some(why),
            ..other
        })
    }

    fn find(dir: &Path, option: &'static str, consent: &Consent) -> anyhow::Result<Self> {
        let path = refuse_strangers(dir, option, consent)?;
        if path.to_str().is_none() {
            return Err(unusable(dir, &"its name is not UTF-8", option));
        }
        Ok(Self {
            state: check_work_dir(&path),
            host: host_facts(&path),
            path,
            option,
            instead: None,
        })
    }

    /// Why no disk can be measured here; `None` where one can.
    pub(crate) fn no_disk(&self) -> Option<String> {
        let here = || workloads::storage::space::no_disk(&self.path, &self.host);
        self.instead.clone().or_else(here)
    }

    /// Says before measuring what would make the figures of this plan fail or mislead.
    pub(crate) fn check(&self, plan: &Plan) -> anyhow::Result<()> {
        let copies = plan
            .cases
            .iter()
            .filter(|case| case.on_disk)
            .map(|case| case.id.copies)
            .max();
        let Some(copies) = copies else { return Ok(()) };
        let need = Bytes(ROOM_PER_COPY * u64::from(copies));
        if !self.state.has_room_for(need) {
            let free = self.state.free.known().map_or(0, |free| free.0);
            let why = format!(
                "{} MiB are free, the tests may need {}",
                free >> 20,
                need.0 >> 20
            );
            return Err(unusable(&self.path, &why, self.option));
        }
        for limit in workloads::storage::space::unasked(&self.path) {
            let dir = self.path.display();
            output::say(&format!(
                "note: not asked, and it may limit what can be written in `{dir}`: {limit}"
            ));
        }
        // What fio's jobs have to be told has a place of its own.
        if let Some(words) = self.in_memory().filter(|_| self.option != OPTION_OF_FIO) {
            let option = self.option;
            output::say(&format!(
                "warning: {words}\nhint: name a directory on a disk with `{option}`"
            ));
        }
        Ok(())
    }

    /// That no disk is below, in words; `None` where one is.
    pub(crate) fn in_memory(&self) -> Option<String> {
        let (dir, kind) = (self.path.display(), self.state.in_memory.as_ref()?);
        Some(format!(
            "`{dir}` is in memory ({kind}): file-system figures will say nothing about a disk"
        ))
    }
}
