//! Parameter values: parsed once from what the user wrote, typed from then on.

use crate::fileset::FileWork;
use crate::job::Task;
use crate::order::Keyed as _;
use crate::spec::{ParamDef, ParamKind, Spec};
use crate::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// A parameter's value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParamValue {
    /// A whole number.
    Count(u64),
    /// A span of time.
    Duration(Nanos),
    /// An amount of data.
    Size(Bytes),
    /// A word out of a list, or free text.
    Text(String),
    /// Yes or no.
    Switch(bool),
    /// Storage jobs that run at the same time: copy i does the i-th.
    Jobs(Vec<Task>),
    /// Work on file sets: copy i does the i-th task.
    Files(Box<FileWork>),
}

impl fmt::Display for ParamValue {
    /// Prints the value in a form that parses back to itself; of jobs and tasks their names.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Duration(Nanos(n)) if n % 1_000_000_000 == 0 => {
                write!(f, "{}s", n / 1_000_000_000)
            }
            Self::Duration(Nanos(n)) if n % 1_000_000 == 0 => write!(f, "{}ms", n / 1_000_000),
            Self::Duration(Nanos(n)) if n % 1_000 == 0 => write!(f, "{}us", n / 1_000),
            Self::Duration(Nanos(n)) => write!(f, "{n}ns"),
            Self::Count(n) | Self::Size(Bytes(n)) => write!(f, "{n}"),
            Self::Text(text) => f.write_str(text),
            Self::Switch(on) => f.write_str(if *on { "yes" } else { "no" }),
            Self::Jobs(tasks) => {
                let names: Vec<&str> = tasks.iter().map(|task| task.name.as_str()).collect();
                f.write_str(&names.join(", "))
            }
            Self::Files(work) => {
                let names: Vec<&str> = work.tasks.iter().map(|task| task.name.as_str()).collect();
                f.write_str(&names.join(", "))
            }
        }
    }
}

impl ParamValue {
    /// The value as people read it: sizes with the largest unit that divides them, `64 MiB`.
    pub fn readable(&self) -> String {
        match self {
            Self::Size(size) => size.exact(),
            _ => self.to_string(),
        }
    }
}

/// Why a parameter was refused.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ParamError {
    /// The workload has no such parameter.
    #[error("`{workload}` has no parameter `{param}`")]
    Unknown {
        /// The name of the workload, or of the tests as typed.
        workload: String,
        /// What the user asked for.
        param: String,
        /// The parameters that exist.
        known: Vec<String>,
    },
    /// The parameter exists but does not take this value.
    #[error("parameter `{param}` does not take `{value}`: {expected}")]
    BadValue {
        /// The parameter's name.
        param: String,
        /// What the user wrote.
        value: String,
        /// What would be accepted.
        expected: String,
    },
}

/// All parameters of one test, complete: every parameter of the workload has a value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Params(BTreeMap<String, ParamValue>);

/// The parameters that give the rate of the work, in every family that has one: of events, of bits, of operations, and
/// as a share of what another test came to.
const RATES: [&str; 3] = ["rate", "rate_iops", "rate_percent"];

impl FromIterator<(String, ParamValue)> for Params {
    /// Values that are known already, such as those of a kept run.
    fn from_iter<I: IntoIterator<Item = (String, ParamValue)>>(values: I) -> Self {
        Self(values.into_iter().into_map())
    }
}

impl Params {
    /// The parameters of `spec` at their defaults, with `overrides` on top, later ones winning.
    pub fn resolve<'a>(
        spec: &Spec,
        overrides: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, ParamError> {
        let mut params = Self::default();
        for def in spec.params {
            params
                .0
                .insert(def.name.to_owned(), parse(def, def.default)?);
        }
        for (name, text) in overrides {
            params.set(spec, name, text)?;
        }
        Ok(params)
    }

    /// Sets one parameter from what the user wrote.
    pub fn set(&mut self, spec: &Spec, name: &str, text: &str) -> Result<(), ParamError> {
        let def = spec
            .params
            .iter()
            .find(|def| def.name == name)
            .ok_or_else(|| ParamError::Unknown {
                workload: spec.name.to_owned(),
                param: name.to_owned(),
                known: spec.params.iter().map(|def| def.name.to_owned()).collect(),
            })?;
        self.0.insert(name.to_owned(), parse(def, text)?);
        Ok(())
    }

