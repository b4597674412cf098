//! The document of `--json`, with the keys and units of iperf3 3.12.

mod end;

use super::super::arguments::{Direction, Options, Until};
use super::{Host, bits_per_s, datagrams, lost_percent, socket};
use crate::printable;
use end::End;
use model::flows::{
    Begun, Counted, Datagrams, Ended, Greeted, Interval, Kernel, Moved, RemoteReport,
};
use model::units::{Bytes, Nanos};
use serde::Serialize;
use serde_json::Value;

/// What there is to tell of a test; as much of it as came.
#[derive(Clone, Debug)]
pub struct Document<'a> {
    /// What was asked for.
    pub options: &'a Options,
    /// Who prints.
    pub host: &'a Host,
    /// Where there is a server.
    pub greeted: Option<Greeted>,
    /// Where data flowed.
    pub begun: Option<Begun>,
    /// Those that are over.
    pub intervals: Vec<Interval>,
    /// Where it came so far.
    pub ended: Option<Ended>,
    /// Why it did not come to its end.
    pub error: Option<String>,
}

impl Document<'_> {
    /// The text.
    pub fn text(&self) -> String {
        let report = self
            .ended
            .as_ref()
            .and_then(|ended| ended.remote_report.as_ref());
        let (mut text, mut json) = (None, None);
        match report {
            Some(RemoteReport::Text(report)) => text = Some(report.as_str()),
            // What is no document after all is told as it came.
            Some(RemoteReport::Json(report)) => match serde_json::from_str::<Value>(report) {
                Ok(value) => json = Some(value),
                Err(_) => text = Some(report.as_str()),
            },
            None => {}
        }
        let all = All {
            start: self.start(),
            intervals: self.intervals.iter().map(Part::of).collect(),
            end: self.ended.as_ref().map_or_else(End::default, End::of),
            title: self.options.title.as_deref(),
            extra_data: self.options.extra_data.as_deref(),
            server_output_text: text,
            server_output_json: json,
            error: self.error.as_deref(),
        };
        let text = serde_json::to_string_pretty(&all);
        printable::json(text.expect("strings and numbers are JSON")) + "\n"
    }

    fn start(&self) -> Head<'_> {
        let (options, host) = (self.options, self.host);
        let connected = self.begun.iter().flat_map(|begun| &begun.flows).enumerate();
        let connected = connected.map(|(place, flow)| Connected {
            socket: socket(place),
            local_host: flow.local.ip().to_string(),
            local_port: flow.local.port(),
            remote_host: flow.remote.ip().to_string(),
            remote_port: flow.remote.port(),
        });
        let greeted = self.greeted.as_ref();
        let buffers = self.begun.as_ref().map(|begun| begun.buffers);
        Head {
            connected: connected.collect(),
            version: &host.version,
            system_info: &host.system,
            timestamp: greeted.map(|_| Timestamp {
                time: &host.time,
                timesecs: host.time_s,
            }),
            connecting_to: greeted.map(|_| ConnectingTo {
                host: &options.host,
                port: options.port,
            }),
            cookie: greeted.map(|greeted| greeted.cookie.as_str()),
            tcp_mss: options.mss.filter(|_| greeted.is_some()),
            tcp_mss_default: greeted
                .map(|greeted| greeted.mss)
                .filter(|_| options.mss.is_none() && !options.udp),
            target_bitrate: greeted.map(|_| options.bits_per_s),
            sock_bufsize: buffers.map(|_| options.window.map_or(0, |window| window.0)),
            sndbuf_actual: buffers.map(|[sndbuf, _]| sndbuf.0),
            rcvbuf_actual: buffers.map(|[_, rcvbuf]| rcvbuf.0),
            test_start: greeted
                .zip(buffers)
                .map(|(greeted, _)| TestStart::of(options, greeted.block)),
        }
    }
}

/// A number, without a fraction where it is whole, as iperf3 writes it.
struct Real(f64);

impl Serialize for Real {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self(value) = *self;
        let whole = model::num::round_to_u64(value);
        if model::num::approx(whole).to_bits() == value.to_bits() {
            to.serialize_u64(whole)
        } else {
            to.serialize_f64(value)
        }
    }
}

fn seconds(nanos: Nanos) -> Real {
    Real(nanos.as_secs_f64())
}

/// In whole microseconds.
const fn micros(nanos: Nanos) -> u64 {
    nanos.0 / 1000
}

#[derive(Serialize)]
struct All<'a> {
    start: Head<'a>,
    intervals: Vec<Part>,
    end: End<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_data: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_output_text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_output_json: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

#[derive(Serialize)]
struct Head<'a> {
    connected: Vec<Connected>,
    version: &'a str,
    system_info: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp: Option<Timestamp<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    connecting_to: Option<ConnectingTo<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cookie: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tcp_mss: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tcp_mss_default: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target_bitrate: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sock_bufsize: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sndbuf_actual: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rcvbuf_actual: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    test_start: Option<TestStart>,
}

#[derive(Serialize)]
struct Connected {
    socket: usize,
    local_host: String,
    local_port: u16,
    remote_host: String,
    remote_port: u16,
}

#[derive(Serialize)]
struct Timestamp<'a> {
    time: &'a str,
    timesecs: u64,
}

#[derive(Serialize)]
struct ConnectingTo<'a> {
    host: &'a str,
    port: u16,
}

#[derive(Serialize)]
struct TestStart {
    protocol: &'static str,
    num_streams: u32,
    blksize: u64,
    omit: u32,
    duration: u32,
    bytes: u64,
    blocks: u64,
    reverse: u32,
    tos: u32,
    target_bitrate: u64,
}

