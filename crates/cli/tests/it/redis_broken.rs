//! Runs on servers that are none, or break what they promise: threads of the test.

use crate::bed::Bed;
use crate::redis::short;
use crate::servers::{said, says};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// Answers connections in threads, each by this.
fn fake(serve: impl Fn(TcpStream) + Clone + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    #[expect(clippy::disallowed_methods, reason = "the other side of a test")]
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = serve.clone();
            std::thread::spawn(move || serve(stream));
        }
    });
    format!("redis://127.0.0.1:{port}")
}

#[test]
fn what_is_no_redis_is_one_error() {
    let bed = Bed::new();
    let other = "or another program";
    for (answer, who) in [
        (
            &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..],
            "what a web server says",
        ),
        (b"SSH-2.0-OpenSSH_9.2p1\r\n", "what an SSH server says"),
        (b"J\0\0\0\x0a11.4.2-MariaDB\0", "what MySQL/MariaDB says"),
        (b"$4294967295\r\n", other),
        (b"*4294967295\r\n", other),
        (b"$5\r\nhello", other),
        (b"\0\xff\xfe", other),
    ] {
        let url = fake(move |mut stream| {
            let mut room = [0; 1000];
            let _ = stream.read(&mut room);
            let _ = stream.write_all(answer);
        });
        let done = bed.run(&short("db.kv-get", &["--db", &url]));
        assert_ne!(done.code, Some(0), "{done:#?}");
        let all = said(&done);
        assert!(
            all.contains("no message of Redis") || all.contains("ended the connection"),
            "{all}"
        );
        assert!(all.contains(who) && !all.contains("panicked"), "{all}");
        assert_eq!(done.err.lines().count(), 2, "{done:#?}");
        assert!(bed.listed().is_empty(), "nothing is kept");
    }
}

/// One command of a client.
fn command(from: &mut impl BufRead) -> Option<Vec<String>> {
    let line = |from: &mut dyn BufRead| {
        let mut line = String::new();
        from.read_line(&mut line).ok()?;
        Some(line.trim_end().to_owned()).filter(|line| !line.is_empty())
    };
    let parts: usize = line(from)?.strip_prefix('*')?.parse().ok()?;
    let part = |_| {
        let length: usize = line(from)?.strip_prefix('$')?.parse().ok()?;
        let mut bytes = vec![0; length + 2];
        from.read_exact(&mut bytes).ok()?;
        bytes.truncate(length);
        String::from_utf8(bytes).ok()
    };
    (0..parts).map(part).collect()
}

/// A server that answers as Redis does, and forgets whatever is written to keys once `lies` is set.
fn liar(lies: &'static str) -> String {
    let keys: Arc<Mutex<BTreeMap<String, String>>> = Arc::default();
    fake(move |stream| {
        let mut out = stream.try_clone().unwrap();
        let mut from = BufReader::new(stream);
        while let Some(words) = command(&mut from) {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let mut keys = keys.lock().unwrap();
            let is_whole = keys
                .get("kurabe:kv")
                .is_some_and(|marker| marker.ends_with("whole"));
            let number = |is_so| format!(":{}\r\n", u8::from(is_so));
            let answer = match words[..] {
                ["SET", key, _, "XX"] if !keys.contains_key(key) => "$-1\r\n".to_owned(),
                ["SET", key, value, ..] => {
                    if !(is_whole && lies == "forgets" && key != "kurabe:kv") {
                        keys.insert(key.to_owned(), value.to_owned());
                    }
                    "+OK\r\n".to_owned()
                }
                ["GET", "kurabe:kv:000000000005"] if lies == "mixes up" => {
                    "$3\r\nA12\r\n".to_owned()
                }
                ["GET", key] => match keys.get(key) {
                    Some(value) => format!("${}\r\n{value}\r\n", value.len()),
                    None => "$-1\r\n".to_owned(),
                },
                ["STRLEN", key] => format!(":{}\r\n", keys.get(key).map_or(0, String::len)),
                ["EXISTS", ref all @ ..] => {
                    let there = all.iter().filter(|key| keys.contains_key(**key));
                    format!(":{}\r\n", there.count())
                }
                ["DEL", key] => number(keys.remove(key).is_some()),
                ["DBSIZE"] => format!(":{}\r\n", keys.len()),
                ["SELECT", "0"] => "+OK\r\n".to_owned(),
                ["SELECT", _] => "-ERR DB index is out of range\r\n".to_owned(),
                _ => "-ERR unknown command\r\n".to_owned(),
            };
            drop(keys);
            if out.write_all(answer.as_bytes()).is_err() {
                break;
            }
        }
    })
}

#[test]
fn what_is_acknowledged_and_not_done_is_found() {
    let bed = Bed::new();
    let run = |test: &str, lies| {
        let url = liar(lies);
        let all = ["--db", &url, "--set", "db.*.keys=20"];
        bed.run(&[short(test, &[]), all.to_vec()].concat())
    };
    run("db.kv-mixed", "nothing").code(0);
    let done = run("db.kv-set", "forgets");
    assert_ne!(done.code, Some(0), "{done:#?}");
    says(&done, &["does not hold what was written last"]);
    let done = run("db.kv-get", "mixes up");
    assert_ne!(done.code, Some(0), "{done:#?}");
    says(
        &done,
        &["a value that is not the key's: `kurabe:kv:000000000005`"],
    );
}
