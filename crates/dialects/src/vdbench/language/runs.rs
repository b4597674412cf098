//! Run definitions become runs: each loop goes through its values, in the order in which the loops stand, and within
//! them the rates.

use super::definitions::{Definition, Definitions, Setting};
use super::error::Error;
use super::raw::{self, Part};
use super::value::{Value, seconds, size};
use super::words::{self, Kind, Takes};
use super::{PARTS_MAX, RUNS_MAX, files};
use crate::fio::Place;
use model::fileset::FileWork;
use model::job::Arrivals;

/// One run.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The name of its definition.
    pub name: String,
    /// Where that stands.
    pub place: Place,
    /// What its loops stand at, in order: word and value.
    pub loops: Vec<(&'static str, String)>,
    /// How fast.
    pub rate: Rate,
    /// Whether the definition has several rates.
    pub is_one_of_rates: bool,
    /// How long.
    pub times: Times,
    /// When operations of a rate arrive.
    pub arrivals: Arrivals,
    /// It ends when so many bytes were moved.
    pub max_data: Option<u64>,
    /// What is done.
    pub work: Work,
}

/// How fast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// As fast as it goes.
    Max,
    /// Operations per second.
    Fixed(u64),
    /// A share in per cent of what another run came to: its number in the plan, from 0.
    OfMax {
        /// The share.
        percent: u32,
        /// The other run.
        of: usize,
    },
}

/// How long, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// Behind the warm-up.
    pub elapsed: u64,
    /// How often it is reported.
    pub interval: u64,
    /// What is not counted: the first interval, where no warm-up is asked for.
    pub warmup: Option<u64>,
}

/// What is done.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// On storages: workloads at the same time, each on one of them.
    Raw(Vec<Part>),
    /// On file sets.
    Files(Box<FileWork>),
}

impl Times {
    /// What is left out before figures count, in seconds.
    pub const fn before(self) -> u64 {
        match self.warmup {
            Some(warmup) if warmup > 0 => warmup,
            _ => self.interval,
        }
    }

    /// What figures are of, in seconds.
    pub const fn counted(self) -> u64 {
        match self.warmup {
            Some(warmup) if warmup > 0 => self.elapsed,
            _ => self.elapsed - self.interval,
        }
    }

    /// The intervals that figures are of: the first and the last one.
    pub const fn averaged(self) -> (u64, u64) {
        let before = self.before().div_ceil(self.interval);
        (before + 1, before + self.counted() / self.interval)
    }
}

impl Rate {
    /// As reports say it.
    pub fn in_words(self) -> String {
        match self {
            Self::Max => "Uncontrolled MAX".to_owned(),
            Self::Fixed(rate) => rate.to_string(),
            Self::OfMax { percent, .. } => format!("{percent}% of MAX"),
        }
    }
}

impl Run {
    /// What its loops stand at, as reports say it, its rate among them where the definition has several; `None` where
    /// there are no loops.
    pub fn loops_in_words(&self) -> Option<String> {
        let loops = self.loops.iter().map(|(word, value)| {
            let word = word.strip_prefix("for").unwrap_or(word);
            format!("{word}={value}")
        });
        let rate_word = match self.work {
            Work::Raw(_) => "iorate",
            Work::Files(_) => "fwdrate",
        };
        let rate = self.is_one_of_rates.then(|| match self.rate {
            Rate::Max => format!("{rate_word}=max"),
            Rate::Fixed(rate) => format!("{rate_word}={rate}"),
            Rate::OfMax { percent, .. } => format!("{rate_word}={percent}%"),
        });
        let all: Vec<String> = loops.chain(rate).collect();
        (!all.is_empty()).then(|| all.join(" "))
    }

    /// The threads of a run on storages, where all have as many; of one on file sets those of all workloads.
    pub fn threads(&self) -> Option<u32> {
        match &self.work {
            Work::Raw(parts) => {
                let first = parts.first()?.threads_of_storage;
                let same = parts.iter().all(|part| part.threads_of_storage == first);
                same.then_some(first)
            }
            Work::Files(work) => Some(work.tasks.iter().map(|task| task.threads).sum()),
        }
    }
}

