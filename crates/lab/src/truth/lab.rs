//! Where experiments happen: the binary, started as a user would start it, and the things to do to it meanwhile.
//!
//! A program under treatment is started by a shell that first goes into its control group, with the request to the
//! kernel to kill it when the thread that started it ends, so that no measurement survives its experiment. Ctrl-C is
//! passed on to it, and it gets time to end in good order.

use super::book::Book;
use super::disk::Disk;
use super::options::Options;
use super::place::Place;
use super::throttle::{Group, Layout};
use anyhow::{Context, bail};
use model::record::Run;
use serde_json::Value;
use std::collections::VecDeque;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use xtask::process::{command, succeeds};

/// How long an interrupted program may take to end, in nanoseconds.
const PATIENCE_NS: u64 = 5_000_000_000;

/// How often a running program is looked at, in nanoseconds.
const LOOK_NS: u64 = 10_000_000;

/// The size of a disk in MiB: two test files of a duel, and the gigabyte that the program leaves free.
const DISK_MIB: u64 = 6_144;

/// Everything that an experiment needs.
#[derive(Debug)]
pub(crate) struct Lab {
    /// The sizes.
    pub(crate) options: Options,
    /// The scratch directory and the name of everything that is made.
    pub(crate) place: Place,
    /// The program.
    pub(crate) binary: PathBuf,
    /// The names of its tests.
    pub(crate) tests: Vec<String>,
    layout: Result<Layout, String>,
    made: AtomicUsize,
}

/// A program to be started.
#[derive(Clone, Debug, Default)]
pub(crate) struct Call<'a> {
    /// Its arguments.
    pub(crate) args: Vec<String>,
    /// The file, in the scratch directory, in which it keeps runs.
    pub(crate) store: String,
    /// The group it goes into.
    pub(crate) group: Option<&'a Group>,
    /// The one CPU it may use.
    pub(crate) cpu: Option<u32>,
    /// Words that put it somewhere else, such as into a network namespace.
    pub(crate) enter: Vec<String>,
}

/// A program that was started; killed when it goes out of scope.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    output: PathBuf,
    shown: String,
    asked_to_stop: Option<u64>,
}

impl<'a> Call<'a> {
    /// A call with these arguments and the store `store`.
    pub(crate) fn new(store: &str, args: &[&str]) -> Self {
        Self {
            args: args.iter().map(|&arg| arg.to_owned()).collect(),
            store: store.to_owned(),
            ..Self::default()
        }
    }

    /// The same inside `group`.
    pub(crate) fn within(mut self, group: &'a Group) -> Self {
        self.group = Some(group);
        self
    }

    /// The same on this CPU alone, where one is named.
    pub(crate) fn on(mut self, cpu: Option<u32>) -> Self {
        self.cpu = cpu;
        self
    }

    /// The same behind these words.
    pub(crate) fn behind(mut self, enter: Vec<String>) -> Self {
        self.enter = enter;
        self
    }

    /// With more arguments.
    pub(crate) fn with(mut self, args: &[&str]) -> Self {
        self.args.extend(args.iter().map(|&arg| arg.to_owned()));
        self
    }
}

impl Lab {
    /// A laboratory for `binary`.
    pub(crate) fn new(
        options: Options,
        place: Place,
        binary: PathBuf,
        layout: Result<Layout, String>,
    ) -> anyhow::Result<Self> {
        let listed = xtask::process::output(
            command(&place.dir, &binary).args(["list", "tests", "--color", "never"]),
        )?;
        let words = listed
            .lines()
            .filter_map(|line| line.split_whitespace().next());
        let tests = words.map(str::to_owned).collect();
        Ok(Self {
            options,
            place,
            binary,
            tests,
            layout,
            made: AtomicUsize::new(0),
        })
    }

