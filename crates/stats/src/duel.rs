//! What the two sides of a duel have in common, before anything is concluded from their values.

use crate::failed;
use model::host::BlockDevice;
use model::plan::{CaseId, Duel};
use model::record::{Failure, Round, Run};
use std::collections::BTreeSet;

/// Whether the sides differ in nothing that could be asked for.
pub fn is_same(a: &Run, b: &Run) -> bool {
    let prepare = |run: &Run| run.plan.duel.as_ref().and_then(|duel| duel.prepare.clone());
    a.meta.dir == b.meta.dir
        && a.plan.cases == b.plan.cases
        && a.plan.named == b.plan.named
        && prepare(a) == prepare(b)
}

/// Where the one file system is mounted that holds both work directories, as far as that is known and matters: where
/// both are measured in directories of their own.
pub fn shared_file_system<'a>(a: &'a Run, b: &Run) -> Option<&'a String> {
    let on_disk = a.plan.cases.iter().any(|case| case.on_disk);
    let named = a.plan.measured().next().is_some() || b.plan.measured().next().is_some();
    let (here, there) = (&a.host.storage, &b.host.storage);
    let at = here.mount_point.known()?;
    let names = |devices: &[BlockDevice]| -> Vec<String> {
        devices.iter().map(|device| device.name.clone()).collect()
    };
    let devices = names(here.devices.known()?);
    let same = there.mount_point.known() == Some(at)
        && there.devices.known().map(|there| names(there)) == Some(devices);
    (same && on_disk && !named && a.meta.dir != b.meta.dir).then_some(at)
}

/// In how many passes both sides have a value for the case.
pub fn pairs_of(a: &Run, b: &Run, case: &CaseId) -> usize {
    let passes = |run: &Run| -> BTreeSet<u32> {
        let done = run
            .rounds_of(case)
            .filter(|round| round.failure().is_none());
        done.map(|round| round.pass).collect()
    };
    passes(a).intersection(&passes(b)).count()
}

/// Why rounds of a side failed and how many for each reason, the most frequent first.
pub fn reasons(run: &Run) -> Vec<(&Failure, usize)> {
    failed::reasons(run.rounds.iter().filter_map(Round::failure))
}

/// Whether the duel ended because this side could not be set up so often in a row.
pub fn was_given_up(run: &Run) -> bool {
    let last = run.rounds.iter().rev();
    let in_a_row = last.take_while(|round| matches!(round.failure(), Some(Failure::SetUp { .. })));
    u32::try_from(in_a_row.count()).is_ok_and(|n| n >= Duel::SET_UP_FAILURES_MAX)
}
