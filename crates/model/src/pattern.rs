//! What operations on storage look like: how large they are, and where they go.
//!
//! The engine that does them and the languages in which they are described share these words, so that nothing has to be
//! carried over from one to the other, and nothing can be lost on the way.

use crate::num::approx;
use serde::{Deserialize, Serialize};

/// One value each for reads, writes and trims.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Directions<T> {
    /// For reads.
    pub read: T,
    /// For writes.
    pub write: T,
    /// For trims.
    pub trim: T,
}

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Trims.
    Trim,
}

impl Direction {
    /// All three.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Trim];

    /// What begins the names of its latencies: `read`, `write`, `trim`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Trim => "trim",
        }
    }
}

impl<T> Directions<T> {
    /// The value for one of them.
    pub const fn of(&self, direction: Direction) -> &T {
        match direction {
            Direction::Read => &self.read,
            Direction::Write => &self.write,
            Direction::Trim => &self.trim,
        }
    }

    /// All three.
    pub const fn each(&self) -> [&T; 3] {
        [&self.read, &self.write, &self.trim]
    }

    /// All three, to be changed.
    pub const fn each_mut(&mut self) -> [&mut T; 3] {
        [&mut self.read, &mut self.write, &mut self.trim]
    }

    /// All three, one after the other.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.each().into_iter()
    }

    /// What `change` makes of each.
    pub fn map<U>(&self, change: impl Fn(&T) -> U) -> Directions<U> {
        Directions {
            read: change(&self.read),
            write: change(&self.write),
            trim: change(&self.trim),
        }
    }
}

impl<T: Clone> Directions<T> {
    /// The same three times.
    pub fn all(value: T) -> Self {
        Self {
            read: value.clone(),
            write: value.clone(),
            trim: value,
        }
    }
}

impl<T: Copy> Directions<Option<T>> {
    /// Takes over what `other` has, and keeps the rest.
    pub fn merge(&mut self, other: Self) {
        self.read = other.read.or(self.read);
        self.write = other.write.or(self.write);
        self.trim = other.trim.or(self.trim);
    }
}

/// How large operations of one direction are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Blocks {
    /// All alike: bytes.
    Fixed(u64),
    /// Any multiple of the smallest, all alike often.
    Range {
        /// The smallest, in bytes.
        min_bytes: u64,
        /// The largest, in bytes.
        max_bytes: u64,
    },
    /// Sizes in bytes with their share of the operations in per cent; the shares sum up to 100.
    Split(Vec<(u64, f64)>),
}

impl Blocks {
    /// The smallest size in bytes.
    pub fn min_bytes(&self) -> u64 {
        match self {
            Self::Fixed(bytes) => *bytes,
            Self::Range { min_bytes, .. } => *min_bytes,
            Self::Split(parts) => parts.iter().map(|(bytes, _)| *bytes).min().unwrap_or(0),
        }
    }

    /// The largest size in bytes.
    pub fn max_bytes(&self) -> u64 {
        match self {
            Self::Fixed(bytes) => *bytes,
            Self::Range { max_bytes, .. } => *max_bytes,
            Self::Split(parts) => parts.iter().map(|(bytes, _)| *bytes).max().unwrap_or(0),
        }
    }

    /// The mean size in bytes.
    pub fn mean_bytes(&self) -> f64 {
        match self {
            Self::Fixed(bytes) => approx(*bytes),
            Self::Range {
                min_bytes,
                max_bytes,
            } => {
                let grain = (*min_bytes).max(1);
                let last = min_bytes + (max_bytes.saturating_sub(*min_bytes)) / grain * grain;
                f64::midpoint(approx(*min_bytes), approx(last))
            }
            Self::Split(parts) => {
                let all: f64 = parts.iter().map(|(_, share)| share).sum();
                let sum: f64 = parts
                    .iter()
                    .map(|(bytes, share)| approx(*bytes) * share)
                    .sum();
                sum / all
            }
        }
    }

    /// What is wrong with it, where something is.
    pub fn check(&self) -> Result<(), String> {
        let (min, max) = (self.min_bytes(), self.max_bytes());
        if min == 0 {
            return Err("a block of 0 bytes transfers nothing".to_owned());
        }
        if max < min {
            return Err(format!(
                "a range of blocks from {min} to {max} bytes is empty"
            ));
        }
        if let Self::Split(parts) = self {
            let all: f64 = parts.iter().map(|(_, share)| share).sum();
            if let Some((_, share)) = parts.iter().find(|(_, share)| *share < 0.0) {
                return Err(format!("a block size has a share of {share} %"));
            }
            if (all - 100.0).abs() > 1e-6 {
                return Err(format!(
                    "the shares of the block sizes sum up to {all} and not to 100 %"
                ));
            }
        }
        Ok(())
    }
}

