//! Lines and documents of a test that is made by hand, beside what iperf3 3.12 printed.

use super::super::arguments::{Request, parse};
use super::json::Document;
use super::text;
use super::*;
use crate::iperf3::arguments::Options;
use model::flows::{
    Begun, Cpu, Datagrams, Ended, Flow, Greeted, Interval, Kernel, Moved, Peaks, RemoteReport,
};
use model::units::Bytes;
use serde_json::Value;

fn options(line: &str) -> Options {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    match parse(&words) {
        Ok(Request::Test(options)) => *options,
        other => panic!("{line}: {other:?}"),
    }
}

fn host() -> Host {
    Host {
        version: "iperf 3.12 (kurabe 0)".to_owned(),
        system: "Linux vm 6.1".to_owned(),
        time: "Fri, 27 Nov 2026 13:47:09 GMT".to_owned(),
        time_s: 1_795_787_229,
    }
}

fn begun(sends: &[bool]) -> Begun {
    let flow = |(place, &sends): (u16, &bool)| Flow {
        sends,
        local: format!("192.0.2.1:{}", 40_000 + place).parse().unwrap(),
        remote: "192.0.2.2:5201".parse().unwrap(),
    };
    Begun {
        flows: (0..).zip(sends).map(flow).collect(),
        buffers: [Bytes(16_384), Bytes(131_072)],
    }
}

/// Half a megabyte in a second.
fn interval(sends: &[bool], start_s: u64, is_omitted: bool) -> Interval {
    let moved = |&sends: &bool| Moved {
        sends,
        bytes: Bytes(499_712),
        kernel: Some(Kernel {
            retransmits: 2,
            snd_cwnd: Bytes(1_004_544),
            snd_wnd: Some(Bytes(111_616)),
            rtt: Nanos(76_000),
            rttvar: Nanos(13_000),
            pmtu: Bytes(65_535),
        }),
        datagrams: None,
    };
    Interval {
        start: Nanos::from_secs(start_s),
        end: Nanos::from_secs(start_s + 1),
        is_omitted,
        moved: sends.iter().map(moved).collect(),
    }
}

fn ended(sends: &[bool]) -> Ended {
    let counted = |span| {
        Some(Counted {
            bytes: Bytes(999_424),
            span,
        })
    };
    let carried = |&sends: &bool| Carried {
        sends,
        sent: counted(Nanos::from_secs(2)),
        received: counted(Nanos::from_millis(2100)),
        retransmits: Some(4),
        peaks: Some(Peaks {
            snd_cwnd: Bytes(1_004_544),
            snd_wnd: Bytes(111_616),
            rtt_max: Nanos(90_000),
            rtt_min: Nanos(70_000),
            rtt_mean: Nanos(80_000),
        }),
        sent_packets: None,
        datagrams: None,
    };
    let cpu = Cpu {
        total_percent: Some(3.5),
        user_percent: Some(0.5),
        system_percent: Some(3.0),
    };
    Ended {
        span: Nanos::from_secs(2),
        flows: sends.iter().map(carried).collect(),
        cpu,
        remote_cpu: cpu,
        congestion: Some("bbr".to_owned()),
        remote_congestion: Some("cubic".to_owned()),
        remote_report: None,
    }
}

fn met(options: &Options) -> Greeted {
    Greeted {
        cookie: "abc".to_owned(),
        mss: 32_768,
        block: options.length.unwrap_or(Bytes(131_072)),
    }
}

/// The same by UDP: 488 datagrams an interval, of which a receiver lacks 3, and 5 came late.
fn by_udp(interval: &mut Interval, ended: &mut Ended) {
    let datagrams = |sends: bool, packets| Datagrams {
        packets,
        lost: if sends { 0 } else { 3 },
        out_of_order: if sends { 0 } else { 5 },
        jitter: Nanos(if sends { 0 } else { 29_000 }),
    };
    for moved in &mut interval.moved {
        moved.kernel = None;
        moved.datagrams = Some(datagrams(moved.sends, 488));
    }
    for flow in &mut ended.flows {
        (flow.retransmits, flow.peaks) = (None, None);
        flow.sent_packets = Some(976);
        flow.datagrams = Some(Datagrams {
            out_of_order: if flow.sends { 0 } else { 10 },
            ..datagrams(false, 970)
        });
    }
}

