//! What of others is on a Redis server, in whichever database, while a test works there: all of it is there afterwards.

use crate::bed::{Bed, Done, eventually, signal};
use crate::redis::{Server, short};
use crate::servers::{exported, said, says};
use std::process::Child;

/// Keys of its owner.
const THEIRS: u64 = 20_000;

impl Server {
    /// Makes so many keys of others in a database, of which each expires after a day.
    fn of_others(&self, database: &str, keys: u64) {
        const MAKE: &str = "for i = 1, tonumber(ARGV[1]) do \
                            redis.call('SET', 'order:' .. i, string.rep('x', 100), 'EX', 86400) end";
        self.ask(&["-n", database, "EVAL", MAKE, "0", &keys.to_string()]);
    }

    fn keys(&self, database: &str) -> u64 {
        self.ask(&["-n", database, "DBSIZE"]).parse().unwrap()
    }

    /// A number that INFO tells.
    fn told(&self, name: &str) -> u64 {
        let info = self.ask(&["INFO"]);
        let begin = format!("{name}:");
        let line = info.lines().find_map(|line| line.strip_prefix(&begin));
        line.unwrap().trim().parse().unwrap()
    }

    /// Bounds its memory by so many bytes more, or fewer, than it uses.
    fn bound(&self, policy: &str, more: i64) {
        self.ask(&["CONFIG", "SET", "maxmemory-policy", policy]);
        let most = self.told("used_memory").saturating_add_signed(more);
        self.ask(&["CONFIG", "SET", "maxmemory", &most.to_string()]);
    }

    /// Waits until clients have written so many keys more.
    fn is_asked(&self, more: u64) {
        let sets = || {
            let info = self.ask(&["INFO", "commandstats"]);
            let mut lines = info.lines();
            let line = lines.find_map(|line| line.strip_prefix("cmdstat_set:calls="));
            let calls = line.and_then(|line| line.split(',').next());
            calls.map_or(0, |calls| calls.parse::<u64>().unwrap())
        };
        let before = sets();
        eventually(60, || sets() > before + more);
    }

    /// The address of this database over the Unix socket.
    fn database(&self, number: &str) -> String {
        self.socket().replace("///0?", &format!("///{number}?"))
    }
}

const POLICIES: [&str; 6] = [
    "allkeys-lru",
    "allkeys-lfu",
    "allkeys-random",
    "volatile-lru",
    "volatile-ttl",
    "noeviction",
];

#[test]
fn no_policy_has_a_key_of_others_deleted() {
    let Some(server) = Server::start("no_policy_has_a_key_of_others_deleted", &[]) else {
        return;
    };
    let bed = Bed::new();
    server.of_others("0", THEIRS);
    let (same, other) = (server.database("0"), server.database("1"));
    let shared = ["--db", &same, "--db-allow-existing"];
    let apart = ["--db", &other];
    for policy in POLICIES {
        server.bound(policy, 6 << 20);
        for (place, db) in [&shared[..], &apart].into_iter().enumerate() {
            // 100,000 keys do not fit, a hundred do.
            let test = ["run", "db.kv-set", "--passes", "1"];
            let refused = bed.run(&[&test, db].concat()).code(3);
            says(
                &refused,
                &["20000 keys of others", policy, "a tenth is to stay free"],
            );
            assert_eq!(refused.err.lines().count(), 2, "{refused:#?}");
            let small = ["--set", "db.*.keys=100", "--set", "db.*.time=500ms"];
            bed.run(&[&test, db, &small].concat()).code(0);
            assert_eq!(server.keys("0"), THEIRS, "{policy} {place}");
            assert_eq!(server.keys("1"), 0, "{policy} {place}");
        }
        assert_eq!(server.told("evicted_keys"), 0, "{policy}");
        server.ask(&["CONFIG", "SET", "maxmemory", "0"]);
    }
    // Where nothing of others is there, nothing is asked for: what does not fit is told by the server.
    server.ask(&["FLUSHALL"]);
    server.bound("allkeys-lru", 1 << 20);
    let args = ["run", "db.kv-set", "--passes", "1", "--db", &same];
    let done = bed.run(&args);
    assert_ne!(done.code, Some(0), "{done:#?}");
    says(&done, &["deleted ", "of them kurabe's", "`evicted_keys`"]);
    assert_eq!(server.keys("0"), 0);
}

