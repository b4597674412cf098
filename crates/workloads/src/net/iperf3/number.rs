//! Numbers and flags as the versions of iperf3 write them.

use serde::Deserializer;
use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// From here on an integer was a negative one: versions to 3.13 write -1 as 18446744073709551615.
const WRAPPED: u64 = 1 << 63;

/// The same as a float, in which large numbers may come.
const WRAPPED_F64: f64 = 9_223_372_036_854_775_808.0;

/// The largest whole number that a float holds with all of those below it.
const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;

struct Int;

impl Visitor<'_> for Int {
    type Value = i64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number")
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<i64, E> {
        Ok(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<i64, E> {
        Ok(if value >= WRAPPED {
            -1
        } else {
            value.cast_signed()
        })
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<i64, E> {
        if value >= WRAPPED_F64 {
            return Ok(-1);
        }
        // Some write whole numbers with an exponent.
        if value.abs() > WHOLE_MAX {
            return Err(E::custom(format!("{value:e} is too large")));
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "its whole part fits, as was looked at above"
        )]
        Ok(value as i64)
    }
}

/// An integer.
pub(super) fn int<'de, D: Deserializer<'de>>(from: D) -> Result<i64, D::Error> {
    from.deserialize_any(Int)
}

/// An integer that was there.
pub(super) fn some_int<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i64>, D::Error> {
    int(from).map(Some)
}

struct Flag;

impl Visitor<'_> for Flag {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("true, false or a number")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<bool, E> {
        Ok(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<bool, E> {
        Ok(value != 0)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<bool, E> {
        Ok(value != 0)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<bool, E> {
        Ok(value.abs() > 0.0)
    }
}

/// A flag, as `true` or as a number.
pub(super) fn flag<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    from.deserialize_any(Flag)
}

struct Fraction;

impl Visitor<'_> for Fraction {
    type Value = Option<f64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Option<f64>, E> {
        Ok(Some(value))
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "what was measured has fewer digits"
    )]
    fn visit_i64<E: Error>(self, value: i64) -> Result<Option<f64>, E> {
        Ok(Some(value as f64))
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "what was measured has fewer digits"
    )]
    fn visit_u64<E: Error>(self, value: u64) -> Result<Option<f64>, E> {
        Ok(Some(value as f64))
    }

    fn visit_unit<E: Error>(self) -> Result<Option<f64>, E> {
        Ok(None)
    }
}

/// A number with a fraction, or without; what is no finite number is written as null.
pub(super) fn fraction<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    from.deserialize_any(Fraction)
}

struct Anything;

impl<'de> Visitor<'de> for Anything {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<bool, E> {
        Ok(true)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<bool, E> {
        Ok(true)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<bool, E> {
        Ok(true)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<bool, E> {
        Ok(true)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<bool, E> {
        Ok(true)
    }

    fn visit_unit<E: Error>(self) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<bool, A::Error> {
        while all.next_element::<IgnoredAny>()?.is_some() {}
        Ok(true)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut all: A) -> Result<bool, A::Error> {
        while all.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(true)
    }
}

/// Whether there is anything: of what is not kept.
pub(super) fn is_there<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    from.deserialize_any(Anything)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_read_as_they_were_meant() {
        let check = |text: &str, expected: Option<i64>| {
            let mut from = serde_json::Deserializer::from_str(text);
            assert_eq!(int(&mut from).ok(), expected, "{text}");
        };
        check("0", Some(0));
        check("-1", Some(-1));
        check("18446744073709551615", Some(-1));
        check("9223372036854775808", Some(-1));
        check("9223372036854775807", Some(i64::MAX));
        check("1.8446744073709552e+19", Some(-1));
        check("1e3", Some(1000));
        check("2.5", Some(2));
        check("-1e300", None);
        for wrong in ["\"1\"", "true", "[1]", "{}", "null"] {
            check(wrong, None);
        }
    }

    #[test]
    fn flags_are_words_or_numbers() {
        let check = |text: &str, expected: Option<bool>| {
            let mut from = serde_json::Deserializer::from_str(text);
            assert_eq!(flag(&mut from).ok(), expected, "{text}");
        };
        check("true", Some(true));
        check("1", Some(true));
        check("0", Some(false));
        check("false", Some(false));
        check("\"yes\"", None);
        check("[]", None);
    }
}
