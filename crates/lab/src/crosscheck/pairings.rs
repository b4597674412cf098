//! Either end of iperf3's protocol in the place of the original's: our client with iperf3's server, iperf3's client
//! with our server, and ours with ours, each against iperf3 with itself.
//!
//! All of them go over one cable between two network namespaces ([`crate::cable`]), which must make no difference to
//! any of them. The rate is what the receiver received. UDP goes at a fixed rate, from and to iperf3's client.

use super::Wanted;
use super::checks::Must;
use super::net::{Flows, LOADS, figures};
use super::originals;
use super::pairs::{self, Line, Load, Own, Sides};
use crate::asked;
use crate::cable::{Cable, End, Server};
use anyhow::{Context, ensure};
use clap::Parser;
use std::path::Path;
use workloads::net::peer::Peer;
use xtask::process::{command, output};

/// The word behind `cargo lab crosscheck`.
pub(super) const WORD: &str = "pairings";

/// Measure our client and server with iperf3's, between two network namespaces
#[derive(Clone, Debug, Parser)]
#[command(name = "cargo lab crosscheck pairings", no_binary_name = true)]
struct Options {
    #[command(flatten)]
    wanted: Wanted,
    /// How long each side measures, in seconds, behind one that does not count
    #[arg(long, default_value_t = 3)]
    seconds: u32,
    /// Let so many Mbit/s pass each way: less than any of the programs can send. Without it the CPUs that they share
    /// decide the rate
    #[arg(long, value_name = "MBIT")]
    rate: Option<f64>,
}

pub(super) const OUR_PORT: u16 = 5202;
pub(super) const THEIR_PORT: u16 = 5201;

/// A rate of UDP that no machine loses by itself, and datagrams that fit into a frame.
const UDP: [&str; 5] = ["-u", "-b", "100M", "-l", "1400"];

/// Rates of one thing are to differ by less.
const SAME: Must = Must::Within(0.03);

pub(super) fn run(root: &Path, arguments: &[&str]) -> anyhow::Result<()> {
    let Some(options) = asked::options::<Options>(arguments, "")? else {
        return Ok(());
    };
    ensure!(options.seconds > 0, "measure for 0 s: at least 1 is needed");
    let mut own = Own::new(root, &options.wanted, WORD)?;
    let cable = Cable::make()?;
    own.enter = cable.enter(End::Here);
    let at = End::There.address();
    let _servers = serve_both(&cable, &own)?;
    let held = match options.rate {
        Some(mbit) => {
            cable.hold(mbit)?;
            format!(", held to {mbit} Mbit/s")
        }
        None => String::new(),
    };
    let about = format!(
        "{} s each, after 1 s{held}; theirs is iperf3 with itself",
        options.seconds
    );
    let peer = |port| {
        format!("{at}:{port}")
            .parse::<Peer>()
            .context("name a server")
    };
    let bench = Bench {
        our_server: peer(OUR_PORT)?,
        their_server: peer(THEIR_PORT)?,
        seconds: options.seconds,
        cable: &cable,
        own: &own,
    };
    let udp = |test| Way {
        flows: Flows { test, flows: 1 },
        udp: true,
    };
    let tcp = LOADS.map(|flows| Way { flows, udp: false });
    let loads = [&tcp[..], &[udp(LOADS[0].test), udp(LOADS[3].test)]].concat();
    pairs::all(root, &options.wanted, (&own, &about), &loads, &bench)
}

/// Our server, open to everybody, and iperf3's, at the other end.
pub(super) fn serve_both(cable: &Cable, own: &Own) -> anyhow::Result<[Server; 2]> {
    let at = End::There.address();
    let mut ours = command(&own.dir, &own.binary);
    ours.args([
        "net",
        "serve",
        "--iperf3-open",
        "--bind",
        at,
        "--port",
        &OUR_PORT.to_string(),
    ]);
    ours.args(["--max-rate", "400G", "--max-time", "1h", "--for", "24h"]);
    let ours = cable.serve(&ours, OUR_PORT)?;
    let mut theirs = command(&own.dir, "iperf3");
    theirs.args(["-s", "-B", at, "-p", &THEIR_PORT.to_string()]);
    Ok([ours, cable.serve(&theirs, THEIR_PORT)?])
}

/// What goes over the cable.
#[derive(Clone, Copy, Debug)]
struct Way {
    flows: Flows,
    udp: bool,
}

impl Load for Way {
    fn name(&self) -> String {
        if self.udp {
            self.flows.name().replace("tcp", "udp")
        } else {
            self.flows.name()
        }
    }
}

struct Bench<'a> {
    our_server: Peer,
    their_server: Peer,
    seconds: u32,
    cable: &'a Cable,
    own: &'a Own,
}

impl Bench<'_> {
    fn our_client(
        &self,
        way: &Way,
        server: &Peer,
        commands: &mut Vec<String>,
    ) -> anyhow::Result<f64> {
        let peer = server.to_string();
        let sets = [("time", format!("{}s", self.seconds))];
        let words = ["--peer", peer.as_str(), "--no-look"];
        let asked = (way.flows.test, way.flows.flows, &words[..]);
        self.own.round(asked, &sets, commands)?.of("bytes_per_s")
    }

    fn their_client(
        &self,
        way: &Way,
        server: &Peer,
        commands: &mut Vec<String>,
    ) -> anyhow::Result<f64> {
        let mut client = way.flows.client((server, self.seconds), &self.own.dir);
        if way.udp {
            client.args(UDP);
        }
        originals::note(commands, &client);
        Ok(figures(&output(&mut self.cable.inside(End::Here, &client))?)?[0])
    }
}

impl Sides<Way> for Bench<'_> {
    fn lines(&self, way: &Way) -> Vec<Line> {
        let name = way.name();
        let line = |who: &str| (format!("{name}, {who}"), SAME);
        let mut lines = vec![line("iperf3's client with our server")];
        if !way.udp {
            lines.extend([
                line("our client with iperf3's server"),
                line("our client with our server"),
            ]);
        }
        lines
    }

    fn ours(&self, way: &Way, commands: &mut Vec<String>) -> anyhow::Result<Vec<f64>> {
        let mut rates = vec![self.their_client(way, &self.our_server, commands)?];
        if !way.udp {
            for server in [&self.their_server, &self.our_server] {
                rates.push(self.our_client(way, server, commands)?);
            }
        }
        Ok(rates)
    }

    fn theirs(&self, way: &Way, commands: &mut Vec<String>) -> anyhow::Result<Vec<f64>> {
        let rate = self.their_client(way, &self.their_server, commands)?;
        Ok(vec![rate; self.lines(way).len()])
    }

    fn version(&self) -> String {
        originals::version(&self.own.dir, "iperf3", "iperf3")
    }
}