fn lines(line: &str, sends: &[bool]) -> String {
    let (options, mut ended) = (options(line), ended(sends));
    let [mut first, mut second] =
        [(0, options.omit > 0), (9, false)].map(|(start, omits)| interval(sends, start, omits));
    if options.udp {
        by_udp(&mut first, &mut ended);
        by_udp(&mut second, &mut ended);
    }
    let greeted = met(&options);
    [
        text::opening(&options, &host()),
        text::greeted(&options, &host(), &greeted),
        text::begun(&options, &greeted, &begun(sends)),
        text::interval(&options, &first, true),
        text::interval(&options, &second, false),
        text::summary(&options, &ended),
        text::closing(&options, &ended),
    ]
    .concat()
}

/// The columns are those that iperf3 3.12 printed of a test of this size; rules and blanks at the ends of lines too.
#[test]
fn lines_have_iperf3_s_columns() {
    assert_eq!(
        lines("-c h -O 1", &[true]),
        "Connecting to host h, port 5201\n\
         [  5] local 192.0.2.1 port 40000 connected to 192.0.2.2 port 5201\n\
         [ ID] Interval           Transfer     Bitrate         Retr  Cwnd\n\
         [  5]   0.00-1.00   sec   488 KBytes  4.00 Mbits/sec    2    981 KBytes       (omitted)\n\
         [  5]   9.00-10.00  sec   488 KBytes  4.00 Mbits/sec    2    981 KBytes       \n\
         - - - - - - - - - - - - - - - - - - - - - - - - -\n\
         [ ID] Interval           Transfer     Bitrate         Retr\n\
         [  5]   0.00-2.00   sec   976 KBytes  4.00 Mbits/sec    4             sender\n\
         [  5]   0.00-2.10   sec   976 KBytes  3.81 Mbits/sec                  receiver\n\
         \n\
         iperf Done.\n"
    );
    assert_eq!(
        lines("-c h -P 2 -R", &[false, false]),
        "Connecting to host h, port 5201\n\
         Reverse mode, remote host h is sending\n\
         [  5] local 192.0.2.1 port 40000 connected to 192.0.2.2 port 5201\n\
         [  7] local 192.0.2.1 port 40001 connected to 192.0.2.2 port 5201\n\
         [ ID] Interval           Transfer     Bitrate\n\
         [  5]   0.00-1.00   sec   488 KBytes  4.00 Mbits/sec                  \n\
         [  7]   0.00-1.00   sec   488 KBytes  4.00 Mbits/sec                  \n\
         [SUM]   0.00-1.00   sec   976 KBytes  8.00 Mbits/sec                  \n\
         - - - - - - - - - - - - - - - - - - - - - - - - -\n\
         [  5]   9.00-10.00  sec   488 KBytes  4.00 Mbits/sec                  \n\
         [  7]   9.00-10.00  sec   488 KBytes  4.00 Mbits/sec                  \n\
         [SUM]   9.00-10.00  sec   976 KBytes  8.00 Mbits/sec                  \n\
         - - - - - - - - - - - - - - - - - - - - - - - - -\n\
         [ ID] Interval           Transfer     Bitrate         Retr\n\
         [  5]   0.00-2.00   sec   976 KBytes  4.00 Mbits/sec    4             sender\n\
         [  5]   0.00-2.10   sec   976 KBytes  3.81 Mbits/sec                  receiver\n\
         [  7]   0.00-2.00   sec   976 KBytes  4.00 Mbits/sec    4             sender\n\
         [  7]   0.00-2.10   sec   976 KBytes  3.81 Mbits/sec                  receiver\n\
         [SUM]   0.00-2.00   sec  1.91 MBytes  8.00 Mbits/sec    8             sender\n\
         [SUM]   0.00-2.10   sec  1.91 MBytes  7.61 Mbits/sec                  receiver\n\
         \n\
         iperf Done.\n"
    );
}

