//! Where a password must not be seen, whichever server it opens.

use crate::bed::Bed;
use crate::servers::is_root;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// What opens the servers of tests.
pub(crate) const PASSWORD: &str = "h.nter2-Kn0bbly";

/// Addresses with it are refused where everybody sees them, whatever else is wrong with them, in words that say where
/// to keep it.
#[track_caller]
pub(crate) fn refused_when_typed(bed: &Bed, test: &str, addresses: &[String], words: &[&str]) {
    for (place, address) in addresses.iter().enumerate() {
        let done = bed.run(&["run", test, "--db", address]).code(2);
        assert!(!shows(format!("{done:?}").as_bytes()), "{done:#?}");
        if place == 0 {
            done.err_has(words);
        }
    }
}

/// None of these words is in what the bed's runs keep, or export.
#[track_caller]
pub(crate) fn kept_nowhere(bed: &Bed, words: &[&str]) {
    bed.run(&["export", "latest", "-o", "run.kurabe"]).code(0);
    for entry in std::fs::read_dir(bed.path()).unwrap().flatten() {
        let bytes = std::fs::read(entry.path()).unwrap_or_default();
        for word in words {
            let shown = entry.path();
            assert!(!holds(&bytes, word), "{word}: {}", shown.display());
        }
    }
}

/// Lets these users read a file.
pub(crate) fn readable(path: &Path, mode: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

/// Whether bytes hold a word, which every encoding of ours leaves as it is.
pub(crate) fn holds(bytes: &[u8], word: &str) -> bool {
    let mut parts = bytes.windows(word.len());
    parts.any(|part| part == word.as_bytes())
}

/// Whether bytes hold the password.
pub(crate) fn shows(bytes: &[u8]) -> bool {
    holds(bytes, PASSWORD)
}

/// Whether a worker of this process was seen. Nothing of the process, its workers and what they started may show the
/// password, but for its own environment where `own` is false.
#[track_caller]
pub(crate) fn is_seen_with_a_worker(kurabe: u32, own: bool) -> bool {
    let read =
        |pid: u32, name: &str| std::fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
    let mut is_seen = false;
    for (pid, line) in family(kurabe) {
        assert!(!shows(&line), "{}", String::from_utf8_lossy(&line));
        let is_parent = !is_worker(&line);
        let environment = read(pid, "environ");
        let is_exempt = !own && is_parent;
        assert!(is_exempt || !shows(&environment), "{pid}");
        // That of a process that keeps secrets is root's to read.
        is_seen |= !is_parent && (!environment.is_empty() || !is_root());
    }
    is_seen
}

/// A process, its workers and what they started, with their command lines.
pub(crate) fn family(kurabe: u32) -> Vec<(u32, Vec<u8>)> {
    let read =
        |pid: u32, name: &str| std::fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
    let mut to_see = vec![kurabe];
    let mut seen = Vec::new();
    while let Some(pid) = to_see.pop() {
        let children = String::from_utf8(read(pid, &format!("task/{pid}/children"))).unwrap();
        let children = children.split_whitespace();
        to_see.extend(children.map(|pid| pid.parse::<u32>().unwrap()));
        seen.push((pid, read(pid, "cmdline")));
    }
    seen
}

/// Whether a command line is a worker's. Between fork and exec a child is still its parent.
pub(crate) fn is_worker(line: &[u8]) -> bool {
    line.windows(8).any(|part| part == b"__worker")
}
