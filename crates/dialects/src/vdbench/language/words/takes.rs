//! What words take.

use super::super::transfers;
use super::super::value::{LOOP_MAX, Value, percent, ratio, seconds, short, size, steps, whole};
use std::ops::RangeInclusive;

/// What a word takes.
#[derive(Clone, Debug)]
pub enum Takes {
    /// Whatever it is: nothing is done with it.
    Anything,
    /// One text, said in these words.
    Text(&'static str),
    /// Names of definitions: one, a list, `sd*` or `sd1-sd9`.
    Names,
    /// A whole number.
    Count(RangeInclusive<u64>),
    /// A size in bytes.
    Size,
    /// A span of time; seconds without a unit.
    Time,
    /// A share in per cent.
    Percent,
    /// A ratio of compression.
    Ratio,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Some of these words, in a list.
    Choices(&'static [&'static str]),
    /// The sizes of transfers.
    Transfers,
    /// Where reads and writes go.
    Seek,
    /// Two places, in per cent or bytes.
    Range,
    /// A start and how many.
    Counted,
    /// Rates of operations.
    Rates,
    /// Rates or shares, as a list: the points of a curve.
    Points,
    /// The sizes of files.
    Files,
    /// A number, or a share with `%`.
    CountOrShare,
    /// A choice of files.
    Select,
    /// A loop over these.
    Loop(&'static Self),
}

/// The most threads and transfers that anything has.
pub(super) const THREADS: Takes = Takes::Count(1..=32_768);

const SEEK: &str =
    "100, `random`, 0, `seq`, `seqnz`, `eof`, or the share in per cent that is random";
const TRANSFERS: &str = "a size such as `4k`; sizes and shares that sum up to 100, `(4k,50,8k,50)`; or \
         `(min,max,align)`";
const FILES: &str = "a size such as `128k`; sizes and shares that sum up to 100, `(8k,50,1m,50)`; or \
         `(mean,0)`";

impl Takes {
    /// What is expected, in words.
    pub fn words(&self) -> String {
        match self {
            Self::Anything => "anything".to_owned(),
            Self::Text(what) => (*what).to_owned(),
            Self::Names => "a name, `(a,b)`, `a*` or `(a1-a9)`".to_owned(),
            Self::Count(range) => match (range.start(), range.end()) {
                (min, &u64::MAX) => format!("a whole number from {min}"),
                (min, max) => format!("a whole number from {min} to {max}"),
            },
            Self::Size => "a size such as `4096`, `64k`, `10m` or `2g`".to_owned(),
            Self::Time => "a time: seconds, or with `m` or `h`".to_owned(),
            Self::Percent => "a share from 0 to 100".to_owned(),
            Self::Ratio => "a ratio from 1 to 100, such as `2` or `1.5`".to_owned(),
            Self::Choice(words) => format!("one of {}", list(words)),
            Self::Choices(words) => format!("one or a list of {}", list(words)),
            Self::Transfers => TRANSFERS.to_owned(),
            Self::Seek => SEEK.to_owned(),
            Self::Range => "two shares such as `(10,20)`, or two sizes".to_owned(),
            Self::Counted => "`(start,number)`".to_owned(),
            Self::Rates => "a rate, `(100,200)`, `(100-1000,100)`, `curve` or `max`".to_owned(),
            Self::Points => "shares of the maximum in per cent, `(10,50,100)`".to_owned(),
            Self::Files => FILES.to_owned(),
            Self::CountOrShare => "a whole number, or a share such as `50%`".to_owned(),
            Self::Select => "`sequential`, `random`, `once`, or `(poisson,n)`".to_owned(),
            Self::Loop(of) => format!(
                "{}: one, `(a,b)`, `(a-b,step)` or `(a-b,d)`, at most {LOOP_MAX} values",
                of.words()
            ),
        }
    }

