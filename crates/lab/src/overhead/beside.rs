//! What is measured beside fio, and what must come of it.
//!
//! The two programs take turns on the very same file, in an order that changes from pair to pair, so that what the
//! machine does meanwhile meets both. Two files of one size may differ by any factor on one disk, whoever writes them:
//! fio lays the file out, and this program is allowed to overwrite it. Both programs of a pair are kept to the same
//! CPU, each CPU in turn for two pairs: interrupts of a disk come to one CPU and cost a process there less. Both are
//! told the same, word for word, but for the batches where each is to be at its best; what both write is one pattern,
//! for memory that changes costs the host more than memory that does not; and a ratio is judged where this
//! program kept no less under way ([`super::queue`]), by the median of the pairs' own ratios; every pair is kept.

use super::queue::Queues;
use super::side::{PERCENTILES, Side, Took};
use anyhow::Context;
use serde_json::{Value, json};
use stats::quantile::{mean, median, sorted};
use std::path::Path;

/// One comparison.
#[derive(Debug)]
pub(super) struct Comparison {
    /// By which it is asked for, and what its file is called.
    pub(super) name: &'static str,
    pub(super) what: &'static str,
    pub(super) on: On,
    /// What both programs are told.
    pub(super) words: &'static str,
    /// The batches with which each is at its best: ours, and fio's.
    pub(super) batches: [&'static str; 2],
    pub(super) bounds: &'static [Bound],
}

/// What is worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum On {
    /// Nothing at all.
    Nothing,
    /// The file, past the page cache.
    File,
    /// The part of the file that the page cache holds.
    Cache,
}

/// What must hold of the pairs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Bound {
    /// Operations per second over fio's: the median at least this.
    Iops(f64),
    /// Operations per CPU-second over fio's: the median at least this.
    PerCpu(f64),
    /// Percentiles agree: 1 lies within the ratios of the pairs, widened by the width of a bucket.
    SamePercentiles,
}

/// The widest bucket of fio's histograms, as a share of its value: 64 to the factor of two. Source: fio's documentation
/// of `json+`, and what its reports show.
const BUCKET: f64 = 1.0 / 64.0;

/// The part of the file that is read from the page cache.
const CACHED: &str = "512m";
/// The same in bytes.
pub(super) const CACHED_BYTES: u64 = 512 << 20;

const BATCHES_URING: [&str; 2] = [
    "--iodepth_batch_submit=16 --iodepth_batch_complete_max=8",
    "--iodepth_batch_submit=16 --iodepth_batch_complete_max=16",
];
const BATCHES_LIBAIO: [&str; 2] = ["--iodepth_batch_submit=16 --iodepth_batch_complete_max=16"; 2];

/// What a queue of 32 is measured with.
macro_rules! queue {
    ($rw:literal, $rest:literal) => {
        concat!(
            "--rw=",
            $rw,
            " --bs=4k --iodepth=32 --numjobs=1 --direct=1 --invalidate=1 ",
            $rest
        )
    };
}

/// As both programs come: fio takes one completion and hands over one operation.
const AS_IT_COMES: &[Bound] = &[Bound::Iops(0.98), Bound::PerCpu(1.05)];
/// With the switches that cost either least, batches of 16 among them.
const BEST: &[Bound] = &[Bound::Iops(0.98), Bound::PerCpu(1.0)];

