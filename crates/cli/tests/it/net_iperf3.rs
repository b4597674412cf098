//! The network to a peer, beside an iperf3 server of the test's own: on loopback, and in network namespaces.
//!
//! Where no iperf3 is installed each test that needs it says that it was skipped, by its name.

use crate::bed::{Bed, eventually, program, signal};
use crate::servers::{free_port, says};
use model::named::NamedKind;
use model::record::{Measured, Outcome, Run};
use std::net::TcpStream;
use std::process::{Child, Stdio};

/// A server on loopback.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) port: u16,
}

impl Server {
    /// Starts one; `None`, with a word, where none is installed.
    pub(crate) fn start(test: &str) -> Option<Self> {
        is_installed(test).then(|| Self::at(free_port()))
    }

    fn at(port: u16) -> Self {
        let child = program("iperf3")
            .args(["-s", "-B", "127.0.0.1", "-p", &port.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let server = Self { child, port };
        eventually(20, || is_heard(port));
        server
    }

    pub(crate) fn peer(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether anybody listens, as the kernel's table has it: a connection would be a client.
fn is_heard(port: u16) -> bool {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let wanted = format!("0100007F:{port:04X} 00000000:0000 0A");
    table.lines().any(|line| line.contains(&wanted))
}

#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
pub(crate) fn is_installed(test: &str) -> bool {
    let said = program("iperf3").arg("--version").output();
    let is_there = said.is_ok_and(|said| said.status.success());
    if !is_there {
        eprintln!("skipped: {test}: no iperf3");
    }
    is_there
}

pub(crate) fn kept(bed: &Bed) -> Run {
    let kept = bed.run(&["export", "latest"]).code(0).out;
    store::export::read(&kept).unwrap()
}

pub(crate) fn all_measured(run: &Run) -> impl Iterator<Item = (&str, u32, &Measured)> {
    run.rounds.iter().map(|round| match &round.outcome {
        Outcome::Done(measured) => (round.case.test.as_str(), round.case.copies, measured),
        Outcome::Failed(failure) => panic!("{}: {failure}", round.case),
    })
}

/// Short rounds.
const SHORT: [&str; 4] = ["--set", "net.tcp*.time=1s", "--set", "net.tcp*.omit=1s"];

#[test]
fn figures_beside_a_real_server_fit_each_other() {
    let Some(server) = Server::start("figures_beside_a_real_server_fit_each_other") else {
        return;
    };
    let bed = Bed::new();
    let peer = server.peer();
    let args = [
        "run",
        "net.tcp",
        "net.tcp-down",
        "--copies",
        "1,4",
        "--passes",
        "1",
        "--peer",
        &peer,
    ];
    let done = bed.run(&[&args[..], &SHORT].concat()).code(0);
    says(
        &done,
        &["net.tcp@1", "net.tcp@4", "net.tcp-down@1", "net.tcp-down@4"],
    );
    let run = kept(&bed);
    assert_eq!(run.rounds.len(), 4);
    let named = &run.plan.named[0];
    assert_eq!((named.kind, &named.path), (NamedKind::Peer, &peer));
    let cpus = model::num::count(sys::affinity::allowed_cpus().unwrap().len());
    for (test, copies, measured) in all_measured(&run) {
        let of = |quantity: &str| {
            let value = measured.values.get(quantity);
            *value.unwrap_or_else(|| panic!("{test} {quantity}: {:?}", measured.missing))
        };
        let rate = of("bytes_per_s");
        assert!(rate > 1e7, "{test}@{copies}: {rate}");
        // No side has more CPUs than there are; a server of one thread has one.
        for quantity in ["cpu_ns_per_gb", "peer_cpu_ns_per_gb"] {
            let used = of(quantity) / 1e9 * rate / 1e9;
            assert!(used > 0.0 && used < 1.2 * cpus, "{test} {quantity}: {used}");
        }
        assert!(of("retransmits_per_gb") >= 0.0 && of("rtt_ns_min") > 0.0);
        if test == "net.tcp" {
            assert!(of("rtt_ns_mean") >= of("rtt_ns_min"), "{test}");
            let limited = of("rwnd_limited_share") + of("sndbuf_limited_share");
            assert!((0.0..=1.001).contains(&limited), "{limited}");
            // What the server received is what was sent, but for what was on its way.
            let sent = measured.copies[0].work / measured.copies[0].wall.as_secs_f64();
            assert!(
                (rate / sent - 1.0).abs() < 0.2,
                "{rate} received, {sent} sent"
            );
        }
        assert!(
            measured.windows.len() >= 5,
            "{test}: {:?}",
            measured.windows
        );
        assert_eq!(measured.copies[0].allocations, 0, "{test}");
        let told = "at the peer";
        assert!(
            measured.notes.iter().any(|note| note.contains(told)),
            "{:?}",
            measured.notes
        );
    }
    assert_eq!(bed.left_behind(), [""; 0]);
    // What is published names nobody.
    let page = bed.run(&["report", "--format", "blog"]).code(0).out;
    assert!(!page.contains("127.0.0.1"), "{page}");
}

#[test]
fn two_peers_are_compared_and_one_is_soaked() {
    let test = "two_peers_are_compared_and_one_is_soaked";
    let Some((a, b)) = Server::start(test).zip(Server::start(test)) else {
        return;
    };
    let bed = Bed::new();
    let sides = [a.peer(), b.peer()].map(|peer| format!("peer={peer}"));
    let args = [
        "duel", "net.tcp", "--passes", "2", "--a", &sides[0], "--b", &sides[1],
    ];
    let done = bed.run(&[&args[..], &SHORT].concat()).code(0);
    says(&done, &[&sides[0], &sides[1]]);
    let peer = a.peer();
    let args = ["soak", "net.tcp-down", "--copies", "2", "--peer", &peer];
    let time = ["--for", "6s", "--window", "100ms"];
    bed.run(&[&args[..], &time].concat()).code(0);
    let run = kept(&bed);
    assert!(run.rounds.len() >= 2);
    for (_, _, measured) in all_measured(&run) {
        assert!(measured.windows.len() >= 8, "{:?}", measured.windows);
    }
}

#[test]
fn a_server_that_goes_away_is_waited_for() {
    let Some(mut server) = Server::start("a_server_that_goes_away_is_waited_for") else {
        return;
    };
    let bed = Bed::new();
    let (peer, port) = (server.peer(), server.port);
    let args = [
        "soak", "net.tcp", "--for", "15s", "--window", "100ms", "--peer", &peer,
    ];
    let child = bed.start(&args);
    eventually(30, || bed.store().exists() && bed.rounds() >= 1);
    signal(&server.child, "-INT");
    server.child.wait().unwrap();
    sys::clock::sleep(2_500_000_000);
    let again = Server::at(port);
    let done = crate::bed::Done::from(child.wait_with_output().unwrap());
    drop(again);
    says(&done, &["waiting for up to", "is there again after"]);
    let run = kept(&bed);
    let failed = run.rounds.iter().find_map(|round| match &round.outcome {
        Outcome::Failed(failure) => Some(failure.to_string()),
        Outcome::Done(_) => None,
    });
    let failed = failed.unwrap();
    // In the middle of a round, as one began, or between two.
    let ways = [
        "SERVER_TERMINATE",
        "the server closed the control connection",
        "nobody listens",
    ];
    assert!(ways.iter().any(|way| failed.contains(way)), "{failed}");
    let is_done = |round: &model::record::Round| matches!(round.outcome, Outcome::Done(_));
    assert!(run.rounds.last().is_some_and(is_done), "it goes on");
}

#[test]
fn a_server_with_another_client_is_busy() {
    let Some(server) = Server::start("a_server_with_another_client_is_busy") else {
        return;
    };
    let port = server.port.to_string();
    let mut other = program("iperf3")
        .args(["-c", "127.0.0.1", "-p", &port, "-t", "20", "-b", "1M"])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let bed = Bed::new();
    let peer = server.peer();
    let is_busy = || {
        let done = bed.run(&["run", "net.tcp", "--passes", "1", "--peer", &peer]);
        (done.code == Some(4)).then_some(done)
    };
    // The other client may need a moment.
    let mut done = None;
    eventually(20, || {
        done = is_busy();
        done.is_some()
    });
    done.unwrap().err_has(&[
        "begin a test with `127.0.0.1:",
        "busy with another test",
        "hint: ",
    ]);
    other.kill().unwrap();
    other.wait().unwrap();
}

#[test]
fn nothing_is_measured_where_nobody_listens() {
    let bed = Bed::new();
    let peer = format!("127.0.0.1:{}", free_port());
    let begin = sys::clock::monotonic();
    bed.run(&["run", "net", "--peer", &peer]).code(4).err_has(&[
        "connect to `127.0.0.1:",
        "nobody listens at TCP port",
        "`iperf3 -s -p ",
    ]);
    assert!(sys::clock::monotonic() - begin < 20_000_000_000);
    assert!(bed.listed().is_empty());
    assert_eq!(bed.left_behind(), [""; 0]);
}

#[test]
fn what_is_typed_wrongly_is_told_before_anybody_is_asked() {
    let bed = Bed::new();
    let check = |args: &[&str], code, says: &str| {
        let done = bed.run(args).code(code);
        crate::servers::says(&done, &[says]);
    };
    check(&["run", "net", "--peer", "a b"], 2, "`a b` is no host");
    check(
        &["run", "net", "--peer", "x:99999"],
        2,
        "`99999` is no port",
    );
    check(
        &["run", "os.pipe", "--peer", "x"],
        2,
        "no test of this run works with a peer",
    );
    check(
        &["run", "net", "--peer", "x", "--file", "f"],
        2,
        "no test of this run works on a file or device",
    );
    check(&["run", "net"], 3, "`--peer HOST` names");
    check(
        &["run", "net", "10.0.0.7"],
        2,
        "`kurabe run net --peer 10.0.0.7`",
    );
    check(&["duel", "net.tcp", "--a", "peer=x"], 2, "`--b peer=HOST`");
    check(
        &["duel", "net.tcp", "--a", "peer=x:0", "--b", "peer=y"],
        2,
        "`0` is no port",
    );
    let set = ["--set", "net.tcp.omit=1500ms"];
    check(
        &[&["run", "net.tcp", "--peer", "x"], &set[..]].concat(),
        2,
        "whole seconds",
    );
    let plan = [
        "run",
        "net.tcp",
        "net.tcp-down",
        "net.udp",
        "--copies",
        "1,4",
        "--peer",
        "db.example",
        "--passes",
        "1",
        "--dry-run",
    ];
    let done = bed.run(&plan).code(0);
    says(
        &done,
        &[
            "peer `db.example:5201`",
            "network: 0.19 GB at the rates that are asked for, and as much as it takes for 16 s",
            "2.0 GB at 1 Gbit/s",
        ],
    );
}

pub(crate) mod root {
    use super::*;

    /// Two machines of one cable: the server is in a network of its own, at 10.77.0.2 and `fe80::2`.
    const TWO: &str = "\
        ip link set lo up\n\
        unshare -n sh -ec 'while ! ip link show v1 >/dev/null 2>&1; do sleep 0.05; done; \
          ip addr add 10.77.0.2/24 dev v1; ip addr add fe80::2/64 dev v1 nodad; ip link set v1 up; \
          exec iperf3 -s' >/dev/null 2>&1 &\n\
        server=$!\n\
        trap 'kill $server' EXIT\n\
        while [ \"$(readlink /proc/$server/ns/net)\" = \"$(readlink /proc/$$/ns/net)\" ]; do sleep 0.05; done\n\
        ip link add v0 type veth peer name v1\n\
        ip link set v1 netns $server\n\
        ip addr add 10.77.0.1/24 dev v0; ip addr add fe80::1/64 dev v0 nodad; ip link set v0 up\n\
        n=0; until (exec 3<>/dev/tcp/10.77.0.2/5201) 2>/dev/null; do n=$((n+1)); [ $n -lt 100 ]; sleep 0.1; \
        done\n";

    pub(crate) fn between(bed: &Bed, meanwhile: &str, args: &[&str]) -> crate::bed::Done {
        let script = format!("{TWO}{meanwhile}\"$@\"");
        bed.behind(&["unshare", "-n", "bash", "-ec", &script, "bash"], args)
    }

    #[test]
    #[ignore = "root: makes network namespaces"]
    fn two_namespaces_are_two_machines_by_ipv4_and_by_ipv6_with_a_zone() {
        if !is_installed("two_namespaces_are_two_machines_by_ipv4_and_by_ipv6_with_a_zone") {
            return;
        }
        for peer in ["10.77.0.2", "fe80::2%v0", "[fe80::2%v0]:5201"] {
            let bed = Bed::new();
            // By IPv6 a server of 3.12 serves one stream of UDP, once, its own client too.
            let mut args = vec!["run", "net.tcp", "net.tcp-down"];
            args.extend(peer.starts_with("10.").then_some("net.udp"));
            let tests = args.len() - 1;
            args.extend(["--copies", "2", "--passes", "1", "--peer", peer]);
            args.extend(SHORT);
            between(&bed, "", &args).code(0);
            let run = kept(&bed);
            assert_eq!(all_measured(&run).count(), tests);
        }
    }

    #[test]
    #[ignore = "root: makes network namespaces"]
    fn a_link_that_goes_down_ends_the_round_within_its_deadline() {
        if !is_installed("a_link_that_goes_down_ends_the_round_within_its_deadline") {
            return;
        }
        let bed = Bed::new();
        let begin = sys::clock::monotonic();
        let set = ["--set", "net.tcp.time=30s"];
        let args = "run net.tcp --full --passes 1 --peer 10.77.0.2";
        let args: Vec<&str> = args.split(' ').collect();
        let down = "(sleep 3; ip link set v0 down) &\n";
        let done = between(&bed, down, &[&args[..], &set].concat()).code(4);
        says(&done, &["send to `10.77.0.2:5201`"]);
        let took = sys::clock::monotonic() - begin;
        assert!(took < 40_000_000_000, "{took} ns");
    }

    #[test]
    #[ignore = "root: makes network namespaces"]
    fn the_interface_and_the_largest_packet_of_the_way_are_told() {
        if !is_installed("the_interface_and_the_largest_packet_of_the_way_are_told") {
            return;
        }
        for mtu in [1280, 1420, 1500, 9000] {
            let bed = Bed::new();
            let links = format!(
                "ip link set v0 mtu {mtu}; nsenter -t $server -n ip link set v1 mtu {mtu}\n"
            );
            let args = ["run", "net.tcp", "--passes", "1", "--peer", "10.77.0.2"];
            let done = between(&bed, &links, &[&args[..], &SHORT].concat()).code(0);
            let way = format!("interface `v0` (driver `veth`), path MTU {mtu} bytes");
            assert!(done.says(&way), "{way}: {}", done.out);
        }
    }

    #[test]
    #[ignore = "root: makes network namespaces"]
    fn a_narrower_link_on_the_way_is_found() {
        if !is_installed("a_narrower_link_on_the_way_is_found") {
            return;
        }
        // The server's machine is a router to a third one, over a link of 1280 bytes. Where that machine knows of it,
        // it asks for short segments; where not, the router says that long ones do not fit.
        for far in [1280, 1500] {
            let links = format!(
                "unshare -n sh -c 'while ! ip link show w1 >/dev/null 2>&1; do sleep 0.05; done; \
                   ip addr add 10.79.0.2/24 dev w1; ip link set w1 mtu {far} up; \
                   ip route add default via 10.79.0.1; exec iperf3 -s' >/dev/null 2>&1 &\n\
                 third=$!; trap 'kill $server $third' EXIT\n\
                 while [ \"$(readlink /proc/$third/ns/net)\" = \"$(readlink /proc/$$/ns/net)\" ]; do \
                   sleep 0.05; done\n\
                 ip link add w0 type veth peer name w1; ip link set w0 netns $server; \
                 ip link set w1 netns $third\n\
                 nsenter -t $server -n sh -ec 'ip addr add 10.79.0.1/24 dev w0; \
                   ip link set w0 mtu 1280 up; echo 1 > /proc/sys/net/ipv4/ip_forward'\n\
                 ip route add 10.79.0.0/24 via 10.77.0.2\n\
                 n=0; until (exec 3<>/dev/tcp/10.79.0.2/5201) 2>/dev/null; do \
                   n=$((n+1)); [ $n -lt 100 ]; sleep 0.1; done\n"
            );
            let bed = Bed::new();
            let args = "run net.tcp --full --passes 1 --peer 10.79.0.2";
            let args: Vec<&str> = args.split(' ').collect();
            let done = between(&bed, &links, &[&args[..], &SHORT].concat()).code(0);
            let way = "interface `v0` (driver `veth`), path MTU 1280 bytes";
            assert!(done.says(way), "{far}: {}", done.out);
        }
    }

    #[test]
    #[ignore = "root: makes a network namespace"]
    fn packets_that_are_dropped_are_told_with_port_and_direction() {
        let bed = Bed::new();
        // Frames to a card that nobody has.
        let script = "ip link set lo up; ip link add v0 type veth peer name v1; ip link set v1 up; \
                      ip link set v0 up; ip addr add 10.78.0.1/24 dev v0; \
                      ip neigh add 10.78.0.9 lladdr 02:00:00:00:00:09 dev v0; exec \"$@\"";
        let apart = ["unshare", "-n", "sh", "-ec", script, "sh"];
        let begin = sys::clock::monotonic();
        let args = ["run", "net.tcp", "--passes", "1", "--peer", "10.78.0.9"];
        let done = bed.behind(&apart, &args).code(4);
        let took = sys::clock::monotonic() - begin;
        says(
            &done,
            &[
                "connect to `10.78.0.9:5201`",
                "nobody answers",
                "goes to TCP port 5201 there",
            ],
        );
        assert!((9_000_000_000..20_000_000_000).contains(&took), "{took} ns");
    }
}

/// A look at the table that says who listens, which all of the above stands on.
#[test]
fn who_listens_is_seen() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    assert!(is_heard(port));
    assert!(TcpStream::connect(("127.0.0.1", port)).is_ok());
    drop(listener);
    assert!(!is_heard(port));
}
