//! Our client with iperf3's server, and with ours, each against iperf3 with itself.
//!
//! All of them go over one cable between two network namespaces ([`crate::cable`]), which must make no difference to
//! any of them. The rate is what the receiver received.

use super::Wanted;
use super::checks::Must;
use super::net::{Flows, LOADS, figures};
use super::originals;
use super::pairs::{self, Line, Load as _, Own, Sides};
use crate::asked;
use crate::cable::{Cable, End, Server};
use anyhow::{Context, ensure};
use clap::Parser;
use std::fs;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use workloads::net::own::Token;
use workloads::net::peer::Peer;
use xtask::process::{command, output};

/// The word behind `cargo lab crosscheck`.
pub(super) const WORD: &str = "pairings";

/// Measure our client with iperf3's server and with ours, between two network namespaces
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
    let (_servers, token) = serve_both(&cable, &own)?;
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
        token,
        seconds: options.seconds,
        cable: &cable,
        own: &own,
    };
    pairs::all(root, &options.wanted, (&own, &about), &LOADS, &bench)
}

/// Our server and iperf3's, at the other end; and the file of the token of ours.
pub(super) fn serve_both(cable: &Cable, own: &Own) -> anyhow::Result<([Server; 2], PathBuf)> {
    let at = End::There.address();
    let token = own.dir.join("token");
    let mut options = fs::OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600);
    let text = Token::new().context("get random bytes")?.reveal();
    std::io::Write::write_all(&mut file.open(&token)?, text.as_bytes())?;
    let mut ours = command(&own.dir, &own.binary);
    ours.args(["net", "serve", "--bind", at, "--for", "24h"]);
    ours.args(["--port", &OUR_PORT.to_string(), "--token-file"]);
    ours.arg(&token);
    let ours = cable.serve(&ours, OUR_PORT)?;
    let mut theirs = command(&own.dir, "iperf3");
    theirs.args(["-s", "-B", at, "-p", &THEIR_PORT.to_string()]);
    Ok(([ours, cable.serve(&theirs, THEIR_PORT)?], token))
}

struct Bench<'a> {
    token: PathBuf,
    our_server: Peer,
    their_server: Peer,
    seconds: u32,
    cable: &'a Cable,
    own: &'a Own,
}

impl Bench<'_> {
    fn our_client(
        &self,
        flows: &Flows,
        server: &[&str],
        commands: &mut Vec<String>,
    ) -> anyhow::Result<f64> {
        let sets = [("time", format!("{}s", self.seconds))];
        let words = [&["--no-look", "--peer"], server].concat();
        let asked = (flows.test, flows.flows, &words[..]);
        self.own.round(asked, &sets, commands)?.of("bytes_per_s")
    }
}

impl Sides<Flows> for Bench<'_> {
    fn lines(&self, flows: &Flows) -> Vec<Line> {
        let name = flows.name();
        let servers = ["iperf3's server", "our server"];
        servers
            .map(|server| (format!("{name}, our client with {server}"), SAME))
            .into()
    }

    fn ours(&self, flows: &Flows, commands: &mut Vec<String>) -> anyhow::Result<Vec<f64>> {
        let [theirs, ours] = [&self.their_server, &self.our_server].map(Peer::to_string);
        let token = self.token.display().to_string();
        let both = [&[theirs.as_str()][..], &[&ours, "--token-file", &token]];
        both.into_iter()
            .map(|server| self.our_client(flows, server, commands))
            .collect()
    }

    fn theirs(&self, flows: &Flows, commands: &mut Vec<String>) -> anyhow::Result<Vec<f64>> {
        let client = flows.client((&self.their_server, self.seconds), &self.own.dir);
        originals::note(commands, &client);
        let rate = figures(&output(&mut self.cable.inside(End::Here, &client))?)?[0];
        Ok(vec![rate; self.lines(flows).len()])
    }

    fn version(&self) -> String {
        originals::version(&self.own.dir, "iperf3", "iperf3")
    }
}