/// Every comparison.
pub(super) const COMPARISONS: &[Comparison] = &[
    Comparison {
        name: "null",
        what: "null engine, 4k randread, iodepth 32, as it comes",
        on: On::Nothing,
        words: "--rw=randread --ioengine=null --bs=4k --iodepth=32",
        batches: [""; 2],
        bounds: &[Bound::PerCpu(5.0)],
    },
    Comparison {
        name: "null-reduced",
        what: "null engine, 4k randread, iodepth 32, norandommap and gtod_reduce",
        on: On::Nothing,
        words: "--rw=randread --ioengine=null --bs=4k --iodepth=32 --norandommap --gtod_reduce=1",
        batches: [""; 2],
        bounds: &[Bound::PerCpu(3.5)],
    },
    Comparison {
        name: "randread-uring-plain",
        what: "4k O_DIRECT randread, iodepth 32, io_uring as it comes",
        on: On::File,
        words: queue!("randread", "--ioengine=io_uring"),
        batches: [""; 2],
        bounds: AS_IT_COMES,
    },
    Comparison {
        name: "randread-uring-best",
        what: "4k O_DIRECT randread, iodepth 32, io_uring with its best switches",
        on: On::File,
        words: queue!(
            "randread",
            "--ioengine=io_uring --fixedbufs --registerfiles --norandommap --gtod_reduce=1"
        ),
        batches: BATCHES_URING,
        bounds: BEST,
    },
    Comparison {
        name: "randread-libaio-plain",
        what: "4k O_DIRECT randread, iodepth 32, libaio as it comes",
        on: On::File,
        words: queue!("randread", "--ioengine=libaio"),
        batches: [""; 2],
        bounds: AS_IT_COMES,
    },
    Comparison {
        name: "randread-libaio-best",
        what: "4k O_DIRECT randread, iodepth 32, libaio with its best switches",
        on: On::File,
        words: queue!(
            "randread",
            "--ioengine=libaio --norandommap --gtod_reduce=1"
        ),
        batches: BATCHES_LIBAIO,
        bounds: BEST,
    },
    Comparison {
        name: "randwrite-uring-plain",
        what: "4k O_DIRECT randwrite, iodepth 32, io_uring as it comes",
        on: On::File,
        words: queue!(
            "randwrite",
            "--buffer_pattern=0x6b757261 --ioengine=io_uring"
        ),
        batches: [""; 2],
        bounds: AS_IT_COMES,
    },
    Comparison {
        name: "randwrite-uring-best",
        what: "4k O_DIRECT randwrite, iodepth 32, io_uring with its best switches",
        on: On::File,
        words: queue!(
            "randwrite",
            "--buffer_pattern=0x6b757261 --ioengine=io_uring --fixedbufs --registerfiles --norandommap --gtod_reduce=1"
        ),
        batches: BATCHES_URING,
        bounds: BEST,
    },
    Comparison {
        name: "randwrite-libaio-plain",
        what: "4k O_DIRECT randwrite, iodepth 32, libaio as it comes",
        on: On::File,
        words: queue!("randwrite", "--buffer_pattern=0x6b757261 --ioengine=libaio"),
        batches: [""; 2],
        bounds: AS_IT_COMES,
    },
    Comparison {
        name: "randwrite-libaio-best",
        what: "4k O_DIRECT randwrite, iodepth 32, libaio with its best switches",
        on: On::File,
        words: queue!(
            "randwrite",
            "--buffer_pattern=0x6b757261 --ioengine=libaio --norandommap --gtod_reduce=1"
        ),
        batches: BATCHES_LIBAIO,
        bounds: BEST,
    },
    Comparison {
        name: "cache-uring",
        what: "page cache, 4k randread, iodepth 32, io_uring with its best switches",
        on: On::Cache,
        words: "--rw=randread --bs=4k --direct=0 --invalidate=0 --iodepth=32 --ioengine=io_uring --fixedbufs \
                --registerfiles --norandommap --gtod_reduce=1",
        batches: BATCHES_URING,
        bounds: &[Bound::Iops(1.0)],
    },
    Comparison {
        name: "cache-psync",
        what: "page cache, 4k randread, psync with norandommap and gtod_reduce",
        on: On::Cache,
        words: "--rw=randread --bs=4k --direct=0 --invalidate=0 --ioengine=psync --norandommap --gtod_reduce=1",
        batches: [""; 2],
        bounds: &[Bound::Iops(1.0)],
    },
    Comparison {
        name: "percentiles-1",
        what: "percentiles of 4k O_DIRECT randread, one at a time",
        on: On::File,
        words: "--rw=randread --bs=4k --direct=1 --ioengine=psync",
        batches: [""; 2],
        bounds: &[Bound::SamePercentiles],
    },
    Comparison {
        name: "percentiles-4",
        what: "percentiles of 4k O_DIRECT randread, iodepth 4",
        on: On::File,
        words: "--rw=randread --bs=4k --direct=1 --iodepth=4 --ioengine=io_uring --fixedbufs --registerfiles",
        batches: [""; 2],
        // Not judged: what a program does between two operations is part of its latencies, and fio does more.
        bounds: &[],
    },
];

