//! Values of options, and how large they may be.

use super::{Direction, Draft, Family, amount};

/// Limits of iperf3 3.12; `-O` as servers before 3.18 have it.
pub(super) const TIME_MAX: u32 = 86_400;
pub(super) const OMIT_MAX: u32 = 60;
pub(super) const STREAMS_MAX: u32 = 128;
pub(super) const LENGTH_MAX: u64 = 1 << 20;
pub(super) const WINDOW_MAX: u64 = 512 << 20;
pub(super) const MSS_MAX: u32 = 9216;
pub(super) const INTERVALS: std::ops::RangeInclusive<f64> = 0.1..=60.0;
pub(super) const BURST_MAX: u32 = 1000;

/// An hour.
pub(super) const MILLIS_MAX: u64 = 3_600_000;

pub(super) enum Wrong {
    NoNumber,
    TooLarge,
}

pub(super) fn whole(text: &str, most: u32) -> Result<u32, Wrong> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Wrong::NoNumber);
    }
    text.parse()
        .ok()
        .filter(|&number| number <= most)
        .ok_or(Wrong::TooLarge)
}

/// A size, of one byte at least.
pub(super) fn some(text: &str) -> Result<u64, String> {
    let found = amount(text, 1024).filter(|&amount| amount > 0);
    found.ok_or_else(|| format!("`{text}` is no amount such as 65536, 64K or 1.5G"))
}

pub(super) fn rate(draft: &mut Draft, text: &str) -> Result<(), String> {
    let (rate, burst) = match text.split_once('/') {
        Some((rate, burst)) => (rate, Some(burst)),
        None => (text, None),
    };
    let bits = amount(rate, 1000);
    draft.has_rate = true;
    draft.options.bits_per_s =
        bits.ok_or_else(|| format!("`{rate}` is no rate in bits per second such as 800K or 2.5G"))?;
    if let Some(burst) = burst {
        let blocks = whole(burst, BURST_MAX).ok().filter(|&blocks| blocks > 0);
        draft.options.burst =
            blocks.ok_or_else(|| format!("invalid burst count (maximum = {BURST_MAX})"))?;
    }
    Ok(())
}

pub(super) fn direction(draft: &mut Draft, direction: Direction) {
    draft.directions += u32::from(draft.options.direction != direction);
    draft.options.direction = direction;
}

pub(super) fn family(draft: &mut Draft, family: Family) {
    draft.families += u32::from(draft.options.family != Some(family));
    draft.options.family = Some(family);
}
