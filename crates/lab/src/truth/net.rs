//! The network between two namespaces, of which the rates are known.
//!
//! A token bucket filter (`tbf`) at both ends lets so many bits a second through, headers counted: what arrives of a
//! flow must be that, less its headers. A class that lends (`htb` with a rate, a ceiling and a burst) does what clouds
//! do to a network, and `kurabe soak` must find its terms. The server is our own.

mod waits;

use super::book::Book;
use super::bucket::Terms;
use super::check::{Check, percent};
use super::e04_bucket::{Session, judged};
use super::lab::{Call, Lab};
use super::sessions::{soak_call, soak_in};
use crate::cable::{Cable, End, FRAME, PAYLOAD};
use model::num::approx;
use model::rng::Rng;
use serde_json::Value;
use stats::quantile;
use std::fmt::Write as _;
use waits::Peer;
use xtask::process::command;

/// Rates of the filter, in Mbit/s.
const RATES: [f64; 3] = [40.0, 200.0, 1_000.0];

/// How far what arrives may be off.
const WITHIN: f64 = 0.01;

/// The same of what the filter counts for a frame; a few are smaller: those that open and end a test.
const COUNTED_WITHIN: f64 = 0.002;

/// The fastest burst of a link that lends, in bytes a second; how long its credit lasts, in seconds; the windows in
/// which it is looked for, and for how long: the longest burst, the plateau behind it, a rest of twice the burst, and
/// half of the burst again.
const FASTEST: f64 = 50e6;
const LASTING: (f64, f64) = (3.0, 6.0);
const WINDOW: &str = "200ms";
const SECONDS: u64 = 60;

/// What it lends at once: 2 ms of 400 Mbit/s.
const AT_ONCE: &str = "100k";

/// The port of the server.
const PORT: u16 = 5201;

/// The stream of random numbers of the first session.
const STREAM: u64 = 900;

/// The experiment: every part of it finds an unshaped link, and a server at the other end.
pub(super) fn run(lab: &Lab, book: &Book) -> anyhow::Result<Vec<Check>> {
    let cable = Cable::make()?;
    let peer = serve(lab, &cable)?;
    let mut checks = vec![counted(lab, book, &cable, &peer)?];
    let mut rounds = String::from("case,mbit_per_s,truth_bytes_per_s,bytes_per_s\n");
    for rate in RATES {
        checks.extend(at_rate(lab, book, (&cable, &peer), rate, &mut rounds)?);
    }
    book.text("rates.csv", &rounds);
    checks.extend(waits::all(lab, book, &cable, &peer)?);
    checks.extend(lending(lab, book, &cable, &peer)?);
    Ok(checks)
}

fn serve(lab: &Lab, cable: &Cable) -> anyhow::Result<Peer> {
    let mut server = command(&lab.place.dir, &lab.binary);
    server.args(["net", "serve", "--bind", End::There.address()]);
    server.args(["--for", "24h"]);
    let said = lab.place.dir.join("server");
    let file = std::fs::File::create(&said)?;
    Peer::of(cable.serve_told(&server, PORT, file.into())?, &said)
}

/// Bytes a second of flows where `mbit` Mbit/s of frames pass.
fn goodput(mbit: f64) -> f64 {
    mbit * 1e6 / 8.0 * PAYLOAD / FRAME
}

/// What the filter counts for a frame: whether pieces that the kernel hands on uncut are counted with the headers of
/// each frame in them.
fn counted(lab: &Lab, book: &Book, cable: &Cable, peer: &Peer) -> anyhow::Result<Check> {
    cable.hold(RATES[1])?;
    let before = cable.passed(End::Here)?;
    lab.text(
        book,
        &flows(
            (cable, peer),
            &["net.tcp", "--copies", "1", "--passes", "1"],
        ),
    )?;
    let passed = cable.passed(End::Here)?;
    let [bytes, frames] = [0, 1].map(|i| approx(passed[i] - before[i]));
    let each = bytes / frames;
    Ok(Check::bound(
        "bytes that a filter counts for a frame",
        format!("{each:.1}"),
        format!("{FRAME} +- {}", percent(COUNTED_WITHIN)),
        (each / FRAME - 1.0).abs() <= COUNTED_WITHIN,
    ))
}

/// Runs of these at the other end.
fn flows((cable, peer): (&Cable, &Peer), tests: &[&str]) -> Call<'static> {
    let call = Call::new("net.db", &["run"]).with(tests);
    let call = call.with(&[
        "--peer",
        End::There.address(),
        "--token-file",
        &peer.token.display().to_string(),
        "--json",
        "--quiet",
        "--no-look",
    ]);
    call.behind(cable.enter(End::Here))
}

/// Flows both ways through a filter of this rate.
fn at_rate(
    lab: &Lab,
    book: &Book,
    (cable, peer): (&Cable, &Peer),
    mbit: f64,
    kept: &mut String,
) -> anyhow::Result<Vec<Check>> {
    cable.hold(mbit)?;
    let rounds = lab.options.rounds.to_string();
    let tests = ["net.tcp", "net.tcp-down", "--copies", "1,4"];
    let call = flows((cable, peer), &tests).with(&["--passes", &rounds]);
    let document = lab.document(book, &call)?;
    book.document(&format!("{mbit} Mbit/s"), &document);
    let truth = goodput(mbit);
    let mut checks = Vec::new();
    for case in ["net.tcp@1", "net.tcp@4", "net.tcp-down@1", "net.tcp-down@4"] {
        let values = rounds_of(&document, &format!("{case}:bytes_per_s"));
        for value in &values {
            // Writing to a string cannot fail.
            let _ = writeln!(kept, "{case},{mbit},{truth:.0},{value:.0}");
        }
        checks.push(held(format!("{mbit} Mbit/s, {case}"), &values, truth));
    }
    Ok(checks)
}