    /// Why `test` cannot be run; `None` where it can.
    pub(crate) fn lacks(&self, test: &str) -> Option<String> {
        let there = self.tests.iter().any(|known| known == test);
        (!there).then(|| format!("this binary has no test `{test}`"))
    }

    /// Why nothing can be throttled; `None` where something can.
    pub(crate) fn lacks_groups(&self) -> Option<String> {
        if sys::probe::is_root() {
            self.layout.as_ref().err().cloned()
        } else {
            Some("needs root".to_owned())
        }
    }

    fn next(&self) -> usize {
        self.made.fetch_add(1, Ordering::Relaxed)
    }

    /// A new control group.
    pub(crate) fn group(&self) -> anyhow::Result<Group> {
        let layout = self
            .layout
            .as_ref()
            .map_err(|why| anyhow::anyhow!("{why}"))?;
        Group::make(layout, &format!("{}-g{}", self.place.name, self.next()))
    }

    /// A new disk.
    pub(crate) fn disk(&self) -> anyhow::Result<Disk> {
        Disk::make(&self.place, &format!("d{}", self.next()), DISK_MIB)
    }

    /// Starts the program.
    pub(crate) fn start(&self, book: &Book, call: &Call<'_>) -> anyhow::Result<Running> {
        let binary = self.binary.display().to_string();
        let quoted: Vec<String> = call.args.iter().map(|word| quoted(word)).collect();
        let pinned = call
            .cpu
            .map_or(String::new(), |cpu| format!("taskset -c {cpu} "));
        book.command(&format!("{pinned}kurabe {}", quoted.join(" ")));
        let store = self.place.dir.join(&call.store).display().to_string();
        let mut words = [&call.enter[..], &[binary], &call.args].concat();
        words.extend(["--store".to_owned(), store]);
        self.spawn(&words, call.group, call.cpu)
    }

    /// Starts this very program again as a helper of the experiments.
    pub(crate) fn start_helper(
        &self,
        args: &[&str],
        group: Option<&Group>,
        cpu: Option<u32>,
    ) -> anyhow::Result<Running> {
        let own = std::env::current_exe().context("find our own program")?;
        let mut words = vec![own.display().to_string(), super::helper::WORD.to_owned()];
        words.extend(args.iter().map(|&arg| arg.to_owned()));
        self.spawn(&words, group, cpu)
    }

    fn spawn(
        &self,
        words: &[String],
        group: Option<&Group>,
        cpu: Option<u32>,
    ) -> anyhow::Result<Running> {
        let shown = words[1..].join(" ");
        let output = self.place.dir.join(format!("said-{}", self.next()));
        let create = |path: &Path| {
            File::create(path).with_context(|| format!("create `{}`", path.display()))
        };
        let enter = group.map_or("true".to_owned(), Group::enter);
        let mut shell = command(&self.place.dir, "setpriv");
        shell.args(["--pdeathsig", "KILL", "sh", "-c"]);
        shell.arg(format!("{enter} && exec \"$@\"")).arg("sh");
        if let Some(cpu) = cpu {
            shell.args(["taskset", "-c", &cpu.to_string()]);
        }
        let child = shell
            .args(words)
            .stdin(Stdio::null())
            .stdout(create(&output)?)
            .stderr(create(&output.with_extension("err"))?)
            .spawn()
            .with_context(|| format!("start `{shown}`"))?;
        Ok(Running {
            child,
            output,
            shown,
            asked_to_stop: None,
        })
    }

    /// Runs the program to its end; what it printed.
    pub(crate) fn text(&self, book: &Book, call: &Call<'_>) -> anyhow::Result<String> {
        self.start(book, call)?.wait()
    }

    /// Runs the program to its end and reads the document that it printed.
    pub(crate) fn document(&self, book: &Book, call: &Call<'_>) -> anyhow::Result<Value> {
        let text = self.text(book, call)?;
        serde_json::from_str(&text)
            .with_context(|| format!("read what `{}` printed", call.args.join(" ")))
    }

