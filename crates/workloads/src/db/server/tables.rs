//! The tables of a test on a server: made, looked at, checked and dropped.
//!
//! The mark of each is also the note of what is in it, written when it is whole, so that a run that is killed before
//! leaves tables that are never taken for whole. A round that may change them writes so there before it begins.

use super::trouble::Trouble;
use super::{DROP, Lock, Relation, Server, bank, left_there, of};
use crate::db::mix::Mix;
use crate::db::tables::{ACCOUNTS, Held, Maker, SURVEY, Tables};
use engine::workload::{ErrandKind, Place, StandIn, Told, WorkError};
use model::order::Keyed as _;
use model::units::Bytes;
use std::collections::BTreeMap;

/// The note of one that is being made.
const MAKING: &str = "being made";
/// And of one that transactions of a round may have changed.
const CHANGED: &str = "changed by a round";

/// The tables of a test with at most this many bytes are made anew for every round that would find them changed: some
/// tenths of a second for the usual 10,000 rows. Larger ones stay as rounds leave them.
pub(in crate::db) const RENEWED_MAX: u64 = 64 << 20;

impl Server {
    fn note(&mut self, table: &str, words: &str) -> Result<(), WorkError> {
        self.with("note what is in a table of", |link| link.note(table, words))
    }

    /// Drops the tables of ours that are made for the same kind of test, whatever run left them, and no other: those of
    /// another kind may be the ground of another test of this run.
    fn drop_ours(&mut self, like: &Tables) -> Result<(), WorkError> {
        let is_like = |one: &Relation| like.bank.is_some() == one.is_bank();
        let found = self.relations()?.into_iter();
        let ours = found.filter(|one| one.is_ours() && is_like(one));
        let (_, failed) = self.drop_each(ours.map(|table| table.name));
        all_of(failed).map_or(Ok(()), Err)
    }

    /// Drops these tables of ours: the names of those that are dropped, and what kept others from it.
    pub(super) fn drop_each(
        &mut self,
        tables: impl Iterator<Item = String>,
    ) -> (Vec<String>, Vec<WorkError>) {
        let (mut dropped, mut failed) = (Vec::new(), Vec::new());
        for table in tables {
            let operation = format!("drop the table `{table}` of ours in");
            match self.with(&operation, |link| link.remove(&table)) {
                Ok(()) => dropped.push(table),
                Err(why) => failed.push(why),
            }
        }
        (dropped, failed)
    }

    /// The same, and what marks take beside them.
    fn remove_ours(&mut self, like: &Tables) -> Result<(), WorkError> {
        self.drop_ours(like)?;
        self.with(DROP, super::Link::sweep)
    }

    /// Makes the tables, whatever is left of earlier ones; what is in them. What could not be made to its end is not
    /// left behind: where the connection still does that now, and otherwise when the run ends.
    fn make(
        &mut self,
        tables: &Tables,
        seed: u64,
        tell: &mut dyn FnMut(Bytes),
    ) -> Result<Held, WorkError> {
        self.drop_ours(tables)?;
        self.made(tables, seed, tell)
            .map_err(|why| match self.remove_ours(tables) {
                Ok(()) => why,
                Err(not) => parts_left(&why, &not),
            })
    }

    fn made(
        &mut self,
        tables: &Tables,
        seed: u64,
        tell: &mut dyn FnMut(Bytes),
    ) -> Result<Held, WorkError> {
        let mut expected = None;
        if let Some(fillfactor) = tables.bank {
            self.make_bank((tables.size, fillfactor), MAKING, tell)?;
            expected = Some(Held {
                rows: tables.rows(),
                ..Held::default()
            });
        } else {
            let mut maker = Maker::new(tables, seed);
            for table in 0..tables.number {
                self.with("make a table in", |link| link.create(table, MAKING))?;
                self.with("put rows into", |link| link.fill(table, &mut maker, tell))?;
                expected = Some(Held::both(expected, maker.ends()));
                self.with("make an index in", |link| link.complete(table, tables.size))?;
            }
        }
        let held = self.survey(tables)?;
        if Some(held) != expected {
            return Err(WorkError::Wrong(format!(
                "cannot make tables in `{}`: the server holds {held:?} in place of {expected:?}",
                self.named.address
            )));
        }
        for table in tables.names() {
            let noted = self.noted(tables, &table)?;
            self.note(&table, &noted)?;
        }
        Ok(held)
    }

