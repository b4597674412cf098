//! What transactions take of a client that does nothing else: the messages of ours are sent to the server itself as
//! they were recorded, one write, one wait and one read for each, and nobody looks at what is answered. Whoever sends
//! as many messages and waits for each cannot take less.
//!
//! A server of MySQL's kind gives each prepared statement a number, another one each time: the numbers that are sent
//! are those of this time.

use super::relay::{PART, Talk, Turn, connect, joined};
use anyhow::{Context, ensure};
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;
use sys::ready::is_readable_within;
use workloads::db::engines::Engine;

/// How long it is measured, in ns, where so much was recorded.
const NANOS: u64 = 3_000_000_000;

/// A server answers sooner.
const WAIT: Duration = Duration::from_secs(10);

/// The bytes of a packet of MySQL's in front of its command, and the commands that prepare and execute.
const HEADER: usize = 4;
const PREPARE: u8 = 0x16;
const EXECUTE: u8 = 0x17;

/// CPU time of a transaction, in ns: of each of these talks at once, with a server that has the tables that they need.
pub(super) fn takes(server: &Path, engine: Engine, talks: &[Talk]) -> anyhow::Result<f64> {
    let ready = Barrier::new(talks.len());
    let ended = thread::scope(|scope| {
        let players = talks.iter().map(|talk| {
            let player = Player::new(server, engine, talk);
            scope.spawn(|| player?.play(&ready))
        });
        // All of them are there before one is waited for.
        let players: Vec<_> = players.collect();
        let ended = players.into_iter().map(joined);
        ended.collect::<anyhow::Result<Vec<_>>>()
    })?;
    let [nanos, count] = [0, 1].map(|i| ended.iter().map(|both| both[i]).sum::<u64>());
    ensure!(count > 0, "no transaction was recorded whole");
    Ok(model::num::approx(nanos) / model::num::approx(count))
}

/// One connection.
struct Player<'a> {
    stream: UnixStream,
    engine: Engine,
    talk: &'a [Turn],
    room: Vec<u8>,
    /// Numbers of prepared statements as they were recorded, ascending as they were given, and those of this time.
    recorded: Vec<[u8; 4]>,
    own: Vec<[u8; 4]>,
}

impl<'a> Player<'a> {
    fn new(server: &Path, engine: Engine, talk: &'a Talk) -> anyhow::Result<Self> {
        let mut recorded: Vec<[u8; 4]> = match engine {
            Engine::Mysql => talk.iter().filter_map(executed).collect(),
            _ => Vec::new(),
        };
        recorded.sort_unstable_by_key(|number| u32::from_le_bytes(*number));
        recorded.dedup();
        Ok(Self {
            stream: connect(server)?,
            engine,
            talk,
            room: vec![0; PART],
            recorded,
            own: Vec::new(),
        })
    }

    /// CPU time in ns, and transactions.
    fn play(mut self, ready: &Barrier) -> anyhow::Result<[u64; 2]> {
        if self.engine == Engine::Mysql {
            self.hear()?;
        }
        let talk = self.talk;
        let begins = talk.iter().position(|turn| says(turn, b"BEGIN"));
        let (before, measured) = talk.split_at(begins.unwrap_or(talk.len()));
        let set_up = before.iter().try_for_each(|turn| self.turn(turn));
        // Whoever fails keeps nobody waiting.
        ready.wait();
        set_up?;
        let usage = || {
            let usage = sys::process::usage_thread();
            usage.user + usage.system
        };
        let (cpu, end) = (usage(), sys::clock::monotonic() + NANOS);
        let mut count = 0;
        for turn in measured {
            self.turn(turn)?;
            if says(turn, b"COMMIT") {
                count += 1;
                if sys::clock::monotonic() >= end {
                    break;
                }
            }
        }
        Ok([usage() - cpu, count])
    }

    fn turn(&mut self, turn: &Turn) -> anyhow::Result<()> {
        let number = executed(turn).filter(|_| self.engine == Engine::Mysql);
        let place = number.and_then(|number| self.recorded.iter().position(|own| *own == number));
        let sent = match place.and_then(|place| self.own.get(place)) {
            Some(own) => {
                let (begin, end) = turn.request.split_at(HEADER + 1);
                let parts = [begin, own, &end[own.len()..]];
                self.stream.write_all(&parts.concat())
            }
            None => self.stream.write_all(&turn.request),
        };
        sent.context("send a message that was recorded")?;
        self.hear()?;
        if self.engine == Engine::Mysql && turn.request.get(HEADER) == Some(&PREPARE) {
            let number = self.room[HEADER + 1..].first_chunk();
            self.own.push(number.copied().unwrap_or_default());
        }
        Ok(())
    }

    /// Reads what comes.
    fn hear(&mut self) -> anyhow::Result<()> {
        let failed = "hear the answer to a message that was recorded";
        let is_there = is_readable_within(self.stream.as_fd(), WAIT).context(failed)?;
        ensure!(is_there, "{failed}: nothing comes");
        let read = self.stream.read(&mut self.room).context(failed)?;
        ensure!(read > 0, "{failed}: the server ended");
        Ok(())
    }
}

/// The number of the prepared statement that a message to a server of MySQL's kind executes.
fn executed(turn: &Turn) -> Option<[u8; 4]> {
    let command = turn.request.get(HEADER..)?;
    let is_one = command.first() == Some(&EXECUTE);
    is_one
        .then(|| command[1..].first_chunk().copied())
        .flatten()
}

/// Whether it is this word as a simple query, in either protocol.
fn says(turn: &Turn, word: &[u8]) -> bool {
    let text = turn.request.strip_suffix(b"\0").unwrap_or(&turn.request);
    text.get(HEADER + 1..) == Some(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    fn turn(request: &[u8]) -> Turn {
        Turn {
            request: request.to_vec(),
            answer: 1,
        }
    }

    #[test]
    fn transactions_are_sent_as_they_were_with_the_numbers_of_this_time() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().join("server");
        let listener = UnixListener::bind(&at).unwrap();
        let prepare = turn(b"\x09\0\0\0\x16SELECT 1");
        let execute = turn(b"\x0a\0\0\0\x17\x07\0\0\0\0\x01\0\0\0");
        let [begin, commit] = [&b"\x06\0\0\0\x03BEGIN"[..], b"\x07\0\0\0\x03COMMIT"].map(turn);
        let talk = vec![prepare.clone(), begin.clone(), execute, commit.clone()];
        let heard = thread::scope(|scope| {
            let server = scope.spawn(|| {
                let (mut one, _) = listener.accept().unwrap();
                one.write_all(b"greeting").unwrap();
                let mut heard = Vec::new();
                let mut room = [0; 100];
                while let Ok(read @ 1..) = one.read(&mut room) {
                    heard.push(room[..read].to_vec());
                    one.write_all(b"\x0c\0\0\x01\0\x63\0\0\0").unwrap();
                }
                heard
            });
            let took = takes(&at, Engine::Mysql, &[talk]).unwrap();
            assert!(took > 0.0, "{took}");
            server.join().unwrap()
        });
        let execute = b"\x0a\0\0\0\x17\x63\0\0\0\0\x01\0\0\0".to_vec();
        assert_eq!(
            heard,
            [prepare.request, begin.request, execute, commit.request]
        );
    }

    #[test]
    fn what_has_no_transaction_is_no_figure() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().join("server");
        let listener = UnixListener::bind(&at).unwrap();
        let took = takes(&at, Engine::Postgres, &[Vec::new()]);
        drop(listener);
        assert!(took.is_err());
    }
}
