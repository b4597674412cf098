//! Where the writes of a job lie: what a later check can know of them without having seen them.

use super::{Job, Mix};

impl Job {
    /// Whether it writes nothing and looks for what an earlier job of the same description wrote.
    pub fn only_checks(&self) -> bool {
        self.verify.as_ref().is_some_and(|how| how.only_checks)
    }

    /// Whether two of its writes have either all of their bytes in common or none: all are of one length, at multiples
    /// of it.
    pub fn writes_coincide(&self) -> bool {
        let (length, largest) = self.size_range();
        let fits = |bytes: u64| length > 0 && bytes.is_multiple_of(length);
        let zones_fit = self
            .zones
            .is_none_or(|zones| fits(zones.range_bytes) && fits(zones.skip_bytes));
        let aligns = self.steps.align_bytes.iter().flatten();
        length == largest
            && !self.steps.is_unaligned
            && fits(self.steps.skip_bytes.unsigned_abs())
            && zones_fit
            && aligns.copied().all(fits)
    }

    /// Whether the same description makes the same writes once more, at least those before an early end.
    pub fn is_replayable(&self) -> bool {
        let is_mixed = self.pattern.mix == Mix::ReadWrite;
        let has_rate = |rate: &super::Rate| rate.iops.is_some() || rate.bytes_per_s.is_some();
        let by_time = is_mixed && self.pacing.rates.iter().any(has_rate);
        self.seed.is_some() && !by_time && (!self.end.time_based || self.writes_coincide())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::{Blocks, End, Pattern, Rate, Verify, VerifyMethod};

    fn job(rw: &str) -> Job {
        Job {
            pattern: Pattern::from_word(rw).unwrap(),
            seed: Some(1),
            end: End {
                time_based: false,
                ..End::default()
            },
            ..Job::default()
        }
    }

    #[test]
    fn what_only_checks_writes_nothing_whatever_it_mixes() {
        for (rw, expected) in [
            ("write", false),
            ("randwrite", false),
            ("rw", false),
            ("randrw", false),
            ("randread", false),
            ("trimwrite", true),
        ] {
            let mut job = job(rw);
            let mut how = Verify::new(VerifyMethod::Crc32c);
            how.only_checks = true;
            job.verify = Some(how);
            assert_eq!(job.writes(), expected, "{rw}");
            job.verify.as_mut().unwrap().only_checks = false;
            assert_eq!(job.writes(), rw != "randread", "{rw}");
        }
    }

    #[test]
    fn what_is_known_of_writes_follows_from_the_description() {
        let check = |rw: &str, change: fn(&mut Job), expected: [bool; 2]| {
            let mut job = job(rw);
            change(&mut job);
            let found = [job.writes_coincide(), job.is_replayable()];
            assert_eq!(found, expected, "{rw} {job:?}");
        };
        let sizes = |job: &mut Job| {
            job.blocks.write = Some(Blocks::Range {
                min_bytes: 4096,
                max_bytes: 16_384,
            });
        };
        check("write", |_| (), [true, true]);
        check("randwrite", |_| (), [true, true]);
        check("randrw", |_| (), [true, true]);
        check("write", sizes, [false, true]);
        let partly = |job: &mut Job| job.end.ops = Some(7);
        check("randwrite", partly, [true, true]);
        check("write", partly, [true, true]);
        let any = |job: &mut Job| job.repeat_blocks = true;
        check("randwrite", any, [true, true]);
        let gaps = |job: &mut Job| job.steps.skip_bytes = 2048;
        check("write", gaps, [false, true]);
        let fresh = |job: &mut Job| job.seed = None;
        check("randwrite", fresh, [true, false]);
        let rated = |job: &mut Job| {
            job.pacing.rates.write = Rate {
                iops: Some(9),
                ..Rate::default()
            };
        };
        check("randrw", rated, [true, false]);
        check("write", rated, [true, true]);
        let again = |job: &mut Job| {
            job.end.time_based = true;
            job.blocks.write = Some(Blocks::Split(vec![(4096, 50.0), (8192, 50.0)]));
        };
        check("randwrite", again, [false, false]);
    }
}