/// Which offsets random operations prefer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// None.
    #[default]
    Uniform,
    /// The k-th most popular block comes in proportion to 1 / k^theta.
    Zipf {
        /// The exponent; above 0.
        theta: f64,
        /// Where the most popular block lies, from 0 to 1 of the file, the next ones behind it; `None` scatters them.
        center: Option<f64>,
    },
    /// A share `power` of the blocks gets a share 1 - `power` of the operations, and so on within either part.
    Pareto {
        /// Between 0 and 1, both excluded.
        power: f64,
        /// As of Zipf.
        center: Option<f64>,
    },
    /// Normal around the middle of the file.
    Normal {
        /// The standard deviation, in per cent of the file.
        deviation_percent: f64,
    },
    /// Per cent of the operations on per cent of the file, from its beginning on.
    Zoned(Directions<Vec<(u8, u8)>>),
    /// Per cent of the operations on so many bytes, from the beginning of the file on.
    ZonedAbsolute(Directions<Vec<(u8, u64)>>),
}

impl Distribution {
    /// What is wrong with it, where something is.
    pub fn check(&self) -> Result<(), String> {
        let centered =
            |center: &Option<f64>| center.is_none_or(|center| (0.0..=1.0).contains(&center));
        let shares = |ops: &mut dyn Iterator<Item = u32>| {
            let sum: u32 = ops.sum();
            sum == 0 || sum == 100
        };
        let right = match self {
            Self::Uniform => true,
            Self::Zipf { theta, center } => *theta > 0.0 && theta.is_finite() && centered(center),
            Self::Pareto { power, center } => *power > 0.0 && *power < 1.0 && centered(center),
            Self::Normal { deviation_percent } => {
                *deviation_percent > 0.0 && deviation_percent.is_finite()
            }
            Self::Zoned(zones) => zones.iter().all(|zones| {
                shares(&mut zones.iter().map(|(ops, _)| u32::from(*ops)))
                    && shares(&mut zones.iter().map(|(_, part)| u32::from(*part)))
            }),
            Self::ZonedAbsolute(zones) => zones
                .iter()
                .all(|zones| shares(&mut zones.iter().map(|(ops, _)| u32::from(*ops)))),
        };
        if right {
            Ok(())
        } else {
            Err(format!(
                "{self:?} is no distribution: a parameter is out of its range"
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_for_a_direction_is_taken_over_and_the_rest_kept() {
        let mut own = Directions {
            read: Some(1),
            write: None,
            trim: Some(3),
        };
        own.merge(Directions {
            read: Some(10),
            write: Some(20),
            trim: None,
        });
        assert_eq!(
            own.iter().copied().flatten().collect::<Vec<_>>(),
            [10, 20, 3]
        );
        assert_eq!(own.map(|n| n.map_or(0, |n| n + 1)).trim, 4);
        assert!(Directions::all(7).iter().all(|n| *n == 7));
    }

    #[test]
    fn sizes_have_a_smallest_a_largest_and_a_mean() {
        let check = |blocks: Blocks, least: u64, most: u64, mean: f64| {
            assert_eq!(blocks.check(), Ok(()));
            assert_eq!((blocks.min_bytes(), blocks.max_bytes()), (least, most));
            assert!((blocks.mean_bytes() - mean).abs() < 1e-9, "{blocks:?}");
        };
        check(Blocks::Fixed(4096), 4096, 4096, 4096.0);
        // 4096, 8192, 12,288 and 16,384.
        let range = Blocks::Range {
            min_bytes: 4096,
            max_bytes: 20_000,
        };
        check(range, 4096, 20_000, 10_240.0);
        let split = vec![(4096, 60.0), (65_536, 30.0), (8192, 9.0), (1 << 20, 1.0)];
        let mean = 0.6 * 4096.0 + 0.3 * 65_536.0 + 0.09 * 8192.0 + 0.01 * 1_048_576.0;
        check(Blocks::Split(split), 4096, 1 << 20, mean);
    }

    #[test]
    fn impossible_sizes_are_refused() {
        for (blocks, words) in [
            (Blocks::Fixed(0), "0 bytes"),
            (
                Blocks::Range {
                    min_bytes: 8192,
                    max_bytes: 4096,
                },
                "is empty",
            ),
            (
                Blocks::Split(vec![(4096, 50.0), (8192, 40.0)]),
                "sum up to 90",
            ),
            (
                Blocks::Split(vec![(4096, 150.0), (8192, -50.0)]),
                "a share of -50 %",
            ),
            (Blocks::Split(Vec::new()), "0 bytes"),
        ] {
            let why = blocks.check().unwrap_err();
            assert!(why.contains(words), "{why}");
        }
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        for what in [
            Distribution::Zipf {
                theta: 0.0,
                center: None,
            },
            Distribution::Pareto {
                power: 1.0,
                center: None,
            },
            Distribution::Zipf {
                theta: 1.0,
                center: Some(1.5),
            },
            Distribution::Normal {
                deviation_percent: 0.0,
            },
            Distribution::Zoned(Directions::all(vec![(60, 50), (30, 50)])),
            Distribution::ZonedAbsolute(Directions::all(vec![(60, 4096), (30, 4096)])),
        ] {
            assert!(what.check().is_err(), "{what:?}");
        }
        assert_eq!(Distribution::default().check(), Ok(()));
    }
}
