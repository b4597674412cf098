//! Sizes of operations and files, places, and choices of files: what values of several words mean.

use super::value::{Value, percent, size, whole};
use model::fileset::{FileSelect, FileSizes};
use model::job::Blocks;

/// Sizes that a range comes to at most.
const SIZES_MAX: u64 = 4096;

/// The sizes of operations.
pub(super) fn transfers(value: &Value) -> Option<Blocks> {
    let words = value.words()?;
    let positive = |word: &str| size(word).filter(|bytes| *bytes > 0);
    match words[..] {
        [only] => positive(only).map(Blocks::Fixed),
        [min, max, align] => range_of(positive(min)?, positive(max)?, positive(align)?),
        _ => split(&words, positive).map(Blocks::Split),
    }
}

/// Multiples of `align` from `min` to `max`, all alike often.
fn range_of(min: u64, max: u64, align: u64) -> Option<Blocks> {
    if max < min {
        return None;
    }
    if align == min {
        return Some(Blocks::Range {
            min_bytes: min,
            max_bytes: max,
        });
    }
    let number = (max - min) / align + 1;
    if number > SIZES_MAX {
        return None;
    }
    let share = 100.0 / model::num::approx(number);
    Some(Blocks::Split(
        (0..number).map(|at| (min + at * align, share)).collect(),
    ))
}

/// Sizes with shares that sum up to 100.
fn split(words: &[&str], read: impl Fn(&str) -> Option<u64>) -> Option<Vec<(u64, f64)>> {
    if words.is_empty() || !words.len().is_multiple_of(2) {
        return None;
    }
    let parts = words
        .chunks(2)
        .map(|pair| Some((read(pair[0])?, percent(pair[1])?)));
    let parts: Option<Vec<(u64, f64)>> = parts.collect();
    parts.filter(|parts| {
        let sum: f64 = parts.iter().map(|(_, share)| share).sum();
        (sum - 100.0).abs() < 1e-6
    })
}

/// The sizes of files. Those of `(mean,0)` are around the mean.
pub(super) fn files(value: &Value) -> Option<FileSizes> {
    let words = value.words()?;
    match words[..] {
        [only] => Some(FileSizes::Split(vec![(size(only)?, 100.0)])),
        [mean, "0"] => size(mean).filter(|mean| *mean > 0).map(FileSizes::Around),
        _ => split(&words, size).map(FileSizes::Split),
    }
}

/// Where operations go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seek {
    /// One after the other.
    Sequential,
    /// The share of those whose places are random, in per cent, from 1 to 100.
    Random(u8),
}

/// What a word says of it.
pub(super) fn seek(word: &str) -> Option<Seek> {
    match word.to_ascii_lowercase().as_str() {
        "random" | "rand" => Some(Seek::Random(100)),
        "0" | "seq" | "sequential" | "seqnz" | "eof" | "-1" => Some(Seek::Sequential),
        share => {
            let share = whole(share.strip_suffix('%').unwrap_or(share))?;
            u8::try_from(share)
                .ok()
                .filter(|share| (1..=100).contains(share))
                .map(Seek::Random)
        }
    }
}

/// A place in a storage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum At {
    /// A share of it in per cent.
    Percent(f64),
    /// Bytes from its beginning.
    Bytes(u64),
}

/// Two places, the first before the second; what is 100 at most and has no unit is a share.
pub(super) fn range(value: &Value) -> Option<(At, At)> {
    let place = |word: &str| match percent(word) {
        Some(share) => Some(At::Percent(share)),
        None => size(word).map(At::Bytes),
    };
    let [from, to] = value.words()?[..] else {
        return None;
    };
    let (from, to) = (place(from)?, place(to)?);
    let in_order = match (from, to) {
        (At::Percent(from), At::Percent(to)) => from < to,
        (At::Bytes(from), At::Bytes(to)) => from < to,
        _ => true,
    };
    in_order.then_some((from, to))
}

/// Which file comes next.
pub(super) fn select(value: &Value) -> Option<FileSelect> {
    let words = value.words()?;
    let lower: Vec<String> = words.iter().map(|word| word.to_ascii_lowercase()).collect();
    let words: Vec<&str> = lower.iter().map(String::as_str).collect();
    match words[..] {
        ["sequential" | "seq"] => Some(FileSelect::Sequential),
        ["random"] => Some(FileSelect::Random),
        ["once"] => Some(FileSelect::Once),
        ["poisson"] => Some(FileSelect::Poisson { midpoint: 3 }),
        ["poisson", midpoint] => {
            let midpoint = whole(midpoint).filter(|at| (1..=1000).contains(at))?;
            Some(FileSelect::Poisson {
                midpoint: u32::try_from(midpoint).ok()?,
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        Value::parse(text).unwrap()
    }

    #[test]
    fn sizes_are_one_several_with_shares_or_a_range() {
        let check = |text: &str, expect: Option<Blocks>| {
            assert_eq!(transfers(&value(text)), expect, "{text}");
        };
        check("8192", Some(Blocks::Fixed(8192)));
        check(
            "(4k,30,8k,70)",
            Some(Blocks::Split(vec![(4096, 30.0), (8192, 70.0)])),
        );
        let range = Blocks::Range {
            min_bytes: 4096,
            max_bytes: 65_536,
        };
        check("(4k,64k,4k)", Some(range));
        let apart = vec![(4096, 50.0), (12_288, 50.0)];
        check("(4k,16k,8k)", Some(Blocks::Split(apart)));
        for bad in [
            "0",
            "(4k,30,8k,60)",
            "(64k,4k,4k)",
            "(4k,8k)",
            "(512,1t,1k)",
            "()",
            "((4k))",
        ] {
            check(bad, None);
        }
    }

    #[test]
    fn places_and_choices_are_read_as_documented() {
        assert_eq!(
            range(&value("(10,20)")),
            Some((At::Percent(10.0), At::Percent(20.0)))
        );
        assert_eq!(
            range(&value("(1m,2g)")),
            Some((At::Bytes(1 << 20), At::Bytes(2 << 30)))
        );
        assert_eq!((range(&value("(20,10)")), range(&value("5"))), (None, None));
        for (word, expect) in [
            ("random", Some(Seek::Random(100))),
            ("100", Some(Seek::Random(100))),
            ("70", Some(Seek::Random(70))),
            ("seq", Some(Seek::Sequential)),
            ("0", Some(Seek::Sequential)),
            ("101", None),
            ("poisson", None),
        ] {
            assert_eq!(seek(word), expect, "{word}");
        }
        assert_eq!(files(&value("(8k,0)")), Some(FileSizes::Around(8192)));
        assert_eq!(
            select(&value("(poisson,5)")),
            Some(FileSelect::Poisson { midpoint: 5 })
        );
    }
}
