//! The tables of a test on a server: made, looked at, checked and dropped.
//!
//! The comment of each is also the note of what is in it, written when it is whole, so that who is killed before leaves
//! tables that nobody takes for whole. A round that may change them writes so there before it begins.

use super::trouble::Trouble;
use super::{MARK, Relation, Server, of};
use crate::db::statement::name;
use crate::db::tables::{Held, SURVEY, Tables};
use crate::db::text::{C_BYTES, PAD_BYTES, Text};
use crate::db::{mix::Mix, rows::Rows};
use engine::workload::{Place, StandIn, Told, WorkError};
use model::order::Keyed as _;
use model::rng::Rng;
use model::units::Bytes;
use std::collections::BTreeMap;

/// The comment of one that is being made.
const MAKING: &str = "being made";
/// And of one that transactions of a round may have changed.
const CHANGED: &str = "changed by a round";

/// The tables of a test with at most this many bytes are made anew for every round that would find them changed: some
/// tenths of a second for the usual 10,000 rows. Larger ones stay as rounds leave them.
const RENEWED_MAX: u64 = 64 << 20;

/// The rows of one table, one after the other.
pub(in crate::db) struct Maker {
    rows: Rows,
    rng: Rng,
    size: u32,
    made: u32,
    sum_k: i64,
    c: Text<C_BYTES>,
    pad: Text<PAD_BYTES>,
}

impl Maker {
    fn new(tables: &Tables, seed: u64) -> Self {
        Self {
            rows: Rows::new(tables.choice, tables.size),
            rng: Rng::stream(seed, 2),
            size: tables.size,
            made: 0,
            sum_k: 0,
            c: Text::new(),
            pad: Text::new(),
        }
    }

    /// `id`, `k`, `c` and `pad` of the next row.
    pub(in crate::db) fn next(&mut self) -> Option<(u32, u32, &str, &str)> {
        if self.made == self.size {
            return None;
        }
        self.made += 1;
        let k = self.rows.pick(&mut self.rng);
        self.sum_k += i64::from(k);
        let c = self.c.renew(&mut self.rng);
        Some((self.made, k, c, self.pad.renew(&mut self.rng)))
    }

    /// What was made of this table, and back to the first row for the next one.
    fn ends(&mut self) -> Held {
        let held = Held {
            rows: self.made.into(),
            sum_k: self.sum_k,
            first: 1,
            last: self.made.into(),
        };
        (self.made, self.sum_k) = (0, 0);
        held
    }
}

impl Server {
    fn note(&mut self, table: u32, words: &str) -> Result<(), WorkError> {
        let comment = format!("{MARK}{words}");
        self.with("note what is in a table of", |link| {
            link.note(table, &comment)
        })
    }

    /// Drops every table of ours, and no other.
    fn drop_ours(&mut self) -> Result<(), WorkError> {
        for ours in self.relations()?.iter().filter(|one| one.is_ours()) {
            let sql = format!("DROP TABLE {}", ours.name);
            self.with("drop a table of ours in", |link| link.ask(&sql))?;
        }
        Ok(())
    }

    /// Makes the tables, whatever is left of earlier ones.
    fn make(
        &mut self,
        tables: &Tables,
        seed: u64,
        tell: &mut dyn FnMut(Bytes),
    ) -> Result<(), WorkError> {
        self.drop_ours()?;
        let mut maker = Maker::new(tables, seed);
        let mut expected = None;
        let making = format!("{MARK}{MAKING}");
        for table in 0..tables.number {
            self.with("make a table in", |link| link.create(table, &making))?;
            self.with("put rows into", |link| link.fill(table, &mut maker, tell))?;
            expected = Some(Held::both(expected, maker.ends()));
            self.with("make an index in", |link| link.complete(table, tables.size))?;
        }
        let held = self.survey(tables.number)?;
        if Some(held) != expected {
            return Err(WorkError::Wrong(format!(
                "make tables in `{}`: the server holds {held:?} in place of {expected:?}",
                self.named.address
            )));
        }
        for table in 0..tables.number {
            let noted = self.noted(tables, table)?;
            self.note(table, &noted)?;
        }
        Ok(())
    }