#[test]
fn what_may_not_be_asked_is_not_risked_where_anything_of_others_is_there() {
    let test = "what_may_not_be_asked_is_not_risked";
    let Some(server) = Server::start(test, &["--rename-command", "INFO", ""]) else {
        return;
    };
    let bed = Bed::new();
    let url = server.database("1");
    let args = short("db.kv-get", &["--db", &url]);
    let allowed = [args.clone(), vec!["--db-allow-existing"]].concat();
    let done = bed.run(&args).code(0);
    says(&done, &["does not tell this user (INFO)"]);
    let refused = |args: &[&str], number: &str| {
        let done = bed.run(args).code(3);
        says(&done, &[number, "of others", "+info"]);
        assert!(bed.listed().len() < 2, "nothing is kept");
    };
    // The last database, this one, and both.
    server.ask(&["-n", "15", "SET", "order:7", "a book"]);
    refused(&args, "1 key of others");
    refused(&allowed, "1 key of others");
    server.ask(&["-n", "1", "SET", "order:8", "a book"]);
    refused(&allowed, "2 keys of others");
    server.ask(&["-n", "15", "DEL", "order:7"]);
    refused(&allowed, "1 key of others");
    server.ask(&["-n", "1", "DEL", "order:8"]);
    bed.run(&args).code(0);
}

#[test]
fn a_user_without_info_or_config_is_told_apart() {
    let Some(server) = Server::start("a_user_without_info_or_config", &[]) else {
        return;
    };
    let bed = Bed::new();
    server.ask(&["SET", "order:7", "a book"]);
    let url = server.database("1");
    for (user, rights, is_let) in [
        ("without-config", "~* +@all -config", true),
        ("without-info", "~* +@all -info", false),
    ] {
        let words = ["ACL", "SETUSER", user, "on", "nopass"];
        let words: Vec<&str> = words.into_iter().chain(rights.split(' ')).collect();
        server.ask(&words);
        let url = url.replace("///", &format!("//{user}@/"));
        let done = bed.run(&short("db.kv-get", &["--db", &url]));
        assert_eq!(done.code == Some(0), is_let, "{done:#?}");
    }
    assert_eq!(server.ask(&["GET", "order:7"]), "a book");
}

#[test]
fn keys_that_an_earlier_run_left_are_not_of_others() {
    const LEAVE: &str = "for i = 0, 9 do redis.call('SET', string.format('kurabe:kv:%012d', i), 'Aaa') end \
                         redis.call('SET', 'kurabe:kv', 'kurabe: 10 keys of 3 bytes in database ' .. ARGV[2] .. ', ' \
                         .. ARGV[1])";
    const REPLACE: &str = "for i = 0, 9 do redis.call('DEL', string.format('kurabe:kv:%012d', i)) \
                           redis.call('SET', 'order:' .. i, 'a book') end";
    let Some(server) = Server::start("keys_that_an_earlier_run_left", &[]) else {
        return;
    };
    let bed = Bed::new();
    for (database, state) in [("0", "whole"), ("1", "being made"), ("2", "whole")] {
        server.ask(&["-n", database, "EVAL", LEAVE, "0", state, database]);
    }
    // A copy of a marker and its keys in another database is of others.
    for key in ["kurabe:kv", "kurabe:kv:000000000003"] {
        server.ask(&["-n", "1", "COPY", key, key, "DB", "5"]);
    }
    server.ask(&["-n", "5", "SET", "kurabe:kv:000000000003", "theirs"]);
    let copied = server.database("5");
    let args = short("db.kv-set", &["--db", &copied, "--db-allow-existing"]);
    says(
        &bed.run(&args).code(3),
        &["`kurabe:kv` is none of kurabe's"],
    );
    assert_eq!(
        server.ask(&["-n", "5", "GET", "kurabe:kv:000000000003"]),
        "theirs"
    );
    server.ask(&["-n", "5", "FLUSHDB"]);
    // Some are gone, and there is not room for a thousand more.
    server.ask(&["-n", "2", "DEL", "kurabe:kv:000000000003"]);
    server.bound("allkeys-lru", 400 << 10);
    let url = server.database("0");
    let set = ["--set", "db.*.data_size=10k", "--db", &url];
    let done = bed.run(&short("db.kv-set", &set));
    assert!(!said(&done).contains("keys of others"), "{done:#?}");
    // As many keys of others as the marker counts are not ours.
    server.ask(&["-n", "3", "EVAL", LEAVE, "0", "whole", "3"]);
    server.ask(&["-n", "3", "EVAL", REPLACE, "0"]);
    let theirs = server.database("3");
    let args = short("db.kv-set", &["--db", &theirs]);
    says(&bed.run(&args).code(3), &["holds 10 keys of others"]);
    server.ask(&["-n", "3", "FLUSHDB"]);
    // A single key that is none of ours is of others.
    server.ask(&["-n", "2", "SET", "kurabe:kv:000000000010", "theirs"]);
    let refused = bed.run(&short("db.kv-set", &set)).code(3);
    says(&refused, &["holds 1 key of others"]);
}

