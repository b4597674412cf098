//! Two machines of one cable: two network namespaces that a veth pair joins, made and removed by whoever measures.
//!
//! Both send with the same congestion control, whatever this machine's own is: the one that every kernel has and lets a
//! namespace choose. Both ends are counted and shaped by `tc`. What the kernel hands to a link in one piece (GSO) is
//! left as it is: its queues count each such piece with the headers of all the frames that it stands for, and `cargo
//! lab truth net` looks whether they do.
//!
//! Everything has the name of this start in it. It is taken away on every way out; what a killed start left, servers
//! included, is taken away by the next one.

use crate::truth::place::{own_name, stale_in};
use anyhow::{Context, ensure};
use serde_json::Value;
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use sys::tree::Tree;
use sys::until::Until;
use xtask::process::{command, output, shown, succeed, succeeds};

/// Where `ip netns` keeps names.
const NAMES: &str = "/run/netns";

/// The name of each end's device, in its own namespace.
const DEVICE: &str = "v0";

/// How long a server may take to listen.
const LISTENS_WITHIN: std::time::Duration = std::time::Duration::from_secs(10);
const LOOK_EVERY_NS: u64 = 20_000_000;

/// The congestion control of both.
const CONGESTION: &str = "reno";

/// An Ethernet frame of 1,500 bytes with its header, and the bytes of a flow in it: 20 bytes are IPv4's, 32 TCP's with
/// time stamps (RFC 7323, which Linux uses unless it is told not to).
pub(crate) const FRAME: f64 = 1514.0;
pub(crate) const PAYLOAD: f64 = 1448.0;

/// Where `ip` and `tc` are started: a directory that is there to the end.
fn anywhere() -> &'static Path {
    Path::new("/")
}

/// One of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Where clients run.
    Here,
    /// Where servers run.
    There,
}

impl End {
    /// Its address, of those that documents may use (RFC 5737).
    pub(crate) const fn address(self) -> &'static str {
        match self {
            Self::Here => "192.0.2.1",
            Self::There => "192.0.2.2",
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Here => "here",
            Self::There => "there",
        }
    }
}

/// What a cable that is held to a rate lets through at once after a rest: 10 ms of it, so that a CPU that comes late
/// costs nothing, and a piece of 64 KiB at least.
const BURST_SECONDS: f64 = 0.01;
const BURST_MIN: f64 = 65_536.0;

/// The longest that a packet waits for its turn there: longer queues are cut, and TCP sees a loss.
const QUEUE: &str = "50ms";

/// Both of them; gone when it goes out of scope.
#[derive(Debug)]
pub(crate) struct Cable {
    name: String,
}

/// A server at the other end; killed when it goes out of scope.
#[derive(Debug)]
pub(crate) struct Server(Child);

/// Why there can be no cable; `None` where there can.
pub(crate) fn lacks() -> Option<String> {
    if !sys::probe::is_root() {
        return Some("needs root".to_owned());
    }
    let there = |program: &&str| {
        succeeds(command(anywhere(), "sh").args(["-c", &format!("command -v {program}")]))
    };
    let missing = ["ip", "tc"].into_iter().find(|program| !there(program));
    missing.map(|program| format!("`{program}` is not installed (`apt-get install iproute2`)"))
}

impl Cable {
    /// Joins two new ones.
    pub(crate) fn make() -> anyhow::Result<Self> {
        if let Some(why) = lacks() {
            anyhow::bail!("make network namespaces: {why}");
        }
        sweep()?;
        let cable = Self { name: own_name()? };
        for end in [End::Here, End::There] {
            ip(&["netns", "add", &cable.namespace(end)])?;
        }
        let [here, there] = [End::Here, End::There].map(|end| cable.namespace(end));
        // Made inside, so that the machine's own network never sees it.
        ip(&[
            "-n", &here, "link", "add", DEVICE, "type", "veth", "peer", "name", DEVICE, "netns",
            &there,
        ])?;
        for (end, namespace) in [(End::Here, &here), (End::There, &there)] {
            let address = format!("{}/24", end.address());
            ip(&["-n", namespace, "link", "set", "lo", "up"])?;
            // No packets but those that are asked for.
            ip(&[
                "-n",
                namespace,
                "link",
                "set",
                DEVICE,
                "addrgenmode",
                "none",
            ])?;
            ip(&["-n", namespace, "address", "add", &address, "dev", DEVICE])?;
            ip(&["-n", namespace, "link", "set", DEVICE, "up"])?;
            let set = format!("echo {CONGESTION} > /proc/sys/net/ipv4/tcp_congestion_control");
            let mut shell = command(anywhere(), "sh");
            succeed(&mut cable.inside(end, shell.args(["-c", &set])))?;
        }
        Ok(cable)
    }

