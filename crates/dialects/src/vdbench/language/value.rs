//! Values: words and lists of them, sizes, times, shares, and what loops go through.

use model::num::{approx, round_to_u64};
use std::fmt;

/// What stands behind `=`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// A word.
    One(String),
    /// A list in parentheses.
    Many(Vec<Self>),
}

/// Lists inside each other at most.
const NESTED_MAX: usize = 8;
/// Values of one loop at most.
pub(super) const LOOP_MAX: usize = 4096;

impl fmt::Display for Value {
    /// Prints it in a form that parses back to itself.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(word) => f.write_str(word),
            Self::Many(list) => {
                let list: Vec<String> = list.iter().map(ToString::to_string).collect();
                write!(f, "({})", list.join(","))
            }
        }
    }
}

impl Value {
    /// Reads a word, or a list in parentheses.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut rest = text;
        let value = Self::read(&mut rest, 0)?;
        if rest.is_empty() {
            Ok(value)
        } else {
            let rest = crate::printable::said(rest);
            Err(format!(
                "`{rest}` stands behind the value: a list is written `(a,b)`"
            ))
        }
    }

    fn read(rest: &mut &str, depth: usize) -> Result<Self, String> {
        if depth > NESTED_MAX {
            return Err(format!("parentheses are more than {NESTED_MAX} deep"));
        }
        let Some(inside) = rest.strip_prefix('(') else {
            let mut is_quoted = false;
            let end = rest.find(|c: char| {
                is_quoted ^= c == '"';
                !is_quoted && ",()".contains(c)
            });
            let (word, behind) = rest.split_at(end.unwrap_or(rest.len()));
            if is_quoted && end.is_none() {
                return Err("a quotation mark has no second one".to_owned());
            }
            *rest = behind;
            return Ok(Self::One(word.to_owned()));
        };
        *rest = inside;
        let mut list = Vec::new();
        loop {
            list.push(Self::read(rest, depth + 1)?);
            if let Some(behind) = rest.strip_prefix(',') {
                *rest = behind;
            } else if let Some(behind) = rest.strip_prefix(')') {
                *rest = behind;
                return Ok(Self::Many(list));
            } else {
                return Err(
                    "a parenthesis is not closed: expected `)`\nhint: a blank ends the parameters of a line"
                        .to_owned(),
                );
            }
        }
    }

    /// The same in lowercase.
    pub(super) fn lowered(self) -> Self {
        match self {
            Self::One(word) => Self::One(word.to_ascii_lowercase()),
            Self::Many(list) => Self::Many(list.into_iter().map(Self::lowered).collect()),
        }
    }

    /// All of its words, one level deep; `None` where a list stands in it.
    pub(super) fn words(&self) -> Option<Vec<&str>> {
        match self {
            Self::One(word) => Some(vec![unquoted(word)]),
            Self::Many(list) => list
                .iter()
                .map(|value| match value {
                    Self::One(word) => Some(unquoted(word)),
                    Self::Many(_) => None,
                })
                .collect(),
        }
    }

    /// Its only word.
    pub(super) fn word(&self) -> Option<&str> {
        match self.words()?[..] {
            [only] => Some(only),
            _ => None,
        }
    }
}

fn unquoted(word: &str) -> &str {
    let inside = word
        .strip_prefix('"')
        .and_then(|word| word.strip_suffix('"'));
    inside.unwrap_or(word)
}

/// A size in bytes: `4096`, `4k`, `1m`, `2g`, `1t`, by 1024.
pub(super) fn size(word: &str) -> Option<u64> {
    let lower = word.to_ascii_lowercase();
    let (digits, shift) = match lower.strip_suffix(['k', 'm', 'g', 't']) {
        None => (lower.as_str(), 0),
        Some(digits) => match lower.chars().next_back() {
            Some('k') => (digits, 10),
            Some('m') => (digits, 20),
            Some('g') => (digits, 30),
            _ => (digits, 40),
        },
    };
    whole(digits)?
        .checked_mul(1 << shift)
        .filter(|bytes| *bytes < 1 << 62)
}

