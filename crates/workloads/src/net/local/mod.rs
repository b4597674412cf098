//! `net.local-*`: what this machine's own network stack costs, over loopback and without a peer.
//!
//! Each copy is a process with two threads, one for each side, so that both sides are on this machine and share its
//! CPUs. Nobody is pinned: where the scheduler puts the two is part of what is measured. A port is one that the
//! kernel has free, and nothing but 127.0.0.1 or `::1` is ever bound to.

mod connect;
mod rr;
mod tcp;

pub(crate) use connect::LOCAL_CONNECT;
pub(crate) use rr::LOCAL_RR;
pub(crate) use tcp::LOCAL_TCP;

use super::exchange::{PATIENCE, is_time_out};
use engine::workload::WorkError;
use model::params::Params;
use model::spec::{How, MetricClass, MetricDef, ParamDef, ParamKind, Time};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use sys::limits::{MORE_FILES, is_out_of_files};
use sys::process::Usage;

/// The version of IP.
const IP: ParamDef = ParamDef {
    name: "ip",
    kind: ParamKind::Choice(&["4", "6"]),
    default: "4",
    doc: "The version of IP: over 127.0.0.1, or over ::1.",
};

/// What a thing that is done again and again costs both sides.
const CPU_PER_OP: MetricDef = MetricDef::time(
    "cpu_ns_per_op",
    MetricClass::System,
    How::TimePerOp(Time::Cpu),
    "CPU time, user and system, of both sides over the operations. What the kernel does outside of both, as in \
     ksoftirqd, is not in it.",
);

/// The address of loopback.
fn loopback(params: &Params) -> IpAddr {
    match params.text(IP.name) {
        "6" => Ipv6Addr::LOCALHOST.into(),
        _ => Ipv4Addr::LOCALHOST.into(),
    }
}

const fn cpu_ns(used: Usage) -> u64 {
    used.user + used.system
}

/// A port that connections come to, and where it is.
fn listen(ip: IpAddr) -> Result<(TcpListener, SocketAddr), WorkError> {
    let any = SocketAddr::new(ip, 0);
    let bound = TcpListener::bind(any).and_then(|listener| {
        let at = listener.local_addr()?;
        Ok((listener, at))
    });
    bound.map_err(|error| failed(Call::Bind, any, &error))
}

/// A connection: the side that connected, the side that it came to, and where that is.
fn connected(ip: IpAddr) -> Result<(TcpStream, TcpStream, SocketAddr), WorkError> {
    let (listener, at) = listen(ip)?;
    let told = |error: io::Error| failed(Call::Connect, at, &error);
    let client = TcpStream::connect_timeout(&at, PATIENCE).map_err(told)?;
    let own = client.local_addr().map_err(told)?;
    loop {
        let (server, from) = listener.accept().map_err(told)?;
        // Everybody on this machine may connect to a port of loopback.
        if from == own {
            return Ok((client, server, at));
        }
    }
}

/// What was asked of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Bind,
    Accept,
    Connect,
    /// Bytes to a peer and back.
    Talk,
}

/// Why it failed, and what helps where that is known.
#[cold]
fn failed(call: Call, at: SocketAddr, error: &io::Error) -> WorkError {
    let operation = match call {
        Call::Bind => "bind to",
        Call::Accept => "accept connections to",
        Call::Connect => "connect to",
        Call::Talk => "send to and receive from",
    };
    let said = format!("{operation} `{at}`: {error}");
    match (call, error.kind()) {
        _ if is_out_of_files(error) => WorkError::Failed(format!("{said}\n{MORE_FILES}")),
        // An address that is no longer, or not yet, one of this machine.
        (Call::Bind, ErrorKind::AddrNotAvailable) | (_, ErrorKind::NetworkUnreachable) => {
            let hint = match at {
                SocketAddr::V4(_) => "",
                SocketAddr::V6(_) => "; without IPv6, `--set 'net.local-*.ip=4'`",
            };
            WorkError::Unsupported(format!(
                "{said}: loopback is down or has no such address\nhint: `ip link set lo up`{hint}"
            ))
        }
        (Call::Bind, ErrorKind::AddrInUse) | (Call::Connect, ErrorKind::AddrNotAvailable) => {
            WorkError::Failed(format!(
                "{said}: no port is free\nhint: `sysctl net.ipv4.ip_local_port_range` says which there are, `ss -tan` \
                 who has them"
            ))
        }
        (Call::Bind, _) if at.is_ipv6() => WorkError::Unsupported(format!(
            "{said}\nhint: without IPv6, `--set 'net.local-*.ip=4'`"
        )),
        _ if is_time_out(error) => WorkError::Failed(format!(
            "{operation} `{at}`: nothing came back for {} s\nhint: loopback is down (`ip link set lo up`), or a packet \
             filter drops what goes to that port or comes from it (`nft list ruleset`)",
            PATIENCE.as_secs()
        )),
        (_, ErrorKind::InvalidData) => WorkError::Wrong(format!(
            "{operation} `{at}`: what came back is not what was sent"
        )),
        _ => WorkError::Failed(said),
    }
}