/// Whether the median round is what the arithmetic says of a rate.
fn held(what: String, values: &[f64], truth: f64) -> Check {
    let shown = format!("{:.2} Mbit/s", truth * 8e-6);
    near(what, values, truth, &shown, WITHIN)
}

/// The same of anything, `within` a part of it; the round that is furthest from it stands beside.
fn near(what: String, values: &[f64], truth: f64, shown: &str, within: f64) -> Check {
    let error = quantile::median(values).map(|median| median / truth - 1.0);
    let mut figure = error.map_or("missing".to_owned(), |error| {
        format!("{:+.2} %", error * 100.0)
    });
    let errors = values.iter().map(|value| (value / truth - 1.0).abs());
    if let Some(worst) = errors.reduce(f64::max) {
        // Writing to a string cannot fail.
        let _ = write!(
            figure,
            ", worst of {} rounds {}",
            values.len(),
            percent(worst)
        );
    }
    let is_near = error.is_some_and(|error| error.abs() <= within);
    Check::bound(
        what,
        figure,
        format!("{shown} +- {}", percent(within)),
        is_near,
    )
}

/// The rounds of a metric in a document.
fn rounds_of(document: &Value, id: &str) -> Vec<f64> {
    let metrics = document["metrics"].as_array().into_iter().flatten();
    let own = metrics.filter(|metric| metric["id"] == id);
    let rounds = own
        .filter_map(|metric| metric["rounds"].as_array())
        .flatten();
    rounds.filter_map(Value::as_f64).collect()
}

/// Links that lend, under `soak`.
fn lending(lab: &Lab, book: &Book, cable: &Cable, peer: &Peer) -> anyhow::Result<Vec<Check>> {
    let token = peer.token.display().to_string();
    let mut checks = Vec::new();
    for (test, sender) in [("net.tcp", End::Here), ("net.tcp-down", End::There)] {
        let mut sessions = Vec::new();
        for n in 0..lab.options.sessions {
            let mut rng = Rng::stream(lab.options.seed, STREAM + n as u64);
            let terms = Terms::draw(&mut rng, FASTEST, LASTING);
            for end in [End::Here, End::There] {
                cable.shape(end, &["pfifo"])?;
            }
            lend(cable, sender, terms)?;
            let store = format!("{test}-{n}.db");
            let call = soak_call(&store, test, SECONDS, WINDOW);
            let call = call.with(&["--peer", End::There.address(), "--no-look"]);
            let call = call.with(&["--token-file", &token]);
            let document = lab.document(book, &call.behind(cable.enter(End::Here)))?;
            book.document(&format!("{test} {n}"), &document);
            sessions.push(Session {
                soak: soak_in(&document, 1.0)?,
                truth: [terms.burst, terms.sustained, terms.credit].map(|of| of * PAYLOAD / FRAME),
            });
        }
        checks.extend(judged(test, &sessions, book));
    }
    Ok(checks)
}

/// Makes what an end sends a loan with these terms, in bytes with headers; the bucket is full.
fn lend(cable: &Cable, end: End, terms: Terms) -> anyhow::Result<()> {
    let bits = |rate: f64| format!("{:.0}bit", rate * 8.0);
    let (rate, ceil, burst) = (
        bits(terms.sustained),
        bits(terms.burst),
        format!("{:.0}", terms.credit),
    );
    cable.shape(end, &["handle", "1:", "htb", "default", "1"])?;
    // A quantum is what classes share by; there is one.
    let class = [
        "parent", "1:", "classid", "1:1", "htb", "rate", &rate, "ceil", &ceil, "burst", &burst,
        "cburst", AT_ONCE, "quantum", "60000",
    ];
    cable.tc(end, &["class", "add"], &class)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::truth::check::Judged;
    use serde_json::json;

    #[test]
    fn a_rate_is_held_against_its_arithmetic() {
        // 40 Mbit/s of frames of 1,514 bytes are 3,302.5 a second, of 1,448 bytes each.
        assert!((goodput(40.0) - 4_782_034.3).abs() < 1.0);
        let near = held("x".to_owned(), &[99.5, 99.2, 90.0], 100.0);
        assert_eq!(near.judged, Judged::Held);
        assert_eq!(near.figure, "-0.80 %, worst of 3 rounds 10 %");
        assert_eq!(held("x".to_owned(), &[98.9], 100.0).judged, Judged::Broken);
        assert_eq!(held("x".to_owned(), &[], 100.0).judged, Judged::Broken);
    }

    #[test]
    fn rounds_are_found_by_the_name_of_their_metric() {
        let document = json!({"metrics": [
            {"id": "net.tcp@1:rtt_ns_min", "rounds": [9.0]},
            {"id": "net.tcp@1:bytes_per_s", "rounds": [1.0, 2.0]},
        ]});
        assert_eq!(rounds_of(&document, "net.tcp@1:bytes_per_s"), [1.0, 2.0]);
        assert!(rounds_of(&document, "net.tcp@4:bytes_per_s").is_empty());
    }
}