/// A run in database 1 that makes a million keys. Once some are made it waits until this is done.
fn loading(server: &Server, bed: &Bed, meanwhile: impl FnOnce()) -> Done {
    let url = server.database("1");
    let args = ["run", "db.kv-set", "--passes", "1", "--db", &url];
    let child = bed.start(&[&args[..], &["--set", "db.*.keys=1000000"]].concat());
    eventually(60, || server.keys("1") > 10_000);
    server.ask(&["CLIENT", "PAUSE", "40000", "WRITE"]);
    assert!(server.keys("1") < 900_000, "it is still making keys");
    meanwhile();
    server.ask(&["CLIENT", "UNPAUSE"]);
    ended(child)
}

fn ended(child: Child) -> Done {
    let done: Done = child.wait_with_output().unwrap().into();
    assert_ne!(done.code, Some(0), "{done:#?}");
    done
}

#[test]
fn keys_are_made_no_further_once_their_room_is_gone() {
    let Some(server) = Server::start("keys_are_made_no_further", &[]) else {
        return;
    };
    let bed = Bed::new();
    server.of_others("0", THEIRS);
    // Its owner bounds it, by more than what is there: nothing has to go.
    let done = loading(&server, &bed, || server.bound("allkeys-lru", 40 << 20));
    says(&done, &["20000 keys of others", "`allkeys-lru` deletes"]);
    assert_eq!((server.keys("0"), server.keys("1")), (THEIRS, 0));
    assert_eq!(server.told("evicted_keys"), 0);
    server.ask(&["CONFIG", "SET", "maxmemory", "0"]);
    // By less: what goes then is told, and ours make room at once.
    let done = loading(&server, &bed, || {
        server.bound("allkeys-random", -(1 << 20));
    });
    says(&done, &["by itself (`evicted_keys`)", "of them kurabe's"]);
    let told = said(&done);
    let (_, told) = told.split_once(" and deleted ").unwrap();
    let told: u64 = told.split(' ').next().unwrap().parse().unwrap();
    let evicted = server.told("evicted_keys");
    assert!(told > 0 && told <= evicted, "{told} of {evicted}");
    assert_eq!(server.keys("1"), 0);
}

/// A run of three rounds with 20,000 keys, of which one is kept.
fn rounds(server: &Server, bed: &Bed, more: &[&str]) -> Child {
    let url = server.database("0");
    let args = [
        "run",
        "db.kv-set",
        "--passes",
        "3",
        "--copies",
        "2",
        "--db",
        &url,
    ];
    let sets = ["--set", "db.*.keys=20000", "--set", "db.*.data_size=200"];
    let child = bed.start(&[&args[..], &sets, more].concat());
    eventually(60, || bed.rounds() > 0);
    child
}

#[test]
fn a_round_ends_with_the_run_once_the_server_deletes_keys() {
    let Some(server) = Server::start("a_round_ends_with_the_run", &[]) else {
        return;
    };
    for policy in ["allkeys-lru", "volatile-ttl"] {
        let bed = Bed::new();
        server.ask(&["CONFIG", "SET", "maxmemory", "0"]);
        server.of_others("1", THEIRS);
        let evicted = server.told("evicted_keys");
        let child = rounds(&server, &bed, &["--set", "db.*.time=2s"]);
        server.bound(policy, -(1 << 20));
        let done = ended(child);
        says(
            &done,
            &[
                "keep keys in `redis://",
                "by itself (`evicted_keys`)",
                "ends the run",
            ],
        );
        assert!(bed.rounds() < 3, "{done:#?}");
        assert!(server.told("evicted_keys") > evicted);
        assert_eq!(server.keys("0"), 0, "{policy}");
    }
}

#[test]
fn a_round_ends_before_others_can_write_nothing_more() {
    let Some(server) = Server::start("a_round_ends_before_others_can", &[]) else {
        return;
    };
    let bed = Bed::new();
    server.of_others("1", THEIRS);
    let child = rounds(&server, &bed, &["--set", "db.*.time=4s"]);
    server.is_asked(10_000);
    server.bound("noeviction", 200 << 10);
    let write = || server.ask(&["-n", "1", "SET", "order:1", "a book"]);
    assert_eq!(write(), "OK");
    let done = ended(child);
    says(&done, &["others have next to no room left there"]);
    assert_eq!(write(), "OK");
    assert_eq!((server.keys("0"), server.keys("1")), (0, THEIRS));
}

