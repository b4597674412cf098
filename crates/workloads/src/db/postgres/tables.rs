//! The tables of a test on a server: made, looked at, checked and dropped.
//!
//! The comment of each is also the note of what is in it, written when it is whole, so that who is killed before leaves
//! tables that nobody takes for whole. A round that may change them writes so there before it begins.

use super::error::Trouble;
use super::server::{MARK, Relation, Server, of};
use super::wire::Wire;
use crate::db::address::Address;
use crate::db::statement::name;
use crate::db::tables::{Held, Tables};
use crate::db::text::{C_BYTES, PAD_BYTES, Text};
use crate::db::{mix::Mix, rows::Rows};
use bytes::{BufMut, BytesMut};
use engine::workload::{Place, StandIn, Told, WorkError};
use model::rng::Rng;
use model::units::Bytes;
use postgres_protocol::message::frontend;
use std::collections::BTreeMap;

/// The comment of one that is being made.
const MAKING: &str = "being made";
/// And of one that transactions of a round may have changed.
const CHANGED: &str = "changed by a round";

/// The tables of a test with at most this many bytes are made anew for every round that would find them changed: some
/// tenths of a second for the usual 10,000 rows. Larger ones stay as rounds leave them.
const RENEWED_MAX: u64 = 64 << 20;

impl Server {
    fn note(&mut self, table: u32, words: &str) -> Result<(), WorkError> {
        // The words are ours and hold no quotes.
        let sql = format!("COMMENT ON TABLE {} IS '{MARK}{words}'", name(table));
        self.ask("note what is in a table of", &sql).map(drop)
    }

    /// Makes the tables, whatever is left of earlier ones.
    fn make(
        &mut self,
        tables: &Tables,
        seed: u64,
        tell: &mut dyn FnMut(Bytes),
    ) -> Result<(), WorkError> {
        self.drop_ours()?;
        let rows = Rows::new(tables.choice, tables.size);
        let mut rng = Rng::stream(seed, 2);
        let mut expected = None;
        for table in 0..tables.number {
            let (name, number) = (name(table), table + 1);
            // One transaction: there is never a table of ours without its mark.
            self.ask(
                "make a table in",
                &format!(
                    "BEGIN; CREATE TABLE {name} (id SERIAL NOT NULL, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) \
                     DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id)); \
                     COMMENT ON TABLE {name} IS '{MARK}{MAKING}'; COMMIT"
                ),
            )?;
            let sum_k = self.fill(&name, tables.size, (&rows, &mut rng), tell)?;
            let own = Held {
                rows: tables.size.into(),
                sum_k,
                first: 1,
                last: tables.size.into(),
            };
            expected = Some(Held::both(expected, own));
            self.ask(
                "make an index in",
                &format!("CREATE INDEX k_{number} ON {name}(k)"),
            )?;
            let sequence = format!("pg_get_serial_sequence('{name}', 'id')");
            let next = format!("SELECT setval({sequence}, {})", tables.size);
            self.ask("number the rows of", &next)?;
            self.ask(
                "look through the tables of",
                &format!("VACUUM ANALYZE {name}"),
            )?;
        }
        let held = self.survey(tables.number)?;
        if Some(held) != expected {
            return Err(WorkError::Wrong(format!(
                "make tables in `{}`: the server holds {held:?} in place of {expected:?}",
                self.address
            )));
        }
        for table in 0..tables.number {
            let noted = self.noted(tables, table)?;
            self.note(table, &noted)?;
        }
        Ok(())
    }

    /// Copies rows into a new table; the sum of their `k`.
    fn fill(
        &mut self,
        name: &str,
        size: u32,
        (rows, rng): (&Rows, &mut Rng),
        tell: &mut dyn FnMut(Bytes),
    ) -> Result<i64, WorkError> {
        let failed = |address: &Address, trouble| of("copy rows into", address, &trouble);
        let sql = format!("COPY {name} (id, k, c, pad) FROM STDIN");
        begin_copy(&mut self.wire, &sql).map_err(|trouble| failed(&self.address, trouble))?;
        let mut c = Text::<C_BYTES>::new();
        let mut pad = Text::<PAD_BYTES>::new();
        let mut sum_k = 0;
        let mut piece = BytesMut::with_capacity(PIECE_BYTES + 256);
        for id in 1..=size {
            let k = rows.pick(rng);
            sum_k += i64::from(k);
            piece.put_slice(format!("{id}\t{k}\t").as_bytes());
            piece.put_slice(c.renew(rng).as_bytes());
            piece.put_u8(b'\t');
            piece.put_slice(pad.renew(rng).as_bytes());
            piece.put_u8(b'\n');
            if piece.len() >= PIECE_BYTES || id == size {
                tell(Bytes(piece.len() as u64));
                send_piece(&mut self.wire, &piece)
                    .map_err(|trouble| failed(&self.address, trouble))?;
                piece.clear();
            }
        }
        end_copy(&mut self.wire).map_err(|trouble| failed(&self.address, trouble))?;
        Ok(sum_k)
    }

