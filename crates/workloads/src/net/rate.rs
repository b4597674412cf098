//! Rates as iperf3's `-b` has them: bits per second, in powers of 1000.

use model::num::round_to_u64;

/// Reads `800k`, `500M`, `2.5G`. Up to what 53 bits hold.
pub fn bits_per_s(text: &str) -> Result<u64, String> {
    const MOST: f64 = 1e15;
    let wrong = || "expected bits per second such as 800k, 500M or 10G".to_owned();
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, unit) = text.split_at(split.unwrap_or(text.len()));
    let scale = match unit {
        "" => 1.0,
        "k" | "K" => 1e3,
        "m" | "M" => 1e6,
        "g" | "G" => 1e9,
        "t" | "T" => 1e12,
        _ => return Err(wrong()),
    };
    let bits = number.parse::<f64>().map_err(|_| wrong())? * scale;
    if (1.0..=MOST).contains(&bits) {
        Ok(round_to_u64(bits))
    } else {
        Err(wrong())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_in_powers_of_1000() {
        let check = |text: &str, expected: Option<u64>| {
            assert_eq!(bits_per_s(text).ok(), expected, "{text}");
        };
        check("1G", Some(1_000_000_000));
        check("2.5g", Some(2_500_000_000));
        check("800k", Some(800_000));
        check("64", Some(64));
        check("1T", Some(1_000_000_000_000));
        for wrong in ["", "0", "G", "-1", "1Gbit", "1 G", "1e9", "2000T", "1.2.3M"] {
            check(wrong, None);
        }
    }
}
