//! The network stack of this machine alone, on the real binary: figures that fit each other, and loopback that is not
//! there.

use crate::bed::Bed;
use model::record::{Measured, Outcome, Run};

const COPIES: f64 = 2.0;

/// What a case was measured as in its one round.
fn measured<'a>(run: &'a Run, test: &str) -> &'a Measured {
    let mut rounds = run.rounds.iter().filter(|round| round.case.test == test);
    let round = rounds.next().unwrap_or_else(|| panic!("no {test}"));
    match &round.outcome {
        Outcome::Done(measured) => measured,
        Outcome::Failed(failure) => panic!("{test}: {failure}"),
    }
}

/// A figure of it.
fn figure(measured: &Measured, quantity: &str) -> f64 {
    *measured
        .values
        .get(quantity)
        .unwrap_or_else(|| panic!("no {quantity}: {:?}", measured.missing))
}

#[test]
fn figures_fit_each_other() {
    let bed = Bed::new();
    bed.run(&["run", "net-local", "--copies", "2", "--passes", "1"])
        .code(0);
    let kept = bed.run(&["export", "latest"]).code(0).out;
    let run = store::export::read(&kept).unwrap();
    let cpus = model::num::count(sys::affinity::allowed_cpus().unwrap().len());
    for test in ["net.local-rr", "net.local-rr-udp", "net.local-connect"] {
        let measured = measured(&run, test);
        let of = |quantity| figure(measured, quantity);
        // One is under way for each copy: a rate is the copies over the mean.
        let under_way = of("ops_per_s") * of("lat_ns_mean") / 1e9;
        assert!((under_way / COPIES - 1.0).abs() < 0.2, "{test} {under_way}");
        assert!(of("lat_ns_p50") <= of("lat_ns_p99"), "{test}");
        assert!(of("lat_ns_p99") <= of("lat_ns_max"), "{test}");
        // Both sides of both copies have no more CPUs than there are.
        let used = of("ops_per_s") * of("cpu_ns_per_op") / 1e9;
        assert!(
            used > 0.0 && used < 1.1 * cpus.min(2.0 * COPIES),
            "{test} {used}"
        );
    }
    assert!(figure(measured(&run, "net.local-rr-udp"), "lost_share") < 0.001);
    let rr = measured(&run, "net.local-rr");
    assert!(!rr.values.contains_key("lost_share"), "TCP loses nothing");
    let flows = measured(&run, "net.local-tcp");
    let of = |quantity| figure(flows, quantity);
    let sides = of("send_cpu_ns_per_gb") + of("recv_cpu_ns_per_gb");
    assert!((sides / of("cpu_ns_per_gb") - 1.0).abs() < 1e-6);
    let used = of("bytes_per_s") / 1e9 * of("cpu_ns_per_gb") / 1e9;
    assert!(used > 0.0 && used < 1.2 * cpus.min(2.0 * COPIES), "{used}");
    let all = run
        .rounds
        .iter()
        .map(|round| measured(&run, &round.case.test));
    let copies = all.flat_map(|measured| &measured.copies);
    assert_eq!(copies.map(|copy| copy.allocations).sum::<u64>(), 0);
    assert_eq!(bed.left_behind(), [""; 0]);
}

#[test]
fn the_profile_says_what_it_measures_and_what_its_parameters_take() {
    let bed = Bed::new();
    bed.run(&["run", "net-local", "--dry-run"])
        .code(0)
        .out_has(&[
            "net.local-rr@1",
            "net.local-rr-udp@4",
            "net.local-tcp@4",
            "net.local-connect@1",
        ]);
    for (wrong, says) in [
        ("net.local-rr.size=40k", "from 1 byte to 32k"),
        ("net.local-tcp.size=1", "from 64 bytes to 4M"),
        ("net.local-connect.ip=5", "one of 4, 6"),
    ] {
        let test = wrong.rsplit_once('.').unwrap().0;
        bed.run(&["run", test, "--dry-run", "--set", wrong])
            .code(2)
            .err_has(&[says]);
    }
}

