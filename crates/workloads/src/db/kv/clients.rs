//! A thread and its connections: one that it waits for, or several of which it serves whichever has an answer.
//!
//! A thread for each of 50 connections costs a switch of threads with each answer. Threads for the CPUs alone, served
//! by epoll, take 0.4 times the CPU time of redis-benchmark for a request (results/2026-11-27-servers-kvm-2cpu).

use super::client::{Client, Taken};
use super::wire::REQUEST_MAX;
use crate::db::server::trouble::Trouble;
use crate::sysbench::Events;
use engine::recorder::Recorder;
use std::io;
use sys::clock::Clock;
use sys::loops::failure::Failure;
use sys::ready::Ready;

/// What one thread does.
pub(super) struct Clients {
    clients: Vec<Client>,
    /// Where there may be several.
    several: Option<Several>,
}

/// What is known of several connections.
struct Several {
    ready: Ready,
    under_way: Vec<UnderWay>,
    /// Batches that were sent and not answered.
    asked: usize,
    clock: Clock,
    recorder: Recorder,
}

/// A batch that is under way.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    /// When it began, by the clock; `None` where it is none of the measured part.
    since: Option<u64>,
    /// So many bytes are missing of it at least.
    least: usize,
}

impl Clients {
    /// Of these connections, at least one. With a clock it times them by itself, as it must several.
    pub(super) fn new(mut clients: Vec<Client>, clock: Option<Clock>) -> io::Result<Self> {
        if clients.len() > 1 {
            for client in &mut clients {
                client.wire.line.read_at_once();
            }
        }
        let several = if let Some(clock) = clock {
            let sockets = clients.iter().map(|client| client.wire.line.socket());
            let not_yet = UnderWay {
                since: None,
                least: 1,
            };
            Some(Several {
                ready: Ready::new(sockets)?,
                under_way: vec![not_yet; clients.len()],
                asked: 0,
                clock,
                recorder: Recorder::on(clock),
            })
        } else {
            None
        };
        Ok(Self { clients, several })
    }

    /// Each of its connections.
    pub(super) fn all(&self) -> impl Iterator<Item = &Client> {
        self.clients.iter()
    }

    /// What it recorded, where it times by itself.
    pub(super) fn recorded(&self) -> Option<&Recorder> {
        self.several.as_ref().map(|several| &several.recorder)
    }
}

/// Sends a batch and waits for the replies.
#[inline]
fn one(client: &mut Client) -> Result<(), Trouble> {
    client.send()?;
    while let Taken::UpTo(least) = client.take()? {
        client.wire.line.fill(least)?;
    }
    Ok(())
}

impl Several {
    /// Sends the first batch of everybody.
    #[cold]
    fn begin(&mut self, clients: &mut [Client]) -> Result<(), Trouble> {
        for (client, under_way) in clients.iter_mut().zip(&mut self.under_way) {
            under_way.since = Some(self.clock.tick());
            client.send()?;
            self.asked += 1;
        }
        Ok(())
    }

    /// Waits until a batch is answered in whole, and says whose.
    #[inline]
    fn answered(&mut self, clients: &mut [Client]) -> Result<usize, Trouble> {
        loop {
            let place = match clients {
                [_] => 0,
                _ => self
                    .ready
                    .next(REQUEST_MAX)
                    .map_err(Trouble::Io)?
                    .ok_or(Trouble::Silent)?,
            };
            let (client, under_way) = (&mut clients[place], &mut self.under_way[place]);
            loop {
                client.wire.line.fill(under_way.least)?;
                match client.take()? {
                    Taken::UpTo(least) => under_way.least = least,
                    Taken::All => {
                        under_way.least = 1;
                        return Ok(place);
                    }
                }
                if !client.wire.line.holds_more() {
                    break;
                }
            }
        }
    }