/// The connection that asks in a round, and measures nothing.
fn watching(server: &Server) -> Option<String> {
    let list = server.ask(&["CLIENT", "LIST"]);
    let mut lines = list.lines();
    let line = lines.find(|line| line.contains(" name= ") && line.contains(" cmd=info "))?;
    let (id, _) = line.strip_prefix("id=")?.split_once(' ')?;
    Some(id.to_owned())
}

/// Ends the connection that asks in a round.
fn end_watching(server: &Server) -> String {
    let mut id = None;
    eventually(60, || {
        id = watching(server);
        id.is_some()
    });
    let id = id.unwrap();
    assert_eq!(server.ask(&["CLIENT", "KILL", "ID", &id]), "1");
    id
}

#[test]
fn a_round_is_watched_on_where_that_connection_is_ended() {
    let Some(server) = Server::start("a_round_is_watched_on", &[]) else {
        return;
    };
    let bed = Bed::new();
    server.of_others("1", THEIRS);
    let url = server.database("0");
    let args = ["run", "db.kv-set", "--passes", "1", "--copies", "2"];
    let sets = ["--set", "db.*.keys=20000", "--set", "db.*.time=300s"];
    let mut child = bed.start(&[&args[..], &sets, &["--db", &url]].concat());
    let before = end_watching(&server);
    eventually(20, || watching(&server).is_some_and(|now| now != before));
    server.bound("allkeys-lru", -(1 << 20));
    // Long before its time.
    eventually(60, || child.try_wait().unwrap().is_some());
    says(&ended(child), &["by itself (`evicted_keys`)"]);
    assert_eq!(server.keys("0"), 0);
}

#[test]
fn a_round_that_is_watched_no_more_says_so() {
    let Some(server) = Server::start("a_round_that_is_watched_no_more", &[]) else {
        return;
    };
    let bed = Bed::new();
    server.ask(&["ACL", "SETUSER", "bob", "on", "nopass", "~*", "+@all"]);
    let url = server.database("0").replace("///", "//bob@/");
    let args = ["run", "db.kv-set", "--passes", "1", "--copies", "2"];
    let sets = ["--set", "db.*.keys=1000", "--set", "db.*.time=5s"];
    let child = bed.start(&[&args[..], &sets, &["--db", &url]].concat());
    // Who is there goes on, and is not let in again.
    eventually(60, || watching(&server).is_some());
    server.ask(&["ACL", "SETUSER", "bob", "off"]);
    end_watching(&server);
    std::thread::sleep(std::time::Duration::from_millis(2500));
    server.ask(&["ACL", "SETUSER", "bob", "on"]);
    let done: Done = child.wait_with_output().unwrap().into();
    let done = done.code(0);
    says(
        &done,
        &["for a part of a round the server could not be asked"],
    );
}

#[test]
fn keys_count_twice_in_memory_where_the_server_may_fork() {
    let Some(server) = Server::start("keys_count_twice_in_memory", &[]) else {
        return;
    };
    let bed = Bed::new();
    let url = server.database("0");
    let sets = ["db.*.keys=100000000", "db.*.data_size=1M"];
    let args = ["run", "db.kv-set", "--passes", "1", "--db", &url];
    let args = [&args[..], &["--set", sets[0], "--set", sets[1]]].concat();
    for (save, log, twice) in [
        ("", "no", false),
        ("3600 1", "no", true),
        ("", "yes", true),
        ("3600 1", "yes", true),
        ("", "no", false),
    ] {
        server.ask(&["CONFIG", "SET", "save", save, "appendonly", log]);
        let done = bed.run(&args).code(3);
        says(&done, &["of memory left"]);
        let told = said(&done).contains("while the server saves its data");
        assert_eq!(told, twice, "{save:?} {log}: {done:#?}");
    }
}

#[test]
fn a_run_that_rests_ends_once_the_server_deletes_keys() {
    let Some(server) = Server::start("a_run_that_rests_ends", &[]) else {
        return;
    };
    let bed = Bed::new();
    let child = rounds(
        &server,
        &bed,
        &["--spread", "1h", "--set", "db.*.time=500ms"],
    );
    server.of_others("1", 5);
    server.bound("allkeys-random", -(1 << 20));
    let done = ended(child);
    says(&done, &["by itself (`evicted_keys`)", "ends the run"]);
    assert_eq!(bed.rounds(), 1, "{done:#?}");
    eventually(20, || server.keys("0") == 0);
}

