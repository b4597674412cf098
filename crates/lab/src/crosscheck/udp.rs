//! The highest rate of datagrams at which next to none is lost: ours, and iperf3's, found by the same search.
//!
//! Each side has its own client and its own server, in turn over one cable between two network namespaces
//! ([`crate::cable`]), and one flow. Rates, what a test at a rate must come to, and the end of a search are those of
//! `net.udp-max` for both ([`workloads::net::udp::judge`]). Ours with segmentation offload stands beside iperf3 without
//! it, which 3.12 does not have: a cable within a machine never cuts up what it is given, and the figure says no more.

use super::Wanted;
use super::checks::Must;
use super::originals;
use super::pairings::{OUR_PORT, THEIR_PORT, serve_both};
use super::pairs::{self, Line, Load, Own, Sides};
use crate::asked;
use crate::cable::{Cable, End};
use anyhow::{Context, bail, ensure};
use clap::Parser;
use model::num::approx;
use serde_json::Value;
use std::path::{Path, PathBuf};
use workloads::net::udp::judge::{STEP, Tried, rates};
use xtask::process::command;

/// The word behind `cargo lab crosscheck`.
pub(super) const WORD: &str = "udp";

/// Search the highest rate of UDP beside iperf3's, between two network namespaces
#[derive(Clone, Debug, Parser)]
#[command(name = "cargo lab crosscheck udp", no_binary_name = true)]
struct Options {
    #[command(flatten)]
    wanted: Wanted,
    /// How long each rate is tried, in seconds
    #[arg(long, default_value_t = 1)]
    seconds: u32,
}

/// What may be lost: `loss_max` as it is by default.
const LOSS_MAX: f64 = 0.001;

/// A server of iperf3 listens anew behind each test: a client that comes too soon tries again so often, and waits so
/// long before it does.
const AGAIN: u32 = 20;
const AGAIN_NS: u64 = 100_000_000;

pub(super) fn run(root: &Path, arguments: &[&str]) -> anyhow::Result<()> {
    let Some(options) = asked::options::<Options>(arguments, "")? else {
        return Ok(());
    };
    ensure!(
        options.seconds > 0,
        "try rates for 0 s: at least 1 is needed"
    );
    let mut own = Own::new(root, &options.wanted, WORD)?;
    let cable = Cable::make()?;
    own.enter = cable.enter(End::Here);
    let (_servers, token) = serve_both(&cable, &own)?;
    let about = format!("one flow, each rate for {} s", options.seconds);
    let bench = Bench {
        token,
        seconds: options.seconds,
        cable: &cable,
        own: &own,
    };
    let loads = [Datagrams { bytes: 64 }, Datagrams { bytes: 1400 }];
    pairs::all(root, &options.wanted, (&own, &about), &loads, &bench)
}

/// Of this size.
#[derive(Clone, Copy, Debug)]
struct Datagrams {
    bytes: u32,
}

impl Load for Datagrams {
    fn name(&self) -> String {
        format!("udp {}", self.bytes)
    }
}

struct Bench<'a> {
    token: PathBuf,
    seconds: u32,
    cable: &'a Cable,
    own: &'a Own,
}

/// What the highest rate that held came to.
#[derive(Clone, Copy, Debug)]
struct Held {
    packets_per_s: f64,
    lost_share: f64,
    /// Seconds of CPU in a second, of the client and of the server.
    cpu: [f64; 2],
}

impl Held {
    /// Datagrams a second, the part that arrived, and datagrams for a second of CPU of either end.
    fn figures(&self) -> [f64; 4] {
        let [client, server] = self.cpu.map(|cpu| self.packets_per_s / cpu);
        [self.packets_per_s, 1.0 - self.lost_share, client, server]
    }
}

impl Bench<'_> {
    fn our_search(
        &self,
        load: Datagrams,
        offload: &str,
        commands: &mut Vec<String>,
    ) -> anyhow::Result<Held> {
        let peer = format!("{}:{OUR_PORT}", End::There.address());
        let token = self.token.display().to_string();
        let sets = [
            ("size", load.bytes.to_string()),
            ("time", format!("{}s", self.seconds)),
            ("offload", offload.to_owned()),
        ];
        let asked = (
            "net.udp-max",
            1,
            &["--peer", &peer, "--token-file", &token, "--no-look"][..],
        );
        let round = self.own.round(asked, &sets, commands)?;
        let gb_per_s = round.of("bytes_per_s")? / 1e9;
        let cpu = |quantity| Ok::<_, anyhow::Error>(round.of(quantity)? * gb_per_s / 1e9);
        Ok(Held {
            packets_per_s: round.of("packets_per_s")?,
            lost_share: round.of("lost_share")?,
            cpu: [cpu("cpu_ns_per_gb")?, cpu("peer_cpu_ns_per_gb")?],
        })
    }

    /// The same search with iperf3's client.
    fn their_search(&self, load: Datagrams, commands: &mut Vec<String>) -> anyhow::Result<Held> {
        let (mut rates, mut held) = (rates(), None);
        while !rates.is_over() {
            let bits_per_s = u64::from(rates.at()) * STEP;
            let (tried, outcome) =
                read(&self.tried(load, bits_per_s, commands)?, bits_per_s, load)?;
            let holds = tried.judged(LOSS_MAX).is_none();
            if holds {
                held = Some(outcome);
            }
            rates.judged(holds);
        }
        held.context("iperf3 loses too much at any rate")
    }

    /// iperf3's document of a test at this rate.
    fn tried(
        &self,
        load: Datagrams,
        bits_per_s: u64,
        commands: &mut Vec<String>,
    ) -> anyhow::Result<Value> {
        let mut client = command(&self.own.dir, "iperf3");
        client.args(["-c", End::There.address(), "-p", &THEIR_PORT.to_string()]);
        client.args([
            "-u",
            "-b",
            &bits_per_s.to_string(),
            "-l",
            &load.bytes.to_string(),
        ]);
        client.args(["-t", &self.seconds.to_string(), "-J"]);
        originals::note(commands, &client);
        for _ in 0..AGAIN {
            let done = self.cable.inside(End::Here, &client).output();
            let done = done.context("start `iperf3`")?;
            let document: Value =
                serde_json::from_slice(&done.stdout).context("read iperf3's JSON")?;
            match document["error"].as_str() {
                None => return Ok(document),
                Some(error) if error.contains("refused") || error.contains("busy") => {
                    sys::clock::sleep(AGAIN_NS);
                }
                Some(error) => bail!("iperf3: {error}"),
            }
        }
        bail!("iperf3's server does not listen again")
    }
}

