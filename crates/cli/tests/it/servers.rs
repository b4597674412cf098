//! What the tests' own servers of all kinds take, and what runs on them say.

use crate::bed::{Bed, Done, program};
use serde_json::Value;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::TcpListener;
use std::path::Path;

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

/// The data of a server that has served nobody yet, which are the same for every test and take seconds to make: the
/// first test makes them at `data`, and the others have a copy. `of` is all that they depend on.
pub(crate) fn made_once(name: &str, of: &impl Hash, data: &Path, make: impl FnOnce()) {
    let mut key = DefaultHasher::new();
    (of, is_root()).hash(&mut key);
    let name = format!("{name}-{:016x}", key.finish());
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let copy = |from: &Path, to: &Path| {
        let copied = program("cp").arg("-a").args([from, to]).status();
        assert!(
            copied.unwrap().success(),
            "{} {}",
            from.display(),
            to.display()
        );
    };
    let lock = File::create(kept.with_extension("lock")).unwrap();
    lock.lock().unwrap();
    if kept.exists() {
        drop(lock);
        return copy(&kept, data);
    }
    make();
    // A test may be killed here as well.
    let half = kept.with_extension("half");
    let _ = std::fs::remove_dir_all(&half);
    copy(data, &half);
    std::fs::rename(half, kept).unwrap();
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

/// A kept run, as it is exported.
pub(crate) fn exported(bed: &Bed, run: &str) -> Value {
    let text = bed.run(&["export", run]).code(0).out;
    serde_json::from_str::<Value>(&text).unwrap()["run"].take()
}

/// No copy of any round of the latest run took memory in its measured part, but for the search for a rate, which keeps
/// what each of its steps came to.
#[track_caller]
pub(crate) fn takes_no_memory(bed: &Bed) {
    let run = exported(bed, "latest");
    let mut copies = 0;
    for round in run["rounds"].as_array().unwrap() {
        let case = round["case"].as_str().unwrap();
        if case.starts_with("db.oltp-slo@") {
            continue;
        }
        for copy in round["outcome"]["done"]["copies"].as_array().unwrap() {
            assert_eq!(copy["allocations"], 0, "{case}: {copy}");
            copies += 1;
        }
    }
    assert!(copies > 15, "two rounds of eight tests, of {copies} copies");
}

/// What the server's processes used is told of the one case of a page.
#[track_caller]
pub(crate) fn tells_server_cpu(page: &str) {
    let page: Value = serde_json::from_str(page).unwrap();
    let metrics = page["metrics"].as_array().unwrap().iter();
    let mut cpu = metrics.filter(|metric| metric["quantity"] == "server_cpu_ns_per_op");
    let used = cpu.next().unwrap()["estimate"].as_f64();
    assert!(used.is_some_and(|used| used > 0.0), "{page}");
    assert!(cpu.next().is_none(), "{page}");
}
