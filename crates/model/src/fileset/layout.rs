//! How many directories, files and bytes a set has, and how large each file is.

use super::{FileSet, FileSizes, FileSpread};
use crate::rng::Rng;

/// Sizes are drawn from this sequence: the same in every run, so that runs stand on the same set.
const SIZES_SEED: u64 = 0x6b75_7261_6265;

impl FileSet {
    /// Directories of the last level; as many as 64 bits hold.
    fn bottom_directories(&self) -> u64 {
        u64::from(self.width).saturating_pow(self.depth)
    }

    /// All directories below the root.
    pub fn directories(&self) -> u64 {
        let levels = (1..=self.depth).map(|level| u64::from(self.width).saturating_pow(level));
        levels.fold(0, u64::saturating_add)
    }

    /// How many directories come before the first that has files.
    pub fn first_directory_with_files(&self) -> u64 {
        match self.spread {
            FileSpread::Bottom => self.directories() - self.bottom_directories(),
            FileSpread::All => 0,
        }
    }

    /// Files that its directories have room for.
    fn places(&self) -> u64 {
        let with_files = self.directories() - self.first_directory_with_files();
        with_files.saturating_mul(self.files)
    }

    /// Its files, numbered from 0, and their bytes.
    pub fn extent(&self) -> (u64, u64) {
        let most = self.total.map_or(u64::MAX, |total| total.0);
        self.first_files(self.places(), |bytes, next| {
            bytes.saturating_add(next) <= most
        })
    }

    /// How many of its files tasks work on, and their bytes.
    pub fn working_extent(&self) -> (u64, u64) {
        let (files, bytes) = self.extent();
        match self.working_set {
            Some(least) if least.0 < bytes => self.first_files(files, |bytes, _| bytes < least.0),
            _ => (files, bytes),
        }
    }

    /// The first files, up to `most`, for which `goes_on` holds with the bytes before and those of the file.
    fn first_files(&self, most: u64, goes_on: impl Fn(u64, u64) -> bool) -> (u64, u64) {
        if let Some(size) = self.one_size() {
            return first_of_one_size(size, most, goes_on);
        }
        let mut bytes = 0_u64;
        for file in 0..most {
            let next = self.size_of(file);
            if !goes_on(bytes, next) {
                return (file, bytes);
            }
            bytes = bytes.saturating_add(next);
        }
        (most, bytes)
    }

    /// The size of all files, where they have the same.
    pub fn one_size(&self) -> Option<u64> {
        match &self.sizes {
            FileSizes::Split(parts) => match parts.as_slice() {
                [(size, _)] => Some(*size),
                _ => None,
            },
            FileSizes::Around(_) => None,
        }
    }

    /// The size of the file of this number, in bytes.
    pub fn size_of(&self, file: u64) -> u64 {
        match &self.sizes {
            FileSizes::Split(parts) if parts.len() == 1 => parts[0].0,
            FileSizes::Split(parts) => {
                let mut left = Rng::stream(SIZES_SEED, file).unit() * 100.0;
                let part = parts.iter().find(|(_, percent)| {
                    left -= percent;
                    left < 0.0
                });
                part.or(parts.last()).map_or(0, |(size, _)| *size)
            }
            FileSizes::Around(mean) => {
                let sizes = mean.saturating_mul(2).saturating_sub(1).max(1);
                1 + Rng::stream(SIZES_SEED, file).below(sizes)
            }
        }
    }

    /// The smallest size that a file can have.
    pub fn size_min(&self) -> u64 {
        match &self.sizes {
            FileSizes::Split(parts) => parts.iter().map(|part| part.0).min().unwrap_or(0),
            FileSizes::Around(_) => 1,
        }
    }

    /// The largest size that a file can have.
    pub fn size_max(&self) -> u64 {
        match &self.sizes {
            FileSizes::Split(parts) => parts.iter().map(|part| part.0).max().unwrap_or(0),
            FileSizes::Around(mean) => mean.saturating_mul(2).saturating_sub(1),
        }
    }
}

/// [`FileSet::first_files`] where all are alike: found by halving.
fn first_of_one_size(size: u64, most: u64, goes_on: impl Fn(u64, u64) -> bool) -> (u64, u64) {
    // Whether the set goes on behind this many files falls once.
    let (mut there, mut beyond) = (0, most);
    while there < beyond {
        let middle = there + (beyond - there) / 2;
        if goes_on(middle.saturating_mul(size), size) {
            there = middle + 1;
        } else {
            beyond = middle;
        }
    }
    (there, there.saturating_mul(size))
}
