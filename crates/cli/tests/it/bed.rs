//! A test bed: a directory, a store in it, and the binary.

#![expect(
    clippy::disallowed_methods,
    reason = "tests start the binary as a user does"
)]

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A directory of its own for one test.
pub(crate) struct Bed {
    root: TempDir,
}

/// What a finished command left.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl From<Output> for Done {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Done {
    /// Asserts the exit code and gives the streams in the message where it differs.
    #[track_caller]
    pub(crate) fn code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// Asserts that standard error contains every one of `needles`.
    #[track_caller]
    pub(crate) fn err_has(self, needles: &[&str]) -> Self {
        for needle in needles {
            assert!(
                self.err.contains(needle),
                "`{needle}` is not in:\n{}",
                self.err
            );
        }
        self
    }

    /// Asserts that standard output says every one of `sentences`, wherever its lines end.
    #[track_caller]
    pub(crate) fn out_says(self, sentences: &[&str]) -> Self {
        for sentence in sentences {
            assert!(self.says(sentence), "`{sentence}` is not in:\n{}", self.out);
        }
        self
    }

    /// Whether standard output says this, wherever its lines end.
    pub(crate) fn says(&self, sentence: &str) -> bool {
        let words: Vec<&str> = self.out.split_whitespace().collect();
        words.join(" ").contains(sentence)
    }

    /// Asserts that standard output contains every one of `needles`.
    #[track_caller]
    pub(crate) fn out_has(self, needles: &[&str]) -> Self {
        for needle in needles {
            assert!(
                self.out.contains(needle),
                "`{needle}` is not in:\n{}",
                self.out
            );
        }
        self
    }
}

impl Bed {
    pub(crate) fn new() -> Self {
        Self {
            root: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.root.path()
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.path().join("kurabe.db")
    }

    /// The binary, in the bed's directory, with its store, and with nothing of the user's environment that shows. It
    /// does not look before it measures: what else this machine does is no part of a test.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut args = args.to_vec();
        if let Some(&("run" | "soak" | "duel")) = args.first() {
            args.insert(1, "--no-look");
        }
        self.looking(&args)
    }

