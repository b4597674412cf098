//! What is measured beside fio, and what must come of it.
//!
//! The two programs take turns on the very same file, in an order that changes from pair to pair, so that what the
//! machine does meanwhile meets both. Two files of one size may differ by any factor on one disk, whoever writes them:
//! fio lays the file out, and this program is allowed to overwrite it. Both programs of a pair are kept to the same
//! CPU, each CPU in turn for two pairs: interrupts of a disk come to one CPU and cost a process there less. A ratio is
//! judged by the median of the pairs' own ratios; every pair is kept. Where most of what an operation costs is the way
//! to the disk, a bare ring ([`super::floor`]) takes part in every pair and shows what can be reached.

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
    pub(super) both: &'static str,
    /// What fio is told beside.
    pub(super) fio: &'static str,
    /// What this program is told beside.
    pub(super) ours: &'static str,
    pub(super) bounds: &'static [Bound],
    /// How many operations the bare ring waits for together, where it takes part.
    pub(super) floor: Option<u32>,
}

/// What both programs did, and the bare ring where it took part.
#[derive(Debug, Default)]
pub(super) struct Measured {
    /// Ours and fio's.
    pub(super) pairs: Vec<[Took; 2]>,
    /// One for each pair, or none.
    pub(super) floors: Vec<Took>,
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

const BEST: &str = "--ioengine=io_uring --fixedbufs --registerfiles --norandommap --gtod_reduce=1 \
                    --iodepth_batch_submit=16 --iodepth_batch_complete_max=16";
const OURS: &str = "--ioengine=io_uring --fixedbufs --registerfiles";
const NULL: &str = "--rw=randread --ioengine=null --bs=4k --iodepth=32";
const READS: &str = "--rw=randread --bs=4k --iodepth=32 --numjobs=1 --direct=1 --invalidate=1";
const WRITES: &str = "--rw=randwrite --bs=4k --iodepth=32 --numjobs=1 --direct=1 --invalidate=1";
const CACHE: &str = "--rw=randread --bs=4k --direct=0 --invalidate=0";
/// The fewest calls that there can be: one for everything that is under way.
const WHOLE_QUEUE: Option<u32> = Some(32);

/// Every comparison.
pub(super) const COMPARISONS: &[Comparison] = &[
    Comparison {
        name: "null",
        what: "null engine, 4k randread, iodepth 32, fio's defaults",
        on: On::Nothing,
        both: NULL,
        fio: "",
        ours: "",
        bounds: &[Bound::PerCpu(12.0)],
        floor: None,
    },
    Comparison {
        name: "null-reduced",
        what: "null engine, 4k randread, iodepth 32, norandommap and gtod_reduce",
        on: On::Nothing,
        both: NULL,
        fio: "--norandommap --gtod_reduce=1",
        ours: "--norandommap --gtod_reduce=1",
        bounds: &[Bound::PerCpu(8.0)],
        floor: None,
    },
    Comparison {
        name: "randread-best",
        what: "4k O_DIRECT randread, iodepth 32, beside fio's io_uring with its best switches",
        on: On::File,
        both: READS,
        fio: BEST,
        ours: OURS,
        bounds: &[Bound::Iops(0.98), Bound::PerCpu(1.1)],
        floor: WHOLE_QUEUE,
    },
    Comparison {
        name: "randread-libaio",
        what: "4k O_DIRECT randread, iodepth 32, beside fio's libaio",
        on: On::File,
        both: READS,
        fio: "--ioengine=libaio",
        ours: OURS,
        bounds: &[Bound::Iops(0.98), Bound::PerCpu(2.0)],
        floor: WHOLE_QUEUE,
    },
    Comparison {
        name: "randwrite-best",
        what: "4k O_DIRECT randwrite, iodepth 32, beside fio's io_uring with its best switches",
        on: On::File,
        both: WRITES,
        fio: BEST,
        ours: OURS,
        bounds: &[Bound::Iops(0.98), Bound::PerCpu(1.1)],
        floor: WHOLE_QUEUE,
    },
    Comparison {
        name: "randwrite-libaio",
        what: "4k O_DIRECT randwrite, iodepth 32, beside fio's libaio",
        on: On::File,
        both: WRITES,
        fio: "--ioengine=libaio",
        ours: OURS,
        bounds: &[Bound::Iops(0.98), Bound::PerCpu(2.0)],
        floor: WHOLE_QUEUE,
    },
    Comparison {
        name: "cache-uring",
        what: "page cache, 4k randread, iodepth 32, beside fio's io_uring with its best switches",
        on: On::Cache,
        both: CACHE,
        fio: "--iodepth=32 --ioengine=io_uring --fixedbufs --registerfiles --norandommap --gtod_reduce=1 \
              --iodepth_batch_submit=16 --iodepth_batch_complete_max=16",
        ours: "--iodepth=32 --ioengine=io_uring --fixedbufs --registerfiles",
        bounds: &[Bound::Iops(1.0)],
        floor: None,
    },
    Comparison {
        name: "cache-psync",
        what: "page cache, 4k randread, beside fio's psync with norandommap and gtod_reduce",
        on: On::Cache,
        both: CACHE,
        fio: "--ioengine=psync --norandommap --gtod_reduce=1",
        ours: "--ioengine=psync",
        bounds: &[Bound::Iops(1.0)],
        floor: None,
    },
    Comparison {
        name: "percentiles-1",
        what: "percentiles of 4k O_DIRECT randread, one at a time",
        on: On::File,
        both: "--rw=randread --bs=4k --direct=1 --ioengine=psync",
        fio: "",
        ours: "",
        bounds: &[Bound::SamePercentiles],
        floor: None,
    },
    Comparison {
        name: "percentiles-4",
        what: "percentiles of 4k O_DIRECT randread, iodepth 4",
        on: On::File,
        both: "--rw=randread --bs=4k --direct=1 --iodepth=4 --ioengine=io_uring --fixedbufs --registerfiles",
        fio: "",
        ours: "",
        // Not judged: fio hands over one by one, and what it does between two operations is part of its latencies.
        bounds: &[],
        floor: None,
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
    /// Fio's words without program, file and time: of ours, or of fio's.
    pub(super) fn words(&self, is_ours: bool, file: &Path, size: &str) -> Vec<String> {
        let beside = if is_ours { self.ours } else { self.fio };
        let mut words = vec!["--name=t".to_owned()];
        match self.on {
            On::Nothing => words.push("--size=1g".to_owned()),
            On::File => words.push(format!("--size={size}")),
            On::Cache => words.push(format!("--size={CACHED}")),
        }
        if self.on != On::Nothing {
            words.push(format!("--filename={}", file.display()));
        }
        let rest = self
            .both
            .split_whitespace()
            .chain(beside.split_whitespace());
        words.extend(rest.map(str::to_owned));
        words
    }

    /// Whether the file is written to.
    pub(super) fn writes(&self) -> bool {
        self.both
            .split_whitespace()
            .any(|word| word == "--rw=randwrite")
    }

    /// What the pairs come to: rates and CPU time of every comparison, percentiles where both have them, and what a
    /// bare ring comes to in the place of either program.
    pub(super) fn verdicts(&self, measured: &Measured) -> anyhow::Result<Vec<Verdict>> {
        let pairs = &measured.pairs;
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
        let floors = measured.below();
        Ok(found
            .into_iter()
            .chain(busy)
            .chain(percentiles)
            .chain(floors)
            .collect())
    }
}

impl Measured {
    /// The bare ring over fio, and this program over the bare ring.
    fn below(&self) -> Vec<Verdict> {
        let both = || self.pairs.iter().zip(&self.floors);
        let in_our_place: Vec<_> = both()
            .map(|([_, fio], floor)| [floor.clone(), fio.clone()])
            .collect();
        let in_fios_place: Vec<_> = both()
            .map(|([ours, _], floor)| [ours.clone(), floor.clone()])
            .collect();
        let per_second = |took: &Took| Some(1e9 / took.cpu_ns);
        let rate = |took: &Took| Some(took.iops);
        let ours = "in kurabe's place a bare ring";
        let theirs = "in fio's place a bare ring";
        [
            verdict(&format!("IOPS, {ours}"), &in_our_place, rate, None),
            verdict(
                &format!("IOPS per CPU-second, {ours}"),
                &in_our_place,
                per_second,
                None,
            ),
            verdict(&format!("IOPS, {theirs}"), &in_fios_place, rate, None),
            verdict(
                &format!("IOPS per CPU-second, {theirs}"),
                &in_fios_place,
                per_second,
                None,
            ),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// Measures pairs: ours, then fio's, whoever was first, and then the floor where there is one.
pub(super) fn measure(
    [ours, theirs]: [&Side; 2],
    floor: Option<&Side>,
    dir: &Path,
    pairs: u32,
    seconds: u32,
) -> anyhow::Result<Measured> {
    let (our_start, their_start) = (ours.start_cost(dir)?, theirs.start_cost(dir)?);
    let floor = floor.map(|side| anyhow::Ok((side, side.start_cost(dir)?)));
    let floor = floor.transpose()?;
    let cpus = sys::affinity::allowed_cpus().context("ask for our CPUs")?;
    let mut measured = Measured::default();
    for (pair, cpu) in (0..pairs).zip(cpus.iter().flat_map(|cpu| [cpu; 2]).cycle()) {
        // Which CPU a program comes to run on may cost it a third; both get the same one.
        sys::affinity::keep_to(&[*cpu]).context("keep to a CPU")?;
        let our = || ours.work(dir, seconds, our_start);
        let their = || theirs.work(dir, seconds, their_start);
        measured.pairs.push(if pair % 2 == 0 {
            let first = our()?;
            [first, their()?]
        } else {
            let first = their()?;
            [our()?, first]
        });
        if let Some((side, start)) = &floor {
            measured.floors.push(side.work(dir, seconds, *start)?);
        }
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
    use super::*;

    fn took(iops: f64, cpu_ns: f64, p50: f64) -> Took {
        Took {
            iops,
            cpu_ns,
            machine_ns: 0.0,
            percentiles: vec![("50.000000".to_owned(), p50)],
        }
    }

    fn alone(pairs: &[[Took; 2]]) -> Measured {
        Measured {
            pairs: pairs.to_vec(),
            floors: Vec::new(),
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
        let verdicts = of("randread-best").verdicts(&alone(&pairs)).unwrap();
        let held: Vec<_> = verdicts.iter().map(|one| one.held).collect();
        assert_eq!(held, [Some(true), Some(true), None]);
        assert!((verdicts[0].median - 0.98).abs() < 1e-9 && verdicts[0].mean < 0.9);
        let worse = [[took(97.0, 10.0, 5.0), took(100.0, 10.9, 5.0)]];
        let verdicts = of("randread-best").verdicts(&alone(&worse)).unwrap();
        assert_eq!(
            (verdicts[0].held, verdicts[1].held),
            (Some(false), Some(false))
        );
        assert!(of("null").verdicts(&alone(&[])).is_err());
    }

    #[test]
    fn a_bare_ring_says_what_either_program_could_be() {
        let ours_and_fios = [took(90.0, 12.0, 5.0), took(100.0, 24.0, 5.0)];
        let measured = Measured {
            pairs: vec![ours_and_fios],
            floors: vec![took(80.0, 10.0, 5.0)],
        };
        let found = of("randread-libaio").verdicts(&measured).unwrap();
        let of_floor: Vec<_> = found
            .iter()
            .filter(|found| found.figure.contains("bare ring"))
            .map(|found| ((found.median * 1000.0).round(), found.held))
            .collect();
        let expected = [800.0, 2400.0, 1125.0, 833.0].map(|ratio| (ratio, None));
        assert_eq!(of_floor, expected);
        let bare = COMPARISONS.iter().filter(|one| one.floor.is_some());
        assert!(bare.clone().count() == 4 && bare.clone().all(|one| one.on == On::File));
    }

    #[test]
    fn percentiles_agree_within_the_noise_and_a_bucket() {
        let check = |ratios: &[f64], expect: bool| {
            let pairs: Vec<_> = ratios
                .iter()
                .map(|ratio| [took(1.0, 1.0, 1000.0 * ratio), took(1.0, 1.0, 1000.0)])
                .collect();
            let verdicts = of("percentiles-1").verdicts(&alone(&pairs)).unwrap();
            assert_eq!(verdicts[2].held, Some(expect), "{ratios:?}");
        };
        check(&[1.0, 1.0], true);
        check(&[1.01, 1.012], true);
        check(&[0.9, 1.2], true);
        check(&[1.03, 1.2], false);
        check(&[0.9, 0.97], false);
    }

    #[test]
    fn both_programs_work_on_the_same_file() {
        for one in COMPARISONS {
            let name_of = |is_ours| {
                let words = one.words(is_ours, Path::new("/x/f"), "2g");
                words
                    .into_iter()
                    .find(|word| word.starts_with("--filename="))
            };
            assert_eq!(name_of(true), name_of(false), "{}", one.name);
            assert_eq!(
                name_of(true).is_none(),
                one.on == On::Nothing,
                "{}",
                one.name
            );
        }
    }
}
