//! A run whose store is lost while it is measured: it goes on, and is written beside the store when it ends.
//!
//! A restored backup, a tool that synchronises, a clean-up: whoever puts another file in the store's place does not
//! know that a run is being kept in it. SQLite goes on writing to the file that has no name any more, and everything is
//! gone with the process. So after each round the file is held against what was opened, and what was measured is read
//! back out of the open file, or taken from memory where that cannot be done. Nothing is written to the file that is
//! there now.

use crate::exit::{Exit, failure};
use dialects::printable::quoted;
use model::record::{End, Round, Run};
use model::units::UnixNanos;
use model::warning::Warning;
use std::collections::{BTreeMap, VecDeque};
use std::fs::OpenOptions;
use std::io::Write as _;
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
        let gone = self.store.lost().map(str::to_owned);
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
        self.store.leave();
        let store = self.store.path().display();
        let text = format!(
            "warning: the store `{store}` {how}: the run goes on, and is written beside it when it ends"
        );
        self.lost = Some(how);
        text
    }

    /// At the end, before anything is finished in the store: the error of a run that is not in it, with what became of
    /// it; nothing where the store is as it was.
    pub(crate) fn outcome(&mut self, end: End, warnings: &[Warning]) -> Option<anyhow::Error> {
        if self.lost.is_none() {
            let lost = self.store.lost().map(str::to_owned);
            self.lost = lost.or_else(|| damaged(self.store.look_again().err()?));
        }
        let how = self.lost.clone()?;
        self.store.leave();
        let text = format!(
            "keep the run: the store `{}` {how}",
            self.store.path().display()
        );
        let mut files = Vec::new();
        let mut missing = 0;
        for (run, held) in self.runs.iter().zip(&self.held) {
            let whole = self.whole(run, held, end, warnings);
            missing += (run.rounds.len() + held.ended).saturating_sub(whole.rounds.len());
            match written(self.store.path(), &whole) {
                Ok(path) => files.push(path),
                Err(why) => {
                    let text = format!("{text}\nand it could not be written elsewhere: {why}");
                    return Some(failure(Exit::Incomplete, text, None));
                }
            }
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

    /// The run with every round that the open file or memory has.
    fn whole(&self, run: &Run, held: &Held, end: End, warnings: &[Warning]) -> Run {
        let read = self.store.load(&run.meta.id).map(|kept| kept.rounds);
        let known = run.rounds.iter().chain(&held.rounds).cloned();
        let all = read.unwrap_or_default().into_iter().chain(known);
        let rounds: BTreeMap<u32, Round> = all.map(|round| (round.seq, round)).collect();
        let mut whole = Run {
            rounds: rounds.into_values().collect(),
            ..run.clone()
        };
        whole.meta.end = end;
        whole.meta.finished = Some(UnixNanos(sys::clock::wall()));
        whole.meta.warnings.extend_from_slice(warnings);
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
    let pairs: usize = named
        .chain(told.copies.iter().map(|copy| &copy.latency))
        .map(Vec::len)
        .sum();
    let windows = told.windows.len() + told.cpu_windows.len();
    FIXED + pairs * PAIR + windows * size_of::<f64>() + told.copies.len() * (FIXED / 8)
}

/// Writes the run beside the store, or else where the command was typed.
fn written(store: &Path, run: &Run) -> Result<PathBuf, String> {
    let text = store::export::write(run).map_err(|error| error.to_string())?;
    let name = format!("kurabe-rescued-{}.json", run.meta.id);
    let here = std::env::current_dir().ok();
    let dirs = store.parent().map(Path::to_owned).into_iter().chain(here);
    let mut why = String::new();
    for path in dirs.map(|dir| dir.join(&name)) {
        let file = OpenOptions::new().write(true).create_new(true).open(&path);
        match file.and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        }) {
            Ok(()) => return Ok(path),
            Err(error) => why = format!("write `{}`: {error}", path.display()),
        }
    }
    Err(why)
}