    /// Counts and adds up what is in the tables.
    pub(in crate::db) fn survey(&mut self, tables: u32) -> Result<Held, WorkError> {
        const LOOK: &str = "look at the tables of";
        let mut all = None;
        for table in 0..tables {
            let sql = format!("{SURVEY}{}", name(table));
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
    fn noted(&mut self, tables: &Tables, table: u32) -> Result<String, WorkError> {
        let sum = self.with("read the tables of", |link| link.checksum(table))?;
        Ok(format!("{} checksum {sum}", begins(tables)))
    }

    /// The comments of our tables, by name.
    fn notes(&mut self) -> Result<BTreeMap<String, String>, WorkError> {
        let ours = self.relations()?.into_iter().filter(Relation::is_ours);
        let noted = |one: Relation| {
            let words = one.comment.strip_prefix(MARK)?.to_owned();
            Some((one.name, words))
        };
        Ok(ours.filter_map(noted).into_map())
    }

    /// That they are there, and what they take.
    fn told(&mut self, tables: u32) -> Result<Told, WorkError> {
        let bytes = self.with("ask for the size of the tables of", |link| {
            link.bytes(tables)
        })?;
        Ok(Told {
            holds: true,
            bytes: bytes.map(Bytes),
        })
    }
}

/// How the note of a whole table begins.
fn begins(tables: &Tables) -> String {
    format!(
        "{} rows for kurabe run oltp, {},",
        tables.size,
        tables.choice.word()
    )
}

/// Makes the tables of the ground.
pub(in crate::db) fn make(
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
    server.told(tables.number)
}

/// Whether the tables are there, in whole: what is in them is what was noted when they were made.
pub(in crate::db) fn check(
    tables: &Tables,
    place: &Place,
    server: &StandIn,
) -> Result<Told, WorkError> {
    let mut server = Server::open(place, server, tables)?;
    let notes = server.notes()?;
    for table in 0..tables.number {
        let Some(note) = notes.get(&name(table)) else {
            return Ok(Told::default());
        };
        if *note != server.noted(tables, table)? {
            return Ok(Told::default());
        }
    }
    server.told(tables.number)
}

/// Drops our tables.
pub(in crate::db) fn remove(
    tables: &Tables,
    place: &Place,
    server: &StandIn,
) -> Result<(), WorkError> {
    Server::open(place, server, tables)?.drop_ours()
}

/// The tables for one round, and what is in them. Those that a round has changed are made anew where they are small;
/// larger ones where their rows are not the ones that were made.
pub(in crate::db) fn stand_on(
    tables: &Tables,
    place: &Place,
    server: &StandIn,
    mix: &Mix,
) -> Result<(Server, Held), WorkError> {
    let mut server = Server::open(place, server, tables)?;
    let notes = server.notes()?;
    let note = |table| notes.get(&name(table)).map(String::as_str);
    let is_small = tables.bytes().0 <= RENEWED_MAX;
    let begins = begins(tables);
    let is_whole = |note: Option<&str>| {
        note.is_some_and(|note| note.starts_with(&begins) || (note == CHANGED && !is_small))
    };
    let mut held = None;
    if (0..tables.number).all(|table| is_whole(note(table))) {
        let found = server.survey(tables.number)?;
        let rows = u64::from(tables.number) * u64::from(tables.size);
        let is_as_made = (found.rows, found.first, found.last) == (rows, 1, tables.size.into());
        held = Some(found).filter(|_| is_as_made);
    }
    let held = if let Some(held) = held {
        held
    } else {
        server.make(tables, place.seed, &mut |_| ())?;
        server.survey(tables.number)?
    };
    if mix.writes() {
        for table in 0..tables.number {
            server.note(table, CHANGED)?;
        }
    }
    Ok((server, held))
}
