//! `os.shell`: how fast the machine's own shell and tools work through a small script.

use super::{ops_per_s, start_failed, text, text::counts};
use crate::os::spawn::InHelper;
use crate::unixbench::{COMPAT, Compat, Length, shape};
use engine::recorder::Recorder;
use engine::workload::{Body, Finish, Place, WorkError, Workload};
use model::digest::Digest;
use model::host::{Fact, HostFacts};
use model::params::Params;
use model::plan::Shape;
use model::spec::{Nature, ParamDef, ParamKind, Spec, TestDef};
use model::units::Nanos;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use sys::loops::helper::{Helper, Linking, StartError, Task};
use sys::loops::launch::{Child, Launch, Program};
use sys::process::Usage;

/// The workload.
pub(crate) static SHELL: Shell = Shell;

/// Scripts that start scripts.
#[derive(Debug)]
pub(crate) struct Shell;

static SPEC: Spec = Spec {
    name: "os.shell",
    version: 1,
    nature: Nature::System,
    title: "shell scripts",
    doc: "One operation is a shell script that starts `concurrent` others at the same time and waits for all of them. \
          Each of those sorts a text of 362 lines into a file, dumps it with od and sorts the dump, searches it with \
          grep through tee into wc, and removes its four files: one shell and seven programs. The shell and the \
          tools are the machine's own, so distributions do not compare where these differ (dash or bash, GNU or Rust \
          or BusyBox tools, the locale). With `concurrent` 8, one copy already uses up to eight CPUs.",
    params: &[
        ParamDef {
            name: "concurrent",
            kind: ParamKind::Count { min: 1, max: 1024 },
            default: "1",
            doc: "Scripts at work at the same time within one operation.",
        },
        ParamDef {
            name: "lang",
            kind: ParamKind::Text,
            default: "en_US.utf8",
            doc: "LANG for the scripts. UnixBench sets en_US.utf8 too. As ever, LC_ALL and LC_* of the environment \
                  win over it, and a locale that the machine does not have means C.",
        },
        COMPAT,
    ],
    metrics: &[ops_per_s(
        "Runs of the outer script, over the wall time from telling the helper that starts them to its report, about \
         every 20 ms: from the fork of the first to the end of the last, all the programs started in between \
         included.",
    )],
    tests: &[
        TestDef::new(
            "os.shell-1",
            "Shell Scripts (1 concurrent)",
            &[("concurrent", "1")],
        ),
        TestDef::new(
            "os.shell-8",
            "Shell Scripts (8 concurrent)",
            &[("concurrent", "8")],
        ),
    ],
    simulated: false,
    on_disk: true,
};

const SH: &str = "/bin/sh";

/// The programs that the scripts run.
const PROGRAMS: [&str; 8] = ["sh", "sort", "od", "grep", "tee", "wc", "rm", "expr"];

/// What one instance does: the commands are those that define the test, the names are our own. `$1` is the text; `$$`,
/// the shell's process id, keeps instances apart.
const WORK: [&str; 3] = [
    "sort \"$1\" >sorted-$$ || exit 1",
    "od sorted-$$ | sort -n -k 1 >dump-$$ || exit 1",
    "grep the sorted-$$ | tee found-$$ | wc >counted-$$ || exit 1",
];

/// What it does at last.
const CLEAN: &str = "rm sorted-$$ dump-$$ found-$$ counted-$$";

/// Starts `$1` instances and fails where one of them does. The count goes down by the shell's own arithmetic, or,
/// as in version 5.1.3, by a program.
fn outer(compat: Compat) -> String {
    let count_down = match compat {
        Compat::V513 => "n=`expr $n - 1`",
        Compat::Off | Compat::V6 => "n=$((n - 1))",
    };
    format!(
        "n=$1\npids=\nwhile [ $n -gt 0 ]; do\n  {SH} \"$2\" \"$3\" &\n  pids=\"$pids $!\"\n  {count_down}\ndone\n\
         status=0\nfor pid in $pids; do\n  wait $pid || status=1\ndone\nexit $status\n"
    )
}

impl Workload for Shell {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn shape(&self, params: &Params) -> Shape {
        shape(params, 60, Length::Short, Shape::DEFAULT)
    }

    fn supported(&self, params: &Params, host: &HostFacts) -> Result<(), String> {
        let expr = Compat::of(params) == Compat::V513;
        let missing: Vec<String> = PROGRAMS
            .iter()
            .filter(|&&name| name != "expr" || expr)
            .filter_map(|&name| match host.programs.get(name) {
                Some(Fact::Missing(why)) => Some(format!("`{name}` ({why})")),
                Some(Fact::Known(_)) | None => None,
            })
            .collect();
        if missing.is_empty() {
            Ok(())
        } else {
            Err(format!("the scripts need {}", missing.join(", ")))
        }
    }

