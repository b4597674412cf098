//! A connection to a server for what is not measured, and whose keys are whose.
//!
//! Our keys have computed names, and a marker says how many there are, from before the first is made until after the
//! last is gone. Without it nothing is ours, whatever it is called. One round at a time works in a database: its
//! connection has a name, which goes with it, and whoever finds another one of that name beside his own does not work.

mod left;

pub(in crate::db) use left::clean;

use super::error::{is, is_refusal};
use super::facts::{self, Info};
use super::keys::{Keys, MADE, MARKER, Note, PREFIX, Values, name};
use super::resp::{self, Kind};
use super::room::{More, Needs};
use super::watch::Evicted;
use super::wire::{Said, Wire, number_of};
use crate::db::engines::Engine;
use crate::db::server::trouble::Trouble;
use crate::db::server::{Named, of};
use bytes::BytesMut;
use engine::consent::Permits;
use engine::workload::{Place, StandIn, WorkError};
use model::named::ServerFact;
use model::units::Bytes;
use std::ops::Range;
use std::path::Path;

/// Requests that are sent at once where nothing is measured, and bytes of them.
const PIECE: u64 = 500;
const PIECE_BYTES: u64 = 1 << 20;

/// From one look at what the server has left to the next, while keys are made.
const LOOK_NS: u64 = 100_000_000;

/// A connection for what is not measured.
pub(super) struct Server {
    pub(super) wire: Wire,
    pub(super) named: Named,
    pub(super) info: Option<Info>,
    /// What our marker says, where it is there.
    pub(super) note: Option<Note>,
    /// Keys of others in this database, and in all of them.
    pub(super) others_here: u64,
    pub(super) others: u64,
    pub(super) evicted: Evicted,
    /// Forks of the server may save its keys, as far as is known.
    pub(super) forks: bool,
}

/// What stands where our marker belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marker {
    Nothing,
    Ours(Note),
    /// A key of that name that is none of ours.
    OfOthers,
}

/// Keys of others in a database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Others {
    all: u64,
    /// Those whose names we would give to ours.
    called_like_ours: u64,
}

/// Why keys cannot be made in a database with these of others; `None` where they can.
fn refusal(marker: Marker, others: Others, allows_existing: bool) -> Option<String> {
    if marker == Marker::OfOthers {
        return Some(format!(
            "its key `{}` is none of kurabe's, and stays as it is\nhint: name another database, by its number behind \
             the last `/` of the address",
            String::from_utf8_lossy(MARKER)
        ));
    }
    if others.called_like_ours > 0 {
        return Some(format!(
            "{} of its keys have names like `{}`, are none of kurabe's, and stay as they are\n\
             hint: name another database, by its number behind the last `/` of the address",
            others.called_like_ours,
            String::from_utf8_lossy(&name(0))
        ));
    }
    let Others { all, .. } = others;
    (all > 0 && !allows_existing).then(|| {
        format!(
            "it holds {all} {} of others\n\
             hint: name an empty database, by its number behind the last `/` of the address; or add \
             `--db-allow-existing`: kurabe makes and deletes keys of its own alone, but what it does costs the others",
            if all == 1 { "key" } else { "keys" }
        )
    })
}

/// How many keys of so many bytes are asked for at once.
fn piece(bytes: usize) -> u64 {
    (PIECE_BYTES / (bytes as u64).max(1)).clamp(1, PIECE)
}

/// Connects, and no more.
pub(super) fn reach(place: &Place, server: &StandIn) -> Result<(), WorkError> {
    Server::connected(&place.permits, &server.path).map(drop)
}

