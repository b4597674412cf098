//! What the tests' own servers of all kinds take, and what runs on them say.

use crate::bed::Done;
use std::net::TcpListener;

pub(crate) fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").unwrap().uid() == 0
}

/// The numbers of a user of the system and of its group, by whose name a distribution runs servers.
pub(crate) fn user(name: &str) -> Option<(u32, u32)> {
    let users = std::fs::read_to_string("/etc/passwd").unwrap();
    let mut lines = users.lines().map(|line| line.split(':'));
    let mut fields =
        lines.find_map(|mut fields| (fields.next() == Some(name)).then_some(fields))?;
    let mut ids = fields.by_ref().skip(1).map(|id| id.parse().unwrap());
    Some((ids.next()?, ids.next()?))
}

/// A port of loopback that is free again once the listener is gone.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// All words of both streams, wherever their lines end.
pub(crate) fn said(done: &Done) -> String {
    let all = format!("{} {}", done.out, done.err);
    all.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[track_caller]
pub(crate) fn says(done: &Done, words: &[&str]) {
    let all = said(done);
    for word in words {
        assert!(all.contains(word), "`{word}` is not in {all}");
    }
}
