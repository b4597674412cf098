//! Numbers, sizes and times as fio reads them, with a warning where that differs from what people mean.
//!
//! The rules were learned by running fio 3.33 and are repeated exactly, because a job file that is carried over must
//! do the same work here: `4KiB` is 4000 bytes, `1.5g` is one byte, `30sec` is 30 microseconds. Each such reading
//! carries a sentence that says so. Refused: reading what was meant instead of what fio reads.

use super::job::Extent;

/// A value as fio reads it, and what there is to say about it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Read<T> {
    /// The value.
    pub(super) value: T,
    /// Where most people would expect another value.
    pub(super) warning: Option<String>,
    /// Where the value is fine and a unit is worth a word.
    pub(super) note: Option<String>,
}

impl<T> Read<T> {
    fn plain(value: T) -> Self {
        Self {
            value,
            warning: None,
            note: None,
        }
    }

    fn warned(value: T, warning: String) -> Self {
        Self {
            value,
            warning: Some(warning),
            note: None,
        }
    }

    fn map<U>(self, f: impl FnOnce(T) -> U) -> Read<U> {
        Read {
            value: f(self.value),
            warning: self.warning,
            note: self.note,
        }
    }
}

/// What `k` stands for: fio's `kb_base`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KbBase {
    /// The default: `k` is 1024 and, the other way round than everywhere else, `kib` is 1000.
    #[default]
    Binary,
    /// `k` is 1000 and `kib` is 1024.
    Decimal,
}

impl KbBase {
    const fn factors(self) -> (u64, u64) {
        match self {
            Self::Binary => (1024, 1000),
            Self::Decimal => (1000, 1024),
        }
    }
}

/// The unit of a time that is written without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bare {
    /// Such as `runtime`.
    Seconds,
    /// Such as `thinktime`.
    Micros,
}

/// A whole number or size: digits, or `0x` and hexadecimal digits, and one of k, m, g, t, p. `None` where there is no
/// number at the start, where it is negative, or beyond 64 bits.
pub(super) fn size(text: &str, base: KbBase) -> Option<Read<u64>> {
    let number = Number::of(text)?;
    let rest = number.rest;
    if rest.is_empty() {
        return Some(Read::plain(number.value));
    }
    if number.is_hex || number.is_indented {
        let cause = if number.is_hex {
            "a hexadecimal number has no unit"
        } else {
            "a space before the number hides its unit"
        };
        return Some(Read::warned(
            number.value,
            format!("`{text}` is read as {}: {cause}", number.value),
        ));
    }
    let (plain, iec) = base.factors();
    let lower = rest.to_ascii_lowercase();
    let power = match lower.as_bytes().first() {
        Some(b'k') => 1,
        Some(b'm') => 2,
        Some(b'g') => 3,
        Some(b't') => 4,
        Some(b'p') => 5,
        _ => {
            return Some(Read::warned(
                number.value,
                ignored(text, rest, number.value),
            ));
        }
    };
    let is_iec = lower.get(1..3) == Some("ib");
    let factor = if is_iec { iec } else { plain };
    let value = number.value.checked_mul(factor.checked_pow(power)?)?;
    let unit_length = if is_iec {
        3
    } else {
        1 + usize::from(matches!(lower.as_bytes().get(1), Some(b'b' | b'i')))
    };
    let other = if factor == 1024 { 1000_u64 } else { 1024 };
    let meant = number.value.saturating_mul(other.saturating_pow(power));
    let mut read = Read::plain(value);
    if lower.len() > unit_length {
        let tail = rest.get(unit_length..).unwrap_or_default();
        read.warning = Some(format!(
            "`{text}` is read as {value}: `{tail}` behind the unit is ignored"
        ));
    } else if is_iec && factor == 1000 {
        read.warning = Some(format!(
            "`{text}` is {value}, not {meant}: with kb_base=1024 fio swaps the two kinds of prefixes; write `{}{}`",
            number.value,
            lower.chars().next().unwrap_or('k'),
        ));
    } else if factor == 1000 {
        read.warning = Some(format!(
            "`{text}` is {value}, not {meant}, because of kb_base=1000"
        ));
    } else if !is_iec && unit_length == 2 {
        read.note = Some(format!("`{text}` is {value} (1024-based)"));
    }
    Some(read)
}

