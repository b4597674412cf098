//! Ways to a peer that are not plain, and ends that have not enough for what is asked of them.

use crate::bed::{Bed, Done, program};
use crate::net_iperf3::all_measured;
use crate::net_serve::Server;
use crate::net_token::kept;
use crate::password::readable;
use crate::servers::{said, says};
use std::process::{Command, Stdio};

fn done(mut client: Command, server: &Server) -> Done {
    let client = client.env("KURABE_TOKEN", server.token());
    client.output().unwrap().into()
}

fn plan<'a>(test: &'a str, copies: &'a str, peer: &'a str) -> Vec<&'a str> {
    let args = [
        "run", test, "--passes", "1", "--copies", copies, "--peer", peer,
    ];
    [&args[..], &["--set", "net.*.time=1s"]].concat()
}

#[test]
fn more_flows_than_descriptors_are_told_by_the_end_that_lacks_them() {
    let bed = Bed::new();
    let mut serve = bed.with_open_files(32, &["net", "serve", "--port", "0"]);
    let serve = serve.stdout(Stdio::piped()).stderr(Stdio::piped());
    let few = Server::of(serve.spawn().unwrap());
    let enough = Server::start(&bed, &[]);
    let (narrow, wide) = (few.peer(), enough.peer());
    for test in ["net.tcp", "net.tcp-down", "net.udp"] {
        let begin = sys::clock::monotonic();
        let there = done(bed.command(&plan(test, "100", &narrow)), &few).code(4);
        says(
            &there,
            &[
                "begin a test with",
                "Too many open files",
                "(`ulimit -n`) there, or fewer flows",
            ],
        );
        let here = done(bed.with_open_files(64, &plan(test, "100", &wide)), &enough).code(4);
        says(
            &here,
            &["Too many open files", "more open files (`ulimit -n`)"],
        );
        assert!(!said(&here).contains("there, or"), "{here:?}");
        assert!(sys::clock::monotonic() - begin < 30_000_000_000);
        // Both servers go on.
        for (server, peer) in [(&few, &narrow), (&enough, &wide)] {
            done(bed.command(&plan(test, "2", peer)), server).code(0);
        }
    }
    // Further connections of our own protocol.
    let loaded = plan("net.rr-loaded", "1", &narrow);
    let flows = ["--set", "net.rr-loaded.flows=16"];
    let many = done(bed.command(&[&loaded[..], &flows].concat()), &few).code(4);
    says(
        &many,
        &[
            "begin round trips with",
            "the server could not",
            "Too many open files",
        ],
    );
    let all = few.stop();
    for (what, times) in [("accept a stream", 3), ("make a socket", 1)] {
        let told = format!("{what}: Too many open files");
        assert_eq!(all.matches(&told).count(), times, "{told}: {all}");
    }
}

mod root {
    use super::*;
    use crate::net_iperf3::{is_installed, root::between};

    /// A way to a server of ours at 10.80.0.2 that sees its router, 10.80.0.1, and nobody behind it. `$1` is the
    /// binary.
    const BEHIND_A_ROUTER: &str = "\
        ip link set lo up\n\
        apart() { while [ \"$(readlink /proc/$1/ns/net)\" = \"$(readlink /proc/$$/ns/net)\" ]; do sleep 0.05; done; }\n\
        unshare -n sh -ec 'while ! ip link show w1 >/dev/null 2>&1; do sleep 0.05; done; \
          ip addr add 10.80.0.2/24 dev w1; ip link set w1 up; \
          exec \"$0\" net serve --bind 0.0.0.0 --token-file token' \"$1\" >served 2>&1 &\n\
        server=$!\n\
        unshare -n sleep 300 >/dev/null 2>&1 &\n\
        router=$!\n\
        trap 'kill $server $router' EXIT\n\
        apart $server; apart $router\n\
        ip link add c0 type veth peer name c1; ip link set c1 netns $router\n\
        ip addr add 192.168.7.2/24 dev c0; ip link set c0 up\n\
        nsenter -t $router -n sh -ec 'ip addr add 192.168.7.1/24 dev c1; ip link set c1 up; \
          ip link add w0 type veth peer name w1; ip link set w1 netns '$server'; \
          ip addr add 10.80.0.1/24 dev w0; ip link set w0 up; \
          echo 1 > /proc/sys/net/ipv4/ip_forward; \
          nft \"add table ip n; add chain ip n out { type nat hook postrouting priority 100; }; \
            add rule ip n out oifname w0 masquerade random\"'\n\
        ip route add default via 192.168.7.1\n\
        n=0; until grep -q 'serving at' served; do n=$((n+1)); [ $n -lt 100 ]; sleep 0.1; done\n\
        \"$@\"";

