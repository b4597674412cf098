//! Runs and rounds: written once, read as they were. What lists show of them is in `lines`.

use super::Store;
use super::lines::word;
use crate::codec;
use crate::error::StoreError;
use crate::lean::LeanRound;
use kept::Read;
use model::digest::Digest;
use model::host::HostFacts;
use model::line::Machine;
use model::look::Look;
use model::plan::Plan;
use model::record::{End, Outcome, RECORD_VERSION, Round, Run, RunMeta};
use model::units::UnixNanos;
use model::warning::Warning;
use rusqlite::{OptionalExtension, TransactionBehavior};
use std::fmt::Display;

/// A run without its rounds, as its row holds it.
pub(super) struct RunRow {
    pub(super) key: i64,
    record_version: u32,
    digest: i64,
    pub(super) meta: String,
    pub(super) plan: String,
    pub(super) host: String,
}

/// Rounds whose digests are computed side by side; no more texts than these are held beside what was read.
const ROUNDS_AT_ONCE: usize = 4;

/// A round as its row holds it.
struct KeptRound {
    seq: u32,
    digest: i64,
    text: String,
}

impl Store {
    /// Begins to keep a run. Its id must be new.
    pub fn begin(&self, meta: &RunMeta, plan: &Plan, host: &HostFacts) -> Result<(), StoreError> {
        let failed = |error| self.failed("begin a run", &error);
        let transaction = self
            .transaction(TransactionBehavior::Immediate)
            .map_err(failed)?;
        if self.row(&meta.id).map_err(failed)?.is_some() {
            return Err(StoreError::Taken {
                id: meta.id.clone(),
            });
        }
        self.insert_run(meta, plan, host)?;
        transaction.commit().map_err(failed)
    }