    fn prepare(&self, params: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        sys::signal::ignore_sigpipe()
            .map_err(|error| WorkError::failed("sigaction", "SIGPIPE", error))?;
        let compat = Compat::of(params);
        let lang = params.text("lang");
        let scripts = Scripts::write(&place.dir, compat)?;
        let digest = Scripts::check(&place.dir, lang)?;
        let concurrent = params.count("concurrent").to_string();
        let command: [&OsStr; 5] = [
            SH.as_ref(),
            scripts.outer.as_os_str(),
            concurrent.as_ref(),
            scripts.inner.as_os_str(),
            scripts.text.as_os_str(),
        ];
        // In the original all copies work in one directory; on many CPUs that is where they meet.
        let dir = match compat {
            Compat::Off => &place.dir,
            Compat::V513 | Compat::V6 => &place.shared_dir,
        };
        let helper = starter(&command, place, dir, lang)?;
        Ok(Box::new(Starter {
            helper: InHelper {
                helper,
                object: "the outer script",
            },
            digest,
        }))
    }
}

/// The helper that starts the outer script. Next to what a script costs it does not matter how the helper is linked,
/// so the static one stands in where the machine has no dynamic loader.
fn starter(command: &[&OsStr], place: &Place, dir: &Path, lang: &str) -> Result<Helper, WorkError> {
    let start = |linking| {
        Helper::start_in(
            linking,
            Task::Run(command),
            &place.dir,
            dir,
            Some(("LANG", lang)),
        )
    };
    match start(Linking::Dynamic) {
        Err(StartError::Unsupported(why)) => {
            start(Linking::Static).map_err(|_| WorkError::Unsupported(why))
        }
        result => result.map_err(start_failed),
    }
}

struct Starter {
    helper: InHelper,
    digest: Digest,
}

impl Body for Starter {
    fn batch(&mut self, ops: u64, recorder: &mut Recorder) -> Result<u64, WorkError> {
        self.helper.batch(ops, recorder)
    }

    fn batch_target(&self) -> Nanos {
        self.helper.batch_target()
    }

    fn living_children(&mut self) -> Result<Usage, WorkError> {
        self.helper.living_children()
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        self.helper.finish()?;
        Ok(Finish {
            digest: self.digest,
            ..Finish::default()
        })
    }
}

/// The files that the work needs.
struct Scripts {
    text: PathBuf,
    outer: PathBuf,
    inner: PathBuf,
}

impl Scripts {
    fn write(dir: &Path, compat: Compat) -> Result<Self, WorkError> {
        let write = |name: &str, content: &str| {
            let path = dir.join(name);
            fs::write(&path, content)
                .map_err(|error| WorkError::failed("write", path.display(), error))?;
            Ok::<_, WorkError>(path)
        };
        let work = WORK.join("\n");
        write("check", &format!("{work}\n"))?;
        Ok(Self {
            text: write("text", &text::make())?,
            outer: write("outer", &outer(compat))?,
            inner: write("inner", &format!("{work}\n{CLEAN}\n"))?,
        })
    }

    /// Runs one instance without its removal of files and looks at what it made. The digest is that of wc's counts.
    fn check(dir: &Path, lang: &str) -> Result<Digest, WorkError> {
        let made = dir.join("made");
        fs::create_dir(&made).map_err(|error| WorkError::failed("mkdir", made.display(), error))?;
        let mut child = Child::start(&Launch {
            program: Program::Path(Path::new(SH)),
            args: &["../check".as_ref(), "../text".as_ref()],
            dir: &made,
            env: Some(("LANG", lang)),
        })
        .map_err(|error| WorkError::failed("execute", SH, error))?;
        child.close_input();
        // The end of its output is the end of the last program that it started.
        std::io::copy(&mut child.output(), &mut std::io::sink())
            .map_err(|error| WorkError::failed("read", "the script's output", error))?;
        let status = child.finish(10_000);
        if !status.success() {
            return Err(WorkError::failed("run", "the inner script", status));
        }
        let digest = check_files(&made)?;
        fs::remove_dir_all(&made)
            .map_err(|error| WorkError::failed("remove", made.display(), error))?;
        Ok(digest)
    }
}

/// Whether the four files hold what the text's counts ask for.
fn check_files(dir: &Path) -> Result<Digest, WorkError> {
    let (sorted, dump) = (read(dir, "sorted-")?, read(dir, "dump-")?);
    let (found, counted) = (read(dir, "found-")?, read(dir, "counted-")?);
    let input = text::make();
    let by_bytes = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    let matching: String = sorted
        .split_inclusive('\n')
        .filter(|line| line.contains("the"))
        .collect();
    let counts: Vec<usize> = counted
        .split_whitespace()
        .map_while(|number| number.parse().ok())
        .collect();
    let expected = [
        counts::THE,
        matching.split_whitespace().count(),
        matching.len(),
    ];
    let wrong = |program: &str, what: String| Err(WorkError::Wrong(format!("`{program}` {what}")));
    if by_bytes(&sorted) != by_bytes(&input) {
        return wrong("sort", "lost or changed lines".to_owned());
    }
    if dump.lines().count() != counts::OD_LINES {
        return wrong(
            "od",
            format!(
                "printed {} lines instead of {}",
                dump.lines().count(),
                counts::OD_LINES
            ),
        );
    }
    if found != matching {
        return wrong("grep", "found other lines than those with `the`".to_owned());
    }
    if counts != expected {
        return wrong(
            "wc",
            format!("printed `{}` instead of {expected:?}", counted.trim()),
        );
    }
    Ok(expected
        .iter()
        .fold(Digest::EMPTY, |digest, &count| digest.word(count as u64)))
}

