//! What waits for a peer that stops now and then and behind a full queue, and what a policer lets through: of all three
//! the arithmetic is known.

use super::super::book::Book;
use super::super::check::Check;
use super::super::lab::{Call, Lab};
use super::{PORT, near, rounds_of};
use crate::cable::{Cable, End, Server};
use anyhow::Context;
use model::num::{approx, count};
use std::fs;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use sys::clock::{monotonic, sleep_until};
use sys::until::Until;
use xtask::process::{command, succeed, succeeds};

/// How far these figures may be off.
const WITHIN: f64 = 0.10;

/// Rounds of each, and how long they are: four stops, and some thousand round trips behind a queue.
const PASSES: &str = "3";
const TIME: &str = "20s";

/// How long the peer stops, and from the beginning of one stop to that of the next.
const STOP_NS: u64 = 200_000_000;
const EVERY_NS: u64 = 5_000_000_000;

/// The part of the messages beyond a p99.
const BEYOND: f64 = 0.01;

/// A filter whose queue is full 10 ms behind, and the bytes that it lets through at once: those of 1 ms, so that a CPU
/// that comes late makes nobody wait longer. Pieces that the kernel hands on uncut are longer, and it cuts those.
const QUEUE_BYTES: f64 = 125_000.0;
const QUEUE_MBIT: f64 = 100.0;
const AT_ONCE: &str = "12500";

/// The policer's rate in bytes a second, and what it lets through at once: 30 ms of it, for a sender that comes late
/// makes up for that. How long each rate is tried, in seconds: what is let through at once comes on top of them.
const POLICED: f64 = 12_500_000.0;
const POLICED_AT_ONCE: f64 = 375_000.0;
const TRIED: f64 = 4.0;

/// The queue of a filter that stands for one: four datagrams.
const FOUR: &str = "6000";

/// Bytes of a datagram of `net.udp-max`; the headers of UDP and IPv4, and of Ethernet.
const DATAGRAM: f64 = 1400.0;
const HEADERS: f64 = 28.0;
const ETHERNET: f64 = 14.0;

/// How long a server may take to say its token.
const TOLD_WITHIN: std::time::Duration = std::time::Duration::from_secs(10);

/// A server with the file that holds its token.
pub(super) struct Peer {
    pub(super) server: Server,
    pub(super) token: PathBuf,
}

impl Peer {
    /// Of a server that wrote into this file, which is there already.
    pub(super) fn of(server: Server, said: &Path) -> anyhow::Result<Self> {
        // It listens before it says so.
        let until = Until::after(TOLD_WITHIN);
        let mut text = String::new();
        while !text.contains("KURABE_TOKEN=") && until.left().is_some() {
            sys::clock::sleep(20_000_000);
            text = fs::read_to_string(said).context("read what the server said")?;
        }
        let (_, rest) = text
            .split_once("KURABE_TOKEN=")
            .context("the server tells no token")?;
        let token = said.with_extension("token");
        let word = rest.split_whitespace().next().unwrap_or_default();
        let mut options = fs::OpenOptions::new();
        let file = options.write(true).create(true).truncate(true).mode(0o600);
        std::io::Write::write_all(&mut file.open(&token)?, word.as_bytes())?;
        Ok(Self { server, token })
    }
}

/// All of them; the link is not shaped any more then.
pub(super) fn all(
    lab: &Lab,
    book: &Book,
    cable: &Cable,
    peer: &Peer,
) -> anyhow::Result<Vec<Check>> {
    let open = |end| cable.shape(end, &["pfifo"]);
    [End::Here, End::There].into_iter().try_for_each(open)?;
    let stops = stopping(lab, book, cable, peer)?;
    let queue = queued(lab, book, cable, peer)?;
    open(End::Here)?;
    let policed = policed(lab, book, cable, peer)?;
    open(End::Here)?;
    Ok(vec![stops, queue, policed])
}

/// A run of these with the server's token, and with the rounds of a metric.
fn rounds(
    lab: &Lab,
    book: &Book,
    (cable, peer): (&Cable, &Peer),
    test: &str,
    sets: &[&str],
    quantity: &str,
) -> anyhow::Result<Vec<f64>> {
    let sets = sets.iter().flat_map(|set| ["--set", set]);
    let mut words = vec![test, "--copies", "1", "--passes", PASSES];
    words.extend(sets);
    let call: Call<'_> = super::flows((cable, peer), &words);
    let document = lab.document(book, &call)?;
    book.document(test, &document);
    Ok(rounds_of(&document, &format!("{test}@1:{quantity}")))
}

fn milliseconds(truth_ns: f64) -> String {
    format!("{:.1} ms", truth_ns / 1e6)
}

