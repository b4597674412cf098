//! Which jobs are figures that people quote of a disk, and what these are called.

use model::headline::{Headline, Topic};
use model::job::{IoEngine, Job, Mix, SyncOn};
use model::units::Bytes;

/// Blocks that people mean who speak of IOPS.
const SMALL: u64 = 4 << 10;

/// Blocks that people mean who speak of bandwidth.
const LARGE: u64 = 1 << 20;

/// Blocks of databases.
const VOLUME: u64 = 8 << 10;

/// As many of them as keep every device busy: what is meant where nothing else is said.
const LARGE_DEPTH: u32 = 8;

/// What the job is called on the first page, where it is one of those figures.
pub(super) fn of(job: &Job) -> Option<Headline> {
    let reads = match job.pattern.mix {
        Mix::Read => true,
        Mix::Write => false,
        Mix::ReadWrite => return mixed(job),
        Mix::Trim | Mix::TrimWrite => return None,
    };
    if job.engine == IoEngine::Null || job.is_rated() {
        return None;
    }
    // What is synced is small where nothing else is said.
    let size = match job.block_bytes {
        SMALL => String::new(),
        bytes => " ".to_owned() + &Bytes(bytes).exact(),
    };
    if !reads && job.fsync_every == 1 {
        let word = format!("fsync{size}");
        return Some(Headline::named(Topic::Syncs, &word).beside("sync_ns_p99"));
    }
    if !reads && job.sync == SyncOn::Dsync {
        let word = format!("O_DSYNC{size}");
        return Some(Headline::named(Topic::Syncs, &word).beside("clat_ns_p99"));
    }
    match (job.direct, job.pattern.random, job.block_bytes) {
        (true, true, SMALL) => {
            let topic = if reads {
                Topic::SmallReads
            } else {
                Topic::SmallWrites
            };
            let word = format!("qd{}", job.depth);
            Some(Headline::named(topic, &word).beside("clat_ns_p99"))
        }
        (true, false, LARGE) => {
            let words = if reads {
                ["read", "読み込み"]
            } else {
                ["write", "書き込み"]
            };
            let depth = match job.depth {
                LARGE_DEPTH => String::new(),
                depth => format!(" qd{depth}"),
            };
            let [en, ja] = words.map(|word| word.to_owned() + &depth);
            Some(Headline::new(Topic::LargeBlocks, [&en, &ja]))
        }
        _ => None,
    }
}

/// Reads and writes of 8 KiB: what is asked of a volume for a database. Of other sizes a page has a table of its own.
fn mixed(job: &Job) -> Option<Headline> {
    let is_usual = job.direct && job.pattern.random && job.engine != IoEngine::Null;
    (is_usual && !job.is_rated() && job.block_bytes == VOLUME).then(|| {
        let (reads, depth) = (job.read_percent, job.depth);
        let words = [
            format!("8k {reads} % read qd{depth}"),
            format!("8k 読み込み {reads} % qd{depth}"),
        ];
        Headline::new(Topic::Storage, words.each_ref().map(String::as_str))
    })
}

#[cfg(test)]
mod tests {
    use super::super::job::from_params;
    use super::super::spec::SPEC;
    use super::*;
    use model::params::Params;

    fn check(params: &[(&str, &str)], expect: Option<(Topic, &str)>) {
        let params = Params::resolve(&SPEC, params.iter().copied()).unwrap();
        let found = of(&from_params(&params));
        let found = found.as_ref().map(|one| (one.topic, one.words[0].as_str()));
        assert_eq!(found, expect, "{params:?}");
    }

    #[test]
    fn what_a_job_is_called_follows_from_what_it_does() {
        check(&[], Some((Topic::SmallReads, "qd1")));
        check(&[("iodepth", "32")], Some((Topic::SmallReads, "qd32")));
        check(&[("bs", "8k")], None);
        check(&[("direct", "no")], None);
        check(&[("ioengine", "null")], None);
        check(&[("rate_iops", "100")], None);
        check(&[("rw", "randwrite")], Some((Topic::SmallWrites, "qd1")));
        check(&[("rw", "randrw")], None);
        let volume = [("rw", "randrw"), ("bs", "8k"), ("iodepth", "8")];
        check(&volume, Some((Topic::Storage, "8k 50 % read qd8")));
        let large = [("rw", "write"), ("bs", "1M"), ("iodepth", "8")];
        check(&large, Some((Topic::LargeBlocks, "write")));
        check(&large[..2], Some((Topic::LargeBlocks, "write qd1")));
        let dsync = [("rw", "randwrite"), ("sync", "dsync")];
        check(&dsync, Some((Topic::Syncs, "O_DSYNC")));
        let fsync = [("rw", "randwrite"), ("direct", "no"), ("fsync", "1")];
        check(&fsync, Some((Topic::Syncs, "fsync")));
        let larger = [
            ("rw", "randwrite"),
            ("bs", "8k"),
            ("direct", "no"),
            ("fsync", "1"),
        ];
        check(&larger, Some((Topic::Syncs, "fsync 8 KiB")));
        let some = [("rw", "randwrite"), ("direct", "no"), ("fsync", "8")];
        check(&some, None);
    }
}