    /// Name and value of each parameter, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &ParamValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// True where there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Those of `own` that have another value here.
    #[must_use]
    pub fn differing(&self, own: &Self) -> Self {
        let other = own
            .iter()
            .filter(|(name, value)| self.get(name) != Some(*value));
        other
            .map(|(name, value)| (name.to_owned(), value.clone()))
            .collect()
    }

    /// The value of `name`, if the workload has such a parameter.
    pub fn get(&self, name: &str) -> Option<&ParamValue> {
        self.0.get(name)
    }

    /// A whole number. Panics where the workload declares no such parameter of that kind: a bug of the workload.
    pub fn count(&self, name: &str) -> u64 {
        match self.0.get(name) {
            Some(ParamValue::Count(n)) => *n,
            other => undeclared(name, "count", other),
        }
    }

    /// How many operations a second arrive by themselves (the parameter `rate` of every family that has one); `None`
    /// where each begins when another one has ended.
    pub fn ordered_rate(&self) -> Option<u64> {
        match self.0.get("rate") {
            Some(ParamValue::Count(rate)) if *rate > 0 => Some(*rate),
            _ => None,
        }
    }

    /// Whether any of them gives the rate of the work: how much of it is done in a second is then no result.
    pub fn give_rate(&self) -> bool {
        self.iter().any(|(name, value)| match value {
            ParamValue::Jobs(tasks) => tasks.iter().any(|task| task.job.is_rated()),
            ParamValue::Files(work) => work.tasks.iter().any(|task| task.rate.is_some()),
            ParamValue::Count(rate) => RATES.contains(&name) && *rate > 0,
            ParamValue::Text(rate) => RATES.contains(&name) && !rate.is_empty(),
            _ => false,
        })
    }

    /// The limit within which a rate is searched (the parameter `limit`): a percentile and its time.
    pub fn limit(&self) -> Option<(&str, &str)> {
        match self.0.get("limit") {
            Some(ParamValue::Text(limit)) => limit.split_once(':'),
            _ => None,
        }
    }

    /// All but these.
    #[must_use]
    pub fn without(&self, names: &[&str]) -> Self {
        let rest = self
            .0
            .iter()
            .filter(|(name, _)| !names.contains(&name.as_str()));
        Self(
            rest.map(|(name, value)| (name.clone(), value.clone()))
                .into_map(),
        )
    }

    /// A span of time. Panics like [`Self::count`].
    pub fn duration(&self, name: &str) -> Nanos {
        match self.0.get(name) {
            Some(ParamValue::Duration(nanos)) => *nanos,
            other => undeclared(name, "duration", other),
        }
    }

    /// An amount of data. Panics like [`Self::count`].
    pub fn size(&self, name: &str) -> Bytes {
        match self.0.get(name) {
            Some(ParamValue::Size(bytes)) => *bytes,
            other => undeclared(name, "size", other),
        }
    }

    /// A word or text. Panics like [`Self::count`].
    pub fn text(&self, name: &str) -> &str {
        match self.0.get(name) {
            Some(ParamValue::Text(text)) => text,
            other => undeclared(name, "text", other),
        }
    }

    /// Storage jobs. Panics like [`Self::count`].
    pub fn jobs(&self, name: &str) -> &[Task] {
        match self.0.get(name) {
            Some(ParamValue::Jobs(tasks)) => tasks,
            other => undeclared(name, "jobs", other),
        }
    }

    /// Work on file sets. Panics like [`Self::count`].
    pub fn files(&self, name: &str) -> &FileWork {
        match self.0.get(name) {
            Some(ParamValue::Files(work)) => work,
            other => undeclared(name, "files", other),
        }
    }

    /// A switch. Panics like [`Self::count`].
    pub fn switch(&self, name: &str) -> bool {
        match self.0.get(name) {
            Some(ParamValue::Switch(on)) => *on,
            other => undeclared(name, "switch", other),
        }
    }
}

fn undeclared(name: &str, kind: &str, found: Option<&ParamValue>) -> ! {
    panic!("the workload's spec declares no {kind} parameter `{name}` (found {found:?})")
}