/// What a document of iperf3 says of its test.
fn read(document: &Value, bits_per_s: u64, load: Datagrams) -> anyhow::Result<(Tried, Held)> {
    let of = |section: &str, key: &str| {
        let value = document["end"][section][key].as_f64();
        value.with_context(|| format!("iperf3's JSON has no end.{section}.{key}"))
    };
    let asked = approx(bits_per_s) / 8.0;
    let rate = of("sum_received", "bits_per_second")? / 8.0;
    let seen = of("sum_received", "packets")?;
    let lost_share = of("sum_received", "lost_packets")? / seen.max(1.0);
    let size = f64::from(load.bytes);
    let tried = Tried {
        asked,
        sent: of("sum_sent", "bits_per_second")? / 8.0,
        rate,
        lost_share,
        unseen: (of("sum_sent", "packets")? - seen) / (asked / size),
    };
    let share = |key| Ok::<_, anyhow::Error>(of("cpu_utilization_percent", key)? / 100.0);
    let held = Held {
        packets_per_s: rate / size,
        lost_share,
        cpu: [share("host_total")?, share("remote_total")?],
    };
    Ok((tried, held))
}

impl Sides<Datagrams> for Bench<'_> {
    fn lines(&self, load: &Datagrams) -> Vec<Line> {
        let line = |what: &str, must| (format!("{}, {what}", load.name()), must);
        let lines = |of: &str, must| {
            [
                line(&format!("packets/s{of}"), must),
                line(&format!("share that arrived{of}"), Must::Nothing),
                line(
                    &format!("packets per CPU second, client{of}"),
                    Must::Nothing,
                ),
                line(
                    &format!("packets per CPU second, server{of}"),
                    Must::Nothing,
                ),
            ]
        };
        let plain = lines("", Must::AtLeast(1.5));
        let offload = lines(", ours with offload", Must::Nothing);
        plain.into_iter().chain(offload).collect()
    }

    fn ours(&self, load: &Datagrams, commands: &mut Vec<String>) -> anyhow::Result<Vec<f64>> {
        let plain = self.our_search(*load, "off", commands)?;
        let offload = self.our_search(*load, "on", commands)?;
        Ok([plain.figures(), offload.figures()].concat())
    }

    fn theirs(&self, load: &Datagrams, commands: &mut Vec<String>) -> anyhow::Result<Vec<f64>> {
        Ok([self.their_search(*load, commands)?.figures(); 2].concat())
    }

    fn version(&self) -> String {
        originals::version(&self.own.dir, "iperf3", "iperf3")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_document_is_judged_as_ours_is() {
        let document = |sent: u32, seen: u32, lost: u32| {
            let came = f64::from(seen - lost);
            serde_json::json!({"end": {
                "sum_sent": {"bits_per_second": f64::from(sent) * 800.0, "packets": sent},
                "sum_received": {
                    "bits_per_second": came * 800.0, "packets": seen, "lost_packets": lost
                },
                "cpu_utilization_percent": {"host_total": 50.0, "remote_total": 25.0},
            }})
        };
        let check = |(sent, seen, lost): (u32, u32, u32), holds: bool| {
            let load = Datagrams { bytes: 100 };
            let (tried, held) = read(&document(sent, seen, lost), 8_000_000, load).unwrap();
            assert_eq!(tried.judged(LOSS_MAX).is_none(), holds, "{tried:?}");
            let figures = held.figures();
            let came = f64::from(seen - lost);
            assert!((figures[0] - came).abs() < 1e-6 && (figures[2] - 2.0 * came).abs() < 1e-6);
            assert!((figures[3] - 4.0 * came).abs() < 1e-6);
        };
        check((10_000, 10_000, 0), true);
        check((10_000, 10_000, 9), true);
        check((10_000, 10_000, 10), false);
        // Its sender was too slow; the rest came too late.
        check((9_000, 9_000, 0), false);
        check((10_000, 9_700, 0), false);
        assert!(read(&serde_json::json!({}), 1, Datagrams { bytes: 1 }).is_err());
    }
}
