//! What stands behind `iperf3` on a command line, for a client.
//!
//! Options are read as `getopt_long(3)` reads them: `-P4`, `-RP 4`, `--parallel=4`, `--para 4`. Numbers are stricter
//! than in iperf3, which takes `5s` for 5 and `abc` for 0. Nothing is taken and then ignored: what is not done here is
//! refused by name, with what helps.

mod amount;
mod table;
#[cfg(test)]
mod tests;
mod values;

pub use amount::amount;
pub use table::{OPTIONS, OptionDef};

use model::units::{Bytes, Nanos};

/// What is asked for.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// The options.
    Help,
    /// Which program this is.
    Version,
    /// A test.
    Test(Box<Options>),
}

/// Who sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// The client.
    #[default]
    Forward,
    /// The server.
    Reverse,
    /// Both.
    Both,
}

/// What ends a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// So many seconds.
    Seconds(u32),
    /// So many bytes of all streams.
    Bytes(Bytes),
    /// So many blocks of all streams.
    Blocks(u64),
}

/// Addresses of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// A test that is asked for.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of its own of the line"
)]
pub struct Options {
    /// `-c`.
    pub host: String,
    /// `-p`.
    pub port: u16,
    /// `-4`, `-6`.
    pub family: Option<Family>,
    /// `--connect-timeout`.
    pub connect_timeout: Option<Nanos>,
    /// `-t`, `-n`, `-k`.
    pub until: Until,
    /// `-O`, in seconds.
    pub omit: u32,
    /// `-i`; `None` for one interval.
    pub interval: Option<Nanos>,
    /// `-P`.
    pub parallel: u32,
    /// `-R`, `--bidir`.
    pub direction: Direction,
    /// `-u`.
    pub udp: bool,
    /// `-l`; what fits where not said.
    pub length: Option<Bytes>,
    /// `-b`, in bits per second of each stream; 0 is as fast as it goes.
    pub bits_per_s: u64,
    /// The blocks behind the `/` of `-b`; 0 where not said.
    pub burst: u32,
    /// `-w`.
    pub window: Option<Bytes>,
    /// `-M`.
    pub mss: Option<u32>,
    /// `-N`.
    pub no_delay: bool,
    /// `-C`.
    pub congestion: Option<String>,
    /// `--udp-counters-64bit`.
    pub udp_counters_64bit: bool,
    /// `--dont-fragment`.
    pub dont_fragment: bool,
    /// `-f`.
    pub format: Option<char>,
    /// `-V`.
    pub verbose: bool,
    /// `-J`.
    pub json: bool,
    /// `-T`.
    pub title: Option<String>,
    /// `--extra-data`.
    pub extra_data: Option<String>,
    /// `--get-server-output`.
    pub server_output: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            host: String::new(),
            port: 5201,
            family: None,
            connect_timeout: None,
            until: Until::Seconds(10),
            omit: 0,
            interval: Some(Nanos::from_secs(1)),
            parallel: 1,
            direction: Direction::Forward,
            udp: false,
            length: None,
            bits_per_s: 0,
            burst: 0,
            window: None,
            mss: None,
            no_delay: false,
            congestion: None,
            udp_counters_64bit: false,
            dont_fragment: false,
            format: None,
            verbose: false,
            json: false,
            title: None,
            extra_data: None,
            server_output: false,
        }
    }
}

/// Why a line is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{words}")]
pub struct Refused {
    /// One sentence.
    pub words: String,
    /// What helps.
    pub hint: Option<String>,
}

impl Refused {
    fn new(words: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            words: words.into(),
            hint: Some(hint.into()),
        }
    }
}

/// Options as they are read, and what was said twice.
#[derive(Debug, Default)]
struct Draft {
    options: Options,
    asks: Option<Request>,
    ends: u32,
    families: u32,
    directions: u32,
    has_rate: bool,
}

/// Bits per second of a stream of UDP where nobody says another rate. Source: the key `target_bitrate` of iperf3 3.12.
const UDP_RATE: u64 = 1 << 20;

