//! Profiles whose tests have ranks: in which order they are chosen, and in which they are shown.

use super::{glob, split_copies};
use crate::profile::Profile;
use model::plan::PlannedCase;

/// The tests that a profile lists, whether each needs a disk, and its group.
pub(super) fn listed(profile: &Profile) -> Vec<(&str, bool, Option<usize>)> {
    let needs_disk = |pattern: &str| {
        let name = split_copies(pattern).0;
        profile.disk.iter().any(|on_disk| glob(on_disk, name))
    };
    if profile.ranks.is_empty() {
        let always = profile.tests.iter().map(|pattern| (pattern, false));
        let on_disk = profile.disk.iter().map(|pattern| (pattern, true));
        let all = always.chain(on_disk);
        return all
            .map(|(pattern, disk)| (pattern.as_str(), disk, None))
            .collect();
    }
    let mut all = Vec::new();
    for (rank, group) in profile.ranks.iter().enumerate() {
        all.extend(
            group
                .iter()
                .map(|pattern| (pattern.as_str(), needs_disk(pattern), Some(rank))),
        );
    }
    all
}

/// Puts the cases of a test, which may stand in several groups, next to each other.
pub(super) fn by_test(cases: &mut [PlannedCase]) {
    let mut order: Vec<String> = Vec::new();
    for case in cases.iter() {
        if !order.contains(&case.id.test) {
            order.push(case.id.test.clone());
        }
    }
    cases.sort_by_key(|case| {
        let test = order.iter().position(|test| *test == case.id.test);
        (test, case.id.copies)
    });
}