impl TestStart {
    fn of(options: &Options, block: Bytes) -> Self {
        let (duration, bytes, blocks) = match options.until {
            Until::Seconds(seconds) => (seconds, 0, 0),
            Until::Bytes(bytes) => (0, bytes.0, 0),
            Until::Blocks(blocks) => (0, 0, blocks),
        };
        Self {
            protocol: if options.udp { "UDP" } else { "TCP" },
            num_streams: options.parallel,
            blksize: block.0,
            omit: options.omit,
            duration,
            bytes,
            blocks,
            reverse: u32::from(options.direction == Direction::Reverse),
            tos: 0,
            target_bitrate: options.bits_per_s,
        }
    }
}

/// What was moved in a span; every line of iperf3's that counts something begins so.
#[derive(Serialize)]
struct Span {
    start: Real,
    end: Real,
    seconds: Real,
    bytes: u64,
    bits_per_second: Real,
}

impl Span {
    fn of(start: Nanos, counted: Counted) -> Self {
        Self {
            start: seconds(start),
            end: seconds(start.plus(counted.span)),
            seconds: seconds(counted.span),
            bytes: counted.bytes.0,
            bits_per_second: Real(bits_per_s(counted)),
        }
    }
}

/// An interval.
#[derive(Serialize)]
struct Part {
    streams: Vec<PartOfStream>,
    sum: Sum,
    #[serde(skip_serializing_if = "Option::is_none")]
    sum_bidir_reverse: Option<Sum>,
}

#[derive(Serialize)]
struct PartOfStream {
    socket: usize,
    #[serde(flatten)]
    span: Span,
    #[serde(flatten)]
    kernel: Option<KernelOfPart>,
    #[serde(flatten)]
    datagrams: Option<DatagramsOfPart>,
    omitted: bool,
    sender: bool,
}

/// Datagrams: of a sender those that it sent alone.
#[derive(Serialize)]
struct DatagramsOfPart {
    #[serde(flatten)]
    came: Option<Came>,
    packets: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lost_percent: Option<Real>,
}

/// What a receiver knows beside their count.
#[derive(Serialize)]
struct Came {
    jitter_ms: Real,
    lost_packets: u64,
}

impl Came {
    fn of(datagrams: Datagrams) -> Self {
        Self {
            jitter_ms: Real(datagrams.jitter.as_secs_f64() * 1e3),
            lost_packets: datagrams.lost,
        }
    }
}

impl DatagramsOfPart {
    fn of(datagrams: Datagrams, sends: bool) -> Self {
        let receives = Some(datagrams).filter(|_| !sends);
        Self {
            came: receives.map(Came::of),
            packets: datagrams.packets,
            lost_percent: receives.map(|own| Real(lost_percent(own))),
        }
    }
}

#[derive(Serialize)]
struct KernelOfPart {
    retransmits: u32,
    snd_cwnd: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    snd_wnd: Option<u64>,
    rtt: u64,
    rttvar: u64,
    pmtu: u64,
}

impl KernelOfPart {
    fn of(kernel: Kernel) -> Self {
        Self {
            retransmits: kernel.retransmits,
            snd_cwnd: kernel.snd_cwnd.0,
            snd_wnd: kernel.snd_wnd.map(|bytes| bytes.0),
            rtt: micros(kernel.rtt),
            rttvar: micros(kernel.rttvar),
            pmtu: kernel.pmtu.0,
        }
    }
}

#[derive(Serialize)]
struct Sum {
    #[serde(flatten)]
    span: Span,
    #[serde(skip_serializing_if = "Option::is_none")]
    retransmits: Option<u64>,
    #[serde(flatten)]
    datagrams: Option<DatagramsOfPart>,
    /// Of an interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    omitted: Option<bool>,
    sender: bool,
}

impl Part {
    fn of(interval: &Interval) -> Self {
        let counted = |bytes| Counted {
            bytes,
            span: interval.span(),
        };
        let stream = |(place, moved): (usize, &Moved)| PartOfStream {
            socket: socket(place),
            span: Span::of(interval.start, counted(moved.bytes)),
            kernel: moved.kernel.filter(|_| moved.sends).map(KernelOfPart::of),
            datagrams: moved
                .datagrams
                .map(|own| DatagramsOfPart::of(own, moved.sends)),
            omitted: interval.is_omitted,
            sender: moved.sends,
        };
        let sums = [true, false].map(|sends| {
            let all: Vec<&Moved> = interval
                .moved
                .iter()
                .filter(|moved| moved.sends == sends)
                .collect();
            let bytes = Bytes(all.iter().map(|moved| moved.bytes.0).sum());
            let again = all
                .iter()
                .map(|moved| moved.kernel.map(|kernel| u64::from(kernel.retransmits)));
            let again: Option<u64> = again.sum();
            (!all.is_empty()).then(|| Sum {
                span: Span::of(interval.start, counted(bytes)),
                retransmits: again.filter(|_| sends),
                datagrams: datagrams(all.iter().map(|moved| moved.datagrams))
                    .map(|own| DatagramsOfPart::of(own, sends)),
                omitted: Some(interval.is_omitted),
                sender: sends,
            })
        });
        let [up, down] = sums;
        let empty = || Sum {
            span: Span::of(interval.start, counted(Bytes(0))),
            retransmits: None,
            datagrams: None,
            omitted: Some(interval.is_omitted),
            sender: false,
        };
        let (sum, reverse) = match (up, down) {
            (Some(up), down) => (up, down),
            (None, Some(down)) => (down, None),
            (None, None) => (empty(), None),
        };
        Self {
            streams: interval.moved.iter().enumerate().map(stream).collect(),
            sum,
            sum_bidir_reverse: reverse,
        }
    }
}