    /// A token, in the file `token`.
    fn token_file(bed: &Bed) {
        let token = bed.path().join("token");
        std::fs::write(&token, "0123456789abcdef0123456789abcdef\n").unwrap();
        readable(&token, 0o600);
    }

    #[test]
    #[ignore = "root: makes network namespaces"]
    fn a_peer_that_sees_another_address_serves_every_kind_of_test() {
        if !has_nft("a_peer_that_sees_another_address_serves_every_kind_of_test") {
            return;
        }
        let bed = Bed::new();
        token_file(&bed);
        let tests = [
            "net.tcp",
            "net.tcp-down",
            "net.udp",
            "net.udp-down",
            "net.udp-max",
            "net.rr",
            "net.rr-udp",
            "net.rr-loaded",
            "net.connect",
        ];
        let more = [
            "--copies",
            "1",
            "--passes",
            "1",
            "--peer",
            "10.80.0.2",
            "--token-file",
            "token",
            "--set",
            "net.*.time=1s",
        ];
        let args = [&["run"][..], &tests, &more].concat();
        bed.behind(
            &["unshare", "-n", "bash", "-ec", BEHIND_A_ROUTER, "bash"],
            &args,
        )
        .code(0);
        assert_eq!(all_measured(&kept(&bed)).count(), tests.len());
        let served = std::fs::read_to_string(bed.path().join("served")).unwrap();
        assert!(served.contains(" 10.80.0.1:"), "{served}");
        assert!(!served.contains("192.168.7."), "{served}");
    }

    #[test]
    #[ignore = "root: makes a network namespace"]
    fn datagrams_that_a_server_cannot_send_end_the_test_with_its_words() {
        let bed = Bed::new();
        token_file(&bed);
        // `$1` is the binary.
        let script = "\
            ip link set lo mtu 1500 up\n\
            \"$1\" net serve --token-file token >served 2>&1 &\n\
            trap \"kill $!\" EXIT\n\
            n=0; until grep -q 'serving at' served; do n=$((n+1)); [ $n -lt 100 ]; sleep 0.1; done\n\
            \"$@\"";
        let args = "run net.udp-down --passes 1 --peer 127.0.0.1 --token-file token \
                    --set net.udp-down.size=9000";
        let args: Vec<&str> = args.split_whitespace().collect();
        let done = bed.behind(&["unshare", "-n", "bash", "-ec", script, "bash"], &args);
        says(
            &done.code(4),
            &["one of its streams failed", "Message too long"],
        );
        let served = std::fs::read_to_string(bed.path().join("served")).unwrap();
        assert!(
            served.contains("ended early, send: Message too long"),
            "{served}"
        );
    }

    #[test]
    #[ignore = "root: makes network namespaces"]
    fn a_link_that_comes_up_again_is_gone_on_with() {
        if !is_installed("a_link_that_comes_up_again_is_gone_on_with") {
            return;
        }
        // Sooner than the round is given up, and later: then the next one is measured.
        for (seconds, failed) in [("2", &[false][..]), ("13", &[true, false])] {
            let bed = Bed::new();
            // While data is measured.
            let meanwhile = format!(
                "(until awk '$1 == \"v0:\" && $10 > 1e8 {{ found = 1 }} END {{ exit !found }}' \
                   /proc/net/dev; do sleep 0.1; done; \
                 sleep 2; ip link set v0 down; sleep {seconds}; ip link set v0 up) >/dev/null 2>&1 &\n"
            );
            let passes = failed.len().to_string();
            let args = ["run", "net.tcp", "--passes", &passes, "--peer", "10.77.0.2"];
            let time = ["--set", "net.tcp.time=8s"];
            between(&bed, &meanwhile, &[&args[..], &time].concat()).code(0);
            let run = kept(&bed);
            let found: Vec<bool> = run
                .rounds
                .iter()
                .map(|one| one.failure().is_some())
                .collect();
            assert_eq!(found, failed, "{seconds} s");
            if failed == [false] {
                let (_, _, measured) = all_measured(&run).next().unwrap();
                let most = measured.windows.iter().copied().fold(0.0, f64::max);
                let is_still = |window: &f64| *window < most / 100.0;
                assert!(
                    measured.windows.iter().any(is_still),
                    "{:?}",
                    measured.windows
                );
            }
        }
    }

    #[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
    fn has_nft(test: &str) -> bool {
        let nat = "add table ip n; add chain ip n out { type nat hook postrouting priority 100; }; \
                   add rule ip n out masquerade";
        let tried = program("unshare").args(["-n", "nft", nat]).output();
        let is_there = tried.is_ok_and(|tried| tried.status.success());
        if !is_there {
            eprintln!("skipped: {test}: no nft, or no NAT in the kernel");
        }
        is_there
    }
}
