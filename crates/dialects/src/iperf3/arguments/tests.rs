//! Lines as they are typed, and what becomes of them.

use super::*;

fn read(line: &str) -> Result<Request, Refused> {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    parse(&words)
}

fn options(line: &str) -> Options {
    match read(line) {
        Ok(Request::Test(options)) => *options,
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn a_line_is_read_as_getopt_reads_it() {
    let expected = Options {
        host: "h".to_owned(),
        parallel: 4,
        direction: Direction::Reverse,
        json: true,
        until: Until::Seconds(3),
        ..Options::default()
    };
    for line in [
        "-c h -P 4 -R -J -t 3",
        "-c h -P4 -RJt3",
        "-RJP4 -t3 -ch",
        "--client h --parallel=4 --reverse --json --time 3",
        "--client=h --para 4 --rev --js --time=3",
    ] {
        assert_eq!(options(line), expected, "{line}");
    }
}

#[test]
fn every_option_that_is_taken_changes_what_is_asked_for() {
    let plain = options("-c h");
    assert_eq!(
        plain,
        Options {
            host: "h".to_owned(),
            ..Options::default()
        }
    );
    for def in OPTIONS.iter().filter(|def| !def.is_refused()) {
        let value = match def.value {
            None => String::new(),
            Some("kmgtKMGT") => "=M".to_owned(),
            Some(_) => "=7".to_owned(),
        };
        let of_udp = ["udp-counters-64bit", "dont-fragment"].contains(&def.long);
        let protocol = if of_udp { " -u" } else { "" };
        let line = format!("-c h --{}{value}{protocol}", def.long);
        match read(&line) {
            Ok(Request::Test(options)) => {
                let is_same = *options == plain;
                assert_eq!(is_same, def.long == "forceflush", "{line}");
            }
            Ok(Request::Help | Request::Version) => assert_eq!(def.value, None),
            Err(why) => panic!("{line}: {why}"),
        }
    }
}

#[test]
fn values_have_iperf3_s_units() {
    let all =
        options("-c h -n 200K -l 8k -w 1M -b 1.5M/10 -i 0.5 -M 1000 -O 2 --connect-timeout 300");
    assert_eq!(all.until, Until::Bytes(Bytes(204_800)));
    assert_eq!(
        (all.length, all.window),
        (Some(Bytes(8192)), Some(Bytes(1 << 20)))
    );
    assert_eq!((all.bits_per_s, all.burst), (1_500_000, 10));
    assert_eq!(all.interval, Some(Nanos::from_millis(500)));
    assert_eq!((all.mss, all.omit), (Some(1000), 2));
    assert_eq!(all.connect_timeout, Some(Nanos::from_millis(300)));
    assert_eq!(options("-c h -k 1K -i 0").until, Until::Blocks(1024));
    assert_eq!(options("-c h -i 0").interval, None);
}

#[test]
fn every_option_that_is_not_taken_is_refused_by_its_names_with_what_helps() {
    for def in OPTIONS.iter().filter(|def| def.is_refused()) {
        let long = format!("-c h --{}", def.long);
        let short = def.short.map(|letter| format!("-{letter} -c h"));
        for line in [Some(long), short].into_iter().flatten() {
            let why = read(&line).unwrap_err();
            assert!(
                why.words.contains(&format!("--{}", def.long)),
                "{line}: {why}"
            );
            assert!(why.hint.is_some_and(|hint| hint.len() > 20), "{line}");
        }
    }
    let server = read("-s").unwrap_err();
    assert!(server.hint.unwrap().contains("`iperf3 -s`"));
}

#[test]
fn a_test_by_udp_has_a_rate_and_sizes_of_its_own() {
    let plain = options("-u -c h");
    assert!(plain.udp && plain.length.is_none());
    assert_eq!(plain.bits_per_s, 1_048_576);
    assert_eq!(options("-u -c h -b 0").bits_per_s, 0);
    let all = options("-b 2M -l 1400 -u -c h --udp-counters-64bit --dont-fragment");
    assert_eq!((all.bits_per_s, all.length), (2_000_000, Some(Bytes(1400))));
    assert!(all.udp_counters_64bit && all.dont_fragment);
    for line in ["-l 15", "-l 65508", "-l 1M"] {
        let why = read(&format!("-u -c h {line}")).unwrap_err();
        let expected = "block size invalid (minimum = 16 bytes, maximum = 65507 bytes)";
        assert_eq!(why.words, expected, "{line}");
    }
    let foreign = |line: &str, option: &str, of: &str| {
        let why = read(line).unwrap_err();
        assert_eq!(
            why.words,
            format!("option `{option}` is for {of}"),
            "{line}"
        );
    };
    foreign("-u -c h -M 1000", "-M, --set-mss", "TCP");
    foreign("-u -c h -N", "-N, --no-delay", "TCP");
    foreign("-c h -C cubic -u", "-C, --congestion", "TCP");
    foreign("-c h --dont-fragment", "--dont-fragment", "UDP (`-u`)");
    foreign(
        "-c h --udp-counters-64bit",
        "--udp-counters-64bit",
        "UDP (`-u`)",
    );
}

#[test]
fn what_is_wrong_is_said_as_iperf3_says_it_or_by_what_was_typed() {
    let check = |line: &str, says: &str| {
        let why = read(line).unwrap_err().to_string();
        assert!(why.contains(says), "{line}: {why}");
    };
    check("", "must either be a client (-c) or server (-s)");
    check(
        "-c h -P 200",
        "number of parallel streams too large (maximum = 128)",
    );
    check(
        "-c h -t 999999",
        "test duration too long (maximum = 86400 seconds)",
    );
    check(
        "-c h -l 2M",
        "block size too large (maximum = 1048576 bytes)",
    );
    check(
        "-c h -w 1T",
        "socket buffer size too large (maximum = 536870912 bytes)",
    );
    check("-c h -M 99999", "TCP MSS too large (maximum = 9216 bytes)");
    check("-c h -O 700", "bogus value for --omit");
    check(
        "-c h -i 0.01",
        "invalid report interval (min = 0.1, max = 60 seconds)",
    );
    check("-c h -i nan", "invalid report interval");
    check(
        "-c h -p 0",
        "port number must be between 1 and 65535 inclusive",
    );
    check("-c h -f x", "bad format specifier");
    check(
        "-c h -R --bidir",
        "cannot be both reverse and bidirectional",
    );
    check("-c h -t 5 -n 5", "only one test end condition (-t, -n, -k)");
    check("-c h -n 5 -k 5", "only one test end condition");
    check("-c h -4 -6", "cannot be both IPv4");
    check("-c h -t 5s", "`5s` are no whole seconds");
    check("-c h -t 1.5", "`1.5` are no whole seconds");
    check("-c h -t 0", "without an end");
    check("-c h -P abc", "`abc` is no number of streams");
    check("-c h -n abc", "`abc` is no amount");
    check("-c h -b 1M/0", "invalid burst count");
    check("-c h -b fast", "`fast` is no rate");
    check("-c h --bogus", "unrecognized option `--bogus`");
    check("-c h -y", "unrecognized option `-y`");
    check(
        "-c h --ver",
        "ambiguous: `--version4`, `--version6`, `--verbose`, `--version`",
    );
    check("-c h --json=1", "`--json` takes no value");
    check("-c", "`-c, --client` takes a value");
    check("-c h --", "`--` is no option");
    check("-c h x", "`x` is no option");
    assert_eq!(read("-c h -v").unwrap(), Request::Version);
    assert_eq!(read("--help").unwrap(), Request::Help);
}