/// A ratio of ours to theirs over the pairs, and whether it is what it must be.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Verdict {
    pub(super) figure: String,
    /// Medians of both sides, in the unit of the figure.
    pub(super) ours: f64,
    pub(super) theirs: f64,
    pub(super) ratios: Vec<f64>,
    pub(super) median: f64,
    pub(super) mean: f64,
    /// What it must be, in words.
    pub(super) bound: String,
    pub(super) held: Option<bool>,
}

impl Comparison {
    /// Fio's words without program and time: ours, and fio's.
    pub(super) fn words(&self, file: &Path, size: &str) -> [Vec<String>; 2] {
        let mut words = vec!["--name=t".to_owned()];
        match self.on {
            On::Nothing => words.push("--size=1g".to_owned()),
            On::File => words.push(format!("--size={size}")),
            On::Cache => words.push(format!("--size={CACHED}")),
        }
        if self.on != On::Nothing {
            words.push(format!("--filename={}", file.display()));
        }
        self.batches.map(|batches| {
            let more = [self.words, batches];
            let more = more.into_iter().flat_map(str::split_whitespace);
            words
                .iter()
                .cloned()
                .chain(more.map(str::to_owned))
                .collect()
        })
    }

    /// Whether the file is written to.
    pub(super) fn writes(&self) -> bool {
        self.words
            .split_whitespace()
            .any(|word| word == "--rw=randwrite")
    }

    /// What both kept under way, where they are told a depth.
    pub(super) fn queues(&self, pairs: &[[Took; 2]]) -> Option<Queues> {
        let mut words = self.words.split_whitespace();
        let depth = words.find_map(|word| word.strip_prefix("--iodepth=")?.parse().ok())?;
        let queues = pairs
            .iter()
            .map(|pair| pair.each_ref().map(|took| took.queue.clone()));
        Some(Queues::new(depth, queues.collect()))
    }

    /// What the pairs come to: rates and CPU time of every comparison, and percentiles where both have them. Where both
    /// did not do the same work nothing is judged.
    pub(super) fn verdicts(&self, pairs: &[[Took; 2]]) -> anyhow::Result<Vec<Verdict>> {
        let differ = self.queues(pairs).and_then(|queues| queues.differ());
        let bound = |of: fn(&Bound) -> Option<f64>| self.bounds.iter().find_map(of);
        let iops = bound(|bound| match bound {
            Bound::Iops(least) => Some(*least),
            _ => None,
        });
        let per_cpu = bound(|bound| match bound {
            Bound::PerCpu(least) => Some(*least),
            _ => None,
        });
        let rates = verdict("IOPS", pairs, |took| Some(took.iops), iops);
        let per_second = |took: &Took| Some(1e9 / took.cpu_ns);
        let cpu = verdict("IOPS per CPU-second", pairs, per_second, per_cpu);
        let per_busy_second = |took: &Took| (took.machine_ns > 0.0).then(|| 1e9 / took.machine_ns);
        let busy = verdict(
            "IOPS per busy CPU-second of the machine",
            pairs,
            per_busy_second,
            None,
        );
        let same = self.bounds.contains(&Bound::SamePercentiles);
        let percentiles = PERCENTILES.into_iter().filter_map(|name| {
            let of = |took: &Took| {
                let mut all = took.percentiles.iter();
                Some(all.find(|(known, _)| known == name)?.1)
            };
            let number = name.trim_end_matches('0').trim_end_matches('.');
            let found = verdict(&format!("clat p{number} (ns)"), pairs, of, None)?;
            Some(if same { found.agreeing() } else { found })
        });
        let found: Option<Vec<Verdict>> = [rates, cpu].into_iter().collect();
        let found = found.context("a pair has no rate or no CPU time")?;
        let mut all: Vec<Verdict> = found.into_iter().chain(busy).chain(percentiles).collect();
        if differ.is_some() {
            for verdict in &mut all {
                verdict.held = None;
            }
        }
        Ok(all)
    }
}

