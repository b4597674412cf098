//! Names as people type them: globs, concurrencies behind them, and what a misspelt one may have meant.

use crate::profile::Copies;
use model::order::Order as _;

/// The up to three of `candidates` that are most like `name`, the nearest first.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    /// Below this Jaro-Winkler similarity a suggestion confuses more than it helps.
    const ALIKE: f64 = 0.7;
    let mut scored: Vec<(f64, &str)> = candidates
        .into_iter()
        .map(|candidate| {
            let inside = !name.is_empty() && candidate.contains(name);
            (
                if inside {
                    1.0
                } else {
                    strsim::jaro_winkler(name, candidate)
                },
                candidate,
            )
        })
        .filter(|(score, _)| *score >= ALIKE)
        .collect();
    scored.order_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scored.dedup_by_key(|(_, candidate)| *candidate);
    scored
        .into_iter()
        .take(3)
        .map(|(_, candidate)| candidate.to_owned())
        .collect()
}

/// Whether `text` matches `pattern`, in which `*` stands for any characters and `?` for one.
pub fn glob(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(&c) if c == '?' || c == text[t] => (p, t) = (p + 1, t + 1),
            _ => match star {
                Some((at, from)) => {
                    star = Some((at, from + 1));
                    (p, t) = (at + 1, from + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

/// A test's name or glob, and the concurrency behind it, as in `os.pipe@2`.
pub fn split_copies(pattern: &str) -> (&str, Option<Copies>) {
    match pattern.rsplit_once('@') {
        Some((name, copies)) => match copies.parse() {
            Ok(copies) => (name, Some(copies)),
            Err(_) => (pattern, None),
        },
        None => (pattern, None),
    }
}
