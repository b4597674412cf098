//! How a user names a figure of a run, and what may be asked of it: `storage.randread-4k:iops >= 5000`.

use crate::units::Unit;
use std::fmt;
use std::str::FromStr;

/// A figure: a metric of a test, or an index. What is left out is taken from the run: the fewest copies, and the first
/// metric.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FigureName {
    /// The test or the index.
    pub test: String,
    /// At how many copies.
    pub copies: Option<u32>,
    /// Which quantity of it.
    pub quantity: Option<String>,
}

impl fmt::Display for FigureName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.test)?;
        if let Some(copies) = self.copies {
            write!(f, "@{copies}")?;
        }
        match &self.quantity {
            Some(quantity) => write!(f, ":{quantity}"),
            None => Ok(()),
        }
    }
}

impl FromStr for FigureName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad =
            || format!("`{text}` is no TEST, TEST:QUANTITY, TEST@COPIES:QUANTITY or INDEX@COPIES");
        let (case, quantity) = match text.trim().split_once(':') {
            Some((case, quantity)) => (case, Some(quantity)),
            None => (text.trim(), None),
        };
        let (test, copies) = match case.split_once('@') {
            Some((test, copies)) => (test, Some(copies)),
            None => (case, None),
        };
        let copies = copies.map(str::parse::<u32>).transpose();
        let copies = copies.map_err(|_| bad())?;
        let is_word = |word: &str| {
            !word.is_empty()
                && word
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
        };
        if !is_word(test) || !quantity.is_none_or(is_word) || copies == Some(0) {
            return Err(bad());
        }
        Ok(Self {
            test: test.to_owned(),
            copies,
            quantity: quantity.map(str::to_owned),
        })
    }
}

/// On which side of a level a figure is to lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// At or above it.
    AtLeast,
    /// At or below it.
    AtMost,
}

impl Bound {
    /// As one types it.
    pub const fn sign(self) -> &'static str {
        match self {
            Self::AtLeast => ">=",
            Self::AtMost => "<=",
        }
    }
}

/// A level of a figure as somebody wrote it.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// In base units; finite and above 0.
    pub value: f64,
    /// The kind of unit that was written; `None` where the number stands by itself, in the figure's own base unit.
    pub unit: Option<Unit>,
    /// What was written.
    pub text: String,
}

impl Level {
    /// Whether a figure in this unit can be held against it.
    pub fn fits(&self, unit: Unit) -> bool {
        let bytes = |own: Unit| own.is_bytes_per_second() && unit.is_bytes_per_second();
        self.unit.is_none_or(|own| own == unit || bytes(own))
    }
}

/// What may stand behind a number: the word, what it multiplies with, and the unit of the product.
const WORDS: &[(&str, f64, Unit)] = &[
    ("ns", 1.0, Unit::Nanoseconds),
    ("us", 1e3, Unit::Nanoseconds),
    ("\u{b5}s", 1e3, Unit::Nanoseconds),
    ("\u{3bc}s", 1e3, Unit::Nanoseconds),
    ("ms", 1e6, Unit::Nanoseconds),
    ("s", 1e9, Unit::Nanoseconds),
    ("B/s", 1.0, Unit::BytesPerSecond),
    ("kB/s", 1e3, Unit::BytesPerSecond),
    ("MB/s", 1e6, Unit::BytesPerSecond),
    ("GB/s", 1e9, Unit::BytesPerSecond),
    ("KiB/s", 1024.0, Unit::BytesPerSecond),
    ("MiB/s", 1_048_576.0, Unit::BytesPerSecond),
    ("GiB/s", 1_073_741_824.0, Unit::BytesPerSecond),
    ("kbit/s", 125.0, Unit::BytesPerSecond),
    ("Mbit/s", 125e3, Unit::BytesPerSecond),
    ("Gbit/s", 125e6, Unit::BytesPerSecond),
    ("/s", 1.0, Unit::OpsPerSecond),
    ("ops/s", 1.0, Unit::OpsPerSecond),
    ("kops/s", 1e3, Unit::OpsPerSecond),
    ("Mops/s", 1e6, Unit::OpsPerSecond),
    ("IOPS", 1.0, Unit::OpsPerSecond),
    ("kIOPS", 1e3, Unit::OpsPerSecond),
    ("MIOPS", 1e6, Unit::OpsPerSecond),
    ("%", 0.01, Unit::Share),
];