    /// A kept run with everything in it.
    pub(crate) fn run(&self, store: &str, id: &str) -> anyhow::Result<Run> {
        // The command is our way to the figures and no part of the experiment, so that no book has it.
        let text = self.text(&Book::default(), &Call::new(store, &["export", id]))?;
        store::export::read(&text).with_context(|| format!("read the export of run `{id}`"))
    }
}

/// Calls `session` for 0, 1, ... `sessions` - 1, several at a time, each with one of the `places` to itself; results
/// come back in order. The first error ends it after the sessions that have begun.
pub(crate) fn spread<S: Sync, T: Send>(
    sessions: usize,
    places: &[S],
    session: impl Fn(usize, &S) -> anyhow::Result<T> + Sync,
) -> anyhow::Result<Vec<T>> {
    let waiting: Mutex<VecDeque<usize>> = Mutex::new((0..sessions).collect());
    let next = || {
        let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.pop_front()
    };
    let work = |place: &S| -> anyhow::Result<Vec<(usize, T)>> {
        let mut done = Vec::new();
        while let Some(index) = next() {
            let result = session(index, place);
            if result.is_err() {
                while next().is_some() {}
            }
            done.push((index, result?));
        }
        Ok(done)
    };
    let work = &work;
    let mut done = std::thread::scope(|scope| -> anyhow::Result<Vec<(usize, T)>> {
        let threads: Vec<_> = places
            .iter()
            .map(|place| scope.spawn(move || work(place)))
            .collect();
        let mut done = Vec::new();
        for thread in threads {
            let part = thread
                .join()
                .map_err(|_| anyhow::anyhow!("a session panicked"))?;
            done.extend(part?);
        }
        Ok(done)
    })?;
    done.sort_by_key(|(index, _)| *index);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}

/// The CPUs, each of which can hold a session of its own.
pub(crate) fn cpus() -> anyhow::Result<Vec<u32>> {
    sys::affinity::allowed_cpus().context("read the CPU affinity")
}

impl Running {
    /// What it printed, once it has ended; `None` while it runs. Anything but success is an error.
    pub(crate) fn ended(&mut self) -> anyhow::Result<Option<String>> {
        let Some(status) = self.child.try_wait().context("wait for a program")? else {
            self.pass_on_interruption()?;
            return Ok(None);
        };
        if sys::signal::interrupted().is_some() {
            bail!("interrupted");
        }
        let read = |path: &Path| {
            fs::read_to_string(path).with_context(|| format!("read `{}`", path.display()))
        };
        let said = read(&self.output.with_extension("err"))?;
        let text = read(&self.output)?;
        if !status.success() {
            bail!("`{}` failed: {status}\n{}", self.shown, said.trim());
        }
        let _ = fs::remove_file(&self.output);
        let _ = fs::remove_file(self.output.with_extension("err"));
        Ok(Some(text))
    }

    /// Waits for its end; what it printed.
    pub(crate) fn wait(mut self) -> anyhow::Result<String> {
        loop {
            if let Some(text) = self.ended()? {
                return Ok(text);
            }
            sys::clock::sleep(LOOK_NS);
        }
    }

    fn pass_on_interruption(&mut self) -> anyhow::Result<()> {
        if sys::signal::interrupted().is_none() {
            return Ok(());
        }
        let now = sys::clock::monotonic();
        match self.asked_to_stop {
            None => {
                self.asked_to_stop = Some(now);
                let pid = self.child.id().to_string();
                succeeds(command(Path::new("/"), "kill").args(["-INT", &pid]));
                Ok(())
            }
            Some(asked) if now - asked < PATIENCE_NS => Ok(()),
            Some(_) => bail!("interrupted; `{}` did not end by itself", self.shown),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            // Already gone is as good; the status is of no interest here.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// A word as a shell would need it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:@,%*".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("\"{word}\"")
    }
}
