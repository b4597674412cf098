//! One client: a connection over which one batch of requests goes after the other, and every reply is looked at.

use super::error::told;
use super::keys::{Keys, NAME_BYTES, Values, name, put_number};
use super::resp::{self, END, Found, Kind};
use super::wire::Wire;
use crate::db::server::trouble::Trouble;
use bytes::BytesMut;
use model::rng::Rng;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// What decides the course of a test.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting {
    /// How many keys there are.
    pub(super) keys: u64,
    /// Bytes of a value.
    pub(super) size: usize,
    /// Requests of a batch.
    pub(super) pipeline: u32,
    /// Writes, and writes and reads together, of so many requests.
    pub(super) writes: u64,
    pub(super) of: u64,
    /// What the values of this round begin with.
    pub(super) letter: u8,
}

impl Setting {
    /// Which keys those are.
    pub(super) const fn keys(&self) -> Keys {
        Keys {
            number: self.keys,
            size: self.size,
        }
    }
}

/// What all clients share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) values: Values,
    /// The first reply that was wrong.
    pub(super) wrong: OnceLock<String>,
}

/// What others look at while a client works, on lines of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Counts {
    pub(super) reads: AtomicU64,
    /// Reads that found no key.
    pub(super) misses: AtomicU64,
}

/// Nobody else writes it.
#[inline]
fn add(count: &AtomicU64, more: u64) {
    count.store(count.load(Ordering::Relaxed) + more, Ordering::Relaxed);
}

/// A request of the batch under way.
#[derive(Clone, Copy, Debug)]
struct Asked {
    number: u64,
    is_write: bool,
    /// Where it stands in the batch.
    begin: usize,
}

/// Requests of one kind.
#[derive(Debug)]
struct Form {
    /// What is the same in all of them: up to the key's end, and from there to a value's letter.
    same: BytesMut,
    /// How long each is.
    length: usize,
}

/// How far a look at the replies to a batch came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    All,
    /// The next one is of at least so many bytes, and more must be read.
    UpTo(usize),
}

/// The reply to a SET.
const DONE: &[u8] = b"+OK\r\n";

/// So many of the last keys that a client wrote are looked at after a round.
const LAST: usize = 16;

/// A connection's state.
pub(super) struct Client {
    pub(super) wire: Wire,
    pub(super) shown: Arc<str>,
    setting: Setting,
    shared: Arc<Shared>,
    counts: Arc<Counts>,
    rng: Rng,
    get: Form,
    set: Form,
    /// Where in a request the name of its key is.
    name_at: usize,
    /// What stands before a value that is read: how long it is.
    head: BytesMut,
    /// The batch that was written last: what is the same in the next one stays as it is.
    batch: Vec<u8>,
    asked: Vec<Asked>,
    /// Replies to these that were looked at.
    taken: usize,
    last: [Option<u64>; LAST],
    written: usize,
}

impl Client {
    /// The client of this number, which is connected.
    pub(super) fn new(
        wire: Wire,
        shown: Arc<str>,
        setting: Setting,
        shared: Arc<Shared>,
        counts: Arc<Counts>,
        (seed, number): (u64, u32),
    ) -> Self {
        let form = |parts: &[&[u8]], own: usize| {
            let mut same = BytesMut::new();
            resp::command(&mut same, parts);
            let length = same.len();
            same.truncate(length - own);
            Form { same, length }
        };
        let name = name(0);
        let value = vec![setting.letter; setting.size];
        let get = form(&[b"GET", &name], 0);
        // Behind the letter is the key's own.
        let set = form(&[b"SET", &name, &value], setting.size - 1 + END.len());
        let mut head = BytesMut::new();
        resp::head(&mut head, b'$', setting.size);
        let requests = setting.pipeline as usize;
        let none = Asked {
            number: 0,
            is_write: false,
            begin: usize::MAX,
        };
        Self {
            wire,
            shown,
            setting,
            shared,
            counts,
            rng: Rng::stream(seed, u64::from(number) + 3000),
            name_at: get.length - END.len() - NAME_BYTES,
            batch: vec![0; requests * set.length],
            asked: vec![none; requests],
            taken: requests,
            get,
            set,
            head,
            last: [None; LAST],
            written: 0,
        }
    }

