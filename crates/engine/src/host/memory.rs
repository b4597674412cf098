//! Memory: how much, how much is free, and how it is paged.

use super::{Probes, chosen, fact};
use model::host::{Fact, MemoryFacts};
use model::units::Bytes;
use sys::tree::Tree;

const MEMINFO: &str = "/proc/meminfo";
const HUGE_PAGES: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

pub(super) fn facts(tree: &Tree, probes: &Probes) -> MemoryFacts {
    let info = tree.read(MEMINFO).map_err(|error| error.to_string());
    let amount = |key| fact(info.clone().and_then(|text| kibibytes(&text, key)));
    MemoryFacts {
        total: amount("MemTotal"),
        available: amount("MemAvailable"),
        swap: amount("SwapTotal"),
        transparent_huge_pages: huge_pages(tree),
        page_size: probes.page_size.clone(),
    }
}

/// `MemTotal:       24682416 kB`, where kB means KiB (proc(5)).
fn kibibytes(text: &str, key: &str) -> Result<Bytes, String> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))
        .ok_or_else(|| format!("parse `{MEMINFO}`: it has no {key}"))?;
    line.trim()
        .strip_suffix("kB")
        .and_then(|number| number.trim().parse::<u64>().ok()?.checked_mul(1024))
        .map(Bytes)
        .ok_or_else(|| format!("parse `{MEMINFO}`: {key} is not a number of kB"))
}

fn huge_pages(tree: &Tree) -> Fact<String> {
    fact(
        tree.read_trimmed(HUGE_PAGES)
            .map_err(|error| error.to_string())
            .and_then(|text| {
                chosen(&text)
                    .map(str::to_owned)
                    .ok_or_else(|| format!("parse `{HUGE_PAGES}`: no choice is in brackets"))
            }),
    )
}