/// Messages that arrive while the peer is stopped wait for the rest of the stop. Of all that arrive in a period those
/// beyond p99 are the ones that came first.
fn stopping(lab: &Lab, book: &Book, cable: &Cable, peer: &Peer) -> anyhow::Result<Check> {
    let over = AtomicBool::new(false);
    let (found, stops) = std::thread::scope(|scope| {
        let stopper = scope.spawn(|| stop_now_and_then(peer.server.id(), &over));
        let time = format!("net.rr.time={TIME}");
        let sets = ["net.rr.rate=1000", &time];
        let found = rounds(lab, book, (cable, peer), "net.rr", &sets, "lat_ns_p99");
        over.store(true, Ordering::Relaxed);
        (found, stopper.join())
    });
    let stops = stops.ok().context("stop the server")??;
    let long = approx(stops.iter().sum()) / count(stops.len().max(1));
    let truth = long - BEYOND * approx(EVERY_NS);
    let what = format!(
        "net.rr at 1,000/s, peer stopped {} every 5 s: p99",
        milliseconds(long)
    );
    Ok(near(what, &found?, truth, &milliseconds(truth), WITHIN))
}

/// Stops it until it is over: how long each stop was.
fn stop_now_and_then(pid: u32, over: &AtomicBool) -> anyhow::Result<Vec<u64>> {
    let signal = |name: &str| {
        let mut kill = command(Path::new("/"), "kill");
        succeed(kill.args([name, &pid.to_string()])).map(|()| monotonic())
    };
    let (mut next, mut stops) = (monotonic(), Vec::new());
    while !over.load(Ordering::Relaxed) {
        if monotonic() < next {
            sleep_until(next.min(monotonic() + STOP_NS));
            continue;
        }
        let stopped = signal("-STOP")?;
        sleep_until(stopped + STOP_NS);
        stops.push(signal("-CONT")? - stopped);
        next += EVERY_NS;
    }
    Ok(stops)
}

/// Four flows fill a queue whose length is known: the p99 of those who wait behind it is that of a full one. A single
/// flow does not: its own kernel holds it back before (TCP small queues).
fn queued(lab: &Lab, book: &Book, cable: &Cable, peer: &Peer) -> anyhow::Result<Check> {
    let (rate, limit) = (format!("{QUEUE_MBIT}mbit"), format!("{QUEUE_BYTES:.0}"));
    let filter = ["tbf", "rate", &rate, "burst", AT_ONCE, "limit", &limit];
    cable.shape(End::Here, &filter)?;
    let test = "net.rr-loaded";
    let time = format!("{test}.time={TIME}");
    let sets = ["net.rr-loaded.load=up", &time];
    let found = rounds(lab, book, (cable, peer), test, &sets, "lat_ns_p99")?;
    let truth = QUEUE_BYTES * 8.0 / QUEUE_MBIT * 1e3;
    let what = format!("{test} behind a queue of {limit} bytes at {rate}: p99");
    Ok(near(what, &found, truth, &milliseconds(truth), WITHIN))
}

/// What is beyond a rate is dropped and not queued: by the packet filter where there is one, and else by a filter with
/// next to no queue.
fn policed(lab: &Lab, book: &Book, cable: &Cable, peer: &Peer) -> anyhow::Result<Check> {
    let nft = |words: &[&str]| {
        let mut nft = command(Path::new("/"), "nft");
        succeed(&mut cable.inside(End::There, nft.args(words)))
    };
    let at_once = format!("{POLICED_AT_ONCE:.0}");
    let is_there = succeeds(command(Path::new("/"), "nft").arg("--version"));
    let (by, counted) = if is_there {
        let rate = format!("{POLICED:.0}");
        let port = PORT.to_string();
        nft(&["add", "table", "ip", "police"])?;
        nft(&[
            "add",
            "chain",
            "ip",
            "police",
            "in",
            "{ type filter hook input priority 0 ; }",
        ])?;
        nft(&[
            "add",
            "rule",
            "ip",
            "police",
            "in",
            "udp",
            "dport",
            &port,
            "limit",
            "rate",
            "over",
            &rate,
            "bytes/second",
            "burst",
            &at_once,
            "bytes",
            "drop",
        ])?;
        ("nft limit", DATAGRAM + HEADERS)
    } else {
        let rate = format!("{:.0}bit", POLICED * 8.0);
        let filter = ["tbf", "rate", &rate, "burst", &at_once, "limit", FOUR];
        cable.shape(End::Here, &filter)?;
        ("tbf with no queue", DATAGRAM + HEADERS + ETHERNET)
    };
    let time = format!("net.udp-max.time={TRIED:.0}s");
    let found = rounds(
        lab,
        book,
        (cable, peer),
        "net.udp-max",
        &[&time],
        "bytes_per_s",
    );
    if is_there {
        nft(&["delete", "table", "ip", "police"])?;
    }
    let truth = (POLICED + POLICED_AT_ONCE / TRIED) * DATAGRAM / counted;
    let what = format!(
        "net.udp-max through a policer ({by}) of {:.0} Mbit/s",
        POLICED * 8e-6
    );
    let shown = format!("{:.1} Mbit/s", truth * 8e-6);
    Ok(near(what, &found?, truth, &shown, WITHIN))
}