    /// Counts and adds up what is in the tables.
    pub(in crate::db) fn survey(&mut self, tables: &Tables) -> Result<Held, WorkError> {
        const LOOK: &str = "look at the tables of";
        let mut all = None;
        let of_table = |table: String| format!("{SURVEY}{table}");
        let questions: Vec<String> = match tables.bank {
            None => tables.names().into_iter().map(of_table).collect(),
            Some(_) => vec![bank::survey()],
        };
        for sql in questions {
            let rows = self.with(LOOK, |link| link.ask(&sql))?;
            let values = rows.iter().flatten().flatten();
            let numbers: Vec<i64> = values.filter_map(|value| value.parse().ok()).collect();
            let [rows, sum_k, first, last] = *numbers.as_slice() else {
                let garbage = Trouble::Garbage(self.named.address.engine);
                return Err(of(LOOK, &self.named.address, &garbage));
            };
            let own = Held {
                rows: rows.try_into().unwrap_or(0),
                sum_k,
                first,
                last,
            };
            all = Some(Held::both(all, own));
        }
        Ok(all.unwrap_or_default())
    }

    /// What is noted of a table that is whole, with a checksum of every value, which the server makes.
    fn noted(&mut self, tables: &Tables, table: &str) -> Result<String, WorkError> {
        let sum = self.with("read the tables of", |link| link.checksum(table))?;
        Ok(format!("{} checksum {sum}", begins(tables)))
    }

    /// The notes of our tables, by name.
    fn notes(&mut self) -> Result<BTreeMap<String, String>, WorkError> {
        let ours = self.relations()?.into_iter().filter(Relation::is_ours);
        let noted = |one: Relation| Some((one.name, one.words?));
        Ok(ours.filter_map(noted).into_map())
    }

    /// That they are there, and what they take.
    fn told(&mut self, tables: &Tables) -> Result<Told, WorkError> {
        let names = tables.names();
        let bytes = self.with("ask for the size of the tables of", |link| {
            link.bytes(&names)
        })?;
        Ok(Told {
            holds: true,
            bytes: bytes.map(Bytes),
        })
    }
}

/// That tables could not be made, and that parts of them are there: the run tries at its end to drop them, which no
/// error does that says that nothing was begun.
fn parts_left(why: &WorkError, not: &WorkError) -> WorkError {
    let not = not.to_string();
    let first = not.lines().next().unwrap_or_default();
    WorkError::Failed(format!(
        "{why}\nwhat was made of them was not dropped, which is tried again when the run ends: {first}"
    ))
}

/// Several errors as one; another try helps against all of them where it does against one.
pub(super) fn all_of(errors: Vec<WorkError>) -> Option<WorkError> {
    let (mut words, mut is_lasting) = (Vec::new(), true);
    for error in errors {
        is_lasting &= matches!(error, WorkError::Unsupported(_));
        words.push(error.to_string());
    }
    let words = (!words.is_empty()).then(|| words.join("\n"))?;
    Some(if is_lasting {
        WorkError::Unsupported(words)
    } else {
        WorkError::Failed(words)
    })
}

/// How the note of a whole table begins.
fn begins(tables: &Tables) -> String {
    let size = tables.size;
    match tables.bank {
        None => format!("{size} rows for kurabe run oltp, {},", tables.choice.word()),
        Some(fillfactor) => {
            format!("scale {size} for kurabe run db.tpcb, fillfactor {fillfactor},")
        }
    }
}

/// Whether tables are such as were made, or as rounds may have left large ones: rows of sysbench have their numbers,
/// and pgbench's history is no longer than a tenth of the accounts.
fn is_as_made(tables: &Tables, found: &Held) -> bool {
    let made = tables.rows();
    if tables.bank.is_none() {
        return (found.rows, found.first, found.last) == (made, 1, tables.size.into());
    }
    let most = made + u64::from(tables.size) * (ACCOUNTS / 10);
    (made..=most).contains(&found.rows) && (found.first, found.last) == (found.sum_k, found.sum_k)
}

