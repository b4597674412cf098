//! Where the report goes: to standard output, or into the file of `--output`.
//!
//! fio writes over whatever that option names, and scripts that run again count on it. Here a file is replaced where it
//! is empty or begins as a report of fio or of this program does; anything else is somebody's, and refused. The report
//! is written beside its place and takes it when it is whole, so that a full disk costs no earlier report. It goes into
//! no device but those that take characters, into no pipe that nobody reads, over no file that a job works on, into
//! nothing that the kernel makes up but the descriptors that this process was given, and as root nowhere where others
//! may rename.

use super::help;
use crate::directory::hint_of_others;
use crate::exit::{Exit, failure};
use crate::output;
use dialects::fio::output::{json, terse, text};
use dialects::fio::result::Report;
use dialects::fio::{Format, Plan};
use dialects::printable::quoted;
use engine::strangers;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, fchown};
use std::path::{Path, PathBuf};

/// Whether the report can go where it shall, found out before anything is measured.
pub(super) fn check(plan: &Plan, of_others: bool) -> anyhow::Result<()> {
    let Some(path) = file(plan) else {
        return Ok(());
    };
    let place = |path: &str| fs::canonicalize(path).ok();
    let of_job = |of_job: &String| {
        of_job == path || (place(of_job).is_some() && place(of_job) == place(path))
    };
    let found = if plan.jobs().any(|job| job.target.files.iter().any(of_job)) {
        Err("a job works on it".to_owned())
    } else {
        Way::to(Path::new(path), of_others, REPORT).and_then(|way| way.try_out())
    };
    found.map_err(|why| {
        let hint = if why == REPORT.otherwise {
            format!(
                "name another file with `--output`, or remove this one: `rm {}`",
                quoted(path)
            )
        } else if why.starts_with(AS_ROOT) {
            hint_of_others(OPTION)
        } else {
            format!("name another file with `{OPTION}`")
        };
        let text = format!("write the report to `{path}`: {why}");
        failure(Exit::Usage, text, Some(&hint))
    })
}

/// What the text says before the jobs begin; nothing where there is no text.
pub(super) fn opening(plan: &Plan) -> String {
    let is_text = plan.output.formats.contains(&Format::Normal);
    let head = is_text.then(|| dialects::fio::output::head(plan, &help::version()));
    head.unwrap_or_default()
}

/// The report in every form that was asked for.
pub(super) fn in_words(plan: &Plan, report: &Report) -> String {
    let in_bits = plan.jobs().any(|job| job.reporting.in_bits);
    let mut all = String::new();
    for format in &plan.output.formats {
        all.push_str(&match format {
            Format::Normal => text(report, in_bits),
            Format::Json => json(report, false),
            Format::JsonPlus => json(report, true),
            Format::Terse => terse(report, plan.output.terse_version),
        });
    }
    all
}

/// Prints the report in every form that was asked for, into a file behind `before`. The run is the one that it is of.
pub(super) fn show(
    plan: &Plan,
    report: &Report,
    before: &str,
    (run, of_others): (&str, bool),
) -> anyhow::Result<()> {
    let all = before.to_owned() + &in_words(plan, report);
    let Some(path) = file(plan) else {
        return output::print(&all);
    };
    // What an earlier report says is worth more than nothing.
    if report.jobs.is_empty() {
        output::say(&format!("nothing was measured: `{path}` stays as it is"));
        return Ok(());
    }
    // Looked at again: it may have become somebody's meanwhile.
    let way = Way::to(Path::new(path), of_others, REPORT);
    way.and_then(|way| way.take(&all)).map_err(|why| {
        let text = format!("write the report to `{path}`: {why}");
        let hint = format!("the run is kept: `kurabe fio --show={run}` reports it again");
        failure(Exit::Incomplete, text, Some(&hint))
    })
}

/// The file of `--output`; `None` where that is standard output under its other name.
pub(super) fn file(plan: &Plan) -> Option<&str> {
    let path = plan.output.file.as_deref();
    path.filter(|path| *path != "/dev/stdout")
}

/// The option that names the file.
const OPTION: &str = "--output";

/// How the words begin where others may rename.
pub(crate) const AS_ROOT: &str = "as root: ";

/// What a file may be replaced for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    /// Whether a text begins as one of these.
    pub(crate) begins: fn(&str) -> bool,
    /// Why a file is not replaced that holds something else.
    pub(crate) otherwise: &'static str,
}

const REPORT: Form = Form {
    begins: begins_as_report,
    otherwise: "it is there already and begins as no report of fio or kurabe does",
};

/// How a report gets to its place.
#[derive(Debug)]
pub(crate) enum Way {
    /// What is open already, or takes characters: written to behind what is there.
    Append(PathBuf),
    /// Written beside it and renamed; with the permissions and the owner of what it replaces.
    Replace(PathBuf, Option<Metadata>),
}

