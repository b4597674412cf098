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
                client.wire.line.read_when_told();
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