/// Like [`size`], or a share such as `50%` of the file or device; one of 0% is 0 bytes.
pub(super) fn extent(text: &str, base: KbBase) -> Option<Read<Extent>> {
    let trimmed = text.trim_end();
    if let Some(digits) = trimmed.strip_suffix('%') {
        // fio takes several signs for one: what a program printed with them doubled still runs.
        let digits = digits.trim_end_matches('%');
        let percent: u8 = digits.parse().ok().filter(|n| *n <= 100)?;
        return Some(Read::plain(match percent {
            0 => Extent::Bytes(0),
            percent => Extent::Percent(percent),
        }));
    }
    if trimmed.ends_with(['z', 'Z']) {
        return None;
    }
    size(text, base).map(|read| read.map(Extent::Bytes))
}

/// A time in nanoseconds: digits and one of us, ms, s, m, h, d. Any other suffix means microseconds in fio. `None`
/// where there is no number at the start, where it is negative, or beyond 584 years.
pub(super) fn time_ns(text: &str, bare: Bare) -> Option<Read<u64>> {
    let number = Number::of(text)?;
    let unit: String = number
        .rest
        .split_whitespace()
        .collect::<String>()
        .to_ascii_lowercase();
    let scaled = |factor: u64| number.value.checked_mul(factor);
    let known = match unit.as_str() {
        "" if bare == Bare::Seconds => Some(1_000_000_000),
        "" => Some(1_000),
        "s" => Some(1_000_000_000),
        "m" => Some(60_000_000_000),
        "h" => Some(3_600_000_000_000),
        "d" => Some(86_400_000_000_000),
        _ if unit.starts_with("ms") => Some(1_000_000),
        _ if unit.starts_with("us") => Some(1_000),
        _ => None,
    };
    let Some(factor) = known else {
        let warning = format!(
            "`{text}` is {} microseconds in fio, which knows us, ms, s, m, h and d and reads any \
             other unit as microseconds",
            number.value
        );
        return Some(Read::warned(scaled(1_000)?, warning));
    };
    let mut read = Read::plain(scaled(factor)?);
    if unit.is_empty() && bare == Bare::Micros && number.value != 0 {
        read.note = Some(format!("`{text}` without a unit is in microseconds"));
    }
    Some(read)
}

/// A number with digits behind the point, such as a percentile. `None` for anything else, and for what is not finite.
pub(super) fn float(text: &str) -> Option<f64> {
    let value: f64 = text.trim().parse().ok()?;
    value.is_finite().then_some(value)
}

fn ignored(text: &str, rest: &str, value: u64) -> String {
    if rest.starts_with('.') {
        return format!(
            "`{text}` is read as {value}: fio's sizes have no decimal point, and the rest with its unit is lost"
        );
    }
    format!("`{text}` is read as {value}: `{rest}` is no unit that fio knows")
}

/// The number at the start of a text, as C's `strtoll` finds it.
struct Number<'a> {
    value: u64,
    rest: &'a str,
    is_hex: bool,
    is_indented: bool,
}

