//! What tests take on a server of tables. Its free space cannot be asked, so it is told before, as an estimate, and
//! what transactions have added is counted while a run goes on.
//!
//! The estimate holds for each kind of server: rows with their indexes, the log of making them (PostgreSQL's WAL with
//! whole pages, or a binary log), and what transactions add to tables and logs. How many of those there will be is not
//! known before, but where their rate is ordered: otherwise it is told at [`USUAL_PER_S`], and a server that carries
//! out more of them takes more. Nothing counts on a server that uses the room of old rows and old logs again.

use super::mix::{self, Mix, Step};
use super::server::RENEWED_MAX;
use super::tables::Tables;
use super::{OLTP, SLO, TPCB, tpcb};
use engine::workload::Workload as _;
use model::plan::PlannedCase;
use model::spec::Spec;
use model::units::{Bytes, Nanos};
use std::collections::BTreeMap;

/// Transactions in a second for which is told what they add, where nothing orders how many there are.
pub const USUAL_PER_S: u64 = 1000;

/// Servers take room in steps: the system tablespace of InnoDB by 64 MiB, a file of WAL by 16 MiB, of which one is made
/// beforehand.
const STEPS: u64 = 96 << 20;

/// What a statement that changes a row adds: the new row and its places in three indexes, and the same in a log, with
/// the row as it was.
const CHANGE_BYTES: u64 = 1000;

/// A log has the whole page of each first change after a checkpoint, which PostgreSQL makes once in five minutes by
/// default.
const CHECKPOINT: u64 = 300;
/// Pages that a change touches, in the table and its indexes.
const PAGES: u64 = 4 * 8192;

/// What a plan is expected to take on a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// Tables with their indexes.
    pub tables: Bytes,
    /// Logs of making them, as often as that is done.
    pub logs: Bytes,
    /// What transactions add to both.
    pub added: Bytes,
}

impl Taken {
    /// All of it.
    pub const fn all(self) -> Bytes {
        let making = self.tables.0.saturating_add(self.logs.0);
        Bytes(making.saturating_add(self.added.0))
    }

    /// What both take that work in different databases of one server.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            tables: Bytes(self.tables.0.saturating_add(other.tables.0)),
            logs: Bytes(self.logs.0.saturating_add(other.logs.0)),
            added: Bytes(self.added.0.saturating_add(other.added.0)),
        }
    }
}

/// How often a case is measured, and how long in all.
#[derive(Clone, Copy, Debug)]
pub struct Rounds {
    /// How many rounds.
    pub number: u64,
    /// Of all together, with what they discard.
    pub load: Nanos,
}

/// The tables of a case, where it is one that works on tables.
pub(super) fn tables_of(case: &PlannedCase) -> Option<Tables> {
    let is = |spec: &Spec| case.workload == spec.name;
    if is(OLTP.spec()) || is(SLO.spec()) {
        Some(Tables::of(&case.params))
    } else if is(TPCB.spec()) {
        Some(tpcb::tables(&case.params))
    } else {
        None
    }
}

/// What transactions are made of.
fn mix_of(case: &PlannedCase) -> &'static Mix {
    if case.workload == TPCB.spec().name {
        &mix::TPCB
    } else {
        Mix::of(case.params.text("mix"))
    }
}

/// What tables take when they are made, with their indexes.
fn size_of(tables: &Tables) -> u64 {
    tables.bytes().0 / 3 * 4
}

/// And the log of making them once. Measured in WAL of PostgreSQL 15: 307 bytes for a row of sysbench's tables, 177 for
/// one of pgbench's; a binary log of MariaDB has less.
fn log_of(tables: &Tables) -> u64 {
    let row = if tables.bank.is_some() { 240 } else { 400 };
    row * tables.rows()
}

/// What these cases take on a server where each has so many rounds; `None` where none of them works on tables.
pub fn taken<'a>(cases: impl IntoIterator<Item = (&'a PlannedCase, Rounds)>) -> Option<Taken> {
    let mut sets: BTreeMap<String, (Tables, u64)> = BTreeMap::new();
    // How many rounds there are of each kind, pgbench's and sysbench's.
    let mut of_kinds = [0_u64; 2];
    let mut taken = Taken::default();
    for (case, rounds) in cases {
        let Some(tables) = tables_of(case) else {
            continue;
        };
        let mix = mix_of(case);
        let changes = mix.changes();
        let kind = &mut of_kinds[usize::from(tables.bank.is_some())];
        *kind = kind.saturating_add(rounds.number);
        let set = sets.entry(tables.key()).or_insert((tables, 0));
        // A round finds small ones changed where one before has changed them, and large ones where that took rows away
        // or added some.
        let is_small = tables.bytes().0 <= RENEWED_MAX;
        let grows = [Step::Append, Step::Delete, Step::Deposit];
        if changes > 0 && (is_small || grows.into_iter().any(|step| mix.has(step))) {
            set.1 = set.1.saturating_add(rounds.number);
        }
        let rate = case.params.ordered_rate().unwrap_or(USUAL_PER_S);
        let more = added(&tables, changes, rate, rounds);
        taken.added = Bytes(taken.added.0.saturating_add(more));
    }
    for (tables, again) in sets.values() {
        // Tables of one kind have the same names: where there are several sets each round may find those of another.
        let is_alike = |other: &&(Tables, u64)| other.0.bank.is_some() == tables.bank.is_some();
        let again = if sets.values().filter(is_alike).count() > 1 {
            of_kinds[usize::from(tables.bank.is_some())]
        } else {
            *again
        };
        taken.tables.0 += size_of(tables);
        // With whole pages once, where a checkpoint comes in the middle.
        let logs = log_of(tables).saturating_mul(1 + again);
        let logs = logs.saturating_add(size_of(tables));
        taken.logs = Bytes(taken.logs.0.saturating_add(logs));
    }
    taken.logs = Bytes(taken.logs.0.saturating_add(STEPS));
    (!sets.is_empty()).then_some(taken)
}

