//! Numbers for people: one prefix for what is read together, and no more digits than are known.
//!
//! Operations take decimal prefixes (k, M, G), bytes binary ones (KiB, MiB, GiB: memory, files and pages come in
//! powers of two), times run from ns to s. The number of digits follows the interval: half its width decides the
//! second-last digit shown, between 2 and 5 digits; a value without an interval gets 3. Documents for programs do
//! not come here: they carry base units and every digit.

use crate::lang::{Lang, say};
use model::estimate::{Estimate, Interval};
use model::num::{approx, round_to_u64};
use model::units::{Nanos, Unit, UnixNanos};
use std::fmt::Display;

/// The fewest and the most significant digits shown.
const DIGITS_MIN: i32 = 2;
const DIGITS_MAX: i32 = 5;

/// Digits of a value about whose uncertainty nothing is known.
const DIGITS_WITHOUT_INTERVAL: i32 = 3;

/// What stands in the place of a number that is not there.
pub const NONE: &str = "-";

/// What stands before a number that describes no level: its rounds have none.
pub(crate) const NO_LEVEL_MARK: &str = "~";

/// A unit with its prefix, for everything that is read together.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    pub(crate) divisor: f64,
    /// Decimals of a value without an interval; `None` where significant digits count.
    decimals: Option<usize>,
    /// The unit as shown, such as `Mops/s` or `us`.
    pub unit: String,
}

/// The scale in which `largest`, the largest of the values read together, lies between 1 and the next prefix.
pub fn scale(unit: Unit, quantity: &str, largest: f64) -> Scale {
    if quantity == INDEX {
        return INDEX_SCALE;
    }
    let (steps, word): (&[(f64, &str)], &str) = match unit {
        Unit::OpsPerSecond => (DECIMAL, rate_word(quantity)),
        Unit::BytesPerSecond => (BINARY, "/s"),
        Unit::NetBytesPerSecond => (BITS, "bit/s"),
        Unit::Bytes => (BINARY, ""),
        Unit::Nanoseconds => (TIME, ""),
        Unit::Share => (&[(0.01, "%")], ""),
        Unit::Number => (DECIMAL, ""),
    };
    // Rounding up reaches the next prefix, and never leaves one that is reached: 1 GiB is not 1024 MiB.
    let largest = round_to_digits(largest.abs(), DIGITS_MAX).max(largest.abs());
    let mut reached = steps.iter().rev();
    let step = reached.find(|(divisor, _)| largest >= *divisor);
    let (divisor, prefix) = step.or(steps.first()).copied().unwrap_or((1.0, ""));
    Scale {
        divisor,
        decimals: None,
        unit: format!("{prefix}{word}"),
    }
}

/// The quantity of an index, which everybody quotes without a prefix and with one decimal.
pub(crate) const INDEX: &str = "index";

const INDEX_SCALE: Scale = Scale {
    divisor: 1.0,
    decimals: Some(1),
    unit: String::new(),
};

const DECIMAL: &[(f64, &str)] = &[(1.0, ""), (1e3, "k"), (1e6, "M"), (1e9, "G"), (1e12, "T")];

const BINARY: &[(f64, &str)] = &[
    (1.0, "B"),
    (1024.0, "KiB"),
    (1_048_576.0, "MiB"),
    (1_073_741_824.0, "GiB"),
    (1_099_511_627_776.0, "TiB"),
];

/// Of bytes, in bits.
const BITS: &[(f64, &str)] = &[(0.125, ""), (125.0, "k"), (125e3, "M"), (125e6, "G")];

const TIME: &[(f64, &str)] = &[(1.0, "ns"), (1e3, "us"), (1e6, "ms"), (1e9, "s")];

/// The field's own word for a rate, where it has one.
fn rate_word(quantity: &str) -> &'static str {
    match quantity {
        "iops" => "IOPS",
        "packets_per_s" => "packets/s",
        _ => "ops/s",
    }
}

impl Scale {
    /// One that others have settled, whatever the size of the values.
    pub(crate) fn settled(divisor: f64, unit: &str) -> Self {
        Self {
            divisor,
            decimals: None,
            unit: unit.to_owned(),
        }
    }

    /// The value and the ends of its interval in this scale, with as many decimals as the interval allows.
    pub fn estimate(&self, estimate: &Estimate) -> (String, Option<(String, String)>) {
        let fixed_decimals = self.decimals.filter(|_| estimate.interval.is_none());
        let by_digits = || decimals(estimate.value / self.divisor, digits(estimate));
        let decimals = fixed_decimals.unwrap_or_else(by_digits);
        let show = |x: f64| fixed(x / self.divisor, decimals);
        let ends = estimate.interval;
        let ends = ends.map(|interval| (show(interval.lo), show(interval.hi)));
        (show(estimate.value), ends)
    }

