//! What the kernel's socket path takes of a client's CPU time: the floor under every driver of a database.
//!
//! A relay between our client and the server notes how many bytes go each way. Then as many threads as there were
//! connections send and read the same bytes as our client does, one write, one wait and one read for each, to threads
//! of another process that answer at once, or that do as the server ([`Echo`]): whoever waits longer sleeps deeper,
//! what a server reads takes the place of the client's in the caches that they share, and who wakes a CPU that had
//! nothing to do pays for it.

use anyhow::{Context, bail, ensure};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;
use sys::ready::is_readable_within;
use xtask::process::command;

/// The word behind which this program is an echo.
pub(super) const WORD: &str = "__echo";

/// What an echo says when it listens.
const READY: &str = "listens";

/// The most that is read at once.
const PART: usize = 1 << 16;

/// How long the floor is measured.
const NANOS: u64 = 1_000_000_000;

/// An echo answers sooner.
const WAIT: Duration = Duration::from_secs(10);

/// Exchanges that are played; more say nothing new.
const PLAYED_MAX: usize = 10_000;

/// What a busy echo reads: more than a second-level cache holds.
const BUSY_BYTES: usize = 4 << 20;

/// The bytes of a cache line.
const LINE: usize = 64;

/// How many are read between two looks at the clock.
const LINES_AT_ONCE: usize = 64;

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
    let listener = listen(at)?;
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

/// Listens at a path of this program's own, where one that was killed may have left its socket.
fn listen(at: &Path) -> anyhow::Result<UnixListener> {
    if at.exists() {
        fs::remove_file(at).with_context(|| format!("remove `{}`", at.display()))?;
    }
    UnixListener::bind(at).with_context(|| format!("listen at `{}`", at.display()))
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

/// What an echo does before it answers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Echo {
    /// It reads memory for so long, in ns, each time.
    pub(super) busy: u64,
    /// It sleeps for so long, in ns, once in so many times, as a server does that waits for a disk.
    pub(super) sleeps: u64,
    pub(super) every: u64,
}

/// What an exchange takes of a client, in ns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Took {
    pub(super) cpu: f64,
    pub(super) wall: f64,
}

/// What one of `played` takes of each client, with so many connections to an echo at `at`.
pub(super) fn takes(
    at: &Path,
    played: &[Exchange],
    connections: u32,
    like: Echo,
) -> anyhow::Result<Took> {
    ensure!(!played.is_empty(), "there is nothing to play");
    let own = std::env::current_exe().context("find this program")?;
    let mut echo = command(Path::new("."), &own)
        .args(["crosscheck", WORD])
        .arg(at)
        .args([connections.into(), like.busy, like.sleeps, like.every].map(|n: u64| n.to_string()))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("start an echo")?;
    let told = tell(&mut echo, played).and_then(|()| play_all(at, played, connections));
    if told.is_err() {
        // One that waits for connections that do not come.
        let _ = echo.kill();
    }
    let ended = echo.wait().context("wait for an echo")?;
    fs::remove_file(at).with_context(|| format!("remove `{}`", at.display()))?;
    let took = told?;
    ensure!(ended.success(), "an echo ended with {ended}");
    Ok(took)
}

/// Tells an echo what passes, and waits until it listens.
fn tell(echo: &mut Child, played: &[Exchange]) -> anyhow::Result<()> {
    let mut to = echo.stdin.take().context("speak to an echo")?;
    let from = echo.stdout.take().context("listen to an echo")?;
    for Exchange { request, answer } in played {
        writeln!(to, "{request} {answer}").context("tell an echo what passes")?;
    }
    drop(to);
    let mut line = String::new();
    BufReader::new(from).read_line(&mut line)?;
    ensure!(line.trim() == READY, "an echo does not listen");
    Ok(())
}

/// The echo itself: a process of its own, as a server is. Its arguments are where it listens, how many come, and what
/// it does; what passes stands on its standard input.
pub(super) fn echo(arguments: &[&str]) -> anyhow::Result<()> {
    let [at, connections, busy, sleeps, every] = arguments else {
        bail!("an echo takes five arguments");
    };
    let like = Echo {
        busy: busy.parse()?,
        sleeps: sleeps.parse()?,
        every: every.parse()?,
    };
    let played = std::io::stdin().lock().lines().map(|line| {
        let line = line.context("read what passes")?;
        let (request, answer) = line.split_once(' ').context("read what passes")?;
        Ok(Exchange {
            request: request.parse()?,
            answer: answer.parse()?,
        })
    });
    let played = played.collect::<anyhow::Result<Vec<_>>>()?;
    let listener = listen(Path::new(at))?;
    say!("{READY}");
    serve(&listener, &played, connections.parse()?, like)
}

/// Answers so many clients until all have ended.
fn serve(
    listener: &UnixListener,
    played: &[Exchange],
    connections: u32,
    like: Echo,
) -> anyhow::Result<()> {
    thread::scope(|scope| {
        for _ in 0..connections {
            let (client, _) = listener.accept().context("accept at an echo")?;
            scope.spawn(move || answer(client, played, like));
        }
        Ok(())
    })
}

fn play_all(at: &Path, played: &[Exchange], connections: u32) -> anyhow::Result<Took> {
    let ended = thread::scope(|scope| {
        let clients: Vec<_> = (0..connections)
            .map(|_| {
                let client = UnixStream::connect(at).context("connect to an echo")?;
                Ok(scope.spawn(move || play(client, played)))
            })
            .collect::<anyhow::Result<_>>()?;
        let ended = clients.into_iter().map(joined);
        ended.collect::<anyhow::Result<Vec<_>>>()
    })?;
    let count: u64 = ended.iter().map(|(_, count)| count).sum();
    let nanos: u64 = ended.iter().map(|(nanos, _)| nanos).sum();
    let count = model::num::approx(count);
    Ok(Took {
        cpu: model::num::approx(nanos) / count,
        wall: model::num::approx(NANOS * u64::from(connections)) / count,
    })
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
fn answer(mut stream: UnixStream, played: &[Exchange], like: Echo) {
    let mut buffer = vec![0; longest(played)];
    let memory = vec![1_u8; BUSY_BYTES];
    let mut lines = memory.iter().step_by(LINE).cycle();
    for (exchange, number) in played.iter().cycle().zip(1_u64..) {
        let passed = stream
            .read_exact(&mut buffer[..exchange.request])
            .and_then(|()| {
                let end = sys::clock::monotonic() + like.busy;
                while sys::clock::monotonic() < end {
                    let read = lines.by_ref().take(LINES_AT_ONCE);
                    std::hint::black_box(read.map(|byte| u64::from(*byte)).sum::<u64>());
                }
                if like.sleeps > 0 && number.is_multiple_of(like.every) {
                    sys::clock::sleep(like.sleeps);
                }
                stream.write_all(&buffer[..exchange.answer])
            });
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
            scope.spawn(|| answer(listener.accept().unwrap().0, &[echo], Echo::default()));
            record(&at, &server, client).unwrap()
        });
        assert_eq!(told, [echo; 16]);
        let echo = UnixListener::bind(dir.path().join("echo")).unwrap();
        let like = Echo {
            busy: 1_000,
            sleeps: 1_000_000,
            every: 10,
        };
        let took = thread::scope(|scope| {
            let played = &told;
            scope.spawn(move || serve(&echo, played, 2, like).unwrap());
            play_all(&dir.path().join("echo"), played, 2).unwrap()
        });
        assert!(took.cpu > 0.0 && took.wall >= 101_000.0, "{took:?}");
    }
}
