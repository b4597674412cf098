//! What was written and not yet checked.
//!
//! Room for all of it is taken at set-up, so that no measured operation allocates. A block that was written over, whole
//! or in part, by a later write is not checked: only the last writing can be expected.

/// One write that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Where in the file.
    pub(super) offset: u64,
    /// The writing it is from: later ones have larger numbers.
    pub(super) writing: u64,
    /// Bytes.
    pub(super) len: u32,
    /// The file's number.
    pub(super) file: u16,
    /// Something was written over it.
    pub(super) gone: bool,
}

impl Entry {
    const fn end(&self) -> u64 {
        self.offset + self.len as u64
    }
}

/// The writes, and those of them that are being checked.
#[derive(Clone, Debug)]
pub(super) struct Ledger {
    entries: Vec<Entry>,
    /// How many at the beginning are to be checked now, and how many of them have been handed out.
    due: usize,
    handed: usize,
}

impl Ledger {
    /// With room for so many.
    pub(super) fn new(room: usize) -> Self {
        Self {
            entries: Vec::with_capacity(room),
            due: 0,
            handed: 0,
        }
    }

    /// A write is over.
    #[inline]
    pub(super) fn add(&mut self, entry: Entry) {
        self.entries.push(entry);
    }

    /// How many wait to be checked.
    pub(super) fn len(&self) -> usize {
        self.entries.len() - self.handed
    }

    /// Those that are checked next: at most `most`, the oldest first. Nothing may be under way.
    pub(super) fn begin(&mut self, most: usize) {
        self.entries.drain(..self.handed);
        self.handed = 0;
        self.forget_overwritten();
        self.entries.sort_unstable_by_key(|entry| entry.writing);
        self.due = self.entries.len().min(most);
        // In the order of the file: a disk with a head would take the whole time to seek.
        self.entries[..self.due].sort_unstable_by_key(|entry| (entry.file, entry.offset));
    }

    /// The next one to check.
    pub(super) fn next(&mut self) -> Option<Entry> {
        if self.handed == self.due {
            return None;
        }
        self.handed += 1;
        self.entries.get(self.handed - 1).copied()
    }

    fn forget_overwritten(&mut self) {
        let entries = &mut self.entries;
        let range = |entry: &Entry| (entry.file, entry.offset, entry.len);
        // The same place again and again, as with favourites: the last one did what all of them did.
        entries.sort_unstable_by_key(|entry| (range(entry), std::cmp::Reverse(entry.writing)));
        entries.dedup_by_key(|entry| range(entry));
        for at in 0..entries.len() {
            for other in at + 1..entries.len() {
                let (one, two) = (entries[at], entries[other]);
                if one.file != two.file || one.end() <= two.offset {
                    break;
                }
                let older = if one.writing < two.writing { at } else { other };
                entries[older].gone = true;
            }
        }
        entries.retain(|entry| !entry.gone);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::rng::Rng;

    const fn entry(offset: u64, len: u32, writing: u64) -> Entry {
        Entry {
            offset,
            writing,
            len,
            file: 0,
            gone: false,
        }
    }

    fn checked(ledger: &mut Ledger, most: usize) -> Vec<(u64, u64)> {
        ledger.begin(most);
        std::iter::from_fn(|| ledger.next())
            .map(|entry| (entry.offset, entry.writing))
            .collect()
    }

    #[test]
    fn only_what_is_still_there_whole_is_checked() {
        let check = |entries: &[Entry], expected: &[(u64, u64)]| {
            let mut ledger = Ledger::new(8);
            for entry in entries {
                ledger.add(*entry);
            }
            assert_eq!(checked(&mut ledger, usize::MAX), expected, "{entries:?}");
            assert_eq!(checked(&mut ledger, usize::MAX), [], "each once");
        };
        check(&[entry(8, 4, 1), entry(0, 4, 2)], &[(0, 2), (8, 1)]);
        check(&[entry(0, 4, 1), entry(0, 4, 2), entry(0, 4, 3)], &[(0, 3)]);
        check(&[entry(0, 8, 1), entry(4, 8, 2)], &[(4, 2)]);
        check(&[entry(4, 8, 1), entry(0, 8, 2)], &[(0, 2)]);
        check(
            &[entry(0, 16, 1), entry(4, 4, 2), entry(12, 4, 3)],
            &[(4, 2), (12, 3)],
        );
        check(
            &[entry(0, 16, 9), entry(4, 4, 2), entry(12, 4, 3)],
            &[(0, 9)],
        );
        let elsewhere = Entry {
            file: 1,
            ..entry(0, 4, 2)
        };
        check(&[entry(0, 4, 1), elsewhere], &[(0, 1), (0, 2)]);
    }

    #[test]
    fn a_part_is_checked_oldest_first() {
        let mut ledger = Ledger::new(8);
        [5, 3, 9, 1]
            .into_iter()
            .zip(1..)
            .for_each(|(at, writing)| ledger.add(entry(at * 4, 4, writing)));
        assert_eq!(checked(&mut ledger, 2), [(12, 2), (20, 1)]);
        assert_eq!(ledger.len(), 2);
        ledger.add(entry(4, 4, 5));
        assert_eq!(
            checked(&mut ledger, 9),
            [(4, 5), (36, 3)],
            "written over meanwhile: 4 is gone"
        );
    }

    #[test]
    fn it_agrees_with_a_map_of_bytes() {
        let mut rng = Rng::new(5);
        for case in 0..300 {
            let mut bytes = [0_u64; 64];
            let mut ledger = Ledger::new(64);
            let entries: Vec<Entry> = (1..=rng.below(20) + 1)
                .map(|writing| {
                    let len = rng.below(8) + 1;
                    entry(rng.below(57), u32::try_from(len).unwrap(), writing)
                })
                .collect();
            for entry in &entries {
                let range =
                    usize::try_from(entry.offset).unwrap()..usize::try_from(entry.end()).unwrap();
                bytes[range].fill(entry.writing);
                ledger.add(*entry);
            }
            let whole = |entry: &&Entry| {
                let range =
                    usize::try_from(entry.offset).unwrap()..usize::try_from(entry.end()).unwrap();
                bytes[range].iter().all(|&writing| writing == entry.writing)
            };
            let expected: Vec<u64> = entries
                .iter()
                .filter(whole)
                .map(|entry| entry.writing)
                .collect();
            let mut found: Vec<u64> = checked(&mut ledger, usize::MAX)
                .into_iter()
                .map(|(_, w)| w)
                .collect();
            found.sort_unstable();
            assert_eq!(found, expected, "case {case}");
        }
    }
}
