//! The parameter files of vdbench: read into the runs that they define, and these into what the engines do.
//!
//! [`parse`] reads files and arguments into a [`Plan`] of [`Run`]s, in which defaults, loops, curves and shares are
//! settled; [`tasks`] makes of a run on storages what the storage engine does, and what is in the run of one on file
//! sets is what their engine does. Names, defaults and layouts are vdbench's: the language consists of them. It was
//! learned from descriptions and from files and reports that people published; the source was not opened for it.

mod definitions;
mod error;
mod files;
mod raw;
mod runs;
mod tasks;
#[cfg(test)]
mod tests;
mod text;
mod transfers;
mod value;
pub mod words;

pub use error::Error;
pub use raw::{OpenFlags, Part};
pub use runs::{Rate, Run, Times, Work};
pub use tasks::tasks;

use crate::fio::{Place, Surroundings};
use definitions::Definitions;
use model::order::Keyed as _;
use std::collections::BTreeMap;
use std::fmt;
use text::{Pair, Reader};
use words::Kind;

/// Runs of one plan at most.
pub const RUNS_MAX: u64 = 4096;
/// Definitions of one plan at most.
const DEFINITIONS_MAX: usize = 1024;
/// Workloads of all runs of one plan at most.
const PARTS_MAX: usize = 65_536;

/// What is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The parameter files, in order.
    pub files: Vec<String>,
    /// `word=value`: what `$word` stands for in the files, a word of all runs, or a line of parameters behind the
    /// files.
    pub words: Vec<String>,
}

/// What is to be done.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The runs, in order.
    pub runs: Vec<Run>,
    /// What changes nothing.
    pub remarks: Vec<Remark>,
    /// Directories of file sets need not be there: the run works above them.
    pub creates_anchors: bool,
    /// Where each file set is defined, by its name.
    pub sets: BTreeMap<String, Place>,
    /// The lines that say the same without any file, variable or default.
    pub lines: Vec<String>,
}

/// Something that the reader of a plan is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// What it is about.
    pub place: Place,
    /// What it says.
    pub text: String,
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.text)
    }
}

/// Reads what is asked for.
pub fn parse(request: &Request, surroundings: &dyn Surroundings) -> Result<Plan, Error> {
    let (mut variables, mut lines) = (BTreeMap::new(), Vec::new());
    for (argument, at) in request.words.iter().zip(1..) {
        let place = Place {
            file: None,
            line: at,
        };
        match argument.split_once('=') {
            Some((key, _)) if is_line(key) => lines.push((place, argument)),
            Some((key, value)) if !key.is_empty() => {
                variables.insert(key.to_owned(), (value.to_owned(), false, place));
            }
            _ => {
                let text = crate::printable::said(argument);
                return Err(Error::Syntax {
                    place,
                    what: format!("`{text}` is no parameter: expected `word=value`"),
                });
            }
        }
    }
    let plain = variables
        .iter()
        .map(|(key, (value, ..))| (key.clone(), (value.clone(), false)));
    let mut reader = Reader::new(surroundings, plain.collect());
    for (file, at) in request.files.iter().zip(1..) {
        let asked_at = Place {
            file: None,
            line: at,
        };
        reader.file(file, &asked_at, 0)?;
    }
    for (place, argument) in lines {
        reader.argument(argument, place)?;
    }
    let mut definitions = Definitions::default();
    for line in std::mem::take(&mut reader.lines) {
        definitions.add(line)?;
    }
    for (key, (value, is_used)) in &reader.variables {
        if let (false, Some((_, _, place))) = (is_used, variables.get(key)) {
            overrule(&mut definitions, key, value, place)?;
        }
    }
    let runs = runs::of(&mut definitions)?;
    let creates = definitions
        .general("create_anchors")
        .and_then(|setting| setting.value.word());
    let sets = definitions.of(Kind::Fsd);
    Ok(Plan {
        sets: sets
            .map(|set| (set.name.clone(), set.place.clone()))
            .into_map(),
        creates_anchors: creates == Some("yes"),
        runs,
        lines: definitions.lines(),
        remarks: remarks(definitions.remarks),
    })
}

/// Whether an argument that begins so is a line of parameters.
fn is_line(key: &str) -> bool {
    let is_general = || {
        words::of(Kind::General)
            .iter()
            .any(|word| word.names().any(|name| name == key))
    };
    Kind::of_word(key).is_some() || is_general()
}

/// A word of all runs: no file asked what it stands for.
fn overrule(
    definitions: &mut Definitions,
    key: &str,
    value: &str,
    place: &Place,
) -> Result<(), Error> {
    let syntax = |what: String| Error::Syntax {
        place: place.clone(),
        what,
    };
    let pair = Pair {
        place: place.clone(),
        key: key.to_ascii_lowercase(),
        value: value::Value::parse(value).map_err(syntax)?,
    };
    let setting = definitions
        .setting(Kind::Rd, pair)
        .map_err(|error| match error {
            Error::UnknownWord { .. } => syntax(format!(
                "`{}` is no word of a run, and no file has `${}`",
                crate::printable::said(key),
                crate::printable::said(key)
            )),
            other => other,
        })?;
    for run in definitions
        .all
        .iter_mut()
        .filter(|one| one.kind == Kind::Rd)
    {
        definitions::merge(&mut run.settings, vec![setting.clone()]);
    }
    Ok(())
}

/// Each once: a default for many is one place.
fn remarks(all: Vec<Remark>) -> Vec<Remark> {
    let mut each: Vec<Remark> = Vec::new();
    for remark in all {
        if !each.contains(&remark) {
            each.push(remark);
        }
    }
    each
}
