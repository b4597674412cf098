//! Stamping what is written, and judging what is read back.
//!
//! A job that judges its own writes knows each of them. One that judges those of an earlier job makes the same writes
//! once more without writing ([`Checks::retrace`]), and asks what is known of them ([`Known`]): a place without a
//! header is damage where there was one for sure, and is else counted by itself. Where the headers tell that another
//! program drew the places, they are searched for from the beginning of each file to its end ([`Checks::searches`]).

use super::known::Known;
use super::ledger::{Entry, Ledger};
use super::missing::Missing;
use crate::storage::verify::{Checked, Damage};
use engine::workload::WorkError;
use model::job::Verify;
use std::path::Path;

/// The checks of one job.
#[derive(Debug)]
pub(super) struct Checks {
    pub(super) how: Verify,
    pub(super) ledger: Ledger,
    known: Known,
    /// Mismatches are let pass.
    goes_on: bool,
    /// The number of the next writing, behind the word of the description.
    writing: u64,
    /// Intervals that were right and that were not.
    right: u64,
    wrong: u64,
    /// The first that was not, in words.
    first: Option<String>,
    missing: Missing,
    /// Places are searched for, because it is another program that drew them.
    is_search: bool,
}

/// What is known of a block that is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    /// This writing of the job's own.
    Writing(u64),
    /// That it was written just now, by this job or one beside it.
    Written,
    /// That a job of the same description wrote it as this writing.
    Retraced(u64),
    /// That it was asked for.
    Any,
}