    /// A value about whose uncertainty nothing is known.
    pub fn value(&self, x: f64) -> String {
        let x = x / self.divisor;
        let by_digits = || decimals(x, DIGITS_WITHOUT_INTERVAL);
        fixed(x, self.decimals.unwrap_or_else(by_digits))
    }

    /// A value that is known and not measured: as many digits as it has, five at most, and no zeros behind them.
    pub fn exact(&self, x: f64) -> String {
        let x = x / self.divisor;
        let text = fixed(x, decimals(x, DIGITS_MAX));
        if text.contains('.') && !text.contains('e') {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            text
        }
    }
}

/// `lo .. hi`, or [`NONE`].
pub fn range(ends: Option<&(String, String)>) -> String {
    ends.map_or_else(|| NONE.to_owned(), |(lo, hi)| format!("{lo} .. {hi}"))
}

/// A value in the unit `unit` by itself, with its prefix: `12.3 MiB/s`.
pub fn alone(unit: Unit, x: f64) -> String {
    of(unit, "", x)
}

/// A value of this quantity, likewise: `603 IOPS`.
pub fn of(unit: Unit, quantity: &str, x: f64) -> String {
    let scale = scale(unit, quantity, x);
    with_unit(&scale.value(x), &scale)
}

/// A value that is known and not measured, likewise: `64 B`.
pub fn alone_exact(unit: Unit, x: f64) -> String {
    let scale = scale(unit, "", x);
    with_unit(&scale.exact(x), &scale)
}

fn with_unit(value: &str, scale: &Scale) -> String {
    format!("{value} {}", scale.unit).trim_end().to_owned()
}

/// A value of which only the size matters, with two significant digits: `about 90 us` needs no third.
pub fn about(unit: Unit, x: f64) -> String {
    let rounded = round_to_digits(x, DIGITS_MIN);
    let scale = scale(unit, "", rounded);
    let x = rounded / scale.divisor;
    with_unit(&fixed(x, decimals(x, DIGITS_MIN)), &scale)
}

/// A figure without unit or prefix, such as a ratio, with the digits its interval allows.
pub fn plain(estimate: &Estimate) -> (String, Option<(String, String)>) {
    Scale::settled(1.0, "").estimate(estimate)
}

/// An index, likewise.
pub fn index(estimate: &Estimate) -> (String, Option<(String, String)>) {
    INDEX_SCALE.estimate(estimate)
}

/// A time in microseconds, with the digits its interval allows.
pub(crate) fn micros(estimate: &Estimate) -> String {
    Scale::settled(1e3, "us").estimate(estimate).0
}

/// A share as a percentage with two significant digits: `3.4 %`, `33 %`, `0.05 %`.
pub fn percent(share: f64) -> String {
    let x = share * 100.0;
    format!("{} %", fixed(x, decimals(x, DIGITS_MIN)))
}

/// A share as a percentage with one significant digit below ten: `0.05 %`, `3 %`, `12 %`.
pub fn one_digit(share: f64) -> String {
    let x = share * 100.0;
    format!("{} %", fixed(x, decimals(x, 1)))
}

/// Like [`percent`], with its sign.
pub fn signed_percent(share: f64) -> String {
    let sign = if share > 0.0 { "+" } else { "" };
    format!("{sign}{}", percent(share))
}

/// A time with three digits below a minute, and as clocks tell it above: `0 s`, `300 ms`, `1.20 s`, `3 min 2 s`.
pub fn time(span: Nanos, lang: Lang) -> String {
    match span {
        Nanos::ZERO => seconds_of(lang, "0"),
        span if span.as_secs_f64() < 59.95 => short(approx(span.0), lang),
        Nanos(span) => duration(Nanos(span.saturating_add(500_000_000)), lang),
    }
}

/// A time below a minute in the largest unit.
fn short(nanos: f64, lang: Lang) -> String {
    let text = alone(Unit::Nanoseconds, nanos);
    match text.strip_suffix(" s") {
        Some(seconds) => seconds_of(lang, seconds),
        None => text,
    }
}

fn seconds_of(lang: Lang, seconds: &str) -> String {
    say!(lang, "{seconds} s", "{seconds} 秒")
}

/// Likewise, of seconds.
pub fn seconds(seconds: f64, lang: Lang) -> String {
    time(Nanos(round_to_u64(seconds * 1e9)), lang)
}