    /// Waits until a batch is answered, and sends the next one over its connection, where there is to be one.
    #[inline]
    fn event(&mut self, clients: &mut [Client], goes_on: bool) -> Result<(), Trouble> {
        let place = self.answered(clients)?;
        // The end of one is the beginning of the next: nothing is in between.
        let now = self.clock.tick();
        let begun = self.under_way[place].since.replace(now);
        if let Some(begun) = begun {
            self.recorder.add(self.clock.nanos(begun, now));
        }
        self.asked -= 1;
        if goes_on {
            clients[place].send()?;
            self.asked += 1;
        }
        Ok(())
    }

    /// Waits for what is under way: what was acknowledged is known then.
    fn end(&mut self, clients: &mut [Client]) -> Result<(), Trouble> {
        while self.asked > 0 {
            self.event(clients, false)?;
        }
        Ok(())
    }
}

/// What a thread that ends says.
#[cold]
fn failed(trouble: &Trouble) -> Failure {
    Failure {
        operation: "send requests to",
        done: 0,
        error: io::Error::other(trouble.to_string()),
    }
}

impl Events for Clients {
    /// One batch.
    #[inline]
    fn event(&mut self) -> Result<(), Failure> {
        let clients = &mut self.clients;
        let done = match &mut self.several {
            None => one(&mut clients[0]),
            Some(several) if several.asked == 0 => several
                .begin(clients)
                .and_then(|()| several.event(clients, true)),
            Some(several) => several.event(clients, true),
        };
        done.map_err(|trouble| failed(&trouble))
    }

    fn forget(&mut self) {
        if let Some(several) = &mut self.several {
            several.recorder.clear();
            for under_way in &mut several.under_way {
                under_way.since = None;
            }
        }
    }

    fn end(&mut self) -> Result<(), Failure> {
        let done = self
            .several
            .as_mut()
            .map_or(Ok(()), |several| several.end(&mut self.clients));
        done.map_err(|trouble| failed(&trouble))
    }