    /// Whether it takes this value.
    pub(in super::super) fn takes(&self, value: &Value) -> bool {
        let word = value.word();
        let one = |is: &dyn Fn(&str) -> bool| word.is_some_and(is);
        match self {
            Self::Anything => true,
            Self::Text(_) => one(&|word| !word.is_empty()),
            Self::Names => value
                .words()
                .is_some_and(|all| all.iter().all(|word| !word.is_empty())),
            Self::Count(range) => one(&|word| whole(word).is_some_and(|n| range.contains(&n))),
            Self::Size => one(&|word| size(word).is_some()),
            Self::Time => one(&|word| seconds(word).is_some()),
            Self::Percent => one(&|word| percent(word).is_some()),
            Self::Ratio => one(&|word| ratio(word).is_some()),
            Self::Choice(words) => one(&|word| words.contains(&word.to_ascii_lowercase().as_str())),
            Self::Choices(words) => value.words().is_some_and(|all| {
                all.iter()
                    .all(|word| words.contains(&word.to_ascii_lowercase().as_str()))
            }),
            Self::Transfers => transfers::transfers(value).is_some(),
            Self::Seek => one(&|word| transfers::seek(word).is_some()),
            Self::Range => transfers::range(value).is_some(),
            Self::Counted => counted(value).is_some(),
            Self::Rates => one(&|word| ["curve", "max"].contains(&word)) || rates(value).is_some(),
            Self::Points => steps(value, point).is_some(),
            Self::Files => transfers::files(value).is_some(),
            Self::CountOrShare => one(&|word| {
                whole(word).is_some_and(|n| n > 0)
                    || (word.ends_with('%') && percent(word).is_some_and(|share| share > 0.0))
            }),
            Self::Select => transfers::select(value).is_some(),
            Self::Loop(of) => values(of, value).is_some(),
        }
    }
}

/// The values that a loop goes through.
pub(in super::super) fn values(of: &Takes, value: &Value) -> Option<Vec<String>> {
    let read: fn(&str) -> Option<u64> = match of {
        Takes::Size | Takes::Transfers | Takes::Files => size,
        Takes::Seek => |word| whole(word).or_else(|| transfers::seek(word).map(|_| 0)),
        _ => whole,
    };
    // A single value may be one that no loop counts: `forxfersize=(4k,50,8k,50)` is none of them.
    let all = match of {
        Takes::Percent => steps(value, |word| percent(word).map(model::num::round_to_u64)),
        Takes::Choice(_) => value
            .words()
            .map(|all| all.into_iter().map(str::to_owned).collect()),
        _ => steps(value, read),
    }?;
    let all: Vec<String> = match of {
        Takes::Size => all
            .iter()
            .filter_map(|word| size(word))
            .map(short)
            .collect(),
        _ => all,
    };
    let fits = |word: &String| of.takes(&Value::One(word.clone()));
    (!all.is_empty() && all.iter().all(fits)).then_some(all)
}

/// Rates of operations, one run for each; a `k` is 1024, as with sizes.
pub(in super::super) fn rates(value: &Value) -> Option<Vec<u64>> {
    let all = steps(value, size)?;
    let rates = all.iter().map(|word| size(word));
    rates
        .map(|rate| rate.filter(|rate| (1..=RATE_MAX).contains(rate)))
        .collect()
}

/// Operations per second that anybody asks for.
const RATE_MAX: u64 = 1_000_000_000;

/// A point of a curve, in per cent of the maximum.
pub(in super::super) fn point(word: &str) -> Option<u64> {
    let digits = word.strip_suffix('%').unwrap_or(word);
    whole(digits).filter(|percent| (1..=1000).contains(percent))
}

/// A start and a number.
pub(in super::super) fn counted(value: &Value) -> Option<(u64, u64)> {
    match value.words()?[..] {
        [start, number] => {
            let number = whole(number).filter(|n| (1..=COUNT_MAX).contains(n))?;
            Some((whole(start).filter(|start| *start < 1 << 32)?, number))
        }
        _ => None,
    }
}

/// Definitions that one line makes at most.
const COUNT_MAX: u64 = 1024;

fn list(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    words.join(", ")
}