impl Checks {
    /// With room for so many writes that wait to be checked.
    pub(super) fn new(how: &Verify, room: usize, goes_on: bool, known: Known) -> Self {
        Self {
            how: how.clone(),
            ledger: Ledger::new(room),
            known,
            goes_on,
            writing: u64::from(known.word) << 32,
            right: 0,
            wrong: 0,
            first: None,
            missing: Missing::default(),
            is_search: false,
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

    /// An earlier job has made this write.
    pub(super) fn retrace(&mut self, file: u32, offset: u64, len: u32) {
        self.writing += 1;
        self.ledger.add(Entry {
            offset,
            writing: self.writing,
            len,
            file: u16::try_from(file).unwrap_or(u16::MAX),
            gone: false,
        });
    }

    /// Whether enough was written for a check in between.
    pub(super) fn is_time(&self) -> bool {
        let most = if self.how.only_checks {
            self.known.at_once
        } else {
            self.how.backlog
        };
        most.is_some_and(|most| self.ledger.len() as u64 >= most)
    }

    /// Begins to check: what a check in between takes, or all there is.
    pub(super) fn begin(&mut self, all: bool) {
        let is_part = !all && !self.how.only_checks;
        let most = self.how.backlog_batch.filter(|_| is_part);
        let most = most.and_then(|most| usize::try_from(most).ok());
        self.ledger.begin(most.unwrap_or(usize::MAX));
    }

    /// Judges what was read from `offset` of a file, and says how much of it was dealt with: the rest belongs to a
    /// block that ends behind it.
    pub(super) fn judge(
        &mut self,
        data: &mut [u8],
        path: &Path,
        offset: u64,
        expected: Expected,
    ) -> Result<usize, WorkError> {
        let mut at = 0;
        while at < data.len() {
            let place = offset + at as u64;
            let rest = &data[at..];
            let len = match expected {
                Expected::Writing(_) | Expected::Written => self.interval().min(rest.len()),
                _ => match self.length_of(rest, place) {
                    Some(len) if len > rest.len() => {
                        // A search reads it once more, from its beginning.
                        if at == 0 || !self.is_search {
                            self.missing.larger = self.missing.larger.max(len as u64);
                        }
                        break;
                    }
                    Some(len) => match self.overlaid(&rest[..len], place) {
                        Some(until) if !self.is_last(expected, rest) => {
                            at += until;
                            continue;
                        }
                        _ => len,
                    },
                    None => self.step(rest, place),
                },
            };
            self.judge_block(at, len, data, path, place, expected)?;
            at += len;
        }
        Ok(at)
    }

    fn judge_block(
        &mut self,
        at: usize,
        len: usize,
        data: &mut [u8],
        path: &Path,
        place: u64,
        expected: Expected,
    ) -> Result<(), WorkError> {
        let block = &mut data[at..at + len];
        self.swap(block);
        let (writing, retraced) = match expected {
            Expected::Writing(writing) => (Some(writing), None),
            Expected::Retraced(writing) => (None, Some(writing)),
            Expected::Written => (None, None),
            Expected::Any => (None, Some(0)),
        };
        let method = &self.how.method;
        if retraced.is_some() && method.continues(block) {
            self.right += 1;
            return Ok(());
        }
        match (method.check(block, place, writing), retraced) {
            (Ok(()), None) => self.right += 1,
            (Ok(()), Some(_)) => {
                self.right += 1;
                if let Some(found) = method.writing(block) {
                    if self.known.word > 0 && found >> 32 == u64::from(self.known.word) {
                        self.missing.last_found = self.missing.last_found.max(found);
                    } else {
                        self.missing.has_others = true;
                    }
                }
            }
            (Err(damage), Some(number)) if !self.known.is_certain(method, block, place) => {
                let words = || Self::words(path, place, &damage);
                self.missing.add(number, words);
            }
            (Err(damage), _) => self.mismatch(path, place, &damage)?,
        }
        Ok(())
    }

    /// How long the block is that begins here, from its own header; an interval where those are asked for.
    fn length_of(&self, data: &[u8], place: u64) -> Option<usize> {
        if self.how.interval_bytes.is_some() {
            return Some(self.interval().min(data.len()));
        }
        self.header(data, place)
    }

    /// The length in an intact header.
    fn header(&self, data: &[u8], place: u64) -> Option<usize> {
        let to = usize::try_from(self.how.offset_bytes).ok()?;
        self.how.method.length(data.get(to..)?, place)
    }

    /// Where in a block another one begins: it was written over in part, and the rest of it says nothing.
    fn overlaid(&self, block: &[u8], place: u64) -> Option<usize> {
        let mut inside = (0..block.len()).step_by(self.stride()).skip(1);
        inside.find(|at| self.header(&block[*at..], place + *at as u64).is_some())
    }

    /// Places of blocks are looked for at multiples of this.
    pub(super) fn stride(&self) -> usize {
        self.known.stride.max(1)
    }

    /// Whether it is sure that this very block was the last one to be written there: it says that it is the writing
    /// that is looked for.
    fn is_last(&self, expected: Expected, data: &[u8]) -> bool {
        let to = usize::try_from(self.how.offset_bytes).unwrap_or(usize::MAX);
        let found = data
            .get(to..)
            .and_then(|data| self.how.method.writing(data));
        matches!((expected, found), (Expected::Retraced(number), Some(found)) if number == found)
            && self.known.word > 0
    }

    /// How far it is to the next place where a block may begin, where none begins here.
    fn step(&self, rest: &[u8], place: u64) -> usize {
        if self.is_sure() {
            return rest.len();
        }
        let len = self.known.grain.min(rest.len());
        let mut inside = (0..len).step_by(self.stride()).skip(1);
        let begins = inside.find(|at| self.begins(&rest[*at..len], place + *at as u64));
        begins.unwrap_or(len)
    }

    /// Whether a header is here, or most of one.
    fn begins(&self, data: &[u8], place: u64) -> bool {
        let to = usize::try_from(self.how.offset_bytes).unwrap_or(usize::MAX);
        let method = &self.how.method;
        method.header() > 0
            && data.get(to..).is_some_and(|data| {
                method.length(data, place).is_some() || method.resembles(data, place)
            })
    }

    #[cold]
    fn mismatch(&mut self, path: &Path, at: u64, damage: &Damage) -> Result<(), WorkError> {
        self.wrong += 1;
        let words = Self::words(path, at, damage);
        if self.how.is_fatal && !self.goes_on {
            return Err(WorkError::Wrong(words));
        }
        self.first.get_or_insert(words);
        Ok(())
    }

    fn words(path: &Path, at: u64, damage: &Damage) -> String {
        format!("verify `{}` at offset {at}: {damage}", path.display())
    }

    /// Whether the places that are looked at are those of the job that wrote: its word was found, and no other.
    const fn is_sure(&self) -> bool {
        let missing = &self.missing;
        let is_ours = missing.last_found > 0 && !missing.has_others && missing.larger == 0;
        is_ours && !self.is_search
    }

    /// Whether places have to be searched for; told once.
    pub(super) fn searches(&mut self) -> bool {
        let has_headers = self.how.method.header() > 0;
        let is_left = !self.missing.is_empty() || self.missing.larger > 0;
        let is_unsure = self.how.only_checks && is_left && !self.is_sure();
        if !has_headers || !is_unsure || self.is_search {
            return false;
        }
        self.is_search = true;
        (self.right, self.wrong, self.first) = (0, 0, None);
        self.missing = Missing::default();
        true
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

    /// Places without a block are damage where the last block of the job that wrote lies behind them.
    fn settle(&mut self) {
        let (count, first) = self.missing.take(self.missing.last_found);
        self.wrong += count;
        if count > 0 {
            let words = || format!("verify: {count} places hold no block, and later ones do");
            self.first
                .get_or_insert_with(|| first.unwrap_or_else(words));
        }
    }

    /// What could not be judged, in words.
    pub(super) fn unjudged(&self) -> Option<String> {
        let count = self.missing.count();
        if self.missing.larger > 0 {
            return Some(format!(
                "verify: blocks of up to {} bytes stand there, longer than what is read at a time: not judged",
                self.missing.larger
            ));
        }
        let why = if self.is_sure() {
            "the job that wrote may have ended before"
        } else {
            "another program or other options wrote, and which places they drew is not known"
        };
        (count > 0).then(|| {
            format!("verify: {count} places hold no block of this check and were not judged: {why}")
        })
    }

    /// Everything has been checked: an error where something was wrong and is not let pass, or nothing could be judged.
    pub(super) fn verdict(&mut self) -> Result<(), WorkError> {
        if self.is_sure() {
            self.settle();
        }
        match &self.first {
            Some(first) if !self.goes_on && self.wrong > 1 => Err(WorkError::Wrong(format!(
                "{first} (and {} more)",
                self.wrong - 1
            ))),
            Some(first) if !self.goes_on => Err(WorkError::Wrong(first.clone())),
            None if self.right == 0 => match self.unjudged() {
                Some(why) => Err(WorkError::Failed(format!(
                    "{why}\nhint: check with the options, and the program, that wrote"
                ))),
                None => Ok(()),
            },
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
            let mut checks = Checks::new(&how, 1, false, Known::default());
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
                .judge(&mut data.clone(), path, 4096, Expected::Writing(writing))
                .unwrap();
            checks.verdict().unwrap();
            let intervals = 8192 / interval;
            assert_eq!(checks.counts(), (intervals, 0));
            data[8191] ^= 1;
            checks.judge(&mut data, path, 4096, Expected::Any).unwrap();
            assert_eq!(checks.counts(), (2 * intervals - 1, 1));
            let said = checks.verdict().unwrap_err().to_string();
            let at = 4096 + 8192 - interval;
            assert!(said.contains(&format!("`f` at offset {at}")), "{said}");
        }
    }
}