#[test]
fn keys_whose_marker_is_deleted_by_the_server_are_deleted() {
    let Some(server) = Server::start("keys_whose_marker_is_deleted", &[]) else {
        return;
    };
    let bed = Bed::new();
    let rest = ["--spread", "1h", "--set", "db.*.time=500ms"];
    let child = rounds(&server, &bed, &rest);
    // The marker is one of them.
    signal(&child, "-STOP");
    server.bound("allkeys-random", -(1 << 20));
    eventually(20, || server.told("evicted_keys") > 0);
    server.ask(&["CONFIG", "SET", "maxmemory", "0"]);
    server.ask(&["DEL", "kurabe:kv"]);
    assert!(server.keys("0") > 0);
    signal(&child, "-CONT");
    says(&ended(child), &["by itself (`evicted_keys`)"]);
    assert_eq!(server.keys("0"), 0);
}

#[test]
fn what_is_asked_for_is_more_than_what_a_server_takes() {
    let Some(server) = Server::start("what_is_asked_for_is_more", &[]) else {
        return;
    };
    let bed = Bed::new();
    let url = server.database("0");
    // Each takes more than the one before.
    for (keys, size, pipeline) in [(50_000, "3", 100), (40_000, "200", 50), (1000, "20000", 16)] {
        let [keys, size, pipeline] = [
            format!("db.*.keys={keys}"),
            format!("db.*.data_size={size}"),
            format!("db.*.pipeline={pipeline}"),
        ];
        let test = [
            "run",
            "db.kv-mixed",
            "--passes",
            "1",
            "--copies",
            "8",
            "--db",
            &url,
        ];
        let sets = ["--set", &keys, "--set", &size, "--set", &pipeline];
        let more = ["--set", "db.*.time=1500ms"];
        let args = [&test[..], &sets, &more].concat();
        let before = server.told("used_memory");
        bed.run(&args).code(0);
        // Nor does the question of each second take memory of the round.
        let run = exported(&bed, "latest");
        let copies = &run["rounds"][0]["outcome"]["done"]["copies"];
        assert_eq!(copies[0]["allocations"], 0, "{copies}");
        let taken = server.told("used_memory_peak") - before;
        server.ask(&["-n", "1", "SET", "order:7", "a book"]);
        server.bound("noeviction", 100 << 10);
        let refused = said(&bed.run(&args).code(3));
        let (_, asked) = refused.split_once("kurabe needs up to ").unwrap();
        let asked: f64 = asked.split(' ').next().unwrap().parse().unwrap();
        let taken = model::num::approx(taken) / f64::from(1 << 20);
        assert!(taken <= asked, "{taken} of {asked} MiB: {sets:?}");
        server.ask(&["CONFIG", "SET", "maxmemory", "0"]);
        server.ask(&["-n", "1", "DEL", "order:7"]);
    }
}

mod root {
    use super::*;
    use crate::root::sh;

    /// Unmounted at the end, once the server has ended.
    struct Small(String);

    impl Drop for Small {
        fn drop(&mut self) {
            sh(&format!("umount -l {}", self.0));
        }
    }

    #[test]
    #[ignore = "root: mounts a small file system"]
    fn a_disk_that_what_a_server_saves_would_fill_is_spared() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().display().to_string();
        sh(&format!("mount -t tmpfs -o size=24m,mode=777 none {at}"));
        let small = Small(at.clone());
        let bed = Bed::new();
        for (saves, fits) in [
            (&["--save", "", "--appendonly", "yes"][..], false),
            (
                &[
                    "--save",
                    "",
                    "--appendonly",
                    "yes",
                    "--appendfsync",
                    "always",
                ],
                false,
            ),
            (&["--save", "1 1", "--appendonly", "no"], false),
            (&["--save", "", "--appendonly", "no"], true),
        ] {
            let settings = [&["--dir", at.as_str()], saves].concat();
            let Some(server) = Server::start("a_disk_that_what_a_server_saves", &settings) else {
                return;
            };
            server.ask(&["SET", "order:7", "a book"]);
            let url = server.database("1");
            let large = ["--db", &url, "--set", "db.*.data_size=32K"];
            let done = bed.run(&short("db.kv-set", &large));
            assert_eq!(done.code == Some(0), fits, "{saves:?}: {done:#?}");
            if !fits {
                says(&done, &["the directory of its data has", "of disk left"]);
            }
            assert_eq!(server.ask(&["SET", "order:7", "another"]), "OK");
            assert_eq!(server.keys("1"), 0);
            drop(server);
            sh(&format!("rm -rf {at}/*"));
        }
        drop(small);
    }
}