/// A span of time in seconds: `30`, `5m`, `2h`.
pub(super) fn seconds(word: &str) -> Option<u64> {
    let lower = word.to_ascii_lowercase();
    let (digits, scale) = match lower.as_bytes().last()? {
        b's' => (&lower[..lower.len() - 1], 1),
        b'm' => (&lower[..lower.len() - 1], 60),
        b'h' => (&lower[..lower.len() - 1], 3600),
        _ => (lower.as_str(), 1),
    };
    // What is more fits no clock of nanoseconds.
    whole(digits)?
        .checked_mul(scale)
        .filter(|s| *s <= SECONDS_MAX)
}

/// Nineteen years: corpora have `elapsed=600000000`.
const SECONDS_MAX: u64 = 600_000_000;

/// A whole number.
pub(super) fn whole(word: &str) -> Option<u64> {
    let is_digits = !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
    word.parse().ok().filter(|_| is_digits)
}

/// A share in per cent, from 0 to 100, with or without `%`.
pub(super) fn percent(word: &str) -> Option<f64> {
    let digits = word.strip_suffix('%').unwrap_or(word);
    let is_plain = digits.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let share: f64 = digits.parse().ok().filter(|_| is_plain)?;
    (0.0..=100.0).contains(&share).then_some(share)
}

/// A ratio of compression, from 1 to 100.
pub(super) fn ratio(word: &str) -> Option<f64> {
    let is_plain = word.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let ratio: f64 = word.parse().ok().filter(|_| is_plain)?;
    (1.0..=100.0).contains(&ratio).then_some(ratio)
}

/// What a loop goes through: the words of a list; `(a-b,step)`; or `(a-b,d)`, each twice the one before. `read` reads
/// one word, and what goes on is printed as bytes or as the number that it is.
pub(super) fn steps(value: &Value, read: fn(&str) -> Option<u64>) -> Option<Vec<String>> {
    let words = value.words()?;
    let range = |word: &str| {
        let (from, to) = word.split_once('-')?;
        Some((read(from)?, read(to)?))
    };
    let [span, step] = words[..] else {
        let all: Option<Vec<String>> = words
            .iter()
            .map(|word| read(word).map(|_| (*word).to_owned()))
            .collect();
        return all.filter(|all| all.len() <= LOOP_MAX);
    };
    let Some((from, to)) = range(span) else {
        return (read(span).is_some() && read(step).is_some())
            .then(|| vec![span.to_owned(), step.to_owned()]);
    };
    let next: Box<dyn Fn(u64) -> Option<u64>> = if step == "d" {
        Box::new(|at: u64| at.checked_mul(2).filter(|_| at > 0))
    } else {
        let step = read(step).filter(|step| *step > 0)?;
        Box::new(move |at: u64| at.checked_add(step))
    };
    let all = std::iter::successors(Some(from), |at| next(*at)).take_while(|at| *at <= to);
    let all: Vec<String> = all.take(LOOP_MAX + 1).map(|at| at.to_string()).collect();
    (!all.is_empty() && all.len() <= LOOP_MAX).then_some(all)
}

/// Bytes as people write them here: `8k`.
pub(super) fn short(bytes: u64) -> String {
    for (shift, unit) in [(40, 't'), (30, 'g'), (20, 'm'), (10, 'k')] {
        if bytes > 0 && bytes.is_multiple_of(1 << shift) {
            return format!("{}{unit}", bytes >> shift);
        }
    }
    bytes.to_string()
}

/// `total` in whole parts with these shares, which sum up to 1: the parts sum up to `total`.
pub(super) fn apportioned(total: u64, shares: &[f64]) -> Vec<u64> {
    let (mut before, mut given) = (0.0, 0_u64);
    let part = |share: &f64| {
        before += share;
        let upto = round_to_u64(approx(total) * before).min(total);
        let part = upto.saturating_sub(given);
        given = given.max(upto);
        part
    };
    shares.iter().map(part).collect()
}

