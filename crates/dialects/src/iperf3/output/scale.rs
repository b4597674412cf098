//! Numbers in four places, with the prefix that fits.

use model::num::approx;

const PREFIXES: [&str; 5] = ["", "K", "M", "G", "T"];

/// `1.92 MBytes`, in powers of 1024.
pub(super) fn bytes(count: u64) -> String {
    adapted(approx(count), 1024.0, "Bytes")
}

/// A rate: `4.03 Mbits`, in powers of 1000, whatever fits; or by `-f` in bits or, by a capital, in bytes and powers of
/// 1024.
pub(super) fn rate(bits_per_s: f64, format: Option<char>) -> String {
    let Some(format) = format else {
        return adapted(bits_per_s, 1000.0, "bits");
    };
    let (value, base, unit) = if format.is_uppercase() {
        (bits_per_s / 8.0, 1024.0_f64, "Bytes")
    } else {
        (bits_per_s, 1000.0, "bits")
    };
    let power = "KMGT".find(format.to_ascii_uppercase()).unwrap_or(0) + 1;
    let value = (0..power).fold(value, |value, _| value / base);
    format!("{} {}{unit}", places(value), PREFIXES[power])
}

fn adapted(value: f64, base: f64, unit: &str) -> String {
    let (mut value, mut power) = (value, 0);
    while value >= base && power + 1 < PREFIXES.len() {
        value /= base;
        power += 1;
    }
    format!("{} {}{unit}", places(value), PREFIXES[power])
}

/// A share in two significant digits at most, as `%.2g` of printf(3) writes it.
pub(super) fn two_places(value: f64) -> String {
    let exact = format!("{value:.1e}");
    let (digits, power) = exact.split_once('e').unwrap_or((&exact, "0"));
    let power: i32 = power.parse().unwrap_or(0);
    let short = |text: &str| match text.split_once('.') {
        Some(_) => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        None => text.to_owned(),
    };
    if (-4..=1).contains(&power) {
        let places = usize::try_from(1 - power).unwrap_or(0);
        return short(&format!("{value:.places$}"));
    }
    let sign = if power < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", short(digits), power.abs())
}

/// In four places at least.
fn places(value: f64) -> String {
    if value < 9.995 {
        format!("{value:4.2}")
    } else if value < 99.95 {
        format!("{value:4.1}")
    } else {
        format!("{value:4.0}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_look_as_printf_writes_them() {
        for (value, expected) in [
            (0.0, "0"),
            (5.0, "5"),
            (3.571, "3.6"),
            (5.96, "6"),
            (9.96, "10"),
            (50.06, "50"),
            (99.4, "99"),
            (99.6, "1e+02"),
            (100.0, "1e+02"),
            (0.05, "0.05"),
            (0.0123, "0.012"),
            (0.000_123, "0.00012"),
            (0.000_056_1, "5.6e-05"),
        ] {
            assert_eq!(two_places(value), expected);
        }
    }

    #[test]
    fn numbers_look_as_iperf3_3_12_printed_them() {
        for (count, expected) in [
            (0, "0.00 Bytes"),
            (499_712, " 488 KBytes"),
            (12_288, "12.0 KBytes"),
            (65_536, "64.0 KBytes"),
            (1_047_552, "1023 KBytes"),
            (2_015_232, "1.92 MBytes"),
            (2_448_131_358, "2.28 GBytes"),
        ] {
            assert_eq!(bytes(count), expected);
        }
        let check = |bits, format, expected: &str| assert_eq!(rate(bits, format), expected);
        check(0.0, None, "0.00 bits");
        check(3_997_232.4, None, "4.00 Mbits");
        check(983_040.0, None, " 983 Kbits");
        check(19_100_000_000.0, None, "19.1 Gbits");
        check(4_063_232.0, Some('K'), " 496 KBytes");
        check(4_000_000.0, Some('k'), "4000 Kbits");
        check(3_997_696.0, Some('G'), "0.00 GBytes");
        check(3_997_696.0, Some('t'), "0.00 Tbits");
        check(8.0 * 1_048_576.0, Some('M'), "1.00 MBytes");
    }
}
