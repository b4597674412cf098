//! A relay between a client and a server, which knows what has passed.

use anyhow::{Context, bail, ensure};
use std::fs;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::{self, ScopedJoinHandle};

/// The most that is read at once.
pub(super) const PART: usize = 1 << 16;

/// A request, and how many bytes its answer had.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Turn {
    pub(super) request: Vec<u8>,
    pub(super) answer: usize,
}

/// What passed on one connection, from its first request on.
pub(super) type Talk = Vec<Turn>;

/// What goes one way in one piece.
enum Part {
    Request(Vec<u8>),
    Answer(usize),
}

/// What passes on each connection while `client` works through a relay at `at`; the longest talk first.
pub(super) fn record(
    at: &Path,
    server: &Path,
    client: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<Vec<Talk>> {
    let listener = listen(at)?;
    let done = AtomicBool::new(false);
    let mut talks = thread::scope(|scope| {
        let accepted = scope.spawn(|| accept(&listener, server, &done));
        let told = client();
        done.store(true, Ordering::Release);
        // It wakes the one who accepts.
        let woken = UnixStream::connect(at);
        let connections = joined(accepted);
        told.and(woken.map(drop).context("end the relay"))?;
        connections
    })?;
    talks.sort_by_key(|talk| std::cmp::Reverse(talk.len()));
    ensure!(
        talks.first().is_some_and(|talk| !talk.is_empty()),
        "nothing passed through the relay"
    );
    Ok(talks)
}

/// Listens at a path of this program's own, where one that was killed may have left its socket.
pub(super) fn listen(at: &Path) -> anyhow::Result<UnixListener> {
    if at.exists() {
        fs::remove_file(at).with_context(|| format!("remove `{}`", at.display()))?;
    }
    UnixListener::bind(at).with_context(|| format!("listen at `{}`", at.display()))
}

/// Connects to a server.
pub(super) fn connect(server: &Path) -> anyhow::Result<UnixStream> {
    UnixStream::connect(server).with_context(|| format!("connect to `{}`", server.display()))
}

fn accept(listener: &UnixListener, server: &Path, done: &AtomicBool) -> anyhow::Result<Vec<Talk>> {
    thread::scope(|scope| {
        let mut relayed = Vec::new();
        loop {
            let (client, _) = listener.accept().context("accept at the relay")?;
            if done.load(Ordering::Acquire) {
                break;
            }
            let server = connect(server)?;
            relayed.push(scope.spawn(move || relay(client, server)));
        }
        relayed.into_iter().map(joined).collect()
    })
}

/// What a thread came to.
pub(super) fn joined<T>(thread: ScopedJoinHandle<'_, anyhow::Result<T>>) -> anyhow::Result<T> {
    match thread.join() {
        Ok(told) => told,
        Err(_) => bail!("a thread panicked"),
    }
}

/// Passes on what comes until one side ends: one request at a time, which waits for its answer.
fn relay(mut client: UnixStream, mut server: UnixStream) -> anyhow::Result<Talk> {
    let mut back = client.try_clone().context("share a connection")?;
    let mut answers = server.try_clone().context("share a connection")?;
    let (sender, parts) = mpsc::channel();
    let to_server = sender.clone();
    thread::scope(|scope| {
        scope.spawn(move || {
            pass(&mut answers, &mut back, |bytes| {
                sender.send(Part::Answer(bytes.len()))
            });
        });
        pass(&mut client, &mut server, |bytes| {
            to_server.send(Part::Request(bytes.to_vec()))
        });
        drop(to_server);
    });
    Ok(turns(parts))
}

/// Passes on until either side ends, and notes what; a reader of the notes that has gone is none of its concern.
fn pass<E>(from: &mut UnixStream, to: &mut UnixStream, note: impl Fn(&[u8]) -> Result<(), E>) {
    let mut part = vec![0; PART];
    while let Ok(read @ 1..) = from.read(&mut part) {
        let _ = note(&part[..read]);
        if to.write_all(&part[..read]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

/// Parts that went the same way are one message. What a server says first is no answer.
fn turns(parts: impl IntoIterator<Item = Part>) -> Talk {
    let mut all = Talk::new();
    for part in parts {
        match (part, all.last_mut()) {
            (Part::Answer(bytes), Some(last)) => last.answer += bytes,
            (Part::Answer(_), None) => {}
            (Part::Request(bytes), Some(last)) if last.answer == 0 => last.request.extend(bytes),
            (Part::Request(request), _) => all.push(Turn { request, answer: 0 }),
        }
    }
    all.retain(|turn| turn.answer > 0);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_message_are_one_and_what_a_server_says_first_is_no_answer() {
        let request = |bytes: &[u8]| Part::Request(bytes.to_vec());
        let parts = [
            Part::Answer(70),
            request(b"ab"),
            request(b"c"),
            Part::Answer(3),
            Part::Answer(4),
            request(b"de"),
            Part::Answer(1),
            request(b"f"),
        ];
        let expected = [(&b"abc"[..], 7), (b"de", 1)].map(|(request, answer)| Turn {
            request: request.to_vec(),
            answer,
        });
        assert_eq!(turns(parts), expected);
    }

    #[test]
    fn what_passes_is_known_of_each_connection() {
        let dir = tempfile::tempdir().unwrap();
        let (server, at) = (dir.path().join("server"), dir.path().join("relay"));
        let listener = UnixListener::bind(&server).unwrap();
        let client = || {
            for times in [2, 5] {
                let mut stream = UnixStream::connect(&at)?;
                for _ in 0..times {
                    stream.write_all(&[1; 100])?;
                    stream.read_exact(&mut [0; 2_000])?;
                }
            }
            Ok(())
        };
        let talks = thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..2 {
                    let (mut one, _) = listener.accept().unwrap();
                    while one.read_exact(&mut [0; 100]).is_ok() {
                        one.write_all(&[2; 2_000]).unwrap();
                    }
                }
            });
            record(&at, &server, client).unwrap()
        });
        let turn = Turn {
            request: vec![1; 100],
            answer: 2_000,
        };
        assert_eq!(talks, [vec![turn.clone(); 5], vec![turn; 2]]);
    }
}
