//! The options of iperf3 3.12, each with what becomes of it here: the reader, the help and the refusals are made of it.

use super::values::{
    INTERVALS, LENGTH_MAX, MILLIS_MAX, MSS_MAX, OMIT_MAX, STREAMS_MAX, TIME_MAX, WINDOW_MAX, Wrong,
    direction, family, rate, some, whole,
};
use super::{Direction, Draft, Family, HELP, Refused, Request, Until};
use model::units::{Bytes, Nanos};

/// An option.
pub struct OptionDef {
    /// Behind `--`.
    pub long: &'static str,
    /// Behind `-`, where it has a letter.
    pub short: Option<char>,
    /// What stands for its value in the help, where it takes one.
    pub value: Option<&'static str>,
    /// What becomes of it.
    standing: Standing,
}

/// What becomes of an option.
enum Standing {
    /// It is done.
    Taken {
        /// What that is.
        doc: &'static str,
        /// Reads its value.
        read: Read,
    },
    /// Another name of one that is done.
    Alias(&'static str),
    /// It is not, and this helps.
    Refused(&'static str),
}

/// Takes a value in, or says what is wrong.
type Read = fn(&mut Draft, &str) -> Result<(), String>;

const fn taken(
    names: (&'static str, Option<char>),
    value: Option<&'static str>,
    doc: &'static str,
    read: Read,
) -> OptionDef {
    OptionDef {
        long: names.0,
        short: names.1,
        value,
        standing: Standing::Taken { doc, read },
    }
}

const fn refused(
    names: (&'static str, Option<char>),
    value: Option<&'static str>,
    why: &'static str,
) -> OptionDef {
    OptionDef {
        long: names.0,
        short: names.1,
        value,
        standing: Standing::Refused(why),
    }
}

const SERVER: &str = "`kurabe iperf3` is a client alone; `iperf3 -s` is a server";
const LOCKED: &str = "kurabe sends no user and no password; a server that wants them is not for it";
const NO_SCTP: &str = "kurabe does not speak SCTP";
const ELSEWHERE: &str = "kurabe sends what it has in memory, from any port and address";

/// Every option.
pub const OPTIONS: &[OptionDef] = &[
    taken(
        ("client", Some('c')),
        Some("HOST"),
        "the server: a name, or an address of IPv4 or IPv6",
        |draft, text| {
            text.clone_into(&mut draft.options.host);
            Ok(())
        },
    ),
    taken(
        ("port", Some('p')),
        Some("N"),
        "its port (5201)",
        |draft, text| {
            let port = text.parse().ok().filter(|&port| port > 0);
            draft.options.port = port.ok_or("port number must be between 1 and 65535 inclusive")?;
            Ok(())
        },
    ),
    taken(
        ("time", Some('t')),
        Some("N"),
        "send for so many whole seconds (10)",
        |draft, text| {
            let seconds = whole(text, TIME_MAX).map_err(|wrong| match wrong {
                Wrong::TooLarge => format!("test duration too long (maximum = {TIME_MAX} seconds)"),
                Wrong::NoNumber => format!("`{text}` are no whole seconds"),
            })?;
            if seconds == 0 {
                return Err("a test without an end (`-t 0`) is not done here".to_owned());
            }
            draft.ends += 1;
            draft.options.until = Until::Seconds(seconds);
            Ok(())
        },
    ),
    taken(
        ("bytes", Some('n')),
        Some("N[KMG]"),
        "send so many bytes, whole blocks, in place of -t",
        |draft, text| {
            draft.ends += 1;
            draft.options.until = Until::Bytes(Bytes(some(text)?));
            Ok(())
        },
    ),
    taken(
        ("blockcount", Some('k')),
        Some("N[KMG]"),
        "send so many blocks in place of -t",
        |draft, text| {
            draft.ends += 1;
            draft.options.until = Until::Blocks(some(text)?);
            Ok(())
        },
    ),
    taken(
        ("omit", Some('O')),
        Some("N"),
        "do not count so many seconds at the beginning (0)",
        |draft, text| {
            let seconds = whole(text, OMIT_MAX);
            draft.options.omit = seconds
                .map_err(|_| format!("bogus value for --omit: whole seconds up to {OMIT_MAX}"))?;
            Ok(())
        },
    ),
    taken(
        ("interval", Some('i')),
        Some("N"),
        "seconds between reports (1); 0 for one report",
        |draft, text| {
            let seconds = text
                .parse::<f64>()
                .ok()
                .filter(|seconds| INTERVALS.contains(seconds) || seconds.to_bits() == 0);
            let seconds = seconds.ok_or("invalid report interval (min = 0.1, max = 60 seconds)")?;
            let nanos = Nanos(model::num::round_to_u64(seconds * 1e9));
            draft.options.interval = Some(nanos).filter(|&nanos| nanos > Nanos::ZERO);
            Ok(())
        },
    ),
    taken(
        ("parallel", Some('P')),
        Some("N"),
        "streams, in each direction (1)",
        |draft, text| {
            draft.options.parallel = match whole(text, STREAMS_MAX) {
                Ok(0) | Err(Wrong::NoNumber) => {
                    return Err(format!("`{text}` is no number of streams"));
                }
                Err(Wrong::TooLarge) => {
                    return Err(format!(
                        "number of parallel streams too large (maximum = {STREAMS_MAX})"
                    ));
                }
                Ok(streams) => streams,
            };
            Ok(())
        },
    ),
    taken(
        ("reverse", Some('R')),
        None,
        "the server sends",
        |draft, _| {
            direction(draft, Direction::Reverse);
            Ok(())
        },
    ),
    taken(("udp", Some('u')), None, "by UDP", |draft, _| {
        draft.options.udp = true;
        Ok(())
    }),
    taken(("bidir", None), None, "both send", |draft, _| {
        direction(draft, Direction::Both);
        Ok(())
    }),
    taken(
        ("length", Some('l')),
        Some("N[KMG]"),
        "bytes of a block, which one call sends (128K; by UDP a segment of TCP)",
        |draft, text| {
            let bytes = some(text)?;
            if bytes > LENGTH_MAX {
                return Err(format!(
                    "block size too large (maximum = {LENGTH_MAX} bytes)"
                ));
            }
            draft.options.length = Some(Bytes(bytes));
            Ok(())
        },
    ),
    taken(
        ("bitrate", Some('b')),
        Some("N[KMG][/N]"),
        "bits per second of each stream, with powers of 1000; behind / \
        blocks that go at once (0: as fast as it goes; by UDP 1M)",
        rate,
    ),
    OptionDef {
        long: "bandwidth",
        short: None,
        value: Some("N[KMG][/N]"),
        standing: Standing::Alias("bitrate"),
    },
    taken(
        ("window", Some('w')),
        Some("N[KMG]"),
        "socket buffers at both ends; the kernel doubles them",
        |draft, text| {
            let bytes = some(text)?;
            if bytes > WINDOW_MAX {
                return Err(format!(
                    "socket buffer size too large (maximum = {WINDOW_MAX} bytes)"
                ));
            }
            draft.options.window = Some(Bytes(bytes));
            Ok(())
        },
    ),
    taken(
        ("set-mss", Some('M')),
        Some("N"),
        "bytes of a segment at most, up to 9216",
        |draft, text| {
            draft.options.mss = match whole(text, MSS_MAX) {
                Ok(0) | Err(Wrong::NoNumber) => {
                    return Err(format!("`{text}` is no size of segments"));
                }
                Err(Wrong::TooLarge) => {
                    return Err(format!("TCP MSS too large (maximum = {MSS_MAX} bytes)"));
                }
                Ok(bytes) => Some(bytes),
            };
            Ok(())
        },
    ),
    taken(
        ("no-delay", Some('N')),
        None,
        "do not wait for full segments (TCP_NODELAY)",
        |draft, _| {
            draft.options.no_delay = true;
            Ok(())
        },
    ),
    taken(
        ("congestion", Some('C')),
        Some("NAME"),
        "congestion control at both ends: cubic, bbr",
        |draft, text| {
            draft.options.congestion = Some(text.to_owned());
            Ok(())
        },
    ),
    OptionDef {
        long: "linux-congestion",
        short: None,
        value: Some("NAME"),
        standing: Standing::Alias("congestion"),
    },
    taken(
        ("version4", Some('4')),
        None,
        "only addresses of IPv4",
        |draft, _| {
            family(draft, Family::V4);
            Ok(())
        },
    ),
    taken(
        ("version6", Some('6')),
        None,
        "only addresses of IPv6",
        |draft, _| {
            family(draft, Family::V6);
            Ok(())
        },
    ),
    taken(
        ("connect-timeout", None),
        Some("MS"),
        "look up and connect within so many milliseconds (10000)",
        |draft, text| {
            let millis = text
                .parse()
                .ok()
                .filter(|&millis| (1..=MILLIS_MAX).contains(&millis));
            let millis =
                millis.ok_or_else(|| format!("`{text}` are no milliseconds up to {MILLIS_MAX}"))?;
            draft.options.connect_timeout = Some(Nanos::from_millis(millis));
            Ok(())
        },
    ),
    taken(
        ("format", Some('f')),
        Some("kmgtKMGT"),
        "the unit of rates: bits, or bytes by a capital",
        |draft, text| {
            let mut letters = text.chars();
            let format = letters.next().filter(|letter| "kmgtKMGT".contains(*letter));
            draft.options.format = Some(
                format
                    .filter(|_| letters.next().is_none())
                    .ok_or("bad format specifier (valid formats are in the set [kmgtKMGT])")?,
            );
            Ok(())
        },
    ),
    taken(("verbose", Some('V')), None, "more lines", |draft, _| {
        draft.options.verbose = true;
        Ok(())
    }),
    taken(
        ("json", Some('J')),
        None,
        "one JSON document at the end",
        |draft, _| {
            draft.options.json = true;
            Ok(())
        },
    ),
    taken(
        ("title", Some('T')),
        Some("TEXT"),
        "begin each line with this",
        |draft, text| {
            draft.options.title = Some(text.to_owned());
            Ok(())
        },
    ),
    taken(
        ("extra-data", None),
        Some("TEXT"),
        "a text that the JSON has too",
        |draft, text| {
            draft.options.extra_data = Some(text.to_owned());
            Ok(())
        },
    ),
    taken(
        ("udp-counters-64bit", None),
        None,
        "number datagrams in 64 bits and not in 32",
        |draft, _| {
            draft.options.udp_counters_64bit = true;
            Ok(())
        },
    ),
    taken(
        ("dont-fragment", None),
        None,
        "send datagrams whole or not at all",
        |draft, _| {
            draft.options.dont_fragment = true;
            Ok(())
        },
    ),
    taken(
        ("get-server-output", None),
        None,
        "the server's own report behind ours",
        |draft, _| {
            draft.options.server_output = true;
            Ok(())
        },
    ),
    taken(
        ("forceflush", None),
        None,
        "print each interval when it is over, as is done in any case",
        |_, _| Ok(()),
    ),
    taken(
        ("version", Some('v')),
        None,
        "say which program this is",
        |draft, _| {
            draft.asks = Some(Request::Version);
            Ok(())
        },
    ),
    taken(("help", Some('h')), None, "say this", |draft, _| {
        draft.asks = Some(Request::Help);
        Ok(())
    }),
    refused(("server", Some('s')), None, SERVER),
    refused(("daemon", Some('D')), None, SERVER),
    refused(("one-off", Some('1')), None, SERVER),
    refused(("pidfile", Some('I')), Some("FILE"), SERVER),
    refused(("server-bitrate-limit", None), Some("N"), SERVER),
    refused(("idle-timeout", None), Some("N"), SERVER),
    refused(("rsa-private-key-path", None), Some("FILE"), SERVER),
    refused(("authorized-users-path", None), Some("FILE"), SERVER),
    refused(("time-skew-threshold", None), Some("N"), SERVER),
    refused(("username", None), Some("NAME"), LOCKED),
    refused(("rsa-public-key-path", None), Some("FILE"), LOCKED),
    refused(("sctp", None), None, NO_SCTP),
    refused(("xbind", Some('X')), Some("NAME"), NO_SCTP),
    refused(("nstreams", None), Some("N"), NO_SCTP),
    refused(("file", Some('F')), Some("FILE"), ELSEWHERE),
    refused(("bind", Some('B')), Some("HOST"), ELSEWHERE),
    refused(("bind-dev", None), Some("DEV"), ELSEWHERE),
    refused(("cport", None), Some("PORT"), ELSEWHERE),
    refused(
        ("affinity", Some('A')),
        Some("N"),
        "`taskset -c N kurabe iperf3 ...` keeps it on a CPU of this machine",
    ),
    refused(
        ("logfile", None),
        Some("FILE"),
        "`kurabe iperf3 ... > FILE` writes what is printed to a file",
    ),
    refused(
        ("timestamps", None),
        None,
        "`kurabe iperf3 ... | ts` puts the time before each line",
    ),
    refused(
        ("rcv-timeout", None),
        Some("MS"),
        "120 s without a byte end a test that has no rate",
    ),
    refused(
        ("snd-timeout", None),
        Some("MS"),
        "120 s without a byte end a test that has no rate",
    ),
    refused(
        ("debug", Some('d')),
        None,
        "`-V` says more; `strace -f -e trace=network` says all",
    ),
    refused(
        ("pacing-timer", None),
        Some("N"),
        "`-b` keeps a schedule here, and needs no timer",
    ),
    refused(
        ("fq-rate", None),
        Some("N"),
        "`-b` keeps a rate, in the program and not in the kernel",
    ),
    refused(
        ("no-fq-socket-pacing", None),
        None,
        "no stream is paced by the kernel here",
    ),
    refused(
        ("tos", Some('S')),
        Some("N"),
        "packets are sent with the type of service 0",
    ),
    refused(
        ("dscp", None),
        Some("N"),
        "packets are sent with the type of service 0",
    ),
    refused(
        ("flowlabel", Some('L')),
        Some("N"),
        "the kernel chooses the flow labels of IPv6",
    ),
    refused(
        ("zerocopy", Some('Z')),
        None,
        "leave it out: what is sent is copied once",
    ),
    refused(
        ("repeating-payload", None),
        None,
        "leave it out: what is sent is random",
    ),
];

/// By its letter.
pub(super) fn short(letter: char) -> Result<&'static OptionDef, Refused> {
    let mut all = OPTIONS.iter();
    let unknown = || Refused::new(format!("unrecognized option `-{letter}`"), HELP);
    all.find(|def| def.short == Some(letter))
        .ok_or_else(unknown)
}

/// By its name, or a beginning of one name alone.
pub(super) fn long(name: &str) -> Result<&'static OptionDef, Refused> {
    if name.is_empty() {
        return Err(Refused::new("`--` is no option", HELP));
    }
    if let Some(exact) = OPTIONS.iter().find(|def| def.long == name) {
        return Ok(exact);
    }
    let begin = OPTIONS.iter().filter(|def| def.long.starts_with(name));
    match begin.collect::<Vec<_>>().as_slice() {
        [one] => Ok(one),
        [] => Err(Refused::new(
            format!("unrecognized option `--{name}`"),
            HELP,
        )),
        several => {
            let names: Vec<String> = several
                .iter()
                .map(|def| format!("`--{}`", def.long))
                .collect();
            let words = format!("option `--{name}` is ambiguous: {}", names.join(", "));
            Err(Refused::new(words, HELP))
        }
    }
}

impl OptionDef {
    /// Whether it is not done here.
    pub const fn is_refused(&self) -> bool {
        matches!(self.standing, Standing::Refused(_))
    }

    /// What is done, or what helps where it is refused.
    pub fn doc(&self) -> String {
        match self.standing {
            Standing::Taken { doc, .. } => doc.to_owned(),
            Standing::Alias(name) => format!("the same as --{name}"),
            Standing::Refused(why) => why.to_owned(),
        }
    }

    /// Its names: `-P, --parallel`.
    pub fn shown(&self) -> String {
        match self.short {
            Some(letter) => format!("-{letter}, --{}", self.long),
            None => format!("--{}", self.long),
        }
    }

    /// Takes it in.
    pub(super) fn read(&self, draft: &mut Draft, value: &str) -> Result<(), Refused> {
        match self.standing {
            Standing::Taken { read, .. } => read(draft, value).map_err(|words| {
                let hint = format!("it stands behind `{}`; {HELP}", self.shown());
                Refused::new(words, hint)
            }),
            Standing::Alias(name) => long(name)?.read(draft, value),
            Standing::Refused(why) => {
                let words = format!("option `{}` is not taken", self.shown());
                Err(Refused::new(words, why))
            }
        }
    }
}