/// Parses `text` as a value of the parameter `def`.
pub fn parse(def: &ParamDef, text: &str) -> Result<ParamValue, ParamError> {
    let bad = |expected: String| ParamError::BadValue {
        param: def.name.to_owned(),
        value: text.to_owned(),
        expected,
    };
    match def.kind {
        ParamKind::Count { min, max } => match text.parse::<u64>() {
            Ok(n) if (min..=max).contains(&n) => Ok(ParamValue::Count(n)),
            _ => Err(bad(format!("a whole number from {min} to {max}"))),
        },
        ParamKind::Duration => parse_duration(text)
            .map(ParamValue::Duration)
            .ok_or_else(|| bad("a time with its unit, such as 500ms, 10s, 5m or 24h".to_owned())),
        ParamKind::Size => parse_size(text)
            .map(ParamValue::Size)
            .ok_or_else(|| bad("a size such as 4k, 1M or 2GiB".to_owned())),
        ParamKind::Choice(words) if words.contains(&text) => Ok(ParamValue::Text(text.to_owned())),
        ParamKind::Choice(words) => Err(bad(format!("one of {}", words.join(", ")))),
        ParamKind::Switch => match text {
            "yes" | "true" | "on" | "1" => Ok(ParamValue::Switch(true)),
            "no" | "false" | "off" | "0" => Ok(ParamValue::Switch(false)),
            _ => Err(bad("yes or no".to_owned())),
        },
        ParamKind::Text => Ok(ParamValue::Text(text.to_owned())),
        ParamKind::Jobs if text.is_empty() => Ok(ParamValue::Jobs(Vec::new())),
        ParamKind::Jobs => Err(bad(
            "jobs, which `kurabe fio` and `kurabe vdbench` make".to_owned()
        )),
        ParamKind::Files if text.is_empty() => Ok(ParamValue::Files(Box::default())),
        ParamKind::Files => Err(bad(
            "work on file sets, which `kurabe vdbench` makes".to_owned()
        )),
    }
}

const SECOND: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * SECOND;

/// A budget with room for this, as somebody would type it: in whole minutes above one, and in whole seconds below.
pub fn budget_text(span: Nanos) -> String {
    let step = if span.0 > MINUTE { MINUTE } else { SECOND };
    duration_text(Nanos(span.0.div_ceil(step).saturating_mul(step)))
}

/// A time as somebody would type it: in minutes where these are whole, such as `15m`.
pub fn duration_text(span: Nanos) -> String {
    if span.0 > 0 && span.0.is_multiple_of(MINUTE) {
        return format!("{}m", span.0 / MINUTE);
    }
    ParamValue::Duration(span).to_string()
}

/// Reads `500ms`, `10s`, `1.5m`, `24h`, and `0`; any other number needs its unit. `None` for anything else, and for
/// spans beyond what 64 bits of nanoseconds hold.
pub fn parse_duration(text: &str) -> Option<Nanos> {
    let (number, unit) = split_unit(text)?;
    let scale = match unit {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        // No time is no time in any unit; a bare number of anything else would be a guess.
        "" if number <= 0.0 => 1.0,
        "m" | "min" => 60e9,
        "h" => 3600e9,
        "d" => 86400e9,
        _ => return None,
    };
    to_whole(number * scale).map(Nanos)
}

/// Reads `4096`, `4k`, `1M`, `16m`, `2GiB` (1024s) and `1kB`, `1MB` (1000s).
pub fn parse_size(text: &str) -> Option<Bytes> {
    let (number, unit) = split_unit(text)?;
    let scale = match unit {
        "" | "B" => 1.0,
        "k" | "K" | "KiB" | "kiB" => 1024.0,
        "m" | "M" | "MiB" => 1024.0 * 1024.0,
        "g" | "G" | "GiB" => 1024.0 * 1024.0 * 1024.0,
        "t" | "T" | "TiB" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        "kB" | "KB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        "TB" => 1e12,
        _ => return None,
    };
    to_whole(number * scale).map(Bytes)
}

fn split_unit(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let number = text.get(..end)?.parse::<f64>().ok()?;
    Some((number, text.get(end..)?.trim()))
}

/// The largest value taken: beyond it neighbouring whole numbers are no longer distinct in `f64`.
const WHOLE_MAX: f64 = 9_007_199_254_740_992_000.0;

