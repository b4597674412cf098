//! Lines and documents of a test that is made by hand, beside what iperf3 3.12 printed.

use super::super::arguments::{Request, parse};
use super::json::Document;
use super::text;
use super::*;
use crate::iperf3::arguments::Options;
use model::flows::{
    Begun, Cpu, Ended, Flow, Greeted, Interval, Kernel, Moved, Peaks, RemoteReport,
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

fn lines(line: &str, sends: &[bool]) -> String {
    let (options, ended) = (options(line), ended(sends));
    let greeted = Greeted {
        cookie: "abc".to_owned(),
        mss: 32_768,
    };
    [
        text::opening(&options, &host()),
        text::greeted(&options, &host(), &greeted),
        text::begun(&options, &begun(sends)),
        text::interval(&options, &interval(sends, 0, options.omit > 0), true),
        text::interval(&options, &interval(sends, 9, false), false),
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

fn document(options: &Options, sends: &[bool], ended: Option<Ended>) -> Value {
    let text = Document {
        options,
        host: &host(),
        greeted: Some(Greeted {
            cookie: "abc".to_owned(),
            mss: 32_768,
        }),
        begun: Some(begun(sends)),
        intervals: vec![interval(sends, 0, false)],
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
