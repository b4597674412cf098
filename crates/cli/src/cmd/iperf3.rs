//! `kurabe iperf3 -c HOST`: iperf3's arguments, and its lines or its JSON, for scripts that parse those.
//!
//! The way of the data: `dialects` reads the arguments, `workloads` does the test and tells what happens, `dialects`
//! makes lines or a document of it. Nothing is kept: `kurabe run net` is the measurement, and `kurabe import` keeps
//! what this prints. Exit codes are iperf3's, 0 and 1.

mod help;

use crate::args::Iperf3Args;
use crate::exit::{Exit, failure, is_broken_pipe};
use crate::output;
use anyhow::Context as _;
use dialects::iperf3::arguments::{self, Direction, Family, Options, Refused, Request, Until};
use dialects::iperf3::output::json::Document;
use dialects::iperf3::output::{Host, text};
use model::flows::{Begun, Ended, Greeted, Interval};
use model::units::Bytes;
use std::time::Duration;
use sys::tree::Tree;
use workloads::net::iperf3::Parameters;
use workloads::net::iperf3::client::{self, Onlooker, Order, Stopped};
use workloads::net::peer::Peer;

pub(crate) fn run(args: &Iperf3Args) -> anyhow::Result<Exit> {
    let asked = arguments::parse(&args.arguments);
    let options = match asked {
        Ok(Request::Help) => {
            output::print(&help::page())?;
            return Ok(Exit::Ok);
        }
        Ok(Request::Version) => {
            let Host {
                version, system, ..
            } = host();
            output::print(&format!("{version}\n{system}\n"))?;
            return Ok(Exit::Ok);
        }
        Ok(Request::Test(options)) => options,
        Err(why) => return Ok(refused(&why)),
    };
    let order = match order(&options) {
        Ok(order) => order,
        Err(why) => return Ok(refused(&why)),
    };
    sys::signal::catch_stop_signals().context("catch signals")?;
    // A stream takes a descriptor, and there may be 256.
    sys::limits::raise_open_files().context("raise the limit of open files")?;
    let host = host();
    let mut watch = Watch {
        document: Document {
            options: &options,
            host: &host,
            greeted: None,
            begun: None,
            intervals: Vec::new(),
            ended: None,
            error: None,
        },
        is_first: true,
        unheard: None,
    };
    watch.print(text::opening);
    let done = client::run(&order, &mut watch);
    watch.finish(done)
}

/// The line is not taken.
fn refused(why: &Refused) -> Exit {
    say(
        "iperf3: parameter error - ",
        &why.words,
        why.hint.as_deref(),
    );
    Exit::AsIperf3
}

fn say(before: &str, words: &str, hint: Option<&str>) {
    let hint = hint.map_or_else(String::new, |hint| format!("\nhint: {hint}"));
    output::say(&format!("{before}{words}{hint}"));
}

/// What the client is to do.
fn order(options: &Options) -> Result<Order, Refused> {
    let Options { host, port, .. } = options;
    let peer = if host.contains(':') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    };
    let peer: Peer = peer.parse().map_err(|_| Refused {
        words: format!("`{host}` is no host"),
        hint: Some("a name, or an address of IPv4 or IPv6; its port stands behind `-p`".to_owned()),
    })?;
    Ok(Order {
        peer,
        family: options.family.map(|family| match family {
            Family::V4 => client::Family::V4,
            Family::V6 => client::Family::V6,
        }),
        connect_within: options
            .connect_timeout
            .map(|span| Duration::from_nanos(span.0)),
        interval: options.interval.map(|span| Duration::from_nanos(span.0)),
        parameters: parameters(options),
    })
}

fn parameters(options: &Options) -> Parameters {
    let whole = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let (time, num, blockcount) = match options.until {
        Until::Seconds(seconds) => (seconds.into(), 0, 0),
        Until::Bytes(Bytes(bytes)) => (0, whole(bytes), 0),
        Until::Blocks(blocks) => (0, 0, whole(blocks)),
    };
    Parameters {
        tcp: !options.udp,
        udp: options.udp,
        omit: options.omit.into(),
        time,
        num,
        blockcount,
        parallel: options.parallel.into(),
        len: options.length.map_or(0, |length| whole(length.0)),
        // What a server that paces by a timer takes by default.
        pacing_timer: 1000,
        reverse: options.direction == Direction::Reverse,
        bidirectional: options.direction == Direction::Both,
        mss: options.mss.unwrap_or(0).into(),
        nodelay: options.no_delay,
        window: options.window.map_or(0, |window| whole(window.0)),
        bandwidth: whole(options.bits_per_s),
        burst: options.burst.into(),
        title: options.title.clone(),
        extra_data: options.extra_data.clone(),
        congestion: options.congestion.clone(),
        get_server_output: i64::from(options.server_output),
        udp_counters_64bit: i64::from(options.udp_counters_64bit),
        dont_fragment: i64::from(options.dont_fragment),
        client_version: Some(concat!("kurabe ", env!("CARGO_PKG_VERSION")).to_owned()),
        ..Parameters::default()
    }
}

