//! What transactions take of a client that does nothing else: the messages of ours are sent to the server itself as
//! they were recorded, one write, one wait and one read for each, and of an answer nobody looks at more than whether it
//! is an error. Whoever sends as many messages and waits for each answer cannot take less.
//!
//! To MySQL and MariaDB alone. They give each prepared statement a number, another one each time: the numbers that are
//! sent are those of this time.

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

/// How long it is measured, in ns, where so much was recorded.
const NANOS: u64 = 3_000_000_000;

/// A server answers sooner.
const WAIT: Duration = Duration::from_secs(10);

/// The bytes of a packet in front of its command, and the commands that prepare, execute, and ask with a text.
const HEADER: usize = 4;
const PREPARE: u8 = 0x16;
const EXECUTE: u8 = 0x17;
const QUERY: u8 = 0x03;

/// The first byte of an answer without rows, of what ends rows, and of an error.
const OK: u8 = 0x00;
const END: u8 = 0xfe;
const ERROR: u8 = 0xff;

/// More errors than one in so many transactions, and it is other work. Some are to be expected: what locked in one
/// order when it was recorded locks in another one now.
const ERRORS: u64 = 50;

/// CPU time of a transaction, in ns: of each of these talks at once, with a server that has the tables that they need.
pub(super) fn takes(server: &Path, talks: &[Talk]) -> anyhow::Result<f64> {
    let ready = Barrier::new(talks.len());
    let players = talks.iter().map(|talk| Player::new(server, talk));
    let players = players.collect::<anyhow::Result<Vec<_>>>()?;
    let ended = thread::scope(|scope| {
        let players = players.into_iter();
        let running = players.map(|player| scope.spawn(|| player.play(&ready)));
        // All of them are there before one is waited for.
        let running: Vec<_> = running.collect();
        let ended = running.into_iter().map(joined);
        ended.collect::<anyhow::Result<Vec<_>>>()
    })?;
    let sum = |of: fn(&Played) -> u64| ended.iter().map(of).sum::<u64>();
    let (count, errors) = (sum(|played| played.count), sum(|played| played.errors));
    ensure!(count > 0, "no transaction was recorded whole");
    ensure!(
        errors <= count / ERRORS,
        "{errors} errors in {count} transactions that were sent again"
    );
    Ok(model::num::approx(sum(|played| played.nanos)) / model::num::approx(count))
}

/// What a connection came to: CPU time, transactions, and answers that were errors.
#[derive(Clone, Copy, Debug)]
struct Played {
    nanos: u64,
    count: u64,
    errors: u64,
}

/// One connection.
struct Player<'a> {
    stream: UnixStream,
    talk: &'a [Turn],
    room: Vec<u8>,
    /// Numbers of prepared statements as they were recorded, ascending as they were given, and those of this time.
    recorded: Vec<[u8; 4]>,
    own: Vec<[u8; 4]>,
    errors: u64,
}

impl<'a> Player<'a> {
    fn new(server: &Path, talk: &'a Talk) -> anyhow::Result<Self> {
        let mut recorded: Vec<[u8; 4]> = talk.iter().filter_map(executed).collect();
        recorded.sort_unstable_by_key(|number| u32::from_le_bytes(*number));
        recorded.dedup();
        let prepared = talk.iter().filter(|turn| is(turn, PREPARE)).count();
        ensure!(
            recorded.len() == prepared,
            "{prepared} statements were prepared and {} executed while it was recorded",
            recorded.len()
        );
        Ok(Self {
            stream: connect(server)?,
            talk,
            room: vec![0; PART],
            recorded,
            own: Vec::new(),
            errors: 0,
        })
    }

    fn play(mut self, ready: &Barrier) -> anyhow::Result<Played> {
        let find = |word: &[u8], all: &[Turn]| all.iter().position(|turn| says(turn, word));
        let begins = find(b"BEGIN", self.talk).unwrap_or(self.talk.len());
        let (before, measured) = self.talk.split_at(begins);
        let ends = measured.iter().rposition(|turn| says(turn, b"COMMIT"));
        // The greeting comes first.
        let set_up = self
            .hear(|_| true)
            .and_then(|()| before.iter().try_for_each(|turn| self.turn(turn)));
        // Whoever fails keeps nobody waiting.
        ready.wait();
        set_up?;
        ensure!(
            self.errors == 0,
            "what was recorded cannot be prepared again"
        );
        let usage = || {
            let usage = sys::process::usage_thread();
            usage.user + usage.system
        };
        let (cpu, end) = (usage(), sys::clock::monotonic() + NANOS);
        let mut count = 0;
        for turn in &measured[..ends.map_or(0, |end| end + 1)] {
            self.turn(turn)?;
            if says(turn, b"COMMIT") {
                count += 1;
                if sys::clock::monotonic() >= end {
                    break;
                }
            }
        }
        Ok(Played {
            nanos: usage() - cpu,
            count,
            errors: self.errors,
        })
    }

    fn turn(&mut self, turn: &Turn) -> anyhow::Result<()> {
        let place = executed(turn).and_then(|number| {
            self.recorded
                .iter()
                .position(|recorded| *recorded == number)
        });
        let sent = match place.and_then(|place| self.own.get(place)) {
            Some(own) => {
                let (begin, end) = turn.request.split_at(HEADER + 1);
                let parts = [begin, own, &end[own.len()..]];
                self.stream.write_all(&parts.concat())
            }
            None => self.stream.write_all(&turn.request),
        };
        sent.context("send a message that was recorded")?;
        if is(turn, EXECUTE) || is(turn, QUERY) {
            self.hear(ends)?;
        } else {
            self.hear(|heard| heard.len() >= turn.answer)?;
        }
        self.errors += u64::from(self.room[HEADER] == ERROR);
        if is(turn, PREPARE) {
            let number = self.room[HEADER + 1..].first_chunk();
            self.own.push(number.copied().unwrap_or_default());
        }
        Ok(())
    }