/// What so many transactions of a case add to tables and logs, without whole pages.
pub fn added_by(case: &PlannedCase, transactions: u64) -> Bytes {
    let changes = tables_of(case).map_or(0, |_| mix_of(case).changes());
    let all = transactions.saturating_mul(changes.into());
    Bytes(all.saturating_mul(CHANGE_BYTES))
}

/// What rounds add to tables and logs.
fn added(tables: &Tables, changes: u32, per_s: u64, rounds: Rounds) -> u64 {
    let seconds = rounds.load.0.div_ceil(1_000_000_000);
    let changes = per_s.saturating_mul(seconds).saturating_mul(changes.into());
    let checkpoints = 2 + seconds / CHECKPOINT;
    let pages = size_of(tables).saturating_mul(checkpoints);
    let pages = pages.min(changes.saturating_mul(PAGES));
    changes.saturating_mul(CHANGE_BYTES).saturating_add(pages)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::testing::params;
    use engine::resolve::planned_case;
    use engine::workload::Workload;

    fn case(workload: &dyn Workload, set: &[(&str, &str)]) -> PlannedCase {
        let id = "db.x@1".parse().unwrap();
        planned_case(workload, id, "x", &params(workload, set))
    }

    fn of(workload: &dyn Workload, set: &[(&str, &str)], number: u64) -> Taken {
        let rounds = Rounds {
            number,
            load: Nanos::from_secs(number),
        };
        taken([(&case(workload, set), rounds)]).unwrap()
    }

    #[test]
    fn what_is_taken_grows_with_what_makes_it_grow() {
        let large = ("table_size", "1000000");
        let reads = of(&OLTP, &[("mix", "point_select"), large], 9);
        assert_eq!(reads.added, Bytes(0));
        assert!(
            (300 << 20..400 << 20).contains(&reads.tables.0),
            "{reads:?}"
        );
        // Large tables are made once where there are no others of their kind.
        assert_eq!(of(&OLTP, &[("mix", "point_select"), large], 90), reads);
        let writes = of(&OLTP, &[("mix", "write_only"), large], 9);
        assert_eq!((writes.tables, writes.logs), (reads.tables, reads.logs));
        assert!(writes.added > Bytes(0) && writes.all() > reads.all());
        // Small ones are made anew for each round that finds them changed.
        let small = |number| of(&OLTP, &[("mix", "write_only")], number);
        assert!(small(9).logs > small(1).logs && small(9).tables == small(1).tables);
        let inserts = |number| of(&OLTP, &[("mix", "insert"), large], number);
        assert!(inserts(9).logs > inserts(1).logs);
        let rated = |rate| of(&OLTP, &[("mix", "write_only"), large, ("rate", rate)], 9);
        assert_eq!(rated("1000"), writes);
        assert!(rated("5000").added > writes.added && rated("10").added < writes.added);
        let bank = |fillfactor| of(&TPCB, &[("scale", "10"), ("fillfactor", fillfactor)], 9);
        assert!(bank("50").tables > bank("100").tables && bank("100").tables.0 > 150 << 20);
    }

    #[test]
    fn tables_of_several_cases_count_once_and_without_any_there_is_nothing() {
        let rounds = Rounds {
            number: 1,
            load: Nanos::from_secs(1),
        };
        let [a, b] = ["point_select", "read_only"].map(|mix| case(&OLTP, &[("mix", mix)]));
        let both = taken([(&a, rounds), (&b, rounds)]).unwrap();
        assert_eq!(both, taken([(&a, rounds)]).unwrap());
        let other = case(&OLTP, &[("table_size", "20000")]);
        let more = taken([(&a, rounds), (&other, rounds)]).unwrap();
        assert!(more.tables > both.tables && more.logs > both.logs);
        assert_eq!(taken([(&case(&super::super::KV, &[]), rounds)]), None);
        let twice = both.and(more);
        assert_eq!(twice.all(), Bytes(both.all().0 + more.all().0));
    }

    #[test]
    fn sets_of_one_kind_are_made_as_often_as_there_are_rounds() {
        let reads = |size| case(&OLTP, &[("mix", "point_select"), ("table_size", size)]);
        let bank = case(&TPCB, &[("scale", "10")]);
        let [a, b] = ["100000", "200000"].map(reads);
        let of = |cases: &[&PlannedCase], number| {
            let load = Nanos::from_secs(1);
            let each = cases.iter().map(|case| (*case, Rounds { number, load }));
            taken(each).unwrap()
        };
        assert_eq!(of(&[&a], 9), of(&[&a], 1));
        // Each of both sets is made in each of the eighteen rounds.
        let rows = 400 * (100_000 + 200_000);
        let more = of(&[&a, &b], 9).logs.0 - of(&[&a, &b], 1).logs.0;
        assert_eq!(more, rows * (18 - 2));
        // Those of the other kind have other names.
        let logs = |number| of(&[&a, &bank], number).logs.0 - of(&[&bank], number).logs.0;
        assert_eq!(logs(9), logs(1));
    }

    #[test]
    fn what_transactions_add_is_what_they_change() {
        let of = |mix| added_by(&case(&OLTP, &[("mix", mix)]), 1000);
        assert_eq!(of("point_select"), Bytes(0));
        assert_eq!(of("update_index"), Bytes(1_000_000));
        assert!(of("write_only") > of("update_index"));
        assert_eq!(added_by(&case(&super::super::KV, &[]), 1000), Bytes(0));
    }
}