impl FromStr for Level {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let end = text.find(|c: char| !(c.is_ascii_digit() || ".,".contains(c)));
        let (number, word) = text.split_at(end.unwrap_or(text.len()));
        let number: crate::money::Decimal = number
            .parse()
            .map_err(|why| format!("`{text}` is no level: {why}"))?;
        let word = word.trim();
        let known = WORDS.iter().find(|(name, ..)| *name == word);
        let (factor, unit) = match known {
            Some(&(_, factor, unit)) => (factor, Some(unit)),
            None if word.is_empty() => (1.0, None),
            None => return Err(format!("`{text}` is no level: `{word}` is no unit")),
        };
        let value = number.approx() * factor;
        if value <= 0.0 {
            return Err(format!("`{text}` is no level: it must be above 0"));
        }
        Ok(Self {
            value,
            unit,
            text: text.to_owned(),
        })
    }
}

/// What a figure is to be: what somebody needs, or a provider claims.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    /// Which figure.
    pub figure: FigureName,
    /// On which side of the level.
    pub bound: Bound,
    /// The level.
    pub level: Level,
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, level) = (self.bound.sign(), &self.level.text);
        write!(f, "{} {sign} {level}", self.figure)
    }
}

impl FromStr for Requirement {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let both = [Bound::AtLeast, Bound::AtMost];
        let split = |bound: Bound| Some((text.split_once(bound.sign())?, bound));
        let Some(((figure, level), bound)) = both.into_iter().find_map(split) else {
            return Err(format!(
                "`{text}` is no need: expected a figure, `>=` or `<=`, and a level, such as `unixbench@1 >= 1500`"
            ));
        };
        Ok(Self {
            figure: figure.parse()?,
            bound,
            level: level.parse()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_need_is_read_with_its_unit_and_printed_as_it_was_written() {
        let check = |text: &str, bound: Bound, value: f64, unit: Option<Unit>| {
            let found: Requirement = text.parse().unwrap();
            assert_eq!((found.bound, found.level.unit), (bound, unit), "{text}");
            assert!(
                (found.level.value - value).abs() < 1e-9 * value,
                "{found:?}"
            );
            assert_eq!(found.to_string(), text);
        };
        let (least, most) = (Bound::AtLeast, Bound::AtMost);
        check("storage.randread-4k:iops >= 5000", least, 5000.0, None);
        check("unixbench@1 >= 1,500", least, 1500.0, None);
        let ops = Some(Unit::OpsPerSecond);
        check("storage.randread-4k@1:iops >= 10 kIOPS", least, 1e4, ops);
        let time = Some(Unit::Nanoseconds);
        check("a.b:lat_ns_mode <= 0.26 ms", most, 260_000.0, time);
        check(
            "a.b:bw >= 100 Mbit/s",
            least,
            12.5e6,
            Some(Unit::BytesPerSecond),
        );
    }

    #[test]
    fn what_is_no_need_is_refused_with_what_is_wrong_in_it() {
        let check = |text: &str, why: &str| {
            let error = text.parse::<Requirement>().unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        };
        check("", "is no need");
        check("a.b", "is no need");
        check("a.b > 3", "is no need");
        check(">= 3", "is no TEST");
        check("a.b@0 >= 3", "is no TEST");
        check("a.b@x >= 3", "is no TEST");
        check("a b >= 3", "is no TEST");
        check("a.b >= x", "no number");
        check("a.b >= -3", "no number");
        check("a.b >= 0 ms", "above 0");
        check("a.b >= 3 parsecs", "`parsecs` is no unit");
    }
}
