//! The file in which one run travels between stores: what `kurabe export` writes and `kurabe import` reads.
//!
//! One JSON document, `{"format":"kurabe.record/1","run":{...}}`, with one line for each of meta, plan, host and every
//! round: a person can search it, a diff of two shows which rounds differ, and an error has a line to name. It is not
//! the document that `--json` prints, which holds conclusions and cannot be turned back into a run; reading that one
//! is refused with a hint.

use crate::codec;
use crate::error::{StoreError, other_version};
use crate::rounds::parse;
use model::bounds;
use model::plan::CaseId;
use model::record::{RECORD_VERSION, Round, Run};
use serde::Deserialize;
use serde_json::error::Category;
use std::collections::{BTreeMap, HashSet};

/// What the document calls itself, in front of the version.
const FORMAT: &str = "kurabe.record/";

/// Why a text is no run. What is said may have words of the text in it, as they stand there: of any length, with line
/// breaks.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// It is something else.
    #[error("no kurabe export: {0}")]
    NotAnExport(String),
    /// Another version of the program wrote it in a way that this one would misread.
    #[error("the export has record version {found} and this program reads version {known}")]
    OtherVersion {
        /// The version in the document.
        found: u32,
        /// The version that this program reads.
        known: u32,
    },
    /// It was an export, and is damaged.
    #[error("damaged at line {line}, column {column}: {reason}")]
    Damaged {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What was expected.
        reason: String,
    },
    /// It has what no command makes: a longer name, or more of something.
    #[error("refused: {0}")]
    Beyond(String),
    /// It can be read, and contradicts itself.
    #[error("damaged: {0}")]
    Contradiction(String),
}

impl ImportError {
    /// What helps.
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::NotAnExport(_) => "`kurabe export RUN` writes one",
            Self::OtherVersion { found, known } => other_version(*found, *known),
            Self::Damaged { .. } | Self::Contradiction(_) => {
                "`kurabe export RUN` writes it anew; was it cut short on its way, or changed?"
            }
            Self::Beyond(_) => {
                "`kurabe export RUN` writes what can be imported; was it changed since?"
            }
        }
    }
}

/// The document of `run`, ending in a newline. Refuses a run with a number that is NaN or infinite: no stored run
/// has one.
pub fn write(run: &Run) -> Result<String, StoreError> {
    let what = format!("run `{}`", run.meta.id);
    let mut text = format!(
        "{{\"format\":\"{FORMAT}{RECORD_VERSION}\",\"run\":{{\n\"meta\":{},\n\"plan\":{},\n\"host\":{},\n\"rounds\":[",
        codec::encode(&what, &run.meta)?,
        codec::encode(&what, &run.plan)?,
        codec::encode(&what, &run.host)?,
    );
    for (index, round) in run.rounds.iter().enumerate() {
        text.push_str(if index == 0 { "\n" } else { ",\n" });
        text.push_str(&codec::encode_round(round)?);
    }
    text.push_str("\n]}}\n");
    Ok(text)
}

/// The run in a document that [`write`] made.
pub fn read(text: &str) -> Result<Run, ImportError> {
    let mut rounds = Vec::new();
    let run = checked(text, &mut |round| rounds.push(round))?;
    Ok(Run { rounds, ..run })
}

/// A document that was looked through, of which no round is kept in memory but as text: a run of a million rounds takes
/// what its file has, and not three times as much.
#[derive(Debug)]
pub struct Export {
    text: String,
    run: Run,
    rounds: usize,
}

impl Export {
    /// Looks through a document that [`write`] made. Refuses what [`read`] refuses.
    pub fn of(text: String) -> Result<Self, ImportError> {
        let mut rounds = 0;
        let run = checked(&text, &mut |_| rounds += 1)?;
        Ok(Self { text, run, rounds })
    }

    /// The run, without its rounds.
    pub const fn run(&self) -> &Run {
        &self.run
    }

    /// How many rounds it has.
    pub const fn rounds(&self) -> usize {
        self.rounds
    }

    /// Gives the rounds to `take`, one after the other, until it fails.
    pub(crate) fn each(
        &self,
        take: &mut dyn FnMut(&Round) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut failed = None;
        let parsed = parse(&self.text, &mut |round| {
            take(&round).map_err(|error| {
                failed = Some(error);
                String::new()
            })
        });
        match (failed, parsed) {
            (Some(error), _) => Err(error),
            (None, Ok(_)) => Ok(()),
            (None, Err(error)) => Err(StoreError::Unkeepable {
                what: format!("run `{}`", self.run.meta.id),
                why: error.to_string(),
            }),
        }
    }
}