/// What a server says of itself: its product and version, and the settings that decide a figure. Refuses one in which
/// so many keys cannot be made.
pub(in crate::db) fn settings(
    permits: &Permits,
    path: &Path,
    needs: &[Needs],
) -> Result<Vec<ServerFact>, WorkError> {
    let mut server = Server::connected(permits, path)?;
    server.look()?;
    server.may()?;
    let keys = needs.iter().map(|needs| needs.keys.number).max();
    server.owned(keys.unwrap_or(0))?;
    // What is ours there goes before the first key is made.
    let there = server.note.filter(|note| note.is_whole);
    let there = there.map_or(0, |note| note.keys.bytes_at_least());
    let each = needs.iter().map(|needs| needs.more(needs.keys.number));
    if let Some(most) = each.reduce(More::or) {
        server.fits(most.less(there))?;
    }
    let info = server.info.clone();
    let mut told = server.ask("ask for the settings of", |wire| {
        facts::settings(wire, info.as_ref())
    })?;
    told.extend(server.wire.line.facts());
    Ok(told)
}

impl Server {
    pub(super) fn connected(permits: &Permits, path: &Path) -> Result<Self, WorkError> {
        let named = Named::of(permits, path)?;
        Ok(Self::over(named.entered(Wire::log_in)?, named))
    }

    /// Over a connection to what is named.
    pub(super) fn over(wire: Wire, named: Named) -> Self {
        Self {
            wire,
            named,
            info: None,
            note: None,
            others_here: 0,
            others: 0,
            evicted: Evicted::default(),
            forks: true,
        }
    }

    /// Connects, and looks whether so many keys may be made there; where none are to be, what is of others is no reason
    /// to refuse it.
    pub(super) fn open(
        place: &Place,
        server: &StandIn,
        keys: Option<u64>,
    ) -> Result<Self, WorkError> {
        let mut opened = Self::connected(&place.permits, &server.path)?;
        opened.look()?;
        opened.lock()?;
        match keys {
            Some(keys) => opened.owned(keys)?,
            None => {
                opened.marked()?;
            }
        }
        Ok(opened)
    }

    /// Looks whether it is one that can be measured.
    pub(super) fn look(&mut self) -> Result<(), WorkError> {
        self.gone()?;
        let unfit = self.info.as_ref().and_then(Info::unfit);
        unfit.map_or(Ok(()), |why| Err(self.refused(&why)))
    }

    /// Looks whose keys are there, of which so many are to be ours.
    fn owned(&mut self, keys: u64) -> Result<(), WorkError> {
        let marker = self.marked()?;
        let others = self.others(keys)?;
        self.others_here = others.all;
        let why = refusal(marker, others, self.named.allows_existing);
        why.map_or(Ok(()), |why| Err(self.refused(&why)))
    }

    /// Asks what needs rights and memory, about a key that nobody has: nothing is made or deleted.
    fn may(&mut self) -> Result<(), WorkError> {
        let (wall, own) = (sys::clock::wall(), std::process::id());
        let nobodys = format!("{}{wall:x}-{own:x}", String::from_utf8_lossy(PREFIX));
        let nobodys = nobodys.as_bytes();
        self.ask("work in", |wire| {
            wire.ask(&[b"SET", nobodys, b"a", b"XX"])?;
            for word in [b"DEL".as_slice(), b"EXISTS", b"STRLEN", b"GET"] {
                wire.ask(&[word, nobodys])?;
            }
            Ok(())
        })
    }

    pub(super) fn refused(&self, why: &str) -> WorkError {
        WorkError::Unsupported(format!("make keys in `{}`: {why}", self.named.address))
    }

    /// Asks for something that a user may not be allowed to ask: `None` then.
    pub(super) fn tried<T>(
        &mut self,
        operation: &str,
        ask: impl FnOnce(&mut Wire) -> Result<T, Trouble>,
    ) -> Result<Option<T>, WorkError> {
        match ask(&mut self.wire) {
            Ok(found) => Ok(Some(found)),
            Err(trouble) if is_refusal(&trouble) => Ok(None),
            Err(trouble) => Err(of(operation, &self.named.address, &trouble)),
        }
    }

    pub(super) fn ask<T>(
        &mut self,
        operation: &str,
        ask: impl FnOnce(&mut Wire) -> Result<T, Trouble>,
    ) -> Result<T, WorkError> {
        ask(&mut self.wire).map_err(|trouble| of(operation, &self.named.address, &trouble))
    }