    fn namespace(&self, end: End) -> String {
        format!("{}-{}", self.name, end.word())
    }

    /// The words that put a command into the namespace of an end.
    pub(crate) fn enter(&self, end: End) -> Vec<String> {
        ["ip", "netns", "exec", &self.namespace(end)]
            .map(str::to_owned)
            .to_vec()
    }

    /// The same command at one of the ends.
    pub(crate) fn inside(&self, end: End, plain: &Command) -> Command {
        behind(&self.enter(end), plain)
    }

    /// Gives what an end sends another queue, as `tc qdisc add dev DEVICE root ...` has it, instead of the one it had.
    pub(crate) fn shape(&self, end: End, arguments: &[&str]) -> anyhow::Result<()> {
        let namespace = self.namespace(end);
        // There may be none.
        succeeds(
            command(anywhere(), "tc")
                .args(["-n", &namespace, "qdisc", "del", "dev", DEVICE, "root"]),
        );
        self.tc(end, &["qdisc", "add"], &[&["root"], arguments].concat())
    }

    /// Lets so many Mbit/s pass each way, headers counted.
    pub(crate) fn hold(&self, mbit: f64) -> anyhow::Result<()> {
        let burst = (mbit * 1e6 / 8.0 * BURST_SECONDS).max(BURST_MIN);
        let (rate, burst) = (format!("{mbit}mbit"), format!("{burst:.0}"));
        let words = ["tbf", "rate", &rate, "burst", &burst, "latency", QUEUE];
        self.shape(End::Here, &words)?;
        self.shape(End::There, &words)
    }

    /// `tc` with these words in front of the device and behind it.
    pub(crate) fn tc(&self, end: End, before: &[&str], behind: &[&str]) -> anyhow::Result<()> {
        let namespace = self.namespace(end);
        let mut tc = command(anywhere(), "tc");
        tc.args(["-n", &namespace])
            .args(before)
            .args(["dev", DEVICE])
            .args(behind);
        succeed(&mut tc)
    }

    /// Bytes and frames that the queue of an end has let through, as it counts them.
    pub(crate) fn passed(&self, end: End) -> anyhow::Result<[u64; 2]> {
        let namespace = self.namespace(end);
        let mut tc = command(anywhere(), "tc");
        tc.args(["-n", &namespace, "-s", "-j", "qdisc", "show", "dev", DEVICE]);
        let text = output(&mut tc)?;
        let queues: Value = serde_json::from_str(&text).context("read what `tc` printed")?;
        let of = |key: &str| {
            let number = queues[0][key].as_u64();
            number.with_context(|| format!("`tc` counts no {key}"))
        };
        Ok([of("bytes")?, of("packets")?])
    }

    /// Starts a server at the other end, and waits until it listens at this port.
    pub(crate) fn serve(&self, plain: &Command, port: u16) -> anyhow::Result<Server> {
        self.serve_told(plain, port, Stdio::null())
    }

    /// The same, with what it says written there.
    pub(crate) fn serve_told(
        &self,
        plain: &Command,
        port: u16,
        said: Stdio,
    ) -> anyhow::Result<Server> {
        let dies_with_us = ["setpriv", "--pdeathsig", "KILL"].map(str::to_owned);
        let mut dies_with_us = behind(&dies_with_us, &self.inside(End::There, plain));
        let child = dies_with_us.stdin(Stdio::null()).stdout(said).spawn();
        let mut server = Server(child.with_context(|| format!("start `{}`", shown(plain)))?);
        let until = Until::after(LISTENS_WITHIN);
        while !server.listens(port) {
            let ended = server.0.try_wait().context("wait for a server")?;
            ensure!(
                ended.is_none() && until.left().is_some(),
                "`{}` does not listen",
                shown(plain)
            );
            sys::clock::sleep(LOOK_EVERY_NS);
        }
        Ok(server)
    }
}

