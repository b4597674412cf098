//! A run whose store is lost while it is measured: it goes on, and is written beside the store when it ends.
//!
//! A restored backup, a tool that synchronises, a clean-up: whoever puts another file in the store's place does not
//! know that a run is being kept in it. SQLite goes on writing to the file that has no name any more, and everything is
//! gone with the process. So after each round the file is held against what was opened, and what was measured is taken
//! from memory, or read back out of the open file where memory had no room. Nothing is written to the file that is
//! there now.

use crate::exit::{Exit, failure};
use dialects::printable::quoted;
use model::order::Keyed as _;
use model::record::{End, Round, Run};
use model::units::UnixNanos;
use model::warning::Warning;
use std::collections::{BTreeMap, VecDeque};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use store::{Store, StoreError};

/// Bytes of rounds that are held in memory beside the store: all of them but for soaks of many hours with histograms,
/// whose older rounds are then in the open file alone. A small machine must not be measured with less memory for it.
const HELD_BYTES_MAX: usize = 32 << 20;

/// What is known of the rounds of one side.
#[derive(Default)]
struct Held {
    rounds: VecDeque<Round>,
    bytes: usize,
    /// How many there were.
    ended: usize,
}

/// The rounds that were measured, and whether their store is still there.
pub(crate) struct Rescue<'a> {
    store: &'a Store,
    runs: &'a [Run],
    held: Vec<Held>,
    lost: Option<String>,
}

impl<'a> Rescue<'a> {
    pub(crate) fn new(store: &'a Store, runs: &'a [Run]) -> Self {
        Self {
            store,
            runs,
            held: runs.iter().map(|_| Held::default()).collect(),
            lost: None,
        }
    }

    /// Keeps a round. Says so once, where the store turns out to be lost.
    pub(crate) fn keep(&mut self, side: usize, round: &Round) -> Result<Option<String>, String> {
        self.held[side].push(round);
        let kept = self.store.append(&self.runs[side].meta.id, round);
        if self.lost.is_some() {
            return Ok(None);
        }
        let gone = self.store.lost();
        match (gone, kept) {
            (Some(how), _) => Ok(Some(self.lose(how))),
            (None, Ok(())) => Ok(None),
            (None, Err(error)) => {
                let why = error.to_string();
                damaged(error).map(|how| Some(self.lose(how))).ok_or(why)
            }
        }
    }

    fn lose(&mut self, how: String) -> String {
        let store = self.store.path().display();
        let text = format!(
            "warning: the store `{store}` {how}: the run goes on, and is written beside it when it ends{}",
            self.left_log()
        );
        self.lost = Some(how);
        text
    }

    /// Leaves the store, and says where its log lies.
    fn left_log(&self) -> String {
        self.store.leave().map_or_else(String::new, |log| {
            let log = log.display();
            format!(
                "\nnote: the log of what was there before is now `{log}`: nobody needs it any more"
            )
        })
    }

    /// At the end, before anything is finished in the store: the error of a run that is not in it, with what became of
    /// it; nothing where the store is as it was.
    pub(crate) fn outcome(&mut self, end: End, warnings: &[Warning]) -> Option<anyhow::Error> {
        if self.lost.is_none() {
            let lost = self.store.lost();
            self.lost = lost.or_else(|| damaged(self.store.look_again().err()?));
        }
        let how = self.lost.clone()?;
        let mut text = format!(
            "keep the run: the store `{}` {how}{}",
            self.store.path().display(),
            self.left_log()
        );
        let (mut files, mut whys) = (Vec::new(), Vec::new());
        let mut missing = 0;
        for (run, held) in self.runs.iter().zip(&self.held) {
            let whole = self.whole(run, held, end, warnings);
            missing += (run.rounds.len() + held.ended).saturating_sub(whole.rounds.len());
            match written(&places(self.store.path()), &whole) {
                Ok(path) => files.push(path),
                Err(why) => whys.push(format!("run {}: {why}", run.meta.id)),
            }
        }
        if !whys.is_empty() {
            let why = whys.join("; ");
            let what = if files.is_empty() {
                "it"
            } else {
                "not all of it"
            };
            let could = if files.is_empty() {
                "could not"
            } else {
                "could"
            };
            text = format!("{text}\nand {what} {could} be written elsewhere: {why}");
        }
        if files.is_empty() {
            return Some(failure(Exit::Incomplete, text, None));
        }
        let names: Vec<String> = files
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        let short = match missing {
            0 => String::new(),
            _ => format!(", but for {missing} rounds that could not be read back"),
        };
        let words: Vec<String> = names.iter().map(|name| quoted(name)).collect();
        let text = format!(
            "{text}\nwhat was measured is in `{}`{short}",
            names.join("` and `")
        );
        let hint = format!(
            "`kurabe import {}` keeps it in the store that is there now; `kurabe show FILE` shows it",
            words.join(" ")
        );
        Some(failure(Exit::Incomplete, text, Some(&hint)))
    }