    pub(super) fn marker(&mut self) -> Result<Marker, WorkError> {
        let database = self.wire.database;
        self.ask("look at", |wire| match wire.text(&[b"GET", MARKER]) {
            Ok(None) => Ok(Marker::Nothing),
            Ok(Some(text)) => {
                Ok(Note::read(&text, database).map_or(Marker::OfOthers, Marker::Ours))
            }
            Err(trouble) if is(&trouble, "WRONGTYPE") => Ok(Marker::OfOthers),
            Err(trouble) => Err(trouble),
        })
    }

    /// All keys of the database.
    pub(super) fn all(&mut self) -> Result<u64, WorkError> {
        self.ask("count the keys of", |wire| wire.number(&[b"DBSIZE"]))
    }

    /// Keys of others in a database that was only selected.
    pub(super) fn others_in_all(&mut self) -> Result<u64, WorkError> {
        self.marked()?;
        Ok(self.others(0)?.all)
    }

    /// What stands where our marker belongs; what it counts is ours.
    fn marked(&mut self) -> Result<Marker, WorkError> {
        let marker = self.marker()?;
        self.note = match marker {
            Marker::Ours(note) => Some(note),
            Marker::Nothing | Marker::OfOthers => None,
        };
        Ok(marker)
    }

    /// Keys of others, where so many names are to be ours.
    fn others(&mut self, keys: u64) -> Result<Others, WorkError> {
        let all = self.all()?;
        let ours = match self.note {
            None => 0,
            Some(note) => self.there(0..note.keys.number)? + 1,
        };
        let all = all.saturating_sub(ours);
        let counted = self.note.map_or(0, |note| note.keys.number);
        let called_like_ours = if all > 0 && keys > counted {
            self.there(counted..keys)?
        } else {
            0
        };
        Ok(Others {
            all,
            called_like_ours,
        })
    }

    /// Sends requests about keys of these numbers in pieces, and takes each reply.
    fn each(
        &mut self,
        operation: &str,
        (numbers, bytes): (Range<u64>, usize),
        mut put: impl FnMut(&mut BytesMut, u64),
        mut take: impl FnMut(&Wire, Said, u64) -> Result<(), Trouble>,
    ) -> Result<(), WorkError> {
        let piece = piece(bytes);
        self.ask(operation, |wire| {
            let mut begin = numbers.start;
            while begin < numbers.end {
                let end = (begin + piece).min(numbers.end);
                for number in begin..end {
                    put(&mut wire.line.out, number);
                }
                wire.send()?;
                let mut first = None;
                for number in begin..end {
                    // An error is told once the replies behind it are read.
                    match wire.good() {
                        Ok(said) => take(wire, said, number)?,
                        Err(trouble @ Trouble::Told(_)) => first = first.or(Some(trouble)),
                        Err(trouble) => return Err(trouble),
                    }
                }
                if let Some(trouble) = first {
                    return Err(trouble);
                }
                begin = end;
            }
            Ok(())
        })
    }

    /// How many of our names of these numbers are those of keys.
    pub(super) fn there(&mut self, numbers: Range<u64>) -> Result<u64, WorkError> {
        self.ask("count the keys of", |wire| {
            let mut there = 0;
            let mut begin = numbers.start;
            while begin < numbers.end {
                let end = (begin + PIECE).min(numbers.end);
                let names: Vec<_> = (begin..end).map(name).collect();
                let mut words: Vec<&[u8]> = vec![b"EXISTS"];
                words.extend(names.iter().map(|name| &name[..]));
                there += wire.number(&words)?;
                begin = end;
            }
            Ok(there)
        })
    }

    /// How many keys have a value of their length.
    fn right(&mut self, keys: Keys) -> Result<u64, WorkError> {
        let mut right = 0;
        self.each(
            "look at the keys of",
            (0..keys.number, 0),
            |out, number| resp::command(out, &[b"STRLEN", &name(number)]),
            |_, said, _| {
                right += u64::from(number_of(&said)? == keys.size as u64);
                Ok(())
            },
        )?;
        Ok(right)
    }