#[test]
fn lines_of_both_ways_have_roles_and_a_title_stands_before_each() {
    let both = lines("-c h --bidir", &[true, false]);
    for line in [
        "[ ID][Role] Interval           Transfer     Bitrate         Retr  Cwnd\n",
        "[  5][TX-C]   0.00-1.00   sec   488 KBytes  4.00 Mbits/sec    2    981 KBytes       \n",
        "[  7][RX-C]   0.00-1.00   sec   488 KBytes  4.00 Mbits/sec                  \n",
        "[  7][RX-C]   0.00-2.00   sec   976 KBytes  4.00 Mbits/sec    4             sender\n",
    ] {
        assert!(both.contains(line), "{line}{both}");
    }
    assert!(!both.contains("SUM"), "{both}");
    let titled = lines("-c h -V -b 4M -T name", &[true]);
    assert!(
        titled.lines().all(|line| line.starts_with("name:  ")),
        "{titled}"
    );
    for line in [
        "name:  Linux vm 6.1\n",
        "name:  Control connection MSS 32768\n",
        "name:        TCP MSS: 32768 (default)\n",
        "name:        Target Bitrate: 4000000\n",
        "name:  Starting Test: protocol: TCP, 1 streams, 131072 byte blocks, omitting 0 seconds, 10 second test, tos 0\n",
        "name:  CPU Utilization: local/sender 3.5% (0.5%u/3.0%s), remote/receiver 3.5% (0.5%u/3.0%s)\n",
        "name:  snd_tcp_congestion bbr\n",
        "name:  rcv_tcp_congestion cubic\n",
        "name:  \nname:  iperf Done.\n",
    ] {
        assert!(titled.contains(line), "{line}{titled}");
    }
}