    /// The run with every round that memory has, and those of the open file that memory had no room for. Where another
    /// store was written into the file, what is read there may be of another run.
    fn whole(&self, run: &Run, held: &Held, end: End, warnings: &[Warning]) -> Run {
        let first = held.rounds.front().map_or(0, |round| round.seq);
        let read = if held.rounds.len() < held.ended {
            let read = self.store.load(&run.meta.id).map(|kept| kept.rounds);
            read.unwrap_or_default()
        } else {
            Vec::new()
        };
        let older = read
            .into_iter()
            .filter(|round| round.seq < first && round.started >= run.meta.started);
        let known = run.rounds.iter().chain(&held.rounds).cloned();
        let all = older.chain(known);
        let rounds: BTreeMap<u32, Round> = all.map(|round| (round.seq, round)).into_map();
        let mut whole = Run {
            rounds: rounds.into_values().collect(),
            ..run.clone()
        };
        whole.meta.end = end;
        whole.meta.finished = Some(UnixNanos(sys::clock::wall()));
        store::add_warnings(&mut whole.meta, warnings);
        whole
    }
}

/// What became of the store, where an error says that what is in it is not what was written.
fn damaged(error: StoreError) -> Option<String> {
    match error {
        StoreError::Damaged { what, .. } => Some(format!("was damaged meanwhile ({what})")),
        _ => None,
    }
}

impl Held {
    fn push(&mut self, round: &Round) {
        self.ended += 1;
        self.bytes += bytes(round);
        self.rounds.push_back(round.clone());
        while self.bytes > HELD_BYTES_MAX
            && let Some(oldest) = self.rounds.pop_front()
        {
            self.bytes -= bytes(&oldest);
        }
    }
}

/// About what a round takes: its fixed parts (measured at some 2 KiB), windows, and what grows with operations.
fn bytes(round: &Round) -> usize {
    const FIXED: usize = 2 << 10;
    const PAIR: usize = size_of::<(u64, u64)>();
    let Some(told) = round.told() else {
        return FIXED;
    };
    let apart = told.copies.iter().filter_map(|copy| copy.apart.as_ref());
    let named = told
        .latencies
        .values()
        .chain(apart.flat_map(|apart| apart.latencies.values()));
    let pairs: usize = named.map(Vec::len).sum();
    let windows = told.windows.len() + told.cpu_windows.len();
    FIXED + pairs * PAIR + windows * size_of::<f64>() + told.copies.len() * (FIXED / 8)
}

/// Where a run is written: beside the store, or else where the command was typed.
fn places(store: &Path) -> Vec<PathBuf> {
    let here = std::env::current_dir().ok();
    let beside = store.parent().map(Path::to_owned);
    beside.into_iter().chain(here).collect()
}

/// Writes the run into the first of the directories that takes all of it. What is cut does not stay.
fn written(dirs: &[PathBuf], run: &Run) -> Result<PathBuf, String> {
    let text = store::export::write(run).map_err(|error| error.to_string())?;
    let name = format!("kurabe-rescued-{}.json", run.meta.id);
    let mut whys = Vec::new();
    for path in dirs.iter().map(|dir| dir.join(&name)) {
        let made = OpenOptions::new().write(true).create_new(true).open(&path);
        let done = made.and_then(|mut file| {
            let made = file.metadata();
            let all = file
                .write_all(text.as_bytes())
                .and_then(|()| file.sync_all());
            if let (Err(_), Ok(made)) = (&all, made) {
                let _ = sys::io::remove::remove_exactly(&path, made.dev(), made.ino());
            }
            all
        });
        match done {
            Ok(()) => return Ok(path),
            Err(error) => whys.push(format!("write `{}`: {error}", path.display())),
        }
    }
    Err(whys.join("; "))
}