/// A time of which only the size matters: two digits below a second, and as clocks tell it above.
pub fn roughly(seconds: f64, lang: Lang) -> String {
    if seconds < 0.9995 {
        about(Unit::Nanoseconds, seconds * 1e9)
    } else {
        let nanos = round_to_u64(seconds).saturating_mul(1_000_000_000);
        duration(Nanos(nanos), lang)
    }
}

/// A span of time in the words of a clock: `250 ms`, `45 s`, `3 min 2 s`, `25 h 0 min`.
pub fn duration(span: Nanos, lang: Lang) -> String {
    let seconds = span.0 / 1_000_000_000;
    let (hours, minutes, rest) = (seconds / 3600, seconds % 3600 / 60, seconds % 60);
    match seconds {
        0 => short(approx(span.0), lang),
        1..=59 => seconds_of(lang, &seconds.to_string()),
        60..=3599 => say!(lang, "{minutes} min {rest} s", "{minutes} 分 {rest} 秒"),
        _ => say!(lang, "{hours} h {minutes} min", "{hours} 時間 {minutes} 分"),
    }
}

/// A span as it is typed, in seconds: `180 s`, and below ten of them in tenths, `0.5 s`.
pub fn in_seconds(span: Nanos) -> String {
    let tenths = round_to_u64(span.as_secs_f64() * 10.0);
    match (tenths / 10, tenths % 10) {
        (0, 0) => time(span, Lang::En),
        (10.., _) => format!("{} s", round_to_u64(span.as_secs_f64())),
        (whole, 0) => format!("{whole} s"),
        (whole, tenth) => format!("{whole}.{tenth} s"),
    }
}

/// `1 case`, `2 cases`: a number with the English word for one or for several.
pub fn counted<N: Copy + Display + PartialEq + From<u8>>(n: N, one: &str, many: &str) -> String {
    let word = if n == N::from(1) { one } else { many };
    format!("{n} {word}")
}

/// An instant as people read it: `2026-11-21 00:43:11 UTC`.
pub fn instant(at: UnixNanos) -> String {
    timestamp(at, "%Y-%m-%d %H:%M:%S UTC")
}

/// An instant in a list: `2026-11-21 00:43`, in UTC.
pub fn minute(at: UnixNanos) -> String {
    timestamp(at, "%Y-%m-%d %H:%M")
}

/// Every instant that 64 bits of nanoseconds hold lies within jiff's range (it ends in the year 9999).
fn timestamp(at: UnixNanos, format: &str) -> String {
    let timestamp = jiff::Timestamp::from_nanosecond(i128::from(at.0)).ok();
    timestamp.map_or_else(
        || format!("{} ns after 1970", at.0),
        |at| at.strftime(format).to_string(),
    )
}

/// Significant digits: one more than the interval's half width leaves certain.
fn digits(estimate: &Estimate) -> i32 {
    let half = |interval: Interval| interval.relative_half_width(estimate.value);
    let Some(half) = estimate.interval.and_then(half) else {
        return DIGITS_WITHOUT_INTERVAL;
    };
    if half.is_nan() || half <= 0.0 {
        return DIGITS_MAX;
    }
    let certain = whole(-half.log10().floor());
    certain.saturating_add(1).clamp(DIGITS_MIN, DIGITS_MAX)
}

/// Decimals that show `digits` significant digits of `x`.
fn decimals(x: f64, digits: i32) -> usize {
    if !x.is_finite() || x == 0.0 {
        return 0;
    }
    let leading = whole(x.abs().log10().floor());
    let rounded = round_to_digits(x, digits);
    // 9.996 with three digits is 10.0, not 10.00.
    let leading = leading.max(whole(rounded.abs().log10().floor()));
    usize::try_from(digits - 1 - leading).unwrap_or(0).min(12)
}

/// A number with no more than so many significant digits.
pub(crate) fn round_to_digits(x: f64, digits: i32) -> f64 {
    if !x.is_finite() || x == 0.0 {
        return x;
    }
    let places = digits - 1 - whole(x.abs().log10().floor());
    let factor = 10f64.powi(places.abs());
    if !factor.is_normal() || !(x * factor).is_finite() {
        x
    } else if places < 0 {
        // Powers of ten below one are no exact numbers: by them a second has 999.99... ms.
        (x / factor).round() * factor
    } else {
        (x * factor).round() / factor
    }
}

/// From here on, and below the other where digits are asked for there, a number has an exponent: nobody counts its
/// digits.
const EXPONENT_FROM: f64 = 1e15;
const EXPONENT_BELOW: f64 = 1e-6;