/// The same of UDP.
#[test]
fn lines_of_datagrams_have_iperf3_s_columns() {
    assert_eq!(
        lines("-u -c h -O 1 -l 1024", &[true]),
        "Connecting to host h, port 5201\n\
         [  5] local 192.0.2.1 port 40000 connected to 192.0.2.2 port 5201\n\
         [ ID] Interval           Transfer     Bitrate         Total Datagrams\n\
         [  5]   0.00-1.00   sec   488 KBytes  4.00 Mbits/sec  488  (omitted)\n\
         [  5]   9.00-10.00  sec   488 KBytes  4.00 Mbits/sec  488  \n\
         - - - - - - - - - - - - - - - - - - - - - - - - -\n\
         [ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams\n\
         [  5]   0.00-2.00   sec   976 KBytes  4.00 Mbits/sec  0.000 ms  0/976 (0%)  sender\n\
         [  5]   0.00-2.10   sec   976 KBytes  3.81 Mbits/sec  0.029 ms  3/970 (0.31%)  receiver\n\
         \n\
         iperf Done.\n"
    );
    assert_eq!(
        lines("-u -c h --bidir -l 1024 -P 1", &[true, false]),
        "Connecting to host h, port 5201\n\
         [  5] local 192.0.2.1 port 40000 connected to 192.0.2.2 port 5201\n\
         [  7] local 192.0.2.1 port 40001 connected to 192.0.2.2 port 5201\n\
         [ ID][Role] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams\n\
         [  5][TX-C]   0.00-1.00   sec   488 KBytes  4.00 Mbits/sec            488  \n\
         [  7][RX-C]   0.00-1.00   sec   488 KBytes  4.00 Mbits/sec  0.029 ms  3/488 (0.61%)  \n\
         [  5][TX-C]   9.00-10.00  sec   488 KBytes  4.00 Mbits/sec            488  \n\
         [  7][RX-C]   9.00-10.00  sec   488 KBytes  4.00 Mbits/sec  0.029 ms  3/488 (0.61%)  \n\
         - - - - - - - - - - - - - - - - - - - - - - - - -\n\
         [ ID][Role] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams\n\
         [  5][TX-C]   0.00-2.00   sec   976 KBytes  4.00 Mbits/sec  0.000 ms  0/976 (0%)  sender\n\
         [  5][TX-C]   0.00-2.10   sec   976 KBytes  3.81 Mbits/sec  0.029 ms  3/970 (0.31%)  receiver\n\
         [  7][RX-C]   0.00-2.00   sec   976 KBytes  4.00 Mbits/sec  0.000 ms  0/976 (0%)  sender\n\
         [SUM][RX-C]  0.0- 2.1 sec  10 datagrams received out-of-order\n\
         [  7][RX-C]   0.00-2.10   sec   976 KBytes  3.81 Mbits/sec  0.029 ms  3/970 (0.31%)  receiver\n\
         \n\
         iperf Done.\n"
    );
    let both = lines("-u -c h -R -P 2 -V", &[false, false]);
    for line in [
        "Setting UDP block size to 131072\nTime: ",
        "      Target Bitrate: 1048576\n[  5] local",
        "Starting Test: protocol: UDP, 2 streams, 131072 byte blocks, omitting 0",
        "[SUM]   0.00-1.00   sec   976 KBytes  8.00 Mbits/sec  0.029 ms  6/976 (0.61%)  \n",
        "[SUM]   0.00-2.10   sec  1.91 MBytes  7.61 Mbits/sec  0.029 ms  6/1940 (0.31%)  receiver\n",
    ] {
        assert!(both.contains(line), "{line}{both}");
    }
    assert_eq!(both.matches("out-of-order").count(), 2, "{both}");
    assert!(!both.contains("TCP MSS"), "{both}");
    let long = options("-u -c h -l 40000");
    let warning = text::warning(&long, &met(&long)).unwrap();
    assert!(warning.starts_with("warning: UDP block size 40000 exceeds TCP MSS 32768, "));
    let fits = options("-u -c h -l 1000");
    assert_eq!(text::warning(&fits, &met(&fits)), None);
}

#[test]
fn documents_of_datagrams_tell_what_was_sent_by_what_was_lost_of_it() {
    let options = options("-u -c h --bidir -l 1024");
    let document = document(&options, &[true, false], Some(ended(&[true, false])));
    for (pointer, expected) in [
        ("/start/test_start/protocol", "\"UDP\""),
        ("/start/test_start/blksize", "1024"),
        ("/start/target_bitrate", "1048576"),
        ("/intervals/0/sum/packets", "488"),
        ("/intervals/0/sum_bidir_reverse/lost_packets", "3"),
        ("/end/streams/0/udp/end", "2"),
        ("/end/streams/0/udp/packets", "976"),
        ("/end/streams/0/udp/out_of_order", "0"),
        ("/end/streams/1/udp/out_of_order", "10"),
        ("/end/sum/end", "2.1"),
        ("/end/sum/bits_per_second", "3997696"),
        ("/end/sum/jitter_ms", "0.029"),
        ("/end/sum_sent/jitter_ms", "0"),
        ("/end/sum_sent/sender", "true"),
        ("/end/sum_received/packets", "970"),
        ("/end/sum_received/sender", "false"),
        ("/end/sum_bidir_reverse/sender", "false"),
        ("/end/sum_sent_bidir_reverse/sender", "true"),
    ] {
        let found = document.pointer(pointer).map(ToString::to_string);
        assert_eq!(found.as_deref(), Some(expected), "{pointer}");
    }
    assert!(document["start"].get("tcp_mss_default").is_none());
    assert!(document["intervals"][0]["sum"].get("jitter_ms").is_none());
}

