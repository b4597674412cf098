//! Lines, in the columns of iperf3 3.12.

use super::super::arguments::{Direction, Options, Until};
use super::{
    Host, bits_per_s, by_direction, datagrams, lost_percent, retransmits, scale, sent, socket, sum,
};
use model::flows::{
    Begun, Carried, Counted, Cpu, Datagrams, Ended, Greeted, Interval, Moved, RemoteReport,
};
use model::units::{Bytes, Nanos};
use std::fmt::Write as _;

const RULE: &str = "- - - - - - - - - - - - - - - - - - - - - - - - -\n";

/// Before anybody is asked.
pub fn opening(options: &Options, host: &Host) -> String {
    if options.verbose {
        titled(options, format!("{}\n{}\n", host.version, host.system))
    } else {
        String::new()
    }
}

/// What iperf3 says of datagrams that may not go whole, apart from everything else.
pub fn warning(options: &Options, greeted: &Greeted) -> Option<String> {
    let (block, mss) = (greeted.block.0, greeted.mss);
    (options.udp && block > mss.into()).then(|| {
        format!(
            "warning: UDP block size {block} exceeds TCP MSS {mss}, may result in fragmentation / drops"
        )
    })
}

/// There is a server.
pub fn greeted(options: &Options, host: &Host, greeted: &Greeted) -> String {
    let mut text = String::new();
    if options.verbose {
        let _ = writeln!(text, "Control connection MSS {}", greeted.mss);
        if options.udp && options.length.is_none() {
            let _ = writeln!(text, "Setting UDP block size to {}", greeted.block.0);
        }
        let _ = writeln!(text, "Time: {}", host.time);
    }
    let _ = writeln!(
        text,
        "Connecting to host {}, port {}",
        options.host, options.port
    );
    if options.direction == Direction::Reverse {
        let _ = writeln!(
            text,
            "Reverse mode, remote host {} is sending",
            options.host
        );
    }
    if options.verbose {
        let _ = writeln!(text, "      Cookie: {}", greeted.cookie);
        let _ = match options.mss {
            _ if options.udp => Ok(()),
            Some(mss) => writeln!(text, "      TCP MSS: {mss}"),
            None => writeln!(text, "      TCP MSS: {} (default)", greeted.mss),
        };
        if options.bits_per_s > 0 {
            let _ = writeln!(text, "      Target Bitrate: {}", options.bits_per_s);
        }
    }
    titled(options, text)
}

/// Data flows from now on.
pub fn begun(options: &Options, greeted: &Greeted, begun: &Begun) -> String {
    let mut text = String::new();
    for (place, flow) in begun.flows.iter().enumerate() {
        let (local, remote) = (flow.local, flow.remote);
        let _ = writeln!(
            text,
            "[{:3}] local {} port {} connected to {} port {}",
            socket(place),
            local.ip(),
            local.port(),
            remote.ip(),
            remote.port()
        );
    }
    if options.verbose {
        let amount = match options.until {
            Until::Seconds(seconds) => format!("{seconds} second test"),
            Until::Bytes(bytes) => format!("{} bytes to send", bytes.0),
            Until::Blocks(blocks) => format!("{blocks} blocks to send"),
        };
        let protocol = if options.udp { "UDP" } else { "TCP" };
        let _ = writeln!(
            text,
            "Starting Test: protocol: {protocol}, {} streams, {} byte blocks, omitting {} seconds, {amount}, tos 0",
            options.parallel, greeted.block.0, options.omit
        );
    }
    let columns = match (options.udp, options.direction) {
        (true, Direction::Forward) => "         Total Datagrams",
        (true, _) => OF_DATAGRAMS,
        (false, Direction::Reverse) => "",
        (false, _) => "         Retr  Cwnd",
    };
    text += &heading(options, columns);
    titled(options, text)
}

/// The columns of a receiver of UDP.
const OF_DATAGRAMS: &str = "         Jitter    Lost/Total Datagrams";