/// What a thread that has panicked leaves.
#[cold]
fn gone(at: SocketAddr) -> WorkError {
    WorkError::Failed(format!("serve `{at}`: the thread has ended without a word"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::testing;
    use engine::recorder::{Latencies, Recorder};
    use engine::workload::Workload;
    use model::latency::LAT;
    use model::spec::Nature;

    const ALL: [&dyn Workload; 3] = [&LOCAL_RR, &LOCAL_TCP, &LOCAL_CONNECT];

    /// Every test with its parameters, over both versions of IP where there are both.
    fn each(mut check: impl FnMut(&dyn Workload, &str, &[(&str, &str)])) {
        let ips = ["4", "6"].map(|ip| {
            let params = testing::params(&LOCAL_RR, &[("ip", ip)]);
            (ip, listen(loopback(&params)).is_ok())
        });
        for (ip, _) in ips.iter().filter(|(_, is_there)| *is_there) {
            for workload in ALL {
                for test in workload.spec().tests {
                    let params: Vec<(&str, &str)> =
                        test.params.iter().copied().chain([("ip", *ip)]).collect();
                    check(workload, test.name, &params);
                }
            }
        }
        assert!(ips[0].1, "loopback is up");
    }

    #[test]
    fn every_test_does_what_is_asked_and_ends_its_other_side() {
        each(|workload, test, params| {
            let (_root, place) = testing::place();
            let mut body = testing::prepare(workload, params, &place).unwrap();
            let mut recorder = if body.records_latency() {
                Recorder::on(place.clock())
            } else {
                Recorder::off()
            };
            body.batch(20, &mut recorder).unwrap();
            recorder.clear();
            body.measured_part_begins();
            assert_eq!(body.batch(100, &mut recorder).unwrap(), 100, "{test}");
            let finish = body.finish().unwrap();
            let timed = recorder.named().get(LAT).map(Latencies::count);
            assert!(matches!(timed, None | Some(100)), "{test}: {timed:?}");
            for metric in workload.metrics(&testing::params(workload, params)) {
                if matches!(metric.how, How::Reported(_)) {
                    assert!(finish.reported.contains_key(metric.quantity), "{test}");
                }
            }
        });
    }

    #[test]
    fn a_body_dropped_halfway_ends_its_other_side() {
        // Dropping waits for the thread: one that did not end would hold the test up.
        each(|workload, _, params| {
            let (_root, place) = testing::place();
            let mut body = testing::prepare(workload, params, &place).unwrap();
            body.batch(3, &mut Recorder::off()).unwrap();
            drop(body);
        });
    }

    #[test]
    fn all_are_of_the_network_and_none_declares_a_figure_of_another_time() {
        for workload in ALL {
            let spec = workload.spec();
            assert_eq!(spec.nature, Nature::Network, "{}", spec.name);
            assert!(spec.metrics[0].unit.is_rate(), "{}", spec.name);
            let per_cpu = |metric: &MetricDef| matches!(metric.how, How::Per(_, Time::Cpu));
            assert!(!spec.metrics.iter().any(per_cpu), "who waits is off a CPU");
        }
    }

    #[test]
    fn what_fails_says_where_and_what_helps() {
        let v4: SocketAddr = "127.0.0.1:7".parse().unwrap();
        let v6: SocketAddr = "[::1]:7".parse().unwrap();
        let check = |call, at, error: io::Error, unsupported: bool, says: &[&str]| {
            let error = failed(call, at, &error);
            let is = matches!(error, WorkError::Unsupported(_));
            assert_eq!(is, unsupported, "{error}");
            for needle in says {
                assert!(error.to_string().contains(needle), "{needle}: {error}");
            }
        };
        let os = io::Error::from_raw_os_error;
        let kind = |kind: ErrorKind| io::Error::from(kind);
        let up = "hint: `ip link set lo up`";
        let v4_only = "`--set 'net.local-*.ip=4'`";
        let bind = "bind to `127.0.0.1:7`: ";
        check(Call::Bind, v4, os(24), false, &[bind, "`ulimit -n`"]);
        check(Call::Bind, v6, os(24), false, &["`ulimit -n`"]);
        let no_address = || kind(ErrorKind::AddrNotAvailable);
        check(
            Call::Bind,
            v4,
            no_address(),
            true,
            &["loopback is down", up],
        );
        check(Call::Bind, v6, no_address(), true, &[up, v4_only]);
        check(Call::Bind, v6, os(97), true, &["`[::1]:7`", v4_only]);
        let ports = ["no port is free", "ip_local_port_range"];
        check(Call::Connect, v4, no_address(), false, &ports);
        check(Call::Bind, v4, kind(ErrorKind::AddrInUse), false, &ports);
        let unreachable = || kind(ErrorKind::NetworkUnreachable);
        check(Call::Connect, v4, unreachable(), true, &["connect to", up]);
        let silent = ["`127.0.0.1:7`: nothing came back for 5 s", "filter"];
        check(Call::Talk, v4, os(11), false, &silent);
        check(Call::Connect, v4, kind(ErrorKind::TimedOut), false, &silent);
        let refused = || kind(ErrorKind::ConnectionRefused);
        check(Call::Connect, v4, refused(), false, &["refused"]);
        let wrong = failed(Call::Talk, v4, &kind(ErrorKind::InvalidData));
        assert!(matches!(wrong, WorkError::Wrong(_)), "{wrong}");
    }
}
