//! Numbers as fio shortens them: so many characters at most, a prefix, and digits behind the point only where there is
//! room for them.
//!
//! Learned from what fio 3.33 prints of some thousand amounts: nothing is shortened that fits, so that `4096KiB` and
//! `9999MiB/s` stay as they are.

use model::num::approx;

/// What a prefix stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prefixes {
    /// Powers of 1024: `Ki`.
    Binary,
    /// Powers of 1000: `k`.
    Decimal,
}

/// Characters of an amount or a rate.
const AMOUNT: usize = 4;
/// Characters of a latency.
const LATENCY: usize = 6;

/// `n` with at most `room` characters before its prefix.
fn shortened(n: u64, room: usize, prefixes: Prefixes) -> String {
    let (base, names) = match prefixes {
        Prefixes::Binary => (1024, ["", "Ki", "Mi", "Gi", "Ti", "Pi"]),
        Prefixes::Decimal => (1000, ["", "k", "M", "G", "T", "P"]),
    };
    let (mut whole, mut rest, mut power) = (n, 0, 0);
    while whole.to_string().len() > room && power + 1 < names.len() {
        (whole, rest) = (whole / base, whole % base);
        power += 1;
    }
    let name = names.get(power).copied().unwrap_or_default();
    if power == 0 {
        return whole.to_string();
    }
    let behind = room.saturating_sub(whole.to_string().len() + 1);
    if behind == 0 {
        let rounded = whole + u64::from(rest * 2 >= base);
        return format!("{rounded}{name}");
    }
    let part = format!("{:.behind$}", approx(rest) / approx(base));
    match part.strip_prefix("0.") {
        Some(digits) => format!("{whole}.{digits}{name}"),
        None => format!("{}.{:0<behind$}{name}", whole + 1, ""),
    }
}

/// Bytes with binary prefixes: `64.0KiB`.
pub(super) fn bytes(n: u64) -> String {
    format!("{}B", shortened(n, AMOUNT, Prefixes::Binary))
}

/// Bytes with decimal prefixes: `65.5kB`.
pub(super) fn decimal_bytes(n: u64) -> String {
    format!("{}B", shortened(n, AMOUNT, Prefixes::Decimal))
}

/// A rate of bytes, in bytes or bits, with binary and with decimal prefixes.
pub(super) fn bandwidth(bytes_per_s: u64, in_bits: bool) -> [String; 2] {
    let (n, unit) = if in_bits {
        (bytes_per_s.saturating_mul(8), "bit/s")
    } else {
        (bytes_per_s, "B/s")
    };
    [Prefixes::Binary, Prefixes::Decimal]
        .map(|prefixes| format!("{}{unit}", shortened(n, AMOUNT, prefixes)))
}

/// Operations per second: `16.0k`.
pub(super) fn rate(per_s: u64) -> String {
    shortened(per_s, AMOUNT, Prefixes::Decimal)
}

/// A latency in its unit: `1418.6k`.
pub(super) fn latency(n: u64) -> String {
    shortened(n, LATENCY, Prefixes::Decimal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_shortened_as_fio_shortens_them() {
        // Printed by fio 3.33 for `--bs=N`.
        for (n, expect) in [
            (0, "0B"),
            (9_999, "9999B"),
            (10_000, "9.77KiB"),
            (10_188, "9.95KiB"),
            (10_239, "10.00KiB"),
            (10_240, "10.0KiB"),
            (65_536, "64.0KiB"),
            (102_350, "100.0KiB"),
            (102_399, "100.0KiB"),
            (1_023_487, "999KiB"),
            (1_023_488, "1000KiB"),
            (1 << 20, "1024KiB"),
            (10_485_759, "10.00MiB"),
            (1 << 30, "1024MiB"),
        ] {
            assert_eq!(bytes(n), expect, "{n}");
        }
        assert_eq!(
            bandwidth(1_097 << 20, false),
            ["1097MiB/s", "1150MB/s"],
            "no GiB/s below 9.77"
        );
        assert_eq!(bandwidth(1_023_000, true), ["7992Kibit/s", "8184kbit/s"]);
        assert_eq!(decimal_bytes(4 << 20), "4194kB");
        assert_eq!(
            [7_806, 16_000, 1_859_174].map(rate),
            ["7806", "16.0k", "1859k"]
        );
        assert_eq!(
            [742, 766_683, 1_418_600, 17_541_123].map(latency),
            ["742", "766683", "1418.6k", "17541k"]
        );
    }
}