impl Way {
    /// The way to `path`, which may be there already in this form.
    pub(crate) fn to(path: &Path, of_others: bool, form: Form) -> Result<Self, String> {
        let said = |error: io::Error| error.to_string();
        if let Some(descriptor) = own_descriptor(path) {
            let found = fs::metadata(&descriptor).map_err(|_| "it is not open here".to_owned())?;
            // Whoever opened it goes on writing there, whatever its name leads to.
            let takes = found.is_file() || found.file_type().is_char_device();
            return takes
                .then_some(Self::Append(descriptor))
                .ok_or_else(|| "it is no file".to_owned());
        }
        let found = match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            found => Some(found.map_err(said)?),
        };
        if found.is_none() {
            check_new(path)?;
        }
        let led = strangers::way_to_file(path).map_err(said)?;
        if let Some(stranger) = led.stranger.filter(|_| !of_others) {
            return Err(format!("{AS_ROOT}{stranger}"));
        }
        let real = led.path;
        let is_device = |found: &fs::Metadata| found.file_type().is_char_device();
        if found.as_ref().is_some_and(is_device) {
            return Ok(Self::Append(real));
        }
        let there = if found.is_some() {
            &real
        } else {
            directory(&real)
        };
        if sys::probe::file_system(there)
            .map_err(said)?
            .made_by_kernel()
        {
            return Err("the kernel makes up what is there: no report is kept".to_owned());
        }
        let Some(found) = found else {
            // A file there is a slip of the hand.
            return if real.starts_with("/dev") && !real.starts_with("/dev/shm") {
                Err("there is no such device".to_owned())
            } else {
                Ok(Self::Replace(real, None))
            };
        };
        if !found.is_file() {
            return Err("it is no file".to_owned());
        }
        // Renaming asks nobody whether the file may be written.
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&real)
            .map_err(said)?;
        if found.len() > 0 && !(form.begins)(&head(&mut file).map_err(said)?) {
            return Err(form.otherwise.to_owned());
        }
        Ok(Self::Replace(real, Some(found)))
    }

    /// Whether it can be gone, as far as that can be told without going it.
    pub(crate) fn try_out(&self) -> Result<(), String> {
        let Self::Replace(path, _) = self else {
            return Ok(());
        };
        let beside = beside(path);
        let made = File::create_new(&beside).and_then(|_| fs::remove_file(&beside));
        made.map_err(|error| format!("make a file beside it: {error}"))
    }

    /// Puts the text there.
    pub(crate) fn take(self, text: &str) -> Result<(), String> {
        match self {
            Self::Append(path) => OpenOptions::new()
                .append(true)
                .open(path)
                .and_then(|mut file| file.write_all(text.as_bytes()))
                .map_err(|error| error.to_string()),
            Self::Replace(path, found) => replace(&path, found.as_ref(), text),
        }
    }
}

/// Refuses a place where nothing can be made.
fn check_new(path: &Path) -> Result<(), String> {
    if path.symlink_metadata().is_ok() {
        return Err("it is a link that leads nowhere".to_owned());
    }
    let names_directory = path.as_os_str().as_encoded_bytes().ends_with(b"/");
    if path.file_name().is_none() || names_directory || !directory(path).is_dir() {
        return Err("there is no such directory".to_owned());
    }
    Ok(())
}

/// The most links from a name to a descriptor: `/dev/stderr` is one.
const LINKS_MAX: u32 = 8;

/// What a name calls a descriptor of this process, if it is one: `/dev/stderr`, `/dev/fd/3`, `/proc/self/fd/3`.
fn own_descriptor(path: &Path) -> Option<PathBuf> {
    let own = fs::canonicalize("/proc/self/fd").ok()?;
    let mut path = std::path::absolute(path).ok()?;
    for _ in 0..LINKS_MAX {
        let dir = path.parent()?.canonicalize().ok()?;
        if dir == own {
            return Some(dir.join(path.file_name()?));
        }
        path = dir.join(path.read_link().ok()?);
    }
    None
}

/// Puts a whole file in the place of what is there, or leaves that as it is.
fn replace(path: &Path, found: Option<&Metadata>, text: &str) -> Result<(), String> {
    let beside = beside(path);
    let said = |error: io::Error| error.to_string();
    let mut file = File::create_new(&beside).map_err(said)?;
    let made = file.metadata();
    let mut write = || {
        file.write_all(text.as_bytes())?;
        if let Some(found) = found {
            // Only root may give a file to somebody else; for all others it is theirs as it was.
            let _ = fchown(&file, Some(found.uid()), Some(found.gid()));
            file.set_permissions(found.permissions())?;
        }
        // Some file systems find out only now that they are full.
        file.sync_all()?;
        fs::rename(&beside, path)
    };
    write().map_err(|error| {
        // What is there by that name may be another file by now.
        if let Ok(made) = made {
            let _ = sys::io::remove::remove_exactly(&beside, made.dev(), made.ino());
        }
        said(error)
    })
}

