//! Money: exact decimal amounts with their currency. Prices are no measurement, so that money is no unit of a metric.
//!
//! Sums and products of prices are exact to the ninth decimal and rounded once, when they are shown. Binary fractions
//! are kept out: ten times 0.1 is 1.

use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// Nine decimals: prices of seconds, and rates of exchange of currencies whose unit is small.
const SCALE: i128 = 1_000_000_000;

/// Beyond this no price, amount or rate is one.
const MOST: i128 = 1_000_000_000_000 * SCALE;

/// A decimal number with at most nine decimals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Decimal(i128);

/// Why a text is no [`Decimal`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadDecimal {
    /// It is no number, or not a finite one.
    #[error("it is no number")]
    NoNumber,
    /// It has more than nine decimals.
    #[error("it has more than nine decimals")]
    TooFine,
    /// It is beyond a million millions.
    #[error("it is too large")]
    TooLarge,
}

impl Decimal {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// One.
    pub const ONE: Self = Self(SCALE);

    /// A whole number.
    pub fn whole(n: u32) -> Self {
        Self(i128::from(n) * SCALE)
    }

    /// The sum; `None` where it is too large.
    pub fn plus(self, other: Self) -> Option<Self> {
        Self::within(self.0.checked_add(other.0)?)
    }

    /// The product, rounded to the nearest in the last decimal; `None` where it is too large.
    pub fn times(self, other: Self) -> Option<Self> {
        let product = self.0.checked_mul(other.0)?;
        let half = SCALE / 2 * product.signum();
        Self::within(product.checked_add(half)? / SCALE)
    }

    fn within(value: i128) -> Option<Self> {
        (value.abs() <= MOST).then_some(Self(value))
    }

    /// The nearest binary number, for statistics.
    pub fn approx(self) -> f64 {
        self.to_string().parse().unwrap_or(f64::NAN)
    }

    /// With exactly so many decimals, nine at most, rounded to the nearest.
    pub fn fixed(self, decimals: u32) -> String {
        let step = 10_i128.pow(9 - decimals.min(9));
        let rounded = (self.0.abs() + step / 2) / step;
        let unit = SCALE / step;
        let sign = if self.0 < 0 && rounded > 0 { "-" } else { "" };
        let whole = rounded / unit;
        if decimals == 0 {
            return format!("{sign}{whole}");
        }
        let width = usize::try_from(decimals.min(9)).unwrap_or(9);
        format!("{sign}{whole}.{:0width$}", rounded % unit)
    }
}

impl fmt::Display for Decimal {
    /// Every decimal that it has, and no zeros behind them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.fixed(9);
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

impl FromStr for Decimal {
    type Err = BadDecimal;