impl Server {
    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    /// Whether it does, as the kernel's table of its network says: a connection would be a client.
    fn listens(&self, port: u16) -> bool {
        let table = std::fs::read_to_string(format!("/proc/{}/net/tcp", self.0.id()));
        // 192.0.2.2 as the table has it, from nobody, in the state of a listener (include/net/tcp_states.h).
        let wanted = format!(
            "{:08X}:{port:04X} 00000000:0000 0A",
            u32::from_ne_bytes([192, 0, 2, 2])
        );
        table.is_ok_and(|table| table.contains(&wanted))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Already gone is as good.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        for end in [End::Here, End::There] {
            remove(&self.namespace(end));
        }
    }
}

/// The same command behind these words.
pub(crate) fn behind(words: &[String], plain: &Command) -> Command {
    let program = plain.get_program();
    let all = words
        .iter()
        .map(OsStr::new)
        .chain([program])
        .chain(plain.get_args());
    let mut all = all.collect::<Vec<_>>().into_iter();
    let first = all.next().unwrap_or(program);
    let mut command = command(plain.get_current_dir().unwrap_or(anywhere()), first);
    command.args(all);
    command
}

/// Takes away what killed starts left.
fn sweep() -> anyhow::Result<()> {
    for path in stale_in(&Tree::real(), Path::new(NAMES)) {
        let name = path.file_name().context("a namespace has a name")?;
        remove(&name.to_string_lossy());
    }
    Ok(())
}

/// A namespace and whatever still runs in it: a server that has given up root has lost the request to die with us.
fn remove(namespace: &str) {
    if !Path::new(NAMES).join(namespace).exists() {
        return;
    }
    let pids =
        output(command(anywhere(), "ip").args(["netns", "pids", namespace])).unwrap_or_default();
    for pid in pids.split_whitespace() {
        succeeds(command(anywhere(), "kill").args(["-KILL", pid]));
    }
    if !succeeds(command(anywhere(), "ip").args(["netns", "del", namespace])) {
        say!(
            "warning: remove the network namespace `{namespace}`: it may be left\nhint: `ip netns del {namespace}`"
        );
    }
}

fn ip(arguments: &[&str]) -> anyhow::Result<()> {
    succeed(command(anywhere(), "ip").args(arguments))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_goes_behind_words_with_all_its_own() {
        let mut plain = command(Path::new("/tmp"), "tc");
        plain.args(["qdisc", "show"]);
        let words = ["ip", "netns", "exec", "x"].map(str::to_owned);
        let inside = behind(&words, &plain);
        assert_eq!(shown(&inside), "ip netns exec x tc qdisc show");
        assert_eq!(inside.get_current_dir(), Some(Path::new("/tmp")));
        assert_eq!(shown(&behind(&[], &plain)), "tc qdisc show");
    }

    mod root {
        use super::*;

        fn named(name: &str) -> bool {
            Path::new(NAMES).join(name).exists()
        }

        #[test]
        #[ignore = "root: makes network namespaces"]
        fn a_cable_is_gone_behind_an_error_too_and_takes_away_what_a_killed_start_left() {
            // The start of process 1 is another one.
            let left = "kurabe-truth-1-999999999999-here";
            succeed(command(anywhere(), "ip").args(["netns", "add", left])).unwrap();
            let cable = Cable::make().unwrap();
            let names = [End::Here, End::There].map(|end| cable.namespace(end));
            assert!(!named(left) && names.iter().all(|name| named(name)));
            cable
                .shape(
                    End::There,
                    &["tbf", "rate", "1mbit", "burst", "5k", "latency", "1s"],
                )
                .unwrap();
            assert_eq!(cable.passed(End::There).unwrap(), [0, 0]);
            assert!(cable.shape(End::There, &["nonsense"]).is_err());
            drop(cable);
            assert!(!names.iter().any(|name| named(name)));
        }
    }
}