    /// Counts and adds up what is in the tables.
    pub(in crate::db) fn survey(&mut self, tables: u32) -> Result<Held, WorkError> {
        let mut all = None;
        for table in 0..tables {
            let sql = format!(
                "SELECT count(*), coalesce(sum(k), 0), coalesce(min(id), 0), coalesce(max(id), 0) FROM {}",
                name(table)
            );
            let rows = self.ask("look at the tables of", &sql)?;
            let numbers: Vec<i64> = rows
                .iter()
                .flatten()
                .flatten()
                .filter_map(|n| n.parse().ok())
                .collect();
            let [rows, sum_k, first, last] = *numbers.as_slice() else {
                return Err(of(
                    "look at the tables of",
                    &self.address,
                    &Trouble::Garbage,
                ));
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
        let sql = format!(
            "SELECT coalesce(sum(hashtext(concat_ws(':', id, k, c, pad))::bigint), 0) FROM {}",
            name(table)
        );
        let sum = self.value("read the tables of", &sql)?;
        Ok(format!(
            "{} rows for kurabe run oltp, {}, checksum {}",
            tables.size,
            tables.choice.word(),
            sum.unwrap_or_default()
        ))
    }

    /// The comments of our tables, by name.
    fn notes(&mut self) -> Result<BTreeMap<String, String>, WorkError> {
        let ours = self.relations()?.into_iter().filter(Relation::is_ours);
        let noted = |one: Relation| {
            let words = one.comment.strip_prefix(MARK)?.to_owned();
            Some((one.name, words))
        };
        Ok(ours.filter_map(noted).collect())
    }

    /// What the tables and their indexes take on the server.
    fn bytes(&mut self, tables: u32) -> Result<Option<Bytes>, WorkError> {
        let each = (0..tables).map(|table| format!("pg_total_relation_size('{}')", name(table)));
        let sum = each.collect::<Vec<_>>().join(" + ");
        let found = self.value(
            "ask for the size of the tables of",
            &format!("SELECT {sum}"),
        )?;
        Ok(found.and_then(|bytes| bytes.parse().ok()).map(Bytes))
    }
}

/// Rows are copied in pieces of about this size.
const PIECE_BYTES: usize = 64 << 10;

fn begin_copy(wire: &mut Wire, sql: &str) -> Result<(), Trouble> {
    frontend::query(sql, &mut wire.out).map_err(Trouble::Io)?;
    wire.send()?;
    loop {
        let said = wire.next()?;
        match said.tag {
            b'G' => return Ok(()),
            b'N' | b'S' | b'A' => {}
            b'E' => return Err(Trouble::told(wire.body(&said))),
            _ => return Err(Trouble::Garbage),
        }
    }
}

fn send_piece(wire: &mut Wire, piece: &[u8]) -> Result<(), Trouble> {
    let data = frontend::CopyData::new(piece).map_err(Trouble::Io)?;
    data.write(&mut wire.out);
    wire.send()
}

fn end_copy(wire: &mut Wire) -> Result<(), Trouble> {
    frontend::copy_done(&mut wire.out);
    wire.send()?;
    let done = wire.answer(|_| Ok(()))?;
    done.code.map_or(Ok(()), |code| {
        Err(Trouble::Told {
            code,
            words: "the server refused the rows".to_owned(),
        })
    })
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
    Ok(Told {
        holds: true,
        bytes: server.bytes(tables.number)?,
    })
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
    Ok(Told {
        holds: true,
        bytes: server.bytes(tables.number)?,
    })
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
    let begins = format!(
        "{} rows for kurabe run oltp, {},",
        tables.size,
        tables.choice.word()
    );
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
