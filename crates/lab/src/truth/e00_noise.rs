//! E0: what the machine does while nothing is measured.

use super::book::Book;
use super::check::{Check, percent};
use super::lab::Lab;
use anyhow::Context;
use model::num::approx;
use stats::quantile;
use sys::clock::{monotonic, sleep};
use sys::counters::{self, CpuTicks};
use sys::tree::Tree;

/// How long one look for gaps lasts, and the rest behind it: the log costs a tenth of one CPU.
const PROBE_NS: u64 = 100_000_000;
const REST_NS: u64 = 900_000_000;

/// The experiment.
pub(super) fn run(lab: &Lab, book: &Book) -> anyhow::Result<Vec<Check>> {
    let log = log(lab.options.noise, book)?;
    Ok(vec![
        Check::reported(
            "time lost in gaps above 5 us, median second",
            percent(log.gaps),
        ),
        Check::reported("the same, worst second", percent(log.gaps_worst)),
        Check::reported("steal, of the time that was demanded", percent(log.steal)),
        Check::reported("CPUs busy with other things", format!("{:.2}", log.busy)),
    ])
}

/// A noise log in four figures.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Log {
    /// Share of a second lost in gaps: the median.
    pub(crate) gaps: f64,
    /// The worst.
    gaps_worst: f64,
    /// Steal as a share of demanded time.
    pub(crate) steal: f64,
    /// CPUs that were busy, our own probe left out.
    pub(crate) busy: f64,
}

/// Looks once a second for `seconds`.
pub(crate) fn log(seconds: u64, book: &Book) -> anyhow::Result<Log> {
    let tree = Tree::real();
    let ticks = || counters::cpu(&tree).context("read /proc/stat");
    let per_second = approx(sys::probe::ticks_per_second().context("ask for the tick rate")?);
    let (before, start) = (ticks()?, monotonic());
    let mut gaps = Vec::new();
    let mut own = 0.0;
    for second in 0..seconds.max(1) {
        if sys::signal::interrupted().is_some() {
            anyhow::bail!("interrupted");
        }
        let found = sys::clock::gaps(PROBE_NS);
        let share = approx(found.lost) / approx(found.wall.max(1));
        own += approx(found.wall - found.lost.min(found.wall)) / 1e9;
        book.sample(
            "second,gap_share",
            &[second.to_string(), format!("{share:.5}")],
        );
        gaps.push(share);
        sleep(REST_NS);
    }
    let (used, wall) = (since(before, ticks()?), approx(monotonic() - start) / 1e9);
    let [working, stolen] = used.map(|ticks| approx(ticks) / per_second);
    Ok(Log {
        gaps: quantile::median(&gaps).context("no second was looked at")?,
        gaps_worst: gaps.iter().copied().fold(0.0, f64::max),
        steal: stolen / (stolen + working).max(1.0 / per_second),
        busy: ((working - own) / wall).max(0.0),
    })
}

/// Ticks of work and of steal between two readings.
fn since(before: CpuTicks, after: CpuTicks) -> [u64; 2] {
    let work = |ticks: CpuTicks| ticks.user + ticks.nice + ticks.system + ticks.irq + ticks.softirq;
    [
        work(after).saturating_sub(work(before)),
        after.steal.saturating_sub(before.steal),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_and_steal_are_kept_apart() {
        let before = CpuTicks::default();
        let after = CpuTicks {
            user: 5,
            softirq: 2,
            idle: 100,
            steal: 3,
            ..before
        };
        assert_eq!(since(before, after), [7, 3]);
    }
}