    /// The last keys that it wrote.
    pub(super) fn last_written(&self) -> impl Iterator<Item = u64> + '_ {
        self.last.iter().flatten().copied()
    }

    /// Sends a batch.
    #[inline]
    pub(super) fn send(&mut self) -> Result<(), Trouble> {
        let length = self.put();
        self.wire.line.send_this(&self.batch[..length])
    }

    /// Puts a batch together, and says how long it is.
    #[inline]
    fn put(&mut self) -> usize {
        let Setting {
            keys, of, writes, ..
        } = self.setting;
        self.taken = 0;
        let mut begin = 0;
        for asked in &mut self.asked {
            let number = self.rng.below(keys);
            let is_write = writes == of || (writes > 0 && self.rng.below(of) < writes);
            let Form { same, length } = if is_write { &self.set } else { &self.get };
            let request = &mut self.batch[begin..begin + length];
            if (asked.begin, asked.is_write) != (begin, is_write) {
                request[..same.len()].copy_from_slice(same);
            }
            put_number(&mut request[self.name_at..][..NAME_BYTES], number);
            if is_write {
                let (value, end) = request[same.len()..].split_at_mut(self.setting.size - 1);
                value.copy_from_slice(self.shared.values.rest(number));
                end.copy_from_slice(END);
            }
            *asked = Asked {
                number,
                is_write,
                begin,
            };
            begin += length;
        }
        begin
    }

    /// Looks at the replies to a batch that are there.
    #[inline]
    pub(super) fn take(&mut self) -> Result<Taken, Trouble> {
        let (mut reads, mut misses) = (0, 0);
        let taken = loop {
            reads += self.take_expected();
            let Some(&Asked {
                number, is_write, ..
            }) = self.asked.get(self.taken)
            else {
                break Taken::All;
            };
            let said = match self.wire.there()? {
                Found::Whole(said) => said,
                Found::Part(least) => break Taken::UpTo(least),
            };
            match (said.kind, is_write) {
                (Kind::Nothing, false) => {
                    self.taken += 1;
                    reads += 1;
                    misses += 1;
                }
                (Kind::Error, _) => return Err(told(self.wire.body(&said))),
                (Kind::Value, false) => {
                    return Err(self.wrong(number, "a value that is not the key's"));
                }
                _ => return Err(self.wrong(number, "a reply of another kind than was asked for")),
            }
        };
        add(&self.counts.reads, reads);
        add(&self.counts.misses, misses);
        Ok(taken)
    }

    /// Takes the next replies that are in whole what they should be, every byte of them, without taking them apart; and
    /// says how many of them are values.
    #[inline]
    fn take_expected(&mut self) -> u64 {
        let there = self.wire.line.there();
        let mut rest = there;
        let mut reads = 0;
        for &Asked {
            number, is_write, ..
        } in &self.asked[self.taken..]
        {
            let behind = if is_write {
                rest.strip_prefix(DONE)
            } else {
                self.behind_value(rest, number)
            };
            let Some(behind) = behind else {
                break;
            };
            rest = behind;
            self.taken += 1;
            if is_write {
                self.last[self.written % LAST] = Some(number);
                self.written += 1;
            } else {
                reads += 1;
            }
        }
        let length = there.len() - rest.len();
        self.wire.line.take(length);
        reads
    }

    /// What comes behind a reply that is the value of this key, whoever wrote it last.
    #[inline]
    fn behind_value<'a>(&self, bytes: &'a [u8], number: u64) -> Option<&'a [u8]> {
        let bytes = bytes.strip_prefix(&self.head[..])?;
        let (value, behind) = bytes.split_at_checked(self.setting.size)?;
        let is_its = self.shared.values.holds(value, number);
        behind.strip_prefix(END).filter(|_| is_its)
    }

    /// The first one is told.
    #[cold]
    fn wrong(&self, number: u64, what: &str) -> Trouble {
        let key = String::from_utf8_lossy(&name(number)).into_owned();
        let _ = self
            .shared
            .wrong
            .set(format!("`{}` answered {what}: `{key}`", self.shown));
        Trouble::Io(io::Error::other("a reply is wrong"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::server::line::Line;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    /// A client of batches of so many requests, of which so many of so many are writes, and the other end.
    fn connected(size: usize, pipeline: u32, (writes, of): (u64, u64)) -> (Client, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let setting = Setting {
            keys: 1000,
            size,
            pipeline,
            writes,
            of,
            letter: b'b',
        };
        let shared = Shared {
            values: Values::new(size),
            wrong: OnceLock::new(),
        };
        let client = Client::new(
            Wire::over(Line::over(ours)),
            "redis://h:6379/0".into(),
            setting,
            Arc::new(shared),
            Arc::default(),
            (7, 0),
        );
        (client, theirs)
    }

    fn value(client: &Client, letter: u8, number: u64) -> Vec<u8> {
        [&[letter], client.shared.values.rest(number)].concat()
    }

    /// The replies to the batch under way, of keys that somebody else wrote last.
    fn replies(client: &Client) -> Vec<u8> {
        let mut replies = BytesMut::new();
        for asked in &client.asked {
            if asked.is_write {
                replies.extend_from_slice(DONE);
            } else {
                resp::head(&mut replies, b'$', client.setting.size);
                replies.extend_from_slice(&value(client, b'A', asked.number));
                replies.extend_from_slice(END);
            }
        }
        replies.to_vec()
    }

    #[test]
    fn a_batch_is_its_commands_whatever_the_one_before_was() {
        for (size, share) in [(1, (1, 1)), (3, (0, 1)), (3, (1, 2)), (5000, (1, 3))] {
            let (mut client, _theirs) = connected(size, 5, share);
            let mut kinds = 0_u8;
            for _ in 0..50 {
                let length = client.put();
                let mut expected = BytesMut::new();
                for asked in &client.asked {
                    let name = name(asked.number);
                    if asked.is_write {
                        let value = value(&client, b'b', asked.number);
                        resp::command(&mut expected, &[b"SET", &name, &value]);
                    } else {
                        resp::command(&mut expected, &[b"GET", &name]);
                    }
                    kinds |= 1 << u8::from(asked.is_write);
                }
                assert!(client.batch[..length] == expected, "{size} {share:?}");
            }
            assert_eq!(kinds == 3, share.1 > 1, "{kinds}");
        }
    }

    #[test]
    fn no_byte_of_a_reply_may_be_another_one() {
        for share in [(0, 1), (1, 1)] {
            let (mut client, _) = connected(3, 2, share);
            client.put();
            let good = replies(&client);
            let letters: Vec<_> = (0..good.len()).filter(|at| good[*at] == b'A').collect();
            assert_eq!(letters.len(), if share.0 == 0 { 2 } else { 0 });
            for at in 0..good.len() {
                for other in 0..=u8::MAX {
                    let mut bytes = good.clone();
                    bytes[at] = other;
                    let (mut client, mut theirs) = connected(3, 2, share);
                    client.put();
                    theirs.write_all(&bytes).unwrap();
                    client.wire.line.fill(1).unwrap();
                    // A letter says who wrote last.
                    let is_good =
                        bytes == good || letters.contains(&at) && other.is_ascii_alphabetic();
                    let taken = client.take();
                    let is_taken = matches!(taken, Ok(Taken::All));
                    let shown = bytes.escape_ascii();
                    assert_eq!(is_taken, is_good, "{shown}: {taken:?}");
                }
            }
        }
    }

    #[test]
    fn reads_and_misses_are_counted_and_writes_remembered_in_every_order() {
        let (mut client, mut theirs) = connected(3, 64, (1, 2));
        client.put();
        let reads = client.asked.iter().filter(|asked| !asked.is_write);
        let reads = reads.count() as u64;
        let writes = client.asked.iter().filter(|asked| asked.is_write);
        let mut writes: Vec<u64> = writes.map(|asked| asked.number).collect();
        assert!(reads > 16 && writes.len() > LAST);
        // One key is not there.
        let mut bytes = replies(&client);
        let value = bytes
            .windows(4)
            .rposition(|four| four == b"$3\r\n")
            .unwrap();
        bytes.splice(value..value + 9, *b"$-1\r\n");
        for byte in bytes {
            theirs.write_all(&[byte]).unwrap();
            client.wire.line.fill(1).unwrap();
            client.take().unwrap();
        }
        assert_eq!(client.take().unwrap(), Taken::All);
        assert_eq!(client.counts.reads.load(Ordering::Relaxed), reads);
        assert_eq!(client.counts.misses.load(Ordering::Relaxed), 1);
        let mut last: Vec<u64> = client.last_written().collect();
        last.sort_unstable();
        let mut expected = writes.split_off(writes.len() - LAST);
        expected.sort_unstable();
        assert_eq!(last, expected);
    }
}