/// The run of a document without its rounds, each of which goes to `take` once it is looked at.
fn checked(text: &str, take: &mut dyn FnMut(Round)) -> Result<Run, ImportError> {
    check_head(text)?;
    if let Some(line) = line_of_too_long_a_text(text.as_bytes()) {
        let most = bounds::TEXT_BYTES_MAX;
        return Err(ImportError::Beyond(format!(
            "line {line} has a text of more than {most} bytes"
        )));
    }
    let (mut seen, mut last, mut refused) = (bounds::Seen::default(), None, None);
    let mut cases: BTreeMap<CaseId, u32> = BTreeMap::new();
    let mut look = |round: Round| -> Result<(), ImportError> {
        bounds::check_round(&round, &mut seen).map_err(ImportError::Beyond)?;
        let seq = round.seq;
        if let Some(earlier) = last.replace(seq).filter(|&earlier| earlier >= seq) {
            return Err(ImportError::Contradiction(format!(
                "round {seq} comes after round {earlier}"
            )));
        }
        if !cases.contains_key(&round.case) {
            cases.insert(round.case.clone(), seq);
        }
        take(round);
        Ok(())
    };
    let parsed = parse(text, &mut |round| {
        look(round).map_err(|error| {
            refused = Some(error);
            String::new()
        })
    });
    let run = match refused {
        Some(error) => return Err(error),
        None => parsed.map_err(|error| damaged(&error))?,
    };
    bounds::check_frame(&run, seen.rounds).map_err(ImportError::Beyond)?;
    let planned: HashSet<&CaseId> = run.plan.cases.iter().map(|case| &case.id).collect();
    let unplanned = cases.iter().filter(|(case, _)| !planned.contains(case));
    if let Some((case, seq)) = unplanned.min_by_key(|(_, seq)| **seq) {
        return Err(ImportError::Contradiction(format!(
            "round {seq} is of case `{case}`, which is not in the plan"
        )));
    }
    Ok(run)
}

/// Refuses what does not say that it is an export of a version that we know.
fn check_head(text: &str) -> Result<(), ImportError> {
    let head: Head = serde_json::from_str(text).map_err(|error| match error.classify() {
        Category::Syntax | Category::Eof if claims_to_be_ours(text) => damaged(&error),
        Category::Data => ImportError::NotAnExport("it is JSON without a format".to_owned()),
        _ => ImportError::NotAnExport(format!("it is no JSON document: {error}")),
    })?;
    let version = match (head.format, head.schema) {
        (Some(format), _) => format
            .strip_prefix(FORMAT)
            .and_then(|version| version.parse::<u32>().ok())
            .filter(|&version| version > 0)
            .ok_or_else(|| ImportError::NotAnExport(format!("its format is `{format}`")))?,
        (None, Some(schema)) if schema.starts_with("kurabe.") => {
            return Err(ImportError::NotAnExport(format!(
                "it is a report (`{schema}`), which holds conclusions and not the rounds"
            )));
        }
        _ => {
            return Err(ImportError::NotAnExport(
                "it is JSON without a format".to_owned(),
            ));
        }
    };
    if version != RECORD_VERSION {
        return Err(ImportError::OtherVersion {
            found: version,
            known: RECORD_VERSION,
        });
    }
    Ok(())
}

/// Only the keys by which a document says what it is.
#[derive(Deserialize)]
struct Head {
    format: Option<String>,
    schema: Option<String>,
}

/// True for a text that begins as [`write`] begins: what follows is then damage, not another language.
fn claims_to_be_ours(text: &str) -> bool {
    let start: String = text
        .chars()
        .filter(|c| !c.is_whitespace())
        .take(FORMAT.len() + "{'format':'".len())
        .collect();
    start == format!("{{\"format\":\"{FORMAT}")
}

fn damaged(error: &serde_json::Error) -> ImportError {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    ImportError::Damaged {
        line: error.line(),
        column: error.column(),
        reason: text.strip_suffix(&place).unwrap_or(&text).to_owned(),
    }
}

/// The line of a string of this JSON that is longer than any text may be.
fn line_of_too_long_a_text(json: &[u8]) -> Option<usize> {
    let (mut line, mut began, mut escaped) = (1, None, false);
    for (at, &byte) in json.iter().enumerate() {
        match (byte, began) {
            (b'\n', _) => line += 1,
            _ if escaped => escaped = false,
            (b'\\', Some(_)) => escaped = true,
            (b'"', None) => began = Some(at),
            // As it is written: bytes, and escapes as they are spelled, are no fewer than characters.
            (b'"', Some(from)) if at - from > bounds::TEXT_BYTES_MAX => return Some(line),
            (b'"', Some(_)) => began = None,
            _ => {}
        }
    }
    None
}
