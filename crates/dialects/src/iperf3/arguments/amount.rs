//! Amounts as iperf3 takes them: a number, also one with a fraction, and a prefix.

use model::num::round_to_u64;

/// What 53 bits hold: more would not be what was typed.
const MOST: f64 = 9_007_199_254_740_992.0;

/// `1.5M` in powers of `base`: 1000 for rates, 1024 for sizes. `None` for what is no amount.
pub fn amount(text: &str, base: u32) -> Option<u64> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, prefix) = text.split_at(split.unwrap_or(text.len()));
    let power = match prefix {
        "" => 0,
        "k" | "K" => 1,
        "m" | "M" => 2,
        "g" | "G" => 3,
        "t" | "T" => 4,
        _ => return None,
    };
    let amount = number.parse::<f64>().ok()? * f64::from(base).powi(power);
    (amount <= MOST).then(|| round_to_u64(amount))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_powers_of_the_base() {
        let check = |text: &str, base, expected: Option<u64>| {
            assert_eq!(amount(text, base), expected, "{text}");
        };
        check("0", 1000, Some(0));
        check("200K", 1024, Some(204_800));
        check("200k", 1000, Some(200_000));
        check("1.5m", 1000, Some(1_500_000));
        check("2.5G", 1000, Some(2_500_000_000));
        check("1T", 1024, Some(1 << 40));
        for wrong in [
            "", "K", "-1", "1e9", "1KB", "1 K", "9000T", "1.2.3", "abc", ".",
        ] {
            check(wrong, 1024, None);
        }
    }
}
