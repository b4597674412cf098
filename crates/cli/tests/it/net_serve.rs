//! `kurabe net serve` over loopback, and what is refused there.

use crate::bed::{Bed, eventually, program, signal};
use crate::net_iperf3::is_installed;
use engine::consent::{Consent, Touch, decide};
use engine::secret::Secret;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Child;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;
use sys::tree::Tree;
use workloads::net::peer::Peer;

/// A server with a free port of loopback.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) port: u16,
    lines: Arc<Mutex<Vec<String>>>,
    reader: Option<JoinHandle<()>>,
}

impl Server {
    pub(crate) fn start(bed: &Bed, more: &[&str]) -> Self {
        let args = ["net", "serve", "--port", "0"];
        Self::of(bed.start(&[&args, more].concat()))
    }

    /// What is typed behind `--peer`.
    pub(crate) fn peer(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The token that it has printed.
    pub(crate) fn token(&self) -> String {
        self.says("KURABE_TOKEN=");
        let said = self.said();
        let (_, rest) = said.split_once("KURABE_TOKEN=").unwrap();
        rest.split_whitespace().next().unwrap().to_owned()
    }

    /// Of a process that begins to serve.
    pub(crate) fn of(mut child: Child) -> Self {
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut first = String::new();
        out.read_line(&mut first).unwrap();
        let at = first.strip_prefix("serving at ");
        let at = at.and_then(|at| at.split(", ").next());
        let Some((_, port)) = at.and_then(|at| at.rsplit_once(':')) else {
            panic!("{first} {:?}", child.wait_with_output());
        };
        let port = port.parse().unwrap();
        let lines = Arc::new(Mutex::new(vec![first.trim_end().to_owned()]));
        let kept = Arc::clone(&lines);
        let reader = std::thread::Builder::new()
            .spawn(move || {
                for line in out.lines() {
                    kept.lock().unwrap().push(line.unwrap());
                }
            })
            .unwrap();
        let reader = Some(reader);
        Self {
            child,
            port,
            lines,
            reader,
        }
    }

    /// What it said so far.
    pub(crate) fn said(&self) -> String {
        self.lines.lock().unwrap().join("\n")
    }

    /// Waits until it has said this.
    #[track_caller]
    pub(crate) fn says(&self, words: &str) {
        eventually(30, || self.said().contains(words));
    }

    /// Whether a client that has its token is let in now, and told what the machine is.
    pub(crate) fn lets_in(&self) -> bool {
        let peer: Peer = self.peer().parse().unwrap();
        let stand_in = peer.stand_in(true);
        let secret = Secret::new(self.token());
        let consent = Consent {
            secrets: [(stand_in.path.clone(), secret)].into(),
            ..Consent::default()
        };
        let touch = Touch {
            path: stand_in.path,
            kind: stand_in.kind,
            writes: false,
            creates: false,
        };
        let granted = decide(&Tree::real(), vec![touch], &consent, &|_| None).unwrap();
        let path = self.peer();
        let found = workloads::net::peer::ask(Path::new(&path), &granted.permits, Duration::ZERO);
        found.is_ok_and(|facts| !facts.is_empty())
    }

    /// Ends it, and gives all that it said.
    pub(crate) fn stop(mut self) -> String {
        signal(&self.child, "-TERM");
        assert_eq!(self.child.wait().unwrap().code(), Some(130));
        self.reader.take().unwrap().join().unwrap();
        self.said()
    }

    /// A number of /proc/PID/status.
    pub(crate) fn status(&self, name: &str) -> Vec<u64> {
        let path = format!("/proc/{}/status", self.child.id());
        let text = std::fs::read_to_string(path).unwrap();
        let line = text.lines().find(|line| line.starts_with(name)).unwrap();
        let words = line.split_whitespace();
        words.filter_map(|word| word.parse().ok()).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_option_that_served_clients_of_iperf3_says_what_serves_them_now() {
    let bed = Bed::new();
    for more in [
        &["--iperf3-open"][..],
        &["--iperf3-open", "--bind", "0.0.0.0", "--for", "10m"],
        &["--port", "0", "--iperf3-open", "--max-rate", "10G"],
        &["--max-rate", "10G"],
        &["--max-time=5m"],
        &["--token-file", "nothing", "--iperf3-open"],
    ] {
        let done = bed.run(&[&["net", "serve"], more].concat()).code(2);
        assert_eq!(done.out, "", "{more:?}");
        done.err_has(&["'iperf3 -s'", "KURABE_TOKEN", "'--token-file FILE'"]);
    }
    for page in [&["net", "serve", "--help"][..], &["help", "net"]] {
        let done = bed.run(page).code(0);
        for gone in ["iperf3", "--max-rate", "--max-time"] {
            assert!(!done.out.contains(gone), "{gone}: {}", done.out);
        }
    }
}

#[test]
fn a_client_of_iperf3_is_turned_away_and_one_with_the_token_is_let_in() {
    let bed = Bed::new();
    let server = Server::start(&bed, &[]);
    assert!(server.lets_in());
    if !is_installed("a_client_of_iperf3_is_turned_away_and_one_with_the_token_is_let_in") {
        return;
    }
    for more in [
        &["-t1"][..],
        &["-R"],
        &["-u"],
        &["--bidir", "-P", "9"],
        &["-n", "1M"],
    ] {
        let mut client = program("iperf3");
        client.args(["-c", "127.0.0.1", "-p", &server.port.to_string()]);
        let out = client.args(more).output().unwrap();
        assert_eq!(out.status.code(), Some(1), "{more:?}");
        assert!(server.lets_in(), "{more:?}");
    }
    let said = server.stop();
    let refused = " refused: no token; `iperf3 -s` serves clients of iperf3";
    assert_eq!(said.matches(refused).count(), 5, "{said}");
    assert!(!said.contains(" asks: "), "{said}");
}