    /// The same, and it looks where nobody tells it not to.
    pub(crate) fn looking(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kurabe"));
        command
            .args(args)
            .current_dir(self.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("KURABE_STORE", self.store())
            // Tests run beside each other, and each has a lock of its own.
            .env("KURABE_LOCK", self.path())
            .env("LANG", "C")
            .stdin(Stdio::null());
        command
    }

    /// Runs the binary behind another program, which is the first of `before`.
    pub(crate) fn behind(&self, before: &[&str], args: &[&str]) -> Done {
        self.command_behind(before, args).output().unwrap().into()
    }

    /// The binary with this limit of open files, soft and hard.
    pub(crate) fn with_open_files(&self, limit: u32, args: &[&str]) -> Command {
        let limit = format!("--nofile={limit}:{limit}");
        self.command_behind(&["prlimit", &limit], args)
    }

    /// The binary behind another program.
    pub(crate) fn command_behind(&self, before: &[&str], args: &[&str]) -> Command {
        let plain = self.command(args);
        let mut command = Command::new(before[0]);
        command
            .args(&before[1..])
            .arg(plain.get_program())
            .args(plain.get_args())
            .current_dir(self.path())
            .env_clear()
            .stdin(Stdio::null());
        let set = plain.get_envs();
        command.envs(set.filter_map(|(name, value)| Some((name, value?))));
        command
    }

    /// Runs the binary on a terminal, where somebody types `answer`; both of its streams are there.
    pub(crate) fn on_terminal(&self, args: &[&str], answer: &str) -> Done {
        let mut child = self.terminal(args);
        let mut typed = child.stdin.take().unwrap();
        typed.write_all(answer.as_bytes()).unwrap();
        // Its end would be the end of the terminal.
        let done = child.wait_with_output().unwrap().into();
        drop(typed);
        done
    }

    /// The same, where something happens between the question and the answer.
    pub(crate) fn asked(&self, args: &[&str], meanwhile: impl FnOnce(), answer: &str) -> Done {
        let mut child = self.terminal(args);
        let mut shown = child.stdout.take().unwrap();
        let mut said = Vec::new();
        while !said.ends_with(b"[y/N] ") {
            let mut byte = [0];
            shown.read_exact(&mut byte).unwrap();
            said.push(byte[0]);
        }
        meanwhile();
        let mut typed = child.stdin.take().unwrap();
        typed.write_all(answer.as_bytes()).unwrap();
        shown.read_to_end(&mut said).unwrap();
        let ended = child.wait_with_output().unwrap();
        drop(typed);
        Output {
            stdout: said,
            ..ended
        }
        .into()
    }

    /// Starts the binary on a terminal.
    fn terminal(&self, args: &[&str]) -> Child {
        let plain = self.command(args);
        let words = std::iter::once(plain.get_program()).chain(plain.get_args());
        let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
        let line = words.join(" ");
        Command::new("script")
            .args(["-q", "-e", "-c", &line, "/dev/null"])
            .current_dir(self.path())
            .env_clear()
            .envs(
                plain
                    .get_envs()
                    .filter_map(|(name, value)| Some((name, value?))),
            )
            .env("TERM", "xterm")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    pub(crate) fn run(&self, args: &[&str]) -> Done {
        self.command(args).output().unwrap().into()
    }

    /// Starts a run in the background.
    pub(crate) fn start(&self, args: &[&str]) -> Child {
        self.command(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// A kept run of the replay workload with this label and series.
    pub(crate) fn replay(&self, label: &str, series: &str) {
        let set = format!("selftest.replay.series={series}");
        let args = [
            "run",
            "selftest.replay",
            "--label",
            label,
            "--set",
            &set,
            "--passes",
            "9",
        ];
        self.run(&args).code(0);
    }

    /// The runs of the store, the latest first, as a list for programs tells them.
    pub(crate) fn listed(&self) -> Vec<serde_json::Value> {
        let list = self.run(&["list", "--all", "--json"]).code(0).out;
        let list: serde_json::Value = serde_json::from_str(&list).unwrap();
        list["runs"].as_array().unwrap().clone()
    }

    /// How many rounds the latest run of the store has; 0 where there is none.
    pub(crate) fn rounds(&self) -> u64 {
        let runs = self.listed();
        runs.first()
            .map_or(0, |run| run["rounds"].as_u64().unwrap())
    }

    /// What is in the bed's directory beside the store.
    pub(crate) fn left_behind(&self) -> Vec<String> {
        let names = std::fs::read_dir(self.path()).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names
            .filter(|name| !name.starts_with("kurabe.db"))
            .collect()
    }
}

/// Sends a signal.
pub(crate) fn signal(child: &Child, name: &str) {
    let pid = child.id().to_string();
    assert!(
        Command::new("kill")
            .args([name, &pid])
            .status()
            .unwrap()
            .success()
    );
}

/// Waits until `what` holds; panics after `secs` seconds.
#[track_caller]
pub(crate) fn eventually(secs: u64, mut what: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(secs);
    while !what() {
        assert!(
            Instant::now() < deadline,
            "it did not happen within {secs} s"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Does the same with all of these, so many at a time: for what waits for most of its time.
pub(crate) fn at_once<T: Sync>(threads: usize, all: &[T], one: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(this) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    one(this);
                }
            });
        }
    });
}

/// The processes that have `dir` as their current directory, or one below it: our workers and their children.
pub(crate) fn processes_in(dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        // A process may end, or not let us look.
        if let Ok(cwd) = std::fs::read_link(entry.path().join("cwd"))
            && cwd.starts_with(dir)
        {
            let name = std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
            found.push(name.replace('\0', " "));
        }
    }
    found
}

/// A program of the system.
pub(crate) fn program(name: &str) -> Command {
    Command::new(name)
}
