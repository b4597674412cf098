//! One option into one job: reads the value by the option's kind, and says what there is to say.

use super::draft::Draft;
use super::error::{Error, Place};
use super::job::{Directions, Setting};
use super::options::{self, Kind, OptionDef, Status};
use super::value;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// An option as it stands in a file or on a command line, before it is looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Raw {
    pub(super) name: String,
    pub(super) value: Option<String>,
    pub(super) place: Place,
}

impl Raw {
    /// Reads `name=value` or `name`. A space before `=` is dropped, one behind it belongs to the value.
    pub(super) fn of(text: &str, place: Place) -> Self {
        let (name, value) = text
            .split_once('=')
            .map_or((text, None), |(name, value)| (name, Some(value)));
        Self {
            name: name.trim().to_owned(),
            value: value.map(str::to_owned),
            place,
        }
    }
}

/// Puts one option into the job, and keeps it among the job's settings.
pub(super) fn apply(draft: &mut Draft, raw: &Raw, is_global: bool) -> Result<(), Error> {
    let def = look_up(raw)?;
    let value = raw.value.as_deref();
    if let Some("") = value
        && def.needs_value()
    {
        return Err(Error::MissingValue {
            place: raw.place.clone(),
            option: raw.name.clone(),
        });
    }
    match &def.status {
        Status::Refused { but, .. } if value.is_some_and(|value| but.contains(&value)) => {
            draft.note(format!("`{}` asks for nothing with this value", raw.name));
        }
        Status::Refused { why, instead, .. } => {
            return Err(Error::Refused {
                place: raw.place.clone(),
                option: raw.name.clone(),
                reason: (*why).to_owned(),
                nearest: *instead,
            });
        }
        Status::Noted { why, .. } => draft.note(format!("`{}` changes nothing: {why}", raw.name)),
        Status::Supported(kind) => set(draft, kind, value).map_err(|problem| problem.at(raw))?,
    }
    // The last one counts; only that one is kept.
    draft
        .job
        .settings
        .retain(|setting| setting.name != def.name);
    draft.job.settings.push(Setting {
        name: def.name,
        value: value.map(Arc::from),
        place: raw.place.clone(),
        is_global,
    });
    Ok(())
}

fn look_up(raw: &Raw) -> Result<&'static OptionDef, Error> {
    options::find(&raw.name).ok_or_else(|| Error::UnknownOption {
        place: raw.place.clone(),
        option: raw.name.clone(),
        nearest: options::nearest(&raw.name),
    })
}

/// Why a value was not taken.
enum Problem {
    Missing,
    Bad(String),
}

impl Problem {
    fn at(self, raw: &Raw) -> Error {
        match self {
            Self::Missing => Error::MissingValue {
                place: raw.place.clone(),
                option: raw.name.clone(),
            },
            Self::Bad(expected) => Error::BadValue {
                place: raw.place.clone(),
                option: raw.name.clone(),
                value: raw.value.clone().unwrap_or_default(),
                expected,
            },
        }
    }
}

fn bad(expected: impl Into<String>) -> Problem {
    Problem::Bad(expected.into())
}

fn set(draft: &mut Draft, kind: &Kind, value: Option<&str>) -> Result<(), Problem> {
    if let Kind::Flag(set) = kind {
        let on = match value {
            None => true,
            Some(text) => number(draft, text).ok_or_else(|| bad("nothing, 0 or 1"))? != 0,
        };
        set(draft, on);
        return Ok(());
    }
    if let Kind::Name(set) = kind {
        set(draft, value.unwrap_or_default());
        return Ok(());
    }
    let text = value.ok_or(Problem::Missing)?;
    match kind {
        // Read above: those that may stand alone.
        Kind::Flag(_) | Kind::Name(_) => {}
        Kind::Bool(set) => match number(draft, text) {
            Some(n @ 0..=1) => set(draft, n == 1),
            _ => return Err(bad("0 or 1")),
        },
        Kind::Int(range, set) => {
            let n = number(draft, text).filter(|n| range.contains(n));
            set(draft, n.ok_or_else(|| bad(bounds(range)))?);
        }
        Kind::Size(set) => {
            let n = number(draft, text).ok_or_else(|| bad("a size such as `4k` or `1m`"))?;
            set(draft, n);
        }
        Kind::Extent(set) => {
            let read = value::extent(text, draft.base());
            let read =
                read.ok_or_else(|| bad("a size such as `1g`, or a share from 0% to 100%"))?;
            let extent = draft.take(read);
            set(draft, extent);
        }
        Kind::Time(bare, set) => {
            let read = value::time_ns(text, *bare)
                .ok_or_else(|| bad("a time such as `500ms`, `30s` or `5m`"))?;
            let ns = draft.take(read);
            set(draft, ns);
        }
        Kind::Choice(words, set) => {
            if !words.contains(&text) {
                return Err(bad(format!("one of {}", words.join(", "))));
            }
            set(draft, text);
        }
        Kind::List(range, set) => {
            let list = list(draft, text, range)?;
            set(draft, list);
        }
        Kind::Floats(max, count, set) => {
            let floats = floats(text, *max, *count)?;
            set(draft, floats);
        }
        Kind::Text(_, set) => set(draft, text).map_err(Problem::Bad)?,
    }
    Ok(())
}

fn number(draft: &mut Draft, text: &str) -> Option<u64> {
    let read = value::size(text, draft.base())?;
    Some(draft.take(read))
}

fn bounds(range: &RangeInclusive<u64>) -> String {
    match (range.start(), range.end()) {
        (min, &u64::MAX) => format!("a whole number from {min}"),
        (min, max) => format!("a whole number from {min} to {max}"),
    }
}

/// Reads, writes, trims: the last number given holds for those behind it, and an empty place stays as it is.
fn list(
    draft: &mut Draft,
    text: &str,
    range: &RangeInclusive<u64>,
) -> Result<Directions<Option<u64>>, Problem> {
    let expected = || {
        bad(format!(
            "one to three times, with commas between, {}",
            bounds(range)
        ))
    };
    let mut numbers = Vec::new();
    for part in text.split(',') {
        if part.trim().is_empty() {
            numbers.push(None);
            continue;
        }
        if part.contains(['-', ':']) {
            return Err(expected());
        }
        let n = number(draft, part).ok_or_else(expected)?;
        if !range.contains(&n) {
            return Err(bad(bounds(range)));
        }
        numbers.push(Some(n));
    }
    match numbers[..] {
        [all] => Ok(Directions::all(all)),
        [read, write] => Ok(Directions {
            read,
            write,
            trim: write,
        }),
        [read, write, trim] => Ok(Directions { read, write, trim }),
        _ => Err(expected()),
    }
}

fn floats(text: &str, max: f64, count: usize) -> Result<Vec<f64>, Problem> {
    let expected = || {
        bad(format!(
            "up to {count} numbers from 0 to {max} with `:` between"
        ))
    };
    let mut floats = Vec::new();
    for part in text.split(':') {
        // As in fio, a sign of per cent behind a percentile says nothing new.
        let number = value::float(part.strip_suffix('%').unwrap_or(part))
            .filter(|n| (0.0..=max).contains(n))
            .ok_or_else(expected)?;
        if floats.len() == count {
            return Err(expected());
        }
        floats.push(number);
    }
    Ok(floats)
}