mod root {
    use super::*;

    /// All tests, once, behind a network of their own that was made so.
    fn run_where(bed: &Bed, network: &str) -> crate::bed::Done {
        let script = format!("{network} exec \"$@\"");
        let apart = ["unshare", "-n", "sh", "-ec", &script, "sh"];
        let args = ["run", "net-local", "--copies", "1", "--passes", "1"];
        bed.behind(&apart, &args)
    }

    #[test]
    #[ignore = "root: makes a network namespace"]
    fn no_connection_keeps_its_ports() {
        let bed = Bed::new();
        let script = "ip link set lo up; \"$@\" >&2; cat /proc/net/sockstat";
        let apart = ["unshare", "-n", "sh", "-ec", script, "sh"];
        let args = ["run", "net.local-connect", "--copies", "2", "--passes", "1"];
        let counts = bed.behind(&apart, &args).code(0).out;
        // Those that the kernel keeps in `TIME_WAIT`, each for a minute.
        let line = counts.lines().find(|line| line.starts_with("TCP:"));
        let mut words = line.unwrap().split_whitespace();
        let waiting: u64 = (words.find(|word| *word == "tw"))
            .and_then(|_| words.next()?.parse().ok())
            .unwrap();
        let kept = bed.run(&["export", "latest"]).code(0).out;
        let run = store::export::read(&kept).unwrap();
        let copies = &measured(&run, "net.local-connect").copies;
        let connections: u64 = copies.iter().map(|copy| copy.ops).sum();
        assert!(connections > 100 && waiting < 20, "{connections}: {counts}");
    }

    #[test]
    #[ignore = "root: makes network namespaces"]
    fn loopback_that_is_down_and_ports_that_are_taken_are_told_at_once() {
        let begin = sys::clock::monotonic();
        let bed = Bed::new();
        run_where(&bed, "").code(4).out_says(&[
            "connect to `127.0.0.1:",
            "loopback is down",
            "hint: `ip link set lo up`",
        ]);
        // The port that the server has is the only one.
        let one_port =
            "ip link set lo up; echo 40000 40000 >/proc/sys/net/ipv4/ip_local_port_range;";
        let bed = Bed::new();
        run_where(&bed, one_port)
            .code(4)
            .out_says(&["no port is free", "`sysctl net.ipv4.ip_local_port_range`"]);
        let took = sys::clock::monotonic() - begin;
        assert!(took < 30_000_000_000, "{took} ns");
    }

    #[test]
    #[ignore = "root: makes a network namespace"]
    fn packets_that_do_not_come_are_told_within_their_deadline() {
        let bed = Bed::new();
        // A queue of one byte takes no packet.
        let script = "ip link set lo up; tc qdisc add dev lo root bfifo limit 1; exec \"$@\"";
        let apart = ["unshare", "-n", "sh", "-ec", script, "sh"];
        let args = ["run", "net.local-rr-udp", "--copies", "1", "--passes", "1"];
        let begin = sys::clock::monotonic();
        bed.behind(&apart, &args).code(4).out_says(&[
            "`127.0.0.1:",
            "nothing came back for 5 s",
            "filter drops",
        ]);
        let took = sys::clock::monotonic() - begin;
        assert!((5_000_000_000..20_000_000_000).contains(&took), "{took} ns");
    }

    #[test]
    #[ignore = "root: makes a network namespace"]
    fn without_ipv6_the_hint_is_the_other_version() {
        let bed = Bed::new();
        let script =
            "ip link set lo up; echo 1 >/proc/sys/net/ipv6/conf/lo/disable_ipv6; exec \"$@\"";
        let apart = ["unshare", "-n", "sh", "-ec", script, "sh"];
        let set = ["--set", "net.local-rr.ip=6"];
        let args = [
            &["run", "net.local-rr", "--copies", "1", "--passes", "1"],
            &set[..],
        ]
        .concat();
        bed.behind(&apart, &args)
            .code(4)
            .out_says(&["bind to `[::1]:0`", "`--set 'net.local-*.ip=4'`"]);
    }
}