/// What is to be done for the ground.
pub(in crate::db) fn errand(
    errand: ErrandKind,
    tables: &Tables,
    place: &Place,
    server: &StandIn,
    tell: &mut dyn FnMut(Bytes),
) -> Result<Told, WorkError> {
    match errand {
        ErrandKind::Make => make(tables, place, server, tell),
        ErrandKind::Check => check(tables, place, server),
        ErrandKind::Remove => remove(tables, place, server).map(|()| Told::default()),
    }
}

/// Makes the tables of the ground.
fn make(
    tables: &Tables,
    place: &Place,
    server: &StandIn,
    tell: &mut dyn FnMut(Bytes),
) -> Result<Told, WorkError> {
    let mut made = 0;
    let mut server = Server::open(place, server, tables)?;
    server.make(tables, place.seed, &mut |piece| {
        made += piece.0;
        tell(Bytes(made));
    })?;
    server.told(tables)
}

/// Whether the tables are there, in whole: what is in them is what was noted when they were made.
fn check(tables: &Tables, place: &Place, server: &StandIn) -> Result<Told, WorkError> {
    let mut server = Server::open(place, server, tables)?;
    let notes = server.notes()?;
    for table in tables.names() {
        let Some(note) = notes.get(&table) else {
            return Ok(Told::default());
        };
        if *note != server.noted(tables, &table)? {
            return Ok(Told::default());
        }
    }
    server.told(tables)
}

/// Drops our tables, whatever of others is there by now.
fn remove(tables: &Tables, place: &Place, server: &StandIn) -> Result<(), WorkError> {
    let removed = || {
        let mut server = Server::connected(&place.permits, &server.path)?;
        server.enter(DROP)?;
        server.lock(Lock::Round, &[])?;
        server.remove_ours(tables)
    };
    removed().map_err(|why| left_there(&why, &server.path.display()))
}

/// What a round stands on.
pub(in crate::db) struct Stood {
    pub(in crate::db) server: Server,
    /// What is in the tables.
    pub(in crate::db) before: Held,
    /// Why they were made anew for this round, where they were.
    pub(in crate::db) note: Option<&'static str>,
}

/// What the notes of the tables say before a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// One is missing, or was not made to its end, or is of another test.
    Absent,
    /// A round may have changed them.
    Changed,
    /// No round has.
    Whole,
}

/// Why tables are made anew before a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Anew {
    /// They are not those of this test, or not there in whole.
    Absent,
    /// They are small, and a round changed them.
    Changed,
    /// They are large, and a round took rows away, or put some at their end.
    Rows,
    /// No round of ours changed them, and they are not as they were made.
    ByOthers,
}

impl Anew {
    /// A sentence about the rounds of a test, the same of each.
    const fn words(self) -> &'static str {
        match self {
            Self::Absent => {
                "the tables were made anew before a round: they were missing, made in part, or those of another test"
            }
            Self::Changed => {
                "the tables were made anew before each round that found them changed by an earlier one"
            }
            Self::Rows => {
                "the tables, which are large, keep the updates of earlier rounds, and were made anew before a round \
                 that found rows deleted or added"
            }
            Self::ByOthers => {
                "somebody else changed the tables between two rounds: they were made anew"
            }
        }
    }
}

/// What can be looked at in tables: how many rows there are, with their numbers, or every value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    Rows,
    Values,
}

/// Whether tables have to be made anew, and why; `holds` looks at them. Large ones are not read in whole for that.
fn why_anew(
    standing: Standing,
    is_small: bool,
    mut holds: impl FnMut(Look) -> Result<bool, WorkError>,
) -> Result<Option<Anew>, WorkError> {
    Ok(match standing {
        Standing::Absent => Some(Anew::Absent),
        Standing::Changed if is_small => Some(Anew::Changed),
        Standing::Changed => (!holds(Look::Rows)?).then_some(Anew::Rows),
        Standing::Whole => {
            let is_so = holds(Look::Rows)? && (!is_small || holds(Look::Values)?);
            (!is_so).then_some(Anew::ByOthers)
        }
    })
}

