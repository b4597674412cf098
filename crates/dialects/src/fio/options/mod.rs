//! Every option of fio's language that this program knows: what it takes, what it means here, and whether it counts.
//!
//! One place: the parser, the refusals with their nearest name, and docs/fio.md all come from these tables. A
//! supported option carries the function that puts its value into the job, so an option cannot be accepted and
//! forgotten; one that puts it nowhere has a limit, which reads it among the job's settings. Everything that fio 3.33
//! lists and that is not carried out stands here too, with the reason.

mod block;
mod cmdprio;
mod data;
mod elsewhere;
mod engine;
pub mod engines;
mod files;
mod life;
mod limits;
mod logging;
mod pace;
mod parts;
mod process;
mod refused;
mod reporting;
mod sizes;
mod work;

#[cfg(test)]
mod tests;

use super::job::{Directions, Extent};
use super::value::Bare;

pub use limits::{LIMITS, Limit, Reach, Standing, check_limits};

pub(super) use block::finish_blocks;
pub(super) use cmdprio::{CommandPriorities, finish_priorities};
pub(super) use files::{finish_files, generated, split_names};

use super::draft::Draft;
use std::ops::RangeInclusive;

/// Options of one theme.
#[derive(Debug)]
pub struct Table {
    /// The theme, as a heading.
    pub title: &'static str,
    /// Its options.
    pub options: &'static [OptionDef],
}

/// All options, by theme.
pub static OPTIONS: &[Table] = &[
    Table {
        title: "What is done, and to which offsets",
        options: work::OPTIONS,
    },
    Table {
        title: "How much is done",
        options: sizes::OPTIONS,
    },
    Table {
        title: "Files",
        options: files::OPTIONS,
    },
    Table {
        title: "Engine and queue",
        options: engine::OPTIONS,
    },
    Table {
        title: "Rates, pauses and latency targets",
        options: pace::OPTIONS,
    },
    Table {
        title: "Data, durability and verification",
        options: data::OPTIONS,
    },
    Table {
        title: "Jobs, start and end",
        options: life::OPTIONS,
    },
    Table {
        title: "The process of a job, and the device below it",
        options: process::OPTIONS,
    },
    Table {
        title: "Reports",
        options: reporting::OPTIONS,
    },
    Table {
        title: "Logs and other things that change no figure",
        options: logging::OPTIONS,
    },
    Table {
        title: "Refused",
        options: refused::OPTIONS,
    },
    Table {
        title: ELSEWHERE,
        options: elsewhere::OPTIONS,
    },
];

/// The theme of options of engines and profiles of fio that are not here.
const ELSEWHERE: &str = "Options of other engines, and of fio's profiles";

impl Table {
    /// Whether a row stands for all options of an engine that is not here, instead of for the names of one option.
    pub fn is_elsewhere(&self) -> bool {
        self.title == ELSEWHERE
    }
}

/// One option of fio.
#[derive(Debug)]
pub struct OptionDef {
    /// Its main name.
    pub name: &'static str,
    /// Its other names; in a row for several options that are not here, the others.
    pub aliases: &'static [&'static str],
    /// The default in fio's spelling; empty where there is none.
    pub default: &'static str,
    /// fio's own default, where this program's is another one.
    pub fio_default: Option<&'static str>,
    /// What it means, in our own words.
    pub doc: &'static str,
    /// Whether it counts.
    pub status: Status,
}

/// Whether an option counts.
#[derive(Debug)]
pub enum Status {
    /// It is in the job.
    Supported(Kind),
    /// It is accepted and changes nothing; the reason is said once.
    Noted {
        /// Whether it has a value.
        takes: Takes,
        /// Why it changes nothing.
        why: &'static str,
    },
    /// It ends the reading.
    Refused {
        /// Whether it has a value.
        takes: Takes,
        /// Why.
        why: &'static str,
        /// What to use instead, where there is something.
        instead: Option<&'static str>,
        /// Values that ask for nothing and change nothing, fio's default first.
        but: &'static [&'static str],
    },
}

/// Whether an option has a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// It may stand alone.
    Flag,
    /// It needs one.
    Value,
}