/// Whether a name is meant: itself, `sd*`, or within `sd1-sd9`.
pub(super) fn means(pattern: &str, name: &str) -> bool {
    if pattern == name {
        return true;
    }
    if let Some((before, behind)) = pattern.split_once('*') {
        let rest = name.strip_prefix(before);
        return rest.is_some_and(|rest| {
            let parts: Vec<&str> = behind.split('*').collect();
            matches(rest, &parts)
        });
    }
    let numbered = |name: &str| -> Option<(String, u64)> {
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        Some((stem.to_owned(), whole(&name[stem.len()..])?))
    };
    let range = pattern
        .split_once('-')
        .and_then(|(from, to)| numbered(from).zip(numbered(to)));
    range.zip(numbered(name)).is_some_and(|((from, to), own)| {
        from.0 == own.0 && to.0 == own.0 && (from.1..=to.1).contains(&own.1)
    })
}

/// Whether a text ends in the last part and has the others before, in order.
fn matches(text: &str, parts: &[&str]) -> bool {
    let Some((last, before)) = parts.split_last() else {
        return text.is_empty();
    };
    let mut rest = text;
    for part in before {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps_of(text: &str, read: fn(&str) -> Option<u64>) -> Option<String> {
        let value = Value::parse(text).unwrap();
        steps(&value, read).map(|all| all.join(" "))
    }

    #[test]
    fn loops_go_through_lists_steps_and_doublings() {
        let check = |text: &str, expect: Option<&str>| {
            assert_eq!(steps_of(text, whole).as_deref(), expect, "{text}");
        };
        check("7", Some("7"));
        check("(1,2,5)", Some("1 2 5"));
        check("(3,1)", Some("3 1"));
        check("(1-9,4)", Some("1 5 9"));
        check("(1-10,4)", Some("1 5 9"));
        check("(1-20,d)", Some("1 2 4 8 16"));
        check("(0-3,1)", Some("0 1 2 3"));
        for bad in [
            "(1-9,0)",
            "(0-8,d0)",
            "(9-1,1)",
            "(1-99999999,1)",
            "(1,x)",
            "((1,2),3)",
            "x",
        ] {
            check(bad, None);
        }
        // Nothing is twice nothing.
        check("(0-8,d)", Some("0"));
        assert_eq!(
            steps_of("(1k-8k,d)", size).as_deref(),
            Some("1024 2048 4096 8192")
        );
    }

    #[test]
    fn sizes_times_and_shares_have_their_units() {
        for (text, expect) in [
            ("4096", Some(4096)),
            ("4k", Some(4096)),
            ("2G", Some(2 << 30)),
            ("1t", Some(1 << 40)),
        ] {
            assert_eq!(size(text), expect, "{text}");
        }
        for bad in ["", "k", "-1", "1.5m", "4kb", "99999999t", "+4"] {
            assert_eq!(size(bad), None, "{bad}");
        }
        let times = [("30", 30), ("5m", 300), ("2h", 7200), ("9s", 9)];
        assert!(
            times
                .iter()
                .all(|(text, expect)| seconds(text) == Some(*expect))
        );
        assert_eq!((seconds("m"), seconds("99999999h")), (None, None));
        assert_eq!((percent("33.5"), percent("50%")), (Some(33.5), Some(50.0)));
        assert_eq!(
            (percent("101"), percent("-1"), percent("nan")),
            (None, None, None)
        );
    }

    #[test]
    fn names_are_meant_by_stars_and_ranges() {
        for (pattern, name, expect) in [
            ("sd1", "sd1", true),
            ("sd1", "sd10", false),
            ("sd*", "sd10", true),
            ("*", "x", true),
            ("s*1", "sd1", true),
            ("s*1", "sd12", false),
            ("a*b*c", "axbyc", true),
            ("a*b*c", "axyc", false),
            ("sd2-sd10", "sd9", true),
            ("sd2-sd10", "sd11", false),
            ("sd2-xd10", "sd3", false),
        ] {
            assert_eq!(means(pattern, name), expect, "{pattern} {name}");
        }
    }

    #[test]
    fn parts_sum_up_to_the_whole() {
        assert_eq!(apportioned(100, &[1.0 / 3.0; 3]), [33, 34, 33]);
        assert_eq!(apportioned(10, &[0.9, 0.1]), [9, 1]);
        assert_eq!(apportioned(1, &[0.25; 4]).iter().sum::<u64>(), 1);
        assert_eq!(
            [0, 4096, 1536, 3 << 30].map(short),
            ["0", "4k", "1536", "3g"]
        );
    }
}