    /// Keeps one round of a run that is going on. When this returns, the round survives the death of the process.
    pub fn append(&self, run: &str, round: &Round) -> Result<(), StoreError> {
        let text = codec::encode_round(round)?;
        let insert = || {
            self.conn()
                .prepare_cached(
                    "INSERT INTO rounds (run, seq, failed, digest, round) \
                     SELECT key, ?2, ?3, ?4, ?5 FROM runs WHERE id = ?1 AND ending = 'open'",
                )?
                .execute((run, round.seq, failed_of(round), digest_of(&[&text]), &text))
        };
        match insert() {
            Ok(1..) => {
                self.kept(run, round.seq);
                Ok(())
            }
            Ok(0) => Err(self.not_open("append a round to", run)),
            Err(error)
                if error.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation) =>
            {
                Err(StoreError::Unkeepable {
                    what: format!("round {} of run `{run}`", round.seq),
                    why: "a round with this number is kept already".to_owned(),
                })
            }
            Err(error) => Err(self.failed("append a round", &error)),
        }
    }

    /// Ends a run: from now on nothing changes it. `warnings` are added to those it has, of an earlier part too. Gives
    /// what it says of itself then.
    pub fn finish(
        &self,
        run: &str,
        finished: UnixNanos,
        end: End,
        warnings: &[Warning],
    ) -> Result<RunMeta, StoreError> {
        let failed = |error| self.failed("finish a run", &error);
        let transaction = self
            .transaction(TransactionBehavior::Immediate)
            .map_err(failed)?;
        let row = self.known_row(run)?;
        let mut meta: RunMeta = self.decode(&format!("run `{run}`"), &row.meta)?;
        if meta.end != End::Open {
            return Err(self.not_open("finish", run));
        }
        meta.finished = Some(finished);
        meta.end = end;
        crate::add_warnings(&mut meta, warnings);
        let text = codec::encode(&format!("run `{run}`"), &meta)?;
        self.conn()
            .execute(
                "UPDATE runs SET finished = ?2, ending = ?3, digest = ?4, meta = ?5 WHERE key = ?1",
                (
                    row.key,
                    instant(finished)?,
                    word(end),
                    digest_of(&[&text, &row.plan, &row.host]),
                    &text,
                ),
            )
            .map_err(failed)?;
        transaction.commit().map_err(failed)?;
        // Folds the log in. Where somebody is just reading it, closing the store does it later: nothing is lost.
        let _ = self.conn().pragma_query(None, "wal_checkpoint", |_| Ok(()));
        Ok(meta)
    }

    /// Notes what is concluded from a run that is over, for lists, which read no rounds. It is the caller's text, and
    /// comes back as it is; going on with the run forgets it.
    pub fn note_brief(&self, run: &str, brief: &str) -> Result<(), StoreError> {
        let noted = self.conn().execute(
            "UPDATE runs SET brief = ?2 WHERE id = ?1 AND ending <> 'open'",
            (run, brief),
        );
        match noted.map_err(|error| self.failed("note what a run says", &error))? {
            0 => Err(self.unknown(run)),
            _ => Ok(()),
        }
    }

    /// Opens a run again that was interrupted, so that more rounds can be appended; a run that was killed is still
    /// open and stays so. A complete run is finished for good. `looks` are those before it and before what comes now.
    pub fn reopen(&self, run: &str, looks: &[Look]) -> Result<(), StoreError> {
        let failed = |error| self.failed("go on with a run", &error);
        let transaction = self
            .transaction(TransactionBehavior::Immediate)
            .map_err(failed)?;
        let row = self.known_row(run)?;
        let mut meta: RunMeta = self.decode(&format!("run `{run}`"), &row.meta)?;
        if meta.end == End::Complete {
            return Err(self.not_open("resume", run));
        }
        meta.end = End::Open;
        meta.finished = None;
        meta.looks = looks.to_vec();
        let text = codec::encode(&format!("run `{run}`"), &meta)?;
        self.conn()
            .execute(
                "UPDATE runs SET finished = NULL, ending = ?2, digest = ?3, meta = ?4, brief = NULL \
                 WHERE key = ?1",
                (
                    row.key,
                    word(End::Open),
                    digest_of(&[&text, &row.plan, &row.host]),
                    &text,
                ),
            )
            .map_err(failed)?;
        transaction.commit().map_err(failed)
    }

    /// The run with this id and all its rounds, in the order in which they ran.
    pub fn load(&self, run: &str) -> Result<Run, StoreError> {
        // One transaction, so that plan and rounds are of the same moment of a run that is going on.
        let _snapshot = self
            .transaction(TransactionBehavior::Deferred)
            .map_err(|error| self.failed("read a run", &error))?;
        self.reading("read a run", || self.load_row(run, &self.known_row(run)?))
    }

    /// Reads a run for a comparison: its rounds are without what each copy did, histograms, notes, and all noise but
    /// who took time, the probes and the clock's, which takes a third of the time.
    pub fn load_to_compare(&self, run: &str) -> Result<Run, StoreError> {
        let _snapshot = self
            .transaction(TransactionBehavior::Deferred)
            .map_err(|error| self.failed("read a run", &error))?;
        self.reading("read a run", || {
            self.load_rounds::<LeanRound>(run, &self.known_row(run)?)
        })
    }

    pub(super) fn insert_run(
        &self,
        meta: &RunMeta,
        plan: &Plan,
        host: &HostFacts,
    ) -> Result<i64, StoreError> {
        let what = format!("run `{}`", meta.id);
        let meta_text = codec::encode(&what, meta)?;
        let plan_text = codec::encode(&format!("the plan of {what}"), plan)?;
        let host_text = codec::encode(&format!("the host facts of {what}"), host)?;
        let asked = codec::encode(&what, &plan.what)?;
        let duel = plan.duel.as_ref();
        let duel = duel.map(|duel| codec::encode(&what, duel)).transpose()?;
        let machine = codec::encode(&what, &Machine::of(host))?;
        self.conn()
            .execute(
                "INSERT INTO runs (id, label, started, finished, ending, what, cases, duel, tail, \
                 machine, record_version, digest, meta, plan, host) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
                (
                    &meta.id,
                    &meta.label,
                    instant(meta.started)?,
                    meta.finished.map(instant).transpose()?,
                    word(meta.end),
                    &asked,
                    u32::try_from(plan.cases.len()).unwrap_or(u32::MAX),
                    &duel,
                    super::find::tail(&meta.id),
                    &machine,
                    RECORD_VERSION,
                    digest_of(&[&meta_text, &plan_text, &host_text]),
                    &meta_text,
                    &plan_text,
                    &host_text,
                ),
            )
            .map_err(|error| self.failed("begin a run", &error))?;
        Ok(self.conn().last_insert_rowid())
    }

    fn load_row(&self, id: &str, row: &RunRow) -> Result<Run, StoreError> {
        self.load_rounds::<Round>(id, row)
    }

    /// The run of a row, each of its rounds read as a `T`.
    fn load_rounds<T: Read + Into<Round>>(
        &self,
        id: &str,
        row: &RunRow,
    ) -> Result<Run, StoreError> {
        let what = format!("run `{id}`");
        let failed = |error| self.failed("read a run", &error);
        let mut statement = self
            .conn()
            .prepare_cached("SELECT seq, digest, round FROM rounds WHERE run = ?1 ORDER BY seq")
            .map_err(failed)?;
        let mut rows = statement.query([row.key]).map_err(failed)?;
        let (mut rounds, mut kept) = (Vec::new(), Vec::new());
        while let Some(row) = rows.next().map_err(failed)? {
            kept.push(KeptRound {
                seq: row.get(0).map_err(failed)?,
                digest: row.get(1).map_err(failed)?,
                text: row.get(2).map_err(failed)?,
            });
            if kept.len() == ROUNDS_AT_ONCE {
                self.decode_rounds::<T>(&what, &mut kept, &mut rounds)?;
            }
        }
        self.decode_rounds::<T>(&what, &mut kept, &mut rounds)?;
        Ok(Run {
            meta: self.decode(&what, &row.meta)?,
            plan: self.decode(&what, &row.plan)?,
            host: self.decode(&what, &row.host)?,
            rounds,
        })
    }

    /// Moves rounds of `run` from `kept` to `rounds`, each checked against its digest.
    fn decode_rounds<T: Read + Into<Round>>(
        &self,
        run: &str,
        kept: &mut Vec<KeptRound>,
        rounds: &mut Vec<Round>,
    ) -> Result<(), StoreError> {
        let digests = match <&[KeptRound; ROUNDS_AT_ONCE]>::try_from(kept.as_slice()) {
            Ok(all) => codec::digest_each(all.each_ref().map(|round| round.text.as_str())).to_vec(),
            Err(_) => kept
                .iter()
                .map(|round| codec::digest(&[&round.text]))
                .collect(),
        };
        for (round, digest) in kept.drain(..).zip(digests) {
            let what = format_args!("round {} of {run}", round.seq);
            self.verify(&what, round.digest, column(digest))?;
            rounds.push(self.decode::<T>(&what, &round.text)?.into());
        }
        Ok(())
    }

    /// The row of a run that must be there, whole, and of the version that we read.
    pub(super) fn known_row(&self, id: &str) -> Result<RunRow, StoreError> {
        let row = self
            .row(id)
            .map_err(|error| self.failed("read a run", &error))?
            .ok_or_else(|| self.unknown(id))?;
        if row.record_version != RECORD_VERSION {
            return Err(StoreError::OtherVersion {
                id: id.to_owned(),
                found: row.record_version,
                known: RECORD_VERSION,
            });
        }
        let texts = [row.meta.as_str(), &row.plan, &row.host];
        self.verify(&format!("run `{id}`"), row.digest, digest_of(&texts))?;
        Ok(row)
    }

    pub(super) fn row(&self, id: &str) -> rusqlite::Result<Option<RunRow>> {
        self.conn()
            .query_row(
                "SELECT key, record_version, digest, meta, plan, host FROM runs WHERE id = ?1",
                [id],
                |row| {
                    Ok(RunRow {
                        key: row.get(0)?,
                        record_version: row.get(1)?,
                        digest: row.get(2)?,
                        meta: row.get(3)?,
                        plan: row.get(4)?,
                        host: row.get(5)?,
                    })
                },
            )
            .optional()
    }

    fn verify(&self, what: &dyn Display, kept: i64, found: i64) -> Result<(), StoreError> {
        if kept == found {
            return Ok(());
        }
        Err(self.damaged(format!("{what} is not what was kept: its digest differs")))
    }

    pub(super) fn decode<T: Read>(&self, what: &dyn Display, text: &str) -> Result<T, StoreError> {
        T::read(text).map_err(|error| self.damaged(format!("{what} cannot be read: {error}")))
    }

    fn damaged(&self, what: String) -> StoreError {
        StoreError::Damaged {
            operation: "read a run".to_owned(),
            path: self.path.clone(),
            what,
        }
    }

    /// Why a run takes no change: it is unknown or finished.
    fn not_open(&self, operation: &str, id: &str) -> StoreError {
        match self.row(id) {
            Ok(Some(_)) => StoreError::Finished {
                operation: operation.to_owned(),
                id: id.to_owned(),
            },
            Ok(None) => self.unknown(id),
            Err(error) => self.failed(operation, &error),
        }
    }
}

/// The column `failed` of a round.
pub(super) const fn failed_of(round: &Round) -> bool {
    matches!(round.outcome, Outcome::Failed(_))
}

/// An instant as SQLite's signed 64 bits, which end in the year 2262.
pub(super) fn instant(at: UnixNanos) -> Result<i64, StoreError> {
    i64::try_from(at.0).map_err(|_| StoreError::Unkeepable {
        what: format!("the instant {} ns after 1970", at.0),
        why: "it is after the year 2262".to_owned(),
    })
}

pub(super) fn digest_of(texts: &[&str]) -> i64 {
    column(codec::digest(texts))
}

/// The digest in SQLite's signed 64 bits, bit for bit.
const fn column(digest: Digest) -> i64 {
    digest.0.cast_signed()
}