/// Measures pairs: ours, then fio's, whoever was first.
pub(super) fn measure(
    [ours, theirs]: [&Side; 2],
    dir: &Path,
    pairs: u32,
    seconds: u32,
) -> anyhow::Result<Vec<[Took; 2]>> {
    let (our_start, their_start) = (ours.start_cost(dir)?, theirs.start_cost(dir)?);
    let cpus = sys::affinity::allowed_cpus().context("ask for our CPUs")?;
    let mut measured = Vec::new();
    for (pair, cpu) in (0..pairs).zip(cpus.iter().flat_map(|cpu| [cpu; 2]).cycle()) {
        // Which CPU a program comes to run on may cost it a third; both get the same one.
        sys::affinity::keep_to(&[*cpu]).context("keep to a CPU")?;
        let our = || ours.work(dir, seconds, our_start);
        let their = || theirs.work(dir, seconds, their_start);
        measured.push(if pair % 2 == 0 {
            let first = our()?;
            [first, their()?]
        } else {
            let first = their()?;
            [our()?, first]
        });
    }
    sys::affinity::keep_to(&cpus).context("leave the CPU")?;
    Ok(measured)
}

/// The ratios of a figure; `None` where a side has none.
fn verdict(
    figure: &str,
    pairs: &[[Took; 2]],
    of: impl Fn(&Took) -> Option<f64>,
    least: Option<f64>,
) -> Option<Verdict> {
    let ours: Vec<f64> = pairs
        .iter()
        .map(|[ours, _]| of(ours))
        .collect::<Option<_>>()?;
    let theirs: Vec<f64> = pairs
        .iter()
        .map(|[_, theirs]| of(theirs))
        .collect::<Option<_>>()?;
    let ratios: Vec<f64> = ours
        .iter()
        .zip(&theirs)
        .map(|(our, their)| our / their)
        .collect();
    let middle = median(&ratios)?;
    Some(Verdict {
        figure: figure.to_owned(),
        ours: median(&ours)?,
        theirs: median(&theirs)?,
        median: middle,
        mean: mean(&ratios)?,
        bound: least.map_or(String::new(), |least| format!("at least {least}")),
        held: least.map(|least| middle >= least),
        ratios,
    })
}

impl Verdict {
    /// The same as one of agreement.
    fn agreeing(mut self) -> Self {
        let ordered = sorted(&self.ratios);
        let (least, most) = (ordered.first(), ordered.last());
        self.bound = format!("1 within the pairs' ratios and {:.1} %", BUCKET * 100.0);
        self.held = least
            .zip(most)
            .map(|(least, most)| least * (1.0 - BUCKET) <= 1.0 && most * (1.0 + BUCKET) >= 1.0);
        self
    }