    /// Reads an answer, until what was heard is one.
    fn hear(&mut self, is_whole: impl Fn(&[u8]) -> bool) -> anyhow::Result<()> {
        let failed = "hear the answer to a message that was recorded";
        let mut heard = 0;
        while heard == 0 || !is_whole(&self.room[..heard]) {
            let is_there = is_readable_within(self.stream.as_fd(), WAIT).context(failed)?;
            ensure!(is_there, "{failed}: nothing comes");
            let read = self.stream.read(&mut self.room[heard..]).context(failed)?;
            ensure!(read > 0, "{failed}: the server ended");
            heard += read;
        }
        Ok(())
    }
}

/// Whether these are all packets of the answer to a statement: one that says how it went, or rows and their end. A row
/// that another client has taken away is missing now, so that the length says nothing.
fn ends(heard: &[u8]) -> bool {
    let (mut rest, mut first, mut last) = (heard, None, None);
    while let Some((&[a, b, c, _], behind)) = rest.split_first_chunk::<HEADER>() {
        let length = usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16;
        let Some((packet, behind)) = behind.split_at_checked(length) else {
            return false;
        };
        last = packet.first();
        first = first.or(last);
        rest = behind;
    }
    rest.is_empty()
        && (matches!(first, Some(&(OK | ERROR))) || matches!(last, Some(&(END | ERROR))))
}

/// Whether a message is this command.
fn is(turn: &Turn, command: u8) -> bool {
    turn.request.get(HEADER) == Some(&command)
}

/// The number of the prepared statement that a message executes.
fn executed(turn: &Turn) -> Option<[u8; 4]> {
    let number = turn.request.get(HEADER + 1..)?.first_chunk();
    number.filter(|_| is(turn, EXECUTE)).copied()
}

/// Whether it is this word.
fn says(turn: &Turn, word: &[u8]) -> bool {
    is(turn, QUERY) && turn.request.get(HEADER + 1..) == Some(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    const DONE: &[u8] = b"\x05\0\0\x01\0\x63\0\0\0";

    fn turn(request: &[u8]) -> Turn {
        Turn {
            request: request.to_vec(),
            answer: DONE.len(),
        }
    }

    fn talk() -> Talk {
        let all = [
            &b"\x09\0\0\0\x16SELECT 1"[..],
            b"\x06\0\0\0\x03BEGIN",
            b"\x0a\0\0\0\x17\x07\0\0\0\0\x01\0\0\0",
            b"\x07\0\0\0\x03COMMIT",
            // Tried, and not committed.
            b"\x06\0\0\0\x03BEGIN",
        ];
        all.map(turn).to_vec()
    }

    /// What a server hears of these talks that says this to whoever comes, and this to each message; and the figure.
    fn played(talks: &[Talk], greetings: &[&[u8]], says: &[u8]) -> (Vec<u8>, anyhow::Result<f64>) {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().join("server");
        let listener = UnixListener::bind(&at).unwrap();
        thread::scope(|scope| {
            let server = scope.spawn(|| {
                let mut ones = Vec::new();
                for greeting in greetings {
                    let (mut one, _) = listener.accept().unwrap();
                    one.write_all(greeting).unwrap();
                    // Who is not greeted is sent away.
                    ones.extend((!greeting.is_empty()).then_some(one));
                }
                let mut heard = Vec::new();
                for mut one in ones {
                    let mut room = [0; 100];
                    while let Ok(read @ 1..) = one.read(&mut room) {
                        heard.extend(&room[..read]);
                        // In two writes.
                        let (begin, end) = says.split_at(3);
                        let _ = one.write_all(begin);
                        let _ = one.write_all(end);
                    }
                }
                heard
            });
            let took = takes(&at, talks);
            (server.join().unwrap(), took)
        })
    }

    #[test]
    fn transactions_are_sent_as_they_were_with_the_numbers_of_this_time() {
        let (heard, took) = played(&[talk()], &[b"greeting"], DONE);
        assert!(took.unwrap() > 0.0);
        let mut expected = talk();
        expected.pop();
        expected[2].request[5] = 0x63;
        let expected: Vec<u8> = expected.into_iter().flat_map(|turn| turn.request).collect();
        assert_eq!(heard, expected);
    }

    #[test]
    fn an_answer_is_whole_where_its_last_packet_is() {
        let rows = b"\x02\0\0\x01\x01\0\x03\0\0\x02\0\0x\x05\0\0\x03\xfe\0\0\x02\0";
        for whole in [DONE, rows, b"\x03\0\0\x01\xff\xbd\x04"] {
            assert!(ends(whole), "{whole:?}");
            assert!(
                (0..whole.len()).all(|length| !ends(&whole[..length])),
                "{whole:?}"
            );
        }
    }

    #[test]
    fn what_is_no_figure_says_why_and_holds_nobody_up() {
        let check = |talks: &[Talk], greetings: &[&[u8]], says: &[u8], expected: &str| {
            let error = played(talks, greetings, says).1.unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        let hello = &b"greeting"[..];
        check(
            &[Talk::new()],
            &[hello],
            DONE,
            "no transaction was recorded whole",
        );
        // One of two is sent away.
        check(&[talk(), talk()], &[b"", hello], DONE, "the server ended");
        let error = b"\x05\0\0\x01\xff\x63\0\0\0";
        check(&[talk()], &[hello], error, "cannot be prepared again");
        let mut short = talk();
        short.remove(2);
        check(
            &[short],
            &[],
            DONE,
            "1 statements were prepared and 0 executed",
        );
    }
}
