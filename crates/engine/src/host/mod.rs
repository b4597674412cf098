//! What is known about this machine before anything is measured: the facts behind `kurabe doctor`.
//!
//! [`facts`] is pure over a [`Tree`] (what /proc, /sys and /etc say) and [`Probes`] (what only system calls can
//! tell), so that machines we do not have are tested as directories of text. Every fact is known or missing with its
//! reason; nothing here guesses, and nothing here fails as a whole.

pub(crate) mod clock;
mod container;
mod cpu;
mod identity;
mod kernel;
mod limits;
mod memory;
mod parts;
mod platform;
mod probes;
mod programs;
mod storage;
mod topology;
mod work_dir;

pub use probes::{Locale, Probes};
pub use programs::SHELL_PROGRAMS;
pub(crate) use storage::behind;
pub use work_dir::{WorkDirState, check_work_dir};

use model::host::{Fact, HostFacts};
use std::collections::BTreeSet;
use std::fmt::Display;
use sys::tree::Tree;

/// Everything known about the machine that `tree` and `probes` show.
pub fn facts(tree: &Tree, probes: &Probes) -> HostFacts {
    let info = cpu::Info::read(tree);
    HostFacts {
        hostname: fact(tree.read_trimmed("/proc/sys/kernel/hostname")),
        identity: identity::facts(tree),
        cpu: cpu::facts(tree, &info, probes),
        limits: limits::facts(tree, probes),
        memory: memory::facts(tree, probes),
        kernel: kernel::facts(tree),
        platform: platform::facts(tree, &info, probes),
        clock: clock::facts(tree, &info, probes),
        storage: storage::facts(tree, probes),
        io: probes.io.clone(),
        programs: programs::facts(tree, probes),
        locale: Fact::Known(probes.locale.collation()),
    }
}

/// A result as a fact: the error becomes the reason.
fn fact<T, E: Display>(result: Result<T, E>) -> Fact<T> {
    match result {
        Ok(value) => Fact::Known(value),
        Err(error) => Fact::Missing(error.to_string()),
    }
}

/// The choice in brackets: `madvise` of `always [madvise] never`; a single word without brackets is the choice.
fn chosen(text: &str) -> Option<&str> {
    let bracketed = text
        .split_ascii_whitespace()
        .find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    let mut words = text.split_ascii_whitespace();
    let single = words.next().filter(|_| words.next().is_none());
    bracketed
        .or(single)
        .filter(|word| !word.is_empty() && !word.contains(['[', ']']))
}

/// The largest number that a CPU or node list may hold: eight times what Linux supports (8192, `NR_CPUS`), so that
/// a broken file cannot ask for memory.
const LIST_MAX: u32 = 65_536;

/// A list of numbers as the kernel writes it, `0-3,8`; empty text is the empty list, nonsense is `None`.
fn number_list(text: &str) -> Option<BTreeSet<u32>> {
    let mut numbers = BTreeSet::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
        if first > last || last > LIST_MAX {
            return None;
        }
        numbers.extend(first..=last);
    }
    Some(numbers)
}

/// A file that holds a list of numbers, or why it cannot be had.
fn read_list(tree: &Tree, path: &str) -> Result<BTreeSet<u32>, String> {
    let text = tree.read(path).map_err(|error| error.to_string())?;
    number_list(&text).ok_or_else(|| format!("parse `{path}`: it is not a list of numbers"))
}

/// How many there are, where it fits.
fn how_many<T>(items: &BTreeSet<T>) -> u32 {
    u32::try_from(items.len()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
