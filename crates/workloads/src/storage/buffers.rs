//! The memory that a job takes: blocks to write from and to read into, for every operation in flight.

use super::advice::{Advice, hint};
use model::host::HostFacts;
use model::job::{Contents, Job, Mix};

/// Random data that writes take in turn, at least: more than any compressor looks back.
const VARIETY: u64 = 1 << 20;

/// What a process that does a job takes beside its buffers: 4 to 6 MiB were seen, with all latencies.
const PROCESS: u64 = 5 << 20;

/// Whether some of the blocks written equal each other.
pub(super) fn writes_same(job: &Job) -> bool {
    job.writes() && job.redundancy.dedupe_percent > 0
}

/// Blocks in each slot's buffer that writes take in turn.
pub(super) fn turns(job: &Job) -> u32 {
    let takes_turns = matches!(job.contents, Contents::Stamped | Contents::Constant);
    if !job.writes() || job.pattern.mix == Mix::Trim || !takes_turns {
        return 1;
    }
    let in_flight = u64::from(job.depth) * job.size_range().1;
    u32::try_from(VARIETY.div_ceil(in_flight)).unwrap_or(1)
}

/// Bytes of each slot's buffer.
pub(super) fn of_slot(job: &Job) -> u64 {
    let blocks = u64::from(turns(job)) + u64::from(writes_same(job));
    blocks.saturating_mul(job.size_range().1)
}

/// Refuses jobs that together take more memory than this machine has to give.
pub(super) fn have_room<'a>(
    jobs: impl IntoIterator<Item = &'a Job>,
    host: &HostFacts,
) -> Result<(), String> {
    let mut language = None;
    let of = |job: &'a Job| {
        language.get_or_insert(job.language);
        of_slot(job)
            .saturating_mul(u64::from(job.depth))
            .saturating_add(PROCESS)
    };
    let all = jobs.into_iter().map(of).fold(0, u64::saturating_add);
    crate::memory::has_room(host, all).map_err(|why| {
        format!(
            "{why}; {}",
            hint(language.unwrap_or_default(), Advice::Memory)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::job;
    use super::*;
    use model::host::Fact;
    use model::units::Bytes;

    #[test]
    fn jobs_that_take_more_memory_than_there_is_are_refused() {
        let mut host = HostFacts::default();
        host.memory.available = Fact::Known(Bytes(1 << 30));
        let check = |n: usize, set: &[(&str, &str)], fits: bool| {
            let jobs = vec![job(set); n];
            let found = have_room(&jobs, &host);
            assert_eq!(found.is_ok(), fits, "{n} {set:?}: {found:?}");
        };
        let large = [("rw", "read"), ("bs", "1M"), ("iodepth", "32")];
        check(1, &large, true);
        check(24, &large, true);
        check(25, &large, false);
        check(100, &[("rw", "randread"), ("bs", "4k")], true);
        check(1000, &[("rw", "randread"), ("bs", "4k")], false);
        let why = have_room(&vec![job(&large); 1000], &host).unwrap_err();
        assert!(
            why.starts_with("too little memory: 37000 MiB") && why.contains("hint:"),
            "{why}"
        );
    }
}
