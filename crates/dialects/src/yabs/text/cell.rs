//! A cell of the table of fio: a speed with its operations, and what thousand its unit counts in.

use crate::figures::line::amount;

/// `78.27 MB/s   (19.1k)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cell {
    pub(super) speed: f64,
    /// Thousands by which the speed is to be multiplied: 1 for `KB/s`.
    pub(super) power: i32,
    /// Digits behind these were cut off and not rounded: `1.3k` is 1300 to 1399.
    pub(super) iops: f64,
    /// By how much of itself there may be more operations, for that.
    pub(super) cut: f64,
}

impl Cell {
    /// `None` where a part is missing, or nothing was measured.
    pub(super) fn of(text: &str, block: f64) -> Option<Self> {
        let (speed, rest) = amount(text)?;
        let (unit, iops) = rest.split_once('(')?;
        let power = match unit.trim() {
            "KB/s" => 1,
            "MB/s" => 2,
            "GB/s" => 3,
            _ => return None,
        };
        let (count, suffix) = amount(iops.strip_suffix(')')?)?;
        let (factor, step) = match suffix.trim() {
            "" => (1.0, 0.0),
            "k" => (1e3, 100.0),
            "m" => (1e6, 1e5),
            _ => return None,
        };
        let iops = count * factor;
        let is_one = speed > 0.0 && speed < 1e9 && iops > 0.0 && iops < 1e12 && block > 0.0;
        is_one.then_some(Self {
            speed,
            power,
            iops,
            cut: step / iops,
        })
    }

    /// By how much of itself the speed may be another, for its digits.
    pub(super) fn rounding(self) -> f64 {
        0.01 / self.speed
    }

    /// The operations: of the speed, where that has more digits and its unit is known.
    pub(super) fn iops(self, block: f64, thousand: Option<f64>) -> f64 {
        let of_speed = thousand.map(|thousand| self.bytes_per_s(thousand) / block);
        let known = of_speed.filter(|_| self.rounding() < self.cut);
        known.map_or(self.iops, |iops| {
            iops.clamp(self.iops, self.iops * (1.0 + self.cut))
        })
    }

    /// The speed, where a thousand KiB or kB is so much of its smallest unit: 1024 or 1000 bytes.
    pub(super) fn bytes_per_s(self, kilobyte: f64) -> f64 {
        self.speed * kilobyte * 1000_f64.powi(self.power - 1)
    }
}

/// What speeds are thousands of, by the operations beside them: the cells that have digits enough must agree.
pub(super) fn thousand(cells: &[(f64, Cell)]) -> Option<f64> {
    /// A tenth of what the two readings differ by.
    const DIGITS: f64 = 0.0024;
    let fits = |kilobyte: f64| {
        let near = |(block, cell): &&(f64, Cell)| {
            let ratio = cell.bytes_per_s(kilobyte) / (cell.iops * block);
            let rounding = cell.rounding() + DIGITS;
            (1.0 - rounding..=1.0 + cell.cut + rounding).contains(&ratio)
        };
        let digits = |cell: &Cell| cell.cut + 2.0 * cell.rounding();
        let telling = cells.iter().filter(|(_, cell)| digits(cell) < 6.0 * DIGITS);
        let (all, fit) = (telling.clone().count(), telling.filter(near).count());
        all > 0 && fit == all
    };
    match (fits(1000.0), fits(1024.0)) {
        (true, false) => Some(1000.0),
        (false, true) => Some(1024.0),
        _ => None,
    }
}

/// The bytes of a block of that name: `4k`, `1m`.
pub(super) fn bytes_of(bs: &str) -> f64 {
    let (count, unit) = amount(bs).unwrap_or((0.0, ""));
    match unit {
        "k" => count * 1024.0,
        "m" => count * 1_048_576.0,
        _ => 0.0,
    }
}
