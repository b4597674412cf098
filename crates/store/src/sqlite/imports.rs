//! Runs from elsewhere: kept in one transaction, one round in memory at a time.

use super::Store;
use super::runs::{RunRow, digest_of, failed_of};
use crate::codec;
use crate::error::StoreError;
use crate::export::Export;
use model::host::HostFacts;
use model::plan::Plan;
use model::record::{Round, Run, RunMeta};
use rusqlite::{OptionalExtension as _, TransactionBehavior};

/// Gives rounds, in their order, to what takes them.
type Feed<'a> =
    &'a dyn Fn(&mut dyn FnMut(&Round) -> Result<(), StoreError>) -> Result<(), StoreError>;

impl Store {
    /// Keeps a run that was measured elsewhere; true where it was new, false where exactly this run was kept
    /// already. A different run under the same id is refused.
    pub fn import(&self, run: &Run) -> Result<bool, StoreError> {
        self.import_from(run, run.rounds.len(), &|take| {
            run.rounds.iter().try_for_each(take)
        })
    }

    /// Keeps the run of an export, likewise.
    pub fn import_export(&self, export: &Export) -> Result<bool, StoreError> {
        self.import_from(export.run(), export.rounds(), &|take| export.each(take))
    }

    /// Keeps `run` with the rounds that `feed` gives, one at a time.
    fn import_from(&self, run: &Run, count: usize, feed: Feed<'_>) -> Result<bool, StoreError> {
        let failed = |error| self.failed("import a run", &error);
        let transaction = self
            .transaction(TransactionBehavior::Immediate)
            .map_err(failed)?;
        let id = &run.meta.id;
        if let Some(row) = self.row(id).map_err(failed)? {
            return if self.has_same(&row, run, count, feed)? {
                Ok(false)
            } else {
                Err(StoreError::Taken { id: id.clone() })
            };
        }
        let key = self.insert_run(&run.meta, &run.plan, &run.host)?;
        let mut insert = self
            .conn()
            .prepare_cached(
                "INSERT INTO rounds (run, seq, failed, digest, round) VALUES (?1, ?2, ?3, ?4, ?5)",
            )
            .map_err(failed)?;
        let mut last = None;
        feed(&mut |round| {
            if last.replace(round.seq) >= Some(round.seq) {
                return Err(StoreError::Unkeepable {
                    what: format!("run `{id}`"),
                    why: format!("its round {} is not in order", round.seq),
                });
            }
            let text = codec::encode_round(round)?;
            insert
                .execute((key, round.seq, failed_of(round), digest_of(&[&text]), &text))
                .map(drop)
                .map_err(failed)
        })?;
        transaction.commit().map_err(failed)?;
        Ok(true)
    }

    /// Whether the kept run of this row is the same as `run` with the rounds of `feed`, whatever it is called here.
    fn has_same(
        &self,
        row: &RunRow,
        run: &Run,
        count: usize,
        feed: Feed<'_>,
    ) -> Result<bool, StoreError> {
        let failed = |error| self.failed("read a run", &error);
        let what = format!("run `{}`", run.meta.id);
        let kept_meta = RunMeta {
            label: run.meta.label.clone(),
            ..self.decode(&what, &row.meta)?
        };
        let frame = kept_meta == run.meta
            && self.decode::<Plan>(&what, &row.plan)? == run.plan
            && self.decode::<HostFacts>(&what, &row.host)? == run.host;
        let kept: i64 = self
            .conn()
            .query_row(
                "SELECT count(*) FROM rounds WHERE run = ?1",
                [row.key],
                |row| row.get(0),
            )
            .map_err(failed)?;
        let mut same = frame && usize::try_from(kept) == Ok(count);
        if !same {
            return Ok(false);
        }
        let mut one = self
            .conn()
            .prepare_cached("SELECT round FROM rounds WHERE run = ?1 AND seq = ?2")
            .map_err(failed)?;
        feed(&mut |round| {
            let text: Option<String> = one
                .query_row((row.key, round.seq), |row| row.get(0))
                .optional()
                .map_err(failed)?;
            let kept = text
                .map(|text| self.decode::<Round>(&what, &text))
                .transpose()?;
            same &= kept.as_ref() == Some(round);
            Ok(())
        })?;
        Ok(same)
    }
}
