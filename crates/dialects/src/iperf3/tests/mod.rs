//! Outputs made up in the forms of several versions, and what is no output.

mod corpus;

use super::*;
use crate::figures::testkit::{cut, is_same, one, survives, value};

const TCP: &str = "\
Connecting to host 192.0.2.7, port 5201
[  5] local 192.0.2.8 port 40000 connected to 192.0.2.7 port 5201
[ ID] Interval           Transfer     Bitrate         Retr  Cwnd
[  5]   0.00-1.00   sec   100 MBytes   839 Mbits/sec    3   1.12 MBytes
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bitrate         Retr
[  5]   0.00-10.00  sec  1.00 GBytes   860 Mbits/sec   12             sender
[  5]   0.00-10.04  sec   999 MBytes   836 Mbits/sec                  receiver

iperf Done.
";

const PARALLEL: &str = "\
[  5] local 192.0.2.8 port 40000 connected to 192.0.2.7 port 5201
[  7] local 192.0.2.8 port 40001 connected to 192.0.2.7 port 5201
[ ID] Interval           Transfer     Bandwidth
[  5]   0.00-10.00  sec   500 MBytes   430 Mbits/sec                  sender
[  5]   0.00-10.00  sec   499 MBytes   429 Mbits/sec                  receiver
[  7]   0.00-10.00  sec   500 MBytes   431 Mbits/sec                  sender
[  7]   0.00-10.00  sec   499 MBytes   428 Mbits/sec                  receiver
[SUM]   0.00-10.00  sec  1000 MBytes   861 Mbits/sec                  sender
[SUM]   0.00-10.00  sec   998 MBytes   857 Mbits/sec                  receiver
";

const UDP: &str = "\
iperf 3.12
Time: Mon, 23 Nov 2026 20:10:06 GMT
Connecting to host 192.0.2.7, port 5201
Reverse mode, remote host 192.0.2.7 is sending
      Target Bitrate: 5000000
Starting Test: protocol: UDP, 1 streams, 1448 byte blocks, omitting 1 seconds, 10 second test, tos 0
[ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams
[  5]   0.00-10.00  sec  6.00 MBytes  5.00 Mbits/sec  0.008 ms  0/100 (0%)
- - - - - - - - - - - - - - - - - - - - - - - - -
Test Complete. Summary Results:
[ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams
[  5]   0.00-10.00  sec  6.00 MBytes  5.00 Mbits/sec  0.000 ms  0/400 (0%)  sender
[  5]   0.00-10.00  sec  5.40 MBytes  4.50 Mbits/sec  0.250 ms  20/400 (5%)  receiver
";

const BIDIR: &str = "\
Connecting to host 192.0.2.7, port 5201
[ ID][Role] Interval           Transfer     Bitrate         Retr
[  5][TX-C]   0.00-10.00  sec   600 MBytes   503 Mbits/sec    2             sender
[  5][TX-C]   0.00-10.00  sec   598 MBytes   501 Mbits/sec                  receiver
[  7][RX-C]   0.00-10.00  sec   300 MBytes   252 Mbits/sec    4             sender
[  7][RX-C]   0.00-10.00  sec   299 MBytes   251 Mbits/sec                  receiver
";

/// A report with these sums at its end.
fn report(protocol: &str, streams: u32, reverse: u8, side: &str, end: &str) -> String {
    format!(
        r#"{{
	"start":	{{
		"connected":	[],
		"version":	"iperf 3.12",
		"timestamp":	{{"timesecs":	1700000000}},
		"{side}":	{{"host":	"192.0.2.7", "port":	5201}},
		"sock_bufsize":	0,
		"test_start":	{{"protocol": "{protocol}", "num_streams": {streams}, "blksize": 131072, "omit": 0,
			"duration": 10, "bytes": 0, "reverse": {reverse}, "target_bitrate": 5000000}}
	}},
	"intervals":	[{{"sum": {{"bits_per_second": 1}}}}],
	"end":	{{{end}}}
}}
"#
    )
}

const SUMS: &str = r#"
	"sum_sent": {"bits_per_second": 8800.5, "retransmits": 3},
	"sum_received": {"bits_per_second": 8000},
	"cpu_utilization_percent": {"host_total": 12.5, "remote_total": 25}
"#;