fn to_whole(x: f64) -> Option<u64> {
    (x.is_finite() && (0.0..=WHOLE_MAX).contains(&x)).then(|| crate::num::round_to_u64(x))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fileset::FileTask;

    #[test]
    fn a_rate_is_given_by_a_name_or_within_jobs_and_tasks() {
        let check = |name: &str, value: ParamValue, expected: bool| {
            let all: Params = [(name.to_owned(), value)].into_iter().collect();
            assert_eq!(all.give_rate(), expected, "{name}");
        };
        check("rate", ParamValue::Count(100), true);
        check("rate", ParamValue::Count(0), false);
        check("rate", ParamValue::Text("100M".to_owned()), true);
        check("rate", ParamValue::Text(String::new()), false);
        check("size", ParamValue::Count(100), false);
        for (iops, expected) in [(Some(100), true), (None, false)] {
            let mut task = Task::default();
            task.job.rate_iops = iops;
            check("jobs", ParamValue::Jobs(vec![task]), expected);
            let mut work = FileWork::default();
            work.tasks.push(FileTask {
                rate: iops.map(|_| 100.0),
                ..FileTask::default()
            });
            check("files", ParamValue::Files(Box::new(work)), expected);
        }
    }

    #[test]
    fn a_budget_is_told_in_whole_minutes_and_has_room() {
        let check = |millis, expected| {
            assert_eq!(
                budget_text(Nanos::from_millis(millis)),
                expected,
                "{millis}"
            );
        };
        check(426_000, "8m");
        check(480_000, "8m");
        check(60_001, "2m");
        check(60_000, "1m");
        check(29_200, "30s");
        check(250, "1s");
    }

    #[test]
    fn durations_and_sizes_parse_as_documented() {
        let duration = |text| parse_duration(text).map(|nanos| nanos.0);
        assert_eq!(duration("500ms"), Some(500_000_000));
        assert_eq!(duration("1.5m"), Some(90_000_000_000));
        assert_eq!(duration("10"), None, "ten of what?");
        assert_eq!(duration("0"), Some(0));
        assert_eq!(duration("24h"), Some(86_400_000_000_000));
        for bad in [
            "",
            "s",
            "-1s",
            "5 parsecs",
            "1e400",
            "1..2s",
            "999999999999999h",
            "nan",
        ] {
            assert_eq!(duration(bad), None, "{bad}");
        }
        let size = |text| parse_size(text).map(|bytes| bytes.0);
        assert_eq!(size("4k"), Some(4096));
        assert_eq!(size("1MB"), Some(1_000_000));
        assert_eq!(size("2GiB"), Some(2 << 30));
        // As fio has them.
        assert_eq!(size("16m"), Some(16 << 20));
        assert_eq!((size("2g"), size("1t")), (Some(2 << 30), Some(1 << 40)));
        assert_eq!(size("4kib"), None);
    }

    #[test]
    fn printed_values_parse_back_to_themselves() {
        for text in ["0", "1ns", "1500us", "90s", "86400000ms"] {
            let value = ParamValue::Duration(parse_duration(text).unwrap());
            assert_eq!(
                parse_duration(&value.to_string()).map(ParamValue::Duration),
                Some(value)
            );
        }
    }

    #[test]
    fn values_are_read_as_they_are_written_and_sizes_with_their_unit() {
        let size = ParamValue::Size(Bytes(64 << 20));
        assert_eq!(size.readable(), "64 MiB");
        let count = ParamValue::Count(20_000);
        assert_eq!(count.readable(), "20000");
        let switch = ParamValue::Switch(true);
        assert_eq!(switch.readable(), "yes");
    }

    #[test]
    fn what_differs_is_told_with_the_values_of_the_other_side() {
        let params = |size: u64| -> Params {
            [
                ("size".to_owned(), ParamValue::Size(Bytes(size))),
                ("pages".to_owned(), ParamValue::Text("any".to_owned())),
            ]
            .into_iter()
            .collect()
        };
        assert!(params(1).differing(&params(1)).is_empty());
        let own: Params = [("size".to_owned(), ParamValue::Size(Bytes(2)))]
            .into_iter()
            .collect();
        assert_eq!(params(1).differing(&params(2)), own);
    }
}