/// What a supported option takes, with the function that puts it into the job.
#[derive(Debug)]
pub enum Kind {
    /// Alone, or with a number where 0 means no.
    Flag(fn(&mut Draft, bool)),
    /// 0 or 1.
    Bool(fn(&mut Draft, bool)),
    /// A whole number within bounds, which fio allows a unit.
    Int(RangeInclusive<u64>, fn(&mut Draft, u64)),
    /// Bytes.
    Size(fn(&mut Draft, u64)),
    /// Bytes or a share.
    Extent(fn(&mut Draft, Extent)),
    /// A time, in nanoseconds; the unit where none is written.
    Time(Bare, fn(&mut Draft, u64)),
    /// One of these words.
    Choice(&'static [&'static str], fn(&mut Draft, &str)),
    /// Up to three numbers within bounds, with commas between: reads, writes, trims.
    List(RangeInclusive<u64>, fn(&mut Draft, Directions<Option<u64>>)),
    /// Numbers with colons between: the largest, how many at most.
    Floats(f64, usize, fn(&mut Draft, Vec<f64>)),
    /// A name, or nothing in a job file.
    Name(fn(&mut Draft, &str)),
    /// A grammar of its own: what it takes, for the documentation; its error says what is expected.
    Text(&'static str, fn(&mut Draft, &str) -> Result<(), String>),
}

/// A number that the table has bounded.
fn small(n: u64) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

impl OptionDef {
    const fn of(
        name: &'static str,
        default: &'static str,
        doc: &'static str,
        status: Status,
    ) -> Self {
        Self {
            name,
            aliases: &[],
            default,
            fio_default: None,
            doc,
            status,
        }
    }

    /// A supported option without other names.
    const fn new(name: &'static str, default: &'static str, kind: Kind, doc: &'static str) -> Self {
        Self::of(name, default, doc, Status::Supported(kind))
    }

    /// The same with other names.
    const fn or(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    /// The same, with another default than fio has.
    const fn where_fio_has(mut self, default: &'static str) -> Self {
        self.fio_default = Some(default);
        self
    }

    const fn noted(name: &'static str, takes: Takes, doc: &'static str, why: &'static str) -> Self {
        Self::of(name, "", doc, Status::Noted { takes, why })
    }

    /// A refused option that needs a value.
    const fn refused(name: &'static str, doc: &'static str, why: &'static str) -> Self {
        let status = Status::Refused {
            takes: Takes::Value,
            why,
            instead: None,
            but: &[],
        };
        Self::of(name, "", doc, status)
    }

    /// The same, where it may stand alone.
    const fn alone(mut self) -> Self {
        if let Status::Refused { takes, .. } = &mut self.status {
            *takes = Takes::Flag;
        }
        self
    }

    const fn instead(mut self, name: &'static str) -> Self {
        if let Status::Refused { instead, .. } = &mut self.status {
            *instead = Some(name);
        }
        self
    }

    /// The same, where these values ask for nothing.
    const fn but(mut self, values: &'static [&'static str]) -> Self {
        if let Status::Refused { but, .. } = &mut self.status {
            *but = values;
        }
        self
    }

    /// True where it needs a value.
    pub fn needs_value(&self) -> bool {
        match &self.status {
            Status::Supported(kind) => !matches!(kind, Kind::Flag(_)),
            Status::Noted { takes, .. } | Status::Refused { takes, .. } => *takes == Takes::Value,
        }
    }

    /// Its names, the main one first.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }
}

/// All options in the order of the documentation.
pub fn all() -> impl Iterator<Item = &'static OptionDef> {
    OPTIONS.iter().flat_map(|table| table.options)
}

/// The options whose names may be abbreviated on a command line: those that a job has whatever its engine.
pub(super) fn abbreviable() -> impl Iterator<Item = &'static OptionDef> {
    let here = OPTIONS.iter().filter(|table| !table.is_elsewhere());
    here.flat_map(|table| table.options)
}

/// The option of this name.
pub fn find(name: &str) -> Option<&'static OptionDef> {
    find_named(name).map(|(def, _)| def)
}

/// The same, with the name under which it was found.
pub(super) fn find_named(name: &str) -> Option<(&'static OptionDef, &'static str)> {
    let mut named = all().flat_map(|def| def.names().map(move |known| (def, known)));
    named.find(|(_, known)| *known == name)
}

/// The supported option whose name is closest to `name`, by the number of letters to change; `None` where more than
/// half of the letters would have to.
pub fn nearest(name: &str) -> Option<&'static str> {
    const LONGEST: usize = 64;
    if name.len() > LONGEST {
        return None;
    }
    let name = &name.to_ascii_lowercase();
    all()
        .filter(|def| def.standing() != Standing::Refused)
        .flat_map(OptionDef::names)
        .map(|known| (strsim::levenshtein(name, known), known))
        .filter(|(distance, known)| distance * 2 <= known.len().max(name.len()))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}