fn check_values(text: &str, test: &str, expected: &[(&str, f64)]) {
    let found = (READER.read)(text);
    let figures = one(&found, 0, test).unwrap_or_else(|| panic!("{test}: {found:?}"));
    let names: Vec<&str> = figures
        .values
        .iter()
        .map(|figure| figure.quantity.as_str())
        .collect();
    assert_eq!(
        names,
        expected.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
        "{text}"
    );
    for (quantity, expect) in expected {
        assert!(
            is_same(value(figures, quantity), Some(*expect)),
            "{quantity}: {figures:?}"
        );
    }
}

fn params(figures: &Figures) -> String {
    let all = figures
        .params
        .iter()
        .map(|(name, value)| format!("{name}={value}"));
    all.collect::<Vec<_>>().join(" ")
}

#[test]
fn a_row_of_the_summary_that_cannot_be_read_is_listed() {
    for (whole, broken) in [("1.00 GBytes", "1,00 GBytes"), ("860 Mbits", "860\nMbits")] {
        let found = (READER.read)(&TCP.replacen(whole, broken, 1));
        assert_eq!(found.left_out.len(), 1, "{broken}: {:?}", found.left_out);
        assert_eq!(found.left_out[0].line, 7);
        let values = &found.figures[0].values;
        assert!(
            !values
                .iter()
                .any(|value| value.quantity == "sent_bytes_per_s")
        );
    }
}

#[test]
fn the_receiver_counts_and_the_sender_is_kept_apart() {
    let sums = [
        ("bytes_per_s", 836e6 / 8.0),
        ("sent_bytes_per_s", 860e6 / 8.0),
        ("retransmits", 12.0),
    ];
    check_values(TCP, "iperf3.tcp", &sums);
    let found = (READER.read)(TCP);
    assert_eq!(
        (found.figures[0].copies, params(&found.figures[0])),
        (1, "duration_s=10".to_owned())
    );
    // As pasted from a page that joins blanks, and cut to the ends of its words.
    let joined: String = TCP
        .lines()
        .map(|l| l.split_whitespace().collect::<Vec<_>>().join(" ") + "\n")
        .collect();
    assert_eq!((READER.read)(&joined), found);
    assert_eq!(
        (READER.read)(&TCP.replace("sender", "ser").replace("receiver", "rer")),
        found
    );
    let stamp = "Mon Nov 23 20:10:09 2026 ";
    let stamped = stamp.to_owned() + &TCP.trim_end().replace('\n', &format!("\n{stamp}")) + "\n";
    assert_eq!((READER.read)(&stamped), found);
    let in_bytes = TCP.replace("836 Mbits/sec", "10.5 MBytes/sec");
    assert_eq!(
        value(&(READER.read)(&in_bytes).figures[0], "bytes_per_s"),
        Some(10.5 * 1_048_576.0)
    );
}

#[test]
fn parallel_streams_count_by_their_sum() {
    check_values(
        PARALLEL,
        "iperf3.tcp",
        &[
            ("bytes_per_s", 857e6 / 8.0),
            ("sent_bytes_per_s", 861e6 / 8.0),
        ],
    );
    assert_eq!((READER.read)(PARALLEL).figures[0].copies, 2);
    let check = |keep: fn(&&str) -> bool, why: &str| {
        let text = PARALLEL.lines().filter(keep).collect::<Vec<_>>().join("\n") + "\n";
        let found = (READER.read)(&text);
        assert_eq!(found.figures, []);
        assert!(found.left_out[0].what.contains(why), "{found:?}");
    };
    check(|line| !line.contains("SUM"), "without their [SUM]");
    check(|line| line.contains("SUM"), "without its streams");
}

#[test]
fn datagrams_have_jitter_and_losses_by_the_receiver() {
    let expect = [
        ("bytes_per_s", 4.5e6 / 8.0),
        ("sent_bytes_per_s", 5e6 / 8.0),
        ("jitter_ns", 250e3),
        ("lost_share", 0.05),
    ];
    check_values(UDP, "iperf3.udp-reverse", &expect);
    let found = (READER.read)(UDP);
    let figures = &found.figures[0];
    assert_eq!(
        params(figures),
        "block_bytes=1448 duration_s=10 omit_s=1 target_bits_per_s=5000000"
    );
    assert_eq!(figures.version.as_deref(), Some("3.12"));
    assert_eq!(
        figures.when.unwrap().rfc3339(),
        "2026-11-23T20:10:06.000000000Z"
    );
}