/// The tables for one round. Those that a round has changed are made anew where they are small; larger ones where their
/// rows are not the ones that were made. So are those that somebody else has changed, as far as it shows.
pub(in crate::db) fn stand_on(
    tables: &Tables,
    place: &Place,
    server: &StandIn,
    mix: &Mix,
) -> Result<Stood, WorkError> {
    let mut server = Server::open(place, server, tables)?;
    let notes = server.notes()?;
    let (names, begins) = (tables.names(), begins(tables));
    let all = |is_so: &dyn Fn(&String) -> bool| {
        let mut each = names.iter().map(|table| notes.get(table));
        each.all(|note| note.is_some_and(is_so))
    };
    let standing = if all(&|note| note.starts_with(&begins)) {
        Standing::Whole
    } else if all(&|note| note == CHANGED || note.starts_with(&begins)) {
        Standing::Changed
    } else {
        Standing::Absent
    };
    let mut held = None;
    let anew = why_anew(standing, tables.bytes().0 <= RENEWED_MAX, |look| {
        if look == Look::Values {
            for table in &names {
                if notes.get(table) != Some(&server.noted(tables, table)?) {
                    return Ok(false);
                }
            }
            return Ok(true);
        }
        let found = server.survey(tables)?;
        held = Some(found);
        Ok(is_as_made(tables, &found))
    })?;
    let before = match held.filter(|_| anew.is_none()) {
        Some(held) => held,
        None => server.make(tables, place.seed, &mut |_| ())?,
    };
    if mix.writes() {
        for table in &names {
            server.note(table, CHANGED)?;
        }
    }
    Ok(Stood {
        server,
        before,
        note: anew.map(Anew::words),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::rows::Choice;

    #[test]
    fn large_tables_of_a_bank_are_kept_until_their_history_is_long() {
        let bank = Tables {
            number: 1,
            size: 5,
            choice: Choice::Uniform,
            bank: Some(100),
        };
        assert!(bank.bytes().0 > RENEWED_MAX);
        let check = |history: u64, sums: [i64; 3], expected: bool| {
            let [sum_k, first, last] = sums;
            let held = Held {
                rows: 500_055 + history,
                sum_k,
                first,
                last,
            };
            assert_eq!(is_as_made(&bank, &held), expected, "{held:?}");
        };
        check(0, [0; 3], true);
        check(50_000, [-7; 3], true);
        check(50_001, [-7; 3], false);
        check(10, [-7, -7, 1], false);
        check(10, [-7, -8, -7], false);
    }

    #[test]
    fn parts_that_are_left_are_told_and_no_error_says_that_there_are_none() {
        let unsupported = |words: &str| WorkError::Unsupported(words.to_owned());
        let failed = |words: &str| WorkError::Failed(words.to_owned());
        for why in [
            unsupported("no right\nhint: GRANT"),
            failed("ended\nhint: GRANT"),
        ] {
            let told = parts_left(&why, &unsupported("no DROP\nhint: ALL"));
            assert!(matches!(&told, WorkError::Failed(words)
                if words.starts_with(&format!("{why}\n")) && words.ends_with(": no DROP")));
        }
        let both = |a, b| all_of(vec![a, b]).unwrap();
        assert!(all_of(Vec::new()).is_none());
        assert!(matches!(both(unsupported("a"), unsupported("b")),
            WorkError::Unsupported(words) if words == "a\nb"));
        assert!(matches!(
            both(unsupported("a"), failed("b")),
            WorkError::Failed(_)
        ));
    }

    #[test]
    fn tables_are_made_anew_where_a_round_or_somebody_else_changed_them() {
        let check = |standing, is_small: bool, shows: &[Look], expected: Option<Anew>| {
            let holds = |look| Ok(!shows.contains(&look));
            let found = why_anew(standing, is_small, holds).unwrap();
            assert_eq!(found, expected, "{standing:?} {is_small} {shows:?}");
        };
        let both = [Look::Rows, Look::Values];
        for is_small in [true, false] {
            check(Standing::Absent, is_small, &[], Some(Anew::Absent));
            check(Standing::Whole, is_small, &[], None);
            check(Standing::Whole, is_small, &both, Some(Anew::ByOthers));
        }
        check(Standing::Changed, true, &[], Some(Anew::Changed));
        check(Standing::Changed, false, &[Look::Values], None);
        check(Standing::Changed, false, &both, Some(Anew::Rows));
        check(Standing::Whole, true, &[Look::Values], Some(Anew::ByOthers));
        // To read all of them before each round would be as long as the round.
        check(Standing::Whole, false, &[Look::Values], None);
    }
}