/// Where the report is written before it takes its place.
fn beside(path: &Path) -> PathBuf {
    directory(path).join(format!(".kurabe-report-{}", std::process::id()))
}

/// The directory that a file is in.
pub(super) fn directory(path: &Path) -> &Path {
    let parent = path.parent().unwrap_or(Path::new(""));
    if parent == Path::new("") {
        Path::new(".")
    } else {
        parent
    }
}

/// How much of a file is looked at. fio says a line for each job before it begins.
const HEAD_BYTES: u64 = 64 << 10;

fn head(file: &mut File) -> io::Result<String> {
    let mut head = Vec::new();
    file.take(HEAD_BYTES).read_to_end(&mut head)?;
    Ok(String::from_utf8_lossy(&head).into_owned())
}

/// Whether a text begins as the reports of fio and of this program do, in any of their forms. fio puts its notes
/// before them.
fn begins_as_report(text: &str) -> bool {
    let says_before = |line: &&str| line.starts_with("note: ") || line.starts_with("fio: ");
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let mut lines = lines.skip_while(says_before);
    let Some(first) = lines.next() else {
        return false;
    };
    let has = |one: &str, other: &str| {
        let behind = first.split_once(one).map(|(_, behind)| behind);
        behind.is_some_and(|behind| behind.contains(other))
    };
    let mut fields = first.split(';');
    let is_terse = matches!(fields.next(), Some("2" | "3" | "4" | "5"))
        && fields
            .next()
            .is_some_and(|version| version.starts_with("fio-"));
    let is_json = first.trim() == "{"
        && lines
            .next()
            .is_some_and(|line| line.trim_start().starts_with("\"fio version\""));
    is_terse || is_json || has(": (groupid=", "): err=") || has(": (g=", "): rw=")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn reports_are_told_from_what_is_somebodys() {
        for (text, expect) in [
            ("t: (groupid=0): err=0: Fri Nov 20\n", true),
            ("t: (groupid=0, jobs=1): err= 5 (file:x): pid=1\n", true),
            (
                "t: (g=0): rw=read, bs=(R) 4096B-4096B\n...\nfio-3.33\n",
                true,
            ),
            (
                "note: both iodepth >= 1\n\n{\n  \"fio version\" : \"fio-3.33\"\n",
                true,
            ),
            ("fio: this is said before\n3;fio-3.33;t;0;0\n", true),
            ("5;fio-3.33 (kurabe 0.0.0);t;0;0\n", true),
            ("", false),
            ("\n \n", false),
            ("{\n  \"version\" : 1\n}\n", false),
            ("note: buy milk\n", false),
            ("[global]\nbs=4k\n", false),
            ("letters of years\nt: (groupid=0): err=0\n", false),
            ("3;4;5\n", false),
            ("\u{fffd}ELF", false),
        ] {
            assert_eq!(begins_as_report(text), expect, "{text:?}");
        }
    }

    #[test]
    fn a_report_that_cannot_be_written_whole_leaves_what_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("report");
        fs::write(&path, "3;fio-3.33;t\n").unwrap();
        // Something is where it would be written first.
        fs::create_dir(beside(&path)).unwrap();
        let way = Way::to(&path, false, REPORT).unwrap();
        assert!(way.try_out().is_err() && way.take("3;fio-3.33;u\n").is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "3;fio-3.33;t\n");
        fs::remove_dir(beside(&path)).unwrap();
        // Also where it is a file, which stays.
        fs::write(beside(&path), "precious").unwrap();
        let way = Way::to(&path, false, REPORT).unwrap();
        assert!(way.try_out().is_err() && way.take("3;fio-3.33;u\n").is_err());
        assert_eq!(fs::read_to_string(beside(&path)).unwrap(), "precious");
        fs::remove_file(beside(&path)).unwrap();
        // A link stays one, and what it leads to keeps its permissions.
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        Way::to(&link, false, REPORT)
            .unwrap()
            .take("3;fio-3.33;u\n")
            .unwrap();
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&path).unwrap(), "3;fio-3.33;u\n");
        assert_eq!(mode(&path), 0o640);
        let mut names = fs::read_dir(dir.path()).unwrap();
        assert!(names.all(|entry| {
            ["report", "link"].contains(&&*entry.unwrap().file_name().to_string_lossy())
        }));
    }
}