/// The content of the one file whose name begins so.
fn read(dir: &Path, prefix: &str) -> Result<String, WorkError> {
    let failed = |error: std::io::Error| WorkError::failed("read", format!("{prefix}*"), error);
    for entry in fs::read_dir(dir).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry
            .file_name()
            .as_encoded_bytes()
            .starts_with(prefix.as_bytes())
        {
            return fs::read_to_string(entry.path()).map_err(failed);
        }
    }
    Err(failed(std::io::ErrorKind::NotFound.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::testing;

    #[test]
    fn eight_at_a_time_work_and_clean_up() {
        for compat in ["off", "5.1.3", "6"] {
            let (_root, place) = testing::place();
            let overrides = [("concurrent", "8"), ("compat", compat)];
            let mut body = testing::prepare(&SHELL, &overrides, &place).unwrap();
            assert_eq!(body.batch(2, &mut Recorder::off()).unwrap(), 2);
            body.finish().unwrap();
            let mut left: Vec<_> = fs::read_dir(&place.dir)
                .unwrap()
                .chain(fs::read_dir(&place.shared_dir).unwrap())
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            left.sort_unstable();
            assert_eq!(left, ["check", "inner", "outer", "text"], "compat {compat}");
        }
    }

    #[test]
    fn a_failing_instance_is_an_error_of_the_batch() {
        let (_root, place) = testing::place();
        let mut body = testing::prepare(&SHELL, &[("concurrent", "3")], &place).unwrap();
        fs::remove_file(place.dir.join("text")).unwrap();
        let error = body.batch(1, &mut Recorder::off()).unwrap_err().to_string();
        assert_eq!(
            error,
            "check the status `the outer script`: the child ended with exit status: 1"
        );
        drop(body);
        assert_eq!(testing::children(), [""; 0]);
    }

    #[test]
    fn wrong_output_of_each_program_is_found() {
        let check = |name: &str, change: fn(String) -> String| {
            let dir = tempfile::tempdir().unwrap();
            let mut lines: Vec<String> = text::make().lines().map(str::to_owned).collect();
            lines.sort_unstable();
            let sorted = lines.join("\n") + "\n";
            let found: String = sorted
                .split_inclusive('\n')
                .filter(|line| line.contains("the"))
                .collect();
            let words = found.split_whitespace().count();
            let counted = format!(" {} {words} {}\n", counts::THE, found.len());
            let dump = "0\n".repeat(counts::OD_LINES);
            for (file, content) in [
                ("sorted-1", sorted),
                ("dump-1", dump),
                ("found-1", found),
                ("counted-1", counted),
            ] {
                let content = if file.starts_with(name) {
                    change(content)
                } else {
                    content
                };
                fs::write(dir.path().join(file), content).unwrap();
            }
            check_files(dir.path()).map_err(|error| error.to_string())
        };
        assert!(check("none", |text| text).is_ok());
        let cut = |text: String| text[..text.len() / 2].to_owned();
        assert_eq!(
            check("sorted", cut).unwrap_err(),
            "`sort` lost or changed lines"
        );
        assert_eq!(
            check("dump", cut).unwrap_err(),
            "`od` printed 268 lines instead of 536"
        );
        assert_eq!(
            check("found", cut).unwrap_err(),
            "`grep` found other lines than those with `the`"
        );
        assert!(
            check("counted", |_| "1 2 3".to_owned())
                .unwrap_err()
                .starts_with("`wc` printed `1 2 3`")
        );
    }

    #[test]
    fn missing_programs_are_named_beforehand_and_expr_only_where_it_is_used() {
        let mut host = HostFacts::default();
        host.programs
            .insert("od".to_owned(), Fact::Missing("not in PATH".to_owned()));
        host.programs
            .insert("sort".to_owned(), Fact::Known("/bin/sort".to_owned()));
        let ask = |compat, host: &HostFacts| {
            SHELL.supported(&testing::params(&SHELL, &[("compat", compat)]), host)
        };
        assert_eq!(
            ask("off", &host).unwrap_err(),
            "the scripts need `od` (not in PATH)"
        );
        host.programs.remove("od");
        host.programs
            .insert("expr".to_owned(), Fact::Missing("not in PATH".to_owned()));
        assert_eq!(ask("6", &host), Ok(()));
        assert_eq!(
            ask("5.1.3", &host).unwrap_err(),
            "the scripts need `expr` (not in PATH)"
        );
    }
}