#[test]
fn the_one_row_of_old_versions_has_the_bytes_of_the_sender_and_the_losses_of_the_receiver() {
    let text = "\
Connecting to host 192.0.2.7, port 5201
[  4]   0.00-10.00  sec  1.25 MBytes  1.05 Mbits/sec  159
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bandwidth       Jitter    Lost/Total Datagrams
[  4]   0.00-10.00  sec  1.25 MBytes  1.05 Mbits/sec  0.016 ms  16/160 (10%)
[  4] Sent 160 datagrams
";
    let expect = [
        ("sent_bytes_per_s", 1.05e6 / 8.0),
        ("jitter_ns", 16e3),
        ("lost_share", 0.1),
    ];
    check_values(text, "iperf3.udp", &expect);
    cut(&READER, text);
}

#[test]
fn nothing_that_arrived_is_no_result_whatever_share_of_it_was_lost() {
    let none = UDP.replace(
        "4.50 Mbits/sec  0.250 ms  20/400 (5%)",
        "0.00 bits/sec  0.000 ms  0/0 (0%)",
    );
    let none = none.replace("5.40 MBytes", "0.00 Bytes");
    let found = (READER.read)(&none);
    assert_eq!((found.figures.len(), found.left_out.len()), (0, 1));
    assert!(found.left_out[0].what.contains("nothing arrived"));
    let zero = SUMS.replace("8000", "0");
    assert_eq!(
        (READER.read)(&report("TCP", 1, 0, "connecting_to", &zero)).figures,
        []
    );
}

#[test]
fn both_directions_are_two_tests() {
    let forth = [
        ("bytes_per_s", 501e6 / 8.0),
        ("sent_bytes_per_s", 503e6 / 8.0),
        ("retransmits", 2.0),
    ];
    let back = [
        ("bytes_per_s", 251e6 / 8.0),
        ("sent_bytes_per_s", 252e6 / 8.0),
        ("retransmits", 4.0),
    ];
    check_values(BIDIR, "iperf3.tcp", &forth);
    check_values(BIDIR, "iperf3.tcp-reverse", &back);
    let found = (READER.read)(BIDIR);
    assert_eq!(found.figures.len(), 2);
    assert_eq!(params(&found.figures[1]), "bidir=yes duration_s=10");
    let sums = r#""sum_sent_bidir_reverse": {"bits_per_second": 80},
	"sum_received_bidir_reverse": {"bits_per_second": 72},"#;
    let json = report("TCP", 2, 0, "connecting_to", &format!("{sums}{SUMS}"));
    let tests: Vec<_> = (READER.read)(&json)
        .figures
        .iter()
        .map(|f| (f.test.clone(), value(f, "bytes_per_s")))
        .collect();
    let expect = [("iperf3.tcp", 1000.0), ("iperf3.tcp-reverse", 9.0)];
    assert_eq!(
        tests,
        expect.map(|(test, rate)| (test.to_owned(), Some(rate)))
    );
}

#[test]
fn a_report_in_json_says_what_was_asked_for() {
    let text = report("TCP", 4, 1, "connecting_to", SUMS);
    let expect = [
        ("bytes_per_s", 1000.0),
        ("sent_bytes_per_s", 8800.5 / 8.0),
        ("retransmits", 3.0),
        ("cpu_share", 0.125),
        ("remote_cpu_share", 0.25),
    ];
    check_values(&text, "iperf3.tcp-reverse", &expect);
    let found = (READER.read)(&text);
    let figures = &found.figures[0];
    assert_eq!(
        (figures.copies, figures.version.as_deref()),
        (4, Some("3.12"))
    );
    assert_eq!(figures.when, Some(UnixNanos(1_700_000_000_000_000_000)));
    assert_eq!(params(figures), "duration_s=10 target_bits_per_s=5000000");
    assert_eq!((READER.read)(&text.replace('"', "&quot;")), found);
    assert_eq!(
        (READER.read)(&format!("$ iperf3 -J -c x {text}")).figures,
        found.figures
    );
    let events = format!(
        "{{\"event\":\"start\",\"data\":{}}}\n{{\"event\":\"interval\"}}\n{{\"event\":\"end\",\"data\":{}}}\n",
        part(&text, "start"),
        part(&text, "end"),
    );
    assert_eq!((READER.read)(&events).figures, found.figures);
}

/// A part of a report on one line.
fn part(text: &str, key: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(text).unwrap();
    value[key].to_string()
}

