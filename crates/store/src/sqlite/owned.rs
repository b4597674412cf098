//! What its owner does to a kept run: takes it away, or calls it otherwise. What was measured stays as it is.

use super::Store;
use super::runs::digest_of;
use crate::RunLine;
use crate::codec;
use crate::error::StoreError;
use crate::held::Identity;
use model::record::RunMeta;
use rusqlite::TransactionBehavior;

impl Store {
    /// Removes runs and all their rounds for good: all of them, or none where one is no longer as `runs` say. Their
    /// work directories, if any are noted, stay noted.
    pub fn remove(&self, runs: &[RunLine]) -> Result<(), StoreError> {
        let failed = |error| self.failed("remove a run", &error);
        let transaction = self
            .transaction(TransactionBehavior::Immediate)
            .map_err(failed)?;
        // Somebody may have put another in its place while we waited for the lock.
        self.unmoved("remove a run")?;
        for run in runs {
            let now = self.line(&run.id)?;
            if (now.end, now.rounds, now.started) != (run.end, run.rounds, run.started) {
                let id = run.id.clone();
                return Err(StoreError::GoesOn { id });
            }
            self.conn()
                .execute("DELETE FROM runs WHERE id = ?1", [&run.id])
                .map_err(failed)?;
        }
        transaction.commit().map_err(failed)
    }

    /// Calls a run so, or nothing. What was measured stays as it is.
    pub fn set_label(&self, run: &str, label: Option<&str>) -> Result<(), StoreError> {
        self.change_meta("label a run", run, |meta| {
            meta.label = label.map(str::to_owned);
        })
    }

    /// Says what was rented for a run, or takes that back.
    pub fn set_offer(&self, run: &str, offer: Option<&str>) -> Result<(), StoreError> {
        self.change_meta("name the offer of a run", run, |meta| {
            meta.offer = offer.map(str::to_owned);
        })
    }

    fn change_meta(
        &self,
        operation: &str,
        run: &str,
        change: impl FnOnce(&mut RunMeta),
    ) -> Result<(), StoreError> {
        let failed = |error| self.failed(operation, &error);
        let transaction = self
            .transaction(TransactionBehavior::Immediate)
            .map_err(failed)?;
        self.unmoved(operation)?;
        let row = self.known_row(run)?;
        let mut meta: RunMeta = self.decode(&format!("run `{run}`"), &row.meta)?;
        change(&mut meta);
        let text = codec::encode(&format!("run `{run}`"), &meta)?;
        let digest = digest_of(&[&text, &row.plan, &row.host]);
        self.conn()
            .execute(
                "UPDATE runs SET label = ?2, digest = ?3, meta = ?4 WHERE key = ?1",
                (row.key, &meta.label, digest, &text),
            )
            .map_err(failed)?;
        transaction.commit().map_err(failed)
    }

    /// Refuses to go on where the path leads to another file: its log would be taken for that of ours.
    fn unmoved(&self, operation: &str) -> Result<(), StoreError> {
        if Identity::at(&self.path).ok() == Some(self.file()) {
            return Ok(());
        }
        Err(StoreError::Changed {
            operation: operation.to_owned(),
            path: self.path.clone(),
        })
    }
}
