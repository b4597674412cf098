//! Stamping what is written, and judging what is read back.

use super::ledger::{Entry, Ledger};
use crate::storage::verify::{Checked, Damage};
use engine::workload::WorkError;
use model::job::Verify;
use std::path::Path;

/// The checks of one job.
#[derive(Debug)]
pub(super) struct Checks {
    pub(super) how: Verify,
    pub(super) ledger: Ledger,
    /// Mismatches are let pass.
    goes_on: bool,
    /// The number of the next writing.
    writing: u64,
    /// Intervals that were right and that were not.
    right: u64,
    wrong: u64,
    /// The first that was not, in words.
    first: Option<String>,
}

impl Checks {
    /// With room for so many writes that wait to be checked.
    pub(super) fn new(how: &Verify, room: usize, goes_on: bool) -> Self {
        Self {
            how: how.clone(),
            ledger: Ledger::new(room),
            goes_on,
            writing: 0,
            right: 0,
            wrong: 0,
            first: None,
        }
    }

    /// Makes `data`, which goes to `offset`, something that can be checked, and says which writing it is.
    pub(super) fn stamp(&mut self, data: &mut [u8], offset: u64) -> u64 {
        self.writing += 1;
        for (part, at) in data
            .chunks_mut(self.interval())
            .zip((offset..).step_by(self.interval()))
        {
            self.how.method.stamp(part, at, self.writing);
            self.swap(part);
        }
        self.writing
    }

    /// A write is over.
    pub(super) fn wrote(&mut self, entry: Entry) {
        if self.how.reads_back {
            self.ledger.add(entry);
        }
    }

    /// Whether enough was written for a check in between.
    pub(super) fn is_time(&self) -> bool {
        self.how
            .backlog
            .is_some_and(|backlog| self.ledger.len() as u64 >= backlog)
    }

    /// Begins to check: what a check in between takes, or all there is.
    pub(super) fn begin(&mut self, all: bool) {
        let most = self.how.backlog_batch.filter(|_| !all);
        let most = most.and_then(|most| usize::try_from(most).ok());
        self.ledger.begin(most.unwrap_or(usize::MAX));
    }

    /// Judges what was read from `offset` of a file. `writing` is the one that it must be from, where that is known.
    pub(super) fn judge(
        &mut self,
        data: &mut [u8],
        path: &Path,
        offset: u64,
        writing: Option<u64>,
    ) -> Result<(), WorkError> {
        for (part, at) in data
            .chunks_mut(self.interval())
            .zip((offset..).step_by(self.interval()))
        {
            self.swap(part);
            match self.how.method.check(part, at, writing) {
                Ok(()) => self.right += 1,
                Err(damage) => self.mismatch(path, at, &damage)?,
            }
        }
        Ok(())
    }

    #[cold]
    fn mismatch(&mut self, path: &Path, at: u64, damage: &Damage) -> Result<(), WorkError> {
        self.wrong += 1;
        let words = format!("verify `{}` at offset {at}: {damage}", path.display());
        if self.how.is_fatal && !self.goes_on {
            return Err(WorkError::Wrong(words));
        }
        self.first.get_or_insert(words);
        Ok(())
    }

    /// Headers stand elsewhere in their interval.
    fn swap(&self, part: &mut [u8]) {
        let to = usize::try_from(self.how.offset_bytes).unwrap_or(usize::MAX);
        let header = self.how.method.header();
        if to == 0 || part.len() < to.saturating_add(header) {
            return;
        }
        let (head, tail) = part.split_at_mut(to);
        head[..header].swap_with_slice(&mut tail[..header]);
    }

    fn interval(&self) -> usize {
        let bytes = self.how.interval_bytes.unwrap_or(u64::MAX);
        usize::try_from(bytes).unwrap_or(usize::MAX).max(1)
    }

    /// Intervals that were right, and that were not.
    pub(super) const fn counts(&self) -> (u64, u64) {
        (self.right, self.wrong)
    }

    /// Everything has been checked: an error where something was wrong and is not let pass.
    pub(super) fn verdict(&self) -> Result<(), WorkError> {
        match &self.first {
            Some(first) if !self.goes_on && self.wrong > 1 => Err(WorkError::Wrong(format!(
                "{first} (and {} more)",
                self.wrong - 1
            ))),
            Some(first) if !self.goes_on => Err(WorkError::Wrong(first.clone())),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::job::VerifyMethod;

    #[test]
    fn every_interval_has_a_header_of_its_own_wherever_it_stands() {
        for (interval, offset_bytes) in [(4096, 0), (512, 0), (512, 100), (1024, 512)] {
            let how = Verify {
                interval_bytes: Some(interval),
                offset_bytes,
                ..Verify::new(VerifyMethod::Crc32c)
            };
            let mut checks = Checks::new(&how, 1, false);
            let mut data: Vec<u8> = (0..=255).cycle().take(8192).collect();
            let writing = checks.stamp(&mut data, 4096);
            let place = usize::try_from(offset_bytes).unwrap();
            assert_eq!(
                data[place..place + 4],
                [0xca, 0xac, 5, 0],
                "{interval} {offset_bytes}"
            );
            let path = Path::new("f");
            checks
                .judge(&mut data.clone(), path, 4096, Some(writing))
                .unwrap();
            checks.verdict().unwrap();
            let intervals = 8192 / interval;
            assert_eq!(checks.counts(), (intervals, 0));
            data[8191] ^= 1;
            checks.judge(&mut data, path, 4096, None).unwrap();
            assert_eq!(checks.counts(), (2 * intervals - 1, 1));
            let said = checks.verdict().unwrap_err().to_string();
            let at = 4096 + 8192 - interval;
            assert!(said.contains(&format!("`f` at offset {at}")), "{said}");
        }
    }
}
