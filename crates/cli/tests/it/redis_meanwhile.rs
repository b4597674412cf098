//! What happens to a Redis server while a round lasts, and what the figures say of it.

use crate::bed::{Bed, Done, eventually, signal};
use crate::redis::{Figures, Server};
use crate::server_faults::failures;
use crate::servers::{said, says};
use std::cell::Cell;
use std::io::{Read, Write};
use std::net::TcpStream;

/// A round of `db.kv-get` of three seconds, and what is done once it is under way.
fn meanwhile(server: &Server, bed: &Bed, sets: &[&str], does: impl FnOnce()) -> (Done, Figures) {
    let url = server.loopback();
    let mut args = vec!["run", "db.kv-get", "--passes", "1", "--json", "--db", &url];
    args.extend(["--set", "db.*.time=3s", "--copies", "8"]);
    for set in sets {
        args.extend(["--set", set]);
    }
    let child = bed.start(&args);
    // More than the requests of the warm-up.
    eventually(60, || {
        let stats = server.ask(&["INFO", "commandstats"]);
        let calls = stats
            .lines()
            .find_map(|line| line.strip_prefix("cmdstat_get:calls="));
        let calls = calls.and_then(|calls| calls.split(',').next());
        calls.is_some_and(|calls| calls.parse::<u64>().unwrap() > 2000)
    });
    does();
    let done: Done = child.wait_with_output().unwrap().into();
    let done = done.code(0);
    let figures = Figures::of(&serde_json::from_str(&done.out).unwrap());
    (done, figures)
}

#[test]
fn a_server_that_stands_still_shows_in_latencies_from_the_arrival() {
    let Some(server) = Server::start("a_server_that_stands_still_shows", &[]) else {
        return;
    };
    let bed = Bed::new();
    let sets = ["db.*.rate=2000", "db.*.keys=1000"];
    // From before the one signal until after the other, in seconds.
    let stood = Cell::new(0.0);
    let (done, figures) = meanwhile(&server, &bed, &sets, || {
        let began = model::num::approx(sys::clock::monotonic());
        server.signal("-STOP");
        sys::clock::sleep(600_000_000);
        server.signal("-CONT");
        stood.set((model::num::approx(sys::clock::monotonic()) - began) / 1e9);
    });
    let stood = stood.get();
    let of = |name: &str| figures.all(&format!("db.kv-get@8:{name}"))[0];
    // Whoever arrives x later waits for the rest: a share q of all waits longer than that less q times the 3 s.
    let p99 = of("lat_ns_p99") / 1e9;
    assert!((0.8..1.3).contains(&(p99 / stood)), "{p99} s of {stood} s");
    // Half of it for those who arrive meanwhile.
    let mean = of("lat_ns_mean") / 1e9;
    let expected = stood / 2.0 * stood / 3.0;
    assert!(
        (0.75..1.5).contains(&(mean / expected)),
        "{mean} s, expected {expected} s"
    );
    let lag = of("lag_ns_max") / 1e9;
    assert!(lag > 0.8 * stood, "{lag} s of {stood} s");
    // Arrivals are on time all the same, by far less than the server stood.
    let late = of("late_ns_mean") / 1e9;
    assert!(late < stood / 100.0, "{late} s of {stood} s");
    says(&done, &["stood still"]);
}

#[test]
fn a_server_that_comes_back_or_lets_others_in_first_is_measured_on() {
    let settings = ["--appendonly", "yes"];
    let Some(mut server) = Server::start("a_server_that_comes_back", &settings) else {
        return;
    };
    let bed = Bed::new();
    let url = server.socket();
    let args = ["run", "db.kv-get", "--passes", "60", "--copies", "2"];
    let more = ["--set", "db.*.keys=1000", "--set", "db.*.time=500ms"];
    let child = bed.start(&[&args[..], &more, &["--db", &url]].concat());
    let goes_on = || {
        let before = bed.rounds();
        eventually(60, || bed.rounds() > before + 1);
        let (whys, ends_well) = failures(&bed);
        assert!(ends_well, "{whys:?}");
        whys
    };
    goes_on();
    // It comes back with its keys, and then without.
    for keeps in [true, false] {
        let before = failures(&bed).0.len();
        server.end();
        eventually(30, || failures(&bed).0.len() > before);
        if !keeps {
            std::fs::remove_dir_all(server.dir().join("appendonlydir")).unwrap();
        }
        server.again();
        let whys = goes_on();
        assert!(whys.len() < before + 3, "{whys:?}");
        assert!(whys[before].contains("redis://"), "{whys:?}");
    }
    // It has no room for clients, but for the one that says so.
    let mut other = TcpStream::connect(server.loopback_at()).unwrap();
    let mut say = |words: &[u8]| {
        let mut answer = [0; 5];
        other.write_all(words).unwrap();
        other.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"+OK\r\n");
    };
    let before = failures(&bed).0.len();
    say(b"CONFIG SET maxclients 1\r\n");
    eventually(30, || failures(&bed).0.len() > before);
    std::thread::sleep(std::time::Duration::from_secs(1));
    say(b"CONFIG SET maxclients 100\r\n");
    let whys = goes_on();
    assert!(whys.len() < before + 3, "{whys:?}");
    let full = "max number of clients reached";
    assert!(whys[before].contains(full), "{whys:?}");
    // Somebody else deletes all of them: reads miss theirs until the next round.
    server.ask(&["FLUSHALL"]);
    goes_on();
    signal(&child, "-INT");
    let done: Done = child.wait_with_output().unwrap().into();
    let again = ["waiting for up to", "is there again after"];
    says(&done, &again);
    assert_eq!(said(&done).matches(again[1]).count(), 3, "{done:#?}");
    // The first page may have others in its place.
    says(
        &bed.run(&["show", "latest", "--full"]).code(0),
        &["keys were missing before a round: all were made anew"],
    );
    assert_eq!(server.ask(&["DBSIZE"]), "0");
}