/// An interval is over; the first one has no rule before it.
pub fn interval(options: &Options, interval: &Interval, is_first: bool) -> String {
    let mut text = String::new();
    if options.parallel > 1 && !is_first {
        text += RULE;
    }
    let mark = if interval.is_omitted { "(omitted)" } else { "" };
    for sends in [true, false] {
        let all = (0..)
            .zip(&interval.moved)
            .filter(|(_, moved)| moved.sends == sends);
        let all: Vec<(usize, &Moved)> = all.collect();
        for (place, moved) in &all {
            let name = format!("{:3}", socket(*place));
            let window = moved.kernel.map(|kernel| kernel.snd_cwnd);
            let again = moved.kernel.map(|kernel| u64::from(kernel.retransmits));
            let own = Own {
                again: again.filter(|_| sends),
                window: window.filter(|_| sends).map(|bytes| bytes.0),
                datagrams: moved.datagrams,
            };
            text += &moved_line(options, (&name, sends), interval, moved.bytes, own);
            text += mark;
            text.push('\n');
        }
        if all.len() > 1 {
            let bytes = Bytes(all.iter().map(|(_, moved)| moved.bytes.0).sum());
            let again = all
                .iter()
                .map(|(_, moved)| moved.kernel.map(|kernel| u64::from(kernel.retransmits)));
            let again: Option<u64> = again.sum();
            let own = Own {
                again: again.filter(|_| sends),
                window: None,
                datagrams: datagrams(all.iter().map(|(_, moved)| moved.datagrams)),
            };
            text += &moved_line(options, ("SUM", sends), interval, bytes, own);
            text += mark;
            text.push('\n');
        }
    }
    titled(options, text)
}

/// What a flow did in an interval beside its bytes.
#[derive(Clone, Copy)]
struct Own {
    again: Option<u64>,
    window: Option<u64>,
    datagrams: Option<Datagrams>,
}

fn moved_line(
    options: &Options,
    who: (&str, bool),
    interval: &Interval,
    bytes: Bytes,
    own: Own,
) -> String {
    let span = interval.span();
    let times = [interval.start, interval.end];
    let counted = Counted { bytes, span };
    let line = rate_line(options, who, times, counted);
    let own = match (own.datagrams, own.window) {
        (Some(datagrams), _) if who.1 => {
            let blanks = match options.direction {
                Direction::Both => 12,
                _ => 2,
            };
            format!("{:blanks$}{}  ", "", datagrams.packets)
        }
        (Some(datagrams), _) => received(datagrams),
        (None, Some(window)) => {
            let again = retransmitted(own.again);
            format!("{again}   {}       ", scale::bytes(window))
        }
        (None, None) => format!("{}{:BLANKS$}", retransmitted(own.again), ""),
    };
    line + &own
}

/// Behind the retransmits.
const BLANKS: usize = 13;

fn retransmitted(again: Option<u64>) -> String {
    match again {
        Some(again) => format!("  {again:3}"),
        None => "     ".to_owned(),
    }
}

/// The columns of a receiver of datagrams.
fn received(datagrams: Datagrams) -> String {
    let jitter = datagrams.jitter.as_secs_f64() * 1e3;
    let (lost, packets) = (datagrams.lost, datagrams.packets);
    let percent = scale::two_places(lost_percent(datagrams));
    format!("  {jitter:5.3} ms  {lost}/{packets} ({percent}%)  ")
}

fn role(options: &Options, sends: bool) -> &'static str {
    match (options.direction, sends) {
        (Direction::Both, true) => "[TX-C]",
        (Direction::Both, false) => "[RX-C]",
        _ => "",
    }
}

/// As far as the rate.
fn rate_line(
    options: &Options,
    (name, sends): (&str, bool),
    [start, end]: [Nanos; 2],
    counted: Counted,
) -> String {
    let role = role(options, sends);
    format!(
        "[{name}]{role} {:6.2}-{:<6.2} sec  {}  {}/sec",
        start.as_secs_f64(),
        end.as_secs_f64(),
        scale::bytes(counted.bytes.0),
        scale::rate(bits_per_s(counted), options.format),
    )
}

fn heading(options: &Options, columns: &str) -> String {
    let role = if options.direction == Direction::Both {
        "[Role]"
    } else {
        ""
    };
    format!("[ ID]{role} Interval           Transfer     Bitrate{columns}\n")
}

