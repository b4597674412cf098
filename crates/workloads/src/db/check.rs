//! What must hold of the tables after a round: nothing that was committed is missing, and nothing else is there.

use super::client::Changes;
use super::mix::{Mix, Step};
use super::tables::Held;

/// What is wrong with the tables of which `before` was there and that committed transactions changed so; `None` where
/// that is nothing.
pub(super) fn wrong(mix: &Mix, before: &Held, changes: &Changes, after: &Held) -> Option<String> {
    let rows = (before.rows + changes.inserted).saturating_sub(changes.deleted);
    if after.rows != rows {
        return Some(format!(
            "the tables hold {} rows in place of {rows}: {} before, {} inserted, {} deleted",
            after.rows, before.rows, changes.inserted, changes.deleted
        ));
    }
    // What a row that was deleted had in `k` nobody asked.
    let is_exact = !mix.has(Step::Replace) && !mix.has(Step::Delete);
    let updates = i64::try_from(changes.index_updates).unwrap_or(i64::MAX);
    let added = updates.saturating_add(changes.inserted_k);
    let sum = before.sum_k.saturating_add(added);
    let ends = |held: &Held| (held.first, held.last);
    let is_bank = mix.has(Step::Deposit);
    if is_exact && after.sum_k != sum {
        return Some(format!(
            "the sum of `{}` is {} in place of {sum}: {} before, and {added} were added",
            if is_bank { "delta" } else { "k" },
            after.sum_k,
            before.sum_k
        ));
    }
    if is_bank && ends(after) != (sum, sum) {
        return Some(format!(
            "the balances of accounts, of tellers and of branches add up to {} to {} in place of {sum} each",
            after.first, after.last
        ));
    }
    let has_same = !is_bank && !mix.has(Step::Append) && !mix.has(Step::Delete);
    if has_same && ends(after) != ends(before) {
        return Some(format!(
            "the rows are numbered from {} to {} in place of {} to {}",
            after.first, after.last, before.first, before.last
        ));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::mix::TPCB;

    const BEFORE: Held = Held {
        rows: 100,
        sum_k: 5000,
        first: 1,
        last: 100,
    };

    fn changed(index_updates: u64, inserted: u64, deleted: u64, inserted_k: i64) -> Changes {
        Changes {
            index_updates,
            inserted,
            deleted,
            inserted_k,
        }
    }

    #[test]
    fn what_was_paid_in_is_in_all_balances_and_in_the_history() {
        let before = Held {
            rows: 100_011,
            ..Held::default()
        };
        let check = |sums: [i64; 3], rows: u64, expected: Option<&str>| {
            let [sum_k, first, last] = sums;
            let after = Held {
                rows,
                sum_k,
                first,
                last,
            };
            let found = wrong(&TPCB, &before, &changed(0, 3, 0, -700), &after);
            match expected {
                None => assert_eq!(found, None),
                Some(words) => assert!(found.clone().unwrap().contains(words), "{found:?}"),
            }
        };
        check([-700; 3], 100_014, None);
        check([-700; 3], 100_013, Some("3 inserted"));
        check([-600, -700, -600], 100_014, Some("sum of `delta` is -600"));
        check([-700, -700, -600], 100_014, Some("add up to -700 to -600"));
        check([-700, -800, -700], 100_014, Some("in place of -700 each"));
    }

    #[test]
    fn what_transactions_did_is_what_is_there() {
        let check = |word: &str, changes: Changes, after: Held, expected: Option<&str>| {
            let found = wrong(Mix::of(word), &BEFORE, &changes, &after);
            match expected {
                None => assert_eq!(found, None, "{word}"),
                Some(words) => assert!(found.clone().unwrap().contains(words), "{word}: {found:?}"),
            }
        };
        let none = changed(0, 0, 0, 0);
        check("read_only", none, BEFORE, None);
        let lost = Held { rows: 99, ..BEFORE };
        check("read_only", none, lost, Some("99 rows in place of 100"));
        let grown = Held {
            sum_k: 5007,
            ..BEFORE
        };
        check("update_index", changed(7, 0, 0, 0), grown, None);
        check(
            "update_index",
            changed(8, 0, 0, 0),
            grown,
            Some("5007 in place of 5008"),
        );
        check(
            "update_non_index",
            none,
            grown,
            Some("5007 in place of 5000"),
        );
        // Rows that were replaced have another `k`.
        check("read_write", changed(7, 3, 3, 90), grown, None);
        check(
            "read_write",
            changed(7, 4, 3, 90),
            grown,
            Some("in place of 101"),
        );
        let moved = Held {
            last: 101,
            ..BEFORE
        };
        check(
            "write_only",
            changed(7, 3, 3, 90),
            moved,
            Some("from 1 to 101"),
        );
        let more = Held {
            rows: 102,
            sum_k: 5030,
            first: 1,
            last: 102,
        };
        check("insert", changed(0, 2, 0, 30), more, None);
        check(
            "insert",
            changed(0, 2, 0, 31),
            more,
            Some("5030 in place of 5031"),
        );
        let fewer = Held {
            rows: 98,
            sum_k: 4900,
            first: 2,
            last: 100,
        };
        check("delete", changed(0, 0, 2, 0), fewer, None);
        check(
            "delete",
            changed(0, 0, 1, 0),
            fewer,
            Some("98 rows in place of 99"),
        );
    }
}
