//! What the kernel's socket path takes of a client's CPU time: the floor under every driver of a database.
//!
//! What passed between our client and the server is known ([`super::relay`]). As many threads as there were
//! connections send and read as many bytes, one write, one wait and one read for each, to threads of another process
//! that answer at once, or that do as the server ([`Echo`]): whoever waits longer sleeps deeper, what a server reads
//! takes the place of the client's in the caches that they share, and who wakes a CPU that had nothing to do pays for
//! it. What the same messages take to the server itself says [`super::replay`].

use super::relay::{Turn, connect, joined, listen};
use anyhow::{Context, bail, ensure};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;
use sys::ready::is_readable_within;
use xtask::process::command;

/// The word behind which this program is an echo.
pub(super) const WORD: &str = "__echo";

/// What an echo says when it listens.
const READY: &str = "listens";

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

/// How many bytes passed in a talk.
pub(super) fn sizes(talk: &[Turn]) -> Vec<Exchange> {
    // Its ends are the login, what is set up, and what is checked.
    let end = talk.len() / 10;
    let middle = &talk[end..talk.len() - end];
    let sizes = middle.iter().take(PLAYED_MAX).map(|turn| Exchange {
        request: turn.request.len(),
        answer: turn.answer,
    });
    sizes.collect()
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
                let client = connect(at)?;
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
    fn the_middle_of_a_talk_is_played_to_an_echo_that_takes_its_time() {
        let turn = Turn {
            request: vec![1; 100],
            answer: 2_000,
        };
        let played = sizes(&vec![turn; 20]);
        let one = Exchange {
            request: 100,
            answer: 2_000,
        };
        assert_eq!(played, [one; 16]);
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().join("echo");
        let echo = listen(&at).unwrap();
        let like = Echo {
            busy: 1_000,
            sleeps: 1_000_000,
            every: 10,
        };
        let took = thread::scope(|scope| {
            let played = &played;
            scope.spawn(move || serve(&echo, played, 2, like).unwrap());
            play_all(&at, played, 2).unwrap()
        });
        assert!(took.cpu > 0.0 && took.wall >= 101_000.0, "{took:?}");
    }
}
