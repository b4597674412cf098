//! Runs as lists show them: what a row says without its rounds.

use super::Store;
use super::find::tail;
use crate::RunLine;
use crate::error::StoreError;
use kept::Read;
use model::plan::Duel;
use model::record::End;
use model::units::UnixNanos;
use rusqlite::{OptionalExtension, Row};

/// The columns of a line, its offer in the last one, and before it whether the tail of its id means something else
/// too: the tail of another one, a label, or the beginning of an id, behind which stand digits and `-` alone, all
/// of them before `:`.
macro_rules! lines {
    ($which:literal) => {
        concat!(
            "SELECT id, label, started, finished, ending, what, cases, duel, \
             machine, brief, \
             (SELECT count(*) FROM rounds WHERE run = key), \
             (SELECT count(*) FROM rounds WHERE run = key AND failed = 1), \
             EXISTS (SELECT 1 FROM runs AS other WHERE other.tail = runs.tail AND other.id <> runs.id) \
             OR EXISTS (SELECT 1 FROM runs AS other WHERE other.label = runs.tail) \
             OR EXISTS (SELECT 1 FROM runs AS other WHERE other.id >= runs.tail AND other.id < runs.tail || ':'), \
             iif(json_valid(meta), meta ->> 'offer', NULL) \
             FROM runs ",
            $which
        )
    };
}

/// Those of the latest runs.
pub(super) const LINES: &str = lines!("ORDER BY started DESC, id DESC LIMIT ?1");

/// That of one run.
pub(super) const LINE: &str = lines!("WHERE id = ?1");

impl Store {
    /// Every run without its rounds, the latest first. No round is read for it, whatever their number.
    pub fn list(&self) -> Result<Vec<RunLine>, StoreError> {
        self.lines(-1)
    }

    /// The latest `most` of them, read without the others.
    pub fn latest(&self, most: u32) -> Result<Vec<RunLine>, StoreError> {
        self.lines(i64::from(most))
    }

    /// So many lines; a negative number means all.
    fn lines(&self, most: i64) -> Result<Vec<RunLine>, StoreError> {
        let read = || -> rusqlite::Result<Vec<RunLine>> {
            let mut statement = self.conn().prepare(LINES)?;
            let rows = statement.query_map([most], line)?;
            rows.collect()
        };
        self.reading("list the runs", || {
            let mut lines = read().map_err(|error| self.failed("list the runs", &error))?;
            for line in lines.iter_mut().filter(|line| line.short.is_empty()) {
                line.short = self.shortest(&line.id);
            }
            Ok(lines)
        })
    }

    /// The run with this id without its rounds.
    pub fn line(&self, run: &str) -> Result<RunLine, StoreError> {
        self.reading("read a run", || {
            self.find_line(run)?.ok_or_else(|| self.unknown(run))
        })
    }

    /// The other side of the duel that `run` is one side of, where it is kept too. Its id is the same but for the
    /// letter at its end.
    pub fn other_side(&self, run: &str, duel: &Duel) -> Result<Option<RunLine>, StoreError> {
        let other = if duel.side == "a" { "b" } else { "a" };
        let base = run.strip_suffix(&duel.side).unwrap_or(run);
        let found = self.reading("read a run", || self.find_line(&format!("{base}{other}")))?;
        let is_other = |line: &RunLine| {
            let found = line.duel.as_ref();
            found.is_some_and(|found| found.id == duel.id && found.side == other)
        };
        Ok(found.filter(is_other))
    }

    fn find_line(&self, run: &str) -> Result<Option<RunLine>, StoreError> {
        let read = || -> rusqlite::Result<Option<RunLine>> {
            let mut statement = self.conn().prepare_cached(LINE)?;
            statement.query_row([run], line).optional()
        };
        let found = read().map_err(|error| self.failed("read a run", &error))?;
        Ok(found.map(|line| match line.short.as_str() {
            "" => RunLine {
                short: self.shortest(&line.id),
                ..line
            },
            _ => line,
        }))
    }
}

/// The line of a row; its short id is empty where the tail is none.
fn line(row: &Row<'_>) -> rusqlite::Result<RunLine> {
    let ending: String = row.get(4)?;
    let what: String = row.get(5)?;
    let duel: Option<String> = row.get(7)?;
    let machine: String = row.get(8)?;
    let id: String = row.get(0)?;
    let is_shared: bool = row.get(12)?;
    let damaged = |at: usize, error: Box<dyn std::error::Error + Send + Sync>| {
        rusqlite::Error::FromSqlConversionFailure(at, rusqlite::types::Type::Text, error)
    };
    Ok(RunLine {
        short: if is_shared {
            String::new()
        } else {
            tail(&id).to_owned()
        },
        id,
        label: row.get(1)?,
        started: from_column(2, row.get(2)?)?,
        finished: row
            .get::<_, Option<i64>>(3)?
            .map(|finished| from_column(3, finished))
            .transpose()?,
        end: ending_of(&ending).ok_or_else(|| damaged(4, ending.into()))?,
        what: Read::read(&what).map_err(|error| damaged(5, error.into()))?,
        cases: row.get(6)?,
        duel: duel
            .map(|duel| Read::read(&duel))
            .transpose()
            .map_err(|error| damaged(7, error.into()))?,
        machine: Read::read(&machine).map_err(|error| damaged(8, error.into()))?,
        brief: row.get(9)?,
        rounds: row.get(10)?,
        failed: row.get(11)?,
        offer: row.get(13)?,
    })
}

/// How a run ended, as the column `ending` has it.
pub(super) const fn word(end: End) -> &'static str {
    match end {
        End::Open => "open",
        End::Complete => "complete",
        End::Interrupted => "interrupted",
    }
}

fn ending_of(text: &str) -> Option<End> {
    [End::Open, End::Complete, End::Interrupted]
        .into_iter()
        .find(|&end| word(end) == text)
}

/// An instant out of its column; a negative one is damage.
fn from_column(at: usize, instant: i64) -> rusqlite::Result<UnixNanos> {
    u64::try_from(instant)
        .map(UnixNanos)
        .map_err(|_| rusqlite::Error::IntegralValueOutOfRange(at, instant))
}