/// What both ends have counted, as far as it is known.
pub fn summary(options: &Options, ended: &Ended) -> String {
    let mut text = String::from(RULE);
    if options.verbose {
        text += "Test Complete. Summary Results:\n";
    }
    let columns = if options.udp {
        OF_DATAGRAMS
    } else {
        "         Retr"
    };
    text += &heading(options, columns);
    for (sends, flows) in by_direction(&ended.flows) {
        for (place, flow) in &flows {
            let name = format!("{:3}", socket(*place));
            let known = [
                (flow.sent, flow.retransmits, sent(flow)),
                (flow.received, None, flow.datagrams),
            ];
            text += &both_lines(options, (&name, sends), known);
        }
        if flows.len() > 1 {
            let flows: Vec<&Carried> = flows.into_iter().map(|(_, flow)| flow).collect();
            let all = |of: fn(&Carried) -> Option<Datagrams>| {
                let all = datagrams(flows.iter().map(|flow| of(flow)))?;
                // Those of each flow are told beside it.
                Some(Datagrams {
                    out_of_order: 0,
                    ..all
                })
            };
            let known = [
                (
                    sum(&flows, |flow| flow.sent),
                    retransmits(&flows),
                    all(sent),
                ),
                (
                    sum(&flows, |flow| flow.received),
                    None,
                    all(|flow| flow.datagrams),
                ),
            ];
            text += &both_lines(options, ("SUM", sends), known);
        }
        if options.verbose {
            text += &verbose(ended, sends);
        }
    }
    titled(options, text)
}

fn both_lines(
    options: &Options,
    who: (&str, bool),
    known: [(Option<Counted>, Option<u64>, Option<Datagrams>); 2],
) -> String {
    let mut text = String::new();
    for ((counted, again, datagrams), end) in known.into_iter().zip(["sender", "receiver"]) {
        let Some(counted) = counted else {
            continue;
        };
        let late = datagrams.map_or(0, |datagrams| datagrams.out_of_order);
        if late > 0 {
            let (role, seconds) = (role(options, who.1), counted.span.as_secs_f64());
            let _ = writeln!(
                text,
                "[SUM]{role} {:4.1}-{seconds:4.1} sec  {late} datagrams received out-of-order",
                0.0
            );
        }
        text += &rate_line(options, who, [Nanos::ZERO, counted.span], counted);
        let own = match datagrams {
            Some(datagrams) => received(datagrams),
            None => format!("{}{:BLANKS$}", retransmitted(again), ""),
        };
        text += &own;
        text += end;
        text.push('\n');
    }
    text
}

fn verbose(ended: &Ended, sends: bool) -> String {
    let mut text = String::new();
    let of = |cpu: Cpu| {
        let [total, user, system] = [cpu.total_percent?, cpu.user_percent?, cpu.system_percent?];
        Some(format!("{total:.1}% ({user:.1}%u/{system:.1}%s)"))
    };
    let (here, there) = if sends {
        ("sender", "receiver")
    } else {
        ("receiver", "sender")
    };
    if let Some((ours, theirs)) = of(ended.cpu).zip(of(ended.remote_cpu)) {
        let _ = writeln!(
            text,
            "CPU Utilization: local/{here} {ours}, remote/{there} {theirs}"
        );
    }
    let [sender, receiver] = congestions(ended, sends);
    for (side, name) in [("snd", sender), ("rcv", receiver)] {
        if let Some(name) = name {
            let _ = writeln!(text, "{side}_tcp_congestion {name}");
        }
    }
    text
}

/// The congestion control of who sends, and of who receives.
pub(super) fn congestions(ended: &Ended, sends: bool) -> [Option<&str>; 2] {
    let both = [
        ended.congestion.as_deref(),
        ended.remote_congestion.as_deref(),
    ];
    if sends { both } else { [both[1], both[0]] }
}

/// Behind everything else, of a test that came to its end.
pub fn closing(options: &Options, ended: &Ended) -> String {
    let mut text = String::new();
    match &ended.remote_report {
        Some(RemoteReport::Text(report)) => {
            let _ = write!(text, "\nServer output:\n{report}\n");
        }
        Some(RemoteReport::Json(report)) => {
            let _ = write!(text, "\nServer JSON output:\n{report}\n");
        }
        None => {}
    }
    text += "\niperf Done.\n";
    titled(options, text)
}

/// With the title before each line.
fn titled(options: &Options, text: String) -> String {
    let Some(title) = &options.title else {
        return text;
    };
    let mut titled = String::new();
    for line in text.lines() {
        let _ = writeln!(titled, "{title}:  {line}");
    }
    titled
}