#[test]
fn datagrams_of_a_report_in_json() {
    let sums = r#"
	"sum_sent": {"bits_per_second": 8800, "jitter_ms": 0, "lost_packets": 0, "packets": 50},
	"sum_received": {"bits_per_second": 8000, "jitter_ms": 0.5, "lost_packets": 5, "packets": 50}"#;
    let expect = [
        ("bytes_per_s", 1000.0),
        ("sent_bytes_per_s", 1100.0),
        ("jitter_ns", 500e3),
        ("lost_share", 0.1),
    ];
    check_values(
        &report("UDP", 1, 0, "connecting_to", sums),
        "iperf3.udp",
        &expect,
    );
    // Before 3.11 there is one sum, with the bytes of the sender.
    let old =
        r#""sum": {"bits_per_second": 8800, "jitter_ms": 0.5, "lost_packets": 5, "packets": 50}"#;
    let text = report("UDP", 1, 0, "connecting_to", old);
    check_values(
        &text,
        "iperf3.udp",
        &[
            ("sent_bytes_per_s", 1100.0),
            ("jitter_ns", 500e3),
            ("lost_share", 0.1),
        ],
    );
}

#[test]
fn a_server_knows_its_own_side_only() {
    let receiving = SUMS.replace("8800.5, \"retransmits\": 3", "0");
    let text = report("TCP", 1, 0, "accepted_connection", &receiving);
    check_values(
        &text,
        "iperf3.tcp",
        &[
            ("bytes_per_s", 1000.0),
            ("cpu_share", 0.125),
            ("remote_cpu_share", 0.25),
        ],
    );
    let sending = SUMS.replace("8000", "0");
    let found = (READER.read)(&report("TCP", 1, 1, "accepted_connection", &sending));
    assert_eq!(
        value(&found.figures[0], "sent_bytes_per_s"),
        Some(8800.5 / 8.0)
    );
    assert_eq!(
        (
            value(&found.figures[0], "bytes_per_s"),
            found.left_out.len()
        ),
        (None, 0)
    );
    let text = "\
Server listening on 5201
Accepted connection from 192.0.2.8, port 40000
[  5] local 192.0.2.7 port 5201 connected to 192.0.2.8 port 40002
[  5]   0.00-10.00  sec  6.00 MBytes  50.0 Mbits/sec    0             sender
";
    check_values(
        text,
        "iperf3.tcp-reverse",
        &[("sent_bytes_per_s", 50e6 / 8.0), ("retransmits", 0.0)],
    );
}

#[test]
fn several_outputs_of_a_text_are_told_apart() {
    let again = TCP.replace("836 Mbits", "735 Mbits");
    let json = report("TCP", 4, 0, "connecting_to", SUMS);
    let found = (READER.read)(&format!("{TCP}{json}{again}{UDP}"));
    let all: Vec<_> = found
        .figures
        .iter()
        .map(|f| (f.output, f.copies, value(f, "bytes_per_s").unwrap()))
        .collect();
    assert_eq!(
        all,
        [
            (0, 1, 836e6 / 8.0),
            (1, 4, 1000.0),
            (2, 1, 735e6 / 8.0),
            (3, 1, 4.5e6 / 8.0)
        ]
    );
    assert_eq!(found.left_out, []);
    // What the server printed, shown by the client, is the same test again.
    let row = "[  5]   0.00-10.04  sec   999 MBytes   836 Mbits/sec                  receiver";
    let server = TCP.replace(
        "\niperf Done",
        &format!("\nServer output:\n{row}\n\niperf Done"),
    );
    assert_eq!((READER.read)(&server), (READER.read)(TCP));
}

#[test]
fn a_failure_is_listed_and_no_result() {
    let check = |text: &str, line: usize, why: &str| {
        let found = (READER.read)(text);
        assert_eq!(found.figures, [], "{text}");
        assert!(
            found.left_out[0].what.contains(why) && found.left_out[0].line == line,
            "{found:?}"
        );
    };
    check(
        "iperf3: error - unable to connect to server: Connection refused\n",
        1,
        "Connection refused",
    );
    let error =
        "\n{\n\"start\": {\"connected\": []}, \"end\": {}, \"error\": \"the server is busy\"\n}\n";
    check(error, 2, "the server is busy");
    let cut = report("TCP", 1, 0, "connecting_to", SUMS);
    check(&cut[..cut.len() / 2], 1, "cut");
    check(&cut.replace("\"TCP\"", "5"), 1, "without its parts");
    check(
        &cut.replace("num_streams\": 1", "num_streams\": 0"),
        1,
        "without its parts",
    );
    let after = format!("{}\n{TCP}", &cut[..cut.len() / 2]);
    assert_eq!((READER.read)(&after).figures, (READER.read)(TCP).figures);
}

#[test]
fn bad_input_is_survived() {
    let json = report("TCP", 1, 0, "connecting_to", SUMS);
    survives(&READER, &[TCP, PARALLEL, UDP, BIDIR, &json]);
}
