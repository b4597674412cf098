//! The kernel, the distribution, and what the kernel does about weaknesses of the CPU.

use super::fact;
use model::host::{Fact, KernelFacts};
use std::collections::BTreeMap;
use sys::tree::Tree;

const VULNERABILITIES: &str = "/sys/devices/system/cpu/vulnerabilities";

pub(super) fn facts(tree: &Tree) -> KernelFacts {
    KernelFacts {
        release: fact(tree.read_trimmed("/proc/sys/kernel/osrelease")),
        version: fact(tree.read_trimmed("/proc/sys/kernel/version")),
        distribution: fact(distribution(tree)),
        mitigations: mitigations(tree),
    }
}

/// `PRETTY_NAME` of os-release(5), which is searched for in two places.
fn distribution(tree: &Tree) -> Result<String, String> {
    let path = "/etc/os-release";
    let text = tree
        .read(path)
        .or_else(|error| tree.read("/usr/lib/os-release").map_err(|_| error))
        .map_err(|error| error.to_string())?;
    let value = |key: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
            .map(|value| value.trim().trim_matches(['"', '\'']).to_owned())
            .filter(|value| !value.is_empty())
    };
    value("PRETTY_NAME")
        .or_else(|| value("NAME"))
        .ok_or_else(|| format!("parse `{path}`: it has neither PRETTY_NAME nor NAME"))
}

/// One file per weakness. One that cannot be read makes the whole unknown: a shorter list would look like a
/// difference between two machines.
fn mitigations(tree: &Tree) -> Fact<BTreeMap<String, String>> {
    let read = |name: String| {
        let text = tree.read_trimmed(&format!("{VULNERABILITIES}/{name}"))?;
        Ok((name, text))
    };
    fact(
        tree.list(VULNERABILITIES)
            .and_then(|names| names.into_iter().map(read).collect()),
    )
}