    /// Digits with a point at most; commas between groups of three are passed over.
    fn from_str(text: &str) -> Result<Self, BadDecimal> {
        let (sign, digits) = match text.strip_prefix('-') {
            Some(rest) => (-1, rest),
            None => (1, text),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let whole = without_groups(whole).ok_or(BadDecimal::NoNumber)?;
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let lacks = whole.is_empty() || digits.ends_with('.');
        if lacks || !is_number(&whole) || !is_number(fraction) {
            return Err(BadDecimal::NoNumber);
        }
        let fraction = fraction.trim_end_matches('0');
        if fraction.len() > 9 {
            return Err(BadDecimal::TooFine);
        }
        let value: i128 = format!("{whole}{fraction:0<9}")
            .parse()
            .map_err(|_| BadDecimal::TooLarge)?;
        Self::within(sign * value).ok_or(BadDecimal::TooLarge)
    }
}

/// The digits without the commas between groups of three; `None` where commas stand elsewhere.
fn without_groups(text: &str) -> Option<String> {
    let mut groups = text.split(',');
    let first = groups.next()?;
    let rest: Vec<&str> = groups.collect();
    let fits = rest.is_empty() || (1..=3).contains(&first.len());
    (fits && rest.iter().all(|group| group.len() == 3)).then(|| first.to_owned() + &rest.concat())
}

/// An amount of a currency.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Money {
    /// How much.
    #[serde(serialize_with = "as_text")]
    #[schemars(with = "String")]
    pub amount: Decimal,
    /// The currency's code, such as `JPY`.
    pub currency: String,
}

/// A document has the exact amount: a number would be read as a binary one.
fn as_text<S: serde::Serializer>(amount: &Decimal, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(amount)
}

/// Currencies that nobody counts in hundredths.
const WHOLE: [&str; 4] = ["JPY", "KRW", "VND", "CLP"];

impl fmt::Display for Money {
    /// As prices are written: `1315 JPY`, `12.60 USD`. What would be 0 has the decimals that it takes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let usual = if WHOLE.contains(&self.currency.as_str()) {
            0
        } else {
            2
        };
        let small = self.amount < Decimal::ONE && self.amount > Decimal::ZERO;
        let text = if small {
            let all = self.amount.to_string();
            if all.len() > 4 {
                all
            } else {
                self.amount.fixed(2)
            }
        } else {
            self.amount.fixed(usual)
        };
        write!(f, "{text} {}", self.currency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Decimal {
        text.parse().unwrap()
    }

    #[test]
    fn a_decimal_is_read_exactly_or_refused() {
        let check = |text: &str, expect: Result<&str, BadDecimal>| {
            let found = text.parse::<Decimal>().map(|found| found.to_string());
            assert_eq!(found, expect.map(str::to_owned), "{text}");
        };
        check("12.60", Ok("12.6"));
        check("0.000000001", Ok("0.000000001"));
        check("-3", Ok("-3"));
        check("1,315", Ok("1315"));
        check("1,000,000.5", Ok("1000000.5"));
        check("0.0116000000000", Ok("0.0116"));
        check("0.0000000001", Err(BadDecimal::TooFine));
        check("1000000000001", Err(BadDecimal::TooLarge));
        let digits = "9".repeat(60);
        check(&digits, Err(BadDecimal::TooLarge));
        for bad in [
            "", "-", ".5", "5.", "1,31", "1e3", "NaN", "inf", "1 000", "+1", "--1", ",100",
        ] {
            check(bad, Err(BadDecimal::NoNumber));
        }
    }

    #[test]
    fn ten_tenths_are_one_and_products_are_rounded_once() {
        let tenth = decimal("0.1");
        let sum = (0..10).try_fold(Decimal::ZERO, |sum, _| sum.plus(tenth));
        assert_eq!(sum, Some(Decimal::ONE));
        assert_eq!(
            decimal("0.0116").times(Decimal::whole(730)),
            Some(decimal("8.468"))
        );
        assert_eq!(
            decimal("0.000000001").times(decimal("0.5")),
            Some(decimal("0.000000001"))
        );
        assert_eq!(
            decimal("-0.000000001").times(decimal("0.5")),
            Some(decimal("-0.000000001"))
        );
        assert_eq!(decimal("1000000000000").times(decimal("2")), None);
        assert_eq!(decimal("1000000000000").plus(Decimal::ONE), None);
    }

    #[test]
    fn money_is_shown_as_prices_are() {
        let check = |amount: &str, currency: &str, expect: &str| {
            let money = Money {
                amount: decimal(amount),
                currency: currency.to_owned(),
            };
            assert_eq!(money.to_string(), expect);
        };
        check("1315", "JPY", "1315 JPY");
        check("1314.5", "JPY", "1315 JPY");
        check("12.6", "USD", "12.60 USD");
        check("12.605", "USD", "12.61 USD");
        check("0.0116", "USD", "0.0116 USD");
        check("0.5", "USD", "0.50 USD");
        check("0", "USD", "0.00 USD");
        check("-0.001", "USD", "0.00 USD");
    }
}