    /// As it is kept.
    pub(super) fn kept(&self) -> Value {
        json!({
            "figure": self.figure,
            "ours": self.ours,
            "fio": self.theirs,
            "ratios": self.ratios,
            "median": self.median,
            "mean": self.mean,
            "bound": self.bound,
            "held": self.held,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::queue::Queue;
    use super::*;

    fn took(iops: f64, cpu_ns: f64, p50: f64) -> Took {
        Took {
            iops,
            cpu_ns,
            machine_ns: 0.0,
            percentiles: vec![("50.000000".to_owned(), p50)],
            queue: Queue::default(),
        }
    }

    fn of(name: &str) -> &'static Comparison {
        COMPARISONS.iter().find(|one| one.name == name).unwrap()
    }

    #[test]
    fn ratios_are_judged_by_their_median() {
        let pairs = [
            [took(98.0, 10.0, 5.0), took(100.0, 11.0, 5.0)],
            [took(50.0, 10.0, 5.0), took(100.0, 12.0, 5.0)],
            [took(99.0, 10.0, 5.0), took(100.0, 10.0, 5.0)],
        ];
        let verdicts = of("randread-uring-best").verdicts(&pairs).unwrap();
        let held: Vec<_> = verdicts.iter().map(|one| one.held).collect();
        assert_eq!(held, [Some(true), Some(true), None]);
        assert!((verdicts[0].median - 0.98).abs() < 1e-9 && verdicts[0].mean < 0.9);
        let worse = [[took(97.0, 10.0, 5.0), took(100.0, 9.9, 5.0)]];
        let verdicts = of("randread-uring-best").verdicts(&worse).unwrap();
        assert_eq!(
            (verdicts[0].held, verdicts[1].held),
            (Some(false), Some(false))
        );
        assert!(of("null").verdicts(&[]).is_err());
    }

    #[test]
    fn a_batched_queue_beside_a_kept_one_is_not_judged() {
        let kept = |share: f64| Took {
            queue: Queue::of(&json!({"iodepth_level": {"32": share}}), 1.0, Some(20.0)),
            ..took(100.0, 10.0, 5.0)
        };
        let held = |name: &str, ours: f64| {
            let verdicts = of(name).verdicts(&[[kept(ours), kept(100.0)]]).unwrap();
            verdicts.iter().map(|one| one.held).collect::<Vec<_>>()
        };
        let some = [Some(true), Some(false), None];
        assert_eq!(held("randread-uring-plain", 99.0), some);
        assert_eq!(held("randread-uring-plain", 6.0), [None; 3]);
        // Where nothing is queued there is nothing to compare.
        assert_eq!(held("cache-psync", 6.0)[0], Some(true));
    }

    #[test]
    fn percentiles_agree_within_the_noise_and_a_bucket() {
        let check = |ratios: &[f64], expect: bool| {
            let pairs: Vec<_> = ratios
                .iter()
                .map(|ratio| [took(1.0, 1.0, 1000.0 * ratio), took(1.0, 1.0, 1000.0)])
                .collect();
            let verdicts = of("percentiles-1").verdicts(&pairs).unwrap();
            assert_eq!(verdicts[2].held, Some(expect), "{ratios:?}");
        };
        check(&[1.0, 1.0], true);
        check(&[1.01, 1.012], true);
        check(&[0.9, 1.2], true);
        check(&[1.03, 1.2], false);
        check(&[0.9, 0.97], false);
    }

    #[test]
    fn the_queue_of_32_is_compared_on_both_engines_in_both_directions() {
        let all = COMPARISONS
            .iter()
            .filter(|one| one.bounds == AS_IT_COMES || one.bounds == BEST);
        let names: Vec<&str> = all.map(|one| one.name).collect();
        let expect: Vec<String> = ["randread", "randwrite"]
            .iter()
            .flat_map(|rw| {
                ["uring-plain", "uring-best", "libaio-plain", "libaio-best"]
                    .map(|end| format!("{rw}-{end}"))
            })
            .collect();
        assert_eq!(names, expect);
        for one in COMPARISONS {
            for words in one.words(Path::new("/x/f"), "2g") {
                let names_file = words.contains(&"--filename=/x/f".to_owned());
                assert_eq!(names_file, one.on != On::Nothing, "{}", one.name);
            }
        }
    }
}
