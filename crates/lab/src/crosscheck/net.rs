//! Our flows beside those of iperf3's own client, to one iperf3 server: the same blocks, flows, directions and times.
//!
//! What is compared is what the receiver received, and the CPU time of the client for it: ours of the measured part,
//! iperf3's of its whole test, as it says itself. [`super::pairings`] asks whether our server stands in for iperf3's.

use super::Wanted;
use super::checks::Must;
use super::originals;
use super::pairs::{self, Line, Load, Own, Sides};
use crate::asked;
use anyhow::{Context, bail, ensure};
use clap::Parser;
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use workloads::net::peer::Peer;
use xtask::process::{command, output};

/// The word behind `cargo lab crosscheck`.
pub(super) const WORD: &str = "net";

/// Measure TCP beside iperf3's client, to an iperf3 server
#[derive(Clone, Debug, Parser)]
#[command(name = "cargo lab crosscheck net", no_binary_name = true)]
struct Options {
    #[command(flatten)]
    wanted: Wanted,
    /// Where an iperf3 server listens that nobody else uses
    #[arg(long, value_name = "HOST[:PORT]")]
    peer: Peer,
    /// How long each side measures, in seconds, behind one that does not count
    #[arg(long, default_value_t = 5)]
    seconds: u32,
}

pub(super) fn run(root: &Path, arguments: &[&str]) -> anyhow::Result<()> {
    let Some(options) = asked::options::<Options>(arguments, "")? else {
        return Ok(());
    };
    ensure!(options.seconds > 0, "measure for 0 s: at least 1 is needed");
    let own = Own::new(root, &options.wanted, WORD)?;
    let about = format!("{} s each, after 1 s", options.seconds);
    let bench = Bench {
        peer: options.peer,
        seconds: options.seconds,
        own: &own,
    };
    pairs::all(root, &options.wanted, (&own, &about), &LOADS, &bench)
}

/// Flows in one direction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flows {
    pub(super) test: &'static str,
    pub(super) flows: u32,
}

const fn load(test: &'static str, flows: u32) -> Flows {
    Flows { test, flows }
}

const UP: &str = "net.tcp";
const DOWN: &str = "net.tcp-down";
pub(super) const LOADS: [Flows; 4] = [load(UP, 1), load(UP, 4), load(DOWN, 1), load(DOWN, 4)];

impl Flows {
    /// iperf3's client for it, for so many seconds.
    pub(super) fn client(&self, (peer, seconds): (&Peer, u32), dir: &Path) -> Command {
        let mut client = command(dir, "iperf3");
        client.args(["-c", peer.host(), "-p", &peer.port().to_string()]);
        client.args(["-O", "1", "-t", &seconds.to_string()]);
        client.args(["-P", &self.flows.to_string(), "-J"]);
        if self.test == DOWN {
            client.arg("-R");
        }
        client
    }
}

impl Load for Flows {
    fn name(&self) -> String {
        format!("{} {}", self.test, self.flows)
    }
}

struct Bench<'a> {
    peer: Peer,
    seconds: u32,
    own: &'a Own,
}

/// Bytes per second that were received, and bytes for a second of the client's CPU, as iperf3's JSON says.
pub(super) fn figures(text: &str) -> anyhow::Result<Vec<f64>> {
    let document: Value = serde_json::from_str(text).context("read iperf3's JSON")?;
    if let Some(error) = document["error"].as_str() {
        bail!("iperf3: {error}");
    }
    let of = |section: &str, key: &str| {
        let value = document["end"][section][key].as_f64();
        value.with_context(|| format!("iperf3's JSON has no end.{section}.{key}"))
    };
    let rate = of("sum_received", "bits_per_second")? / 8.0;
    let share = of("cpu_utilization_percent", "host_total")? / 100.0;
    Ok(vec![rate, rate / share])
}

impl Sides<Flows> for Bench<'_> {
    fn lines(&self, load: &Flows) -> Vec<Line> {
        let line = |what: &str| (format!("{}, {what}", load.name()), Must::AtLeast(0.98));
        vec![line("bytes/s"), line("bytes per CPU second")]
    }

    fn ours(&self, load: &Flows, commands: &mut Vec<String>) -> anyhow::Result<Vec<f64>> {
        let peer = self.peer.to_string();
        let sets = [("time", format!("{}s", self.seconds))];
        let asked = (load.test, load.flows, &["--peer", peer.as_str()][..]);
        let round = self.own.round(asked, &sets, commands)?;
        let cpu_ns_per_gb = round.of("cpu_ns_per_gb")?;
        Ok(vec![round.of("bytes_per_s")?, 1e18 / cpu_ns_per_gb])
    }

    fn theirs(&self, load: &Flows, commands: &mut Vec<String>) -> anyhow::Result<Vec<f64>> {
        let mut client = load.client((&self.peer, self.seconds), &self.own.dir);
        originals::note(commands, &client);
        figures(&output(&mut client)?)
    }

    fn version(&self) -> String {
        originals::version(&self.own.dir, "iperf3", "iperf3")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_document_is_read_by_its_keys() {
        let text = r#"{"end":{"sum_received":{"bits_per_second":8e9},"cpu_utilization_percent":{"host_total":50}}}"#;
        assert_eq!(figures(text).unwrap(), [1e9, 2e9]);
        let busy = r#"{"start":{},"end":{},"error":"the server is busy"}"#;
        assert!(figures(busy).unwrap_err().to_string().contains("busy"));
        assert!(figures("{}").is_err());
    }
}