    /// Writes the marker; over nobody's key of that name.
    pub(super) fn mark(&mut self, note: Note) -> Result<(), WorkError> {
        let text = note.text(self.wire.database);
        let only = if self.note.is_some() { b"XX" } else { b"NX" };
        let done = self.ask("mark the keys of", |wire| {
            wire.ask(&[b"SET", MARKER, text.as_bytes(), only])
        })?;
        if done.kind != Kind::Word {
            return Err(WorkError::Failed(format!(
                "mark the keys of `{}`: somebody else made or deleted the marker meanwhile",
                self.named.address
            )));
        }
        self.note = Some(note);
        Ok(())
    }

    /// Deletes our keys and then the marker; nothing where it is not there. Says how many keys were there.
    pub(super) fn remove(&mut self) -> Result<u64, WorkError> {
        const DELETE: &str = "delete keys of ours in";
        let Some(note) = self.note else { return Ok(0) };
        let mut deleted = 0;
        self.each(
            DELETE,
            (0..note.keys.number, 0),
            |out, number| resp::command(out, &[b"DEL", &name(number)]),
            |_, said, _| {
                deleted += number_of(&said)?;
                Ok(())
            },
        )?;
        self.ask(DELETE, |wire| wire.number(&[b"DEL", MARKER]))?;
        self.note = None;
        Ok(deleted)
    }

    /// Makes the keys, whatever is left of earlier ones, where they take nothing from others.
    pub(super) fn make(
        &mut self,
        needs: Needs,
        tell: &mut dyn FnMut(Bytes),
    ) -> Result<(), WorkError> {
        let keys = needs.keys;
        self.remove()?;
        self.gone()?;
        self.fits(needs.more(keys.number))?;
        let making = Note {
            keys,
            is_whole: false,
        };
        self.mark(making)?;
        let mut made = 0;
        if let Err(why) = self.fill(needs, &mut made, tell) {
            // What does not fit is not left behind.
            return Err(self.given_up(made, why));
        }
        self.mark(Note {
            is_whole: true,
            ..making
        })
    }

    fn fill(
        &mut self,
        needs: Needs,
        made: &mut u64,
        tell: &mut dyn FnMut(Bytes),
    ) -> Result<(), WorkError> {
        let keys = needs.keys;
        let values = Values::new(keys.size);
        let mut value = Vec::with_capacity(keys.size);
        let mut looked = sys::clock::monotonic();
        while *made < keys.number {
            let end = (*made + piece(keys.size)).min(keys.number);
            self.each(
                "make keys in",
                (*made..end, keys.size),
                |out, number| {
                    value.clear();
                    value.push(MADE);
                    value.extend_from_slice(values.rest(number));
                    resp::command(out, &[b"SET", &name(number), &value]);
                },
                |_, said, _| match said.kind {
                    Kind::Word => {
                        *made += 1;
                        Ok(())
                    }
                    _ => Err(Trouble::Garbage(Engine::Redis)),
                },
            )?;
            tell(Bytes(*made * keys.size as u64));
            let now = sys::clock::monotonic();
            if now - looked >= LOOK_NS || *made == keys.number {
                looked = now;
                self.spares(needs.more(keys.number - *made))?;
            }
        }
        let right = self.right(keys)?;
        if right == keys.number {
            return Ok(());
        }
        Err(self.refused(&format!(
            "{right} of the {} keys are there once all have been made: another program deletes them, or the server, \
             which may have reached its `maxmemory`\n\
             hint: fewer `keys`, a smaller `data_size`, or a larger `maxmemory`",
            keys.number
        )))
    }

    /// Whether the keys are there, each with a value of its length.
    pub(super) fn holds(&mut self, keys: Keys) -> Result<bool, WorkError> {
        Ok(self.is_noted(keys) && self.right(keys)? == keys.number)
    }

    /// Whether the marker says that they are.
    fn is_noted(&self, keys: Keys) -> bool {
        let whole = Note {
            keys,
            is_whole: true,
        };
        self.note == Some(whole)
    }