/// Reads a line.
pub fn parse(words: &[String]) -> Result<Request, Refused> {
    let mut draft = Draft::default();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        if let Some(long) = word.strip_prefix("--") {
            let (name, value) = match long.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (long, None),
            };
            let def = table::long(name)?;
            if def.is_refused() {
                def.read(&mut draft, "")?;
            }
            let value = match (def.value, value) {
                (None, Some(_)) => {
                    let words = format!("`--{}` takes no value", def.long);
                    return Err(Refused::new(words, HELP));
                }
                (Some(_), None) => Some(after(&mut rest, def)?),
                (_, value) => value,
            };
            def.read(&mut draft, value.unwrap_or_default())?;
        } else if let Some(letters) = word.strip_prefix('-').filter(|rest| !rest.is_empty()) {
            let mut letters = letters.chars();
            while let Some(letter) = letters.next() {
                let def = table::short(letter)?;
                let own = letters.as_str();
                if def.value.is_none() || def.is_refused() {
                    def.read(&mut draft, "")?;
                    continue;
                }
                let value = if own.is_empty() {
                    after(&mut rest, def)?
                } else {
                    own
                };
                def.read(&mut draft, value)?;
                break;
            }
        } else {
            let words = format!("`{word}` is no option");
            return Err(Refused::new(words, "a host stands behind `-c`"));
        }
        if let Some(request) = draft.asks.take() {
            return Ok(request);
        }
    }
    finished(draft)
}

const HELP: &str = "`kurabe iperf3 --help` lists the options";

/// The word behind an option that takes one.
fn after<'a>(
    rest: &mut impl Iterator<Item = &'a String>,
    def: &OptionDef,
) -> Result<&'a str, Refused> {
    let next = rest.next().map(String::as_str);
    let missing = || Refused::new(format!("`{}` takes a value", def.shown()), HELP);
    next.ok_or_else(missing)
}

/// What only all options together say.
fn finished(mut draft: Draft) -> Result<Request, Refused> {
    let refused = |words: &str, hint: &str| Err(Refused::new(words, hint));
    if draft.options.host.is_empty() {
        return refused(
            "must either be a client (-c) or server (-s)",
            "`kurabe iperf3 -c HOST` is a client; `iperf3 -s` is a server",
        );
    }
    if draft.ends > 1 {
        return refused(
            "only one test end condition (-t, -n, -k) may be specified",
            "leave out all but one of them",
        );
    }
    if draft.directions > 1 {
        return refused(
            "cannot be both reverse and bidirectional",
            "`--bidir` sends both ways, `-R` from the server alone",
        );
    }
    if draft.families > 1 {
        return refused(
            "cannot be both IPv4 (-4) and IPv6 (-6)",
            "without either the addresses of the host are tried in turn",
        );
    }
    of_protocol(&draft.options)?;
    if draft.options.udp && !draft.has_rate {
        draft.options.bits_per_s = UDP_RATE;
    }
    Ok(Request::Test(Box::new(draft.options)))
}

/// Bytes of a datagram, as iperf3 has them.
const DATAGRAMS: std::ops::RangeInclusive<u64> = 16..=65_507;

/// Options that one protocol alone has, and the sizes of datagrams.
fn of_protocol(options: &Options) -> Result<(), Refused> {
    let (is_udp, length) = (options.udp, options.length.map_or(16, |length| length.0));
    if is_udp && !DATAGRAMS.contains(&length) {
        let (least, most) = (DATAGRAMS.start(), DATAGRAMS.end());
        let words = format!("block size invalid (minimum = {least} bytes, maximum = {most} bytes)");
        return Err(Refused::new(words, "a datagram has them all"));
    }
    let found = [
        (false, options.udp_counters_64bit, "--udp-counters-64bit"),
        (false, options.dont_fragment, "--dont-fragment"),
        (true, options.mss.is_some(), "-M, --set-mss"),
        (true, options.no_delay, "-N, --no-delay"),
        (true, options.congestion.is_some(), "-C, --congestion"),
    ];
    let mut foreign = found
        .iter()
        .filter(|(of_tcp, is_there, _)| *is_there && *of_tcp == is_udp);
    match foreign.next() {
        None => Ok(()),
        Some((of_tcp, _, option)) => {
            let of = if *of_tcp { "TCP" } else { "UDP (`-u`)" };
            let words = format!("option `{option}` is for {of}");
            Err(Refused::new(
                words,
                "leave it out: it would do nothing in this test",
            ))
        }
    }
}
