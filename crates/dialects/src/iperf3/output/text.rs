//! Lines, in the columns of iperf3 3.12.

use super::super::arguments::{Direction, Options, Until};
use super::{Host, bits_per_s, by_direction, retransmits, scale, socket, sum};
use model::flows::{Begun, Carried, Counted, Cpu, Ended, Greeted, Interval, Moved, RemoteReport};
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

/// There is a server.
pub fn greeted(options: &Options, host: &Host, greeted: &Greeted) -> String {
    let mut text = String::new();
    if options.verbose {
        let _ = writeln!(text, "Control connection MSS {}", greeted.mss);
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
pub fn begun(options: &Options, begun: &Begun) -> String {
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
        let _ = writeln!(
            text,
            "Starting Test: protocol: TCP, {} streams, {} byte blocks, omitting {} seconds, {amount}, tos 0",
            options.parallel, options.length.0, options.omit
        );
    }
    let columns = match options.direction {
        Direction::Reverse => "",
        Direction::Forward | Direction::Both => "         Retr  Cwnd",
    };
    text += &heading(options, columns);
    titled(options, text)
}

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
            let own = [
                again.filter(|_| sends),
                window.filter(|_| sends).map(|bytes| bytes.0),
            ];
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
            let own = [again.filter(|_| sends), None];
            text += &moved_line(options, ("SUM", sends), interval, bytes, own);
            text += mark;
            text.push('\n');
        }
    }
    titled(options, text)
}

fn moved_line(
    options: &Options,
    who: (&str, bool),
    interval: &Interval,
    bytes: Bytes,
    [again, window]: [Option<u64>; 2],
) -> String {
    let span = interval.span();
    let times = [interval.start, interval.end];
    let counted = Counted { bytes, span };
    let mut line = counted_line(options, who, times, counted, again);
    if let Some(window) = window {
        // In the place of the blanks behind the retransmits.
        line.truncate(line.len() - BLANKS);
        let _ = write!(line, "   {}       ", scale::bytes(window));
    }
    line
}

/// Behind the retransmits.
const BLANKS: usize = 13;

/// As far as the word at its end.
fn counted_line(
    options: &Options,
    (name, sends): (&str, bool),
    [start, end]: [Nanos; 2],
    counted: Counted,
    again: Option<u64>,
) -> String {
    let role = match (options.direction, sends) {
        (Direction::Both, true) => "[TX-C]",
        (Direction::Both, false) => "[RX-C]",
        _ => "",
    };
    let again = match again {
        Some(again) => format!("  {again:3}"),
        None => "     ".to_owned(),
    };
    format!(
        "[{name}]{role} {:6.2}-{:<6.2} sec  {}  {}/sec{again}{:BLANKS$}",
        start.as_secs_f64(),
        end.as_secs_f64(),
        scale::bytes(counted.bytes.0),
        scale::rate(bits_per_s(counted), options.format),
        ""
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
    text += &heading(options, "         Retr");
    for (sends, flows) in by_direction(&ended.flows) {
        for (place, flow) in &flows {
            let name = format!("{:3}", socket(*place));
            let known = (flow.sent, flow.retransmits, flow.received);
            text += &both_lines(options, (&name, sends), known);
        }
        if flows.len() > 1 {
            let flows: Vec<&Carried> = flows.into_iter().map(|(_, flow)| flow).collect();
            let known = (
                sum(&flows, |flow| flow.sent),
                retransmits(&flows),
                sum(&flows, |flow| flow.received),
            );
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
    (sent, again, received): (Option<Counted>, Option<u64>, Option<Counted>),
) -> String {
    let mut text = String::new();
    for (counted, again, end) in [(sent, again, "sender"), (received, None, "receiver")] {
        if let Some(counted) = counted {
            text += &counted_line(options, who, [Nanos::ZERO, counted.span], counted, again);
            text += end;
            text.push('\n');
        }
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