    fn object(&self) -> String {
        self.clients
            .first()
            .map_or_else(String::new, |client| client.shown.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::kv::client::{Counts, Setting, Shared};
    use crate::db::kv::keys::{Values, name};
    use crate::db::kv::resp;
    use crate::db::kv::wire::Wire;
    use crate::db::server::line::Line;
    use bytes::BytesMut;
    use engine::recorder::Latencies;
    use model::latency::LAT;
    use std::io::{Read, Write};
    use std::net::Shutdown;
    use std::os::unix::net::UnixStream;
    use std::sync::atomic::Ordering;
    use std::sync::{Arc, OnceLock};

    /// Reads of one key, two in a batch.
    const SETTING: Setting = Setting {
        keys: 1,
        size: 3,
        pipeline: 2,
        writes: 0,
        of: 1,
        letter: b'b',
    };

    /// A thread's connections, the other end of each, and what they count.
    fn connected(number: u32) -> (Clients, Vec<UnixStream>, Arc<Counts>) {
        let shared = Arc::new(Shared {
            values: Values::new(SETTING.size),
            wrong: OnceLock::new(),
        });
        let counts: Arc<Counts> = Arc::default();
        let both = (0..number).map(|number| {
            let (ours, theirs) = UnixStream::pair().unwrap();
            let client = Client::new(
                Wire::over(Line::over(ours)),
                "redis://h:6379/0".into(),
                SETTING,
                Arc::clone(&shared),
                Arc::clone(&counts),
                (7, number),
            );
            (client, theirs)
        });
        let (clients, theirs) = both.unzip();
        let clients = Clients::new(clients, Some(Clock::Kernel)).unwrap();
        (clients, theirs, counts)
    }

    /// Takes a batch in, as a server does.
    fn asked(theirs: &mut UnixStream) {
        let mut expected = BytesMut::new();
        for _ in 0..SETTING.pipeline {
            resp::command(&mut expected, &[b"GET", &name(0)]);
        }
        let mut batch = vec![0; expected.len()];
        theirs.read_exact(&mut batch).unwrap();
        assert_eq!(batch, expected);
    }

    /// The replies to a batch.
    fn answer() -> Vec<u8> {
        let values = Values::new(SETTING.size);
        let reply = [b"$3\r\nA".as_slice(), values.rest(0), b"\r\n"].concat();
        reply.repeat(2)
    }

    fn recorded(clients: &Clients) -> Latencies {
        let mut all = clients.recorded().unwrap().named();
        all.remove(LAT).unwrap()
    }

    #[test]
    fn replies_that_come_in_parts_are_whole_and_recorded_once() {
        for number in [1, 2] {
            let (mut clients, mut theirs, counts) = connected(number);
            std::thread::scope(|scope| {
                scope.spawn(move || {
                    for _ in 0..2 {
                        theirs.iter_mut().for_each(asked);
                        for byte in answer() {
                            for theirs in &mut theirs {
                                theirs.write_all(&[byte]).unwrap();
                            }
                            sys::clock::sleep(100_000);
                        }
                    }
                });
                for _ in 0..number {
                    clients.event().unwrap();
                }
                clients.end().unwrap();
            });
            let batches = 2 * u64::from(number);
            assert_eq!(counts.reads.load(Ordering::Relaxed), 2 * batches);
            assert_eq!(counts.misses.load(Ordering::Relaxed), 0);
            assert_eq!(recorded(&clients).count(), batches);
        }
    }

    #[test]
    fn what_began_in_the_warm_up_is_not_recorded() {
        let (mut clients, mut theirs, _) = connected(1);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for _ in 0..4 {
                    asked(&mut theirs[0]);
                    theirs[0].write_all(&answer()).unwrap();
                }
            });
            clients.event().unwrap();
            clients.forget();
            // It was sent before.
            clients.event().unwrap();
            assert_eq!(recorded(&clients).count(), 0);
            clients.event().unwrap();
            assert_eq!(recorded(&clients).count(), 1);
            clients.end().unwrap();
        });
    }

    #[test]
    fn one_that_stalls_holds_nobody_up_and_shows() {
        const STALL_NS: u64 = 30_000_000;
        let (mut clients, theirs, counts) = connected(2);
        let [mut slow, mut fast] = <[UnixStream; 2]>::try_from(theirs).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                asked(&mut slow);
                for _ in 0..5 {
                    asked(&mut fast);
                    fast.write_all(&answer()).unwrap();
                }
                asked(&mut fast);
                sys::clock::sleep(STALL_NS);
                slow.write_all(&answer()).unwrap();
                asked(&mut slow);
                for theirs in [&mut slow, &mut fast] {
                    theirs.write_all(&answer()).unwrap();
                }
            });
            for _ in 0..6 {
                clients.event().unwrap();
            }
            clients.end().unwrap();
        });
        assert_eq!(counts.reads.load(Ordering::Relaxed), 16);
        let all = recorded(&clients);
        assert_eq!(all.count(), 8);
        assert!(all.pairs().last().unwrap().0 >= STALL_NS);
    }

    /// Why the next event fails where one of these connections meets that.
    fn failed_by(number: u32, meets: impl Fn(&mut UnixStream)) -> String {
        let (mut clients, mut theirs, _) = connected(number);
        meets(theirs.last_mut().unwrap());
        clients.event().unwrap_err().error.to_string()
    }

    #[test]
    fn an_error_and_an_end_in_the_middle_end_the_round_whoever_else_goes_on() {
        for number in [1, 2] {
            let why = failed_by(number, |theirs| {
                theirs.write_all(b"-OOM command not allowed\r\n").unwrap();
            });
            assert!(why.contains("(OOM)\nhint: `maxmemory`"), "{why}");
            let why = failed_by(number, |theirs| {
                theirs.write_all(b"$3\r\nA00\r\n").unwrap();
            });
            assert!(why.contains("a reply is wrong"), "{why}");
            let why = failed_by(number, |theirs| {
                theirs.write_all(&answer()[..9]).unwrap();
                theirs.shutdown(Shutdown::Write).unwrap();
            });
            assert!(why.contains("the server ended the connection"), "{why}");
        }
    }
}