impl<'a> Number<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let start = text.trim_start();
        let is_indented = start.len() != text.len();
        let digits = start.strip_prefix('+').unwrap_or(start);
        let hex = digits
            .strip_prefix("0x")
            .or_else(|| digits.strip_prefix("0X"));
        let (digits, radix) = match hex {
            Some(hex) if hex.starts_with(|c: char| c.is_ascii_hexdigit()) => (hex, 16),
            _ => (digits, 10),
        };
        let end = digits
            .find(|c: char| !c.is_digit(radix))
            .unwrap_or(digits.len());
        let (number, rest) = digits.split_at_checked(end)?;
        let value = u64::from_str_radix(number, radix).ok()?;
        // fio keeps sizes as signed numbers.
        let fits = i64::try_from(value).is_ok();
        fits.then(|| Self {
            value,
            rest: rest.trim_end(),
            is_hex: radix == 16,
            is_indented,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Bare::{Micros, Seconds};
    use KbBase::{Binary, Decimal};

    #[test]
    fn sizes_are_those_that_fio_prints() {
        // Each checked with fio 3.33: `fio --debug=parse --parse-only --name=a --bs=TEXT`.
        let check = |text: &str, base, expect: Option<u64>, is_warned: bool| {
            let read = size(text, base);
            assert_eq!(read.as_ref().map(|read| read.value), expect, "{text}");
            assert_eq!(
                read.is_some_and(|read| read.warning.is_some()),
                is_warned,
                "{text}"
            );
        };
        check("4096", Binary, Some(4096), false);
        check("4k", Binary, Some(4096), false);
        check("4K", Binary, Some(4096), false);
        check("4kb", Binary, Some(4096), false);
        check("4ki", Binary, Some(4096), false);
        check("4KiB", Binary, Some(4000), true);
        check("1Mib", Binary, Some(1_000_000), true);
        check("1Gb", Binary, Some(1 << 30), false);
        check("1t", Binary, Some(1 << 40), false);
        check("1p", Binary, Some(1 << 50), false);
        check("1e", Binary, Some(1), true);
        check("1.5g", Binary, Some(1), true);
        check("0x1000", Binary, Some(4096), false);
        check("0x10k", Binary, Some(16), true);
        check("010", Binary, Some(10), false);
        check(" 8k", Binary, Some(8), true);
        check("8 k", Binary, Some(8), true);
        check("8k ", Binary, Some(8192), false);
        check("+8k", Binary, Some(8192), false);
        check("4kk", Binary, Some(4096), true);
        check("8k16k", Binary, Some(8192), true);
        check("8kX", Binary, Some(8192), true);
        check("4k/50", Binary, Some(4096), true);
        check("12abc", Binary, Some(12), true);
        check("4k", Decimal, Some(4000), true);
        check("4ki", Decimal, Some(4000), true);
        check("4kib", Decimal, Some(4096), false);
        check("1mib", Decimal, Some(1_048_576), false);
        check("abc", Binary, None, false);
        check("k", Binary, None, false);
        check("", Binary, None, false);
        check("(1024*4)", Binary, None, false);
        check("-5", Binary, None, false);
        check("99999999999999999999", Binary, None, false);
        check("9000000000000000000k", Binary, None, false);
        check("4ｋ", Binary, Some(4), true);
    }

    #[test]
    fn times_are_those_that_fio_counts() {
        // fio 3.33 prints microseconds: `fio --debug=parse --parse-only --name=a --runtime=TEXT`.
        let check = |text: &str, bare, expect_us: Option<u64>, is_warned: bool| {
            let read = time_ns(text, bare);
            assert_eq!(
                read.as_ref().map(|read| read.value),
                expect_us.map(|us| us * 1_000),
                "{text}"
            );
            assert_eq!(
                read.is_some_and(|read| read.warning.is_some()),
                is_warned,
                "{text}"
            );
        };
        check("30", Seconds, Some(30_000_000), false);
        check("30s", Seconds, Some(30_000_000), false);
        check(" 30s", Seconds, Some(30_000_000), false);
        check("30 s", Seconds, Some(30_000_000), false);
        check("10S", Seconds, Some(10_000_000), false);
        check("1m", Seconds, Some(60_000_000), false);
        check("10M", Seconds, Some(600_000_000), false);
        check("1h", Seconds, Some(3_600_000_000), false);
        check("1d", Seconds, Some(86_400_000_000), false);
        check("500ms", Seconds, Some(500_000), false);
        check("1msx", Seconds, Some(1_000), false);
        check("500usec", Seconds, Some(500), false);
        check("30sec", Seconds, Some(30), true);
        check("1min", Seconds, Some(1), true);
        check("1hour", Seconds, Some(1), true);
        check("1.5m", Seconds, Some(1), true);
        check("5", Micros, Some(5), false);
        check("5ms", Micros, Some(5_000), false);
        check("abc", Seconds, None, false);
        check("-5", Seconds, None, false);
        check("9223372036854775807d", Seconds, None, false);
    }

    #[test]
    fn a_bare_time_in_microseconds_is_noted() {
        assert!(time_ns("5", Bare::Micros).unwrap().note.is_some());
        assert!(time_ns("0", Bare::Micros).unwrap().note.is_none());
        assert!(time_ns("5", Bare::Seconds).unwrap().note.is_none());
    }

    #[test]
    fn shares_are_whole_per_cents_up_to_100() {
        let check = |text: &str, expect: Option<Extent>| {
            assert_eq!(
                extent(text, KbBase::Binary).map(|read| read.value),
                expect,
                "{text}"
            );
        };
        check("50%", Some(Extent::Percent(50)));
        check("100%", Some(Extent::Percent(100)));
        check("100%%", Some(Extent::Percent(100)));
        check("150%", None);
        check("%%", None);
        check("0%", Some(Extent::Bytes(0)));
        check("00%", Some(Extent::Bytes(0)));
        check("0%%", Some(Extent::Bytes(0)));
        check("101%", None);
        check("-1%", None);
        check("%", None);
        check("5z", None);
        check("1m", Some(Extent::Bytes(1 << 20)));
    }
}
