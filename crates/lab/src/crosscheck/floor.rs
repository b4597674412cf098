//! What the kernel's socket path takes of a client's CPU time: the floor under every driver of a database.
//!
//! A relay between our client and the server notes how many bytes go each way. Then as many threads as there were
//! connections send and read the same bytes as our client does, one write, one wait and one read for each, to threads
//! that answer at once.

use anyhow::{Context, bail, ensure};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;
use sys::ready::is_readable_within;

/// The most that is read at once.
const PART: usize = 1 << 16;

/// How long the floor is measured.
const NANOS: u64 = 1_000_000_000;

/// An echo answers sooner.
const WAIT: Duration = Duration::from_secs(10);

/// Exchanges that are played; more say nothing new.
const PLAYED_MAX: usize = 10_000;

/// Bytes of a request, and of its answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Exchange {
    request: usize,
    answer: usize,
}

/// What passes on the connection with the most exchanges while `client` works through a relay at `at`.
pub(super) fn record(
    at: &Path,
    server: &Path,
    client: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<Vec<Exchange>> {
    let listener =
        UnixListener::bind(at).with_context(|| format!("listen at `{}`", at.display()))?;
    let done = AtomicBool::new(false);
    let told = thread::scope(|scope| {
        let accepted = scope.spawn(|| accept(&listener, server, &done));
        let told = client();
        done.store(true, Ordering::Release);
        // It wakes the one who accepts.
        let woken = UnixStream::connect(at);
        let connections = joined(accepted);
        told.and(woken.map(drop).context("end the relay"))?;
        connections
    })?;
    let mut most = told
        .into_iter()
        .max_by_key(Vec::len)
        .context("nobody came to the relay")?;
    // Its ends are the login, what is set up, and what is checked.
    let end = most.len() / 10;
    most.truncate(most.len() - end);
    most.drain(..end);
    most.truncate(PLAYED_MAX);
    ensure!(!most.is_empty(), "nothing passed through the relay");
    Ok(most)
}

fn accept(
    listener: &UnixListener,
    server: &Path,
    done: &AtomicBool,
) -> anyhow::Result<Vec<Vec<Exchange>>> {
    thread::scope(|scope| {
        let mut relayed = Vec::new();
        loop {
            let (client, _) = listener.accept().context("accept at the relay")?;
            if done.load(Ordering::Acquire) {
                break;
            }
            let server = UnixStream::connect(server)
                .with_context(|| format!("connect to `{}`", server.display()))?;
            relayed.push(scope.spawn(move || relay(client, server)));
        }
        relayed.into_iter().map(joined).collect()
    })
}

/// What a thread came to.
fn joined<T>(thread: ScopedJoinHandle<'_, anyhow::Result<T>>) -> anyhow::Result<T> {
    match thread.join() {
        Ok(told) => told,
        Err(_) => bail!("a thread panicked"),
    }
}

/// Passes on what comes until one side ends: one request at a time, which waits for its answer.
fn relay(mut client: UnixStream, mut server: UnixStream) -> anyhow::Result<Vec<Exchange>> {
    let mut back = client.try_clone().context("share a connection")?;
    let mut answers = server.try_clone().context("share a connection")?;
    let (sender, sizes) = std::sync::mpsc::channel();
    let to_server = sender.clone();
    thread::scope(|scope| {
        scope.spawn(move || {
            pass(&mut answers, &mut back, |bytes| sender.send((false, bytes)));
        });
        pass(&mut client, &mut server, |bytes| {
            to_server.send((true, bytes))
        });
        drop(to_server);
    });
    Ok(exchanges(sizes))
}

/// Passes on until either side ends, and notes how much; a reader of the notes that has gone is none of its concern.
fn pass<E>(from: &mut UnixStream, to: &mut UnixStream, note: impl Fn(usize) -> Result<(), E>) {
    let mut part = vec![0; PART];
    while let Ok(read @ 1..) = from.read(&mut part) {
        let _ = note(read);
        if to.write_all(&part[..read]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

/// Parts that went the same way are one message.
fn exchanges(parts: impl IntoIterator<Item = (bool, usize)>) -> Vec<Exchange> {
    let mut all: Vec<Exchange> = Vec::new();
    for (is_request, bytes) in parts {
        match all.last_mut() {
            Some(last) if !is_request => last.answer += bytes,
            Some(last) if last.answer == 0 => last.request += bytes,
            _ if is_request => all.push(Exchange {
                request: bytes,
                answer: 0,
            }),
            // A server that speaks first.
            _ => {}
        }
    }
    all.retain(|exchange| exchange.answer > 0);
    all
}

/// CPU nanoseconds of the client for one of `played`, with so many connections.
pub(super) fn cpu_ns(played: &[Exchange], connections: u32) -> anyhow::Result<f64> {
    ensure!(!played.is_empty(), "there is nothing to play");
    let ended = thread::scope(|scope| {
        let clients: Vec<_> = (0..connections)
            .map(|_| {
                let (client, server) = UnixStream::pair().context("make a pair of sockets")?;
                scope.spawn(move || answer(server, played));
                Ok(scope.spawn(move || play(client, played)))
            })
            .collect::<anyhow::Result<_>>()?;
        let ended = clients.into_iter().map(joined);
        ended.collect::<anyhow::Result<Vec<_>>>()
    })?;
    let count: u64 = ended.iter().map(|(_, count)| count).sum();
    let nanos: u64 = ended.iter().map(|(nanos, _)| nanos).sum();
    Ok(model::num::approx(nanos) / model::num::approx(count))
}

/// CPU time and exchanges of one client.
fn play(mut stream: UnixStream, played: &[Exchange]) -> anyhow::Result<(u64, u64)> {
    let mut buffer = vec![0; longest(played)];
    let before = sys::process::usage_thread();
    let end = sys::clock::monotonic() + NANOS;
    let mut count = 0;
    for exchange in played.iter().cycle() {
        let failed = "play a message to an echo";
        stream
            .write_all(&buffer[..exchange.request])
            .context(failed)?;
        let is_there = is_readable_within(stream.as_fd(), WAIT).context(failed)?;
        ensure!(is_there, "{failed}: it does not answer");
        stream
            .read_exact(&mut buffer[..exchange.answer])
            .context(failed)?;
        count += 1;
        if sys::clock::monotonic() >= end {
            break;
        }
    }
    let after = sys::process::usage_thread();
    let cpu = |usage: sys::process::Usage| usage.user + usage.system;
    Ok((cpu(after) - cpu(before), count))
}

/// Answers until its client ends.
fn answer(mut stream: UnixStream, played: &[Exchange]) {
    let mut buffer = vec![0; longest(played)];
    for exchange in played.iter().cycle() {
        let passed = stream
            .read_exact(&mut buffer[..exchange.request])
            .and_then(|()| stream.write_all(&buffer[..exchange.answer]));
        if passed.is_err() {
            return;
        }
    }
}

fn longest(played: &[Exchange]) -> usize {
    let sizes = played.iter().map(|one| one.request.max(one.answer));
    sizes.max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_message_are_one_and_what_a_server_says_first_is_no_answer() {
        let parts = [
            (false, 70),
            (true, 10),
            (true, 5),
            (false, 3),
            (false, 4),
            (true, 8),
            (false, 1),
            (true, 5),
        ];
        let expected = [(15, 7), (8, 1)].map(|(request, answer)| Exchange { request, answer });
        assert_eq!(exchanges(parts), expected);
    }

    #[test]
    fn what_passes_a_relay_is_noted_and_can_be_played() {
        let dir = tempfile::tempdir().unwrap();
        let (server, at) = (dir.path().join("server"), dir.path().join("relay"));
        let listener = UnixListener::bind(&server).unwrap();
        let echo = Exchange {
            request: 100,
            answer: 2_000,
        };
        let client = || {
            let mut stream = UnixStream::connect(&at)?;
            for _ in 0..20 {
                stream.write_all(&[1; 100])?;
                stream.read_exact(&mut [0; 2_000])?;
            }
            Ok(())
        };
        let told = thread::scope(|scope| {
            scope.spawn(|| answer(listener.accept().unwrap().0, &[echo]));
            record(&at, &server, client).unwrap()
        });
        assert_eq!(told, [echo; 16]);
        assert!(cpu_ns(&told, 2).unwrap() > 0.0);
    }
}
