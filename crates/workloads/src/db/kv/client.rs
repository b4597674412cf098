//! One client: a connection over which one batch of requests goes after the other, and every reply is looked at.

use super::error::told;
use super::keys::{NAME_BYTES, Values, name, put_number};
use super::resp::{self, Found, Kind};
use super::wire::Wire;
use crate::db::server::trouble::Trouble;
use bytes::{BufMut, BytesMut};
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
}

/// How far a look at the replies to a batch came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    All,
    /// The next one is of at least so many bytes, and more must be read.
    UpTo(usize),
}

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
    /// What a request is until the number of its key, and what is between a name and a value.
    get: BytesMut,
    set: BytesMut,
    length: BytesMut,
    asked: Vec<Asked>,
    /// Replies to these that were looked at.
    taken: usize,
    last: [Option<u64>; LAST],
    written: usize,
}

impl Client {
    /// The client of this number, which is connected.
    pub(super) fn new(
        mut wire: Wire,
        shown: Arc<str>,
        setting: Setting,
        shared: Arc<Shared>,
        counts: Arc<Counts>,
        (seed, number): (u64, u32),
    ) -> Self {
        let begun = |command: &[u8], parts: usize| {
            let mut bytes = BytesMut::new();
            resp::head(&mut bytes, b'*', parts);
            resp::head(&mut bytes, b'$', command.len());
            bytes.extend_from_slice(command);
            bytes.extend_from_slice(b"\r\n");
            resp::head(&mut bytes, b'$', NAME_BYTES);
            bytes.extend_from_slice(&name(0));
            bytes.extend_from_slice(b"\r\n");
            bytes
        };
        let mut length = BytesMut::new();
        resp::head(&mut length, b'$', setting.size);
        let (get, set) = (begun(b"GET", 2), begun(b"SET", 3));
        let longest = set.len() + length.len() + setting.size + 2;
        let batch = setting.pipeline as usize;
        wire.line.out.reserve(batch * longest);
        Self {
            wire,
            shown,
            setting,
            shared,
            counts,
            rng: Rng::stream(seed, u64::from(number) + 3000),
            get,
            set,
            length,
            asked: Vec::with_capacity(batch),
            taken: 0,
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
        self.put();
        self.wire.send()
    }

    /// Puts a batch together.
    #[inline]
    fn put(&mut self) {
        let Setting { keys, of, .. } = self.setting;
        self.asked.clear();
        self.taken = 0;
        for _ in 0..self.setting.pipeline {
            let number = self.rng.below(keys);
            let is_write = self.setting.writes == of
                || (self.setting.writes > 0 && self.rng.below(of) < self.setting.writes);
            let begun = if is_write { &self.set } else { &self.get };
            let out = &mut self.wire.line.out;
            let at = out.len();
            out.extend_from_slice(begun);
            put_number(
                &mut out[at + begun.len() - 2 - NAME_BYTES..at + begun.len() - 2],
                number,
            );
            if is_write {
                out.extend_from_slice(&self.length);
                out.put_u8(self.setting.letter);
                out.extend_from_slice(self.shared.values.rest(number));
                out.extend_from_slice(b"\r\n");
            }
            self.asked.push(Asked { number, is_write });
        }
    }

    /// Looks at the replies to a batch that are there.
    #[inline]
    pub(super) fn take(&mut self) -> Result<Taken, Trouble> {
        let (mut reads, mut misses) = (0, 0);
        let mut taken = Taken::All;
        while let Some(&Asked { number, is_write }) = self.asked.get(self.taken) {
            let said = match self.wire.there()? {
                Found::Whole(said) => said,
                Found::Part(least) => {
                    taken = Taken::UpTo(least);
                    break;
                }
            };
            self.taken += 1;
            match (said.kind, is_write) {
                (Kind::Word, true) => {
                    self.last[self.written % LAST] = Some(number);
                    self.written += 1;
                }
                (Kind::Value, false) => {
                    reads += 1;
                    if !self.shared.values.holds(self.wire.body(&said), number) {
                        return Err(self.wrong(number, "a value that is not the key's"));
                    }
                }
                (Kind::Nothing, false) => {
                    reads += 1;
                    misses += 1;
                }
                (Kind::Error, _) => return Err(told(self.wire.body(&said))),
                _ => return Err(self.wrong(number, "a reply of another kind than was asked for")),
            }
        }
        add(&self.counts.reads, reads);
        add(&self.counts.misses, misses);
        Ok(taken)
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