fn fixed(x: f64, decimals: usize) -> String {
    let is_small = x != 0.0 && x.abs() < EXPONENT_BELOW && decimals > 6;
    if x.is_finite() && (is_small || x.abs() >= EXPONENT_FROM) {
        format!("{x:.2e}")
    } else if x.is_finite() {
        // Adding zero turns -0 into 0.
        format!("{:.decimals$}", x + 0.0)
    } else {
        NONE.to_owned()
    }
}

/// A logarithm's whole part; those of finite numbers lie between -324 and 309.
fn whole(x: f64) -> i32 {
    let size = i32::try_from(round_to_u64(x.abs().min(1e6))).unwrap_or(i32::MAX);
    if x < 0.0 { -size } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::estimate::Interval;

    #[test]
    fn what_has_too_many_digits_to_count_has_an_exponent() {
        let check = |x: f64, expect: &str| {
            assert_eq!(alone(Unit::Number, x), expect);
            assert_eq!(alone_exact(Unit::Number, x), expect);
        };
        check(1e308, "1.00e296 T");
        check(-1e308, "-1.00e296 T");
        check(5e-324, "4.94e-324");
        check(2.5e-7, "2.50e-7");
        check(0.0, "0");
        assert_eq!(alone(Unit::Number, 0.000_012_3), "0.0000123");
        assert_eq!(alone(Unit::Number, 123e12), "123 T");
    }
    use proptest::prelude::*;

    fn estimate(value: f64, half: f64) -> Estimate {
        Estimate {
            value,
            interval: Some(Interval {
                lo: value - half,
                hi: value + half,
                confidence: 0.95,
            }),
            n: 6,
        }
    }

    #[test]
    fn digits_follow_the_interval() {
        let check = |value: f64, half: f64, expect: &str| {
            let estimate = estimate(value, half);
            let scale = scale(Unit::OpsPerSecond, "ops_per_s", value);
            let (text, ends) = scale.estimate(&estimate);
            assert_eq!(
                format!("{text} [{}] {}", range(ends.as_ref()), scale.unit),
                expect
            );
        };
        check(1_234_567.0, 37_000.0, "1.23 [1.20 .. 1.27] Mops/s");
        check(1_234_567.0, 3_700.0, "1.235 [1.231 .. 1.238] Mops/s");
        check(1_234_567.0, 1.0, "1.2346 [1.2346 .. 1.2346] Mops/s");
        check(1_234_567.0, 0.0, "1.2346 [1.2346 .. 1.2346] Mops/s");
        check(1_234_567.0, 600_000.0, "1.2 [0.6 .. 1.8] Mops/s");
        check(431.0, 12.0, "431 [419 .. 443] ops/s");
        check(0.0, 0.0, "0 [0 .. 0] ops/s");
    }

    #[test]
    fn prefixes_are_decimal_for_operations_and_binary_for_bytes() {
        let check = |unit: Unit, x: f64, expect: &str| assert_eq!(alone(unit, x), expect);
        check(Unit::OpsPerSecond, 999.0, "999 ops/s");
        check(Unit::OpsPerSecond, 999_999.9, "1.00 Mops/s");
        check(Unit::OpsPerSecond, 0.1, "0.100 ops/s");
        check(Unit::BytesPerSecond, 1024.0 * 1024.0, "1.00 MiB/s");
        check(Unit::BytesPerSecond, 1000.0 * 1024.0, "1000 KiB/s");
        check(Unit::NetBytesPerSecond, 125e6, "1.00 Gbit/s");
        check(Unit::NetBytesPerSecond, 11.95e6, "95.6 Mbit/s");
        check(Unit::Bytes, 17.0, "17.0 B");
        check(Unit::Nanoseconds, 1500.0, "1.50 us");
        check(Unit::Nanoseconds, 2.5e9, "2.50 s");
        check(Unit::Nanoseconds, 7.2e12, "7200 s");
        check(Unit::Share, 0.034, "3.40 %");
        check(Unit::Number, 12_000.0, "12.0 k");
        check(Unit::OpsPerSecond, f64::NAN, "- ops/s");
    }

    #[test]
    fn an_index_has_no_prefix_and_the_decimal_that_unixbench_prints() {
        assert_eq!(of(Unit::Number, INDEX, 2665.8), "2665.8");
        assert_eq!(of(Unit::Number, INDEX, 505.0), "505.0");
        let (value, ends) = index(&estimate(1520.34, 12.0));
        assert_eq!(value, "1520");
        assert_eq!(range(ends.as_ref()), "1508 .. 1532");
    }

    #[test]
    fn what_is_known_has_no_digits_of_doubt() {
        let check = |unit: Unit, x: f64, expect: &str| assert_eq!(alone_exact(unit, x), expect);
        check(Unit::Bytes, 64.0, "64 B");
        check(Unit::Bytes, 1_073_741_824.0, "1 GiB");
        check(Unit::Bytes, 1_099_511_627_776.0, "1 TiB");
        check(Unit::Bytes, 4096.0, "4 KiB");
        check(Unit::Bytes, 44_739_244.0, "42.667 MiB");
        check(Unit::Bytes, 100.0 * 1024.0, "100 KiB");
        check(Unit::Share, 1.0, "100 %");
        check(Unit::Share, 0.0, "0 %");
        check(Unit::Share, 0.9876, "98.76 %");
    }

    #[test]
    fn one_is_not_several() {
        let found = [0_u32, 1, 2].map(|n| counted(n, "case", "cases"));
        assert_eq!(found, ["0 cases", "1 case", "2 cases"]);
    }

    #[test]
    fn about_has_two_digits() {
        let check = |ns: f64, expect: &str| assert_eq!(about(Unit::Nanoseconds, ns), expect);
        check(92_345.0, "92 us");
        check(1_234_567.0, "1.2 ms");
        check(999_900.0, "1.0 ms");
        check(123_456.0, "120 us");
        check(7.0, "7.0 ns");
        check(0.0, "0 ns");
    }

    #[test]
    fn one_scale_serves_all_values_that_are_read_together() {
        let scale = scale(Unit::OpsPerSecond, "iops", 1_800_000.0);
        assert_eq!(scale.unit, "MIOPS");
        assert_eq!(scale.value(900_000.0), "0.900");
        assert_eq!(scale.value(1_800_000.0), "1.80");
    }

    #[test]
    fn percentages_times_and_instants_read_naturally() {
        assert_eq!(percent(0.034), "3.4 %");
        assert_eq!(percent(1.0 / 3.0), "33 %");
        assert_eq!(percent(0.000_45), "0.045 %");
        assert_eq!(percent(1.0), "100 %");
        assert_eq!(signed_percent(-0.12), "-12 %");
        assert_eq!(signed_percent(0.12), "+12 %");
        assert_eq!(time(Nanos::from_secs(1), Lang::En), "1.00 s");
        assert_eq!(time(Nanos::from_millis(59_940), Lang::En), "59.9 s");
        assert_eq!(time(Nanos::from_millis(59_960), Lang::En), "1 min 0 s");
        assert_eq!(time(Nanos::from_millis(181_600), Lang::En), "3 min 2 s");
        assert_eq!(time(Nanos::ZERO, Lang::En), "0 s");
        assert_eq!(roughly(0.0921, Lang::En), "92 ms");
        assert_eq!(roughly(181.6, Lang::En), "3 min 2 s");
        assert_eq!(duration(Nanos::from_millis(250), Lang::En), "250 ms");
        assert_eq!(duration(Nanos::from_secs(182), Lang::En), "3 min 2 s");
        let typed = [180_400, 9_960, 3_240, 1_000, 500, 96, 10].map(Nanos::from_millis);
        assert_eq!(
            typed.map(in_seconds),
            ["180 s", "10 s", "3.2 s", "1 s", "0.5 s", "0.1 s", "10.0 ms"]
        );
        assert_eq!(duration(Nanos::from_secs(90_000), Lang::En), "25 h 0 min");
        assert_eq!(
            instant(UnixNanos(1_795_221_791_000_000_000)),
            "2026-11-21 00:43:11 UTC"
        );
        assert_eq!(
            UnixNanos(1_795_221_791_000_000_001).rfc3339(),
            "2026-11-21T00:43:11.000000001Z"
        );
    }

    proptest! {
        #[test]
        fn any_number_can_be_shown_and_reads_back_within_its_last_digit(
            value in proptest::num::f64::ANY,
            half in proptest::num::f64::ANY,
        ) {
            let estimate = estimate(value, half);
            let scale = scale(Unit::Nanoseconds, "ns", value);
            let (text, _) = scale.estimate(&estimate);
            if value.is_finite() {
                let back: f64 = text.parse().unwrap();
                let shown = value / scale.divisor;
                // Two digits at least: within 5 % of the value, but for what is too small for 12 decimals.
                prop_assert!((back - shown).abs() <= 0.05 * shown.abs() + 1e-12, "{shown} {text}");
            } else {
                prop_assert_eq!(text, NONE);
            }
        }
    }
}