    /// Sees to it that the keys are there before a round, and that there is room for the rest of what it needs; true
    /// where they had to be made anew.
    pub(super) fn stand_on(&mut self, needs: Needs) -> Result<bool, WorkError> {
        if self.is_noted(needs.keys) && self.all()? > needs.keys.number {
            self.fits(needs.more(0))?;
            return Ok(false);
        }
        self.make(needs, &mut |_| ())?;
        Ok(true)
    }

    /// Whether these keys hold what was written last, and nothing else; the first that does not.
    pub(super) fn first_unwritten(
        &mut self,
        numbers: &[u64],
        (values, letter): (&Values, u8),
    ) -> Result<Option<u64>, WorkError> {
        for number in numbers {
            let value = self.ask("read keys of", |wire| {
                let said = wire.ask(&[b"GET", &name(*number)])?;
                Ok(wire.body(&said).to_vec())
            })?;
            if value.first() != Some(&letter) || !values.holds(&value, *number) {
                return Ok(Some(*number));
            }
        }
        Ok(None)
    }

    /// A connection of a client.
    pub(super) fn client(&self) -> Result<Wire, WorkError> {
        self.named.entered(Wire::log_in)
    }

    /// What the server says of itself, a sentence each.
    pub(super) fn facts(&mut self) -> Result<facts::Facts, WorkError> {
        let info = self.info.clone();
        let mut told = self.ask("ask for the settings of", |wire| {
            facts::Facts::ask(wire, info.as_ref())
        })?;
        let has_password = self.named.secret.is_some();
        let is_safe = self.is_here() || self.wire.line.is_encrypted();
        let clear = facts::in_the_clear(has_password, is_safe);
        told.notes
            .extend(self.wire.line.note().into_iter().chain(clear));
        Ok(told)
    }

    /// The server's process, where it is on this machine and can be told. Of a Unix socket the kernel says who listens;
    /// over loopback the server says which process it is, and it counts where that is such a server here.
    pub(super) fn process(&self) -> Option<u32> {
        if let Some(socket) = self.wire.line.unix() {
            return sys::peer::listener(socket).ok().flatten();
        }
        if !self.wire.line.is_loopback() {
            return None;
        }
        let said = self.info.as_ref()?.process()?;
        let found = sys::counters::process(&sys::tree::Tree::real(), said).ok()?;
        let is_one = ["redis", "valkey"]
            .iter()
            .any(|own| found.name.starts_with(own));
        (is_one && said > 1).then_some(said)
    }

    /// Whether it is on this machine.
    pub(super) fn is_here(&self) -> bool {
        self.wire.line.is_loopback()
    }

    /// Whether keys of others may be in the database.
    pub(super) const fn is_shared(&self) -> bool {
        self.named.allows_existing
    }

    /// The address without what opens it.
    pub(super) fn shown(&self) -> String {
        self.named.address.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_marker_counts_is_ours_and_others_are_left_alone() {
        let ours = Marker::Ours(Note {
            keys: Keys {
                number: 10,
                size: 3,
            },
            is_whole: false,
        });
        let check = |marker: Marker, all: u64, allows: bool, words: Option<&str>| {
            let others = Others {
                all,
                called_like_ours: 0,
            };
            let why = refusal(marker, others, allows);
            match words {
                None => assert_eq!(why, None),
                Some(words) => assert!(why.clone().unwrap().contains(words), "{why:?}"),
            }
        };
        for allows in [false, true] {
            check(Marker::Nothing, 0, allows, None);
            check(ours, 0, allows, None);
            // A key of our marker's name that is none is left alone whatever is allowed.
            check(Marker::OfOthers, 0, allows, Some("none of kurabe's"));
        }
        check(Marker::Nothing, 1, false, Some("holds 1 key of others"));
        check(ours, 7, false, Some("holds 7 keys of others"));
        check(Marker::Nothing, 1, true, None);
        check(ours, 7, true, None);
        // What would be in our way is refused whatever is allowed, and nobody is told to allow it.
        for allows in [false, true] {
            let others = Others {
                all: 7,
                called_like_ours: 2,
            };
            let why = refusal(Marker::Nothing, others, allows).unwrap();
            assert!(
                why.starts_with("2 of its keys") && !why.contains("--db-allow"),
                "{why}"
            );
        }
    }
}