#[test]
fn what_is_not_known_has_no_line_and_no_key() {
    let options = options("-c h");
    let mut so_far = ended(&[true]);
    so_far.flows[0].received = None;
    let text = text::summary(&options, &so_far);
    assert!(
        text.contains("sender\n") && !text.contains("receiver"),
        "{text}"
    );
    let document = document(&options, &[true], Some(so_far));
    let end = &document["end"];
    assert!(end["sum_sent"]["bytes"].is_u64());
    assert!(end.get("sum_received").is_none() && end["streams"][0].get("receiver").is_none());
}

fn document(options: &Options, sends: &[bool], mut ended: Option<Ended>) -> Value {
    let mut interval = interval(sends, 0, false);
    if let Some(ended) = ended.as_mut().filter(|_| options.udp) {
        by_udp(&mut interval, ended);
    }
    let text = Document {
        options,
        host: &host(),
        greeted: Some(met(options)),
        begun: Some(begun(sends)),
        intervals: vec![interval],
        ended,
        error: None,
    }
    .text();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn numbers_of_documents_are_in_iperf3_s_units() {
    let options = options("-c h --bidir -M 1000");
    let document = document(&options, &[true, false], Some(ended(&[true, false])));
    let at = |pointer: &str| document.pointer(pointer).unwrap().clone();
    for (pointer, expected) in [
        ("/start/tcp_mss", "1000"),
        ("/start/connected/1/socket", "7"),
        ("/start/sndbuf_actual", "16384"),
        ("/start/test_start/duration", "10"),
        ("/intervals/0/streams/0/start", "0"),
        ("/intervals/0/streams/0/rtt", "76"),
        ("/intervals/0/streams/0/snd_cwnd", "1004544"),
        ("/intervals/0/sum/bits_per_second", "3997696"),
        ("/intervals/0/sum/retransmits", "2"),
        ("/intervals/0/sum_bidir_reverse/bytes", "499712"),
        ("/end/streams/0/sender/mean_rtt", "80"),
        ("/end/streams/1/sender/sender", "false"),
        ("/end/streams/0/receiver/end", "2.1"),
        ("/end/sum_sent/seconds", "2"),
        ("/end/sum_sent_bidir_reverse/retransmits", "4"),
        ("/end/sum_received_bidir_reverse/bytes", "999424"),
        ("/end/cpu_utilization_percent/remote_total", "3.5"),
        ("/end/sender_tcp_congestion", "\"bbr\""),
    ] {
        assert_eq!(at(pointer).to_string(), expected, "{pointer}");
    }
    assert!(document["start"].get("tcp_mss_default").is_none());
    assert!(
        document["intervals"][0]["sum_bidir_reverse"]
            .get("retransmits")
            .is_none()
    );
}

#[test]
fn a_report_of_the_server_stands_behind_ours() {
    let options = options("-c h --get-server-output");
    let with = |report| Ended {
        remote_report: Some(report),
        ..ended(&[true])
    };
    let text = with(RemoteReport::Text("a\nb".to_owned()));
    assert!(text::closing(&options, &text).starts_with("\nServer output:\na\nb\n\niperf Done."));
    let all = document(&options, &[true], Some(text));
    assert_eq!(all["server_output_text"], "a\nb");
    let json = with(RemoteReport::Json("{\"end\":{}}".to_owned()));
    assert!(text::closing(&options, &json).contains("Server JSON output:\n{\"end\":{}}\n"));
    let all = document(&options, &[true], Some(json));
    assert!(all["server_output_json"]["end"].is_object());
}

#[test]
fn a_document_of_no_test_has_its_parts_and_the_error() {
    let text = Document {
        options: &options("-c h"),
        host: &host(),
        greeted: None,
        begun: None,
        intervals: Vec::new(),
        ended: None,
        error: Some("unable to connect to server: Connection refused".to_owned()),
    }
    .text();
    let all: Value = serde_json::from_str(&text).unwrap();
    let expected = serde_json::json!({
        "start": {"connected": [], "version": "iperf 3.12 (kurabe 0)", "system_info": "Linux vm 6.1"},
        "intervals": [],
        "end": {},
        "error": "unable to connect to server: Connection refused",
    });
    assert_eq!(all, expected);
}