/// Who prints: the version names whose forms these are, as that of `kurabe fio` does.
fn host() -> Host {
    let tree = Tree::real();
    let words = ["ostype", "hostname", "osrelease", "version"];
    let words = words.map(|word| {
        let read = tree.read_trimmed(&format!("/proc/sys/kernel/{word}"));
        read.unwrap_or_else(|_| "unknown".to_owned())
    });
    let now = sys::clock::wall();
    let time = jiff::Timestamp::from_nanosecond(now.into()).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    Host {
        version: format!("iperf 3.12 (kurabe {})", env!("CARGO_PKG_VERSION")),
        system: format!("{} {}", words.join(" "), std::env::consts::ARCH),
        time: time.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string(),
        time_s: now / 1_000_000_000,
    }
}

/// Prints lines as they come, or keeps everything for the document.
struct Watch<'a> {
    document: Document<'a>,
    /// No interval has ended yet.
    is_first: bool,
    /// Nobody reads our lines any more.
    unheard: Option<anyhow::Error>,
}

impl Watch<'_> {
    /// Lines, unless a document is asked for. What peers and users said may be in them.
    fn print(&mut self, text: impl FnOnce(&Options, &Host) -> String) {
        if self.document.options.json || self.unheard.is_some() {
            return;
        }
        let text = text(self.document.options, self.document.host);
        let lines = text
            .lines()
            .map(|line| dialects::printable::printable(line) + "\n");
        let lines: String = lines.collect();
        if !lines.is_empty() {
            self.unheard = output::print(&lines).err();
        }
    }

    /// The end of everything.
    fn finish(mut self, done: Result<Ended, Stopped>) -> anyhow::Result<Exit> {
        let exit = match done {
            Ok(ended) => {
                self.print(|options, _| {
                    text::summary(options, &ended) + &text::closing(options, &ended)
                });
                self.document.ended = Some(ended);
                Exit::Ok
            }
            Err(stopped) => {
                self.stopped(stopped);
                Exit::AsIperf3
            }
        };
        if self.document.options.json {
            self.unheard = output::print(&self.document.text()).err();
        }
        match self.unheard {
            None => Ok(exit),
            // Whoever has read enough has gone.
            Some(why) if is_broken_pipe(&why) => Err(why),
            Some(why) => Err(failure(Exit::AsIperf3, format!("{why:#}"), None)),
        }
    }

    /// What was counted until then, and why there is no more.
    fn stopped(&mut self, stopped: Stopped) {
        let Stopped {
            words,
            hint,
            is_ours,
            so_far,
        } = stopped;
        let kind = if is_ours { "interrupt" } else { "error" };
        if let Some(so_far) = so_far {
            self.print(|options, _| text::summary(options, &so_far));
            self.document.ended = Some(*so_far);
        }
        // Whoever reads us no more has stopped us.
        if !self.document.options.json && self.unheard.is_none() {
            say(&format!("iperf3: {kind} - "), &words, hint.as_deref());
        }
        self.document.error = Some(if is_ours {
            format!("{kind} - {words}")
        } else {
            words
        });
    }
}

impl Onlooker for Watch<'_> {
    fn greeted(&mut self, greeted: &Greeted) {
        if let Some(warning) = text::warning(self.document.options, greeted) {
            output::say(&warning);
        }
        self.print(|options, host| text::greeted(options, host, greeted));
        self.document.greeted = Some(greeted.clone());
    }

    fn begun(&mut self, begun: &Begun) {
        if let Some(greeted) = self.document.greeted.clone() {
            self.print(|options, _| text::begun(options, &greeted, begun));
        }
        self.document.begun = Some(begun.clone());
    }

    fn interval(&mut self, interval: &Interval) {
        let is_first = std::mem::take(&mut self.is_first);
        self.print(|options, _| text::interval(options, interval, is_first));
        // Lines need none of those before them, and a test may have a million.
        if self.document.options.json {
            self.document.intervals.push(interval.clone());
        }
    }

    fn stops(&self) -> bool {
        sys::signal::interrupted().is_some() || self.unheard.is_some()
    }
}