/// What the loops of a definition stand at.
#[derive(Clone, Debug, Default)]
pub(super) struct Standing {
    pub(super) loops: Vec<(&'static str, String)>,
}

impl Standing {
    /// The value of a loop, where the definition has it.
    pub(super) fn of(&self, word: &str) -> Option<&str> {
        let found = self.loops.iter().find(|(name, _)| *name == word);
        found.map(|(_, value)| value.as_str())
    }
}

/// All runs, in order.
pub(super) fn of(definitions: &mut Definitions) -> Result<Vec<Run>, Error> {
    let rds: Vec<Definition> = definitions.of(Kind::Rd).cloned().collect();
    if rds.is_empty() {
        let what = "no run definition was found".to_owned();
        return Err(Error::Nothing { what });
    }
    let mut runs = Vec::new();
    let mut parts = 0;
    for rd in &rds {
        of_definition(rd, definitions, (&mut runs, &mut parts))?;
    }
    Ok(runs)
}

fn of_definition(
    rd: &Definition,
    definitions: &mut Definitions,
    (runs, parts): (&mut Vec<Run>, &mut usize),
) -> Result<(), Error> {
    let loops = loops(rd)?;
    let is_raw = is_raw(rd)?;
    check_side(rd, is_raw, definitions)?;
    let rates = rates(rd, if is_raw { "iorate" } else { "fwdrate" });
    let combinations = loops.iter().map(|(_, values)| values.len() as u64);
    let number = combinations
        .chain([rates.len() as u64, 1])
        .fold(1_u64, u64::saturating_mul)
        .saturating_add(runs.len() as u64);
    if number > RUNS_MAX {
        return Err(Error::TooMuch {
            place: rd.place.clone(),
            found: number.to_string(),
            what: "runs come of the loops and rates of all run definitions",
            limit: RUNS_MAX,
        });
    }
    let times = times(rd)?;
    for standing in standings(&loops) {
        let first = runs.len();
        for asked in &rates {
            let rate = match asked {
                Asked::Max => Rate::Max,
                Asked::Fixed(rate) => Rate::Fixed(*rate),
                Asked::Point(percent) => Rate::OfMax {
                    percent: *percent,
                    of: first,
                },
            };
            let work = if is_raw {
                Work::Raw(raw::parts(rd, &standing, rate, definitions)?)
            } else {
                let what = (rd, &standing);
                Work::Files(Box::new(files::work(what, (rate, times), definitions)?))
            };
            *parts += match &work {
                Work::Raw(parts) => parts.len(),
                Work::Files(work) => work.tasks.len(),
            };
            if *parts > PARTS_MAX {
                return Err(Error::TooMuch {
                    place: rd.place.clone(),
                    found: parts.to_string(),
                    what: "workloads come of all runs together",
                    limit: PARTS_MAX as u64,
                });
            }
            runs.push(Run {
                name: rd.name.clone(),
                place: rd.place.clone(),
                loops: standing.loops.clone(),
                rate,
                is_one_of_rates: rates.len() > 1,
                times,
                arrivals: arrivals(rd),
                max_data: rd.get("maxdata").and_then(|own| size(own.value.word()?)),
                work,
            });
        }
    }
    Ok(())
}

/// Words of storages say nothing of file sets, and the other way round.
fn check_side(rd: &Definition, is_raw: bool, definitions: &Definitions) -> Result<(), Error> {
    let (own, reason) = if is_raw {
        (
            Kind::Wd,
            "it is about file sets, and this run is on storages",
        )
    } else {
        (
            Kind::Fwd,
            "it is about storages, and this run is on file sets",
        )
    };
    let is_foreign = |setting: &&Setting| setting.word.only.is_some_and(|side| side != own);
    let mut all = definitions.general.iter().chain(&rd.settings);
    all.find(is_foreign).map_or(Ok(()), |setting| {
        Err(Error::Refused {
            place: setting.place.clone(),
            word: setting.word.name.to_owned(),
            reason,
            instead: None,
        })
    })
}

/// Whether it is on storages.
fn is_raw(rd: &Definition) -> Result<bool, Error> {
    match (rd.get("wd"), rd.get("fwd")) {
        (Some(_), None) => Ok(true),
        (None, Some(_)) => Ok(false),
        (Some(_), Some(_)) => Err(rd.error("`wd` and `fwd` do not go together")),
        (None, None) => Err(rd.error("it names no workload\nhint: `wd=wd*` or `fwd=fwd*`")),
    }
}

/// The loops of a definition with their values, in the order in which they stand.
fn loops(rd: &Definition) -> Result<Vec<(&'static str, Vec<String>)>, Error> {
    let mut all: Vec<(&'static str, Vec<String>)> = Vec::new();
    for setting in &rd.settings {
        let Takes::Loop(of) = &setting.word.takes else {
            continue;
        };
        let values =
            words::values(of, &setting.value).ok_or_else(|| rd.error("a loop is over nothing"))?;
        all.push((setting.word.name, values));
    }
    Ok(all)
}

/// Every combination, the last loop the fastest.
fn standings(loops: &[(&'static str, Vec<String>)]) -> Vec<Standing> {
    let mut all = vec![Standing::default()];
    for (word, values) in loops {
        let with = |standing: Standing| {
            values.iter().map(move |value| {
                let mut next = standing.clone();
                next.loops.push((*word, value.clone()));
                next
            })
        };
        all = all.into_iter().flat_map(with).collect();
    }
    all
}

/// A rate as it was asked for.
enum Asked {
    Max,
    Fixed(u64),
    Point(u32),
}

/// The rates of a definition: of a curve the maximum first.
fn rates(rd: &Definition, word: &str) -> Vec<Asked> {
    let Some(value) = rd.get(word).map(|setting| &setting.value) else {
        return vec![Asked::Max];
    };
    match value.word() {
        Some("max") => vec![Asked::Max],
        Some("curve") => {
            let points = rd.get("curve").map(|setting| setting.value.clone());
            let usual = ["10", "50", "70", "80", "90", "100"].map(|n| Value::One(n.to_owned()));
            let points = points.unwrap_or_else(|| Value::Many(usual.into()));
            let points = super::value::steps(&points, words::point).unwrap_or_default();
            let percent = points.iter().filter_map(|point| words::point(point));
            let percent = percent.filter_map(|point| u32::try_from(point).ok());
            std::iter::once(Asked::Max)
                .chain(percent.map(Asked::Point))
                .collect()
        }
        _ => words::rates(value)
            .unwrap_or_default()
            .into_iter()
            .map(Asked::Fixed)
            .collect(),
    }
}

fn times(rd: &Definition) -> Result<Times, Error> {
    let of = |word: &str| {
        rd.get(word)
            .and_then(|setting| seconds(setting.value.word()?))
    };
    let elapsed = of("elapsed").unwrap_or(30);
    let interval = of("interval").unwrap_or(1);
    let bad = |word: &str, expected: String| {
        let setting: Option<&Setting> = rd.get(word);
        Error::BadValue {
            place: setting.map_or_else(|| rd.place.clone(), |setting| setting.place.clone()),
            word: word.to_owned(),
            value: setting.map_or_else(String::new, |setting| setting.value.to_string()),
            expected,
        }
    };
    if interval == 0 {
        return Err(bad("interval", "expected at least a second".to_owned()));
    }
    if elapsed < interval.saturating_mul(2) {
        let least = interval.saturating_mul(2);
        let word = if rd.get("elapsed").is_some() {
            "elapsed"
        } else {
            "interval"
        };
        let expected = format!(
            "a run has two intervals at least: {least} s of `elapsed`, which is {elapsed} s"
        );
        return Err(bad(word, expected));
    }
    Ok(Times {
        // Whole intervals, as reports have them.
        elapsed: elapsed / interval * interval,
        interval,
        warmup: of("warmup"),
    })
}

pub(super) fn arrivals(rd: &Definition) -> Arrivals {
    let word = rd
        .get("distribution")
        .and_then(|setting| setting.value.word());
    match word.and_then(|word| word.chars().next()) {
        Some('u' | 'U') => Arrivals::Uniform,
        Some('d' | 'D') => Arrivals::Linear,
        _ => Arrivals::Poisson,
    }
}
